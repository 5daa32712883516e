//! The body of a search or of a count: what may be asked for in it.
//!
//! Names and kinds are looked at, as far as the queries inside queries; nothing is found in any case. Mirrors
//! `SearchSourceBuilder` and `RestActions.getQueryContent` (6.8).

use super::body::{Field, Part, Place, Placed};
use super::error::{Kind, RestError};
use super::parameters::flag;
use super::query;
use super::response_format::Format;
use super::route::Call;
use super::sent::{self, Body};
use super::time;
use serde_json::Value;

const NUMBERS: [&str; 4] = ["from", "size", "terminate_after", "min_score"];
const FLAGS: [&str; 6] = ["version", "seq_no_primary_term", "explain", "track_scores", "track_total_hits", "profile"];

/// What one value may stand under, besides numbers and flags; what objects may; and what lists may.
const LEAVES: [&str; 4] = ["timeout", "_source", "stored_fields", "sort"];
const OBJECTS: [&str; 14] = [
    "query",
    "post_filter",
    "_source",
    "script_fields",
    "indices_boost",
    "aggregations",
    "aggs",
    "highlight",
    "suggest",
    "sort",
    "rescore",
    "ext",
    "slice",
    "collapse",
];
const LISTS: [&str; 9] = [
    "stored_fields",
    "docvalue_fields",
    "fielddata_fields",
    "indices_boost",
    "sort",
    "rescore",
    "stats",
    "_source",
    "search_after",
];

/// What of a document may be wanted.
const SOURCE: [&str; 4] = ["includes", "include", "excludes", "exclude"];

/// What Elasticsearch warns of where something stands behind the body of a search.
const MORE: &str =
    "Found extra tokens after the _search request body, an error will be thrown in the next major version";

/// Refuses what a search cannot be asked for, and tells what Elasticsearch warns of.
pub(super) fn check_search(call: &Call) -> Result<Option<&'static str>, RestError> {
    let Some(body) = sent::body(call)? else {
        return Ok(None);
    };
    if body.is_blank() {
        return Err(RestError::parsing(Place { line: 1, column: 0 }, "Expected [START_OBJECT] but found [null]"));
    }
    if let Some(placed) = placed(&body)? {
        fields(&placed)?.iter().try_for_each(check_field)?;
    }
    Ok(body.has_more.then_some(MORE))
}

/// Refuses what a count cannot be asked for: all but a query.
pub(super) fn check_count(call: &Call) -> Result<(), RestError> {
    let Some(body) = sent::body(call)?.filter(|body| !body.is_blank()) else {
        return Ok(());
    };
    let Some(body) = placed(&body)? else {
        return Ok(());
    };
    fields(&body)?.iter().try_for_each(|field| match field.name.as_str() {
        "query" => query::check(&field.value).map_err(query::Fault::of_count),
        name => Err(RestError::parsing(field.place, format!("request does not support [{name}]"))),
    })
}

/// The body, in the notation that places are known in.
fn placed(Body { bytes, notation, .. }: &Body) -> Result<Option<Placed>, RestError> {
    sent::read(bytes, *notation)?;
    let text = std::str::from_utf8(bytes).ok().filter(|_| *notation == Format::Json);
    Ok(text.map(Placed::read))
}

fn fields(body: &Placed) -> Result<&[Field], RestError> {
    match &body.part {
        Part::Object(fields) => Ok(fields),
        Part::List(_) | Part::Leaf(_) => {
            let reason = format!("Expected [START_OBJECT] but found [{}]", body.token());
            Err(RestError::parsing(body.begin, reason))
        }
    }
}

fn check_field(Field { name, value, .. }: &Field) -> Result<(), RestError> {
    let name = name.as_str();
    match &value.part {
        Part::Object(_) if ["query", "post_filter"].contains(&name) => {
            query::check(value).map_err(query::Fault::of_search)
        }
        Part::Object(fields) if name == "_source" => fields.iter().try_for_each(check_source),
        Part::Object(fields) if ["aggs", "aggregations"].contains(&name) => {
            fields.iter().try_for_each(check_aggregation)
        }
        Part::Object(fields) if name == "rescore" && fields.is_empty() => {
            Err(RestError::parsing(value.end, "missing rescore type"))
        }
        Part::Object(_) if OBJECTS.contains(&name) => Ok(()),
        Part::List(_) if LISTS.contains(&name) => Ok(()),
        Part::Leaf(Value::Null) | Part::Object(_) | Part::List(_) => Err(unknown(name, value)),
        Part::Leaf(leaf) => check_leaf(name, value, leaf),
    }
}

fn check_leaf(name: &str, value: &Placed, leaf: &Value) -> Result<(), RestError> {
    let place = value.begin;
    match leaf {
        Value::String(text) if NUMBERS.contains(&name) && text.parse::<f64>().is_err() => {
            Err(RestError::no_number(text))
        }
        Value::Bool(_) if NUMBERS.contains(&name) => {
            Err(no_kind("numeric, can not use numeric value accessors", place))
        }
        Value::String(text) if FLAGS.contains(&name) => flag(text).map(|_| ()),
        Value::Number(_) if FLAGS.contains(&name) => Err(no_kind("of boolean type", place)),
        Value::String(text) if name == "timeout" => time::parse(name, text).map(|_| ()),
        other if name == "timeout" => time::parse(name, &other.to_string()).map(|_| ()),
        Value::Number(_) if name == "_source" => {
            let reason = "Expected one of [VALUE_BOOLEAN, START_OBJECT] but found [VALUE_NUMBER]";
            Err(RestError::parsing(place, reason))
        }
        _ if NUMBERS.contains(&name) || FLAGS.contains(&name) || LEAVES.contains(&name) => Ok(()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) | Value::Object(_) => {
            Err(unknown(name, value))
        }
    }
}

fn check_source(Field { name, value, .. }: &Field) -> Result<(), RestError> {
    if SOURCE.contains(&name.as_str()) { Ok(()) } else { Err(unknown(name, value)) }
}

fn check_aggregation(Field { name, value, .. }: &Field) -> Result<(), RestError> {
    match &value.part {
        Part::Object(told) if told.is_empty() => {
            Err(RestError::parsing(value.end, format!("Missing definition for aggregation [{name}]")))
        }
        Part::Object(_) | Part::List(_) | Part::Leaf(_) => Ok(()),
    }
}

fn unknown(name: &str, value: &Placed) -> RestError {
    RestError::parsing(value.begin, format!("Unknown key for a {} in [{name}].", value.token()))
}

fn no_kind(kind: &str, place: Place) -> RestError {
    RestError::new(Kind::JsonParse, format!("Current token not {kind} at [{place}]"))
}
