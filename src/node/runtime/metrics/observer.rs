//! Looks at what the node's thread does, on that thread: what it sent and was answered, what its core noted and showed, and
//! where it stands after each step.
//!
//! It changes nothing and waits for nothing. What takes longer than a glance, as the queue of tasks, it looks at a few times
//! a second.

use crate::cluster::{Address, ClusterState, EphemeralId, StateId, Token};
use crate::protocol::{Call, Time};
use crate::runtime::clock::Clock;
use crate::runtime::instruments::{Instruments, PEERS_MAX, Peer};
use crate::service::{Priority, Task};
use crate::zen::{Message, Mode, Note, Zen};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// How often the queue of tasks is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// How much waits in each inbox: of nodes, of users, of fates, of this process.
pub(in crate::runtime) type Inboxed = [usize; 4];

/// A publish that is being watched.
struct Publishing {
    id: StateId,
    since: Time,
    /// Since when its tasks wait; whoever asked for them is told at the commit, and they are gone then.
    tasks: Vec<Time>,
    /// How many leases it ends that were not kept alive.
    lost: usize,
    is_committed: bool,
    is_whole: bool,
}

impl Publishing {
    /// Takes down, once, that it is committed.
    fn commit(&mut self, now: Time, instruments: &Instruments) {
        if self.is_committed {
            return;
        }
        self.is_committed = true;
        instruments.commit.took(now.since(self.since));
        for since in std::mem::take(&mut self.tasks) {
            instruments.tasks.took(now.since(since));
        }
        instruments.leases_lost.add(self.lost as u64);
    }
}

/// Looks at one node.
pub(in crate::runtime) struct Observer {
    instruments: Arc<Instruments>,
    /// The pings that are under way.
    pings: BTreeMap<Call, (Time, Arc<Peer>)>,
    peers: BTreeMap<Address, Arc<Peer>>,
    /// What the candidacy under way began with.
    cause: Option<&'static str>,
    publishing: Option<Publishing>,
    master: Option<EphemeralId>,
    shown: Arc<ClusterState>,
    look_at: Time,
}

impl Observer {
    pub(in crate::runtime) fn new(instruments: Arc<Instruments>, clock: Clock, shown: Arc<ClusterState>) -> Self {
        // A node has one clock.
        let _ = instruments.clock.set(clock);
        instruments.masterless_since.set(clock.now().as_micros() + 1);
        Observer {
            instruments,
            pings: BTreeMap::new(),
            peers: BTreeMap::new(),
            cause: None,
            publishing: None,
            master: None,
            shown,
            look_at: Time::ZERO,
        }
    }

    /// A request goes out.
    pub(in crate::runtime) fn sent(&mut self, now: Time, to: &Address, call: Call, message: &Message) {
        if matches!(message, Message::Ping { .. } | Message::NodePing { .. } | Message::MasterPing { .. }) {
            let peer = self.peer(to);
            self.pings.insert(call, (now, peer));
        }
    }

    /// It was answered.
    pub(in crate::runtime) fn replied(&mut self, now: Time, call: Call) {
        if let Some((sent, peer)) = self.pings.remove(&call) {
            peer.round_trip.took(now.since(sent));
        }
    }

    /// It will not be.
    pub(in crate::runtime) fn failed(&mut self, call: Call) {
        self.pings.remove(&call);
    }

    fn peer(&mut self, address: &Address) -> Arc<Peer> {
        if let Some(peer) = self.peers.get(address) {
            return peer.clone();
        }
        if self.peers.len() >= PEERS_MAX {
            self.peers.clear();
        }
        let peer = self.instruments.peer(address);
        self.peers.insert(address.clone(), peer.clone());
        peer
    }

    /// The core noted something.
    pub(in crate::runtime) fn noted(&mut self, note: &Note) {
        let instruments = &self.instruments;
        match note {
            Note::Stands { reason, .. } => {
                self.end_candidacy("abandoned");
                self.cause = Some(reason);
            }
            Note::Won { .. } => self.end_candidacy("won"),
            Note::Abandoned { .. } => self.end_candidacy("abandoned"),
            Note::Votes { .. } => {
                instruments.votes.inc();
                self.end_candidacy("abandoned");
            }
            Note::SteppedDown { .. } => instruments.step_downs.inc(),
            Note::HandsOver { .. } => instruments.hand_overs.inc(),
            Note::MasterLeft { .. } => instruments.masters_lost.inc(),
            Note::CommitFailed { .. } => instruments.publishes_failed.inc(),
            Note::Behind { nodes, .. } => instruments.behind.add(nodes.len() as u64),
            Note::PingFailed { node, .. } => self.peer(&node.address).misses.inc(),
            Note::Stalled { .. } => instruments.stalls.inc(),
            Note::WriteOverdue { .. } | Note::SlowWrite { .. } => instruments.slow_writes.inc(),
            Note::Searching { .. }
            | Note::NotEnoughMasters { .. }
            | Note::NoMaster { .. }
            | Note::Joins { .. }
            | Note::JoinFailed { .. }
            | Note::Fetches { .. }
            | Note::Published { .. }
            | Note::Applied { .. }
            | Note::VotingSet { .. }
            | Note::TakesTerm { .. }
            | Note::SlowPublish { .. }
            | Note::DelaysRecovery { .. }
            | Note::Archives { .. }
            | Note::Recovers { .. }
            | Note::TakesBack { .. }
            | Note::NodeFailed { .. }
            | Note::OtherCluster { .. }
            | Note::DuplicateId { .. }
            | Note::MinimumTooLow { .. }
            | Note::BadSetting { .. }
            | Note::TurnedAway { .. }
            | Note::JoinRejected { .. }
            | Note::TimeoutRaised { .. } => {}
        }
    }

    fn end_candidacy(&mut self, outcome: &'static str) {
        if let Some(cause) = self.cause.take() {
            *self.instruments.elections.lock().entry((cause, outcome)).or_default() += 1;
        }
    }

    /// The core shows its readers a state.
    pub(in crate::runtime) fn applied(&mut self, now: Time, state: &Arc<ClusterState>) {
        self.see_master(now, state);
        let before = std::mem::replace(&mut self.shown, state.clone());
        let instruments = &self.instruments;
        if !state.nodes.ptr_eq(&before.nodes) {
            let delta = state.nodes.delta(&before.nodes);
            instruments.nodes_joined.add(delta.added.len() as u64);
            instruments.nodes_left.add(delta.removed.len() as u64);
        }
        let (leases, earlier) = (&state.metadata.leases, &before.metadata.leases);
        if !leases.ptr_eq(earlier) {
            let tokens = |leases: &crate::cluster::Table<Arc<str>, crate::cluster::Lease>| -> BTreeSet<Token> {
                leases.values().map(|lease| lease.token).collect()
            };
            let (tokens, earlier) = (tokens(leases), tokens(earlier));
            instruments.leases_granted.add(tokens.difference(&earlier).count() as u64);
            instruments.leases_ended.add(earlier.difference(&tokens).count() as u64);
        }
    }

    fn see_master(&mut self, now: Time, state: &ClusterState) {
        let master = state.nodes.master_node().map(|master| master.ephemeral_id.clone());
        if master == self.master {
            return;
        }
        let instruments = &self.instruments;
        match (&master, &self.master) {
            (Some(_), None) => {
                let since = Time::from_micros(instruments.masterless_since.get().saturating_sub(1));
                instruments.masterless_since.set(0);
                instruments.masterless.took(now.since(since));
                instruments.master_changes.inc();
            }
            (Some(_), Some(_)) => instruments.master_changes.inc(),
            (None, _) => instruments.masterless_since.set(now.as_micros() + 1),
        }
        self.master = master;
    }

    /// The core handled something, and what it wanted was carried out.
    pub(in crate::runtime) fn stepped(&mut self, began: Time, ended: Time, zen: &Zen) {
        self.instruments.step.took(ended.since(began));
        self.see_publish(ended, zen);
    }

    /// The core was woken so much later than it wanted.
    pub(in crate::runtime) fn woke(&self, late: Duration) {
        self.instruments.late.took(late);
    }

    fn see_publish(&mut self, now: Time, zen: &Zen) {
        let publish = match zen.mode() {
            Mode::Leading(lead) => lead.publish.as_ref(),
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) | Mode::Following(_) => None,
        };
        // A step that commits one state may have begun to publish the next one.
        let shown = zen.shown().id();
        let is_committed = |id: StateId| shown.term == id.term && shown.version >= id.version;
        if let Some(watched) = self.publishing.as_mut().filter(|watched| is_committed(watched.id)) {
            watched.commit(now, &self.instruments);
        }
        let Some(publish) = publish else {
            self.publishing = None;
            return;
        };
        let id = publish.state.id();
        let watched = match &mut self.publishing {
            Some(watched) if watched.id == id => watched,
            other => {
                let tasks = publish.tasks.iter().map(|task| task.queued.waiter.since).collect();
                let lost = publish.tasks.iter().map(|task| lost_by(&task.queued.task)).sum();
                let since = publish.since;
                other.insert(Publishing { id, since, tasks, lost, is_committed: false, is_whole: false })
            }
        };
        if publish.is_committed {
            watched.commit(now, &self.instruments);
        }
        // Its own acknowledgement may be among them or not.
        let others = publish.acks.keys().filter(|id| **id != zen.local().id).count() + 1;
        if watched.is_committed && !watched.is_whole && others >= publish.state.nodes.len() {
            watched.is_whole = true;
            self.instruments.whole.took(now.since(publish.since));
        }
    }

    /// All that was ready is handled.
    pub(in crate::runtime) fn rested(
        &mut self,
        now: Time,
        zen: &Zen,
        inboxes: Inboxed,
        (held, accepted): (usize, usize),
    ) {
        let instruments = &self.instruments;
        for (gauge, waiting) in instruments.inboxes.iter().zip(inboxes) {
            gauge.set(waiting as u64);
        }
        instruments.mode.set(match zen.mode() {
            Mode::Finding => 0,
            Mode::Electing(_) => 1,
            Mode::Joining(_) => 2,
            Mode::Leading(_) => 3,
            Mode::Following(_) => 4,
        });
        instruments.term.set(zen.ledger().promise.term.get());
        instruments.accepted_version.set(zen.ledger().accepted.version.get());
        instruments.calls.set(zen.open_calls() as u64);
        instruments.questions.set(zen.open_questions() as u64);
        instruments.links_held.set(held as u64);
        instruments.links_accepted.set(accepted as u64);
        if now >= self.look_at {
            self.look_at = now + LOOK_EVERY;
            look_at_queue(instruments, now, zen);
        }
    }

    /// So many writes are not durable yet.
    pub(in crate::runtime) fn unsynced(&self, writes: usize) {
        self.instruments.unsynced.set(writes as u64);
    }
}

/// How many leases a task ends that were not kept alive.
fn lost_by(task: &Task) -> usize {
    if let Task::ExpireLeases { tokens } = task { tokens.len() } else { 0 }
}

fn look_at_queue(instruments: &Instruments, now: Time, zen: &Zen) {
    let mut seen = [(0_u64, 0_u64); 6];
    if let Mode::Leading(lead) = zen.mode() {
        for queued in lead.queue.iter() {
            let (count, oldest) = &mut seen[place_of(queued.task.priority())];
            *count += 1;
            *oldest = (*oldest).max(u64::try_from(now.since(queued.waiter.since).as_micros()).unwrap_or(u64::MAX));
        }
    }
    for (place, (count, oldest)) in seen.into_iter().enumerate() {
        instruments.queued[place].set(count);
        instruments.queued_age[place].set(oldest);
    }
}

fn place_of(priority: Priority) -> usize {
    match priority {
        Priority::Immediate => 0,
        Priority::Urgent => 1,
        Priority::High => 2,
        Priority::Normal => 3,
        Priority::Low => 4,
        Priority::Languid => 5,
    }
}
