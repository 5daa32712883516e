//! Who is taken in by a master: joiners that it reaches at their address, and that are not to wait.
//!
//! What an accepted joiner becomes is a task, run in `lead`. Mirrors `MembershipAction` and
//! `NodeJoinController.JoinTaskExecutor` (6.8), which tried a connection that the joiner itself had opened.

use super::leadership::{Joined, Peer, TurnedAway};
use super::message::{Join, JoinAnswer, Message, PeerStatus};
use super::rules::Protection;
use super::{CallPurpose, Note, REMEMBERED_MAX, Timer, Zen};
use crate::cluster::Node;
use crate::protocol::{Effects, Exchange, Failure, Time};
use crate::service::Task;
use std::sync::Arc;

impl Zen {
    pub(super) fn on_join_as_master(
        &mut self,
        now: Time,
        exchange: Exchange,
        node: &Arc<Node>,
        join: Join,
        out: &mut Effects<Zen>,
    ) {
        let own_term = self.node.ledger.promise.term;
        if join.term > own_term && !self.node.keeps(Protection::JoinersTerm) {
            self.node.rebuff(exchange, out);
            return self.step_down(now, format!("a joiner is in term {}", join.term), out);
        }
        if let Some(why) = self.live_twin(node) {
            return self.node.reply(exchange, Message::Joining(JoinAnswer::Rejected(why)), out);
        }
        self.want_term_of(&join);
        if self.is_member(node) {
            self.take_again(now, node, &join, out);
        } else if let Some(why) = self.is_left_alone(now, node).or_else(|| self.keep_trying(now, node)) {
            return self.node.reply(exchange, Message::Joining(JoinAnswer::Rejected(why)), out);
        } else if self.has_no_room_for(node) {
            return self.node.rebuff(exchange, out);
        } else {
            self.try_round_trip(now, node, out);
        }
        let answer = if join.vote && join.term == own_term { JoinAnswer::Leads } else { JoinAnswer::Noted };
        self.node.reply(exchange, Message::Joining(answer), out);
        self.advance(now, out);
    }

    /// What is said to a joiner of which another process is a member and not known to be dead. At its own address it must
    /// be.
    fn live_twin(&mut self, node: &Node) -> Option<String> {
        let is_live =
            |peer: &&Peer| !peer.node.same_process(node) && peer.node.address != node.address && peer.failed.is_none();
        let twin = &self.lead()?.peers.get(&node.id).filter(is_live)?.node;
        Some(format!(
            "can't add node {node}, found existing node {twin} with the same id but is a different node instance"
        ))
    }

    /// A joiner of a higher term would refuse every state of this one.
    fn want_term_of(&mut self, join: &Join) {
        let own_term = self.node.ledger.promise.term;
        if let Some(lead) = self.lead().filter(|_| join.term > own_term) {
            let wanted = if join.vote { join.term } else { join.term.next() };
            lead.wanted_term = lead.wanted_term.max(Some(wanted));
        }
    }

    fn is_member(&mut self, node: &Node) -> bool {
        let peer = self.lead().and_then(|lead| lead.peers.get(&node.id));
        peer.is_some_and(|peer| peer.node.same_process(node))
    }

    /// A member joins again: it follows only once it is sent the state again.
    fn take_again(&mut self, now: Time, node: &Arc<Node>, join: &Join, out: &mut Effects<Zen>) {
        let Some(lead) = self.lead() else {
            return;
        };
        let term = lead.term;
        if let Some(peer) = lead.peers.get_mut(&node.id) {
            let (failed, owes) = (peer.failed.take(), peer.owes.or(Some(now)));
            let (is_slow, late_until) = (peer.is_slow, peer.late_until);
            // Its join may have been overtaken by what it said since.
            let accepted = join.accepted.max(peer.accepted);
            *peer = Peer { failed, owes, is_slow, late_until, seen: now, ..Peer::new(node.clone(), accepted) };
        }
        if join.term <= term {
            self.send_state(now, &node.id, out);
        }
    }

    /// What is said to a node that was removed not long ago.
    fn is_left_alone(&mut self, now: Time, node: &Node) -> Option<String> {
        let lead = self.lead()?;
        let (until, away) = (lead.laggards.until(now, &node.id)?, lead.turned_away.get(&node.id)?);
        Some(format!("{}; it may ask again in {:?}", away.why, until.since(now)))
    }

    /// Notes that a node which could not be reached asks again, and says why it is not taken in yet: it is tried at the next
    /// beat, however often it asks.
    fn keep_trying(&mut self, now: Time, node: &Node) -> Option<String> {
        let away = self.lead()?.turned_away.get_mut(&node.id).filter(|away| away.node.same_process(node))?;
        *away.asked.as_mut()? = now;
        let why = away.why.to_string();
        // A master that has no other node has no beat.
        self.node.timers.set_earlier(Timer::NodePings, now + self.node.tuning.fd_ping_interval);
        Some(why)
    }

    /// Tries again to reach those who asked of late and could not be reached.
    pub(super) fn reach_again(&mut self, now: Time, out: &mut Effects<Zen>) {
        let patience = self.node.tuning.vote_timeout().max(self.node.tuning.fd_ping_interval * 2);
        let asks = |away: &&TurnedAway| away.asked.is_some_and(|asked| now < asked + patience);
        let Some(lead) = self.lead() else {
            return;
        };
        let away: Vec<Arc<Node>> = lead.turned_away.values().filter(asks).map(|away| away.node.clone()).collect();
        for node in away {
            self.try_round_trip(now, &node, out);
        }
    }

    fn has_no_room_for(&mut self, node: &Node) -> bool {
        self.lead().is_some_and(|lead| lead.joiners.len() >= REMEMBERED_MAX && !lead.joiners.contains_key(&node.id))
    }

    /// Finds out whether a joiner can be reached, unless that is under way.
    pub(super) fn try_round_trip(&mut self, now: Time, node: &Arc<Node>, out: &mut Effects<Zen>) {
        if !self.node.keeps(Protection::RoundTrip) {
            return self.enqueue(now, Task::Join { node: node.clone() }, out);
        }
        let before = self.lead().and_then(|lead| lead.joiners.insert(node.id.clone(), node.clone()));
        if before.is_some_and(|before| before.same_process(node)) {
            return;
        }
        // A ping makes a connection of its own, so that it shows whether the joiner can be reached at its address.
        let message = Message::Ping { from: self.node.sender.clone(), sight: Box::new(self.sight(now)) };
        let purpose = CallPurpose::RoundTrip { joiner: node.clone(), asked: now };
        // It ends before the join is sent again, which then starts another one.
        let timeout = self.node.answer_timeout(&node.address, self.node.tuning.ping_timeout / 2);
        self.node.call(&node.address, message, purpose, timeout, out);
    }

    /// The joiner can be reached: it is added.
    pub(super) fn on_round_trip(
        &mut self,
        now: Time,
        joiner: Arc<Node>,
        asked: Time,
        sight: &PeerStatus,
        out: &mut Effects<Zen>,
    ) {
        self.node.note_round_trip(now, &joiner, asked, out);
        if !self.take_joiner(&joiner) {
            return;
        }
        if !sight.node.same_process(&joiner) {
            let (local, at, found) = (&self.node.local, &joiner.address, &sight.node);
            let why = format!("the master {local} reaches {found} at its publish address [{at}]");
            return self.turn_away(&joiner, Some(now), why, out);
        }
        if let Some(lead) = self.lead() {
            let is_known = lead.holdings.contains_key(&joiner.id);
            if lead.holdings.len() < REMEMBERED_MAX || is_known {
                let (process, accepted) = (joiner.ephemeral_id.clone(), sight.accepted);
                lead.holdings.insert(joiner.id.clone(), Joined { process, accepted, is_unwell: sight.unwell });
            }
        }
        self.enqueue(now, Task::Join { node: joiner }, out);
    }

    pub(super) fn on_round_trip_failed(
        &mut self,
        now: Time,
        joiner: &Arc<Node>,
        failure: Failure,
        out: &mut Effects<Zen>,
    ) {
        if self.take_joiner(joiner) {
            let why = format!(
                "the master {} cannot reach it at its publish address [{}] ({failure})",
                self.node.local, joiner.address
            );
            self.turn_away(joiner, Some(now), why, out);
        }
    }

    /// Leaves a member that was removed alone for a while that doubles each time.
    pub(super) fn leave_alone(&mut self, now: Time, node: &Arc<Node>, why: String, out: &mut Effects<Zen>) {
        let first = self.node.tuning.lag_patience();
        if let Some(lead) = self.lead() {
            lead.laggards.note(now, &node.id, first);
        }
        self.turn_away(node, None, why, out);
    }

    /// Remembers why a node is not taken in, for those who ask, and says so once.
    fn turn_away(&mut self, node: &Arc<Node>, asked: Option<Time>, why: String, out: &mut Effects<Zen>) {
        let Some(lead) = self.lead() else {
            return;
        };
        let known = lead.turned_away.get(&node.id).filter(|away| away.node.same_process(node));
        let is_told = known.is_some_and(|away| *away.why == *why);
        // That it was tried again is not that it asked again.
        let asked = known.and_then(|away| away.asked).or(asked);
        if lead.turned_away.len() < REMEMBERED_MAX || lead.turned_away.contains_key(&node.id) {
            let away = TurnedAway { node: node.clone(), why: why.as_str().into(), asked };
            lead.turned_away.insert(node.id.clone(), away);
        }
        if !is_told {
            out.note(Note::TurnedAway { node: node.clone(), why });
        }
    }

    /// Ends the round trip to a joiner, and says whether one was under way.
    fn take_joiner(&mut self, joiner: &Node) -> bool {
        let Some(lead) = self.lead() else {
            return false;
        };
        let is_known = lead.joiners.get(&joiner.id).is_some_and(|known| known.same_process(joiner));
        is_known && lead.joiners.remove(&joiner.id).is_some()
    }
}
