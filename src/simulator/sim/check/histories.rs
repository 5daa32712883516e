//! What was found out about histories, in numbers: how many could be judged, and whether that shows anything.
//!
//! Whether a history fits into an order is for `linear` to say.

/// With fewer pairs of operations whose order matters, a history shows little.
const CONFLICTS_MIN: usize = 10;

/// What was found out about all histories of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Histories {
    /// How many pairs of keys have a history.
    pub count: u64,
    /// How many operations they hold.
    pub operations: u64,
    /// How many of these ended unknown.
    pub unknown: u64,
    /// How many histories could not be judged.
    pub inconclusive: u64,
    /// How many pairs of operations overlapped so that their order matters.
    pub conflicts: u64,
}

impl Histories {
    /// Adds those of another run.
    pub fn add(&mut self, other: &Histories) {
        self.count += other.count;
        self.operations += other.operations;
        self.unknown += other.unknown;
        self.inconclusive += other.inconclusive;
        self.conflicts += other.conflicts;
    }

    /// Whether so little happened at once that nothing is shown.
    pub fn is_trivial(&self) -> bool {
        self.conflicts < CONFLICTS_MIN as u64
    }
}
