//! The settings of the cluster and the queue of the master, over REST.

use crate::world::{Told, World, leaderless, led_by, local, node, state_of};
use axum::http::StatusCode;
use futures_util::future::join_all;
use serde_json::Value;
use zazen::service::{Answer, PendingTask, Priority, Refusal};
use zazen::settings::NodeSettings;

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

async fn put(world: &World, body: &str) -> Told {
    world.ask("PUT", "/_cluster/settings?flat_settings=true", &JSON, body).await
}

async fn held(world: &World) -> String {
    world.get("/_cluster/settings?flat_settings=true").await.body
}

fn reason(told: &Told) -> (u16, String, String) {
    let body: Value = serde_json::from_str(&told.body).expect("errors are JSON");
    let text = |field: &str| body["error"][field].as_str().unwrap_or_default().to_owned();
    (told.status.as_u16(), text("type"), text("reason"))
}

#[tokio::test]
async fn settings_that_are_sent_as_yaml_are_answered_as_yaml() {
    let world = World::new(state_of("led"));
    let yaml = [("content-type", "application/yaml; charset=UTF-8")];
    let body = "---\ntransient:\n  cluster.metadata:\n    x: 3\n    w: yes\n    z: \"a\"\npersistent: {}\n";
    let told = world.ask("PUT", "/_cluster/settings", &yaml, body).await;
    // As the original writes it, but for the order of its keys.
    let expected = "---\nacknowledged: true\npersistent: {}\ntransient:\n  cluster:\n    metadata:\n      w: \"true\"\n      \
                    x: \"3\"\n      z: \"a\"\n";
    assert_eq!((told.status, told.body.as_str()), (StatusCode::OK, expected));
    let told = world.ask("PUT", "/_cluster/settings", &yaml, "transient: [").await;
    assert!(told.status == StatusCode::BAD_REQUEST && told.body.contains("the body is no YAML"), "{}", told.body);
    let told = world.ask("PUT", "/_cluster/settings", &yaml, "just text").await;
    assert_eq!(told.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn settings_are_set_shown_and_removed() {
    let world = World::new(state_of("led"));
    let set = r#"{"transient":{"discovery":{"zen":{"fd.ping_interval":"300ms","minimum_master_nodes":1}}},
                  "persistent":{"cluster.metadata.owner":"me","logger":{"discovery":"DEBUG"}}}"#;
    let told = put(&world, set).await;
    let (persistent, transient) = (
        r#"{"cluster.metadata.owner":"me","logger.discovery":"DEBUG"}"#,
        r#"{"discovery.zen.fd.ping_interval":"300ms","discovery.zen.minimum_master_nodes":"1"}"#,
    );
    let expected = format!(r#"{{"acknowledged":true,"persistent":{persistent},"transient":{transient}}}"#);
    assert_eq!((told.status, told.body), (StatusCode::OK, expected));
    assert_eq!(held(&world).await, format!(r#"{{"persistent":{persistent},"transient":{transient}}}"#));
    let nested = world.get("/_cluster/settings?filter_path=transient").await.body;
    let expected = r#"{"transient":{"discovery":{"zen":{"fd":{"ping_interval":"300ms"},"minimum_master_nodes":"1"}}}}"#;
    assert_eq!(nested, expected);

    let told = put(&world, r#"{"transient":{"discovery.*":null},"persistent":{"logger.discovery":null}}"#).await;
    assert_eq!(told.body, r#"{"acknowledged":true,"persistent":{},"transient":{}}"#);
    assert_eq!(held(&world).await, r#"{"persistent":{"cluster.metadata.owner":"me"},"transient":{}}"#);
}

#[tokio::test]
async fn a_change_is_refused_as_a_whole_in_elasticsearchs_words() {
    let world = World::new(led_by(&[local(), node('b', "127.0.0.1:1")]));
    let cases = [
        (r#"{"transient":{"cluster.name":"x"}}"#, "transient setting [cluster.name], not dynamically updateable"),
        (
            r#"{"persistent":{"discovery.zen.ping_timeout":"1s"}}"#,
            "persistent setting [discovery.zen.ping_timeout], not dynamically updateable",
        ),
        (r#"{"transient":{"qqqqqqqqqqqqqqqqqqqq":1}}"#, "transient setting [qqqqqqqqqqqqqqqqqqqq], not recognized"),
        (
            r#"{"transient":{"discovery.zen.minimum_master_nodes":"abc"}}"#,
            "Failed to parse value [abc] for setting [discovery.zen.minimum_master_nodes]",
        ),
        (
            r#"{"transient":{"discovery.zen.minimum_master_nodes":-1}}"#,
            "Failed to parse value [-1] for setting [discovery.zen.minimum_master_nodes] must be >= 1",
        ),
        (
            r#"{"transient":{"discovery.zen.minimum_master_nodes":3}}"#,
            "illegal value can't update [discovery.zen.minimum_master_nodes] from [-1] to [3]",
        ),
    ];
    let slipped = put(&world, r#"{"transient":{"discovery.zen.minimum_master_node":2}}"#).await;
    assert_eq!(slipped.header("x-zazen-hint"), Some("did you mean [discovery.zen.minimum_master_nodes]?"));
    let twice = put(&world, r#"{"transient":{},"transient":{}}"#).await;
    assert_eq!(reason(&twice).0, 400, "{}", twice.body);
    for (body, expected) in cases {
        let with_a_good_one = body.replacen(r#""transient":{"#, r#""transient":{"cluster.metadata.a":"1","#, 1);
        for body in [body, &with_a_good_one] {
            let found = reason(&put(&world, body).await);
            assert_eq!(found, (400, "illegal_argument_exception".into(), expected.into()), "{body}");
        }
    }
    assert_eq!(held(&world).await, r#"{"persistent":{},"transient":{}}"#, "nothing of them was applied");
    let refused = put(&world, r#"{"transient":{"discovery.zen.minimum_master_nodes":3}}"#).await;
    let cause = "cannot set discovery.zen.minimum_master_nodes to more than the current master nodes count [2]";
    assert!(
        refused.body.contains(&format!(r#""caused_by":{{"type":"illegal_argument_exception","reason":"{cause}"}}"#))
    );
}

#[tokio::test]
async fn bodies_that_say_nothing_are_refused() {
    let world = World::new(state_of("led"));
    let cases = [
        ("", "parse_exception", "request body is required"),
        ("{}", "action_request_validation_exception", "Validation Failed: 1: no settings to update;"),
        ("[1]", "action_request_validation_exception", "Validation Failed: 1: no settings to update;"),
    ];
    for (body, kind, expected) in cases {
        assert_eq!(reason(&put(&world, body).await), (400, kind.into(), expected.into()), "{body}");
    }
    assert_eq!(reason(&put(&world, "{").await).1, "json_parse_exception");
}

#[tokio::test]
async fn a_read_only_cluster_takes_nothing_but_the_end_of_that() {
    let world = World::new(state_of("led"));
    let read_only = r#"{"transient":{"cluster.blocks.read_only":true}}"#;
    assert_eq!(put(&world, read_only).await.status, StatusCode::OK);
    let refused = put(&world, r#"{"transient":{"cluster.metadata.a":"1"}}"#).await;
    let words = "blocked by: [FORBIDDEN/6/cluster read-only (api)];";
    assert_eq!(reason(&refused), (403, "cluster_block_exception".into(), words.into()));
    let two = r#"{"transient":{"cluster.blocks.read_only":null,"cluster.blocks.read_only_allow_delete":null}}"#;
    assert_eq!(reason(&put(&world, two).await), reason(&refused), "one block alone can be taken away");
    assert_eq!(reason(&world.ask("POST", "/_forcemerge", &[], "").await), reason(&refused));
    assert_eq!(put(&world, r#"{"transient":{"cluster.blocks.read_only":null}}"#).await.status, StatusCode::OK);
    assert_eq!(put(&world, r#"{"transient":{"cluster.metadata.a":"1"}}"#).await.status, StatusCode::OK);
}

#[tokio::test]
async fn without_a_master_nothing_is_done_to_shards() {
    let world = World::new(leaderless(state_of("led")));
    let paths = ["/_forcemerge", "/_cache/clear", "/_upgrade", "/x/_forcemerge"];
    // Each waits for a master for a while.
    let all = join_all(paths.iter().map(|path| world.ask("POST", path, &[], ""))).await;
    for (path, told) in paths.iter().zip(all) {
        let words = "blocked by: [SERVICE_UNAVAILABLE/2/no master];";
        assert_eq!(reason(&told), (503, "cluster_block_exception".into(), words.into()), "{path}");
    }
    assert_eq!(world.ask("POST", "/_flush", &[], "").await.status, StatusCode::OK);
}

#[tokio::test]
async fn defaults_are_what_was_given_and_what_holds_anyway() {
    let mut settings = NodeSettings::default();
    settings.given.insert("discovery.zen.ping_timeout".into(), "2s".into());
    settings.given.insert("node.name".into(), "node-a".into());
    let world = World::with(settings, state_of("led"), Vec::new());
    put(&world, r#"{"transient":{"discovery.zen.fd.ping_retries":4}}"#).await;
    let told = world.get("/_cluster/settings?include_defaults=true&flat_settings=true").await;
    let body: Value = serde_json::from_str(&told.body).expect("it is JSON");
    let defaults = &body["defaults"];
    let shown = |key: &str| defaults[key].as_str();
    assert_eq!((shown("discovery.zen.ping_timeout"), shown("discovery.zen.join_timeout")), (Some("2s"), Some("40s")));
    assert_eq!((shown("node.name"), shown("cluster.name")), (Some("node-a"), Some("elasticsearch")));
    assert_eq!(defaults["discovery.zen.hosts_provider"], serde_json::json!([]));
    assert_eq!(shown("discovery.zen.fd.ping_retries"), None, "what is set is no default");
    assert!(
        world.get("/_cluster/settings?include_defaults=true").await.body.contains(r#""zen":{"commit_timeout":"5s""#)
    );
}

#[tokio::test]
async fn without_a_master_settings_are_read_locally_and_changed_by_nobody() {
    let world = World::new(leaderless(state_of("led")));
    assert_eq!(world.get("/_cluster/settings?local").await.body, r#"{"persistent":{},"transient":{}}"#);
    assert_eq!(world.get("/_cluster/settings?master_timeout=10ms").await.status, StatusCode::SERVICE_UNAVAILABLE);
    let target = "/_cluster/settings?master_timeout=10ms";
    let told = world.ask("PUT", target, &JSON, r#"{"transient":{"cluster.metadata.a":"1"}}"#).await;
    assert_eq!(reason(&told).1, "master_not_discovered_exception");
    assert!(told.status == StatusCode::SERVICE_UNAVAILABLE && told.body.contains(r#""reason":null"#), "{told:?}");
}

#[tokio::test]
async fn a_change_that_came_to_nothing_or_to_nobody_knows_what_is_told_so() {
    let cases = [
        (
            Answer::TimedOut { source: "cluster_update_settings".into() },
            (503, "process_cluster_event_timeout_exception"),
            "failed to process cluster event (cluster_update_settings) within 1.5s",
        ),
        (
            Answer::Refused(Refusal::Overloaded("10000 tasks are queued already".into())),
            (429, "es_rejected_execution_exception"),
            "10000 tasks are queued already",
        ),
        (
            Answer::Unknown { reason: "the master was asked and did not answer".into() },
            (500, "failed_to_commit_cluster_state_exception"),
            "the master was asked and did not answer",
        ),
    ];
    for (answer, (status, kind), expected) in cases {
        let world = World::answering(answer);
        let target = "/_cluster/settings?master_timeout=1500ms";
        let told = world.ask("PUT", target, &JSON, r#"{"transient":{"cluster.metadata.a":"1"}}"#).await;
        assert_eq!(reason(&told), (status, kind.into(), expected.into()));
    }
}

#[tokio::test]
async fn the_queue_of_the_master_is_shown_as_a_tree_and_as_a_table() {
    let task = |insert_order, priority, source: &str, executing| PendingTask {
        insert_order,
        priority,
        source: source.into(),
        executing,
        time_in_queue_millis: insert_order * 43,
    };
    let tasks = vec![
        task(2, Priority::Immediate, "cluster_update_settings", true),
        task(1, Priority::Urgent, "zen-disco-node-join", false),
    ];
    let world = World::with(NodeSettings::default(), state_of("led"), tasks);
    let first = r#"{"insert_order":2,"priority":"IMMEDIATE","source":"cluster_update_settings","executing":true,"time_in_queue_millis":86,"time_in_queue":"86ms"}"#;
    let told = world.get("/_cluster/pending_tasks").await;
    assert!(told.body.starts_with(&format!(r#"{{"tasks":[{first},{{"insert_order":1,"#)), "{}", told.body);
    assert_eq!(
        world.get("/_cat/pending_tasks").await.body,
        "2 86ms IMMEDIATE cluster_update_settings\n1 43ms URGENT    zen-disco-node-join\n"
    );
    let other = World::new(led_by(&[node('b', "127.0.0.1:1"), local()]));
    assert_eq!(other.get("/_cluster/pending_tasks?local=true").await.body, r#"{"tasks":[]}"#);
}
