//! What a cluster finds on its disks after all of it was down: the newest metadata of those who happen to be there.
//!
//! The first master of a fresh start asks every node of its state that can be master, and takes the newest answer if there
//! are as many as its file names. Mirrors `GatewayService` and `Gateway` (6.8).

use super::{CallPurpose, Zen68, is_recovered};
use crate::cluster::{Address, Block, ClusterState, Metadata, Settings, Uuid, VotingSets};
use crate::protocol::{Effects, Time};
use crate::zen::Message;
use std::sync::Arc;

/// A recovery under way.
#[derive(Clone, Debug, Default)]
pub(super) struct Gateway {
    is_running: bool,
    /// How many disks were asked for and not told.
    waiting: usize,
    /// How many were told, empty ones included.
    told: usize,
    newest: Option<Arc<ClusterState>>,
    /// What is to be published.
    found: Option<Found>,
}

/// What the disks held, if they held anything.
#[derive(Clone, Debug)]
pub(super) struct Found(Option<Arc<ClusterState>>);

impl Gateway {
    /// Takes out what is to be published.
    pub(super) fn take(&mut self) -> Option<Found> {
        self.found.take()
    }

    /// Whether something is found out, or to be published.
    pub(super) fn is_busy(&self) -> bool {
        self.is_running || self.found.is_some()
    }

    fn hear(&mut self, state: Option<Arc<ClusterState>>) {
        self.told += 1;
        let is_newer = |state: &Arc<ClusterState>| {
            self.newest.as_ref().is_none_or(|newest| state.version > newest.version) && is_recovered(state)
        };
        self.newest = state.filter(is_newer).or(self.newest.take());
    }
}

impl Zen68 {
    /// Asks for what the disks hold, if this master's state is yet to be recovered.
    pub(super) fn ask_disks(&mut self, now: Time, out: &mut Effects<Zen68>) {
        let is_needed = !is_recovered(&self.state);
        let others = self.state.nodes.eligible().filter(|node| node.id != self.local.id);
        let others: Vec<Address> = others.map(|node| node.address.clone()).collect();
        let own = self.disk.accepted.clone();
        let Some(mastership) = self.mastership().filter(|mastership| is_needed && !mastership.gateway.is_busy()) else {
            return;
        };
        mastership.gateway = Gateway { is_running: true, waiting: others.len(), ..Gateway::default() };
        mastership.gateway.hear(own);
        for address in &others {
            let message = Message::Fetch { from: self.sender.clone() };
            self.call(address, message, CallPurpose::Disk, self.tuning.commit_timeout, out);
        }
        if others.is_empty() {
            self.end_recovery(now, out);
        }
    }

    /// One disk was told, or will not be.
    pub(super) fn on_disk_told(
        &mut self,
        now: Time,
        told: Option<Option<Arc<ClusterState>>>,
        out: &mut Effects<Zen68>,
    ) {
        let Some(gateway) =
            self.mastership().map(|mastership| &mut mastership.gateway).filter(|gateway| gateway.waiting > 0)
        else {
            return;
        };
        gateway.waiting -= 1;
        if let Some(state) = told {
            gateway.hear(state);
        }
        if gateway.waiting == 0 {
            self.end_recovery(now, out);
        }
    }

    /// Publishes what was found if enough disks were told; the number is the one of the file, since no other is known.
    fn end_recovery(&mut self, now: Time, out: &mut Effects<Zen68>) {
        let required = self.config.tuning.minimum().max(1);
        let Some(mastership) = self.mastership() else {
            return;
        };
        let gateway = &mut mastership.gateway;
        gateway.is_running = false;
        if gateway.told >= required {
            gateway.found = Some(Found(gateway.newest.take()));
            self.run_tasks(now, out);
        }
    }

    pub(super) fn publish_recovered(&mut self, now: Time, Found(found): Found, out: &mut Effects<Zen68>) {
        let mut state = self.next_state();
        state.blocks.remove(Block::STATE_NOT_RECOVERED.id);
        if let Some(found) = found {
            let (transient, voting) = (Settings::default(), VotingSets::default());
            state.metadata = Metadata { transient, voting, ..found.metadata.clone() };
            state.cluster_uuid = found.cluster_uuid;
            state.version = state.version.max(found.version.next());
        }
        if state.cluster_uuid.is_none() {
            state.cluster_uuid = Some(Uuid::from_u128(self.rng.next_u128()));
        }
        self.start_publish(now, state, Vec::new(), "local-gateway-elected-state".into(), out);
    }
}
