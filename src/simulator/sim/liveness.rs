//! What a random run demands once its cluster is healed: one master within the bound, that it stays, that it answers.
//!
//! How the cluster is hurt before stands in `run`, what it can bear in `quorum_analysis`.

use super::check::Phase;
use super::clients::Clients;
use super::operation::MASTER_TIMEOUT;
use super::run_params::Healing;
use super::run_world::Run;
use super::watch::Violation;
use super::{Fault, Mode, World};
use crate::cluster::EphemeralId;
use crate::protocol::{Protocol, Time};
use crate::zen::quorum::next_voting_set;
use crate::zen::{Tuning, Zen};
use std::time::Duration;

/// The rule that a cluster recovers.
pub(super) const ONE_MASTER: &str = "L1 one master within the bound";
/// All nodes stand still for so long at least, in milliseconds.
const STANDSTILL_MS: u64 = 800;
/// What is measured on two clocks may differ by so much.
const CLOCKS_APART: Duration = Duration::from_millis(50);
/// Whoever's clock goes slower than this waits for longer than its settings say.
const CLOCK_MIN: f64 = 0.9;
/// A disturbance lasts no longer, in milliseconds.
const LASTS_MAX_MS: u64 = 3_000;
/// For so long a healthy cluster is asked.
const CALM: Duration = Duration::from_secs(1);
/// The rule that nobody bullies a master.
const STAYS: &str = "L2 a healthy master is never replaced";

/// The rule that who was late gets its vote back.
const VOTERS: &str = "L5 all who are well vote";
/// Who was late with a state is no voter for this many times as long.
const LATENESS: u32 = 4;

/// What a recovery begins with.
#[derive(Clone, Copy)]
pub(super) struct Healed {
    at: Time,
    /// Whether nodes are sick, links slow, or times longer than by default.
    is_hard: bool,
}

/// What was healed.
pub(super) struct Mended {
    /// Who must recover.
    pub(super) group: Vec<usize>,
    /// Those of them who reach one another, if only through one: who leads needs nobody else.
    pub(super) connected: Vec<usize>,
    /// Whether that is all there is to heal.
    pub(super) is_all: bool,
}

impl Run {
    /// Heals what was drawn.
    pub(super) fn heal(&mut self) -> Mended {
        for node in self.world.watch.retire_operators() {
            self.world.inject(Fault::Kill(node));
        }
        self.settle_sick();
        let everybody = self.well();
        let quorum = if self.draw.healing == Healing::All { None } else { self.draw_quorum() };
        // Whoever sees fewer candidates than the operator asks for chooses none, and a spoke may see only the hub and itself.
        // Candidates for a first forming learn whom a voter expects only with its vote: with links cut, several may wait for
        // the same two voters, of whom each sees another candidate first.
        let is_agreed =
            self.draw.hosts * 2 > self.draw.eligible || everybody.iter().all(|node| self.knows_cluster(*node));
        let may_be_sparse = self.minimum() <= 2 && is_agreed;
        match (self.draw.healing, quorum) {
            (Healing::Quorum, Some(group)) => {
                for node in (0..self.draw.nodes).filter(|node| !group.contains(node)) {
                    self.world.inject(Fault::Isolate(node, Mode::Hole));
                }
                self.world.inject(Fault::HealOnly(group.clone()));
                Mended { connected: group.clone(), group, is_all: true }
            }
            (Healing::Star, Some(group)) if may_be_sparse => {
                self.world.inject(Fault::Heal);
                self.cut_all_but(|hub, one, two| one == hub || two == hub, group[0]);
                Mended { connected: everybody.clone(), group: everybody, is_all: false }
            }
            (Healing::Graph, Some(group)) if may_be_sparse => {
                self.world.inject(Fault::Heal);
                let nodes = self.draw.nodes;
                let open: Vec<bool> = (0..nodes * nodes).map(|_| self.rng.percent(60)).collect();
                let in_group = |node| group.contains(&node);
                // Who sees few may win with the vote of one whose disk crawls, and waits for it then with each state.
                let is_well = |node| everybody.contains(&node);
                self.cut_all_but(
                    |hub, one, two| {
                        let is_spoke = (one == hub || two == hub) && in_group(one) && in_group(two);
                        is_spoke || open[one * nodes + two] && is_well(one) && is_well(two)
                    },
                    group[0],
                );
                Mended { group: everybody, connected: group, is_all: false }
            }
            (Healing::All | Healing::Quorum | Healing::Star | Healing::Graph, _) => {
                self.world.inject(Fault::Heal);
                Mended { connected: everybody.clone(), group: everybody, is_all: true }
            }
        }
    }

    /// Swallows what is sent along each arrow that does not work.
    fn cut_all_but(&mut self, works: impl Fn(usize, usize, usize) -> bool, hub: usize) {
        for from in 0..self.draw.nodes {
            for to in (0..self.draw.nodes).filter(|to| *to != from && !works(hub, from, *to)) {
                self.world.inject(Fault::Link(from, to, Mode::Hole));
            }
        }
    }

    /// A random group whose eligible nodes are a quorum; one of them stands first.
    fn draw_quorum(&mut self) -> Option<Vec<usize>> {
        let size = self.draw.eligible / 2 + 1;
        let well = self.well();
        let mut nodes: Vec<usize> = (0..self.draw.eligible).collect();
        self.rng.shuffle(&mut nodes);
        nodes.retain(|node| well.contains(node));
        let mut group: Vec<usize> = nodes.into_iter().take(size).collect();
        group.extend((self.draw.eligible..self.draw.nodes).filter(|_| self.rng.percent(50)));
        group.retain(|node| well.contains(node));
        self.is_quorum(&group).then_some(group)
    }

    /// L1: what was healed has a master, and how long that took.
    pub(super) fn demand_recovery(&mut self, group: &[usize]) -> Result<(), Violation> {
        self.demand_recovery_since(self.healed(), group)
    }

    /// The same, of which some time has passed.
    pub(super) fn demand_recovery_since(&mut self, healed: Healed, group: &[usize]) -> Result<(), Violation> {
        self.demand_master_since(healed.at, group)?;
        self.recovered(healed);
        Ok(())
    }

    /// Whether those who reach one another need nobody else still, once a master must know who is not there. As long as it
    /// cannot know, it may have made voters of others: no algorithm leads without them then.
    pub(super) fn keeps_quorum(&mut self, Mended { group, connected, .. }: &Mended) -> Result<bool, Violation> {
        let (until, crawling) = (self.world.now() + self.detection(), self.crawling());
        let is_there = self.run_while(until, |world| !is_stable(world, &led(world, group, &crawling), &crawling))?;
        Ok(is_there || self.bears_without_others(connected))
    }

    /// Takes down how long it took since all was healed.
    pub(super) fn recovered(&mut self, healed: Healed) {
        let took = self.world.now().since(healed.at);
        // Settings that were asked for before may have come to nodes meanwhile.
        let is_hard = healed.is_hard || self.is_hard();
        if is_hard {
            self.hard_recoveries.push(took)
        } else {
            self.recoveries.push(took)
        }
        let beside = if is_hard { ", beside sick nodes" } else { "" };
        self.world.remark(&format!("= recovered after {took:?}{beside}"));
    }

    /// All is healed that will be: tells what a recovery has to do from now on.
    pub(super) fn healed(&self) -> Healed {
        Healed { at: self.world.now(), is_hard: self.is_hard() }
    }

    /// Whether more is in the way of a recovery than that nodes have to find each other.
    fn is_hard(&self) -> bool {
        let usual = Tuning::default();
        let is_slow = self.draw.half_well.slow.is_some() || !self.world.transfer_left().is_zero();
        // One time that is shorter than usual does not make up for another that is longer.
        let takes_longer = |zen: &Zen| {
            let tuning = zen.tuning();
            tuning.recovery_bound() > usual.recovery_bound() || tuning.detection_bound() > usual.detection_bound()
        };
        let is_late = self.draw.plan.slowest_clock() < CLOCK_MIN;
        !self.sick.is_empty() || is_slow || is_late || self.world.participants().any(|(_, zen)| takes_longer(zen))
    }

    /// L1: one master, followed by all who reach it, all at its version, within the bound.
    pub(super) fn demand_master(&mut self, group: &[usize]) -> Result<(), Violation> {
        self.demand_master_since(self.world.now(), group)
    }

    fn demand_master_since(&mut self, healed: Time, group: &[usize]) -> Result<(), Violation> {
        let bound = self.recovery_bound() + self.world.transfer_left();
        let healed = healed + self.await_write()?;
        let crawling = self.crawling();
        let is_there =
            self.run_while(healed + bound, |world| !is_stable(world, &led(world, group, &crawling), &crawling))?;
        if is_there {
            return Ok(());
        }
        let standings: Vec<String> = self.world.participants().map(|(node, zen)| stands(node, zen)).collect();
        let what = format!("no stable master within {bound:?} after healing: {}", standings.join("; "));
        Err(Violation { checker: ONE_MASTER, what })
    }

    /// Waits until somebody writes, where a master's disk hangs: before that nothing tells anybody. Tells how long that took.
    fn await_write(&mut self) -> Result<Duration, Violation> {
        let from = self.world.now();
        let is_idle = |zen: &Zen| zen.mastership().is_some() && !zen.is_publishing();
        let is_unnoticed = |world: &World<Zen, Clients>| {
            world.participants().any(|(node, zen)| is_idle(zen) && world.is_hanging(node))
        };
        self.run_while(from + MASTER_TIMEOUT, is_unnoticed)?;
        Ok(self.world.now().since(from))
    }

    /// Whether the master is one of those who are well: one whose disk crawls may be replaced.
    pub(super) fn is_led_from_within(&self, group: &[usize]) -> bool {
        led(&self.world, group, &self.crawling()).len() == group.len()
    }

    fn recovery_bound(&self) -> Duration {
        let crowd = self.draw.nodes;
        self.longest(|tuning| tuning.recovery_bound() + tuning.crowd_bound(crowd))
            + self.draw.half_well.transfer_bound()
    }

    fn detection(&self) -> Duration {
        self.longest(Tuning::detection_bound)
    }

    /// The longest of a time on all nodes, which count it on their own clocks.
    fn longest(&self, time: impl Fn(&Tuning) -> Duration) -> Duration {
        let longest = self.world.participants().map(|(_, zen)| time(zen.tuning())).max();
        longest.unwrap_or_else(|| time(&Tuning::default())).div_f64(self.draw.plan.slowest_clock().min(1.0))
    }

    /// L3: whoever asks a healthy cluster is answered rightly and soon.
    pub(super) fn demand_service(&mut self, group: &[usize]) -> Result<(), Violation> {
        // What operators asked for before may still take effect.
        self.world.watch.take_time();
        self.run_clients(self.world.now() + MASTER_TIMEOUT * 2)?;
        self.demand_master(group)?;
        let phase = if self.sick.is_empty() { Phase::Calm } else { Phase::OneSick };
        self.world.watch.timely.begin(phase, group);
        self.run_clients(self.world.now() + CALM)?;
        self.world.watch.timely.begin(Phase::Well, group);
        Ok(())
    }

    /// L2: a healthy master is never replaced by what single followers go through, nor by a standstill of all.
    pub(super) fn demand_stability(&mut self, group: &[usize]) -> Result<(), Violation> {
        self.demand_master(group)?;
        for _ in 0..self.rng.between(1, 3) {
            let Some((master, process)) = self.master(group) else {
                return Err(Violation { checker: ONE_MASTER, what: "it was lost again".into() });
            };
            let others: Vec<usize> = group.iter().copied().filter(|node| *node != master).collect();
            let Some(victim) = self.rng.pick(&others).copied() else {
                return Ok(());
            };
            if !self.can_do_without(master, victim, group) {
                continue;
            }
            self.disturbances += 1;
            self.disturb(master, &process, victim, group)?;
        }
        Ok(())
    }

    /// L2: those who were cut off come back, whatever terms they are in, and the master stays.
    pub(super) fn demand_welcome(&mut self, group: &[usize], everybody: &[usize]) -> Result<(), Violation> {
        // Whoever led there has noticed by then that it is alone.
        self.run_clients(self.world.now() + self.recovery_bound())?;
        self.demand_master(group)?;
        let Some((master, process)) = self.master(group) else {
            return Err(Violation { checker: ONE_MASTER, what: "it was lost again".into() });
        };
        // What an operator asked of a node that stands still since then is no part of its coming back.
        for node in self.world.watch.asked_by_operators() {
            if !self.world.is_running(node) {
                self.world.inject(Fault::Kill(node));
            }
        }
        let began = self.world.now();
        self.world.inject(Fault::Heal);
        self.demand_recovery(everybody)?;
        match self.master(everybody) {
            Some((_, now)) if now == process || self.was_told_to_hand_over(began) => Ok(()),
            Some((other, _)) => {
                let what = format!("n{master} was replaced by n{other} because others came back");
                Err(Violation { checker: STAYS, what })
            }
            None => Err(Violation { checker: ONE_MASTER, what: "it was lost again".into() }),
        }
    }

    /// What is done to a follower, or to all nodes at once, and what ends it.
    fn draw_disturbance(&mut self, victim: usize, group: &[usize]) -> (Vec<Fault>, Vec<Fault>) {
        let all = |fault: fn(usize) -> Fault| group.iter().map(|node| fault(*node)).collect();
        match self.rng.below(5) {
            0 => (vec![Fault::Kill(victim)], vec![Fault::Start(victim)]),
            1 => (vec![Fault::Pause(victim)], vec![Fault::Resume(victim)]),
            2 => (vec![Fault::Isolate(victim, Mode::Hole)], vec![Fault::HealOnly(group.to_vec())]),
            3 => (vec![Fault::PowerLoss(victim)], vec![Fault::Start(victim)]),
            _ => (all(Fault::Pause), all(Fault::Resume)),
        }
    }

    fn disturb(
        &mut self,
        master: usize,
        process: &EphemeralId,
        victim: usize,
        group: &[usize],
    ) -> Result<(), Violation> {
        let (hurt, mend) = self.draw_disturbance(victim, group);
        let (began, process) = (self.world.now(), process.clone());
        let is_replaced = move |world: &World<Zen, Clients>| {
            world
                .participant(master)
                .is_none_or(|zen| zen.mastership().is_none() || zen.local().ephemeral_id != process)
        };
        if hurt.len() > 1 {
            // A standstill is told from silence only by those who wait for an answer.
            let patience = self.world.now() + self.detection();
            let waits = |world: &World<Zen, Clients>| world.participant(master).is_some_and(|zen| zen.open_calls() > 0);
            self.run_while(patience, |world| !waits(world))?;
        }
        let shortest = if hurt.len() > 1 { self.standstill_ms() } else { 1 };
        let lasts = Duration::from_millis(self.rng.between(shortest, LASTS_MAX_MS.max(shortest)));
        let what = hurt.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
        let others: Vec<usize> = group.iter().copied().filter(|node| *node != victim).collect();
        let phase = if hurt.len() > 1 { Phase::Hurt } else { Phase::OneSick };
        self.world.watch.timely.begin(phase, &others);
        hurt.into_iter().for_each(|fault| self.world.inject(fault));
        let first = self.run_while(self.world.now() + lasts, |world| !is_replaced(world))?;
        mend.into_iter().for_each(|fault| self.world.inject(fault));
        // What is under way may still be noticed; the next disturbance must not meet this one.
        let settling = self.detection() * 2;
        let second = self.run_while(self.world.now() + settling, |world| !is_replaced(world))?;
        self.world.watch.timely.begin(Phase::Well, group);
        let bound = self.recovery_bound();
        let third =
            self.run_while(self.world.now() + bound, |world| !is_replaced(world) && !is_stable(world, group, &[]))?;
        if first || second || is_replaced(&self.world) {
            if self.was_told_to_hand_over(began) {
                return self.demand_master(group);
            }
            let what = format!("n{master} was replaced because of {what}");
            return Err(Violation { checker: STAYS, what });
        }
        if third {
            return Ok(());
        }
        let what = format!("not all followed again within {bound:?} after {what}");
        Err(Violation { checker: ONE_MASTER, what })
    }

    /// Whether a master does since then what an operator has asked for, however late that reached it.
    fn was_told_to_hand_over(&self, began: Time) -> bool {
        self.world.watch.is_ordered_since(began - self.detection())
    }

    /// What shows a standstill on every clock, half of a ping timeout more than one: a shorter one is silence to those who
    /// take a single lost ping for the end.
    fn standstill_ms(&self) -> u64 {
        let shown = self.longest(|tuning| tuning.fd_ping_timeout * 3 / 2) + CLOCKS_APART;
        STANDSTILL_MS.max(u64::try_from(shown.as_millis()).unwrap_or(u64::MAX))
    }

    fn master(&self, group: &[usize]) -> Option<(usize, EphemeralId)> {
        let leads = |node: &&usize| self.world.participant(**node).is_some_and(|zen| zen.mastership().is_some());
        let master = *group.iter().find(leads)?;
        Some((master, self.world.participant(master)?.local().ephemeral_id.clone()))
    }

    pub(super) fn ask_for_update(&mut self, node: usize) {
        let now = self.world.now();
        let request = self.world.watch.passer(now);
        let ticket = self.world.ask(node, request.question.clone());
        self.world.watch.asked(ticket, node, request, now);
    }

    /// Whoever asks a healthy cluster is answered, and what was asked before has been answered by then.
    pub(super) fn demand_answers(&mut self, group: &[usize]) -> Result<(), Violation> {
        self.world.watch.fall_silent();
        self.run_clients(self.world.now() + MASTER_TIMEOUT * 8)?;
        let asked = self.world.now();
        let before = self.world.watch.acknowledged();
        let tickets = group.len();
        group.iter().for_each(|node| self.ask_for_update(*node));
        self.run_clients(asked + MASTER_TIMEOUT)?;
        let done = self.world.watch.acknowledged() - before;
        // A process that was not healed and stands still answers nobody; an answer may wait for a disk that hangs.
        let is_healed = |node: usize| self.world.is_running(node) && !self.world.is_hanging(node);
        let is_well = |node: &usize| is_healed(*node) && !self.sick.contains(node);
        let stuck = self.world.watch.waiting().filter(is_well).count();
        if done == tickets && stuck == 0 {
            return Ok(());
        }
        let what = format!("{done} of {tickets} updates were acknowledged after healing, {stuck} questions are open");
        Err(Violation { checker: "S7 every question is answered", what })
    }

    /// L5: whoever is well votes again, though nothing else happens. Where disks or links are slow a node may be late
    /// again and again.
    pub(super) fn demand_voters(&mut self, group: &[usize]) -> Result<(), Violation> {
        if !self.sick.is_empty() || self.draw.half_well.slow.is_some() {
            return Ok(());
        }
        let bound = self.recovery_bound() * LATENESS;
        let is_there = self.run_while(self.world.now() + bound, |world| !has_all_voters(world, group))?;
        if is_there {
            return Ok(());
        }
        let standings: Vec<String> = self.world.participants().map(|(node, zen)| stands(node, zen)).collect();
        let what = format!("somebody who is well has no vote {bound:?} after all was well: {}", standings.join("; "));
        Err(Violation { checker: VOTERS, what })
    }
}

/// Whether everybody who lives votes, as far as their number is odd.
fn has_all_voters(world: &World<Zen, Clients>, group: &[usize]) -> bool {
    let leads = |node: &usize| world.participant(*node).filter(|zen| zen.mastership().is_some());
    let Some(master) = group.iter().find_map(leads) else {
        return false;
    };
    let state = master.applied();
    let live = state.nodes.eligible().map(|node| node.id.clone()).collect();
    let own = &state.metadata.voting.own;
    *own == next_voting_set(own, &live, &master.local().id)
}

/// The group, and with it the node that leads it although its disk crawls, if one does: it serves those who are well.
fn led(world: &World<Zen, Clients>, group: &[usize], crawling: &[usize]) -> Vec<usize> {
    let leads = |node: &&usize| world.participant(**node).is_some_and(|zen| zen.mastership().is_some());
    let outside = if group.iter().any(|node| leads(&node)) { None } else { crawling.iter().find(leads) };
    group.iter().chain(outside).copied().collect()
}

/// Whether one node of the group is master, with nothing in flight, and all who reach it and are reached by it follow it
/// at its version. One whose disk crawls always has something in flight while clients write.
pub(super) fn is_stable(world: &World<Zen, Clients>, group: &[usize], crawling: &[usize]) -> bool {
    let running = |node: usize| world.participant(node).filter(|_| world.is_running(node));
    let leads = |node: &usize| running(*node).is_some_and(|zen| zen.mastership().is_some());
    let mut masters = group.iter().copied().filter(leads);
    let (Some(at), None) = (masters.next(), masters.next()) else {
        return false;
    };
    let Some(master) = running(at) else {
        return false;
    };
    let applied = master.applied().id();
    let reaches = |node: &&usize| world.link(**node, at) == Mode::Up && world.link(at, **node) == Mode::Up;
    (!master.is_publishing() || crawling.contains(&at))
        && group.iter().filter(reaches).all(|node| {
            running(*node).is_some_and(|zen| {
                zen.open_master().is_some_and(|followed| followed.same_process(master.local()))
                    && zen.applied().id() == applied
            })
        })
}

fn stands(node: usize, zen: &Zen) -> String {
    let standing = zen.standing();
    format!("n{node} {} term {} applied {}", standing.mode, standing.term, zen.applied().id())
}
