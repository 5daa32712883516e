//! A state of all nodes, of what is on its way between them, and of what is left of the bounds.
//!
//! Nodes are shared between states: a step copies only the one that it concerns.

use super::node::{Node, Pending};
use super::step::{Parcel, Step};
use super::{Bounds, Checkers};
use crate::cluster::Address;
use crate::protocol::{Call, Exchange, Failure, Input, Rng, Ticket, Time};
use crate::service::{Question, Task, Txn};
use crate::sim::cluster_world::{NodeSpec, address};
use crate::sim::watch::{Violation, Watch};
use std::collections::BTreeSet;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::rc::Rc;
use std::time::Duration;

/// A question may wait for so long; no walk lasts as long.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// What a request is named by: who sent it, in which life, under which number.
const CALL_BITS: u32 = 40;
const LIFE_BITS: u32 = 12;

/// A state.
#[derive(Clone)]
pub(super) struct State {
    nodes: Vec<Rc<Node>>,
    ways: Vec<(usize, Parcel)>,
    /// Who holds a link to whom.
    links: BTreeSet<(usize, usize)>,
    checkers: Rc<Checkers>,
    bounds: Bounds,
    asked: u64,
}

impl State {
    /// All nodes, just started.
    pub(super) fn begin(bounds: Bounds) -> Result<State, Violation> {
        let hosts: Vec<Address> = (0..bounds.nodes).map(address).collect();
        let mut rng = Rng::new(1);
        let mut node = |index: usize| {
            let spec = NodeSpec::new(&format!("n{index}"), address(index), &hosts);
            Rc::new(Node::new(NodeSpec { rules: bounds.rules, ..spec }, rng.fork()))
        };
        let nodes = (0..bounds.nodes).map(&mut node).collect();
        let (ways, links, checkers) = (Vec::new(), BTreeSet::new(), Rc::default());
        let mut state = State { nodes, ways, links, checkers, bounds, asked: 0 };
        for node in 0..bounds.nodes {
            state.start(node)?;
        }
        state.look_around()?;
        if bounds.is_formed {
            state.settle()?;
        }
        Ok(state)
    }

    /// Lets everything arrive and be written, in order, until nothing happens but by a deadline.
    fn settle(&mut self) -> Result<(), Violation> {
        loop {
            let is_due = |node: usize| self.nodes[node].deadline() == Some(false);
            let goes_on = |step: &Step| match step {
                Step::Deliver { .. } | Step::Write(_) => true,
                Step::Wake(node) => is_due(*node),
                Step::Drop { .. } | Step::End(..) | Step::Start(_) | Step::Ask(_) => false,
            };
            let Some(step) = self.steps().into_iter().find(goes_on) else {
                return Ok(());
            };
            self.take(&step)?;
        }
    }

    pub(super) fn checkers(&self) -> &Checkers {
        &self.checkers
    }

    /// What can happen next.
    pub(super) fn steps(&self) -> Vec<Step> {
        let mut steps = Vec::new();
        let mut known = BTreeSet::new();
        for (at, (to, parcel)) in self.ways.iter().enumerate() {
            // Of several that are alike one is enough.
            if !known.insert(self.hash_parcel(*to, parcel)) {
                continue;
            }
            let text = format!("n{to} hears {parcel}");
            if self.bounds.drops > 0 && parcel.is_message() {
                steps.push(Step::Drop { at, text: text.clone() });
            }
            steps.push(Step::Deliver { at, text });
        }
        for (at, node) in self.nodes.iter().enumerate() {
            if node.zen.is_none() {
                steps.push(Step::Start(at));
                continue;
            }
            if node.unwritten() > 0 {
                steps.push(Step::Write(at));
            }
            if node.deadline().is_some_and(|passes| !passes || self.bounds.deadlines > 0) {
                steps.push(Step::Wake(at));
            }
            if self.bounds.crashes > 0 {
                steps.extend((0..=node.unwritten()).map(|written| Step::End(at, written)));
            }
            if self.bounds.updates > 0 && node.zen.as_ref().is_some_and(|zen| zen.mastership().is_some()) {
                steps.push(Step::Ask(at));
            }
        }
        steps
    }

    /// Takes a step.
    pub(super) fn take(&mut self, step: &Step) -> Result<(), Violation> {
        match step {
            Step::Deliver { at, .. } => {
                let (to, parcel) = self.ways.remove(*at);
                self.deliver(to, parcel)?;
            }
            Step::Drop { at, .. } => {
                self.bounds.drops -= 1;
                let (to, parcel) = self.ways.remove(*at);
                self.lose(to, parcel);
            }
            Step::Write(node) => self.written(*node)?,
            Step::Wake(node) => {
                self.bounds.deadlines -= u32::from(self.nodes[*node].deadline() == Some(true));
                let before = self.nodes[*node].unwritten();
                let pending = self.node(*node).wake();
                self.handed_over(*node, before)?;
                self.handled(*node, pending)?;
            }
            Step::End(node, written) => self.end(*node, *written),
            Step::Start(node) => self.start(*node)?,
            Step::Ask(node) => {
                self.bounds.updates -= 1;
                self.ask(*node)?;
            }
        }
        self.look_around()
    }

    fn node(&mut self, node: usize) -> &mut Node {
        Rc::make_mut(&mut self.nodes[node])
    }

    fn handle(&mut self, node: usize, input: Input<crate::zen::Zen>) -> Result<(), Violation> {
        let before = self.nodes[node].unwritten();
        let pending = self.node(node).handle(input);
        self.handed_over(node, before)?;
        self.handled(node, pending)
    }

    /// Tells what a node handed to its disk, behind as many writes as were under way.
    fn handed_over(&mut self, node: usize, before: usize) -> Result<(), Violation> {
        let checkers = Rc::make_mut(&mut self.checkers);
        self.nodes[node].writes().skip(before).try_for_each(|write| checkers.wrote(Time::ZERO, node, write))
    }

    fn synced(&mut self, node: usize) -> Result<(), Violation> {
        Rc::make_mut(&mut self.checkers).synced(Time::ZERO, node, self.nodes[node].disk())
    }

    /// Checks what a node came to, and does what it wants.
    fn handled(&mut self, node: usize, pending: Vec<Pending>) -> Result<(), Violation> {
        let now = Time::ZERO;
        if let Some(zen) = &self.nodes[node].zen {
            Rc::make_mut(&mut self.checkers).handled(now, node, zen)?;
        }
        pending.into_iter().try_for_each(|pending| self.grant(node, pending))
    }

    fn grant(&mut self, node: usize, pending: Pending) -> Result<(), Violation> {
        let life = self.nodes[node].life;
        match pending {
            Pending::Send { to, call, message } => match self.at(&to) {
                Some(to) => self.send(node, to, Parcel::Request { from: node, life, call, message })?,
                None => self.ways.push((node, Parcel::Failed { life, call, why: Failure::Refused })),
            },
            Pending::Tell { to, message } => {
                if let Some(to) = self.at(&to) {
                    self.send(node, to, Parcel::Tell { from: node, message })?;
                }
            }
            Pending::Reply { exchange, message } => {
                if let Some((to, life, call)) = caller(exchange) {
                    self.send(node, to, Parcel::Reply { from: node, life, call, message })?;
                }
            }
            Pending::Link { to } => match self.at(&to).filter(|to| self.nodes[*to].zen.is_some()) {
                Some(to) => {
                    self.links.insert((node, to));
                }
                None => self.ways.push((node, Parcel::Closed { life, peer: to })),
            },
            Pending::Unlink { to } => {
                if let Some(other) = self.at(&to) {
                    self.unlink(node, other);
                }
            }
            Pending::Resolve => self.ways.push((node, Parcel::Resolved { life })),
        }
        Ok(())
    }

    fn at(&self, peer: &Address) -> Option<usize> {
        self.nodes.iter().position(|node| node.spec.address == *peer)
    }

    fn send(&mut self, from: usize, to: usize, parcel: Parcel) -> Result<(), Violation> {
        if let Parcel::Request { message, .. } | Parcel::Tell { message, .. } | Parcel::Reply { message, .. } = &parcel
        {
            Rc::make_mut(&mut self.checkers).sent(Time::ZERO, from, to, message)?;
        }
        self.ways.push((to, parcel));
        Ok(())
    }

    /// The other end hears that its link is gone.
    fn unlink(&mut self, node: usize, other: usize) {
        let held = self.links.remove(&(node, other));
        let accepted = self.links.remove(&(other, node));
        let peer = self.nodes[node].spec.address.clone();
        let life = self.nodes[other].life;
        if (held || accepted) && self.nodes[other].zen.is_some() {
            self.ways.push((other, Parcel::Closed { life, peer }));
        }
    }

    fn deliver(&mut self, to: usize, parcel: Parcel) -> Result<(), Violation> {
        let is_there = |life: u32| self.nodes[to].zen.is_some() && self.nodes[to].life == life;
        match parcel {
            Parcel::Request { from, life, call, message } => {
                if self.nodes[to].zen.is_none() {
                    self.ways.push((from, Parcel::Failed { life, call, why: Failure::Refused }));
                    return Ok(());
                }
                let exchange = exchange(from, life, call);
                self.handle(to, Input::Received { exchange, message })
            }
            Parcel::Tell { message, .. } if self.nodes[to].zen.is_some() => {
                self.handle(to, Input::Received { exchange: Exchange(u64::MAX), message })
            }
            Parcel::Reply { life, call, message, .. } if is_there(life) => {
                self.handle(to, Input::Replied { call, message })
            }
            Parcel::Failed { life, call, why } if is_there(life) => self.handle(to, Input::Failed { call, why }),
            Parcel::Closed { life, peer } if is_there(life) => self.handle(to, Input::LinkClosed { peer }),
            Parcel::Resolved { life } if is_there(life) => {
                let seeds = self.nodes[to].seeds();
                self.handle(to, Input::Resolved(seeds))
            }
            // It was for a process that ended.
            Parcel::Tell { .. }
            | Parcel::Reply { .. }
            | Parcel::Failed { .. }
            | Parcel::Closed { .. }
            | Parcel::Resolved { .. } => Ok(()),
        }
    }

    fn lose(&mut self, to: usize, parcel: Parcel) {
        let why = Failure::TimedOut;
        match parcel {
            Parcel::Request { from, life, call, .. } => self.ways.push((from, Parcel::Failed { life, call, why })),
            Parcel::Reply { life, call, .. } => self.ways.push((to, Parcel::Failed { life, call, why })),
            Parcel::Tell { .. } | Parcel::Failed { .. } | Parcel::Closed { .. } | Parcel::Resolved { .. } => {}
        }
    }

    fn written(&mut self, node: usize) -> Result<(), Violation> {
        let Some((id, held)) = self.node(node).write() else {
            return Ok(());
        };
        self.synced(node)?;
        held.into_iter().try_for_each(|pending| self.grant(node, pending))?;
        self.handle(node, Input::Stored(id))
    }

    fn start(&mut self, node: usize) -> Result<(), Violation> {
        self.synced(node)?;
        self.node(node).boot(node);
        if let Some(zen) = &self.nodes[node].zen {
            Rc::make_mut(&mut self.checkers).booted(Time::ZERO, node, zen)?;
        }
        self.handle(node, Input::Started)
    }

    fn end(&mut self, node: usize, written: usize) {
        self.bounds.crashes -= 1;
        self.node(node).end(written);
        for other in (0..self.nodes.len()).filter(|other| *other != node) {
            self.unlink(node, other);
        }
    }

    fn ask(&mut self, node: usize) -> Result<(), Violation> {
        self.asked += 1;
        let value = format!("v{}", self.asked);
        let task = Task::Txn(Txn::put("k", value));
        let question = Question::Submit { task, timeout: Duration::ZERO, master_timeout: PATIENCE };
        self.handle(node, Input::Asked { ticket: Ticket(self.asked), question })
    }

    /// Lets what only helps to look for a master arrive at once, in the order in which it was sent.
    fn look_around(&mut self) -> Result<(), Violation> {
        if self.bounds.all_orders {
            return Ok(());
        }
        while let Some(at) = self.ways.iter().position(|(_, parcel)| parcel.is_search()) {
            let (to, parcel) = self.ways.remove(at);
            self.deliver(to, parcel)?;
        }
        Ok(())
    }

    /// What tells this state from others.
    pub(super) fn hash_state(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        for (at, node) in self.nodes.iter().enumerate() {
            node.hash_state(&mut hasher);
            node.held().map(|pending| self.hash_pending(at, pending)).fold(0, u64::wrapping_add).hash(&mut hasher);
        }
        self.ways.iter().map(|(to, parcel)| self.hash_parcel(*to, parcel)).fold(0, u64::wrapping_add).hash(&mut hasher);
        (&self.links, &self.checkers, self.asked).hash(&mut hasher);
        let Bounds { drops, crashes, deadlines, .. } = self.bounds;
        (drops, crashes, deadlines).hash(&mut hasher);
        hasher.finish()
    }

    /// A call counts as what it is for, whatever its number.
    fn hash_parcel(&self, to: usize, parcel: &Parcel) -> u64 {
        let mut hasher = DefaultHasher::new();
        to.hash(&mut hasher);
        match parcel {
            Parcel::Request { from, life, call, message } => {
                (0, from, life, self.purpose(*from, *life, *call), message).hash(&mut hasher)
            }
            Parcel::Tell { from, message } => (1, from, message).hash(&mut hasher),
            Parcel::Reply { from, life, call, message } => {
                (2, from, life, self.purpose(to, *life, *call), message).hash(&mut hasher)
            }
            Parcel::Failed { life, call, why } => (3, life, self.purpose(to, *life, *call), why).hash(&mut hasher),
            Parcel::Closed { life, peer } => (4, life, peer).hash(&mut hasher),
            Parcel::Resolved { life } => (5, life).hash(&mut hasher),
        }
        hasher.finish()
    }

    fn hash_pending(&self, node: usize, pending: &Pending) -> u64 {
        let mut hasher = DefaultHasher::new();
        match pending {
            Pending::Send { to, call, message } => {
                (0, to, self.purpose(node, self.nodes[node].life, *call), message).hash(&mut hasher)
            }
            Pending::Reply { exchange, message } => {
                let purpose = caller(*exchange).map_or(0, |(from, life, call)| self.purpose(from, life, call));
                (1, purpose, message).hash(&mut hasher)
            }
            Pending::Tell { .. } | Pending::Link { .. } | Pending::Unlink { .. } | Pending::Resolve => {
                (2, pending).hash(&mut hasher)
            }
        }
        hasher.finish()
    }

    fn purpose(&self, node: usize, life: u32, call: Call) -> u64 {
        let node = &self.nodes[node];
        node.zen.as_ref().filter(|_| node.life == life).map_or(0, |zen| zen.hash_call(call))
    }
}

fn exchange(from: usize, life: u32, call: Call) -> Exchange {
    assert!(call.0 < 1 << CALL_BITS && life < 1 << LIFE_BITS, "no walk is that long");
    Exchange((from as u64) << (CALL_BITS + LIFE_BITS) | u64::from(life) << CALL_BITS | call.0)
}

/// Who waits for a reply; nobody if it was only told.
fn caller(exchange: Exchange) -> Option<(usize, u32, Call)> {
    let Exchange(name) = exchange;
    let life = name >> CALL_BITS & ((1 << LIFE_BITS) - 1);
    let call = name & ((1 << CALL_BITS) - 1);
    (name != u64::MAX).then_some(((name >> (CALL_BITS + LIFE_BITS)) as usize, life as u32, Call(call)))
}
