//! Random runs in which nothing is stopped: which flaws a search finds that knows none of the scripts.
//!
//! The nodes run at this protocol's pace, whatever they speak: a run lasts some minutes, and Zen took one and a half to
//! notice a silent node.

use super::Oracle;
use crate::sim::run::Run;
use crate::sim::run_params::Healing;
use crate::sim::{RunOptions, RunParams};
use crate::zen::Tuning;
use crate::zen::rules::{Dialect, Rules};
use std::collections::BTreeMap;
use std::time::Duration;

/// For so long a healed cluster is left alone before it is judged.
const REST: Duration = Duration::from_secs(90);
/// How many updates the clients of a run ask for at least.
const UPDATES: u64 = 200;

/// What a person typed for the nodes of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Typed {
    /// Nothing, as is the default.
    Nothing,
    /// The right number.
    Majority,
}

/// A kind of random run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    /// What the nodes speak.
    pub dialect: Dialect,
    /// Their `minimum_master_nodes`.
    pub typed: Typed,
}

/// Makes one run and tells every flaw that showed in it.
pub fn witnessed(kind: Kind, seed: u64) -> BTreeMap<Oracle, String> {
    let options = RunOptions {
        seed,
        nodes: None,
        updates: UPDATES,
        tuning: Tuning::default(),
        rules: Rules::of(kind.dialect),
        half_well: false,
        until: None,
        trace: None,
    };
    let mut draw = RunParams::new(&options);
    draw.minimum = (kind.typed == Typed::Majority).then_some(draw.eligible as u32 / 2 + 1);
    // Whoever stays cut off has no master, and rightly so.
    draw.healing = Healing::All;
    // Old nodes go by no voting sets, so that none tells which disks they can do without.
    draw.wipe_percent = 0;
    let mut run = Run::new(&options, draw);
    run.world.watch.witness = Some(super::Witness::default());
    // Nobody types anything else while it runs, and Zen hands nothing over.
    run.world.watch.retire_operators();
    // That a run comes to no good end is for the oracles to say.
    let _ = run.all();
    run.world.watch.fall_silent();
    let _ = run.world.run_for(REST);
    let now = run.world.now();
    let seen = run.world.watch.witness.take().unwrap_or_default();
    // An update that is asked of a node that stands still takes as long as that lasts, and rightly so.
    let oracles = Oracle::ALL.into_iter().filter(|oracle| *oracle != Oracle::SlowUpdate);
    let judged = oracles.map(|oracle| (oracle, oracle.judge(&seen, now, &[], oracle.span())));
    judged.filter_map(|(oracle, found)| Some((oracle, found?))).collect()
}
