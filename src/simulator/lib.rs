//! The proof of Zazen: the simulator, which tries the core in worlds of its own, and the lab, which sets election algorithms
//! side by side.
//!
//! Pure as the core is, and no part of a node.

use zazen_core::{cluster, protocol, service, settings, wire, zen};

pub mod lab;
pub mod sim;
