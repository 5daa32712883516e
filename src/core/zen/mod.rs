//! How one node behaves: Zen discovery with ballots, as a state machine.
//!
//! ```text
//!   Input ─► dispatch ─► what all modes share (NodeState): ping, votes, accept, client_requests, relay, …
//!               │
//!               ├──────► finding     whom to follow: ping rounds and the choice, of candidates too
//!               ├──────► electing    standing as a candidate, and counting votes
//!               ├──────► joining     asking to be taken in
//!               ├──────► leading     all that a master does
//!               └──────► following   applying states, and watching the master
//!                           │
//!                           └─► transitions: what comes after a mode that ended          ──► Effects
//! ```
//!
//! A node is what all its modes share (`node`) and its mode (`mode`). What a mode may touch is its `role`; how one mode follows
//! another stands in `transitions`. The pure decisions stand in `elect` and `quorum`, what may be looked at in `view`.
//! It reads no clock and draws from the generator it was given. Mirrors `ZenDiscovery` (6.8).

mod accept;
mod ask;
mod client_requests;
mod dispatch;
pub mod elect;
mod electing;
pub mod explain;
mod fault_detection;
mod finding;
mod following;
pub mod gateway;
mod health;
mod invariants;
mod joining;
mod leading;
mod leap;
mod leave;
mod masterless_log;
mod memory;
pub mod message;
mod mode;
mod node;
mod note;
mod ping;
pub mod quorum;
pub mod recovery;
mod reject;
mod relay;
mod requirement;
mod retune;
mod role;
mod round_trip;
pub mod rules;
mod search;
mod sender;
mod setbacks;
mod slots;
mod span;
mod state_hash;
mod steps;
mod strangers;
mod transitions;
mod tuning;
mod view;
mod votes;

pub use ask::Ask;
pub use explain::Explanation;
pub use memory::{Ledger, Memory, Promise, Write};
pub use message::Message;
pub use mode::Mode;
use node::NodeState;
pub use note::Note;
pub use quorum::BootstrapSet;
pub use sender::Rejection;
pub use tuning::{NoMasterBlock, Tuning, parse_count, parse_time};

use crate::cluster::{Address, ClusterName, ClusterState, EphemeralId, Node, NodeId};
use crate::protocol::{Effects, Exchange, Rng, Ticket, Time};
use crate::service::SettingRule;

use rules::Rules;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

/// Who must take part in the first forming of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bootstrap {
    /// A majority of these names, addresses or ids.
    Hosts(BTreeSet<Arc<str>>),
    /// Every node found; a host that stays silent postpones it.
    Found,
}

/// What a node is told at its start.
#[derive(Clone, Debug)]
pub struct Config {
    /// The name of the cluster.
    pub cluster_name: ClusterName,
    /// The node. Its id is used only where the disk holds none yet.
    pub node: Node,
    /// Who must take part in the first forming.
    pub bootstrap: Bootstrap,
    /// The numbers to run by.
    pub tuning: Tuning,
    /// Which changes of the cluster's settings are understood.
    pub rule: SettingRule,
}

/// Why a node wakes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Timer {
    /// A ping round ends.
    Round,
    /// Silent hosts are pinged again within a round.
    PingAgain,
    /// Silent hosts were waited for long enough.
    Grace,
    /// A candidacy ends.
    Candidacy,
    /// A join is sent again or given up.
    Join,
    /// The master is pinged.
    MasterPing,
    /// Followers that miss the master compare since when.
    Silence,
    /// The nodes are pinged.
    NodePings,
    /// A publish lacks acknowledgements, or a term lacks votes.
    Commit,
    /// Tasks have been queued for too long.
    Queue,
    /// Nodes have had time enough to apply what was committed.
    Behind,
    /// Clients have waited long enough for every node to apply a change.
    Acks,
    /// Leases run out.
    Leases,
    /// More nodes were waited for long enough after a full restart.
    Gateway,
    /// A write is overdue.
    Disk,
    /// Clients' questions are tried again or given up.
    Asks,
    /// A good-bye is given up.
    Leave,
}

impl fmt::Display for Timer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// What a request that is on its way was for.
#[derive(Clone, Debug, Hash)]
enum CallPurpose {
    Ping { address: Address, asked: Time },
    Join { target: EphemeralId },
    Fetch { from: NodeId },
    Publish { node: NodeId, at: Address, asked: Time },
    Commit { node: NodeId, asked: Time },
    NodePing { node: NodeId, asked: Time, kind: PingKind },
    RoundTrip { joiner: Arc<Node>, asked: Time },
    MasterPing { master: EphemeralId, asked: Time, kind: PingKind },
    CallVote { node: NodeId, asked: Time },
    Leave,
    Forward { ticket: Ticket, attempt: u32 },
    Relay { exchange: Exchange, changes: bool },
}

/// Why a fault detector pings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum PingKind {
    /// It is time again.
    Regular,
    /// A link closed.
    Probe,
    /// A read wants a confirmation, or a voting set new answers.
    Confirm,
}

/// One node.
#[derive(Clone)]
pub struct Zen {
    node: NodeState,
    mode: Mode,
}

/// How many early joins, lost masters and the like are remembered.
const REMEMBERED_MAX: usize = 2_048;

impl Zen {
    /// A node with what its disk holds. The first input must be [`Input::Started`](crate::protocol::Input::Started).
    pub fn new(config: Config, disk: Memory, rng: Rng) -> Self {
        Zen::begin(config, disk, rng, Rules::default())
    }

    /// A node that keeps these rules.
    #[cfg(feature = "switches")]
    pub fn with_rules(config: Config, disk: Memory, rng: Rng, rules: Rules) -> Self {
        Zen::begin(config, disk, rng, rules)
    }

    fn begin(config: Config, disk: Memory, rng: Rng, rules: Rules) -> Self {
        Zen { node: NodeState::new(config, disk, rng, rules), mode: Mode::Finding }
    }

    /// Shows readers a committed state: without its master, while this node has none.
    fn apply(&mut self, state: Arc<ClusterState>, out: &mut Effects<Zen>) {
        if self.mode.stance().is_masterless() {
            self.node.apply_masterless(state, out);
        } else {
            self.node.apply(state, out);
        }
    }

    fn reply_report(&mut self, exchange: Exchange, out: &mut Effects<Zen>) {
        let report = Box::new(self.node.report(self.mode.stance()));
        self.node.reply(exchange, Message::Report(report), out);
    }
}
