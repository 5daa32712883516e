//! `GET /`: who this is. Mirrors `RestMainAction` and `TransportMainAction` (6.8).

use super::body::Json;
use super::error::RestError;
use super::release::{BUILD_DATE, FLAVOR, INDEX_COMPATIBILITY, LUCENE, TAGLINE, TYPE, WIRE_COMPATIBILITY, build};
use super::reply::Reply;
use super::route::Call;
use super::snapshot;
use axum::http::StatusCode;

/// The whole body in any case, and 503 while the cluster is not there for its users.
pub(super) async fn show(call: Call) -> Result<Reply, RestError> {
    let state = snapshot::local(&call.handle);
    let local = call.handle.local();
    let version = Json::object([
        ("number", (&*local.version).into()),
        ("build_flavor", FLAVOR.into()),
        ("build_type", TYPE.into()),
        ("build_hash", build(env!("CARGO_PKG_VERSION")).into()),
        ("build_date", BUILD_DATE.into()),
        ("build_snapshot", false.into()),
        ("lucene_version", LUCENE.into()),
        ("minimum_wire_compatibility_version", WIRE_COMPATIBILITY.into()),
        ("minimum_index_compatibility_version", INDEX_COMPATIBILITY.into()),
    ]);
    let body = Json::object([
        ("name", (&*local.name).into()),
        ("cluster_name", state.cluster_name.as_str().into()),
        ("cluster_uuid", snapshot::cluster_uuid(&state)),
        ("version", version),
        ("tagline", TAGLINE.into()),
    ]);
    let is_down = snapshot::is_unavailable(&state);
    let status = if is_down { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
    Ok(Reply::tree(body).with_status(status).pretty())
}
