//! Decisions about causes, each on what a few nodes say.

mod absent;
mod counts;
mod credentials;
mod failed;
mod gone;
mod goodbye;
mod kin;
mod launch;
mod machines;
mod neighbours;
mod seeds;
mod wiped;

use super::{
    Bare, Certificate, Code, Diagnosis, Distant, Distrust, Facts, Found, HostsFile, Mend, Obstacle, Origin, Probe,
    Process, Remembered, Report, Sibling, Slip, Standing, Verdict, Weak, Worth, judge,
};
use crate::cluster::{Address, Node, Roles, StateId, Term, Uuid};
use crate::zen::Explanation;
use crate::zen::explain::{Group, Host, Member, PingOutcome, Quota, Straggler};
use std::slice;
use std::sync::Arc;

const MINIMUM: &str = "discovery.zen.minimum_master_nodes";

fn address(number: usize) -> Address {
    format!("10.0.0.{number}:9300").as_str().into()
}

/// A node that failed a while ago.
fn gone(number: usize, votes: Option<bool>) -> Remembered {
    Remembered {
        id: format!("id-{number}").as_str().into(),
        name: format!("n{number}"),
        address: address(number),
        failed: true,
        said_so: false,
        removed: false,
        is_eligible: None,
        votes,
    }
}

fn node(number: usize) -> Arc<Node> {
    Arc::new(Node {
        id: format!("id-{number}").as_str().into(),
        ephemeral_id: format!("process-{number}").as_str().into(),
        name: format!("n{number}").as_str().into(),
        address: address(number),
        roles: Roles::ALL,
        attributes: Arc::default(),
        version: "6.8.23".into(),
    })
}

/// What a node says that is well and has no master.
fn report(number: usize) -> Report {
    let explanation = Explanation {
        summary: String::new(),
        advice: Vec::new(),
        cluster_name: "shop".into(),
        cluster_uuid: Some(Uuid::from_u128(7)),
        node: node(number),
        mode: "finding".into(),
        term: Term::ZERO,
        accepted: StateId::NONE,
        committed: StateId::NONE,
        master_node: None,
        since_millis: 60_000,
        master_heard_millis: None,
        attempt: None,
        disk_hangs_millis: None,
        needed: Vec::new(),
        hosts: Vec::new(),
        unresolved: Vec::new(),
        nodes: Vec::new(),
    };
    let facts = Facts {
        pid: 100 + u32::try_from(number).expect("it is small"),
        binary: "/usr/bin/zazen".into(),
        file: Some(format!("/etc/zazen/n{number}.yml")),
        data: format!("/var/lib/zazen/n{number}"),
        bound: vec![address(number).to_string()],
        seeds: Some((0..3).map(|number| address(number).to_string()).collect()),
        discovery: "zen".into(),
        ..Facts::default()
    };
    Report { wire: 1, explanation, facts }
}

/// The same of one that follows a master.
fn follower(number: usize, master: usize) -> Report {
    let mut report = report(number);
    report.explanation.master_node = Some(node(master));
    report.facts.members = (0..3).map(|number| (format!("n{number}"), address(number), true)).collect();
    report
}

/// One that formed a cluster of this name by itself.
fn alone(number: usize, name: &str) -> Report {
    let mut report = follower(number, number);
    report.explanation.cluster_name = name.into();
    report.explanation.cluster_uuid = Some(Uuid::from_u128(9));
    report.facts.members = vec![(format!("n{number}"), address(number), true)];
    report
}

/// The answer of a node that could be master, and knows nothing yet.
fn answered() -> PingOutcome {
    PingOutcome::Answered {
        master_eligible: true,
        masterless: true,
        sees_quorum: false,
        term: Term::ZERO,
        accepted: StateId::NONE,
        master: None,
        not_joined: None,
    }
}

fn pinged(mut report: Report, number: usize, outcome: PingOutcome) -> Report {
    report.explanation.hosts.push(Host {
        address: address(number),
        node: Some(node(number)),
        instead_of: None,
        outcome,
    });
    report
}

fn found(mut report: Report, address: Address, outcome: PingOutcome, found: Option<Found>) -> Report {
    report.explanation.hosts.push(Host { address: address.clone(), node: None, instead_of: None, outcome });
    report.facts.probes.extend(found.map(|found| Probe { address, found, free_port: None }));
    report
}

/// Of three voters only the first is there.
fn voters(mut report: Report) -> Report {
    let member = |number: usize| Member {
        id: format!("id-{number}").as_str().into(),
        name: Some(format!("n{number}").as_str().into()),
        address: Some(address(number)),
        found: number == 0,
    };
    let members = (0..3).map(member).collect();
    report.explanation.needed.push(Quota { of: Group::VotingSet, members, needed: 2, found: 1 });
    report
}

fn sibling(number: usize) -> Sibling {
    Sibling {
        file: Some(format!("/etc/zazen/n{number}.yml")),
        name: Some(format!("n{number}")),
        cluster: "shop".into(),
        port: Some(9300),
        hosts: vec![format!("10.0.0.{number}")],
        data: format!("/var/lib/zazen/n{number}"),
        is_eligible: true,
        ..Sibling::default()
    }
}

fn judged(reports: &[Report]) -> Diagnosis {
    judge(reports).expect("somebody says something")
}

/// Codes, whom they are about, and what to type.
fn verdicts(reports: &[Report]) -> Vec<(Code, String, String)> {
    let told = judged(reports).verdicts.into_iter();
    let line = |verdict: &super::Verdict| verdict.mend.as_ref().map(|mend| mend.line.clone()).unwrap_or_default();
    told.map(|verdict| (verdict.code, verdict.node.clone().unwrap_or_default(), line(&verdict))).collect()
}

fn expected(all: &[(Code, &str, &str)]) -> Vec<(Code, String, String)> {
    all.iter().map(|(code, node, line)| (*code, (*node).to_owned(), (*line).to_owned())).collect()
}

#[test]
fn a_cluster_that_is_well_is_sound() {
    let told = judged(&[follower(0, 0), follower(1, 0), follower(2, 0)]);
    assert_eq!((told.standing, told.verdicts), (Standing::Sound, Vec::new()));
    assert_eq!(told.asked, ["n0", "n1", "n2"]);
}

#[test]
fn voters_that_do_not_run_are_started_by_the_files_that_are_theirs() {
    let mut asked = voters(pinged(pinged(report(0), 1, PingOutcome::Refused), 2, PingOutcome::Refused));
    asked.facts.siblings = vec![sibling(1), sibling(2)];
    let start = |number: usize| format!("/usr/bin/zazen start -c /etc/zazen/n{number}.yml");
    let (first, second) = (start(1), start(2));
    let all = [(Code::QuorumLost, "n1", &*first), (Code::VoterDown, "n1", &*first), (Code::VoterDown, "n2", &*second)];
    assert_eq!(verdicts(&[asked]), expected(&all));
}

/// The master died before it could count the votes of those that had just joined it.
#[test]
fn the_only_voter_of_a_voting_set_that_was_to_grow_is_started() {
    let mut asked = pinged(pinged(report(0), 1, PingOutcome::Refused), 2, answered());
    let member = |number: usize| Member {
        id: format!("id-{number}").as_str().into(),
        name: Some(format!("n{number}").as_str().into()),
        address: Some(address(number)),
        found: number != 1,
    };
    let set = |of: Group, numbers: &[usize], needed: usize| {
        let members: Vec<Member> = numbers.iter().copied().map(member).collect();
        Quota { of, found: members.iter().filter(|member| member.found).count(), members, needed }
    };
    asked.explanation.needed = vec![set(Group::VotingSet, &[0, 1, 2], 2), set(Group::LastCommittedVotingSet, &[1], 1)];
    asked.facts.siblings = vec![sibling(1)];
    let start = "/usr/bin/zazen start -c /etc/zazen/n1.yml";
    let all = [(Code::QuorumLost, "n1", start), (Code::VoterDown, "n1", start)];
    assert_eq!(verdicts(&[asked, report(2)]), expected(&all));
}

#[test]
fn a_node_with_a_relative_path_is_started_on_the_data_that_it_had() {
    let mut asked = voters(pinged(pinged(report(0), 1, PingOutcome::Refused), 2, PingOutcome::Refused));
    asked.facts.siblings = vec![Sibling { is_data_relative: true, data: "/srv/my data/n1".into(), ..sibling(1) }];
    let told = verdicts(&[asked]);
    let start = "/usr/bin/zazen start -c /etc/zazen/n1.yml -E path.data='/srv/my data/n1'";
    assert!(
        told.iter().any(|(code, node, line)| (*code, &**node, &**line) == (Code::VoterDown, "n1", start)),
        "{told:?}"
    );
}

#[test]
fn who_answers_is_not_to_be_started() {
    let asked = voters(pinged(pinged(report(0), 1, PingOutcome::TimedOut), 2, PingOutcome::Refused));
    let told = verdicts(&[asked, report(1)]);
    assert!(told.iter().all(|(_, node, _)| node != "n1"), "{told:?}");
}

#[test]
fn one_that_is_stopped_and_one_that_is_gone_are_both_named() {
    let mut asked = voters(pinged(pinged(report(0), 1, PingOutcome::TimedOut), 2, PingOutcome::Refused));
    let process = Process {
        address: address(1),
        pid: 4711,
        is_stopped: true,
        waits_for_disk: false,
        tracer: None,
        program: "zazen".into(),
        freezer: None,
    };
    asked.facts.processes.push(process);
    let all = [(Code::FrozenNode, "n1", "kill -CONT 4711"), (Code::VoterDown, "n2", "")];
    assert_eq!(verdicts(&[asked]), expected(&all));
}

#[test]
fn what_listens_in_the_place_of_a_node_is_told_of_the_node_and_not_of_its_seed_hosts() {
    let mut asked = voters(pinged(pinged(report(0), 1, PingOutcome::NotUnderstood), 2, answered()));
    asked.facts.probes.push(Probe { address: address(1), found: Found::Stranger, free_port: Some(9301) });
    let without_a_file = verdicts(&[asked.clone(), report(2)]);
    assert_eq!(without_a_file.first().map(|(code, ..)| *code), Some(Code::HttpPortInSeeds), "{without_a_file:?}");
    asked.facts.siblings = vec![sibling(1)];
    let told = verdicts(&[asked.clone(), report(2)]);
    assert_eq!(told, expected(&[(Code::PortInUse, "n1", "transport.port: 9301")]));
    asked.facts.siblings = vec![Sibling { experiment: Some("bully".into()), ..sibling(1) }];
    let told = verdicts(&[asked, report(2)]);
    assert_eq!(told, expected(&[(Code::SettingsDiffer, "n1", "discovery.type: zen")]), "it elects by an experiment");
}

#[test]
fn a_newcomer_whose_cluster_has_another_name_is_told_to_change_its_own() {
    let mut newcomer = report(2);
    newcomer.explanation.cluster_name = "shpo".into();
    newcomer.explanation.cluster_uuid = None;
    let ours = || "shpo".into();
    for number in 0..2 {
        newcomer = pinged(newcomer, number, PingOutcome::OtherClusterName { theirs: "shop".into(), ours: ours() });
    }
    let told = verdicts(&[newcomer, follower(0, 0), follower(1, 0)]);
    assert_eq!(told, expected(&[(Code::WrongClusterName, "n2", "cluster.name: shop")]));
}

#[test]
fn of_two_that_have_two_names_both_tell_the_same_to_take_the_others() {
    let named = |number: usize, name: &str, theirs: &str| {
        let mut one = report(number);
        (one.explanation.cluster_name, one.explanation.cluster_uuid) = (name.into(), None);
        let other = PingOutcome::OtherClusterName { theirs: theirs.into(), ours: name.into() };
        pinged(one, 1 - number, other)
    };
    for (right, wrong) in [("shop", "shpo"), ("shop", "elasticsearch")] {
        let (first, second) = (named(0, wrong, right), named(1, right, wrong));
        let line = format!("cluster.name: {right}");
        for reports in [[first.clone(), second.clone()], [second, first]] {
            assert_eq!(verdicts(&reports), expected(&[(Code::WrongClusterName, "n0", &line)]));
        }
    }
}

#[test]
fn of_clocks_the_odd_one_is_told() {
    let ahead = |mut report: Report, millis: i64| {
        report.facts.ahead_millis = Some(millis);
        report
    };
    let odd_asked = [follower(0, 0), ahead(follower(1, 0), -10_000), ahead(follower(2, 0), -10_100)];
    assert_eq!(verdicts(&odd_asked)[0].1, "n0", "who asks may be the odd one");
    let odd_other = [follower(0, 0), ahead(follower(1, 0), 3), ahead(follower(2, 0), 10_000)];
    assert_eq!(verdicts(&odd_other)[0].1, "n2");
    let two = judged(&[follower(0, 0), ahead(follower(1, 0), 10_000)]).verdicts;
    let told = two.iter().map(|verdict| (verdict.code, verdict.node.as_deref(), verdict.certainty));
    let skewed = |name| (Code::ClockSkew, Some(name), super::Certainty::Possible);
    assert_eq!(told.collect::<Vec<_>>(), ["n0", "n1"].map(skewed), "of two nobody knows which is right");
    let all_well = [follower(0, 0), ahead(follower(1, 0), 1_500), ahead(follower(2, 0), -1_500)];
    assert_eq!(verdicts(&all_well), []);
}

#[test]
fn a_node_of_another_id_has_nothing_to_do_with_a_voter() {
    let mut asked = voters(pinged(pinged(report(0), 1, PingOutcome::Refused), 2, PingOutcome::Refused));
    asked.explanation.needed[0].members[2].id = Arc::from("id-9");
    let told = verdicts(&[asked, report(2)]);
    assert_eq!(told.iter().map(|(code, ..)| *code).next(), Some(Code::QuorumLost), "{told:?}");
}

#[test]
fn what_weakens_security_is_told_once_and_leaves_a_cluster_sound() {
    let weak = |key: &str| Weak {
        setting: format!("{key}: true"),
        lets: "everybody does everything".into(),
        mend: format!("{key}: false"),
    };
    let mut reports = [follower(0, 0), follower(1, 0)];
    reports[1].facts.weak = vec![weak("zazen.security.allow_open"), weak("zazen.faults.enabled")];
    let faults = (Code::InsecureSetting, "n1", "zazen.faults.enabled: false");
    let may_be_open = (Code::InsecureSetting, "n1", "zazen.security.allow_open: false");
    assert_eq!(verdicts(&reports), expected(&[may_be_open, faults]));
    reports[1].facts.open = vec!["http listens beyond loopback".into()];
    let open =
        (Code::OpenToStrangers, "n1", "/usr/bin/zazen setup --cluster-name shop --out security 10.0.0.1 10.0.0.2");
    assert_eq!(verdicts(&reports), expected(&[open, faults]), "that a port may be open is told by that it is");
    assert_eq!(judged(&reports).standing, Standing::Sound);
}

#[test]
fn every_certificate_that_ends_is_told() {
    let certificate = |setting: &str, file: &str| Certificate {
        setting: setting.into(),
        file: format!("/etc/zazen/{file}"),
        key: setting.ends_with("certificate").then(|| "/etc/zazen/node.key".into()),
        ends_millis: 0,
        not_for: None,
        of_cluster: None,
    };
    let mut reports = [follower(0, 0)];
    reports[0].facts.certificates = vec![
        certificate("zazen.security.certificate", "node.crt"),
        certificate("zazen.security.authorities", "ca.crt"),
    ];
    let renew = "/usr/bin/zazen setup --cluster-name shop --renew --out /etc 10.0.0.0";
    let told = expected(&[(Code::CertificateExpires, "n0", renew), (Code::CertificateExpires, "n0", "")]);
    assert_eq!(verdicts(&reports), told);
    let mend = |reports: &[Report]| judged(reports).verdicts.remove(0).mend.expect("it can be made anew");
    assert_eq!(mend(&reports).host.as_deref(), Some("the host that keeps ca.key"));
    let made = |host: Option<&str>| Some(Origin { directory: "/srv/made".into(), host: host.map(Into::into) });
    let line = |copy: &str, to: &str| {
        format!(
            "/usr/bin/zazen setup --cluster-name shop --renew --out /srv/made 10.0.0.0 \
             && {copy} -p /srv/made/10.0.0.0/node.crt {to}/etc/zazen/node.crt \
             && {copy} -p /srv/made/10.0.0.0/node.key {to}/etc/zazen/node.key"
        )
    };
    reports[0].facts.credentials.origin = made(None);
    assert_eq!(mend(&reports).line, line("cp", ""));
    reports[0].facts.credentials.origin = made(Some("admin"));
    let told = mend(&reports);
    assert_eq!((told.line, told.host.as_deref()), (line("scp", "10.0.0.0:"), Some("admin")));
}

#[test]
fn what_yaml_would_read_otherwise_is_quoted_in_a_mend() {
    let mut odd = report(0);
    odd.explanation.cluster_uuid = None;
    let others = [1, 2].map(|number| {
        let mut other = report(number);
        other.explanation.cluster_name = "prod #1".into();
        other
    });
    let told = verdicts(&[&[odd], &others[..]].concat());
    assert_eq!(told, expected(&[(Code::WrongClusterName, "n0", "cluster.name: \"prod #1\"")]));
}

#[test]
fn a_mend_leaves_no_node_without_seed_hosts() {
    let mut asked = report(0);
    asked.facts.seeds = Some(vec![address(1).to_string()]);
    let mut other = report(1);
    other.explanation.cluster_name = "other".into();
    assert_eq!(verdicts(&[asked, other]), expected(&[(Code::ForeignCluster, "n0", "")]));
}

#[test]
fn a_stopped_process_that_is_no_node_is_told_by_its_program_and_not_to_go_on() {
    let mut asked = voters(pinged(pinged(report(0), 1, PingOutcome::TimedOut), 2, PingOutcome::Refused));
    let process = Process {
        address: address(1),
        pid: 4711,
        is_stopped: true,
        waits_for_disk: false,
        tracer: None,
        program: "python3".into(),
        freezer: None,
    };
    asked.facts.processes.push(process.clone());
    let told = judged(&[asked]).verdicts;
    let taken = told.iter().find(|verdict| verdict.code == Code::PortInUse).expect("the port is taken");
    assert!(taken.summary.contains("process [4711], python3, which is no node,"), "{}", taken.summary);
    let lines = |verdicts: &[super::Verdict]| -> Vec<String> {
        verdicts.iter().filter_map(|verdict| Some(verdict.mend.as_ref()?.line.clone())).collect()
    };
    assert!(told.iter().all(|verdict| verdict.code != Code::FrozenNode), "{told:?}");
    let mut master = voters(follower(0, 0));
    master.facts.processes.push(process);
    let with_a_master = judged(&[master]).verdicts;
    assert!(with_a_master.iter().any(|verdict| verdict.code == Code::PortInUse), "{with_a_master:?}");
    let all = [lines(&told), lines(&with_a_master)].concat();
    assert!(!all.iter().any(|line| line.contains("kill -CONT")), "{all:?}");
}

#[test]
fn what_others_say_of_themselves_is_quoted_for_a_shell() {
    let mut cut = follower(0, 0);
    cut.facts.cuts = vec![address(1).to_string()];
    cut.facts.http = Some("10.0.0.0:9200/;reboot;".into());
    let told = verdicts(&[voters(cut)]);
    let lines: Vec<&str> = told.iter().map(|(.., line)| line.as_str()).filter(|line| line.contains("reboot")).collect();
    assert!(lines.iter().any(|line| line.ends_with(" 'http://10.0.0.0:9200/;reboot;/_zazen/faults'")), "{lines:?}");
}

#[test]
fn where_a_vote_is_removed_is_quoted_for_a_shell() {
    let mut master = voters(follower(0, 0));
    master.facts.members.truncate(1);
    master.explanation.needed[0].members[1].address = Some("10.0.0.0:9301".into());
    master.facts.http = Some("10.0.0.0:9200;reboot".into());
    let told = verdicts(&[master]);
    let lines: Vec<&str> = told.iter().map(|(.., line)| line.as_str()).filter(|line| line.contains("--url")).collect();
    assert!(!lines.is_empty() && lines.iter().all(|line| line.ends_with(" --url '10.0.0.0:9200;reboot'")), "{told:?}");
}
