//! Which nodes belong together.

use super::*;

/// A node of another cluster that is formed, on the same host.
fn stranger(number: usize, name: &str, uuid: u128) -> Report {
    let mut report = alone(number, name);
    report.explanation.cluster_uuid = Some(Uuid::from_u128(uuid));
    report.facts.seeds = Some(vec![address(number).to_string()]);
    report.facts.sync_millis = Some(5_000);
    report
}

#[test]
fn a_cluster_that_nobody_named_is_not_spoken_of() {
    let ours = [follower(0, 0), follower(1, 0), follower(2, 0)];
    let mut namesake = stranger(7, "shop", 9);
    namesake.facts.file = Some("/srv/other/n7.yml".into());
    for other in [stranger(7, "other", 9), namesake] {
        let told = judged(&[&ours[..], &[other]].concat());
        assert_eq!((told.verdicts, told.asked.len()), (Vec::new(), 3));
    }
}

#[test]
fn what_was_found_on_loopback_is_no_reason_to_change_a_name() {
    let mut asked = report(0);
    asked.explanation.cluster_uuid = None;
    asked.facts.seeds = None;
    let (theirs, ours) = ("other".into(), "shop".into());
    asked = pinged(asked, 7, PingOutcome::OtherClusterName { theirs, ours });
    let told = verdicts(&[asked.clone(), stranger(7, "other", 9)]);
    assert!(told.iter().all(|(code, ..)| *code == Code::NoSeeds), "{told:?}");
    asked.facts.seeds = Some(vec![address(7).to_string()]);
    let told = verdicts(&[asked, stranger(7, "other", 9)]);
    assert!(told.iter().any(|(code, ..)| *code == Code::WrongClusterName), "{told:?}");
}

#[test]
fn who_names_us_or_whom_we_name_is_spoken_of() {
    let mut naming = stranger(7, "shop", 9);
    naming.facts.seeds = Some(vec![format!("10.0.0.0:9300-9305")]);
    let told = judged(&[follower(0, 0), naming]);
    assert_eq!(told.asked, ["n0", "n7"]);
}

#[test]
fn a_node_that_lets_nobody_in_is_blamed_and_not_those_that_name_it() {
    let mut single = stranger(1, "shop", 9);
    single.facts.sync_millis = None;
    single.facts.discovery = "single-node".into();
    single.facts.seeds = None;
    let expected = expected(&[(Code::SingleNodeDiscovery, "n1", "discovery.type: zen")]);
    let (well, other) = (follower(0, 0), follower(2, 0));
    assert_eq!(verdicts(&[well.clone(), single.clone(), other.clone()]), expected);
    assert_eq!(verdicts(&[single.clone(), well, other]), expected);
    let alone = pinged(report(0), 1, PingOutcome::NotUnderstood);
    assert_eq!(verdicts(&[alone.clone(), single.clone()]), expected);
    let by_uuid = PingOutcome::OtherClusterUuid { theirs: None, ours: None };
    assert_eq!(verdicts(&[pinged(report(0), 1, by_uuid), single]), expected);
}

#[test]
fn who_is_alone_and_names_a_larger_cluster_joins_that() {
    let mut alone = stranger(1, "shop", 9);
    alone.facts.sync_millis = None;
    alone.facts.seeds = Some(vec![address(0).to_string(), address(1).to_string()]);
    let told = verdicts(&[follower(0, 0), alone, follower(2, 0)]);
    assert_eq!(told, expected(&[(Code::ForeignCluster, "n1", "path.data: /var/lib/zazen/n1-new")]));
}

#[test]
fn a_seed_host_may_stand_for_several_ports() {
    let is_of = |seed: &str, at: &str| super::super::seed_host::is_seed_of(seed, &at.into());
    for (seed, at) in [
        ("10.0.0.1:9300-9302", "10.0.0.1:9301"),
        ("10.0.0.1:9200,9300-9302", "10.0.0.1:9302"),
        ("10.0.0.1", "10.0.0.1:9300"),
        ("localhost:9301", "127.0.0.1:9301"),
        ("[::1]:9301", "[::1]:9301"),
        ("::1", "[::1]:9300"),
        ("[::1]", "[::1]:9300"),
    ] {
        assert!(is_of(seed, at), "{seed} is {at}");
    }
    for (seed, at) in
        [("10.0.0.1:9300-9302", "10.0.0.1:9303"), ("10.0.0.1:9300-9302", "10.0.0.2:9300"), ("::1", "[::2]:9300")]
    {
        assert!(!is_of(seed, at), "{seed} is not {at}");
    }
}

#[test]
fn who_is_alone_beside_a_cluster_and_names_nobody_is_spoken_of_unless_it_holds_something() {
    let mut lone = alone(7, "shop");
    lone.facts.seeds = None;
    let ours = [follower(0, 0), follower(1, 0), follower(2, 0)];
    let told = |lone: &Report| verdicts(&[&ours[..], slice::from_ref(lone)].concat());
    let all = told(&lone);
    assert_eq!((all.len(), all[0].0, &*all[0].1), (1, Code::NoSeeds, "n7"), "{all:?}");
    let of_itself = |mut lone: Report, asked: bool| {
        lone.facts.seeds = Some(vec![address(7).to_string()]);
        let mut all = [&ours[..], slice::from_ref(&lone)].concat();
        all.rotate_left(if asked { 3 } else { 0 });
        verdicts(&all).into_iter().map(|(code, name, _)| (code, name)).collect::<Vec<_>>()
    };
    for asked in [false, true] {
        assert_eq!(
            of_itself(lone.clone(), asked),
            [(Code::WrongSeed, "n7".to_owned())],
            "who names itself names nobody"
        );
    }
    lone.facts.holds_something = true;
    assert_eq!((told(&lone), of_itself(lone.clone(), false)), (Vec::new(), Vec::new()));
    lone.facts.holds_something = false;
    lone.facts.file = Some("/srv/other/n7.yml".into());
    assert_eq!(told(&lone), Vec::new());
}

#[test]
fn who_is_alone_where_others_could_reach_it_and_looks_for_nobody_is_told_so_and_accused_of_nothing() {
    let told = |report: &Report| {
        let told = judged(std::slice::from_ref(report));
        assert_eq!((told.standing, told.verdicts), (Standing::Sound, Vec::new()));
        told.remark
    };
    let mut lone = alone(0, "shop");
    lone.facts.seeds = Some(vec![address(0).to_string()]);
    assert!(told(&lone).is_some_and(|remark| remark.contains("names no other node as seed host")));
    lone.facts.seeds = None;
    assert!(told(&lone).is_some());
    let mut by_file = lone.clone();
    by_file.facts.given.insert("discovery.zen.hosts_provider".into(), "file".into());
    assert_eq!(told(&by_file), None, "its hosts are told by something else");
    let mut on_purpose = lone.clone();
    on_purpose.facts.discovery = "single-node".into();
    assert_eq!(told(&on_purpose), None);
    Arc::make_mut(&mut lone.explanation.node).address = "127.0.0.1:9300".into();
    lone.facts.bound = vec!["127.0.0.1:9300".into()];
    assert_eq!(told(&lone), None, "nobody else could be meant");
}
