//! The table of all that can enter the arena: what each is called, what it is, and how a world of it is made.

use super::record::{Lookout, Record};
use super::trial::{Play, Trial};
use crate::cluster::{Address, ClusterState};
use crate::lab::roster::{self, Part, ROSTER, Stage};
use crate::lab::{Algorithm, Letter, Participant, Question, Rank, Word};
use crate::protocol::Protocol;
use crate::service::{Answer, Question as ZenQuestion, Task, Txn};
use crate::sim::Watch;
use crate::sim::check::Checkers;
use crate::sim::cluster_world::{self, Described, NodeSpec};
use crate::sim::{Baseline, Boot, Member, Quality, Unwatched, World};
use crate::wire;
use crate::zen::{Message, Tuning, Zen};
use crate::zen68::Dialect;
use std::rc::Rc;
use std::time::Duration;

/// One who can enter the arena.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// What it is called on the command line.
    pub name: &'static str,
    /// What it is, in a few words.
    pub about: &'static str,
    /// Where it is described.
    pub source: &'static str,
    make: fn(&Cast) -> Box<dyn Trial>,
}

impl Entry {
    /// A world of so many nodes, none of which runs; links have the delays of the arena.
    pub fn enter(&self, nodes: usize, seed: u64) -> Box<dyn Trial> {
        (self.make)(&Cast { name: self.name, nodes, seed, normal: arena_normal() })
    }

    /// The same without chance: a hop takes a millisecond, a synced write a fifth of that.
    pub fn enter_plainly(&self, nodes: usize) -> Box<dyn Trial> {
        (self.make)(&Cast { name: self.name, nodes, seed: 0, normal: plain_normal() })
    }
}

/// Who plays.
struct Cast {
    name: &'static str,
    nodes: usize,
    seed: u64,
    normal: Baseline,
}

/// The mean delay of a link, in which times are told.
pub(super) const HOP: Duration = Duration::from_millis(1);

fn arena_normal() -> Baseline {
    let quality = Quality { delay_min_us: 500, delay_max_us: 1_500, ..Quality::default() };
    Baseline { quality, disk_us: (100, 300), lookup_us: (200, 200), loses_unsynced: true }
}

fn plain_normal() -> Baseline {
    let quality = Quality { delay_min_us: 1_000, delay_max_us: 1_000, ..Quality::default() };
    Baseline { quality, disk_us: (200, 200), lookup_us: (200, 200), loses_unsynced: true }
}

/// Everything that can enter, the lab's algorithms first.
pub const FIELD: &[Entry] = &entries();

/// Zen as it was has more than half typed as `discovery.zen.minimum_master_nodes`, unless it says otherwise.
const ZEN: [Entry; 5] = [
    Entry { name: "zen13", about: "Zen before 1.4: a lost master is replaced unasked", source: OLD, make: old_zen },
    Entry {
        name: "zen14",
        about: "Zen of 1.4 to 2.x: whoever had joined before goes first",
        source: OLD,
        make: old_zen,
    },
    Entry { name: "zen68", about: "Zen of 6.8: a typed quorum, the newest state first", source: OLD, make: old_zen },
    Entry { name: "zen68-default", about: "Zen of 6.8 with the default quorum of one", source: OLD, make: old_zen },
    Entry { name: "zazen", about: "Zen with ballots, durability and a quorum", source: "src/core/zen", make: zazen },
];

const OLD: &str = "src/simulator/zen68";

const fn entries() -> [Entry; ROSTER.len() + ZEN.len()] {
    let mut all = [ZEN[0]; ROSTER.len() + ZEN.len()];
    let mut at = 0;
    while at < ROSTER.len() {
        let Part { name, about, source } = ROSTER[at];
        all[at] = Entry { name, about, source, make: lab };
        at += 1;
    }
    let mut zen = 0;
    while zen < ZEN.len() {
        all[at + zen] = ZEN[zen];
        zen += 1;
    }
    all
}

/// The entry of this name.
pub fn entry(name: &str) -> Option<&'static Entry> {
    FIELD.iter().find(|entry| entry.name == name)
}

/// A world of an algorithm of the lab.
fn lab(cast: &Cast) -> Box<dyn Trial> {
    roster::play(cast.name, cast.nodes, Arrange(cast)).expect("the table was made of the roster")
}

/// Makes a world of whatever algorithm it is given: node 0 has rank 1.
struct Arrange<'a>(&'a Cast);

impl Stage for Arrange<'_> {
    type Run = Box<dyn Trial>;

    fn play<A: Algorithm + 'static>(self, make: impl Fn(Rank, A::Persisted) -> A + 'static) -> Box<dyn Trial> {
        let cast = self.0;
        let all: Rc<[Rank]> = (1..=cast.nodes as u32).map(Rank).collect();
        let make = Rc::new(make);
        let lookout = Lookout {
            record: Record::new(cast.nodes),
            nodes: all.iter().copied().zip(0..).collect(),
            is_watch: is_watch::<A::Word>,
            size: size::<A::Word>,
            done_in: |_| None,
            holds: |_, _| true,
        };
        let mut world: World<Participant<A>, _> = World::new(cast.seed, (lookout, Unwatched));
        world.set_normal(cast.normal);
        world.without_hash();
        for &me in all.iter() {
            let (all, make) = (all.clone(), make.clone());
            world.add(me, Vec::new(), move |boot: Boot<'_, Participant<A>>| {
                Participant::new(me, &all, boot.rng, make(me, boot.disk.0))
            });
        }
        Box::new(Play { world, election: Some(Question::HoldElection), probe: None, probes: 0, violation: None })
    }
}

fn is_watch<W: Word>(letter: &Letter<W>) -> bool {
    letter.is_watch()
}

/// Bytes as JSON, as they go over real sockets.
fn size<W: Word>(letter: &Letter<W>) -> usize {
    serde_json::to_vec(letter).map_or(0, |bytes| bytes.len())
}

/// How long a client waits that asks a leader for a write.
const WRITE_WITHIN: Duration = Duration::from_secs(5);

fn zazen(cast: &Cast) -> Box<dyn Trial> {
    zen(cast, &NodeSpec::new("all", cluster_world::address(0), &[]), zazen_holds, Checkers::default())
}

/// Zen as it was, which breaks our rules and is not held to them.
fn old_zen(cast: &Cast) -> Box<dyn Trial> {
    let (name, typed) = match cast.name.strip_suffix("-default") {
        Some(name) => (name, 1),
        None => (cast.name, cast.nodes as u32 / 2 + 1),
    };
    let dialect = Dialect::named(name).expect("the table names dialects");
    let tuning = Tuning { minimum_master_nodes: Some(typed), ..Tuning::default() };
    let all = NodeSpec::new("all", cluster_world::address(0), &[]);
    zen(cast, &NodeSpec { tuning, dialect: Some(dialect), ..all }, old_zen_holds, Unwatched)
}

/// A world whose nodes are set up like this one.
fn zen<P, W>(cast: &Cast, all: &NodeSpec, holds: fn(&P, u64) -> bool, watch: W) -> Box<dyn Trial>
where
    P: Described + Protocol<Question = ZenQuestion, Answer = Answer> + 'static,
    W: Watch<P> + 'static,
{
    let addresses: Vec<Address> = (0..cast.nodes).map(cluster_world::address).collect();
    let lookout = Lookout {
        record: Record::new(cast.nodes),
        nodes: addresses.iter().cloned().zip(0..).collect(),
        is_watch: |message: &Message| matches!(message.kind(), "node_ping" | "master_ping" | "master_pong"),
        size: wire::size,
        done_in,
        holds,
    };
    let mut world: World<P, _> = World::new(cast.seed, (lookout, watch));
    world.set_normal(cast.normal);
    world.without_hash();
    for node in 0..cast.nodes {
        let name = format!("n{:03}", node + 1);
        let spec = NodeSpec::new(&name, cluster_world::address(node), &addresses);
        cluster_world::add(&mut world, NodeSpec { tuning: all.tuning.clone(), dialect: all.dialect, ..spec });
    }
    Box::new(Play { world, election: None, probe: Some(write), probes: 0, violation: None })
}

fn done_in(answer: &Answer) -> Option<u64> {
    if let Answer::Done { at, .. } = answer { Some(at.term.get()) } else { None }
}

/// Each is a key of its own, so that it can be looked for at the end.
fn write(number: u64) -> ZenQuestion {
    let task = Task::Txn(Txn::put(key(number), "1"));
    ZenQuestion::Submit { task, timeout: WRITE_WITHIN, master_timeout: WRITE_WITHIN }
}

fn zazen_holds(zen: &Zen, number: u64) -> bool {
    holds(zen.applied(), number)
}

fn old_zen_holds(member: &Member, number: u64) -> bool {
    holds(member.applied(), number)
}

fn holds(state: &ClusterState, number: u64) -> bool {
    state.metadata.keys.get(key(number).as_str()).is_some()
}

fn key(number: u64) -> String {
    format!("probe-{number}")
}
