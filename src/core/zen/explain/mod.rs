//! Why there is a master, or none: what one node knows of it, as data and in words.
//!
//! The data is gathered in `gather` from what the node keeps anyway, `words` makes a sentence of it, `advice` says what to
//! do. Nothing here changes the node. Zen left its operators with a line a round; mirrors
//! `ClusterFormationFailureHelper` (7.x).

mod advice;
mod gather;
mod words;

pub(super) use words::reason;

use crate::cluster::{Address, ClusterName, Node, NodeId, StateId, Term, Uuid};
use crate::protocol::Unresolved;
use serde::{Deserialize, Serialize};
use std::sync::Arc;

/// Why there is a master, or none, as far as one node knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Explanation {
    /// All of it in one sentence.
    pub summary: String,
    /// What to do about it, a sentence each.
    pub advice: Vec<String>,
    /// The name of the node's cluster.
    pub cluster_name: ClusterName,
    /// The cluster that the node belongs to for good, once it knows of a committed state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster_uuid: Option<Uuid>,
    /// The node that explains.
    pub node: Arc<Node>,
    /// What it is doing: `finding`, `electing`, `joining`, `leading` or `following`.
    pub mode: Arc<str>,
    /// Its term.
    pub term: Term,
    /// Its accepted state.
    pub accepted: StateId,
    /// The newest state that it knows to be committed.
    pub committed: StateId,
    /// The master that its readers see.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub master_node: Option<Arc<Node>>,
    /// For how long they have seen this one, or none.
    pub since_millis: u64,
    /// How long ago a follower last heard of its master.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub master_heard_millis: Option<u64>,
    /// What it is about to bring to an end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempt: Option<Attempt>,
    /// For how long its disk has not finished a write, if it hangs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_hangs_millis: Option<u64>,
    /// What an election, or a commit of the master, must be backed by.
    pub needed: Vec<Quota>,
    /// The hosts that were pinged, while there is no master.
    pub hosts: Vec<Host>,
    /// The configured hosts that have no address.
    pub unresolved: Vec<Unresolved>,
    /// On the master: the nodes that lag, fail, leave or are not taken in.
    pub nodes: Vec<Straggler>,
}

impl Explanation {
    /// The same with the members named of whom this node knows no more than the id, by whoever knows name and place.
    #[must_use]
    pub fn naming(mut self, known: impl Fn(&str) -> Option<(Arc<str>, Address)>) -> Self {
        let members = self.needed.iter_mut().flat_map(|quota| &mut quota.members);
        for member in members.filter(|member| member.address.is_none()) {
            let Some((name, address)) = known(&member.id) else { continue };
            for host in self.hosts.iter_mut().filter(|host| host.address == address && host.instead_of.is_none()) {
                let is_other = |node: &Arc<Node>| node.id.as_str() != &*member.id && node.address == address;
                host.instead_of = host.node.as_ref().filter(|node| is_other(node)).map(|_| (&*member.id).into());
            }
            (member.name, member.address) = (Some(name), Some(address));
        }
        self.summary = words::summary(&self);
        self.advice = advice::advice(&self);
        self
    }
}

/// What a node without a visible master is about to bring to an end.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Attempt {
    /// It stands as a candidate.
    Stands {
        /// In this term.
        term: Term,
    },
    /// It voted, and waits for the candidate to lead.
    Votes {
        /// Whom it voted for.
        candidate: Arc<Node>,
        /// In this term.
        term: Term,
        /// Since when.
        for_millis: u64,
    },
    /// It asked to be taken in.
    Joins {
        /// Whom it asked.
        master: Arc<Node>,
        /// Since when.
        for_millis: u64,
    },
    /// It was elected, and its first state is not committed yet.
    Publishes {
        /// The state.
        state: StateId,
    },
    /// It accepted a state that is not known to be committed.
    Accepted {
        /// Whose state.
        master: Arc<Node>,
        /// The state.
        state: StateId,
    },
}

/// How it is said of a joiner that its master does not reach it where it publishes to be.
pub const UNREACHED: &str = "cannot reach it at its publish address";

/// Of some nodes, how many are needed and how many are there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Quota {
    /// Which nodes.
    pub of: Group,
    /// Each of them, where they are named.
    pub members: Vec<Member>,
    /// How many are needed.
    pub needed: usize,
    /// How many are there.
    pub found: usize,
}

impl Quota {
    /// Whether there are enough.
    pub fn is_met(&self) -> bool {
        self.found >= self.needed
    }
}

/// The nodes that a quota is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Group {
    /// The voting set of the accepted state.
    VotingSet,
    /// The one that was committed before it.
    LastCommittedVotingSet,
    /// Those that must take part in the first forming.
    InitialHosts,
    /// All hosts found on loopback: before the first forming each must answer or refuse.
    FoundHosts,
    /// All master-eligible nodes: `discovery.zen.minimum_master_nodes`.
    MasterEligibleNodes,
}

/// One of the nodes that a quota names.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Member {
    /// Its id, or what the configuration calls it.
    pub id: Arc<str>,
    /// Its name, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<Arc<str>>,
    /// Where it listens or last listened, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub address: Option<Address>,
    /// Whether it is there.
    pub found: bool,
}

/// A host that was pinged.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Host {
    /// Where it was pinged.
    pub address: Address,
    /// Who answered there, or else whom the last state has there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<Arc<Node>>,
    /// The node that the last state has there, if another one answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instead_of: Option<NodeId>,
    /// What became of the ping.
    #[serde(flatten)]
    pub outcome: PingOutcome,
}

/// What became of the last ping of a host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "outcome")]
pub enum PingOutcome {
    /// It answered.
    Answered {
        /// Whether it may become master and vote.
        master_eligible: bool,
        /// Whether it neither follows a master nor is one.
        masterless: bool,
        /// Whether it sees enough nodes that follow no master.
        sees_quorum: bool,
        /// Its term.
        term: Term,
        /// Its accepted state.
        accepted: StateId,
        /// The master that it follows.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        master: Option<Arc<Node>>,
        /// Why this node does not join that master.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        not_joined: Option<Arc<str>>,
    },
    /// It has yet to answer.
    Waiting,
    /// It was not asked: in a crowd others look for it.
    NotAsked,
    /// Nobody listens there.
    Refused,
    /// The connection broke.
    Reset,
    /// It did not answer in time.
    TimedOut,
    /// Its answer could not be understood.
    NotUnderstood,
    /// It is of a cluster of another name.
    OtherClusterName {
        /// The name of its cluster.
        theirs: ClusterName,
        /// The name of this node's.
        ours: ClusterName,
    },
    /// It is of another cluster of the same name.
    OtherClusterUuid {
        /// The UUID of its cluster.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        theirs: Option<Uuid>,
        /// The UUID of this node's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        ours: Option<Uuid>,
    },
    /// Another process goes by this node's id.
    DuplicateId,
    /// It is this node itself.
    Itself,
    /// It refused the ping for another reason.
    Rejected {
        /// The reason.
        why: Arc<str>,
    },
}

/// A node that does not keep up with its master.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Straggler {
    /// The node.
    pub node: Arc<Node>,
    /// What it last said to have accepted.
    pub accepted: StateId,
    /// What it last said to have applied.
    pub applied: StateId,
    /// Pings in a row that it left unanswered.
    pub missed_pings: u32,
    /// Why it is taken for dead, until it is removed; or why it is not taken in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<Arc<str>>,
    /// Whether it said good-bye.
    pub leaves: bool,
}
