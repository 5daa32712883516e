//! Clients: what they ask, and whom.

use super::mistake::{Mistake, ScriptError};
use super::script_world::ScriptWorld;
use super::words::Words;
use crate::cluster::{BadRevision, Holding, RequestId, Token, Uuid};
use crate::service::{Condition, Put, Query, Question, SettingsPatch, Task, Txn};
use std::sync::Arc;
use std::time::Duration;

/// How long a client waits for a master, and for every node to apply a change, unless it says so; as in Elasticsearch.
const PATIENCE: Duration = Duration::from_secs(30);

/// The client that all numbered requests of a script are of.
const CLIENT: Uuid = Uuid::from_u128(1);

/// Asks the node that is named behind `via`, or else the master, or else the first one that runs.
fn ask(stage: &mut ScriptWorld, words: &mut Words<'_>, what: &str, question: Question) -> Result<(), ScriptError> {
    let via = words.after("via")?;
    words.end()?;
    let node = match via {
        Some(name) => stage.node(name)?,
        None => stage.spokesman().ok_or_else(|| Mistake::new("nobody to ask", "a node that runs, named with `via`"))?,
    };
    stage.ask(node, what, question);
    Ok(())
}

fn submit(stage: &mut ScriptWorld, words: &mut Words<'_>, what: &str, task: Task) -> Result<(), ScriptError> {
    let timeout = words.time("timeout")?.unwrap_or(PATIENCE);
    let master_timeout = words.time("master_timeout")?.unwrap_or(PATIENCE);
    let retry = words.flag("retry");
    let task = match words.parsed("once", "the number of a request")? {
        Some(sequence) => {
            let request = RequestId { client: CLIENT, sequence };
            Task::Once { request, retry, since: None, digest: None, task: Box::new(task) }
        }
        None => task,
    };
    ask(stage, words, what, Question::Submit { task, timeout, master_timeout })
}

pub(super) fn put(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    let (key, value) = (words.need("a key")?, words.need("a value")?);
    let lease = words.option("lease").map(holding).transpose()?;
    let size: usize = words.parsed("size", "a number of bytes")?.unwrap_or(0);
    let stored = format!("{value}{}", ".".repeat(size.saturating_sub(value.len())));
    let puts = vec![Put { key: key.into(), value: stored.as_str().into(), lease }];
    let txn = Txn { puts, ..Txn::default() }.only_if(condition(key, words)?);
    submit(stage, words, &format!("put {key}={value}"), Task::Txn(txn))
}

pub(super) fn delete(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    let key = words.need("a key")?;
    let txn = Txn::delete(key).only_if(condition(key, words)?);
    submit(stage, words, &format!("delete {key}"), Task::Txn(txn))
}

/// `if=1/3` demands the last change of the key, `if=none` that it does not exist, `held=l:7` that a lease is held.
fn condition(key: &str, words: &mut Words<'_>) -> Result<Option<Condition>, Mistake> {
    if let Some(word) = words.option("held") {
        return Ok(Some(Condition::Held(holding(word)?)));
    }
    let key = key.into();
    match words.option("if") {
        Some("none") => Ok(Some(Condition::Absent { key })),
        Some(word) => {
            let by = word.parse().map_err(|why: BadRevision| Mistake::new(format!("`{word}`"), why.to_string()))?;
            Ok(Some(Condition::Changed { key, by }))
        }
        None => Ok(None),
    }
}

/// Reads the name of a lease and a token, `l:7`.
fn holding(word: &str) -> Result<Holding, Mistake> {
    let parts = || {
        let (name, token) = word.split_once(':')?;
        Some(Holding { name: name.into(), token: Token::new(token.parse().ok()?)? })
    };
    parts().ok_or_else(|| Mistake::new(format!("`{word}` as a lease"), "its name and a token, as in `l:7`"))
}

pub(super) fn acquire(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    let name = words.need("the name of a lease")?;
    let holder = words.after("for")?.unwrap_or("somebody");
    let ttl = words.time("ttl")?.unwrap_or(Duration::from_secs(10));
    let task = Task::GrantLease { name: name.into(), holder: holder.into(), ttl };
    submit(stage, words, &format!("acquire {name} for {holder}"), task)
}

pub(super) fn free(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    let word = words.need("a lease, as in `l:7`")?;
    submit(stage, words, &format!("free {word}"), Task::ReleaseLease(holding(word)?))
}

pub(super) fn keep_alive(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    let word = words.need("a lease, as in `l:7`")?;
    inquire(stage, words, &format!("keep-alive {word}"), Query::KeepAlive(holding(word)?))
}

pub(super) fn lease(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    let name = words.need("the name of a lease")?;
    inquire(stage, words, &format!("lease {name}"), Query::Lease { name: name.into() })
}

pub(super) fn list(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    let prefix = words.need("how the keys begin")?;
    let query = Query::Range {
        prefix: prefix.into(),
        after: words.option("after").map(Arc::from),
        limit: words.parsed("limit", "a number")?.unwrap_or(100),
    };
    inquire(stage, words, &format!("list {prefix}"), query)
}

fn inquire(stage: &mut ScriptWorld, words: &mut Words<'_>, what: &str, query: Query) -> Result<(), ScriptError> {
    let master_timeout = words.time("master_timeout")?.unwrap_or(PATIENCE);
    ask(stage, words, what, Question::Read { query, master_timeout })
}

pub(super) fn read(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    let key = words.need("a key")?;
    inquire(stage, words, &format!("read {key}"), Query::Key { key: key.into() })
}

/// A setting with an empty value is removed.
pub(super) fn set(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    let layer = words.need("`transient` or `persistent`")?;
    let setting = words.need("`key=value`")?;
    let (key, value) =
        setting.split_once('=').ok_or_else(|| Mistake::new(format!("`{setting}`"), "`key=value` or `key=`"))?;
    let patch: SettingsPatch = vec![(key.into(), (!value.is_empty()).then(|| Arc::from(value)))];
    let task = match layer {
        "transient" => Task::PutSettings { persistent: Vec::new(), transient: patch },
        "persistent" => Task::PutSettings { persistent: patch, transient: Vec::new() },
        _ => return Err(Mistake::new(format!("`{layer}`"), "`transient` or `persistent`").into()),
    };
    submit(stage, words, &format!("set {layer} {setting}"), task)
}

pub(super) fn hand_over(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    let to = words.after("to")?.map(|name| stage.id(name)).transpose()?;
    let node = stage.node(words.need("the master")?)?;
    words.end()?;
    stage.ask(node, "hand over", Question::HandOver { to, master_timeout: PATIENCE });
    Ok(())
}

pub(super) fn leave(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    let node = stage.node(words.need("a node")?)?;
    words.end()?;
    stage.ask(node, "leave", Question::Leave);
    Ok(())
}

pub(super) fn pending(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    let node = stage.node(words.need("a node")?)?;
    words.end()?;
    stage.ask(node, "pending", Question::PendingTasks { master_timeout: PATIENCE });
    Ok(())
}
