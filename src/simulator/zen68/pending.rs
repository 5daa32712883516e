//! The two phases of a publish on the others: remembered, and applied when it is said to be committed.
//!
//! Without a master anything is acceptable, also what is older. Mirrors `PendingClusterStatesQueue` and
//! `ZenDiscovery.handleIncomingClusterState` (6.8).

use super::{Mode, Timer, Zen68, is_recovered};
use crate::cluster::{ClusterState, Node, StateId};
use crate::protocol::{Effect, Effects, Exchange, Time};
use crate::zen::Note;
use std::sync::Arc;

/// How many acknowledged states a node kept; one more, and the oldest was dropped.
const PENDING_MAX: usize = 25;

impl Zen68 {
    /// Phase one: remembered and acknowledged, stored nowhere.
    pub(super) fn on_publish(
        &mut self,
        now: Time,
        exchange: Exchange,
        from: &Arc<Node>,
        state: Arc<ClusterState>,
        out: &mut Effects<Zen68>,
    ) {
        if !state.nodes.contains_process(&self.local) {
            let why = "received state with a local node that does not match the current local node";
            return self.reject(exchange, why, out);
        }
        if !self.dialect.has_two_phases() {
            return self.apply_at_once(now, exchange, from, state, out);
        }
        if let Some(why) = self.rejection(&state) {
            return self.reject(exchange, why, out);
        }
        // What is yet to be recovered holds nothing that could be forgotten.
        let accepted = if is_recovered(&state) { state.id() } else { StateId::NONE };
        self.pending.push_back(state);
        if self.pending.len() > PENDING_MAX {
            self.pending.pop_front();
        }
        self.report(exchange, accepted, out);
    }

    /// Before 1.4: whoever published was followed, and a master that heard another one settled it with that one.
    fn apply_at_once(
        &mut self,
        now: Time,
        exchange: Exchange,
        from: &Arc<Node>,
        state: Arc<ClusterState>,
        out: &mut Effects<Zen68>,
    ) {
        if matches!(self.mode, Mode::Leading(_)) {
            self.reject(exchange, "it is a master itself", out);
            return self.meet_master(now, from, state.version, "via a new cluster state", out);
        }
        let is_same = self.state.nodes.master.as_ref() == Some(&from.id);
        if !is_same || state.version > self.state.version {
            self.follow(now, from, state, out);
        }
        self.report(exchange, self.state.id(), out);
    }

    /// Why a state is not acceptable: to somebody who has no master every one is.
    fn rejection(&self, state: &ClusterState) -> Option<String> {
        let master = self.state.nodes.master.as_ref()?;
        if state.nodes.master.as_ref() != Some(master) {
            Some("cluster state from a different master than the current one, rejecting".into())
        } else if state.version <= self.state.version {
            Some(format!("rejecting cluster state version [{}]", state.version))
        } else {
            None
        }
    }

    /// Phase two: what was remembered is applied, written down in doing so, and only then answered.
    pub(super) fn on_commit(&mut self, now: Time, exchange: Exchange, id: StateId, out: &mut Effects<Zen68>) {
        if self.state.id() == id {
            return self.report(exchange, StateId::NONE, out);
        }
        let place = self.pending.iter().position(|state| state.id() == id);
        let Some(state) = place.and_then(|place| self.pending.remove(place)) else {
            return self.reject(exchange, format!("can't resolve cluster state {id} to commit"), out);
        };
        let Some(master) = state.nodes.master_node().cloned() else {
            return self.reject(exchange, "a state without a master", out);
        };
        if let Some(why) = self.rejection(&state) {
            self.reject(exchange, why, out);
            return self.meet_master(now, &master, state.version, "via a new cluster state", out);
        }
        let version = state.version;
        self.follow(now, &master, state, out);
        self.pending.retain(|state| state.nodes.master.as_ref() == Some(&master.id) && state.version > version);
        self.report(exchange, StateId::NONE, out);
    }

    /// Applies the state of a master and watches that one from then on.
    fn follow(&mut self, now: Time, master: &Arc<Node>, state: Arc<ClusterState>, out: &mut Effects<Zen68>) {
        let is_followed = matches!(&self.mode, Mode::Following { master: known, .. } if known.same_process(master));
        if !is_followed {
            self.leave_mode(now, out);
            self.mode = Mode::Following { master: master.clone(), failures: 0 };
            self.timers.set(Timer::MasterPing, now + self.tuning.fd_ping_interval);
            out.push(Effect::Link { to: master.address.clone() });
        }
        let (delta, local) = (state.nodes.delta(&self.state.nodes), self.local.id.clone());
        if !delta.is_empty() {
            out.note(Note::Applied { state: state.id(), delta, local });
        }
        self.apply(state, out);
        self.route_asks(now, out);
    }
}
