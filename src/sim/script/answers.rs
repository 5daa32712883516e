//! Clients: what they ask, and what they are told in a few words.

use super::mistake::{Mistake, Trouble};
use super::stage::Stage;
use super::words::Words;
use crate::cluster::{Term, Version};
use crate::service::{Answer, Question, SettingsPatch, Task};
use std::sync::Arc;
use std::time::Duration;

/// How long a client waits for a master, and for every node to apply a change, unless it says so; as in Elasticsearch.
const PATIENCE: Duration = Duration::from_secs(30);

/// What an answer says, in a few words.
pub(super) fn told(answer: &Answer) -> String {
    match answer {
        Answer::Done { at, acknowledged: true } => format!("done at {at}, acknowledged"),
        Answer::Done { at, acknowledged: false } => format!("done at {at}, not acknowledged by all"),
        Answer::Value { at, value: Some(found) } => {
            format!("{} of {}/{}, read at {at}", found.value, found.changed.0, found.changed.1)
        }
        Answer::Value { at, value: None } => format!("no such key, read at {at}"),
        Answer::Refused(refusal) => format!("refused: {refusal}"),
        Answer::NotMaster => "not master".into(),
        Answer::NoMaster => "no master".into(),
        Answer::TimedOut { source } => format!("timed out in the queue: {source}"),
        Answer::Unknown { reason } => format!("unknown: {reason}"),
        Answer::Pending(tasks) if tasks.is_empty() => "nothing is pending".into(),
        Answer::Pending(tasks) => {
            let tasks = tasks.iter().map(|task| {
                let executing = if task.executing { " executing" } else { "" };
                format!("{} {}{executing}", task.priority, task.source)
            });
            format!("pending: {}", tasks.collect::<Vec<_>>().join(", "))
        }
        Answer::Left => "left".into(),
        Answer::HandedOver { to } => format!("handed over to {to}"),
    }
}

/// Asks the node that is named behind `via`, or else the master, or else the first one that runs.
fn ask(stage: &mut Stage, words: &mut Words<'_>, what: &str, question: Question) -> Result<(), Trouble> {
    let via = words.after("via")?;
    words.end()?;
    let node = match via {
        Some(name) => stage.node(name)?,
        None => stage.spokesman().ok_or_else(|| Mistake::new("nobody to ask", "a node that runs, named with `via`"))?,
    };
    stage.ask(node, what, question);
    Ok(())
}

fn submit(stage: &mut Stage, words: &mut Words<'_>, what: &str, task: Task) -> Result<(), Trouble> {
    let timeout = words.time("timeout")?.unwrap_or(PATIENCE);
    let master_timeout = words.time("master_timeout")?.unwrap_or(PATIENCE);
    ask(stage, words, what, Question::Submit { task, timeout, master_timeout })
}

pub(super) fn put(stage: &mut Stage, words: &mut Words<'_>) -> Result<(), Trouble> {
    let (key, value) = (words.need("a key")?, words.need("a value")?);
    let only_if = words.option("if").map(rank).transpose()?;
    let task = Task::PutKey { key: key.into(), value: Some(value.into()), only_if };
    submit(stage, words, &format!("put {key}={value}"), task)
}

pub(super) fn delete(stage: &mut Stage, words: &mut Words<'_>) -> Result<(), Trouble> {
    let key = words.need("a key")?;
    let only_if = words.option("if").map(rank).transpose()?;
    submit(stage, words, &format!("delete {key}"), Task::PutKey { key: key.into(), value: None, only_if })
}

pub(super) fn read(stage: &mut Stage, words: &mut Words<'_>) -> Result<(), Trouble> {
    let key = words.need("a key")?;
    let master_timeout = words.time("master_timeout")?.unwrap_or(PATIENCE);
    ask(stage, words, &format!("read {key}"), Question::Read { key: key.into(), master_timeout })
}

/// A setting with an empty value is removed.
pub(super) fn set(stage: &mut Stage, words: &mut Words<'_>) -> Result<(), Trouble> {
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

pub(super) fn hand_over(stage: &mut Stage, words: &mut Words<'_>) -> Result<(), Trouble> {
    let to = words.after("to")?.map(|name| stage.id(name)).transpose()?;
    let node = stage.node(words.need("the master")?)?;
    words.end()?;
    stage.ask(node, "hand over", Question::HandOver { to });
    Ok(())
}

pub(super) fn leave(stage: &mut Stage, words: &mut Words<'_>) -> Result<(), Trouble> {
    let node = stage.node(words.need("a node")?)?;
    words.end()?;
    stage.ask(node, "leave", Question::Leave);
    Ok(())
}

pub(super) fn pending(stage: &mut Stage, words: &mut Words<'_>) -> Result<(), Trouble> {
    let node = stage.node(words.need("a node")?)?;
    words.end()?;
    stage.ask(node, "pending", Question::PendingTasks);
    Ok(())
}

/// Reads a term and a version, `3/17`.
pub(super) fn rank(word: &str) -> Result<(Term, Version), Mistake> {
    let numbers = || {
        let (term, version) = word.split_once('/')?;
        Some((Term::new(term.parse().ok()?)?, Version::new(version.parse().ok()?)?))
    };
    numbers().ok_or_else(|| Mistake::new(format!("`{word}` as a state"), "term and version, as in `3/17`"))
}
