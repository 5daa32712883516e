//! Every order in which a few nodes can hear of things, up to a bound, on the real core.
//!
//! A tree is walked depth first. From each state every step is tried that is possible in it (`step`); a state that
//! was reached before, with as much of the bound left, is not walked again. What must always hold is checked in each.
//! Time passes only when a node's next deadline is let pass, so the clocks of nodes differ at will.

mod node;
mod state;
mod step;

pub use step::Step;

use super::check::Checkers;
use super::watch::Violation;
use crate::zen::rules::Rules;
use state::State;
use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};

/// How far to go.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// How many nodes there are.
    pub nodes: usize,
    /// Whether they have formed a cluster before the walk begins.
    pub is_formed: bool,
    /// How many steps are taken in a row.
    pub depth: usize,
    /// How many messages are lost.
    pub drops: u32,
    /// How many processes end; each may start again.
    pub crashes: u32,
    /// How many deadlines pass.
    pub deadlines: u32,
    /// How many updates clients ask for.
    pub updates: u32,
    /// Whether the search for a master is walked in every order as well, rather than at once.
    pub all_orders: bool,
    /// How many states are visited at the most.
    pub states: usize,
    /// The protections that the nodes keep.
    pub rules: Rules,
}

/// What a walk came to.
#[derive(Clone, Debug, Default)]
pub struct Walk {
    /// How many different states were visited.
    pub states: usize,
    /// How many steps were taken.
    pub steps: u64,
    /// How many of them led to a state that was known.
    pub folded: u64,
    /// The longest row of steps.
    pub deepest: usize,
    /// How many states have nothing behind them within the bounds.
    pub ends: u64,
    /// In how many states some master had committed something.
    pub committed: u64,
    /// Whether the walk ended before all was visited.
    pub is_cut: bool,
}

/// A rule that was broken, and the way to it.
#[derive(Clone, Debug)]
pub struct Broken {
    /// The rule.
    pub violation: Violation,
    /// The steps that led there.
    pub path: Vec<String>,
}

/// Where a walk is.
struct Tree<'a> {
    bounds: Bounds,
    /// The states that were visited, and how many steps were left in each.
    known: BTreeMap<u64, usize>,
    walk: Walk,
    path: Vec<Step>,
    heard: &'a mut dyn FnMut(&Walk) -> bool,
}

/// So many states are visited between two reports.
const REPORT_EACH: usize = 10_000;

/// Walks every order within the bounds; tells now and then how far it is, and is cut if that is answered with false.
pub fn explore(bounds: Bounds, mut heard: impl FnMut(&Walk) -> bool) -> Result<Walk, Box<Broken>> {
    let mut tree = Tree { bounds, known: BTreeMap::new(), walk: Walk::default(), path: Vec::new(), heard: &mut heard };
    let begun = catch_unwind(AssertUnwindSafe(|| State::begin(bounds)));
    let begun = begun.unwrap_or_else(|panic| Err(Violation::assertion(panic.as_ref())));
    match begun.and_then(|state| tree.visit(&state, bounds.depth)) {
        Ok(()) => Ok(tree.walk),
        Err(violation) => {
            let path = tree.path.iter().map(ToString::to_string).collect();
            Err(Box::new(Broken { violation, path }))
        }
    }
}

impl Tree<'_> {
    /// Walks everything behind a state. When a rule is broken the path is left as it led there.
    fn visit(&mut self, state: &State, left: usize) -> Result<(), Violation> {
        if !self.is_news(state, left) {
            self.walk.folded += 1;
            return Ok(());
        }
        let steps = state.steps();
        self.walk.ends += u64::from(steps.is_empty());
        if left == 0 || self.walk.is_cut {
            return Ok(());
        }
        for step in steps {
            self.walk.steps += 1;
            self.path.push(step.clone());
            self.walk.deepest = self.walk.deepest.max(self.path.len());
            let mut next = state.clone();
            let taken = catch_unwind(AssertUnwindSafe(|| next.take(&step)));
            taken.unwrap_or_else(|panic| Err(Violation::assertion(panic.as_ref())))?;
            self.visit(&next, left - 1)?;
            self.path.pop();
        }
        Ok(())
    }

    /// Whether a state is new, or was reached with fewer steps left.
    fn is_news(&mut self, state: &State, left: usize) -> bool {
        let before = self.known.insert(state.hash_state(), left);
        if let Some(before) = before {
            if before >= left {
                self.known.insert(state.hash_state(), before);
                return false;
            }
            return true;
        }
        self.walk.states += 1;
        self.walk.committed += u64::from(!state.checkers().descent.is_empty());
        self.walk.is_cut |= self.walk.states >= self.bounds.states;
        if self.walk.states.is_multiple_of(REPORT_EACH) {
            self.walk.is_cut |= !(self.heard)(&self.walk);
        }
        true
    }
}
