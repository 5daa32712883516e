//! One node of a cluster, as the others know it.
//!
//! Mirrors `DiscoveryNode` (6.8). There the ephemeral id alone decides equality; here [`PartialEq`] compares all, and
//! [`Node::same_process`] asks what Elasticsearch asks.

use super::{Address, EphemeralId, NodeId, flags};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// One process that takes part in a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Node {
    /// Survives a restart.
    pub id: NodeId,
    /// Does not survive a restart.
    pub ephemeral_id: EphemeralId,
    /// What the user calls it.
    pub name: Arc<str>,
    /// Where its transport listens.
    pub address: Address,
    /// What it does in the cluster.
    #[serde(default)]
    pub roles: Roles,
    /// What the user says of it: `node.attr.*`.
    #[serde(default)]
    pub attributes: Arc<BTreeMap<String, String>>,
    /// The release it runs.
    pub version: Arc<str>,
}

impl Node {
    /// Whether both are the same start of the same node.
    pub fn same_process(&self, other: &Node) -> bool {
        self.ephemeral_id == other.ephemeral_id
    }

    /// Whether it may become master and vote.
    pub fn is_master_eligible(&self) -> bool {
        self.roles.master
    }

    /// Whether it holds data.
    pub fn is_data(&self) -> bool {
        self.roles.data
    }

    /// Its address without the port.
    pub fn host(&self) -> &str {
        self.address.host()
    }
}

impl Address {
    /// It without the port, and without the brackets of IPv6.
    pub fn host(&self) -> &str {
        let host = self.as_str().rsplit_once(':').map_or(self.as_str(), |(host, _)| host);
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
    }

    /// Its port, if it has one.
    pub fn port(&self) -> Option<&str> {
        self.as_str().rsplit_once(':').map(|(_, port)| port)
    }

    /// Whether only the machine itself reaches it.
    pub fn is_loopback(&self) -> bool {
        is_loopback(self.host())
    }
}

/// Whether a host, without a port, is the machine itself.
pub fn is_loopback(host: &str) -> bool {
    let bare = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    // A name may begin as an address does.
    let is_number = |part: &str| part.parse::<u8>().is_ok();
    matches!(bare, "localhost" | "::1") || bare.strip_prefix("127.").is_some_and(|rest| rest.split('.').all(is_number))
}

impl fmt::Display for Node {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.name.is_empty() {
            write!(f, "{{{}}}", self.name)?;
        }
        write!(f, "{{{}}}{{{}}}{{{}}}{{{}}}", self.id, self.ephemeral_id, self.host(), self.address)?;
        if self.attributes.is_empty() {
            return Ok(());
        }
        let attributes: Vec<String> = self.attributes.iter().map(|(key, value)| format!("{key}={value}")).collect();
        write!(f, "{{{}}}", attributes.join(", "))
    }
}

/// What a node does in its cluster. With none of the three it only coordinates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Roles {
    /// May become master: `node.master`.
    pub master: bool,
    /// Holds data: `node.data`.
    pub data: bool,
    /// Runs ingest pipelines: `node.ingest`.
    pub ingest: bool,
}

impl Roles {
    /// All roles, as a node has by default.
    pub const ALL: Roles = Roles { master: true, data: true, ingest: true };
    /// No role: a coordinating-only node.
    pub const NONE: Roles = Roles { master: false, data: false, ingest: false };
}

impl Serialize for Roles {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let words = [("master", self.master), ("data", self.data), ("ingest", self.ingest)];
        flags::serialize(&words, serializer)
    }
}

impl<'de> Deserialize<'de> for Roles {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut roles = Roles::NONE;
        flags::deserialize(deserializer, |word| match word {
            "master" => roles.master = true,
            "data" => roles.data = true,
            "ingest" => roles.ingest = true,
            _ => (),
        })?;
        Ok(roles)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, address: &str) -> Node {
        Node {
            id: "id".into(),
            ephemeral_id: "start".into(),
            name: name.into(),
            address: address.into(),
            roles: Roles::ALL,
            attributes: Arc::default(),
            version: "6.8.23".into(),
        }
    }

    #[test]
    fn a_node_prints_as_elasticsearch_prints_it() {
        assert_eq!(node("one", "127.0.0.1:9300").to_string(), "{one}{id}{start}{127.0.0.1}{127.0.0.1:9300}");
        let mut bare = node("", "[::1]:9300");
        bare.attributes = Arc::new([("rack".into(), "r1".into()), ("zone".into(), "a".into())].into());
        assert_eq!(bare.to_string(), "{id}{start}{::1}{[::1]:9300}{rack=r1, zone=a}");
    }

    #[test]
    fn roles_are_a_list_of_words_and_strange_words_are_passed_over() -> Result<(), serde_json::Error> {
        assert_eq!(serde_json::to_string(&Roles::ALL)?, r#"["master","data","ingest"]"#);
        let roles: Roles = serde_json::from_str(r#"["ml","data","data"]"#)?;
        assert_eq!(roles, Roles { data: true, ..Roles::NONE });
        assert!(serde_json::from_str::<Roles>("[1]").is_err());
        Ok(())
    }

    #[test]
    fn a_node_may_say_more_or_less_than_is_known() -> Result<(), serde_json::Error> {
        let text = r#"{"id":"id","ephemeral_id":"start","name":"one","address":"h:1","version":"7","color":"red"}"#;
        let read: Node = serde_json::from_str(text)?;
        assert_eq!((read.roles, read.host()), (Roles::NONE, "h"));
        Ok(())
    }
}
