//! Carries out what makes the nodes of a random run half well, and decides who stays so.
//!
//! What happens when is drawn in [`HalfWell`](super::half_well::HalfWell). Here it is kept from asking more of a cluster
//! than any algorithm could give: only nodes that the others can do without are taken out or stay sick, only nodes that do
//! not lead have clocks that jump, because a lease is counted on its master's, and only in a cluster that all nodes know
//! does one move to another address, because those that know none would form another.

use super::Fault;
use super::half_well::{Act, Anew, draw_sickness};
use super::operation::{Setting, submit};
use super::run_world::{Run, start};
use super::watch::Violation;
use crate::cluster::{Address, NodeId, Roles};
use crate::protocol::Resolution;
use crate::service::{SettingsPatch, Task};
use crate::zen::{Mode, Zen};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

impl Run {
    /// The nodes that are there and work, or will once all is healed. A majority among them is owed a master and answers,
    /// whatever the others do.
    pub(super) fn well(&self) -> Vec<usize> {
        (0..self.draw.nodes).filter(|node| !self.away.contains(node) && !self.sick.contains(node)).collect()
    }

    /// Keeps those back that come late.
    pub(super) fn keep_back_late(&mut self) {
        for node in self.draw.half_well.late.clone() {
            self.away.insert(node);
            // Nobody says that they are not there.
            if self.rng.percent(50) {
                self.world.inject(Fault::PowerLoss(node));
            }
            self.world.inject(Fault::Retire(node));
        }
    }

    /// Makes those sick from the beginning who never are well. A disk that crawls stores something at last.
    pub(super) fn begin_sick(&mut self) {
        let mut lasting = if self.draw.half_well.from_birth { self.draw.half_well.lasting.clone() } else { Vec::new() };
        lasting.retain(|fault| !self.hides_only_host(fault));
        for fault in lasting {
            if let Fault::DiskHangs(node) | Fault::Unreachable(node, _) = fault {
                self.world.inject(fault);
                self.world.inject(Fault::Lasting(node));
                self.never_well.insert(node);
                self.sick.insert(node);
            }
        }
    }

    /// Breaks or mends something, but not what is wrong with a node that never is well.
    pub(super) fn inject(&mut self, fault: Fault) {
        if !ailing(&fault).is_some_and(|node| self.never_well.contains(&node)) {
            self.world.inject(fault);
        }
    }

    /// Does what was drawn, if the cluster can bear it.
    pub(super) fn act(&mut self, act: Act) {
        match act {
            Act::Fault(Fault::Retire(node)) => self.retire(node),
            Act::Fault(Fault::Arrive(node)) => self.arrive(node),
            Act::Fault(Fault::Jump(node, _)) if self.leads(node) => {}
            Act::Fault(fault) => self.inject(fault),
            Act::Set { node, key, value } => {
                if self.world.participant(node).is_some() {
                    self.world.remark(&format!("! n{node} is asked to set {key} to {value:?}"));
                    let (key, value): (Arc<str>, Option<Arc<str>>) = (key.into(), value.map(Into::into));
                    let setting = Setting { key: key.clone(), is_persistent: false };
                    self.world.watch.configured.asked(&setting, value.as_ref());
                    let transient: SettingsPatch = vec![(key, value)];
                    self.world.ask(node, submit(Task::PutSettings { persistent: Vec::new(), transient }));
                }
            }
            Act::Restart(node, anew) => self.restart_anew(node, &anew),
        }
    }

    fn leads(&self, node: usize) -> bool {
        self.world.participant(node).is_some_and(|zen| zen.mastership().is_some())
    }

    fn retire(&mut self, node: usize) {
        let rest: Vec<usize> = self.well().into_iter().filter(|other| *other != node).collect();
        if !self.away.contains(&node) && self.is_quorum(&rest) {
            self.away.insert(node);
            self.world.inject(Fault::Retire(node));
        }
    }

    fn arrive(&mut self, node: usize) {
        if self.away.remove(&node) {
            self.world.inject(Fault::Arrive(node));
        }
    }

    /// Restarts a node with other settings, as somebody else, or elsewhere.
    fn restart_anew(&mut self, node: usize, anew: &Anew) {
        if self.away.contains(&node) || self.world.participant(node).is_none() {
            return;
        }
        let may_move =
            anew.moves && self.draw.wipe_percent == 0 && (0..self.draw.nodes).all(|node| self.knows_cluster(node));
        let config = &mut self.configs[node];
        config.tuning = anew.times.over(self.tunings[node].clone());
        config.node.roles = Roles { master: node < self.draw.eligible && !anew.loses_role, ..config.node.roles };
        self.world.remark(&format!("! n{node} is restarted as {:?} with {:?}", config.node, config.tuning));
        self.world.inject(Fault::Kill(node));
        if may_move {
            self.move_away(node);
        }
        self.reboot(node);
    }

    fn move_away(&mut self, node: usize) {
        self.moves += 1;
        let address = Address::from(format!("10.1.{}.{node}:9300", self.moves));
        self.configs[node].node.address = address.clone();
        self.world.move_to(node, address);
        let eligible: Vec<Address> = (0..self.draw.eligible).map(|node| self.world.peer(node).clone()).collect();
        for other in 0..self.draw.nodes {
            self.world.set_seeds(other, Resolution::of(eligible.clone()));
        }
    }

    /// Starts a node that is down, as it is configured.
    fn reboot(&mut self, node: usize) {
        let (config, rules) = (self.configs[node].clone(), self.rules);
        self.world.set_boot(node, move |boot| start(&config, rules, boot));
        self.world.inject(Fault::Start(node));
    }

    /// Gives the nodes back their roles that were restarted without them; those that are down start with them.
    pub(super) fn give_roles_back(&mut self) {
        for node in 0..self.draw.eligible {
            if !self.configs[node].node.roles.master {
                self.configs[node].node.roles.master = true;
                self.world.inject(Fault::Kill(node));
                self.reboot(node);
            }
        }
    }

    /// Sick nodes that store everything, if late.
    pub(super) fn crawling(&self) -> Vec<usize> {
        let crawls = |node: &&usize| self.world.is_crawling(**node);
        self.sick.iter().filter(crawls).copied().collect()
    }

    /// Decides who stays away or sick when all else is healed: only those that the others can do without.
    pub(super) fn settle_sick(&mut self) {
        self.give_roles_back();
        let percent = self.draw.half_well.never_percent;
        for node in self.away.clone() {
            if percent == 0 || !self.rng.percent(percent) {
                self.arrive(node);
            }
        }
        self.heal_slow();
        let lasting = self.draw.half_well.lasting.clone();
        self.sick = lasting.iter().filter(|fault| self.may_last(fault)).filter_map(ailing).collect();
        if self.sick.is_empty() && self.away.is_empty() {
            return;
        }
        if !self.is_quorum(&self.well()) {
            self.sick = BTreeSet::new();
            let cured: Vec<usize> = std::mem::take(&mut self.never_well).into_iter().collect();
            self.world.inject(Fault::HealOnly(cured));
        }
        if !self.is_quorum(&self.well()) {
            self.away.clone().into_iter().for_each(|node| self.arrive(node));
        }
        for fault in lasting {
            if let Some(node) = ailing(&fault).filter(|node| self.sick.contains(node)) {
                self.heal_rate(node);
                self.world.inject(fault);
                self.world.inject(Fault::Lasting(node));
            }
        }
    }

    /// A node whose disk or address stays sick is not slow to reach as well, unless that was drawn: it would be for ever.
    fn heal_rate(&mut self, node: usize) {
        if self.draw.half_well.slow.is_none_or(|(slow, _)| slow != node) {
            self.world.inject(Fault::Rate(node, 0));
        }
    }

    /// Heals the node that everything reaches slowly, but for that.
    fn heal_slow(&mut self) {
        let slow = self.draw.half_well.slow.filter(|(node, _)| !self.never_well.contains(node));
        if let Some((node, bytes_per_s)) = slow {
            self.world.inject(Fault::HealOnly(vec![node]));
            self.world.inject(Fault::Rate(node, bytes_per_s));
            self.world.inject(Fault::Lasting(node));
        }
    }

    /// Nodes that never met must find each other. A master whose disk crawls or whom nobody reaches anew may go on; one whose disk hangs may not. Whoever has the votes of
    /// a quorum is master in a moment.
    fn may_last(&self, fault: &Fault) -> bool {
        let may_lead = |node| self.leads(node) || self.has_votes(node);
        let may_go_on = matches!(fault, Fault::DiskHangs(_)) || ailing(fault).is_none_or(|node| !may_lead(node));
        may_go_on && !self.hides_only_host(fault)
    }

    /// Whether nodes that never met would find each other only at an address that nobody reaches.
    fn hides_only_host(&self, fault: &Fault) -> bool {
        self.draw.hosts == 1 && matches!(fault, Fault::Unreachable(0, _))
    }

    fn has_votes(&self, node: usize) -> bool {
        let candidate = self.world.peer(node);
        let voters = self.world.participants().filter(|(_, zen)| votes_for(zen, candidate)).map(|(voter, _)| voter);
        let voters: Vec<usize> = voters.chain([node]).collect();
        // It counts the votes by its own state, whatever older ones others have.
        let given = self.world.participants().filter(|(voter, _)| voters.contains(voter));
        let ids: BTreeSet<&NodeId> = given.map(|(_, zen)| &zen.local().id).collect();
        let wins = |zen: &Zen| {
            let ledger = zen.ledger();
            ledger.cluster_uuid.is_some() && ledger.accepted.metadata.voting.has_majority(|id| ids.contains(id))
        };
        self.is_quorum(&voters) || self.world.participant(node).is_some_and(wins)
    }

    /// L1 of those who are well: the master is lost, or its disk hangs, while others are or get sick.
    pub(super) fn demand_another(&mut self, group: &[usize]) -> Result<(), Violation> {
        let Some(master) = group.iter().copied().find(|node| self.leads(*node)) else {
            return Ok(());
        };
        let mut others: Vec<usize> = group.iter().copied().filter(|node| *node != master).collect();
        self.rng.shuffle(&mut others);
        let count = self.rng.below(others.len() as u64 / 2 + 1) as usize;
        let (sick, rest) = others.split_at(count);
        // The master may make voters of all who were well until now, before it knows better.
        let eligible = |nodes: &[usize]| nodes.iter().filter(|node| **node < self.draw.eligible).count();
        let is_majority = eligible(rest) * 2 > eligible(group);
        if !self.draw.half_well.loses_master || !is_majority || !self.is_quorum(rest) {
            return Ok(());
        }
        for node in sick {
            let fault = draw_sickness(&mut self.rng, *node);
            self.world.inject(fault);
        }
        let before = self.sick.clone();
        self.sick.extend(sick);
        self.world.inject(match self.rng.below(3) {
            0 => Fault::Kill(master),
            1 => Fault::PowerLoss(master),
            _ => Fault::DiskHangs(master),
        });
        // A disk that hangs shows when there is something to write. What is stable before is so by the master that goes.
        if let Some(node) = rest.first() {
            self.ask_for_update(*node);
        }
        self.run_clients(self.world.now() + Duration::from_millis(1))?;
        self.demand_recovery(rest)?;
        self.sick = before;
        self.heal_slow();
        self.world.inject(Fault::Heal);
        self.demand_recovery(group)
    }
}

fn votes_for(zen: &Zen, candidate: &Address) -> bool {
    matches!(zen.mode(), Mode::Joining(joining) if joining.vote.is_some() && joining.target.address == *candidate)
}

/// The node whose disk or address is concerned.
fn ailing(fault: &Fault) -> Option<usize> {
    if let Fault::DiskHangs(node) | Fault::Disk(node, ..) | Fault::Unreachable(node, _) | Fault::Reachable(node) = fault
    {
        Some(*node)
    } else {
        None
    }
}
