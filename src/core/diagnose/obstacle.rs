//! Nodes that do not run and could not be started: what stands in their way, which a start would tell, and what to type.

use super::case::Case;
use super::{Code, Mend, Verdict};
use serde::{Deserialize, Serialize};

/// What would keep a node from starting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Obstacle {
    /// What it is.
    pub code: Code,
    /// The same in words.
    pub fault: String,
    /// What to do about it, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mend: Option<Mend>,
}

/// Whose start would fail is not to be started: what stands in its way is told, and what to do about that.
pub(super) fn told(case: &Case<'_>, verdicts: Vec<Verdict>) -> Vec<Verdict> {
    verdicts.into_iter().map(|verdict| with_obstacle(case, verdict)).collect()
}

fn with_obstacle(case: &Case<'_>, verdict: Verdict) -> Verdict {
    let is_down = matches!(verdict.code, Code::VoterDown | Code::MemberDown);
    // Of several that are needed the one to begin with is named first.
    if !is_down && verdict.code != Code::QuorumLost {
        return verdict;
    }
    let known = verdict.mend.as_ref().and_then(|mend| case.started_by(mend));
    let Some((known, obstacle)) = known.and_then(|known| Some((known, known.sibling.obstacle.as_ref()?))) else {
        return verdict;
    };
    let summary = format!("{}; it cannot start: {}", verdict.summary, obstacle.fault);
    let code = if is_down { obstacle.code } else { verdict.code };
    let node = verdict.node.clone();
    let mend = obstacle.mend.clone().map(|mend| case.placed_as(Mend { node, ..mend }, known));
    Verdict { code, summary, mend, ..verdict }
}
