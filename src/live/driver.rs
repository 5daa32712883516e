//! The task that owns a process of the lab: brings it what happens, and carries out what it wants.

use super::places::Places;
use super::transport::{self, CallOutcome, Inbound, Reply, Signature, Transport};
use super::view::View;
use crate::lab::{Algorithm, Letter, Participant, Persisted, Rank, Stand};
use crate::protocol::{Call, Effect, Effects, Exchange, Failure, Input, Protocol, Rng, Time};
use crate::runtime::log::NODE;
use crate::runtime::{Handle, RequestReceiver};
use axum::Router;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tokio::sync::{mpsc, oneshot};

/// How many letters may wait.
const INBOX: usize = 1_024;
/// Sleeps are no longer than this.
const SLEEP_MAX: Duration = Duration::from_secs(60);

/// The ways in.
pub(super) struct Inbox<W> {
    letters: mpsc::Receiver<Inbound<W>>,
    outcomes: mpsc::UnboundedReceiver<CallOutcome<W>>,
}

/// The other ends of the ways in.
pub(super) struct Gates<W> {
    pub(super) letters: mpsc::Sender<Inbound<W>>,
    pub(super) outcomes: mpsc::UnboundedSender<CallOutcome<W>>,
}

/// A rank that is no process: whoever takes the jobs answers in its place.
pub(super) struct Aside<W> {
    pub(super) rank: Rank,
    pub(super) jobs: mpsc::Sender<Job<W>>,
}

/// A request to such a rank; exactly one outcome follows.
pub(super) struct Job<W> {
    pub(super) call: Call,
    pub(super) letter: Letter<W>,
    pub(super) timeout: Duration,
}

/// A process with all that it needs.
pub(super) struct Driver<A: Algorithm> {
    seat: Participant<A>,
    began: Instant,
    places: Places,
    post: Transport<A::Word>,
    letters: mpsc::Sender<Inbound<A::Word>>,
    aside: Option<Aside<A::Word>>,
    disk: PathBuf,
    view: View,
    replies: BTreeMap<Exchange, oneshot::Sender<Letter<A::Word>>>,
    exchanges: u64,
}

impl<A: Algorithm + 'static> Driver<A>
where
    A::Word: Send,
{
    #[expect(
        clippy::disallowed_methods,
        reason = "the core takes the time as an argument; this is where it comes from"
    )]
    pub(super) fn new(
        places: Places,
        client: reqwest::Client,
        disk: PathBuf,
        view: View,
        handle: Handle,
        aside: Option<Aside<A::Word>>,
        make: impl Fn(Rank, A::Persisted) -> A,
    ) -> (Self, Inbox<A::Word>, Router) {
        let beside = aside.as_ref().map(|aside| aside.rank);
        let all: Vec<Rank> = places.all().map(|(rank, _)| rank).chain(beside).collect();
        let kept = fs::read(&disk).ok().and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or_default();
        let seed = uuid::Uuid::new_v4().as_u64_pair().0;
        let seat = Participant::new(places.me, &all, Rng::new(seed), make(places.me, kept));
        let (to_letters, letters) = mpsc::channel(INBOX);
        let (to_outcomes, outcomes) = mpsc::unbounded_channel();
        let faults = handle.faults().clone();
        let (own, name) = (handle.local().address.to_string(), Signature::of(&handle.local().name));
        let router = transport::router(to_letters.clone(), faults.clone(), name.clone());
        let post = Transport { client, faults, outcomes: to_outcomes, own, name };
        let began = Instant::now();
        let (letters_in, replies) = (to_letters, BTreeMap::new());
        let driver =
            Driver { seat, began, places, post, letters: letters_in, aside, disk, view, replies, exchanges: 0 };
        (driver, Inbox { letters, outcomes }, router)
    }

    /// For whoever brings letters and outcomes besides the post.
    pub(super) fn gates(&self) -> Gates<A::Word> {
        Gates { letters: self.letters.clone(), outcomes: self.post.outcomes.clone() }
    }

    /// Runs the process for as long as it is polled, or until its disk fails.
    pub(super) async fn run(mut self, mut inbox: Inbox<A::Word>, mut desk: RequestReceiver) {
        let mut done = self.handle(Input::Started);
        while done.is_ok() {
            self.show(&desk);
            let deadline = self.deadline();
            done = tokio::select! {
                biased;
                Some((call, reply)) = inbox.outcomes.recv() => self.conclude(call, reply),
                Some((question, answer)) = desk.next() => {
                    self.view.answer(self.now(), &question, answer);
                    Ok(())
                }
                Some(inbound) = inbox.letters.recv() => self.receive(inbound),
                () = tokio::time::sleep_until(deadline) => Ok(()),
            };
            let now = self.now();
            self.view.give_up(now);
            if done.is_ok() && self.seat.next_deadline().is_some_and(|(at, _)| at <= now) {
                done = self.handle(Input::Woke);
            }
        }
        if let Err(error) = done {
            tracing::error!(target: NODE, "the process takes part no more, because its disk failed: {error}");
        }
    }

    fn now(&self) -> Time {
        Time::from_micros(u64::try_from(self.began.elapsed().as_micros()).unwrap_or(u64::MAX))
    }

    fn deadline(&self) -> tokio::time::Instant {
        let core = self.seat.next_deadline().map(|(at, _)| at);
        let next = core.into_iter().chain(self.view.next_due()).min();
        let wait = next.map_or(SLEEP_MAX, |next| next.since(self.now()).min(SLEEP_MAX));
        (self.began + self.began.elapsed() + wait).into()
    }

    fn conclude(&mut self, call: Call, reply: Result<Reply<A::Word>, Failure>) -> io::Result<()> {
        let reply = match reply {
            Ok(reply) => reply,
            Err(why) => return self.handle(Input::Failed { call, why }),
        };
        if let Some(name) = reply.name {
            self.view.named(reply.letter.from, &name);
        }
        self.handle(Input::Replied { call, message: reply.letter })
    }

    fn receive(&mut self, inbound: Inbound<A::Word>) -> io::Result<()> {
        let Inbound { letter, name, reply } = inbound;
        if let Some(name) = name {
            self.view.named(letter.from, &name);
        }
        self.exchanges += 1;
        let exchange = Exchange(self.exchanges);
        self.replies.extend(reply.map(|reply| (exchange, reply)));
        let done = self.handle(Input::Received { exchange, message: letter });
        // Whoever does not wait any more is forgotten.
        self.replies.retain(|_, reply| !reply.is_closed());
        done
    }

    fn handle(&mut self, input: Input<Participant<A>>) -> io::Result<()> {
        let mut out = Effects::default();
        let now = self.now();
        self.seat.handle(now, input, &mut out);
        let effects: Vec<Effect<Participant<A>>> = out.drain().collect();
        for effect in effects {
            self.carry_out(effect)?;
        }
        Ok(())
    }

    fn carry_out(&mut self, effect: Effect<Participant<A>>) -> io::Result<()> {
        match effect {
            Effect::Send { to, call, message, timeout } => {
                if let Some(aside) = self.aside.as_ref().filter(|aside| aside.rank == to) {
                    if aside.jobs.try_send(Job { call, letter: message, timeout }).is_err() {
                        // As if it had been lost; the outcome is looked at before the next letter.
                        let _ = self.post.outcomes.send((call, Err(Failure::TimedOut)));
                    }
                } else if let Some(address) = self.places.address(to) {
                    self.post.send(address, call, &message, timeout);
                }
            }
            Effect::Tell { to, message } => {
                if let Some(address) = self.places.address(to) {
                    self.post.tell(address, &message);
                }
            }
            Effect::Reply { exchange, message } => {
                if let Some(reply) = self.replies.remove(&exchange) {
                    // Whoever does not wait any more is not answered.
                    let _ = reply.send(message);
                }
            }
            Effect::Store { write, .. } => store(&self.disk, &Persisted(write))?,
            Effect::Note(note) => tracing::info!(target: NODE, "{note}"),
            Effect::Cancel { .. }
            | Effect::Link { .. }
            | Effect::Unlink { .. }
            | Effect::Resolve
            | Effect::Apply(())
            | Effect::Answer { .. } => {}
        }
        Ok(())
    }

    fn show(&mut self, desk: &RequestReceiver) {
        let standing = self.seat.standing();
        let stand = Stand { mode: standing.mode, term: standing.term, leader: standing.leader };
        self.view.stands(stand);
        if let Some(news) = self.view.news() {
            desk.show(news);
        }
    }
}

/// Writes a record beside the old one, syncs it, and puts it in its place.
fn store<K: serde::Serialize>(path: &Path, Persisted(kept): &Persisted<K>) -> io::Result<()> {
    let beside = path.with_extension("new");
    let mut file = File::create(&beside)?;
    file.write_all(&serde_json::to_vec(kept)?)?;
    file.sync_all()?;
    fs::rename(&beside, path)
}
