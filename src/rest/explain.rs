//! `/_zazen/explain`: why there is a master or none, in the words of the node that is asked.
//!
//! How large the state is, and that little room is left, is added here, as counting takes longer than the core may be kept
//! busy. Elasticsearch 6.8 has nothing like it.

use super::body::Json;
use super::error::{Kind, RestError};
use super::nodes::account;
use super::reply::Reply;
use super::route::Call;
use super::snapshot;
use crate::service::Account;
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
    let size = Account::of(&snapshot::local(&call.handle));
    if let Some(Value::Array(advice)) = fields.get_mut("advice") {
        advice.extend(make_room(&size).map(Value::from));
    }
    let first: Vec<(&str, Value)> = FIRST.iter().filter_map(|name| Some((*name, fields.remove(*name)?))).collect();
    let rest = fields.iter().map(|(name, value)| (name.as_str(), value));
    let all = first.iter().map(|(name, value)| (*name, value)).chain(rest);
    Ok(Reply::tree(Json::map(all.map(|(name, value)| (name, value.into()))).with("size", account(&size))))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_little_room_left_is_told_what_takes_it() {
        let size = Account { keys: Account::BYTES_MAX - 7, leases: 5, ..Account::default() };
        let advice = make_room(&size).expect("it is nearly full");
        assert!(advice.contains("134217726 bytes of the 134217728") && advice.contains("5 in leases"), "{advice}");
        assert_eq!(make_room(&Account::default()), None);
    }
}
