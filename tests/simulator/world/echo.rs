//! A participant that does what it is asked to and writes down what happens to it.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;
use zazen::protocol::{Call, Disk, Effect, Effects, Input, Level, Protocol, Remark, Standing, StoreId, Time, Timers};
use zazen::sim::{Boot, Watch, World};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Address(pub(super) usize);

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host{}", self.0)
    }
}

#[derive(Clone, Debug, Hash)]
pub(super) enum Message {
    Ping(u64),
    Pong(u64),
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self:?}")
    }
}

#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) number: u64,
    pub(super) lazy: bool,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Lines(pub(super) Vec<u64>);

impl Disk for Lines {
    type Write = Line;

    fn apply(&mut self, write: &Line) {
        self.0.push(write.number);
    }

    fn is_lazy(write: &Line) -> bool {
        write.lazy
    }
}

#[derive(Clone, Debug)]
pub(super) enum Order {
    Ping(usize, Duration),
    Tell(usize),
    Store { lazy: bool },
    StoreThenPing(usize),
    Link(usize),
    Unlink(usize),
    Sleep(Duration),
    Resolve,
    Silence,
    Nothing,
}

#[derive(Clone, Debug)]
pub(super) struct Remarked(String);

impl fmt::Display for Remarked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Remark for Remarked {
    fn level(&self) -> Level {
        Level::Info
    }
}

pub(super) struct Echo {
    pub(super) log: Vec<(Time, String)>,
    timers: Timers<char>,
    pub(super) calls: u64,
    stores: u64,
    silent: bool,
    /// Pings this node at random without end.
    chats_with: Option<(usize, zazen::protocol::Rng)>,
    boots: u32,
    pub(super) open: BTreeSet<Call>,
    stored: u64,
    fresh: bool,
}

impl Echo {
    pub(super) fn boot(boot: Boot<'_, Echo>) -> Echo {
        let stores = boot.disk.0.last().copied().unwrap_or(0);
        Echo {
            log: Vec::new(),
            timers: Timers::default(),
            calls: 0,
            stores,
            silent: false,
            chats_with: None,
            boots: boot.boots,
            open: BTreeSet::new(),
            stored: stores,
            fresh: true,
        }
    }

    pub(super) fn chatty(count: usize) -> impl FnMut(Boot<'_, Echo>) -> Echo {
        move |mut boot| {
            let rng = boot.rng.fork();
            Echo { chats_with: Some((count, rng)), ..Echo::boot(boot) }
        }
    }

    fn obey(&mut self, now: Time, order: Order, out: &mut Effects<Echo>) {
        match order {
            Order::Ping(to, timeout) => self.ping(to, timeout, out),
            Order::Tell(to) => out.push(Effect::Tell { to: Address(to), message: Message::Ping(0) }),
            Order::Store { lazy } => self.store(lazy, out),
            Order::StoreThenPing(to) => {
                self.store(false, out);
                self.ping(to, Duration::from_secs(1), out);
            }
            Order::Link(to) => out.push(Effect::Link { to: Address(to) }),
            Order::Unlink(to) => out.push(Effect::Unlink { to: Address(to) }),
            Order::Sleep(span) => self.timers.set('s', now + span),
            Order::Resolve => out.push(Effect::Resolve),
            Order::Silence => self.silent = true,
            Order::Nothing => {}
        }
    }

    fn ping(&mut self, to: usize, timeout: Duration, out: &mut Effects<Echo>) {
        self.calls += 1;
        self.open.insert(Call(self.calls));
        let message = Message::Ping(self.calls);
        out.push(Effect::Send { to: Address(to), call: Call(self.calls), message, timeout });
    }

    fn store(&mut self, lazy: bool, out: &mut Effects<Echo>) {
        self.stores += 1;
        out.push(Effect::Store { id: StoreId(self.stores), write: Line { number: self.stores, lazy } });
    }

    /// Mostly pings, sometimes stores, holds links and lets go of them.
    fn chat(&mut self, now: Time, out: &mut Effects<Echo>) {
        let Some((count, rng)) = &mut self.chats_with else {
            return;
        };
        let to = rng.below(*count as u64) as usize;
        let timeout = Duration::from_micros(rng.between(1, 50_000));
        self.timers.set('c', now + Duration::from_micros(rng.between(100, 2_000)));
        match rng.below(10) {
            0 => self.obey(now, Order::Link(to), out),
            1 => self.obey(now, Order::Unlink(to), out),
            2 => self.store(true, out),
            3 => self.obey(now, Order::StoreThenPing(to), out),
            _ => self.ping(to, timeout, out),
        }
    }

    /// Each call has one outcome, and writes are done in order.
    fn check(&mut self, input: &Input<Echo>) {
        match input {
            Input::Replied { call, .. } | Input::Failed { call, .. } => {
                assert!(self.open.remove(call), "{call:?} has an outcome, and is not open");
            }
            Input::Stored(id) => {
                self.stored += 1;
                assert_eq!(id.0, self.stored, "writes are done in order");
            }
            Input::Started => assert!(self.fresh, "started is the first input"),
            Input::Received { .. }
            | Input::LinkClosed { .. }
            | Input::Woke
            | Input::Resolved(_)
            | Input::Asked { .. } => {}
        }
        assert!(!self.fresh || matches!(input, Input::Started), "started is the first input");
        self.fresh = false;
    }

    fn told(input: &Input<Echo>) -> String {
        match input {
            Input::Started => "started".to_owned(),
            Input::Received { message, .. } => format!("received {message}"),
            Input::Replied { call, message } => format!("call {}: {message}", call.0),
            Input::Failed { call, why } => format!("call {} {why}", call.0),
            Input::LinkClosed { peer } => format!("link with {peer} closed"),
            Input::Woke => "woke".to_owned(),
            Input::Stored(id) => format!("stored {}", id.0),
            Input::Resolved(found) => format!("seeds {}", found.peers.len()),
            Input::Asked { question, .. } => format!("asked {question:?}"),
        }
    }
}

impl Protocol for Echo {
    type Peer = Address;
    type Message = Message;
    type Disk = Lines;
    type View = u64;
    type Question = Order;
    type Answer = ();
    type Note = Remarked;
    type Timer = char;

    fn handle(&mut self, now: Time, input: Input<Self>, out: &mut Effects<Self>) {
        self.check(&input);
        if self.chats_with.is_none() {
            self.log.push((now, Echo::told(&input)));
        }
        while matches!(input, Input::Woke) && self.timers.pop_due(now).is_some() {}
        match input {
            Input::Started => out.note(Remarked(format!("boot {}", self.boots))),
            Input::Received { exchange, message: Message::Ping(number) } if !self.silent => {
                out.push(Effect::Reply { exchange, message: Message::Pong(number) });
            }
            Input::Asked { ticket, question } => {
                self.obey(now, question, out);
                out.push(Effect::Answer { ticket, answer: () });
            }
            Input::Received { .. }
            | Input::Replied { .. }
            | Input::Failed { .. }
            | Input::LinkClosed { .. }
            | Input::Woke
            | Input::Stored(_)
            | Input::Resolved(_) => {}
        }
        if !self.timers.is_set('c') {
            self.chat(now, out);
        }
    }

    fn next_deadline(&self) -> Option<(Time, char)> {
        self.timers.next()
    }

    fn standing(&self) -> Standing<Address> {
        Standing { mode: if self.silent { 's' } else { 'e' }, term: 0, version: self.stores, leader: None }
    }
}

/// A world of that many echoing nodes, started.
pub(super) fn echoes<W: Watch<Echo>>(seed: u64, count: usize, watch: W) -> World<Echo, W> {
    let mut world = World::new(seed, watch);
    for node in 0..count {
        world.add(Address(node), vec![Address(0)], Echo::boot);
    }
    world.start_all();
    world
}

/// Asks, lets `span` pass, and tells what happened to the node meanwhile, the order itself left out.
pub(super) fn told<W: Watch<Echo>>(
    world: &mut World<Echo, W>,
    node: usize,
    order: Order,
    span: Duration,
) -> Vec<String> {
    let before = log_of(world, node).len();
    world.ask(node, order);
    world.run_for(span).expect("nothing is checked");
    log_of(world, node).split_off(before).into_iter().filter(|line| !line.starts_with("asked")).collect()
}

pub(super) fn log_of<W: Watch<Echo>>(world: &World<Echo, W>, node: usize) -> Vec<String> {
    let log = world.participant(node).map_or(&[][..], |echo| &echo.log);
    log.iter().map(|(_, line)| line.clone()).collect()
}
