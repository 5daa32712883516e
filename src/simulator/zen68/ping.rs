//! Ping rounds: who is there, and whom they follow.
//!
//! A round lasts for `ping_timeout`, whatever is answered, and pings three times. Being pinged is as good as pinging. Mirrors
//! `UnicastZenPing` (6.8), but that an answer names the addresses of others, and does not describe them.

use super::{CallPurpose, Dialect, Mode, Timer, Zen68, is_recovered};
use crate::cluster::{Address, EphemeralId, StateId, Version};
use crate::protocol::{Effect, Effects, Exchange, Time};
use crate::zen::Message;
use crate::zen::message::PeerStatus;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How often a target is pinged in a round.
const PINGS: u32 = 3;
/// How long the look-up of the hosts is waited for.
const RESOLVE_TIMEOUT: Duration = Duration::from_secs(5);

/// A ping round.
#[derive(Clone, Debug, Default)]
pub(super) struct Round {
    /// Tells it from earlier ones.
    number: u64,
    hosts: BTreeSet<Address>,
    /// How often it has pinged.
    pinged: u32,
    /// What the nodes say of themselves, by process.
    pub(super) answers: BTreeMap<EphemeralId, PeerStatus>,
}

impl Zen68 {
    /// Looks up the hosts, and begins a round with what is found.
    pub(super) fn start_round(&mut self, now: Time, out: &mut Effects<Zen68>) {
        self.round = Round { number: self.round.number + 1, ..Round::default() };
        self.timers.set(Timer::Round, now + RESOLVE_TIMEOUT);
        out.push(Effect::Resolve);
    }

    pub(super) fn on_resolved(&mut self, now: Time, hosts: Vec<Address>, out: &mut Effects<Zen68>) {
        if matches!(self.mode, Mode::Finding) && self.round.pinged == 0 {
            self.round.hosts.extend(hosts);
            self.go_on_with_round(now, out);
        }
    }

    /// Pings again, or chooses by what was answered.
    pub(super) fn go_on_with_round(&mut self, now: Time, out: &mut Effects<Zen68>) {
        if self.round.pinged == PINGS {
            return self.choose(now, out);
        }
        self.round.pinged += 1;
        self.timers.set(Timer::Round, now + self.tuning.ping_timeout / PINGS);
        let known = self.state.nodes.eligible().map(|node| node.address.clone());
        let pinging = self.heard.values().map(|(sight, _)| sight.node.address.clone());
        let mut targets: BTreeSet<Address> = known.chain(pinging).chain(self.round.hosts.iter().cloned()).collect();
        targets.remove(&self.local.address);
        let (round, patience) = (self.round.number, self.tuning.ping_timeout * 5 / 4);
        for target in &targets {
            let message = Message::Ping { from: self.sender.clone(), sight: Box::new(self.sight()) };
            self.call(target, message, CallPurpose::Ping { round }, patience, out);
        }
    }

    /// What this node says of itself.
    fn sight(&self) -> PeerStatus {
        let master = self.state.nodes.master_node().cloned();
        PeerStatus {
            node: self.local.clone(),
            masterless: master.is_none(),
            master: master.map(|master| (master, Duration::ZERO)),
            term: self.state.term,
            accepted: self.told_version(),
            sees_quorum: false,
            stands: None,
            unwell: false,
            hangs: false,
            leaves: false,
            left_out_by: BTreeSet::new(),
            has_recovered_state: false,
            change: 0,
        }
    }

    /// The state that pings tell: none that is yet to be recovered. Before 5.0 they told none, and from 1.4 on whether the
    /// node had joined a cluster: one version for all that had, since it is the first thing compared.
    pub(super) fn told_version(&self) -> StateId {
        const HAS_JOINED: StateId = StateId { version: Version::ZERO.next(), ..StateId::NONE };
        let told = match self.dialect {
            Dialect::Zen13 => None,
            Dialect::Zen14 => (self.state.id() != StateId::NONE).then_some(HAS_JOINED),
            Dialect::Zen68 | Dialect::Fd56 => is_recovered(&self.state).then(|| self.state.id()),
        };
        told.unwrap_or(StateId::NONE)
    }

    pub(super) fn on_ping(&mut self, now: Time, exchange: Exchange, sight: PeerStatus, out: &mut Effects<Zen68>) {
        self.heard.retain(|_, (_, until)| *until > now);
        let others = self.heard.values().map(|(heard, _)| heard.node.address.clone());
        let mentioned = others.filter(|address| *address != sight.node.address).collect();
        let message = Message::Pong { from: self.sender.clone(), sight: Box::new(self.sight()), mentioned };
        out.push(Effect::Reply { exchange, message });
        self.heard.insert(sight.node.ephemeral_id.clone(), (sight.clone(), now + self.tuning.ping_timeout * 2));
        self.round.answers.insert(sight.node.ephemeral_id.clone(), sight);
    }

    pub(super) fn on_pong(&mut self, round: u64, sight: PeerStatus, mentioned: Vec<Address>) {
        if round == self.round.number {
            self.round.hosts.extend(mentioned);
            self.round.answers.insert(sight.node.ephemeral_id.clone(), sight);
        }
    }
}
