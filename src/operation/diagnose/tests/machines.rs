//! Nodes of several machines: files and processes belong to one of them.

use super::*;

/// The same node on a machine of this name.
fn on(machine: &str, mut report: Report) -> Report {
    report.facts.machine = Some(machine.into());
    report
}

fn mends(reports: &[Report]) -> Vec<super::super::Mend> {
    judged(reports).verdicts.into_iter().filter_map(|verdict| verdict.mend).collect()
}

#[test]
fn a_line_about_another_machine_says_where_it_is_typed() {
    let asked = on("a", follower(0, 0));
    let mut slow = on("b", follower(1, 0));
    slow.facts.sync_millis = Some(5_000);
    let mends = mends(&[asked, slow]);
    let told: Vec<_> = mends.iter().map(|mend| (mend.line.as_str(), mend.host.as_deref())).collect();
    assert_eq!(told, [("path.data: /var/lib/zazen/n1-on-another-disk", Some("10.0.0.1"))]);
    let place = mends[0].place();
    assert_eq!(place.as_deref(), Some("in /etc/zazen/n1.yml on 10.0.0.1"));
}

#[test]
fn a_node_of_another_machine_is_started_there_and_by_its_program() {
    let asked = on("a", voters(pinged(pinged(report(0), 1, PingOutcome::Refused), 2, PingOutcome::Refused)));
    let mut other = on("b", follower(2, 2));
    other.explanation.master_node = None;
    other.facts.binary = "/opt/zazen".into();
    other.facts.siblings = vec![Sibling { hosts: vec!["10.0.0.1".into()], ..sibling(1) }];
    let mends = mends(&[asked, other]);
    let start = mends.iter().find(|mend| mend.node.as_deref() == Some("n1")).expect("it does not run");
    assert_eq!(start.line, "/opt/zazen start -c /etc/zazen/n1.yml");
    assert_eq!(start.host.as_deref(), Some("10.0.0.2"), "where the one is that knows the file");
}

#[test]
fn the_loopback_of_another_machine_is_another_place() {
    let local = |number: usize| Address::from(format!("127.0.0.1:{number}"));
    let mut asked = on("a", report(0));
    asked.facts.seeds = Some(vec![local(1).to_string()]);
    asked.explanation.hosts =
        vec![Host { address: local(1), node: None, instead_of: None, outcome: PingOutcome::TimedOut }];
    let mut other = on("b", report(1));
    other.facts.siblings = vec![Sibling { hosts: vec!["127.0.0.1".into()], port: Some(1), ..sibling(7) }];
    other.facts.processes = vec![Process {
        address: local(1),
        pid: 4711,
        is_stopped: true,
        waits_for_disk: false,
        tracer: None,
        program: "zazen".into(),
        freezer: None,
    }];
    let told = judged(&[asked.clone(), other.clone()]).verdicts;
    let is_mixed = |verdict: &super::super::Verdict| {
        let line = verdict.mend.as_ref().map(|mend| mend.line.clone()).unwrap_or_default();
        verdict.node.as_deref() == Some("n7") || line.contains("4711") || verdict.summary.contains("4711")
    };
    assert!(!told.iter().any(is_mixed), "{told:?}");
    other.facts.machine.clone_from(&asked.facts.machine);
    assert!(judged(&[asked, other]).verdicts.iter().any(is_mixed), "on the same machine it is the same place");
}

/// The other one's words, as a member of another machine keeps them.
fn distant(number: usize) -> Distant {
    let mut there = on("c", report(number));
    there.facts.file = Some("/srv/zazen.yml".into());
    there.facts.pid = 4_711;
    Distant::of(&there).expect("it has a file")
}

#[test]
fn one_that_died_on_another_machine_is_started_there_as_it_told_while_it_ran() {
    let mut asked = on("a", voters(pinged(pinged(report(0), 1, PingOutcome::Refused), 2, PingOutcome::Refused)));
    asked.facts.siblings.clear();
    asked.facts.distant = vec![distant(1)];
    let told =
        |asked: &Report| mends(slice::from_ref(asked)).into_iter().find(|mend| mend.node.as_deref() == Some("n1"));
    let start = told(&asked).expect("it told how it was started");
    assert_eq!(
        (start.line.as_str(), start.host.as_deref()),
        ("/usr/bin/zazen start -c /srv/zazen.yml", Some("10.0.0.1"))
    );
    asked.facts.distant[0].cluster = "another".into();
    assert_eq!(told(&asked), None, "what was of another cluster");
}

#[test]
fn one_that_says_nothing_on_another_machine_is_let_go_on_if_its_process_is_known() {
    let mut asked = on("a", voters(pinged(pinged(report(0), 1, PingOutcome::TimedOut), 2, PingOutcome::Refused)));
    asked.facts.siblings.clear();
    asked.facts.probes = vec![Probe { address: address(1), found: Found::Mute, free_port: None }];
    asked.facts.distant = vec![distant(1)];
    let line = |asked: &Report| {
        let frozen = judged(slice::from_ref(asked)).verdicts.into_iter().find(|one| one.code == Code::FrozenNode);
        frozen.expect("it takes connections").mend.map(|mend| (mend.line, mend.host))
    };
    assert_eq!(line(&asked), Some(("kill -CONT 4711".into(), Some("10.0.0.1".into()))));
    asked.facts.distant[0].pid = None;
    assert_eq!(line(&asked), None, "another one may have the number since");
}

#[test]
fn one_that_answers_its_users_behind_a_firewall_does_not_stand_still() {
    let mut asked = on("a", voters(pinged(pinged(report(0), 1, PingOutcome::TimedOut), 2, PingOutcome::Refused)));
    asked.facts.siblings.clear();
    asked.facts.distant = vec![distant(1)];
    asked.facts.probes = vec![Probe { address: address(1), found: Found::Walled, free_port: None }];
    let told = judged(slice::from_ref(&asked)).verdicts;
    let of_it: Vec<_> = told.iter().filter(|one| one.node.as_deref() == Some("n1")).collect();
    assert_eq!(of_it.iter().map(|one| one.code).collect::<Vec<_>>(), [Code::LinkCut], "{told:?}");
    assert!(of_it[0].mend.is_none() && of_it[0].summary.contains("answers its users"), "{told:?}");
}

#[test]
fn one_that_is_looked_for_at_a_port_of_the_seeker_is_named_where_it_is() {
    let mut asked = on("a", report(0));
    asked.explanation.cluster_uuid = None;
    asked.facts.siblings.clear();
    asked.facts.seeds = Some(vec!["10.0.0.1:9310".into()]);
    let missed = Host { address: "10.0.0.1:9310".into(), node: None, instead_of: None, outcome: PingOutcome::Refused };
    asked.explanation.hosts = vec![missed];
    let mut other = on("b", follower(1, 1));
    other.facts.siblings.clear();
    other.facts.seeds = Some(vec!["10.0.0.0".into()]);
    let told = verdicts(&[asked, other]);
    let line = format!("discovery.zen.ping.unicast.hosts: [\"{}\"]", address(1));
    assert_eq!(told, expected(&[(Code::WrongSeed, "n0", &line)]));
}

#[test]
fn one_whose_file_names_no_certificates_any_more_is_told_to_name_them_again() {
    let mut asked = on("a", follower(0, 0));
    asked.facts.credentials.certificate = Some("/etc/zazen/node.crt".into());
    let mut told = distant(1);
    let files = [("authorities", "ca.crt"), ("certificate", "node.crt"), ("key", "node.key"), ("secret", "s")];
    told.security = files.map(|(key, file)| (format!("zazen.security.{key}"), file.to_owned())).into();
    asked.facts.distant = vec![told];
    asked.facts.probes = vec![Probe {
        address: address(1),
        found: Found::Distrusted(Distrust::Unsecured(Bare::default())),
        free_port: None,
    }];
    let line = |asked: &Report| {
        let one = judged(slice::from_ref(asked)).verdicts.into_iter().find(|one| one.code == Code::AuthoritiesDiffer);
        one.expect("they do not believe each other").mend.expect("it is known what helps")
    };
    let mend = line(&asked);
    let all = r#"zazen.security: {authorities: "ca.crt", certificate: "node.crt", key: "node.key", secret: "s"}"#;
    assert_eq!(mend.line, all);
    assert_eq!(mend.place().as_deref(), Some("in /srv/zazen.yml on 10.0.0.1"));
    let key = asked.facts.distant[0].security.remove("zazen.security.key").expect("it is there");
    assert!(line(&asked).line.starts_with("/usr/bin/zazen setup "), "a node does not start without its key");
    asked.facts.distant[0].security.insert("zazen.security.key".into(), key);
    asked.facts.probes[0].found = Found::Distrusted(Distrust::OtherAuthority(None));
    assert!(line(&asked).line.starts_with("/usr/bin/zazen setup "), "another authority has made its certificates");
}
