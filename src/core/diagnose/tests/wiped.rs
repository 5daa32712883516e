//! Voters that came back without what they had on disk.

use super::*;

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
