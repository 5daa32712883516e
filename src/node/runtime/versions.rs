//! Which versions of what is said and of what is kept the members of a cluster understand.
//!
//! A node tells the newest ones that it understands in attributes of its own, which every message and every state carry, unless
//! they are those of the first release. Each peer is spoken to in the newest version that both understand, and the first one
//! until it is known. What is kept on disk is written in the newest version that all members understand: so each of them can
//! go back to the release that it came from, as long as one of them has not left that.

use super::store;
use crate::cluster::{Address, Node, Nodes};
use crate::wire;
use std::collections::BTreeMap;

/// The newest version of what is said that a node understands.
const WIRE: &str = "zazen.wire";

/// The newest version of what is kept that it understands.
const DISK: &str = "zazen.disk";

/// More peers than these are not remembered.
const PEERS_MAX: usize = 8_192;

/// What a node tells of the versions that it understands.
pub(super) fn attributes() -> impl Iterator<Item = (String, String)> {
    told((WIRE, wire::VERSION, wire::OLDEST)).chain(told((DISK, store::VERSION, store::FIRST)))
}

fn told((name, newest, first): (&str, u32, u32)) -> impl Iterator<Item = (String, String)> + use<> {
    (newest > first).then(|| (name.to_owned(), newest.to_string())).into_iter()
}

fn newest(node: &Node, name: &str) -> Option<u32> {
    node.attributes.get(name)?.parse().ok()
}

/// The version in which a node is spoken to.
pub(super) fn wire_of(node: &Node) -> u32 {
    newest(node, WIRE).unwrap_or(wire::OLDEST).clamp(wire::OLDEST, wire::VERSION)
}

/// The newest version of what is kept that all members understand, and this node too.
pub(super) fn disk_of(nodes: &Nodes) -> u32 {
    let all = nodes.iter().map(|node| newest(node, DISK).unwrap_or(store::FIRST));
    all.min().unwrap_or(store::FIRST).clamp(store::FIRST, store::VERSION)
}

/// In which version each peer is spoken to.
#[derive(Default)]
pub(super) struct Spoken(BTreeMap<Address, u32>);

impl Spoken {
    /// A node told of itself, or a state of it.
    pub(super) fn heard(&mut self, node: &Node) {
        let version = wire_of(node);
        if version == wire::OLDEST {
            self.0.remove(&node.address);
        } else if self.0.len() < PEERS_MAX || self.0.contains_key(&node.address) {
            self.0.insert(node.address.clone(), version);
        }
    }

    /// The version for a peer.
    pub(super) fn of(&self, peer: &Address) -> u32 {
        self.0.get(peer).copied().unwrap_or(wire::OLDEST)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Roles;
    use std::sync::Arc;

    fn node(name: &str, attributes: &[(&str, &str)]) -> Arc<Node> {
        let attributes = attributes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        Arc::new(Node {
            id: name.into(),
            ephemeral_id: name.into(),
            name: name.into(),
            address: format!("{name}:9300").as_str().into(),
            roles: Roles::ALL,
            attributes: Arc::new(attributes.collect()),
            version: "6.8.23".into(),
        })
    }

    #[test]
    fn nobody_is_spoken_to_in_a_version_that_he_or_this_node_does_not_understand() {
        assert_eq!(wire_of(&node("old", &[])), wire::OLDEST);
        assert_eq!(wire_of(&node("same", &[(WIRE, &wire::VERSION.to_string())])), wire::VERSION);
        assert_eq!(wire_of(&node("newer", &[(WIRE, "4000000000")])), wire::VERSION);
        for strange in ["0", "", "-1", "x", "99999999999"] {
            assert_eq!(wire_of(&node("strange", &[(WIRE, strange)])), wire::OLDEST, "{strange}");
        }
    }

    #[test]
    fn one_member_of_an_older_release_keeps_the_disks_of_all_as_they_are() {
        let mut nodes = Nodes::new();
        assert_eq!(disk_of(&nodes), store::FIRST);
        nodes.insert(node("newer", &[(DISK, "4000000000")]));
        assert_eq!(disk_of(&nodes), store::VERSION);
        nodes.insert(node("old", &[]));
        assert_eq!(disk_of(&nodes), store::FIRST);
    }
}
