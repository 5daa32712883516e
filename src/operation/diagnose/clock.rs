//! Clocks that run apart: by what nodes say of the time, and by certificates that one of them does not find valid yet.

use super::case::{Case, verdict};
use super::{Certainty, Code, Distrust, Evidence, Mend, Probe, Report, Verdict};
use crate::cluster::Address;

/// Clocks that differ by less are well.
const SKEW_MAX_MILLIS: i64 = 2_000;

/// Has a host follow the time of the network.
pub const SET_CLOCK: &str = "timedatectl set-ntp true";

/// Nodes whose clocks are told apart by what they say.
pub(super) fn clocks(case: &Case<'_>) -> Vec<Verdict> {
    let ahead: Vec<(&Report, i64)> =
        case.reports.iter().filter_map(|report| Some((report, report.facts.ahead_millis?))).collect();
    let mut all: Vec<i64> = ahead.iter().map(|(_, millis)| *millis).chain([0]).collect();
    if let [_, other] = case.reports
        && let [(_, millis)] = ahead[..]
        && millis.abs() > SKEW_MAX_MILLIS
    {
        return of_two(case, [case.me, other], millis.abs());
    }
    all.sort_unstable();
    // Of those that agree there are more: the odd one is told.
    let middle = all[all.len() / 2];
    let odd = case.reports.iter().map(|report| (report, report.facts.ahead_millis.unwrap_or(0) - middle));
    let odd = odd.filter(|(_, millis)| millis.abs() > SKEW_MAX_MILLIS);
    let of = |(report, millis): (&Report, i64)| {
        let name = case.name(report);
        let (by, way) = (millis.abs(), if millis > 0 { "ahead of" } else { "behind" });
        let summary = format!("the clock of {name} is {by}ms {way} those of the others");
        let evidence = case.says(report, format!("my clock says [{}]", report.facts.wall_millis));
        let mend = case.command(report, SET_CLOCK.to_owned());
        verdict(Code::ClockSkew, &name, summary).because(evidence).mended(mend)
    };
    odd.map(of).collect()
}

/// Of two clocks that differ nobody knows which is right; to have both follow the time of the network does no harm.
fn of_two(case: &Case<'_>, both: [&Report; 2], by: i64) -> Vec<Verdict> {
    let names = both.map(|report| case.name(report));
    let of = |report: &Report| {
        let summary = format!("the clocks of {} and {} are {by}ms apart, and one of them is wrong", names[0], names[1]);
        let evidence = case.says(report, format!("my clock says [{}]", report.facts.wall_millis));
        let told = verdict(Code::ClockSkew, case.name(report), summary).because(evidence).only(Certainty::Possible);
        told.mended(case.command(report, SET_CLOCK.to_owned()))
    };
    both.map(of).into()
}

/// By how much the clock of the asked node may be ahead of those of the others.
pub(super) fn ahead_millis(case: &Case<'_>) -> u64 {
    let seconds = case.me.facts.probes.iter().filter_map(|probe| match case.distrust(&probe.address) {
        Some(Distrust::ClockBehind(seconds)) => Some(*seconds),
        Some(_) | None => None,
    });
    seconds.max().unwrap_or(0).saturating_mul(1_000)
}

/// Nodes that agree in everything but the time, by which their certificates have not begun or have ended.
pub(super) fn untimely(case: &Case<'_>) -> Vec<Verdict> {
    let probes = &case.me.facts.probes;
    let odd: Vec<(&Address, Evidence)> = probes.iter().filter_map(|probe| time_differs(case, probe)).collect();
    // Whom more find in another time than share its own is the odd one.
    if odd.len() > case.reports.len() {
        let evidence = odd.into_iter().map(|(_, evidence)| evidence);
        let mend = case.command(case.me, SET_CLOCK.to_owned());
        return vec![in_another_time(&case.name(case.me), evidence).mended(mend)];
    }
    let of = |(address, evidence): (&Address, Evidence)| {
        let name = case.name_at(address);
        let host = case.neighbour_at(address).is_none().then(|| address.host().to_owned());
        in_another_time(&name, [evidence]).mended(Mend { host, ..Mend::command(SET_CLOCK).about(&name) })
    };
    odd.into_iter().map(of).collect()
}

fn in_another_time(name: &str, evidence: impl IntoIterator<Item = Evidence>) -> Verdict {
    let summary = format!(
        "the clock of {name} is not that of the others (or its certificate is not of this time): certificates that hold by \
         one clock do not by the other"
    );
    evidence.into_iter().fold(verdict(Code::ClockSkew, name, summary), Verdict::because)
}

fn time_differs<'a>(case: &Case<'_>, probe: &'a Probe) -> Option<(&'a Address, Evidence)> {
    let address = &probe.address;
    let said = match case.distrust(address)? {
        Distrust::EarlyCertificate(seconds) => {
            format!("by my clock the certificate that [{address}] shows begins in {seconds} s")
        }
        Distrust::ClockBehind(seconds) => format!(
            "by my clock the certificate that [{address}] shows has ended; by its own clock, {seconds} s behind mine, it has not"
        ),
        Distrust::OtherTime => {
            format!("[{address}] refuses my certificate as one that has ended or not begun; by my clock it is valid")
        }
        Distrust::OtherSecret
        | Distrust::NoSecret
        | Distrust::OtherAuthority(_)
        | Distrust::OfHost(_)
        | Distrust::OfCluster(_)
        | Distrust::RefusesAuthority
        | Distrust::RefusesCluster
        | Distrust::Unsecured(_)
        | Distrust::LapsedCertificate => return None,
    };
    Some((address, case.says(case.me, said)))
}
