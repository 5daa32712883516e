//! How far a term may be from this node's own to be believed.
//!
//! A term is never taken back, so whoever could name the last one would end a cluster for good. Each election takes one, so
//! one that is billions ahead was made up, or belongs to another cluster.

use super::Message;
use super::message::{Body, Join, JoinAnswer, PeerStatus, Report};
use crate::cluster::{StateId, Term};

/// By how much a term may be above the node's own: a thousand elections a second take 50 days to get so far.
pub(super) const LEAP_MAX: u64 = 1 << 32;

impl Message {
    /// Whether it names a term that is too far above this one.
    pub(super) fn leaps_from(&self, own: Term) -> bool {
        let most = own.get().saturating_add(LEAP_MAX);
        self.terms().into_iter().any(|term| term.get() > most)
    }

    /// All terms that a node may take over from it.
    fn terms(&self) -> Vec<Term> {
        match self {
            Message::Ping { sight, .. } | Message::Notice { sight, .. } | Message::Pong { sight, .. } => {
                of_sight(sight)
            }
            Message::Join { join, .. } => of_join(join),
            Message::Publish { term, committed, body, .. } => {
                let base = match body {
                    Body::Full(state) => state.id(),
                    Body::Diff(diff) => diff.from,
                };
                vec![*term, committed.term, base.term, body.id().term]
            }
            Message::Commit { id, .. } => vec![id.term],
            Message::NodePing { term, .. } | Message::MasterPing { term, .. } | Message::CallVote { term, .. } => {
                vec![*term]
            }
            Message::Relay { question, .. } => question.terms(),
            Message::Joining(JoinAnswer::VoteAgain(term)) => vec![*term],
            Message::Fetched { state: Some(state), .. } => vec![state.id().term],
            Message::Report(report) => of_report(report),
            Message::MasterPong(pong) => vec![pong.term],
            Message::Joining(
                JoinAnswer::Noted | JoinAnswer::Leads | JoinAnswer::NotMaster | JoinAnswer::Rejected(_),
            )
            | Message::Fetched { state: None, .. }
            | Message::Fetch { .. }
            | Message::Leave { .. }
            | Message::Submit { .. }
            | Message::Read { .. }
            | Message::PendingTasks { .. }
            | Message::Succession { .. }
            | Message::Gone
            | Message::Answered(_)
            | Message::Rejected(_) => Vec::new(),
        }
    }
}

fn of_sight(sight: &PeerStatus) -> Vec<Term> {
    [sight.term, sight.accepted.term].into_iter().chain(sight.stands).collect()
}

fn of_join(join: &Join) -> Vec<Term> {
    vec![join.term, join.accepted.term]
}

fn of_report(report: &Report) -> Vec<Term> {
    let known: [StateId; 2] = [report.accepted, report.committed];
    let states = known.into_iter().chain(report.storing).map(|id| id.term);
    states.chain([report.term]).collect()
}
