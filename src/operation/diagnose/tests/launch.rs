//! Nodes that were given something besides their files.

use super::super::case::Case;
use super::super::{Launch, Mend, Variable};
use super::*;

const ZAZEN: &str = "/usr/bin/zazen";

fn arguments(all: &[(&str, &str)]) -> Launch {
    let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    Launch { arguments: all.iter().map(pair).collect(), ..Launch::default() }
}

fn variable(name: &str, value: &str, gives: Option<&str>) -> Variable {
    Variable { name: name.into(), value: value.into(), gives: gives.map(Into::into) }
}

/// Three voters of which two do not run, and what is known of the second.
fn without(second: Sibling) -> Vec<(Code, String, String)> {
    let mut asked = voters(pinged(pinged(report(0), 1, PingOutcome::Refused), 2, PingOutcome::Refused));
    asked.facts.siblings = vec![second];
    verdicts(&[asked])
}

fn line_of(told: &[(Code, String, String)], code: Code) -> &str {
    told.iter().find(|(found, node, _)| *found == code && node == "n1").map(|(.., line)| &**line).expect("it is told")
}

#[test]
fn a_node_is_started_with_the_arguments_and_variables_that_it_had() {
    let launch = Launch {
        variables: vec![variable("ZAZEN_HTTP_PORT", "9201", Some("http.port")), variable("RACK", "a b", None)],
        ..arguments(&[("node.name", "n1"), ("node.attr.rack", "${RACK}")])
    };
    let told = without(Sibling { launch, ..sibling(1) });
    let start = "ZAZEN_HTTP_PORT=9201 RACK='a b' /usr/bin/zazen start -c /etc/zazen/n1.yml -E node.name=n1 \
                 -E node.attr.rack='${RACK}'";
    assert_eq!(line_of(&told, Code::VoterDown), start);
}

#[test]
fn a_relative_directory_that_was_an_argument_is_named_in_full_and_once() {
    let launch = arguments(&[("path.data", "data/n1"), ("node.name", "n1")]);
    let data = "/srv/data/n1".to_owned();
    let told = without(Sibling { launch, is_data_relative: true, data, ..sibling(1) });
    let start = format!("{ZAZEN} start -c /etc/zazen/n1.yml -E node.name=n1 -E path.data=/srv/data/n1");
    assert_eq!(line_of(&told, Code::VoterDown), start);
}

#[test]
fn a_node_without_a_file_is_started_by_its_arguments_and_found_where_it_listened_last() {
    let launch = arguments(&[("node.name", "n1"), ("transport.tcp.port", "9300-9400")]);
    let told = without(Sibling { file: None, port: None, last: Some(address(1)), launch, ..sibling(1) });
    let start = format!("{ZAZEN} start -E node.name=n1 -E transport.tcp.port=9300-9400");
    assert_eq!(line_of(&told, Code::VoterDown), start);
}

#[test]
fn what_is_secret_is_named_and_not_repeated() {
    let launch = Launch { withheld: vec!["hooks.on_step_down".into()], ..arguments(&[("node.name", "n1")]) };
    let mut asked = voters(pinged(pinged(report(0), 1, PingOutcome::Refused), 2, PingOutcome::Refused));
    asked.facts.siblings = vec![Sibling { launch, ..sibling(1) }];
    let mends: Vec<_> = judged(&[asked]).verdicts.into_iter().filter_map(|verdict| verdict.mend).collect();
    assert!(!mends.is_empty() && mends.iter().all(|mend| mend.withheld == ["hooks.on_step_down"]), "{mends:?}");
    let besides = "give hooks.on_step_down again, which is kept secret";
    assert_eq!(mends[0].besides().as_deref(), Some(besides));
}

#[test]
fn a_value_that_came_as_an_argument_is_changed_there_and_not_in_the_file() {
    let asks = |launch: Launch| {
        let mut asked = report(0);
        asked.facts.given.insert(MINIMUM.into(), "3".into());
        asked.facts.launch = launch;
        let quota = Quota { of: Group::MasterEligibleNodes, members: Vec::new(), needed: 3, found: 2 };
        asked.explanation.needed.push(quota);
        verdicts(&[asked, report(1)]).remove(0).2
    };
    let anew = format!(
        "kill 100; while grep -q '^State:.[^XZ]' /proc/100/status 2>/dev/null; do sleep 0.1; done; {ZAZEN} start -c /etc/zazen/n0.yml \
         -E discovery.zen.minimum_master_nodes=2"
    );
    assert_eq!(asks(arguments(&[(MINIMUM, "3")])), anew);
    let variables = vec![variable("ZAZEN_DISCOVERY_ZEN_MINIMUM_MASTER_NODES", "3", Some(MINIMUM))];
    assert_eq!(asks(Launch { variables, ..Launch::default() }), anew);
    assert_eq!(asks(arguments(&[("node.name", "n0")])), "discovery.zen.minimum_master_nodes: 2");
}

#[test]
fn a_variable_that_gives_it_again_at_the_next_start_is_named() {
    let mut asked = report(0);
    let variables = vec![variable("ZAZEN_DISCOVERY_ZEN_MINIMUM_MASTER_NODES", "3", Some(MINIMUM))];
    asked.facts.given.insert(MINIMUM.into(), "3".into());
    asked.facts.launch = Launch { variables, ..Launch::default() };
    let quota = Quota { of: Group::MasterEligibleNodes, members: Vec::new(), needed: 3, found: 2 };
    asked.explanation.needed.push(quota);
    let evidence = judged(&[asked, report(1)]).verdicts.remove(0).evidence;
    let is_named = |one: &super::super::Evidence| one.what.contains("[ZAZEN_DISCOVERY_ZEN_MINIMUM_MASTER_NODES]");
    assert!(evidence.iter().any(is_named), "{evidence:?}");
}

#[test]
fn seed_hosts_that_came_one_by_one_are_given_together() {
    let mut asked = report(0);
    asked.facts.seeds = Some(vec![address(1).to_string(), "10.0.0.2:9200".into()]);
    let seeds = "discovery.zen.ping.unicast.hosts";
    let one = |number: usize| format!("{seeds}.{number}");
    asked.facts.launch = arguments(&[(&one(0), "10.0.0.1:9300"), (&one(1), "10.0.0.2:9200")]);
    asked.explanation.hosts = vec![Host {
        address: "10.0.0.2:9200".into(),
        node: None,
        instead_of: None,
        outcome: PingOutcome::NotUnderstood,
    }];
    let found = Found::HttpOf(address(2));
    asked.facts.probes = vec![Probe { address: "10.0.0.2:9200".into(), found, free_port: None }];
    let told = verdicts(&[asked]);
    let end = format!("{ZAZEN} start -c /etc/zazen/n0.yml -E {seeds}=10.0.0.1:9300,10.0.0.2:9300");
    assert!(told[0].0 == Code::HttpPortInSeeds && told[0].2.ends_with(&end), "{told:?}");
}

#[test]
fn a_service_is_stopped_and_started_as_one() {
    let mut one = report(0);
    one.facts.unit = Some("zazen.service".into());
    one.facts.user = Some((103, 105));
    one.facts.launch.arguments = vec![("http.port".into(), "9201".into())];
    let case = Case::new(std::slice::from_ref(&one)).expect("somebody says something");
    let line = |mend: Option<Mend>| mend.expect("it is known how it is started").line;
    let again = line(case.restart(&one, "mv a b; ", |start| start));
    assert_eq!(again, "systemctl stop zazen.service; mv a b; systemctl start zazen.service");
    let other = line(Some(case.plain(&one, "http.port", 9202)));
    let expected = "systemctl stop zazen.service; setpriv --reuid=103 --regid=105 --clear-groups /usr/bin/zazen start \
                    -c /etc/zazen/n0.yml -E http.port=9202";
    assert_eq!(other, expected, "what its unit gives cannot be given otherwise");
    let by_file = line(Some(case.plain(&one, "node.name", "b")));
    assert_eq!(by_file, "node.name: b", "its file is read again when it is restarted");
}
