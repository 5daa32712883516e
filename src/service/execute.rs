//! What tasks do to a cluster state.
//!
//! A batch is applied to a copy, task by task; a refused task leaves no trace in it. Mirrors
//! `NodeJoinController.JoinTaskExecutor`, `NodeRemovalClusterStateTaskExecutor` and `SettingsUpdater` (6.8).

use super::{MINIMUM_MASTER_NODES, Refusal, SettingsPatch, Task, matches};
use crate::cluster::{ClusterState, KeyValue, Node, Settings, Term, Version};
use serde_json::Value;
use std::sync::Arc;

/// How deep the metadata of an index may nest. Each message that carries a state wraps it in a few levels more, and a
/// state that nobody can read would end all publishing.
const NESTING_MAX: usize = 64;

/// What became of one task of a batch.
pub type Verdict = Result<(), Refusal>;

/// The largest value of a key.
const VALUE_BYTES_MAX: usize = 1 << 20;
/// The longest name of a key, setting or index.
const NAME_BYTES_MAX: usize = 512;

/// Applies one task. The state already bears the term and version under which it will be published.
pub fn execute(state: &mut ClusterState, task: &Task) -> Verdict {
    match task {
        Task::Join { node } => join(state, node),
        Task::Remove { id, ephemeral_id, .. } => {
            if state.nodes.get(id).is_some_and(|node| node.ephemeral_id == *ephemeral_id) {
                state.nodes.remove(id);
            }
            Ok(())
        }
        Task::PutSettings { persistent, transient } => put_settings(state, persistent, transient),
        Task::PutKey { key, value, only_if } => put_key(state, key, value.as_ref(), *only_if),
        Task::PutIndex { name, metadata } => put_index(state, name, metadata.as_deref()),
    }
}

/// The joiner answered at its address, so whoever stood there before, or under its id, is gone.
fn join(state: &mut ClusterState, node: &Arc<Node>) -> Verdict {
    let squatter = state.nodes.by_address(&node.address).map(|old| old.id.clone());
    if let Some(old) = squatter.filter(|old| *old != node.id) {
        state.nodes.remove(&old);
    }
    state.nodes.insert(node.clone());
    Ok(())
}

fn put_settings(state: &mut ClusterState, persistent: &SettingsPatch, transient: &SettingsPatch) -> Verdict {
    if persistent.is_empty() && transient.is_empty() {
        return Err(Refusal::Invalid("no settings to update".into()));
    }
    let mut metadata = state.metadata.clone();
    patch(&mut metadata.persistent, persistent)?;
    patch(&mut metadata.transient, transient)?;
    let asked = |patch: &SettingsPatch| patch.iter().find(|(key, _)| &**key == MINIMUM_MASTER_NODES).cloned();
    for (_, value) in [asked(persistent), asked(transient)].into_iter().flatten() {
        if let Some(value) = value {
            check_minimum(state, &value)?;
        }
    }
    state.metadata = metadata;
    Ok(())
}

fn patch(settings: &mut Settings, changes: &SettingsPatch) -> Verdict {
    for (key, value) in changes {
        match value {
            Some(value) => {
                check_name("setting", key)?;
                check_value("setting", key, value)?;
                settings.insert(key.clone(), value.clone());
            }
            None => remove_matching(settings, key),
        }
    }
    Ok(())
}

fn remove_matching(settings: &mut Settings, pattern: &str) {
    let gone: Vec<Arc<str>> = settings.keys().filter(|key| matches(pattern, key)).cloned().collect();
    for key in gone {
        settings.remove(&key);
    }
}

/// Too low a number splits nothing here, but one that cannot be met would end the mastership that is asked to set it.
fn check_minimum(state: &ClusterState, value: &str) -> Verdict {
    let eligible = state.nodes.eligible().count();
    match value.parse::<i64>() {
        Ok(minimum) if minimum < 1 => Err(Refusal::Invalid(format!(
            "Failed to parse value [{value}] for setting [{MINIMUM_MASTER_NODES}] must be >= 1"
        ))),
        Ok(minimum) if minimum > eligible as i64 => Err(Refusal::Invalid(format!(
            "cannot set {MINIMUM_MASTER_NODES} to more than the current master nodes count [{eligible}]"
        ))),
        Ok(_) => Ok(()),
        Err(_) => {
            Err(Refusal::Invalid(format!("Failed to parse value [{value}] for setting [{MINIMUM_MASTER_NODES}]")))
        }
    }
}

fn put_key(
    state: &mut ClusterState,
    key: &Arc<str>,
    value: Option<&Arc<str>>,
    only_if: Option<(Term, Version)>,
) -> Verdict {
    check_name("key", key)?;
    let current = state.metadata.keys.get(&**key).map_or((Term::ZERO, Version::ZERO), |found| found.changed);
    if let Some(wanted) = only_if.filter(|wanted| *wanted != current) {
        return Err(Refusal::Conflict(format!(
            "key [{key}] was last changed by state {}/{}, not by {}/{}",
            current.0, current.1, wanted.0, wanted.1
        )));
    }
    let changed = (state.term, state.version);
    match value {
        Some(value) => {
            check_value("key", key, value)?;
            state.metadata.keys.insert(key.clone(), KeyValue { value: value.clone(), changed });
        }
        None => {
            state.metadata.keys.remove(&**key);
        }
    }
    Ok(())
}

fn put_index(state: &mut ClusterState, name: &Arc<str>, metadata: Option<&str>) -> Verdict {
    check_name("index", name)?;
    let Some(text) = metadata else {
        return match state.metadata.indices.remove(&**name) {
            Some(_) => Ok(()),
            None => Err(Refusal::Invalid(format!("no such index [{name}]"))),
        };
    };
    check_value("index", name, text)?;
    match serde_json::from_str::<Value>(text) {
        Ok(value) if nests_deeper_than(NESTING_MAX, &value) => {
            let why = format!("metadata of index [{name}] nests too deep, allowed are {NESTING_MAX} levels");
            Err(Refusal::Invalid(why))
        }
        Ok(value) => {
            state.metadata.indices.insert(name.clone(), Arc::new(value));
            Ok(())
        }
        Err(error) => Err(Refusal::Invalid(format!("metadata of index [{name}] is no JSON: {error}"))),
    }
}

fn nests_deeper_than(levels: usize, value: &Value) -> bool {
    let is_deeper = |inner: &Value| nests_deeper_than(levels - 1, inner);
    match value {
        Value::Array(items) => levels == 0 || items.iter().any(is_deeper),
        Value::Object(fields) => levels == 0 || fields.values().any(is_deeper),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => false,
    }
}

fn check_name(what: &str, name: &str) -> Verdict {
    if name.is_empty() || name.len() > NAME_BYTES_MAX {
        let why = format!("the name of a {what} has {} bytes, allowed are 1 to {NAME_BYTES_MAX}", name.len());
        return Err(Refusal::Invalid(why));
    }
    Ok(())
}

fn check_value(what: &str, name: &str, value: &str) -> Verdict {
    if value.len() > VALUE_BYTES_MAX {
        let why = format!("the value of {what} [{name}] has {} bytes, allowed are {VALUE_BYTES_MAX}", value.len());
        return Err(Refusal::Invalid(why));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metadata_that_nests_too_deep_to_be_published_is_refused() {
        let put = |levels: usize| {
            let text = format!("{}{}", "[".repeat(levels), "]".repeat(levels));
            let mut state = ClusterState::initial("one".into());
            let task = Task::PutIndex { name: "logs".into(), metadata: Some(text.into()) };
            execute(&mut state, &task).map_err(|refusal| refusal.to_string())
        };
        assert_eq!(put(NESTING_MAX), Ok(()));
        let refusal = "metadata of index [logs] nests too deep, allowed are 64 levels";
        assert_eq!(put(NESTING_MAX + 1), Err(refusal.into()));
        assert!(put(100_000).is_err(), "whatever its depth, it is refused without climbing down");
    }
}
