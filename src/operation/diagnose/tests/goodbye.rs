//! Nodes that said good-bye: they are missed as others are, and did not fail.

use super::*;

#[test]
fn of_a_voter_that_left_in_good_order_this_is_told() {
    let mut leader = voters(follower(0, 0));
    leader.explanation.needed[0].members.retain(|member| &*member.id != "id-1");
    leader.facts.members.retain(|(name, ..)| name != "n2");
    let summary = |leader: &Report| judged(&[leader.clone(), follower(1, 0)]).verdicts[0].summary.clone();
    assert!(summary(&leader).starts_with("n2, whose vote counts, is not there"), "{}", summary(&leader));
    leader.facts.remembered = vec![Remembered { failed: false, said_so: true, ..gone(2, Some(true)) }];
    assert!(summary(&leader).starts_with("n2, whose vote counts, left in good order"), "{}", summary(&leader));
}

#[test]
fn of_voters_that_are_needed_and_left_in_good_order_this_is_told() {
    let mut asked = voters(pinged(pinged(report(0), 1, PingOutcome::Refused), 2, PingOutcome::Refused));
    asked.facts.remembered = vec![Remembered { failed: false, said_so: true, ..gone(2, Some(true)) }];
    let told = judged(&[asked]).verdicts;
    let about = |name: &str| {
        let one = told.iter().find(|one| one.code == Code::VoterDown && one.node.as_deref() == Some(name));
        one.map(|one| one.summary.clone()).unwrap_or_default()
    };
    assert!(about("n1").starts_with("n1 does not run"), "{told:?}");
    assert!(about("n2").starts_with("n2 left in good order and does not run"), "{told:?}");
}
