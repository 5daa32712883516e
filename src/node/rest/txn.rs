//! `/_zazen/txn`: several keys in one change, all or nothing.

use super::body::Json;
use super::error::{Kind, RestError};
use super::kv::{deleted, written};
use super::reply::Reply;
use super::rights::check_txn;
use super::route::Call;
use super::submit::submit;
use crate::cluster::{Blob, Holding};
use crate::service::{Condition, Put, Task, Txn};
use serde::Deserialize;
use std::sync::Arc;

/// The body. What is misspelt must not pass for what was left out.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Wanted {
    #[serde(default)]
    conditions: Vec<Condition>,
    #[serde(default)]
    puts: Vec<WantedPut>,
    #[serde(default)]
    deletes: Vec<Arc<str>>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WantedPut {
    key: Arc<str>,
    value: Blob,
    #[serde(default)]
    lease: Option<Holding>,
}

/// Makes the changes together, if all conditions hold.
pub(super) async fn change(call: Call) -> Result<Reply, RestError> {
    let allowed = r#"allowed: {"conditions": […], "puts": [{"key": "a", "value": "x"}], "deletes": ["b"]}"#;
    let refuse = |error: serde_json::Error| RestError::new(Kind::JsonParse, format!("{error}; {allowed}"));
    let Wanted { conditions, puts, deletes } = serde_json::from_slice(&call.body).map_err(refuse)?;
    let puts = puts.into_iter().map(|WantedPut { key, value, lease }| Put { key, value, lease }).collect();
    let txn = Txn { conditions, puts, deletes };
    if txn.is_empty() {
        return Err(RestError::asks_for_nothing(&format!(
            "there is nothing to check and nothing to change; {allowed}"
        )));
    }
    check_txn(call.guest.as_ref(), "zazen_txn_post_action", &txn)?;
    let done = submit(&call, Task::Txn(txn)).await?;
    let json: Json = written(&done).with("deleted", deleted(&done));
    Ok(Reply::tree(json))
}
