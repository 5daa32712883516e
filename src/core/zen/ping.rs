//! What a node says of itself, what it answers when it is pinged, and whom it tells when that changes.
//!
//! Only nodes that answered this node's own ping count, and those are pinged in `finding`; being pinged adds a target there.
//! Mirrors `UnicastZenPing` (6.8).

use super::elect::{self, Seen};
use super::message::{Message, PeerStatus, Sender};
use super::mode::Stance;
use super::node::NodeState;
use super::quorum::BootstrapSet;
use super::rules::Protection;
use super::search::{Mishap, Pinger, PongSummary};
use super::{REMEMBERED_MAX, Rejection, Zen};
use crate::cluster::{Address, Node};
use crate::protocol::{Effect, Effects, Exchange, Failure, Resolution, Time};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

/// How many addresses a pong mentions: enough for small clusters to meet at once, few enough for large ones.
pub(super) const MENTIONED_MAX: usize = 16;

impl Zen {
    pub(super) fn on_resolved(&mut self, now: Time, found: Resolution<Address>, out: &mut Effects<Zen>) {
        self.node.search.seeds = found.peers;
        self.node.search.seeds.truncate(REMEMBERED_MAX);
        self.node.search.unresolved = found.unresolved;
        self.node.search.unresolved.truncate(REMEMBERED_MAX);
        if !found.initial.is_empty() {
            self.node.search.initial = Some(BootstrapSet::majority_of_found(found.initial));
            let (voter, set) = (self.node.local.id.clone(), self.node.own_bootstrap());
            self.as_candidate(now, out, |candidate| candidate.heed_bootstrap(&voter, set));
        }
        self.as_seeker(now, out, |seeker| seeker.on_resolved());
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
        let is_held_back = self.node.note_left_out_by(from, out);
        let mentioned = self.node.worth_mentioning(&address);
        let mut sight = Box::new(self.node.sight(now, self.mode.stance()));
        if is_held_back {
            sight.left_out_by = self.node.left_out_by().cloned().unwrap_or_default();
        }
        self.node.reply(exchange, Message::Pong { from: self.node.sender.clone(), sight, mentioned }, out);
        if !self.node.keeps(Protection::OwnPings) {
            self.as_seeker(now, out, |seeker| seeker.believe(from, word));
        }
        if is_eligible || !self.node.is_crowd() {
            self.as_seeker(now, out, |seeker| seeker.ping_back(address, &from.node));
        }
    }

    pub(super) fn on_ping_failed(&mut self, now: Time, address: &Address, why: Failure, out: &mut Effects<Zen>) {
        if matches!(why, Failure::Refused) {
            self.node.forget_twin_at(address);
        }
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
        self.as_seeker(now, out, |seeker| seeker.on_mishap(address, mishap));
    }

    pub(super) fn on_notice(&mut self, now: Time, from: &Sender, sight: PeerStatus, out: &mut Effects<Zen>) {
        if self.node.is_itself(&sight.node) {
            let leads = sight.master.as_ref().is_some_and(|(master, _)| master.same_process(&sight.node));
            return self.meet_twin(now, &sight.node, leads, out);
        }
        if !sight.node.same_process(&from.node) {
            return;
        }
        self.node.tell_of_vote(now, self.mode.stance(), &sight, out);
        if self.mode.stance().is_searching() {
            self.as_seeker(now, out, |seeker| seeker.on_notice(from, sight));
        } else {
            self.as_joiner(now, out, |joiner| joiner.on_notice(&sight));
            self.as_follower(now, out, |follower| follower.heed_silence(&sight));
        }
    }
}

impl NodeState {
    /// What this node says of itself.
    pub(super) fn sight(&self, now: Time, stance: Stance<'_>) -> PeerStatus {
        let master = match stance {
            Stance::Leads(lead) if lead.is_settled => Some((self.local.clone(), Duration::ZERO)),
            Stance::Follows(following) if self.shows(&following.master) => {
                Some((following.master.clone(), now.since(following.heard)))
            }
            Stance::Finds | Stance::Stands(_) | Stance::Joins(_) | Stance::Leads(_) | Stance::Follows(_) => None,
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
            leaves: self.leaving.is_some(),
            left_out_by: self.surely_left_out_by().cloned().unwrap_or_default(),
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
            leaves: self.leaving.is_some(),
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
    pub(super) fn has_room(&self) -> bool {
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
    pub(super) fn introduce_twins(&self, sight: &PeerStatus, out: &mut Effects<Zen>) {
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
