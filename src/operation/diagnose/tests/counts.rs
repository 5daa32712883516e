//! Numbers that nodes wait for.

use super::*;
use crate::diagnose::Certainty;

/// One that was given a minimum, and sees so many.
fn asks(mut report: Report, minimum: usize, found: usize) -> Report {
    report.facts.given.insert(MINIMUM.into(), minimum.to_string());
    let quota = Quota { of: Group::MasterEligibleNodes, members: Vec::new(), needed: minimum, found };
    report.explanation.needed.push(quota);
    report
}

/// One whose cluster has so many voters, all of which are there.
fn with_all(mut report: Report, count: usize) -> Report {
    let member = |number: usize| Member {
        id: format!("id-{number}").as_str().into(),
        name: Some(format!("n{number}").as_str().into()),
        address: Some(address(number)),
        found: true,
    };
    let members = (0..count).map(member).collect();
    report.explanation.needed.push(Quota { of: Group::VotingSet, members, needed: count / 2 + 1, found: count });
    report
}

#[test]
fn of_settings_the_odd_one_is_told() {
    let with = |number: usize, value: &str| {
        let mut report = follower(number, 0);
        report.facts.given.insert(MINIMUM.into(), value.into());
        report
    };
    let told = verdicts(&[with(0, "2"), with(1, "1"), with(2, "2")]);
    assert_eq!(told, expected(&[(Code::SettingsDiffer, "n1", "discovery.zen.minimum_master_nodes: 2")]));
}

#[test]
fn more_nodes_are_asked_for_than_there_are() {
    let asked = asks(report(0), 3, 2);
    let told = verdicts(&[asked, report(1)]);
    assert_eq!(told, expected(&[(Code::MinimumMasterNodesTooHigh, "n0", "discovery.zen.minimum_master_nodes: 2")]));
}

#[test]
fn who_was_told_since_that_it_cannot_be_master_is_not_one_of_those_that_there_are() {
    let asked = |number: usize| {
        let mut report = asks(report(number), 3, 2);
        report.facts.members = follower(0, 0).facts.members;
        report
    };
    let mut barred = report(2);
    Arc::make_mut(&mut barred.explanation.node).roles.master = false;
    let told = verdicts(&[asked(0), asked(1), barred]);
    let line = "discovery.zen.minimum_master_nodes: 2";
    assert_eq!(told, expected(&["n0", "n1"].map(|name| (Code::MinimumMasterNodesTooHigh, name, line))));
}

/// Of three nodes the first asks for all of them, and the second does not run.
#[test]
fn who_asks_for_one_that_is_gone_while_a_majority_is_there_is_the_cause() {
    let is_there = |report: Report, number: usize| pinged(pinged(report, 1, PingOutcome::Refused), number, answered());
    let mut odd = asks(is_there(report(0), 2), 3, 2);
    odd.facts.members = follower(0, 1).facts.members;
    odd.facts.siblings = vec![sibling(1)];
    // It stands as a candidate, and only its own vote is there.
    let other = voters(asks(is_there(report(2), 0), 2, 1));
    let settings = (Code::SettingsDiffer, "n0", "discovery.zen.minimum_master_nodes: 2");
    let gone = (Code::VoterDown, "n1", "/usr/bin/zazen start -c /etc/zazen/n1.yml");
    for reports in [[odd.clone(), other.clone()], [other, odd]] {
        assert_eq!(verdicts(&reports), expected(&[settings, gone]));
    }
}

#[test]
fn what_a_cluster_survives_is_counted_with_those_that_ask_for_more() {
    let survives = |minimums: &[usize]| {
        let count = minimums.len();
        let report = |(number, minimum): (usize, &usize)| with_all(asks(follower(number, 0), *minimum, count), count);
        judged(&minimums.iter().enumerate().map(report).collect::<Vec<_>>()).losses_survived
    };
    assert_eq!(survives(&[2, 2, 2]), Some(1));
    assert_eq!(survives(&[2, 3, 2]), Some(0), "without its master there would be one vote");
    assert_eq!(survives(&[3, 2, 2]), Some(0), "the master itself asks for all");
    assert_eq!(survives(&[3, 3, 5, 3, 3]), Some(1), "three of five are a majority without the odd one");
    assert_eq!(survives(&[3, 3, 3, 3, 3]), Some(2));
}

#[test]
fn a_minimum_that_is_more_than_there_are_is_never_what_others_should_have() {
    let with = |number: usize, value: &str| {
        let mut report = with_all(follower(number, 0), 3);
        report.facts.given.insert(MINIMUM.into(), value.into());
        report
    };
    let right = "discovery.zen.minimum_master_nodes: 2";
    let told = verdicts(&[with(0, "2"), with(1, "4"), with(2, "4")]);
    assert_eq!(told, expected(&[(Code::SettingsDiffer, "n1", right), (Code::SettingsDiffer, "n2", right)]));
    let told = verdicts(&[with(0, "2"), with(1, "1"), with(2, "1")]);
    assert_eq!(told, expected(&[(Code::SettingsDiffer, "n1", right), (Code::SettingsDiffer, "n2", right)]));
    assert_eq!(verdicts(&[with(0, "5"), with(1, "4"), with(2, "4")]), []);
    let silent = |number: usize| with_all(follower(number, 0), 3);
    let one = [silent(0), with(1, "5"), silent(2)];
    assert_eq!(verdicts(&one), expected(&[(Code::SettingsDiffer, "n1", right)]), "with it, n1 could never lead");
    assert_eq!(verdicts(&[silent(0), with(1, "-1"), silent(2)]), [], "it goes by the majority as well");
    assert_eq!(verdicts(&[silent(0), with(1, "2"), silent(2)]), []);
    assert_eq!(verdicts(&[silent(0), with(1, "3"), silent(2)]), [], "it may be meant so");
    let ruled = |number: usize, value: &str| {
        let mut report = with(number, value);
        report.facts.minimum_of_state = Some("2".into());
        report
    };
    assert_eq!(verdicts(&[ruled(0, "2"), ruled(1, "1"), ruled(2, "2")]), [], "the cluster's goes over all of them");
}

#[test]
fn nodes_that_hold_no_data_are_no_data_nodes() {
    let mut master = follower(0, 0);
    master.facts.waits_for_gateway = true;
    master.facts.given.insert("gateway.recover_after_data_nodes".into(), "3".into());
    master.facts.data_members = Some(2);
    let told = verdicts(&[master, follower(1, 0), follower(2, 0)]);
    assert_eq!(told, expected(&[(Code::GatewayWaits, "n0", "gateway.recover_after_data_nodes: 2")]));
}

#[test]
fn what_is_waited_for_is_not_lowered_where_those_that_are_down_are_enough() {
    let told = |wanted: &str| {
        let mut master = follower(0, 0);
        master.facts.members.truncate(2);
        master.facts.waits_for_gateway = true;
        master.facts.given.insert("gateway.recover_after_nodes".into(), wanted.into());
        master.facts.remembered = vec![gone(2, Some(true))];
        master.facts.siblings = vec![sibling(2)];
        verdicts(&[master, follower(1, 0)])
    };
    let start = "/usr/bin/zazen start -c /etc/zazen/n2.yml";
    assert_eq!(told("3"), expected(&[(Code::VoterDown, "n2", start), (Code::GatewayWaits, "n0", "")]));
    let lower = "gateway.recover_after_nodes: 2";
    assert_eq!(told("4"), expected(&[(Code::VoterDown, "n2", start), (Code::GatewayWaits, "n0", lower)]));
}

#[test]
fn what_is_waited_for_is_not_lowered_below_those_that_vote() {
    let told = |key: &str| {
        let mut master = voters(follower(0, 0));
        master.facts.members.truncate(2);
        master.facts.waits_for_gateway = true;
        master.facts.given.insert(key.into(), "5".into());
        let told = verdicts(&[master, follower(1, 0), follower(2, 0)]);
        told.into_iter().find(|(code, ..)| *code == Code::GatewayWaits).map(|(.., line)| line)
    };
    let line = "gateway.recover_after_nodes: 3".to_owned();
    assert_eq!(told("gateway.recover_after_nodes"), Some(line), "the third is being restarted");
    let line = "gateway.recover_after_data_nodes: 2".to_owned();
    assert_eq!(told("gateway.recover_after_data_nodes"), Some(line), "not everyone who votes holds data");
}

#[test]
fn what_is_waited_for_is_not_lowered_below_those_whose_configurations_lie_beside() {
    let mut master = follower(0, 0);
    master.facts.members.truncate(1);
    master.facts.waits_for_gateway = true;
    master.facts.given.insert("gateway.recover_after_nodes".into(), "5".into());
    master.facts.siblings = vec![sibling(1), sibling(2)];
    let told = verdicts(&[master]);
    let line = "gateway.recover_after_nodes: 3".to_owned();
    assert!(told.contains(&(Code::GatewayWaits, "n0".into(), line)), "{told:?}");
}

#[test]
fn what_is_expected_is_not_lowered_while_nodes_of_a_full_restart_come_one_after_the_other() {
    let waiting = |since_millis: u64| {
        let mut report = with_all(follower(0, 0), 3);
        report.explanation.since_millis = since_millis;
        report.facts.waits_for_gateway = true;
        report.facts.given.insert("gateway.expected_nodes".into(), "5".into());
        let told = judged(&[report]).verdicts;
        let [verdict] = &told[..] else { panic!("{told:?}") };
        (verdict.code, verdict.certainty, verdict.mend.as_ref().map(|mend| mend.line.clone()))
    };
    assert_eq!(waiting(2_000), (Code::GatewayWaits, Certainty::Possible, None));
    let line = "gateway.expected_nodes: 3".to_owned();
    assert_eq!(waiting(60_000), (Code::GatewayWaits, Certainty::Certain, Some(line)));
}
