//! The lab, which has other election algorithms beside Zen, and the arena, in which all of them meet.
//!
//! Pure as the core is, and no part of a node that was not told to elect by one of them.

use zazen_core::{cluster, protocol, service, wire, zen};
use zazen_simulator::{sim, zen68};

pub mod arena;
pub mod lab;
