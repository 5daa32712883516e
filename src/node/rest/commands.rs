//! What shards can be told to do, as the body of a reroute says it, and why none of it can be done: there are no shards.
//!
//! Mirrors `AllocationCommands` and the commands themselves (6.8), whose messages name the place of a mistake.

use super::body::Json;
use super::error::{Kind, RestError};
use super::nodes::select;
use super::object::{
    self, Fields, Wanted, fields, position_after, position_behind, position_of_end, token, unknown_field, whole,
};
use super::parameters::flag;
use super::route::Call;
use crate::cluster::ClusterState;
use serde_json::{Map, Value};

/// What Elasticsearch calls the body.
const BODY: &str = "cluster_reroute";

/// The commands, with what they must be told and may be told.
const COMMANDS: [(&str, &[&str], &[&str]); 5] = [
    ("move", &["index", "shard", "from_node", "to_node"], &[]),
    ("cancel", &["index", "shard", "node"], &["allow_primary"]),
    ("allocate_replica", &["index", "shard", "node"], &[]),
    ("allocate_stale_primary", &["index", "shard", "node"], &["accept_data_loss"]),
    ("allocate_empty_primary", &["index", "shard", "node"], &["accept_data_loss"]),
];

/// What those commands that move and cancel were told before under other names.
const RENAMED: [(&str, &str); 3] =
    [("fromNode", "from_node"), ("toNode", "to_node"), ("allowPrimary", "allow_primary")];

/// A command, and what it is told.
pub(super) struct Command {
    name: &'static str,
    told: Map<String, Value>,
}

impl Command {
    /// The number of its shard; what stands behind the point is cut off.
    fn shard(&self) -> u64 {
        let shard = self.told.get("shard");
        let number = shard.and_then(|shard| shard.as_f64().or_else(|| shard.as_str()?.parse().ok()));
        number.unwrap_or_default().trunc() as u64
    }

    fn told(&self, name: &str) -> String {
        let value = self.told.get(name);
        value.map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_owned)).unwrap_or_default()
    }

    /// Why it cannot be carried out, where it is only to be explained: Elasticsearch explains what new copies lack, and of
    /// what is moved only that it is not there.
    pub(super) fn explained(&self, call: &Call, state: &ClusterState) -> Result<Json, RestError> {
        let refusal = no_shard(call, state, self);
        let (decider, why) = match self.name {
            "allocate_replica" => ("allocate_replica (allocation command)", refusal.reason().to_owned()),
            "allocate_empty_primary" => ("allocate_empty_primary (allocation command)", refusal.reason().to_owned()),
            "move" if refusal.reason().starts_with("[move_allocation]") => {
                ("move_allocation_command", format!("shard {} not found", self.shard()))
            }
            _ => return Err(refusal),
        };
        let decision =
            Json::object([("decider", decider.into()), ("decision", "NO".into()), ("explanation", why.into())]);
        let decisions = Json::List(vec![decision]);
        Ok(Json::object([("command", self.name.into()), ("parameters", self.parameters()), ("decisions", decisions)]))
    }

    /// What it is told, as Elasticsearch repeats it.
    fn parameters(&self) -> Json {
        let common = Json::object([("index", self.told("index").into()), ("shard", self.shard().into())]);
        match self.name {
            "move" => common.with("from_node", self.told("from_node")).with("to_node", self.told("to_node")),
            "allocate_empty_primary" => {
                common.with("node", self.told("node")).with("accept_data_loss", self.told("accept_data_loss") == "true")
            }
            _ => common.with("node", self.told("node")),
        }
    }
}

/// The commands of a body.
pub(super) fn commands(call: &Call) -> Result<Vec<Command>, RestError> {
    let Fields { text, fields } = fields(call, BODY)?;
    let mut commands = Vec::new();
    for (name, value) in object::in_order(&text, &fields) {
        match (name, value) {
            ("commands", Value::Array(list)) => {
                commands = list.iter().map(|value| command(&text, value)).collect::<Result<_, _>>()?;
            }
            ("commands", other) => return Err(no_list(&text, other)),
            ("dry_run", value) => object::check(&text, BODY, name, value, Wanted::Flag)?,
            _ => return Err(unknown_field(&text, BODY, name)),
        }
    }
    Ok(commands)
}

fn no_list(text: &str, found: &Value) -> RestError {
    let at = position_behind(text, "commands");
    if found.is_object() {
        let reason = "expected either field name [commands], or start array, got [START_OBJECT] instead";
        return malformed(&at, RestError::new(Kind::ElasticsearchParse, reason));
    }
    let kind = token(found);
    let reason = format!("[{at}] [{BODY}] commands doesn't support values of type: {kind}");
    RestError::new(Kind::XContentParse, reason)
}

/// What is wrong with a command, as what is wrong with the body.
fn malformed(at: &str, cause: RestError) -> RestError {
    let error = RestError::new(Kind::XContentParse, format!("[{at}] [{BODY}] failed to parse field [commands]"));
    error.caused_by(cause.clone()).rooted_in(cause)
}

fn command(text: &str, value: &Value) -> Result<Command, RestError> {
    let Value::Object(fields) = value else {
        let at = position_after(text, "commands", 1);
        let reason = format!("allocation command is malformed, got [{}] instead", token(value));
        return Err(malformed(&at, RestError::new(Kind::ElasticsearchParse, reason)));
    };
    // The body is read from the front, while the fields stand in the order of their names.
    let Some((name, told)) = fields.iter().min_by_key(|(name, _)| object::find(text, name)) else {
        let at = position_after(text, "commands", 3);
        let reason = format!("[{at}] unable to parse AllocationCommand with name [null]: parser not found");
        return Err(malformed(&at, RestError::new(Kind::NamedObjectNotFound, reason)));
    };
    let Some((name, needed, allowed)) = COMMANDS.iter().find(|(known, ..)| known == name) else {
        let at = position_behind(text, name);
        let reason = format!("[{at}] unable to parse AllocationCommand with name [{name}]: parser not found");
        return Err(malformed(&at, RestError::new(Kind::NamedObjectNotFound, reason)));
    };
    let Value::Object(told) = told else {
        return Err(no_object(text, name, told));
    };
    let told = &renamed(name, told);
    for (field, value) in object::in_order(text, told) {
        if !needed.contains(&field) && !allowed.contains(&field) {
            return Err(strange_field(text, name, field));
        }
        check_told(text, name, field, value)?;
    }
    match needed.iter().find(|field| is_missing(told, field)) {
        Some(missing) => Err(missing_field(text, name, missing)),
        None if fields.len() > 1 => Err(second(text, name, fields)),
        None => Ok(Command { name, told: told.clone() }),
    }
}

/// Another command in the same object.
fn second(text: &str, name: &str, fields: &Map<String, Value>) -> RestError {
    let other = fields.keys().filter(|other| *other != name).min_by_key(|other| object::find(text, other));
    let at = object::position(text, other.map_or(0, |other| object::find(text, other)));
    let reason = "allocation command is malformed, done parsing a command, but didn't get END_OBJECT, got [START_OBJECT] instead";
    malformed(&at, RestError::new(Kind::ElasticsearchParse, reason))
}

/// What a command is told, under the names of this release.
fn renamed(name: &str, told: &Map<String, Value>) -> Map<String, Value> {
    let new = |field: &str| {
        let known = RENAMED.iter().find(|(old, _)| *old == field && !allocates(name));
        known.map_or(field, |(_, new)| new).to_owned()
    };
    told.iter().map(|(field, value)| (new(field), value.clone())).collect()
}

/// What is told in the place of an object; what is one value, is passed over and leaves all of it missing.
fn no_object(text: &str, name: &str, told: &Value) -> RestError {
    let length = told.to_string().len();
    let at = position_after(text, name, if told.is_array() { 1 } else { length });
    if allocates(name) {
        let end = if told.is_array() { "END_ARRAY" } else { "END_OBJECT" };
        let reason = format!("[{at}] [{name}] Expected START_OBJECT but was: {end}");
        return malformed(&at, RestError::new(Kind::XContentParse, reason));
    }
    let reason = if told.is_array() {
        format!("[{name}] command does not support complex json tokens [END_ARRAY]")
    } else {
        format!("[{name}] command missing the index parameter")
    };
    malformed(&at, RestError::new(Kind::ElasticsearchParse, reason))
}

/// Refuses what a command cannot be told.
fn check_told(text: &str, name: &str, field: &str, value: &Value) -> Result<(), RestError> {
    let at = position_behind(text, field);
    let is_flag = matches!(field, "allow_primary" | "accept_data_loss");
    if allocates(name) {
        let wanted = match field {
            "shard" => Wanted::Number,
            _ if is_flag => Wanted::Flag,
            _ => Wanted::Text,
        };
        return object::check(text, name, field, value, wanted).map_err(|cause| malformed(&at, cause));
    }
    let no_kind =
        |token: &str, kind: &str| RestError::new(Kind::JsonParse, format!("Current token ({token}) not {kind}"));
    let cause = match value {
        Value::Null | Value::Array(_) | Value::Object(_) => {
            let reason = format!("[{name}] command does not support complex json tokens [{}]", token(value));
            return Err(malformed(&at, RestError::new(Kind::ElasticsearchParse, reason)));
        }
        Value::String(value) if is_flag => match flag(value) {
            Ok(_) => return Ok(()),
            Err(cause) => cause,
        },
        Value::String(_) | Value::Number(_) if field == "shard" => match whole(value) {
            Ok(()) => return Ok(()),
            Err(cause) => cause,
        },
        Value::Bool(value) if field == "shard" => {
            let token = if *value { "VALUE_TRUE" } else { "VALUE_FALSE" };
            no_kind(token, "numeric, can not use numeric value accessors")
        }
        Value::Number(number) if is_flag && number.is_f64() => no_kind("VALUE_NUMBER_FLOAT", "of boolean type"),
        Value::Number(_) if is_flag => no_kind("VALUE_NUMBER_INT", "of boolean type"),
        Value::Bool(_) | Value::Number(_) | Value::String(_) => return Ok(()),
    };
    Err(malformed(&at, cause).without_root())
}

fn is_missing(told: &Map<String, Value>, field: &str) -> bool {
    match told.get(field) {
        None | Some(Value::Null) => true,
        Some(Value::Number(number)) => field == "shard" && number.as_f64().is_none_or(|number| number <= -1.0),
        Some(Value::String(text)) => field == "shard" && text.parse::<f64>().is_ok_and(|number| number <= -1.0),
        Some(Value::Bool(_) | Value::Array(_) | Value::Object(_)) => false,
    }
}

fn allocates(name: &str) -> bool {
    name.starts_with("allocate_")
}

fn strange_field(text: &str, name: &str, field: &str) -> RestError {
    if allocates(name) {
        let cause = unknown_field(text, name, field);
        let at = cause.reason().split(['[', ']']).nth(1).unwrap_or_default().to_owned();
        return malformed(&at, cause);
    }
    let reason = format!("[{name}] command does not support field [{field}]");
    malformed(&position_behind(text, field), RestError::new(Kind::ElasticsearchParse, reason))
}

fn missing_field(text: &str, name: &str, field: &str) -> RestError {
    let at = position_of_end(text, name);
    if !allocates(name) {
        let reason = format!("[{name}] command missing the {field} parameter");
        return malformed(&at, RestError::new(Kind::ElasticsearchParse, reason));
    }
    let must = if field == "shard" { "must be defined and non-negative" } else { "must be defined" };
    let error = RestError::new(Kind::XContentParse, format!("[{at}] [{BODY}] failed to parse field [commands]"));
    error.caused_by(RestError::illegal(format!("Argument [{field}] {must}")))
}

/// Why a command cannot be carried out.
pub(super) fn no_shard(call: &Call, state: &ClusterState, command: &Command) -> RestError {
    let told = |name: &str| command.told(name);
    let missing = || RestError::new(Kind::IndexNotFound, "no such index");
    let index = told("index");
    if command.name == "allocate_stale_primary" {
        let error = missing().about("resource.type", "index_or_alias").about("resource.id", index.clone());
        return error.about("index_uuid", "_na_").about("index", index);
    }
    let (from, to) = if command.name == "move" { ("from_node", "to_node") } else { ("node", "node") };
    let resolved = |name: &str| {
        let wanted = told(name);
        let nodes = select(&state.nodes, &call.handle.local().id, Some(&[wanted.as_str()])).ok();
        match nodes.unwrap_or_default().as_slice() {
            [node] => Ok(node.clone()),
            [] => Err(RestError::illegal(format!("failed to resolve [{wanted}], no matching nodes"))),
            nodes => {
                let count = nodes.len();
                let reason =
                    format!("resolved [{wanted}] into [{count}] nodes, where expected to be resolved to a single node");
                Err(RestError::illegal(reason))
            }
        }
    };
    match resolved(from).and_then(|node| resolved(to).map(|_| node)) {
        Err(error) => error,
        Ok(node) if command.name == "move" => {
            let shard = command.shard();
            RestError::illegal(format!("[move_allocation] can't move {shard}, failed to find it on node {node}"))
        }
        Ok(_) => missing().about("index_uuid", "_na_").about("index", index),
    }
}
