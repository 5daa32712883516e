//! What a cluster is: its nodes, its state and how one state differs from another. Plain data.
//!
//! Decides nothing: who may change a state, when it is committed and who is told is left to `service` and `zen`.
//! Every part of a state is shared, so that a clone is cheap and a change costs what it touches.
//!
//! | Here | In Elasticsearch 6.8 |
//! |---|---|
//! | [`Node`], [`Roles`], [`Nodes`], [`NodesDelta`] | `DiscoveryNode`, its `Role`, `DiscoveryNodes`, its `Delta` |
//! | [`ClusterState`], [`Diff`] | `ClusterState`, `ClusterStateDiff` |
//! | [`Metadata`], [`Settings`] | `MetaData`, `Settings` |
//! | [`Block`], [`BlockLevels`], [`Blocks`] | `ClusterBlock`, `ClusterBlockLevel`, `ClusterBlocks` |
//! | [`VotingSet`] | `VotingConfiguration` (7.x) |
//! | [`Table`] | `ImmutableOpenMap` |

mod blob;
mod blocks;
mod diff;
mod flags;
mod forward;
mod forwards;
mod ids;
mod key;
mod lease;
mod metadata;
mod node;
mod nodes;
mod nodes_delta;
mod refusal;
mod request;
mod requests;
mod revision;
mod state;
mod state_id;
mod table;
mod table_diff;
mod uuid;
mod voting;

pub use blob::{Blob, written_len};
pub use blocks::{Block, BlockLevel, BlockLevels, Blocks};
pub use diff::{Diff, ForwardsDiff, MetadataDiff, NodesDiff, RequestsDiff, WrongBase};
pub use forward::{BadSlot, Forward, Slot};
pub use forwards::{Carried, Forwarder, Forwards, Known};
pub use ids::{Address, ClusterName, EphemeralId, NodeId};
pub use key::KeyValue;
pub(crate) use lease::millis;
pub use lease::{Holding, Lease, Token};
pub use metadata::{Metadata, Settings};
pub use node::{Node, Roles, is_loopback};
pub use nodes::Nodes;
pub use nodes_delta::NodesDelta;
pub use refusal::{Condition, Refusal};
pub use request::{BadRequestId, RequestId};
pub use requests::{Client, Recall, Remembered, RequestOutcome, Requests};
pub use revision::{BadRevision, Revision};
pub use state::ClusterState;
pub use state_id::{StateId, Term, Version};
pub use table::{Table, TableIter};
pub use table_diff::{TableChange, TableDiff};
pub use uuid::{BadUuid, Uuid};
pub use voting::{VotingSet, VotingSets};
