//! A master that a quorum does not hear is lost at once: no need to ask each of them as often as one alone would ask.
//!
//! A single follower that misses an answer asks again, since its own link may be at fault; when those who could elect another
//! master all miss one, the fault is the master's. How a follower asks stands in `fault_detection`. Zen's followers each waited for
//! themselves, and had nobody to compare with.

use super::message::{Message, PeerStatus};
use super::mode::Heard;
use super::{Mode, NodeState, Zen};
use crate::cluster::{Node, NodeId};
use crate::protocol::{Effect, Effects, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

impl Zen {
    /// A ping of the master was not answered, and it is not heard for longer than that: the others who could elect another
    /// one are told since when.
    pub(super) fn compare_silence(&mut self, now: Time, out: &mut Effects<Zen>) {
        self.tell_silence(now, out);
        self.judge_silence(now, out);
    }

    fn tell_silence(&self, now: Time, out: &mut Effects<Zen>) {
        let sight = self.sight(now);
        let Some((master, _)) = sight.master.as_ref().filter(|(master, ago)| *ago >= self.node.silence_of(master))
        else {
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
            out.push(Effect::Tell { to: node.address.clone(), message });
        }
    }

    /// Another follower says when it last heard of the master.
    pub(super) fn heed_silence(&mut self, now: Time, sight: &PeerStatus, out: &mut Effects<Zen>) {
        let Mode::Following(following) = &mut self.mode else {
            return;
        };
        let word = sight.master.as_ref().filter(|(master, _)| master.same_process(&following.master));
        if let Some((_, ago)) = word.filter(|_| self.node.ledger.accepted.nodes.contains_process(&sight.node)) {
            following.others.insert(sight.node.id.clone(), Heard { at: now - *ago, told: now });
            if self.hears_too_little(now) {
                // Whoever told this one may lack just its word, and it has none to give once it follows no more.
                self.tell_silence(now, out);
            }
            self.judge_silence(now, out);
        }
    }

    /// The master is lost if this node and enough others have not heard of it for longer than an answer may take.
    fn judge_silence(&mut self, now: Time, out: &mut Effects<Zen>) {
        if self.hears_too_little(now)
            && let Mode::Following(following) = &self.mode
        {
            let (address, ago) = (following.master.address.clone(), now.since(following.heard));
            self.node.set_dead(address);
            self.master_gone(now, &format!("a quorum has not heard of it for [{ago:?}]"), out);
        }
    }

    /// Whether this node and a quorum, with what was told of late, do not hear the master.
    fn hears_too_little(&self, now: Time) -> bool {
        let Mode::Following(following) = &self.mode else {
            return false;
        };
        let (silence, timeout) =
            (self.node.silence_of(&following.master), self.node.fd_timeout(&following.master.address));
        let is_heard = following.failures == 0 || now.since(following.heard) < silence;
        if is_heard || now < self.node.doubts_until {
            return false;
        }
        // What others say is as old as its way here; they count from the same beats, and not to the millisecond.
        let is_silence = |heard: &Heard| heard.told.since(heard.at) >= silence - timeout / 4;
        let is_unheard = |node: &&Arc<Node>| {
            let word = following.others.get(&node.id).filter(|heard| heard.told >= now - timeout);
            node.id == self.node.local.id || word.is_some_and(is_silence)
        };
        let nodes = self.node.ledger.accepted.nodes.eligible().filter(is_unheard);
        let unheard: BTreeMap<NodeId, Arc<Node>> = nodes.map(|node| (node.id.clone(), node.clone())).collect();
        self.node.requirement(BTreeSet::new()).is_met_by(&unheard)
    }
}

impl NodeState {
    /// How long a quorum does not hear a master that is lost: a healthy one may stand still for a moment.
    pub(super) fn silence_of(&self, master: &Node) -> Duration {
        self.tuning.fd_ping_interval + self.fd_timeout(&master.address) * 3 / 2
    }
}
