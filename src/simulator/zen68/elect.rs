//! Whom to follow, and being chosen oneself.
//!
//! Whoever anybody names is a master. Joins are kept from the beginning of a round on, whatever their senders do since.
//! Mirrors `ZenDiscovery.findMaster` and `joinElectedMaster`, `ElectMasterService` and `NodeJoinController` (6.8).

use super::clients::Origin;
use super::tasks::Reign;
use super::{CallPurpose, Mode, Timer, Zen68, answer_join};
use crate::cluster::{EphemeralId, Node, Term};
use crate::protocol::{Effect, Effects, Exchange, Failure, Time};
use crate::service::Task;
use crate::zen::elect::{Candidate, Choice, best_candidate, counts, tie_break};
use crate::zen::message::{Join, JoinAnswer, PeerStatus};
use crate::zen::{Message, Note};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

/// How long a join may be lost before it is sent again, as TCP does: to Zen it is one request all the time.
const LOST: Duration = Duration::from_secs(1);

/// A node that joined, and every request in which it did.
#[derive(Clone, Debug)]
pub(super) struct Joiner {
    pub(super) node: Arc<Node>,
    pub(super) exchanges: Vec<Exchange>,
}

impl Zen68 {
    /// Ends a round: joins a master that somebody follows, or else whoever should be one.
    pub(super) fn choose(&mut self, now: Time, out: &mut Effects<Zen68>) {
        match self.choice() {
            Some(Choice::Elect(node)) if node.same_process(&self.local) => self.wait_for_joins(now, out),
            Some(Choice::Join(node) | Choice::Elect(node)) => self.join(now, node, out),
            None => {
                let found: Vec<String> = self.candidates().iter().map(|found| found.node.to_string()).collect();
                let needed = self.tuning.minimum().to_string();
                out.note(Note::NotEnoughMasters { found, needed, why: "pinging again".into() });
                self.start_round(now, out);
            }
        }
    }

    fn choice(&self) -> Option<Choice> {
        let masters = self.answers().filter_map(|sight| Some(sight.master.as_ref()?.0.clone()));
        let active = masters.filter(|master| !master.same_process(&self.local)).map(|master| (Term::ZERO, master));
        if let Some(master) = tie_break(active.collect()) {
            return Some(Choice::Join(master));
        }
        let candidates = self.candidates();
        best_candidate(&candidates, self.tuning.minimum()).map(|best| Choice::Elect(best.node.clone()))
    }

    fn answers(&self) -> impl Iterator<Item = &PeerStatus> {
        let others = self.round.answers.values().filter(|sight| !sight.node.same_process(&self.local));
        others.filter(|sight| counts(sight, self.tuning.ignore_non_master_pings))
    }

    /// Everybody who can be master; of equals the first one stays first, and oneself comes last.
    fn candidates(&self) -> Vec<Candidate> {
        let candidate = |node: &Arc<Node>, told: (Term, _)| Candidate {
            node: node.clone(),
            accepted: told,
            sees_quorum: true,
            unwell: false,
        };
        let others = self.answers().map(|sight| candidate(&sight.node, sight.accepted.rank()));
        let all = others.chain([candidate(&self.local, self.told_version().rank())]);
        all.filter(|found| found.node.is_master_eligible()).collect()
    }

    fn wait_for_joins(&mut self, now: Time, out: &mut Effects<Zen68>) {
        out.note(Note::Stands { term: Term::ZERO, reason: "it is the best candidate" });
        self.mode = Mode::Electing;
        self.timers.set(Timer::Joins, now + self.tuning.wait_for_joins_timeout);
        self.count_joins(now, out);
    }

    /// Leads once enough have joined that can be master. Before 1.4 nobody waited for any.
    fn count_joins(&mut self, now: Time, out: &mut Effects<Zen68>) {
        let voters = self.joiners.values().filter(|joiner| joiner.node.is_master_eligible()).count();
        if !self.dialect.has_two_phases() || self.has_enough(voters + 1) {
            self.begin_leading(now, None, out);
        }
    }

    /// Publishes the first state of a mastership: the last one that was committed here, with the joiners and without whom it
    /// replaces unasked.
    pub(super) fn begin_leading(&mut self, now: Time, lost: Option<&Node>, out: &mut Effects<Zen68>) {
        let joiners = mem::take(&mut self.joiners);
        self.leave_mode(now, out);
        let votes = joiners.values().map(|joiner| joiner.node.id.clone()).collect();
        out.note(Note::Won { term: Term::ZERO, votes });
        self.mode = Mode::Leading(Box::new(Reign::new(lost)));
        self.enqueue(now, Task::Join { node: self.local.clone() }, Origin::Nobody, out);
        for joiner in joiners.into_values() {
            for exchange in joiner.exchanges {
                self.enqueue(now, Task::Join { node: joiner.node.clone() }, Origin::Joiner(exchange), out);
            }
        }
        self.run_tasks(now, out);
    }

    /// Asks a node to be taken in. Unlike the joins that came here, this one is a vote for nobody else.
    fn join(&mut self, now: Time, target: Arc<Node>, out: &mut Effects<Zen68>) {
        self.leave_mode(now, out);
        out.note(Note::Joins { master: target.clone() });
        out.push(Effect::Link { to: target.address.clone() });
        self.mode = Mode::Joining { target, tries: 0, until: now };
        self.send_join(now, out);
    }

    pub(super) fn send_join(&mut self, now: Time, out: &mut Effects<Zen68>) {
        let Mode::Joining { tries, until, .. } = &mut self.mode else {
            return;
        };
        *tries += 1;
        *until = now + self.tuning.join_timeout;
        self.carry_join(now, out);
    }

    /// Sends the join that is asked, for the first time or after it was lost.
    fn carry_join(&mut self, now: Time, out: &mut Effects<Zen68>) {
        let Mode::Joining { target, until, .. } = &self.mode else {
            return;
        };
        let (target, patience) = (target.clone(), until.since(now).min(LOST));
        let (from, accepted) = (self.sender.clone(), self.state.id());
        let join = Join {
            to: target.id.clone(),
            term: Term::ZERO,
            vote: self.local.is_master_eligible(),
            to_master: false,
            accepted,
            bootstrap: None,
            has_recovered_state: false,
            round_trip: Duration::ZERO,
        };
        let purpose = CallPurpose::Join { target: target.ephemeral_id.clone() };
        self.call(&target.address, Message::Join { from, join }, purpose, patience, out);
    }

    pub(super) fn on_join_unanswered(
        &mut self,
        now: Time,
        target: &EphemeralId,
        why: Failure,
        out: &mut Effects<Zen68>,
    ) {
        match &self.mode {
            Mode::Joining { target: asked, until, .. }
                if why == Failure::TimedOut && asked.ephemeral_id == *target && now < *until =>
            {
                self.carry_join(now, out)
            }
            Mode::Joining { .. } | Mode::Finding | Mode::Electing | Mode::Following { .. } | Mode::Leading(_) => {
                self.on_join_failed(now, target, why.to_string(), out)
            }
        }
    }

    /// Whoever says that it is no master is asked again a few times, and then, as after any other error, all are.
    pub(super) fn on_join_answer(
        &mut self,
        now: Time,
        target: &EphemeralId,
        answer: &JoinAnswer,
        out: &mut Effects<Zen68>,
    ) {
        let (delay, attempts) = (self.tuning.join_retry_delay, self.tuning.join_retry_attempts);
        match (&self.mode, answer) {
            (Mode::Joining { target: asked, tries, .. }, JoinAnswer::NotMaster)
                if asked.ephemeral_id == *target && *tries < attempts =>
            {
                self.timers.set(Timer::Join, now + delay)
            }
            (Mode::Joining { .. }, JoinAnswer::NotMaster) => {
                self.on_join_failed(now, target, "it is not master".into(), out)
            }
            (Mode::Joining { .. }, JoinAnswer::Rejected(why)) => self.on_join_failed(now, target, why.clone(), out),
            (Mode::Joining { .. }, JoinAnswer::Noted | JoinAnswer::Leads | JoinAnswer::VoteAgain(_)) => {
                self.on_join_failed(now, target, "no master after successful join".into(), out)
            }
            (Mode::Finding | Mode::Electing | Mode::Following { .. } | Mode::Leading(_), _) => {}
        }
    }

    pub(super) fn on_join_failed(&mut self, now: Time, target: &EphemeralId, why: String, out: &mut Effects<Zen68>) {
        let Mode::Joining { target: asked, .. } = &self.mode else {
            return;
        };
        if asked.ephemeral_id == *target {
            out.note(Note::JoinFailed { node: asked.clone(), reason: why.clone() });
            self.rejoin(now, why, out);
        }
    }

    /// A joiner must be reached before its join counts, by whomever it asked.
    pub(super) fn on_join(&mut self, exchange: Exchange, node: &Arc<Node>, out: &mut Effects<Zen68>) {
        let message = Message::Fetch { from: self.sender.clone() };
        let purpose = CallPurpose::Validate { exchange, node: node.clone() };
        self.call(&node.address, message, purpose, self.tuning.join_timeout, out);
    }

    pub(super) fn take_join(&mut self, now: Time, exchange: Exchange, node: &Arc<Node>, out: &mut Effects<Zen68>) {
        match self.mode {
            Mode::Finding | Mode::Electing => {
                let joiner = || Joiner { node: node.clone(), exchanges: Vec::new() };
                let joiner = self.joiners.entry(node.ephemeral_id.clone()).or_insert_with(joiner);
                joiner.exchanges.push(exchange);
                if matches!(self.mode, Mode::Electing) {
                    self.count_joins(now, out);
                }
            }
            Mode::Leading(_) => match self.rival_of(node) {
                Some(rival) => {
                    let why = format!("can't add node {node}, found existing node {rival}");
                    answer_join(exchange, JoinAnswer::Rejected(why), out)
                }
                None => {
                    self.enqueue(now, Task::Join { node: node.clone() }, Origin::Joiner(exchange), out);
                    self.run_tasks(now, out);
                }
            },
            Mode::Joining { .. } | Mode::Following { .. } => answer_join(exchange, JoinAnswer::NotMaster, out),
        }
    }

    /// An earlier process of a node, or one at its address, that is still listed.
    fn rival_of(&self, node: &Node) -> Option<&Arc<Node>> {
        let is_rival =
            |known: &&Arc<Node>| !known.same_process(node) && (known.id == node.id || known.address == node.address);
        self.state.nodes.iter().find(is_rival)
    }
}
