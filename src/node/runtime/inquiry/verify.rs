//! What others say of this machine, held against what the system says: whoever listens at a port may say anything, and some
//! of it comes to be typed by root.

use crate::cluster::Address;
use crate::diagnose::{Facts, Found, Probe, Process, Report};
use crate::runtime::proc;
use std::fs;
use std::os::unix::fs::MetadataExt;

/// Takes what cannot be believed from the reports of others, and leaves out those that are lies about this machine: in
/// their places is somebody that is no node. The first report is this node's own, the others come with where they were told.
pub(super) fn verified(reports: Vec<Report>, places: Vec<Address>) -> Vec<Report> {
    let mut all = reports.into_iter();
    let Some(mut own) = all.next() else { return Vec::new() };
    let (mut believed, mut lies) = (Vec::new(), Vec::new());
    for (mut report, place) in all.zip(places) {
        // A program is run by the lines that are printed, so it is this one.
        report.facts.binary.clone_from(&own.facts.binary);
        if own.facts.machine.is_none() || report.facts.machine != own.facts.machine {
            believed.push(report);
            continue;
        }
        match held_against(&own.facts, report, &proc::listeners) {
            Some(report) => believed.push(report),
            None => lies.push(place),
        }
    }
    own.facts.probes.extend(lies.into_iter().map(|address| Probe { address, found: Found::Stranger, free_port: None }));
    std::iter::once(own).chain(believed).collect()
}

/// A report of this machine, as far as the system agrees.
fn held_against(own: &Facts, mut report: Report, listeners: &dyn Fn(&[Address]) -> Vec<Process>) -> Option<Report> {
    let mut places: Vec<Address> = report.facts.bound.iter().map(|bound| Address::from(bound.as_str())).collect();
    places.push(report.explanation.node.address.clone());
    let found = listeners(&places);
    let facts = &mut report.facts;
    if found.iter().any(|process| process.pid == facts.pid) {
        let user = user_of(facts.pid);
        (facts.is_root, facts.user) = (user.is_none(), user);
        if !is_trusted(facts.user) {
            distrust(facts, own.is_root);
        }
        return Some(report);
    }
    // Of other users' processes only root is told.
    if found.is_empty() && !own.is_root {
        distrust(facts, false);
        return Some(report);
    }
    None
}

/// Who runs a process, unless that is root.
fn user_of(pid: u32) -> Option<(u32, u32)> {
    let about = fs::metadata(format!("/proc/{pid}")).ok()?;
    (about.uid() != 0).then(|| (about.uid(), about.gid()))
}

/// Whether a user is root or the one of this process.
fn is_trusted(user: Option<(u32, u32)>) -> bool {
    user.is_none_or(|(user, _)| user == rustix::process::geteuid().as_raw())
}

/// What another user says of files and of others is left out, and how it is started unless it is started as that user.
fn distrust(facts: &mut Facts, starts_as_it: bool) {
    facts.siblings.clear();
    facts.strays.clear();
    facts.processes.clear();
    facts.roomy = None;
    facts.abandoned = None;
    if !starts_as_it {
        facts.file = None;
        facts.launch = crate::diagnose::Launch::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::{Launch, Sibling};

    fn report(pid: u32) -> Report {
        let node = r#"{"id":"a","ephemeral_id":"b","name":"n2","address":"127.0.0.1:9302","roles":[],"attributes":{},
            "version":"6.8.23"}"#;
        let none = r#"{"term":0,"version":0,"uuid":"AAAAAAAAAAAAAAAAAAAAAA"}"#;
        let explanation = format!(
            r#"{{"summary":"","advice":[],"cluster_name":"shop","node":{node},"mode":"finding","term":0,"accepted":{none},
            "committed":{none},"since_millis":0,"needed":[],"hosts":[],"unresolved":[],"nodes":[]}}"#
        );
        let text = format!(r#"{{"wire":1,"explanation":{explanation},"facts":{{"file":"/etc/zazen/n2.yml"}}}}"#);
        let mut report: Report = serde_json::from_str(&text).expect("it is a report");
        report.facts.pid = pid;
        report.facts.siblings = vec![Sibling::default()];
        report.facts.launch = Launch { arguments: vec![("a".into(), "b".into())], ..Launch::default() };
        report
    }

    fn listener(pid: u32) -> Process {
        Process {
            address: "127.0.0.1:9302".into(),
            pid,
            is_stopped: false,
            waits_for_disk: false,
            tracer: None,
            program: "zazen".into(),
            freezer: None,
        }
    }

    #[test]
    fn who_names_a_process_that_listens_elsewhere_is_no_node() {
        let own = std::process::id();
        let root = Facts { is_root: true, ..Facts::default() };
        let told = held_against(&root, report(own), &|_| vec![listener(own)]).expect("it listens there");
        assert_eq!((told.facts.pid, told.facts.siblings.len()), (own, 1));
        let lie = held_against(&root, report(1), &|_| vec![listener(own)]);
        assert_eq!(lie, None);
        assert_eq!(held_against(&root, report(1), &|_| Vec::new()), None, "root sees all that listen");
    }

    #[test]
    fn what_another_user_says_of_others_is_left_out() {
        let told = held_against(&Facts::default(), report(1), &|_| Vec::new()).expect("it cannot be told");
        assert!(told.facts.siblings.is_empty() && told.facts.launch.is_empty() && told.facts.file.is_none());
    }
}
