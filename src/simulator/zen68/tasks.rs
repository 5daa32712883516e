//! The master's queue: one batch at a time becomes the next state.
//!
//! Mirrors `MasterService`, `NodeJoinController.JoinTaskExecutor` and `NodeRemovalClusterStateTaskExecutor` (6.8).

use super::clients::{Origin, Waiter};
use super::detect::Watched;
use super::gateway::Gateway;
use super::publish::Publish;
use super::{Zen68, is_recovered};
use crate::cluster::{Address, Block, ClusterState, EphemeralId, Node, NodeId, Uuid};
use crate::protocol::{Effects, Time};
use crate::service::{Answer, Batch, Queue, Task};
use std::collections::BTreeMap;

/// What a master keeps while it leads.
#[derive(Clone, Debug)]
pub(super) struct Reign {
    pub(super) queue: Queue<Waiter>,
    pub(super) publish: Option<Publish>,
    /// The processes that its fault detector pings.
    pub(super) watched: BTreeMap<EphemeralId, Watched>,
    /// Pings of other masters' fault detectors since it last did something about them.
    pub(super) foreign_pings: u32,
    /// The recovery of what disks hold.
    pub(super) gateway: Gateway,
    /// Whom its first state leaves out.
    replaced: Option<NodeId>,
}

impl Reign {
    pub(super) fn new(replaced: Option<&Node>) -> Self {
        Reign {
            queue: Queue::default(),
            publish: None,
            watched: BTreeMap::new(),
            foreign_pings: 0,
            gateway: Gateway::default(),
            replaced: replaced.map(|node| node.id.clone()),
        }
    }

    /// The watched process at an address.
    pub(super) fn watched_at(&self, address: &Address) -> Option<EphemeralId> {
        let found = self.watched.iter().find(|(_, watched)| watched.node.address == *address);
        found.map(|(process, _)| process.clone())
    }
}

impl Zen68 {
    /// Appends a task of the protocol itself.
    pub(super) fn enqueue(&mut self, now: Time, task: Task, origin: Origin, out: &mut Effects<Zen68>) {
        let waiter = Waiter::of_protocol(origin);
        let Some(mastership) = self.mastership() else {
            return self.answer(now, waiter.origin, Answer::NotMaster, out);
        };
        if let Err((refusal, waiter)) = mastership.queue.push(task, waiter) {
            self.answer(now, waiter.origin, Answer::Refused(refusal), out);
        }
    }

    /// Publishes what comes of the next batch; before the recovery only what the protocol itself wants is in it.
    pub(super) fn run_tasks(&mut self, now: Time, out: &mut Effects<Zen68>) {
        let is_recovered = is_recovered(&self.state);
        let Some(mastership) = self.mastership().filter(|mastership| mastership.publish.is_none()) else {
            return;
        };
        if let Some(found) = mastership.gateway.take() {
            return self.publish_recovered(now, found, out);
        }
        let queue = &mut mastership.queue;
        let tasks = if is_recovered { queue.take_batch() } else { queue.extract(|queued| queued.task.is_internal()) };
        if tasks.is_empty() {
            return;
        }
        let mut batch = Batch::new(self.next_state(), self.config.rule);
        let sources: Vec<String> = tasks.iter().take(3).map(|queued| queued.task.to_string()).collect();
        let mut done = Vec::with_capacity(tasks.len());
        for queued in tasks {
            match batch.carry_out(&queued.task) {
                Ok(remembered) => done.push((queued.waiter, remembered)),
                Err(refusal) => self.answer(now, queued.waiter.origin, Answer::Refused(refusal), out),
            }
        }
        if !done.is_empty() {
            self.start_publish(now, batch.state, done, sources.join(", "), out);
        }
    }

    /// Removes a node, and steps down if too few are left. Zen counted them when the publish under way was over.
    pub(super) fn remove(&mut self, now: Time, node: &Node, reason: &str, left: bool, out: &mut Effects<Zen68>) {
        let (id, ephemeral_id) = (node.id.clone(), node.ephemeral_id.clone());
        self.enqueue(
            now,
            Task::Remove { id, ephemeral_id, reason: reason.into(), left, answered: 0 },
            Origin::Nobody,
            out,
        );
        let nodes = self.state.nodes.clone();
        let Some(mastership) = self.mastership() else {
            return;
        };
        let is_removed = |node: &Node| {
            let mut tasks = mastership.queue.iter().map(|queued| &queued.task);
            tasks.any(|task| matches!(task, Task::Remove { ephemeral_id, .. } if *ephemeral_id == node.ephemeral_id))
        };
        let eligible = nodes.eligible().filter(|node| !is_removed(node)).count();
        if self.has_enough(eligible) {
            return self.run_tasks(now, out);
        }
        let needed = self.tuning.minimum();
        self.rejoin(now, format!("not enough master nodes (has [{eligible}], but needed [{needed}])"), out);
    }

    /// The successor of the last state, of which this node is master.
    pub(super) fn next_state(&mut self) -> ClusterState {
        let replaced = self.mastership().and_then(|mastership| mastership.replaced.take());
        let (version, uuid) = (self.state.version.next(), Uuid::from_u128(self.rng.next_u128()));
        let mut state = ClusterState { version, uuid, ..(*self.state).clone() };
        state.nodes.master = Some(self.local.id.clone());
        state.blocks.remove(Block::NO_MASTER_ALL.id);
        if let Some(replaced) = replaced {
            state.nodes.remove(&replaced);
        }
        state
    }

    /// What was queued, and what was carried out and is not committed, is for the next master.
    pub(super) fn end_leading(&mut self, now: Time, mut mastership: Reign, out: &mut Effects<Zen68>) {
        let queued = mastership.queue.extract(|_| true).into_iter().map(|queued| queued.waiter);
        let published = mastership.publish.into_iter().flat_map(|publish| publish.tasks).map(|(waiter, _)| waiter);
        for waiter in queued.chain(published) {
            self.answer(now, waiter.origin, Answer::NotMaster, out);
        }
    }
}
