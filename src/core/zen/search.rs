//! What a node knows of the others while it looks for a master: the hosts of the present round and what they said.
//!
//! Plain data that keeps its own counts. How it is gathered stands in `finding/round`, what follows from it in `finding/choose`. Mirrors
//! `UnicastZenPing.PingingRound` and `ZenPing.PingCollection` (6.8).

use super::Rejection;
use super::elect::Seen;
use super::message::PeerStatus;
use super::quorum::BootstrapSet;
use crate::cluster::{Address, Node, NodeId, Term};
use crate::protocol::{Failure, Time, Unresolved};
use std::collections::{BTreeMap, BTreeSet};
use std::hash::Hash;
use std::mem;
use std::sync::Arc;

/// How often the number of those who look for everybody is doubled at the most: that is more than are remembered.
const WIDENED_MAX: u32 = 16;

/// A host of the present round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Target {
    /// It is not pinged, being no concern of this node in a crowd.
    Spared,
    Waiting,
    Answered,
    Refused,
    Silent,
}

/// Why a host is not among those that answered.
#[derive(Clone, Debug, Hash)]
pub(super) enum Mishap {
    Failed(Failure),
    Rejected(Rejection),
}

/// What a node knows of the others while it follows no master.
#[derive(Clone, Debug, Default, Hash)]
pub(super) struct Search {
    pub(super) seeds: Vec<Address>,
    /// The configured hosts that have no address.
    pub(super) unresolved: Vec<Unresolved>,
    /// Who was configured to be there from the start, if their addresses were looked up.
    pub(super) initial: Option<BootstrapSet>,
    pub(super) is_resolved: bool,
    pub(super) targets: BTreeMap<Address, Target>,
    /// What became of the last ping of those hosts of the present round that did not answer it, or the one of the last round.
    pub(super) mishaps: BTreeMap<Address, Mishap>,
    pub(super) waiting: usize,
    pub(super) silent: usize,
    pub(super) spared: usize,
    /// In a crowd the last of the first hosts.
    pub(super) front: Option<Address>,
    /// In a crowd the last of those who ping everybody, and whom everybody pings; at first these are the first hosts.
    pub(super) reach: Option<Address>,
    /// In a crowd the hosts that cannot lead.
    pub(super) unable: BTreeSet<Address>,
    /// How many rounds of a crowd came to nothing since there was a master.
    pub(super) widened: u32,
    pub(super) seen: BTreeMap<Address, Seen>,
    /// The nodes seen that can vote and follow nobody.
    pub(super) backers: BTreeMap<NodeId, Arc<Node>>,
    /// Who of those seen names an active master, and how many see a quorum: most answers in a large cluster change neither.
    pub(super) naming: BTreeSet<Address>,
    /// Who of those seen knows a committed state of the cluster.
    pub(super) formed: BTreeSet<Address>,
    pub(super) seeing: usize,
    /// How many of those seen stand as candidates.
    pub(super) standing: usize,
    pub(super) since: Time,
    /// Rounds in a row in which most of a crowd said nothing at all, and whether this node waits before the next one.
    pub(super) unheard: u32,
    pub(super) rests: bool,
    /// Since when a choice has been possible in this round.
    pub(super) possible: Option<Time>,
    /// A failed attempt is not repeated before this.
    pub(super) not_before: Time,
    pub(super) sees_quorum: bool,
    pub(super) pingers: BTreeMap<Address, Pinger>,
    /// What the pingers were last told, and how often that has changed.
    pub(super) told: Option<PongSummary>,
    pub(super) changes: u64,
    /// A master that was lost by silence: its further silence holds nothing up.
    pub(super) dead: Option<Address>,
}

/// Who pinged, and when.
#[derive(Clone, Debug, Hash)]
pub(super) struct Pinger {
    pub(super) node: Arc<Node>,
    pub(super) at: Time,
}

/// The part of a pong whose change is worth telling.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct PongSummary {
    pub(super) master: Option<NodeId>,
    pub(super) masterless: bool,
    pub(super) sees_quorum: bool,
    pub(super) stands: Option<Term>,
    pub(super) unwell: bool,
    pub(super) hangs: bool,
    pub(super) leaves: bool,
}

impl Search {
    /// Takes a host in, or anew.
    pub(super) fn put(&mut self, address: Address, target: Target) {
        let before = self.targets.insert(address, target);
        self.recount(before, target);
    }

    fn recount(&mut self, before: Option<Target>, after: Target) {
        if let Some(count) = before.and_then(|before| self.count_of(before)) {
            *count -= 1;
        }
        if let Some(count) = self.count_of(after) {
            *count += 1;
        }
    }

    fn count_of(&mut self, target: Target) -> Option<&mut usize> {
        match target {
            Target::Spared => Some(&mut self.spared),
            Target::Waiting => Some(&mut self.waiting),
            Target::Silent => Some(&mut self.silent),
            Target::Answered | Target::Refused => None,
        }
    }

    pub(super) fn forget_targets(&mut self) {
        self.targets.clear();
        (self.waiting, self.silent, self.spared) = (0, 0, 0);
        (self.front, self.reach) = (None, None);
    }

    /// In a crowd more hosts are first ones from the next round on.
    pub(super) fn widen(&mut self) {
        if self.front.is_some() {
            self.widened = (self.widened + 1).min(WIDENED_MAX);
        }
    }

    /// Finds out who the first hosts are, so many of them: those with the lowest addresses of all that do not refuse and
    /// are not known to be unable to lead. Each round that came to nothing has doubled the number of those to be pinged.
    pub(super) fn find_front(&mut self, few: usize, own: Option<&Address>) {
        let is_able = |(address, target): &(&Address, &Target)| {
            let seen = self.seen.get(*address);
            **target != Target::Refused
                && seen.map_or(!self.unable.contains(*address), |seen| seen.sight.node.is_master_eligible())
        };
        let many = few << self.widened;
        let able = self.targets.iter().filter(is_able).map(|(address, _)| address);
        let mut first: Vec<&Address> = able.take(many).chain(own).collect();
        first.sort_unstable();
        let [front, reach] = [few, many].map(|count| first.get(count - 1).copied().cloned());
        (self.front, self.reach) = (front, reach);
    }

    /// Whether a host is pinged by all in a crowd; where there is none, every host is.
    pub(super) fn is_reached(&self, address: &Address) -> bool {
        self.reach.as_ref().is_none_or(|last| address <= last)
    }

    /// Whether a host is one of the first; where there is no crowd, every host is.
    pub(super) fn is_first(&self, address: &Address) -> bool {
        self.front.as_ref().is_none_or(|last| address <= last)
    }

    /// Whether everybody sees a quorum who is about to. In a crowd only the first hosts are, and each of them is waited
    /// for: who still follows the lost master will not for long.
    pub(super) fn all_see(&self) -> bool {
        let Some(last) = &self.front else {
            return self.seeing == self.backers.len();
        };
        let mut first = self.seen.range::<Address, _>(..=last).map(|(_, seen)| &seen.sight);
        first.all(|sight| sees(sight) || !sight.node.is_master_eligible())
    }

    /// Those of some addresses that are no targets. What comes in order is found in one pass: in a large cluster most
    /// answers mention nobody new.
    pub(super) fn strangers(&self, addresses: impl Iterator<Item = Address>) -> Vec<Address> {
        let mut targets = self.targets.range::<Address, _>(..);
        let mut is_known = |address: &Address| {
            if targets.next().is_some_and(|(target, _)| target == address) {
                return true;
            }
            targets = self.targets.range::<Address, _>(address..);
            targets.next().is_some_and(|(target, _)| target == address)
        };
        addresses.filter(|address| !is_known(address)).collect()
    }

    pub(super) fn settle(&mut self, address: &Address, outcome: Target) {
        if let Some(target) = self.targets.get_mut(address) {
            let before = mem::replace(target, outcome);
            self.recount(Some(before), outcome);
        }
    }

    pub(super) fn answered(&mut self, address: &Address) {
        self.mishaps.remove(address);
        self.settle(address, Target::Answered);
    }

    pub(super) fn failed(&mut self, address: &Address, mishap: Mishap) {
        let outcome = match &mishap {
            Mishap::Failed(Failure::Refused | Failure::Reset) => Target::Refused,
            Mishap::Failed(Failure::TimedOut) => Target::Silent,
            // Somebody is there, and will say nothing else in this round.
            Mishap::Failed(Failure::BadAnswer) | Mishap::Rejected(_) => Target::Answered,
        };
        self.settle(address, outcome);
        self.forget(address);
        if self.targets.contains_key(address) {
            self.mishaps.insert(address.clone(), mishap);
        }
    }

    /// The round is over: whoever has not answered by then did not answer in time.
    pub(super) fn time_out(&mut self) {
        let waiting =
            self.targets.iter().filter(|(at, target)| **target == Target::Waiting && !self.seen.contains_key(*at));
        let late = waiting.map(|(at, _)| (at.clone(), Mishap::Failed(Failure::TimedOut)));
        self.mishaps.extend(late.collect::<Vec<_>>());
    }

    pub(super) fn see(&mut self, address: Address, seen: Seen, names_master: bool) {
        let node = seen.sight.node.clone();
        if let Some(before) = self.seen.get(&address) {
            self.seeing -= usize::from(sees(&before.sight));
            self.standing -= usize::from(before.sight.stands.is_some());
            let before = before.sight.node.id.clone();
            if before != node.id {
                // Its disk was wiped: who answered at its address is gone.
                self.forget_backer(&before);
            }
        }
        if names_master {
            self.naming.insert(address.clone());
        } else {
            self.naming.remove(&address);
        }
        self.seeing += usize::from(sees(&seen.sight));
        self.standing += usize::from(seen.sight.stands.is_some());
        if node.is_master_eligible() && seen.sight.masterless && !seen.sight.hangs {
            self.backers.insert(node.id.clone(), node);
        } else {
            self.forget_backer(&node.id);
        }
        self.seen.insert(address, seen);
    }

    pub(super) fn forget(&mut self, address: &Address) {
        if let Some(seen) = self.seen.remove(address) {
            self.naming.remove(address);
            self.formed.remove(address);
            self.seeing -= usize::from(sees(&seen.sight));
            self.standing -= usize::from(seen.sight.stands.is_some());
            self.forget_backer(&seen.sight.node.id);
        }
    }

    /// The nodes of this host that answered on loopback and publish another address: the one, and where they answered. What
    /// listens at a port of the host's own address is what listens there on loopback only if it says so itself; and an
    /// address elsewhere may lead to another node each time.
    pub(super) fn on_loopback(&self, local: &Node) -> impl Iterator<Item = (Arc<str>, Arc<str>)> {
        let local = Some(&local.address).filter(|local| !local.is_loopback()).map(Address::host);
        let is_one = move |(at, seen): &(&Address, &Seen)| {
            let published = &seen.sight.node.address;
            Some(published.host()) == local && at.is_loopback() && at.port() == published.port()
        };
        let pair = |(at, seen): (&Address, &Seen)| (seen.sight.node.address.as_str().into(), at.as_str().into());
        self.seen.iter().filter(is_one).map(pair)
    }

    /// What was answered before this node had a master or was one says nothing about those who have none after that.
    pub(super) fn forget_all(&mut self) {
        self.seen.clear();
        self.backers.clear();
        self.naming.clear();
        self.formed.clear();
        (self.seeing, self.standing) = (0, 0);
        self.sees_quorum = false;
    }

    fn forget_backer(&mut self, id: &NodeId) {
        if self.backers.remove(id).is_some() {
            self.sees_quorum = false;
        }
    }

    /// Whether every target answered or refused; one that is known to be dead need not.
    pub(super) fn is_complete(&self) -> bool {
        let dead = self.dead.as_ref().and_then(|dead| self.targets.get(dead));
        let excused = usize::from(dead.is_some_and(|dead| matches!(dead, Target::Waiting | Target::Silent)));
        self.is_resolved && self.waiting + self.silent == excused
    }
}

/// Whether this is the word of a candidate that could be chosen.
pub(super) fn sees(sight: &PeerStatus) -> bool {
    sight.sees_quorum && sight.masterless && sight.node.is_master_eligible()
}
