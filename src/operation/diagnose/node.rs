//! What is wrong with one node by itself: its disk, its descriptors.

use super::case::{Case, verdict};
use super::reach::other_disk;
use super::shell::quoted;
use super::{Certainty, Code, Facts, Mend, Report, Start, Verdict};
use crate::cluster::Address;

/// With less room than this on its disk a node may not make the next generation of its file.
const ROOM_MIN: u64 = 16 << 20;

/// A write that took so long is one of a disk that should be looked at.
const SYNC_MAX_MILLIS: u64 = 2_000;

/// How many files and sockets a process should be able to open.
const FILES_MIN: u64 = 256;

/// All of it, of all nodes.
pub(super) fn of_nodes(case: &Case<'_>) -> Vec<Verdict> {
    let of = |report| [disk_slow(case, report), disk_full(case, report), too_many_files(case, report)];
    case.reports.iter().flat_map(of).flatten().collect()
}

fn disk_slow(case: &Case<'_>, report: &Report) -> Option<Verdict> {
    let slow = report.facts.sync_millis.filter(|millis| *millis >= SYNC_MAX_MILLIS);
    let (millis, certainty) = match (report.explanation.disk_hangs_millis, slow) {
        (Some(millis), _) => (millis, Certainty::Certain),
        (None, Some(millis)) => (millis, Certainty::Likely),
        (None, None) => return None,
    };
    let (name, data) = (case.name(report), &report.facts.data);
    let what = match report.explanation.disk_hangs_millis {
        Some(_) => format!("a write to [{data}] has not been finished for {millis}ms"),
        None => format!("a write to [{data}] took {millis}ms"),
    };
    let summary = format!("the disk of {name} under [{data}] does not finish writes in time");
    let mend = other_disk(data).map(|other| case.text(report, "path.data", &other));
    Some(verdict(Code::DiskSlow, &name, summary).only(certainty).because(case.says(report, what)).mended(mend))
}

fn disk_full(case: &Case<'_>, report: &Report) -> Option<Verdict> {
    let Facts { free_bytes, data, .. } = &report.facts;
    let free = free_bytes.filter(|free| *free < ROOM_MIN)?;
    let name = case.name(report);
    let summary = format!("the disk of {name} under [{data}] has no room for {}", what_fits(free));
    let evidence = case.says(report, format!("a new file may have [{free}] bytes, [{ROOM_MIN}] are needed"));
    let mend = report.facts.roomy.as_ref().and_then(|roomy| {
        let new = unused(roomy, &name, report);
        case.restart(report, &moved(data, &new), |start| start)
    });
    Some(verdict(Code::DiskFull, &name, summary).because(evidence).mended(mend))
}

fn what_fits(free: u64) -> String {
    if free == 0 { "another file".to_owned() } else { format!("more than {free} bytes") }
}

/// A directory that nobody made before: what is there already is somebody's.
fn unused(above: &str, name: &str, teller: &Report) -> String {
    format!("{above}/zazen-{name}-{}-{}", teller.facts.pid, teller.facts.wall_millis / 1_000)
}

/// Moves what a node has on disk, as the beginning of a line. Where it was there is a link to where it is: a copy that stays
/// behind would be started from one day, and what was written since be lost.
pub fn moved(data: &str, new: &str) -> String {
    let (inside, there, new) = (quoted(&format!("{data}/nodes")), quoted(&format!("{new}/nodes")), quoted(new));
    // A node that never got as far as to make one has none. Who types it twice has moved it already.
    let move_ = format!("{{ [ ! -e {inside} ] || mv -T {inside} {there}; }}");
    let all = format!("mkdir -p -m 700 {new} && {move_} && mkdir -p {there} && ln -s {there} {inside}");
    format!("[ {inside} -ef {there} ] || {{ {all}; }} && ")
}

/// A node that does not run, and has no room on its disk to run again.
pub(super) fn full(case: &Case<'_>, address: &Address, name: &str) -> Option<Verdict> {
    let known = case.sibling_at(address)?;
    let sibling = known.sibling;
    let free = sibling.free_bytes.filter(|free| *free < ROOM_MIN)?;
    let data = &sibling.data;
    let summary = format!("{name} does not run, and its disk under [{data}] has no room for {}", what_fits(free));
    let what = format!("a new file under [{data}] may have [{free}] bytes, [{ROOM_MIN}] are needed");
    let evidence = case.says(known.by, what);
    let mend = sibling.roomy.as_ref().map(|roomy| {
        let new = unused(roomy, name, known.by);
        let mend = Start::of(&known.by.facts.binary, sibling).mend(&moved(data, &new)).about(name);
        case.placed_as(Mend { file: sibling.file.clone(), ..mend }, known)
    });
    Some(verdict(Code::DiskFull, name, summary).because(evidence).mended(mend))
}

fn too_many_files(case: &Case<'_>, report: &Report) -> Option<Verdict> {
    let (open, limit) = (report.facts.open_files?, report.facts.file_limit?);
    if limit >= FILES_MIN && open * 10 < limit * 9 {
        return None;
    }
    let name = case.name(report);
    let summary = format!("{name} has [{open}] files and sockets open, and may have [{limit}]");
    let evidence = case.says(report, format!("[{open}] of [{limit}] descriptors are taken"));
    // A running process may not raise its own hard limit, nor may its user: a start from another shell may have more.
    let more = "ulimit -n 65536 2>/dev/null || ulimit -n \"$(ulimit -Hn)\"; ";
    let mend = case.restart(report, more, |start| start);
    Some(verdict(Code::TooManyFiles, &name, summary).because(evidence).mended(mend))
}
