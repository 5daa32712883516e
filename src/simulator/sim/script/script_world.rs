//! Where a script is played: a world of nodes without chance, and the story that they tell.
//!
//! A hop takes a millisecond, a synced write 200 µs, and what was not synced is lost in a crash. Messages that are sent
//! at the same time keep their order.

use super::guards::Guards;
use super::mistake::Mistake;
use super::rules::Rules;
use super::story::Story;
use super::words::Words;
use crate::cluster::NodeId;
use crate::protocol::Protocol;
use crate::service::Question;
use crate::sim::cluster_world::{self, NodeSpec};
use crate::sim::witness::Witness;
use crate::sim::{Baseline, Member, Quality, World};
use crate::zen::rules::Rules as Protections;
use crate::zen68::Dialect;
use std::cell::RefCell;
use std::rc::Rc;

const HOP_US: u64 = 1_000;
pub(super) const DISK_US: u64 = 200;

/// The world of a script, its story written down and everything checked, and a witness for what no guard stops.
pub(super) type StoryWorld = World<Member, (Story, (Guards, Witness))>;

/// Where a script is played.
pub struct ScriptWorld {
    pub(super) world: StoryWorld,
    pub(super) cast: Vec<NodeSpec>,
    pub(super) rules: Rc<RefCell<Rules>>,
    /// The protections that the nodes keep which are added.
    pub(super) protections: Protections,
    /// Which Zen of old those are, if they are one.
    pub(super) dialect: Option<Dialect>,
    /// Whether a script may name another one.
    may_change_dialect: bool,
    /// What the last oracle said, if one was asked.
    pub(super) verdict: Option<Result<(), String>>,
    /// Whether this block waited for something that did not come in its time.
    pub(super) gave_up: bool,
}

impl Default for ScriptWorld {
    fn default() -> Self {
        ScriptWorld::new()
    }
}

impl ScriptWorld {
    /// An empty stage.
    pub fn new() -> Self {
        ScriptWorld::keeping(Protections::default())
    }

    /// An empty stage whose nodes are of this Zen, or of none, whatever a script says.
    pub fn under(dialect: Option<Dialect>) -> Self {
        ScriptWorld { dialect, may_change_dialect: false, ..ScriptWorld::new() }
    }

    /// An empty stage whose nodes keep these protections only.
    pub fn keeping(protections: Protections) -> Self {
        let mut world = World::new(0, (Story::new(), (Guards::default(), Witness::default())));
        world.set_normal(Baseline {
            quality: Quality { delay_min_us: HOP_US, delay_max_us: HOP_US, ..Quality::default() },
            disk_us: (DISK_US, DISK_US),
            lookup_us: (DISK_US, DISK_US),
            loses_unsynced: true,
        });
        crate::sim::cluster_world::prepare(&mut world);
        let rules = Rc::new(RefCell::new(Rules::default()));
        let judge = rules.clone();
        world.set_gate(Some(Box::new(move |from, to, message| judge.borrow_mut().judge(from, to, message))));
        ScriptWorld {
            world,
            cast: Vec::new(),
            rules,
            protections,
            dialect: None,
            may_change_dialect: true,
            verdict: None,
            gave_up: false,
        }
    }

    /// What the last oracle said: what it found, or that it found nothing; none if none was asked.
    pub fn verdict(&self) -> Option<Result<(), String>> {
        self.verdict.clone()
    }

    /// Nodes that are added from now on are of this Zen, unless the stage was made for another one.
    pub(super) fn speak(&mut self, dialect: Option<Dialect>) {
        if self.may_change_dialect {
            self.dialect = dialect;
        }
    }

    /// Whether the last block waited for something that did not come in its time.
    pub fn gave_up(&self) -> bool {
        self.gave_up
    }

    /// What the last block has printed, also if it came to no end.
    pub fn printed(&self) -> &[String] {
        &self.world.watch.0.lines
    }

    pub(super) fn say(&mut self, text: impl Into<String>) {
        self.world.watch.0.say(text);
    }

    /// A line about a node.
    pub(super) fn say_of(&mut self, node: usize, text: &str) {
        let width = self.world.watch.0.width();
        let line = format!("{:<width$}  {text}", self.cast[node].name);
        self.say(line);
    }

    /// The index of the node with this name.
    pub(super) fn node(&self, name: &str) -> Result<usize, Mistake> {
        self.cast.iter().position(|spec| *spec.name == *name).ok_or_else(|| {
            let names: Vec<&str> = self.cast.iter().map(|spec| &*spec.name).collect();
            Mistake::new(format!("`{name}` as a node"), names.join(", "))
        })
    }

    /// The nodes that are named, or all if none is.
    pub(super) fn nodes(&self, words: &mut Words<'_>) -> Result<Vec<usize>, Mistake> {
        match words.rest().as_slice() {
            [] | ["all"] => Ok((0..self.cast.len()).collect()),
            names => names.iter().map(|name| self.node(name)).collect(),
        }
    }

    /// The id that a node has at present, or had last.
    pub(super) fn id(&self, name: &str) -> Result<NodeId, Mistake> {
        let node = self.node(name)?;
        let id = self.world.participant(node).map(|member| member.local().id.clone());
        Ok(id.or_else(|| self.world.disk(node).promise.node_id.clone()).unwrap_or_else(|| name.into()))
    }

    /// The name of the node at the address that a participant takes for its leader's.
    pub(super) fn leader_of(&self, node: usize) -> Option<usize> {
        let leader = self.world.participant(node)?.standing().leader?;
        self.world.node_at(&leader)
    }

    /// Whom a client asks that does not care.
    pub(super) fn spokesman(&self) -> Option<usize> {
        let running = || (0..self.cast.len()).find(|node| self.world.is_running(*node));
        cluster_world::only_master(&self.world).or_else(running)
    }

    pub(super) fn ask(&mut self, node: usize, what: &str, question: Question) {
        let what = format!("{what} via {}", self.cast[node].name);
        if self.world.participant(node).is_none() {
            return self.say(format!("{what}: nobody listens there"));
        }
        let asked = question.clone();
        let ticket = self.world.ask(node, question);
        let now = self.world.now();
        self.world.watch.1.0.holders.asked(now, ticket, &asked);
        self.world.watch.1.1.asked(now, ticket, &asked);
        self.world.watch.0.questions.insert(ticket, (node, what));
    }
}
