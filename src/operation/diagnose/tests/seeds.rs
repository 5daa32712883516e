//! Seed hosts that are not where nodes listen.

use super::super::case::Case;
use super::super::seeds;
use super::credentials::waiting;
use super::*;

fn at(port: u16) -> Address {
    format!("10.0.0.1:{port}").as_str().into()
}

#[test]
fn all_seed_hosts_are_put_right_in_one_line() {
    let mut asked = report(0);
    asked.explanation.cluster_uuid = None;
    asked.facts.seeds =
        Some(["10.0.0.1:9200-9201", "nowhere:9302", "10.0.0.1:25", "10.0.0.1:9305"].map(Into::into).into());
    asked.explanation.unresolved =
        vec![crate::protocol::Unresolved { host: "nowhere".into(), why: "no such name".into() }];
    for port in [9200, 9201] {
        let http = Some(Found::HttpOf(at(port + 100)));
        asked = found(asked, at(port), PingOutcome::NotUnderstood, http);
    }
    asked = found(asked, at(25), PingOutcome::NotUnderstood, Some(Found::Stranger));
    asked.facts.siblings = vec![Sibling { port: Some(9302), hosts: vec!["10.0.0.1".into()], ..sibling(2) }];
    let told = verdicts(&[asked]);
    let line = "discovery.zen.ping.unicast.hosts: [\"10.0.0.1:9300\", \"10.0.0.1:9301\", \"10.0.0.1:9302\", \
                \"10.0.0.1:9305\"]";
    let codes: Vec<Code> = told.iter().map(|(code, ..)| *code).collect();
    assert_eq!(codes, [Code::HttpPortInSeeds, Code::SeedUnresolved]);
    assert!(told.iter().all(|(.., mend)| mend == line), "{told:?}");
}

#[test]
fn of_what_is_no_host_the_hosts_that_were_meant_are_taken() {
    let mut asked = report(0);
    asked.explanation.cluster_uuid = None;
    let seeds = ["http://10.0.0.1:9301/", "(10.0.0.1:9302;10.0.0.1:9303 -10.0.0.1:9304)", "https://10.0.0.1:9205"];
    asked.facts.seeds = Some(seeds.map(Into::into).into());
    asked.explanation.unresolved =
        seeds.map(|host| crate::protocol::Unresolved { host: host.into(), why: "it is none".into() }).into();
    asked = found(asked, at(9205), PingOutcome::NotUnderstood, Some(Found::HttpOf(at(9305))));
    let line = "discovery.zen.ping.unicast.hosts: [\"10.0.0.1:9301\", \"10.0.0.1:9302\", \"10.0.0.1:9303\", \
                \"10.0.0.1:9304\", \"10.0.0.1:9305\"]";
    let told = verdicts(&[asked]);
    assert!(told.iter().all(|(.., mend)| mend == line), "{told:?}");
}

#[test]
fn every_node_that_names_http_ports_is_told_at_once() {
    let http = |number: usize| format!("10.0.0.{number}:9200");
    let with = |number: usize| {
        let mut report = report(number);
        report.explanation.cluster_uuid = None;
        report.facts.http = Some(http(number));
        report.facts.seeds = Some((0..3).map(http).collect());
        report
    };
    let told = verdicts(&[with(0), with(1), with(2)]);
    let line = "discovery.zen.ping.unicast.hosts: [\"10.0.0.0:9300\", \"10.0.0.1:9300\", \"10.0.0.2:9300\"]";
    assert_eq!(told, expected(&["n0", "n1", "n2"].map(|name| (Code::HttpPortInSeeds, name, line))));
}

#[test]
fn a_seed_host_at_which_a_node_may_not_have_been_started_yet_stays() {
    let mut asked = waiting(report(2));
    asked.facts.seeds = Some(["10.0.0.0:9400", "10.0.0.1:9400"].map(Into::into).into());
    for host in ["10.0.0.0:9400", "10.0.0.1:9400"] {
        asked = found(asked, host.into(), PingOutcome::Refused, None);
    }
    asked.facts.siblings = vec![sibling(0)];
    let line = r#"discovery.zen.ping.unicast.hosts: ["10.0.0.0:9300", "10.0.0.1:9400"]"#;
    let told = verdicts(&[asked]);
    assert!(told.iter().any(|(code, _, mend)| *code == Code::WrongSeed && mend == line), "{told:?}");
}

#[test]
fn a_seed_host_that_another_names_too_stays_beside_one_that_was_mistyped() {
    let seeds: Vec<String> = ["10.0.0.0:9300", "10.0.0.0:9390", "10.0.0.0:9302"].map(Into::into).into();
    let mut reports = [waiting(report(0)), waiting(report(1))];
    for each in &mut reports {
        each.facts.seeds = Some(seeds.clone());
        for host in ["10.0.0.0:9390", "10.0.0.0:9302"] {
            *each = found(each.clone(), host.into(), PingOutcome::Refused, None);
        }
        each.facts.siblings = vec![sibling(0), sibling(1)];
    }
    let line = r#"discovery.zen.ping.unicast.hosts: ["10.0.0.0:9300", "10.0.0.1:9300", "10.0.0.0:9302"]"#;
    let told = verdicts(&reports);
    assert!(told.iter().any(|(code, _, mend)| *code == Code::WrongSeed && mend == line), "{told:?}");
}

#[test]
fn who_mistyped_its_name_and_its_seed_hosts_is_told_of_those_whose_files_lie_beside() {
    let told = |cluster: &str| {
        let mut asked = waiting(report(2));
        asked.explanation.cluster_name = cluster.into();
        asked.facts.seeds = Some(["10.0.0.0:9400", "10.0.0.1:9400"].map(Into::into).into());
        for host in ["10.0.0.0:9400", "10.0.0.1:9400"] {
            asked = found(asked, host.into(), PingOutcome::Refused, None);
        }
        asked.facts.siblings = vec![sibling(0), sibling(1)];
        verdicts(&[asked]).into_iter().filter(|(code, ..)| *code == Code::WrongSeed).map(|(.., mend)| mend).next()
    };
    let line = r#"discovery.zen.ping.unicast.hosts: ["10.0.0.0:9300", "10.0.0.1:9300"]"#;
    assert_eq!(told("shpo").as_deref(), Some(line));
    assert_eq!(told("stage"), None, "that is no slip of theirs");
}

#[test]
fn a_newcomer_that_hears_nothing_of_its_seed_hosts_beside_a_cluster_has_wrong_ones() {
    let mut asked = report(2);
    asked.explanation.cluster_uuid = None;
    asked.facts.seeds = Some(["10.0.0.91:9300"].map(Into::into).into());
    asked = found(asked, "10.0.0.91:9300".into(), PingOutcome::TimedOut, Some(Found::Silence));
    asked.facts.siblings = vec![sibling(0), sibling(1)];
    let line = r#"discovery.zen.ping.unicast.hosts: ["10.0.0.0:9300"]"#;
    let mut formed = follower(0, 0);
    formed.facts.seeds = Some(vec![address(2).to_string()]);
    let told = |all: &[Report]| verdicts(all).into_iter().map(|(code, _, line)| (code, line)).collect::<Vec<_>>();
    assert_eq!(told(&[asked.clone(), formed]), [(Code::WrongSeed, line.to_owned())]);
    assert_eq!(told(&[asked]).first().map(|(code, _)| *code), Some(Code::LinkCut), "nobody is known to have a master");
}

#[test]
fn a_file_of_hosts_is_given_to_the_user_of_the_node_that_was_asked_and_to_no_other() {
    let barred = |number: usize| {
        let mut report = report(number);
        report.facts.user = Some((103, 105));
        report.facts.hosts_file = Some(HostsFile { path: "/etc/zazen/unicast_hosts.txt".into(), hosts: Vec::new() });
        let why = "cannot read [/etc/zazen/unicast_hosts.txt]: Permission denied (os error 13)".into();
        report.explanation.unresolved = vec![crate::protocol::Unresolved { host: "unicast_hosts.txt".into(), why }];
        report
    };
    let line = |told: Vec<(Code, String, String)>| {
        told.into_iter().find(|(code, ..)| *code == Code::SeedUnresolved).map(|(.., line)| line)
    };
    let given = "chown 103:105 /etc/zazen/unicast_hosts.txt";
    assert_eq!(line(verdicts(&[barred(0), report(1)])).as_deref(), Some(given));
    assert_eq!(line(verdicts(&[report(1), barred(0)])).as_deref(), Some(""), "who was not asked may say anything");
}

#[test]
fn an_http_port_among_the_seed_hosts_is_told_with_a_master_as_well() {
    let http = |number: usize| {
        let mut report = follower(number, 0);
        report.facts.http = Some(format!("10.0.0.{number}:9200"));
        report
    };
    let mut asked = http(1);
    asked.facts.seeds = Some(["10.0.0.0:9200", "10.0.0.2:9300"].map(Into::into).into());
    let line = r#"discovery.zen.ping.unicast.hosts: ["10.0.0.0:9300", "10.0.0.2:9300"]"#;
    assert_eq!(verdicts(&[http(0), asked, http(2)]), expected(&[(Code::HttpPortInSeeds, "n1", line)]));
}

#[test]
fn whose_file_has_an_address_of_another_host_leaves_the_seed_hosts_of_others_alone() {
    let mut asked = report(0);
    asked.explanation.cluster_uuid = None;
    Arc::make_mut(&mut asked.explanation.node).address = "127.0.0.1:9300".into();
    asked.facts.seeds = Some(["127.0.0.1:9300", "127.0.0.1:9301"].map(Into::into).into());
    asked = found(asked, "127.0.0.1:9301".into(), PingOutcome::Refused, None);
    let there = |is_elsewhere| Sibling {
        port: Some(9301),
        hosts: vec!["192.0.2.7".into()],
        seeds: vec!["127.0.0.1:9300".into()],
        is_elsewhere,
        ..sibling(1)
    };
    let is_wrong = |is_elsewhere| {
        let asked =
            Report { facts: Facts { siblings: vec![there(is_elsewhere)], ..asked.facts.clone() }, ..asked.clone() };
        verdicts(&[asked]).iter().any(|(code, ..)| *code == Code::WrongSeed)
    };
    assert_eq!([is_wrong(true), is_wrong(false)], [false, true]);
}

/// Three that never formed a cluster, of which the last one names two hosts where nobody is to listen.
fn with_wrong_hosts_in_one_file() -> [Report; 3] {
    let wrong = [9301, 9302].map(at);
    let mut reports = [0, 1, 2].map(|number| {
        let mut report = report(number);
        report.explanation.cluster_uuid = None;
        report.facts.siblings = (0..3).filter(|other| *other != number).map(sibling).collect();
        let others = (0..2).filter(|other| *other != number);
        others.fold(report, |report, other| if number < 2 { pinged(report, other, answered()) } else { report })
    });
    reports[2].facts.seeds = Some(wrong.iter().chain([&address(2)]).map(ToString::to_string).collect());
    for at in &wrong {
        let host = Host { address: at.clone(), node: None, instead_of: None, outcome: PingOutcome::Refused };
        reports[2].explanation.hosts.push(host);
    }
    // Whoever stands hears of the hosts that others wait for.
    for report in &mut reports {
        let member = |address: &Address| Member {
            id: address.as_str().into(),
            name: None,
            address: Some(address.clone()),
            found: *address == self::address(2),
        };
        let members = wrong.iter().chain([&address(2)]).map(member).collect();
        report.explanation.needed.push(Quota { of: Group::InitialHosts, members, needed: 2, found: 1 });
    }
    reports
}

#[test]
fn hosts_that_only_one_other_node_names_are_put_right_there_whoever_is_asked() {
    let line = "discovery.zen.ping.unicast.hosts: [\"10.0.0.0:9300\", \"10.0.0.1:9300\", \"10.0.0.2:9300\"]";
    for turn in 0..3 {
        let mut reports = with_wrong_hosts_in_one_file();
        reports.rotate_left(turn);
        assert_eq!(verdicts(&reports), expected(&[(Code::WrongSeed, "n2", line)]));
    }
}

#[test]
fn nodes_that_answer_are_named_where_no_files_are_known() {
    let mut reports = with_wrong_hosts_in_one_file();
    for report in &mut reports {
        report.facts.siblings.clear();
    }
    let line = "discovery.zen.ping.unicast.hosts: [\"10.0.0.0:9300\", \"10.0.0.1:9300\", \"10.0.0.2:9300\"]";
    assert_eq!(verdicts(&reports), expected(&[(Code::WrongSeed, "n2", line)]));
}

#[test]
fn a_host_that_others_name_as_well_may_be_of_one_that_does_not_run() {
    let mut reports = [0, 1].map(|number| {
        let mut report = pinged(report(number), 2, PingOutcome::Refused);
        report.explanation.cluster_uuid = None;
        report.explanation.hosts[0].node = None;
        report
    });
    reports[1].explanation.node = node(3);
    assert!(verdicts(&reports).iter().all(|(code, ..)| *code != Code::WrongSeed));
}

#[test]
fn nobody_is_started_where_only_another_node_looks() {
    let mut reports = with_wrong_hosts_in_one_file();
    for host in &mut reports[2].explanation.hosts {
        host.outcome = PingOutcome::Waiting;
    }
    assert_eq!(verdicts(&reports), []);
}

#[test]
fn a_node_that_publishes_the_place_of_another_is_told_its_own() {
    let mut joiner = report(2);
    joiner.explanation.cluster_uuid = None;
    joiner.explanation.node = Arc::new(Node { address: address(1), ..(*node(2)).clone() });
    joiner.facts.given.insert("transport.publish_host".into(), "10.0.0.1".into());
    for number in [0, 1] {
        joiner = pinged(joiner, number, answered());
    }
    let told = verdicts(&[joiner, follower(0, 0), follower(1, 0)]);
    let line = "transport.publish_host: 10.0.0.2";
    assert_eq!(told, expected(&[(Code::UnreachablePublishAddress, "n2", line)]));
}

#[test]
fn a_stopped_cluster_of_the_same_name_next_door_is_nobodys_seed_host() {
    let mut newcomer = report(2);
    newcomer.explanation.cluster_uuid = None;
    newcomer.facts.seeds = None;
    let old = |number: usize| Sibling { name: Some(format!("old{number}")), ..sibling(number) };
    newcomer.facts.siblings = vec![sibling(0), sibling(1), old(7), old(8)];
    let places = |reports: &[Report]| {
        let case = Case::new(reports).expect("there is a report");
        seeds::missing(&case, &reports[0])
    };
    let all = places(std::slice::from_ref(&newcomer));
    assert_eq!(all, ["10.0.0.0:9300", "10.0.0.1:9300", "10.0.0.7:9300", "10.0.0.8:9300"]);
    assert_eq!(places(&[newcomer, follower(0, 0), follower(1, 0)]), ["10.0.0.0:9300", "10.0.0.1:9300"]);
}

#[test]
fn a_member_behind_a_mapped_port_is_not_blamed_for_it() {
    let mut mapped = follower(2, 0);
    mapped.facts.bound = vec!["10.0.0.3:9400".into()];
    assert_eq!(verdicts(&[follower(0, 0), follower(1, 0), mapped.clone()]), []);
    mapped.explanation.master_node = None;
    mapped.facts.members.clear();
    let told = verdicts(&[mapped, follower(0, 0), follower(1, 0)]);
    assert!(told.iter().any(|(code, ..)| *code == Code::UnreachablePublishAddress), "{told:?}");
}

#[test]
fn a_data_node_is_not_told_to_become_master_while_one_that_can_is_only_away() {
    let data = |number: usize| {
        let mut report = report(number);
        let roles = Roles { master: false, ..Roles::ALL };
        report.explanation.node = Arc::new(Node { roles, ..(*node(number)).clone() });
        report
    };
    let mut left = pinged(data(1), 0, PingOutcome::Refused);
    left.facts.members = (0..3).map(|number| (format!("n{number}"), address(number), number == 0)).collect();
    let told = verdicts(&[left, data(2)]);
    assert_eq!(told[0], (Code::NoEligibleNode, "n0".into(), String::new()));
    let mut new = data(1);
    new.explanation.cluster_uuid = None;
    let new = pinged(new, 0, PingOutcome::Refused);
    assert_eq!(verdicts(std::slice::from_ref(&new))[0].0, Code::VoterDown, "nobody knows what is there");
    let all = pinged(data(1), 2, PingOutcome::Waiting);
    assert_eq!(verdicts(&[all, data(2)])[0].0, Code::NoEligibleNode);
}

#[test]
fn a_newcomer_that_has_the_address_of_the_only_node_wrong_is_told_it() {
    let mut asked = pinged(report(1), 25, PingOutcome::Refused);
    asked.explanation.cluster_uuid = None;
    asked.facts.seeds = Some(vec![address(25).to_string()]);
    asked.facts.siblings = vec![Sibling { seeds: vec![address(0).to_string()], ..sibling(0) }];
    let told = verdicts(&[asked]);
    let line = format!("discovery.zen.ping.unicast.hosts: [\"{}\"]", address(0));
    assert!(told.iter().any(|verdict| *verdict == (Code::WrongSeed, "n1".to_owned(), line.clone())), "{told:?}");
}

#[test]
fn seed_hosts_from_which_all_nodes_have_moved_are_wrong() {
    let moved = |number: usize| Sibling {
        port: Some(9400),
        seeds: report(0).facts.seeds.unwrap_or_default(),
        ..sibling(number)
    };
    let mut asked = voters(pinged(pinged(report(0), 1, PingOutcome::Refused), 2, PingOutcome::Refused));
    asked.facts.members = follower(0, 0).facts.members;
    asked.facts.siblings = vec![moved(1), moved(2)];
    let told = verdicts(&[asked]);
    let wrong: Vec<_> = told.iter().filter(|(code, ..)| *code == Code::WrongSeed).collect();
    assert!(
        wrong.iter().any(|(_, _, line)| line.contains("10.0.0.1:9400") && line.contains("10.0.0.2:9400")),
        "{told:?}"
    );
}

#[test]
fn what_stands_in_a_file_of_hosts_is_put_right_there() {
    let mut asked = report(0);
    asked.explanation.cluster_uuid = None;
    asked.facts.seeds = Some(vec![at(9305).to_string(), "nowhere:9302".into(), at(9303).to_string()]);
    asked.facts.hosts_file = Some(HostsFile {
        path: "/etc/zazen/unicast_hosts.txt".into(),
        hosts: vec!["nowhere:9302".into(), at(9303).to_string()],
    });
    asked.explanation.unresolved =
        vec![crate::protocol::Unresolved { host: "nowhere".into(), why: "no such name".into() }];
    asked.facts.siblings = vec![Sibling { port: Some(9302), hosts: vec!["10.0.0.1".into()], ..sibling(2) }];
    let line = r"printf '%s\n' 10.0.0.1:9305 10.0.0.1:9302 10.0.0.1:9303 > /etc/zazen/unicast_hosts.txt";
    assert_eq!(verdicts(&[asked.clone()])[0], (Code::SeedUnresolved, "n0".to_owned(), line.to_owned()));
    // What its settings name is put right in these.
    asked.facts.hosts_file = Some(HostsFile { path: "/etc/zazen/unicast_hosts.txt".into(), hosts: Vec::new() });
    let line = "discovery.zen.ping.unicast.hosts: [\"10.0.0.1:9305\", \"10.0.0.1:9302\", \"10.0.0.1:9303\"]";
    assert_eq!(verdicts(&[asked])[0].2, line);
}

#[test]
fn a_file_of_hosts_that_is_missing_is_to_name_those_who_are_known() {
    let mut asked = report(0);
    asked.explanation.cluster_uuid = None;
    asked.facts.seeds = Some(Vec::new());
    asked.facts.hosts_file = Some(HostsFile { path: "/etc/zazen/unicast_hosts.txt".into(), hosts: Vec::new() });
    asked.explanation.unresolved =
        vec![crate::protocol::Unresolved { host: "unicast_hosts.txt".into(), why: "there is none".into() }];
    asked.facts.siblings = vec![sibling(1), sibling(2)];
    let line = r"printf '%s\n' 10.0.0.1:9300 10.0.0.2:9300 > /etc/zazen/unicast_hosts.txt";
    assert_eq!(verdicts(&[asked])[0], (Code::SeedUnresolved, "n0".to_owned(), line.to_owned()));
}

#[test]
fn where_all_addresses_were_changed_the_seed_hosts_get_the_new_ones() {
    let mut moved = voters(pinged(pinged(report(0), 1, PingOutcome::TimedOut), 2, PingOutcome::TimedOut));
    moved.facts.members = follower(0, 1).facts.members;
    Arc::make_mut(&mut moved.explanation.node).address = "10.9.9.0:9300".into();
    moved.facts.bound = vec!["10.9.9.0:9300".into()];
    let line = "discovery.zen.ping.unicast.hosts: [\"10.9.9.0:9300\", \"10.9.9.1:9300\", \"10.9.9.2:9300\"]";
    assert_eq!(verdicts(&[moved.clone()]), expected(&[(Code::WrongSeed, "n0", line)]));
    let stayed = verdicts(&[moved, report(1)]);
    assert!(stayed.iter().all(|(code, ..)| *code != Code::WrongSeed), "somebody answers where he was: {stayed:?}");
}

#[test]
fn whose_seed_hosts_have_all_ended_gets_those_who_answer() {
    let mut newcomer = pinged(report(3), 0, PingOutcome::Refused);
    newcomer.explanation.cluster_uuid = None;
    newcomer.facts.seeds = Some(vec![address(0).to_string()]);
    let told = verdicts(&[newcomer, follower(1, 1), follower(2, 1)]);
    let line = "discovery.zen.ping.unicast.hosts: [\"10.0.0.0:9300\", \"10.0.0.1:9300\", \"10.0.0.2:9300\"]";
    assert!(told.contains(&(Code::WrongSeed, "n3".to_owned(), line.to_owned())), "{told:?}");
}

#[test]
fn who_cannot_be_master_is_told_of_those_that_the_others_wait_for() {
    let mut data = pinged(pinged(pinged(report(3), 0, answered()), 1, PingOutcome::Refused), 2, PingOutcome::Refused);
    Arc::make_mut(&mut data.explanation.node).roles.master = false;
    data.explanation.cluster_uuid = None;
    let mut first = waiting(pinged(pinged(report(0), 1, PingOutcome::Refused), 2, PingOutcome::Refused));
    first.explanation.cluster_uuid = None;
    first.facts.siblings = vec![sibling(1), sibling(2)];
    let told = verdicts(&[data, first]);
    assert!(told.iter().any(|(code, node, _)| *code == Code::VoterDown && node == "n1"), "{told:?}");
}
