//! What clients are told, in a few words.

use crate::cluster::RequestOutcome;
use crate::service::Answer;

/// What an answer says, in a few words.
pub(super) fn told(answer: &Answer) -> String {
    match answer {
        Answer::Done { at, acknowledged, outcome } => {
            let by_all = if *acknowledged { "acknowledged" } else { "not acknowledged by all" };
            format!("done at {at}, {by_all}{}", came_to(outcome))
        }
        Answer::Newest { at } => format!("the newest is {at}"),
        Answer::Value { at, value: Some(found) } => {
            format!("{} of {}, read at {at}", found.value, found.changed)
        }
        Answer::Value { at, value: None } => format!("no such key, read at {at}"),
        Answer::Range { at, keys, more } => {
            let keys: Vec<String> = keys.iter().map(|(key, held)| format!("{key}={}", held.value)).collect();
            format!("[{}]{}, read at {at}", keys.join(", "), if *more { " and more" } else { "" })
        }
        Answer::Lease { at, lease: Some(lease) } => {
            format!("held by {} under token {}, read at {at}", lease.holder, lease.token)
        }
        Answer::Lease { at, lease: None } => format!("not held, read at {at}"),
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

/// What is worth telling besides that a task was carried out.
fn came_to(outcome: &RequestOutcome) -> String {
    match outcome {
        RequestOutcome::Applied | RequestOutcome::Written { part: 0, .. } => String::new(),
        RequestOutcome::Written { part, .. } => format!(", part {part}"),
        RequestOutcome::Granted { token } => format!(", token {token}"),
        RequestOutcome::Refused(refusal) => format!(", refused: {refusal}"),
    }
}
