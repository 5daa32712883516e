//! `GET /`: who this is. Mirrors `RestMainAction` and `TransportMainAction` (6.8).

use super::body::Json;
use super::error::RestError;
use super::release::{
    BUILD_DATE, DISTRIBUTION, FLAVOR, INDEX_COMPATIBILITY, LUCENE, OLD_LUCENE, TAGLINE, TYPE, WIRE_COMPATIBILITY, build,
};
use super::reply::Reply;
use super::route::Call;
use super::snapshot;
use axum::http::StatusCode;

/// Which release of Elasticsearch this stands for, and what it really is. Releases of the fifth row told less of themselves.
fn version(number: &str) -> Json {
    let is_old = number.starts_with('5');
    let version = Json::object([("number", number.into())]);
    let version = match is_old {
        true => version,
        false => version.with("build_flavor", FLAVOR).with("build_type", TYPE),
    };
    let version = version
        .with("build_hash", build(env!("CARGO_PKG_VERSION")))
        .with("build_date", BUILD_DATE)
        .with("build_snapshot", false)
        .with("lucene_version", if is_old { OLD_LUCENE } else { LUCENE });
    let version = match is_old {
        true => version,
        false => version
            .with("minimum_wire_compatibility_version", WIRE_COMPATIBILITY)
            .with("minimum_index_compatibility_version", INDEX_COMPATIBILITY),
    };
    version.with("distribution", DISTRIBUTION).with("release", env!("CARGO_PKG_VERSION"))
}

/// The whole body in any case, and 503 while the cluster is not there for its users.
pub(super) async fn show(call: Call) -> Result<Reply, RestError> {
    let state = snapshot::local(&call.handle);
    let local = call.handle.local();
    let version = version(&call.handle.settings().rest.compatibility);
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
