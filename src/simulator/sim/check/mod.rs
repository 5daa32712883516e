//! What must always hold, checked after every event: a file for each rule.
//!
//! A checker looks at the nodes from outside and at what they tell each other and their clients; it shares nothing with
//! the code that it checks but the meaning of the data. [`chronicle`] and [`heard`] look at no node: they judge what
//! clients of real ones wrote down.

mod acknowledged;
mod answered;
mod applied;
mod backed;
pub mod chronicle;
mod configured;
mod descent;
mod fencing;
pub mod heard;
mod histories;
mod kept;
pub mod linear;
mod one_master;
mod one_state;
mod order;
mod promises;
#[cfg(test)]
mod sample;
mod storm;
mod timely;
mod watched;

pub use acknowledged::Acknowledged;
pub use answered::Answered;
pub use applied::Applied;
pub use backed::Backed;
pub use configured::Configured;
pub use descent::Descent;
pub use fencing::Fencing;
pub use histories::Histories;
pub use kept::Kept;
pub use one_master::OneMaster;
pub use one_state::OneState;
pub use order::{Finished, Order};
pub use promises::Promises;
pub use storm::{Peak, Storm, Storms};
pub use timely::{Bounds, Phase, Service, Tally, Timely, failure};
pub use watched::{Watched, WatcherTotals};

use super::watch::{Violation, Watch};
use crate::cluster::ClusterState;
use crate::protocol::Time;
use crate::zen::{Memory, Message, Write, Zen};
use std::sync::Arc;

/// All checkers that look at nodes.
#[derive(Clone, Debug, Default, Hash)]
pub struct Checkers {
    one_master: OneMaster,
    /// Knows the committed states, which others ask for.
    pub descent: Descent,
    one_state: OneState,
    backed: Backed,
    applied: Applied,
    promises: Promises,
    answered: Answered,
    /// Judges leases.
    pub fencing: Fencing,
}

impl Checkers {
    /// How often the nodes had another master.
    pub fn masterships(&self) -> usize {
        self.one_master.masterships()
    }
}

impl Watch<Zen> for Checkers {
    fn booted(&mut self, _at: Time, node: usize, zen: &Zen) -> Result<(), Violation> {
        self.applied.booted(node);
        self.descent.booted(node);
        self.promises.booted(node, zen)
    }

    fn handled(&mut self, _at: Time, node: usize, zen: &Zen) -> Result<(), Violation> {
        self.one_master.handled(zen)?;
        self.one_state.handled(node, zen)?;
        if self.descent.handled(node, zen)?
            && let Some(state) = self.descent.committed(&self.descent.newest())
        {
            self.fencing.committed(state)?;
        }
        self.backed.handled(node, zen, &self.descent)?;
        self.applied.handled(node, zen, &self.descent)?;
        self.answered.handled(zen)
    }

    fn sent(&mut self, _at: Time, from: usize, _to: usize, message: &Message) -> Result<(), Violation> {
        self.descent.sent(from, message)?;
        self.promises.sent(from, message)
    }

    fn wrote(&mut self, _at: Time, node: usize, write: &Write) -> Result<(), Violation> {
        self.descent.wrote(node, write)
    }

    fn applied(&mut self, _at: Time, node: usize, view: &Arc<ClusterState>) -> Result<(), Violation> {
        self.applied.shown(node, view, &self.descent)
    }

    fn synced(&mut self, _at: Time, node: usize, disk: &Memory) -> Result<(), Violation> {
        self.descent.synced(node, disk);
        self.backed.synced(node, disk);
        self.promises.synced(node, disk);
        Ok(())
    }
}

fn broken(checker: &'static str, what: String) -> Result<(), Violation> {
    Err(Violation { checker, what })
}
