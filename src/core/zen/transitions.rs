//! How a node gets from one mode into another.
//!
//! A mode says what comes after it, and that is carried out here; what the next one begins with stands in its own files.
//! Mirrors `ZenDiscovery.rejoin` (6.8).

use super::leading::{Leadership, Origin};
use super::quorum::BootstrapSet;
use super::role::{Flow, Next, Outcome, Role};
use super::{Mode, Note, Timer, Zen};
use crate::cluster::Address;
use crate::protocol::{Effect, Effects, Time};
use crate::service::Answer;
use std::collections::BTreeSet;
use std::mem;
use std::time::Duration;

impl Zen {
    /// Lets a master act, if this node is one, and carries out what comes of it.
    pub(super) fn as_master<O: Into<Outcome>>(
        &mut self,
        now: Time,
        out: &mut Effects<Zen>,
        act: impl FnOnce(&mut Role<'_, Leadership>) -> O,
    ) {
        if let Mode::Leading(lead) = &mut self.mode {
            let Outcome(flow) = act(&mut Role { mode: lead, node: &mut self.node, now, out }).into();
            self.carry_on(now, flow, out);
        }
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
        }
    }

    /// Takes over the mastership of a won term.
    pub(super) fn begin_leading(&mut self, now: Time, bootstrap: BTreeSet<BootstrapSet>, out: &mut Effects<Zen>) {
        let Mode::Electing(candidacy) = &mut self.mode else {
            return;
        };
        let (term, ballots) = (candidacy.term, mem::take(&mut candidacy.joins));
        let mut inheritance = self.node.inheritance(ballots);
        self.leave_mode(now, out);
        let mut lead = Leadership::new(term, self.node.ledger.accepted.id());
        (lead.bootstrap, lead.holdings) = (bootstrap, mem::take(&mut inheritance.holdings));
        self.mode = Mode::Leading(Box::new(lead));
        self.as_master(now, out, |master| master.begin(inheritance));
        self.route_asks(now, out);
    }

    /// Ends the mastership and looks for another master. The followers learn it from their links, not from their next ping.
    pub(super) fn step_down(&mut self, now: Time, reason: String, out: &mut Effects<Zen>) {
        self.step_down_for(now, Duration::ZERO, reason, out);
    }

    /// The same, and makes no choice for some time.
    pub(super) fn step_down_for(&mut self, now: Time, pause: Duration, reason: String, out: &mut Effects<Zen>) {
        out.note(Note::SteppedDown { reason: reason.clone() });
        if let Mode::Leading(lead) = &self.mode {
            lead.peers.values().for_each(|peer| out.push(Effect::Unlink { to: peer.node.address.clone() }));
        }
        self.find(now, pause, reason, out);
    }

    /// Whatever the node was doing ends here; the caller sets what comes next.
    pub(super) fn leave_mode(&mut self, now: Time, out: &mut Effects<Zen>) {
        self.leave_mode_for(now, None, out);
    }

    /// The same, but a link to `next` is kept: closing it would make the other end doubt this node.
    pub(super) fn leave_mode_for(&mut self, now: Time, next: Option<&Address>, out: &mut Effects<Zen>) {
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
        self.forget_search();
        match mem::replace(&mut self.mode, Mode::Finding) {
            Mode::Finding | Mode::Electing(_) => {}
            Mode::Joining(joining) => {
                unlink_unless(&joining.target.address, next, out);
                self.forget_successor(now, out);
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
