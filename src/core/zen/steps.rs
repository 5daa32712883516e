//! The changes by which a master made its last states, one after the other: a node that is sent several at once can show each of
//! them to those who want to know of every change.
//!
//! Nothing is decided by them. Elasticsearch sends the newest state only, and its nodes skip the others.

use crate::cluster::{ClusterState, Diff, StateId};
use std::collections::VecDeque;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

/// How many are kept.
const STEPS_MAX: usize = 32;

/// How many bytes of what users wrote they hold, about.
const BYTES_MAX: usize = 256 << 10;

/// The last steps, each made from the one before.
#[derive(Clone, Debug, Default)]
pub struct Steps {
    steps: VecDeque<Arc<Diff>>,
    bytes: usize,
}

/// They tell of the past only.
impl Hash for Steps {
    fn hash<H: Hasher>(&self, _: &mut H) {}
}

impl Steps {
    /// Takes in the step that comes next, or begins anew with it; of too many or too large ones the first are forgotten.
    pub(super) fn push(&mut self, step: Arc<Diff>) {
        if self.steps.back().is_some_and(|last| last.to != step.from) {
            *self = Steps::default();
        }
        self.bytes = self.bytes.saturating_add(bytes(&step));
        self.steps.push_back(step);
        while self.steps.len() > STEPS_MAX || self.bytes > BYTES_MAX {
            let Some(first) = self.steps.pop_front() else { break };
            self.bytes = self.bytes.saturating_sub(bytes(&first));
        }
    }

    /// The steps that lead from a state to another, if all of them are known.
    pub(super) fn between(&self, from: StateId, to: StateId) -> Vec<Arc<Diff>> {
        let known = self.steps.iter().skip_while(|step| step.from != from);
        let steps: Vec<Arc<Diff>> = known.take_while(|step| step.from != to).cloned().collect();
        if steps.last().is_some_and(|last| last.to == to) { steps } else { Vec::new() }
    }
}

/// How many bytes of what users wrote a step holds. Metadata of indices is not looked at, and kept out by its size.
fn bytes(step: &Diff) -> usize {
    let metadata = &step.metadata;
    let keys = metadata.keys.put.iter().map(|(key, held)| key.len() + held.value.len());
    let settings =
        metadata.persistent.put.iter().chain(&metadata.transient.put).map(|(key, value)| key.len() + value.len());
    let names = metadata.keys.removed.iter().chain(&metadata.persistent.removed).chain(&metadata.transient.removed);
    let opaque = if metadata.indices.put.is_empty() && metadata.templates.put.is_empty() { 0 } else { BYTES_MAX + 1 };
    keys.chain(settings).chain(names.map(|key| key.len())).fold(opaque, usize::saturating_add)
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
    use crate::cluster::{KeyValue, Uuid, Version};

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
    fn a_step_that_is_too_large_is_not_kept_and_neither_are_those_before_it() {
        let (mut steps, small, mut large) = (Steps::default(), state(2), state(3));
        steps.push(step(1, 2));
        large.metadata.keys.insert("k".into(), KeyValue::new("x".repeat(BYTES_MAX), (large.term, large.version)));
        steps.push(Arc::new(Diff::between(&small, &large)));
        assert_eq!((steps.steps.len(), steps.bytes), (0, 0));
        steps.push(step(3, 4));
        assert_eq!(steps.between(state(3).id(), state(4).id()).len(), 1);
        assert!(steps.between(state(1).id(), state(4).id()).is_empty());
    }

    #[test]
    fn only_the_last_steps_are_kept() {
        let mut steps = Steps::default();
        (1..=40).for_each(|from| steps.push(step(from, from + 1)));
        assert!(steps.between(state(8).id(), state(41).id()).is_empty());
        assert_eq!(steps.between(state(9).id(), state(41).id()).len(), STEPS_MAX);
    }
}
