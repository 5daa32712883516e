//! The fault detectors: a master pings its nodes, and each node its master.
//!
//! A broken connection counts at once, silence after `fd.ping_retries` pings. Whoever answers lives: whom it follows is not
//! asked. Mirrors `NodesFaultDetection` and `MasterFaultDetection` (6.8).

use super::{CallPurpose, Dialect, Mode, Timer, Zen68};
use crate::cluster::{EphemeralId, Node, Nodes, Term, Version};
use crate::protocol::{Effect, Effects, Exchange, Failure, Time};
use crate::zen::message::MasterPong;
use crate::zen::{Message, Note};
use std::sync::Arc;
use std::time::Duration;

/// A process that its master pings.
#[derive(Clone, Debug)]
pub(super) struct Watched {
    pub(super) node: Arc<Node>,
    /// Pings in a row that it did not answer.
    failures: u32,
    /// When it is pinged next; none while a ping is on its way.
    due: Option<Time>,
}

impl Zen68 {
    /// Pings whoever is listed, and nobody else. Before 1.4 only those were pinged anew whom the last list of this master
    /// did not have.
    pub(super) fn watch_nodes(&mut self, now: Time, known: Option<&Nodes>, out: &mut Effects<Zen68>) {
        let (local, nodes, dialect) = (self.local.clone(), self.state.nodes.clone(), self.dialect);
        let Some(mastership) = self.mastership() else {
            return;
        };
        mastership.watched.retain(|_, watched| nodes.contains_process(&watched.node));
        for node in nodes.iter().filter(|node| !node.same_process(&local)) {
            let is_new = known.is_none_or(|known| !known.contains_process(node));
            if is_new || dialect.has_two_phases() {
                let watched = || Watched { node: node.clone(), failures: 0, due: Some(now) };
                mastership.watched.entry(node.ephemeral_id.clone()).or_insert_with(watched);
            }
        }
        self.ping_nodes(now, out);
    }

    /// Pings whoever is due. A master's ping names a version, where this protocol's names a term; until 6.3 that was always
    /// -1, which no version is below.
    pub(super) fn ping_nodes(&mut self, now: Time, out: &mut Effects<Zen68>) {
        let version = if self.dialect == Dialect::Fd56 { Version::ZERO } else { self.state.version };
        let term = Term::new(version.get()).unwrap_or_default();
        let Some(mastership) = self.mastership() else {
            return;
        };
        let mut due = Vec::new();
        for (process, watched) in mastership.watched.iter_mut() {
            if watched.due.is_some_and(|at| at <= now) {
                watched.due = None;
                due.push((process.clone(), watched.node.address.clone()));
            }
        }
        if let Some(next) = mastership.watched.values().filter_map(|watched| watched.due).min() {
            self.timers.set(Timer::NodePings, next);
        }
        for (process, address) in due {
            let message = Message::NodePing { from: self.sender.clone(), target: process.clone(), term };
            self.call(&address, message, CallPurpose::NodePing { process }, self.tuning.fd_ping_timeout, out);
        }
    }

    pub(super) fn on_node_pong(&mut self, now: Time, process: &EphemeralId) {
        let next = now + self.tuning.fd_ping_interval;
        if let Some(watched) = self.mastership().and_then(|mastership| mastership.watched.get_mut(process)) {
            (watched.failures, watched.due) = (0, Some(next));
            self.timers.set_earlier(Timer::NodePings, next);
        }
    }

    /// After a ping that failed the next one is sent at once.
    pub(super) fn on_node_silent(&mut self, now: Time, process: &EphemeralId, why: Failure, out: &mut Effects<Zen68>) {
        let (retries, timeout) = (self.tuning.fd_ping_retries, self.tuning.fd_ping_timeout);
        let Some(watched) = self.mastership().and_then(|mastership| mastership.watched.get_mut(process)) else {
            return;
        };
        if is_disconnect(why) {
            return self.node_failed(now, process, "transport disconnected", out);
        }
        watched.failures += 1;
        watched.due = Some(now);
        if watched.failures >= retries {
            return self.node_failed(now, process, &out_of_patience(retries, timeout), out);
        }
        out.note(Note::PingFailed { node: watched.node.clone(), tried: watched.failures, of: retries });
        self.ping_nodes(now, out);
    }

    /// Removes a node, which is pinged again only if a later state still lists it.
    pub(super) fn node_failed(&mut self, now: Time, process: &EphemeralId, reason: &str, out: &mut Effects<Zen68>) {
        let Some(watched) = self.mastership().and_then(|mastership| mastership.watched.remove(process)) else {
            return;
        };
        out.note(Note::NodeFailed { node: watched.node.clone(), reason: reason.into() });
        self.remove(now, &watched.node, reason, false, out);
    }

    pub(super) fn ping_master(&mut self, out: &mut Effects<Zen68>) {
        let Mode::Following { master, .. } = &self.mode else {
            return;
        };
        let (address, master) = (master.address.clone(), master.ephemeral_id.clone());
        let (from, term) = (self.sender.clone(), Term::ZERO);
        let message = Message::MasterPing { from, master: master.clone(), term };
        self.call(&address, message, CallPurpose::MasterPing { master }, self.tuning.fd_ping_timeout, out);
    }

    /// A master leads, and a node is known, as soon as the state is on its way that says so. Zen kept such a ping until that
    /// state was committed.
    pub(super) fn on_master_ping(
        &mut self,
        exchange: Exchange,
        from: &Node,
        master: &EphemeralId,
        out: &mut Effects<Zen68>,
    ) {
        let leads = matches!(self.mode, Mode::Leading(_)) && *master == self.local.ephemeral_id;
        let published =
            self.mastership().and_then(|mastership| mastership.publish.as_ref()).map(|publish| publish.state.clone());
        let is_listed = published.is_some_and(|state| state.nodes.contains_process(from));
        let is_member = is_listed || self.state.nodes.contains_process(from);
        let message = Message::MasterPong(MasterPong { leads, is_member, term: Term::ZERO });
        out.push(Effect::Reply { exchange, message });
    }

    pub(super) fn on_master_pong(
        &mut self,
        now: Time,
        asked: &EphemeralId,
        pong: &MasterPong,
        out: &mut Effects<Zen68>,
    ) {
        let Mode::Following { master, failures } = &mut self.mode else {
            return;
        };
        if master.ephemeral_id != *asked {
            return;
        }
        if !pong.leads {
            return self.master_gone(now, "no longer master", out);
        }
        if !pong.is_member {
            return self.master_gone(now, "do not exists on master, act as master failure", out);
        }
        *failures = 0;
        self.timers.set(Timer::MasterPing, now + self.tuning.fd_ping_interval);
    }

    pub(super) fn on_master_silent(&mut self, now: Time, asked: &EphemeralId, why: Failure, out: &mut Effects<Zen68>) {
        let (retries, timeout) = (self.tuning.fd_ping_retries, self.tuning.fd_ping_timeout);
        let Mode::Following { master, failures } = &mut self.mode else {
            return;
        };
        if master.ephemeral_id != *asked {
            return;
        }
        if is_disconnect(why) {
            return self.master_gone(now, "transport disconnected", out);
        }
        *failures += 1;
        if *failures >= retries {
            return self.master_gone(now, &out_of_patience(retries, timeout), out);
        }
        out.note(Note::PingFailed { node: master.clone(), tried: *failures, of: retries });
        self.ping_master(out);
    }

    /// The master is gone for this node, and with it what was acknowledged and is not known to be committed.
    pub(super) fn master_gone(&mut self, now: Time, reason: &str, out: &mut Effects<Zen68>) {
        let Mode::Following { master, .. } = &self.mode else {
            return;
        };
        let master = master.clone();
        out.note(Note::MasterLeft { master: master.clone(), reason: reason.into() });
        self.pending.clear();
        self.rejoin(now, format!("master left (reason = {reason})"), out);
        if !self.dialect.has_two_phases() {
            self.succeed_unasked(now, &master, out);
        }
    }

    /// Before 1.4, whoever came first in the last known list took the place of a lost master and asked nobody.
    fn succeed_unasked(&mut self, now: Time, lost: &Node, out: &mut Effects<Zen68>) {
        let known: Vec<_> = self.state.nodes.eligible().filter(|node| node.id != lost.id).collect();
        let is_first = known.first().is_some_and(|first| first.id == self.local.id);
        if is_first && self.has_enough(known.len()) {
            self.begin_leading(now, Some(lost), out);
        }
    }
}

fn is_disconnect(why: Failure) -> bool {
    match why {
        Failure::Refused | Failure::Reset => true,
        Failure::TimedOut | Failure::BadAnswer => false,
    }
}

fn out_of_patience(retries: u32, timeout: Duration) -> String {
    format!("failed to ping, tried [{retries}] times, each with maximum [{timeout:?}] timeout")
}
