//! Cut links on real sockets, by request: what goes to or comes from a peer is held back in silence.
//!
//! Works only in a node that was started with it. To both ends a cut looks as one in the network does: requests run into their
//! timeouts, or get there once the link is mended; a held link that lost something is closed then, for a connection loses
//! nothing without that.

use crate::cluster::Address;
use parking_lot::RwLock;
use std::collections::BTreeMap;
use std::time::Duration;

/// How many peers may be cut off.
const CUTS_MAX: usize = 1_024;

/// How often it is looked whether a link is mended.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Which way a link is cut.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cut {
    /// What goes to the peer is swallowed.
    pub to: bool,
    /// What comes from the peer is swallowed.
    pub from: bool,
}

/// The links that are cut at present.
#[derive(Debug)]
pub struct Faults {
    is_allowed: bool,
    cuts: RwLock<BTreeMap<Address, Cut>>,
}

impl Faults {
    pub(super) fn new(is_allowed: bool) -> Self {
        Faults { is_allowed, cuts: RwLock::default() }
    }

    /// Whether this node was started so that its links can be cut.
    pub fn is_allowed(&self) -> bool {
        self.is_allowed
    }

    /// Cuts the link to a peer, and tells whether it did; a cut that swallows nothing mends it.
    pub fn cut(&self, peer: Address, cut: Cut) -> bool {
        let mut cuts = self.cuts.write();
        if cut == Cut::default() {
            cuts.remove(&peer);
            return self.is_allowed;
        }
        let has_room = cuts.len() < CUTS_MAX || cuts.contains_key(&peer);
        if self.is_allowed && has_room {
            cuts.insert(peer, cut);
        }
        self.is_allowed && has_room
    }

    /// Mends every link.
    pub fn heal(&self) {
        self.cuts.write().clear();
    }

    /// The links that are cut.
    pub fn cuts(&self) -> BTreeMap<Address, Cut> {
        self.cuts.read().clone()
    }

    /// Whether what goes to a peer is swallowed.
    pub fn swallows_to(&self, peer: &Address) -> bool {
        self.is_allowed && self.cuts.read().get(peer).is_some_and(|cut| cut.to)
    }

    /// Waits until nothing of this is swallowed.
    pub(super) async fn pass(&self, swallows: impl Fn(&Faults) -> bool) {
        while swallows(self) {
            tokio::time::sleep(LOOK_AGAIN).await;
        }
    }

    /// Whether what comes from a peer is swallowed.
    pub fn swallows_from(&self, peer: &Address) -> bool {
        self.is_allowed && self.cuts.read().get(peer).is_some_and(|cut| cut.from)
    }
}
