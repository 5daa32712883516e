//! Which part of the node each input is for: one line per message, reply, failure and deadline.
//!
//! What follows from an input stands in the parts. Mirrors the request handlers and listeners that `ZenDiscovery` and its
//! kin register (6.8).

use super::ask::Origin;
use super::message::Message;
use super::node::MasterlessLog;
use super::node::NodeState;
use super::rules::Protection;
use super::{CallPurpose, Memory, Mode, Note, PingKind, Promise, Timer, Write, Zen};
use crate::cluster::{Address, ClusterState};
use crate::protocol::{Call, Effect, Effects, Exchange, Failure, Input, Protocol, Standing, Time};
use crate::service::{Answer, Question};
use std::sync::Arc;
use std::time::Duration;

impl Protocol for Zen {
    type Peer = Address;
    type Message = Message;
    type Disk = Memory;
    type View = Arc<ClusterState>;
    type Question = Question;
    type Answer = Answer;
    type Note = Note;
    type Timer = Timer;

    fn handle(&mut self, now: Time, input: Input<Zen>, out: &mut Effects<Zen>) {
        self.node.now = now;
        self.notice_stall(now, out);
        match input {
            Input::Started => self.started(now, out),
            Input::Received { exchange, message } => self.received(now, exchange, message, out),
            Input::Replied { call, message } => self.replied(now, call, message, out),
            Input::Failed { call, why } => {
                if let Some(purpose) = self.node.calls.remove(&call) {
                    self.failed(now, purpose, why, out);
                }
            }
            Input::LinkClosed { peer } => self.on_link_closed(now, &peer, out),
            Input::Woke => self.woke(now, out),
            Input::Stored(id) => {
                self.note_stored(now, id, out);
                self.stored(now, out);
            }
            Input::Resolved(found) => self.on_resolved(now, found, out),
            Input::Asked { ticket, question } => self.on_asked(now, ticket, question, out),
        }
        self.route_waiting(now, out);
        self.node.keep_masterless_log(now, self.mode.stance());
        self.node.tell_if_changed(now, self.mode.stance(), out);
        if !self.node.keeps(Protection::StoredVotes) {
            out.put_last(|effect| matches!(effect, Effect::Store { write: Write::Promise(_), .. }));
        }
        if !self.node.keeps(Protection::StoredAcks) {
            out.put_last(|effect| matches!(effect, Effect::Store { write: Write::Accepted(_), .. }));
        }
        self.check();
    }

    fn next_deadline(&self) -> Option<(Time, Timer)> {
        self.node.timers.next()
    }

    fn standing(&self) -> Standing<Address> {
        let (mode, leader) = match &self.mode {
            Mode::Finding => ('F', None),
            Mode::Electing(_) => ('E', None),
            Mode::Joining(_) => ('J', None),
            Mode::Leading(lead) if lead.is_settled => ('L', Some(self.node.local.address.clone())),
            Mode::Leading(_) => ('l', None),
            Mode::Following(following) if self.node.shows(&following.master) => {
                ('f', Some(following.master.address.clone()))
            }
            Mode::Following(_) => ('a', None),
        };
        Standing { mode, term: self.node.ledger.promise.term.get(), version: self.node.applied.version.get(), leader }
    }
}

impl Zen {
    fn started(&mut self, now: Time, out: &mut Effects<Zen>) {
        if self.node.ledger.promise.node_id.is_none() {
            let promise = Promise { node_id: Some(self.node.local.id.clone()), ..self.node.ledger.promise.clone() };
            self.node.store(Write::Promise(promise), out);
        }
        self.node.masterless_log = MasterlessLog::begin(now);
        self.node.show_masterless(out);
        self.find(now, Duration::ZERO, "started", out);
    }

    pub(super) fn received(&mut self, now: Time, exchange: Exchange, message: Message, out: &mut Effects<Zen>) {
        if let Some(why) = self.refuses(now, &message, out) {
            return self.node.reply(exchange, Message::Rejected(why), out);
        }
        match message {
            Message::Ping { from, sight } => self.on_ping(now, exchange, &from, *sight, out),
            Message::Notice { from, sight } => self.on_notice(now, &from, *sight, out),
            Message::Join { from, join } => self.on_join(now, exchange, &from.node, join, out),
            Message::Fetch { .. } => self.node.on_fetch(exchange, out),
            Message::Publish { from, term, committed, body } => {
                self.on_publish(now, exchange, &from, (term, committed), body, out)
            }
            Message::Commit { from, id } => self.on_commit(now, exchange, &from.node, id, out),
            Message::NodePing { from, target, term } => {
                self.on_node_ping(now, exchange, &from.node, &target, term, out)
            }
            Message::MasterPing { from, master, .. } => self.on_master_ping(exchange, &from.node, &master, out),
            Message::CallVote { from, term, candidate } => {
                self.on_call_vote(now, exchange, &from.node, term, candidate, out)
            }
            Message::Leave { from, answered } if matches!(self.mode, Mode::Leading(_)) => {
                self.as_master(now, out, |master| master.on_leave(exchange, &from.node, answered))
            }
            Message::Leave { .. } => self.node.reply(exchange, Message::Rejected("not master".into()), out),
            Message::Submit { from, task, timeout, master_timeout } => {
                self.on_submit(now, (exchange, &from), *task, timeout, master_timeout, out)
            }
            Message::Read { query, master_timeout, .. } => {
                let deadline = now + master_timeout;
                self.ask_master(now, Origin::Node(exchange), out, |master, origin| master.read(origin, query, deadline))
            }
            Message::Relay { from, question } => self.on_relay(now, exchange, &from, *question, out),
            Message::PendingTasks { .. } => {
                self.ask_master(now, Origin::Node(exchange), out, |master, origin| master.tell_pending(origin))
            }
            Message::Succession { to, term, .. } => self.on_succession(now, exchange, (to, term), out),
            Message::Pong { .. }
            | Message::Joining(_)
            | Message::Fetched { .. }
            | Message::Report(_)
            | Message::MasterPong(_)
            | Message::Gone
            | Message::Answered(_)
            | Message::Rejected(_) => self.node.reply(exchange, Message::Rejected("not a request".into()), out),
        }
    }

    fn replied(&mut self, now: Time, call: Call, message: Message, out: &mut Effects<Zen>) {
        let Some(purpose) = self.node.calls.remove(&call) else {
            return;
        };
        if message.leaps_from(self.node.ledger.promise.term) {
            return self.failed(now, purpose, Failure::BadAnswer, out);
        }
        match (purpose, message) {
            (CallPurpose::Ping { address, asked }, Message::Pong { from, sight, mentioned }) => {
                self.as_seeker(now, out, |seeker| seeker.on_pong(address, asked, &from, *sight, mentioned))
            }
            (CallPurpose::Ping { address, .. }, Message::Rejected(why)) => {
                self.on_ping_rejected(now, &address, why, out)
            }
            (CallPurpose::Join { target }, Message::Rejected(why)) => {
                self.as_joiner(now, out, |joiner| joiner.on_join_rejected(&target, why.to_string()))
            }
            (CallPurpose::Join { target }, Message::Joining(answer)) => {
                self.as_joiner(now, out, |joiner| joiner.on_join_answer(&target, answer))
            }
            (CallPurpose::Fetch { from }, Message::Fetched { state, .. }) => self.on_fetched(now, &from, state, out),
            (CallPurpose::Publish { node, at, asked }, Message::Report(report)) => {
                self.as_master(now, out, |master| master.on_published(&node, (&at, asked), &report))
            }
            (CallPurpose::Commit { node, asked } | CallPurpose::CallVote { node, asked }, Message::Report(report)) => {
                self.as_master(now, out, |master| master.on_report(&node, asked, &report))
            }
            (CallPurpose::NodePing { node, asked, kind }, Message::Report(report)) => {
                self.as_master(now, out, |master| master.on_node_pong(&node, asked, kind, &report))
            }
            (CallPurpose::RoundTrip { joiner, asked }, Message::Pong { sight, .. }) => {
                self.node.note_round_trip(now, &joiner, asked, out);
                self.as_master(now, out, |master| master.on_round_trip(joiner, &sight))
            }
            (CallPurpose::MasterPing { master, asked, kind }, Message::MasterPong(pong)) => {
                self.as_follower(now, out, |follower| follower.on_master_pong(&master, (asked, kind), &pong))
            }
            (CallPurpose::Leave, Message::Gone) => self.node.has_left(out),
            (CallPurpose::Forward { ticket, attempt }, Message::Answered(answer)) => {
                self.on_answered(now, (ticket, attempt), *answer, out)
            }
            (CallPurpose::Relay { exchange, .. }, Message::Answered(answer)) => {
                self.node.reply(exchange, Message::Answered(answer), out)
            }
            // What was rejected or makes no sense is told as if nobody had understood the request.
            (purpose, _) => self.failed(now, purpose, Failure::BadAnswer, out),
        }
    }

    fn failed(&mut self, now: Time, purpose: CallPurpose, why: Failure, out: &mut Effects<Zen>) {
        match purpose {
            CallPurpose::Ping { address, .. } => self.on_ping_failed(now, &address, why, out),
            CallPurpose::Join { target } => self.as_joiner(now, out, |joiner| joiner.on_join_failed(&target, why)),
            CallPurpose::Fetch { from } => {
                self.as_candidate(now, out, |candidate| candidate.on_fetch_failed(&from, why))
            }
            CallPurpose::Publish { node, at, asked } => {
                self.as_master(now, out, |master| master.on_publish_failed(&node, (&at, asked), why))
            }
            // The node tells by its next answer, whatever that is to.
            CallPurpose::Commit { .. } | CallPurpose::CallVote { .. } => {}
            CallPurpose::NodePing { node, asked, kind } => {
                self.as_master(now, out, |master| master.on_node_silent(&node, (asked, kind), why))
            }
            CallPurpose::RoundTrip { joiner, .. } => {
                self.as_master(now, out, |master| master.on_round_trip_failed(&joiner, why))
            }
            CallPurpose::MasterPing { master, asked, kind } => {
                self.as_follower(now, out, |follower| follower.on_master_silent(&master, (asked, kind), why))
            }
            // The next master is told; without one the time for the good-bye runs out.
            CallPurpose::Leave => {}
            CallPurpose::Relay { exchange, changes } => self.node.on_relay_failed(exchange, changes, why, out),
            CallPurpose::Forward { ticket, attempt } => self.on_forward_failed(now, (ticket, attempt), why, out),
        }
    }

    fn woke(&mut self, now: Time, out: &mut Effects<Zen>) {
        while let Some(timer) = self.node.timers.pop_due(now) {
            match timer {
                Timer::Round => self.as_seeker(now, out, |seeker| seeker.end_round()),
                Timer::PingAgain => self.as_seeker(now, out, |seeker| seeker.ping_again()),
                Timer::Grace => self.as_seeker(now, out, |seeker| seeker.consider()),
                Timer::Candidacy => self.as_candidate(now, out, |candidate| candidate.doubt_candidacy()),
                Timer::Join => self.as_joiner(now, out, |joiner| joiner.join_again()),
                Timer::MasterPing => self.as_follower(now, out, |follower| follower.ping_master(PingKind::Regular)),
                Timer::Silence => self.as_follower(now, out, |follower| follower.compare_silence()),
                Timer::NodePings => self.as_master(now, out, |master| master.ping_nodes()),
                Timer::Commit => self.as_master(now, out, |master| master.commit_timed_out()),
                Timer::Queue => self.as_master(now, out, |master| master.expire_tasks()),
                Timer::Behind => self.as_master(now, out, |master| master.name_those_behind()),
                Timer::Acks => self.as_master(now, out, |master| master.expire_acks()),
                Timer::Leases => self.as_master(now, out, |master| master.expire_leases()),
                Timer::Gateway => self.as_master(now, out, |master| master.recover()),
                Timer::Asks => self.retry_asks(now, out),
                Timer::Disk => self.on_write_overdue(now, out),
                Timer::Leave => self.node.has_left(out),
            }
        }
    }

    /// The stall of the own loop shows in a deadline that was kept late.
    fn notice_stall(&mut self, now: Time, out: &mut Effects<Zen>) {
        if let Some((due, _)) = self.node.timers.next() {
            self.node.doubt_if_late(now, due, out);
            self.give_back(now, now.since(due));
        }
    }

    /// A publish does not pay for the time in which this node stood still: its acknowledgements may lie unread.
    fn give_back(&mut self, now: Time, late: Duration) {
        let patience = self.node.tuning.commit_patience();
        if late > patience / 4 && self.node.keeps(Protection::SelfDoubt) {
            self.node.timers.put_off(Timer::Commit, now + late.min(patience));
            if let Mode::Leading(lead) = &mut self.mode {
                lead.give_back(now);
            }
        }
    }

    fn stored(&mut self, now: Time, out: &mut Effects<Zen>) {
        match self.mode {
            Mode::Electing(_) => self.as_candidate(now, out, |candidate| candidate.count_votes()),
            Mode::Leading(_) => self.as_master(now, out, |master| master.on_stored()),
            // A vote may be repeated once it is stored.
            Mode::Finding => self.as_seeker(now, out, |seeker| seeker.consider()),
            Mode::Joining(_) | Mode::Following(_) => {}
        }
    }
}

impl NodeState {
    /// What was due long ago and is handled only now shows a stall, and then silence is no news of others.
    pub(super) fn doubt_if_late(&mut self, now: Time, due: Time, out: &mut Effects<Zen>) {
        let late = now.since(due);
        if late > self.tuning.fd_ping_timeout / 2 && self.keeps(Protection::SelfDoubt) {
            // What piled up meanwhile is handled before the deadline is; the stall is told of once.
            if late > self.tuning.fd_ping_timeout && now >= self.doubts_until {
                out.note(Note::Stalled { by: late });
            }
            self.doubts_until = now + self.tuning.fd_ping_timeout;
        }
    }
}
