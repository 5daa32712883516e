//! The table of all settings that are documented here, put together from a file for each part of a node.
//!
//! Settings that Elasticsearch has and that have neither a meaning nor a page here stand in `known.txt`.

mod gateway;
mod hooks;
mod hosts;
mod http;
mod log;
mod network;
mod node;
mod security;
mod service;
mod zen;

use super::{Changes, DefaultValue, Effect, Kind, Setting, Topic};
use std::str::FromStr;

/// Puts what a text says into its place; nothing where it does not say such a thing.
fn put<T: FromStr>(place: &mut T, text: &str) -> Option<()> {
    *place = text.parse().ok()?;
    Some(())
}

/// The parts, in the order of the pages about them.
const PARTS: [&[Setting]; 10] = [
    &node::NODE,
    &network::NETWORK,
    &http::HTTP,
    &hosts::HOSTS,
    &zen::PROTOCOL,
    &service::SERVICE,
    &gateway::GATEWAY,
    &security::SECURITY,
    &hooks::HOOKS,
    &log::LOG,
];

const LENGTH: usize = {
    let (mut length, mut part) = (0, 0);
    while part < PARTS.len() {
        length += PARTS[part].len();
        part += 1;
    }
    length
};

/// Every setting, in the order of the pages about them.
pub const REGISTRY: &[Setting] = &joined();

const fn joined() -> [Setting; LENGTH] {
    let mut all = [PARTS[0][0]; LENGTH];
    let (mut at, mut part) = (0, 0);
    while part < PARTS.len() {
        let mut row = 0;
        while row < PARTS[part].len() {
            all[at] = PARTS[part][row];
            at += 1;
            row += 1;
        }
        part += 1;
    }
    all
}
