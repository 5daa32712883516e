//! What a node tells its operator, worded as Elasticsearch words it, because operators grep for it.

use crate::cluster::{Node, NodeId, NodesDelta, StateId, Term, VotingSet};
use crate::protocol::{Level, Remark};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// One line of the log.
#[expect(missing_docs, reason = "the variants are documented, their fields are named by their types")]
#[derive(Clone, Debug)]
pub enum Note {
    /// The search for a master begins.
    Searching { reason: String },
    /// A round ended without enough candidates.
    NotEnoughMasters { found: Vec<String>, needed: String, why: String },
    /// A candidacy ended without enough votes.
    NoMaster { why: String },
    /// The node stands as a candidate.
    Stands { term: Term, reason: &'static str },
    /// The node votes.
    Votes { term: Term, candidate: Arc<Node> },
    /// The node asks a master to be taken in.
    Joins { master: Arc<Node> },
    /// A join did not succeed.
    JoinFailed { node: Arc<Node>, reason: String },
    /// A candidacy ended without success.
    Abandoned { term: Term, reason: String },
    /// A candidate fetches a newer state.
    Fetches { from: Arc<Node>, id: StateId },
    /// The candidate has enough joins.
    Won { term: Term, votes: Vec<NodeId> },
    /// A state was committed on the master.
    Published { state: StateId, delta: NodesDelta, local: NodeId, reason: String },
    /// A follower applied a state that changed the nodes.
    Applied { state: StateId, delta: NodesDelta, local: NodeId },
    /// The voting set changes, by itself or because a user wants it.
    VotingSet { from: VotingSet, to: VotingSet, is_asked_for: bool },
    /// The master takes a higher term and stays master.
    TakesTerm { from: Term, to: Term },
    /// The master asks for a hand-over.
    HandsOver { to: Arc<Node>, term: Term },
    /// A publish took a good part of the time that it may take.
    SlowPublish { source: String, took: Duration, threshold: Duration },
    /// Some nodes have not applied a committed state in time.
    Behind { state: StateId, timeout: Duration, nodes: Vec<Arc<Node>> },
    /// A publish was not committed in time.
    CommitFailed { state: StateId, timeout: Duration },
    /// After a full restart more nodes are waited for.
    DelaysRecovery { after: Duration, reason: String },
    /// A persistent setting that is not understood is put aside.
    Archives { key: Arc<str>, why: String },
    /// The state came back after a full restart, with so many indices.
    Recovers { indices: usize },
    /// A set proposed by this master is taken back.
    TakesBack { set: VotingSet },
    /// The node no longer leads.
    SteppedDown { reason: String },
    /// The master is gone.
    MasterLeft { master: Arc<Node>, reason: String },
    /// A ping of a fault detector failed.
    PingFailed { node: Arc<Node>, tried: u32, of: u32 },
    /// A node is gone.
    NodeFailed { node: Arc<Node>, reason: String },
    /// Another cluster.
    OtherCluster { node: Arc<Node>, what: String },
    /// Another process with this node's id.
    DuplicateId { node: Arc<Node> },
    /// The operator's number is lower than a majority.
    MinimumTooLow { minimum: usize, eligible: usize },
    /// A setting in the cluster state is not heeded as it stands there.
    BadSetting { what: String },
    /// The node itself was stalled.
    Stalled { by: Duration },
    /// A master does not take a node in, or not any more.
    TurnedAway { node: Arc<Node>, why: String },
    /// A master says that it does not take this node in.
    JoinRejected { master: Arc<Node>, why: String },
    /// A link is too slow for the timeout that is set.
    TimeoutRaised { node: Arc<Node>, round_trip: Duration, set: Duration, to: Duration },
    /// The disk has not finished a write for so long.
    WriteOverdue { since: Duration },
    /// A write took so long that others should lead.
    SlowWrite { took: Duration },
}

impl Remark for Note {
    fn level(&self) -> Level {
        match self {
            Note::Searching { .. }
            | Note::Stands { .. }
            | Note::Votes { .. }
            | Note::Joins { .. }
            | Note::Abandoned { .. }
            | Note::Fetches { .. }
            | Note::Won { .. }
            | Note::PingFailed { .. } => Level::Debug,
            Note::Published { .. }
            | Note::Applied { .. }
            | Note::VotingSet { .. }
            | Note::TakesTerm { .. }
            | Note::HandsOver { .. }
            | Note::TakesBack { .. }
            | Note::JoinFailed { .. }
            | Note::NodeFailed { .. }
            | Note::DelaysRecovery { .. }
            | Note::Recovers { .. }
            | Note::MasterLeft { .. } => Level::Info,
            Note::NotEnoughMasters { .. }
            | Note::NoMaster { .. }
            | Note::SlowPublish { .. }
            | Note::Behind { .. }
            | Note::CommitFailed { .. }
            | Note::Archives { .. }
            | Note::SteppedDown { .. }
            | Note::OtherCluster { .. }
            | Note::DuplicateId { .. }
            | Note::MinimumTooLow { .. }
            | Note::BadSetting { .. }
            | Note::Stalled { .. }
            | Note::TurnedAway { .. }
            | Note::JoinRejected { .. }
            | Note::TimeoutRaised { .. }
            | Note::WriteOverdue { .. }
            | Note::SlowWrite { .. } => Level::Warn,
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Note::Searching { reason } => write!(f, "looking for a master: {reason}"),
            Note::NotEnoughMasters { found, needed, why } => write!(
                f,
                "not enough master nodes discovered during pinging (found [{}], but needed [{needed}]), pinging again; \
                 no master: {why}",
                found.join(", ")
            ),
            Note::NoMaster { why } => write!(f, "no master: {why}"),
            Note::Stands { term, reason } => write!(f, "elected locally in term {term} ({reason}), waiting for joins"),
            Note::Votes { term, candidate } => write!(f, "votes for {candidate} in term {term}"),
            Note::Joins { master } => write!(f, "joins master {master}"),
            Note::JoinFailed { node, reason } => {
                write!(f, "failed to send join request to master [{node}], reason [{reason}]")
            }
            Note::Abandoned { term, reason } => write!(f, "candidacy of term {term} ends: {reason}"),
            Note::Fetches { from, id } => write!(f, "fetches the newer state {id} from {from}"),
            Note::Won { term, votes } => {
                let votes: Vec<_> = votes.iter().map(NodeId::as_str).collect();
                write!(f, "elected-as-master in term {term} ([{}] nodes joined)[{}]", votes.len(), votes.join(", "))
            }
            Note::Published { state, delta, local, reason } => {
                write!(f, "{reason}, term/version: {state}")?;
                show_delta(f, delta, local)
            }
            Note::Applied { state, delta, local } => {
                write!(f, "applies {state}")?;
                show_delta(f, delta, local)
            }
            Note::VotingSet { from, to, .. } => write!(f, "voting set {from} becomes {to}"),
            Note::TakesTerm { from, to } => write!(f, "takes term {to} after {from} and stays master"),
            Note::HandsOver { to, term } => write!(f, "hands over to {to} in term {term}"),
            Note::SlowPublish { source, took, threshold } => write!(
                f,
                "cluster state update task [{source}] took [{took:?}] above the warn threshold of {threshold:?}"
            ),
            Note::Behind { state, timeout, nodes } => show_behind(f, *state, *timeout, nodes),
            Note::DelaysRecovery { after, reason } => {
                write!(f, "delaying initial state recovery for [{after:?}]. {reason}")
            }
            Note::Archives { key, why } => write!(f, "ignoring persistent setting: [{key}]; archiving: {why}"),
            Note::Recovers { indices } => write!(f, "recovered [{indices}] indices into cluster_state"),
            Note::CommitFailed { state, timeout } => {
                write!(f, "failing publish of {state}: timed out while waiting for enough masters to ack ({timeout:?})")
            }
            Note::TakesBack { set } => write!(f, "takes its proposal back, the voting set stays {set}"),
            Note::SteppedDown { reason } => write!(f, "steps down: {reason}"),
            Note::MasterLeft { master, reason } => write!(f, "master_left [{master}], reason [{reason}]"),
            Note::PingFailed { node, tried, of } => write!(f, "failed to ping {node} ({tried} of {of})"),
            Note::NodeFailed { node, reason } => write!(f, "node_failed [{node}], reason [{reason}]"),
            Note::OtherCluster { node, what } => write!(f, "{node} is of another cluster: {what}"),
            Note::DuplicateId { node } => write!(f, "found existing node {node} with this node's id"),
            Note::MinimumTooLow { minimum, eligible } => show_minimum(f, minimum, *eligible),
            Note::BadSetting { what } => write!(f, "{what}"),
            Note::Stalled { by } => write!(f, "this node was stalled for {by:?} and doubts itself first"),
            Note::TurnedAway { node, why } => write!(f, "turned {node} away: {why}"),
            Note::JoinRejected { master, why } => write!(f, "master {master} does not take this node in: {why}"),
            Note::TimeoutRaised { node, round_trip, set, to } => write!(
                f,
                "answers of {node} take {round_trip:?}: waiting for them for {to:?}, since [discovery.zen.fd.ping_timeout] \
                 is [{set:?}]"
            ),
            Note::WriteOverdue { since } => {
                write!(f, "the disk has not finished a write for {since:?}: this node leads only if nobody else can")
            }
            Note::SlowWrite { took } => write!(f, "the disk took {took:?} for a write: others come first as masters"),
        }
    }
}

fn show_behind(f: &mut fmt::Formatter<'_>, state: StateId, timeout: Duration, nodes: &[Arc<Node>]) -> fmt::Result {
    let nodes: Vec<String> = nodes.iter().map(ToString::to_string).collect();
    write!(
        f,
        "timed out waiting for all nodes to process published state [{state}] (timeout [{timeout:?}], pending nodes: \
         [{}])",
        nodes.join(", ")
    )
}

fn show_minimum(f: &mut fmt::Formatter<'_>, minimum: &impl fmt::Display, eligible: usize) -> fmt::Result {
    write!(
        f,
        "value for setting \"discovery.zen.minimum_master_nodes\" is too low: {minimum}, with {eligible} \
         master-eligible nodes use {}; the automatic quorum holds all the same",
        eligible / 2 + 1
    )
}

fn show_delta(f: &mut fmt::Formatter<'_>, delta: &NodesDelta, local: &NodeId) -> fmt::Result {
    let summary = delta.summary(local).to_string();
    if summary.is_empty() { Ok(()) } else { write!(f, ", {summary}") }
}
