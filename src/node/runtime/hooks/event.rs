//! What hooks are told: the differences of the states that a node shows, one after the other.
//!
//! Judged by each new state and the last one that was looked at. A watcher that is slow misses states between the two, never
//! where they lead: a node that is master of a higher term than before is told of as elected again.

use crate::cluster::{ClusterState, Node, NodeId, Term};
use crate::runtime::hook_tally::Trigger;
use serde::Serialize;
use std::sync::Arc;

/// A node, as hooks are told of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Member {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Its transport address.
    pub address: String,
    /// Its host.
    pub host: String,
}

impl Member {
    fn of(node: &Node) -> Self {
        Member {
            id: node.id.as_str().into(),
            name: node.name.to_string(),
            address: node.address.as_str().into(),
            host: node.host().into(),
        }
    }
}

/// The state at the time, as hooks are told of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Summary {
    /// Its version.
    pub version: u64,
    /// The uuid of the cluster, once it is formed.
    pub cluster_uuid: Option<String>,
    /// The members.
    pub nodes: Vec<Member>,
    /// The ids that count in elections and commits.
    pub voting: Vec<String>,
    /// How many of these are members.
    pub voting_present: usize,
}

/// One event, as it is written to a program and posted to an address.
#[derive(Clone, Debug, Serialize)]
pub struct Event {
    /// What happened.
    #[serde(rename = "event", serialize_with = "name_of")]
    pub trigger: Trigger,
    /// Counts the events of this process, so that one that comes twice is known.
    pub number: u64,
    /// The name of the cluster.
    pub cluster_name: String,
    /// The node that tells it.
    pub node: Member,
    /// The term of the state.
    pub term: u64,
    /// What tells this mastership from all others: whoever has seen a greater one heeds nothing that comes with this one.
    pub fencing_token: u64,
    /// The master, if there is one.
    pub master: Option<Member>,
    /// Whether this node is it.
    pub is_master: bool,
    /// The node that joined or left.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub subject: Option<Member>,
    /// The state at the time.
    pub state: Summary,
}

fn name_of<S: serde::Serializer>(trigger: &Trigger, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(trigger.name())
}

/// Compares each state with the one before.
pub(super) struct Watcher {
    local: Arc<Node>,
    last: Option<Arc<ClusterState>>,
    is_reduced: bool,
    number: u64,
}

/// The master of a state, and the term that it leads in.
fn mastership(state: &ClusterState) -> Option<(NodeId, Term)> {
    state.nodes.master_node().map(|master| (master.id.clone(), state.term))
}

impl Watcher {
    pub(super) fn new(local: Arc<Node>) -> Self {
        Watcher { local, last: None, is_reduced: false, number: 0 }
    }

    /// A process begins without a master: whatever an earlier one left behind is told to go.
    pub(super) fn begin(&mut self, state: &Arc<ClusterState>) -> Vec<Event> {
        let mut without = (**state).clone();
        without.nodes.master = None;
        let without = Arc::new(without);
        let event = self.event(Trigger::NoMaster, &without, None);
        self.last = Some(without);
        vec![event]
    }

    /// What a new state changes.
    pub(super) fn see(&mut self, state: &Arc<ClusterState>) -> Vec<Event> {
        let Some(before) = self.last.replace(state.clone()) else {
            return Vec::new();
        };
        let (was, is) = (mastership(&before), mastership(state));
        let led = was.as_ref().is_some_and(|(id, _)| *id == self.local.id);
        let leads = is.as_ref().is_some_and(|(id, _)| *id == self.local.id);
        let mut events = Vec::new();
        if led && !leads {
            events.push(self.event(Trigger::StepDown, state, None));
        }
        if was.is_some() && is.is_none() {
            events.push(self.event(Trigger::NoMaster, state, None));
        }
        if is.is_some() && is != was {
            events.push(self.event(Trigger::MasterElected, state, None));
        }
        self.see_members(&before, state, &mut events);
        events
    }

    fn see_members(&mut self, before: &ClusterState, state: &Arc<ClusterState>, events: &mut Vec<Event>) {
        if !state.nodes.ptr_eq(&before.nodes) {
            let delta = state.nodes.delta(&before.nodes);
            let others = |nodes: Vec<Arc<Node>>| nodes.into_iter().filter(|node| node.id != self.local.id).collect();
            let (left, joined): (Vec<Arc<Node>>, Vec<Arc<Node>>) = (others(delta.removed), others(delta.added));
            for node in left {
                events.push(self.event(Trigger::NodeLeft, state, Some(&node)));
            }
            for node in joined {
                events.push(self.event(Trigger::NodeJoined, state, Some(&node)));
            }
        }
        if state.nodes.master.is_none() {
            // What is left of the voters is seen again by the next master.
            return;
        }
        let was_reduced = std::mem::replace(&mut self.is_reduced, state.is_reduced());
        if self.is_reduced && !was_reduced {
            events.push(self.event(Trigger::Reduced, state, None));
        }
    }

    /// The process ends: a master leads no more.
    pub(super) fn end(&mut self) -> Vec<Event> {
        let Some(last) = self.last.clone() else {
            return Vec::new();
        };
        let mut without = (*last).clone();
        without.nodes.master = None;
        self.see(&Arc::new(without))
    }

    fn event(&mut self, trigger: Trigger, state: &ClusterState, subject: Option<&Node>) -> Event {
        self.number += 1;
        let voting = &state.metadata.voting.own;
        let master = state.nodes.master_node();
        Event {
            trigger,
            number: self.number,
            cluster_name: state.cluster_name.to_string(),
            node: Member::of(&self.local),
            term: state.term.get(),
            fencing_token: state.term.get(),
            master: master.map(|node| Member::of(node)),
            is_master: master.is_some_and(|node| node.id == self.local.id),
            subject: subject.map(Member::of),
            state: Summary {
                version: state.version.get(),
                cluster_uuid: state.cluster_uuid.map(|uuid| uuid.to_string()),
                nodes: state.nodes.iter().map(|node| Member::of(node)).collect(),
                voting: voting.iter().map(|id| id.as_str().to_owned()).collect(),
                voting_present: state.voters_present(),
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::VotingSet;

    fn node(name: &str) -> Arc<Node> {
        Arc::new(crate::runtime::sample::node(name))
    }

    /// A state of these nodes; all three vote.
    fn state(term: u64, master: Option<&str>, nodes: &[&str]) -> Arc<ClusterState> {
        let mut state = ClusterState::initial("prod".into());
        state.term = serde_json::from_str(&term.to_string()).expect("a term is a number");
        for name in nodes {
            state.nodes.insert(node(name));
        }
        state.nodes.master = master.map(NodeId::from);
        state.metadata.voting.own = VotingSet::new(["a", "b", "c"].map(NodeId::from));
        Arc::new(state)
    }

    fn told(events: Vec<Event>) -> Vec<String> {
        let told = |event: Event| {
            let subject = event.subject.map(|subject| format!(" {}", subject.name)).unwrap_or_default();
            format!("{} {}{subject}", event.trigger.name(), event.fencing_token)
        };
        events.into_iter().map(told).collect()
    }

    #[test]
    fn each_change_is_told_once_and_in_order() {
        let mut watcher = Watcher::new(node("a"));
        assert_eq!(told(watcher.begin(&state(0, None, &[]))), ["on_no_master 0"]);
        let all = ["a", "b", "c"];
        let first = ["on_master_elected 1", "on_node_joined 1 b", "on_node_joined 1 c"];
        assert_eq!(told(watcher.see(&state(1, Some("a"), &all))), first);
        assert!(told(watcher.see(&state(1, Some("a"), &all))).is_empty());
        assert_eq!(told(watcher.see(&state(1, Some("a"), &["a", "b"]))), ["on_node_left 1 c", "on_reduced 1"]);
        assert_eq!(told(watcher.see(&state(1, None, &["a", "b"]))), ["on_step_down 1", "on_no_master 1"]);
        let again = told(watcher.see(&state(2, Some("b"), &["a", "b"])));
        assert_eq!(again, ["on_master_elected 2"], "it is as reduced as it was");
        assert_eq!(told(watcher.see(&state(2, Some("b"), &all))), ["on_node_joined 2 c"]);
    }

    #[test]
    fn a_mastership_that_was_missed_is_told_by_the_next_and_the_end_is_a_step_down() {
        let mut watcher = Watcher::new(node("a"));
        watcher.begin(&state(0, None, &[]));
        watcher.see(&state(1, Some("a"), &["a", "b", "c"]));
        assert_eq!(told(watcher.see(&state(3, Some("a"), &["a", "b", "c"]))), ["on_master_elected 3"]);
        assert_eq!(
            told(watcher.see(&state(4, Some("b"), &["a", "b", "c"]))),
            ["on_step_down 4", "on_master_elected 4"]
        );
        watcher.see(&state(5, Some("a"), &["a", "b", "c"]));
        assert_eq!(told(watcher.end()), ["on_step_down 5", "on_no_master 5"]);
    }
}
