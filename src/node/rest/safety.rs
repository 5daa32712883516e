//! `/_zazen/safe_to_stop` and `/_zazen/drain`: may this node be stopped, and getting it ready for that.
//!
//! Judged by the newest committed state, which the master vouches for, and by who answers now: every other voting node is
//! asked itself whether it follows that master, can write, and reaches the others. Elasticsearch 6.8 has nothing like it.

use super::body::Json;
use super::error::RestError;
use super::members;
use super::nodes::{TIMEOUT, own};
use super::reply::Reply;
use super::route::Call;
use super::snapshot::{self, MASTER_TIMEOUT};
use crate::cluster::{ClusterState, Node, NodeId, VotingSet};
use crate::runtime::ask::of_all;
use crate::runtime::drain;
use crate::runtime::outlook;
use crate::runtime::sight::{ReachOutcome, Sight, Wanted};
use crate::service::{Answer, Question};
use axum::http::{Method, StatusCode};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::Instant;

/// A voting set that is smaller can be handed to other nodes as a whole when its node says good-bye.
const KEPT_FROM: usize = 3;

/// How long a drained master waits until another one leads.
const HAND_OVER: Duration = Duration::from_secs(5);

/// How long it is waited for those that do not follow the master yet, and how often they are asked meanwhile.
const SETTLING: Duration = Duration::from_millis(500);
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Whether the cluster goes on without this node.
pub(super) async fn show(call: Call) -> Result<Reply, RestError> {
    let verdict = judge(&call).await;
    let status = if verdict.stop.is_ok() { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    Ok(Reply::tree(verdict.into()).with_status(status))
}

/// Tells users to go elsewhere and hands the mastership over; or takes that back, or only tells how it is.
pub(super) async fn drain(call: Call) -> Result<Reply, RestError> {
    if call.method == Method::DELETE {
        call.handle.drain().end();
    }
    if call.method != Method::POST {
        return Ok(Reply::tree(Json::object([("drained", call.handle.drain().is_on().into())])));
    }
    let leads = |state: &ClusterState| state.nodes.master.as_ref() == Some(&call.handle.local().id);
    let was_master = leads(&call.handle.state());
    if was_master {
        // Whoever cannot hand over stays master; the verdict tells.
        let answer = call.handle.ask(Question::HandOver { to: None, master_timeout: HAND_OVER }).await;
        if matches!(answer, Answer::HandedOver { .. }) {
            let has_another = |state: &ClusterState| state.nodes.master.is_some() && !leads(state);
            snapshot::wait(&call.handle, Instant::now() + HAND_OVER, has_another).await?;
        }
    }
    drain::begin(&call.handle);
    let verdict = judge(&call).await;
    let now_master = leads(&call.handle.state());
    let json = Json::object([
        ("drained", true.into()),
        ("was_master", was_master.into()),
        ("is_master", now_master.into()),
        ("safe_to_stop", verdict.into()),
    ]);
    Ok(Reply::tree(json))
}

/// What was found.
struct StopSafety {
    /// Whether SIGTERM does no harm, or why it does.
    stop: Result<(), String>,
    /// The same of SIGKILL, or of pulling the plug.
    kill: Result<(), String>,
}

impl From<StopSafety> for Json {
    fn from(verdict: StopSafety) -> Json {
        let why = verdict.stop.as_ref().err().or(verdict.kill.as_ref().err()).cloned();
        Json::object([
            ("safe", verdict.stop.is_ok().into()),
            ("safe_to_kill", verdict.kill.is_ok().into()),
            ("reason", why.into()),
        ])
    }
}

async fn judge(call: &Call) -> StopSafety {
    let until = Instant::now() + SETTLING;
    loop {
        let (found, is_settled) = look(call).await;
        if is_settled || Instant::now() >= until {
            return found;
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// What is found now, and whether each that answers follows the master already: after a change one may be a moment behind.
async fn look(call: &Call) -> (StopSafety, bool) {
    let timeout = call.parameters.time("master_timeout", MASTER_TIMEOUT).unwrap_or(MASTER_TIMEOUT);
    let state = match snapshot::confirmed(&call.handle, timeout).await {
        Ok(state) => state,
        Err(_) => {
            let why = || Err("no master vouches for the state: without one nobody can tell what is safe".to_owned());
            return (StopSafety { stop: why(), kill: why() }, true);
        }
    };
    let local = call.handle.local();
    let others: Vec<Arc<Node>> =
        state.nodes.iter().filter(|node| node.is_master_eligible() && node.id != local.id).cloned().collect();
    let wanted = Wanted { events: 0, trial: true };
    let here = || outlook::look(call.handle.clone(), wanted);
    let asked = of_all(&call.handle, others, (&wanted.path(), TIMEOUT), here).await;
    let told = own(asked, |sight: &Sight| &sight.node);
    let master = state.nodes.master.as_ref();
    let votes = |sight: &Sight| sight.disk.is_none() && can_vote(&sight.explanation, master);
    let sights: BTreeMap<NodeId, Sight> =
        told.into_iter().filter_map(|(node, told)| Some((node.id.clone(), told.ok()?))).collect();
    let is_settled = sights.values().all(&votes);
    let others: BTreeMap<&NodeId, &Sight> = sights.iter().filter(|(_, sight)| votes(sight)).collect();
    let alive = best_group(&others, &state.metadata.voting.own);
    let minimum = call.handle.settings().tuning.with_dynamic(&state.metadata).0.minimum();
    let gone = members::gone(call, &state);
    let name = |id: &NodeId| {
        let member = state.nodes.get(id).map(|node| node.name.to_string());
        member.or_else(|| Some(gone.get(id)?.name.to_string())).unwrap_or_else(|| id.to_string())
    };
    (verdict(&state, local, &alive, minimum, name), is_settled)
}

/// Those who answer and hear each other as the next master would have to: of each with all that it reaches and that reach
/// it, the group with the most voters. Whom a node has not tried yet it reaches.
fn best_group(sights: &BTreeMap<&NodeId, &Sight>, voters: &VotingSet) -> BTreeSet<NodeId> {
    let reaches = |from: &Sight, to: &NodeId| {
        from.reaches.iter().all(|reach| reach.node != *to || reach.outcome == ReachOutcome::Answered)
    };
    let around = |(id, sight): (&&NodeId, &&Sight)| -> BTreeSet<NodeId> {
        let both = sights.iter().filter(|(other, its)| **other == *id || (reaches(sight, other) && reaches(its, id)));
        both.map(|(other, _)| (*other).clone()).collect()
    };
    let votes = |group: &BTreeSet<NodeId>| voters.iter().filter(|id| group.contains(*id)).count();
    sights.iter().map(around).max_by_key(|group| (votes(group), group.len())).unwrap_or_default()
}

/// Whether a node that answers also does what a majority is for: it follows this master or is it, and its disk writes.
fn can_vote(explanation: &serde_json::Value, master: Option<&NodeId>) -> bool {
    let followed = explanation["master_node"]["id"].as_str();
    followed.is_some() && followed == master.map(NodeId::as_str) && explanation["disk_hangs_millis"].is_null()
}

/// Judges by who of the other master-eligible members answers.
fn verdict(
    state: &ClusterState,
    local: &Node,
    alive: &BTreeSet<NodeId>,
    minimum: usize,
    name: impl Fn(&NodeId) -> String,
) -> StopSafety {
    if !local.is_master_eligible() {
        return StopSafety { stop: Ok(()), kill: Ok(()) };
    }
    // The state is committed, so its own set is the one that counts.
    let voting = &state.metadata.voting;
    let too_few = (minimum > alive.len()).then(|| {
        format!(
            "[discovery.zen.minimum_master_nodes] is [{minimum}], and without this node [{}] master-eligible nodes answer",
            alive.len()
        )
    });
    if let Some(why) = too_few {
        return StopSafety { stop: Err(why.clone()), kill: Err(why) };
    }
    if voting.own.has_majority(|id| alive.contains(id)) {
        return StopSafety { stop: Ok(()), kill: Ok(()) };
    }
    let is_silent = |id: &&NodeId| **id != local.id && !alive.contains(*id);
    let silent: Vec<String> = voting.own.iter().filter(is_silent).map(&name).collect();
    let voters: Vec<String> = voting.own.iter().map(&name).collect();
    let why = format!(
        "of the voting nodes [{}] no majority is left without this one; of the others these do not answer, write to their disks or reach the rest: [{}]",
        voters.join(", "),
        silent.join(", ")
    );
    // As long as a majority is there with this node, its good-bye gives the vote to others.
    let counts = |id: &NodeId| *id == local.id || alive.contains(id);
    let can_shrink = voting.own.len() < KEPT_FROM && !alive.is_empty() && voting.own.has_majority(counts);
    StopSafety { stop: if can_shrink { Ok(()) } else { Err(why.clone()) }, kill: Err(why) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::sight::Reach;

    /// Whether `a` may be stopped and killed, with this voting set, while these others answer.
    fn judged(voters: &[&str], alive: &[&str], minimum: usize) -> (bool, bool) {
        let mut state = ClusterState::initial("prod".into());
        let set = VotingSet::new(voters.iter().map(|id| NodeId::from(*id)));
        (state.metadata.voting.own, state.metadata.voting.committed) = (set.clone(), set);
        let alive = alive.iter().map(|id| NodeId::from(*id)).collect();
        let found = verdict(&state, &crate::runtime::sample::node("a"), &alive, minimum, NodeId::to_string);
        (found.stop.is_ok(), found.kill.is_ok())
    }

    #[test]
    fn who_answers_and_follows_nobody_or_cannot_write_counts_for_nothing() {
        let follows = |told: serde_json::Value| can_vote(&told, Some(&"m".into()));
        let master = serde_json::json!({"id": "m"});
        assert!(follows(serde_json::json!({"master_node": master})));
        assert!(!follows(serde_json::json!({"master_node": null})));
        assert!(!follows(serde_json::json!({"master_node": {"id": "another"}})));
        assert!(!follows(serde_json::json!({"master_node": master, "disk_hangs_millis": 900})));
        assert!(!can_vote(&serde_json::json!({}), None));
    }

    #[test]
    fn only_those_count_that_hear_each_other() {
        let sight = |node: &str, lost: &[&str]| {
            let reach = |id: &&str| Reach { node: (*id).into(), outcome: ReachOutcome::TimedOut, micros: 0 };
            let told = serde_json::json!({"node": node, "explanation": {}});
            let bare: Sight = serde_json::from_value(told).expect("all else may be missing");
            Sight { reaches: lost.iter().map(reach).collect(), ..bare }
        };
        let group = |sights: &[Sight]| {
            let by_id: BTreeMap<&NodeId, &Sight> = sights.iter().map(|sight| (&sight.node, sight)).collect();
            let voters = VotingSet::new(["b", "c", "d", "e"].map(NodeId::from));
            best_group(&by_id, &voters).iter().map(ToString::to_string).collect::<String>()
        };
        assert_eq!(group(&[]), "");
        assert_eq!(group(&[sight("b", &[]), sight("c", &[])]), "bc");
        assert_eq!(group(&[sight("b", &["c"]), sight("c", &[])]).len(), 1, "one way is not enough");
        assert_eq!(group(&[sight("b", &["d"]), sight("c", &[]), sight("d", &["b"])]), "bcd", "one hears both");
        assert_eq!(group(&[sight("b", &["c", "d"]), sight("c", &[]), sight("d", &[])]), "cd");
    }

    #[test]
    fn a_node_may_go_while_a_majority_answers_without_it() {
        assert_eq!(judged(&["a", "b", "c"], &["b", "c"], 0), (true, true));
        assert_eq!(judged(&["a", "b", "c"], &["b"], 0), (false, false));
        assert_eq!(judged(&["b", "c", "d"], &["b", "c", "d"], 0), (true, true));
        assert_eq!(judged(&["a", "b", "c"], &["b", "c"], 3), (false, false), "the operator asks for more");
        assert_eq!(judged(&["a"], &["b"], 0), (true, false), "its good-bye gives the vote away");
        assert_eq!(judged(&["a"], &[], 0), (false, false), "there is nobody else");
    }
}
