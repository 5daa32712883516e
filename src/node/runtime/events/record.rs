//! Makes entries of what the core notes and of the states that it shows.
//!
//! It belongs to the task that owns the node, and only hands on: nothing here waits. What others can make a node note again
//! and again is recorded once in a while.

use super::super::log::{Repeats, Topic};
use super::{ASKED_FOR, Entry, Kind, Subject, Way};
use crate::cluster::{ClusterState, Node, NodeId, NodesDelta, Settings, TableChange, Version, VotingSet};
use crate::settings::Value as Setting;
use crate::zen::{Note, Zen};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

/// Longer texts are cut.
const TEXT_MAX: usize = 300;

/// How many of many are named.
const NAMED_MAX: usize = 16;

/// What is known of an election before it is decided.
struct Search {
    cause: String,
    since: Instant,
    stood: Option<Instant>,
    candidates: Vec<String>,
}

/// What becomes of one note: an entry but for when and where it happened.
struct Draft {
    kind: Kind,
    node: Option<Subject>,
    reason: String,
    details: Map<String, Value>,
}

impl Draft {
    fn new(kind: Kind, node: Option<&Node>, reason: impl Into<String>) -> Self {
        Draft { kind, node: node.map(Subject::from), reason: reason.into(), details: Map::new() }
    }

    fn with(mut self, name: &str, value: impl Into<Value>) -> Self {
        self.details.insert(name.into(), value.into());
        self
    }
}

/// Records what happens to one node.
pub(in crate::runtime) struct Recorder {
    way: Way,
    began: Instant,
    repeats: Repeats,
    search: Option<Search>,
    /// Why nodes failed that are about to be removed.
    failed: BTreeMap<NodeId, String>,
    shown: Option<Arc<ClusterState>>,
}

impl Recorder {
    /// One that hands entries to this.
    pub(in crate::runtime) fn new(way: Way) -> Self {
        let (repeats, search, failed) = (Repeats::default(), None, BTreeMap::new());
        Recorder { way, began: now(), repeats, search, failed, shown: None }
    }

    /// The node was started.
    pub(in crate::runtime) fn started(&mut self, zen: &Zen) {
        self.shown = Some(zen.shown().clone());
        let draft = Draft::new(Kind::Started, Some(zen.local()), "");
        self.send(zen, draft.with("pid", std::process::id()).with("release", env!("CARGO_PKG_VERSION")));
    }

    /// What the core noted.
    pub(in crate::runtime) fn note(&mut self, zen: &Zen, note: &Note) {
        match note {
            Note::Searching { reason } => self.search_begins(reason),
            Note::MasterLeft { master, reason } => {
                self.search_begins(&format!("master_left: {reason}"));
                self.send(zen, Draft::new(Kind::MasterLeft, Some(master), reason));
            }
            Note::SteppedDown { reason } => {
                self.search_begins(&format!("stepped down: {reason}"));
                self.send(zen, Draft::new(Kind::SteppedDown, Some(zen.local()), reason));
            }
            Note::Stands { reason, .. } => {
                let search = self.search.get_or_insert_with(|| Search::new(reason));
                (search.stood, search.candidates) = (Some(now()), zen.candidate_names());
            }
            Note::Won { term, votes } => {
                let draft = self.won(zen, votes).with("term", term.get());
                self.send(zen, draft);
            }
            Note::Published { delta, reason, .. } => self.delta(zen, delta, reason),
            Note::Applied { delta, .. } => self.delta(zen, delta, ""),
            Note::NodeFailed { node, reason } => self.fails(node, reason),
            Note::Votes { .. }
            | Note::Joins { .. }
            | Note::JoinFailed { .. }
            | Note::NotEnoughMasters { .. }
            | Note::NoMaster { .. }
            | Note::Fetches { .. }
            | Note::PingFailed { .. }
            | Note::OtherCluster { .. }
            | Note::DuplicateId { .. }
            | Note::MinimumTooLow { .. }
            | Note::BadSetting { .. }
            | Note::TimeoutRaised { .. }
            | Note::DelaysRecovery { .. }
            | Note::Archives { .. } => {}
            // Users' own changes are few, and each is looked for.
            Note::VotingSet { is_asked_for: true, .. } => {
                if let Some(draft) = plain(note, zen) {
                    self.send(zen, draft);
                }
            }
            Note::Abandoned { .. }
            | Note::TurnedAway { .. }
            | Note::JoinRejected { .. }
            | Note::Behind { .. }
            | Note::SlowPublish { .. }
            | Note::CommitFailed { .. }
            | Note::Stalled { .. }
            | Note::SlowWrite { .. }
            | Note::WriteOverdue { .. }
            | Note::VotingSet { .. }
            | Note::TakesBack { .. }
            | Note::TakesTerm { .. }
            | Note::HandsOver { .. }
            | Note::Recovers { .. } => {
                if let Some(draft) = plain(note, zen) {
                    self.send_seldom(zen, draft);
                }
            }
        }
    }

    /// The state that readers see from now on.
    pub(in crate::runtime) fn apply(&mut self, zen: &Zen, state: &Arc<ClusterState>) {
        if state.nodes.master.is_some() {
            self.search = None;
        }
        let before = self.shown.replace(state.clone());
        let Some(before) = before.filter(|before| before.version > Version::ZERO) else {
            return;
        };
        let mut changes = Map::new();
        note_changes("persistent", &before.metadata.persistent, &state.metadata.persistent, &mut changes);
        note_changes("transient", &before.metadata.transient, &state.metadata.transient, &mut changes);
        if !changes.is_empty() {
            let master = state.nodes.master_node().map(|node| &**node);
            let draft = Draft::new(Kind::SettingsChanged, master, "asked for at another node");
            self.send_at(zen, Draft { details: changes, ..draft }, state.version.get());
        }
    }

    fn search_begins(&mut self, cause: &str) {
        self.search.get_or_insert_with(|| Search::new(cause));
    }

    fn won(&mut self, zen: &Zen, votes: &[NodeId]) -> Draft {
        let search = self.search.take().unwrap_or_else(|| Search::new("unknown"));
        let millis = |since: Instant| u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX);
        let nodes = &zen.ledger().accepted.nodes;
        let name = |id: &NodeId| nodes.get(id).map_or_else(|| id.to_string(), |node| node.name.to_string());
        let own = |id: &NodeId| if *id == zen.local().id { zen.local().name.to_string() } else { name(id) };
        Draft::new(Kind::ElectionWon, Some(zen.local()), search.cause)
            .with("candidates", search.candidates)
            .with("votes", named(votes.iter().map(own)))
            .with("vote_count", votes.len())
            .with("duration_millis", millis(search.since))
            .with("candidacy_millis", millis(search.stood.unwrap_or(search.since)))
    }

    fn fails(&mut self, node: &Node, reason: &str) {
        if self.failed.len() >= NAMED_MAX * NAMED_MAX {
            self.failed.clear();
        }
        self.failed.insert(node.id.clone(), reason.to_owned());
    }

    /// Who came, who went, and who leads.
    fn delta(&mut self, zen: &Zen, delta: &NodesDelta, reason: &str) {
        if let Some(master) = delta.new_master.as_ref().filter(|master| master.id != zen.local().id) {
            let search = self.search.as_ref().map(|search| (search.cause.clone(), search.since));
            let (cause, since) = search.map_or((String::new(), None), |(cause, since)| (cause, Some(since)));
            let mut draft = Draft::new(Kind::MasterChanged, Some(master), cause);
            if let Some(since) = since {
                draft = draft.with("duration_millis", u64::try_from(since.elapsed().as_millis()).unwrap_or(u64::MAX));
            }
            if let Some(previous) = &delta.previous_master {
                draft = draft.with("previous", &*previous.name);
            }
            self.send(zen, draft);
        }
        let by = match zen.open_master() {
            Some(master) if reason.is_empty() => format!("told by the master {}", master.name),
            Some(_) | None => reason.to_owned(),
        };
        for node in &delta.removed {
            let why = self.failed.remove(&node.id).unwrap_or_else(|| by.clone());
            self.send(zen, Draft::new(Kind::NodeLeft, Some(node), why));
        }
        for node in &delta.added {
            self.send(zen, Draft::new(Kind::NodeJoined, Some(node), &*by));
        }
    }

    fn send_seldom(&mut self, zen: &Zen, draft: Draft) {
        let subject = draft.node.as_ref().map_or_else(String::new, |node| node.id.to_string());
        match self.repeats.admit(self.began.elapsed(), Topic { kind: draft.kind.name(), subject }) {
            None => {}
            Some(0) => self.send(zen, draft),
            Some(times) => self.send(zen, draft.with("repeated", times)),
        }
    }

    fn send(&mut self, zen: &Zen, draft: Draft) {
        let version = zen.applied().version.get();
        self.send_at(zen, draft, version);
    }

    fn send_at(&mut self, zen: &Zen, draft: Draft, version: u64) {
        let Draft { kind, node, reason, details } = draft;
        self.way.send(Entry {
            sequence: 0,
            timestamp_millis: wall(),
            kind,
            term: zen.ledger().promise.term.get(),
            version,
            node,
            reason: clipped(&reason),
            details,
        });
    }
}

impl Search {
    fn new(cause: &str) -> Self {
        Search { cause: cause.to_owned(), since: now(), stood: None, candidates: Vec::new() }
    }
}

/// What is told as it was noted.
fn plain(note: &Note, zen: &Zen) -> Option<Draft> {
    let local = Some(&**zen.local());
    let millis = |span: &Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
    Some(match note {
        Note::Abandoned { term, reason } => Draft::new(Kind::ElectionFailed, local, reason).with("term", term.get()),
        Note::TurnedAway { node, why } => Draft::new(Kind::JoinRefused, Some(node), why),
        Note::JoinRejected { master, why } => Draft::new(Kind::JoinRefused, local, why).with("master", &*master.name),
        Note::Behind { timeout, nodes, .. } => {
            let nodes = named(nodes.iter().map(|node| node.name.to_string()));
            let draft = Draft::new(Kind::PublishBehind, local, note.to_string());
            draft.with("nodes", nodes).with("timeout_millis", millis(timeout))
        }
        Note::SlowPublish { source, took, .. } => {
            Draft::new(Kind::PublishSlow, local, &**source).with("took_millis", millis(took))
        }
        Note::CommitFailed { timeout, .. } => {
            Draft::new(Kind::PublishFailed, local, note.to_string()).with("timeout_millis", millis(timeout))
        }
        Note::Stalled { by } => Draft::new(Kind::Stalled, local, note.to_string()).with("took_millis", millis(by)),
        Note::SlowWrite { took } => {
            Draft::new(Kind::DiskSlow, local, note.to_string()).with("took_millis", millis(took))
        }
        Note::WriteOverdue { since } => {
            Draft::new(Kind::DiskSlow, local, note.to_string()).with("took_millis", millis(since))
        }
        Note::VotingSet { from, to, is_asked_for } => {
            let names = |set: &VotingSet| named(set.iter().map(|id| name_of(zen, id)));
            let reason = if *is_asked_for { ASKED_FOR } else { "" };
            Draft::new(Kind::VotingSetChanged, local, reason).with("from", names(from)).with("to", names(to))
        }
        Note::TakesBack { .. } => Draft::new(Kind::VotingSetChanged, local, note.to_string()),
        Note::TakesTerm { from, to } => {
            Draft::new(Kind::TermRaised, local, note.to_string()).with("from", from.get()).with("to", to.get())
        }
        Note::HandsOver { to, .. } => Draft::new(Kind::HandedOver, Some(to), note.to_string()),
        Note::Recovers { indices } => Draft::new(Kind::Recovered, local, note.to_string()).with("indices", *indices),
        Note::Searching { .. }
        | Note::NotEnoughMasters { .. }
        | Note::NoMaster { .. }
        | Note::Stands { .. }
        | Note::Votes { .. }
        | Note::Joins { .. }
        | Note::JoinFailed { .. }
        | Note::Fetches { .. }
        | Note::Won { .. }
        | Note::Published { .. }
        | Note::Applied { .. }
        | Note::DelaysRecovery { .. }
        | Note::Archives { .. }
        | Note::SteppedDown { .. }
        | Note::MasterLeft { .. }
        | Note::PingFailed { .. }
        | Note::NodeFailed { .. }
        | Note::OtherCluster { .. }
        | Note::DuplicateId { .. }
        | Note::MinimumTooLow { .. }
        | Note::BadSetting { .. }
        | Note::TimeoutRaised { .. } => return None,
    })
}

fn name_of(zen: &Zen, id: &NodeId) -> String {
    let node = zen.ledger().accepted.nodes.get(id).or_else(|| Some(zen.local()).filter(|local| local.id == *id));
    node.map_or_else(|| id.to_string(), |node| node.name.to_string())
}

/// The first of many.
fn named(names: impl Iterator<Item = String>) -> Vec<String> {
    names.take(NAMED_MAX).collect()
}

fn note_changes(set: &str, before: &Settings, after: &Settings, changes: &mut Map<String, Value>) {
    let told = |stored: &str| Setting::of_stored(stored).to_string();
    for change in after.changes_since(before).take(NAMED_MAX) {
        let (key, new) = match change {
            TableChange::Removed(key, _) => (key, None),
            TableChange::Put(key, value) => (key, Some(clipped(&told(value)))),
        };
        let old = before.get(&**key).map(|value| clipped(&told(value)));
        changes.insert(clipped(key), json!({ "set": set, "from": old, "to": new }));
    }
}

fn clipped(text: &str) -> String {
    text.chars().take(TEXT_MAX).collect()
}

#[expect(clippy::disallowed_methods, reason = "how long an election took is measured by the real clock")]
fn now() -> Instant {
    Instant::now()
}

#[expect(clippy::disallowed_methods, reason = "entries tell when they happened")]
pub(super) fn wall() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}
