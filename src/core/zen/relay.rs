//! Passing questions on between a node that has lost its master and the master that others still follow.
//!
//! Links fail one by one: who is cut off from the master alone finds no other, and its clients need not wait for that. It
//! gives what they ask to a node that follows the master, which passes it on as it is and brings the answer back; names
//! (`slots`) keep a change that is sent both ways from being carried out twice. Elasticsearch has nothing of the kind.

use super::ask::{Ask, Placed};
use super::message::{Message, PeerStatus, Sender};
use super::node::NodeState;
use super::{CallPurpose, Mode, Zen};
use crate::cluster::{Address, Node};
use crate::protocol::{Effects, Exchange, Failure, Ticket, Time};
use crate::service::Answer;
use std::sync::Arc;
use std::time::Duration;

impl Zen {
    /// A node without a master asks what only the master can answer. It goes one hop: what is passed on reaches the master
    /// as if the asker had sent it.
    pub(super) fn on_relay(
        &mut self,
        now: Time,
        exchange: Exchange,
        from: &Sender,
        question: Message,
        out: &mut Effects<Zen>,
    ) {
        let is_own = question.sender().is_some_and(|sender| sender.node.same_process(&from.node));
        let Some(terms) = self.node.patience_with(&question).filter(|_| is_own) else {
            let why = format!("a {} is not passed on for {}", question.kind(), from.node);
            return self.node.reply(exchange, Message::Rejected(why.as_str().into()), out);
        };
        match &self.mode {
            Mode::Leading(_) => self.received(now, exchange, question, out),
            Mode::Following(_) => self.as_follower(now, out, |follower| follower.pass_on(exchange, question, terms)),
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) => {
                self.node.reply(exchange, Message::Answered(Box::new(Answer::NotMaster)), out)
            }
        }
    }
}

impl NodeState {
    /// Somebody answered who may be able to pass on what has no master here.
    pub(super) fn try_relay(&mut self, now: Time, out: &mut Effects<Zen>) {
        if !self.asks.is_empty() && self.relay().is_some() {
            self.open_asks().into_iter().for_each(|ticket| self.route_by_relay(now, ticket, out));
        }
    }

    /// Who can pass questions on to the master that this node, which has none, has lost: whoever said last that it follows that one. If it is
    /// wrong, it says so at once. Of a process that was no member yet nothing would be remembered.
    fn relay(&self) -> Option<&Arc<Node>> {
        if !self.has_recovered_state {
            return None;
        }
        let follows_lost = |sight: &&PeerStatus| {
            let lost = sight.master.as_ref().filter(|(master, _)| self.lost.contains_key(&master.ephemeral_id));
            lost.is_some_and(|(master, _)| !master.same_process(&sight.node))
        };
        let mut sights = self.search.seen.values().map(|seen| &seen.sight);
        sights.find(follows_lost).map(|sight| &sight.node)
    }

    /// Gives a question to a node that passes it on, if there is one. This node has no master.
    pub(super) fn route_by_relay(&mut self, now: Time, ticket: Ticket, out: &mut Effects<Zen>) {
        let Some(relay) = self.relay().filter(|_| self.asks.get(&ticket).is_some_and(Ask::is_for_relays)).cloned()
        else {
            return;
        };
        if let Placed::With(ask) = self.place(ticket, &relay, false) {
            self.forward(now, (ticket, ask), &relay.address, true, out);
        }
    }

    /// Who does not answer brings no answers back either.
    pub(super) fn give_up_relay(&mut self, address: &Address) {
        let relay = self.search.seen.get(address).map(|seen| seen.sight.node.ephemeral_id.clone());
        if let Some(relay) = relay.filter(|_| !self.asks.is_empty()) {
            self.take_back_asks(|ask| ask.was_given_to(&relay));
        }
    }

    /// How long the master may take for a question, and whether it changes something; nothing for all else.
    fn patience_with(&self, question: &Message) -> Option<(Duration, bool)> {
        if let Message::Submit { timeout, master_timeout, .. } = question {
            Some((master_timeout.saturating_add(*timeout).saturating_add(self.tuning.commit_timeout), true))
        } else if let Message::Read { master_timeout, .. } = question {
            Some((*master_timeout, false))
        } else if let Message::PendingTasks { .. } = question {
            Some((self.tuning.fd_ping_timeout, false))
        } else {
            None
        }
    }

    /// The master did not answer what was passed on to it.
    pub(super) fn on_relay_failed(&mut self, exchange: Exchange, changes: bool, why: Failure, out: &mut Effects<Zen>) {
        let answer = if changes && why != Failure::Refused {
            Answer::Unknown { reason: format!("the master was asked through another node and did not answer ({why})") }
        } else {
            Answer::NotMaster
        };
        self.reply(exchange, Message::Answered(Box::new(answer)), out);
    }

    /// The master is followed no more: who waits for its answers asks elsewhere.
    pub(super) fn end_relays(&mut self, out: &mut Effects<Zen>) {
        let is_relay = |purpose: &CallPurpose| matches!(purpose, CallPurpose::Relay { .. });
        for purpose in self.take_calls(is_relay).into_values() {
            if let CallPurpose::Relay { exchange, changes } = purpose {
                self.on_relay_failed(exchange, changes, Failure::TimedOut, out);
            }
        }
    }
}

/// What a node sends to one that passes it on.
pub(super) fn relayed(from: Arc<Sender>, question: Message) -> Message {
    Message::Relay { from, question: Box::new(question) }
}
