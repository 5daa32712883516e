//! A node that follows a master: what it applies, and what it asks its master.
//!
//! Which states are accepted is the same in every mode, and stands in `accept`. How the master is watched is in
//! `fault_detection`, how followers agree that nobody hears it in `silence`, and how it is asked meanwhile in `detour`. Mirrors
//! `ClusterApplierService` (6.8).

mod detour;
mod fault_detection;
mod silence;

use super::ask::Placed;
use super::message::Message;
use super::mode::Following;
use super::role::Role;
use super::{CallPurpose, Note};
use crate::cluster::{ClusterState, Node, StateId};
use crate::protocol::{Exchange, Ticket};
use crate::service::Answer;
use std::sync::Arc;
use std::time::Duration;

/// While so many calls are open nothing is passed on for others.
const OPEN_MAX: usize = 10_000;

impl Role<'_, Following> {
    /// Notes that the master gave a sign of life.
    pub(in crate::zen) fn hear(&mut self, from: &Node) {
        if self.mode.master.same_process(from) {
            self.mode.heard = self.now;
        }
    }

    /// Whoever stores a state when the next one is under way already is told with that one that it is committed: while
    /// publishes follow each other it would never apply any.
    pub(in crate::zen) fn commit_before(&mut self, committed: StateId, master: &Node) {
        let own = self.node.ledger.accepted.clone();
        if self.mode.master.same_process(master) && own.id() == committed && !self.node.ledger.is_settled() {
            self.node.record_commit(&own, self.out);
            self.show_committed(own);
        }
    }

    /// A master is followed for all to see: what waited for one goes on, and what another node passes on goes straight.
    fn begin_following(&mut self) {
        self.node.take_back_asks(|_| true);
        self.node.asks.values_mut().for_each(|ask| ask.was_in_vain = false);
        self.route_asks();
        self.say_good_bye();
    }

    /// Whether readers see the master: a state of it is known to be committed.
    fn is_open(&self) -> bool {
        self.node.shows(&self.mode.master)
    }

    /// Shows readers a committed state of the master.
    pub(in crate::zen) fn show_committed(&mut self, state: Arc<ClusterState>) {
        let delta = state.nodes.delta(&self.node.shown.nodes);
        if !delta.is_empty() {
            self.out.note(Note::Applied { state: state.id(), delta, local: self.node.local.id.clone() });
        }
        let was_open = self.is_open();
        self.node.apply(state, self.out);
        if !was_open {
            self.begin_following();
        }
    }

    /// Gives the master what is in nobody's hands.
    pub(super) fn route_asks(&mut self) {
        for ticket in self.node.open_asks() {
            self.route(ticket);
        }
    }

    /// Sends a client's question to the master, if readers see it, or to who passes it on.
    pub(in crate::zen) fn route(&mut self, ticket: Ticket) {
        if !self.is_open() {
            return;
        }
        let detour = self.detour(ticket);
        let (to, leads) = detour.as_ref().map_or((&self.mode.master, true), |relay| (relay, false));
        match self.node.place(ticket, to, leads) {
            Placed::Not => {}
            Placed::Answered(answer) => self.close_ask(ticket, answer),
            Placed::With(ask) => self.node.forward(self.now, (ticket, ask), &to.address, !leads, self.out),
        }
    }

    /// Answers a client. One more answered change may be what a node waits for that leaves.
    pub(in crate::zen) fn close_ask(&mut self, ticket: Ticket, answer: Answer) {
        self.node.close_ask(ticket, answer, self.out);
        let has_said_it = self.node.calls.values().any(|purpose| matches!(purpose, CallPurpose::Leave));
        if self.node.leaving.is_some() && !has_said_it {
            self.say_good_bye();
        }
    }

    /// Passes a question on for a node that does not reach the master.
    pub(in crate::zen) fn pass_on(
        &mut self,
        exchange: Exchange,
        question: Message,
        (patience, changes): (Duration, bool),
    ) {
        if self.is_open() && self.node.calls.len() < OPEN_MAX {
            let purpose = CallPurpose::Relay { exchange, changes };
            self.node.call(&self.mode.master.address, question, purpose, patience, self.out);
        } else {
            self.node.reply(exchange, Message::Answered(Box::new(Answer::NotMaster)), self.out);
        }
    }

    /// Tells the master, if this node is leaving, once no change is open that it asked for: what a node that left had asked
    /// for is remembered by nobody, and a master that gets it after another one cannot tell whether it was carried out.
    pub(in crate::zen) fn say_good_bye(&mut self) {
        if self.node.leaving.is_some() && !self.node.has_open_change() {
            let message = Message::Leave { from: self.node.sender.clone(), answered: self.node.last_change() };
            self.node.call(
                &self.mode.master.address,
                message,
                CallPurpose::Leave,
                self.node.tuning.commit_timeout,
                self.out,
            );
        }
    }
}
