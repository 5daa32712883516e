//! Watches: every committed change in order, none twice, none missing.

use super::{Descent, broken};
use crate::cluster::{ClusterState, StateId, Term, Version};
use crate::service::watch::{Step, changes};
use crate::sim::watch::Violation;

const RULE: &str = "watches: every change in order, none twice, none missing";

/// What watchers were told in all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WatcherTotals {
    /// Steps.
    pub steps: u64,
    /// States to go on from, because what led to them was not known.
    pub jumps: u64,
    /// How often a watcher went on at another node than before.
    pub moves: u64,
}

impl WatcherTotals {
    /// Adds what those of another run were told.
    pub fn add(&mut self, other: &WatcherTotals) {
        self.steps += other.steps;
        self.jumps += other.jumps;
        self.moves += other.moves;
    }
}

/// Judges what one watcher was told.
#[derive(Debug, Default)]
pub struct Watched {
    /// The state up to which it knows everything.
    at: Option<StateId>,
}

impl Watched {
    /// The state up to which it knows everything; the state before all states at first.
    pub fn rank(&self) -> (Term, Version) {
        self.at.unwrap_or(StateId::NONE).rank()
    }

    /// It was told the next step.
    pub fn stepped(&mut self, descent: &Descent, step: &Step) -> Result<(), Violation> {
        let Some(before) = self.at else {
            return broken(RULE, format!("a step to {} came before any state", step.at));
        };
        let next = descent.after(before).next();
        let Some((from, to)) = descent.committed(&before).zip(next).filter(|(_, next)| next.id() == step.at) else {
            let next = next.map_or_else(|| "nothing".into(), |next| next.id().to_string());
            return broken(RULE, format!("after {before} came {}, but {next} was committed next", step.at));
        };
        if changes(from, to) != step.changes {
            return broken(RULE, format!("the step to {} does not tell what it changed", step.at));
        }
        self.at = Some(step.at);
        Ok(())
    }

    /// It was told to go on from a state.
    pub fn jumped(&mut self, descent: &Descent, state: &ClusterState) -> Result<(), Violation> {
        let id = state.id();
        if descent.committed(&id).is_none() || id.rank() < self.rank() {
            return broken(RULE, format!("it was told to go on from {id}, knowing {:?}", self.at));
        }
        self.at = Some(id);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{ClusterName, KeyValue};

    /// A state in which the key `k` has this version as its value.
    fn state(version: u64) -> ClusterState {
        let mut state = ClusterState::initial(ClusterName::from("one"));
        state.version = Version::new(version).expect("it is below 2^53");
        state.metadata.keys.insert("k".into(), KeyValue::new(version.to_string(), state.rank()));
        state
    }

    fn step(from: u64, to: u64) -> Step {
        Step { at: state(to).id(), changes: changes(&state(from), &state(to)) }
    }

    /// A watcher that was told to go on from state 2, of four.
    fn watched() -> (Descent, Watched) {
        let descent = Descent::line_of((1..=4).map(state));
        let mut watched = Watched::default();
        watched.jumped(&descent, &state(2)).expect("it is committed");
        (descent, watched)
    }

    #[test]
    fn every_change_in_order_is_fine_and_so_is_a_later_state() {
        let (descent, mut watched) = watched();
        assert_eq!(watched.stepped(&descent, &step(2, 3)), Ok(()));
        assert_eq!(watched.rank(), state(3).rank());
        assert_eq!(watched.jumped(&descent, &state(4)), Ok(()));
    }

    #[test]
    fn what_is_missing_told_twice_or_told_wrong_is_caught() {
        let (descent, mut watched) = watched();
        assert!(watched.stepped(&descent, &step(3, 4)).is_err(), "state 3 is missing");
        assert!(watched.stepped(&descent, &step(1, 2)).is_err(), "it knows that");
        assert!(watched.stepped(&descent, &step(2, 5)).is_err(), "no such state was committed");
        let nothing = Step { changes: Vec::new(), ..step(2, 3) };
        assert!(watched.stepped(&descent, &nothing).is_err(), "a change is missing");
        let mut twice = step(2, 3);
        twice.changes.extend(twice.changes.clone());
        assert!(watched.stepped(&descent, &twice).is_err(), "a change is told twice");
        assert!(watched.jumped(&descent, &state(1)).is_err(), "it goes back");
        assert!(watched.jumped(&descent, &state(9)).is_err(), "no such state was committed");
        assert!(Watched::default().stepped(&descent, &step(0, 1)).is_err(), "nothing was told before");
    }
}
