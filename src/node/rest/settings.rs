//! `/_cluster/settings`: the settings of the whole cluster, to be read and to be changed.
//!
//! A change is checked as a whole before any of it is asked for. What only the master can tell, it tells. Mirrors
//! `RestClusterGetSettingsAction`, `RestClusterUpdateSettingsAction` and `SettingsUpdater` (6.8).

use super::body::{Json, with_numbers_as_texts};
use super::error::{Kind, RestError};
use super::parameters::{Parameter, Values};
use super::reply::Reply;
use super::response_format::{Format, content_type};
use super::route::{Call, OPAQUE_ID};
use super::sent::{self, Body};
use super::snapshot;
use super::submit::submit;
use crate::cluster::{Metadata, Settings};
use crate::service::{MINIMUM_MASTER_NODES, SettingsPatch, Task, matches};
use crate::settings::{Value, demand_seeds, double_text, hint, in_full, objection, together, warnings};
use bytes::Bytes;
use serde_json::Value as Tree;
use std::collections::{BTreeMap, BTreeSet};

/// As much as is remembered of what an asker calls himself.
const OPAQUE_MAX: usize = 128;

/// The two sets, in the order in which they are checked.
const SETS: [&str; 2] = ["transient", "persistent"];

/// How settings are written.
pub(super) const FLAT: Parameter = Parameter {
    name: "flat_settings",
    values: Values::Flag,
    default: "false",
    doc: "Writes settings with dots in their keys instead of nesting them.",
};

/// What Elasticsearch lets bodies be given as, though not here.
pub(super) const SOURCE: &[Parameter] = &[
    Parameter { name: "source", values: Values::Text, default: "none", doc: "Understood, and not taken for a body." },
    Parameter {
        name: "source_content_type",
        values: Values::Text,
        default: "none",
        doc: "Understood, and not taken for a body.",
    },
];

/// What is shown besides what was set.
pub(super) const DEFAULTS: Parameter = Parameter {
    name: "include_defaults",
    values: Values::Flag,
    default: "false",
    doc: "Adds `defaults`: what all other settings are on the node that answers.",
};

/// Changes by key; what is let go of has no value.
type Changes = BTreeMap<String, Option<Value>>;

/// Both sets, and what holds besides on this node if that is wanted.
pub(super) async fn show(call: Call) -> Result<Reply, RestError> {
    let has_defaults = call.parameters.flag("include_defaults")?.unwrap_or(false);
    let is_flat = call.parameters.flag("flat_settings")?.unwrap_or(false);
    let state = snapshot::wanted(&call, None).await?;
    let metadata = &state.metadata;
    let json = Json::object([
        ("persistent", stored(&metadata.persistent, is_flat)),
        ("transient", stored(&metadata.transient, is_flat)),
    ]);
    let defaults = has_defaults.then(|| {
        let is_set = |key: &str| metadata.persistent.contains_key(key) || metadata.transient.contains_key(key);
        let others = in_full(&call.handle.settings().given).into_iter().filter(|(key, _)| !is_set(key));
        written(others.map(|(key, value)| (key, leaf(&value))), is_flat)
    });
    Ok(Reply::tree(json.with_some("defaults", defaults)))
}

/// Changes what is asked for, all or nothing, and repeats what is set then.
pub(super) async fn change(call: Call) -> Result<Reply, RestError> {
    let is_flat = call.parameters.flag("flat_settings")?.unwrap_or(false);
    let notation = content_type(&call.headers)?.and_then(Format::named).unwrap_or(Format::Json);
    let [transient, persistent] = read(call.body.clone(), notation)?;
    for (changes, persistent) in [(&transient, false), (&persistent, true)] {
        changes.iter().try_for_each(|(key, value)| judge(persistent, key, value.as_ref()))?;
    }
    let state = call.handle.state();
    let metadata = &state.metadata;
    let wanted = |key: &str| held_then(metadata, [&transient, &persistent], key);
    together(transient.keys().chain(persistent.keys()).map(String::as_str), &wanted)?;
    for (held, changes) in [(&metadata.transient, &transient), (&metadata.persistent, &persistent)] {
        // What an older release let through does not stand in the way of other changes.
        if demand_seeds(&keys_then(held, &Changes::new())).is_ok() {
            demand_seeds(&keys_then(held, changes))?;
        }
    }
    let warnings = warned(metadata, [&transient, &persistent]);
    let keys = transient.keys().chain(persistent.keys()).cloned();
    call.handle.events().expect_change(keys, asker(&call));
    let task = Task::PutSettings { persistent: patch(&persistent), transient: patch(&transient) };
    let before = in_force(metadata, &call.handle.settings().given, MINIMUM_MASTER_NODES);
    let done = submit(&call, task).await.map_err(|error| explained(error, &before, wanted(MINIMUM_MASTER_NODES)))?;
    let set = |changes: Changes| {
        let set = changes.into_iter().filter_map(|(key, value)| Some((key, leaf(&value?))));
        written(set, is_flat)
    };
    let reply = Reply::tree(Json::object([
        ("acknowledged", done.acknowledged.into()),
        ("persistent", set(persistent)),
        ("transient", set(transient)),
    ]));
    Ok(warnings.iter().fold(reply, |reply, text| reply.with_warning(text)))
}

/// Says why a setting cannot be changed so; who slipped is told what may have been meant.
fn judge(persistent: bool, key: &str, value: Option<&Value>) -> Result<(), RestError> {
    objection(persistent, key, value).map_err(|objection| {
        let error = RestError::from(objection);
        match hint(key) {
            Some(meant) => error.with_hint(format!("did you mean [{meant}]?")),
            None => error,
        }
    })
}

/// What holds once a change is made; the transient ones go over the persistent ones.
fn held_then(metadata: &Metadata, changes: [&Changes; 2], key: &str) -> Option<String> {
    let stored = [&metadata.transient, &metadata.persistent];
    changes.into_iter().zip(stored).find_map(|(changes, stored)| match changes.get(key) {
        Some(value) => value.as_ref().map(Value::joined),
        None if changes.iter().any(|(pattern, value)| value.is_none() && matches(pattern, key)) => None,
        None => stored.get(key).map(|value| Value::of_stored(value).joined()),
    })
}

/// How the keys of settings begin that need others beside them.
const REMOTES: &str = "cluster.remote.";

/// The keys about remote clusters that a set has once it is changed; the many that it may have besides are not looked at.
fn keys_then<'a>(stored: &'a Settings, changes: &'a Changes) -> BTreeSet<&'a str> {
    let is_removed = |key: &str| changes.iter().any(|(pattern, value)| value.is_none() && matches(pattern, key));
    let known = stored.range_from(REMOTES).map(|(key, _)| &**key).take_while(|key| key.starts_with(REMOTES));
    let kept = known.filter(|key| !is_removed(key));
    kept.chain(changes.iter().filter(|(_, value)| value.is_some()).map(|(key, _)| key.as_str())).collect()
}

/// What Elasticsearch warns of when it reads what was set and what shall be.
fn warned(metadata: &Metadata, changes: [&Changes; 2]) -> BTreeSet<String> {
    let stored = metadata.transient.iter().chain(metadata.persistent.iter());
    let old = stored.flat_map(|(key, value)| warnings(key, &Value::of_stored(value)));
    let new = changes.into_iter().flatten().filter_map(|(key, value)| Some((key, value.as_ref()?)));
    old.chain(new.flat_map(|(key, value)| warnings(key, value))).collect()
}

/// Who asks for a change, as far as the request tells.
fn asker(call: &Call) -> String {
    let peer = call.peer.map_or_else(|| "this process".to_owned(), |peer| peer.to_string());
    let peer = call.guest.as_ref().map_or(peer.clone(), |guest| format!("{} at {peer}", guest.user.name));
    let id = call.headers.get(OPAQUE_ID).and_then(|id| id.to_str().ok());
    id.map_or_else(|| peer.clone(), |id| format!("[{}] at {peer}", id.chars().take(OPAQUE_MAX).collect::<String>()))
}

/// Says of a number of nodes that the master refused what it was and should have been, as Elasticsearch does.
fn explained(error: RestError, before: &str, wanted: Option<String>) -> RestError {
    match wanted {
        Some(wanted) if error.reason().starts_with(&format!("cannot set {MINIMUM_MASTER_NODES} ")) => {
            let reason = format!("illegal value can't update [{MINIMUM_MASTER_NODES}] from [{before}] to [{wanted}]");
            RestError::illegal(reason).caused_by(error)
        }
        Some(_) | None => error,
    }
}

/// What holds: of the state, else of this node's own configuration, else what stands for none.
fn in_force(metadata: &Metadata, given: &BTreeMap<String, Value>, key: &str) -> String {
    let stored = metadata.transient.get(key).or_else(|| metadata.persistent.get(key)).map(|value| value.to_string());
    stored.or_else(|| given.get(key).map(Value::joined)).unwrap_or_else(|| "-1".into())
}

/// The changes of both sets, the transient ones first, as they are checked.
fn read(body: Bytes, notation: Format) -> Result<[Changes; 2], RestError> {
    if body.is_empty() {
        return Err(RestError::new(Kind::ElasticsearchParse, "request body is required"));
    }
    sent::check_size(&body, "a change of settings")?;
    let Tree::Object(fields) = tree(&Body::of(body, notation)?)? else {
        return Err(RestError::asks_for_nothing("no settings to update"));
    };
    let mut all = [Changes::new(), Changes::new()];
    for (set, changes) in SETS.into_iter().zip(&mut all) {
        match fields.get(set) {
            Some(Tree::Object(settings)) => collect("", settings, changes)?,
            Some(Tree::Null) | None => {}
            Some(other) => {
                let reason = format!("[{set}] holds [{other}]; allowed: an object of settings");
                return Err(RestError::new(Kind::ElasticsearchParse, reason));
            }
        }
    }
    if all.iter().any(|changes| !changes.is_empty()) {
        return Ok(all);
    }
    let error = RestError::asks_for_nothing("no settings to update");
    Err(match fields.keys().find(|name| !SETS.contains(&name.as_str())) {
        Some(name) => error.with_hint(format!("[{name}] is none of [transient, persistent]")),
        None => error,
    })
}

/// What was sent; blanks are nothing.
fn tree(body: &Body) -> Result<Tree, RestError> {
    if body.is_blank() {
        return Ok(Tree::Null);
    }
    match std::str::from_utf8(&body.bytes) {
        Ok(text) if body.notation == Format::Json => sent::read(with_numbers_as_texts(text).as_bytes(), body.notation),
        Ok(_) | Err(_) => sent::read(&body.bytes, body.notation),
    }
}

/// Takes in what is nested, dotted or both. No deeper than JSON is read.
fn collect(prefix: &str, settings: &serde_json::Map<String, Tree>, changes: &mut Changes) -> Result<(), RestError> {
    for (name, tree) in settings {
        let key = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
        if let Tree::Object(inner) = tree {
            collect(&key, inner, changes)?;
            continue;
        }
        let (key, value) = upgraded(key.clone(), value(&key, tree)?);
        let shown = |value: &Option<Value>| value.as_ref().map_or_else(|| "null".to_owned(), Value::joined);
        let (key_shown, new) = (key.clone(), shown(&value));
        if let Some(previous) = changes.insert(key, value) {
            let previous = shown(&previous);
            let reason = format!(
                "duplicate settings key [{key_shown}] found, previous value [{previous}], current value [{new}]"
            );
            return Err(RestError::new(Kind::ElasticsearchParse, reason));
        }
    }
    Ok(())
}

/// What other clusters are was said under another name before; where they are is a list even if it is let go of.
fn upgraded(key: String, value: Option<Value>) -> (String, Option<Value>) {
    let renamed = key.strip_prefix("search.remote.").filter(|rest| !key.ends_with('*') && rest.contains('.'));
    let known = renamed.filter(|rest| [".seeds", ".proxy", ".skip_unavailable"].iter().any(|end| rest.ends_with(end)));
    let Some(rest) = known else {
        return (key, value);
    };
    let is_list = rest.ends_with(".seeds");
    let value = match value {
        Some(Value::Text(_)) | None if is_list => {
            Some(Value::List(value.map_or_else(Vec::new, |value| value.elements())))
        }
        value => value,
    };
    (format!("cluster.remote.{rest}"), value)
}

fn value(key: &str, tree: &Tree) -> Result<Option<Value>, RestError> {
    let scalar = |tree: &Tree| match tree {
        Tree::Bool(value) => Some(value.to_string()),
        Tree::Number(number) if number.is_f64() => number.as_f64().map(double_text),
        Tree::Number(number) => Some(number.to_string()),
        Tree::String(text) => Some(text.clone()),
        Tree::Null | Tree::Array(_) | Tree::Object(_) => None,
    };
    match tree {
        Tree::Null => Ok(None),
        Tree::Array(elements) => {
            let elements: Option<Vec<String>> = elements.iter().map(scalar).collect();
            let refuse = || RestError::illegal(format!("[{key}] holds a list of other things than texts and numbers"));
            elements.map(|elements| Some(Value::List(elements))).ok_or_else(refuse)
        }
        Tree::Bool(_) | Tree::Number(_) | Tree::String(_) | Tree::Object(_) => Ok(scalar(tree).map(Value::Text)),
    }
}

fn patch(changes: &Changes) -> SettingsPatch {
    let stored = |value: &Value| value.stored().into();
    changes.iter().map(|(key, value)| (key.as_str().into(), value.as_ref().map(stored))).collect()
}

fn stored(settings: &Settings, is_flat: bool) -> Json {
    written(settings.iter().map(|(key, value)| (key.to_string(), leaf(&Value::of_stored(value)))), is_flat)
}

/// A value as it is shown.
pub(super) fn leaf(value: &Value) -> Json {
    match value {
        Value::Text(text) => text.as_str().into(),
        Value::List(elements) => elements.iter().map(String::as_str).collect(),
    }
}

/// Settings that come in the order of their keys.
pub(super) fn written(settings: impl Iterator<Item = (String, Json)>, is_flat: bool) -> Json {
    if is_flat {
        return Json::map(settings);
    }
    let mut root = Branch::default();
    for (key, json) in settings {
        root.put(String::new(), &key, json);
    }
    root.json()
}

/// Settings under the part of their keys up to a dot.
#[derive(Default)]
struct Branch(BTreeMap<String, Twig>);

enum Twig {
    Leaf(Json),
    Branch(Branch),
}

impl Branch {
    /// Where a shorter key has a value already, the rest of a longer one keeps its dots.
    fn put(&mut self, prefix: String, key: &str, json: Json) {
        let Some((first, rest)) = key.split_once('.') else {
            self.0.insert(prefix + key, Twig::Leaf(json));
            return;
        };
        let name = prefix + first;
        match self.0.entry(name.clone()).or_insert_with(|| Twig::Branch(Branch::default())) {
            Twig::Branch(inner) => inner.put(String::new(), rest, json),
            Twig::Leaf(_) => self.put(name + ".", rest, json),
        }
    }

    fn json(self) -> Json {
        Json::map(self.0.into_iter().map(|(name, twig)| match twig {
            Twig::Leaf(json) => (name, json),
            Twig::Branch(branch) => (name, branch.json()),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rest::body::compact;

    fn changes(body: &str) -> Result<String, String> {
        let read = read(body.to_owned().into(), Format::Json).map_err(|error| error.to_string())?;
        let shown = |changes: &Changes| {
            let shown = changes.iter().map(|(key, value)| {
                format!("{key}={}", value.as_ref().map_or_else(|| "null".to_owned(), ToString::to_string))
            });
            shown.collect::<Vec<_>>().join(" ")
        };
        let [transient, persistent] = read;
        Ok(format!("{} / {}", shown(&transient), shown(&persistent)))
    }

    #[test]
    fn a_body_is_nested_or_dotted_and_its_mistakes_are_named() {
        let cases = [
            (r#"{"transient":{"a":{"b.c":1,"d":true},"a.e":"x"}}"#, Ok("a.b.c=1 a.d=true a.e=x / ")),
            (r#"{"persistent":{"a.*":null,"l":["x",2]},"transient":{},"z":1}"#, Ok(" / a.*=null l=[x, 2]")),
            ("", Err("ElasticsearchParseException[request body is required]")),
            ("{}", Err("ActionRequestValidationException[Validation Failed: 1: no settings to update;]")),
            (
                r#"{"nonsense":{}}"#,
                Err("ActionRequestValidationException[Validation Failed: 1: no settings to update;]"),
            ),
            ("[1]", Err("ActionRequestValidationException[Validation Failed: 1: no settings to update;]")),
            (
                r#"{"transient":"x"}"#,
                Err("ElasticsearchParseException[[transient] holds [\"x\"]; allowed: an object of settings]"),
            ),
            (
                r#"{"transient":{"a":{"b":1},"a.b":null}}"#,
                Err(
                    "ElasticsearchParseException[duplicate settings key [a.b] found, previous value [1], current value [null]]",
                ),
            ),
            (
                r#"{"transient":{"a":[{}]}}"#,
                Err("IllegalArgumentException[[a] holds a list of other things than texts and numbers]"),
            ),
        ];
        for (body, expected) in cases {
            assert_eq!(changes(body), expected.map(str::to_owned).map_err(str::to_owned), "{body}");
        }
        assert!(changes("{").is_err_and(|error| error.starts_with("JsonParseException[")));
        assert!(changes(&" ".repeat((1 << 20) + 1)).is_err_and(|error| error.contains("allowed are 1048576")));
    }

    #[test]
    fn settings_are_nested_as_far_as_their_keys_allow() {
        let keys = ["a", "a.b", "a.c.d", "b.c", "b.d"];
        let settings = || keys.iter().map(|key| ((*key).to_owned(), Json::from("x")));
        let nested = r#"{"a":"x","a.b":"x","a.c":{"d":"x"},"b":{"c":"x","d":"x"}}"#;
        assert_eq!(compact(&written(settings(), false)), nested);
        assert_eq!(compact(&written(settings(), true)), r#"{"a":"x","a.b":"x","a.c.d":"x","b.c":"x","b.d":"x"}"#);
    }
}
