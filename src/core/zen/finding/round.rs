//! Ping rounds: who is asked, and what an answer is good for.
//!
//! Only nodes that answered this node's own ping count; being pinged or mentioned adds a target. What is known is kept in
//! `search`, whom a crowd is spared stands in `large_cluster`, what it comes to is decided beside this. Mirrors `UnicastZenPing`
//! (6.8).

use super::Seeking;
use crate::cluster::{Address, Node};
use crate::protocol::{Effect, Time};
use crate::zen::elect::Seen;
use crate::zen::message::{Message, PeerStatus, Sender};
use crate::zen::ping::MENTIONED_MAX;
use crate::zen::role::{Flow, Role, STAYS};
use crate::zen::search::{Mishap, Search, Target};
use crate::zen::{CallPurpose, REMEMBERED_MAX, Rejection, Timer};
use std::collections::BTreeSet;
use std::sync::Arc;

impl Role<'_, Seeking<'_>> {
    pub(in crate::zen) fn start_round(&mut self) -> Flow {
        let mut addresses: BTreeSet<Address> = self.node.search.seeds.iter().cloned().collect();
        addresses.extend(self.node.ledger.accepted.nodes.eligible().map(|node| node.address.clone()));
        let pingers = self.node.search.pingers.iter().filter(|(_, pinger)| pinger.node.is_master_eligible());
        addresses.extend(pingers.map(|(at, _)| at.clone()));
        addresses.extend(self.node.search.seen.keys().cloned());
        addresses.extend(self.node.twin.iter().map(|(twin, _)| twin.address.clone()));
        addresses.remove(&self.node.local.address);
        self.node.search.forget_targets();
        self.node.search.rests = false;
        self.node.search.since = self.now;
        self.node.search.possible = None;
        self.node.search.is_resolved = false;
        self.out.push(Effect::Resolve);
        self.add_targets(addresses.into_iter().take(REMEMBERED_MAX));
        let Search { mishaps, targets, .. } = &mut self.node.search;
        mishaps.retain(|address, _| targets.contains_key(address));
        self.node.timers.set(Timer::Round, self.now + self.node.tuning.ping_timeout);
        self.node.timers.set(Timer::PingAgain, self.now + self.node.tuning.ping_timeout / 3);
        self.consider()
    }

    /// Pings those hosts that are new and concern this node.
    fn add_targets(&mut self, addresses: impl Iterator<Item = Address>) {
        let mut strangers = Vec::new();
        for address in addresses.filter(|address| *address != self.node.local.address) {
            if !self.node.search.targets.contains_key(&address) {
                self.node.search.put(address.clone(), Target::Spared);
                strangers.push(address);
            }
        }
        self.node.choose_front();
        for address in strangers {
            self.ping_if_concerned(address);
        }
    }

    fn add_target(&mut self, address: Address) {
        if address != self.node.local.address && !self.node.search.targets.contains_key(&address) {
            self.node.search.put(address.clone(), Target::Spared);
            self.ping_if_concerned(address);
        }
    }

    pub(super) fn ping_if_concerned(&mut self, address: Address) {
        if self.node.looks_for_all() || self.node.search.is_reached(&address) {
            self.node.search.settle(&address, Target::Waiting);
            self.send_ping(&address);
        }
    }

    fn send_ping(&mut self, address: &Address) {
        let message = Message::Ping {
            from: self.node.sender.clone(),
            sight: Box::new(self.node.sight(self.now, self.mode.stance())),
        };
        let purpose = CallPurpose::Ping { address: address.clone(), asked: self.now };
        self.node.call(address, message, purpose, self.node.tuning.ping_timeout, self.out);
    }

    /// Within a round, whoever did not answer is pinged twice more: a datagram of old, a starting process today. A crowd
    /// that is too busy to answer would only be busier.
    pub(in crate::zen) fn ping_again(&mut self) {
        if self.node.is_crowd() {
            return;
        }
        let unanswered =
            |(address, target): (&Address, &Target)| (*target != Target::Answered).then(|| address.clone());
        let addresses: Vec<Address> = self.node.search.targets.iter().filter_map(unanswered).collect();
        for address in addresses {
            self.send_ping(&address);
        }
        if self.now.since(self.node.search.since) < self.node.tuning.ping_timeout / 2 {
            self.node.timers.set(Timer::PingAgain, self.now + self.node.tuning.ping_timeout / 3);
        }
    }

    pub(in crate::zen) fn on_pong(
        &mut self,
        address: Address,
        asked: Time,
        from: &Arc<Sender>,
        sight: PeerStatus,
        mentioned: Vec<Address>,
    ) -> Flow {
        if self.node.is_foreign(from) || self.node.is_itself(&sight.node) {
            let is_other = self.node.is_foreign(from);
            if !is_other {
                self.node.note_twin(self.now, &sight.node);
            }
            let why = if is_other { Rejection::OtherCluster(from.clone()) } else { Rejection::DuplicateId(sight.node) };
            self.node.give_up_relay(&address);
            return self.on_mishap(&address, Mishap::Rejected(why));
        }
        self.node.search.answered(&address);
        self.node.note_round_trip(self.now, &sight.node, asked, self.out);
        let (is_news, voter) = (self.is_news(&sight), sight.node.id.clone());
        self.node.introduce_twins(&sight, self.out);
        self.node.see(address, Seen { sight, asked }, from);
        self.node.try_relay(self.now, self.out);
        for address in self.node.search.strangers(mentioned.into_iter().take(2 * MENTIONED_MAX)) {
            if self.node.has_room() {
                self.add_target(address);
            }
        }
        if is_news {
            self.consider()?;
        }
        self.as_candidate(STAYS, |candidate| candidate.count_vote_of_reached(&voter))
    }

    /// Whoever is at a host did not answer, or is none of this cluster.
    pub(in crate::zen) fn on_mishap(&mut self, address: &Address, mishap: Mishap) -> Flow {
        self.node.search.failed(address, mishap);
        self.replace_refusing(address);
        self.consider()
    }

    /// Believes what a node says of itself that pinged.
    pub(in crate::zen) fn believe(&mut self, from: &Sender, sight: PeerStatus) -> Flow {
        self.node.see(from.node.address.clone(), Seen { sight, asked: self.now }, from);
        self.consider()
    }

    /// The seed hosts have been looked up.
    pub(in crate::zen) fn on_resolved(&mut self) -> Flow {
        self.node.search.is_resolved = true;
        self.add_targets(self.node.search.seeds.clone().into_iter());
        self.consider()
    }

    /// Somebody tells of itself unasked. Only who has answered a ping counts.
    pub(in crate::zen) fn on_notice(&mut self, from: &Sender, sight: PeerStatus) -> Flow {
        let address = from.node.address.clone();
        let Some(asked) = self.node.search.seen.get(&address).map(|seen| seen.asked) else {
            self.ping_teller(address);
            return STAYS;
        };
        let is_news = self.is_news(&sight);
        self.node.see(address, Seen { sight, asked }, from);
        if is_news { self.consider() } else { STAYS }
    }

    /// Pings a node that pinged, unless it is known already: it may have been refused earlier in this round, or have
    /// been another process then.
    pub(in crate::zen) fn ping_back(&mut self, address: Address, node: &Node) {
        let is_known = match self.node.search.targets.get(&address) {
            None => !self.node.has_room(),
            Some(Target::Spared | Target::Refused | Target::Silent) => false,
            Some(Target::Waiting) => true,
            Some(Target::Answered) => {
                self.node.search.seen.get(&address).is_some_and(|seen| seen.sight.node.same_process(node))
            }
        };
        if !is_known && address != self.node.local.address {
            self.node.search.put(address.clone(), Target::Waiting);
            self.send_ping(&address);
        }
    }

    /// Pings a node that told of itself and has not answered yet.
    fn ping_teller(&mut self, address: Address) {
        match self.node.search.targets.get(&address) {
            Some(Target::Spared) => self.ping_if_concerned(address),
            Some(Target::Waiting | Target::Answered | Target::Refused | Target::Silent) => self.send_ping(&address),
            None if self.node.has_room() => self.add_target(address),
            None => {}
        }
    }
}
