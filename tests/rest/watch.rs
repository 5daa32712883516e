//! Watching over REST: long poll and server-sent events.

use crate::PATIENCE;
use crate::world::{World, leaderless, state_of};
use axum::body::Body;
use axum::http::{Request, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;
use zazen::cluster::{StateId, Version};
use zazen::service::Answer;

async fn poll(world: &World, query: &str) -> Value {
    let told = world.get(&format!("/_zazen/watch?{query}")).await;
    assert_eq!(told.status, StatusCode::OK, "{told:?}");
    serde_json::from_str(&told.body).expect("it is JSON")
}

async fn put(world: &World, key: &str, value: &str) {
    assert_eq!(world.ask("PUT", &format!("/_zazen/kv/{key}"), &[], value).await.status, StatusCode::OK);
}

fn steps(polled: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let steps = polled["steps"].as_array().expect("a list");
    let changes = steps.iter().flat_map(|step| {
        step["changes"].as_array().expect("a list").iter().map(|change| (text(&step["at"]), text(&change["kind"])))
    });
    changes.collect()
}

#[tokio::test]
async fn a_watcher_begins_with_the_state_and_goes_on_from_there() {
    let world = World::new(state_of("led"));
    put(&world, "a/1", "x").await;
    let first = poll(&world, "prefix=a/").await;
    assert_eq!((&first["at"], &first["compacted"], &first["steps"]), (&json!("3/18"), &json!(true), &json!([])));
    assert_eq!(first["state"]["keys"][0]["value"], "x");
    assert_eq!(first["state"].get("nodes"), None, "only keys are wanted");
    put(&world, "b", "y").await;
    put(&world, "a/2", "z").await;
    world.ask("DELETE", "/_zazen/kv/a/1", &[], "").await;
    let next = poll(&world, "prefix=a/&from=3/18").await;
    assert_eq!(steps(&next), [("3/20".into(), "put".into()), ("3/21".into(), "delete".into())]);
    assert_eq!((&next["at"], &next["compacted"]), (&json!("3/21"), &json!(false)));
    let none = poll(&world, "prefix=a/&from=3/21&wait_for=10ms").await;
    assert_eq!((&none["at"], steps(&none).len()), (&json!("3/21"), 0));
    let all = poll(&world, "from=3/18").await;
    assert_eq!(steps(&all).len(), 3, "without a prefix everything is wanted: {all}");
}

#[tokio::test]
async fn a_watcher_waits_for_what_it_wants_and_passes_over_the_rest() {
    let world = World::new(state_of("led"));
    let changes = async {
        put(&world, "b", "y").await;
        world.ask("POST", "/_zazen/lease/l?holder=me", &[], "").await;
    };
    let (told, ()) =
        tokio::time::timeout(PATIENCE, async { tokio::join!(poll(&world, "kinds=leases&from=3/17"), changes) })
            .await
            .expect("it came");
    assert_eq!(steps(&told), [("3/19".into(), "granted".into())]);
    let late = poll(&world, "kinds=settings&from=3/17&wait_for=10ms").await;
    assert_eq!((&late["at"], steps(&late).len()), (&json!("3/19"), 0), "it need not look at these again");
}

#[tokio::test]
async fn what_is_remembered_no_longer_is_answered_with_the_state() {
    let world = World::new(state_of("led"));
    put(&world, "a", "x").await;
    let old = poll(&world, "from=2/5&kinds=keys,master").await;
    assert_eq!(
        (&old["compacted"], &old["at"], &old["state"]["keys"][0]["key"]),
        (&json!(true), &json!("3/18"), &json!("a"))
    );
    assert_eq!(old["state"]["master"], "nanananananananananana");
    for query in ["from=x", "kinds=cheese"] {
        assert_eq!(world.get(&format!("/_zazen/watch?{query}")).await.status, StatusCode::BAD_REQUEST, "{query}");
    }
    let unformed = World::new(leaderless(state_of("unformed")));
    assert_eq!(unformed.get("/_zazen/watch?wait_for=10ms").await.status, StatusCode::SERVICE_UNAVAILABLE);
}

/// Reads events until one is there that has this text.
async fn read_until(body: &mut Body, wanted: &str) -> String {
    let mut read = String::new();
    while !read.contains(wanted) {
        let frame = tokio::time::timeout(PATIENCE, body.frame()).await.expect("an event comes in time");
        let frame =
            frame.unwrap_or_else(|| panic!("the stream ended behind {read}")).expect("the stream does not break");
        read += std::str::from_utf8(frame.data_ref().expect("it is data")).expect("events are text");
    }
    read
}

async fn listen(world: &World, target: &str, last: Option<&str>) -> Body {
    let mut request = Request::get(target).header("accept", "text/event-stream");
    if let Some(last) = last {
        request = request.header("last-event-id", last);
    }
    let request = request.body(Body::empty()).expect("the request is well formed");
    let response = world.router().oneshot(request).await.expect("the router never fails");
    assert_eq!(response.status(), StatusCode::OK);
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    response.into_body()
}

#[tokio::test]
async fn a_listener_is_told_everything_in_order_and_goes_on_by_its_last_event() {
    let world = World::new(state_of("led"));
    let mut body = listen(&world, "/_zazen/watch?kinds=keys", None).await;
    let first = read_until(&mut body, "\n\n").await;
    assert_eq!(first, "id: 3/17\nevent: state\ndata: {\"at\":\"3/17\",\"state\":{\"keys\":[]}}\n\n");
    put(&world, "a", "x").await;
    put(&world, "a", "y").await;
    let told = read_until(&mut body, "id: 3/19").await;
    let kinds: Vec<&str> = told.lines().filter(|line| line.starts_with("id") || line.starts_with("event")).collect();
    assert_eq!(kinds, ["id: 3/18", "event: change", "id: 3/19", "event: change"]);
    drop(body);
    let mut body = listen(&world, "/_zazen/watch?kinds=keys", Some("3/18")).await;
    let again = read_until(&mut body, "\n\n").await;
    assert!(
        again.starts_with("id: 3/19\nevent: change\ndata: {\"at\":\"3/19\",\"changes\":[{\"kind\":\"put\","),
        "{again}"
    );
}

#[tokio::test]
async fn a_listener_that_falls_behind_what_is_remembered_is_cut_off() {
    let world = World::new(state_of("led"));
    let mut body = listen(&world, "/_zazen/watch?kinds=keys", None).await;
    read_until(&mut body, "event: state").await;
    // A state that was not made from the one before: what lies between is not known here.
    let mut far = state_of("led");
    far.version = zazen::cluster::Version::new(99).expect("99 is small");
    world.show(far);
    let told = read_until(&mut body, "cut_off").await;
    assert_eq!(told, "event: cut_off\ndata: {}\n\n");
    let end = tokio::time::timeout(PATIENCE, body.frame()).await.expect("the stream ends");
    assert!(end.is_none(), "nothing follows: {end:?}");
}

#[tokio::test]
async fn a_watcher_that_knows_a_state_which_never_was_is_told_what_there_is() {
    let world = World::new(state_of("led"));
    put(&world, "a", "x").await;
    for accept in ["application/json", "text/event-stream"] {
        let told = world.ask("GET", "/_zazen/watch?from=9/99", &[("accept", accept)], "").await;
        assert_eq!(told.status, StatusCode::BAD_REQUEST, "{told:?}");
        assert!(told.body.contains("[9/99] is ahead of the cluster, whose newest state is [3/18]"), "{told:?}");
    }
    let none = poll(&world, "from=3/18&wait_for=10ms").await;
    assert_eq!(none["at"], "3/18", "the newest one is no future: {none}");
    let newest =
        Answer::Newest { at: StateId { version: Version::new(99).expect("it is small"), ..state_of("led").id() } };
    let ahead = poll(&World::answering(newest), "from=3/99&wait_for=10ms").await;
    assert_eq!((&ahead["at"], steps(&ahead).len()), (&json!("3/99"), 0), "this node alone has not come so far");
}
