//! What clients ask of a master that has missed a ping, or that did not answer it: it goes by way of another member.
//!
//! Whether the master is gone, or only the link to it, is known when it has missed enough pings; clients need not wait for that.
//! What is asked twice is carried out once, by its name (`slots`). A node that has lost its master already asks by `relay`.
//! Elasticsearch has nothing of the kind.

use crate::cluster::Node;
use crate::protocol::Ticket;
use crate::zen::mode::Following;
use crate::zen::role::Role;
use std::sync::Arc;

impl Role<'_, Following> {
    /// The master did not answer a ping: what it was asked, it is asked by way of others.
    pub(super) fn ask_through_others(&mut self) {
        if self.mode.failures == 0 || self.members_between().next().is_none() {
            return;
        }
        let master = self.mode.master.ephemeral_id.clone();
        self.node.take_back_asks(|ask| ask.was_given_to(&master) && ask.is_for_relays());
        self.give_up_late();
        self.route_asks();
    }

    /// What was taken back when its time was over is not given away again: each time it would be waited for anew.
    fn give_up_late(&mut self) {
        for ticket in self.node.late_asks(self.now) {
            let answer = self.node.given_up(ticket);
            self.close_ask(ticket, answer);
        }
    }

    /// By way of whom the master is asked while it misses pings, or for what it was asked in vain; each time by another one, and
    /// straight in between, since that one may not reach it either.
    pub(super) fn detour(&self, ticket: Ticket) -> Option<Arc<Node>> {
        let ask = self.node.asks.get(&ticket).filter(|ask| ask.is_for_relays())?;
        let others = Some(self.members_between().count()).filter(|_| self.mode.failures > 0 || ask.was_in_vain)?;
        let turn = ask.attempts.max(1) as usize % (others + 1);
        self.members_between().nth(turn.checked_sub(1)?).cloned()
    }

    /// The members that may hear the master, as none of them has said since that it does not. Each node begins with the one behind
    /// itself, so that not all ask the same.
    fn members_between(&self) -> impl Iterator<Item = &Arc<Node>> {
        let (following, local) = (&*self.mode, &self.node.local.id);
        let misses = |node: &Node| following.others.get(&node.id).is_some_and(|word| word.told > following.heard);
        let nodes = self.node.shown.nodes.iter();
        let behind = nodes.clone().filter(move |node| node.id > *local);
        let all = behind.chain(nodes.filter(move |node| node.id < *local));
        all.filter(move |node| node.id != following.master.id && !misses(node))
    }
}
