//! The description of the API, held against what nodes really answer: statuses, media types, members that must be there,
//! and members that nobody told of.

use super::world::{Told, World, state_of};
use serde_json::Value;
use std::collections::BTreeSet;

/// The document of a node.
pub(crate) struct Api(Value);

impl Api {
    pub(crate) async fn of(world: &World) -> Api {
        let told = world.get("/_zazen/openapi.json").await;
        assert_eq!(told.header("content-type"), Some("application/json; charset=UTF-8"), "{}", told.body);
        Api(serde_json::from_str(&told.body).expect("the document is JSON"))
    }

    /// What of an answer is otherwise than described; answers of paths that there are not are not looked at.
    pub(crate) fn faults(&self, method: &str, target: &str, told: &Told) -> Vec<String> {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let Some(operation) = self.operation(method, path) else { return Vec::new() };
        let status = told.status.as_u16().to_string();
        let responses = &operation["responses"];
        let response = self.resolved(responses.get(&status).unwrap_or(&responses["default"]));
        let kind = told.header("content-type").unwrap_or_default().split(';').next().unwrap_or_default();
        if told.body.is_empty() {
            return Vec::new();
        }
        let Some(media) = response["content"].get(kind) else {
            return vec![format!("{method} {target}: {status} {kind} is not described")];
        };
        // A part of an answer has not all that must be there, and one for people has more.
        if query.contains("filter_path") || kind != "application/json" {
            return Vec::new();
        }
        let mut check = Check { api: &self.0, is_human: query.contains("human"), faults: Vec::new() };
        let body: Value = serde_json::from_str(&told.body).expect("the answer is JSON");
        check.value(&media["schema"], &body, "");
        check.faults.into_iter().map(|fault| format!("{method} {target}: {status}: {fault}")).collect()
    }

    fn resolved<'a>(&'a self, part: &'a Value) -> &'a Value {
        let pointer = part["$ref"].as_str().and_then(|name| name.strip_prefix('#'));
        pointer.map_or(part, |pointer| self.0.pointer(pointer).unwrap_or_else(|| panic!("{pointer} is nowhere")))
    }

    /// The operation that a path leads to: that with the earliest literal pieces.
    fn operation(&self, method: &str, path: &str) -> Option<&Value> {
        let pieces: Vec<&str> = path.trim_matches('/').split('/').collect();
        let paths = self.0["paths"].as_object().expect("there are paths");
        let fits = |template: &str| {
            let wanted: Vec<&str> = template.trim_matches('/').split('/').collect();
            let is_free = |piece: &&str| piece.starts_with('{');
            let is_fitting = wanted.len() == pieces.len()
                && wanted.iter().zip(&pieces).all(|(wanted, piece)| is_free(wanted) || wanted == piece);
            is_fitting.then(|| wanted.iter().map(is_free).collect::<Vec<bool>>())
        };
        let best =
            paths.iter().filter_map(|(template, item)| Some((fits(template)?, item))).min_by(|a, b| a.0.cmp(&b.0));
        best?.1.get(method.to_ascii_lowercase())
    }
}

struct Check<'a> {
    api: &'a Value,
    is_human: bool,
    faults: Vec<String>,
}

impl<'a> Check<'a> {
    fn value(&mut self, schema: &'a Value, value: &Value, at: &str) {
        if let Some(name) = schema["$ref"].as_str() {
            let pointer = name.strip_prefix('#').expect("references stay in the document");
            let schema = self.api.pointer(pointer).unwrap_or_else(|| panic!("{name} is nowhere"));
            return self.value(schema, value, at);
        }
        if let Some(choices) = schema["anyOf"].as_array() {
            return self.choice(choices, value, at);
        }
        let is_fitting = match schema["type"].as_str() {
            Some("string") => value.is_string(),
            Some("integer") => value.is_u64() || value.is_i64(),
            Some("number") => value.is_number(),
            Some("boolean") => value.is_boolean(),
            Some("null") => value.is_null(),
            Some("array") => value.is_array(),
            Some("object") => value.is_object(),
            Some(other) => panic!("{other} is no type"),
            None => true,
        };
        if !is_fitting {
            return self.faults.push(format!("{at} is {value}, described as {}", schema["type"]));
        }
        for (number, item) in value.as_array().into_iter().flatten().enumerate() {
            self.value(&schema["items"], item, &format!("{at}[{number}]"));
        }
        if let (Some(fields), Some("object")) = (value.as_object(), schema["type"].as_str()) {
            self.object(schema, fields, at);
        }
    }

    fn choice(&mut self, choices: &'a [Value], value: &Value, at: &str) {
        let attempts = choices.iter().map(|choice| {
            let mut attempt = Check { api: self.api, is_human: self.is_human, faults: Vec::new() };
            attempt.value(choice, value, at);
            attempt.faults
        });
        let best = attempts.min_by_key(Vec::len).unwrap_or_default();
        self.faults.extend(best);
    }

    fn object(&mut self, schema: &'a Value, fields: &serde_json::Map<String, Value>, at: &str) {
        for name in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
            if !fields.contains_key(name) {
                self.faults.push(format!("{at}.{name} is missing"));
            }
        }
        let (known, others) = (schema.get("properties"), schema.get("additionalProperties"));
        for (name, value) in fields {
            match (known.and_then(|known| known.get(name)), others) {
                (Some(schema), _) | (None, Some(schema)) => self.value(schema, value, &format!("{at}.{name}")),
                (None, None) if known.is_some() && !self.is_human => {
                    self.faults.push(format!("{at}.{name} is not described"));
                }
                (None, None) => {}
            }
        }
    }
}

#[tokio::test]
async fn keys_leases_watches_and_members_answer_as_described() {
    let world = World::new(state_of("led"));
    let api = Api::of(&world).await;
    let json = [("content-type", "application/json")];
    let binary = r#"{"puts":[{"key":"c","value":{"base64":"/w=="}}],"deletes":["nope"]}"#;
    let requests = [
        ("GET", "/_zazen/kv/a", ""),
        ("PUT", "/_zazen/kv/a", "x"),
        ("POST", "/_zazen/txn", binary),
        ("POST", "/_zazen/txn", "{}"),
        ("GET", "/_zazen/kv/a", ""),
        ("GET", "/_zazen/kv/c?format=json", ""),
        ("GET", "/_zazen/kv?values", ""),
        ("DELETE", "/_zazen/kv/a", ""),
        ("POST", "/_zazen/lease/l?ttl=1h", ""),
        ("POST", "/_zazen/lease/l?ttl=1h", ""),
        ("PUT", "/_zazen/kv/b?lease=l&token=1", "y"),
        ("GET", "/_zazen/kv/b?format=json", ""),
        ("GET", "/_zazen/lease/l", ""),
        ("PUT", "/_zazen/lease/l?token=1", ""),
        ("GET", "/_zazen/lease", ""),
        ("PUT", "/_cluster/settings", r#"{"transient":{"cluster.metadata.a":1}}"#),
        ("GET", "/_cluster/settings?include_defaults", ""),
        ("GET", "/_zazen/watch", ""),
        ("GET", "/_zazen/watch?from=3/17&wait_for=1ms", ""),
        ("GET", "/_zazen/watch?from=9/17&wait_for=1ms", ""),
        ("DELETE", "/_zazen/lease/l?token=1", ""),
        ("GET", "/_zazen/members", ""),
        ("DELETE", "/_zazen/members/nope", ""),
        ("POST", "/_zazen/handover", ""),
        ("GET", "/_zazen/state", ""),
        ("GET", "/_zazen/history", ""),
        ("GET", "/_zazen/faults", ""),
        ("GET", "/_zazen/openapi.json", ""),
        ("GET", "/_docs", ""),
        ("GET", "/_cluster/health/nope?level=shards&timeout=1ms", ""),
        ("GET", "/_cat/nodes?format=json", ""),
        ("GET", "/_nodes/hot_threads?interval=1ms", ""),
    ];
    let mut faults = Vec::new();
    let mut statuses = BTreeSet::new();
    for (method, target, body) in requests {
        let told = world.ask(method, target, &json, body).await;
        assert!(told.status.as_u16() < 500, "{method} {target}: {told:?}");
        statuses.insert(told.status.as_u16());
        faults.extend(api.faults(method, target, &told));
    }
    assert!(faults.is_empty(), "see src/node/rest/openapi/shapes.txt and the routes:\n{}", faults.join("\n"));
    assert!([200, 400, 404, 408, 409].iter().all(|status| statuses.contains(status)), "{statuses:?}");
}

#[tokio::test]
async fn what_is_otherwise_than_described_is_found() {
    let world = World::new(state_of("led"));
    let api = Api::of(&world).await;
    let mut told = world.get("/_zazen/kv").await;
    told.body = r#"{"at":7,"keys":[{"key":"a"}],"mor":true}"#.into();
    let faults = api.faults("GET", "/_zazen/kv", &told);
    let expected = [
        "more is missing",
        "at is 7, described as \"string\"",
        "keys[0].bytes is missing",
        "keys[0].revision is missing",
        "keys[0].term is missing",
        "keys[0].version is missing",
        "mor is not described",
    ];
    let found: BTreeSet<&str> =
        faults.iter().filter_map(|fault| fault.strip_prefix("GET /_zazen/kv: 200: .")).collect();
    assert_eq!(found, expected.into());
}

#[tokio::test]
async fn the_page_loads_nothing_from_elsewhere() {
    let told = World::new(state_of("led")).get("/_docs").await;
    assert_eq!(told.header("content-type"), Some("text/html; charset=UTF-8"));
    assert!(told.body.contains("fetch('/_zazen/openapi.json')"), "{}", told.body);
    for elsewhere in ["http://", "https://", "src=", "@import", "url("] {
        assert!(!told.body.contains(elsewhere), "{elsewhere}");
    }
}
