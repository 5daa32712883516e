//! What others say of this machine, held against what the system says: whoever listens at a port may say anything, and some
//! of it comes to be typed by root.

use crate::cluster::Address;
use crate::diagnose::{Facts, Launch, Report};
use crate::runtime::addresses::is_here;
use crate::runtime::host::is_trusted;
use crate::runtime::proc;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;

/// What was told at an address.
pub(super) struct Told {
    pub(super) at: Address,
    pub(super) report: Report,
}

/// What is left when the system of this machine was asked.
pub(super) struct Verified {
    pub(super) reports: Vec<Report>,
    /// Where somebody said what is not so.
    pub(super) lies: Vec<Address>,
}

/// Takes what cannot be believed from what others told a node, and leaves out what is a lie about this machine.
pub(super) fn verified(own: &Facts, all: Vec<Told>) -> Verified {
    let is_here = |told: &&Told| own.machine.is_some() && told.report.facts.machine == own.machine;
    let places: Vec<Address> = all.iter().filter(is_here).map(|told| told.at.clone()).collect();
    let listening = proc::listening_at(&places);
    let (mut reports, mut lies) = (Vec::new(), Vec::new());
    for mut told in all {
        // A program is run by the lines that are printed, so it is this one.
        told.report.facts.binary.clone_from(&own.binary);
        if !is_here(&&told) {
            reports.push(told.report);
            continue;
        }
        let at = told.at.clone();
        match held_against(own, told, &listening) {
            Some(report) => reports.push(report),
            None => lies.push(at),
        }
    }
    Verified { reports, lies }
}

/// A report of this machine, as far as the system agrees: its process listens where it was told. Where it says that it is
/// may be the address of another one.
fn held_against(own: &Facts, told: Told, listening: &[(Address, u32)]) -> Option<Report> {
    let Told { at, mut report } = told;
    let facts = &mut report.facts;
    let found: Vec<u32> = listening.iter().filter(|(address, _)| *address == at).map(|(_, pid)| *pid).collect();
    if found.contains(&facts.pid) {
        let user = user_of(facts.pid);
        (facts.is_root, facts.user) = (user.is_none(), user);
        if !facts.user.is_none_or(|(user, _)| is_trusted(user)) {
            distrust(facts, own.is_root);
        }
        return Some(report);
    }
    // Of other users' processes only root is told, and of what is reached by an address of another host nobody.
    let can_be_told = own.is_root && at.as_str().parse().is_ok_and(|at: SocketAddr| is_here(&at.ip()));
    if found.is_empty() && !can_be_told {
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

/// What another user says of files and of others is left out, and how it is started unless it is started as that user.
fn distrust(facts: &mut Facts, starts_as_it: bool) {
    facts.siblings.clear();
    facts.strays.clear();
    facts.processes.clear();
    facts.roomy = None;
    facts.abandoned = None;
    facts.unmounted = None;
    // What is to be in it would be written by whoever types the line.
    facts.hosts_file = None;
    if !starts_as_it {
        facts.file = None;
        facts.launch = Launch::default();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::{HostsFile, Sibling};

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
        report.facts.hosts_file = Some(HostsFile { path: "/etc/shadow".into(), hosts: Vec::new() });
        report.facts.launch = Launch { arguments: vec![("a".into(), "b".into())], ..Launch::default() };
        report
    }

    fn told(pid: u32) -> Told {
        Told { at: "127.0.0.1:9302".into(), report: report(pid) }
    }

    #[test]
    fn who_names_a_process_that_listens_elsewhere_is_no_node() {
        let own = std::process::id();
        let root = Facts { is_root: true, ..Facts::default() };
        let here = [("127.0.0.1:9302".into(), own), ("127.0.0.1:9301".into(), 1)];
        let believed = held_against(&root, told(own), &here).expect("it listens there");
        assert_eq!((believed.facts.pid, believed.facts.siblings.len()), (own, 1));
        assert_eq!(held_against(&root, told(1), &here), None, "that one listens at another address");
        let mut posing = told(1);
        posing.report.facts.bound = vec!["127.0.0.1:9301".into()];
        assert_eq!(held_against(&root, posing, &here), None, "whatever it says of where it listens");
        assert_eq!(held_against(&root, told(1), &[]), None, "root sees all that listen");
    }

    #[test]
    fn what_another_user_says_of_others_is_left_out() {
        let believed = held_against(&Facts::default(), told(1), &[]).expect("it cannot be told");
        assert!(
            believed.facts.siblings.is_empty() && believed.facts.launch.is_empty() && believed.facts.file.is_none()
        );
        assert_eq!(believed.facts.hosts_file, None);
    }
}
