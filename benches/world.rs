//! How many events a second the world carries out for a participant that costs next to nothing.

use divan::counter::ItemsCount;
use std::fmt;
use std::time::Duration;
use zazen::protocol::{Call, Disk, Effect, Effects, Input, Level, Protocol, Remark, Rng, Standing, Time, Timers};
use zazen::sim::{Unwatched, World};

const EVENTS: u64 = 200_000;

/// Stores nothing and says nothing.
#[derive(Clone, Debug, Default)]
struct Nothing;

impl Disk for Nothing {
    type Write = ();

    fn apply(&mut self, (): &()) {}

    fn is_lazy((): &()) -> bool {
        false
    }
}

impl fmt::Display for Nothing {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        Ok(())
    }
}

impl Remark for Nothing {
    fn level(&self) -> Level {
        Level::Debug
    }
}

/// Pings a random peer about each millisecond, and replies.
struct Pinger {
    rng: Rng,
    peers: u64,
    calls: u64,
    timers: Timers<char>,
}

impl Protocol for Pinger {
    type Peer = u64;
    type Message = u64;
    type Disk = Nothing;
    type View = ();
    type Question = ();
    type Answer = ();
    type Note = Nothing;
    type Timer = char;

    fn handle(&mut self, now: Time, input: Input<Self>, out: &mut Effects<Self>) {
        match input {
            Input::Received { exchange, message } => out.push(Effect::Reply { exchange, message }),
            Input::Started | Input::Woke => {
                self.calls += 1;
                self.timers.set('p', now + Duration::from_micros(self.rng.between(500, 1_500)));
                let (to, call, message) = (self.rng.below(self.peers), Call(self.calls), self.calls);
                let timeout = Duration::from_secs(1);
                out.push(Effect::Send { to, call, message, timeout });
            }
            Input::Replied { .. }
            | Input::Failed { .. }
            | Input::LinkClosed { .. }
            | Input::Stored(_)
            | Input::Resolved(_)
            | Input::Asked { .. } => {}
        }
    }

    fn next_deadline(&self) -> Option<(Time, char)> {
        self.timers.next()
    }

    fn standing(&self) -> Standing<u64> {
        Standing { mode: 'p', term: 0, version: 0, leader: None }
    }
}

fn main() {
    divan::main();
}

#[divan::bench(args = [3, 50, 1_000])]
fn events(bencher: divan::Bencher<'_, '_>, nodes: u64) {
    bencher.counter(ItemsCount::new(EVENTS)).with_inputs(|| world(nodes)).bench_local_refs(|world| {
        for _ in 0..EVENTS {
            world.step().expect("nobody objects");
        }
    });
}

fn world(nodes: u64) -> World<Pinger> {
    let mut world = World::new(1, Unwatched);
    for peer in 0..nodes {
        world.add(peer, Vec::new(), move |boot| Pinger {
            rng: boot.rng,
            peers: nodes,
            calls: 0,
            timers: Timers::default(),
        });
    }
    world.start_all();
    world
}
