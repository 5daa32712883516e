//! How the work of a cluster grows with its size: a cold start, then masters killed one after the other.
//!
//! Nothing fails but the masters; each is started again before the next one dies. What is measured is events, messages,
//! bytes and virtual time; how long the machine takes for it is the caller's to measure.

use super::cluster_world::{self, NodeSpec};
use super::watch::Violation;
use super::{Counters, Fault, Unwatched, World};
use crate::cluster::{Address, Roles};
use crate::zen::{Message, Tuning, Zen};
use std::time::Duration;

/// How large a cluster is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Size {
    /// All nodes.
    pub nodes: usize,
    /// Those that can be master: the first ones.
    pub eligible: usize,
}

/// What happens in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// All nodes start at once.
    ColdStart,
    /// The master dies.
    MasterKilled,
    /// It is started again.
    TakenIn,
}

/// One phase, and what it took.
#[derive(Clone, Debug)]
pub struct Phase {
    /// What happened.
    pub kind: Kind,
    /// How long it took, in virtual time.
    pub took: Duration,
    /// Events that were carried out.
    pub events: u64,
    /// Requests, replies and tells that were sent.
    pub messages: u64,
    /// Their bytes, if they were measured.
    pub bytes: u64,
}

/// Starts a cluster of this size at once and kills so many masters, each after the one before was replaced.
pub fn measure(
    size: Size,
    kills: usize,
    sizer: Option<fn(&Message) -> usize>,
    mut done: impl FnMut(&Phase),
) -> Result<(), Violation> {
    let mut world = World::new(1, Unwatched);
    world.without_hash();
    if let Some(sizer) = sizer {
        world.measure_messages(sizer);
    }
    let seeds: Vec<Address> = (0..size.eligible).map(cluster_world::address).collect();
    for node in 0..size.nodes {
        let roles = Roles { master: node < size.eligible, ..Roles::ALL };
        let spec = NodeSpec::new(&format!("n{node:04}"), cluster_world::address(node), &seeds);
        cluster_world::add(&mut world, NodeSpec { roles, ..spec });
    }
    world.start_all();
    done(&phase(&mut world, Kind::ColdStart)?);
    for _ in 0..kills {
        let Some(master) = cluster_world::only_master(&world) else {
            return Err(Violation { checker: "L1 one master", what: "nobody leads".into() });
        };
        world.inject(Fault::Kill(master));
        done(&phase(&mut world, Kind::MasterKilled)?);
        world.inject(Fault::Start(master));
        done(&phase(&mut world, Kind::TakenIn)?);
    }
    Ok(())
}

/// Runs until one master leads all that run.
fn phase(world: &mut World<Zen>, kind: Kind) -> Result<Phase, Violation> {
    let (began, before) = (world.now(), world.counters().clone());
    let bound = Tuning::default().recovery_bound();
    // The whole world is looked at seldom: that costs more than an event.
    while !is_settled(world) {
        if world.now() > began + bound {
            return Err(Violation { checker: "L1 one master within the bound", what: format!("{kind:?}: {bound:?}") });
        }
        world.run_for(Duration::from_millis(1))?;
    }
    let after = world.counters();
    Ok(Phase {
        kind,
        took: world.now().since(began),
        events: after.events - before.events,
        messages: messages(after) - messages(&before),
        bytes: after.bytes - before.bytes,
    })
}

fn messages(counters: &Counters) -> u64 {
    counters.requests + counters.replies + counters.tells
}

/// Whether one master leads every node that runs, all of them at its version, with no dead one among them.
fn is_settled(world: &World<Zen>) -> bool {
    let Some(master) = cluster_world::only_master(world).and_then(|node| world.participant(node)) else {
        return false;
    };
    let applied = master.applied();
    let running = world.participants().count();
    applied.nodes.len() == running
        && !master.is_publishing()
        && world.participants().all(|(_, zen)| {
            zen.applied().id() == applied.id()
                && zen.open_master().is_some_and(|followed| followed.same_process(master.local()))
        })
}
