//! `/_zazen/explain`: why there is a master or none, what is wrong, and what to type.
//!
//! The node that is asked asks all others that answer; what comes of it is decided in `diagnose`. How large the state is,
//! and that little room is left, is added here, as counting takes longer than the core may be kept busy. Elasticsearch 6.8
//! has nothing like it.

use super::body::Json;
use super::error::{Kind, RestError};
use super::nodes::account;
use super::parameters::{Parameter, Values};
use super::reply::Reply;
use super::route::Call;
use super::snapshot;
use crate::cluster::ClusterState;
use crate::runtime::inquiry;
use crate::service::{Account, limits};
use crate::settings::DiscoveryKind;
use serde::Serialize;
use serde_json::Value;
use std::sync::Arc;
use std::time::Duration;

/// What a reader looks for first; all else follows by name.
const FIRST: [&str; 4] = ["summary", "standing", "verdicts", "advice"];

const DRAINED: &str =
    "this node is drained and tells users to go elsewhere; stop it, or take that back with `DELETE /_zazen/drain`";

const EXPERIMENTS: &str = "this node elects by an experiment and is in no cluster, so there is nothing to explain; with `discovery.type: zen` it is";

/// What can be said.
pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "local",
        values: Values::Flag,
        default: "false",
        doc: "Tells only what this node knows by itself, at once, and judges nothing.",
    },
    Parameter {
        name: "as_root",
        values: Values::Flag,
        default: "false",
        doc: "Root will type what is to be typed, so that a line starts a node as the user that it ran as.",
    },
    Parameter {
        name: "max_age",
        values: Values::Time,
        default: "0ms",
        doc: "What somebody was told at this node no longer ago than this will do: pages that are open for good ask all \
              nodes once for all of them.",
    },
];

/// The whole explanation.
pub(super) async fn show(call: Call) -> Result<Reply, RestError> {
    if let DiscoveryKind::Lab(name) = call.handle.settings().discovery.kind {
        return Err(RestError::new(Kind::IllegalArgument, format!("{EXPERIMENTS}: [discovery.type] is [{name}]")));
    }
    let ended = || RestError::new(Kind::NodeClosed, "node closed");
    let mut fields = serde_json::Map::new();
    if call.parameters.flag("local")?.unwrap_or(false) {
        put(&mut fields, &call.handle.explain().await.ok_or_else(ended)?)?;
    } else {
        match diagnosis(&call).await? {
            Some(known) => {
                let (explanation, diagnosis) = &*known;
                put(&mut fields, explanation)?;
                put(&mut fields, diagnosis)?;
                if explanation.master_node.is_none() && !diagnosis.verdicts.is_empty() {
                    // What one node makes of what it sees; those that were asked around know better.
                    fields.insert("advice".into(), Value::Array(Vec::new()));
                }
            }
            None => put(&mut fields, &call.handle.explain().await.ok_or_else(ended)?)?,
        }
    }
    if call.handle.drain().is_on() {
        fields.insert("drained".into(), true.into());
    }
    let state = snapshot::local(&call.handle);
    let size = Account::of(&state);
    if let Some(Value::Array(advice)) = fields.get_mut("advice") {
        advice.extend(make_room(&size).map(Value::from));
        advice.extend(make_room_for_keys(&state).map(Value::from));
        advice.extend(call.handle.drain().is_on().then(|| Value::from(DRAINED)));
    }
    let first: Vec<(&str, Value)> = FIRST.iter().filter_map(|name| Some((*name, fields.remove(*name)?))).collect();
    let rest = fields.iter().map(|(name, value)| (name.as_str(), value));
    let all = first.iter().map(|(name, value)| (*name, value)).chain(rest);
    Ok(Reply::tree(Json::map(all.map(|(name, value)| (name, value.into()))).with("size", account(&size))))
}

async fn diagnosis(call: &Call) -> Result<inquiry::Known, RestError> {
    let as_root = call.parameters.flag("as_root")?.unwrap_or(false);
    let max_age = call.parameters.time("max_age", Duration::ZERO)?;
    // What root is told is told to nobody else.
    let age = if as_root { Duration::ZERO } else { max_age };
    Ok(if age.is_zero() {
        inquiry::diagnosis(&call.handle, as_root).await.map(Arc::new)
    } else {
        inquiry::diagnosis_of_late(&call.handle, age).await
    })
}

fn put(fields: &mut serde_json::Map<String, Value>, part: &impl Serialize) -> Result<(), RestError> {
    match serde_json::to_value(part) {
        Ok(Value::Object(part)) => fields.extend(part),
        Ok(_) => return Err(RestError::new(Kind::IllegalState, "the explanation has no fields")),
        Err(error) => return Err(RestError::new(Kind::IllegalState, error.to_string())),
    }
    Ok(())
}

/// What to do while something can still be done.
fn make_room(size: &Account) -> Option<String> {
    let (total, max) = (size.total(), Account::BYTES_MAX);
    size.is_nearly_full().then(|| {
        format!(
            "the state of the cluster has {total} bytes of the {max} that it may have, beyond which changes that make it \
             larger are refused; delete what is not needed: it has {size}"
        )
    })
}

/// The same of keys, which have a part of that room.
fn make_room_for_keys(state: &ClusterState) -> Option<String> {
    let (count, bytes) = (state.metadata.keys.len(), state.metadata.key_bytes);
    let is_nearly = |held: u64, most: u64| held > most / 10 * 9;
    let (count_max, bytes_max) = (limits::KEYS_MAX, limits::KEY_BYTES_MAX);
    (is_nearly(bytes, bytes_max) || is_nearly(count as u64, count_max as u64)).then(|| {
        format!(
            "the keys and values of the cluster have {bytes} bytes of the {bytes_max} that they may have, and are {count} of \
             {count_max}, beyond which more are refused; delete what is not needed"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_little_room_left_for_keys_is_told() {
        let mut state = ClusterState::initial("full".into());
        assert_eq!(make_room_for_keys(&state), None);
        state.metadata.key_bytes = limits::KEY_BYTES_MAX - 9;
        let advice = make_room_for_keys(&state).expect("they are nearly full");
        assert!(advice.contains("16777207 bytes of the 16777216") && advice.contains("are 0 of 100000"), "{advice}");
    }

    #[test]
    fn who_has_little_room_left_is_told_what_takes_it() {
        let size = Account { keys: Account::BYTES_MAX - 7, leases: 5, ..Account::default() };
        let advice = make_room(&size).expect("it is nearly full");
        assert!(advice.contains("134217726 bytes of the 134217728") && advice.contains("5 in leases"), "{advice}");
        assert_eq!(make_room(&Account::default()), None);
    }
}
