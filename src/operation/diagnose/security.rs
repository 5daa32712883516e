//! What will lock nodes or users out, and what lets everybody in.

use super::case::{Case, counted, verdict};
use super::certify::{renewed, setup};
use super::clock::ahead_millis;
use super::reach::loopback;
use super::{Certificate, Code, Mend, Report, Unusable, Verdict, Weak, Worth};
use std::collections::BTreeSet;

const DAY_MILLIS: u64 = 24 * 60 * 60 * 1_000;

/// How long before its end a certificate is told of.
const EARLY_MILLIS: u64 = 30 * DAY_MILLIS;

/// The certificates of all nodes that end soon, and those that were made for another address or another cluster.
pub(super) fn of_certificates(case: &Case<'_>) -> Vec<Verdict> {
    let of = |report| {
        let files = ends(case, report).chain(misnamed(case, report)).chain(of_another_cluster(case, report));
        files.chain(unusable(case, report))
    };
    case.reports.iter().flat_map(of).collect()
}

/// A node that runs by what its files held before.
fn unusable(case: &Case<'_>, report: &Report) -> Option<Verdict> {
    let Unusable { why, mend } = report.facts.unusable.as_ref()?;
    let name = case.name(report);
    let summary =
        format!("{name} goes on with the secrets that it has, and what stands there now cannot be used: {why}");
    let told = verdict(Code::BadSettings, &name, summary).because(case.says(report, why.clone()));
    Some(told.mended(mend.clone().map(Mend::command)))
}

/// A node that publishes an address for which its certificate was not made, as after a move.
fn misnamed<'a>(case: &'a Case<'_>, report: &'a Report) -> Option<Verdict> {
    let certificate = report.facts.certificates.iter().find(|certificate| certificate.not_for.is_some())?;
    let Certificate { setting, file, not_for, .. } = certificate;
    let (name, host) = (case.name(report), not_for.as_deref()?);
    // No certificate is to be made for where nobody reaches it.
    if loopback(case, report).is_some() {
        return None;
    }
    let summary = format!(
        "[{setting}: {file}] of {name} was not made for [{host}], where it publishes to be: no other \
                           node believes it"
    );
    let evidence = case.says(report, format!("I publish [{}]", report.explanation.node.address));
    let told = verdict(Code::AuthoritiesDiffer, &name, summary).because(evidence);
    Some(told.mended(renewed(case, report, certificate)))
}

/// A node whose `cluster.name` is not the one that its certificate was made for, as after `zazen setup` without
/// `--cluster-name`. A node that was in a cluster keeps the name of that, so no line is given then.
fn of_another_cluster<'a>(case: &'a Case<'_>, report: &'a Report) -> Option<Verdict> {
    let certificate = report.facts.certificates.iter().find(|certificate| certificate.of_cluster.is_some())?;
    let Certificate { setting, file, of_cluster, .. } = certificate;
    let (name, made_for) = (case.name(report), of_cluster.as_deref()?);
    let explanation = &report.explanation;
    let own = explanation.cluster_name.as_str();
    let summary = format!(
        "{name} is of cluster [{own}], and its [{setting}: {file}] was made for cluster [{made_for}]: no other node believes it"
    );
    let evidence = case.says(report, format!("my cluster.name is [{own}]"));
    let is_new = explanation.cluster_uuid.is_none();
    let mend = is_new.then(|| case.set(report, "cluster.name", &Worth::Text(made_for.to_owned())));
    Some(verdict(Code::WrongClusterName, &name, summary).because(evidence).mended(mend))
}

/// What was set on purpose, of all nodes.
pub(super) fn of_openness(case: &Case<'_>, before: &[Verdict]) -> Vec<Verdict> {
    let mut all: Vec<Verdict> =
        case.reports.iter().flat_map(|report| open(case, report).into_iter().chain(weak(case, report))).collect();
    let is_told =
        |code: Code, node: &Option<String>| before.iter().any(|verdict| verdict.code == code && verdict.node == *node);
    // Who is to listen elsewhere would not start without what is weak now. Who is to have what the others have needs no
    // authority of its own.
    let is_needed = |told: &Verdict| {
        let other = if told.code == Code::InsecureSetting { Code::LoopbackOnly } else { Code::AuthoritiesDiffer };
        is_told(other, &told.node)
    };
    for told in all.iter_mut().filter(|told| is_needed(told)) {
        told.mend = None;
    }
    all
}

/// What else than its node a verdict is about: a node has several certificates and settings, each with a verdict of its own.
pub(super) fn subject(verdict: &Verdict) -> Option<String> {
    let has_own = matches!(verdict.code, Code::CertificateExpires | Code::InsecureSetting);
    has_own.then(|| verdict.summary.clone())
}

fn ends<'a>(case: &'a Case<'_>, report: &'a Report) -> impl Iterator<Item = Verdict> + use<'a> {
    report.facts.certificates.iter().filter_map(move |certificate| end(case, report, certificate))
}

fn end(case: &Case<'_>, report: &Report, certificate: &Certificate) -> Option<Verdict> {
    let Certificate { setting, file, ends_millis, .. } = certificate;
    // Where the clock is wrong, certificates that have ended by it have not.
    let ahead = if std::ptr::eq(report, case.me) { ahead_millis(case) } else { 0 };
    let now = report.facts.wall_millis.saturating_sub(ahead);
    if ends_millis.saturating_sub(now) > EARLY_MILLIS {
        return None;
    }
    let name = case.name(report);
    let when = match ends_millis.checked_sub(now) {
        Some(left) => format!("ends in {}", counted(usize::try_from(left / DAY_MILLIS).unwrap_or(usize::MAX), "day")),
        None => "has ended".into(),
    };
    let summary = format!("[{setting}: {file}] of {name} {when}");
    let by_clock = match ends_millis.checked_sub(now) {
        Some(left) => format!("by my clock it ends in {}", so_long(left)),
        None => format!("by my clock it ended {} ago", so_long(now - ends_millis)),
    };
    let evidence = case.says(report, by_clock);
    // An authority is changed in steps.
    let is_made = setting != "zazen.security.authorities";
    let mend = is_made.then(|| renewed(case, report, certificate));
    Some(verdict(Code::CertificateExpires, &name, summary).because(evidence).mended(mend))
}

/// A time in the largest unit of which it has at least two.
fn so_long(millis: u64) -> String {
    let units = [(DAY_MILLIS, "day"), (DAY_MILLIS / 24, "hour"), (DAY_MILLIS / 24 / 60, "minute")];
    let (unit, name) = units.into_iter().find(|(unit, _)| millis >= 2 * unit).unwrap_or((1_000, "second"));
    counted(usize::try_from(millis / unit).unwrap_or(usize::MAX), name)
}

fn open(case: &Case<'_>, report: &Report) -> Option<Verdict> {
    let open = report.facts.open.first()?;
    let name = case.name(report);
    let evidence = report.facts.open.iter().map(|what| case.says(report, what.clone()));
    let summary = format!("{name} lets everybody in: {open}");
    let told = evidence.fold(verdict(Code::OpenToStrangers, &name, summary), Verdict::because);
    // One authority vouches for all, so all are named at once.
    let open = case.reports.iter().filter(|one| !one.facts.open.is_empty());
    let members = report.facts.members.iter().filter(|(_, at, _)| !at.is_loopback() && case.at(at).is_none());
    let silent = members.map(|(_, address, _)| address.host().to_owned());
    let hosts: BTreeSet<String> = open.map(|one| case.host(one)).chain(silent).collect();
    let line = setup(report, "--out security", hosts.iter().map(String::as_str));
    Some(told.mended(Mend::command(line).about(case.name(report))))
}

/// One for each setting; that ports may be open is told by the verdict that they are.
fn weak<'a>(case: &'a Case<'_>, report: &'a Report) -> impl Iterator<Item = Verdict> + use<'a> {
    let is_told =
        move |weak: &&Weak| report.facts.open.is_empty() || !weak.setting.starts_with("zazen.security.allow_open");
    report.facts.weak.iter().filter(is_told).map(move |Weak { setting: line, lets, mend }| {
        let name = case.name(report);
        let evidence = case.says(report, format!("I run with [{line}]"));
        let told = verdict(Code::InsecureSetting, &name, format!("[{line}] of {name}: {lets}")).because(evidence);
        told.mended(mend.split_once(": ").map(|(key, value)| case.plain(report, key, value)))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_told_in_a_unit_that_people_count_in() {
        let told = [0, 1_500, 119_000, 120_000, 7_200_000, DAY_MILLIS, 19 * DAY_MILLIS + 5].map(so_long);
        assert_eq!(told, ["0 seconds", "1 second", "119 seconds", "2 minutes", "2 hours", "24 hours", "19 days"]);
    }
}
