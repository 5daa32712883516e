//! The codes of all causes. A code never changes its name or its meaning; `docs/troubleshooting.md` has a section for each.

use serde::{Deserialize, Serialize};

macro_rules! codes {
    ($($(#[$doc:meta])+ $name:ident = $code:literal,)+) => {
        /// What is wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        pub enum Code {
            $($(#[$doc])+ #[serde(rename = $code)] $name,)+
        }

        impl Code {
            /// All of them.
            pub const ALL: &'static [Code] = &[$(Code::$name,)+];

            /// Its name.
            pub fn name(self) -> &'static str {
                match self {
                    $(Code::$name => $code,)+
                }
            }
        }
    };
}

codes! {
    /// A node's `cluster.name` differs from that of those it wants to join.
    WrongClusterName = "wrong-cluster-name",
    /// A seed host is of another cluster that was formed.
    ForeignCluster = "foreign-cluster",
    /// Two processes go by one node id: a data directory was copied.
    DuplicateNodeId = "duplicate-node-id",
    /// A node speaks another version of the protocol.
    ProtocolVersion = "protocol-version",
    /// A node has `discovery.type: single-node` and lets nobody in.
    SingleNodeDiscovery = "single-node-discovery",
    /// A seed host is the http port of a node, or no Zazen node at all.
    HttpPortInSeeds = "http-port-in-seeds",
    /// A seed host has no address.
    SeedUnresolved = "seed-unresolved",
    /// A seed host is not where the node listens.
    WrongSeed = "wrong-seed",
    /// A node has no seed hosts, and finds nobody.
    NoSeeds = "no-seeds",
    /// A node listens on loopback only, and the others are elsewhere.
    LoopbackOnly = "loopback-only",
    /// The address that a node publishes is not where it can be reached.
    UnreachablePublishAddress = "unreachable-publish-address",
    /// A process was stopped, and answers nobody.
    FrozenNode = "frozen-node",
    /// Two nodes that run do not reach each other.
    LinkCut = "link-cut",
    /// A disk does not finish writes in time.
    DiskSlow = "disk-slow",
    /// A disk has no room.
    DiskFull = "disk-full",
    /// Nodes have different secrets, or one of them has none.
    SecretsDiffer = "secrets-differ",
    /// Nodes have certificates of different authorities, or one of them has none.
    AuthoritiesDiffer = "authorities-differ",
    /// A certificate ends within a month, or has ended.
    CertificateExpires = "certificate-expires",
    /// A port that other machines reach lets everybody in.
    OpenToStrangers = "open-to-strangers",
    /// A setting in force weakens what keeps strangers out.
    InsecureSetting = "insecure-setting",
    /// A process has as many files and sockets open as it may, or nearly.
    TooManyFiles = "too-many-files",
    /// So many voters are gone that no election can be won.
    QuorumLost = "quorum-lost",
    /// A node whose vote counts is not running.
    VoterDown = "voter-down",
    /// A member whose vote does not count is not running.
    MemberDown = "member-down",
    /// A majority of the voters came back without what they had on disk.
    WipedMajority = "wiped-majority",
    /// A node was started on another data directory than before, and what it had is still there.
    DataElsewhere = "data-elsewhere",
    /// `discovery.zen.minimum_master_nodes` asks for more nodes than there are.
    MinimumMasterNodesTooHigh = "minimum-master-nodes-too-high",
    /// No node may become master.
    NoEligibleNode = "no-eligible-node",
    /// `cluster.initial_master_nodes` names nodes that there are not.
    WrongInitialMasterNodes = "wrong-initial-master-nodes",
    /// After a full restart more nodes are waited for.
    GatewayWaits = "gateway-waits",
    /// The clocks of nodes run apart.
    ClockSkew = "clock-skew",
    /// Nodes have settings that contradict each other.
    SettingsDiffer = "settings-differ",
    /// A port is taken.
    PortInUse = "port-in-use",
    /// An address to bind or to publish is none of this host.
    BadAddress = "bad-address",
    /// The data directory is used by another process.
    DataInUse = "data-in-use",
    /// The data directory cannot be written or read.
    DataNotWritable = "data-not-writable",
    /// What the data directory holds is damaged.
    DataDamaged = "data-damaged",
    /// The settings make no sense.
    BadSettings = "bad-settings",
}
