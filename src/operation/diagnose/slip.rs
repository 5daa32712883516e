//! Nodes that do not run as nobody can read their configuration: what is wrong with it, and the line that puts it right.

use super::case::Case;
use super::obstacle::in_its_way;
use super::{Code, Verdict};
use serde::{Deserialize, Serialize};

/// What is wrong with a configuration.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Slip {
    /// What and where.
    pub fault: String,
    /// The command that puts it right, if it is known what was meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mend: Option<String>,
    /// Whether only a start tells it, as the file may hold what is secret.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub is_withheld: bool,
}

/// Who is to be started and could not be by its file is told so.
pub(super) fn told(case: &Case<'_>, verdicts: Vec<Verdict>) -> Vec<Verdict> {
    verdicts.into_iter().map(|verdict| with_slip(case, verdict)).collect()
}

fn with_slip(case: &Case<'_>, verdict: Verdict) -> Verdict {
    let slip_of = |mend| case.started_by(mend)?.sibling.slip.as_ref();
    match verdict.mend.as_ref().and_then(slip_of) {
        Some(slip) => in_its_way(verdict, Code::BadSettings, &by_its_file(slip)),
        None => with_unclear(case, verdict),
    }
}

/// Of whom nobody knows what was meant in its file, so that there is no line for it: it is not gone for good.
fn with_unclear(case: &Case<'_>, verdict: Verdict) -> Verdict {
    let is_down = matches!(verdict.code, Code::VoterDown | Code::MemberDown);
    let known = verdict.node.as_ref().filter(|_| is_down).and_then(|name| case.sibling_named(name));
    match known.and_then(|known| known.sibling.slip.as_ref()).filter(|slip| slip.mend.is_none()) {
        Some(slip) => Verdict { mend: None, ..in_its_way(verdict, Code::BadSettings, &by_its_file(slip)) },
        None => verdict,
    }
}

fn by_its_file(slip: &Slip) -> String {
    format!("cannot start by its file: {}", slip.fault)
}
