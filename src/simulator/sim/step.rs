//! What happens in an event: something arrives somewhere, a participant handles it.

use super::calls::{CallId, Pending};
use super::host::Arrival;
use super::network::{Cargo, Route};
use super::trace::{Detail, describe};
use super::watch::{Violation, Watch};
use super::world::{Event, World};
use crate::protocol::{Call, Failure, Input, Protocol, Time};
use std::time::Duration;

/// So many alarms without time passing are a participant that never moves a deadline that passed.
const WAKES_MAX: u32 = 10_000;

impl<P: Protocol, W: Watch<P>> World<P, W> {
    pub(super) fn carry_out(&mut self, event: Event<P>) {
        match event {
            Event::Alarm { node, life, number } => self.alarm_rings(node, life, number),
            Event::Request { call, from, to, copy, message } => self.request_arrives(call, (from, to), copy, message),
            Event::Tell { from, to, copy, message } => self.tell_arrives((from, to), copy, message),
            Event::Reply { call, message } => self.reply_arrives(call, message),
            Event::Fail { call, why } => self.fail_call(call, why),
            Event::Timeouts { span } => self.time_out_calls(span),
            Event::Late { call, span } => self.time_out(call, span),
            Event::Written { node, life, attempt } => self.finish_write(node, life, attempt),
            Event::Local { node, life, input } => self.arrive(node, life, Arrival::Input(input)),
            Event::Backlog { node, life } => self.take_backlog(node, life),
            Event::Dial { line, until } => self.dial(line, until),
            Event::Syn { line, until } => self.syn_arrives(line, until),
            Event::LineClosed { line, end } => self.line_closed(line, end),
        }
    }

    fn request_arrives(&mut self, call: CallId, (from, to): (usize, usize), copy: bool, message: P::Message) {
        let is_cancelled = self.cancelled.remove(&call);
        if is_cancelled || self.network.swallows(from, to, Cargo::Request) {
            self.counters.lost += 1;
            return;
        }
        let life = self.hosts[to].life();
        if life == 0 {
            // A copy never says refused: the first may have been carried out.
            if !copy && self.hosts[to].powered {
                self.send_failure(call, (to, from), Failure::Refused);
            }
            return;
        }
        if !copy && let Some(delay) = self.network.duplicate(from, to) {
            self.counters.duplicated += 1;
            let message = message.clone();
            self.after(delay, Event::Request { call, from, to, copy: true, message });
        }
        if let Some(pending) = self.calls.get(call) {
            pending.to_life = life;
        }
        self.counters.nodes[to].received += 1;
        let verdict = self.watch.delivered(self.now, from, to, &message);
        self.judge(verdict);
        let exchange = call.exchange(copy);
        self.arrive(to, life, Arrival::Input(Input::Received { exchange, message }));
    }

    fn tell_arrives(&mut self, (from, to): (usize, usize), copy: bool, message: P::Message) {
        if self.network.swallows(from, to, Cargo::Request) {
            self.counters.lost += 1;
            return;
        }
        if !copy && let Some(delay) = self.network.duplicate(from, to) {
            self.counters.duplicated += 1;
            let message = message.clone();
            self.after(delay, Event::Tell { from, to, copy: true, message });
        }
        let life = self.hosts[to].life();
        if life != 0 {
            self.counters.nodes[to].received += 1;
            let verdict = self.watch.delivered(self.now, from, to, &message);
            self.judge(verdict);
        }
        let exchange = self.calls.tell().exchange(false);
        self.arrive(to, life, Arrival::Input(Input::Received { exchange, message }));
    }

    fn reply_arrives(&mut self, call: CallId, message: P::Message) {
        let Some(&mut Pending { from, to, .. }) = self.calls.get(call) else {
            return;
        };
        if self.network.swallows(to, from, Cargo::Reply) {
            self.counters.lost += 1;
            return;
        }
        let verdict = self.watch.delivered(self.now, to, from, &message);
        self.judge(verdict);
        self.end_call(call, |call| Input::Replied { call, message });
    }

    /// Lets the sender of a call know how it failed, over the way back.
    pub(super) fn send_failure(&mut self, call: CallId, (from, to): (usize, usize), why: Failure) {
        match self.network.route(from, to, Cargo::Notice) {
            Route::After(delay) => self.after(delay, Event::Fail { call, why }),
            Route::Refused | Route::Lost => {}
        }
    }

    fn fail_call(&mut self, call: CallId, why: Failure) {
        self.end_call(call, |call| Input::Failed { call, why });
    }

    /// A call has one outcome, and none after its sender ended: then it is closed.
    fn end_call(&mut self, call: CallId, outcome: impl FnOnce(Call) -> Input<P>) {
        if let Some(Pending { from, to, call, .. }) = self.calls.close(call) {
            let verdict = self.watch.call_ended(self.now, (from, to), call);
            self.judge(verdict);
            let life = self.hosts[from].life();
            self.arrive(from, life, Arrival::Input(outcome(call)));
        }
    }

    fn time_out_calls(&mut self, span: u64) {
        let next = loop {
            match self.calls.expired(span, self.now) {
                Ok(call) => self.time_out(call, span),
                Err(next) => break next,
            }
        };
        if let Some(at) = next {
            self.queue.push(at, Event::Timeouts { span });
        }
    }

    /// A call failed if nothing of it got on for as long as its sender waits.
    fn time_out(&mut self, call: CallId, span: u64) {
        let Some(moving) = self.calls.get(call).map(|pending| pending.moving) else {
            return;
        };
        let late = moving + Duration::from_micros(span);
        if moving > Time::ZERO && late > self.now {
            self.queue.push(late, Event::Late { call, span });
        } else {
            self.after(0, Event::Fail { call, why: Failure::TimedOut });
        }
    }

    fn finish_write(&mut self, node: usize, life: u32, attempt: u64) {
        if self.hosts[node].life() == life {
            let Some((id, held)) = self.hosts[node].disk.finish(attempt) else {
                return;
            };
            let verdict = self.watch.synced(self.now, node, self.hosts[node].disk.contents());
            self.judge(verdict);
            self.begin_write(node);
            self.arrive(node, life, Arrival::Written(id, held));
        }
    }

    fn alarm_rings(&mut self, node: usize, life: u32, number: u64) {
        let Some(process) = self.hosts[node].process_of(life) else {
            return;
        };
        if process.alarm.is_some_and(|(_, current)| current == number) {
            process.alarm = None;
            if self.is_due(node) {
                self.arrive(node, life, Arrival::Input(Input::Woke));
            } else {
                self.set_alarm(node);
            }
        }
    }

    fn is_due(&self, node: usize) -> bool {
        let due = self.participant(node).and_then(P::next_deadline);
        due.is_some_and(|(at, _)| at <= self.local_time(node))
    }

    /// Something reaches the process `life` of a node: it handles it, or puts it behind what it has yet to handle.
    pub(super) fn arrive(&mut self, node: usize, life: u32, arrival: Arrival<P>) {
        let Some(process) = self.hosts[node].process_of(life) else {
            return;
        };
        if process.is_busy() {
            process.backlog.push_back(arrival);
        } else {
            self.take(node, arrival);
        }
    }

    fn take_backlog(&mut self, node: usize, life: u32) {
        let Some(process) = self.hosts[node].process_of(life).filter(|process| !process.paused) else {
            return;
        };
        let Some(arrival) = process.backlog.pop_front() else {
            return;
        };
        if !process.backlog.is_empty() {
            self.after(0, Event::Backlog { node, life });
        }
        self.take(node, arrival);
    }

    fn take(&mut self, node: usize, arrival: Arrival<P>) {
        match arrival {
            Arrival::Written(id, held) => {
                self.carry(node, held.into_iter());
                self.handle(node, Input::Stored(id));
            }
            // It may have waited while the deadline was moved.
            Arrival::Input(Input::Woke) if !self.is_due(node) => self.set_alarm(node),
            Arrival::Input(input) => self.handle(node, input),
        }
    }

    /// Lets a participant handle an input, and carries out what it wants.
    pub(super) fn handle(&mut self, node: usize, input: Input<P>) {
        let Some(process) = &mut self.hosts[node].process else {
            return;
        };
        self.counters.inputs += 1;
        self.trace.input(self.now, node, &input);
        if self.trace.is_on(Detail::Full) {
            let reason = process.participant.next_deadline().map(|(_, reason)| reason);
            let text = describe(&input, reason);
            self.trace.line(self.now, self.counters.events, Some(node), &text);
        }
        let woke = matches!(input, Input::Woke);
        let local = self.hosts[node].clock.local(self.now);
        let process = self.hosts[node].process.as_mut().expect("it ran a line ago");
        process.participant.handle(local, input, &mut self.effects);
        let verdict = self.watch.handled(self.now, node, &process.participant);
        if self.trace.is_on(Detail::Short) {
            let standing = Some(process.participant.standing());
            self.trace.stands(self.now, self.counters.events, node, standing);
        }
        self.judge(verdict);
        let mut effects = std::mem::take(&mut self.effects);
        self.carry(node, effects.drain());
        self.effects = effects;
        if woke {
            self.count_wakes(node);
        }
        self.set_alarm(node);
    }

    fn count_wakes(&mut self, node: usize) {
        let now = self.now;
        let Some(process) = &mut self.hosts[node].process else {
            return;
        };
        process.woken = if process.woken.0 == now { (now, process.woken.1 + 1) } else { (now, 1) };
        if process.woken.1 > WAKES_MAX {
            let reason = process.participant.next_deadline().map(|(_, reason)| reason.to_string());
            let what = format!("n{node} was woken {WAKES_MAX} times at {now} and still has a deadline for {reason:?}");
            self.judge(Err(Violation { checker: "deadlines move", what }));
        }
    }

    /// Makes sure that an alarm rings no later than the earliest deadline; one that rings early looks again.
    pub(super) fn set_alarm(&mut self, node: usize) {
        let host = &mut self.hosts[node];
        let Some(process) = &mut host.process else {
            return;
        };
        let Some((deadline, _)) = process.participant.next_deadline() else {
            return;
        };
        let at: Time = host.clock.world(deadline).max(self.now);
        if process.alarm.is_some_and(|(earlier, _)| earlier <= at) {
            return;
        }
        process.alarms += 1;
        process.alarm = Some((at, process.alarms));
        let (life, number) = (process.life, process.alarms);
        self.queue.push(at, Event::Alarm { node, life, number });
    }
}
