//! Truth tables of the functions that decide: a row of input, an arrow, and what comes out.
//!
//! Where the order of the input must not matter, every row is judged in several orders.

use super::mistake::{Mistake, ScriptError};
use super::script_world::ScriptWorld;
use super::words::{Words, rank, time};
use crate::cluster::{EphemeralId, Node, NodeId, Roles, StateId, Term, Uuid, VotingSet, VotingSets};
use crate::protocol::Time;
use crate::zen::elect::{self, Candidate, Lost, Seen};
use crate::zen::message::PeerStatus;
use crate::zen::quorum::{BootstrapSet, Requirement, next_voting_set};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// When the pings of a table were sent and the answers are judged.
const ASKED: Time = Time::from_micros(60_000_000);

/// A node whose disk was wiped, as in `m~2`, is at the address of `m`.
fn node(name: &str, roles: Roles) -> Arc<Node> {
    let host = name.split('~').next().unwrap_or(name);
    Arc::new(Node {
        id: name.into(),
        ephemeral_id: format!("{name}-1").into(),
        name: name.into(),
        address: format!("{host}:9300").into(),
        roles,
        attributes: Arc::default(),
        version: "1".into(),
    })
}

/// A node that is not eligible is written with `data` behind it.
fn roles(flags: &[&str]) -> Roles {
    Roles { master: !flags.contains(&"data"), ..Roles::ALL }
}

fn sight(node: Arc<Node>) -> PeerStatus {
    let accepted = StateId::NONE;
    PeerStatus {
        unwell: false,
        hangs: false,
        leaves: false,
        left_out_by: Default::default(),
        has_recovered_state: false,
        node,
        master: None,
        term: Term::ZERO,
        accepted,
        masterless: true,
        sees_quorum: true,
        stands: None,
        change: 0,
    }
}

/// Reads `a=…` with flags that commas divide.
fn entry<'a>(word: &'a str, flags: &[&str]) -> Result<(&'a str, &'a str, Vec<&'a str>), Mistake> {
    let (name, value) = word.split_once('=').ok_or_else(|| Mistake::new(format!("`{word}`"), "`a=…`"))?;
    let mut parts = value.split(',');
    let first = parts.next().unwrap_or_default();
    let rest: Vec<&str> = parts.collect();
    match rest.iter().find(|part| !flags.contains(part) && time(part).is_err()) {
        None => Ok((name, first, rest)),
        Some(part) => Err(Mistake::new(format!("`{part}` in `{word}`"), flags.join(", "))),
    }
}

/// The result for the items in several orders, which must be the same.
fn in_any_order<T: Clone>(items: &[T], judge: impl Fn(&[T]) -> String) -> String {
    let result = judge(items);
    let mut items = items.to_vec();
    items.reverse();
    for _ in 0..items.len() {
        items.rotate_left(1);
        assert_eq!(judge(&items), result, "the order of the input must not matter");
    }
    result
}

fn row(stage: &mut ScriptWorld, input: &[&str], result: &str) {
    stage.say(format!("{} → {result}", input.join(" ")));
}

pub(super) fn candidates(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    let row_of = words.clone().rest();
    let minimum = words.parsed("min", "a number")?.unwrap_or(0);
    let mut sights = Vec::new();
    for word in words.rest() {
        let (name, accepted, flags) = entry(word, &["blind", "data", "follows"])?;
        let (term, version) = rank(accepted)?;
        let mut sight = sight(node(name, roles(&flags)));
        sight.accepted = StateId { term, version, uuid: Uuid::ZERO };
        sight.sees_quorum = !flags.contains(&"blind");
        sight.masterless = !flags.contains(&"follows");
        sights.push(sight);
    }
    let result = in_any_order(&sights, |sights| {
        let candidates: Vec<Candidate> = sights.iter().filter_map(Candidate::of).collect();
        elect::best_candidate(&candidates, minimum).map_or("nobody".into(), |best| best.node.name.to_string())
    });
    row(stage, &row_of, &result);
    Ok(())
}

/// `b=m,50ms` says that `b` follows `m` and heard of it 50 ms before it was asked; `b=m,higher` that it does so in a higher
/// term than others; `lost=m,100ms` that this node lost `m` 100 ms before it asked.
pub(super) fn active_masters(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    let row_of = words.clone().rest();
    let local = node(words.option("me").unwrap_or("me"), Roles::ALL);
    let ignores = words.flag("ignore");
    let mut lost: BTreeMap<EphemeralId, Lost> = BTreeMap::new();
    while let Some(word) = words.option("lost") {
        let (name, ago) = word.split_once(',').unwrap_or((word, "0"));
        lost.insert(format!("{name}-1").into(), Lost { at: ASKED - time(ago)?, why: "lost".into() });
    }
    let mut seen = Vec::new();
    for word in words.rest() {
        let (name, master, flags) = entry(word, &["data", "master-data", "higher"])?;
        let ago = flags.iter().find_map(|flag| time(flag).ok()).unwrap_or(Duration::ZERO);
        let mut sight = sight(node(name, roles(&flags)));
        let master_roles = Roles { master: !flags.contains(&"master-data"), ..Roles::ALL };
        sight.master = (master != "-").then(|| (node(master, master_roles), ago));
        sight.masterless = sight.master.is_none();
        sight.term = if flags.contains(&"higher") { Term::ZERO.next() } else { Term::ZERO };
        seen.push(Seen { sight, asked: ASKED });
    }
    let result = in_any_order(&seen, |seen| {
        let counted = seen.iter().filter(|seen| elect::counts(&seen.sight, ignores));
        let masters = elect::active_masters(counted, &local, &lost);
        let names: BTreeSet<&str> = masters.iter().map(|(_, master)| &*master.name).collect();
        let named = names.into_iter().collect::<Vec<_>>().join(" ");
        elect::tie_break(masters).map_or("none".into(), |chosen| format!("{named}, joins {}", chosen.name))
    });
    row(stage, &row_of, &result);
    Ok(())
}

/// The names between braces.
fn names(word: &str) -> Result<Vec<&str>, Mistake> {
    let inner = word.strip_prefix('{').and_then(|word| word.strip_suffix('}'));
    let inner = inner.ok_or_else(|| Mistake::new(format!("`{word}` as a set"), "names as in `{a,b}`, or `{}`"))?;
    Ok(inner.split(',').filter(|name| !name.is_empty()).collect())
}

fn voting_set(word: &str) -> Result<VotingSet, Mistake> {
    Ok(names(word)?.into_iter().map(NodeId::from).collect())
}

/// A node that is not eligible is written with a minus behind its name.
pub(super) fn enough(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    let row_of = words.clone().rest();
    let own = words.option("own").map(voting_set).transpose()?.unwrap_or_default();
    let committed = words.option("committed").map(voting_set).transpose()?.unwrap_or_else(|| own.clone());
    let minimum = words.parsed("min", "a number")?.unwrap_or(0);
    let mut bootstrap = BTreeSet::new();
    while let Some(word) = words.option("bootstrap") {
        let (set, all) = word.strip_suffix(",all").map_or((word, false), |set| (set, true));
        let members = names(set)?.into_iter().map(Arc::from).collect();
        bootstrap.insert(BootstrapSet { all, ..BootstrapSet::majority_of(members) });
    }
    let backers = names(words.need("a set of backers")?)?.into_iter().map(|name| {
        let flags: &[&str] = if name.ends_with('-') { &["data"] } else { &[] };
        let node = node(name.trim_end_matches('-'), roles(flags));
        (node.id.clone(), node)
    });
    let requirement = Requirement { sets: VotingSets { committed, own }, minimum, bootstrap };
    let is_met = requirement.is_met_by(&backers.collect());
    words.end()?;
    row(stage, &row_of, if is_met { "enough" } else { "not enough" });
    Ok(())
}

pub(super) fn majority(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    let row_of = words.clone().rest();
    let set = voting_set(words.need("a voting set")?)?;
    let votes = voting_set(words.need("the set of those who vote")?)?;
    words.end()?;
    row(stage, &row_of, if set.has_majority(|id| votes.contains(id)) { "majority" } else { "no majority" });
    Ok(())
}

pub(super) fn next_set(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    let row_of = words.clone().rest();
    let need = |word: Option<_>, what: &str| word.ok_or_else(|| Mistake::new(format!("no `{what}=`"), "all three"));
    let current = voting_set(need(words.option("current"), "current")?)?;
    let live: BTreeSet<NodeId> = names(need(words.option("live"), "live")?)?.into_iter().map(NodeId::from).collect();
    let master = need(words.option("master"), "master")?;
    words.end()?;
    let next = next_voting_set(&current, &live, &master.into());
    assert_eq!(next_voting_set(&next, &live, &master.into()), next, "a set that was aimed at is kept");
    row(stage, &row_of, &next.to_string());
    Ok(())
}
