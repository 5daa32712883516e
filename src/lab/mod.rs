//! The other election algorithms, each as one file to be read, on the same trait as Zen.
//!
//! They are for comparing and for teaching: their known faults are kept, and shown in tests.

pub mod bully;

use crate::protocol::Disk;
use std::convert::Infallible;
use std::fmt;

/// The id of a process, which is also its address and its rank: the higher one wins where the algorithm says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rank(pub u32);

impl fmt::Display for Rank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.0)
    }
}

/// The disk of an algorithm that keeps nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Diskless;

impl Disk for Diskless {
    type Write = Infallible;

    fn apply(&mut self, write: &Infallible) {
        match *write {}
    }

    fn is_lazy(write: &Infallible) -> bool {
        match *write {}
    }
}
