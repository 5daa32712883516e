//! What became of a cluster, as one node saw it: its last 1,000 transitions, as data, kept beside what it remembers.
//!
//! `record` makes an entry of what the core notes, `keep` writes the entries on a thread of its own, so that no disk delays
//! the core; here is what an entry is, and the way to it. Nothing depends on it: what cannot be written is kept in memory,
//! and what comes too fast is counted. Elasticsearch has nothing like it but its log.

mod keep;
mod record;
#[cfg(test)]
mod tests;

pub(super) use record::Recorder;

use crate::cluster::{Address, Node, NodeId, StateId};
use keep::Keeper;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::{BTreeSet, VecDeque};
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{SyncSender, sync_channel};
use std::sync::{Arc, Weak};
use std::thread::Builder;

/// How many transitions are kept.
pub const ENTRIES_MAX: usize = 1_000;

/// How many may wait for the thread that keeps them.
const WAITING_MAX: usize = 1_024;

/// How many requests for changes are remembered, until the change is there.
const REQUESTS_MAX: usize = 64;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The node was started.
    Started,
    /// This node was elected.
    ElectionWon,
    /// This node stood as a candidate in vain.
    ElectionFailed,
    /// Another node is master.
    MasterChanged,
    /// The master is gone.
    MasterLeft,
    /// This node leads no longer.
    SteppedDown,
    /// This master asks another node to lead.
    HandedOver,
    /// This master takes a higher term and stays master.
    TermRaised,
    /// A node came.
    NodeJoined,
    /// A node went.
    NodeLeft,
    /// A node that went is gone for good, as a user says.
    NodeRemoved,
    /// A node asked to be taken in and was not.
    JoinRefused,
    /// The nodes whose votes count are others.
    VotingSetChanged,
    /// A publish took a good part of the time that it may take.
    PublishSlow,
    /// A publish was not committed in time.
    PublishFailed,
    /// Some nodes have not applied a committed state in time.
    PublishBehind,
    /// Settings of the cluster are others.
    SettingsChanged,
    /// The state came back after a full restart.
    Recovered,
    /// The process stood still.
    Stalled,
    /// The disk was slow, or hangs.
    DiskSlow,
    /// So many transitions came too fast to be kept.
    Lost,
}

impl Kind {
    /// Its name, as it is written.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Started => "started",
            Kind::ElectionWon => "election-won",
            Kind::ElectionFailed => "election-failed",
            Kind::MasterChanged => "master-changed",
            Kind::MasterLeft => "master-left",
            Kind::SteppedDown => "stepped-down",
            Kind::HandedOver => "handed-over",
            Kind::TermRaised => "term-raised",
            Kind::NodeJoined => "node-joined",
            Kind::NodeLeft => "node-left",
            Kind::NodeRemoved => "node-removed",
            Kind::JoinRefused => "join-refused",
            Kind::VotingSetChanged => "voting-set-changed",
            Kind::PublishSlow => "publish-slow",
            Kind::PublishFailed => "publish-failed",
            Kind::PublishBehind => "publish-behind",
            Kind::SettingsChanged => "settings-changed",
            Kind::Recovered => "recovered",
            Kind::Stalled => "stalled",
            Kind::DiskSlow => "disk-slow",
            Kind::Lost => "lost",
        }
    }
}

/// The reason of what a user wanted.
pub const ASKED_FOR: &str = "asked for by a user";

/// Whom it happened to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    /// Its id.
    pub id: NodeId,
    /// Its name.
    pub name: Arc<str>,
    /// Where its transport listens.
    pub address: Address,
    /// Whether it may become master, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub master_eligible: Option<bool>,
}

impl From<&Node> for Subject {
    fn from(node: &Node) -> Self {
        let master_eligible = Some(node.is_master_eligible());
        Subject { id: node.id.clone(), name: node.name.clone(), address: node.address.clone(), master_eligible }
    }
}

/// One transition.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Entry {
    /// Its place among all of this node, over restarts.
    pub sequence: u64,
    /// When it happened, by this node's clock: milliseconds since 1970.
    pub timestamp_millis: u64,
    /// What happened.
    pub kind: Kind,
    /// The node's term then.
    pub term: u64,
    /// The version of the state that it had applied.
    pub version: u64,
    /// Whom it happened to, if that is a node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Subject>,
    /// Why, in words; empty if nobody said.
    pub reason: String,
    /// What else is known, by name.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub details: Map<String, Value>,
}

/// The transitions of a node, to be looked at. Clones are the same.
#[derive(Clone, Default)]
pub struct Events {
    shared: Arc<Shared>,
    /// To the thread that keeps them, as long as the node lives.
    entries: Weak<SyncSender<Entry>>,
}

#[derive(Default)]
struct Shared {
    kept: Mutex<VecDeque<Entry>>,
    requests: Mutex<VecDeque<Wanted>>,
    lost: AtomicU64,
}

/// A change of settings that a user of this node asked for.
struct Wanted {
    keys: BTreeSet<String>,
    by: String,
}

impl Events {
    /// Takes up what a data directory holds, and starts the thread that adds to it.
    pub(super) fn start(path_data: &Path) -> io::Result<(Events, Way)> {
        let (entries, queue) = sync_channel(WAITING_MAX);
        let entries = Arc::new(entries);
        let events = Events { entries: Arc::downgrade(&entries), ..Events::default() };
        let mut keeper = Keeper::open(path_data, events.clone());
        Builder::new().name("history".into()).stack_size(256 << 10).spawn(move || {
            while let Ok(entry) = queue.recv() {
                keeper.keep(entry);
            }
        })?;
        Ok((events.clone(), Way { entries: Some(entries), events }))
    }

    /// Those behind a sequence number, the oldest first; of more than `size` the newest.
    pub fn since(&self, sequence: Option<u64>, size: usize) -> Vec<Entry> {
        let kept = self.shared.kept.lock();
        let newer = kept.iter().rev().take_while(|entry| sequence.is_none_or(|sequence| entry.sequence > sequence));
        let mut newer: Vec<Entry> = newer.take(size).cloned().collect();
        newer.reverse();
        newer
    }

    /// How many are kept, and the number of the last one.
    pub fn extent(&self) -> (usize, u64) {
        let kept = self.shared.kept.lock();
        (kept.len(), kept.back().map_or(0, |entry| entry.sequence))
    }

    /// A user of this node says that one that went is gone for good.
    pub fn removed(&self, node: Subject, at: StateId) {
        let entry = Entry {
            sequence: 0,
            timestamp_millis: record::wall(),
            kind: Kind::NodeRemoved,
            term: at.term.get(),
            version: at.version.get(),
            node: Some(node),
            reason: ASKED_FOR.into(),
            details: Map::new(),
        };
        if let Some(entries) = self.entries.upgrade() {
            self.send(&entries, entry);
        }
    }

    fn send(&self, entries: &SyncSender<Entry>, entry: Entry) {
        if entries.try_send(entry).is_err() {
            self.shared.lost.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// A user of this node is about to change these settings: if they change, it was by him.
    pub fn expect_change(&self, keys: impl IntoIterator<Item = String>, by: String) {
        let mut requests = self.shared.requests.lock();
        if requests.len() == REQUESTS_MAX {
            requests.pop_front();
        }
        requests.push_back(Wanted { keys: keys.into_iter().collect(), by });
    }

    /// Who asked for a change of these.
    fn author(&self, keys: &BTreeSet<String>) -> Option<String> {
        let mut requests = self.shared.requests.lock();
        let place = requests.iter().position(|wanted| !wanted.keys.is_disjoint(keys))?;
        requests.remove(place).map(|wanted| wanted.by)
    }
}

/// The way to the thread that keeps them.
pub(super) struct Way {
    entries: Option<Arc<SyncSender<Entry>>>,
    events: Events,
}

impl Way {
    fn send(&self, entry: Entry) {
        if let Some(entries) = &self.entries {
            self.events.send(entries, entry);
        }
    }
}
