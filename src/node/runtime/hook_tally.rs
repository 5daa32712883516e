//! How often hooks were set off by what, and what became of them. What a hook does is the business of `hooks`.

use parking_lot::Mutex;
use std::collections::BTreeMap;

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Trigger {
    /// There is a master, or one of a higher term.
    MasterElected,
    /// This node is master no more.
    StepDown,
    /// This node has no master.
    NoMaster,
    /// Another node joined.
    NodeJoined,
    /// Another node left or failed.
    NodeLeft,
    /// One more lost node would stop the cluster.
    Reduced,
}

impl Trigger {
    /// All of them.
    pub const ALL: [Trigger; 6] = [
        Trigger::MasterElected,
        Trigger::StepDown,
        Trigger::NoMaster,
        Trigger::NodeJoined,
        Trigger::NodeLeft,
        Trigger::Reduced,
    ];

    /// Its name, as settings have it behind `hooks.`.
    pub fn name(self) -> &'static str {
        match self {
            Trigger::MasterElected => "on_master_elected",
            Trigger::StepDown => "on_step_down",
            Trigger::NoMaster => "on_no_master",
            Trigger::NodeJoined => "on_node_joined",
            Trigger::NodeLeft => "on_node_left",
            Trigger::Reduced => "on_reduced",
        }
    }
}

/// What became of the hooks of an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HookOutcome {
    /// It was carried out.
    Done,
    /// It failed as often as it is tried.
    GivenUp,
    /// There was no room for it.
    Dropped,
}

impl HookOutcome {
    /// What it is called.
    pub fn name(self) -> &'static str {
        match self {
            HookOutcome::Done => "done",
            HookOutcome::GivenUp => "given up",
            HookOutcome::Dropped => "dropped",
        }
    }
}

/// How often hooks ended how.
#[derive(Debug, Default)]
pub struct Tally(Mutex<BTreeMap<(Trigger, HookOutcome), u64>>);

impl Tally {
    pub(super) fn count(&self, trigger: Trigger, outcome: HookOutcome) {
        *self.0.lock().entry((trigger, outcome)).or_default() += 1;
    }

    /// All of it.
    pub fn counts(&self) -> BTreeMap<(Trigger, HookOutcome), u64> {
        self.0.lock().clone()
    }
}
