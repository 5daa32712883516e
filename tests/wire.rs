//! The wire format: how each message is written, that it comes back, and what becomes of bytes that are no message.

#[path = "generate/messages.rs"]
mod messages;
#[allow(dead_code, reason = "each test uses its own part of it")]
#[path = "generate/mutations.rs"]
mod mutations;
#[path = "wire/samples.rs"]
mod samples;
#[path = "generate/states.rs"]
mod states;
#[path = "generate/tasks.rs"]
mod tasks;

use messages::random_message;
use mutations::{Named, adopted, changed, damaged, keep_named, pointers};
use samples::samples;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::{env, fs};
use zazen::cluster::{ClusterState, Diff, KeyValue, Node, Remembered, RequestId, RequestOutcome, Roles, Uuid};
use zazen::protocol::Rng;
use zazen::service::{Batch, Task, Txn};
use zazen::wire::{DEPTH_MAX, SIZE_MAX, WireError, decode, decode_as, encode, size};
use zazen::zen::Message;
use zazen::zen::message::{Body, Sender};

const GOLDEN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/wire/messages.json");

#[test]
fn every_message_is_written_as_it_always_was() {
    let lines: Vec<String> = samples().iter().map(text_of).collect();
    let written = format!("[\n{}\n]\n", lines.join(",\n"));
    if env::var_os("ZAZEN_BLESS").is_some() {
        fs::write(GOLDEN, &written).expect("the source tree can be written to");
    }
    let golden = fs::read_to_string(GOLDEN).unwrap_or_default();
    assert!(
        golden == written,
        "the wire format changed. Nodes of the last release must still understand it: if they do not, raise \
         `wire::VERSION`; then run ZAZEN_BLESS=1 cargo test --test wire and read the difference\n{written}"
    );
    let kinds: BTreeSet<&str> = samples().iter().map(Message::kind).collect();
    assert_eq!(kinds, BTreeSet::from(Message::KINDS), "there is a sample of every kind");
}

#[test]
fn every_sample_is_read_back_whatever_the_order_and_the_spacing_of_its_parts() {
    for sample in samples() {
        let value: Value = serde_json::from_slice(&encode(&sample)).expect("a message is JSON");
        let body = value.get("body").map(|body| format!("\"body\":{body:#},\n")).unwrap_or_default();
        let reordered = format!(" {{ {body} \"hop\": [{{}}], \"kind\":\"{}\" , \"v\" : 1 }}\n", sample.kind());
        assert_eq!(decode(reordered.as_bytes()), Ok(sample));
    }
}

#[test]
fn random_messages_come_back_and_are_counted_right() {
    for seed in 0..3_000 {
        let message = random_message(&mut Rng::new(seed));
        let bytes = encode(&message);
        assert_eq!(decode(&bytes).as_ref(), Ok(&message), "seed {seed}: {}", String::from_utf8_lossy(&bytes));
        assert_eq!(size(&message), bytes.len(), "seed {seed}");
        assert_eq!(decode_as(message.kind(), &bytes), Ok(message), "seed {seed}");
    }
}

#[test]
fn a_message_of_another_kind_than_announced_is_refused() {
    for sample in samples() {
        for wanted in Message::KINDS.into_iter().filter(|wanted| *wanted != sample.kind()) {
            let refusal = Err(WireError::WrongKind { wanted, found: sample.kind() });
            assert_eq!(decode_as(wanted, &encode(&sample)), refusal);
        }
    }
    let refusal = decode_as("pingg", &encode(&Message::Gone));
    assert_eq!(refusal, Err(WireError::UnknownKind { found: Some("pingg".into()) }));
}

#[test]
fn fields_that_are_not_known_are_passed_over_in_every_record() {
    for sample in samples() {
        let value: Value = serde_json::from_slice(&encode(&sample)).expect("a message is JSON");
        let mut places = Vec::new();
        pointers(&value, &mut String::new(), &mut places);
        for place in places {
            let mut value = value.clone();
            let Some(Value::Object(fields)) = value.pointer_mut(&place) else {
                continue;
            };
            if is_table_or_choice(&place) {
                continue;
            }
            fields.insert("unheard-of".into(), json!({"a": [1, {"b": null}]}));
            fields.insert("a".into(), json!("first"));
            let text = value.to_string();
            assert_eq!(decode(text.as_bytes()), Ok(sample.clone()), "at `{place}` in {text}");
        }
    }
}

/// Tables hold what they are given; a choice between variants has the chosen one as its only field.
fn is_table_or_choice(place: &str) -> bool {
    let tables = [
        "persistent",
        "transient",
        "keys",
        "leases",
        "clients",
        "processes",
        "done",
        "indices",
        "templates",
        "routing",
    ];
    let choices = ["/body/state", "/body/refused"];
    let (parent, name) = place.rsplit_once('/').unwrap_or_default();
    let is_choice = ["task", "query", "outcome", "condition"].contains(&name) || parent.ends_with("/conditions");
    let is_value = place.contains("/indices/") || place.contains("/routing/") || place.contains("/templates/");
    let is_answer = place == "/body";
    let is_named = tables.contains(&name) && !place.contains("/state/diff/") && parent != "/body";
    let is_table = ["aliases", "attributes"].contains(&name) || is_named;
    is_table || is_choice || choices.contains(&place) || is_value || is_answer
}

#[test]
fn any_bytes_give_a_message_or_an_error_that_says_something() {
    for seed in 0..20_000 {
        let rng = &mut Rng::new(seed);
        let bytes: Vec<u8> = (0..rng.below(64)).map(|_| rng.below(256) as u8).collect();
        assert_judged(&bytes);
    }
}

#[test]
fn every_truncated_message_is_refused() {
    for sample in samples() {
        let bytes = encode(&sample);
        for end in 0..bytes.len() {
            let refusal = decode(&bytes[..end]);
            assert!(matches!(refusal, Err(WireError::NotJson { .. })), "{refusal:?} of {end} bytes");
            assert_judged(&bytes[..end]);
        }
    }
}

#[test]
fn damaged_messages_give_a_message_or_an_error_that_says_something() {
    let samples: Vec<Vec<u8>> = samples().iter().map(encode).collect();
    let mut read = 0;
    for seed in 0..60_000 {
        let rng = &mut Rng::new(seed);
        let bytes = damaged(rng.pick(&samples).expect("there are samples"), rng);
        read += u32::from(assert_judged(&bytes));
    }
    assert!((1_000..50_000).contains(&read), "{read} of the damaged messages were read: change how they are damaged");
}

#[test]
fn changed_messages_give_a_message_or_an_error_that_says_something() {
    let samples: Vec<Value> =
        samples().iter().map(|sample| serde_json::from_slice(&encode(sample)).expect("a message is JSON")).collect();
    let mut foreign = Named::new();
    samples.iter().for_each(|sample| keep_named(sample, &mut foreign, &mut Rng::new(0)));
    let mut read = 0;
    for seed in 0..20_000 {
        let rng = &mut Rng::new(seed);
        let sample = rng.pick(&samples).expect("there are samples");
        let value = if rng.percent(80) { changed(sample, &foreign, rng) } else { adopted(sample, &foreign, rng) };
        read += u32::from(assert_judged(value.to_string().as_bytes()));
    }
    assert!((1_000..19_000).contains(&read), "{read} of the changed messages were read: change how they are changed");
}

/// Reads bytes and demands that what was read can be written and read again, or that the refusal is fit for a log.
fn assert_judged(bytes: &[u8]) -> bool {
    let text = String::from_utf8_lossy(bytes);
    match decode(bytes) {
        Ok(message) => {
            assert_eq!(decode(&encode(&message)), Ok(message), "{text}");
            true
        }
        Err(error) => {
            let said = error.to_string();
            assert!(!said.is_empty() && said.chars().count() < 1_200, "{said}\n{text}");
            assert!(!said.contains('\n'), "{said}\n{text}");
            false
        }
    }
}

#[test]
fn a_refusal_says_what_was_read_and_what_is_allowed() {
    let known = Message::KINDS.join(", ");
    let uuid = "AAAAAAAAAAAAAAAAAAAAAA";
    let state = format!(r#"{{"term":1,"version":2,"uuid":"{uuid}"}}"#);
    let rows: Vec<(String, String)> = vec![
        (String::new(), "not JSON: EOF while parsing a value at byte 0".into()),
        (r#"{"v":1"#.into(), "not JSON: EOF while parsing an object at byte 6".into()),
        (r#"{"v":1,}"#.into(), "not JSON: trailing comma at byte 7, where it says `}`".into()),
        ("{} x".into(), "not JSON: trailing characters at byte 3, where it says `x`".into()),
        (
            r#"[1,"gone"]"#.into(),
            "`[1,\"gone\"]` is no message: it is no object; a message is an object as \
             `{\"v\":1,\"kind\":…,\"body\":…}`"
                .into(),
        ),
        (
            r#"{"v":1,"v":1}"#.into(),
            "`{\"v\":1,\"v\":1}` is no message: duplicate field `v`; a message is an object as \
             `{\"v\":1,\"kind\":…,\"body\":…}`"
                .into(),
        ),
        ("{}".into(), "the wire version `v` is missing, this node speaks 1".into()),
        (r#"{"v":2,"kind":7}"#.into(), "wire version `2` is not known, this node speaks 1".into()),
        (r#"{"v":"1"}"#.into(), "wire version `\"1\"` is not known, this node speaks 1".into()),
        (r#"{"v":1}"#.into(), format!("the message's `kind` is missing, known are {known}")),
        (r#"{"v":1,"kind":"pingg"}"#.into(), format!("message kind `pingg` is not known, known are {known}")),
        (r#"{"v":1,"kind":[]}"#.into(), format!("message kind `[]` is not known, known are {known}")),
        (r#"{"v":1,"kind":"report"}"#.into(), "this `report` cannot be read: at `body`: missing field `body`".into()),
        (
            r#"{"v":1,"kind":"master_pong","body":{"leads":true,"is_member":1,"term":1}}"#.into(),
            "this `master_pong` cannot be read: at `body.is_member`: invalid type: integer `1`, expected a boolean, \
             where it says `1,\"term\":1}`"
                .into(),
        ),
        (
            format!(
                r#"{{"v":1,"kind":"report","body":{{"ephemeral_id":"e","term":9007199254740993,"accepted":{state}}}}}"#
            ),
            "this `report` cannot be read: at `body.term`: term 9007199254740993 is above 2^53, where it says \
             `9007199254740993,\"accepted\":{\"term\":1,\"version\":2,\"uuid\":\"AA…`"
                .into(),
        ),
        (
            format!(r#"{{"v":1,"kind":"report","body":{{"ephemeral_id":"e","term":9,"accepted":{state}}}}}"#),
            "this `report` cannot be read: at `body`: missing field `committed`, where it says \
             `{\"ephemeral_id\":\"e\",\"term\":9,\"accepted\":{\"term\":1,\"version\":…`"
                .into(),
        ),
    ];
    for (text, refusal) in rows {
        assert_eq!(decode(text.as_bytes()).map_err(|error| error.to_string()), Err(refusal), "for {text}");
    }
}

#[test]
fn what_is_too_large_or_too_deep_is_refused() {
    let huge = vec![b' '; SIZE_MAX + 1];
    assert_eq!(decode(&huge), Err(WireError::TooLarge { bytes: SIZE_MAX + 1 }));
    let full = |levels: usize| {
        let state = samples::state_with_index(Value::Null);
        let text = text_of(&Message::Fetched { from: samples::sender(), state: Some(state.into()) });
        let deep = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        decode(text.replace("{\"logs\":null}", &format!("{{\"logs\":{deep}}}")).as_bytes())
    };
    // The body, the state, its metadata and the indices are four levels themselves.
    assert!(full(DEPTH_MAX - 4).is_ok());
    let refusal = full(DEPTH_MAX - 3).map_err(|error| error.to_string());
    let place = format!("body.state.metadata.indices.logs{}…", "[0]".repeat(8));
    assert_eq!(refusal, Err(format!("this `fetched` nests too deep at `{place}`, at most 127 levels are read")));
    // What nobody looks at may nest as it likes: it is passed over without climbing down.
    let deep = "[".repeat(1_000_000) + &"]".repeat(1_000_000);
    let text = format!(r#"{{"v":1,"kind":"gone","extra":{deep}}}"#);
    assert_eq!(decode(text.as_bytes()), Ok(Message::Gone));
    for text in ["[".repeat(1_000_000), "{\"a\":".repeat(1_000_000)] {
        assert_judged(text.as_bytes());
        assert_judged(format!(r#"{{"v":1,"kind":"ping","body":{text}"#).as_bytes());
    }
}

#[test]
fn a_deletion_must_be_said() {
    let from =
        r#""from":{"cluster_name":"c","node":{"id":"a","ephemeral_id":"a1","name":"","address":"h:1","version":"6"}}"#;
    let submit = |task: &str| {
        let text = format!(
            r#"{{"v":1,"kind":"submit","body":{{{from},"task":{task},"timeout_us":0,"master_timeout_us":0}}}}"#
        );
        decode(text.as_bytes()).map(|message| message.to_string()).map_err(|error| error.to_string())
    };
    assert_eq!(submit(r#"{"txn":{"deletes":["a"]}}"#), Ok("submit(delete-key [a])".into()));
    let put = r#"{"txn":{"puts":[{"key":"a"}]}}"#;
    assert!(submit(put).is_err_and(|error| error.contains("missing field `value`")));
    assert!(submit(r#"{"put_index":{"name":"a"}}"#).is_err_and(|error| error.contains("missing field `metadata`")));
}

fn text_of(message: &Message) -> String {
    String::from_utf8(encode(message)).expect("JSON is UTF-8")
}

/// How many bytes a master sends to each follower for one request that changes one key, in a state of so many.
fn bytes_of_a_change(nodes: u32, keys: u32) -> usize {
    let mut state = ClusterState::initial("large".into());
    let node = |number: u32| Node {
        id: format!("node-{number:04}").into(),
        ephemeral_id: format!("start-{number:04}").into(),
        name: format!("name-{number:04}").into(),
        address: format!("10.0.0.1:{}", 9300 + number).into(),
        roles: Roles::ALL,
        attributes: Arc::default(),
        version: "6.8.23".into(),
    };
    state.nodes = (0..nodes).map(|number| Arc::new(node(number))).collect();
    for number in 0..keys {
        state.metadata.keys.insert(format!("key-{number:05}").into(), KeyValue::new("before", state.rank()));
        let request = RequestId { client: Uuid::from_u128(u128::from(number % 200)), sequence: u64::from(number) + 1 };
        let remembered = Remembered::new(state.id(), RequestOutcome::Applied);
        state.metadata.requests.remember(request, remembered);
    }
    let request = RequestId { client: Uuid::from_u128(7), sequence: 99_999 };
    let task = Box::new(Task::Txn(Txn::put("key-00000", "after")));
    let mut batch = Batch::new(ClusterState { version: state.version.next(), ..state.clone() }, |_| Ok(()));
    batch
        .carry_out(&Task::Once { request, retry: false, since: None, digest: None, task })
        .expect("nothing speaks against it");
    let from = Sender { cluster_name: "large".into(), cluster_uuid: None, node: Arc::new(node(0)) };
    let body = Body::Diff(Arc::new(Diff::between(&state, &batch.state)));
    size(&Message::Publish { from: Arc::new(from), term: batch.state.term, committed: state.id(), body })
}

#[test]
fn the_publish_of_one_changed_key_does_not_grow_with_the_state() {
    let small = bytes_of_a_change(3, 1);
    let large = bytes_of_a_change(1_000, 10_000);
    assert!(small < 2_000, "{small} bytes for one key");
    assert!(large <= small, "{large} bytes in a large state, {small} in a small one");
}
