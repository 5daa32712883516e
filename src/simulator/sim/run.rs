//! One random run: hurt a cluster, heal it, and demand that it recovers.
//!
//! Everything is drawn from the seed (`run_params`), and happens in a world of its own (`run_world`). Phase one hurts in
//! episodes with calm between them; phase two heals everything or a part and demands one master within a bound computed
//! from the settings, and phase three disturbs single followers and demands that the master stays (`liveness`). Mirrors
//! `AbstractCoordinatorTestCase.Cluster` (7.x).

use super::check::{Phase, Service, Storms};
use super::liveness::{Mended, is_stable};
use super::run_params::{RunOptions, RunParams};
use super::run_world::{Run, STOPPED};
use super::watch::Violation;
use super::{Clients, Counters, Fault, Histories, Mode as Cut, WatcherTotals, World};
use crate::protocol::Time;
use crate::zen::{Mode, Zen};
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

/// What a run showed.
#[derive(Clone, Debug)]
pub struct Report {
    /// What it consisted of.
    pub counters: Counters,
    /// How many terms had a master.
    pub masterships: usize,
    /// How many states were committed.
    pub committed: usize,
    /// How many updates were asked for.
    pub issued: u64,
    /// How many updates were acknowledged.
    pub acknowledged: usize,
    /// What clients were told.
    pub told: BTreeMap<&'static str, u64>,
    /// How long the cluster took to recover, each time that it was healed and did.
    pub recoveries: Vec<Duration>,
    /// The same while nodes were sick, links slow, or times longer than by default.
    pub hard_recoveries: Vec<Duration>,
    /// How often the next faults came before it had recovered.
    pub interrupted: u64,
    /// How many faults struck while a publish was under way.
    pub struck: u64,
    /// How many disturbances the master outlived.
    pub disturbances: u64,
    /// What was found out about the histories of the clients.
    pub histories: Histories,
    /// How many leases were granted.
    pub grants: usize,
    /// What watchers were told.
    pub watched: WatcherTotals,
    /// What clients got while a majority was well.
    pub service: Service,
    /// The most that nodes sent and wrote.
    pub storms: Storms,
    /// The virtual time at the end.
    pub lasted: Duration,
    /// Whether wiped disks left no quorum of what was decided, so that nothing could be demanded.
    pub quorum_lost: bool,
    /// A hash of everything that happened, if one was wanted.
    pub hash: Option<u64>,
    /// The last lines of the trace, if one was kept.
    pub trace: Vec<String>,
}

impl Report {
    /// Why the run proves little, if it does.
    pub fn vacuous(&self) -> Option<&'static str> {
        if self.quorum_lost {
            Some("no quorum was left of the disks")
        } else if self.acknowledged < 50 {
            Some("fewer than 50 acknowledged updates")
        } else if self.masterships < 2 {
            Some("no change of master")
        } else if self.histories.is_trivial() {
            Some("too few operations at once")
        } else if self.struck == 0 {
            Some("no fault while a publish was under way")
        } else {
            None
        }
    }
}

/// A run in which a rule was broken.
#[derive(Clone, Debug)]
pub struct Failure {
    /// The rule, and how.
    pub violation: Violation,
    /// What was drawn.
    pub draw: RunParams,
    /// After how many events.
    pub event: u64,
    /// When.
    pub at: Time,
    /// The last lines of the trace, if one was kept.
    pub trace: Vec<String>,
}

/// Makes one run.
pub fn run(options: &RunOptions) -> Result<Report, Box<Failure>> {
    let draw = RunParams::new(options);
    let mut run = Run::new(options, draw.clone());
    let verdict = catch_unwind(AssertUnwindSafe(|| run.all()));
    let violation = match verdict {
        Ok(Ok(())) => return Ok(run.report()),
        Ok(Err(violation)) => violation,
        Err(panic) => Violation::assertion(panic.as_ref()),
    };
    if violation.checker == STOPPED {
        return Ok(run.report());
    }
    let (event, at) = (run.world.counters().events, run.world.now());
    Err(Box::new(Failure { violation, draw, event, at, trace: run.world.take_trace() }))
}

/// Busy clients ask for all their updates within one episode, which may show nothing.
const EPISODES_MIN: u32 = 3;
/// A run that hurts for longer than this was drawn too hard to go on with.
const HURT_MAX: Duration = Duration::from_secs(120);

impl Run {
    fn all(&mut self) -> Result<(), Violation> {
        if let Some(arrows) = self.draw.first_links {
            self.world.inject(Fault::Graph(arrows, Cut::Hole));
        }
        self.keep_back_late();
        self.begin_sick();
        self.world.start_all();
        self.hurt()?;
        self.hurt_again()?;
        let mended = self.heal();
        let everybody = self.well();
        self.quorum_lost = !self.bears_without_others(&everybody);
        if self.quorum_lost {
            return Ok(());
        }
        self.world.watch.timely.begin(Phase::Well, &mended.group);
        let healed = self.healed();
        self.quorum_lost = !self.keeps_quorum(&mended)?;
        if self.quorum_lost {
            return Ok(());
        }
        let Mended { mut group, is_all, .. } = mended;
        self.demand_recovery_since(healed, &group)?;
        if group.len() < everybody.len() && self.rng.percent(50) && self.is_led_from_within(&group) {
            self.demand_welcome(&group, &everybody)?;
            group = everybody.clone();
            self.world.watch.timely.begin(Phase::Well, &group);
        }
        if !is_all {
            self.world.inject(Fault::Mend);
            group = everybody;
            self.world.watch.timely.begin(Phase::Well, &group);
            self.demand_recovery(&group)?;
        }
        self.demand_service(&group)?;
        if self.is_led_from_within(&group) {
            self.demand_stability(&group)?;
        }
        self.demand_another(&group)?;
        self.demand_answers(&group)?;
        self.demand_voters(&group)?;
        self.histories = self.world.watch.judge_histories(self.world.now())?;
        Ok(())
    }

    /// Several episodes of faults with calm between them, until enough updates were asked for.
    fn hurt(&mut self) -> Result<(), Violation> {
        let end = self.world.now() + HURT_MAX;
        let mut episodes = 0;
        while (self.world.watch.issued() < self.draw.updates || episodes < EPISODES_MIN) && self.world.now() < end {
            episodes += 1;
            for fault in self.draw.plan.standing_faults() {
                self.world.inject(fault);
            }
            self.begin_anew();
            let span = Duration::from_millis(self.rng.between(500, 5_000));
            self.world.watch.timely.begin(Phase::Hurt, &[]);
            self.run_episode(self.world.now() + span)?;
            self.give_roles_back();
            self.world.inject(Fault::Heal);
            let calm = Duration::from_millis(self.rng.between(200, 4_000));
            self.calm(self.world.now() + calm)?;
        }
        Ok(())
    }

    /// Mostly there is no calm before the end: what is to recover is hurt.
    fn hurt_again(&mut self) -> Result<(), Violation> {
        if self.rng.percent(30) {
            return Ok(());
        }
        for fault in self.draw.plan.standing_faults() {
            self.world.inject(fault);
        }
        self.begin_anew();
        let span = Duration::from_millis(self.rng.between(500, 5_000));
        self.world.watch.timely.begin(Phase::Hurt, &[]);
        self.run_episode(self.world.now() + span)
    }

    fn begin_anew(&mut self) {
        self.draw.plan.begin_anew(self.world.now());
        self.draw.half_well.begin_anew(self.world.now());
    }

    /// Nothing goes wrong until `end`.
    fn calm(&mut self, end: Time) -> Result<(), Violation> {
        let healed = self.healed();
        let everybody = self.well();
        self.world.watch.timely.begin(Phase::Well, &everybody);
        if self.run_while(end, |world| !is_stable(world, &everybody, &[]))? {
            self.recovered(healed);
        } else {
            self.interrupted += 1;
        }
        self.run_clients(end)
    }

    fn run_episode(&mut self, end: Time) -> Result<(), Violation> {
        while self.next_fault() <= end {
            let at = self.next_fault();
            if at > self.world.now() {
                self.run_clients(at)?;
            }
            if self.draw.half_well.next_at().is_some_and(|next| next <= at) {
                if let Some(act) = self.draw.half_well.take() {
                    self.act(act);
                }
                continue;
            }
            // Every other fault waits for a publish to strike, and some for an election.
            let patience = (self.world.now() + Duration::from_millis(200)).min(end);
            match self.rng.below(100) {
                0..50 => self.run_while(patience, |world| !is_publishing(world))?,
                50..65 => self.run_while(patience, |world| !is_electing(world))?,
                _ => false,
            };
            if let Some(fault) = self.draw.plan.take() {
                let fault = self.aim(fault);
                let fault = self.worsen(fault);
                self.struck += u64::from(is_publishing(&self.world));
                self.inject(fault);
            }
        }
        self.run_clients(end)
    }

    /// When the next fault of either kind begins or ends.
    fn next_fault(&self) -> Time {
        let next = self.draw.plan.next_at();
        self.draw.half_well.next_at().map_or(next, |other| other.min(next))
    }

    /// Some faults of single nodes hit the master; what ends them is healing.
    fn aim(&mut self, fault: Fault) -> Fault {
        let master = self.world.participants().find(|(_, zen)| zen.mastership().is_some()).map(|(node, _)| node);
        let Some(master) = master.filter(|_| self.rng.percent(30)) else {
            return fault;
        };
        if let Fault::Isolate(_, mode) = fault
            && mode != Cut::Up
        {
            Fault::Isolate(master, mode)
        } else if let Fault::Pause(_) = fault {
            Fault::Pause(master)
        } else {
            fault
        }
    }

    /// Some of the processes that end take what is on their disk with them.
    fn worsen(&mut self, fault: Fault) -> Fault {
        if let Fault::Kill(node) | Fault::PowerLoss(node) = fault
            && self.rng.percent(self.draw.wipe_percent)
            && self.may_wipe(node)
        {
            self.world.watch.wiped(node);
            return Fault::Wipe(node);
        }
        fault
    }

    fn report(&mut self) -> Report {
        let trace = self.world.take_trace();
        let watch = &self.world.watch;
        Report {
            counters: self.world.counters().clone(),
            masterships: watch.checkers.masterships(),
            committed: watch.checkers.descent.len(),
            issued: watch.issued(),
            acknowledged: watch.acknowledged(),
            told: watch.told.clone(),
            recoveries: self.recoveries.clone(),
            hard_recoveries: self.hard_recoveries.clone(),
            interrupted: self.interrupted,
            struck: self.struck,
            disturbances: self.disturbances,
            histories: self.histories.clone(),
            grants: watch.grants(),
            watched: watch.watched().clone(),
            service: watch.timely.service.clone(),
            storms: watch.storm.storms.clone(),
            lasted: self.world.now().since(Time::ZERO),
            quorum_lost: self.quorum_lost,
            hash: self.is_hashed.then(|| self.world.trace_hash()),
            trace,
        }
    }
}

fn is_publishing(world: &World<Zen, Clients>) -> bool {
    world.participants().any(|(_, zen)| zen.is_publishing())
}

fn is_electing(world: &World<Zen, Clients>) -> bool {
    world.participants().any(|(_, zen)| matches!(zen.mode(), Mode::Electing(_) | Mode::Joining(_)))
}
