//! Gathers what explains a master or the want of one. Decides nothing and words nothing.

use super::super::elect::Seen;
use super::super::leading::{Leadership, Peer};
use super::super::quorum::BootstrapSet;
use super::super::search::{Mishap, Target};
use super::super::{Mode, NodeState, Rejection, Zen};
use super::{Attempt, Explanation, Group, Host, Member, PingOutcome, Quota, Straggler, advice, words};
use crate::cluster::{Address, Node, NodeId, StateId, VotingSet};
use crate::protocol::{Failure, Time};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

/// The nodes that count, by id.
type Present = BTreeMap<NodeId, Arc<Node>>;

impl Zen {
    /// Why there is a master, or none.
    pub fn explain(&self, now: Time) -> Explanation {
        let heard = match &self.mode {
            Mode::Following(following) => Some(millis(now.since(following.heard))),
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) | Mode::Leading(_) => None,
        };
        let mut explanation = Explanation {
            summary: String::new(),
            advice: Vec::new(),
            cluster_name: self.node.config.cluster_name.clone(),
            cluster_uuid: self.node.ledger.cluster_uuid,
            node: self.node.local.clone(),
            mode: self.mode.name().into(),
            term: self.node.ledger.promise.term,
            accepted: self.node.ledger.accepted.id(),
            committed: self.node.ledger.committed,
            master_node: self.open_master().cloned(),
            since_millis: millis(now.since(self.node.masterless_log.since())),
            master_heard_millis: heard,
            attempt: self.attempt(now),
            disk_hangs_millis: self
                .node
                .ledger
                .oldest_write()
                .filter(|_| self.node.is_write_overdue(now))
                .map(|at| millis(now.since(at))),
            needed: self.quotas(),
            hosts: self.hosts(),
            unresolved: if self.is_masterless() { self.node.search.unresolved.clone() } else { Vec::new() },
            nodes: self.stragglers(),
        };
        explanation.summary = words::summary(&explanation);
        explanation.advice = advice::advice(&explanation);
        explanation
    }

    fn attempt(&self, now: Time) -> Option<Attempt> {
        match &self.mode {
            Mode::Finding => None,
            Mode::Electing(candidacy) => Some(Attempt::Stands { term: candidacy.term }),
            Mode::Joining(joining) => {
                let (target, for_millis) = (joining.target.clone(), millis(now.since(joining.since)));
                Some(match joining.vote {
                    Some(term) => Attempt::Votes { candidate: target, term, for_millis },
                    None => Attempt::Joins { master: target, for_millis },
                })
            }
            Mode::Leading(lead) if lead.is_settled => None,
            Mode::Leading(_) => Some(Attempt::Publishes { state: self.node.ledger.accepted.id() }),
            Mode::Following(_) if self.follows_openly() => None,
            Mode::Following(following) => {
                Some(Attempt::Accepted { master: following.master.clone(), state: self.node.ledger.accepted.id() })
            }
        }
    }

    /// Who counts towards an election or a commit at present.
    fn present(&self) -> Present {
        let own = self.node.may_lead().then(|| self.node.local.clone());
        let others: Vec<Arc<Node>> = match &self.mode {
            Mode::Finding | Mode::Joining(_) => self.node.search.backers.values().cloned().collect(),
            Mode::Electing(candidacy) => {
                let votes = candidacy.joins.values().filter(|ballot| ballot.votes);
                votes.map(|ballot| ballot.node.clone()).collect()
            }
            Mode::Leading(lead) => backers(lead),
            Mode::Following(_) => self.node.ledger.accepted.nodes.eligible().cloned().collect(),
        };
        others.into_iter().chain(own).map(|node| (node.id.clone(), node)).collect()
    }

    fn bootstrap_sets(&self) -> BTreeSet<BootstrapSet> {
        match &self.mode {
            Mode::Electing(candidacy) if !self.node.is_formed() => candidacy.bootstrap.keys().cloned().collect(),
            Mode::Leading(lead) => lead.bootstrap.clone(),
            Mode::Finding | Mode::Electing(_) | Mode::Joining(_) | Mode::Following(_) => {
                self.node.own_bootstrap().into_iter().collect()
            }
        }
    }

    fn quotas(&self) -> Vec<Quota> {
        let requirement = self.node.requirement(self.bootstrap_sets());
        let (present, known) = (self.present(), self.node.known());
        let sets = &requirement.sets;
        let mut quotas = vec![of_set(Group::VotingSet, &sets.own, &present, &known)];
        if sets.committed != sets.own {
            quotas.push(of_set(Group::LastCommittedVotingSet, &sets.committed, &present, &known));
        }
        if self.node.is_premature() {
            quotas.push(self.node.of_found_hosts());
        } else if self.node.local.is_master_eligible() {
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

    fn hosts(&self) -> Vec<Host> {
        if !self.is_masterless() {
            return Vec::new();
        }
        let nodes = &self.node.ledger.accepted.nodes;
        let at: BTreeMap<&Address, &Arc<Node>> = nodes.iter().map(|node| (&node.address, node)).collect();
        let hosts = self.node.search.targets.keys().map(|address| {
            let (outcome, answered) = self.node.outcome(address);
            let before = at.get(address).copied();
            let is_other = |node: &Arc<Node>| before.filter(|before| before.id != node.id);
            Host {
                address: address.clone(),
                instead_of: answered.as_ref().and_then(is_other).map(|before| before.id.clone()),
                node: answered.or_else(|| before.cloned()),
                outcome,
            }
        });
        hosts.collect()
    }

    fn stragglers(&self) -> Vec<Straggler> {
        let Mode::Leading(lead) = &self.mode else {
            return Vec::new();
        };
        let newest = self.node.ledger.accepted.id();
        let keeps_up = |id: &NodeId, peer: &Peer| {
            let is_well = peer.failed.is_none() && peer.failures == 0 && !lead.leaving.contains_key(id);
            is_well && peer.accepted == newest && (peer.applied == newest || !lead.is_settled)
        };
        let behind = lead.peers.iter().filter(|(id, peer)| !keeps_up(id, peer));
        let stragglers = behind.map(|(id, peer)| Straggler {
            node: peer.node.clone(),
            accepted: peer.accepted,
            applied: peer.applied,
            missed_pings: peer.failures,
            failed: peer.failed.clone(),
            leaves: lead.leaving.contains_key(id),
        });
        let is_absent = |id: &NodeId| !lead.peers.contains_key(id);
        let away = lead.turned_away.iter().filter(|(id, _)| is_absent(id)).map(|(_, away)| Straggler {
            node: away.node.clone(),
            accepted: StateId::NONE,
            applied: StateId::NONE,
            missed_pings: 0,
            failed: Some(away.why.clone()),
            leaves: false,
        });
        stragglers.chain(away).collect()
    }
}

impl NodeState {
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
