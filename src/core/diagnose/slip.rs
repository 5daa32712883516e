//! Nodes that do not run as nobody can read their configuration: what is wrong with it, and the line that puts it right.

use super::case::Case;
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
    let Some(slip) = verdict.mend.as_ref().and_then(slip_of) else { return with_riddle(case, verdict) };
    // Of several that are needed the one to begin with is named first.
    let is_of_several = verdict.code == Code::QuorumLost;
    let who = verdict.mend.as_ref().and_then(|mend| mend.node.as_deref()).filter(|_| is_of_several).unwrap_or("it");
    let summary = format!("{}; {who} cannot start by its file: {}", verdict.summary, slip.fault);
    let code = if is_of_several { verdict.code } else { Code::BadSettings };
    Verdict { code, summary, ..verdict }
}

/// Of whom nobody knows what was meant in its file, so that there is no line for it: it is not gone for good.
fn with_riddle(case: &Case<'_>, verdict: Verdict) -> Verdict {
    let is_down = matches!(verdict.code, Code::VoterDown | Code::MemberDown);
    let known = verdict.node.as_ref().filter(|_| is_down).and_then(|name| case.sibling_named(name));
    let Some(slip) = known.and_then(|known| known.sibling.slip.as_ref()).filter(|slip| slip.mend.is_none()) else {
        return verdict;
    };
    let summary = format!("{}; it cannot start by its file: {}", verdict.summary, slip.fault);
    Verdict { code: Code::BadSettings, summary, mend: None, ..verdict }
}
