//! What Zazen endures: long trials of its own, without peers.

mod alarm;
mod beside;
mod large;
mod secure;
mod soak;
mod storm;
mod swarm;
mod sweep;
mod transport;
mod watched;
mod writer;

pub(crate) use alarm::AlarmArgs;
pub(crate) use large::LargeArgs;
pub(crate) use secure::SecureArgs;
pub(crate) use soak::SoakArgs;
pub(crate) use storm::StormArgs;
pub(crate) use swarm::SwarmArgs;
pub(crate) use watched::WatchedArgs;
