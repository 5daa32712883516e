//! What a master keeps while it leads. Plain data; what is done with it stands in `lead`, `publish`, `watch` and `read`.

use super::gateway::Recovery;
use super::lease::Deadlines;
use super::message::Body;
use super::quorum::BootstrapSet;
use crate::cluster::{ClusterState, Diff, Node, NodeId, Remembered, StateId, Term};
use crate::protocol::{Exchange, Ticket, Time};
use crate::service::{Query, Queue, Queued};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

/// A reign.
#[derive(Clone, Debug, Hash)]
pub struct Leadership {
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
    /// Every other node of the newest state.
    pub peers: BTreeMap<NodeId, Peer>,
    /// Who has answered nothing that was asked since may be dead, as the one that was taken for dead then.
    pub unsure_before: Time,
    /// Whether what is to be published waits for new answers.
    pub is_asking: bool,
    /// Joiners whose round trip is under way.
    pub joiners: BTreeMap<NodeId, Arc<Node>>,
    /// Nodes that said good-bye and wait until they can be done without.
    pub leaving: BTreeMap<NodeId, Vec<Exchange>>,
    /// A higher term that a joiner brought along, to be taken when no publish is under way.
    pub wanted_term: Option<Term>,
    /// The higher term that is being taken.
    pub bump: Option<Bump>,
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

impl Leadership {
    /// The beginning of a reign.
    pub fn new(term: Term) -> Self {
        Leadership {
            term,
            is_settled: false,
            bootstrap: BTreeSet::new(),
            queue: Queue::default(),
            publish: None,
            peers: BTreeMap::new(),
            unsure_before: Time::ZERO,
            is_asking: false,
            joiners: BTreeMap::new(),
            leaving: BTreeMap::new(),
            wanted_term: None,
            bump: None,
            expected: None,
            awaiting: VecDeque::new(),
            reads: Vec::new(),
            confirming: None,
            succession: None,
            leases: Deadlines::default(),
            recovery: Recovery::default(),
        }
    }
}

/// Another node as its master sees it.
#[derive(Clone, Debug, Hash)]
pub struct Peer {
    /// The node.
    pub node: Arc<Node>,
    /// What it last said to have accepted.
    pub accepted: StateId,
    /// What it last said to have applied.
    pub applied: StateId,
    /// What it last said to be storing.
    pub storing: Option<StateId>,
    /// The state that was last sent, and when; none once it is known to have failed.
    pub sent: Option<(StateId, Time)>,
    /// The commit that was last sent, and when.
    pub told: Option<(StateId, Time)>,
    /// Pings in a row that it did not answer as a follower would.
    pub failures: u32,
    /// Whether a ping is on its way.
    pub is_pinging: bool,
    /// Whether it gave its vote of this term to another candidate before it followed.
    pub votes_elsewhere: bool,
    /// Everything it confirmed was asked at this time or before.
    pub confirmed: Time,
    /// Everything it answered as a follower was asked at this time or before.
    pub heard: Time,
    /// When it answered what was asked then, for the last time.
    pub answered: Time,
    /// How long it took to answer that first.
    pub took: Duration,
    /// Whether it was asked for a confirmation, which is on its way.
    pub is_asked: bool,
    /// When it did not confirm in time.
    pub missed: Time,
    /// Why it is taken for dead, until it is removed.
    pub failed: Option<Arc<str>>,
}

impl Peer {
    /// A node that has just joined.
    pub fn new(now: Time, node: Arc<Node>) -> Self {
        Peer {
            node,
            accepted: StateId::NONE,
            applied: StateId::NONE,
            storing: None,
            sent: None,
            told: None,
            failures: 0,
            is_pinging: false,
            votes_elsewhere: false,
            confirmed: Time::ZERO,
            heard: now,
            answered: now,
            took: Duration::ZERO,
            is_asked: false,
            missed: Time::ZERO,
            failed: None,
        }
    }

    /// Whether it may be dead, for all that is known: it left its last ping unanswered, or has answered nothing that was
    /// asked since this, or since it owed a confirmation.
    pub fn is_doubtful(&self, unsure_before: Time) -> bool {
        self.failures > 0 || self.heard < unsure_before.max(self.missed)
    }

    /// It answered as a follower what was asked at this time.
    pub fn hear(&mut self, now: Time, asked: Time) {
        if asked > self.heard {
            (self.heard, self.took) = (asked, now.since(asked));
        }
        if asked == self.heard {
            self.answered = now;
        }
    }
}

/// Who waits for a task.
#[derive(Clone, Debug, Hash)]
pub enum Origin {
    /// A client of this node.
    Client(Ticket),
    /// Another node, for a client of its own.
    Node(Exchange),
    /// Nobody: the protocol wants it.
    Nobody,
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
    /// What to send to a node whose accepted state is `known`.
    pub fn body_for(&self, known: Option<StateId>, with_diffs: bool) -> Body {
        if with_diffs && known == Some(self.base.id()) {
            Body::Diff(self.diff.clone())
        } else {
            Body::Full(self.state.clone())
        }
    }
}

/// A term being taken while staying master.
#[derive(Clone, Debug, Hash)]
pub struct Bump {
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
}
