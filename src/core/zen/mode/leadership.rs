//! What a master keeps while it leads. Plain data; what is done with it stands in `leading`.

use super::deadlines::Deadlines;
use super::sent::Sent;
use crate::cluster::{ClusterState, Diff, EphemeralId, Node, NodeId, Remembered, StateId, Term};
use crate::protocol::{Exchange, Time};
use crate::service::{Query, Queue, Queued};
use crate::zen::ask::Origin;
use crate::zen::message::Body;
use crate::zen::quorum::BootstrapSet;
use crate::zen::setbacks::Setbacks;
use crate::zen::steps::Steps;
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

/// A mastership.
#[derive(Clone, Debug, Hash)]
pub struct Leadership {
    /// When it began.
    pub since: Time,
    /// The term it was won in, or the last one that it took since.
    pub term: Term,
    /// Whether a state of this term was committed.
    pub is_settled: bool,
    /// Who voted, for as long as the cluster is not formed: their bootstrap sets.
    pub bootstrap: BTreeSet<BootstrapSet>,
    /// The tasks that wait for the next publish.
    pub queue: Queue<Waiter>,
    /// The publish under way.
    pub publish: Option<Publish>,
    /// The states that were sent to others.
    pub(in crate::zen) sent: Sent,
    /// The last proposal that was taken back: it is no state that later ones were made of.
    pub taken_back: Option<StateId>,
    /// Every other node of the newest state.
    pub peers: BTreeMap<NodeId, Peer>,
    /// The newest state that was made when the mastership began or a node was taken for dead: who has stored none since may be
    /// dead as well, and no voting set counts on it.
    pub proven_above: StateId,
    /// Since when another voting set is wanted, that nothing but answers is missing for.
    pub wish: Option<Time>,
    /// Joiners whose round trip is under way, or who wait for their turn to be added.
    pub joiners: BTreeMap<NodeId, Arc<Node>>,
    /// The processes that the next states take in, and what they hold.
    pub holdings: BTreeMap<NodeId, Joined>,
    /// Who was removed because it took no state: it is not taken in at once.
    pub laggards: Setbacks,
    /// Who could not be taken in, until it is a member.
    pub turned_away: BTreeMap<NodeId, TurnedAway>,
    /// Nodes that said good-bye and wait until they can be done without.
    pub leaving: BTreeMap<EphemeralId, Leaver>,
    /// A higher term that a joiner brought along, to be taken when no publish is under way.
    pub wanted_term: Option<Term>,
    /// The higher term that is being taken.
    pub term_bump: Option<TermBump>,
    /// The committed state that all nodes are expected to have applied when the time is over.
    pub expected: Option<StateId>,
    /// Committed changes that not every node has applied yet.
    pub awaiting: VecDeque<Awaiting>,
    /// Reads that wait for a confirmation.
    pub reads: Vec<PendingRead>,
    /// Since when a confirmation is being gathered.
    pub confirming: Option<Time>,
    /// The wish to hand over.
    pub succession: Option<Succession>,
    /// When leases run out.
    pub leases: Deadlines,
    /// Whether the state came back after a full restart, or is being waited for.
    pub recovery: Recovery,
}

/// A node that said good-bye.
#[derive(Clone, Debug, Hash)]
pub struct Leaver {
    /// The node.
    pub node: Arc<Node>,
    /// When it said so, and what was committed then. Whoever answers what was asked since then is there, and whoever has that
    /// can store a state.
    pub since: (Time, StateId),
    /// Up to which number it had the answers to the changes that it sent: it says good-bye with none open.
    pub answered: u64,
    /// Who is told when it has gone.
    pub waiting: Vec<Exchange>,
}

/// A node that asked to be taken in, and could not be.
#[derive(Clone, Debug, Hash)]
pub struct TurnedAway {
    pub node: Arc<Node>,
    pub why: Arc<str>,
    /// When it asked last, if it could not be reached: that is tried again as long as it asks.
    pub asked: Option<Time>,
}

impl TurnedAway {
    /// Whether it asked within this time: it runs, and may be tried again.
    pub fn asks(&self, now: Time, patience: Duration) -> bool {
        self.asked.is_some_and(|asked| now < asked + patience)
    }
}

impl Leadership {
    /// The beginning of a mastership.
    pub fn new(since: Time, term: Term, newest: StateId) -> Self {
        Leadership {
            since,
            term,
            proven_above: newest,
            wish: None,
            holdings: BTreeMap::new(),
            laggards: Setbacks::default(),
            turned_away: BTreeMap::new(),
            is_settled: false,
            bootstrap: BTreeSet::new(),
            queue: Queue::default(),
            publish: None,
            sent: Sent::default(),
            taken_back: None,
            peers: BTreeMap::new(),
            joiners: BTreeMap::new(),
            leaving: BTreeMap::new(),
            wanted_term: None,
            term_bump: None,
            expected: None,
            awaiting: VecDeque::new(),
            reads: Vec::new(),
            confirming: None,
            succession: None,
            leases: Deadlines::default(),
            recovery: Recovery::default(),
        }
    }

    /// Nobody pays for the time in which this node stood still.
    pub(in crate::zen) fn give_back(&mut self, now: Time) {
        self.peers.values_mut().filter(|peer| peer.owes.is_some()).for_each(|peer| peer.owes = Some(now));
        self.awaiting.iter_mut().for_each(|awaiting| awaiting.since = now);
    }

    /// Whether a process said good-bye.
    pub fn is_leaving(&self, node: &Node) -> bool {
        self.leaving.contains_key(&node.ephemeral_id)
    }

    /// When somebody said good-bye last, and what was committed then: no good-bye before was of more.
    pub fn last_good_bye(&self) -> Option<(Time, StateId)> {
        self.leaving.values().map(|leaver| leaver.since).max_by_key(|(at, _)| *at)
    }

    /// Whether this node is not known to go, or to be gone.
    pub fn may_stay(&self, peer: &Peer) -> bool {
        peer.failed.is_none() && !self.is_leaving(&peer.node)
    }

    /// Whether a whole state, or a large change, that was sent within so long since the publish under way began is still on its way to
    /// somebody who can acknowledge that.
    pub fn awaits_large(&self, timeout: Duration) -> bool {
        let Some(publish) = self.publish.as_ref().filter(|publish| !publish.is_committed) else {
            return false;
        };
        let is_awaited = |(id, peer): &(&NodeId, &Peer)| {
            peer.node.is_master_eligible() && peer.failed.is_none() && !publish.acks.contains_key(*id)
        };
        let mut awaited = self.peers.iter().filter(is_awaited);
        let end = publish.since + timeout;
        awaited.any(|(_, peer)| self.sent.large_since(&peer.node.address).is_some_and(|since| since < end))
    }
}

/// What is known of a process that is to be taken in.
#[derive(Clone, Debug, Hash)]
pub struct Joined {
    /// The process.
    pub process: EphemeralId,
    /// The state that it has accepted.
    pub accepted: StateId,
    /// Whether it says that it is not well.
    pub is_unwell: bool,
}

/// Another node as its master sees it.
#[derive(Clone, Debug, Hash)]
pub struct Peer {
    /// The node.
    pub node: Arc<Node>,
    /// The highest term that it said to have promised: it takes no state of a lower one.
    pub promised: Term,
    /// What it last said to have accepted.
    pub accepted: StateId,
    /// What it last said to have applied.
    pub applied: StateId,
    /// What it last said to be storing.
    pub storing: Option<StateId>,
    /// Since when it has stored nothing of what it was to store.
    pub owes: Option<Time>,
    /// Whether it was late with a state, or said that it is not well: no client waits for it until it stores one in time.
    pub is_slow: bool,
    /// It was so late with a state lately that it gets no vote before this, if others can have it.
    pub late_until: Time,
    /// The commit that was last sent, and when.
    pub told: Option<(StateId, Time)>,
    /// Pings in a row that it did not answer as a follower would.
    pub failures: u32,
    /// Whether a ping is on its way.
    pub is_pinging: bool,
    /// When anything last came from it: what was asked before that and got lost says nothing.
    pub seen: Time,
    /// Whether it gave its vote of this term to another candidate before it followed.
    pub votes_elsewhere: bool,
    /// Everything it confirmed was asked at this time or before.
    pub confirmed: Time,
    /// Since when it has been known to follow this master.
    pub follows: Option<Time>,
    /// Whether it was a member under the master before.
    pub is_carried: bool,
    /// All that it answered as a follower was asked at this time or before.
    pub heard: Time,
    /// Why it is taken for dead, until it is removed.
    pub failed: Option<Arc<str>>,
}

impl Peer {
    /// A node that has just joined, of which this is known.
    pub fn joined(node: Arc<Node>, known: Option<Joined>) -> Self {
        let (accepted, is_slow) = known.map_or((StateId::NONE, false), |known| (known.accepted, known.is_unwell));
        Peer { is_slow, ..Peer::new(node, accepted) }
    }

    /// A node that has just joined, and holds this state.
    pub fn new(node: Arc<Node>, accepted: StateId) -> Self {
        Peer {
            node,
            promised: Term::ZERO,
            accepted,
            applied: StateId::NONE,
            storing: None,
            owes: None,
            is_slow: false,
            late_until: Time::ZERO,
            told: None,
            failures: 0,
            is_pinging: false,
            seen: Time::ZERO,
            votes_elsewhere: false,
            confirmed: Time::ZERO,
            follows: None,
            is_carried: false,
            heard: Time::ZERO,
            failed: None,
        }
    }

    /// Whether it has stored a state since the last failure, so that a voting set may count on it.
    pub fn is_proven(&self, proven_above: StateId) -> bool {
        self.failed.is_none()
            && self.failures == 0
            && self.follows.is_some()
            && self.accepted.rank() > proven_above.rank()
    }

    /// Whether it has owed an acknowledgement for so long.
    pub fn has_owed(&self, now: Time, span: Duration) -> bool {
        self.owes.is_some_and(|since| now.since(since) >= span)
    }

    /// It says what it has stored; `newest` is what it is to store, in time if it takes less than `patience`.
    pub fn note_accepted(&mut self, now: Time, patience: Duration, accepted: StateId, newest: Option<StateId>) {
        let has_moved = accepted.rank() > self.accepted.rank();
        self.accepted = self.accepted.max(accepted);
        let is_done = newest == Some(self.accepted);
        if !is_done && !has_moved {
            return;
        }
        if let Some(took) = self.owes.map(|since| now.since(since)) {
            let is_late = took >= patience;
            self.is_slow &= is_late || !is_done;
            self.late_until = if is_late { now + took * 4 } else { self.late_until };
        }
        self.owes = (!is_done).then_some(now);
    }

    /// Whether it was late with a state lately, or is.
    pub fn is_late(&self, now: Time, patience: Duration) -> bool {
        now < self.late_until || self.has_owed(now, patience)
    }
}

/// Who waits for a task, since when and until when.
#[derive(Clone, Debug, Hash)]
pub struct Waiter {
    /// Who.
    pub origin: Origin,
    /// Since when.
    pub since: Time,
    /// Until when it may be queued.
    pub deadline: Option<Time>,
    /// How long to wait, once it is committed, until every node has applied it.
    pub timeout: Duration,
}

/// A task that was carried out on a state, which may yet be committed or not.
#[derive(Clone, Debug, Hash)]
pub struct Finished {
    /// The task, and who waits for it.
    pub queued: Queued<Waiter>,
    /// What it came to.
    pub done: Remembered,
}

/// Somebody whose task is committed, and who waits until every node has applied it.
#[derive(Clone, Debug, Hash)]
pub struct Waiting {
    /// Who.
    pub origin: Origin,
    /// Until when.
    pub deadline: Time,
    /// What the task came to.
    pub done: Remembered,
}

/// A state on its way to the followers.
#[derive(Clone, Debug, Hash)]
pub struct Publish {
    /// The state.
    pub state: Arc<ClusterState>,
    /// The state that it was made from.
    pub base: Arc<ClusterState>,
    /// How it differs from that.
    pub diff: Arc<Diff>,
    /// How the states before it came to be, up to that one.
    pub steps: Steps,
    /// The tasks that it carries out.
    pub tasks: Vec<Finished>,
    /// The nodes that stored it.
    pub acks: BTreeMap<NodeId, Arc<Node>>,
    /// When it began.
    pub since: Time,
    /// What it is for, as the log says it.
    pub reason: String,
    /// Whether enough nodes stored it. It is kept afterwards, for those that lag.
    pub is_committed: bool,
}

impl Publish {
    /// The steps up to this state.
    pub(in crate::zen) fn steps_on(self) -> Steps {
        let mut steps = self.steps;
        steps.push(self.diff);
        steps
    }

    /// What to send to a peer: what differs from the state that it has stored, if that one is still known, or all of it.
    pub fn body_for(&self, peer: &Peer, sent: &Sent, with_diffs: bool) -> Body {
        let (stored, to) = (peer.accepted, &peer.node.address);
        // Whoever has the state already is told its name by what makes it.
        let has_base = stored == self.base.id() || stored == self.state.id();
        let over_steps = |diff| Arc::new(Diff { passed: self.steps.between(stored, self.base.id()), ..diff });
        let diff =
            || if has_base { Some(self.diff.clone()) } else { sent.diff(to, stored, &self.state).map(over_steps) };
        with_diffs.then(diff).flatten().map_or_else(|| Body::Full(self.state.clone()), Body::Diff)
    }
}

/// A term being taken while staying master.
#[derive(Clone, Debug, Hash)]
pub struct TermBump {
    /// The term.
    pub term: Term,
    /// Who voted in it.
    pub votes: BTreeMap<NodeId, Arc<Node>>,
}

/// Tasks that are committed, and the nodes that have not applied them yet.
#[derive(Clone, Debug, Hash)]
pub struct Awaiting {
    /// The state that holds them.
    pub id: StateId,
    /// Since when it is committed.
    pub since: Time,
    /// Who waits.
    pub waiters: Vec<Waiting>,
    /// Who has not applied it yet.
    pub missing: BTreeSet<NodeId>,
    /// Whether a node went away without having applied it.
    pub is_incomplete: bool,
}

/// A read that waits for a confirmation.
#[derive(Clone, Debug, Hash)]
pub struct PendingRead {
    /// Who waits.
    pub origin: Origin,
    /// What is asked.
    pub query: Query,
    /// When it arrived.
    pub since: Time,
    /// Until when it may wait.
    pub deadline: Time,
}

/// The wish to hand over.
#[derive(Clone, Debug, Hash)]
pub struct Succession {
    /// The wanted successor; none stands for the best one.
    pub to: Option<NodeId>,
    /// Who asked for it.
    pub origin: Origin,
    /// Until when it waits for a successor to catch up.
    pub until: Time,
}

/// How far a master is with giving the state back.
#[derive(Clone, Debug, Default, Hash)]
pub struct Recovery {
    /// Until when more nodes are waited for.
    pub(in crate::zen) due: Option<Time>,
    /// Whether it is given back with the next publish.
    pub(in crate::zen) is_asked: bool,
    /// Processes that the state of before still names and that neither joined nor were seen to follow since.
    pub(in crate::zen) absent: BTreeSet<EphemeralId>,
}

impl Recovery {
    /// A process follows this master; tells whether that is news. Who gave its vote after others had won it follows without
    /// joining.
    pub(in crate::zen) fn has_come(&mut self, process: &EphemeralId) -> bool {
        self.absent.remove(process)
    }
}
