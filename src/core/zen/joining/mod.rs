//! A node that asked a master or a candidate to take it in.
//!
//! A join to a candidate is a vote, stored before it is sent; a join to a master is none. Whom it asks was chosen in
//! `finding`; what becomes of a join stands in `electing` and `leading`. Mirrors `ZenDiscovery.joinElectedMaster` (6.8), which
//! bound a join neither to a term nor to one election.

use super::elect::Candidate;
use super::message::{Join, JoinAnswer, Message, PeerStatus};
use super::mode::Joining;
use super::node::Successor;
use super::role::{Flow, Next, Role, STAYS};
use super::rules::Protection;
use super::{CallPurpose, Note, Timer};
use crate::cluster::{EphemeralId, Term};
use crate::protocol::{Effect, Failure};
use std::time::Duration;

/// A vote follows a candidate that stands anew so often, and is then open to the best one again.
const STOOD_ANEW_MAX: u32 = 2;

/// A join is sent so often at the least before its target counts as silent: one may be lost.
const MISSED_MIN: u32 = 2;

impl Role<'_, Joining> {
    /// Sends the join, and waits for an answer.
    pub(in crate::zen) fn send_join(&mut self) {
        let bootstrap = self.node.own_bootstrap();
        let is_late = self.node.keeps(Protection::VotesTellAccepted);
        let accepted = if is_late { self.node.ledger.accepted.id() } else { self.node.ledger.durable_id() };
        let joining = &mut *self.mode;
        let join = Join {
            to: joining.target.id.clone(),
            term: joining.vote.unwrap_or(self.node.ledger.promise.term),
            vote: joining.vote.is_some(),
            to_master: joining.leads,
            // Whatever was stored before the vote is durable when the vote is sent, and may have been acknowledged.
            accepted,
            bootstrap,
            has_recovered_state: self.node.has_recovered_state,
            round_trip: self.node.long_round_trip(&joining.target.address),
        };
        joining.sent = self.now;
        let target = joining.target.clone();
        let purpose = CallPurpose::Join { target: target.ephemeral_id.clone() };
        let message = Message::Join { from: self.node.sender.clone(), join };
        self.node.call(&target.address, message, purpose, self.node.tuning.ping_timeout, self.out);
        let patience = self.node.fd_timeout(&target.address).min(self.node.tuning.ping_timeout);
        self.node.timers.set(Timer::Join, self.now + patience);
    }

    /// Sends a join again that nothing came of yet, or gives it up: if it is not answered for as long as a fault detector
    /// waits; a vote after two rounds, a master that answers later than that, and a candidate that won not as long as it
    /// answers.
    pub(in crate::zen) fn join_again(&mut self) -> Flow {
        let (candidate, is_doubtful) = (self.node.tuning.vote_timeout(), self.now < self.node.doubts_until);
        let joining = &mut *self.mode;
        // A vote that is not stored yet was not sent.
        let is_stored = joining.vote.is_none()
            || self.node.ledger.is_stored()
            || !self.node.rules.keep(Protection::StoredBeforeRepeat);
        joining.missed += u32::from(joining.answered <= joining.sent && is_stored && !is_doubtful);
        let patience = if joining.leads { self.node.tuning.join_timeout.max(candidate) } else { candidate };
        let most = self.node.tuning.fd_ping_retries.max(MISSED_MIN);
        let is_silent = joining.missed >= most || self.now.since(joining.answered) >= candidate;
        let is_over = is_silent || !joining.won && self.now.since(joining.since) >= patience;
        if is_over {
            return self.give_up_join("timed out", self.node.tuning.join_retry_delay);
        } else if is_stored && self.node.keeps(Protection::RepeatedJoins) {
            self.send_join();
        } else {
            self.node.timers.set(Timer::Join, self.now + self.node.tuning.ping_timeout);
        }
        STAYS
    }

    /// A target that could not be joined counts as lost, and a master that answered is left alone for longer each time: one
    /// that did not is chosen again only when it answers. Of a candidate only its own word counts that it is not well, or each
    /// voter would have another order of them.
    fn give_up_join(&mut self, reason: impl Into<String>, pause: Duration) -> Flow {
        let joining = &*self.mode;
        let id = joining.target.id.clone();
        let is_repelled = joining.leads && joining.answered > joining.since;
        let pause = if is_repelled {
            self.node.set_back(self.now, &id, pause).min(self.node.tuning.vote_timeout())
        } else {
            pause
        };
        self.end_join(reason.into(), pause)
    }

    fn end_join(&mut self, reason: String, pause: Duration) -> Flow {
        let node = self.mode.target.clone();
        self.node.forget_master(self.now, &node, format!("could not join: {reason}"));
        self.out.note(Note::JoinFailed { node, reason });
        Flow::Break(Next::Find { pause, reason: "could not join".into() })
    }

    pub(in crate::zen) fn on_join_answer(&mut self, target: &EphemeralId, answer: JoinAnswer) -> Flow {
        let joining = &mut *self.mode;
        if joining.target.ephemeral_id != *target {
            return STAYS;
        }
        (joining.answered, joining.missed) = (self.now, 0);
        joining.won |= matches!(answer, JoinAnswer::Leads) && joining.vote.is_some();
        let master = joining.target.clone();
        match answer {
            JoinAnswer::Noted => {
                self.ask_for_succession();
                STAYS
            }
            JoinAnswer::Leads => STAYS,
            JoinAnswer::VoteAgain(term) => self.vote_again(term),
            JoinAnswer::NotMaster => self.on_rebuff(),
            // It will try by itself, or says for how long it does not.
            JoinAnswer::Rejected(why) => {
                self.out.note(Note::JoinRejected { master, why: why.clone() });
                self.end_join(why, self.node.tuning.ping_timeout)
            }
        }
    }

    /// Told of a higher term in which the candidate stands, votes again in exactly that one.
    fn vote_again(&mut self, term: Term) -> Flow {
        let joining = &mut *self.mode;
        if joining.vote.is_none() || !self.node.local.is_master_eligible() || term <= self.node.ledger.promise.term {
            return STAYS;
        }
        // Another candidate may be the better one, and need this vote to win.
        if joining.stood_anew >= STOOD_ANEW_MAX {
            return Next::find("the candidate stands again and again");
        }
        joining.stood_anew += 1;
        joining.vote = Some(term);
        joining.since = self.now;
        let candidate = joining.target.clone();
        self.out.note(Note::Votes { term, candidate: candidate.clone() });
        self.node.promise(term, &candidate.id, self.out);
        self.send_join();
        STAYS
    }

    fn on_rebuff(&mut self) -> Flow {
        let (attempts, delay) = (self.node.tuning.join_retry_attempts, self.node.tuning.join_retry_delay);
        self.mode.rebuffs += 1;
        if self.node.successor.is_some() {
            return self.give_up_join("it does not take the mastership over", delay);
        } else if self.mode.rebuffs >= attempts {
            let reason = format!("it is not master (tried {attempts} times)");
            return self.give_up_join(reason, delay);
        } else {
            self.node.timers.set(Timer::Join, self.now + delay);
        }
        STAYS
    }

    pub(in crate::zen) fn on_join_failed(&mut self, target: &EphemeralId, why: Failure) -> Flow {
        match why {
            Failure::Refused | Failure::Reset | Failure::BadAnswer => self.on_join_rejected(target, why.to_string()),
            Failure::TimedOut => STAYS,
        }
    }

    pub(in crate::zen) fn on_join_rejected(&mut self, target: &EphemeralId, why: String) -> Flow {
        if self.mode.target.ephemeral_id != *target {
            return STAYS;
        }
        self.give_up_join(why, self.node.tuning.join_retry_delay)
    }

    /// Somebody says something of itself that may change the join.
    pub(in crate::zen) fn on_notice(&mut self, sight: &PeerStatus) -> Flow {
        self.heed_target(sight)?;
        self.heed_better(sight)
    }

    /// While a join is under way, what its target says of itself may change it.
    fn heed_target(&mut self, sight: &PeerStatus) -> Flow {
        let joining = &*self.mode;
        if !joining.target.same_process(&sight.node) {
            return STAYS;
        }
        // That it follows this very node was said before this node handed over.
        let is_elsewhere = sight
            .master
            .as_ref()
            .is_some_and(|(master, _)| !master.same_process(&sight.node) && !master.same_process(&self.node.local));
        let gave_up = sight.masterless && !self.node.awaits_successor();
        // Whoever has lost sight of its quorum can win nothing, and others may need this vote.
        let is_blind = !sight.sees_quorum && !joining.won && self.node.successor.is_none();
        match sight.stands {
            Some(_) if joining.vote.is_some() && is_blind => Next::find("the candidate sees no quorum any more"),
            Some(term) if joining.vote.is_some() => self.vote_again(term),
            _ if is_elsewhere => Next::find("the candidate follows another master"),
            None if gave_up => Next::find("it neither leads nor stands any more"),
            Some(_) if joining.leads => Next::find("the master leads no more"),
            Some(_) | None => STAYS,
        }
    }

    /// A vote goes to the better one of two candidates that stand, as long as neither has won: two that do not hear of each
    /// other would each keep a voter that the other needs.
    fn heed_better(&mut self, sight: &PeerStatus) -> Flow {
        let joining = &*self.mode;
        let is_open = joining.vote.is_some() && !joining.won && !self.node.awaits_successor();
        let of_target = self.node.search.seen.get(&joining.target.address).and_then(|seen| Candidate::of(&seen.sight));
        let better = Candidate::of(sight).filter(|other| other.sees_quorum && is_open);
        let (Some(better), Some(target)) = (better, of_target) else {
            return STAYS;
        };
        let term = self
            .node
            .stands_for(&better.node)
            .and(sight.stands)
            .filter(|term| self.node.can_vote_in(*term, &better.node));
        if let Some(term) = term.filter(|_| better.rank() < target.rank()) {
            return Flow::Break(Next::Vote { term, candidate: better.node });
        }
        STAYS
    }

    /// The successor stands: the other followers are asked to vote for it.
    fn ask_for_succession(&mut self) {
        let term = self.node.ledger.promise.term;
        let target = &self.mode.target;
        let is_it = |successor: &&mut Successor| target.same_process(&successor.node) && term == successor.term;
        let Some(successor) = self.node.successor.as_mut().filter(is_it).filter(|successor| !successor.stands) else {
            return;
        };
        successor.stands = true;
        for follower in &successor.followers {
            let message = Message::CallVote {
                from: self.node.sender.clone(),
                term: successor.term,
                candidate: successor.node.clone(),
            };
            self.out.push(Effect::Tell { to: follower.address.clone(), message });
        }
    }
}
