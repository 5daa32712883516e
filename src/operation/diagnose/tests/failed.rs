//! Starts that failed, as the nodes told them.

use super::super::own_fault;
use super::*;
use crate::diagnose::{FailedStart, Obstacle};

fn failed(number: usize, since_millis: u64) -> FailedStart {
    let mend = Mend::setting("http.port", &Worth::Plain("9201".into()), Some(format!("/srv/n{number}.yml")));
    let mend = Mend { host: Some("10.0.0.9".into()), ..mend };
    let obstacle = Obstacle { code: Code::PortInUse, fault: "cannot listen".into(), mend: Some(mend) };
    let (name, addresses) = (format!("n{number}"), vec![address(number)]);
    FailedStart { name, addresses, runs: false, ended: false, cluster: None, data: None, obstacle, since_millis }
}

/// A master of two more, that was told of these starts.
fn told_of(starts: Vec<FailedStart>) -> Report {
    let mut leader = follower(0, 0);
    leader.facts.failed_starts = starts;
    leader
}

#[test]
fn a_voter_whose_start_failed_is_told_why_and_not_to_be_started() {
    let mut leader = voters(told_of(vec![failed(2, 3_000)]));
    leader.explanation.needed[0].members.retain(|member| &*member.id != "id-1");
    leader.facts.members.retain(|(name, ..)| name != "n2");
    let [verdict] = &judged(&[leader, follower(1, 0)]).verdicts[..] else { panic!("one thing is wrong") };
    assert_eq!((verdict.code, verdict.node.as_deref()), (Code::PortInUse, Some("n2")));
    assert!(verdict.summary.ends_with("it cannot start: cannot listen"), "{}", verdict.summary);
    assert!(verdict.evidence.iter().any(|one| one.by == "n2" && one.what == "my start failed [3s] ago"));
    let mend = verdict.mend.as_ref().expect("it said what to type");
    assert_eq!(mend.place().as_deref(), Some("in /srv/n2.yml on 10.0.0.9"));
}

#[test]
fn a_newcomer_that_nobody_misses_is_told_of_by_itself_and_once() {
    let told = verdicts(&[told_of(vec![failed(7, 0)]), told_of(vec![failed(7, 0)]), follower(2, 0)]);
    assert_eq!(told, expected(&[(Code::PortInUse, "n7", "http.port: 9201")]));
}

#[test]
fn who_runs_since_is_not_told_of_and_who_has_the_place_of_another_is_not_taken_for_it() {
    assert_eq!(verdicts(&[told_of(vec![failed(1, 0)]), follower(1, 0), follower(2, 0)]), []);
    let copied = FailedStart { name: "n7".into(), ..failed(1, 0) };
    let told = verdicts(&[told_of(vec![copied]), follower(1, 0), follower(2, 0)]);
    assert_eq!(told, expected(&[(Code::PortInUse, "n7", "http.port: 9201")]));
}

#[test]
fn a_silent_program_in_the_place_of_a_node_is_no_node_that_was_stopped() {
    let mut leader = voters(told_of(vec![failed(2, 0)]));
    leader.explanation.needed[0].members.retain(|member| &*member.id != "id-1");
    leader.facts.members.retain(|(name, ..)| name != "n2");
    leader.facts.probes.push(Probe { address: address(2), found: Found::Mute, free_port: None });
    let told = verdicts(&[leader, follower(1, 0)]);
    assert_eq!(told, expected(&[(Code::PortInUse, "n2", "http.port: 9201")]));
}

#[test]
fn a_newcomer_whose_data_is_of_another_cluster_gets_a_directory_of_its_own() {
    let mut newcomer = failed(7, 0);
    let file = newcomer.obstacle.mend.as_ref().and_then(|mend| mend.file.clone());
    let named = Mend::setting("cluster.name", &Worth::Plain("test".into()), file);
    newcomer.obstacle = Obstacle { code: Code::WrongClusterName, mend: Some(named), ..newcomer.obstacle };
    let line = |of: &str| {
        let (cluster, data) = (Some(of.to_owned()), Some("/srv/data".to_owned()));
        verdicts(&[told_of(vec![FailedStart { cluster, data, ..newcomer.clone() }]), follower(1, 0), follower(2, 0)])
    };
    assert_eq!(line("shop"), expected(&[(Code::WrongClusterName, "n7", "path.data: /srv/data-shop")]));
    assert_eq!(
        line("prod"),
        expected(&[(Code::WrongClusterName, "n7", "cluster.name: test")]),
        "it is of no concern here"
    );
}

#[test]
fn who_runs_and_is_not_believed_is_told_of_as_such() {
    let doubted = FailedStart { runs: true, ..failed(2, 3_000) };
    let mut leader = voters(told_of(vec![doubted]));
    leader.explanation.needed[0].members.retain(|member| &*member.id != "id-1");
    leader.facts.members.retain(|(name, ..)| name != "n2");
    let [verdict] = &judged(&[leader, follower(1, 0)]).verdicts[..] else { panic!("one thing is wrong") };
    assert_eq!(verdict.summary, "n2 runs, and has no master: cannot listen");
    assert!(verdict.evidence.iter().any(|one| one.what == "I had no master [3s] ago"), "{:?}", verdict.evidence);
}

#[test]
fn a_voter_that_ended_because_its_disk_failed_is_told_of_with_that() {
    let ended = FailedStart { ended: true, ..failed(2, 3_000) };
    let mut leader = voters(told_of(vec![ended]));
    leader.explanation.needed[0].members.retain(|member| &*member.id != "id-1");
    leader.facts.members.retain(|(name, ..)| name != "n2");
    let [verdict] = &judged(&[leader, follower(1, 0)]).verdicts[..] else { panic!("one thing is wrong") };
    assert!(verdict.summary.ends_with("it ended by itself: cannot listen"), "{}", verdict.summary);
    assert!(verdict.evidence.iter().any(|one| one.by == "n2" && one.what == "I ended [3s] ago"));
}

#[test]
fn who_ended_and_whose_line_is_not_believed_is_started_as_others_are() {
    let line = |ended: bool| {
        let mut told = FailedStart { ended, ..failed(2, 3_000) };
        told.obstacle.mend = None;
        let mut leader = voters(told_of(vec![told]));
        leader.facts.siblings = vec![sibling(2)];
        leader.explanation.needed[0].members.retain(|member| &*member.id != "id-1");
        leader.facts.members.retain(|(name, ..)| name != "n2");
        verdicts(&[leader, follower(1, 0)])[0].2.clone()
    };
    assert_eq!(line(true), "/usr/bin/zazen start -c /etc/zazen/n2.yml");
    assert_eq!(line(false), "", "that start failed");
}

#[test]
fn who_may_not_write_what_was_given_to_root_gets_it_back() {
    let line = |owner: Option<(u32, u32)>| {
        let mut told = failed(2, 3_000);
        told.obstacle = Obstacle { code: Code::DataNotWritable, mend: None, ..told.obstacle };
        let mut leader = voters(told_of(vec![told]));
        leader.facts.is_root = true;
        leader.facts.siblings = vec![Sibling { owner, is_mixed: owner.is_some(), ..sibling(2) }];
        leader.explanation.needed[0].members.retain(|member| &*member.id != "id-1");
        leader.facts.members.retain(|(name, ..)| name != "n2");
        verdicts(&[leader, follower(1, 0)])[0].2.clone()
    };
    let given = line(Some((990, 991)));
    assert!(given.starts_with("chown -R 990:991 /var/lib/zazen/n2 && setpriv --reuid=990"), "{given}");
    assert_eq!(line(None), "", "nobody knows whose it was");
}

#[test]
fn a_node_without_a_master_tells_of_what_is_wrong_with_itself_and_of_nothing_else() {
    let asked = pinged(pinged(report(0), 1, PingOutcome::Refused), 2, PingOutcome::Refused);
    let told = judged(&[voters(asked)]).verdicts;
    let about = |code, node: &str| Verdict { code, node: Some(node.into()), ..told[0].clone() };
    let of = |verdicts: &[Verdict]| own_fault("n0", verdicts).map(|fault| fault.code);
    assert_eq!(of(&[about(Code::VoterDown, "n0"), about(Code::WrongSeed, "n0")]), Some(Code::WrongSeed));
    assert_eq!(of(&[about(Code::WrongSeed, "n1"), about(Code::VoterDown, "n0")]), None);
    assert_eq!(of(&[about(Code::DuplicateNodeId, "n0")]), Some(Code::DuplicateNodeId), "others believe the first one");
}
