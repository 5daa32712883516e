//! Reads that miss nothing that was committed before they began.
//!
//! The master answers from the last committed state once a state of its own term is committed and a majority of the last
//! committed set has said, asked after the read arrived, that it is in that term with the vote given to this master. A
//! deposed master can get no such majority. Zen had no such reads.

use crate::cluster::{BlockLevel, ClusterState, NodeId, VotingSet};
use crate::protocol::Time;
use crate::service::limits::{RANGE_BYTES_MAX, RANGE_MAX};
use crate::service::{Answer, Query, Refusal};
use crate::zen::ask::Origin;
use crate::zen::mode::leadership::{Leadership, PendingRead};
use crate::zen::role::{Flow, Role, STAYS};
use crate::zen::rules::Protection;
use crate::zen::{PingKind, Timer};
use std::mem;

/// How many reads may wait for a confirmation.
const READS_MAX: usize = 10_000;

impl Role<'_, Leadership> {
    pub(in crate::zen) fn read(&mut self, origin: Origin, query: Query, deadline: Time) -> Flow {
        if self.mode.reads.len() >= READS_MAX {
            self.node.answer(self.now, origin, Answer::NotMaster, self.out);
            return STAYS;
        }
        self.mode.reads.push(PendingRead { origin, query, since: self.now, deadline });
        self.node.timers.set_earlier(Timer::Queue, deadline);
        self.confirm();
        self.answer_reads()
    }

    /// Whether a state of its own term is committed.
    fn may_confirm(&self) -> bool {
        self.mode.is_settled || !self.node.keeps(Protection::ReadsOwnTerm)
    }

    /// Asks the voters, unless they are being asked for an earlier read.
    fn confirm(&mut self) {
        if !self.may_confirm() || self.mode.confirming.is_some() {
            return;
        }
        self.mode.confirming = Some(self.now);
        let voters: Vec<NodeId> = self.mode.peers.keys().cloned().collect();
        for id in voters.into_iter().filter(|id| self.node.applied.metadata.voting.own.contains(id)).collect::<Vec<_>>()
        {
            self.ping_node(&id, PingKind::Confirm);
        }
    }

    /// Answers a question that was confirmed, from the newest committed state.
    fn look_up(&mut self, query: &Query) -> Answer {
        let state = self.node.applied.clone();
        let blocks = state.blocks.at(BlockLevel::MetadataRead);
        let is_blocked = !blocks.is_empty() && !matches!(query, Query::Newest | Query::KeepAlive(_));
        if let Some(status) = blocks.status().filter(|_| is_blocked) {
            let (why, retryable) = (blocks.to_string(), blocks.is_retryable());
            return Answer::Refused(Refusal::Blocked { why, status, retryable });
        }
        let at = state.id();
        match query {
            Query::Newest => Answer::Newest { at },
            Query::Key { key } => Answer::Value { at, value: state.metadata.keys.get(key).cloned() },
            Query::Range { prefix, after, limit } => range(&state, prefix, after.as_deref(), *limit),
            Query::Lease { name } => Answer::Lease { at, lease: state.metadata.leases.get(name).cloned() },
            Query::KeepAlive(holding) => self.keep_alive(holding),
        }
    }

    /// Answers the reads that a majority has confirmed.
    pub(super) fn answer_reads(&mut self) -> Flow {
        let voting = self.node.applied.metadata.voting.own.clone();
        let local = self.node.local.id.clone();
        let (durable, rules) = (self.node.ledger.durable.promise.term, self.node.rules);
        if !self.may_confirm() || self.mode.reads.is_empty() {
            return STAYS;
        }
        let lead = &mut *self.mode;
        let is_confirmed = |lead: &Leadership, since: Time| {
            let since = if rules.keep(Protection::ReadsAfter) { since } else { Time::from_micros(1) };
            !rules.keep(Protection::ReadsConfirmed)
                || voting.has_majority(|id| match lead.peers.get(id) {
                    Some(peer) => peer.confirmed >= since,
                    None => *id == local && durable == lead.term,
                })
        };
        let reads = mem::take(&mut lead.reads);
        let (done, waiting): (Vec<_>, Vec<_>) = reads.into_iter().partition(|read| is_confirmed(lead, read.since));
        lead.reads = waiting;
        if lead.confirming.is_some_and(|since| is_confirmed(lead, since)) {
            lead.confirming = None;
        }
        let is_left = !lead.reads.is_empty();
        if is_left && lacks_votes(lead, &voting, &local) {
            lead.wanted_term = lead.wanted_term.max(Some(lead.term.next()));
        }
        for read in done {
            let answer = self.look_up(&read.query);
            self.node.answer(self.now, read.origin, answer, self.out);
        }
        if is_left {
            self.confirm();
            return self.advance();
        }
        STAYS
    }
}

/// The keys that begin so, behind a key, as many as are asked for and fit.
fn range(state: &ClusterState, prefix: &str, after: Option<&str>, limit: usize) -> Answer {
    let from = after.filter(|after| *after >= prefix).unwrap_or(prefix);
    let all = state.metadata.keys.range_from(from).skip_while(|(key, _)| Some(&***key) == after);
    let mut fitting = all.take_while(|(key, _)| key.starts_with(prefix)).peekable();
    let (mut keys, mut bytes) = (Vec::new(), 0);
    while let Some((key, held)) = fitting.peek() {
        bytes += key.len() + held.value.len();
        if keys.len() >= limit.min(RANGE_MAX) || bytes > RANGE_BYTES_MAX && !keys.is_empty() {
            break;
        }
        keys.push(((*key).clone(), (*held).clone()));
        fitting.next();
    }
    Answer::Range { at: state.id(), keys, more: fitting.peek().is_some() }
}

/// Whether too many of the voters that live gave their votes of this term to others: they confirm nothing before the next.
fn lacks_votes(lead: &Leadership, voting: &VotingSet, local: &NodeId) -> bool {
    let live = |id: &NodeId| lead.peers.get(id).map_or(id == local, |peer| peer.failed.is_none());
    let votes_here = |id: &NodeId| live(id) && lead.peers.get(id).is_none_or(|peer| !peer.votes_elsewhere);
    lead.term_bump.is_none() && voting.has_majority(live) && !voting.has_majority(votes_here)
}
