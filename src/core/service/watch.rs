//! What changed from each committed state to the next, for those who want to know of every change.
//!
//! A [`ChangeLog`] is fed with the states that a node applies, and keeps the last steps. A step is the difference of a committed
//! state and the one that it was made from, so it is the same on every node, and whoever has seen a state can go on from
//! it anywhere. What several tasks of one publish do to a key is one change: no committed state shows the others. Where
//! a node did not get to know a state in between, its log begins anew until another node tells what led there, and
//! watchers are told to read the state. What a node shows while it has no master is no state of the cluster and is passed
//! over; meanwhile it may follow the steps of another node's log.

use crate::cluster::{
    ClusterState, KeyValue, Lease, Node, NodeId, Settings, StateId, Table, TableChange, Term, Version,
};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;
use std::mem;
use std::sync::Arc;

/// One thing that a committed state changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Change {
    /// Another node is master.
    Master {
        /// The node.
        id: Option<NodeId>,
    },
    /// A node joined, or came back as another process.
    Joined {
        /// The node.
        node: Arc<Node>,
    },
    /// A node is a member no longer.
    Left {
        /// The node.
        node: Arc<Node>,
    },
    /// A setting was set or removed.
    Setting {
        /// Whether it survives a full restart.
        persistent: bool,
        /// The setting.
        key: Arc<str>,
        /// Its value; none if it was removed.
        value: Option<Arc<str>>,
    },
    /// A key was written or deleted.
    Key {
        /// The key.
        key: Arc<str>,
        /// What it holds; none if it was deleted.
        value: Option<KeyValue>,
    },
    /// A lease was granted or ended.
    Lease {
        /// Its name.
        name: Arc<str>,
        /// Who holds it; none if nobody does.
        lease: Option<Lease>,
    },
}

impl Change {
    /// Changes a state.
    fn make(&self, state: &mut ClusterState) {
        let metadata = &mut state.metadata;
        match self {
            Change::Master { id } => state.nodes.master.clone_from(id),
            Change::Joined { node } => drop(state.nodes.insert(node.clone())),
            Change::Left { node } => drop(state.nodes.remove(&node.id)),
            Change::Setting { persistent: true, key, value } => set(&mut metadata.persistent, key, value.as_ref()),
            Change::Setting { persistent: false, key, value } => set(&mut metadata.transient, key, value.as_ref()),
            Change::Key { key, value } => set(&mut metadata.keys, key, value.as_ref()),
            Change::Lease { name, lease } => set(&mut metadata.leases, name, lease.as_ref()),
        }
    }

    /// About how many bytes it takes.
    fn size(&self) -> usize {
        const OVERHEAD: usize = 256;
        OVERHEAD
            + match self {
                Change::Master { .. } | Change::Joined { .. } | Change::Left { .. } => 0,
                Change::Setting { key, value, .. } => key.len() + value.as_ref().map_or(0, |value| value.len()),
                Change::Key { key, value } => key.len() + value.as_ref().map_or(0, |held| held.value.len()),
                Change::Lease { name, .. } => name.len(),
            }
    }
}

/// What one committed state changed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// The state that it made.
    pub at: StateId,
    /// The changes: master, nodes, settings, keys, leases, each in the order of their names. There may be none that
    /// is told.
    pub changes: Vec<Change>,
}

impl Step {
    /// The state that it made, of the one that it was made from; but for what no change tells.
    fn made_of(&self, state: &ClusterState) -> ClusterState {
        let mut state = state.clone();
        (state.term, state.version, state.uuid) = (self.at.term, self.at.version, self.at.uuid);
        for change in &self.changes {
            change.make(&mut state);
        }
        state
    }
}

/// How a watcher goes on.
#[derive(Clone, Debug)]
pub enum Resume {
    /// By these steps, which may be none yet.
    Steps(Vec<Arc<Step>>),
    /// By this state: what led to it is remembered no longer.
    Compacted(Arc<ClusterState>),
    /// Not yet: this node has not come so far, or has applied no state of a master since it was started.
    Ahead,
}

/// The last steps of the states that one node applied.
#[derive(Clone, Debug, Default)]
pub struct ChangeLog {
    /// What was known before a state was missed.
    earlier: Option<Earlier>,
    newest: Option<Arc<ClusterState>>,
    /// The state before the first step.
    oldest: (Term, Version),
    steps: VecDeque<Arc<Step>>,
    changes: usize,
    bytes: usize,
}

/// The steps to the last state before one that was missed; no more than a log keeps.
#[derive(Clone, Debug)]
struct Earlier {
    oldest: (Term, Version),
    steps: VecDeque<Arc<Step>>,
    newest: (Term, Version),
}

impl ChangeLog {
    /// How many changes are kept.
    pub const CHANGES_MAX: usize = 8_192;
    /// How many bytes of keys and values are kept, about.
    pub const BYTES_MAX: usize = 16 << 20;
    /// How many steps are kept: some change nothing that is told.
    pub const STEPS_MAX: usize = 8_192;

    /// Takes the next applied state in, and returns the step that led to it, if that is known.
    pub fn advance(&mut self, state: &Arc<ClusterState>) -> Option<Arc<Step>> {
        state.nodes.master.as_ref()?;
        let Some(newest) = &self.newest else {
            self.begin(state);
            return None;
        };
        if state.rank() <= newest.rank() {
            return None;
        }
        // States descend from each other, and each has a greater version than the one that it was made from.
        if state.version != newest.version.next() {
            self.begin(state);
            return None;
        }
        let step = Arc::new(Step { at: state.id(), changes: changes(newest, state) });
        self.newest = Some(state.clone());
        self.push(step.clone());
        Some(step)
    }

    /// Takes in the next step of another node's log; whether it leads on from what is known here. What a step leaves
    /// open of a state, as its voters, stays as it was.
    pub fn follow(&mut self, step: Arc<Step>) -> bool {
        let Some(newest) = &self.newest else {
            return false;
        };
        let leads_on = step.at.rank() > newest.rank() && step.at.version == newest.version.next();
        if leads_on {
            self.newest = Some(Arc::new(step.made_of(newest)));
            self.push(step);
        }
        leads_on
    }

    /// Takes in the steps of another node's log that lead from a state to the first one known here; whether they do, and
    /// there is room for them.
    pub fn fill(&mut self, from: (Term, Version), steps: &[Arc<Step>]) -> bool {
        let versions = std::iter::once(from.1).chain(steps.iter().map(|step| step.at.version));
        let leads_on = steps.iter().zip(versions).all(|(step, before)| step.at.version == before.next());
        let ends_here = steps.last().is_some_and(|last| last.at.rank() == self.oldest);
        let fits = leads_on && ends_here && self.has_room_for(steps);
        if fits {
            for step in steps.iter().rev() {
                self.changes += step.changes.len();
                self.bytes += size(step);
                self.steps.push_front(step.clone());
            }
            self.oldest = from;
            self.take_up_earlier();
        }
        fits
    }

    /// The last state before one that was missed, if what is known leads there from this one.
    pub fn gap(&self, from: (Term, Version)) -> Option<(Term, Version)> {
        let leads_there = |earlier: &&Earlier| (earlier.oldest..=earlier.newest).contains(&from);
        self.earlier.as_ref().filter(leads_there).map(|earlier| earlier.newest)
    }

    /// Puts what was known before a state was missed in its place, as far as there is room, once it leads on.
    fn take_up_earlier(&mut self) {
        let reaches = |earlier: &mut Earlier| self.oldest <= earlier.newest;
        let Some(mut earlier) = self.earlier.take_if(reaches).filter(|earlier| earlier.newest == self.oldest) else {
            return;
        };
        while let Some(step) = earlier.steps.pop_back() {
            if !self.has_room_for(std::slice::from_ref(&step)) {
                return;
            }
            self.oldest = earlier.steps.back().map_or(earlier.oldest, |before| before.at.rank());
            self.changes += step.changes.len();
            self.bytes += size(&step);
            self.steps.push_front(step);
        }
    }

    /// Whether so many more steps are kept.
    pub fn has_room_for(&self, steps: &[Arc<Step>]) -> bool {
        let changes: usize = steps.iter().map(|step| step.changes.len()).sum();
        let bytes: usize = steps.iter().map(|step| size(step)).sum();
        self.changes + changes <= Self::CHANGES_MAX
            && self.bytes + bytes <= Self::BYTES_MAX
            && self.steps.len() + steps.len() <= Self::STEPS_MAX
    }

    /// The newest state that was taken in.
    pub fn newest(&self) -> Option<&Arc<ClusterState>> {
        self.newest.as_ref()
    }

    /// The earliest state that a watcher may go on from.
    pub fn oldest(&self) -> (Term, Version) {
        self.oldest
    }

    /// How a watcher goes on that knows everything up to this state; with so many steps at the most, and no more bytes
    /// of changes than that, but for the first step.
    pub fn resume(&self, from: (Term, Version), steps_max: usize, bytes_max: usize) -> Resume {
        let Some(newest) = &self.newest else {
            return Resume::Ahead;
        };
        if from > newest.rank() {
            return Resume::Ahead;
        }
        let at = self.steps.partition_point(|step| step.at.rank() <= from);
        let before =
            if at == 0 { self.oldest } else { self.steps.get(at - 1).map_or(self.oldest, |step| step.at.rank()) };
        if before != from {
            return Resume::Compacted(newest.clone());
        }
        let mut bytes = 0;
        let fits = |step: &&Arc<Step>| {
            let is_first = bytes == 0;
            bytes += size(step).max(1);
            is_first || bytes <= bytes_max
        };
        Resume::Steps(self.steps.range(at..).take(steps_max).take_while(fits).cloned().collect())
    }

    fn begin(&mut self, state: &Arc<ClusterState>) {
        let before = mem::take(self);
        let kept =
            |newest: Arc<ClusterState>| Earlier { oldest: before.oldest, steps: before.steps, newest: newest.rank() };
        let earlier = before.newest.map(kept);
        *self = ChangeLog { earlier, newest: Some(state.clone()), oldest: state.rank(), ..ChangeLog::default() };
    }

    fn push(&mut self, step: Arc<Step>) {
        self.changes += step.changes.len();
        self.bytes += size(&step);
        self.steps.push_back(step);
        while self.changes > Self::CHANGES_MAX || self.bytes > Self::BYTES_MAX || self.steps.len() > Self::STEPS_MAX {
            let Some(gone) = self.steps.pop_front() else {
                return;
            };
            self.changes -= gone.changes.len();
            self.bytes -= size(&gone);
            self.oldest = gone.at.rank();
        }
    }
}

fn size(step: &Step) -> usize {
    step.changes.iter().map(Change::size).sum()
}

fn set<V: Clone>(table: &mut Table<Arc<str>, V>, key: &Arc<str>, value: Option<&V>) {
    match value {
        Some(value) => drop(table.insert(key.clone(), value.clone())),
        None => drop(table.remove(key)),
    }
}

/// What makes the one state of the other, as users see it.
pub fn changes(from: &ClusterState, to: &ClusterState) -> Vec<Change> {
    let mut changes = Vec::new();
    if from.nodes.master != to.nodes.master {
        changes.push(Change::Master { id: to.nodes.master.clone() });
    }
    changes.extend(to.nodes.changes_since(&from.nodes).map(|change| match change {
        TableChange::Removed(_, node) => Change::Left { node: node.clone() },
        TableChange::Put(_, node) => Change::Joined { node: node.clone() },
    }));
    let (old, new) = (&from.metadata, &to.metadata);
    settings(&mut changes, true, &old.persistent, &new.persistent);
    settings(&mut changes, false, &old.transient, &new.transient);
    each(&mut changes, &old.keys, &new.keys, |key, value| Change::Key { key: key.clone(), value: value.cloned() });
    each(&mut changes, &old.leases, &new.leases, |name, lease| Change::Lease {
        name: name.clone(),
        lease: lease.cloned(),
    });
    changes
}

fn settings(changes: &mut Vec<Change>, persistent: bool, old: &Settings, new: &Settings) {
    each(changes, old, new, |key, value| Change::Setting { persistent, key: key.clone(), value: value.cloned() });
}

fn each<V: PartialEq>(
    changes: &mut Vec<Change>,
    old: &Table<Arc<str>, V>,
    new: &Table<Arc<str>, V>,
    change: impl Fn(&Arc<str>, Option<&V>) -> Change,
) {
    changes.extend(new.changes_since(old).map(|entry| match entry {
        TableChange::Removed(key, _) => change(key, None),
        TableChange::Put(key, value) => change(key, Some(value)),
    }));
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(version: u64, keys: &[(&str, &str)]) -> Arc<ClusterState> {
        let mut state = ClusterState::initial("one".into());
        state.term = Term::ZERO.next();
        state.version = Version::new(version).expect("it is below 2^53");
        state.nodes.master = Some("a".into());
        for (key, value) in keys {
            state.metadata.keys.insert((*key).into(), KeyValue::new(*value, (Term::ZERO.next(), Version::ZERO)));
        }
        Arc::new(state)
    }

    fn rank(version: u64) -> (Term, Version) {
        (Term::ZERO.next(), Version::new(version).expect("it is below 2^53"))
    }

    fn versions(resume: Resume) -> Vec<u64> {
        match resume {
            Resume::Steps(steps) => steps.iter().map(|step| step.at.version.get()).collect(),
            Resume::Compacted(state) => vec![0, state.version.get()],
            Resume::Ahead => vec![0],
        }
    }

    #[test]
    fn a_watcher_goes_on_from_any_state_that_the_log_knows() {
        let mut log = ChangeLog::default();
        assert_eq!(versions(log.resume(rank(3), 9, 1_000)), [0], "nothing is known yet");
        for version in 3..=6 {
            log.advance(&state(version, &[]));
        }
        assert_eq!(versions(log.resume(rank(3), 9, 1_000)), [4, 5, 6]);
        assert_eq!(versions(log.resume(rank(3), 2, 1_000)), [4, 5], "no more than it asks for");
        assert_eq!(versions(log.resume(rank(6), 9, 1_000)), [] as [u64; 0], "it knows everything");
        assert_eq!(versions(log.resume(rank(7), 9, 1_000)), [0], "it knows more than this node");
        assert_eq!(versions(log.resume(rank(2), 9, 1_000)), [0, 6], "that is too long ago");
        log.advance(&state(8, &[]));
        assert_eq!(versions(log.resume(rank(6), 9, 1_000)), [0, 8], "the node skipped a state");
        assert_eq!(versions(log.resume(rank(8), 9, 1_000)), [] as [u64; 0]);
    }

    #[test]
    fn a_step_tells_each_change_once() {
        let mut log = ChangeLog::default();
        log.advance(&state(1, &[("a", "1"), ("b", "1")]));
        let next = state(2, &[("b", "2"), ("c", "1")]);
        let step = log.advance(&next).expect("it follows");
        let held = |key: &str| next.metadata.keys.get(key).cloned();
        let key = |key: &str| Change::Key { key: key.into(), value: held(key) };
        assert_eq!(step.changes, [key("a"), key("b"), key("c")]);
        assert_eq!(log.advance(&next), None, "the same state again changes nothing");
        let mut masterless = (*next).clone();
        masterless.nodes.master = None;
        assert_eq!(log.advance(&Arc::new(masterless)), None, "no master is no change of the cluster");
    }

    #[test]
    fn a_log_follows_the_steps_of_another_and_goes_on_by_states_behind_them() {
        let (mut theirs, mut ours) = (ChangeLog::default(), ChangeLog::default());
        let mut with_others = (*state(4, &[("a", "2"), ("c", "1")])).clone();
        with_others.nodes.master = Some("b".into());
        with_others.metadata.transient.insert("x".into(), "1".into());
        let with_others = Arc::new(with_others);
        for log in [&mut theirs, &mut ours] {
            log.advance(&state(2, &[("a", "1"), ("b", "1")]));
        }
        theirs.advance(&state(3, &[("a", "1")]));
        theirs.advance(&with_others);
        let Resume::Steps(steps) = theirs.resume(rank(2), 9, 10_000) else {
            panic!("they are remembered");
        };
        let [first, second] = &steps[..] else {
            panic!("there are two: {steps:?}");
        };
        assert!(!ours.follow(second.clone()), "one is missing before it");
        assert!(ours.follow(first.clone()) && ours.follow(second.clone()));
        assert!(!ours.follow(second.clone()), "it is known");
        let newest = ours.newest().expect("there is one");
        assert_eq!(newest.id(), with_others.id());
        assert_eq!(changes(newest, &with_others), [], "it shows what theirs shows");
        assert_eq!(versions(ours.resume(rank(2), 9, 10_000)), [3, 4]);
        let step = ours.advance(&state(5, &[("a", "2")])).expect("it leads on from the last step");
        assert_eq!(step.changes.len(), 3, "{step:?}");
        assert_eq!(versions(ours.resume(rank(3), 9, 10_000)), [4, 5]);
    }

    #[test]
    fn what_was_known_before_a_state_was_missed_is_taken_up_again() {
        let (mut whole, mut log) = (ChangeLog::default(), ChangeLog::default());
        for version in 1..=8 {
            whole.advance(&state(version, &[]));
            if version != 5 {
                log.advance(&state(version, &[]));
            }
        }
        assert_eq!(versions(log.resume(rank(2), 9, usize::MAX)), [0, 8], "nobody told the fifth yet");
        assert_eq!((log.gap(rank(2)), log.gap(rank(4))), (Some(rank(4)), Some(rank(4))));
        assert_eq!((log.gap(rank(5)), log.gap(rank(0))), (None, None));
        let Resume::Steps(missed) = whole.resume(rank(4), 2, usize::MAX) else { panic!("they are known") };
        assert!(log.fill(rank(4), &missed));
        assert_eq!(versions(log.resume(rank(2), 9, usize::MAX)), [3, 4, 5, 6, 7, 8]);
        assert_eq!((log.oldest(), log.gap(rank(2))), (rank(1), None));
    }

    #[test]
    fn a_log_is_filled_with_what_another_knows_of_the_time_before_it() {
        let (mut theirs, mut ours) = (ChangeLog::default(), ChangeLog::default());
        (2..=8).for_each(|version| drop(theirs.advance(&state(version, &[("k", &version.to_string())]))));
        (7..=8).for_each(|version| drop(ours.advance(&state(version, &[("k", &version.to_string())]))));
        let Resume::Steps(steps) = theirs.resume(rank(3), 9, 10_000) else {
            panic!("they are remembered");
        };
        let led = &steps[..4];
        assert!(!ours.fill(rank(3), &steps), "they go on behind the first state that is known");
        assert!(!ours.fill(rank(3), &led[..3]), "they end before it");
        assert!(!ours.fill(rank(2), led) && !ours.fill(rank(3), &[]), "they begin behind it");
        assert!(!ours.fill(rank(3), &[led[0].clone(), led[3].clone()]), "some are missing");
        assert_eq!(versions(ours.resume(rank(3), 9, 10_000)), [0, 8]);
        assert!(ours.fill(rank(3), led));
        assert_eq!((ours.oldest(), ours.changes), (rank(3), 5));
        assert_eq!(versions(ours.resume(rank(3), 9, 10_000)), [4, 5, 6, 7, 8]);
        let large = "x".repeat(ChangeLog::BYTES_MAX - 600);
        let mut full = ChangeLog::default();
        (7..=8).for_each(|version| drop(full.advance(&state(version, &[("k", &format!("{version}{large}"))]))));
        assert_eq!(full.oldest(), rank(7), "all of it fits, but hardly more");
        assert!(!full.has_room_for(led) && !full.fill(rank(3), led), "there is no room for them");
    }

    #[test]
    fn what_is_too_much_is_forgotten_from_the_beginning() {
        let mut log = ChangeLog::default();
        let large = "x".repeat(ChangeLog::BYTES_MAX / 4);
        log.advance(&state(1, &[]));
        for version in 2..=9u64 {
            log.advance(&state(version, &[("k", &format!("{version}{large}"))]));
        }
        assert_eq!(log.oldest(), rank(6));
        assert_eq!(versions(log.resume(rank(5), 9, 1_000)), [0, 9]);
        assert_eq!(versions(log.resume(rank(6), 9, 1_000)), [7], "a large step goes alone");
        let mut log = ChangeLog::default();
        for version in 1..=ChangeLog::STEPS_MAX as u64 + 2 {
            log.advance(&state(version, &[]));
        }
        assert_eq!(log.oldest(), rank(2), "steps without a change are bounded as well");
    }
}
