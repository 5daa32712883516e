//! What nodes say to each other. `wire` turns it into JSON and back.
//!
//! Mirrors the requests of `UnicastZenPing`, `MembershipAction`, `NodesFaultDetection`, `MasterFaultDetection` and
//! `PublishClusterStateAction` (6.8). Nearly everything that a master hears back is one [`Report`]: it acknowledges,
//! votes and confirms by what it says, so that a lost answer is made good by the next one, whatever it answers.

pub use super::sender::Sender;

use super::quorum::BootstrapSet;
use super::sender::Rejection;
use super::{span, steps};
use crate::cluster::{Address, ClusterState, Diff, EphemeralId, Node, NodeId, StateId, Term};
use crate::service::{Answer, Query, Task};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What a node says of itself when it pings or is pinged.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct PeerStatus {
    /// The node.
    pub node: Arc<Node>,
    /// The master that it follows or is, and how long ago it last heard of it.
    #[serde(default, skip_serializing_if = "Option::is_none", with = "span::heard")]
    pub master: Option<(Arc<Node>, Duration)>,
    /// Its term.
    pub term: Term,
    /// Its accepted state.
    pub accepted: StateId,
    /// Whether it neither follows a master nor is one.
    pub masterless: bool,
    /// Whether it sees, itself included, a quorum that follows no master.
    pub sees_quorum: bool,
    /// The term in which it stands as a candidate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stands: Option<Term>,
    /// Whether it should lead only if nobody else can: its disk is slow or hangs, or it lately tried to lead in vain.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unwell: bool,
    /// Whether it can give no vote: its disk hangs, or another process goes by its id.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hangs: bool,
    /// Whether it was told to stop: it leads no more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub leaves: bool,
    /// The addresses of those who may have formed a cluster without it, since it told them that it cannot be master.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub left_out_by: BTreeSet<Arc<str>>,
    /// Whether it has applied a recovered state of its master since it was started.
    #[serde(rename = "awake", default, skip_serializing_if = "std::ops::Not::not")]
    pub has_recovered_state: bool,
    /// How often the process has changed its word; of two that overtook each other the later one counts.
    #[serde(default)]
    pub change: u64,
}

impl PeerStatus {
    /// The last term in which its vote is given: a candidate's own may not be stored yet.
    pub fn last_term(&self) -> Term {
        self.stands.map_or(self.term, |stands| stands.max(self.term))
    }
}

/// A request to be taken in, by a candidate or by a master.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Join {
    /// The node that it is meant for: another one may listen at its address by now.
    pub to: NodeId,
    /// The joiner's term; if it is a vote, the term of the vote.
    pub term: Term,
    /// Whether it is a vote for that node.
    pub vote: bool,
    /// Whether the joiner takes that node for a master, which it may not be any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub to_master: bool,
    /// The joiner's accepted state.
    pub accepted: StateId,
    /// The joiner's bootstrap set, unless it knows of a committed state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bootstrap: Option<BootstrapSet>,
    /// Whether the joiner has applied a recovered state of its master since it was started.
    #[serde(rename = "awake", default, skip_serializing_if = "std::ops::Not::not")]
    pub has_recovered_state: bool,
    /// How long an answer of that node takes, if that is longer than answers are waited for.
    #[serde(rename = "round_trip_us", default, skip_serializing_if = "Duration::is_zero", with = "span")]
    pub round_trip: Duration,
}

/// What becomes of a join.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JoinAnswer {
    /// It was taken down: a state that holds the joiner follows if all goes well.
    Noted,
    /// The receiver leads in the term of the vote: its state is on its way, however long it takes.
    Leads,
    /// The receiver stands in another term: vote in exactly that one.
    VoteAgain(Term),
    /// The receiver neither leads nor stands.
    NotMaster,
    /// It cannot be taken in, and why.
    Rejected(String),
}

/// A change of so many bytes is waited for as a whole state is.
const LARGE_BYTES: usize = 64 << 10;

/// A new state, whole or as a change.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body {
    /// All of it.
    Full(Arc<ClusterState>),
    /// What differs from the receiver's accepted state.
    Diff(Arc<Diff>),
}

impl Body {
    /// The states between the receiver's accepted one and this, as far as they are told.
    pub fn passed(&self, accepted: &ClusterState) -> Vec<Arc<ClusterState>> {
        match self {
            Body::Full(_) => Vec::new(),
            Body::Diff(diff) => steps::passed(accepted, &diff.passed),
        }
    }

    /// Whether it may take long to arrive: a whole state, or a change with large values.
    pub fn is_large(&self) -> bool {
        match self {
            Body::Full(_) => true,
            Body::Diff(diff) => diff.key_bytes() >= LARGE_BYTES,
        }
    }

    /// Which state it was made from; none if it does not say.
    pub fn base(&self) -> StateId {
        match self {
            Body::Full(_) => StateId::NONE,
            Body::Diff(diff) => diff.from,
        }
    }

    /// Which state it makes.
    pub fn id(&self) -> StateId {
        match self {
            Body::Full(state) => state.id(),
            Body::Diff(diff) => diff.to,
        }
    }
}

/// What a node has promised and knows: all of it durable, and in answer to a request that it understood.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Report {
    /// The process.
    pub ephemeral_id: EphemeralId,
    /// Its term.
    pub term: Term,
    /// Whom it voted for in that term.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vote: Option<NodeId>,
    /// The master that it follows, or itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub follows: Option<NodeId>,
    /// Its accepted state.
    pub accepted: StateId,
    /// The newest state that it knows to be committed and has applied.
    pub committed: StateId,
    /// Whether the diff could not be applied to the accepted state.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub needs_full: bool,
    /// The newer state that it has received and is still storing: it need not be sent again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub storing: Option<StateId>,
}

/// What a master says to a follower that asks after it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct MasterPong {
    /// Whether the process that was asked for leads.
    pub leads: bool,
    /// Whether the asking process is one of its nodes.
    pub is_member: bool,
    /// Its term.
    pub term: Term,
}

/// One message: a request, or a reply to one.
#[expect(missing_docs, reason = "the variants are documented, their fields are named by their types")]
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "kind", content = "body")]
pub enum Message {
    /// Who is there? Replied to with `Pong`.
    Ping { from: Arc<Sender>, sight: Box<PeerStatus> },
    /// The reply to a ping changed. Not replied to.
    Notice { from: Arc<Sender>, sight: Box<PeerStatus> },
    /// Take me in. Replied to with `Joining`.
    Join { from: Arc<Sender>, join: Join },
    /// Give me your accepted state. Replied to with `Fetched`.
    Fetch { from: Arc<Sender> },
    /// Accept this state, and know what is committed before it. Replied to with `Report`.
    Publish {
        from: Arc<Sender>,
        term: Term,
        committed: StateId,
        #[serde(rename = "state")]
        body: Body,
    },
    /// This state is committed. Replied to with `Report`.
    Commit { from: Arc<Sender>, id: StateId },
    /// The master asks after a node. Replied to with `Report`.
    NodePing { from: Arc<Sender>, target: EphemeralId, term: Term },
    /// A follower asks after its master. Replied to with `MasterPong`.
    MasterPing { from: Arc<Sender>, master: EphemeralId, term: Term },
    /// The master asks its followers to vote in exactly this term, for itself or for its successor. Replied to with `Report`.
    CallVote { from: Arc<Sender>, term: Term, candidate: Arc<Node> },
    /// The sender leaves. Replied to with `Gone` when the cluster can do without it.
    Leave {
        from: Arc<Sender>,
        /// Up to this number it has the answers to the changes that it sent on.
        #[serde(default)]
        answered: u64,
    },
    /// Carry out a task. Replied to with `Answered`.
    Submit {
        from: Arc<Sender>,
        task: Box<Task>,
        #[serde(rename = "timeout_us", with = "span")]
        timeout: Duration,
        #[serde(rename = "master_timeout_us", with = "span")]
        master_timeout: Duration,
    },
    /// Answer what only a confirmed master can. Replied to with `Answered`.
    Read {
        from: Arc<Sender>,
        query: Query,
        #[serde(rename = "master_timeout_us", with = "span")]
        master_timeout: Duration,
    },
    /// Tell what is queued. Replied to with `Answered`.
    PendingTasks { from: Arc<Sender> },
    /// Pass a task, a read or a wish for the queue on to the master. Replied to with `Answered`.
    Relay { from: Arc<Sender>, question: Box<Message> },
    /// Hand the mastership of this term over. Replied to with `Answered`.
    Succession {
        from: Arc<Sender>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        to: Option<NodeId>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        term: Option<Term>,
    },

    /// The reply to a ping, and further addresses worth pinging.
    Pong {
        from: Arc<Sender>,
        sight: Box<PeerStatus>,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        mentioned: Vec<Address>,
    },
    /// The reply to a join.
    Joining(JoinAnswer),
    /// The reply to a fetch: the accepted state, if there is one.
    Fetched {
        from: Arc<Sender>,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        state: Option<Arc<ClusterState>>,
    },
    /// What a node has promised and knows.
    Report(Box<Report>),
    /// The reply to a follower's ping.
    MasterPong(MasterPong),
    /// The reply to a leave.
    Gone,
    /// The reply to a task or a read.
    Answered(Box<Answer>),
    /// The request was not for this node or this cluster.
    Rejected(Rejection),
}

impl Message {
    /// All kinds, requests before replies.
    pub const KINDS: [&'static str; 23] = [
        "ping",
        "notice",
        "join",
        "fetch",
        "publish",
        "commit",
        "node_ping",
        "master_ping",
        "call_vote",
        "leave",
        "submit",
        "read",
        "pending_tasks",
        "relay",
        "succession",
        "pong",
        "joining",
        "fetched",
        "report",
        "master_pong",
        "gone",
        "answered",
        "rejected",
    ];

    /// Who sent a request; a reply names nobody but for those that are used without asking who was called.
    pub fn sender(&self) -> Option<&Arc<Sender>> {
        match self {
            Message::Ping { from, .. }
            | Message::Notice { from, .. }
            | Message::Join { from, .. }
            | Message::Fetch { from }
            | Message::Publish { from, .. }
            | Message::Commit { from, .. }
            | Message::NodePing { from, .. }
            | Message::MasterPing { from, .. }
            | Message::CallVote { from, .. }
            | Message::Leave { from, .. }
            | Message::Submit { from, .. }
            | Message::Read { from, .. }
            | Message::PendingTasks { from }
            | Message::Relay { from, .. }
            | Message::Succession { from, .. }
            | Message::Pong { from, .. }
            | Message::Fetched { from, .. } => Some(from),
            Message::Joining(_)
            | Message::Report(_)
            | Message::MasterPong(_)
            | Message::Gone
            | Message::Answered(_)
            | Message::Rejected(_) => None,
        }
    }

    /// The message's kind, as the paths of the transport name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Message::Ping { .. } => "ping",
            Message::Notice { .. } => "notice",
            Message::Join { .. } => "join",
            Message::Fetch { .. } => "fetch",
            Message::Publish { .. } => "publish",
            Message::Commit { .. } => "commit",
            Message::NodePing { .. } => "node_ping",
            Message::MasterPing { .. } => "master_ping",
            Message::CallVote { .. } => "call_vote",
            Message::Leave { .. } => "leave",
            Message::Submit { .. } => "submit",
            Message::Read { .. } => "read",
            Message::PendingTasks { .. } => "pending_tasks",
            Message::Relay { .. } => "relay",
            Message::Succession { .. } => "succession",
            Message::Pong { .. } => "pong",
            Message::Joining(_) => "joining",
            Message::Fetched { .. } => "fetched",
            Message::Report(_) => "report",
            Message::MasterPong(_) => "master_pong",
            Message::Gone => "gone",
            Message::Answered(_) => "answered",
            Message::Rejected(_) => "rejected",
        }
    }
}

impl fmt::Display for PeerStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "term {}, accepted {}", self.term, self.accepted)?;
        match (&self.master, self.stands) {
            (Some((master, _)), _) if master.same_process(&self.node) => f.write_str(", leads")?,
            (Some((master, _)), _) => write!(f, ", follows {}", master.id)?,
            (None, Some(term)) => write!(f, ", stands in {term}")?,
            (None, None) => {}
        }
        f.write_str(if self.sees_quorum { ", sees a quorum" } else { "" })?;
        f.write_str(if self.unwell { ", unwell" } else { "" })?;
        f.write_str(if self.hangs { ", gives no vote" } else { "" })?;
        f.write_str(if self.leaves { ", leaves" } else { "" })
    }
}

impl fmt::Display for Join {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = if self.vote { "vote in" } else { "from" };
        write!(f, "{what} term {}, accepted {}", self.term, self.accepted)?;
        if self.round_trip.is_zero() { Ok(()) } else { write!(f, ", answers take {:?}", self.round_trip) }
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "term {}", self.term)?;
        if let Some(vote) = &self.vote {
            write!(f, " for {vote}")?;
        }
        if let Some(master) = &self.follows {
            write!(f, ", follows {master}")?;
        }
        write!(f, ", accepted {}, committed {}", self.accepted, self.committed)?;
        self.storing.map_or(Ok(()), |id| write!(f, ", stores {id}"))?;
        f.write_str(if self.needs_full { ", needs the full state" } else { "" })
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind())?;
        match self {
            Message::Ping { sight, .. } | Message::Notice { sight, .. } | Message::Pong { sight, .. } => {
                write!(f, "({sight})")
            }
            Message::Join { join, .. } => write!(f, "({join})"),
            Message::Publish { term, body: Body::Full(state), .. } => write!(f, "({} in term {term})", state.id()),
            Message::Publish { term, body: Body::Diff(diff), .. } => {
                write!(f, "({} from {} in term {term})", diff.to, diff.from)
            }
            Message::Commit { id, .. } => write!(f, "({id})"),
            Message::NodePing { term, .. } | Message::MasterPing { term, .. } => write!(f, "(term {term})"),
            Message::CallVote { term, candidate, .. } => write!(f, "(for {} in term {term})", candidate.id),
            Message::Submit { task, .. } => write!(f, "({task})"),
            Message::Read { query, .. } => write!(f, "({query})"),
            Message::Relay { question, .. } => write!(f, "({question})"),
            Message::Joining(JoinAnswer::Noted) => f.write_str("(noted)"),
            Message::Joining(JoinAnswer::Leads) => f.write_str("(leads)"),
            Message::Joining(JoinAnswer::VoteAgain(term)) => write!(f, "(vote again in term {term})"),
            Message::Joining(JoinAnswer::NotMaster) => f.write_str("(not master)"),
            Message::Joining(JoinAnswer::Rejected(why)) => write!(f, "({why})"),
            Message::Rejected(why) => write!(f, "({why})"),
            Message::Fetched { state: Some(state), .. } => write!(f, "({})", state.id()),
            Message::Report(report) => write!(f, "({report})"),
            Message::MasterPong(pong) => {
                let leads = if pong.leads { "leads" } else { "does not lead" };
                let member = if pong.is_member { "a member" } else { "no member" };
                write!(f, "({leads}, {member}, term {})", pong.term)
            }
            Message::Answered(answer) => write!(f, "({answer:?})"),
            Message::Succession { to: Some(to), .. } => write!(f, "({to})"),
            Message::Succession { to: None, .. }
            | Message::PendingTasks { .. }
            | Message::Fetch { .. }
            | Message::Leave { .. }
            | Message::Fetched { state: None, .. }
            | Message::Gone => Ok(()),
        }
    }
}
