//! Voters that came back without what they had on disk.

use super::super::named;
use super::*;
use crate::diagnose::Stray;

/// Of three voters the last two came back under other ids; these know the voting set by what the first one said.
fn wiped() -> [Report; 3] {
    let mut survivor = voters(report(0));
    for number in [1, 2] {
        survivor = pinged(survivor, number, answered());
        let host = survivor.explanation.hosts.last_mut().expect("it was pinged");
        host.instead_of = Some(format!("id-{number}").as_str().into());
    }
    let new = |number: usize| {
        let mut report = voters(report(number));
        report.explanation.cluster_uuid = None;
        report.explanation.node =
            Arc::new(Node { id: format!("new-{number}").as_str().into(), ..(*node(number)).clone() });
        report
    };
    [survivor, new(1), new(2)]
}

#[test]
fn whoever_is_asked_names_the_one_that_holds_something() {
    for turn in 0..3 {
        let mut reports = wiped();
        reports.rotate_left(turn);
        let told = verdicts(&reports);
        let (code, node, line) = &told[0];
        assert_eq!((*code, &**node), (Code::WipedMajority, "n0"), "{told:?}");
        assert!(line.contains("recover --yes /var/lib/zazen/n0 &&"), "{line}");
    }
}

#[test]
fn what_is_left_of_a_cluster_that_was_recovered_begins_no_other_one() {
    let mut old = voters(report(1));
    old.explanation.needed[0].members.iter_mut().for_each(|member| member.found = &*member.id == "id-1");
    let new = |number: usize| {
        let mut report = follower(number, 0);
        report.explanation.cluster_uuid = Some(Uuid::from_u128(9));
        report
    };
    let (recovered, mut wiped) = (new(0), new(2));
    wiped.explanation.node = Arc::new(Node { id: "new-2".into(), ..(*node(2)).clone() });
    for number in [0, 2] {
        let theirs = PingOutcome::OtherClusterUuid { ours: Some(Uuid::from_u128(7)), theirs: Some(Uuid::from_u128(9)) };
        old = pinged(old, number, theirs);
    }
    let line = "path.data: /var/lib/zazen/n1-new";
    for reports in [[old.clone(), recovered.clone(), wiped.clone()], [recovered, wiped, old]] {
        let told = verdicts(&reports);
        assert!(told.contains(&(Code::ForeignCluster, "n1".into(), line.into())), "{told:?}");
        assert!(told.iter().all(|(code, ..)| *code != Code::WipedMajority), "{told:?}");
    }
}

#[test]
fn a_node_that_cannot_lead_begins_no_cluster_anew_but_joins_the_one_that_there_is() {
    let mut reports = wiped();
    let left = &mut reports[0];
    let roles = Roles { master: false, ..Roles::ALL };
    left.explanation.node = Arc::new(Node { roles, ..(*left.explanation.node).clone() });
    let line = "path.data: /var/lib/zazen/n0-new";
    assert_eq!(verdicts(&reports)[0], (Code::ForeignCluster, "n0".into(), line.into()));
    reports[0].facts.holds_something = true;
    assert_eq!(verdicts(&reports)[0], (Code::ForeignCluster, "n0".into(), String::new()), "users may need it");
}

#[test]
fn nobody_begins_anew_from_what_one_that_was_wiped_was_told() {
    let [_, first, second] = wiped();
    let told = verdicts(&[first, second]);
    assert!(
        told.iter().all(|(code, ..)| *code != Code::WipedMajority),
        "the one that told it is yet to answer: {told:?}"
    );
}

#[test]
fn what_a_service_holds_is_recovered_while_it_is_stopped_and_as_its_user() {
    let mut reports = wiped();
    reports[0].facts.unit = Some("zazen.service".into());
    reports[0].facts.user = Some((103, 105));
    let expected = "systemctl stop zazen.service; setpriv --reuid=103 --regid=105 --clear-groups /usr/bin/zazen recover \
                    --yes /var/lib/zazen/n0 && { systemctl start zazen.service; }";
    assert_eq!(verdicts(&reports)[0].2, expected);
}

#[test]
fn directories_of_another_machine_are_not_named_in_one_line() {
    let mut reports = wiped().to_vec();
    let mut member = |voter: &str| {
        reports[0].explanation.needed[0].members.push(Member {
            id: voter.into(),
            name: None,
            address: None,
            found: false,
        });
    };
    member("id-3");
    member("id-4");
    for report in &mut reports {
        report.facts.machine = Some("a".into());
    }
    let mut far = report(3);
    far.facts.machine = Some("b".into());
    reports.push(far);
    let told = verdicts(&reports);
    assert!(told.iter().all(|(.., line)| !line.contains("/var/lib/zazen/n3")), "{told:?}");
}

/// The same after the first of the two had been taken out of the state before the second went: its place is known to the
/// history of the first one only.
fn wiped_one_after_the_other() -> [Report; 3] {
    let mut reports = wiped();
    for report in &mut reports {
        let member = &mut report.explanation.needed[0].members[1];
        (member.name, member.address) = (None, None);
    }
    reports[0].explanation.hosts[0].instead_of = None;
    reports[0].facts.remembered = vec![gone(1, Some(true))];
    reports
}

#[test]
fn a_voter_that_had_been_taken_out_of_the_state_is_found_where_it_was() {
    for turn in 0..3 {
        let mut reports = wiped_one_after_the_other();
        reports.rotate_left(turn);
        let told = judged(&reports).verdicts;
        assert_eq!(told.iter().map(|verdict| verdict.code).collect::<Vec<_>>(), [Code::WipedMajority], "{told:?}");
        assert!(told[0].summary.starts_with("n1, n2 came back without"), "{}", told[0].summary);
    }
}

#[test]
fn what_answers_is_not_said_to_be_down_while_its_last_ping_is_one_that_was_refused() {
    let mut reports = wiped_one_after_the_other();
    reports[0].facts.remembered.clear();
    for host in &mut reports[0].explanation.hosts {
        (host.instead_of, host.outcome) = (None, PingOutcome::Refused);
    }
    // It is taken for one of the cluster already.
    reports[2].explanation.cluster_uuid = Some(Uuid::from_u128(7));
    let told = verdicts(&reports);
    assert!(told.iter().all(|(_, node, _)| node != "n2"), "{told:?}");
}

#[test]
fn voters_are_named_that_only_others_know() {
    let mut reports = wiped_one_after_the_other();
    let told = named(&reports).expect("somebody says something");
    assert!(told.summary.contains("the voting set {n0,n1,n2}"), "{}", told.summary);
    assert!(!told.summary.contains("is not known"), "{}", told.summary);
    reports[0].explanation.hosts[0].node = Some(reports[1].explanation.node.clone());
    let told = named(&reports).expect("somebody says something").summary;
    assert!(told.contains("n1 (10.0.0.1:9300) has the id [new-1] in the place of [id-1]"), "{told}");
    reports.rotate_left(1);
    reports[0].explanation.needed[0].members[0].name = None;
    reports[0].explanation.needed[0].members[0].address = None;
    let told = named(&reports).expect("somebody says something").summary;
    assert!(told.contains("the voting set {n0,n1,n2}"), "one that is asked is named by itself: {told}");
}

#[test]
fn who_runs_on_another_directory_than_it_left_is_started_on_that() {
    let mut reports = wiped().to_vec();
    let left = |number: usize| Sibling {
        last: Some(address(number)),
        left: Some(format!("/srv/old/n{number}")),
        ..sibling(number)
    };
    reports.iter_mut().for_each(|report| report.facts.machine = Some("one".into()));
    reports[0].facts.siblings = vec![left(1), left(2)];
    let told = verdicts(&reports);
    let codes: Vec<_> = told.iter().map(|(code, node, _)| (*code, &**node)).collect();
    assert_eq!(codes, [(Code::DataElsewhere, "n1"), (Code::DataElsewhere, "n2")], "{told:?}");
    assert!(told[0].2.ends_with("start -c /etc/zazen/n1.yml -E path.data=/srv/old/n1"), "{told:?}");
    reports[0].facts.siblings = vec![Sibling { left: Some("/var/lib/zazen/n1".into()), ..left(1) }];
    assert_eq!(verdicts(&reports)[0].0, Code::WipedMajority, "nothing of it is left anywhere else");
}

#[test]
fn a_directory_that_was_moved_aside_is_what_a_node_left() {
    let mut reports = wiped().to_vec();
    reports.iter_mut().for_each(|report| report.facts.machine = Some("one".into()));
    reports[0].facts.strays = vec![Stray { address: address(1), data: "/var/lib/zazen/n1.bak".into(), id: None }];
    let (code, node, line) = &verdicts(&reports)[0];
    assert_eq!((*code, &**node), (Code::DataElsewhere, "n1"));
    assert!(line.ends_with("-E path.data=/var/lib/zazen/n1.bak"), "{line}");
    reports[0].facts.strays = vec![Stray { address: address(1), data: "/var/lib/zazen/n1".into(), id: None }];
    assert_eq!(verdicts(&reports)[0].0, Code::WipedMajority, "it runs on that one");
}

#[test]
fn voters_that_were_told_not_to_lead_are_told_to() {
    let mut asked = voters(report(0));
    let cannot = |number: usize| {
        let mut other = report(number);
        other.explanation.node =
            Arc::new(Node { roles: Roles { master: false, ..Roles::ALL }, ..(*node(number)).clone() });
        other
    };
    asked = pinged(pinged(asked, 1, answered()), 2, answered());
    let told = verdicts(&[asked, cannot(1), cannot(2)]);
    let mend = "node.master: true";
    assert_eq!(told, expected(&[(Code::QuorumLost, "n1", mend), (Code::QuorumLost, "n2", mend)]));
}

/// One that is new, while its configuration was used before from elsewhere.
fn anew(number: usize) -> Report {
    let mut report = report(number);
    report.facts.abandoned = Some(format!("/srv/first/n{number}"));
    report.explanation.cluster_uuid = None;
    report
}

#[test]
fn new_nodes_that_were_started_from_another_directory_go_back() {
    let told = verdicts(&[anew(1), anew(2)]);
    let codes: Vec<_> = told.iter().map(|(code, node, _)| (*code, &**node)).collect();
    assert_eq!(codes, [(Code::DataElsewhere, "n1"), (Code::DataElsewhere, "n2")], "{told:?}");
    assert!(told[0].2.ends_with("start -c /etc/zazen/n1.yml -E path.data=/srv/first/n1"), "{told:?}");
}

#[test]
fn a_single_new_node_has_what_it_left_from_its_cluster() {
    let led = |number: usize| Report { facts: anew(number).facts, ..follower(number, 0) };
    assert_eq!(verdicts(&[follower(0, 0), led(1), follower(2, 0)]), []);
    let codes: Vec<Code> = verdicts(&[led(0), led(1), follower(2, 0)]).iter().map(|(code, ..)| *code).collect();
    assert_eq!(codes, [Code::DataElsewhere, Code::DataElsewhere], "most of them began anew");
}

/// Two of three began a cluster anew, in the places of those of the third.
fn anew_beside_the_third() -> [Report; 3] {
    let mut reports = wiped();
    for report in &mut reports[1..] {
        *report = Report { explanation: report.explanation.clone(), facts: report.facts.clone(), ..follower(9, 9) };
        report.explanation.cluster_uuid = Some(Uuid::from_u128(8));
        report.explanation.master_node = Some(node(1));
        report.facts.members = (1..3).map(|number| (format!("n{number}"), address(number), true)).collect();
    }
    reports
}

#[test]
fn who_is_left_of_a_cluster_keeps_its_data_beside_one_that_was_begun_anew() {
    let reports = anew_beside_the_third();
    for turn in 0..3 {
        let mut reports = reports.clone();
        reports.rotate_left(turn);
        let told = verdicts(&reports);
        assert_eq!((told[0].0, &*told[0].1), (Code::WipedMajority, "n0"), "{told:?}");
        assert!(!told.iter().any(|(code, ..)| *code == Code::ForeignCluster), "{told:?}");
    }
    let mut recovered = reports;
    recovered[0].explanation.master_node = Some(node(0));
    let told = verdicts(&recovered);
    let anew: Vec<_> =
        told.iter().filter(|(code, ..)| *code == Code::ForeignCluster).map(|(_, node, _)| &**node).collect();
    assert_eq!(anew, ["n1", "n2"], "they join what was recovered: {told:?}");
}

#[test]
fn who_began_anew_beside_the_third_goes_back_to_what_it_left() {
    let mut reports = anew_beside_the_third();
    reports.iter_mut().for_each(|report| report.facts.machine = Some("one".into()));
    reports[0].facts.strays = vec![
        Stray { address: address(1), data: "/srv/n1.bak".into(), id: None },
        Stray { address: address(2), data: "/srv/n2.bak".into(), id: None },
    ];
    let told = verdicts(&reports);
    let codes: Vec<_> = told.iter().map(|(code, node, _)| (*code, &**node)).collect();
    assert_eq!(codes, [(Code::DataElsewhere, "n1"), (Code::DataElsewhere, "n2")], "{told:?}");
}

#[test]
fn a_disk_that_is_not_mounted_is_mounted_before_anything_is_given_up() {
    let left = voters(report(0));
    let unmounted = |mount: Option<&str>| {
        let new = |number: usize| {
            let mut new = report(number);
            let node = Node { id: format!("new-{number}").as_str().into(), ..(*node(number)).clone() };
            new.explanation.node = Arc::new(node);
            new.explanation.cluster_uuid = None;
            new.facts.unmounted = mount.map(Into::into);
            new
        };
        verdicts(&[left.clone(), new(1), new(2)])
    };
    let told = unmounted(Some("/var/lib"));
    assert!(told.iter().all(|(code, ..)| *code == Code::DataElsewhere), "{told:?}");
    assert_eq!(told.iter().map(|(_, node, _)| &**node).collect::<Vec<_>>(), ["n1", "n2"]);
    assert!(told[0].2.contains("; mount /var/lib && /usr/bin/zazen start "), "{told:?}");
    assert!(unmounted(None).iter().all(|(code, ..)| *code == Code::WipedMajority), "they lost what they had");
}

#[test]
fn of_two_with_one_id_the_one_in_whose_place_another_was_has_the_copy() {
    let known = |number: usize| Remembered {
        id: format!("id-{number}").as_str().into(),
        name: format!("n{number}"),
        address: address(number),
        failed: false,
        said_so: false,
        removed: false,
        is_eligible: None,
        votes: None,
    };
    let copied = Arc::new(Node { id: "id-0".into(), ..(*node(2)).clone() });
    let with = |mut report: Report, other: Arc<Node>| {
        let outcome = PingOutcome::DuplicateId;
        report.explanation.hosts.push(Host {
            address: other.address.clone(),
            node: Some(other),
            instead_of: None,
            outcome,
        });
        report.facts.remembered = vec![known(0), known(2)];
        report
    };
    let original = with(report(0), copied.clone());
    let mut copy = with(report(2), node(0));
    copy.explanation.node = copied;
    let line = "path.data: /var/lib/zazen/n2-new";
    for asked in [[original.clone(), copy.clone()], [copy, original]] {
        let told =
            verdicts(&asked).into_iter().find(|(code, ..)| *code == Code::DuplicateNodeId).map(|told| (told.1, told.2));
        assert_eq!(told, Some(("n2".into(), line.into())), "whoever is asked");
    }
}
