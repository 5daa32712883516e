//! Carries out what participants want.
//!
//! Effects behind a store wait on the disk until that write is synced; a later store of the same batch is queued at
//! once, because the disk keeps the order anyway.

use super::calls::{CallId, Pending};
use super::message_filter::{Freight, Manner};
use super::network::{Cargo, Route};
use super::trace::Detail;
use super::watch::{Violation, Watch};
use super::world::{Event, World};
use crate::protocol::{Call, Disk, Effect, Exchange, Failure, Input, Protocol, StoreId, Ticket, Time};
use std::time::Duration;

impl<P: Protocol, W: Watch<P>> World<P, W> {
    /// Carries out the effects of one batch, in order.
    pub(super) fn carry(&mut self, node: usize, batch: impl Iterator<Item = Effect<P>>) {
        let mut behind = None;
        for effect in batch {
            match (effect, behind) {
                (Effect::Store { id, write }, _) => {
                    let lazy = P::Disk::is_lazy(&write);
                    let number = self.store(node, id, write);
                    behind = if lazy { behind } else { Some(number) };
                }
                (effect, Some(number)) => self.hosts[node].disk.hold(number, effect),
                (effect, None) => self.carry_one(node, effect),
            }
        }
    }

    fn carry_one(&mut self, node: usize, effect: Effect<P>) {
        let Some(life) = self.hosts[node].process.as_ref().map(|process| process.life) else {
            return;
        };
        match effect {
            Effect::Send { to, call, message, timeout } => self.send(node, to, (call, timeout), message),
            Effect::Cancel { call } => self.cancel(node, call),
            Effect::Tell { to, message } => self.tell(node, to, message),
            Effect::Reply { exchange, message } => self.reply(node, exchange, message),
            Effect::Store { .. } => unreachable!("stores are queued, never held"),
            Effect::Link { to } => self.hold_line(node, life, to),
            Effect::Unlink { to } => self.let_go(node, &to),
            Effect::Resolve => self.resolve(node, life),
            Effect::Apply(view) => {
                let verdict = self.watch.applied(self.now, node, &view);
                self.judge(verdict);
                if let Some(process) = &mut self.hosts[node].process {
                    process.view = Some(view);
                }
            }
            Effect::Answer { ticket, answer } => self.answer(node, ticket, &answer),
            Effect::Note(note) => self.note(node, &note),
        }
    }

    fn send(&mut self, from: usize, peer: P::Peer, (call, timeout): (Call, Duration), message: P::Message) {
        self.counters.requests += 1;
        let Some(to) = self.addresses.get(&peer).copied() else {
            return self.refuse_call(from, call, timeout);
        };
        self.account(from, to, &message, "");
        let verdict = self.watch.called(self.now, (from, to), call, &message);
        self.judge(verdict);
        let id = self.calls.open(Pending { from, to, to_life: 0, call, replying: false, moving: Time::ZERO });
        let span_us = u64::try_from(timeout.as_micros()).unwrap_or(u64::MAX);
        let span = self.hosts[from].clock.world_span(span_us);
        let expires = self.now + Duration::from_micros(span);
        if self.calls.time_out(span, expires, id) {
            self.queue.push(expires, Event::Timeouts { span });
        }
        match self.route_request(from, to, &message) {
            Route::Refused => self.after(1, Event::Fail { call: id, why: Failure::Refused }),
            Route::Lost => self.counters.lost += 1,
            Route::After(delay) => self.dispatch(Freight { from, to, manner: Manner::Request(id), message }, delay),
        }
    }

    /// A request that is cancelled while it is under way does not arrive.
    fn cancel(&mut self, node: usize, call: Call) {
        let open = self.calls.iter().find(|(_, pending)| pending.from == node && pending.call == call).copied();
        let Some((id, Pending { from, to, moving, .. })) = open else {
            return;
        };
        self.calls.close(id);
        if moving > self.now {
            self.cancelled.insert(id);
        }
        let verdict = self.watch.call_ended(self.now, (from, to), call);
        self.judge(verdict);
    }

    /// Sends a message in the name of a node that did not want it sent, and that is not judged by it. What is replied goes
    /// nowhere.
    pub fn say(&mut self, from: usize, to: usize, message: P::Message) {
        match self.route_request(from, to, &message) {
            Route::Refused | Route::Lost => self.counters.lost += 1,
            Route::After(delay) => self.dispatch(Freight { from, to, manner: Manner::Tell, message }, delay),
        }
    }

    fn tell(&mut self, from: usize, peer: P::Peer, message: P::Message) {
        self.counters.tells += 1;
        let Some(to) = self.addresses.get(&peer).copied() else {
            return;
        };
        self.account(from, to, &message, "tell ");
        match self.route_request(from, to, &message) {
            Route::Refused | Route::Lost => self.counters.lost += 1,
            Route::After(delay) => self.dispatch(Freight { from, to, manner: Manner::Tell, message }, delay),
        }
    }

    /// What an unreachable address stops may still go over a link that is open between the two, whoever made it.
    fn route_request(&mut self, from: usize, to: usize, message: &P::Message) -> Route {
        match self.network.bar(from, to) {
            Some(stopped) if !self.goes_over_link(from, to, message) => stopped,
            Some(_) | None => self.network.route(from, to, Cargo::Request),
        }
    }

    fn goes_over_link(&self, from: usize, to: usize, message: &P::Message) -> bool {
        self.over_links.is_some_and(|goes| goes(message)) && self.lines.are_linked(from, to)
    }

    fn reply(&mut self, node: usize, exchange: Exchange, message: P::Message) {
        self.counters.replies += 1;
        let id = CallId::of(exchange);
        // A reply after the timeout, or to what was only told, goes nowhere.
        let Some(&mut Pending { from, to, .. }) = self.calls.get(id) else {
            return;
        };
        assert_eq!(to, node, "a node replied to another's request");
        self.account(node, from, &message, "reply ");
        match self.network.route(node, from, Cargo::Reply) {
            Route::Refused | Route::Lost => self.counters.lost += 1,
            Route::After(delay) => {
                if let Some(pending) = self.calls.get(id) {
                    pending.replying = true;
                }
                self.dispatch(Freight { from: node, to: from, manner: Manner::Reply(id), message }, delay);
            }
        }
    }

    /// Sends a message on its way, which takes it `delay` and as long as its link needs for its size.
    fn dispatch(&mut self, freight: Freight<P>, delay: u64) {
        let transfer = self.weigher.filter(|_| self.network.has_rate(freight.from, freight.to));
        let longer = transfer.map_or(0, |weigh| self.transfer(&freight, weigh));
        self.travel(freight, delay.saturating_add(longer));
    }

    fn transfer(&mut self, freight: &Freight<P>, weigh: fn(&P::Message) -> usize) -> u64 {
        let Freight { from, to, manner, ref message } = *freight;
        let call = match manner {
            Manner::Request(call) | Manner::Reply(call) => Some(call),
            Manner::Tell => None,
        };
        self.network.give_up_transfers(from, to, |call| self.calls.get(call).is_some());
        let longer = self.network.transfer(self.now, (from, to), (call, weigh(message) as u64));
        if let Some(pending) = call.and_then(|call| self.calls.get(call)) {
            pending.moving = self.now + Duration::from_micros(longer);
        }
        longer
    }

    /// An address that no node has refuses after a round trip.
    pub(super) fn refuse_nobody(&mut self, node: usize, input: Input<P>) {
        let round_trip = self.trip_to_nobody(node);
        let life = self.hosts[node].life();
        self.after(round_trip, Event::Local { node, life, input });
    }

    /// The same of a call, which waits for no refusal that is late.
    fn refuse_call(&mut self, node: usize, call: Call, timeout: Duration) {
        let round_trip = self.trip_to_nobody(node);
        let span_us = u64::try_from(timeout.as_micros()).unwrap_or(u64::MAX);
        let patience = self.hosts[node].clock.world_span(span_us);
        let why = if round_trip < patience { Failure::Refused } else { Failure::TimedOut };
        let life = self.hosts[node].life();
        self.after(round_trip.min(patience), Event::Local { node, life, input: Input::Failed { call, why } });
    }

    fn trip_to_nobody(&mut self, node: usize) -> u64 {
        self.network.delay_between(node, node) + self.network.delay_between(node, node)
    }

    fn account(&mut self, from: usize, to: usize, message: &P::Message, manner: &str) {
        self.counters.nodes[from].sent += 1;
        if let Some(sizer) = self.sizer {
            let bytes = sizer(message) as u64;
            self.counters.bytes += bytes;
            self.counters.nodes[from].sent_bytes += bytes;
        }
        if self.trace.is_on(Detail::Full) {
            let text = format!("> n{to} {manner}{message}");
            self.trace.line(self.now, self.counters.events, Some(from), &text);
        }
        let verdict = self.watch.sent(self.now, from, to, message);
        self.judge(verdict);
    }

    fn store(&mut self, node: usize, id: StoreId, write: <P::Disk as Disk>::Write) -> u64 {
        self.counters.stores += 1;
        if self.trace.is_on(Detail::Full) {
            let text = format!("store {}: {write:?}", id.0);
            self.trace.line(self.now, self.counters.events, Some(node), &text);
        }
        let verdict = self.watch.wrote(self.now, node, &write);
        self.judge(verdict);
        let number = self.hosts[node].disk.store(id, write);
        self.begin_write(node);
        number
    }

    /// Writes one after the other, each at the speed that the disk has when it begins; none on a disk that hangs.
    pub(super) fn begin_write(&mut self, node: usize) {
        let host = &mut self.hosts[node];
        let life = host.life();
        if let Some((takes, attempt)) = host.disk.begin(&mut host.rng) {
            self.after(takes, Event::Written { node, life, attempt });
        }
    }

    fn resolve(&mut self, node: usize, life: u32) {
        let host = &mut self.hosts[node];
        if host.resolves {
            let delay = host.rng.between(self.normal.lookup_us.0, self.normal.lookup_us.1);
            let input = Input::Resolved(host.seeds.clone());
            self.after(delay, Event::Local { node, life, input });
        }
    }

    fn answer(&mut self, node: usize, ticket: Ticket, answer: &P::Answer) {
        let asked = self.hosts[node].process.as_mut().is_some_and(|process| process.asked.remove(&ticket));
        if !asked {
            let what = format!("n{node} answered question {}, which was not open there", ticket.0);
            self.judge(Err(Violation { checker: "one answer", what }));
        }
        if self.trace.is_on(Detail::Full) {
            let text = format!("answered {}: {answer:?}", ticket.0);
            self.trace.line(self.now, self.counters.events, Some(node), &text);
        }
        let verdict = self.watch.answered(self.now, node, ticket, answer);
        self.judge(verdict);
    }

    fn note(&mut self, node: usize, note: &P::Note) {
        if self.trace.is_on(Detail::Short) {
            let text = format!("\" {note}");
            self.trace.line(self.now, self.counters.events, Some(node), &text);
        }
        let verdict = self.watch.noted(self.now, node, note);
        self.judge(verdict);
    }
}
