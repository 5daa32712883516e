//! What every algorithm of the lab sits on: numbered requests, timers, a record on disk, and the watch over a leader.
//!
//! An [`Algorithm`] holds rules only; a [`Participant`] makes a [`Protocol`] of it. Letters carry their sender. A follower beats
//! at its leader every [`BEAT_EVERY`]: a leader that refuses or does not lead is gone at once, one that is silent after
//! [`MISSES_MAX`] beats. Algorithms that keep a watch of their own do not use it.

use super::{Note, Question, Rank, majority};
use crate::protocol::{
    Call, Disk, Effect, Effects, Exchange, Failure, Input, Protocol, Rng, Standing, StoreId, Time, Timers,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::{self, Debug, Display};
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

/// How often a follower beats at its leader.
pub const BEAT_EVERY: Duration = Duration::from_millis(200);
/// How long a reply may take.
pub const ANSWER_WITHIN: Duration = Duration::from_millis(100);
/// After so many beats in a row that nobody answered a leader is gone.
pub const MISSES_MAX: u32 = 3;
/// How long it takes to notice that somebody fell silent, at most.
pub const SILENCE_MAX: Duration = Duration::from_millis(700);

/// What the processes of an algorithm say to each other.
pub trait Word: Clone + Debug + Display + Hash + PartialEq + Send + Serialize + DeserializeOwned + 'static {
    /// Whether it only keeps watch over those who live, and is no part of an election.
    fn is_watch(&self) -> bool {
        false
    }
}

/// The rules of one algorithm, for one process.
pub trait Algorithm: Sized {
    /// What it says to others.
    type Word: Word;
    /// What it keeps on disk; `()` if it keeps nothing.
    type Persisted: Clone + Debug + Default + Serialize + DeserializeOwned;
    /// Why it asked somebody something.
    type Purpose: Clone + Debug;
    /// Why it wakes.
    type Timer: Copy + Ord + Display;

    /// Something happened to the process, whatever it is; it is told before all else.
    fn happens(&mut self, _now: Time) {}
    /// The process began.
    fn start(&mut self, desk: &mut Context<'_, Self>);
    /// It is to hold an election, as if it had noticed that the leader is gone.
    fn elect(&mut self, desk: &mut Context<'_, Self>);
    /// A letter arrived.
    fn hear(&mut self, heard: Heard<Self::Word>, desk: &mut Context<'_, Self>);
    /// A request was replied to, or failed.
    fn learn(&mut self, outcome: AskOutcome<Self>, desk: &mut Context<'_, Self>);
    /// A timer ran out.
    fn wake(&mut self, timer: Self::Timer, desk: &mut Context<'_, Self>);
    /// The leader that it watches is gone.
    fn leader_gone(&mut self, leader: Rank, desk: &mut Context<'_, Self>);
    /// Where it stands.
    fn stand(&self) -> Stand;
}

/// A letter that arrived.
#[derive(Clone, Debug)]
pub struct Heard<W> {
    /// Who sent it.
    pub from: Rank,
    /// Under what to reply, if a reply is wanted.
    pub exchange: Exchange,
    /// What it says.
    pub word: W,
}

/// What became of a request.
pub struct AskOutcome<A: Algorithm> {
    /// Whom it asked.
    pub of: Rank,
    /// Why it asked.
    pub purpose: A::Purpose,
    /// The reply.
    pub reply: Result<A::Word, Failure>,
}

/// Where a process stands in its algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stand {
    /// One character for traces; `L` leads, `f` follows.
    pub mode: char,
    /// Its term, epoch or round, where there is one.
    pub term: u64,
    /// Whom it takes for the leader; itself if it would act as leader.
    pub leader: Option<Rank>,
}

/// What processes send: something about leading, or of their algorithm.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Letter<W> {
    /// Who sends it.
    pub from: Rank,
    /// What it says.
    pub body: Body<W>,
}

/// What a letter says.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Body<W> {
    /// Asks whether the receiver still leads.
    Beat,
    /// Replies to a beat.
    Echo {
        /// Whether the sender leads.
        leads: bool,
    },
    /// Something of the algorithm.
    Word(W),
}

impl<W: Word> Letter<W> {
    /// Whether it only keeps watch, and is no part of an election.
    pub fn is_watch(&self) -> bool {
        match &self.body {
            Body::Beat | Body::Echo { .. } => true,
            Body::Word(word) => word.is_watch(),
        }
    }
}

impl<W: Display> Display for Letter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.body {
            Body::Beat => f.write_str("beat"),
            Body::Echo { leads } => write!(f, "echo, {}", if *leads { "leads" } else { "does not lead" }),
            Body::Word(word) => Display::fmt(word, f),
        }
    }
}

/// The disk of a process: the record that was written last.
#[derive(Clone, Debug, Default)]
pub struct Persisted<K>(pub K);

impl<K: Clone + Debug + Default> Disk for Persisted<K> {
    type Write = K;

    fn apply(&mut self, write: &K) {
        self.0 = write.clone();
    }

    fn is_lazy(_write: &K) -> bool {
        false
    }
}

/// Why a process wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Timed<T> {
    /// To beat at the leader.
    Beat,
    /// For its algorithm.
    Own(T),
}

impl<T: Display> Display for Timed<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Timed::Beat => f.write_str("the next beat"),
            Timed::Own(timer) => Display::fmt(timer, f),
        }
    }
}

#[derive(Clone, Debug)]
enum Purpose<E> {
    Beat,
    Own(E),
}

/// The watch over a leader.
#[derive(Clone, Copy, Debug)]
struct LeaderMonitor {
    leader: Rank,
    beat: Option<Call>,
    missed: u32,
}

/// What a seat keeps besides the algorithm.
struct Core<A: Algorithm> {
    me: Rank,
    others: Arc<[Rank]>,
    rng: Rng,
    timers: Timers<Timed<A::Timer>>,
    purposes: BTreeMap<Call, (Rank, Purpose<A::Purpose>)>,
    numbers: u64,
    vigil: Option<LeaderMonitor>,
    /// When each of the others beat here last.
    heard: BTreeMap<Rank, Time>,
}

/// One process: an algorithm, and what it sits on.
pub struct Participant<A: Algorithm> {
    algorithm: A,
    chair: Core<A>,
}

/// What an algorithm may do.
pub struct Context<'a, A: Algorithm> {
    /// The time.
    pub now: Time,
    chair: &'a mut Core<A>,
    out: &'a mut Effects<Participant<A>>,
}

impl<A: Algorithm> Context<'_, A> {
    /// Its own id.
    pub fn me(&self) -> Rank {
        self.chair.me
    }

    /// All others, from the lowest to the highest.
    pub fn others(&self) -> Arc<[Rank]> {
        self.chair.others.clone()
    }

    /// How many processes there are, itself included.
    pub fn size(&self) -> usize {
        self.chair.others.len() + 1
    }

    /// Sends a request; its outcome is learnt, within [`ANSWER_WITHIN`].
    pub fn ask(&mut self, to: Rank, word: A::Word, purpose: A::Purpose) {
        self.ask_within(to, word, purpose, ANSWER_WITHIN);
    }

    /// Sends a request whose outcome is learnt within this span.
    pub fn ask_within(&mut self, to: Rank, word: A::Word, purpose: A::Purpose, timeout: Duration) {
        let call = self.call(to, Purpose::Own(purpose));
        let message = Letter { from: self.chair.me, body: Body::Word(word) };
        self.out.push(Effect::Send { to, call, message, timeout });
    }

    /// Sends a message that needs no reply.
    pub fn tell(&mut self, to: Rank, word: A::Word) {
        let message = Letter { from: self.chair.me, body: Body::Word(word) };
        self.out.push(Effect::Tell { to, message });
    }

    /// Tells all others.
    pub fn tell_all(&mut self, word: &A::Word) {
        for &to in self.others().iter() {
            self.tell(to, word.clone());
        }
    }

    /// Replies to a request.
    pub fn reply(&mut self, exchange: Exchange, word: A::Word) {
        let message = Letter { from: self.chair.me, body: Body::Word(word) };
        self.out.push(Effect::Reply { exchange, message });
    }

    /// Tells the operator.
    pub fn note(&mut self, note: Note) {
        self.out.note(note);
    }

    /// Tells the operator of a step that only this algorithm knows.
    pub fn step(&mut self, text: impl Into<String>) {
        self.out.note(Note::Step(text.into()));
    }

    /// Writes the record; what follows in the same turn waits for it.
    pub fn keep(&mut self, kept: &A::Persisted) {
        self.chair.numbers += 1;
        self.out.push(Effect::Store { id: StoreId(self.chair.numbers), write: kept.clone() });
    }

    /// Wakes for a reason after a while; a reason has one time.
    pub fn wake_in(&mut self, timer: A::Timer, span: Duration) {
        self.chair.timers.set(Timed::Own(timer), self.now + span);
    }

    /// Does not wake for a reason.
    pub fn stop(&mut self, timer: A::Timer) {
        self.chair.timers.stop(Timed::Own(timer));
    }

    /// Whether it will wake for a reason.
    pub fn is_set(&self, timer: A::Timer) -> bool {
        self.chair.timers.is_set(Timed::Own(timer))
    }

    /// Does not care for the outcomes of its requests.
    pub fn forget(&mut self) {
        self.chair.purposes.retain(|_, (_, purpose)| matches!(purpose, Purpose::Beat));
    }

    /// How many requests of this kind have no outcome yet.
    pub fn open(&self, is_meant: impl Fn(&A::Purpose) -> bool) -> usize {
        let is_open = |purpose: &Purpose<A::Purpose>| matches!(purpose, Purpose::Own(own) if is_meant(own));
        self.chair.purposes.values().filter(|(_, purpose)| is_open(purpose)).count()
    }

    /// Beats at this leader from its next turn on, and at no other.
    pub fn watch(&mut self, leader: Rank) {
        if self.chair.vigil.is_none_or(|vigil| vigil.leader != leader) {
            self.chair.vigil = Some(LeaderMonitor { leader, beat: None, missed: 0 });
            self.chair.timers.set(Timed::Beat, self.now + BEAT_EVERY);
        }
    }

    /// Beats at nobody.
    pub fn watch_nobody(&mut self) {
        self.chair.vigil = None;
        self.chair.timers.stop(Timed::Beat);
    }

    /// The others that beat here within this span.
    pub fn heard_within(&self, span: Duration) -> impl Iterator<Item = Rank> + '_ {
        self.chair.heard.iter().filter(move |&(_, &at)| self.now.since(at) <= span).map(|(&rank, _)| rank)
    }

    /// Whether a leader since then is followed by more than half, itself included, or may still be met by them.
    pub fn has_majority(&self, since: Time) -> bool {
        let there = self.heard_within(SILENCE_MAX).count() + 1;
        self.now.since(since) <= SILENCE_MAX || there >= majority(self.size())
    }

    /// Takes this one for the leader: notes it if it was another one before, and watches it unless it is itself.
    pub fn settle(&mut self, leader: Rank, before: Option<Rank>) {
        let is_own = leader == self.chair.me;
        if before != Some(leader) {
            self.note(if is_own { Note::Leads } else { Note::Follows(leader) });
        }
        if is_own {
            self.watch_nobody();
        } else {
            self.watch(leader);
        }
    }

    /// A number from `low` to `high`.
    pub fn draw(&mut self, low: u64, high: u64) -> u64 {
        self.chair.rng.between(low, high)
    }

    /// A random span below this one.
    pub fn span_below(&mut self, span: Duration) -> Duration {
        Duration::from_micros(self.chair.rng.below(span.as_micros() as u64))
    }

    fn call(&mut self, to: Rank, purpose: Purpose<A::Purpose>) -> Call {
        self.chair.numbers += 1;
        let call = Call(self.chair.numbers);
        self.chair.purposes.insert(call, (to, purpose));
        call
    }

    fn beat(&mut self) {
        let Some(LeaderMonitor { leader, missed, .. }) = self.chair.vigil else {
            return;
        };
        let call = self.call(leader, Purpose::Beat);
        self.chair.vigil = Some(LeaderMonitor { leader, beat: Some(call), missed });
        let message = Letter { from: self.chair.me, body: Body::Beat };
        self.out.push(Effect::Send { to: leader, call, message, timeout: ANSWER_WITHIN });
        self.chair.timers.set(Timed::Beat, self.now + BEAT_EVERY);
    }

    /// The leader that is gone, if that is what the outcome of a beat says.
    fn judge_beat(&mut self, call: Call, reply: &Result<Body<A::Word>, Failure>) -> Option<Rank> {
        let vigil = self.chair.vigil.as_mut().filter(|vigil| vigil.beat == Some(call))?;
        vigil.beat = None;
        match reply {
            Ok(Body::Echo { leads: true }) => vigil.missed = 0,
            Ok(_) => vigil.missed = MISSES_MAX,
            Err(Failure::TimedOut) => vigil.missed += 1,
            Err(Failure::Refused | Failure::Reset | Failure::BadAnswer) => vigil.missed = MISSES_MAX,
        }
        let leader = vigil.leader;
        (vigil.missed >= MISSES_MAX).then(|| {
            self.watch_nobody();
            self.note(Note::LeaderGone(leader));
            leader
        })
    }
}

impl<A: Algorithm> Participant<A> {
    /// The process `me` of `all`, with these rules.
    pub fn new(me: Rank, all: &[Rank], rng: Rng, algorithm: A) -> Self {
        let mut others: Vec<Rank> = all.iter().copied().filter(|&rank| rank != me).collect();
        others.sort_unstable();
        let chair = Core {
            me,
            others: others.into(),
            rng,
            timers: Timers::default(),
            purposes: BTreeMap::new(),
            numbers: 0,
            vigil: None,
            heard: BTreeMap::new(),
        };
        Participant { algorithm, chair }
    }

    /// Whom it takes for the leader.
    pub fn leader(&self) -> Option<Rank> {
        self.algorithm.stand().leader
    }

    fn received(&mut self, now: Time, exchange: Exchange, letter: Letter<A::Word>, out: &mut Effects<Self>) {
        let Letter { from, body } = letter;
        if !self.chair.others.contains(&from) {
            return;
        }
        let leads = self.leader() == Some(self.chair.me);
        let me = self.chair.me;
        let mut desk = Context { now, chair: &mut self.chair, out };
        match body {
            Body::Beat => {
                desk.chair.heard.insert(from, now);
                let message = Letter { from: me, body: Body::Echo { leads } };
                desk.out.push(Effect::Reply { exchange, message });
            }
            Body::Echo { .. } => {}
            Body::Word(word) => self.algorithm.hear(Heard { from, exchange, word }, &mut desk),
        }
    }

    fn ended(&mut self, now: Time, call: Call, reply: Result<Letter<A::Word>, Failure>, out: &mut Effects<Self>) {
        let Some((of, purpose)) = self.chair.purposes.remove(&call) else {
            return;
        };
        let mut desk = Context { now, chair: &mut self.chair, out };
        match purpose {
            Purpose::Beat => {
                let gone = desk.judge_beat(call, &reply.map(|letter| letter.body));
                if let Some(leader) = gone {
                    self.algorithm.leader_gone(leader, &mut desk);
                }
            }
            Purpose::Own(purpose) => {
                let reply = reply.and_then(|letter| match letter.body {
                    Body::Word(word) => Ok(word),
                    Body::Beat | Body::Echo { .. } => Err(Failure::BadAnswer),
                });
                self.algorithm.learn(AskOutcome { of, purpose, reply }, &mut desk);
            }
        }
    }

    fn woke(&mut self, now: Time, out: &mut Effects<Self>) {
        while let Some(timer) = self.chair.timers.pop_due(now) {
            let mut desk = Context { now, chair: &mut self.chair, out };
            match timer {
                Timed::Beat => desk.beat(),
                Timed::Own(timer) => self.algorithm.wake(timer, &mut desk),
            }
        }
    }
}

impl<A: Algorithm> Protocol for Participant<A> {
    type Peer = Rank;
    type Message = Letter<A::Word>;
    type Disk = Persisted<A::Persisted>;
    type View = ();
    type Question = Question;
    type Answer = Option<Rank>;
    type Note = Note;
    type Timer = Timed<A::Timer>;

    fn handle(&mut self, now: Time, input: Input<Self>, out: &mut Effects<Self>) {
        self.algorithm.happens(now);
        match input {
            Input::Started => self.algorithm.start(&mut Context { now, chair: &mut self.chair, out }),
            Input::Received { exchange, message } => self.received(now, exchange, message, out),
            Input::Replied { call, message } => self.ended(now, call, Ok(message), out),
            Input::Failed { call, why } => self.ended(now, call, Err(why), out),
            Input::Woke => self.woke(now, out),
            Input::Asked { ticket, question } => {
                if question == Question::HoldElection {
                    self.algorithm.elect(&mut Context { now, chair: &mut self.chair, out });
                }
                out.push(Effect::Answer { ticket, answer: self.leader() });
            }
            Input::LinkClosed { .. } | Input::Stored(_) | Input::Resolved(_) => {}
        }
    }

    fn next_deadline(&self) -> Option<(Time, Self::Timer)> {
        self.chair.timers.next()
    }

    fn standing(&self) -> Standing<Rank> {
        let Stand { mode, term, leader } = self.algorithm.stand();
        Standing { mode, term, version: 0, leader }
    }
}
