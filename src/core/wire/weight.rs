//! About how long a message will be, told without writing it: what users can make large is counted by the length of its texts.
//!
//! Whoever owns the node's thread asks this of every message before he writes it there.

use crate::cluster::{ClusterState, Diff, KeyValue, Node, Settings};
use crate::service::Answer;
use crate::zen::Message;
use crate::zen::message::Body;
use serde_json::Value;
use std::sync::Arc;

/// What everything with a name takes besides its name and content.
const ENTRY: u64 = 100;
/// What a node takes, attributes apart.
const NODE: u64 = 300;
/// What is remembered of a request.
const REQUEST: u64 = 200;

/// About how many bytes a message has, when it is written.
pub fn weight(message: &Message) -> u64 {
    match message {
        Message::Publish { body: Body::Full(state), .. } | Message::Fetched { state: Some(state), .. } => {
            of_state(state)
        }
        Message::Publish { body: Body::Diff(diff), .. } => of_diff(diff),
        Message::Submit { task, .. } => task.bytes() as u64,
        Message::Relay { question, .. } => weight(question),
        Message::Answered(answer) => of_answer(answer),
        Message::Ping { .. }
        | Message::Notice { .. }
        | Message::Join { .. }
        | Message::Fetch { .. }
        | Message::Commit { .. }
        | Message::NodePing { .. }
        | Message::MasterPing { .. }
        | Message::CallVote { .. }
        | Message::Leave { .. }
        | Message::Read { .. }
        | Message::PendingTasks { .. }
        | Message::Succession { .. }
        | Message::Pong { .. }
        | Message::Joining(_)
        | Message::Fetched { state: None, .. }
        | Message::Report(_)
        | Message::MasterPong(_)
        | Message::Gone
        | Message::Rejected(_) => 0,
    }
}

fn of_state(state: &ClusterState) -> u64 {
    let metadata = &state.metadata;
    let requests = metadata.requests.done.len() + metadata.requests.clients.len() + metadata.forwards.done.len();
    metadata.key_bytes
        + metadata.keys.len() as u64 * ENTRY
        + of_settings(&metadata.persistent)
        + of_settings(&metadata.transient)
        + metadata.leases.len() as u64 * (2 * ENTRY)
        + requests as u64 * REQUEST
        + state.nodes.iter().map(of_node).sum::<u64>()
        + metadata.indices.iter().map(|(name, value)| named(name, of_tree(value))).sum::<u64>()
}

fn of_diff(diff: &Diff) -> u64 {
    let metadata = &diff.metadata;
    let settings = metadata.persistent.put.iter().chain(&metadata.transient.put);
    let keys = metadata.keys.put.iter().map(|(key, held)| named(key, of_value(held)));
    keys.sum::<u64>()
        + settings.map(|(key, value)| named(key, value.len())).sum::<u64>()
        + metadata.keys.removed.iter().map(|key| named(key, 0)).sum::<u64>()
        + diff.nodes.put.iter().map(of_node).sum::<u64>()
        + metadata.indices.put.iter().map(|(name, value)| named(name, of_tree(value))).sum::<u64>()
        + diff.passed.iter().map(|step| of_diff(step)).sum::<u64>()
}

fn of_answer(answer: &Answer) -> u64 {
    match answer {
        Answer::Value { value: Some(held), .. } => of_value(held) as u64,
        Answer::Range { keys, .. } => keys.iter().map(|(key, held)| named(key, of_value(held))).sum(),
        Answer::Pending(tasks) => tasks.len() as u64 * ENTRY,
        Answer::Value { value: None, .. }
        | Answer::Done { .. }
        | Answer::Newest { .. }
        | Answer::Lease { .. }
        | Answer::Refused(_)
        | Answer::NotMaster
        | Answer::NoMaster
        | Answer::TimedOut { .. }
        | Answer::Unknown { .. }
        | Answer::Left
        | Answer::HandedOver { .. } => 0,
    }
}

fn named(name: &str, bytes: usize) -> u64 {
    (name.len() + bytes) as u64 + ENTRY
}

fn of_value(held: &KeyValue) -> usize {
    held.value.written_len()
}

fn of_settings(settings: &Settings) -> u64 {
    settings.iter().map(|(key, value)| named(key, value.len())).sum()
}

fn of_node(node: &Arc<Node>) -> u64 {
    NODE + node.attributes.iter().map(|(name, value)| named(name, value.len())).sum::<u64>()
}

fn of_tree(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => 8,
        Value::String(text) => text.len(),
        Value::Array(values) => values.iter().map(of_tree).sum(),
        Value::Object(fields) => fields.iter().map(|(name, value)| name.len() + of_tree(value)).sum(),
    }
}
