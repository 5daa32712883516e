//! Clusters most of whose voters came back without what they had on disk: what is left of them, and how that goes on.
//!
//! Who came back so is found in `quorum` and `elsewhere`.

use super::case::{Case, counted, verdict};
use super::mends::{holding, on_new_data};
use super::shell::quoted;
use super::start::{as_user, until_ended};
use super::{Certainty, Code, Report, Start, Verdict};
use crate::zen::explain::{Member, Quota};

/// What is told of such a cluster by one of those that are left.
pub(super) fn wiped_majority(case: &Case<'_>, teller: &Report, quota: &Quota, lost: &[&Member]) -> Verdict {
    let names: Vec<String> = lost.iter().map(|member| case.place(member).0).collect();
    let summary = format!(
        "{} came back without what {} had on disk, and a majority of {} is gone: unless it is found elsewhere (an older data \
         directory, a disk that is not mounted), start a new incarnation from what {} holds; what it never got is lost then",
        names.join(", "),
        if names.len() == 1 { "it" } else { "they" },
        counted(quota.members.len(), "voter"),
        case.name(teller)
    );
    let uuid = teller.explanation.cluster_uuid;
    let is_left = |report: &&Report| uuid.is_some() && report.explanation.cluster_uuid == uuid;
    // Directories of other machines cannot be read on this one.
    let is_beside = |report: &&Report| report.facts.machine == teller.facts.machine;
    let survivors: Vec<&Report> = case.reports.iter().filter(is_left).filter(is_beside).collect();
    let can_begin = survivors.iter().any(|report| report.explanation.node.is_master_eligible());
    // What they had may lie where nobody here looks.
    let mut found = if can_begin {
        let mend = recover(case, &survivors).map(|line| case.command(teller, line));
        verdict(Code::WipedMajority, case.name(teller), summary).mended(mend).only(Certainty::Likely)
    } else {
        left_alone(case, teller, &names)
    };
    for member in lost {
        let what = format!("another id than [{}] answers in the place of {}", member.id, case.place(member).0);
        found = found.because(case.says(teller, what));
    }
    found
}

/// A node that cannot be master, and holds what is left of a cluster whose masters began anew.
fn left_alone(case: &Case<'_>, teller: &Report, names: &[String]) -> Verdict {
    let (name, names) = (case.name(teller), names.join(", "));
    let summary = format!(
        "{name} has the data directory of a cluster that {names} began anew without what was on disk, and its node.master is \
         false, so it leads nobody: with a new one it can join{}",
        holding(teller)
    );
    verdict(Code::ForeignCluster, name, summary).mended(on_new_data(case, teller)).only(Certainty::Likely)
}

/// Ends the nodes of one machine that are left, makes a new incarnation of what they hold, and starts them, as a line.
fn recover(case: &Case<'_>, left: &[&Report]) -> Option<String> {
    let facts = &left.first()?.facts;
    let data: Vec<String> = left.iter().map(|report| quoted(&report.facts.data)).collect();
    let starts: Option<Vec<Start>> = left.iter().map(|report| case.again(report)).collect();
    let starts = starts?.iter().map(Start::line).collect::<Vec<_>>();
    let by = facts.user.filter(|_| facts.unit.is_some() || case.me.facts.is_root).map(as_user).unwrap_or_default();
    let (binary, data) = (quoted(&facts.binary), data.join(" "));
    Some(format!("{}{by}{binary} recover --yes {data} && {{ {}; }}", killed(left), starts.join(" & ")))
}

/// Ends all of these at once, so that none goes on without the others.
fn killed(nodes: &[&Report]) -> String {
    let units: Vec<String> = nodes.iter().filter_map(|node| node.facts.unit.as_deref().map(quoted)).collect();
    let pids: Vec<u32> = nodes.iter().filter(|node| node.facts.unit.is_none()).map(|node| node.facts.pid).collect();
    let services = if units.is_empty() { String::new() } else { format!("systemctl stop {}; ", units.join(" ")) };
    if pids.is_empty() {
        return services;
    }
    let all = pids.iter().map(u32::to_string).collect::<Vec<_>>().join(" ");
    format!("{services}kill -9 {all}; {}", until_ended(&pids))
}
