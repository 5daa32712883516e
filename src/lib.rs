//! Zazen: Elasticsearch's Zen discovery as a stand-alone cluster service and library.
//!
//! Who may use whom (`tests/tidy.rs` checks it):
//!
//! | module | may use |
//! |---|---|
//! | `cluster` | – |
//! | `protocol` | – |
//! | `service` | `cluster` |
//! | `zen` | `cluster`, `protocol`, `service` |
//! | `diagnose` | `cluster`, `protocol`, `service`, `zen` |
//! | `settings` | `cluster`, `service`, `zen` |
//! | `wire` | `cluster`, `service`, `zen` |
//! | `lab` | `protocol` |
//! | `zen68` | `cluster`, `protocol`, `service`, `zen` |
//! | `sim` | `cluster`, `protocol`, `service`, `zen`, `settings`, `wire`, `zen68` |
//! | `arena` | `cluster`, `protocol`, `service`, `zen`, `wire`, `lab`, `zen68`, `sim` |
//! | `runtime` | all but `sim`, `arena`, `zen68`, `lab` |
//! | `rest` | `cluster`, `diagnose`, `protocol`, `service`, `settings`, `wire`, `runtime` |
//! | `live` | `cluster`, `protocol`, `service`, `settings`, `lab`, `runtime` |
//! | `client` | `cluster`, `protocol`, `service`, `runtime` |
//! | `embed` | all but `sim`, `arena`, `zen68`, `lab`, `live` |
//! | `cli` | all |
//!
//! They are parts of six packages, so that nobody builds what they do not use:
//!
//! - `zazen-core`: `cluster`, `protocol`, `service`, `zen` and `wire`. It is pure: it reads no clock, no entropy and no file.
//! - `zazen-operation`: `diagnose` and `settings`, which are pure as well.
//! - `zazen-simulator`, with the feature `simulator`: `zen68` and `sim`, as pure.
//! - `zazen-elections`, with the same feature: `lab` and `arena`, as pure.
//! - `zazen-node`, with the feature `node`: `runtime`, `rest`, `client` and `embed`.
//! - `zazen`, with the feature `cli`: `live` and `cli`.

pub use zazen_core::{cluster, protocol, service, wire, zen};
pub use zazen_operation::{diagnose, settings};

#[cfg(feature = "simulator")]
pub use zazen_elections::{arena, lab};
#[cfg(feature = "node")]
pub use zazen_node::{Client, Node, client, embed, rest, runtime};
#[cfg(feature = "simulator")]
pub use zazen_simulator::{sim, zen68};

#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "cli")]
pub mod live;
