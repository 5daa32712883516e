//! Nodes that do not run and could not be started: what is wrong with their configuration or stands in their way, which a
//! start would tell, and what to type.

use super::case::Case;
use super::shell::quoted;
use super::{Certainty, Code, Mend, Obstacle, Sibling, Slip, Verdict};

/// Whose start would fail is not to be started: what stands in its way is told, and what to do about that.
pub(super) fn told(case: &Case<'_>, verdicts: Vec<Verdict>) -> Vec<Verdict> {
    verdicts.into_iter().map(|verdict| with_obstacle(case, with_slip(case, verdict))).collect()
}

/// Who is to be started and could not be by its file is told so.
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

fn with_obstacle(case: &Case<'_>, verdict: Verdict) -> Verdict {
    let is_down = matches!(verdict.code, Code::VoterDown | Code::MemberDown);
    // Of several that are needed the one to begin with is named first.
    if !is_down && verdict.code != Code::QuorumLost {
        return with_failed_start(case, verdict);
    }
    let known = verdict.mend.as_ref().and_then(|mend| case.started_by(mend));
    if let Some(obstacle) = known.and_then(|known| unread(known.sibling, verdict.mend.as_ref()?)) {
        let what = format!("cannot start: {}", obstacle.fault);
        return obstructed(verdict, &obstacle, &what);
    }
    let Some((known, obstacle)) = known.and_then(|known| Some((known, known.sibling.obstacle.as_ref()?))) else {
        return with_failed_start(case, verdict);
    };
    let mend = obstacle.mend.clone().map(|mend| case.placed_as(mend, known));
    let what = format!("cannot start: {}", obstacle.fault);
    obstructed(verdict, &Obstacle { mend, ..obstacle.clone() }, &what)
}

/// Files that the user of a node may not read: they are given to that user before the node is started.
fn unread(sibling: &Sibling, start: &Mend) -> Option<Obstacle> {
    let ((user, group), file) = (sibling.unread_by?, sibling.file.as_ref()?);
    let all = if sibling.unread.is_empty() { std::slice::from_ref(file) } else { &sibling.unread };
    let named: Vec<String> = all.iter().map(|file| quoted(file)).collect();
    let line = format!("chown {user}:{group} {} && {}", named.join(" "), start.line);
    let fault = format!("user [{user}], whose its data directory is, may not read [{}]", all.join(", "));
    Some(Obstacle { code: Code::BadSettings, fault, mend: Some(Mend { line, ..start.clone() }) })
}

/// What its own start told that failed, where nobody else sees what stands in its way.
fn with_failed_start(case: &Case<'_>, verdict: Verdict) -> Verdict {
    let is_absent = matches!(verdict.code, Code::VoterDown | Code::MemberDown | Code::QuorumLost | Code::LinkCut);
    // Who listens in its place and says nothing need not be the node.
    let is_mute = verdict.code == Code::FrozenNode && verdict.certainty != Certainty::Certain;
    let about = verdict.mend.as_ref().and_then(|mend| mend.node.as_ref()).or(verdict.node.as_ref());
    let Some((failed, evidence)) = about.and_then(|about| case.failed_start(about)) else { return verdict };
    // It knows best what helps against what others see of it.
    let is_same = verdict.code == failed.obstacle.code && (failed.runs || verdict.mend.is_none());
    if !is_absent && !is_mute && !is_same {
        return verdict;
    }
    // It is there, only not where it is looked for.
    if failed.runs && verdict.code != Code::QuorumLost {
        return failed.verdict(case).because(evidence);
    }
    // Who ran until its disk failed is started as others that do not run, if it could say nothing better.
    let start = verdict.mend.clone().filter(|start| failed.ended || failed.is_given_back_by(case, start));
    let told = obstructed(verdict, &failed.obstacle, &failed.what()).because(evidence);
    Verdict { mend: told.mend.or(start), ..told }
}

fn obstructed(verdict: Verdict, obstacle: &Obstacle, what: &str) -> Verdict {
    let about = |mend: Mend| Mend { node: verdict.node.clone().or(mend.node), ..mend };
    let mend = obstacle.mend.clone().map(about);
    Verdict { mend, ..in_its_way(verdict, obstacle.code, what) }
}

/// The same verdict with what keeps a node from starting as its cause. Of several that are needed the cause stays that they
/// are missed, and the one to begin with is named.
fn in_its_way(verdict: Verdict, code: Code, what: &str) -> Verdict {
    let is_of_several = verdict.code == Code::QuorumLost;
    let first = verdict.mend.as_ref().and_then(|mend| mend.node.as_deref()).filter(|_| is_of_several);
    let summary = format!("{}; {} {what}", verdict.summary, first.unwrap_or("it"));
    Verdict { code: if is_of_several { verdict.code } else { code }, summary, ..verdict }
}
