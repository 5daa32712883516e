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
//! | `diagnose` | `cluster`, `protocol`, `zen` |
//! | `settings` | `cluster`, `service`, `zen` |
//! | `wire` | `cluster`, `service`, `zen` |
//! | `lab` | `protocol` |
//! | `sim` | `cluster`, `protocol`, `service`, `zen`, `settings`, `wire`, `lab` |
//! | `runtime` | all but `sim`, `lab` |
//! | `rest` | `cluster`, `diagnose`, `protocol`, `service`, `settings`, `wire`, `runtime` |
//! | `live` | `cluster`, `protocol`, `service`, `settings`, `lab`, `runtime` |
//! | `client` | `cluster`, `protocol`, `service`, `runtime` |
//! | `embed` | all but `sim`, `lab`, `live` |
//! | `cli` | all |
//!
//! The last six are built with the `server` feature only. All others are pure: they read no clock, no entropy and no
//! file.

pub mod cluster;
pub mod diagnose;
pub mod lab;
pub mod protocol;
pub mod service;
pub mod settings;
pub mod sim;
pub mod wire;
pub mod zen;

#[cfg(feature = "server")]
pub mod cli;
#[cfg(feature = "server")]
pub mod client;
#[cfg(feature = "server")]
pub mod embed;
#[cfg(feature = "server")]
pub mod live;
#[cfg(feature = "server")]
pub mod rest;
#[cfg(feature = "server")]
pub mod runtime;

#[cfg(feature = "server")]
pub use client::Client;
#[cfg(feature = "server")]
pub use embed::Node;
