//! A master that a quorum does not hear is lost at once: no need to ask each of them as often as one alone would ask.
//!
//! A single follower that misses an answer asks again, since its own link may be at fault; when those who could elect another
//! master all miss one, the fault is the master's. How a follower asks stands in `fault_detection`. Zen's followers each waited for
//! themselves, and had nobody to compare with.

use crate::cluster::{Node, NodeId};
use crate::protocol::Effect;
use crate::zen::message::{Message, PeerStatus};
use crate::zen::mode::{Following, Heard, Stance};
use crate::zen::role::{Flow, Role, STAYS};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

impl Role<'_, Following> {
    /// How long a quorum does not hear a master that is lost: a healthy one may stand still for a moment.
    pub(super) fn silence_of(&self, master: &Node) -> Duration {
        self.node.tuning.fd_ping_interval + self.node.fd_timeout(&master.address) * 3 / 2
    }

    /// A ping of the master was not answered, and it is not heard for longer than that: the others who could elect another
    /// one are told since when.
    pub(in crate::zen) fn compare_silence(&mut self) -> Flow {
        self.tell_silence();
        self.judge_silence()
    }

    fn tell_silence(&mut self) {
        let sight = self.node.sight(self.now, Stance::Follows(self.mode));
        let Some((master, _)) = sight.master.as_ref().filter(|(master, ago)| *ago >= self.silence_of(master)) else {
            return;
        };
        let others = self
            .node
            .ledger
            .accepted
            .nodes
            .eligible()
            .filter(|node| node.id != self.node.local.id && node.id != master.id);
        for node in others {
            let message = Message::Notice { from: self.node.sender.clone(), sight: Box::new(sight.clone()) };
            self.out.push(Effect::Tell { to: node.address.clone(), message });
        }
    }

    /// Another follower says when it last heard of the master.
    pub(in crate::zen) fn heed_silence(&mut self, sight: &PeerStatus) -> Flow {
        let following = &mut *self.mode;
        let word = sight.master.as_ref().filter(|(master, _)| master.same_process(&following.master));
        if let Some((_, ago)) = word.filter(|_| self.node.ledger.accepted.nodes.contains_process(&sight.node)) {
            following.others.insert(sight.node.id.clone(), Heard { at: self.now - *ago, told: self.now });
            if self.hears_too_little() {
                // Whoever told this one may lack just its word, and it has none to give once it follows no more.
                self.tell_silence();
            }
            return self.judge_silence();
        }
        STAYS
    }

    /// The master is lost if this node and enough others have not heard of it for longer than an answer may take.
    fn judge_silence(&mut self) -> Flow {
        if !self.hears_too_little() {
            return STAYS;
        }
        let (address, ago) = (self.mode.master.address.clone(), self.now.since(self.mode.heard));
        self.node.set_dead(address);
        self.master_gone(&format!("a quorum has not heard of it for [{ago:?}]"))
    }

    /// Whether this node and a quorum, with what was told of late, do not hear the master.
    fn hears_too_little(&self) -> bool {
        let following = &*self.mode;
        let (silence, timeout) = (self.silence_of(&following.master), self.node.fd_timeout(&following.master.address));
        let is_heard = following.failures == 0 || self.now.since(following.heard) < silence;
        if is_heard || self.now < self.node.doubts_until {
            return false;
        }
        // What others say is as old as its way here; they count from the same beats, and not to the millisecond.
        let is_silence = |heard: &Heard| heard.told.since(heard.at) >= silence - timeout / 4;
        let is_unheard = |node: &&Arc<Node>| {
            let word = following.others.get(&node.id).filter(|heard| heard.told >= self.now - timeout);
            node.id == self.node.local.id || word.is_some_and(is_silence)
        };
        let nodes = self.node.ledger.accepted.nodes.eligible().filter(is_unheard);
        let unheard: BTreeMap<NodeId, Arc<Node>> = nodes.map(|node| (node.id.clone(), node.clone())).collect();
        self.node.requirement(BTreeSet::new()).is_met_by(&unheard)
    }
}
