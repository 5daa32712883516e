//! Why a change of a cluster state is refused, and the conditions under which it is asked for.

use super::{Forward, Holding, RequestId, Revision};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::sync::Arc;

/// What must hold for a change to be made.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Condition {
    /// The key was last changed by exactly this change.
    Changed {
        /// The key.
        key: Arc<str>,
        /// The change.
        by: Revision,
    },
    /// The key does not exist.
    Absent {
        /// The key.
        key: Arc<str>,
    },
    /// The key exists.
    Present {
        /// The key.
        key: Arc<str>,
    },
    /// The lease is held under this token: a write of a holder that was overtaken changes nothing.
    Held(Holding),
}

impl Condition {
    fn brief(&self) -> Self {
        match self {
            Condition::Changed { key, by } => Condition::Changed { key: brief(key).into(), by: *by },
            Condition::Absent { key } => Condition::Absent { key: brief(key).into() },
            Condition::Present { key } => Condition::Present { key: brief(key).into() },
            Condition::Held(holding) => Condition::Held(brief_holding(holding)),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Condition::Changed { key, by } => write!(f, "[{key}] was last changed by {by}"),
            Condition::Absent { key } => write!(f, "[{key}] does not exist"),
            Condition::Present { key } => write!(f, "[{key}] exists"),
            Condition::Held(holding) => write!(f, "lease {holding} is held"),
        }
    }
}

/// Why a task was not carried out: a fact about the request, not a failure.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Refusal {
    /// It cannot be carried out as it is.
    Invalid(String),
    /// A condition does not hold.
    Conflict {
        /// The condition.
        condition: Condition,
        /// The last change of its key, if that exists.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        found: Option<Revision>,
    },
    /// Another grant of the lease has not ended.
    Held {
        /// The grant.
        holding: Holding,
        /// Who has it.
        holder: Arc<str>,
    },
    /// The lease is not held under this token: it ran out, was released, or was never granted.
    NotHeld(Holding),
    /// It is too much for a cluster state.
    TooLarge(String),
    /// The request may have been carried out before, but what became of it is remembered no longer.
    Forgotten(RequestId),
    /// The same of a change that a node sent on.
    ForgottenForward(Forward),
    /// The cluster does not take changes at the moment, or no such changes.
    Blocked {
        /// What Elasticsearch says of such blocks.
        why: String,
        /// The HTTP status of the refusal.
        status: u16,
        /// Whether waiting may help.
        retryable: bool,
    },
    /// Too much is queued already.
    Overloaded(String),
}

impl Refusal {
    /// The most that each name and each reason takes in a refusal that is remembered, in bytes of JSON.
    pub const KEPT_BYTES_MAX: usize = 160;

    /// The same in as few words as are remembered: every node holds what is, so a request must not be able to make it
    /// large by long names or values.
    #[must_use]
    pub fn brief(&self) -> Self {
        match self {
            Refusal::Invalid(why) => Refusal::Invalid(brief(why)),
            Refusal::TooLarge(why) => Refusal::TooLarge(brief(why)),
            Refusal::Overloaded(why) => Refusal::Overloaded(brief(why)),
            Refusal::Conflict { condition, found } => Refusal::Conflict { condition: condition.brief(), found: *found },
            Refusal::Held { holding, holder } => {
                Refusal::Held { holding: brief_holding(holding), holder: brief(holder).into() }
            }
            Refusal::NotHeld(holding) => Refusal::NotHeld(brief_holding(holding)),
            Refusal::Blocked { why, status, retryable } => {
                Refusal::Blocked { why: brief(why), status: *status, retryable: *retryable }
            }
            Refusal::Forgotten(_) | Refusal::ForgottenForward(_) => self.clone(),
        }
    }

    /// Whether it tells something of the state, and is true only if that was committed.
    pub fn is_of_state(&self) -> bool {
        match self {
            Refusal::Conflict { .. } | Refusal::Held { .. } | Refusal::NotHeld(_) => true,
            Refusal::Invalid(_)
            | Refusal::TooLarge(_)
            | Refusal::Forgotten(_)
            | Refusal::ForgottenForward(_)
            | Refusal::Blocked { .. }
            | Refusal::Overloaded(_) => false,
        }
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Refusal::Invalid(why) | Refusal::TooLarge(why) | Refusal::Overloaded(why) => f.write_str(why),
            Refusal::Blocked { why, .. } => f.write_str(why),
            Refusal::Conflict { condition: Condition::Changed { key, by }, found: Some(found) } => {
                write!(f, "[{key}] was last changed by {found}, not by {by}")
            }
            Refusal::Conflict { condition: Condition::Changed { key, by }, found: None } => {
                write!(f, "[{key}] does not exist, and was not last changed by {by}")
            }
            Refusal::Conflict { condition: Condition::Absent { key }, found } => {
                write!(f, "[{key}] exists")?;
                found.map_or(Ok(()), |found| write!(f, ", last changed by {found}"))
            }
            Refusal::Conflict { condition: Condition::Present { key }, .. } => write!(f, "[{key}] does not exist"),
            Refusal::Conflict { condition: Condition::Held(holding), .. } => write!(f, "lease {holding} is not held"),
            Refusal::Held { holding, holder } => write!(f, "lease {holding} is held by [{holder}]"),
            Refusal::NotHeld(holding) => write!(f, "lease {holding} is not held"),
            Refusal::ForgottenForward(name) => {
                write!(f, "change [{name}] may have been carried out, but what became of it is remembered no longer")
            }
            Refusal::Forgotten(request) => {
                write!(
                    f,
                    "request [{request}] may have been carried out, but what became of it is remembered no longer"
                )
            }
        }
    }
}

fn brief_holding(holding: &Holding) -> Holding {
    Holding { name: brief(&holding.name).into(), token: holding.token }
}

/// The beginning of a text, with a mark where it was cut off.
fn brief(text: &str) -> String {
    const MARK: char = '…';
    let end = |most: usize| {
        let mut bytes = 0;
        text.char_indices().find(|(_, letter)| {
            bytes += json_bytes(*letter);
            bytes > most
        })
    };
    if end(Refusal::KEPT_BYTES_MAX).is_none() {
        return text.to_owned();
    }
    let cut = end(Refusal::KEPT_BYTES_MAX - MARK.len_utf8()).map_or(text.len(), |(at, _)| at);
    let mut brief = text[..cut].to_owned();
    brief.push(MARK);
    brief
}

/// How many bytes a letter takes in JSON, at the most.
fn json_bytes(letter: char) -> usize {
    match letter {
        '"' | '\\' => 2,
        letter if letter.is_control() => 6,
        letter => letter.len_utf8(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_remembered_of_a_refusal_is_short_whatever_was_asked() {
        for letter in ["k", "\u{1}", "\"", "é", "\u{10ffff}"] {
            let long: Arc<str> = letter.repeat(1 << 20).into();
            let holding = Holding { name: long.clone(), token: Default::default() };
            let refusals = [
                Refusal::Invalid(long.to_string()),
                Refusal::TooLarge(long.to_string()),
                Refusal::Overloaded(long.to_string()),
                Refusal::Blocked { why: long.to_string(), status: 503, retryable: true },
                Refusal::Conflict {
                    condition: Condition::Changed { key: long.clone(), by: Revision::default() },
                    found: None,
                },
                Refusal::Conflict { condition: Condition::Held(holding.clone()), found: None },
                Refusal::Held { holding: holding.clone(), holder: long.clone() },
                Refusal::NotHeld(holding),
            ];
            for refusal in refusals {
                let json = serde_json::to_string(&refusal.brief()).expect("it is data");
                assert!(json.len() <= 2 * Refusal::KEPT_BYTES_MAX + 120, "{} bytes: {json}", json.len());
                assert!(json.contains('…'), "{json}");
            }
        }
    }

    #[test]
    fn what_is_short_already_is_remembered_as_it_is() {
        let exactly = "k".repeat(Refusal::KEPT_BYTES_MAX);
        let refusal = Refusal::Conflict { condition: Condition::Absent { key: exactly.into() }, found: None };
        assert_eq!(refusal.brief(), refusal);
    }
}
