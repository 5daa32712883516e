//! The cluster state as users see it: waited for, by parts, blocked.

use super::PATIENCE;
use super::world::{World, leaderless, led_by, local, node, state_of};
use axum::http::StatusCode;
use std::sync::Arc;

#[tokio::test]
async fn the_state_can_be_waited_for_by_version() {
    let world = World::new(state_of("led"));
    let told = world.get("/_cluster/state?wait_for_metadata_version=18&wait_for_timeout=10ms").await;
    assert_eq!(
        (told.status, told.body.as_str()),
        (StatusCode::OK, r#"{"wait_for_timed_out":true,"cluster_name":"original"}"#)
    );
    let mut next = state_of("led");
    next.version = next.version.next();
    let newer = async { world.show(next) };
    let asked = world.get("/_cluster/state/version?wait_for_metadata_version=18&filter_path=wait*,version");
    let (told, ()) = tokio::time::timeout(PATIENCE, async { tokio::join!(asked, newer) }).await.expect("it came");
    assert_eq!(told.body, r#"{"wait_for_timed_out":false,"version":18}"#);
}

#[tokio::test]
async fn the_metadata_of_indices_is_shown_nested_or_flat_and_by_name() {
    let mut state = state_of("led");
    let logs = serde_json::json!({ "state": "open", "settings": { "index": { "number_of_shards": "1" } } });
    state.metadata.indices.insert("logs".into(), Arc::new(logs));
    state.metadata.indices.insert("old".into(), Arc::new(serde_json::json!({ "state": "close" })));
    let world = World::new(state);
    let get = async |target: &str| world.get(target).await.body;
    assert_eq!(
        get("/_cluster/state/metadata/logs?flat_settings=true&filter_path=metadata.indices").await,
        r#"{"metadata":{"indices":{"logs":{"settings":{"index.number_of_shards":"1"},"state":"open"}}}}"#
    );
    assert_eq!(
        get("/_cluster/state/metadata?filter_path=metadata.indices.*.s*.*").await,
        r#"{"metadata":{"indices":{"logs":{"settings":{"index":{"number_of_shards":"1"}}}}}}"#
    );
    assert!(get("/_cluster/state/blocks/nope?ignore_unavailable=false").await.ends_with(r#""blocks":{}}"#));
    assert_eq!(get("/old,logs?filter_path=*.state").await, r#"{"logs":{"state":"open"},"old":{"state":"close"}}"#);
    assert_eq!(get("/*?filter_path=*.state").await, r#"{"logs":{"state":"open"}}"#);
    let health = get("/_cluster/health/logs?level=indices&filter_path=indices.*.status,indices.*.active_shards").await;
    assert_eq!(health, r#"{"indices":{"logs":{"status":"green","active_shards":0}}}"#);
    assert_eq!(world.ask("HEAD", "/nope", &[], "").await.status, StatusCode::NOT_FOUND);
    assert_eq!(world.ask("HEAD", "/logs", &[], "").await.status, StatusCode::OK);
}

#[tokio::test]
async fn what_the_state_blocks_is_not_answered() {
    let mut state = state_of("led");
    state.blocks.add(zazen::cluster::Block::STATE_NOT_RECOVERED);
    let told = World::new(state).get("/foo?master_timeout=10ms").await;
    let blocked = "blocked by: [SERVICE_UNAVAILABLE/1/state not recovered / initialized];";
    let expected = format!(
        r#""type":"master_not_discovered_exception","reason":"ClusterBlockException[{blocked}]","caused_by":{{"type":"cluster_block_exception","reason":"{blocked}"}}}},"status":503}}"#
    );
    assert!(told.body.ends_with(&expected), "{}", told.body);
}

#[tokio::test]
async fn the_voting_sets_and_the_term_stand_in_the_state() {
    let mut state = led_by(&[local(), node('b', "127.0.0.1:1")]);
    // What it followed on had fewer voters; that it is shown means that it is committed.
    state.metadata.voting.committed = [local().id.clone()].into_iter().collect();
    let told =
        World::new(leaderless(state)).get("/_cluster/state/metadata?local&filter_path=**.cluster_coordination").await;
    let ids = r#"["nanananananananananana","nbnbnbnbnbnbnbnbnbnbnb"]"#;
    let expected = format!(
        r#"{{"metadata":{{"cluster_coordination":{{"term":3,"last_committed_config":{ids},"last_accepted_config":{ids}}}}}}}"#
    );
    assert_eq!(told.body, expected);
}
