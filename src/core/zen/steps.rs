//! The changes by which a master made its last states, one after the other: a node that is sent several at once can show each of
//! them to those who want to know of every change.
//!
//! Nothing is decided by them. Elasticsearch sends the newest state only, and its nodes skip the others.

use crate::cluster::{ClusterState, Diff, StateId};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// How many are kept, and sent at once.
const STEPS_MAX: usize = 32;

/// How many bytes the values of keys in them have that are sent at once.
const BYTES_MAX: usize = 256 << 10;

/// The last steps, each made from the one before.
#[derive(Clone, Debug, Default)]
pub struct Steps(VecDeque<Arc<Diff>>);

/// They tell of the past only.
impl Hash for Steps {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Steps {
    /// Takes in the step that comes next, or begins anew with it.
    pub(super) fn push(&mut self, step: Arc<Diff>) {
        if self.0.back().is_some_and(|last| last.to != step.from) {
            self.0.clear();
        }
        if self.0.len() >= STEPS_MAX {
            self.0.pop_front();
        }
        self.0.push_back(step);
    }

    /// The steps that lead from a state to another, if they are known and not too large.
    pub(super) fn between(&self, from: StateId, to: StateId) -> Vec<Arc<Diff>> {
        let known = self.0.iter().skip_while(|step| step.from != from);
        let steps: Vec<Arc<Diff>> = known.take_while(|step| step.from != to).cloned().collect();
        let bytes = steps.iter().flat_map(|step| &step.metadata.keys.put).map(|(_, held)| held.value.len());
        let is_whole = steps.last().is_some_and(|last| last.to == to);
        if is_whole && bytes.sum::<usize>() <= BYTES_MAX { steps } else { Vec::new() }
    }
}

/// The states that steps make of one, in their order; none if they do not belong to it.
pub(super) fn passed(base: &ClusterState, steps: &[Arc<Diff>]) -> Vec<Arc<ClusterState>> {
    let mut states: Vec<Arc<ClusterState>> = Vec::new();
    for step in steps.iter().take(STEPS_MAX) {
        match step.apply(states.last().map_or(base, |last| last)) {
            Ok(state) => states.push(Arc::new(state)),
            Err(_) => return Vec::new(),
        }
    }
    states
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{Uuid, Version};

    fn state(number: u64) -> ClusterState {
        let version = Version::new(number).expect("it is below 2^53");
        ClusterState { version, uuid: Uuid::from_u128(number.into()), ..ClusterState::initial("one".into()) }
    }

    fn step(from: u64, to: u64) -> Arc<Diff> {
        Arc::new(Diff::between(&state(from), &state(to)))
    }

    #[test]
    fn steps_lead_from_one_state_to_another_or_are_not_told() {
        let mut steps = Steps::default();
        (1..=4).for_each(|from| steps.push(step(from, from + 1)));
        let told = steps.between(state(2).id(), state(4).id());
        assert_eq!(told, [step(2, 3), step(3, 4)]);
        assert_eq!(
            passed(&state(2), &told).iter().map(|one| one.id()).collect::<Vec<_>>(),
            [state(3).id(), state(4).id()]
        );
        assert!(passed(&state(1), &told).is_empty(), "they are made from another state");
        assert!(
            steps.between(state(2).id(), state(9).id()).is_empty()
                && steps.between(state(0).id(), state(4).id()).is_empty()
        );
        steps.push(step(3, 6));
        assert!(steps.between(state(2).id(), state(3).id()).is_empty(), "a proposal that was taken back is none");
    }

    #[test]
    fn only_the_last_steps_are_kept() {
        let mut steps = Steps::default();
        (1..=40).for_each(|from| steps.push(step(from, from + 1)));
        assert!(steps.between(state(8).id(), state(41).id()).is_empty());
        assert_eq!(steps.between(state(9).id(), state(41).id()).len(), STEPS_MAX);
    }
}
