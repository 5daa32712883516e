//! Gathers what explains a master or the want of one. Decides nothing and words nothing.

use super::super::elect::Seen;
use super::super::mode::Stance;
use super::super::mode::leadership::{Leadership, Peer, TurnedAway};
use super::super::quorum::BootstrapSet;
use super::super::search::{Mishap, Target};
use super::super::{NodeState, Rejection};
use super::{Attempt, Explanation, Group, Host, Member, PingOutcome, Quota, Straggler, advice, words};
use crate::cluster::{Address, Node, NodeId, StateId, VotingSet};
use crate::protocol::{Failure, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// Who has not stored a state for so long, or not applied one, lags: while users write, each node is behind for a moment.
const LAGS_AFTER: Duration = Duration::from_millis(500);

/// The nodes that count, by id.
type Present = BTreeMap<NodeId, Arc<Node>>;

impl NodeState {
    /// Why there is a master, or none.
    pub(in crate::zen) fn explain(&self, now: Time, stance: Stance<'_>) -> Explanation {
        let heard = match stance {
            Stance::Follows(following) => Some(millis(now.since(following.heard))),
            Stance::Finds | Stance::Stands(_) | Stance::Joins(_) | Stance::Leads(_) => None,
        };
        let mut explanation = Explanation {
            summary: String::new(),
            advice: Vec::new(),
            cluster_name: self.config.cluster_name.clone(),
            cluster_uuid: self.ledger.cluster_uuid,
            node: self.local.clone(),
            mode: stance.name().into(),
            term: self.ledger.promise.term,
            accepted: self.ledger.accepted.id(),
            committed: self.ledger.committed,
            master_node: self.open_master(stance).cloned(),
            since_millis: millis(now.since(self.masterless_log.since())),
            master_heard_millis: heard,
            attempt: self.attempt(now, stance),
            disk_hangs_millis: self
                .ledger
                .oldest_write()
                .filter(|_| self.is_write_overdue(now))
                .map(|at| millis(now.since(at))),
            needed: self.quotas(stance),
            hosts: self.hosts(stance),
            unresolved: self.search.unresolved.clone(),
            nodes: self.stragglers(now, stance),
        };
        explanation.summary = words::summary(&explanation);
        explanation.advice = advice::advice(&explanation);
        explanation
    }

    fn attempt(&self, now: Time, stance: Stance<'_>) -> Option<Attempt> {
        match stance {
            Stance::Finds => None,
            Stance::Stands(candidacy) => Some(Attempt::Stands { term: candidacy.term }),
            Stance::Joins(joining) => {
                let (target, for_millis) = (joining.target.clone(), millis(now.since(joining.since)));
                Some(match joining.vote {
                    Some(term) => Attempt::Votes { candidate: target, term, for_millis },
                    None => Attempt::Joins { master: target, for_millis },
                })
            }
            Stance::Leads(lead) if lead.is_settled => None,
            Stance::Leads(_) => Some(Attempt::Publishes { state: self.ledger.accepted.id() }),
            Stance::Follows(following) if self.shows(&following.master) => None,
            Stance::Follows(following) => {
                Some(Attempt::Accepted { master: following.master.clone(), state: self.ledger.accepted.id() })
            }
        }
    }

    /// Who counts towards an election or a commit at present.
    fn present(&self, stance: Stance<'_>) -> Present {
        let own = self.may_lead().then(|| self.local.clone());
        let others: Vec<Arc<Node>> = match stance {
            Stance::Finds | Stance::Joins(_) => self.search.backers.values().cloned().collect(),
            Stance::Stands(candidacy) => {
                let votes = candidacy.joins.values().filter(|ballot| ballot.votes);
                votes.map(|ballot| ballot.node.clone()).collect()
            }
            Stance::Leads(lead) => backers(lead),
            Stance::Follows(_) => self.ledger.accepted.nodes.eligible().cloned().collect(),
        };
        others.into_iter().chain(own).map(|node| (node.id.clone(), node)).collect()
    }

    fn bootstrap_sets(&self, stance: Stance<'_>) -> BTreeSet<BootstrapSet> {
        match stance {
            Stance::Stands(candidacy) if !self.is_formed() => candidacy.bootstrap.keys().cloned().collect(),
            Stance::Leads(lead) => lead.bootstrap.clone(),
            Stance::Finds | Stance::Stands(_) | Stance::Joins(_) | Stance::Follows(_) => {
                self.own_bootstrap().into_iter().collect()
            }
        }
    }

    fn quotas(&self, stance: Stance<'_>) -> Vec<Quota> {
        let requirement = self.requirement(self.bootstrap_sets(stance));
        let (present, known) = (self.present(stance), self.known());
        let sets = &requirement.sets;
        let mut quotas = vec![of_set(Group::VotingSet, &sets.own, &present, &known)];
        if sets.committed != sets.own {
            quotas.push(of_set(Group::LastCommittedVotingSet, &sets.committed, &present, &known));
        }
        if self.is_premature() {
            quotas.push(self.of_found_hosts());
        } else if self.local.is_master_eligible() {
            let besides = requirement.bootstrap.iter().map(BootstrapSet::of_those_besides);
            let sets: BTreeSet<BootstrapSet> = requirement.bootstrap.iter().cloned().chain(besides).collect();
            let hosts = sets.iter().filter(|set| !set.members.is_empty());
            quotas.extend(hosts.map(|set| of_hosts(set, &present, &known)));
        }
        if requirement.minimum > 1 {
            let found = present.len();
            let of = Group::MasterEligibleNodes;
            quotas.push(Quota { of, members: Vec::new(), needed: requirement.minimum, found });
        }
        quotas.retain(|quota| quota.needed > 0);
        quotas
    }

    fn hosts(&self, stance: Stance<'_>) -> Vec<Host> {
        if !stance.is_masterless() {
            return Vec::new();
        }
        let nodes = &self.ledger.accepted.nodes;
        let at: BTreeMap<&Address, &Arc<Node>> = nodes.iter().map(|node| (&node.address, node)).collect();
        let hosts = self.search.targets.keys().map(|address| {
            let (outcome, answered) = self.outcome(address);
            let before = at.get(address).copied();
            // Who says to be elsewhere is led there by something that listens here, and stands in nobody's place.
            let is_here = |node: &Arc<Node>| node.address == *address;
            let is_other = |node: &Arc<Node>| before.filter(|before| before.id != node.id && is_here(node));
            Host {
                address: address.clone(),
                instead_of: answered.as_ref().and_then(is_other).map(|before| before.id.clone()),
                node: answered.or_else(|| before.cloned()),
                outcome,
            }
        });
        hosts.collect()
    }

    fn stragglers(&self, now: Time, stance: Stance<'_>) -> Vec<Straggler> {
        let Stance::Leads(lead) = stance else {
            return Vec::new();
        };
        let has_not_applied = |peer: &Peer| {
            peer.told.is_some_and(|(id, at)| peer.applied.rank() < id.rank() && now.since(at) >= LAGS_AFTER)
        };
        let keeps_up = |peer: &Peer| {
            let is_well = peer.failed.is_none() && peer.failures == 0 && !lead.is_leaving(&peer.node);
            is_well && !peer.has_owed(now, LAGS_AFTER) && !has_not_applied(peer)
        };
        let behind = lead.peers.values().filter(|peer| !keeps_up(peer));
        let stragglers = behind.map(|peer| Straggler {
            node: peer.node.clone(),
            accepted: peer.accepted,
            applied: peer.applied,
            missed_pings: peer.failures,
            failed: peer.failed.clone(),
            leaves: lead.is_leaving(&peer.node),
        });
        let is_absent = |id: &NodeId| !lead.peers.contains_key(id);
        let patience = self.tuning.asking_patience();
        let is_there = |away: &TurnedAway| away.asked.is_none() || away.asks(now, patience);
        let away = lead.turned_away.iter().filter(|(id, away)| is_absent(id) && is_there(away));
        let away = away.map(|(_, away)| Straggler {
            node: away.node.clone(),
            accepted: StateId::NONE,
            applied: StateId::NONE,
            missed_pings: 0,
            failed: Some(away.why.clone()),
            leaves: false,
        });
        stragglers.chain(away).collect()
    }

    /// Before a cluster is formed of whoever is found, everybody must have answered or refused.
    fn of_found_hosts(&self) -> Quota {
        let members = self.search.targets.iter().map(|(address, target)| Member {
            id: address.as_str().into(),
            name: None,
            address: Some(address.clone()),
            found: matches!(target, Target::Answered | Target::Refused),
        });
        Quota::of(Group::FoundHosts, members.collect(), self.search.targets.len())
    }

    /// All nodes that this one has heard of, by id: those who answered before those of the last state.
    fn known(&self) -> Present {
        let of_state = self.ledger.accepted.nodes.iter();
        let seen = self.search.seen.values().map(|seen| &seen.sight.node);
        let all = of_state.chain(seen).chain([&self.local]);
        all.map(|node| (node.id.clone(), node.clone())).collect()
    }

    /// What became of the last ping of a host, and who answered it.
    fn outcome(&self, address: &Address) -> (PingOutcome, Option<Arc<Node>>) {
        if let Some(seen) = self.search.seen.get(address) {
            return (self.answered(seen), Some(seen.sight.node.clone()));
        }
        match self.search.mishaps.get(address) {
            None if self.search.targets.get(address) == Some(&Target::Spared) => (PingOutcome::NotAsked, None),
            None => (PingOutcome::Waiting, None),
            Some(Mishap::Failed(Failure::Refused)) => (PingOutcome::Refused, None),
            Some(Mishap::Failed(Failure::Reset)) => (PingOutcome::Reset, None),
            Some(Mishap::Failed(Failure::TimedOut)) => (PingOutcome::TimedOut, None),
            Some(Mishap::Failed(Failure::BadAnswer)) => (PingOutcome::NotUnderstood, None),
            Some(Mishap::Rejected(why)) => self.rejected(why),
        }
    }

    fn answered(&self, seen: &Seen) -> PingOutcome {
        let sight = &seen.sight;
        let master = sight.master.as_ref().map(|(master, _)| master.clone());
        let lost = master.as_ref().and_then(|master| self.lost.get(&master.ephemeral_id));
        PingOutcome::Answered {
            master_eligible: sight.node.is_master_eligible(),
            masterless: sight.masterless,
            sees_quorum: sight.sees_quorum,
            term: sight.term,
            accepted: sight.accepted,
            not_joined: lost.map(|lost| lost.why.clone()),
            master,
        }
    }

    fn rejected(&self, why: &Rejection) -> (PingOutcome, Option<Arc<Node>>) {
        match why {
            Rejection::OtherCluster(its) if its.cluster_name != self.config.cluster_name => {
                let (theirs, ours) = (its.cluster_name.clone(), self.config.cluster_name.clone());
                (PingOutcome::OtherClusterName { theirs, ours }, Some(its.node.clone()))
            }
            Rejection::OtherCluster(its) => {
                let (theirs, ours) = (its.cluster_uuid, self.ledger.cluster_uuid);
                (PingOutcome::OtherClusterUuid { theirs, ours }, Some(its.node.clone()))
            }
            Rejection::DuplicateId(node) => (PingOutcome::DuplicateId, Some(node.clone())),
            Rejection::Itself => (PingOutcome::Itself, Some(self.local.clone())),
            Rejection::Because(why) => (PingOutcome::Rejected { why: why.clone() }, None),
        }
    }
}

impl Quota {
    fn of(of: Group, members: Vec<Member>, needed: usize) -> Quota {
        let found = members.iter().filter(|member| member.found).count();
        Quota { of, members, needed, found }
    }
}

/// Who backs a master: those who hold its first state until that is committed, and those who live from then on.
fn backers(lead: &Leadership) -> Vec<Arc<Node>> {
    match &lead.publish {
        Some(publish) if !lead.is_settled => publish.acks.values().cloned().collect(),
        Some(_) | None => {
            let live = lead.peers.values().filter(|peer| peer.failed.is_none() && peer.node.is_master_eligible());
            live.map(|peer| peer.node.clone()).collect()
        }
    }
}

fn of_set(of: Group, set: &VotingSet, present: &Present, known: &Present) -> Quota {
    let members = set.iter().map(|id| {
        let node = known.get(id);
        Member {
            id: id.as_str().into(),
            name: node.map(|node| node.name.clone()),
            address: node.map(|node| node.address.clone()),
            found: present.contains_key(id),
        }
    });
    let needed = if set.is_empty() { 0 } else { set.len() / 2 + 1 };
    Quota::of(of, members.collect(), needed)
}

fn of_hosts(set: &BootstrapSet, present: &Present, known: &Present) -> Quota {
    let find = |among: &Present, host: &str| {
        let is_named = |node: &&Arc<Node>| set.members_that_are(node).any(|member| member == host);
        among.values().find(is_named).cloned()
    };
    let members = set.members.iter().map(|host| {
        let there = find(present, host);
        let node = there.clone().or_else(|| find(known, host));
        Member {
            id: host.clone(),
            name: node.as_ref().map(|node| node.name.clone()),
            address: node.map(|node| node.address.clone()),
            found: there.is_some(),
        }
    });
    let needed = if set.all { set.members.len() } else { set.members.len() / 2 + 1 };
    Quota::of(Group::InitialHosts, members.collect(), needed)
}

fn millis(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}
