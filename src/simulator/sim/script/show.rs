//! Shows where nodes stand, what they keep and what they wait for.

use super::mistake::{Mistake, ScriptError};
use super::script_world::ScriptWorld;
use super::story::moment;
use super::words::{Words, time};
use crate::cluster::{ClusterState, NodeId, StateId};
use crate::protocol::Protocol;
use crate::sim::{Fault, Member};
use crate::zen::{Ledger, Promise, Zen};
use crate::zen68::Zen68;

/// How long a write takes on a slow disk, in microseconds.
const SLOW_DISK_US: u64 = 500_000;

/// Whom a master leads, in which term and with which state.
pub(super) fn mastership(stage: &ScriptWorld, master: usize) -> String {
    let name = &stage.cast[master].name;
    let Some(member) = stage.world.participant(master) else {
        return format!("{name} is down");
    };
    let followers = member.applied().nodes.iter().filter(|node| node.id != member.local().id);
    let followers: Vec<&str> = followers.map(|node| node.id.as_str()).collect();
    let whom = if followers.is_empty() { "alone".into() } else { followers.join(", ") };
    let (term, at) = (member.standing().term, member.applied().id());
    let voting = member.zen().map_or_else(String::new, |zen| format!(", voting {}", voting(zen.ledger())));
    format!("{name} leads {whom} in term {term} at {at}{voting}")
}

/// A line for each node: whom it follows.
pub(super) fn masters(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    words.end()?;
    for node in 0..stage.cast.len() {
        let text = stance(stage, node);
        stage.say_of(node, &text);
    }
    Ok(())
}

fn stance(stage: &ScriptWorld, node: usize) -> String {
    let Some(member) = stage.world.participant(node) else {
        return "down".into();
    };
    let term = member.standing().term;
    let shown = stage.world.view(node).map_or(StateId::NONE, |view| view.id());
    let stance = match stage.leader_of(node) {
        Some(leader) if leader == node => format!("leads in term {term} at {shown}"),
        Some(leader) => format!("follows {} in term {term} at {shown}", stage.cast[leader].name),
        None => format!("{} in term {term}, no master, at {shown}", member.mode_name()),
    };
    if stage.world.is_running(node) { stance } else { format!("paused: {stance}") }
}

/// Everything that counts of a node.
pub(super) fn state(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    for node in stage.nodes(words)? {
        let text = stage.world.participant(node).map_or_else(|| "down".into(), of_member);
        stage.say_of(node, &text);
    }
    Ok(())
}

fn of_member(member: &Member) -> String {
    match member {
        Member::Zen(zen) => describe(zen),
        Member::Zen68(zen68) => describe_old(zen68),
    }
}

/// What an old node keeps is all that it shows.
fn describe_old(zen68: &Zen68) -> String {
    format!("{}, holds {}; shows {}", zen68.mode_name(), zen68.newest_held(), members(zen68.state()))
}

/// A state, its master and its nodes.
fn members(state: &ClusterState) -> String {
    let nodes: Vec<&str> = state.nodes.iter().map(|node| node.id.as_str()).collect();
    let master = state.nodes.master.as_ref().map_or("no master".into(), |master| format!("master {master}"));
    format!("{}: {master}, nodes {}", state.id(), nodes.join(" "))
}

fn describe(zen: &Zen) -> String {
    let ledger = zen.ledger();
    format!(
        "{}, {}; accepted {}, committed {}; voting {}; shows {}",
        zen.mode().name(),
        promise(&ledger.promise),
        ledger.accepted.id(),
        ledger.committed,
        voting(ledger),
        members(zen.shown())
    )
}

/// The sets that a node counts with.
fn voting(ledger: &Ledger) -> String {
    let sets = &ledger.accepted.metadata.voting;
    if ledger.is_settled() { sets.own.to_string() } else { sets.to_string() }
}

fn promise(promise: &Promise) -> String {
    let vote = promise.vote.as_ref().map_or("no vote", NodeId::as_str);
    format!("term {} for {vote}", promise.term)
}

/// Why there is a master, or none, as a node has it, and what it advises.
pub(super) fn explain(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    let node = stage.node(words.need("a node")?)?;
    words.end()?;
    let now = stage.world.local_time(node);
    let Some(explanation) = stage.world.participant(node).and_then(Member::zen).map(|zen| zen.explain(now)) else {
        stage.say_of(node, "down, or a node of old");
        return Ok(());
    };
    let advice = explanation.advice.iter().map(|advice| format!("advice: {advice}"));
    for line in std::iter::once(explanation.summary).chain(advice) {
        let line = stage.world.watch.0.shortened(&line);
        stage.say_of(node, &line);
    }
    Ok(())
}

/// What a node waits for, the nearest first.
pub(super) fn timers(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    let node = stage.node(words.need("a node")?)?;
    words.end()?;
    let now = stage.world.local_time(node);
    let due = stage.world.participant(node).map(Member::deadlines).unwrap_or_default();
    let due: Vec<String> = due.into_iter().map(|(at, timer)| format!("{timer} in {}", moment(at.since(now)))).collect();
    let text = if due.is_empty() { "waits for nothing".into() } else { due.join(", ") };
    stage.say_of(node, &text);
    Ok(())
}

/// Shows what a disk holds, or changes how fast it is.
pub(super) fn disk(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    let node = stage.node(words.need("a node")?)?;
    match words.next() {
        None => {
            let text = contents(stage, node);
            stage.say_of(node, &text);
        }
        Some("hangs") => stage.world.inject(Fault::DiskHangs(node)),
        Some(speed) => {
            let micros = match speed {
                "slow" => SLOW_DISK_US,
                "fast" => super::script_world::DISK_US,
                span => u64::try_from(time(span)?.as_micros())
                    .map_err(|_| Mistake::new(format!("`{span}`"), "a shorter time"))?,
            };
            stage.world.inject(Fault::Disk(node, micros, micros));
        }
    }
    Ok(words.end()?)
}

/// Copies what the disk of a node holds to another one's, as a person copies a data directory.
pub(super) fn copy_disk(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    let to = words.after("to")?.ok_or_else(|| Mistake::new("no `to`", "the node to copy to"))?;
    let (from, to) = (stage.node(words.need("a node")?)?, stage.node(to)?);
    words.end()?;
    if stage.world.participant(to).is_some() {
        return Err(Mistake::new("a node that runs", "a node that is down").into());
    }
    stage.world.copy_disk(from, to);
    Ok(())
}

fn contents(stage: &ScriptWorld, node: usize) -> String {
    let disk = stage.world.disk(node);
    let Some(id) = &disk.promise.node_id else {
        return "empty".into();
    };
    let keys = |state: &ClusterState| {
        let keys: Vec<String> =
            state.metadata.keys.iter().map(|(key, found)| format!(", {key}={}", found.value)).collect();
        keys.concat()
    };
    let accepted = disk.accepted.as_ref().map_or("nothing accepted".into(), |state| {
        format!("accepted {} with voting {}{}", state.id(), state.metadata.voting, keys(state))
    });
    let committed = disk.committed.map_or("nothing known committed".into(), |id| format!("committed {id}"));
    let cluster = if disk.cluster_uuid.is_some() { "of a cluster" } else { "of no cluster" };
    format!("id {id}, {cluster}, {}; {accepted}; {committed}", promise(&disk.promise))
}
