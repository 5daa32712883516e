//! How a node acts in its mode, and how it gets from one mode into another.
//!
//! What only one mode does is done as that role; it says what comes after the mode, and that is carried out here. What the next
//! mode begins with stands in its own files. Mirrors `ZenDiscovery.rejoin` (6.8).

use super::ask::Origin;
use super::finding::Seeking;
use super::mode::{Candidacy, Following, Joining, Leadership};
use super::quorum::BootstrapSet;
use super::role::{Flow, Kept, Next, Outcome, Role};
use super::rules::Protection;
use super::{Mode, Note, Timer, Zen};
use crate::cluster::{Address, Node, Term};
use crate::protocol::{Effect, Effects, Time};
use crate::service::Answer;
use std::collections::{BTreeMap, BTreeSet};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

/// One method for each mode that keeps something: lets the node act in it, if it is in that one.
macro_rules! as_roles {
    ($($name:ident: $mode:ty,)*) => {
        $(pub(super) fn $name<O: Into<Outcome>>(
            &mut self,
            now: Time,
            out: &mut Effects<Zen>,
            act: impl FnOnce(&mut Role<'_, $mode>) -> O,
        ) {
            self.in_role(now, out, act);
        })*
    };
}

impl Zen {
    as_roles! {
        as_candidate: Candidacy,
        as_joiner: Joining,
        as_master: Leadership,
        as_follower: Following,
    }

    /// Lets a node act in its mode, if it is in that one, and carries out what comes of it.
    fn in_role<M: Kept, O: Into<Outcome>>(
        &mut self,
        now: Time,
        out: &mut Effects<Zen>,
        act: impl FnOnce(&mut Role<'_, M>) -> O,
    ) {
        if let Some(mode) = M::of(&mut self.mode) {
            let Outcome(flow) = act(&mut Role { mode, node: &mut self.node, now, out }).into();
            self.carry_on(now, flow, out);
        }
    }

    /// Lets a node look for a master, if it does, standing or not.
    pub(super) fn as_seeker<O: Into<Outcome>>(
        &mut self,
        now: Time,
        out: &mut Effects<Zen>,
        act: impl FnOnce(&mut Role<'_, Seeking<'_>>) -> O,
    ) {
        let candidacy = match &mut self.mode {
            Mode::Finding => None,
            Mode::Electing(candidacy) => Some(candidacy),
            Mode::Joining(_) | Mode::Leading(_) | Mode::Following(_) => return,
        };
        let mode = &mut Seeking { candidacy };
        let Outcome(flow) = act(&mut Role { mode, node: &mut self.node, now, out }).into();
        self.carry_on(now, flow, out);
    }

    /// Lets a master answer what only a master can, or says that this node is none.
    pub(super) fn ask_master<O: Into<Outcome>>(
        &mut self,
        now: Time,
        origin: Origin,
        out: &mut Effects<Zen>,
        act: impl FnOnce(&mut Role<'_, Leadership>, Origin) -> O,
    ) {
        if matches!(self.mode, Mode::Leading(_)) {
            self.as_master(now, out, |master| act(master, origin));
        } else {
            self.node.answer(now, origin, Answer::NotMaster, out);
        }
    }

    /// What comes after a mode that ended: the one place where one mode follows another.
    fn carry_on(&mut self, now: Time, flow: Flow, out: &mut Effects<Zen>) {
        match flow {
            Flow::Continue(()) => {}
            Flow::Break(Next::StepDown { pause, reason }) => self.step_down_for(now, pause, reason, out),
            Flow::Break(Next::HandOver(successor)) => {
                self.vote_in(now, successor.term, successor.node.clone(), out);
                self.node.successor = Some(successor);
            }
            Flow::Break(Next::Find { pause, reason }) => self.find(now, pause, reason, out),
            Flow::Break(Next::Stand { term, reason }) => self.stand(now, term, reason, out),
            Flow::Break(Next::Vote { term, candidate }) => self.vote_in(now, term, candidate, out),
            Flow::Break(Next::Ask(candidate)) => self.start_join(now, candidate, false, None, out),
            Flow::Break(Next::Join(master)) => self.join_master(now, master, out),
            Flow::Break(Next::Lead(bootstrap)) => self.begin_leading(now, bootstrap, out),
        }
    }

    /// Takes over the mastership of a won term.
    fn begin_leading(&mut self, now: Time, bootstrap: BTreeSet<BootstrapSet>, out: &mut Effects<Zen>) {
        let Mode::Electing(candidacy) = &mut self.mode else {
            return;
        };
        let (term, ballots) = (candidacy.term, mem::take(&mut candidacy.joins));
        let mut inheritance = self.node.inheritance(ballots);
        self.leave_mode(now, out);
        let mut lead = Leadership::new(now, term, self.node.ledger.accepted.id());
        (lead.bootstrap, lead.holdings) = (bootstrap, mem::take(&mut inheritance.holdings));
        self.mode = Mode::Leading(Box::new(lead));
        self.as_master(now, out, |master| master.begin(inheritance));
        // Nobody else has to pass them on any more, and the word of one that could not would come late.
        self.node.take_back_asks(|_| true);
        self.route_asks(now, out);
    }

    /// Votes for a candidate in a term in which this node can.
    pub(super) fn vote_in(&mut self, now: Time, term: Term, candidate: Arc<Node>, out: &mut Effects<Zen>) {
        out.note(Note::Votes { term, candidate: candidate.clone() });
        if term > self.node.ledger.promise.term {
            self.node.promise(term, &candidate.id, out);
        }
        self.start_join(now, candidate, false, Some(term), out);
    }

    /// Asks a master to be taken in.
    fn join_master(&mut self, now: Time, master: Arc<Node>, out: &mut Effects<Zen>) {
        out.note(Note::Joins { master: master.clone() });
        self.start_join(now, master, true, None, out);
    }

    /// Asks a node to be taken in, with a vote or without.
    fn start_join(&mut self, now: Time, target: Arc<Node>, leads: bool, vote: Option<Term>, out: &mut Effects<Zen>) {
        self.leave_mode_for(now, Some(&target.address), out);
        out.push(Effect::Link { to: target.address.clone() });
        self.mode = Mode::Joining(Joining::new(now, target, leads, vote));
        self.as_joiner(now, out, |joiner| joiner.send_join());
    }

    /// Stands as a candidate: in exactly `term`, or in the next one that nobody was seen in.
    pub(super) fn stand(&mut self, now: Time, term: Option<Term>, reason: &'static str, out: &mut Effects<Zen>) {
        let stood = &self.node.ledger.promise;
        let next = stood.term.max(self.node.highest_seen()).next();
        let stands_again =
            !self.node.keeps(Protection::EndedCandidacies) && stood.vote.as_ref() == Some(&self.node.local.id);
        let term = if stands_again { stood.term } else { term.unwrap_or(next) };
        if term <= stood.term && !stands_again {
            return self.find(now, self.node.tuning.ping_timeout, "no term is left above the own one", out);
        }
        if !self.mode.stance().is_searching() {
            // Nothing was asked yet: those who have not heard that their master hands over would name it.
            self.node.search.since = now;
        }
        let mut candidacy = Candidacy::new(now, term, self.node.tuning.vote_timeout());
        if self.node.keeps(Protection::CandidaciesAge) {
            candidacy = candidacy.after(&self.mode);
        }
        self.leave_mode(now, out);
        out.note(Note::Stands { term, reason });
        self.mode = Mode::Electing(candidacy);
        // Voters need not wait for this disk: a vote counts only when the own one is stored.
        self.node.tell_if_changed(now, self.mode.stance(), out);
        if !stands_again {
            self.node.promise(term, &self.node.local.id.clone(), out);
        }
        self.as_candidate(now, out, |candidate| candidate.begin());
    }

    /// Follows a master whose state was accepted.
    pub(super) fn enter_following(&mut self, now: Time, master: &Arc<Node>, out: &mut Effects<Zen>) {
        self.node.greet_successor(now, master, out);
        self.leave_mode_for(now, Some(&master.address), out);
        out.push(Effect::Link { to: master.address.clone() });
        let (failures, is_pinging, others) = (0, false, BTreeMap::new());
        self.mode = Mode::Following(Following { master: master.clone(), heard: now, failures, is_pinging, others });
        self.node.timers.set(Timer::MasterPing, now + self.node.tuning.fd_ping_interval);
        self.node.lost.remove(&master.ephemeral_id);
        self.node.setbacks.forget(&master.id);
    }

    /// Looks for a master from now on; a choice is acted upon after `pause` at the earliest.
    pub(super) fn find(&mut self, now: Time, pause: Duration, reason: impl Into<String>, out: &mut Effects<Zen>) {
        let loses_master = matches!(self.mode, Mode::Following(_));
        if loses_master || matches!(self.mode, Mode::Leading(_)) {
            self.node.search.mishaps.clear();
            (self.node.search.unheard, self.node.search.widened) = (0, 0);
        }
        if matches!(self.mode, Mode::Electing(_) | Mode::Joining(_)) {
            self.node.search.widen();
        }
        self.leave_mode(now, out);
        if loses_master && self.node.leaving.is_some() && !self.node.has_vote() {
            // One with a vote stays, as one that hands over does: the next master may need it.
            self.node.leave_without_master(now, out);
        }
        out.note(Note::Searching { reason: reason.into() });
        self.node.search.not_before = now + pause;
        self.node.search.sees_quorum = false;
        self.as_seeker(now, out, |seeker| seeker.start_round());
    }

    /// Ends the mastership and looks for another master. The followers learn it from their links, not from their next ping.
    pub(super) fn step_down(&mut self, now: Time, reason: String, out: &mut Effects<Zen>) {
        self.step_down_for(now, Duration::ZERO, reason, out);
    }

    /// The same, and makes no choice for some time.
    fn step_down_for(&mut self, now: Time, pause: Duration, reason: String, out: &mut Effects<Zen>) {
        out.note(Note::SteppedDown { reason: reason.clone() });
        if let Mode::Leading(lead) = &self.mode {
            lead.peers.values().for_each(|peer| out.push(Effect::Unlink { to: peer.node.address.clone() }));
        }
        self.find(now, pause, reason, out);
    }

    /// Whatever the node was doing ends here; the caller sets what comes next.
    fn leave_mode(&mut self, now: Time, out: &mut Effects<Zen>) {
        self.leave_mode_for(now, None, out);
    }

    /// The same, but a link to `next` is kept: closing it would make the other end doubt this node.
    fn leave_mode_for(&mut self, now: Time, next: Option<&Address>, out: &mut Effects<Zen>) {
        for timer in [
            Timer::Round,
            Timer::PingAgain,
            Timer::Grace,
            Timer::Candidacy,
            Timer::Join,
            Timer::MasterPing,
            Timer::Silence,
            Timer::NodePings,
            Timer::Commit,
            Timer::Queue,
            Timer::Behind,
            Timer::Acks,
            Timer::Leases,
            Timer::Gateway,
        ] {
            self.node.timers.stop(timer);
        }
        if !self.mode.stance().is_searching() {
            // What was seen before this node followed or led says nothing of the present.
            self.node.search.forget_all();
        }
        match mem::replace(&mut self.mode, Mode::Finding) {
            Mode::Finding | Mode::Electing(_) => {}
            Mode::Joining(joining) => {
                unlink_unless(&joining.target.address, next, out);
                self.node.forget_successor(now, out);
            }
            Mode::Following(following) => {
                unlink_unless(&following.master.address, next, out);
                self.node.take_back_asks(|_| true);
                self.node.end_relays(out);
                self.node.show_masterless(out);
            }
            Mode::Leading(lead) => {
                lead.end(&mut self.node, now, out);
                self.node.show_masterless(out);
            }
        }
    }
}

fn unlink_unless(address: &Address, next: Option<&Address>, out: &mut Effects<Zen>) {
    if next != Some(address) {
        out.push(Effect::Unlink { to: address.clone() });
    }
}
