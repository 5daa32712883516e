//! Nodes that do not believe each other, by their secrets, certificates and clocks.

use super::super::Credentials;
use super::*;

const SECRET: &str = "/etc/zazen/secret";

/// One that has a secret, and does not believe these.
pub(super) fn unbelieving(report: Report, others: &[usize], why: &Distrust) -> Report {
    let mut report = others.iter().fold(report, |report, other| {
        found(report, address(*other), PingOutcome::NotUnderstood, Some(Found::Distrusted(why.clone())))
    });
    let files = |of: &str| Credentials {
        secret: Some(format!("{SECRET}{of}")),
        authorities: Some(format!("/etc/zazen/ca{of}")),
        certificate: Some(format!("/etc/zazen/crt{of}")),
        key: Some(format!("/etc/zazen/key{of}")),
        ..Credentials::default()
    };
    report.facts.credentials = files("");
    report.facts.machine = Some("a".into());
    let shares = |number: usize| Some(!others.contains(&number));
    let sibling = |number: usize| Sibling {
        credentials: files(if others.contains(&number) { "-other" } else { "" }),
        shares_secret: shares(number),
        shares_authority: shares(number),
        ..sibling(number)
    };
    report.facts.siblings =
        (0..3).filter(|number| address(*number) != report.explanation.node.address).map(sibling).collect();
    report
}

/// The same with the initial hosts that are waited for.
pub(super) fn waiting(mut report: Report) -> Report {
    report.explanation.cluster_uuid = None;
    let member = |number: usize| Member {
        id: address(number).as_str().into(),
        name: None,
        address: Some(address(number)),
        found: address(number) == report.explanation.node.address,
    };
    let members = (0..3).map(member).collect();
    report.explanation.needed.push(Quota { of: Group::InitialHosts, members, needed: 2, found: 1 });
    report
}

#[test]
fn the_one_with_another_secret_is_told_and_nobody_else() {
    let odd = waiting(unbelieving(report(0), &[1, 2], &Distrust::OtherSecret));
    let line = format!("zazen.security.secret: {SECRET}-other");
    assert_eq!(verdicts(&[odd]), expected(&[(Code::SecretsDiffer, "n0", &line)]));
    let well = || unbelieving(follower(1, 1), &[0], &Distrust::OtherSecret);
    let line = format!("zazen.security.secret: {SECRET}");
    let mut other = follower(2, 1);
    other.facts.machine = Some("a".into());
    assert_eq!(verdicts(&[well(), other]), expected(&[(Code::SecretsDiffer, "n0", &line)]));
}

#[test]
fn a_secret_in_a_directory_that_is_called_as_its_host_goes_to_that_of_the_other_host() {
    let own = |number: usize| Credentials {
        secret: Some(format!("/s/10.0.0.{number}/cluster.secret")),
        ..Credentials::default()
    };
    let mut well = unbelieving(follower(1, 1), &[0], &Distrust::OtherSecret);
    (well.facts.credentials, well.facts.siblings) = (own(1), Vec::new());
    let line = "scp -p /s/10.0.0.1/cluster.secret 10.0.0.0:/s/10.0.0.0/cluster.secret";
    assert_eq!(verdicts(&[well, follower(2, 1)]), expected(&[(Code::SecretsDiffer, "n0", line)]));
    let mut odd = waiting(unbelieving(report(0), &[1, 2], &Distrust::OtherSecret));
    (odd.facts.credentials, odd.facts.siblings) = (own(0), Vec::new());
    let line = "scp -p 10.0.0.1:/s/10.0.0.1/cluster.secret /s/10.0.0.0/cluster.secret";
    assert_eq!(verdicts(&[odd]), expected(&[(Code::SecretsDiffer, "n0", line)]));
}

#[test]
fn who_says_all_with_a_new_secret_before_others_know_it_is_told_whoever_is_asked() {
    let mut odd = pinged(report(0), 1, PingOutcome::NotUnderstood);
    odd.explanation.cluster_uuid = None;
    let with = |shares: bool| {
        let mut well = unbelieving(follower(1, 1), &[0], &Distrust::OtherSecret);
        well.facts.probes.clear();
        well.explanation.hosts.clear();
        well.facts.siblings[0].shares_secret = Some(shares);
        verdicts(&[well, follower(2, 1), odd.clone()])
    };
    let line = format!("zazen.security.secret: {SECRET}");
    assert_eq!(with(false), expected(&[(Code::SecretsDiffer, "n0", &line)]));
    assert!(with(true).iter().all(|(code, ..)| *code != Code::SecretsDiffer));
}

#[test]
fn who_is_refused_for_the_end_of_its_certificate_gets_another_one_and_nothing_else() {
    let mut well = unbelieving(follower(1, 1), &[0], &Distrust::LapsedCertificate);
    well.facts.credentials = Credentials {
        certificate: Some("/etc/zazen/node.crt".into()),
        origin: Some(Origin { directory: "/root/security".into(), host: None }),
        ..Credentials::default()
    };
    let line = "/usr/bin/zazen setup --cluster-name shop --renew --out /root/security 10.0.0.0 && scp -p \
                /root/security/10.0.0.0/node.crt /root/security/10.0.0.0/node.key /root/security/10.0.0.0/http.crt \
                /root/security/10.0.0.0/http.key 10.0.0.0:/etc/zazen/";
    assert_eq!(verdicts(&[well, follower(2, 1)]), expected(&[(Code::CertificateExpires, "n0", line)]));
}

#[test]
fn a_newcomer_of_another_authority_gets_all_from_the_host_that_keeps_the_key_of_the_others() {
    let mut odd = unbelieving(report(0), &[1, 2], &Distrust::OtherAuthority(None));
    odd.explanation.cluster_uuid = None;
    odd.facts.siblings.clear();
    odd.facts.credentials = Credentials {
        certificate: Some("/etc/zazen/node.crt".into()),
        // The wrong one.
        origin: Some(Origin { directory: "/root/new".into(), host: None }),
        ..Credentials::default()
    };
    let mend = judged(slice::from_ref(&odd)).verdicts.remove(0).mend.expect("it is known what helps");
    assert!(mend.line.starts_with("/usr/bin/zazen setup --cluster-name shop --renew --out security 10.0.0.0 && scp"));
    assert!(mend.line.ends_with("security/10.0.0.0/users 10.0.0.0:/etc/zazen/"), "{}", mend.line);
    assert_eq!(mend.host.as_deref(), Some("the host that keeps ca.key"));
}

/// A node among those that agree, each with its files in a directory called as its host, and what it found at another host.
fn well_with(found: Distrust) -> Report {
    let mut well = unbelieving(follower(1, 1), &[0], &found);
    well.facts.siblings.clear();
    well.facts.file = Some("/s/10.0.0.1/zazen.yml".into());
    well.facts.credentials = Credentials {
        secret: Some("/s/10.0.0.1/cluster.secret".into()),
        certificate: Some("/s/10.0.0.1/node.crt".into()),
        origin: Some(Origin { directory: "/s".into(), host: None }),
        ..Credentials::default()
    };
    well
}

#[test]
fn who_moved_with_its_certificates_gets_others_where_it_has_its_own() {
    let told = verdicts(&[well_with(Distrust::OfHost("10.0.0.9".into())), follower(2, 1)]);
    let line = "/usr/bin/zazen setup --cluster-name shop --renew --out /s 10.0.0.0 && scp -p /s/10.0.0.0/node.crt \
                /s/10.0.0.0/node.key /s/10.0.0.0/http.crt /s/10.0.0.0/http.key 10.0.0.0:/s/10.0.0.9/";
    assert_eq!(told, expected(&[(Code::AuthoritiesDiffer, "n0", line)]));
}

#[test]
fn who_has_a_copy_of_the_certificate_of_another_node_gets_its_own_and_that_one_keeps_its() {
    for copied_from in ["10.0.0.1", "10.0.0.2"] {
        let told = judged(&[well_with(Distrust::OfHost(copied_from.into())), follower(2, 1)]).verdicts.remove(0);
        let line = told.mend.expect("it is known what helps").line;
        assert!(line.ends_with(" 10.0.0.0:/s/10.0.0.0/"), "{copied_from}: {line}");
    }
}

#[test]
fn who_refuses_the_cluster_that_its_certificate_is_of_has_another_name_in_its_file() {
    let told = judged(&[well_with(Distrust::RefusesCluster), follower(2, 1)]).verdicts.remove(0);
    let mend = told.mend.expect("it is known what helps");
    assert_eq!((told.code, &*mend.line), (Code::WrongClusterName, "cluster.name: shop"));
    assert_eq!(mend.place().as_deref(), Some("in /s/10.0.0.0/zazen.yml on 10.0.0.0"));
}

#[test]
fn who_speaks_in_the_clear_names_the_files_that_it_has() {
    let setup = "/usr/bin/zazen setup --cluster-name shop --renew --out /s 10.0.0.0 && scp";
    let told = |unnamed: &[(&str, &str)]| {
        let unnamed = unnamed.iter().map(|(key, file)| (format!("zazen.security.{key}"), (*file).into())).collect();
        let bare = Bare { name: "n0".into(), file: Some("/etc/zazen.yml".into()), unnamed };
        let told = judged(&[well_with(Distrust::Unsecured(bare)), follower(2, 1)]).verdicts.remove(0);
        assert_eq!(told.code, Code::AuthoritiesDiffer);
        told.mend.expect("it is known what helps")
    };
    assert!(told(&[]).line.starts_with(setup), "it has none");
    let all = [("authorities", "ca.crt"), ("certificate", "node.crt"), ("key", "node.key")];
    let mend = told(&all);
    assert_eq!(mend.line, r#"zazen.security: {authorities: "ca.crt", certificate: "node.crt", key: "node.key"}"#);
    assert_eq!(mend.place().as_deref(), Some("in /etc/zazen.yml on 10.0.0.0"));
    assert!(told(&all[..2]).line.starts_with(setup), "a node does not start without its key");
}

#[test]
fn where_each_host_made_its_own_authority_the_others_get_what_the_asked_one_made() {
    let told = |makers: [&str; 2]| {
        let mut asked = waiting(unbelieving(report(0), &[1, 2], &Distrust::OtherAuthority(None)));
        asked.explanation.cluster_uuid = None;
        asked.facts.siblings.clear();
        asked.facts.credentials = well_with(Distrust::OtherSecret).facts.credentials;
        for (probe, maker) in asked.facts.probes.iter_mut().zip(makers) {
            probe.found = Found::Distrusted(Distrust::OtherAuthority(Some(maker.into())));
        }
        verdicts(&[asked]).into_iter().map(|(_, node, _)| node.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(told(["a", "b"]), ["10.0.0.1:9300", "10.0.0.2:9300"], "none is like another");
    assert_eq!(told(["a", "a"]), ["n0"], "two are of one");
}

#[test]
fn a_node_is_given_the_certificate_of_its_own_host() {
    let of = |host: &str| Credentials {
        certificate: Some(format!("/s/{host}/node.crt")),
        key: Some(format!("/s/{host}/node.key")),
        authorities: Some(format!("/s/{host}/ca.crt")),
        equipped: vec!["10.0.0.0".into(), "10.0.0.1".into()],
        ..Credentials::default()
    };
    let told = |equipped: &[&str]| {
        let mut well = unbelieving(follower(1, 1), &[0], &Distrust::OtherAuthority(None));
        well.facts.credentials =
            Credentials { equipped: equipped.iter().map(|host| (*host).into()).collect(), ..of("10.0.0.1") };
        for sibling in &mut well.facts.siblings {
            sibling.credentials = of("old");
        }
        verdicts(&[well, follower(2, 1)])
    };
    let line = told(&["10.0.0.0", "10.0.0.1"]).remove(0).2;
    assert!(line.contains("/s/10.0.0.0/node.crt") && !line.contains("/s/10.0.0.1"), "{line}");
    assert_eq!(told(&["10.0.0.1"]).remove(0).2, "", "its own is not there");
}

#[test]
fn the_secrets_of_other_clusters_on_the_host_prove_nothing() {
    let mut well = unbelieving(follower(1, 1), &[0], &Distrust::OtherSecret);
    let stranger =
        |port: u16| Sibling { cluster: "another".into(), port: Some(port), shares_secret: Some(false), ..sibling(0) };
    well.facts.siblings.extend((9_500..9_506).map(stranger));
    let line = format!("zazen.security.secret: {SECRET}");
    assert_eq!(verdicts(&[well, follower(2, 1)]), expected(&[(Code::SecretsDiffer, "n0", &line)]));
}

#[test]
fn of_two_that_do_not_believe_each_other_either_may_be_wrong() {
    let mut one = waiting(unbelieving(report(0), &[1], &Distrust::OtherSecret));
    one.facts.siblings.truncate(1);
    one.explanation.needed[0].members.truncate(2);
    let told = judged(&[one]).verdicts;
    assert_eq!(told.len(), 1, "{told:?}");
    assert_eq!((told[0].code, told[0].certainty), (Code::SecretsDiffer, super::super::Certainty::Possible));
}

#[test]
fn the_one_with_another_authority_is_started_with_the_files_of_the_others() {
    let odd = waiting(unbelieving(report(0), &[1, 2], &Distrust::OtherAuthority(None)));
    let told = verdicts(&[odd]);
    let end = "zazen start -c /etc/zazen/n0.yml -E zazen.security.authorities=/etc/zazen/ca-other \
               -E zazen.security.certificate=/etc/zazen/crt-other -E zazen.security.key=/etc/zazen/key-other \
               -E zazen.security.secret=/etc/zazen/secret-other";
    assert!(matches!(&told[..], [(Code::AuthoritiesDiffer, _, line)] if line.ends_with(end)), "{told:?}");
}

#[test]
fn whoever_shows_a_certificate_of_another_cluster_takes_its_name() {
    let mut odd = waiting(unbelieving(report(0), &[1, 2], &Distrust::OtherAuthority(None)));
    odd.facts.siblings.clear();
    odd.facts.certificates = vec![Certificate {
        setting: "zazen.security.certificate".into(),
        file: "/etc/zazen/node.crt".into(),
        key: None,
        ends_millis: u64::MAX,
        not_for: None,
        of_cluster: Some("elasticsearch".into()),
    }];
    let told = verdicts(slice::from_ref(&odd));
    assert_eq!(told, expected(&[(Code::WrongClusterName, "n0", "cluster.name: elasticsearch")]));
    odd.explanation.cluster_uuid = Some(Uuid::from_u128(7));
    let told = verdicts(&[odd]);
    assert_eq!(told, expected(&[(Code::WrongClusterName, "n0", "")]), "its data keeps the name");
}

#[test]
fn a_file_that_names_some_files_of_security_is_given_the_others_alone() {
    let mut odd = waiting(unbelieving(report(0), &[1, 2], &Distrust::OtherAuthority(None)));
    odd.facts.siblings.clear();
    odd.facts.credentials = Credentials { secret: Some(SECRET.into()), ..Credentials::default() };
    let all = [("authorities", "ca.crt"), ("certificate", "node.crt"), ("key", "node.key")];
    odd.facts.credentials.files = [("zazen.security.secret".to_owned(), "s".to_owned())].into();
    odd.facts.credentials.unnamed = all.map(|(key, file)| (format!("zazen.security.{key}"), file.to_owned())).into();
    let line = r#"zazen.security: {authorities: "ca.crt", certificate: "node.crt", key: "node.key"}"#;
    assert_eq!(verdicts(&[odd]), expected(&[(Code::AuthoritiesDiffer, "n0", line)]));
}

#[test]
fn a_secret_is_copied_to_another_machine() {
    let mut well = unbelieving(follower(1, 1), &[0], &Distrust::OtherSecret);
    well.facts.siblings.clear();
    let mut other = follower(2, 1);
    other.facts.machine = Some("b".into());
    let line = format!("scp -p {SECRET} 10.0.0.0:{SECRET}");
    assert_eq!(verdicts(&[well, other]), expected(&[(Code::SecretsDiffer, "n0", &line)]));
}

#[test]
fn with_the_same_files_it_is_the_name_of_the_cluster_that_differs() {
    let mut asked = waiting(unbelieving(report(0), &[1], &Distrust::OtherSecret));
    for sibling in &mut asked.facts.siblings {
        sibling.shares_secret = Some(true);
    }
    asked.facts.siblings[0].cluster = "shpo".into();
    asked.explanation.needed[0].members.truncate(2);
    assert_eq!(verdicts(&[asked]), expected(&[(Code::WrongClusterName, "n1", "cluster.name: shop")]));
}

#[test]
fn certificates_that_are_not_of_a_clocks_time_tell_of_the_clock_and_of_nothing_else() {
    let early = Distrust::EarlyCertificate(259_200);
    let of = |name| expected(&[(Code::ClockSkew, name, "timedatectl set-ntp true")]);
    assert_eq!(verdicts(&[waiting(unbelieving(report(0), &[1, 2], &early))]), of("n0"), "it is alone in its time");
    let mut ahead = waiting(unbelieving(report(0), &[1, 2], &Distrust::ClockBehind(94_608_000)));
    ahead.facts.wall_millis = 1_900_000_000_000;
    ahead.facts.certificates = vec![Certificate {
        setting: "zazen.security.certificate".into(),
        file: "/etc/zazen/node.crt".into(),
        key: None,
        ends_millis: 1_850_000_000_000,
        not_for: None,
        of_cluster: None,
    }];
    assert_eq!(verdicts(&[ahead]), of("n0"), "its own has not ended either");
    for found in [early, Distrust::OtherTime, Distrust::ClockBehind(94_608_000)] {
        let well = unbelieving(follower(1, 1), &[0], &found);
        assert_eq!(verdicts(&[well, follower(2, 1)]), of("n0"), "{found:?}");
    }
}

#[test]
fn who_names_nobody_has_nothing_to_do_with_the_secret_of_a_cluster_beside_it() {
    let mut lone = unbelieving(alone(0, "prod"), &[1, 2], &Distrust::NoSecret);
    lone.facts.seeds = Some(Vec::new());
    lone.facts.members = vec![("n0".into(), address(0), true)];
    lone.facts.remembered = Vec::new();
    lone.explanation.hosts = Vec::new();
    let told = verdicts(&[lone.clone()]);
    assert!(told.iter().all(|(code, ..)| *code != Code::SecretsDiffer), "{told:?}");
    lone.facts.seeds = Some(vec![address(1).to_string()]);
    let told = verdicts(&[lone]);
    assert!(told.iter().any(|(code, ..)| *code == Code::SecretsDiffer), "it looks for one of them: {told:?}");
}
