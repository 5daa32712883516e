//! What will lock nodes or users out, and what lets everybody in.

use super::case::{Case, command, quoted, verdict};
use super::{Certainty, Certificate, Code, Report, Verdict};

const DAY_MILLIS: u64 = 24 * 60 * 60 * 1_000;

/// How long before its end a certificate is told of.
const EARLY_MILLIS: u64 = 30 * DAY_MILLIS;

/// All of it, of all nodes.
pub(super) fn of_security(case: &Case<'_>) -> Vec<Verdict> {
    let of = |report| ends(case, report).chain(open(case, report)).collect::<Vec<_>>();
    case.reports.iter().flat_map(of).collect()
}

fn ends<'a>(case: &'a Case<'_>, report: &'a Report) -> impl Iterator<Item = Verdict> + use<'a> {
    report.facts.certificates.iter().filter_map(move |certificate| end(case, report, certificate))
}

fn end(case: &Case<'_>, report: &Report, certificate: &Certificate) -> Option<Verdict> {
    let Certificate { setting, file, ends_millis } = certificate;
    let now = report.facts.wall_millis;
    if ends_millis.saturating_sub(now) > EARLY_MILLIS {
        return None;
    }
    let name = case.name(report);
    let (when, certainty) = match ends_millis.checked_sub(now) {
        Some(left) => (format!("ends in {} days", left / DAY_MILLIS), Certainty::Certain),
        None => ("has ended".into(), Certainty::Certain),
    };
    let summary = format!("[{setting}: {file}] of {name} {when}");
    let evidence = case.says(report, format!("it is good until [{ends_millis}], and the clock is at [{now}]"));
    // The authority is not renewed by it, and its directory is not on the node.
    let host = report.explanation.node.address.as_str().rsplit_once(':').map_or("HOST", |(host, _)| host);
    let line = format!("{} setup --renew --out security {}", quoted(&report.facts.binary), quoted(host));
    let mend = (setting != "zazen.security.authorities").then(|| command(report, line));
    Some(verdict(Code::CertificateExpires, &name, summary).only(certainty).because(evidence).mended(mend))
}

fn open(case: &Case<'_>, report: &Report) -> Option<Verdict> {
    let open = report.facts.open.first()?;
    let name = case.name(report);
    let host = report.explanation.node.address.as_str().rsplit_once(':').map_or("HOST", |(host, _)| host);
    let line = format!("{} setup --out security {}", quoted(&report.facts.binary), quoted(host));
    let evidence = report.facts.open.iter().map(|what| case.says(report, what.clone()));
    let summary = format!("{name} lets everybody in: {open}");
    let told = evidence.fold(verdict(Code::OpenToStrangers, &name, summary), Verdict::because);
    Some(told.mended(command(report, line)))
}
