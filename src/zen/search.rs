//! Looking for a master: ping rounds, and the choice that ends them.
//!
//! Only nodes that answered this node's own ping count; being pinged or mentioned adds a target. What the answers mean
//! is decided in `elect`, what follows from the choice in `join`. Mirrors `UnicastZenPing` and
//! `ZenDiscovery.findMaster` (6.8), with rounds that end as soon as the answers suffice.

use super::elect::{self, Candidate, Choice, Seen};
use super::message::{Message, Sender, Sight};
use super::quorum::{BootstrapSet, Requirement};
use super::{Bootstrap, Errand, Mode, Note, REMEMBERED_MAX, Timer, Tuning, Zen};
use crate::cluster::{Address, Node, NodeId, StateId, Term, VotingSets};
use crate::protocol::{Effect, Effects, Exchange, Failure, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;
use std::time::Duration;

/// So many hosts are a crowd: those that cannot be master are pinged no more because they pinged.
const CROWD: usize = 64;
/// How many addresses a pong mentions: enough for small clusters to meet at once, few enough for large ones.
const MENTIONED_MAX: usize = 16;

/// A host of the present round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Waiting,
    Answered,
    Refused,
    Silent,
}

/// What a node knows of the others while it follows no master.
#[derive(Clone, Debug, Default)]
pub(super) struct Search {
    seeds: Vec<Address>,
    is_resolved: bool,
    targets: BTreeMap<Address, Target>,
    waiting: usize,
    silent: usize,
    seen: BTreeMap<Address, Seen>,
    /// The nodes seen that can vote and follow nobody.
    backers: BTreeMap<NodeId, Arc<Node>>,
    /// Who of those seen names an active master, and how many see a quorum: most answers in a large cluster change neither.
    naming: BTreeSet<Address>,
    /// Who of those seen knows a committed state of the cluster.
    formed: BTreeSet<Address>,
    seeing: usize,
    since: Time,
    /// Since when a choice has been possible in this round.
    possible: Option<Time>,
    /// A failed attempt is not repeated before this.
    not_before: Time,
    sees_quorum: bool,
    /// Who pinged, when, and whether it can be master.
    pingers: BTreeMap<Address, (Time, bool)>,
    /// What the pingers were last told, and how often that has changed.
    told: Option<Told>,
    changes: u64,
    /// A master that was lost by silence: its further silence holds nothing up.
    dead: Option<Address>,
}

/// The part of a pong whose change is worth telling.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Told {
    master: Option<NodeId>,
    masterless: bool,
    sees_quorum: bool,
    stands: Option<Term>,
}

impl Search {
    fn add(&mut self, address: Address) {
        self.targets.insert(address, Target::Waiting);
        self.waiting += 1;
    }

    fn settle(&mut self, address: &Address, outcome: Target) {
        if let Some(target) = self.targets.get_mut(address) {
            self.waiting -= usize::from(*target == Target::Waiting);
            self.silent -= usize::from(*target == Target::Silent);
            self.silent += usize::from(outcome == Target::Silent);
            *target = outcome;
        }
    }

    fn see(&mut self, address: Address, seen: Seen, names_master: bool) {
        let node = seen.sight.node.clone();
        if let Some(before) = self.seen.get(&address) {
            self.seeing -= usize::from(sees(&before.sight));
        }
        if names_master {
            self.naming.insert(address.clone());
        } else {
            self.naming.remove(&address);
        }
        self.seeing += usize::from(sees(&seen.sight));
        if node.is_master_eligible() && seen.sight.masterless {
            self.backers.insert(node.id.clone(), node);
        } else {
            self.forget_backer(&node.id);
        }
        self.seen.insert(address, seen);
    }

    fn forget(&mut self, address: &Address) {
        if let Some(seen) = self.seen.remove(address) {
            self.naming.remove(address);
            self.formed.remove(address);
            self.seeing -= usize::from(sees(&seen.sight));
            self.forget_backer(&seen.sight.node.id);
        }
    }

    /// What was answered before this node had a master or was one says nothing about those who have none after that.
    fn forget_all(&mut self) {
        self.seen.clear();
        self.backers.clear();
        self.naming.clear();
        self.formed.clear();
        self.seeing = 0;
        self.sees_quorum = false;
    }

    fn forget_backer(&mut self, id: &NodeId) {
        if self.backers.remove(id).is_some() {
            self.sees_quorum = false;
        }
    }

    /// Whether every target answered or refused; one that is known to be dead need not.
    fn is_complete(&self) -> bool {
        let dead = self.dead.as_ref().and_then(|dead| self.targets.get(dead));
        let excused = usize::from(dead.is_some_and(|dead| matches!(dead, Target::Waiting | Target::Silent)));
        self.is_resolved && self.waiting + self.silent == excused
    }
}

/// Whether this is the word of a candidate that could be chosen.
fn sees(sight: &Sight) -> bool {
    sight.sees_quorum && sight.masterless && sight.node.is_master_eligible()
}

impl Zen {
    /// Looks for a master from now on; a choice is acted upon after `pause` at the earliest.
    pub(super) fn find(&mut self, now: Time, pause: Duration, reason: impl Into<String>, out: &mut Effects<Zen>) {
        let loses_master = matches!(self.mode, Mode::Following(_));
        self.leave_mode(now, out);
        if loses_master && self.leaving.is_some() {
            // Without a master there is nobody left to tell. One that hands over stays: its vote may be needed.
            self.has_left(out);
        }
        out.note(Note::Searching { reason: reason.into() });
        self.search.not_before = now + pause;
        self.search.sees_quorum = false;
        self.start_round(now, out);
    }

    /// What was seen before this node followed or led says nothing of the present.
    pub(super) fn forget_search(&mut self) {
        if !self.is_searching() {
            self.search.forget_all();
        }
    }

    pub(super) fn set_dead(&mut self, address: Address) {
        self.search.dead = Some(address);
    }

    fn start_round(&mut self, now: Time, out: &mut Effects<Zen>) {
        let mut addresses: BTreeSet<Address> = self.search.seeds.iter().cloned().collect();
        addresses.extend(self.ledger.accepted.nodes.eligible().map(|node| node.address.clone()));
        addresses.extend(self.search.pingers.iter().filter(|(_, (_, eligible))| *eligible).map(|(at, _)| at.clone()));
        addresses.extend(self.search.seen.keys().cloned());
        addresses.remove(&self.local.address);
        self.search.targets.clear();
        (self.search.waiting, self.search.silent) = (0, 0);
        self.search.since = now;
        self.search.possible = None;
        self.search.is_resolved = false;
        out.push(Effect::Resolve);
        for address in addresses.into_iter().take(REMEMBERED_MAX) {
            self.add_target(now, address, out);
        }
        self.timers.set(Timer::Round, now + self.tuning.ping_timeout);
        self.timers.set(Timer::PingAgain, now + self.tuning.ping_timeout / 3);
        self.consider(now, out);
    }

    fn add_target(&mut self, now: Time, address: Address, out: &mut Effects<Zen>) {
        if address != self.local.address && !self.search.targets.contains_key(&address) {
            self.search.add(address.clone());
            self.send_ping(now, &address, out);
        }
    }

    /// Whether a host that somebody else names may become a target.
    fn has_room(&self) -> bool {
        self.search.targets.len() < REMEMBERED_MAX
    }

    fn send_ping(&mut self, now: Time, address: &Address, out: &mut Effects<Zen>) {
        let message = Message::Ping { from: self.sender.clone(), sight: Box::new(self.sight(now)) };
        let errand = Errand::Ping { address: address.clone(), asked: now };
        self.call(address, message, errand, self.tuning.ping_timeout, out);
    }

    /// Within a round, whoever did not answer is pinged twice more: a datagram of old, a starting process today.
    pub(super) fn ping_again(&mut self, now: Time, out: &mut Effects<Zen>) {
        let unanswered =
            |(address, target): (&Address, &Target)| (*target != Target::Answered).then(|| address.clone());
        let addresses: Vec<Address> = self.search.targets.iter().filter_map(unanswered).collect();
        for address in addresses {
            self.send_ping(now, &address, out);
        }
        if now.since(self.search.since) < self.tuning.ping_timeout / 2 {
            self.timers.set(Timer::PingAgain, now + self.tuning.ping_timeout / 3);
        }
    }

    pub(super) fn on_resolved(&mut self, now: Time, seeds: Vec<Address>, out: &mut Effects<Zen>) {
        self.search.seeds = seeds;
        self.search.seeds.truncate(REMEMBERED_MAX);
        if !self.is_searching() {
            return;
        }
        self.search.is_resolved = true;
        for address in self.search.seeds.clone() {
            self.add_target(now, address, out);
        }
        self.consider(now, out);
    }

    pub(super) fn is_searching(&self) -> bool {
        matches!(self.mode, Mode::Finding | Mode::Electing(_))
    }

    fn is_masterless(&self) -> bool {
        matches!(self.mode, Mode::Finding | Mode::Electing(_) | Mode::Joining(_))
    }

    /// What this node says of itself.
    pub(super) fn sight(&self, now: Time) -> Sight {
        let master = match &self.mode {
            Mode::Leading(lead) if lead.is_settled => Some((self.local.clone(), Duration::ZERO)),
            Mode::Following(following) if self.follows_openly() => {
                Some((following.master.clone(), now.since(following.heard)))
            }
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) | Mode::Leading(_) | Mode::Following(_) => None,
        };
        Sight {
            node: self.local.clone(),
            master,
            term: self.ledger.promise.term,
            accepted: self.ledger.durable_id(),
            masterless: self.is_masterless(),
            sees_quorum: self.is_masterless() && self.search.sees_quorum,
            stands: self.stands_in(),
            change: self.search.changes,
        }
    }

    fn stands_in(&self) -> Option<Term> {
        match &self.mode {
            Mode::Electing(candidacy) => Some(candidacy.term),
            Mode::Finding | Mode::Joining(_) | Mode::Leading(_) | Mode::Following(_) => None,
        }
    }

    pub(super) fn on_ping(&mut self, now: Time, exchange: Exchange, from: &Sender, out: &mut Effects<Zen>) {
        let address = from.node.address.clone();
        let is_eligible = from.node.is_master_eligible();
        if self.search.pingers.len() < REMEMBERED_MAX || self.search.pingers.contains_key(&address) {
            self.search.pingers.insert(address.clone(), (now, is_eligible));
        }
        let mentioned = self.worth_mentioning(&address);
        let sight = Box::new(self.sight(now));
        self.reply(exchange, Message::Pong { from: self.sender.clone(), sight, mentioned }, out);
        if self.is_searching() && (is_eligible || self.search.targets.len() < CROWD) {
            self.ping_back(now, address, &from.node, out);
        }
    }

    /// Pings a node that pinged, unless it is known already: it may have been refused earlier in this round, or have
    /// been another process then.
    fn ping_back(&mut self, now: Time, address: Address, node: &Node, out: &mut Effects<Zen>) {
        let is_known = match self.search.targets.get(&address) {
            None => !self.has_room(),
            Some(Target::Refused | Target::Silent) => false,
            Some(Target::Waiting) => true,
            Some(Target::Answered) => {
                self.search.seen.get(&address).is_some_and(|seen| seen.sight.node.same_process(node))
            }
        };
        if !is_known && address != self.local.address {
            self.search.settle(&address, Target::Answered);
            self.search.add(address.clone());
            self.send_ping(now, &address, out);
        }
    }

    /// The master first, then some that can be master of those who pinged: to each asker others, those behind it.
    fn worth_mentioning(&self, asker: &Address) -> Vec<Address> {
        let master = self.shown.nodes.master_node().map(|master| &master.address);
        let behind = self.search.pingers.range::<Address, _>((Bound::Excluded(asker), Bound::Unbounded));
        let before = self.search.pingers.range::<Address, _>((Bound::Unbounded, Bound::Excluded(asker)));
        let eligible = behind.chain(before).filter(|(_, (_, eligible))| *eligible).map(|(address, _)| address);
        master.into_iter().chain(eligible.take(MENTIONED_MAX)).cloned().collect()
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one reply")]
    pub(super) fn on_pong(
        &mut self,
        now: Time,
        address: Address,
        asked: Time,
        from: &Sender,
        sight: Sight,
        mentioned: Vec<Address>,
        out: &mut Effects<Zen>,
    ) {
        if !self.is_searching() {
            return;
        }
        self.search.settle(&address, Target::Answered);
        if self.is_foreign(from) || self.is_itself(&sight.node) {
            self.search.forget(&address);
            return self.consider(now, out);
        }
        let is_news = self.is_news(&sight);
        self.see(address, Seen { sight, asked }, from);
        for address in mentioned.into_iter().take(2 * MENTIONED_MAX) {
            if self.has_room() {
                self.add_target(now, address, out);
            }
        }
        if is_news {
            self.consider(now, out);
        }
    }

    fn see(&mut self, address: Address, seen: Seen, from: &Sender) {
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
        if from.cluster_uuid.is_some() {
            self.search.formed.insert(address.clone());
        }
        self.search.see(address, seen, names_master);
    }

    /// Whether this node never had a state, being new or wiped, and saw one that knows the cluster: it cannot form
    /// another, and leads only with a state that it fetched.
    pub(super) fn is_blank_among_formed(&self) -> bool {
        !self.is_formed() && self.ledger.accepted.id() == StateId::NONE && !self.search.formed.is_empty()
    }

    /// To a candidate only a master or a better candidate is news; to those who look for one, everything.
    fn is_news(&self, sight: &Sight) -> bool {
        let is_better = || Candidate::of(sight).is_some_and(|found| found.rank() < self.own_candidate().rank());
        !matches!(self.mode, Mode::Electing(_)) || sight.master.is_some() || sight.sees_quorum && is_better()
    }

    pub(super) fn on_ping_failed(&mut self, now: Time, address: &Address, why: Failure, out: &mut Effects<Zen>) {
        if !self.is_searching() {
            return;
        }
        let outcome = match why {
            Failure::Refused | Failure::Reset => Target::Refused,
            Failure::BadAnswer => Target::Answered,
            Failure::TimedOut => Target::Silent,
        };
        self.search.settle(address, outcome);
        self.search.forget(address);
        self.consider(now, out);
    }

    pub(super) fn on_notice(&mut self, now: Time, from: &Sender, sight: Sight, out: &mut Effects<Zen>) {
        let address = from.node.address.clone();
        if self.is_itself(&sight.node) {
            return;
        }
        if self.is_searching() {
            match self.search.seen.get(&address).map(|seen| seen.asked) {
                Some(asked) => {
                    let is_news = self.is_news(&sight);
                    self.see(address, Seen { sight, asked }, from);
                    if is_news {
                        self.consider(now, out);
                    }
                }
                None if self.search.targets.contains_key(&address) => self.send_ping(now, &address, out),
                None if self.has_room() => self.add_target(now, address, out),
                None => {}
            }
        } else {
            self.heed_target(now, &sight, out);
        }
    }

    /// Tells those who pinged of late when what they were told is no longer so.
    pub(super) fn tell_if_changed(&mut self, now: Time, out: &mut Effects<Zen>) {
        let told = Told {
            master: self.open_master().map(|master| master.id.clone()),
            masterless: self.is_masterless(),
            sees_quorum: self.is_masterless() && self.search.sees_quorum,
            stands: self.stands_in(),
        };
        if self.search.told.as_ref() == Some(&told) {
            return;
        }
        self.search.told = Some(told);
        self.search.changes += 1;
        let sight = self.sight(now);
        let recent = now - self.tuning.ping_timeout * 2;
        self.search.pingers.retain(|_, (pinged, _)| *pinged >= recent);
        for to in self.search.pingers.keys() {
            let message = Message::Notice { from: self.sender.clone(), sight: Box::new(sight.clone()) };
            out.push(Effect::Tell { to: to.clone(), message });
        }
    }

    pub(super) fn end_round(&mut self, now: Time, out: &mut Effects<Zen>) {
        if !self.is_searching() {
            return;
        }
        let silent: Vec<Address> = {
            let began = self.search.since;
            let stale = self.search.seen.iter().filter(|(_, seen)| seen.asked < began);
            stale.map(|(address, _)| address.clone()).collect()
        };
        for address in silent {
            self.search.forget(&address);
        }
        self.update_quorum();
        match self.choose() {
            Some(choice) if now >= self.search.not_before => self.act(now, choice, out),
            Some(_) => {}
            None => self.note_too_few(out),
        }
        if self.is_searching() && !self.timers.is_set(Timer::Round) {
            self.start_round(now, out);
        }
    }

    fn note_too_few(&self, out: &mut Effects<Zen>) {
        let mut found: Vec<String> = self.candidates().iter().map(|found| found.node.name.to_string()).collect();
        found.sort_unstable();
        let sets = &self.requirement(BTreeSet::new()).sets;
        let mut needed: Vec<String> = Vec::new();
        if !sets.own.is_empty() {
            needed.push(format!("a majority of {sets}"));
        }
        if self.is_premature() {
            let is_silent = |target: &Target| matches!(target, Target::Waiting | Target::Silent);
            let silent = self.search.targets.iter().filter(|(_, target)| is_silent(target));
            let silent: Vec<&str> = silent.map(|(address, _)| address.as_str()).collect();
            needed.push(format!("an answer or a refusal of the hosts {{{}}}", silent.join(",")));
        } else {
            needed.extend(self.own_bootstrap().map(|bootstrap| bootstrap.to_string()));
        }
        if self.tuning.minimum() > 1 {
            needed.push(self.tuning.minimum().to_string());
        }
        out.note(Note::NotEnoughMasters { found, needed: needed.join(" and ") });
    }

    /// Acts on the answers if they suffice.
    pub(super) fn consider(&mut self, now: Time, out: &mut Effects<Zen>) {
        if !self.is_searching() {
            return;
        }
        self.update_quorum();
        if !self.is_worth_weighing(now) {
            // The timer may have run out for the pause after a failed attempt, which is over sooner.
            if let Some(since) = self.search.possible.filter(|_| self.is_formed()) {
                self.timers.set_earlier(Timer::Grace, (since + Tuning::GRACE).max(self.search.not_before));
            }
            return;
        }
        let Some(choice) = self.choose() else {
            self.search.possible = None;
            return;
        };
        let since = *self.search.possible.get_or_insert(now);
        let is_complete = self.search.is_complete() && self.is_agreed(&choice);
        if now < self.search.not_before {
            self.timers.set(Timer::Grace, self.search.not_before);
        } else if is_complete || (self.is_formed() && now >= since + Tuning::GRACE) {
            self.act(now, choice, out);
        } else if self.is_formed() {
            self.timers.set(Timer::Grace, since + Tuning::GRACE);
        }
    }

    /// Weighing the choice looks at everybody, and in a large cluster most answers change nothing.
    fn is_worth_weighing(&mut self, now: Time) -> bool {
        let search = &mut self.search;
        let nobody_knows = search.naming.is_empty() && search.seeing == 0 && !search.sees_quorum;
        if nobody_knows {
            search.possible = None;
            return false;
        }
        let Some(since) = search.possible else {
            return true;
        };
        let is_over = self.ledger.cluster_uuid.is_some() && now >= since + Tuning::GRACE;
        let all_see = search.seeing == search.backers.len();
        is_over || search.is_complete() && (!search.naming.is_empty() || all_see)
    }

    /// Whether nobody who answered could still change the choice by seeing a quorum a moment later.
    fn is_agreed(&self, choice: &Choice) -> bool {
        match choice {
            Choice::Join(_) => true,
            Choice::Elect(_) => self.candidates().iter().all(|candidate| candidate.sees_quorum),
        }
    }

    fn update_quorum(&mut self) {
        if self.search.sees_quorum || !self.local.is_master_eligible() || self.leaving.is_some() {
            return;
        }
        // A cheap bound first: in a large cluster the first half of the answers cannot suffice.
        let hosts = match &self.config.bootstrap {
            Bootstrap::Hosts(hosts) if !self.is_formed() => hosts.len(),
            Bootstrap::Hosts(_) | Bootstrap::Found => 0,
        };
        let needed = self.ledger.accepted.metadata.voting.own.len().max(hosts);
        if (self.search.backers.len() + 1) * 2 <= needed {
            return;
        }
        let requirement = self.requirement(self.own_bootstrap().into_iter().collect());
        let mut backers = self.search.backers.clone();
        backers.insert(self.local.id.clone(), self.local.clone());
        self.search.sees_quorum = requirement.is_met_by(&backers);
    }

    /// What an election or a commit on the accepted state must be backed by.
    pub(super) fn requirement(&self, bootstrap: BTreeSet<BootstrapSet>) -> Requirement {
        let voting = &self.ledger.accepted.metadata.voting;
        let sets = if self.ledger.is_settled() {
            VotingSets { committed: voting.own.clone(), own: voting.own.clone() }
        } else {
            voting.clone()
        };
        Requirement { sets, minimum: self.tuning.minimum(), bootstrap }
    }

    /// Who must take part in the first forming, as this node was told; none once it knows of a committed state.
    pub(super) fn own_bootstrap(&self) -> Option<BootstrapSet> {
        if self.is_formed() {
            return None;
        }
        let own: Arc<str> = self.local.address.as_str().into();
        Some(match &self.config.bootstrap {
            Bootstrap::Hosts(hosts) => {
                let mut members = hosts.clone();
                let is_named = [&*self.local.name, self.local.address.as_str(), self.local.id.as_str()]
                    .iter()
                    .any(|name| members.contains(*name));
                if !is_named {
                    members.insert(own);
                }
                BootstrapSet { members, all: false }
            }
            Bootstrap::Found => {
                let found = self.search.backers.values().map(|node| Arc::from(node.address.as_str()));
                BootstrapSet { members: found.chain([own]).collect(), all: true }
            }
        })
    }

    fn candidates(&self) -> Vec<Candidate> {
        let seen = self.search.seen.values().filter(|seen| self.counts(seen));
        let mut candidates: Vec<Candidate> = seen.filter_map(|seen| Candidate::of(&seen.sight)).collect();
        if self.local.is_master_eligible() && self.leaving.is_none() {
            candidates.push(self.own_candidate());
        }
        candidates
    }

    fn own_candidate(&self) -> Candidate {
        Candidate {
            node: self.local.clone(),
            accepted: self.ledger.durable_id().rank(),
            sees_quorum: self.search.sees_quorum,
        }
    }

    fn counts(&self, seen: &Seen) -> bool {
        elect::counts(&seen.sight, self.tuning.ignore_non_master_pings)
    }

    fn choose(&self) -> Option<Choice> {
        let seen = self.search.seen.values().filter(|seen| self.counts(seen));
        if let Some(master) = elect::tie_break(elect::active_masters(seen, &self.local, &self.lost)) {
            return Some(Choice::Join(master));
        }
        if self.is_premature() {
            return None;
        }
        let candidates = self.candidates();
        let best = elect::best_candidate(&candidates, self.tuning.minimum());
        best.map(|best| Choice::Elect(best.node.clone()))
    }

    /// Whether somebody might listen at a silent port, and no list of hosts says that it does not matter.
    fn is_premature(&self) -> bool {
        self.config.bootstrap == Bootstrap::Found && !self.is_formed() && !self.search.is_complete()
    }

    fn act(&mut self, now: Time, choice: Choice, out: &mut Effects<Zen>) {
        match (choice, &self.mode) {
            (Choice::Join(master), _) => self.join_master(now, master, out),
            (Choice::Elect(node), Mode::Electing(_)) => {
                let is_better = self.candidates().iter().any(|candidate| {
                    candidate.node.same_process(&node) && candidate.rank() < self.own_candidate().rank()
                });
                if is_better {
                    self.vote_for(now, node, out);
                }
            }
            (Choice::Elect(node), _) if node.same_process(&self.local) => self.stand(now, None, "best candidate", out),
            (Choice::Elect(node), _) => self.vote_for(now, node, out),
        }
    }

    /// Whether a quorum is seen must be judged anew: another state was accepted.
    pub(super) fn search_again_for_quorum(&mut self) {
        self.search.sees_quorum = false;
        self.update_quorum();
    }

    /// The highest term that anybody was seen in.
    pub(super) fn highest_seen(&self) -> Term {
        self.search.seen.values().map(|seen| seen.sight.term).max().unwrap_or(Term::ZERO)
    }

    /// A candidate goes on looking, beginning with what it knows.
    pub(super) fn keep_searching(&mut self, now: Time) {
        self.timers.set(Timer::Round, now + self.tuning.ping_timeout);
    }
}
