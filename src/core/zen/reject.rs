//! Whom a node does not talk to: nodes of other clusters, doubles of itself, and itself.
//!
//! Nothing that they say is used. What else a node does not do for others is refused where it is asked for. Mirrors the
//! checks of `UnicastZenPing`, `MembershipAction` and the fault detectors (6.8), which each made their own.

use super::leap::LEAP_MAX;
use super::message::{Message, Sender};
use super::node::NodeState;
use super::rules::Protection;
use super::strangers::Oddity;
use super::{Mode, Note, Rejection, Zen};
use crate::cluster::{Address, Node, Uuid};
use crate::protocol::{Effects, Time};
use std::sync::Arc;

impl Zen {
    /// Why a message is not considered, if it is not.
    pub(super) fn refuses(&mut self, now: Time, message: &Message, out: &mut Effects<Zen>) -> Option<Rejection> {
        let from = message.sender()?;
        if self.node.is_foreign(from) {
            if self.node.strangers.is_news(now, &from.node, Oddity::OtherCluster) {
                out.note(Note::OtherCluster { node: from.node.clone(), what: self.node.difference(from) });
            }
            Some(Rejection::OtherCluster(self.node.sender.clone()))
        } else if from.node.id == self.node.local.id && from.node.same_process(&self.node.local) {
            // One of its own addresses may be among the seed hosts.
            Some(Rejection::Itself)
        } else if self.node.is_itself(&from.node) {
            self.meet_twin(now, &from.node.clone(), is_from_master(message), out);
            if self.node.strangers.is_news(now, &from.node, Oddity::DuplicateId) {
                out.note(Note::DuplicateId { node: from.node.clone() });
            }
            Some(Rejection::DuplicateId(self.node.local.clone()))
        } else if message.leaps_from(self.node.ledger.promise.term) {
            let own = self.node.ledger.promise.term;
            Some(format!("a term in it is more than [{LEAP_MAX}] above [{own}], which no elections come to").into())
        } else {
            None
        }
    }

    /// Another process has this node's id, as when a data directory was copied. Two that lead would both acknowledge, so one
    /// that leads gives way to one that leads as well; and who leads not does not begin to.
    pub(super) fn meet_twin(&mut self, now: Time, twin: &Arc<Node>, leads: bool, out: &mut Effects<Zen>) {
        if !self.node.is_twin(twin) {
            return;
        }
        let is_leading = matches!(self.mode, Mode::Leading(_));
        if !is_leading || leads {
            self.node.note_twin(now, twin);
        }
        if is_leading && leads {
            self.step_down(now, format!("{twin} leads under the id of this node"), out);
        }
    }
}

impl NodeState {
    /// Whether a node goes by the id of this one and is another process elsewhere: whoever was at this address is gone.
    pub(super) fn is_twin(&self, node: &Node) -> bool {
        let is_other = node.address != self.local.address && !node.same_process(&self.local);
        node.id == self.local.id && is_other && self.keeps(Protection::Twins)
    }

    /// Remembers that another process has this node's id, if it has.
    pub(super) fn note_twin(&mut self, now: Time, twin: &Arc<Node>) {
        if self.is_twin(twin) {
            self.twin = Some((twin.clone(), now));
        }
    }

    /// Nothing listens where the other process with this node's id was. One that lives all the same will be heard of again.
    pub(super) fn forget_twin_at(&mut self, address: &Address) {
        self.twin = self.twin.take().filter(|(twin, _)| twin.address != *address);
    }

    /// Whether it is the one of two processes with one id that does not stand where the last state has that id.
    pub(super) fn is_copy(&self) -> bool {
        let home = self.ledger.accepted.nodes.get(&self.local.id).map(|node| &node.address);
        self.has_twin() && home.is_some_and(|home| *home != self.local.address)
    }

    /// Whether another process with this node's id was heard of lately: only one of them may vote and lead.
    pub(super) fn has_twin(&self) -> bool {
        let lately = self.now - self.tuning.ping_timeout * 3;
        self.twin.as_ref().is_some_and(|(_, heard)| *heard >= lately)
    }

    /// What sets the cluster of a node apart from the own one.
    fn difference(&self, from: &Sender) -> String {
        if from.cluster_name != self.config.cluster_name {
            return format!("cluster name [{}] is not [{}]", from.cluster_name, self.config.cluster_name);
        }
        let name = |uuid: Option<Uuid>| uuid.map_or_else(|| "none".into(), |uuid| uuid.to_string());
        format!("cluster uuid [{}] is not [{}]", name(from.cluster_uuid), name(self.ledger.cluster_uuid))
    }

    /// Whether a node goes by the id of this one, or by that of its process. Zen knew nodes by their process only.
    pub(super) fn is_itself(&self, node: &Node) -> bool {
        node.id == self.local.id || node.same_process(&self.local)
    }

    /// Whether it is of another cluster.
    pub(super) fn is_foreign(&self, from: &Sender) -> bool {
        from.cluster_name != self.config.cluster_name
            || matches!((from.cluster_uuid, self.ledger.cluster_uuid), (Some(theirs), Some(ours)) if theirs != ours)
                && self.keeps(Protection::UuidChecked)
    }
}

/// Whether this is what only a master says.
fn is_from_master(message: &Message) -> bool {
    match message {
        Message::Ping { from, sight } | Message::Notice { from, sight } => {
            sight.master.as_ref().is_some_and(|(master, _)| master.same_process(&from.node))
        }
        Message::Publish { .. } | Message::Commit { .. } | Message::NodePing { .. } | Message::CallVote { .. } => true,
        Message::Join { .. }
        | Message::Fetch { .. }
        | Message::MasterPing { .. }
        | Message::Leave { .. }
        | Message::Submit { .. }
        | Message::Read { .. }
        | Message::PendingTasks { .. }
        | Message::Relay { .. }
        | Message::Succession { .. }
        | Message::Pong { .. }
        | Message::Joining(_)
        | Message::Fetched { .. }
        | Message::Report(_)
        | Message::MasterPong(_)
        | Message::Gone
        | Message::Answered(_)
        | Message::Rejected(_) => false,
    }
}
