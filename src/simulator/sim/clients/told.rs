//! What clients were told, and what becomes of what they pending.
//!
//! Everything that happens in a run comes by here, on its way to the checkers. Who asks what and when stands in the module
//! above.

use super::{Clients, Open, Pending, TRIES_MAX, Who};
use crate::cluster::{ClusterState, KeyValue, RequestOutcome, StateId};
use crate::protocol::{Call, Disk, Ticket, Time};
use crate::service::{Answer, Refusal};
use crate::sim::check::{Finished, failure};
use crate::sim::history::End;
use crate::sim::operation::{Key, Operation, Update, revision};
use crate::sim::watch::{Violation, Watch};
use crate::zen::{Memory, Message, Note, Write, Zen};
use std::sync::Arc;

impl Clients {
    fn count(&mut self, what: &'static str) {
        *self.told.entry(what).or_default() += 1;
    }

    /// What became of a pending is known, or will never be.
    fn settle(&mut self, at: Time, node: usize, pending: &Pending, answer: &Answer) -> Result<(), Violation> {
        if let Operation::Leave = pending.operation {
            self.left.extend(matches!(answer, Answer::Left).then_some(node));
            return Ok(());
        }
        let Some((state, end)) = self.understand(pending, answer)? else {
            self.give_up(pending, at);
            return Ok(());
        };
        self.history.ended(&pending.operation, pending.began, at, &end);
        let writes = matches!(pending.operation, Operation::Update(_) | Operation::Set { .. } | Operation::Drop(_));
        match state {
            Some(state) => self.order.finished(&Finished { began: pending.began, ended: at, at: state, writes }),
            None => Ok(()),
        }
    }

    /// The state that an answer speaks of, and how the operation ended; nothing if the answer says nothing for certain.
    fn understand(&mut self, pending: &Pending, answer: &Answer) -> Result<Option<(Option<StateId>, End)>, Violation> {
        Ok(match (&pending.operation, answer) {
            (Operation::Update(update), Answer::Done { at, outcome: RequestOutcome::Written { part, .. }, .. }) => {
                self.acknowledged.update(&self.checkers.descent, *at, update)?;
                self.learn(update, *at, *part);
                Some((Some(*at), End::Done(Vec::new())))
            }
            (Operation::Update(_), Answer::Refused(Refusal::Conflict { .. })) => Some((None, End::Refused)),
            (Operation::Read(key), Answer::Value { at, value }) => {
                self.acknowledged.read(&self.checkers.descent, *at, *key, value.as_ref())?;
                let number = self.see(*key, value.as_ref());
                Some((Some(*at), End::Done(vec![(key.register(), number)])))
            }
            (Operation::List(group), Answer::Range { at, keys, .. }) => {
                let held = |key: Key| keys.iter().find(|(name, _)| *name == key.name()).map(|(_, value)| value);
                let pair = [Key(group * 2), Key(group * 2 + 1)];
                let seen = pair.map(|key| (key.register(), self.see(key, held(key))));
                Some((Some(*at), End::Done(seen.to_vec())))
            }
            (Operation::Set { setting, value }, Answer::Done { at, .. }) => {
                let is_over = !self.habits.is_doubling;
                let told = (setting, value.as_ref());
                self.configured.acknowledged(&self.checkers.descent, *at, told, is_over)?;
                Some((Some(*at), End::Done(Vec::new())))
            }
            (Operation::Drop(_), Answer::Done { at, .. }) => Some((Some(*at), End::Done(Vec::new()))),
            (_, _) => None,
        })
    }

    fn see(&mut self, key: Key, value: Option<&KeyValue>) -> u64 {
        let number = value.and_then(|held| held.value.as_str()?.parse().ok()).unwrap_or(0);
        self.known.insert(key, (number, value.map(|held| held.changed).unwrap_or_default()));
        number
    }

    fn learn(&mut self, update: &Update, at: StateId, part: u32) {
        for (key, number) in &update.puts {
            self.known.insert(*key, (*number, revision(at, part)));
        }
    }

    /// Whether a client asks again for what it got no answer to.
    fn may_repeat(&self, who: &Who, pending: &Pending) -> bool {
        let is_there = matches!(who, Who::Client(at) if *at < self.clients.len());
        is_there
            && pending.request.is_some()
            && matches!(pending.operation, Operation::Update(_))
            && pending.tries < TRIES_MAX
    }

    fn heard(&mut self, at: Time, node: usize, who: &Who, pending: Pending, answer: &Answer) -> Result<(), Violation> {
        if self.may_repeat(who, &pending) && failure(answer).is_some() {
            self.try_again(who, pending, at);
            return Ok(());
        }
        self.rest(who, at);
        self.settle(at, node, &pending, answer)
    }
}

/// What a client was told, in a word.
fn outcome(answer: &Answer) -> &'static str {
    match answer {
        Answer::Done { acknowledged: true, .. } => "done by all",
        Answer::Done { acknowledged: false, .. } => "done",
        Answer::Newest { .. } | Answer::Value { .. } | Answer::Range { .. } => "read",
        Answer::Lease { .. } => "lease kept alive",
        Answer::Refused(Refusal::Conflict { .. }) => "refused: a condition does not hold",
        Answer::Refused(Refusal::Held { .. } | Refusal::NotHeld(_)) => "refused: held, or not held",
        Answer::Refused(
            Refusal::Invalid(_)
            | Refusal::TooLarge(_)
            | Refusal::Forgotten(_)
            | Refusal::ForgottenForward(_)
            | Refusal::Blocked { .. }
            | Refusal::Overloaded(_),
        ) => "refused",
        Answer::NotMaster | Answer::NoMaster => "no master",
        Answer::TimedOut { .. } => "timed out in the queue",
        Answer::Unknown { .. } => "unknown",
        Answer::Pending(_) => "pending tasks",
        Answer::Left => "left",
        Answer::HandedOver { .. } => "handed over",
    }
}

impl Watch<Zen> for Clients {
    fn booted(&mut self, at: Time, node: usize, zen: &Zen) -> Result<(), Violation> {
        self.watchers.booted(node);
        self.configured.booted(node, &zen.local().id);
        self.gone.booted(node, &zen.local().id);
        self.checkers.booted(at, node, zen)
    }

    fn handled(&mut self, at: Time, node: usize, zen: &Zen) -> Result<(), Violation> {
        let before = self.checkers.descent.newest();
        self.checkers.handled(at, node, zen)?;
        self.timely.passes(at)?;
        if self.checkers.descent.newest() == before {
            return Ok(());
        }
        self.kept.look(&self.checkers.descent)?;
        self.configured.look(&self.checkers.descent)?;
        self.holders.keep_theirs(at, &self.checkers.descent)
    }

    fn ended(&mut self, _at: Time, node: usize) -> Result<(), Violation> {
        self.configured.ended(node);
        self.storm.ended(node);
        self.timely.ended(node);
        Ok(())
    }

    fn paused(&mut self, _at: Time, node: usize, is_paused: bool) -> Result<(), Violation> {
        self.timely.paused(node, is_paused);
        Ok(())
    }

    fn sent(&mut self, at: Time, from: usize, to: usize, message: &Message) -> Result<(), Violation> {
        self.storm.sent(at, from, message)?;
        if let Message::Publish { body, .. } = message {
            self.configured.made(body.id());
        }
        self.checkers.sent(at, from, to, message)
    }

    fn called(&mut self, _at: Time, ends: (usize, usize), call: Call, message: &Message) -> Result<(), Violation> {
        self.storm.called(ends, call, message)
    }

    fn call_ended(&mut self, _at: Time, ends: (usize, usize), call: Call) -> Result<(), Violation> {
        self.storm.call_ended(ends, call);
        Ok(())
    }

    fn delivered(&mut self, at: Time, from: usize, to: usize, message: &Message) -> Result<(), Violation> {
        if matches!(message, Message::Succession { .. }) {
            self.ordered_at = Some(at);
        }
        self.storm.delivered((from, to), message);
        Ok(())
    }

    fn wrote(&mut self, at: Time, node: usize, write: &Write) -> Result<(), Violation> {
        self.timely.wrote(at, node);
        if let Write::Accepted(state) = write {
            self.configured.made(state.id());
        }
        if !Memory::is_lazy(write) {
            self.storm.wrote(at, node)?;
        }
        self.checkers.wrote(at, node, write)
    }

    fn synced(&mut self, at: Time, node: usize, disk: &Memory) -> Result<(), Violation> {
        self.timely.synced(at, node);
        self.checkers.synced(at, node, disk)
    }

    fn noted(&mut self, _at: Time, _node: usize, _note: &Note) -> Result<(), Violation> {
        Ok(())
    }

    fn applied(&mut self, at: Time, node: usize, view: &Arc<ClusterState>) -> Result<(), Violation> {
        self.watchers.applied(node, view);
        self.configured.applied(node, view);
        self.checkers.applied(at, node, view)
    }

    fn answered(&mut self, at: Time, _node: usize, ticket: Ticket, answer: &Answer) -> Result<(), Violation> {
        let Some(Open { who, node, pending, .. }) = self.open.remove(&ticket) else {
            return Ok(());
        };
        self.timely.answered(ticket, at, answer)?;
        let is_drop = matches!(&pending, Some(Pending { operation: Operation::Drop(_), .. }));
        self.count(if is_drop && matches!(answer, Answer::Done { .. }) { "voter dropped" } else { outcome(answer) });
        match (&who, pending) {
            (Who::Holder(holder, asked), _) => {
                self.holders.answered(*holder, at, (asked, answer), &mut self.checkers.fencing)?;
                self.acknowledged.lease(&self.checkers.descent, answer)?;
                self.holders.keep_theirs(at, &self.checkers.descent)
            }
            (_, Some(pending)) => self.heard(at, node, &who, pending, answer),
            (Who::Client(_) | Who::Passer, None) => Ok(()),
        }
    }

    fn lost(&mut self, at: Time, _node: usize, ticket: Ticket) -> Result<(), Violation> {
        let Some(Open { who, pending, .. }) = self.open.remove(&ticket) else {
            return Ok(());
        };
        self.timely.lost(ticket, at)?;
        self.count("lost");
        match (&who, pending) {
            (Who::Holder(holder, _), _) => self.holders.unanswered(*holder, at),
            (_, Some(pending)) => {
                if self.may_repeat(&who, &pending) {
                    self.try_again(&who, pending, at);
                } else {
                    self.give_up(&pending, at);
                    self.rest(&who, at);
                }
            }
            (Who::Client(_) | Who::Passer, None) => {}
        }
        Ok(())
    }
}
