//! `/_zazen/explain`: why there is a master or none, in the words of the node that is asked.
//!
//! Elasticsearch 6.8 has nothing like it.

use super::body::Json;
use super::error::{Kind, RestError};
use super::reply::Reply;
use super::route::Call;
use serde_json::Value;

/// What a reader looks for first; all else follows by name.
const FIRST: [&str; 2] = ["summary", "advice"];

/// The whole explanation.
pub(super) async fn show(call: Call) -> Result<Reply, RestError> {
    let ended = || RestError::new(Kind::NodeClosed, "node closed");
    let explanation = call.handle.explain().await.ok_or_else(ended)?;
    let value = serde_json::to_value(&explanation);
    let value = value.map_err(|error| RestError::new(Kind::IllegalState, error.to_string()))?;
    let Value::Object(mut fields) = value else {
        return Err(RestError::new(Kind::IllegalState, "the explanation has no fields"));
    };
    let first: Vec<(&str, Value)> = FIRST.iter().filter_map(|name| Some((*name, fields.remove(*name)?))).collect();
    let rest = fields.iter().map(|(name, value)| (name.as_str(), value));
    let all = first.iter().map(|(name, value)| (*name, value)).chain(rest);
    Ok(Reply::tree(Json::map(all.map(|(name, value)| (name, value.into())))))
}
