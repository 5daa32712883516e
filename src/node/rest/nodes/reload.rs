//! `/_nodes/reload_secure_settings`: there are none, so each node that answers has read them.
//!
//! Mirrors `RestReloadSecureSettingsAction` (6.8). Differs from ES: a missing keystore is no failure.

use super::{Action, chosen, header, infos};
use crate::rest::body::Json;
use crate::rest::error::RestError;
use crate::rest::reply::Reply;
use crate::rest::route::Call;

/// Which nodes are there.
pub(in crate::rest) async fn reload(call: Call) -> Result<Reply, RestError> {
    let chosen = chosen(&call, "NodesReloadSecureSettingsRequest")?;
    let asked = infos(&call.handle, chosen.nodes, chosen.timeout).await;
    let head = header(&chosen.state, Action("cluster:admin/nodes/reload_secure_settings"), &asked);
    let told = asked.iter().filter(|(_, told)| told.is_ok());
    let named = told.map(|(node, _)| (node.id.as_str(), Json::object([("name", (&*node.name).into())])));
    Ok(Reply::tree(head.with("nodes", Json::map(named))))
}
