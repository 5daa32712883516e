//! The node of Zazen: what drives the core, with clocks, disks and sockets, and what is asked of it over HTTP.
//!
//! Whoever wants a client or a node inside of a program of their own needs this and nothing else of Zazen.

use zazen_core::{cluster, protocol, service, wire, zen};
use zazen_operation::{diagnose, settings};

pub mod client;
pub mod embed;
pub mod rest;
pub mod runtime;

pub use client::Client;
pub use embed::Node;
