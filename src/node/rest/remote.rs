//! `/_remote/info`: the clusters that this one searches in as well, of which there are none.
//!
//! Mirrors `RestRemoteClusterInfoAction` (6.8).

use super::body::Json;
use super::reply::Reply;
use super::route::{Answering, Call};

/// None.
pub(super) fn info(_: Call) -> Answering<Reply> {
    Box::pin(async { Ok(Reply::tree(Json::object([]))) })
}
