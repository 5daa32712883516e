//! Nodes that do not run: with a vote, without one, without room.

use super::*;

/// A master that remembers one that went.
pub(super) fn master(remembered: Remembered, sibling: Sibling) -> Report {
    let mut report = follower(0, 0);
    report.facts.remembered = vec![remembered];
    report.facts.siblings = vec![sibling];
    report
}

#[test]
fn a_member_without_a_vote_is_named_as_one_and_started() {
    let start = "/usr/bin/zazen start -c /etc/zazen/n5.yml";
    let told = |votes, is_eligible| verdicts(&[master(gone(5, votes), Sibling { is_eligible, ..sibling(5) })]);
    assert_eq!(told(None, false), expected(&[(Code::MemberDown, "n5", start)]));
    assert_eq!(told(Some(false), true), expected(&[(Code::MemberDown, "n5", start)]));
    assert_eq!(told(Some(true), true), expected(&[(Code::VoterDown, "n5", start)]));
    assert_eq!(told(None, true), expected(&[(Code::VoterDown, "n5", start)]));
}

#[test]
fn a_seed_host_that_never_ran_is_started() {
    let start = "/usr/bin/zazen start -c /etc/zazen/n5.yml";
    let with = |sibling: Sibling| {
        let mut report = follower(0, 0);
        report.facts.seeds = Some(vec![address(0).to_string(), address(5).to_string()]);
        report.facts.siblings = vec![sibling];
        report
    };
    assert_eq!(verdicts(&[with(sibling(5))]), expected(&[(Code::VoterDown, "n5", start)]));
    let cannot_lead = Sibling { is_eligible: false, ..sibling(5) };
    assert_eq!(verdicts(&[with(cannot_lead)]), expected(&[(Code::MemberDown, "n5", start)]));
    let has_run = [
        Sibling { last: Some(address(5)), ..sibling(5) },
        Sibling { left: Some("/var/lib/zazen/n5".into()), ..sibling(5) },
        Sibling { has_begun: true, ..sibling(5) },
        Sibling { is_elsewhere: true, ..sibling(5) },
        Sibling { is_data_relative: true, ..sibling(5) },
        sibling(6),
    ];
    for one in has_run {
        assert_eq!(verdicts(&[with(one)]), []);
    }
    let copied = Sibling { has_begun: true, data: "/var/lib/zazen/n0".into(), ..sibling(5) };
    let line = "path.data: /var/lib/zazen/n0-n5";
    assert_eq!(verdicts(&[with(copied)]), expected(&[(Code::DataInUse, "n5", line)]), "n0 runs with it");
}

#[test]
fn a_node_that_is_gone_and_whose_disk_is_full_is_moved_to_another() {
    let full = |number: usize| Sibling { free_bytes: Some(4_096), roomy: Some("/var/tmp".into()), ..sibling(number) };
    let line = "[ /var/lib/zazen/n1/nodes -ef /var/tmp/zazen-n1-100-0/nodes ] || { mkdir -p -m 700 /var/tmp/zazen-n1-100-0 \
                && { [ ! -e /var/lib/zazen/n1/nodes ] || mv -T /var/lib/zazen/n1/nodes /var/tmp/zazen-n1-100-0/nodes; } && \
                mkdir -p /var/tmp/zazen-n1-100-0/nodes && ln -s /var/tmp/zazen-n1-100-0/nodes /var/lib/zazen/n1/nodes; } && \
                /usr/bin/zazen start -c /etc/zazen/n1.yml";
    let mut asked = voters(pinged(pinged(report(0), 1, PingOutcome::Refused), 2, PingOutcome::Refused));
    asked.facts.siblings = vec![full(1), sibling(2)];
    let told = verdicts(&[asked.clone()]);
    assert_eq!(told[0], (Code::QuorumLost, "n1".to_owned(), line.to_owned()), "{told:?}");
    assert_eq!(told[1], (Code::DiskFull, "n1".to_owned(), line.to_owned()), "{told:?}");
    assert_eq!((told[2].0, &*told[2].1), (Code::VoterDown, "n2"), "{told:?}");
    let of_master = verdicts(&[voters(master(gone(5, None), full(1)))]);
    assert!(of_master.contains(&(Code::DiskFull, "n1".into(), line.into())), "{of_master:?}");
}

#[test]
fn who_has_yet_to_answer_is_not_said_to_be_gone() {
    let mut asked = pinged(report(0), 1, PingOutcome::Waiting);
    asked.explanation.cluster_uuid = None;
    let member = |number: usize| Member {
        id: address(number).as_str().into(),
        name: None,
        address: Some(address(number)),
        found: number == 0,
    };
    let members = (0..2).map(member).collect();
    asked.explanation.needed.push(Quota { of: Group::InitialHosts, members, needed: 2, found: 1 });
    assert_eq!(verdicts(&[asked.clone()]), []);
    asked.explanation.hosts[0].outcome = PingOutcome::Refused;
    assert_eq!(verdicts(&[asked])[0].0, Code::VoterDown);
}

#[test]
fn a_node_that_listens_on_loopback_only_is_not_told_to_start_itself() {
    let mut asked = report(0);
    asked.explanation.cluster_uuid = None;
    let local = Node { address: "127.0.0.1:9300".into(), ..(*node(0)).clone() };
    asked.explanation.node = Arc::new(local);
    asked.facts.bound = vec!["127.0.0.1:9300".into()];
    asked.facts.outward = Some("10.0.0.0".into());
    asked.explanation.hosts =
        vec![Host { address: address(0), node: None, instead_of: None, outcome: PingOutcome::Refused }];
    let id = address(0).as_str().into();
    let member = Member { id, name: None, address: Some(address(0)), found: false };
    asked.explanation.needed.push(Quota { of: Group::InitialHosts, members: vec![member], needed: 1, found: 0 });
    let told = verdicts(&[asked]);
    assert_eq!(told, expected(&[(Code::LoopbackOnly, "n0", "network.host: 10.0.0.0")]));
}

#[test]
fn the_setting_that_holds_is_the_one_that_is_changed() {
    let mut asked = report(0);
    asked.explanation.cluster_uuid = None;
    asked.explanation.node = Arc::new(Node { address: "127.0.0.1:9300".into(), ..(*node(0)).clone() });
    asked.facts.bound = vec!["127.0.0.1:9300".into()];
    asked.facts.outward = Some("10.0.0.0".into());
    asked.facts.given = [("network.host", "10.0.0.0"), ("transport.host", "127.0.0.1")]
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .into();
    let told = verdicts(slice::from_ref(&asked));
    assert!(told.contains(&(Code::LoopbackOnly, "n0".into(), "transport.host: 10.0.0.0".into())), "{told:?}");
    // It publishes what it should, and listens elsewhere.
    asked.explanation.node = node(0);
    asked.facts.given.remove("transport.host");
    asked.facts.given.insert("transport.bind_host".into(), "127.0.0.1".into());
    let told = verdicts(&[asked]);
    let line = "transport.bind_host: 10.0.0.0".into();
    assert!(told.contains(&(Code::UnreachablePublishAddress, "n0".into(), line)), "{told:?}");
}

#[test]
fn a_seed_host_where_nobody_was_ever_seen_is_told_of_where_nobody_may_be_lost() {
    let of = |found: usize| {
        let mut leader = follower(0, 0);
        leader.facts.members.pop();
        let member = |number: usize| Member {
            id: format!("id-{number}").as_str().into(),
            name: None,
            address: Some(address(number)),
            found: true,
        };
        let members = (0..2).map(member).collect();
        leader.explanation.needed.push(Quota { of: Group::VotingSet, members, needed: 2, found });
        leader
    };
    let mut other = follower(1, 0);
    other.facts.members.pop();
    let told = judged(&[of(2), other.clone()]);
    let codes: Vec<_> = told.verdicts.iter().map(|one| (one.code, one.node.clone(), one.certainty)).collect();
    assert_eq!(codes, [(Code::VoterDown, Some("10.0.0.2:9300".into()), crate::diagnose::Certainty::Possible)]);
    assert_eq!(verdicts(&[of(3), other.clone()]), Vec::new(), "one may be lost");
    let with_seed = |seed: &str| {
        let mut leader = of(2);
        leader.facts.seeds = Some(vec![seed.into()]);
        verdicts(&[leader, other.clone()]).into_iter().map(|(_, node, _)| node).collect::<Vec<_>>()
    };
    for (seed, told) in
        [("10.0.0.7", "10.0.0.7:9300"), ("[fd00::7]", "[fd00::7]:9300"), ("[fd00::7]:9301", "[fd00::7]:9301")]
    {
        assert_eq!(with_seed(seed), [told]);
    }
    for seed in ["es7", "es7:9300", "10.0.0.7:9300-9305", "fd00::7"] {
        assert_eq!(with_seed(seed), Vec::<String>::new(), "{seed} is to be looked up, or several");
    }
    let mut gone_before = of(2);
    gone_before.facts.remembered = vec![Remembered { failed: false, ..gone(2, None) }];
    assert_eq!(verdicts(&[gone_before, other]), Vec::new(), "it was a member and left");
}

#[test]
fn a_node_that_listens_elsewhere_and_publishes_loopback_is_told_what_to_publish() {
    let mut asked = report(0);
    asked.explanation.node = Arc::new(Node { address: "127.0.0.1:9300".into(), ..(*node(0)).clone() });
    asked.facts.bound = vec!["0.0.0.0:9300".into()];
    asked.facts.outward = Some("10.0.0.0".into());
    asked.facts.given.insert("network.host".into(), "0.0.0.0".into());
    let line = "network.publish_host: 10.0.0.0";
    assert_eq!(verdicts(&[asked]), expected(&[(Code::UnreachablePublishAddress, "n0", line)]));
}

#[test]
fn numbers_are_worded_as_people_say_them() {
    let summary = |report: Report| judged(&[report]).verdicts.remove(0).summary;
    let two = voters(pinged(pinged(report(0), 1, PingOutcome::Refused), 2, PingOutcome::Refused));
    let told = summary(two.clone());
    assert!(told.starts_with("2 of 3 voters are needed for a master, and n1, n2 do not run: start them"), "{told}");
    assert!(
        told.contains("say `/usr/bin/zazen recover /var/lib/zazen/n0`"),
        "nobody knows how they are started: {told}"
    );
    let known = Facts { siblings: vec![sibling(1), sibling(2)], ..two.facts.clone() };
    let two = Report { facts: known, ..two };
    assert_eq!(summary(two), "2 of 3 voters are needed for a master, and n1, n2 do not run");
    let mut one = pinged(report(0), 1, PingOutcome::Refused);
    let member = Member { id: "id-1".into(), name: Some("n1".into()), address: Some(address(1)), found: false };
    one.explanation.needed.push(Quota { of: Group::VotingSet, members: vec![member], needed: 1, found: 0 });
    let told = summary(one);
    assert!(told.starts_with("1 of 1 voter is needed for a master, and n1 does not run: "), "{told}");
}

#[test]
fn a_node_that_a_debugger_holds_goes_on_when_that_ends() {
    let mut asked = voters(pinged(pinged(report(0), 1, PingOutcome::TimedOut), 2, PingOutcome::Refused));
    let mut process = Process {
        address: address(1),
        pid: 4711,
        is_stopped: true,
        waits_for_disk: false,
        tracer: Some(4712),
        program: "zazen".into(),
        freezer: None,
    };
    asked.facts.processes.push(process.clone());
    let frozen = |report: &Report| verdicts(std::slice::from_ref(report)).remove(0);
    assert_eq!(frozen(&asked), (Code::FrozenNode, "n1".into(), "kill 4712".into()));
    process.tracer = None;
    asked.facts.processes = vec![process];
    assert_eq!(frozen(&asked), (Code::FrozenNode, "n1".into(), "kill -CONT 4711".into()));
}

/// Nothing comes back from an address.
fn silent(mut report: Report, number: usize) -> Report {
    report.facts.probes.push(Probe { address: address(number), found: Found::Silence, free_port: None });
    report
}

#[test]
fn a_voter_behind_a_network_that_is_cut_is_not_taken_out() {
    let lacks_one = |mut report: Report| {
        report.explanation.needed[0].members[1].found = true;
        report
    };
    let mut master = lacks_one(voters(follower(0, 0)));
    master.facts.members.truncate(2);
    master.facts.http = Some("10.0.0.0:9200".into());
    let reports = |master: Report| [master, follower(1, 0)];
    let told = verdicts(&reports(silent(master.clone(), 2)));
    assert_eq!(told, expected(&[(Code::LinkCut, "n2", "")]));
    master.explanation.needed[0].members[2].id = "-O3OJ1e".into();
    let line = "/usr/bin/zazen member remove --url 10.0.0.0:9200 -- -O3OJ1e";
    let told = judged(&reports(master.clone())).verdicts.remove(0);
    assert_eq!((told.code, &told.mend), (Code::VoterDown, &None), "it refuses");
    assert!(told.summary.contains(": start it on 10.0.0.2, or, if it is gone for good, say `"), "{}", told.summary);
    // Nothing is left of it on a host that was looked at.
    master.explanation.needed[0].members[2].address = Some("10.0.0.0:9302".into());
    assert_eq!(verdicts(&reports(master)), expected(&[(Code::VoterDown, "n2", line)]));
}

#[test]
fn two_followers_that_do_not_reach_each_other_are_told() {
    let asked = silent(follower(1, 0), 2);
    let told = verdicts(&[asked, follower(0, 0)]);
    assert_eq!(told, expected(&[(Code::LinkCut, "n1", "")]));
}

#[test]
fn files_next_door_that_have_nothing_to_do_with_the_cluster_start_nobody() {
    let mut asked = voters(pinged(pinged(report(0), 1, PingOutcome::Refused), 2, PingOutcome::Refused));
    let next_door = |number: usize| Sibling {
        file: Some(format!("/etc/old/n{number}.yml")),
        port: Some(9400),
        seeds: vec!["10.0.0.1:9400".into(), "10.0.0.2:9400".into()],
        ..sibling(number)
    };
    asked.facts.siblings = vec![next_door(1), next_door(2)];
    let told = verdicts(&[asked.clone()]);
    assert!(told.iter().all(|(_, _, line)| line.is_empty()), "{told:?}");
    asked.facts.siblings[0].seeds.push(address(0).to_string());
    let told = verdicts(&[asked]);
    assert!(told.iter().any(|(_, _, line)| line.ends_with("/etc/old/n1.yml")), "it looks for this node: {told:?}");
}

#[test]
fn many_silent_hosts_are_told_in_one_sentence_and_not_those_that_were_cut_by_request() {
    let mut asked = report(0);
    asked.facts.cuts = vec![address(1).to_string()];
    asked.facts.http = Some("10.0.0.0:9200".into());
    let asked = (1..40).fold(asked, |report, number| pinged(report, number, PingOutcome::TimedOut));
    let told = judged(&[asked]).verdicts;
    let silent: Vec<_> = told.iter().filter(|verdict| verdict.summary.contains("more do not answer")).collect();
    let [one] = &silent[..] else { panic!("{told:?}") };
    assert!(one.summary.starts_with("n2, n3, n4 and 35 more do not answer"), "{}", one.summary);
}

#[test]
fn hosts_that_stand_in_a_file_of_their_own_are_seed_hosts() {
    let mut asked = report(0);
    asked.facts.seeds = None;
    assert!(verdicts(&[asked.clone()]).iter().any(|(code, ..)| *code == Code::NoSeeds));
    asked.facts.given.insert("discovery.zen.hosts_provider".into(), "file".into());
    assert!(verdicts(&[asked]).iter().all(|(code, ..)| *code != Code::NoSeeds));
}

#[test]
fn what_runs_and_answers_nobody_is_not_to_be_started() {
    let process = |freezer: Option<&str>| Process {
        address: address(2),
        pid: 4711,
        is_stopped: false,
        waits_for_disk: false,
        tracer: None,
        program: "zazen".into(),
        freezer: freezer.map(ToOwned::to_owned),
    };
    let mut master = voters(follower(0, 0));
    master.facts.members.truncate(2);
    master.explanation.needed[0].members[1].found = true;
    master.facts.siblings = vec![sibling(2)];
    let mut asked = voters(pinged(pinged(report(0), 1, answered()), 2, PingOutcome::TimedOut));
    asked.explanation.needed[0].members[1].found = true;
    asked.facts.siblings = vec![sibling(2)];
    for (freezer, line) in [
        (None, ""),
        (Some("/sys/fs/cgroup/a/cgroup.freeze"), "echo 0 > /sys/fs/cgroup/a/cgroup.freeze"),
        (Some("/sys/fs/cgroup/freezer/a b/freezer.state"), "echo THAWED > '/sys/fs/cgroup/freezer/a b/freezer.state'"),
        (Some("/sys/fs/cgroup/../../../etc/cgroup.freeze"), ""),
        (Some("/etc/passwd"), ""),
    ] {
        for mut teller in [master.clone(), asked.clone()] {
            teller.facts.processes = vec![process(freezer)];
            let told = verdicts(&[teller, report(1)]);
            let frozen: Vec<_> = told.iter().filter(|(_, node, _)| node == "n2").collect();
            assert_eq!(frozen, [&(Code::FrozenNode, "n2".to_owned(), line.to_owned())], "{told:?}");
        }
    }
    let disk = (Code::DiskSlow, "n2".to_owned(), "path.data: /var/lib/zazen/n2-on-another-disk".to_owned());
    for mut teller in [master, asked] {
        teller.facts.processes = vec![Process { waits_for_disk: true, ..process(None) }];
        let told = verdicts(&[teller, report(1)]);
        let waits: Vec<_> = told.iter().filter(|(_, node, _)| node == "n2").collect();
        assert_eq!(waits, [&disk], "{told:?}");
    }
}

#[test]
fn a_voter_behind_a_link_that_was_cut_by_request_is_not_said_to_be_down() {
    let mut master = voters(follower(0, 0));
    master.explanation.needed[0].members[1].found = true;
    master.facts.members.truncate(2);
    let is_down =
        |master: &Report| verdicts(&[master.clone(), follower(1, 0)]).iter().any(|(code, ..)| *code == Code::VoterDown);
    assert!(is_down(&master));
    master.facts.cuts = vec![address(2).to_string()];
    let told = verdicts(&[master.clone(), follower(1, 0)]);
    assert!(told.iter().all(|(code, ..)| *code != Code::VoterDown), "{told:?}");
}

#[test]
fn what_is_to_be_changed_is_where_a_node_listens_and_not_where_it_says_that_it_is() {
    let mut other = report(1);
    other.facts.machine = Some("two".into());
    other.facts.bound = vec!["10.0.0.9:9300".into()];
    other.facts.cuts = vec!["10.0.0.3:9300".into()];
    other.facts.http = Some("10.0.0.9:9200".into());
    let mut asked = report(0);
    asked.facts.machine = Some("one".into());
    let told = judged(&[asked, other]).verdicts;
    let hosts: Vec<_> = told.iter().filter_map(|verdict| verdict.mend.as_ref()?.host.clone()).collect();
    assert!(!hosts.is_empty() && hosts.iter().all(|host| host == "10.0.0.9"), "{told:?}");
}

#[test]
fn who_cannot_start_by_its_file_is_told_what_is_wrong_with_it() {
    let fault = "/etc/zazen/n5.yml:3:1: unknown setting [prot]".into();
    let slip = Slip { fault, mend: Some("sed -i x".into()), is_withheld: false };
    let told = |slip: Slip| judged(&[master(gone(5, Some(true)), Sibling { slip: Some(slip), ..sibling(5) })]).verdicts;
    let [verdict] = &told(slip.clone())[..] else { panic!("one thing is wrong") };
    assert_eq!((verdict.code, verdict.node.as_deref()), (Code::BadSettings, Some("n5")));
    assert!(verdict.summary.contains("n5.yml:3:1: unknown setting [prot]"), "{}", verdict.summary);
    let line = |verdict: &Verdict| verdict.mend.as_ref().map(|mend| mend.line.clone()).unwrap_or_default();
    assert_eq!(line(verdict), "sed -i x && /usr/bin/zazen start -c /etc/zazen/n5.yml");
    let withheld = told(Slip { mend: None, is_withheld: true, ..slip.clone() });
    assert_eq!(line(&withheld[0]), "/usr/bin/zazen start -c /etc/zazen/n5.yml", "it says itself what is wrong");
    let unclear = told(Slip { mend: None, ..slip });
    let [unclear] = &unclear[..] else { panic!("one thing is wrong: {unclear:?}") };
    assert_eq!((unclear.code, &unclear.mend), (Code::BadSettings, &None), "a start would only say so again");
    assert!(unclear.summary.contains("n5.yml:3:1: unknown setting [prot]"), "{}", unclear.summary);
}

#[test]
fn nobody_founds_a_cluster_with_fewer_than_a_majority_of_the_nodes_that_were_named() {
    let waiting = |here: usize| {
        let mut reports: Vec<Report> = (0..here).map(report).collect();
        for report in &mut reports {
            report.facts.given.insert("cluster.initial_master_nodes".into(), "n0, n6, n7".into());
            report.facts.file = Some("/etc/zazen/n.yml".into());
            let member = |name: &str, found| Member { id: name.into(), name: None, address: None, found };
            let members = vec![member("n0", true), member("n6", false), member("n7", false)];
            report.explanation.needed.push(Quota { of: Group::InitialHosts, members, needed: 2, found: 1 });
        }
        judged(&reports).verdicts
    };
    let alone = waiting(1);
    assert_eq!((alone[0].code, alone[0].node.as_deref(), &alone[0].mend), (Code::VoterDown, Some("n6"), &None));
    assert!(alone[0].summary.contains("n6, n7 are not heard of"), "{}", alone[0].summary);
    let two = waiting(2);
    assert_eq!(two[0].code, Code::WrongInitialMasterNodes, "{two:?}");
}

#[test]
fn of_several_nodes_for_one_address_the_one_that_is_missed_is_started() {
    let other = |id: Option<&str>, file: &str| Sibling {
        file: Some(file.into()),
        id: id.map(Into::into),
        data: file.replace("etc", "var"),
        ..sibling(5)
    };
    let started = |siblings: [Sibling; 2]| {
        let mut asked = master(gone(5, Some(true)), siblings[0].clone());
        asked.facts.siblings = siblings.to_vec();
        verdicts(&[asked])[0].2.clone()
    };
    let (copy, own) = (other(Some("id-9"), "/etc/zazen/a.yml"), other(Some("id-5"), "/etc/copy/n5.yml"));
    assert_eq!(started([copy, own]), "/usr/bin/zazen start -c /etc/copy/n5.yml", "it has the id that is missed");
    let (away, beside) = (other(None, "/etc/copy/n5.yml"), other(None, "/etc/zazen/n5.yml"));
    assert_eq!(started([away, beside]), "/usr/bin/zazen start -c /etc/zazen/n5.yml", "its file lies beside");
}

#[test]
fn who_runs_and_does_not_reach_the_master_is_told_whoever_is_asked() {
    let mut apart = pinged(pinged(report(1), 0, PingOutcome::TimedOut), 2, answered());
    apart.explanation.cluster_uuid = follower(0, 0).explanation.cluster_uuid;
    let (master, third) = (follower(0, 0), follower(2, 0));
    let told = |reports: &[Report]| -> Vec<(Code, String)> {
        verdicts(reports).into_iter().map(|(code, node, _)| (code, node)).collect()
    };
    let expected = [(Code::LinkCut, "n1".to_owned())];
    assert_eq!(told(&[third.clone(), master.clone(), apart.clone()]), expected);
    assert_eq!(told(&[master.clone(), third.clone(), apart.clone()]), expected);
    let from_apart = judged(&[apart, third]).verdicts;
    assert!(
        from_apart[0].summary.starts_with("n1 does not reach n0, which is master and which n2 hears"),
        "{from_apart:?}"
    );
}

#[test]
fn nodes_that_publish_the_address_of_a_bridge_are_told_what_to_publish() {
    let behind = |number: usize| {
        let mut report = report(number);
        report.explanation.node = Arc::new(Node { address: "10.1.0.1:9300".into(), ..(*node(number)).clone() });
        report.facts.bound = vec!["0.0.0.0:9300".into()];
        report.facts.outward = Some(format!("10.0.0.{number}"));
        report.facts.seeds = Some(vec!["10.0.0.0".into(), "10.0.0.1".into()]);
        report
    };
    let told = verdicts(&[behind(0), behind(1)]);
    let line = |number: usize| format!("network.publish_host: 10.0.0.{number}");
    let all: Vec<_> = told.iter().filter(|(code, ..)| *code == Code::UnreachablePublishAddress).cloned().collect();
    let (first, second) = (line(0), line(1));
    let codes = [Code::UnreachablePublishAddress; 2];
    assert_eq!(all, expected(&[(codes[0], "n0", &first), (codes[1], "n1", &second)]), "{told:?}");
}

#[test]
fn a_member_that_takes_no_new_connection_is_told_by_its_master() {
    let mut leader = follower(0, 0);
    leader.facts.probes = vec![Probe { address: address(2), found: Found::Silence, free_port: None }];
    assert_eq!(verdicts(&[leader.clone(), follower(1, 0)]), expected(&[(Code::LinkCut, "n2", "")]));
    assert_eq!(verdicts(&[leader, follower(1, 0), follower(2, 0)]), [], "who answers is reached");
}

#[test]
fn a_node_of_another_cluster_in_the_place_of_a_voter_is_in_its_way() {
    let mut leader = voters(follower(0, 0));
    leader.explanation.needed[0].members.retain(|member| &*member.id != "id-2");
    leader.facts.members.retain(|(name, ..)| name != "n1");
    let mend = Mend::setting("transport.port", &Worth::Plain("9302".into()), Some("/etc/zazen/n1.yml".into()));
    let obstacle = Obstacle { code: Code::PortInUse, fault: "cannot listen".into(), mend: Some(mend) };
    leader.facts.siblings = vec![Sibling { obstacle: Some(obstacle), last: Some(address(1)), ..sibling(1) }];
    let theirs = PingOutcome::OtherClusterName { ours: "shop".into(), theirs: "warehouse".into() };
    leader = pinged(leader, 1, theirs);
    let stranger = |cluster: &str, uuid: Option<u128>| {
        let mut other = report(7);
        other.explanation.node = Arc::new(Node { address: address(1), ..(*node(7)).clone() });
        (other.explanation.cluster_name, other.explanation.cluster_uuid) = (cluster.into(), uuid.map(Uuid::from_u128));
        (other.facts.bound, other.facts.seeds) = (vec![address(1).to_string()], Some(vec!["10.0.0.8:9300".into()]));
        other
    };
    let told = expected(&[(Code::PortInUse, "n1", "transport.port: 9302")]);
    for other in [stranger("warehouse", None), stranger("warehouse", Some(9)), stranger("shop", Some(9))] {
        assert_eq!(verdicts(&[leader.clone(), follower(2, 0), other]), told);
    }
}

#[test]
fn a_member_that_refuses_new_connections_is_told_with_what_it_should_publish() {
    let mut leader = follower(0, 0);
    leader.facts.refused = vec![address(2)];
    let told = verdicts(&[follower(1, 0), leader.clone()]);
    assert_eq!(told, expected(&[(Code::UnreachablePublishAddress, "n2", "")]), "a firewall may be before it");
    let mut elsewhere = follower(2, 0);
    elsewhere.facts.bound = vec!["10.0.0.2:9400".into()];
    elsewhere.facts.given.insert("transport.publish_port".into(), "9300".into());
    let line = "transport.publish_port: \"9400\"";
    for reports in [[elsewhere.clone(), leader.clone()], [leader.clone(), elsewhere.clone()]] {
        assert_eq!(verdicts(&reports), expected(&[(Code::UnreachablePublishAddress, "n2", line)]));
    }
    leader.facts.refused.clear();
    assert_eq!(verdicts(&[elsewhere, leader]), [], "its port may be mapped");
}

/// Something that a start of a node would tell.
fn obstructed(number: usize) -> Sibling {
    let mend = Mend::setting("http.port", &Worth::Plain("9201".into()), Some(format!("/etc/zazen/n{number}.yml")));
    let fault = "cannot listen on [127.0.0.1], ports [9200]".into();
    Sibling { obstacle: Some(Obstacle { code: Code::PortInUse, fault, mend: Some(mend) }), ..sibling(number) }
}

#[test]
fn who_could_not_start_is_told_what_stands_in_its_way() {
    let leader = master(gone(5, Some(true)), obstructed(5));
    let [verdict] = &judged(&[leader]).verdicts[..] else { panic!("one thing is wrong") };
    assert!(
        verdict.summary.contains("cannot start: cannot listen on [127.0.0.1], ports [9200]"),
        "{}",
        verdict.summary
    );
    let told = verdicts(&[master(gone(5, Some(true)), obstructed(5))]);
    assert_eq!(told, expected(&[(Code::PortInUse, "n5", "http.port: 9201")]));
    let runs = [follower(0, 0), follower(1, 0), follower(2, 0)].map(|mut report| {
        report.facts.siblings = vec![obstructed(1), obstructed(2)];
        report
    });
    assert_eq!(verdicts(&runs), [], "who runs has its port itself");
}

#[test]
fn a_voter_whose_file_names_the_data_of_another_one_goes_back_to_its_own() {
    let mut leader = voters(follower(0, 0));
    leader.explanation.needed[0].members.retain(|member| &*member.id != "id-1");
    leader.facts.members.retain(|(name, ..)| name != "n2");
    let own = Some("/var/lib/zazen/n2".to_owned());
    leader.facts.siblings =
        vec![Sibling { data: "/var/lib/zazen/n1".into(), left: own, has_begun: true, ..sibling(2) }];
    let told = verdicts(&[leader, follower(1, 0)]);
    assert_eq!(told, expected(&[(Code::DataInUse, "n2", "path.data: /var/lib/zazen/n2")]));
}

#[test]
fn of_those_that_are_needed_each_is_told_what_stands_in_its_way() {
    let mut asked = voters(pinged(pinged(report(0), 1, PingOutcome::Refused), 2, PingOutcome::Refused));
    asked.facts.siblings = vec![obstructed(1), sibling(2)];
    let (port, start) = ("http.port: 9201", "/usr/bin/zazen start -c /etc/zazen/n2.yml");
    let all = [(Code::QuorumLost, "n1", port), (Code::PortInUse, "n1", port), (Code::VoterDown, "n2", start)];
    assert_eq!(verdicts(&[asked]), expected(&all));
}

#[test]
fn a_seed_host_that_ran_and_never_was_in_a_cluster_is_started() {
    let mut leader = follower(0, 0);
    leader.facts.seeds = Some(vec!["10.0.0.5:9300".into()]);
    let ran = Sibling { has_begun: true, left: Some("/var/lib/zazen/n5".into()), last: Some(address(5)), ..sibling(5) };
    let told = |sibling: Sibling| {
        let mut leader = leader.clone();
        leader.facts.siblings = vec![sibling];
        verdicts(&[leader, follower(1, 0), follower(2, 0)])
    };
    assert_eq!(told(ran.clone()), [], "it may have been stopped on purpose");
    let never = (Code::VoterDown, "n5", "/usr/bin/zazen start -c /etc/zazen/n5.yml");
    assert_eq!(told(Sibling { has_never_joined: true, ..ran }), expected(&[never]));
}

#[test]
fn who_asks_to_be_taken_in_and_is_not_reached_runs_and_is_never_to_be_started() {
    let mut leader = voters(follower(0, 0));
    leader.explanation.needed[0].members.retain(|member| &*member.id != "id-1");
    leader.facts.members.retain(|(name, ..)| name != "n2");
    leader.facts.siblings = vec![Sibling { last: Some(address(2)), ..sibling(2) }];
    let start = "/usr/bin/zazen start -c /etc/zazen/n2.yml";
    assert_eq!(verdicts(&[leader.clone(), follower(1, 0)]), expected(&[(Code::VoterDown, "n2", start)]));
    leader.explanation.nodes.push(Straggler {
        node: node(2),
        accepted: StateId::NONE,
        applied: StateId::NONE,
        missed_pings: 0,
        failed: Some("the master n0 cannot reach it at its publish address [10.0.0.2:9300] (refused)".into()),
        leaves: false,
    });
    assert_eq!(verdicts(&[leader.clone(), follower(1, 0)]), expected(&[(Code::UnreachablePublishAddress, "n2", "")]));
    leader.explanation.needed.clear();
    leader.facts.remembered = vec![gone(2, Some(true))];
    assert_eq!(verdicts(&[leader, follower(1, 0)]), expected(&[(Code::UnreachablePublishAddress, "n2", "")]));
}

#[test]
fn a_file_that_its_user_may_not_read_is_given_to_that_user_before_the_node_is_started() {
    let mut asked = voters(pinged(pinged(report(0), 1, PingOutcome::Refused), 2, PingOutcome::Refused));
    asked.facts.siblings = vec![Sibling { unread_by: Some((990, 991)), ..sibling(1) }, sibling(2)];
    let second = "/usr/bin/zazen start -c /etc/zazen/n2.yml";
    let first = "chown 990:991 /etc/zazen/n1.yml && /usr/bin/zazen start -c /etc/zazen/n1.yml";
    let all = [(Code::QuorumLost, "n1", first), (Code::BadSettings, "n1", first), (Code::VoterDown, "n2", second)];
    assert_eq!(verdicts(&[asked.clone()]), expected(&all));
    asked.facts.siblings[0].unread = vec!["/etc/zazen/cluster.secret".into(), "/etc/zazen/node.key".into()];
    let first =
        "chown 990:991 /etc/zazen/cluster.secret /etc/zazen/node.key && /usr/bin/zazen start -c /etc/zazen/n1.yml";
    assert_eq!(verdicts(&[asked])[1], (Code::BadSettings, "n1".into(), first.into()));
}
