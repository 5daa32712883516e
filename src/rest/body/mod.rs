//! Bodies of answers: a tree, what a user wants to see of it, and the notations it is written in; and bodies that are sent
//! as YAML.
//!
//! Knows nothing of requests. Mirrors `XContentBuilder` and its kin (6.8); SMILE is not written.

mod cbor;
mod filter;
mod from_yaml;
mod json;
mod text;
mod yaml;

pub(super) use cbor::cbor;
pub(super) use filter::Filter;
pub(super) use from_yaml::from_yaml;
pub(super) use json::Json;
pub(super) use text::{compact, pretty};
pub(super) use yaml::yaml;
