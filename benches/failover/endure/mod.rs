//! What Zazen endures: long trials of its own, without peers.

mod alarm;
mod storm;
mod swarm;
mod sweep;
mod transport;
mod writer;

pub(crate) use alarm::AlarmArgs;
pub(crate) use storm::StormArgs;
pub(crate) use swarm::SwarmArgs;
