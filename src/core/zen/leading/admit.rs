//! Who is taken in by a master: joiners that it reaches at their address, and that are not to wait.
//!
//! What an accepted joiner becomes is a task, run in `tasks`. Mirrors `MembershipAction` and
//! `NodeJoinController.JoinTaskExecutor` (6.8), which tried a connection that the joiner itself had opened.

use crate::cluster::Node;
use crate::protocol::{Exchange, Failure, Time};
use crate::service::Task;
use crate::zen::explain::UNREACHED;
use crate::zen::message::{Join, JoinAnswer, Message, PeerStatus};
use crate::zen::mode::Stance;
use crate::zen::mode::leadership::{Joined, Leadership, Peer, TurnedAway};
use crate::zen::role::{Flow, Role, STAYS};
use crate::zen::rules::Protection;
use crate::zen::{CallPurpose, Note, REMEMBERED_MAX, Timer};
use std::sync::Arc;
use std::time::Duration;

impl Role<'_, Leadership> {
    pub(in crate::zen) fn on_join(&mut self, exchange: Exchange, node: &Arc<Node>, join: Join) -> Flow {
        let own_term = self.node.ledger.promise.term;
        if join.term > own_term && !self.node.keeps(Protection::JoinersTerm) {
            self.node.rebuff(exchange, self.out);
            return self.step_down(format!("a joiner is in term {}", join.term));
        }
        if let Some(twin) = self.live_twin(node) {
            let why = format!(
                "can't add node {node}, found existing node {twin} with the same id but is a different node instance"
            );
            if self.keep_trying(node).is_none() {
                self.turn_away(node, Some(self.now), why.clone());
            }
            self.node.reply(exchange, Message::Joining(JoinAnswer::Rejected(why)), self.out);
            return STAYS;
        }
        self.want_term_of(&join);
        self.heed_round_trip(node, join.round_trip);
        let mut flow = STAYS;
        if self.is_member(node) {
            self.take_again(node, &join);
            if self.is_to_be_removed(node) && !self.has_no_room_for(node) {
                flow = self.try_round_trip(node);
            }
        } else if let Some(why) = self.is_left_alone(node).or_else(|| self.keep_trying(node)) {
            self.node.reply(exchange, Message::Joining(JoinAnswer::Rejected(why)), self.out);
            return STAYS;
        } else if self.has_no_room_for(node) {
            self.node.rebuff(exchange, self.out);
            return STAYS;
        } else {
            flow = self.try_round_trip(node);
        }
        let answer = if join.vote && join.term == own_term { JoinAnswer::Leads } else { JoinAnswer::Noted };
        self.node.reply(exchange, Message::Joining(answer), self.out);
        flow?;
        self.advance()
    }

    /// Another process of a node that is a member, and not known to be dead. At the node's own address it must be.
    fn live_twin(&self, node: &Node) -> Option<&Arc<Node>> {
        let is_live =
            |peer: &&Peer| !peer.node.same_process(node) && peer.node.address != node.address && peer.failed.is_none();
        self.mode.peers.get(&node.id).filter(is_live).map(|peer| &peer.node)
    }

    /// The joiner's own ping made a connection, too: what that took, the round trip to it will take. Of members nobody is
    /// believed, since they are measured; and a joiner only that more patience is needed.
    fn heed_round_trip(&mut self, node: &Node, took: Duration) {
        let is_news = took * 2 > self.node.round_trips.needed(&node.address);
        if is_news && !self.mode.peers.values().any(|peer| peer.node.address == node.address) {
            self.node.round_trips.note(&node.address, took);
        }
    }

    /// A joiner of a higher term would refuse every state of this one.
    fn want_term_of(&mut self, join: &Join) {
        let own_term = self.node.ledger.promise.term;
        if join.term > own_term {
            let wanted = if join.vote { join.term } else { join.term.next() };
            self.mode.wanted_term = self.mode.wanted_term.max(Some(wanted));
        }
    }

    fn is_member(&self, node: &Node) -> bool {
        let peer = self.mode.peers.get(&node.id);
        peer.is_some_and(|peer| peer.node.same_process(node))
    }

    /// Whether a member was taken for dead. If it asks again, it is taken in anew as soon as it was removed.
    fn is_to_be_removed(&self, node: &Node) -> bool {
        self.mode.peers.get(&node.id).is_some_and(|peer| peer.failed.is_some())
    }

    /// A member joins again: it follows only once it is sent the state again.
    fn take_again(&mut self, node: &Arc<Node>, join: &Join) {
        let lead = &mut *self.mode;
        let term = lead.term;
        if let Some(peer) = lead.peers.get_mut(&node.id) {
            let (failed, owes) = (peer.failed.take(), peer.owes.or(Some(self.now)));
            let (is_slow, late_until, is_carried) = (peer.is_slow, peer.late_until, peer.is_carried);
            // Its join may have been overtaken by what it said since.
            let (accepted, promised) = (join.accepted.max(peer.accepted), join.term.max(peer.promised));
            let before = Peer { failed, owes, is_slow, late_until, is_carried, ..Peer::new(node.clone(), accepted) };
            *peer = Peer { seen: self.now, promised, ..before };
        }
        if join.term <= term {
            self.send_state(&node.id);
        }
    }

    /// What is said to a node that was removed not long ago.
    fn is_left_alone(&self, node: &Node) -> Option<String> {
        let lead = &*self.mode;
        let (until, away) = (lead.laggards.until(self.now, &node.id)?, lead.turned_away.get(&node.id)?);
        Some(format!("{}; it may ask again in {:?}", away.why, until.since(self.now)))
    }

    /// Notes that a node which was turned away asks again, and says why it is not taken in yet: it is tried at the next
    /// beat, however often it asks.
    fn keep_trying(&mut self, node: &Node) -> Option<String> {
        let away = self.mode.turned_away.get_mut(&node.id).filter(|away| away.node.same_process(node))?;
        *away.asked.as_mut()? = self.now;
        let why = away.why.to_string();
        // A master that has no other node has no beat.
        self.node.timers.set_earlier(Timer::NodePings, self.now + self.node.tuning.fd_ping_interval);
        Some(why)
    }

    /// Tries again to reach those who asked of late and could not be reached, or whose earlier process is gone by now.
    pub(super) fn reach_again(&mut self) -> Flow {
        let patience = self.node.tuning.asking_patience();
        let asks = |away: &&TurnedAway| {
            let may_come =
                self.live_twin(&away.node).is_none() && !self.mode.laggards.is_recent(self.now, &away.node.id);
            may_come && away.asks(self.now, patience)
        };
        let away = self.mode.turned_away.values().filter(asks);
        let away: Vec<Arc<Node>> = away.map(|away| away.node.clone()).collect();
        for node in away {
            self.try_round_trip(&node)?;
        }
        STAYS
    }

    fn has_no_room_for(&self, node: &Node) -> bool {
        self.mode.joiners.len() >= REMEMBERED_MAX && !self.mode.joiners.contains_key(&node.id)
    }

    /// Finds out whether a joiner can be reached, unless that is under way, or its turn to be added has yet to come.
    pub(super) fn try_round_trip(&mut self, node: &Arc<Node>) -> Flow {
        if !self.node.keeps(Protection::RoundTrip) {
            return self.enqueue(Task::Join { node: node.clone() });
        }
        let before = self.mode.joiners.insert(node.id.clone(), node.clone());
        if before.is_some_and(|before| before.same_process(node)) {
            return STAYS;
        }
        // A ping makes a connection of its own, so that it shows whether the joiner can be reached at its address.
        let message = Message::Ping {
            from: self.node.sender.clone(),
            sight: Box::new(self.node.sight(self.now, Stance::Leads(self.mode))),
        };
        let purpose = CallPurpose::RoundTrip { joiner: node.clone(), asked: self.now };
        // What is sent again meanwhile starts no other one.
        let timeout = self.node.answer_timeout(&node.address, self.node.tuning.ping_timeout / 2);
        self.node.call(&node.address, message, purpose, timeout, self.out);
        STAYS
    }

    /// The joiner can be reached: it is added.
    pub(in crate::zen) fn on_round_trip(&mut self, joiner: Arc<Node>, sight: &PeerStatus) -> Flow {
        if !self.is_joiner(&joiner) {
            return STAYS;
        }
        if !sight.node.same_process(&joiner) {
            self.mode.joiners.remove(&joiner.id);
            let (local, at, found) = (&self.node.local, &joiner.address, &sight.node);
            let why = format!("the master {local} reaches {found} at its publish address [{at}]");
            self.turn_away(&joiner, Some(self.now), why);
            return STAYS;
        }
        let holdings = &mut self.mode.holdings;
        if holdings.len() < REMEMBERED_MAX || holdings.contains_key(&joiner.id) {
            let (process, accepted) = (joiner.ephemeral_id.clone(), sight.accepted);
            holdings.insert(joiner.id.clone(), Joined { process, accepted, is_unwell: sight.unwell });
        }
        self.enqueue(Task::Join { node: joiner })
    }

    pub(in crate::zen) fn on_round_trip_failed(&mut self, joiner: &Arc<Node>, failure: Failure) {
        if self.is_joiner(joiner) {
            self.mode.joiners.remove(&joiner.id);
            let why = format!("the master {} {UNREACHED} [{}] ({failure})", self.node.local, joiner.address);
            self.turn_away(joiner, Some(self.now), why);
        }
    }

    /// Leaves a member that was removed alone for a while that doubles each time.
    pub(super) fn leave_alone(&mut self, node: &Arc<Node>, why: String) {
        let first = self.node.tuning.lag_patience();
        self.mode.laggards.note(self.now, &node.id, first);
        self.turn_away(node, None, why);
    }

    /// Remembers why a node is not taken in, for those who ask, and says so once.
    fn turn_away(&mut self, node: &Arc<Node>, asked: Option<Time>, why: String) {
        let lead = &mut *self.mode;
        let known = lead.turned_away.get(&node.id).filter(|away| away.node.same_process(node));
        let is_told = known.is_some_and(|away| *away.why == *why);
        // That it was tried again is not that it asked again.
        let asked = known.and_then(|away| away.asked).or(asked);
        if lead.turned_away.len() < REMEMBERED_MAX || lead.turned_away.contains_key(&node.id) {
            let away = TurnedAway { node: node.clone(), why: why.as_str().into(), asked };
            lead.turned_away.insert(node.id.clone(), away);
        }
        if !is_told {
            self.out.note(Note::TurnedAway { node: node.clone(), why });
        }
    }

    /// Whether a process is about to be taken in.
    fn is_joiner(&self, node: &Node) -> bool {
        self.mode.joiners.get(&node.id).is_some_and(|known| known.same_process(node))
    }
}
