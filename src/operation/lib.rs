//! What operating a node takes: the settings that are written for it, and what is said of a cluster that is not well.
//!
//! Pure as the core is, and apart from it: nothing here is in the way of a message, so it is built without optimisation,
//! beside the simulator.

use zazen_core::{cluster, protocol, service, zen};

pub mod diagnose;
pub mod settings;
