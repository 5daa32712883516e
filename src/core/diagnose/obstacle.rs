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
    let file = verdict.mend.as_ref().filter(|mend| !mend.is_setting).and_then(|mend| mend.file.as_deref());
    let is_it = |file_of: Option<&str>| file.is_some() && file_of == file;
    let of_file = case.siblings().find(|known| is_it(known.sibling.file.as_deref()));
    let Some((known, obstacle)) = of_file.and_then(|known| Some((known, known.sibling.obstacle.as_ref()?))) else {
        return verdict;
    };
    let summary = format!("{}; it cannot start: {}", verdict.summary, obstacle.fault);
    let code = if is_down { obstacle.code } else { verdict.code };
    let mend = obstacle.mend.clone().map(|mend| case.placed_as(mend, known));
    let mend = mend.map(|mend| match &verdict.node {
        Some(node) => mend.about(node),
        None => mend,
    });
    Verdict { code, summary, mend, ..verdict }
}
