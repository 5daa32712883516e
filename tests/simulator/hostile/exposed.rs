//! A node of Zen among liars: beside what really reaches it, it gets messages that anybody on the network could have
//! made up, as requests and as replies.

use super::cunning::cunning;
use crate::messages::random_message;
use crate::mutations::{Named, adopted, changed, damaged, keep_named};
use serde_json::Value;
use std::any::Any;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use zazen::cluster::{Address, ClusterState};
use zazen::protocol::{Call, Effect, Effects, Exchange, Input, Protocol, Rng, Standing, Time};
use zazen::service::{Answer, Question};
use zazen::wire::{decode, encode};
use zazen::zen::{Memory, Message, Mode, Note, Timer, Zen};

/// How many messages the liars remember.
const OVERHEARD_MAX: usize = 64;

/// How many lies are told in a run.
const LIES_MAX: u32 = 1_500;

/// No input may want more than this done.
const EFFECTS_MAX: usize = 20_000;

/// The exchanges of what was made up begin here.
const MADE_UP: u64 = 1 << 63;

/// What all liars of a run know and did.
pub(crate) struct Liars {
    pub(crate) rng: Rng,
    /// How often they speak, in percent of what reaches a node. They are silent while it is zero.
    pub(crate) percent: u64,
    /// Whether they leave the greatest numbers alone, after which no election can follow.
    pub(crate) is_modest: bool,
    /// How many lies of each kind were told to nodes in each mode.
    pub(crate) told: BTreeMap<(&'static str, &'static str), u32>,
    /// What went wrong.
    pub(crate) failures: Vec<String>,
    overheard: Vec<Value>,
    named: Named,
    /// How many lies they will tell yet: each makes nodes talk, which makes them lie.
    left: u32,
}

impl Liars {
    pub(crate) fn new(rng: Rng) -> Self {
        Liars {
            rng,
            percent: 0,
            is_modest: true,
            told: BTreeMap::new(),
            failures: Vec::new(),
            overheard: Vec::new(),
            named: Named::new(),
            left: LIES_MAX,
        }
    }

    fn speak(&mut self) -> bool {
        let speaks = self.left > 0 && self.rng.percent(self.percent);
        self.left -= u32::from(speaks);
        speaks
    }

    fn overhear(&mut self, message: &Message) {
        let Ok(value) = serde_json::from_slice::<Value>(&encode(message)) else {
            return;
        };
        keep_named(&value, &mut self.named, &mut self.rng);
        if self.overheard.len() == OVERHEARD_MAX {
            let at = self.rng.below(OVERHEARD_MAX as u64) as usize;
            self.overheard[at] = value;
        } else {
            self.overheard.push(value);
        }
    }

    /// A message that decodes, made for this node, of what was overheard, or of nothing.
    fn lie(&mut self, zen: &Zen) -> Option<Message> {
        let rng = &mut self.rng;
        if rng.percent(40) {
            return decode(&encode(&cunning(zen, rng))).ok();
        }
        let bytes = match rng.pick(&self.overheard) {
            Some(value) if rng.percent(15) => damaged(value.to_string().as_bytes(), rng),
            Some(value) if rng.percent(60) => changed(value, &self.named, rng).to_string().into_bytes(),
            Some(_) | None => {
                let value = serde_json::from_slice(&encode(&random_message(rng))).expect("a message is JSON");
                adopted(&value, &self.named, rng).to_string().into_bytes()
            }
        };
        let is_excessive = self.is_modest && String::from_utf8_lossy(&bytes).contains("900719925474099");
        if is_excessive { None } else { decode(&bytes).ok() }
    }
}

/// A node that liars can reach.
pub(crate) struct Exposed {
    zen: Zen,
    liars: Rc<RefCell<Liars>>,
    /// Requests that wait for a reply.
    calls: BTreeSet<Call>,
    /// Made-up requests that were not replied to.
    exchanges: BTreeSet<u64>,
    lies: u64,
    is_dead: bool,
}

impl Exposed {
    pub(crate) fn new(zen: Zen, liars: Rc<RefCell<Liars>>) -> Self {
        Exposed { zen, liars, calls: BTreeSet::new(), exchanges: BTreeSet::new(), lies: 0, is_dead: false }
    }

    fn lie(&mut self, now: Time, out: &mut Effects<Exposed>) {
        let (message, is_reply) = {
            let liars = &mut *self.liars.borrow_mut();
            let Some(message) = liars.lie(&self.zen) else {
                return;
            };
            *liars.told.entry((mode_of(&self.zen), message.kind())).or_default() += 1;
            (message, liars.rng.percent(40))
        };
        let calls: Vec<Call> = self.calls.iter().copied().collect();
        let call = self.liars.borrow_mut().rng.pick(&calls).copied();
        let input = match call {
            Some(call) if is_reply => Input::Replied { call, message },
            Some(_) | None => {
                self.lies += 1;
                let exchange = MADE_UP + self.lies;
                self.exchanges.insert(exchange);
                Input::Received { exchange: Exchange(exchange), message }
            }
        };
        self.take(now, input, out);
    }

    /// Lets the node handle an input and passes on what it wants.
    fn take(&mut self, now: Time, input: Input<Zen>, out: &mut Effects<Exposed>) {
        let told = describe(&input);
        let mode = mode_of(&self.zen);
        let mut effects = Effects::default();
        let outcome = catch_unwind(AssertUnwindSafe(|| self.zen.handle(now, input, &mut effects)));
        let wanted = effects.as_slice().len();
        if let Err(panic) = outcome {
            self.fail(format!(
                "{}\n    while {mode}, given {told}\n    it stands: {:?}",
                text_of(&*panic),
                self.zen.mode()
            ));
        } else if wanted > EFFECTS_MAX {
            self.fail(format!("one input had {wanted} effects\n    while {mode}, given {told}"));
        }
        for effect in effects.drain() {
            self.pass_on(effect, out);
        }
    }

    fn fail(&mut self, what: String) {
        self.is_dead = true;
        self.liars.borrow_mut().failures.push(what);
    }

    fn pass_on(&mut self, effect: Effect<Zen>, out: &mut Effects<Exposed>) {
        if let Effect::Send { message, .. } | Effect::Tell { message, .. } | Effect::Reply { message, .. } = &effect
            && let Err(error) = decode(&encode(message))
        {
            self.fail(format!("nobody can read what it says: {error}"));
        }
        if let Effect::Send { call, .. } = &effect {
            self.calls.insert(*call);
        }
        if let Effect::Cancel { call } = &effect {
            self.calls.remove(call);
        }
        if let Effect::Reply { exchange, .. } = &effect
            && exchange.0 >= MADE_UP
        {
            if !self.exchanges.remove(&exchange.0) {
                self.fail(format!("{exchange:?} was replied to twice"));
            }
            return;
        }
        out.push(effect.pass_on());
    }
}

impl Protocol for Exposed {
    type Peer = Address;
    type Message = Message;
    type Disk = Memory;
    type View = Arc<ClusterState>;
    type Question = Question;
    type Answer = Answer;
    type Note = Note;
    type Timer = Timer;

    fn handle(&mut self, now: Time, input: Input<Exposed>, out: &mut Effects<Exposed>) {
        if self.is_dead {
            return;
        }
        if let Input::Received { message, .. } | Input::Replied { message, .. } = &input {
            self.liars.borrow_mut().overhear(message);
        }
        if let Input::Replied { call, .. } | Input::Failed { call, .. } = &input {
            self.calls.remove(call);
        }
        self.take(now, input.pass_on(), out);
        while !self.is_dead && self.liars.borrow_mut().speak() {
            self.lie(now, out);
        }
    }

    fn next_deadline(&self) -> Option<(Time, Timer)> {
        if self.is_dead { None } else { self.zen.next_deadline() }
    }

    fn standing(&self) -> Standing<Address> {
        self.zen.standing()
    }
}

/// What the node is doing, as it is counted.
pub(crate) const MODES: [&str; 5] = ["finding", "electing", "joining", "leading", "following"];

fn mode_of(zen: &Zen) -> &'static str {
    let index = match zen.mode() {
        Mode::Finding => 0,
        Mode::Electing(_) => 1,
        Mode::Joining(_) => 2,
        Mode::Leading(_) => 3,
        Mode::Following(_) => 4,
    };
    MODES[index]
}

fn describe(input: &Input<Zen>) -> String {
    let json = |message: &Message| String::from_utf8_lossy(&encode(message)).into_owned();
    match input {
        Input::Received { message, .. } => format!("request {}", json(message)),
        Input::Replied { message, .. } => format!("reply {}", json(message)),
        Input::Started => "the start".into(),
        Input::Failed { call, why } => format!("{call:?} {why}"),
        Input::LinkClosed { peer } => format!("the closed link to {peer}"),
        Input::Woke => "a deadline".into(),
        Input::Stored(id) => format!("{id:?} stored"),
        Input::Resolved(found) => format!("{found:?}"),
        Input::Asked { question, .. } => format!("{question:?}"),
    }
}

fn text_of(panic: &(dyn Any + Send)) -> String {
    let text = panic.downcast_ref::<String>().map(String::as_str);
    text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic without words").to_owned()
}
