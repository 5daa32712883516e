//! S7: queues are bounded. That every question is answered is checked where the clients are, in `clients`.

use super::broken;
use crate::sim::watch::Violation;
use crate::zen::Zen;

/// More than this a node never keeps, whatever happens in a run of the simulator.
const QUEUED_MAX: usize = 20_000;

/// Looks at the sizes of what grows.
#[derive(Clone, Debug, Default, Hash)]
pub struct Answered;

impl Answered {
    pub(super) fn handled(&mut self, zen: &Zen) -> Result<(), Violation> {
        let kept = zen.open_questions() + zen.open_calls();
        if kept <= QUEUED_MAX {
            return Ok(());
        }
        broken("S7 queues are bounded", format!("{} keeps {kept} questions and calls", zen.local().name))
    }
}
