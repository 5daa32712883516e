//! Nodes that were started on another data directory than before, where what they had is still there.

use super::case::{Case, verdict};
use super::{Certainty, Code, Report, Verdict};
use crate::zen::explain::Member;

/// New nodes whose own configuration was used before, from another directory. With a master only if most of the nodes are
/// such: else what they left is here as well.
pub(super) fn of_abandoned(case: &Case<'_>) -> Vec<Verdict> {
    let found: Vec<Verdict> = case.reports.iter().filter_map(|report| abandoned(case, report)).collect();
    let is_worth = case.is_masterless() || found.len() > case.reports.len() / 2;
    found.into_iter().filter(|_| is_worth).collect()
}

fn abandoned(case: &Case<'_>, report: &Report) -> Option<Verdict> {
    let (name, data) = (case.name(report), &report.facts.data);
    let left = report.facts.abandoned.as_deref()?;
    let summary = format!(
        "{name} is new on the data directory [{data}], and a node of the same configuration was started from another \
         directory before: what it had on disk is in [{left}]"
    );
    let evidence = case.says(report, "path.data is relative, and is looked for where a node is started");
    let mend = case.restart(report, "", |start| start.on(left));
    Some(verdict(Code::DataElsewhere, name, summary).because(evidence).mended(mend).only(Certainty::Likely))
}

/// A member that came back on another data directory than the one that it left, which is still there.
pub(super) fn displaced(case: &Case<'_>, teller: &Report, member: &Member) -> Option<Verdict> {
    let (name, place) = case.place(member);
    let place = place?;
    let report = case.at(&place).filter(|report| case.is_here(report))?;
    let left = case.siblings().filter(|known| known.sibling.last.as_ref() == Some(&place));
    let left = left.filter_map(|known| known.sibling.left_behind(&report.facts.data)).map(ToOwned::to_owned);
    let strays = case.reports.iter().filter(|by| case.is_here(by)).flat_map(|by| &by.facts.strays);
    let strays = strays.filter(|(at, data)| *at == place && *data != report.facts.data).map(|(_, data)| data.clone());
    let left = left.chain(strays).next()?;
    let summary =
        format!("{name} runs on the data directory [{}], and what it had on disk is in [{left}]", report.facts.data);
    let what = format!("another id than [{}] answers in the place of {name}", member.id);
    let mend = case.restart(report, "", |start| start.on(&left));
    Some(verdict(Code::DataElsewhere, name, summary).because(case.says(teller, what)).mended(mend))
}
