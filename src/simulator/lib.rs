//! The proof of Zazen: the simulator, which tries the core in worlds of its own, and Zen as it was, whose flaws it shows there.
//!
//! Pure as the core is, and no part of a node.

use zazen_core::{cluster, protocol, service, wire, zen};
use zazen_operation::settings;

pub mod sim;
pub mod zen68;
