//! What is known of nodes by the files that lie side by side.

use super::*;

/// A newcomer that has this one seed host, where nobody listens.
fn newcomer(seed: &str) -> Report {
    let mut asked = report(2);
    asked.explanation.cluster_uuid = None;
    asked.facts.seeds = Some(vec![seed.into()]);
    asked.facts.siblings = vec![sibling(0), sibling(1)];
    for one in &mut asked.facts.siblings {
        one.seeds = vec![address(0).to_string(), address(1).to_string()];
    }
    let refused = Host { address: seed.into(), node: None, instead_of: None, outcome: PingOutcome::Refused };
    asked.explanation.hosts.push(refused);
    asked
}

#[test]
fn a_newcomer_whose_only_seed_host_is_nowhere_is_told_of_those_whose_files_lie_beside_its_own() {
    let line = "discovery.zen.ping.unicast.hosts: [\"10.0.0.0:9300\"]";
    assert_eq!(verdicts(&[newcomer("10.0.0.0:9400")]), expected(&[(Code::WrongSeed, "n2", line)]));
    let mut next_door = newcomer("10.0.0.0:9400");
    next_door.facts.file = Some("/home/ann/n2.yml".into());
    assert!(verdicts(&[next_door]).is_empty(), "a directory elsewhere may be of another cluster of the name");
}

#[test]
fn a_seed_host_at_which_this_node_itself_was_looked_for_becomes_its_address() {
    let mut asked = newcomer("10.0.0.0:9400");
    let old = |number: usize| format!("10.0.0.{number}:9400");
    asked.facts.seeds = Some((0..3).map(old).collect());
    for number in 1..3 {
        let address = old(number).as_str().into();
        asked.explanation.hosts.push(Host { address, node: None, instead_of: None, outcome: PingOutcome::Refused });
    }
    let line = "discovery.zen.ping.unicast.hosts: [\"10.0.0.0:9300\", \"10.0.0.1:9300\", \"10.0.0.2:9300\"]";
    assert!(verdicts(&[asked]).iter().all(|(code, _, mend)| *code == Code::WrongSeed && mend == line));
}

#[test]
fn a_cluster_of_one_without_seed_hosts_is_told_and_not_those_who_look_for_it() {
    let mut other = follower(2, 2);
    other.explanation.cluster_uuid = Some(Uuid::from_u128(9));
    other.facts.seeds = None;
    other.facts.members = vec![("n2".into(), address(2), true)];
    let mut asked = follower(0, 0);
    asked.facts.members.truncate(2);
    let line = "discovery.zen.ping.unicast.hosts: [\"10.0.0.0:9300\", \"10.0.0.1:9300\"]";
    assert_eq!(verdicts(&[asked, other]), expected(&[(Code::NoSeeds, "n2", line)]));
}

#[test]
fn who_is_cut_off_by_request_does_not_hang() {
    let mut asked = voters(follower(0, 0));
    asked.facts.members.truncate(1);
    asked.facts.processes = vec![Process {
        address: address(1),
        pid: 7,
        is_stopped: false,
        waits_for_disk: false,
        tracer: None,
        program: "zazen".into(),
        freezer: None,
    }];
    let hangs =
        |report: &Report| verdicts(std::slice::from_ref(report)).iter().any(|(code, ..)| *code == Code::FrozenNode);
    assert!(hangs(&asked));
    asked.facts.cuts = vec![address(1).to_string()];
    assert!(!hangs(&asked));
}

#[test]
fn one_authority_is_made_for_all_who_let_everybody_in() {
    let open = |number: usize| {
        let mut report = follower(number, 0);
        report.facts.open = vec!["transport listens beyond loopback".into()];
        report
    };
    let line = "/usr/bin/zazen setup --cluster-name shop --out security 10.0.0.0 10.0.0.1 10.0.0.2";
    // One that says nothing is a member as well.
    let told = verdicts(&[open(0), open(1)]);
    assert_eq!(told, expected(&["n0", "n1"].map(|name| (Code::OpenToStrangers, name, line))));
}

#[test]
fn clusters_of_one_whose_files_lie_side_by_side_are_told_of_each_other() {
    let alone = |number: usize| {
        let mut report = follower(number, number);
        report.explanation.cluster_uuid = Some(Uuid::from_u128(number as u128));
        report.facts.seeds = Some(vec![address(number).to_string()]);
        report.facts.members = vec![(format!("n{number}"), address(number), true)];
        report
    };
    let line = "kill 102; while grep -q '^State:.[^XZ]' /proc/102/status 2>/dev/null; do sleep 0.1; done; /usr/bin/zazen start -c /etc/zazen/n2.yml -E \
                path.data=/var/lib/zazen/n2-new -E discovery.zen.ping.unicast.hosts=10.0.0.1:9300";
    for reports in [[alone(1), alone(2)], [alone(2), alone(1)]] {
        assert_eq!(verdicts(&reports), expected(&[(Code::WrongSeed, "n2", line)]));
    }
    let mut full = [alone(1), alone(2)];
    full[1].facts.holds_something = true;
    assert_eq!(verdicts(&full)[0].1, "n1", "it has nothing to lose");
    full[0].facts.holds_something = true;
    assert_eq!(verdicts(&full), expected(&[(Code::WrongSeed, "n1", "")]), "nobody is told to leave what it has");
    let mut next_door = alone(2);
    next_door.facts.file = Some("/home/ann/n2.yml".into());
    assert_eq!(verdicts(&[alone(1), next_door]), []);
}

#[test]
fn who_formed_alone_under_another_name_is_told_and_not_those_that_look_for_it() {
    let mut strayed = alone(1, "Shop");
    strayed.facts.seeds = None;
    let mut many = [follower(0, 0), follower(2, 0)];
    for report in &mut many {
        report.facts.members = vec![("n0".into(), address(0), true), ("n2".into(), address(2), true)];
        report.facts.seeds = Some((0..3).map(|number| address(number).to_string()).collect());
    }
    let [first, second] = many;
    for reports in [[first.clone(), second.clone(), strayed.clone()], [strayed, first, second]] {
        let told = verdicts(&reports);
        let [(code, name, line)] = &told[..] else { panic!("one is told: {told:?}") };
        assert_eq!((*code, &**name), (Code::WrongClusterName, "n1"));
        let expected = "-E cluster.name=shop -E path.data=/var/lib/zazen/n1-shop \
                        -E discovery.zen.ping.unicast.hosts=10.0.0.0:9300,10.0.0.2:9300";
        assert!(line.ends_with(expected), "{line}");
    }
}

#[test]
fn a_cluster_of_one_that_only_one_node_names_by_mistake_is_left_alone() {
    let mut foreign = alone(3, "other");
    let seeds = |numbers: &[usize]| Some(numbers.iter().map(|number| address(*number).to_string()).collect());
    let mut mistaken = follower(0, 1);
    mistaken.facts.seeds = seeds(&[1, 2, 3]);
    let mut right = follower(1, 1);
    right.facts.seeds = seeds(&[0, 1, 2]);
    let line = "discovery.zen.ping.unicast.hosts: [\"10.0.0.1:9300\", \"10.0.0.2:9300\"]";
    for own in [None, seeds(&[3]), seeds(&[8])] {
        foreign.facts.seeds = own;
        let told = verdicts(&[mistaken.clone(), right.clone(), foreign.clone()]);
        assert_eq!(told, expected(&[(Code::ForeignCluster, "n0", line)]));
    }
    foreign.facts.seeds = seeds(&[1]);
    let told = verdicts(&[mistaken, right, foreign]);
    assert!(matches!(&told[..], [(Code::WrongClusterName, name, _)] if name == "n3"), "it looks for them: {told:?}");
}

#[test]
fn a_cluster_of_one_with_a_name_of_its_own_or_with_keys_did_not_stray_to_the_place_of_a_former_member() {
    let seeds = |numbers: &[usize]| Some(numbers.iter().map(|number| address(*number).to_string()).collect());
    let told = |one: &Report| {
        let of = |number: usize| {
            let mut report = follower(number, 1);
            report.facts.members.pop();
            report.facts.seeds = seeds(&[0, 1, 3]);
            report
        };
        let told = verdicts(&[of(0), of(1), one.clone()]).into_iter();
        told.map(|(code, ..)| code).filter(|code| *code != Code::VoterDown).collect::<Vec<_>>()
    };
    let without_seeds = |name: &str| {
        let mut report = alone(3, name);
        report.facts.seeds = None;
        report
    };
    for slip in ["shpo", "shops", "sop", "Shop", "elasticsearch"] {
        assert_eq!(told(&without_seeds(slip)), [Code::WrongClusterName], "{slip}");
    }
    assert_eq!(told(&without_seeds("metrics")), [Code::ForeignCluster]);
    let mut full = without_seeds("shpo");
    full.facts.holds_something = true;
    assert_eq!(told(&full), [Code::ForeignCluster]);
}

#[test]
fn those_that_name_their_own_host_without_a_port_are_told_that_they_are_alone() {
    let alone = |port: u16| {
        let mut report = follower(0, 0);
        let own = Node { address: format!("127.0.0.1:{port}").as_str().into(), ..(*node(usize::from(port))).clone() };
        report.explanation.node = Arc::new(own.clone());
        report.explanation.master_node = Some(report.explanation.node.clone());
        report.explanation.cluster_uuid = Some(Uuid::from_u128(u128::from(port)));
        report.facts.members = vec![(own.name.to_string(), own.address, true)];
        report.facts.seeds = Some(vec!["127.0.0.1".into()]);
        report.facts.bound = vec![format!("127.0.0.1:{port}")];
        report
    };
    let told = verdicts(&[alone(9300), alone(9301)]);
    assert_eq!(told.iter().map(|(code, ..)| *code).collect::<Vec<_>>(), [Code::WrongSeed], "{told:?}");
}

#[test]
fn who_was_only_guessed_at_is_not_judged_by_its_credentials() {
    let mut asked = follower(0, 0);
    asked.facts.credentials.certificate = Some("/etc/zazen/n0/node.crt".into());
    let found = Found::Distrusted(Distrust::Unsecured(Bare::default()));
    asked.facts.probes.push(Probe { address: address(9), found, free_port: None });
    assert_eq!(verdicts(&[asked.clone()]), [], "nobody names it");
    asked.facts.seeds.get_or_insert_default().push(address(9).to_string());
    let told = verdicts(&[asked]);
    assert!(told.iter().any(|(code, ..)| *code == Code::AuthoritiesDiffer), "{told:?}");
}
