//! Three nodes that hold an election, serve and lose nodes, while a fourth one says what it likes.
//!
//! The fourth is no stranger: what it says comes from its own address and in its own name, as the seal between nodes makes
//! sure. It may not be elected, and does not make up states, which only a master may. The rules S1 to S7 hold for the
//! others, and no message ends any of them.

#![no_main]

#[allow(dead_code, reason = "the fuzzer uses its own part of it")]
#[path = "../../simulator/hostile/cunning.rs"]
mod cunning;
#[allow(dead_code, reason = "the fuzzer uses its own part of it")]
#[path = "../../generate/messages.rs"]
mod messages;
#[allow(dead_code, reason = "the fuzzer uses its own part of it")]
#[path = "../../generate/states.rs"]
mod states;
#[allow(dead_code, reason = "the fuzzer uses its own part of it")]
#[path = "../../generate/tasks.rs"]
mod tasks;

use arbitrary::Arbitrary;
use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use std::time::Duration;
use zazen::cluster::{Address, Roles};
use zazen::protocol::Rng;
use zazen::service::{Query, Question, Task, Txn};
use zazen::sim::check::Checkers;
use zazen::sim::cluster_world::{NodeSpec, add, address, prepare};
use zazen::sim::{Fault, World};
use zazen::wire::{decode, encode};
use zazen::zen::{Message, Zen};

/// How many nodes are honest.
const HONEST: usize = 3;

/// How much is done in a run.
const STEPS_MAX: usize = 40;

/// Longer than anything that a client waits for here.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Arbitrary, Debug)]
struct Run<'a> {
    seed: u64,
    steps: Vec<Step<'a>>,
}

#[derive(Arbitrary, Debug)]
enum Step<'a> {
    Wait {
        millis: u16,
    },
    Kill {
        node: u8,
    },
    Start {
        node: u8,
    },
    Freeze {
        node: u8,
    },
    Thaw {
        node: u8,
    },
    Cut {
        one: u8,
        other: u8,
    },
    Mend,
    Write {
        node: u8,
        key: u8,
    },
    Read {
        node: u8,
        key: u8,
    },
    /// A message that fits the node that it is said to.
    Cunning {
        to: u8,
        seed: u64,
    },
    /// Any message.
    Random {
        to: u8,
        kind: u8,
        seed: u64,
    },
    /// These bytes, if they are a message.
    Bytes {
        to: u8,
        bytes: &'a [u8],
    },
}

type Cluster = World<Zen, Checkers>;

fuzz_target!(|run: Run<'_>| {
    let mut world = cluster(run.seed);
    for step in run.steps.iter().take(STEPS_MAX) {
        take(&mut world, step);
        let outcome = world.run_for(Duration::from_millis(1));
        assert!(outcome.is_ok(), "{outcome:?}");
    }
    let outcome = world.run_for(Duration::from_secs(1));
    assert!(outcome.is_ok(), "{outcome:?}");
});

fn cluster(seed: u64) -> Cluster {
    let mut world = World::new(seed, Checkers::default());
    prepare(&mut world);
    let hosts: Vec<Address> = (0..HONEST).map(address).collect();
    for (index, name) in ["a", "b", "c", "d"].into_iter().enumerate() {
        let roles = Roles { master: index < HONEST, ..Roles::ALL };
        add(&mut world, NodeSpec { roles, ..NodeSpec::new(name, address(index), &hosts) });
    }
    world.start_all();
    world
}

fn take(world: &mut Cluster, step: &Step<'_>) {
    let honest = |node: u8| usize::from(node) % HONEST;
    match *step {
        Step::Wait { millis } => {
            let outcome = world.run_for(Duration::from_millis(u64::from(millis) % 4_000));
            assert!(outcome.is_ok(), "{outcome:?}");
        }
        Step::Kill { node } => world.inject(Fault::Kill(honest(node))),
        Step::Start { node } => world.inject(Fault::Start(honest(node))),
        Step::Freeze { node } => world.inject(Fault::Pause(honest(node))),
        Step::Thaw { node } => world.inject(Fault::Resume(honest(node))),
        Step::Cut { one, other } if honest(one) != honest(other) => {
            world.inject(Fault::Cut(honest(one), honest(other), zazen::sim::Mode::Hole));
        }
        Step::Cut { .. } => {}
        Step::Mend => world.inject(Fault::Mend),
        Step::Write { node, key } => ask(world, honest(node), {
            let task = Task::Txn(Txn::put(format!("k{}", key % 4), format!("{key}")));
            Question::Submit { task, timeout: PATIENCE, master_timeout: PATIENCE }
        }),
        Step::Read { node, key } => ask(world, honest(node), {
            let query = Query::Key { key: format!("k{}", key % 4).into() };
            Question::Read { query, master_timeout: PATIENCE }
        }),
        Step::Cunning { to, seed } => {
            let lie = world.participant(honest(to)).map(|zen| cunning::cunning(zen, &mut Rng::new(seed)));
            say(world, honest(to), lie);
        }
        Step::Random { to, kind, seed } => {
            let kind = Message::KINDS[usize::from(kind) % Message::KINDS.len()];
            say(world, honest(to), Some(messages::random_message_of(kind, &mut Rng::new(seed))));
        }
        Step::Bytes { to, bytes } => say(world, honest(to), decode(bytes).ok()),
    }
}

fn ask(world: &mut Cluster, node: usize, question: Question) {
    if world.is_running(node) {
        world.ask(node, question);
    }
}

/// Has the fourth node say something, in its own name.
fn say(world: &mut Cluster, to: usize, message: Option<Message>) {
    let Some(message) = message.filter(|message| !is_of_a_master(message)) else { return };
    let Some(own) = world.participant(HONEST).map(Zen::local) else { return };
    let Ok(own) = serde_json::to_value(&**own) else { return };
    let Ok(mut value) = serde_json::from_slice::<Value>(&encode(&message)) else { return };
    if let Some(node) = value.pointer_mut("/body/from/node") {
        *node = own;
    }
    if let Ok(message) = decode(value.to_string().as_bytes()) {
        world.say(HONEST, to, message);
    }
}

/// Whether it is what a master says about states. Who makes them up is trusted to be one.
fn is_of_a_master(message: &Message) -> bool {
    matches!(message, Message::Publish { .. } | Message::Commit { .. })
}
