//! Watches: every committed change in order, none twice, none missing.

use super::{Descent, broken};
use crate::cluster::{ClusterState, StateId, Term, Version};
use crate::service::watch::{Step, changes};
use crate::sim::watch::Violation;

const RULE: &str = "watches: every change in order, none twice, none missing";

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
