//! Votes and joins, as those give and send them who do not lead.
//!
//! A join to a candidate is a vote, stored before it is sent; a join to a master is none. Who is joined was chosen in
//! `choose`; what becomes of a join stands in `candidacy` and `leading`. Mirrors `ZenDiscovery.joinElectedMaster` (6.8), which
//! bound a join neither to a term nor to one election.

use super::elect::{Candidate, Lost};
use super::message::{Join, JoinAnswer, Message, PeerStatus};
use super::mode::Joining;
use super::rules::Protection;
use super::{CallPurpose, Mode, NodeState, Note, REMEMBERED_MAX, Rejection, Timer, Zen};
use crate::cluster::{EphemeralId, Node, Term};
use crate::protocol::{Effect, Effects, Exchange, Failure, Time};
use std::sync::Arc;
use std::time::Duration;

/// A vote follows a candidate that stands anew so often, and is then open to the best one again.
const STOOD_ANEW_MAX: u32 = 2;

/// A join is sent so often at the least before its target counts as silent: one may be lost.
const MISSED_MIN: u32 = 2;

impl Zen {
    /// Votes for a candidate in the term in which it stands, or asks it to be taken in if this node has no vote to give.
    /// One that does not stand yet will say so when it does.
    pub(super) fn vote_for(&mut self, now: Time, candidate: Arc<Node>, out: &mut Effects<Zen>) {
        if !self.node.local.is_master_eligible() {
            return self.start_join(now, candidate, false, None, out);
        }
        let may_vote = !self.node.is_write_overdue(now) && !self.node.has_twin();
        if let Some(term) = self.node.stands_for(&candidate).filter(|_| may_vote) {
            self.vote_in(now, term, candidate, out);
        }
    }

    /// Votes for a candidate in a term in which this node can.
    pub(super) fn vote_in(&mut self, now: Time, term: Term, candidate: Arc<Node>, out: &mut Effects<Zen>) {
        out.note(Note::Votes { term, candidate: candidate.clone() });
        if term > self.node.ledger.promise.term {
            self.node.promise(term, &candidate.id, out);
        }
        self.start_join(now, candidate, false, Some(term), out);
    }

    pub(super) fn join_master(&mut self, now: Time, master: Arc<Node>, out: &mut Effects<Zen>) {
        // One whose disk hangs could store no state of this master; when it is done the node looks again.
        if self.node.is_write_overdue(now) || self.node.is_copy() {
            return;
        }
        out.note(Note::Joins { master: master.clone() });
        self.start_join(now, master, true, None, out);
    }

    fn start_join(&mut self, now: Time, target: Arc<Node>, leads: bool, vote: Option<Term>, out: &mut Effects<Zen>) {
        self.leave_mode_for(now, Some(&target.address), out);
        out.push(Effect::Link { to: target.address.clone() });
        self.mode = Mode::Joining(Joining {
            target,
            leads,
            vote,
            won: false,
            since: now,
            sent: now,
            answered: now,
            missed: 0,
            rebuffs: 0,
            stood_anew: 0,
        });
        self.send_join(now, out);
    }

    fn send_join(&mut self, now: Time, out: &mut Effects<Zen>) {
        let bootstrap = self.node.own_bootstrap();
        let is_late = self.node.keeps(Protection::VotesTellAccepted);
        let accepted = if is_late { self.node.ledger.accepted.id() } else { self.node.ledger.durable_id() };
        let Mode::Joining(joining) = &mut self.mode else {
            return;
        };
        let join = Join {
            to: joining.target.id.clone(),
            term: joining.vote.unwrap_or(self.node.ledger.promise.term),
            vote: joining.vote.is_some(),
            to_master: joining.leads,
            // Whatever was stored before the vote is durable when the vote is sent, and may have been acknowledged.
            accepted,
            bootstrap,
            has_recovered_state: self.node.has_recovered_state,
        };
        joining.sent = now;
        let target = joining.target.clone();
        let purpose = CallPurpose::Join { target: target.ephemeral_id.clone() };
        let message = Message::Join { from: self.node.sender.clone(), join };
        self.node.call(&target.address, message, purpose, self.node.tuning.ping_timeout, out);
        let patience = self.node.fd_timeout(&target.address).min(self.node.tuning.ping_timeout);
        self.node.timers.set(Timer::Join, now + patience);
    }

    /// Sends an unanswered join again, or gives it up: if it is not answered for as long as a fault detector waits; a vote
    /// after two rounds, a master that answers later than that, and a candidate that won not as long as it answers.
    pub(super) fn join_again(&mut self, now: Time, out: &mut Effects<Zen>) {
        let (candidate, is_doubtful) = (self.node.tuning.vote_timeout(), now < self.node.doubts_until);
        let Mode::Joining(joining) = &mut self.mode else {
            return;
        };
        // A vote that is not stored yet was not sent.
        let is_stored = joining.vote.is_none()
            || self.node.ledger.is_stored()
            || !self.node.rules.keep(Protection::StoredBeforeRepeat);
        joining.missed += u32::from(joining.answered <= joining.sent && is_stored && !is_doubtful);
        let patience = if joining.leads { self.node.tuning.join_timeout.max(candidate) } else { candidate };
        let most = self.node.tuning.fd_ping_retries.max(MISSED_MIN);
        let is_silent = joining.missed >= most || now.since(joining.answered) >= candidate;
        let is_over = is_silent || !joining.won && now.since(joining.since) >= patience;
        if is_over {
            self.give_up_join(now, "timed out", self.node.tuning.join_retry_delay, out);
        } else if is_stored && self.node.keeps(Protection::RepeatedJoins) {
            self.send_join(now, out);
        } else {
            self.node.timers.set(Timer::Join, now + self.node.tuning.ping_timeout);
        }
    }

    /// A target that could not be joined counts as lost, and a master that answered is left alone for longer each time: one
    /// that did not is chosen again only when it answers. Of a candidate only its own word counts that it is not well, or each
    /// voter would have another order of them.
    fn give_up_join(&mut self, now: Time, reason: impl Into<String>, pause: Duration, out: &mut Effects<Zen>) {
        let Mode::Joining(joining) = &self.mode else {
            return;
        };
        let id = joining.target.id.clone();
        let was_heard = joining.answered > joining.since;
        let is_repelled = joining.leads && was_heard;
        let pause =
            if is_repelled { self.node.set_back(now, &id, pause).min(self.node.tuning.vote_timeout()) } else { pause };
        self.end_join(now, reason.into(), pause, out);
    }

    fn end_join(&mut self, now: Time, reason: String, pause: Duration, out: &mut Effects<Zen>) {
        let Mode::Joining(joining) = &self.mode else {
            return;
        };
        let node = joining.target.clone();
        self.node.forget_master(now, &node, format!("could not join: {reason}"));
        out.note(Note::JoinFailed { node, reason });
        self.find(now, pause, "could not join", out);
    }

    pub(super) fn on_join_answer(
        &mut self,
        now: Time,
        target: &EphemeralId,
        answer: JoinAnswer,
        out: &mut Effects<Zen>,
    ) {
        let patience = self.node.tuning.ping_timeout;
        let Some(joining) = self.joining(target) else {
            return;
        };
        (joining.answered, joining.missed) = (now, 0);
        joining.won |= matches!(answer, JoinAnswer::Leads) && joining.vote.is_some();
        let (master, again) = (joining.target.clone(), joining.sent + patience);
        self.node.timers.set(Timer::Join, again);
        match answer {
            JoinAnswer::Noted => self.ask_for_succession(now, out),
            JoinAnswer::Leads => {}
            JoinAnswer::VoteAgain(term) => self.vote_again(now, term, out),
            JoinAnswer::NotMaster => self.on_rebuff(now, out),
            // It has no other answer to give so soon. Whom it keeps out longer each time it says itself.
            JoinAnswer::Rejected(why) => {
                out.note(Note::JoinRejected { master, why: why.clone() });
                self.end_join(now, why, self.node.tuning.ping_timeout, out)
            }
        }
    }

    fn joining(&mut self, target: &EphemeralId) -> Option<&mut Joining> {
        match &mut self.mode {
            Mode::Joining(joining) if joining.target.ephemeral_id == *target => Some(joining),
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) | Mode::Leading(_) | Mode::Following(_) => None,
        }
    }

    /// Told of a higher term in which the candidate stands, votes again in exactly that one.
    fn vote_again(&mut self, now: Time, term: Term, out: &mut Effects<Zen>) {
        let Mode::Joining(joining) = &mut self.mode else {
            return;
        };
        if joining.vote.is_none() || !self.node.local.is_master_eligible() || term <= self.node.ledger.promise.term {
            return;
        }
        // Another candidate may be the better one, and need this vote to win.
        if joining.stood_anew >= STOOD_ANEW_MAX {
            return self.find(now, Duration::ZERO, "the candidate stands again and again", out);
        }
        joining.stood_anew += 1;
        joining.vote = Some(term);
        joining.since = now;
        let candidate = joining.target.clone();
        out.note(Note::Votes { term, candidate: candidate.clone() });
        self.node.promise(term, &candidate.id, out);
        self.send_join(now, out);
    }

    fn on_rebuff(&mut self, now: Time, out: &mut Effects<Zen>) {
        let (attempts, delay) = (self.node.tuning.join_retry_attempts, self.node.tuning.join_retry_delay);
        let Mode::Joining(joining) = &mut self.mode else {
            return;
        };
        joining.rebuffs += 1;
        let rebuffs = joining.rebuffs;
        if self.node.successor.is_some() {
            self.give_up_join(now, "it does not take the mastership over", delay, out);
        } else if rebuffs >= attempts {
            let reason = format!("it is not master (tried {attempts} times)");
            self.give_up_join(now, reason, delay, out);
        } else {
            self.node.timers.set(Timer::Join, now + delay);
        }
    }

    pub(super) fn on_join_failed(&mut self, now: Time, target: &EphemeralId, why: Failure, out: &mut Effects<Zen>) {
        if self.joining(target).is_none() {
            return;
        }
        match why {
            Failure::Refused | Failure::Reset | Failure::BadAnswer => {
                self.give_up_join(now, why.to_string(), self.node.tuning.join_retry_delay, out)
            }
            Failure::TimedOut => {}
        }
    }

    pub(super) fn on_join_rejected(
        &mut self,
        now: Time,
        target: &EphemeralId,
        why: &Rejection,
        out: &mut Effects<Zen>,
    ) {
        if self.joining(target).is_some() {
            self.give_up_join(now, why.to_string(), self.node.tuning.join_retry_delay, out);
        }
    }

    /// While a join is under way, what its target says of itself may change it.
    pub(super) fn heed_target(&mut self, now: Time, sight: &PeerStatus, out: &mut Effects<Zen>) {
        let Mode::Joining(joining) = &self.mode else {
            return;
        };
        if !joining.target.same_process(&sight.node) {
            return;
        }
        // That it follows this very node was said before this node handed over.
        let is_elsewhere = sight
            .master
            .as_ref()
            .is_some_and(|(master, _)| !master.same_process(&sight.node) && !master.same_process(&self.node.local));
        let gave_up = sight.masterless && self.node.successor.is_none();
        match sight.stands {
            Some(term) if joining.vote.is_some() => self.vote_again(now, term, out),
            _ if is_elsewhere => self.find(now, Duration::ZERO, "the candidate follows another master", out),
            None if gave_up => self.find(now, Duration::ZERO, "it neither leads nor stands any more", out),
            Some(_) if joining.leads => self.find(now, Duration::ZERO, "the master leads no more", out),
            Some(_) | None => {}
        }
    }

    /// A vote goes to the better one of two candidates that stand, as long as neither has won: two that do not hear of each
    /// other would each keep a voter that the other needs.
    pub(super) fn heed_better(&mut self, now: Time, sight: &PeerStatus, out: &mut Effects<Zen>) {
        let Mode::Joining(joining) = &self.mode else {
            return;
        };
        let is_open = joining.vote.is_some() && !joining.won && self.node.successor.is_none();
        let of_target = self.node.search.seen.get(&joining.target.address).and_then(|seen| Candidate::of(&seen.sight));
        let better = Candidate::of(sight).filter(|other| other.sees_quorum && is_open);
        let (Some(better), Some(target)) = (better, of_target) else {
            return;
        };
        let term = self
            .node
            .stands_for(&better.node)
            .and(sight.stands)
            .filter(|term| self.node.can_vote_in(*term, &better.node));
        if let Some(term) = term.filter(|_| better.rank() < target.rank()) {
            self.vote_in(now, term, better.node, out);
        }
    }

    pub(super) fn on_join(
        &mut self,
        now: Time,
        exchange: Exchange,
        node: &Arc<Node>,
        join: Join,
        out: &mut Effects<Zen>,
    ) {
        if join.to != self.node.local.id && self.node.keeps(Protection::NamedVotes) {
            let why = format!("this is {}, not {}", self.node.local.id, join.to);
            return self.node.reply(exchange, Message::Rejected(why.as_str().into()), out);
        }
        match &self.mode {
            Mode::Leading(_) => self.as_master(now, out, |master| master.on_join(exchange, node, join)),
            Mode::Electing(_) if !join.to_master || !self.node.keeps(Protection::FormerMasters) => {
                self.on_join_as_candidate(now, exchange, node, join, out)
            }
            // The master hands over: its vote is the order to stand.
            Mode::Following(following)
                if join.vote
                    && following.master.same_process(node)
                    && join.term > self.node.ledger.promise.term
                    && self.node.may_lead() =>
            {
                self.stand(now, Some(join.term), "the master hands over", out);
                self.on_join(now, exchange, node, join, out);
            }
            // Told that this node is no master, it will look who is.
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) | Mode::Following(_) => {
                self.node.rebuff(exchange, out)
            }
        }
    }
}

impl NodeState {
    /// The term in which a candidate says that it stands, if this node can vote for it there.
    pub(super) fn stands_for(&self, candidate: &Node) -> Option<Term> {
        let seen = self.search.seen.get(&candidate.address).filter(|seen| seen.sight.node.same_process(candidate))?;
        seen.sight.stands.filter(|term| self.can_vote_in(*term, candidate))
    }

    /// Whether the vote of a term is not given yet, or was given to this candidate.
    fn can_vote_in(&self, term: Term, candidate: &Node) -> bool {
        let promise = &self.ledger.promise;
        let is_stored = self.ledger.is_stored() || !self.keeps(Protection::StoredBeforeRepeat);
        term > promise.term || term == promise.term && promise.vote.as_ref() == Some(&candidate.id) && is_stored
    }

    /// Remembers that a master was lost, so that only later news of it counts.
    pub(super) fn forget_master(&mut self, now: Time, master: &Node, why: String) {
        if !self.keeps(Protection::LostMasters) {
            return;
        }
        if self.lost.len() >= REMEMBERED_MAX {
            let oldest = self.lost.iter().min_by_key(|(_, lost)| lost.at).map(|(id, _)| id.clone());
            oldest.and_then(|id| self.lost.remove(&id));
        }
        self.lost.insert(master.ephemeral_id.clone(), Lost { at: now, why: why.into() });
    }

    /// Whether it would lead: one that said good-bye would leave its cluster without a master.
    pub(super) fn may_lead(&self) -> bool {
        self.local.is_master_eligible() && self.leaving.is_none() && !self.has_twin()
    }

    pub(super) fn rebuff(&mut self, exchange: Exchange, out: &mut Effects<Zen>) {
        self.reply(exchange, Message::Joining(JoinAnswer::NotMaster), out);
    }
}
