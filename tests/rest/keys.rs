//! Keys, several at a time, leases and members, over REST.

use crate::world::{Told, World, led_by, local, node, state_of};
use axum::http::StatusCode;
use serde_json::{Value, json};
use std::time::Duration;

const JSON: [(&str, &str); 1] = [("content-type", "application/json")];

fn body(told: &Told) -> Value {
    serde_json::from_str(&told.body).unwrap_or_else(|error| panic!("{error} in {told:?}"))
}

fn kind(told: &Told) -> (u16, String) {
    (told.status.as_u16(), body(told)["error"]["type"].as_str().unwrap_or_default().to_owned())
}

#[tokio::test]
async fn a_value_is_the_body_as_it_is_and_its_version_is_told() {
    let world = World::new(state_of("led"));
    let told = world.ask("PUT", "/_zazen/kv/app/config%20one", &[("content-type", "text/plain")], "a=1\n").await;
    let written = json!({ "acknowledged": true, "term": 3, "version": 18, "revision": "3/18" });
    assert_eq!((told.status, body(&told), told.header("etag")), (StatusCode::OK, written, Some("\"3/18\"")));
    let told = world.get("/_zazen/kv/app/config%20one").await;
    assert_eq!((told.body.as_str(), told.header("etag")), ("a=1\n", Some("\"3/18\"")));
    assert_eq!(told.header("content-type"), Some("application/octet-stream"));
    let told = world.get("/_zazen/kv/app%2Fconfig%20one?format=json&local").await;
    let expected = json!({
        "key": "app/config one", "term": 3, "version": 18, "revision": "3/18", "bytes": 4, "value": "a=1\n", "at": "3/18"
    });
    assert_eq!(body(&told), expected);
    let known = world.ask("GET", "/_zazen/kv/app/config%20one", &[("if-none-match", "\"3/18\"")], "").await;
    assert_eq!((known.status, known.body.as_str()), (StatusCode::NOT_MODIFIED, ""));
    for (name, tags, status) in [
        ("if-none-match", "\"9/9\", W/\"3/18\"", 304),
        ("if-none-match", "\"9/9\"", 200),
        ("if-match", "\"3/18\"", 200),
        ("if-match", "\"9/9\"", 412),
    ] {
        let told = world.ask("GET", "/_zazen/kv/app/config%20one", &[(name, tags)], "").await;
        assert_eq!(told.status.as_u16(), status, "{name}: {tags}");
    }
    let packed = world.ask("GET", "/_zazen/kv/app/config%20one", &[("accept-encoding", "gzip")], "").await;
    assert_eq!(packed.header("content-encoding"), None, "the tag is that of the bytes as they are");
    let told = world.ask("DELETE", "/_zazen/kv/app/config%20one", &[], "").await;
    assert_eq!((body(&told)["deleted"].as_bool(), body(&told)["version"].as_u64()), (Some(true), Some(19)));
    let told = world.ask("DELETE", "/_zazen/kv/app/config%20one", &[], "").await;
    assert_eq!(body(&told)["deleted"].as_bool(), Some(false));
    assert_eq!(kind(&world.get("/_zazen/kv/app/config%20one").await), (404, "resource_not_found_exception".into()));
}

#[tokio::test]
async fn a_write_depends_on_what_it_says() {
    let world = World::new(state_of("led"));
    let write = async |target: &str, headers: &[(&str, &str)]| {
        let told = world.ask("PUT", target, headers, "x").await;
        if told.status == StatusCode::OK { "written".to_owned() } else { format!("{:?}", kind(&told)) }
    };
    let conflict = |status| format!("{:?}", (status, "version_conflict_engine_exception"));
    assert_eq!(write("/_zazen/kv/k", &[("if-match", "*")]).await, conflict(412), "it is not there");
    assert_eq!(write("/_zazen/kv/k", &[("if-none-match", "*")]).await, "written");
    assert_eq!(write("/_zazen/kv/k", &[("if-none-match", "*")]).await, conflict(412), "it is there");
    assert_eq!(write("/_zazen/kv/k?if_version=none", &[]).await, conflict(409));
    assert_eq!(write("/_zazen/kv/k", &[("if-match", "\"3/17\"")]).await, conflict(412), "another change was the last");
    assert_eq!(write("/_zazen/kv/k", &[("if-match", "\"3/18\"")]).await, "written");
    assert_eq!(write("/_zazen/kv/k?if_version=3/18", &[]).await, conflict(409));
    assert_eq!(write("/_zazen/kv/k?if_version=3/19", &[]).await, "written");
    let told = world.ask("DELETE", "/_zazen/kv/k?if_version=3/19", &[], "").await;
    assert_eq!(body(&told)["error"]["current_revision"].as_str(), Some("3/20"));
    let illegal = format!("{:?}", (400, "illegal_argument_exception"));
    for (target, headers) in [
        ("/_zazen/kv/k?if_version=x", &[][..]),
        ("/_zazen/kv/k", &[("if-match", "3/18")]),
        ("/_zazen/kv/k", &[("if-none-match", "\"3/18\"")]),
        ("/_zazen/kv/k?if_version=none", &[("if-match", "*")]),
        ("/_zazen/kv/k?lease=l", &[]),
        ("/_zazen/kv/k", &[("idempotency-key", "7")]),
        ("/_zazen/kv/k?retry=true", &[]),
    ] {
        assert_eq!(write(target, headers).await, illegal, "{target} {headers:?}");
    }
}

#[tokio::test]
async fn values_that_are_too_large_are_refused_with_the_limit() {
    let world = World::new(state_of("led"));
    let told = world.ask("PUT", "/_zazen/kv/k", &[], &"x".repeat((1 << 20) + 1)).await;
    assert_eq!(told.status, StatusCode::PAYLOAD_TOO_LARGE, "{told:?}");
    assert!(told.body.contains("1048576"), "{told:?}");
    assert_eq!(world.ask("PUT", "/_zazen/kv/k", &[], &"x".repeat(1 << 20)).await.status, StatusCode::OK);
    let told = world.ask("PUT", &format!("/_zazen/kv/{}", "k".repeat(513)), &[], "x").await;
    assert!(told.status == StatusCode::PAYLOAD_TOO_LARGE && told.body.contains("allowed are 1 to 512"), "{told:?}");
}

#[tokio::test]
async fn keys_are_listed_by_prefix_and_page_by_page() {
    let world = World::new(state_of("led"));
    for key in ["a/1", "a/2", "a/3", "b"] {
        world.ask("PUT", &format!("/_zazen/kv/{key}"), &[], key).await;
    }
    for read in ["", "&local=true"] {
        let first = body(&world.get(&format!("/_zazen/kv?prefix=a/&limit=2&values=true{read}")).await);
        let keys: Vec<_> =
            first["keys"].as_array().expect("a list").iter().map(|key| (&key["key"], &key["value"])).collect();
        assert_eq!(keys, [(&json!("a/1"), &json!("a/1")), (&json!("a/2"), &json!("a/2"))]);
        assert_eq!(first["more"], true);
        let rest = body(&world.get(&format!("/_zazen/kv?prefix=a/&after=a/2{read}")).await);
        assert_eq!(
            (&rest["keys"][0]["key"], &rest["keys"][1], &rest["more"]),
            (&json!("a/3"), &Value::Null, &json!(false))
        );
        assert_eq!(rest["keys"][0].get("value"), None, "values are shown on request");
    }
}

#[tokio::test]
async fn several_keys_change_together_or_not_at_all() {
    let world = World::new(state_of("led"));
    let txn = async |body: &str| world.ask("POST", "/_zazen/txn", &JSON, body).await;
    let both = r#"{"conditions":[{"absent":{"key":"a"}}],"puts":[{"key":"a","value":"1"},{"key":"b","value":{"base64":"/w=="}}]}"#;
    assert_eq!(body(&txn(both).await)["revision"], "3/18");
    let overtaken = txn(both).await;
    assert_eq!(kind(&overtaken), (409, "version_conflict_engine_exception".into()));
    let swap =
        r#"{"conditions":[{"changed":{"key":"a","by":[3,18]}}],"puts":[{"key":"c","value":"2"}],"deletes":["a","z"]}"#;
    assert_eq!(body(&txn(swap).await)["deleted"], 1);
    let keys = body(&world.get("/_zazen/kv?values").await);
    let held: Vec<_> =
        keys["keys"].as_array().expect("a list").iter().map(|key| (&key["key"], &key["value"])).collect();
    assert_eq!(held, [(&json!("b"), &json!({ "base64": "/w==" })), (&json!("c"), &json!("2"))]);
    assert_eq!(kind(&txn("{}").await), (400, "action_request_validation_exception".into()));
    for misspelt in [r#"{"condition":[]}"#, r#"{"puts":[{"key":"a","value":"1","leese":{}}]}"#, "x"] {
        assert_eq!(kind(&txn(misspelt).await), (400, "json_parse_exception".into()), "{misspelt}");
    }
}

#[tokio::test]
async fn a_request_with_a_name_is_carried_out_once() {
    let world = World::new(state_of("led"));
    let name = [("idempotency-key", "AAAAAAAAAAAAAAAAAAAABw/1")];
    let first = world.ask("PUT", "/_zazen/kv/k?if_version=none", &name, "x").await;
    let again = world.ask("PUT", "/_zazen/kv/k?if_version=none&retry=true", &name, "x").await;
    assert_eq!((again.status, &again.body), (StatusCode::OK, &first.body), "it is told what it came to");
    for (method, path, value) in
        [("PUT", "kv/k?if_version=none", "y"), ("PUT", "kv/j?if_version=none", "x"), ("DELETE", "kv/k", "")]
    {
        let another = world.ask(method, &format!("/_zazen/{path}"), &name, value).await;
        assert_eq!(kind(&another), (400, "illegal_argument_exception".into()), "{method} {path}");
    }
    assert_eq!(world.get("/_cluster/state/version?filter_path=version").await.body, r#"{"version":18}"#);
}

#[tokio::test]
async fn a_named_request_for_a_lease_that_is_asked_again_does_not_wait_for_its_own_grant() {
    let world = World::new(state_of("led"));
    let name = [("idempotency-key", "AAAAAAAAAAAAAAAAAAAABw/1")];
    let post = async || world.ask("POST", "/_zazen/lease/l?ttl=1h&wait=1h", &name, "").await;
    let first = post().await;
    let again = tokio::time::timeout(Duration::from_secs(5), post()).await.expect("nobody is waited for");
    assert_eq!((again.status, &again.body), (StatusCode::OK, &first.body));
}

#[tokio::test]
async fn a_lease_has_one_holder_and_tokens_rise() {
    let world = World::new(state_of("led"));
    let post = async |query: &str| world.ask("POST", &format!("/_zazen/lease/l?{query}"), &[], "").await;
    let granted = body(&post("ttl=10s&holder=me").await);
    let expected = json!({
        "name": "l", "holder": "me", "token": 1, "ttl_millis": 10_000, "holder_ttl_millis": 9_000, "at": "3/18"
    });
    assert_eq!(granted, expected);
    let held = post("ttl=10s&holder=you&wait=10ms").await;
    assert_eq!(kind(&held), (409, "lease_held_exception".into()));
    assert_eq!((&body(&held)["error"]["holder"], &body(&held)["error"]["token"]), (&json!("me"), &json!("1")));
    assert_eq!(body(&world.get("/_zazen/lease/l").await)["granted"], "3/18");
    assert_eq!(body(&world.get("/_zazen/lease").await)["leases"][0]["holder"], "me");
    let alive = body(&world.ask("PUT", "/_zazen/lease/l?token=1", &[], "").await);
    assert_eq!((&alive["token"], &alive["holder_ttl_millis"]), (&json!(1), &json!(9_000)));
    assert_eq!(kind(&world.ask("PUT", "/_zazen/lease/l?token=2", &[], "").await).1, "lease_not_held_exception");
    assert_eq!(kind(&world.ask("PUT", "/_zazen/lease/l", &[], "").await).1, "illegal_argument_exception");

    assert_eq!(world.ask("PUT", "/_zazen/kv/k?lease=l&token=1", &[], "x").await.status, StatusCode::OK);
    let (waiting, ()) = tokio::join!(post("holder=you&wait=10s"), async {
        assert_eq!(world.ask("DELETE", "/_zazen/lease/l?token=1", &[], "").await.status, StatusCode::OK);
    });
    assert_eq!((&body(&waiting)["token"], &body(&waiting)["holder"]), (&json!(2), &json!("you")));
    assert_eq!(world.get("/_zazen/kv/k").await.status, StatusCode::NOT_FOUND, "it vanished with its lease");
    assert_eq!(world.get("/_zazen/lease/free").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn members_are_listed_and_the_mastership_is_moved() {
    let mut state = led_by(&[local(), node('b', "127.0.0.1:1")]);
    state.nodes.remove(&node('b', "").id);
    let world = World::new(state);
    let members = body(&world.get("/_zazen/members").await);
    let shown: Vec<_> = members["members"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|member| {
            (
                member["name"].as_str(),
                member["present"].as_bool(),
                member["master"].as_bool(),
                member["voting"].as_bool(),
            )
        })
        .collect();
    let expected = [(Some("node-a"), Some(true), Some(true), Some(true)), (None, Some(false), Some(false), Some(true))];
    assert_eq!(shown, expected);
    let told = world.ask("POST", "/_zazen/handover?to=node-a", &[], "").await;
    assert_eq!(body(&told)["to"], local().id.as_str());
    assert_eq!(world.ask("POST", "/_zazen/handover?to=nobody", &[], "").await.status, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn names_that_are_no_text_are_refused_and_never_taken_for_each_other() {
    let world = World::new(state_of("led"));
    for target in ["/_zazen/kv/%ff", "/_zazen/kv/%fe", "/_zazen/kv/a%c3", "/_zazen/lease/%ff?holder=me"] {
        let told = world.ask("PUT", target, &[], "x").await;
        assert_eq!(kind(&told), (400, "illegal_argument_exception".into()), "{target}");
        assert!(told.body.contains("are no UTF-8"), "{told:?}");
    }
    assert_eq!(kind(&world.get("/_zazen/kv?prefix=%ff").await), (400, "bad_parameter_exception".into()));
    assert_eq!(world.ask("PUT", "/_zazen/kv/%ef%bf%bd", &[], "x").await.status, StatusCode::OK, "that one is a letter");
}
