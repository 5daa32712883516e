//! Bodies of answers: a tree, what a user wants to see of it, and the notations it is written in; and bodies that are sent
//! in them.
//!
//! Knows nothing of requests. Mirrors `XContentBuilder` and its kin (6.8).

mod cbor;
mod fields;
mod filter;
mod from_cbor;
mod from_json;
mod from_smile;
mod from_yaml;
mod json;
mod lenient;
mod placed;
mod smile;
mod text;
mod yaml;

pub(super) use cbor::cbor;
pub(super) use filter::Filter;
pub(super) use from_cbor::from_cbor;
pub(super) use from_json::from_json;
pub(super) use from_smile::from_smile;
pub(super) use from_yaml::from_yaml;
pub(super) use json::Json;
pub(super) use lenient::{plain, with_numbers_as_texts};
pub(super) use placed::{Field, Part, Place, Placed};
pub(super) use smile::smile;
pub(super) use text::{compact, pretty};
pub(super) use yaml::yaml;
