//! Nodes that were members and went: who is missed, and what is typed for them.

use super::absent::master;
use super::*;

#[test]
fn who_was_replaced_and_of_whom_nothing_is_left_is_not_missed() {
    let told = |members: usize| {
        let beside = Remembered { address: "10.0.0.0:9305".into(), ..gone(5, Some(true)) };
        let mut asked = master(beside, sibling(6));
        asked.facts.members = (0..members).map(|number| (format!("n{number}"), address(number), true)).collect();
        let member = |number: usize| Member {
            id: format!("id-{number}").as_str().into(),
            name: None,
            address: Some(address(number)),
            found: true,
        };
        let voters: Vec<Member> = (0..members).map(member).collect();
        let quota = Quota { of: Group::VotingSet, needed: members / 2 + 1, found: members, members: voters };
        asked.explanation.needed.push(quota);
        verdicts(&[asked]).iter().any(|(code, node, _)| *code == Code::VoterDown && node == "n5")
    };
    assert_eq!([told(3), told(4), told(5)], [false, true, false], "of an even number one is missing");
}

#[test]
fn one_of_whom_nothing_is_known_is_removed_and_not_missed_any_more() {
    let beside = Remembered { address: "10.0.0.0:9305".into(), ..gone(5, Some(false)) };
    let mut asked = master(beside, sibling(6));
    asked.facts.http = Some("10.0.0.0:9200".into());
    let line = "/usr/bin/zazen member remove id-5 --url 10.0.0.0:9200";
    assert_eq!(verdicts(&[asked.clone()]), expected(&[(Code::MemberDown, "n5", line)]));
    let mut other = follower(1, 0);
    other.facts.remembered = vec![Remembered { removed: true, failed: false, ..gone(5, None) }];
    assert_eq!(verdicts(&[asked, other]), [], "he said so to another node");
}

#[test]
fn one_that_could_not_lead_had_no_vote() {
    let told = |is_eligible| {
        verdicts(&[master(Remembered { is_eligible: Some(is_eligible), ..gone(5, None) }, sibling(6))])[0].0
    };
    assert_eq!((told(false), told(true)), (Code::MemberDown, Code::VoterDown));
}

#[test]
fn one_that_is_started_has_the_data_and_the_user_that_it_had() {
    let root = |sibling: Sibling| {
        let mut report = master(gone(5, Some(true)), sibling);
        report.facts.is_root = true;
        report
    };
    let left = Sibling { left: Some("/srv/n5".into()), ..sibling(5) };
    let line = "/usr/bin/zazen start -c /etc/zazen/n5.yml -E path.data=/srv/n5";
    assert_eq!(verdicts(&[root(left)]), expected(&[(Code::VoterDown, "n5", line)]));
    let owned = Sibling { owner: Some((103, 105)), ..sibling(5) };
    let line = "setpriv --reuid=103 --regid=105 --clear-groups /usr/bin/zazen start -c /etc/zazen/n5.yml";
    assert_eq!(verdicts(&[root(owned.clone())]), expected(&[(Code::VoterDown, "n5", line)]));
    let line = "/usr/bin/zazen start -c /etc/zazen/n5.yml";
    assert_eq!(verdicts(&[master(gone(5, Some(true)), owned)]), expected(&[(Code::VoterDown, "n5", line)]));
    // The node that was asked is of a service, and so is its neighbour; root asked it.
    let mut of_service = root(sibling(5));
    of_service.facts.user = Some((103, 105));
    let line = "setpriv --reuid=103 --regid=105 --clear-groups /usr/bin/zazen start -c /etc/zazen/n5.yml";
    assert_eq!(verdicts(&[of_service]), expected(&[(Code::VoterDown, "n5", line)]));
}

#[test]
fn who_failed_under_a_master_that_led_before_is_missed_and_who_said_good_bye_is_not() {
    let (leader, mut former) = (follower(0, 0), follower(1, 0));
    former.facts.remembered = vec![gone(7, Some(true))];
    let told = |leader: &Report, former: &Report| verdicts(&[leader.clone(), former.clone()]);
    let found = told(&leader, &former);
    assert!(matches!(&found[..], [(Code::VoterDown, node, _)] if node == "n7"), "{found:?}");
    let mut knows = leader.clone();
    knows.facts.remembered = vec![Remembered { failed: false, said_so: true, ..gone(7, Some(true)) }];
    assert_eq!(told(&knows, &former), []);
}

#[test]
fn one_that_was_renamed_is_missed_once() {
    let mut master = voters(follower(0, 0));
    master.facts.members.truncate(2);
    master.explanation.needed[0].members[1].found = true;
    master.facts.remembered = vec![Remembered { name: "node-two".into(), ..gone(2, None) }];
    master.facts.siblings = vec![sibling(2)];
    let told = verdicts(&[master, follower(1, 0)]);
    assert_eq!(told, expected(&[(Code::VoterDown, "n2", "/usr/bin/zazen start -c /etc/zazen/n2.yml")]));
}
