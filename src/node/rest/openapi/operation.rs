//! One path with one method: its parameters, its body, and its answers.

use super::captures;
use super::shape::{named, schema};
use crate::rest::body::Json;
use crate::rest::cat::DISPLAY;
use crate::rest::parameters::{Parameter, Values};
use crate::rest::response_format::COMMON;
use crate::rest::rights::Needs;
use crate::rest::route::{Answers, Route, Takes};

/// The notations of trees.
const NOTATIONS: [&str; 4] = ["application/json", "application/yaml", "application/cbor", "application/smile"];

/// Headers that are understood by whatever understands a parameter.
const HEADERS: [(&str, &str, &str); 5] = [
    ("retry", "Idempotency-Key", "Names the request, so that it is carried out once: `AAAAcAAAAAAAAAAAAAAABw/7`."),
    ("if_version", "If-Match", "The `ETag` of the key's last change, or `*` for any."),
    ("if_version", "If-None-Match", "`*`, if the key must not be there."),
    ("wait_for", "Last-Event-ID", "The state that the watcher knows, unless `from` is given."),
    ("key", "If-None-Match", "The `ETag` of what is known; the answer is 304 if that is what there is."),
];

/// Left out where parameters are listed, as it takes away what answers have otherwise.
const UNLISTED: &str = "filter_path";

/// The operation as OpenAPI has it.
pub(super) fn operation(route: &'static Route, path: &'static str, method: &str, id: &str) -> Result<Json, String> {
    let mut lines = route.doc.lines();
    let operation = Json::object([
        ("operationId", id.into()),
        ("tags", [tag(path)].into_iter().collect()),
        ("summary", lines.next().unwrap_or_default().into()),
        ("description", route.doc.replace('\n', " ").into()),
        ("x-role", route.needs.role.name().into()),
        ("x-touches", route.needs.touches.name().into()),
        ("parameters", parameters(route, path, method)),
    ]);
    let body = body(route, method)?;
    Ok(operation.with_some("requestBody", body).with("responses", responses(route, method)?))
}

/// What browsers ask for unasked, which is answered without a route.
pub(super) fn icon() -> Json {
    let content = Json::object([("image/x-icon", Json::object([]))]);
    let response = Json::object([("description", "An icon.".into()), ("content", content)]);
    Json::object([
        ("operationId", "favicon".into()),
        ("tags", ["docs"].into_iter().collect()),
        ("summary", "The icon of pages.".into()),
        ("description", "The icon of pages.".into()),
        ("x-role", Needs::LOOK.role.name().into()),
        ("x-touches", Needs::LOOK.touches.name().into()),
        ("parameters", Json::List(Vec::new())),
        ("responses", Json::object([("200", response)])),
    ])
}

/// What paths are grouped by.
fn tag(path: &str) -> &str {
    match path.split('/').nth(1).unwrap_or_default() {
        "" => "cluster",
        first if first.starts_with('_') => first.trim_start_matches('_'),
        _ => "indices",
    }
}

fn parameters(route: &'static Route, path: &'static str, method: &str) -> Json {
    let captured: Vec<&str> = captures(path).collect();
    let own = || route.parameters.iter().flat_map(|group| group.iter());
    let told = |name: &str| own().find(|parameter| parameter.name == name).copied();
    let in_path = captured.iter().map(|name| {
        let doc = "Any text.";
        let parameter = told(name).unwrap_or(Parameter { name: "", values: Values::Text, default: "none", doc });
        path_parameter(name, &parameter)
    });
    let display: &[Parameter] = if matches!(route.answers, Answers::Table(..)) { DISPLAY } else { &[] };
    // What is refused is refused whatever it is given.
    let common = COMMON.iter().filter(|parameter| parameter.name != UNLISTED);
    let is_refused = matches!(route.answers, Answers::Refused);
    let queried = own().filter(|parameter| !captured.contains(&parameter.name) && !is_captured(route, parameter.name));
    let queried = queried.filter(|_| !is_refused).map(|parameter| self::parameter(parameter, "query"));
    let shared = display.iter().chain(common).filter(|_| !is_refused);
    let shared = shared.map(|parameter| reference("parameters", parameter.name));
    let headers = HEADERS.iter().filter(|(known, name, _)| {
        told(known).is_some() && (*known != "key" || (method == "GET" && *name == "If-None-Match"))
    });
    let headers = headers.map(|(_, name, doc)| header(name, doc));
    in_path.chain(queried).chain(shared).chain(headers).collect()
}

/// Whether some path of a route captures it; the others are asked for without it.
fn is_captured(route: &'static Route, name: &str) -> bool {
    route.paths.iter().any(|path| captures(path).any(|captured| captured == name))
}

fn path_parameter(name: &str, told: &Parameter) -> Json {
    let schema = Json::object([("type", "string".into()), ("minLength", 1_u64.into())]);
    Json::object([
        ("name", name.into()),
        ("in", "path".into()),
        ("required", true.into()),
        ("description", told.doc.into()),
        ("schema", schema),
    ])
}

fn header(name: &str, doc: &str) -> Json {
    Json::object([
        ("name", name.into()),
        ("in", "header".into()),
        ("description", doc.into()),
        ("schema", Json::object([("type", "string".into())])),
    ])
}

/// A parameter, and what is taken for its value.
pub(super) fn parameter(parameter: &Parameter, place: &str) -> Json {
    let text = Json::object([("type", "string".into())]);
    let schema = match parameter.values {
        Values::Flag => Json::object([("type", "boolean".into())]),
        Values::Number => Json::object([("type", "integer".into()), ("minimum", 0_u64.into())]),
        Values::Time => text.with("pattern", "^[0-9]{1,6}(nanos|micros|ms|s|m|h|d)$"),
        Values::Text if parameter.name == "format" => text.with("enum", formats()),
        Values::Text | Values::List => text,
    };
    Json::object([
        ("name", parameter.name.into()),
        ("in", place.into()),
        ("description", format!("{} Default: {}.", parameter.doc, parameter.default).into()),
        ("schema", schema),
    ])
}

fn formats() -> Json {
    ["json", "yaml", "cbor", "smile"].into_iter().collect()
}

fn body(route: &Route, method: &str) -> Result<Option<Json>, String> {
    let tree = match route.takes {
        Takes::Body(tree) if method != "GET" && method != "DELETE" => schema(tree)?,
        Takes::Bytes | Takes::Value if method == "PUT" && !matches!(route.answers, Answers::Refused) => {
            let bytes = Json::object([("schema", Json::object([]))]);
            return Ok(Some(Json::object([("content", Json::object([("application/octet-stream", bytes)]))])));
        }
        Takes::Body(_) | Takes::Tree | Takes::Bytes | Takes::Value => return Ok(None),
    };
    let content = Json::object([("application/json", Json::object([("schema", tree)]))]);
    Ok(Some(Json::object([("content", content)])))
}

fn responses(route: &Route, method: &str) -> Result<Json, String> {
    let is_headed = method == "HEAD";
    let mut responses = Vec::new();
    match route.answers {
        Answers::Reply(_, said) => {
            for (status, response) in told(said, is_headed)? {
                responses.push((status, response));
            }
        }
        Answers::Table(columns, _) => {
            let names = columns.iter().map(|column| (column.name, schema("string|null")));
            let names: Result<Vec<_>, String> = names.map(|(name, schema)| Ok((name, schema?))).collect();
            let row = Json::object([("type", "object".into()), ("properties", Json::map(names?))]);
            // A column that is asked for by an alias is called by it.
            let row = row.with("additionalProperties", schema("string|null")?);
            let rows = Json::object([("type", "array".into()), ("items", row)]);
            let content = Json::map(trees(&rows).into_iter().chain([media("text/plain", "string")]));
            let response = Json::object([("description", "The rows, as text unless `format` is given.".into())]);
            responses.push(("200".to_owned(), response.with("content", content)));
        }
        Answers::Refused => responses.push(("400".to_owned(), error(is_headed))),
    }
    responses.push(("default".to_owned(), error(is_headed)));
    Ok(Json::map(responses))
}

/// The answers that stand beside a route, by their statuses.
fn told(said: &str, is_headed: bool) -> Result<Vec<(String, Json)>, String> {
    let (statuses, kinds) = match said.split_once(' ') {
        Some((statuses, kinds)) if statuses.starts_with(|first: char| first.is_ascii_digit()) => (statuses, kinds),
        Some(_) | None => ("200", said),
    };
    let mut content = Vec::new();
    for kind in kinds.split(" or ") {
        match kind.trim() {
            "text" => content.push(media("text/plain", "string")),
            "html" => content.push(media("text/html", "string")),
            "events" => content.push(media("text/event-stream", "string")),
            "metrics" => content.push(media("text/plain", "string")),
            "bytes" => content.push(("application/octet-stream".to_owned(), Json::object([]))),
            tree => content.extend(trees(&schema(tree)?)),
        }
    }
    let response = |status: &str| {
        let described = Json::object([("description", described(status).into())]);
        let has_content = !is_headed && status != "304";
        described.with_some("content", has_content.then(|| Json::map(content.clone())))
    };
    Ok(statuses.split(',').map(|status| (status.to_owned(), response(status))).collect())
}

fn described(status: &str) -> &'static str {
    match status {
        "200" => "As asked for.",
        "304" => "It is what is known already.",
        "408" => "What was waited for did not come in time; the answer tells how it is.",
        "503" => "There is no master, or the answer is no; it tells what the node knows.",
        _ => "What there is.",
    }
}

/// A tree in every notation; those that are no text are said to be the same by standing beside it.
fn trees(schema: &Json) -> Vec<(String, Json)> {
    let described = |kind: &str| Json::object([]).with_some("schema", (kind == NOTATIONS[0]).then(|| schema.clone()));
    NOTATIONS.iter().map(|kind| ((*kind).to_owned(), described(kind))).collect()
}

fn reference(kind: &str, name: &str) -> Json {
    Json::object([("$ref", format!("#/components/{kind}/{name}").into())])
}

fn media(kind: &str, of: &'static str) -> (String, Json) {
    (kind.to_owned(), Json::object([("schema", Json::object([("type", of.into())]))]))
}

fn error(is_headed: bool) -> Json {
    reference("responses", if is_headed { "ErrorWithoutBody" } else { "Error" })
}

/// The answers that many operations have.
pub(super) fn shared_responses() -> Json {
    let described = || Json::object([("description", "What is wrong, and what is allowed.".into())]);
    let error = described().with("content", Json::map(trees(&named("Error"))));
    Json::object([("Error", error), ("ErrorWithoutBody", described())])
}
