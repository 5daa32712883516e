//! Ping rounds: who is asked, what is answered, and what this node says of itself.
//!
//! Only nodes that answered this node's own ping count; being pinged or mentioned adds a target. What is known is kept in
//! `search`, whom a crowd is spared stands in `large_cluster`, what it comes to is decided in `choose`. Mirrors `UnicastZenPing`
//! (6.8).

use super::elect::{self, Seen};
use super::message::{Message, PeerStatus, Sender};
use super::mode::Stance;
use super::quorum::BootstrapSet;
use super::rules::Protection;
use super::search::{Mishap, Pinger, PongSummary, Search, Target};
use super::{CallPurpose, Mode, NodeState, Note, REMEMBERED_MAX, Rejection, Timer, Zen};
use crate::cluster::{Address, Node};
use crate::protocol::{Effect, Effects, Exchange, Failure, Resolution, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

/// How many addresses a pong mentions: enough for small clusters to meet at once, few enough for large ones.
const MENTIONED_MAX: usize = 16;

impl Zen {
    /// Whether it looks for others, as candidates do.
    pub(super) fn is_searching(&self) -> bool {
        self.mode.stance().is_searching()
    }

    pub(super) fn is_masterless(&self) -> bool {
        self.mode.stance().is_masterless()
    }

    /// What this node says of itself.
    pub(super) fn sight(&self, now: Time) -> PeerStatus {
        self.node.sight(now, self.mode.stance())
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
        if loses_master && self.node.leaving.is_some() {
            // One that hands over stays: its vote may be needed.
            self.node.leave_without_master(now, out);
        }
        out.note(Note::Searching { reason: reason.into() });
        self.node.search.not_before = now + pause;
        self.node.search.sees_quorum = false;
        self.start_round(now, out);
    }

    /// What was seen before this node followed or led says nothing of the present.
    pub(super) fn forget_search(&mut self) {
        if !self.is_searching() {
            self.node.search.forget_all();
        }
    }

    pub(super) fn start_round(&mut self, now: Time, out: &mut Effects<Zen>) {
        let mut addresses: BTreeSet<Address> = self.node.search.seeds.iter().cloned().collect();
        addresses.extend(self.node.ledger.accepted.nodes.eligible().map(|node| node.address.clone()));
        let pingers = self.node.search.pingers.iter().filter(|(_, pinger)| pinger.node.is_master_eligible());
        addresses.extend(pingers.map(|(at, _)| at.clone()));
        addresses.extend(self.node.search.seen.keys().cloned());
        addresses.extend(self.node.twin.iter().map(|(twin, _)| twin.address.clone()));
        addresses.remove(&self.node.local.address);
        self.node.search.forget_targets();
        self.node.search.rests = false;
        self.node.search.since = now;
        self.node.search.possible = None;
        self.node.search.is_resolved = false;
        out.push(Effect::Resolve);
        self.add_targets(now, addresses.into_iter().take(REMEMBERED_MAX), out);
        let Search { mishaps, targets, .. } = &mut self.node.search;
        mishaps.retain(|address, _| targets.contains_key(address));
        self.node.timers.set(Timer::Round, now + self.node.tuning.ping_timeout);
        self.node.timers.set(Timer::PingAgain, now + self.node.tuning.ping_timeout / 3);
        self.consider(now, out);
    }

    /// Pings those hosts that are new and concern this node.
    fn add_targets(&mut self, now: Time, addresses: impl Iterator<Item = Address>, out: &mut Effects<Zen>) {
        let mut strangers = Vec::new();
        for address in addresses.filter(|address| *address != self.node.local.address) {
            if !self.node.search.targets.contains_key(&address) {
                self.node.search.put(address.clone(), Target::Spared);
                strangers.push(address);
            }
        }
        self.node.choose_front();
        for address in strangers {
            self.ping_if_concerned(now, address, out);
        }
    }

    fn add_target(&mut self, now: Time, address: Address, out: &mut Effects<Zen>) {
        if address != self.node.local.address && !self.node.search.targets.contains_key(&address) {
            self.node.search.put(address.clone(), Target::Spared);
            self.ping_if_concerned(now, address, out);
        }
    }

    pub(super) fn ping_if_concerned(&mut self, now: Time, address: Address, out: &mut Effects<Zen>) {
        if self.node.looks_for_all() || self.node.search.is_reached(&address) {
            self.node.search.settle(&address, Target::Waiting);
            self.send_ping(now, &address, out);
        }
    }

    fn send_ping(&mut self, now: Time, address: &Address, out: &mut Effects<Zen>) {
        let message = Message::Ping { from: self.node.sender.clone(), sight: Box::new(self.sight(now)) };
        let purpose = CallPurpose::Ping { address: address.clone(), asked: now };
        self.node.call(address, message, purpose, self.node.tuning.ping_timeout, out);
    }

    /// Within a round, whoever did not answer is pinged twice more: a datagram of old, a starting process today. A crowd
    /// that is too busy to answer would only be busier.
    pub(super) fn ping_again(&mut self, now: Time, out: &mut Effects<Zen>) {
        if self.node.is_crowd() {
            return;
        }
        let unanswered =
            |(address, target): (&Address, &Target)| (*target != Target::Answered).then(|| address.clone());
        let addresses: Vec<Address> = self.node.search.targets.iter().filter_map(unanswered).collect();
        for address in addresses {
            self.send_ping(now, &address, out);
        }
        if now.since(self.node.search.since) < self.node.tuning.ping_timeout / 2 {
            self.node.timers.set(Timer::PingAgain, now + self.node.tuning.ping_timeout / 3);
        }
    }

    pub(super) fn on_resolved(&mut self, now: Time, found: Resolution<Address>, out: &mut Effects<Zen>) {
        self.node.search.seeds = found.peers;
        self.node.search.seeds.truncate(REMEMBERED_MAX);
        self.node.search.unresolved = found.unresolved;
        self.node.search.unresolved.truncate(REMEMBERED_MAX);
        if !found.initial.is_empty() {
            self.node.search.initial = Some(BootstrapSet::majority_of_found(found.initial));
            self.heed_bootstrap(&self.node.local.id.clone(), self.node.own_bootstrap());
        }
        if !self.is_searching() {
            return;
        }
        self.node.search.is_resolved = true;
        self.add_targets(now, self.node.search.seeds.clone().into_iter(), out);
        self.consider(now, out);
    }

    pub(super) fn on_ping(
        &mut self,
        now: Time,
        exchange: Exchange,
        from: &Sender,
        word: PeerStatus,
        out: &mut Effects<Zen>,
    ) {
        let address = from.node.address.clone();
        let is_eligible = from.node.is_master_eligible();
        if self.node.search.pingers.len() < REMEMBERED_MAX || self.node.search.pingers.contains_key(&address) {
            let pinger = Pinger { node: from.node.clone(), at: now };
            self.node.search.pingers.insert(address.clone(), pinger);
        }
        self.node.note_left_out_by(from, out);
        let mentioned = self.node.worth_mentioning(&address);
        let sight = Box::new(self.sight(now));
        self.node.reply(exchange, Message::Pong { from: self.node.sender.clone(), sight, mentioned }, out);
        if self.is_searching() && !self.node.keeps(Protection::OwnPings) {
            self.node.see(address.clone(), Seen { sight: word, asked: now }, from);
            self.consider(now, out);
        }
        if self.is_searching() && (is_eligible || !self.node.is_crowd()) {
            self.ping_back(now, address, &from.node, out);
        }
    }

    /// Pings a node that pinged, unless it is known already: it may have been refused earlier in this round, or have
    /// been another process then.
    fn ping_back(&mut self, now: Time, address: Address, node: &Node, out: &mut Effects<Zen>) {
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
            self.send_ping(now, &address, out);
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one reply")]
    pub(super) fn on_pong(
        &mut self,
        now: Time,
        address: Address,
        asked: Time,
        from: &Arc<Sender>,
        sight: PeerStatus,
        mentioned: Vec<Address>,
        out: &mut Effects<Zen>,
    ) {
        if !self.is_searching() {
            return;
        }
        if self.node.is_foreign(from) || self.node.is_itself(&sight.node) {
            let is_other = self.node.is_foreign(from);
            if !is_other {
                self.meet_twin(now, &sight.node, false, out);
            }
            let why = if is_other { Rejection::OtherCluster(from.clone()) } else { Rejection::DuplicateId(sight.node) };
            return self.on_ping_rejected(now, &address, why, out);
        }
        self.node.search.answered(&address);
        self.node.note_round_trip(now, &sight.node, asked, out);
        let (is_news, voter) = (self.is_news(&sight), sight.node.id.clone());
        self.node.introduce_twins(&sight, out);
        self.node.see(address, Seen { sight, asked }, from);
        self.try_relay(now, out);
        for address in self.node.search.strangers(mentioned.into_iter().take(2 * MENTIONED_MAX)) {
            if self.node.has_room() {
                self.add_target(now, address, out);
            }
        }
        if is_news {
            self.consider(now, out);
        }
        self.count_vote_of_reached(now, &voter, out);
    }

    pub(super) fn on_ping_failed(&mut self, now: Time, address: &Address, why: Failure, out: &mut Effects<Zen>) {
        self.miss(now, address, Mishap::Failed(why), out);
    }

    /// Whoever is there is none of this cluster, or this node itself.
    pub(super) fn on_ping_rejected(&mut self, now: Time, address: &Address, why: Rejection, out: &mut Effects<Zen>) {
        if let Rejection::DuplicateId(node) = &why {
            self.meet_twin(now, &node.clone(), false, out);
        }
        self.miss(now, address, Mishap::Rejected(why), out);
    }

    fn miss(&mut self, now: Time, address: &Address, mishap: Mishap, out: &mut Effects<Zen>) {
        self.node.give_up_relay(address);
        if self.is_searching() {
            self.node.search.failed(address, mishap);
            self.replace_refusing(now, address, out);
            self.consider(now, out);
        }
    }

    pub(super) fn on_notice(&mut self, now: Time, from: &Sender, sight: PeerStatus, out: &mut Effects<Zen>) {
        let address = from.node.address.clone();
        if self.node.is_itself(&sight.node) {
            let leads = sight.master.as_ref().is_some_and(|(master, _)| master.same_process(&sight.node));
            return self.meet_twin(now, &sight.node, leads, out);
        }
        if !sight.node.same_process(&from.node) {
            return;
        }
        self.tell_of_vote(now, &sight, out);
        if self.is_searching() {
            match self.node.search.seen.get(&address).map(|seen| seen.asked) {
                Some(asked) => {
                    let is_news = self.is_news(&sight);
                    self.node.see(address, Seen { sight, asked }, from);
                    if is_news {
                        self.consider(now, out);
                    }
                }
                None => self.ping_teller(now, address, out),
            }
        } else {
            self.heed_target(now, &sight, out);
            self.heed_better(now, &sight, out);
            self.heed_silence(now, &sight, out);
        }
    }

    /// Pings a node that told of itself and has not answered yet.
    fn ping_teller(&mut self, now: Time, address: Address, out: &mut Effects<Zen>) {
        match self.node.search.targets.get(&address) {
            Some(Target::Spared) => self.ping_if_concerned(now, address, out),
            Some(Target::Waiting | Target::Answered | Target::Refused | Target::Silent) => {
                self.send_ping(now, &address, out)
            }
            None if self.node.has_room() => self.add_target(now, address, out),
            None => {}
        }
    }
}

impl NodeState {
    /// What this node says of itself.
    pub(super) fn sight(&self, now: Time, stance: Stance<'_>) -> PeerStatus {
        let master = match stance {
            Stance::Leads { is_settled: true } => Some((self.local.clone(), Duration::ZERO)),
            Stance::Follows(following) if self.shows(&following.master) => {
                Some((following.master.clone(), now.since(following.heard)))
            }
            Stance::Finds | Stance::Stands(_) | Stance::Joins | Stance::Leads { .. } | Stance::Follows(_) => None,
        };
        PeerStatus {
            node: self.local.clone(),
            master,
            term: self.ledger.promise.term,
            accepted: self.ledger.durable_id(),
            masterless: stance.is_masterless(),
            sees_quorum: self.offers_to_lead(now, stance),
            stands: stance.stands_in(),
            unwell: self.is_unwell(now),
            hangs: self.cannot_vote(now),
            left_out_by: self.left_out_by().cloned().unwrap_or_default(),
            has_recovered_state: self.has_recovered_state,
            change: self.search.changes,
        }
    }

    /// Whether it would win if it stood: a node whose disk hangs can give not even its own vote.
    pub(super) fn claims_quorum(&self, now: Time, stance: Stance<'_>) -> bool {
        stance.is_masterless() && self.search.sees_quorum && !self.is_write_overdue(now)
    }

    /// Whether others may wait for it to stand. One that leaves it to the first hosts will not, and a node that knows fewer
    /// hosts, and so has no crowd, cannot tell that.
    fn offers_to_lead(&self, now: Time, stance: Stance<'_>) -> bool {
        self.claims_quorum(now, stance) && !self.leaves_it_to_first(stance)
    }

    /// Tells those who pinged of late when what they were told is no longer so; of a candidacy, and of its end, also those
    /// whose votes it needs, however seldom they ping. In a large cluster members are skipped, since their master informs
    /// them, and what may come of a state that is not committed is told when it is.
    pub(super) fn tell_if_changed(&mut self, now: Time, stance: Stance<'_>, out: &mut Effects<Zen>) {
        let told = PongSummary {
            master: self.open_master(stance).map(|master| master.id.clone()),
            masterless: stance.is_masterless(),
            sees_quorum: self.offers_to_lead(now, stance),
            stands: stance.stands_in(),
            unwell: self.is_unwell(now),
            hangs: self.cannot_vote(now),
        };
        if self.search.told.as_ref() == Some(&told) {
            return;
        }
        let is_between = !told.masterless && told.master.is_none();
        let stood = self.search.told.as_ref().is_some_and(|told| told.stands.is_some());
        let concerns_voters = told.stands.is_some() || stood && told.masterless;
        let recent = now - self.tuning.ping_timeout * 2;
        self.search.told = Some(told);
        self.search.changes += 1;
        self.search.pingers.retain(|_, pinger| pinger.at >= recent);
        let is_crowd = self.is_crowd() || self.search.pingers.len() > self.tuning.crowd;
        if is_crowd && is_between {
            return;
        }
        let sight = self.sight(now, stance);
        let state = sight.master.as_ref().filter(|_| is_crowd).map(|_| &self.shown);
        let pingers = self.search.pingers.iter().map(|(to, pinger)| (to, &pinger.node));
        let voters = self.search.backers.values().filter(|_| concerns_voters).map(|node| (&node.address, node));
        let nodes: BTreeMap<&Address, &Arc<Node>> = voters.chain(pingers).collect();
        for (to, node) in nodes {
            let member = state.and_then(|state| state.nodes.get(&node.id));
            if member.is_some_and(|member| member.same_process(node)) {
                continue;
            }
            let message = Message::Notice { from: self.sender.clone(), sight: Box::new(sight.clone()) };
            out.push(Effect::Tell { to: to.clone(), message });
        }
    }

    pub(super) fn set_dead(&mut self, address: Address) {
        self.search.dead = Some(address);
    }

    /// Whether a host that somebody else names may become a target.
    fn has_room(&self) -> bool {
        self.search.targets.len() < REMEMBERED_MAX
    }

    /// Whether it gives no vote: its disk hangs, or another process goes by its id.
    fn cannot_vote(&self, now: Time) -> bool {
        self.is_write_overdue(now) || self.has_twin()
    }

    /// The master first, then some that can be master of those who pinged: to each asker others, those behind it.
    fn worth_mentioning(&self, asker: &Address) -> Vec<Address> {
        let master = self.shown.nodes.master_node().map(|master| &master.address);
        let behind = self.search.pingers.range::<Address, _>((Bound::Excluded(asker), Bound::Unbounded));
        let before = self.search.pingers.range::<Address, _>((Bound::Unbounded, Bound::Excluded(asker)));
        let eligible =
            behind.chain(before).filter(|(_, pinger)| pinger.node.is_master_eligible()).map(|(address, _)| address);
        master.into_iter().chain(eligible.take(MENTIONED_MAX)).cloned().collect()
    }

    pub(super) fn see(&mut self, address: Address, seen: Seen, from: &Sender) {
        let word = &seen.sight;
        let is_overtaken = self
            .search
            .seen
            .get(&address)
            .is_some_and(|known| known.sight.node.same_process(&word.node) && known.sight.change > word.change);
        if is_overtaken {
            return;
        }
        let names_master = !elect::active_masters(std::iter::once(&seen), &self.local, &self.lost).is_empty();
        if let Some((master, _)) = word.master.clone().filter(|(master, _)| self.is_twin(master)) {
            self.twin = Some((master, seen.asked));
        }
        if from.cluster_uuid.is_some() {
            self.search.formed.insert(address.clone());
        }
        self.search.see(address, seen, names_master);
    }

    /// Tells two processes with one id of each other: they may not know whom to ping.
    fn introduce_twins(&self, sight: &PeerStatus, out: &mut Effects<Zen>) {
        let is_twin = |other: &PeerStatus| other.node.id == sight.node.id && !other.node.same_process(&sight.node);
        let seen = self.search.seen.values().map(|seen| &seen.sight);
        for other in seen.filter(|other| is_twin(other) && other.node.address != sight.node.address) {
            for (to, of) in [(other, sight), (sight, other)] {
                let message = Message::Notice { from: self.sender.clone(), sight: Box::new(of.clone()) };
                out.push(Effect::Tell { to: to.node.address.clone(), message });
            }
        }
    }
}
