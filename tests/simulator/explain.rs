//! Why there is no master, as programs read it: the shape of the JSON, and that it is an answer to the question.
//!
//! What the sentences say is shown by the golden traces.

use serde_json::{Value, json};
use std::time::Duration;
use zazen::cluster::Address;
use zazen::protocol::Unresolved;
use zazen::service::{Question, Task, Txn};
use zazen::sim::cluster_world::{NodeSpec, add, address};
use zazen::sim::{Fault, Unwatched, World};
use zazen::zen::Zen;

type Watched = World<Zen, Unwatched>;

/// A cluster of three that is down, of which the second one is of another cluster.
fn world() -> Watched {
    let mut world = World::new(1, Unwatched);
    let hosts: Vec<Address> = (0..3).map(address).collect();
    for (node, name) in ["a", "b", "c"].into_iter().enumerate() {
        let mut spec = NodeSpec::new(name, hosts[node].clone(), &hosts);
        spec.seeds.unresolved = vec![Unresolved { host: "nowhere".into(), why: "no such name".into() }];
        if name == "b" {
            spec.cluster_name = "other".into();
        }
        add(&mut world, spec);
    }
    world
}

/// The same with the first one as the master of itself and the third.
fn led_by_the_first() -> Watched {
    let mut world = world();
    for node in [0, 2] {
        world.inject(Fault::Start(node));
    }
    world.run_for(Duration::from_secs(5)).expect("nothing is broken");
    world
}

fn explanation(world: &Watched, node: usize) -> Value {
    let zen = world.participant(node).expect("it runs");
    serde_json::to_value(zen.explain(world.local_time(node))).expect("plain data is JSON")
}

#[test]
fn a_node_without_a_master_names_who_is_needed_and_what_became_of_each_host() {
    let mut world = world();
    for node in 0..2 {
        world.inject(Fault::Start(node));
    }
    world.run_for(Duration::from_secs(3)).expect("nothing is broken");
    let told = explanation(&world, 0);
    assert_eq!((&told["mode"], &told["master_node"]), (&json!("finding"), &Value::Null));
    assert!(told["since_millis"].as_u64().is_some_and(|millis| (2_900..=3_000).contains(&millis)), "{told:#}");
    let [ref needed] = told["needed"].as_array().expect("a list")[..] else { panic!("one quota: {told:#}") };
    assert_eq!((&needed["of"], &needed["needed"], &needed["found"]), (&json!("initial_hosts"), &json!(2), &json!(1)));
    assert_eq!(
        needed["members"][0],
        json!({"id": "10.0.0.1:9300", "name": "a", "address": "10.0.0.1:9300", "found": true})
    );
    let hosts = told["hosts"].as_array().expect("a list");
    let outcomes: Vec<(&Value, &Value)> = hosts.iter().map(|host| (&host["address"], &host["outcome"])).collect();
    let expected = [("10.0.0.2:9300", "other_cluster_name"), ("10.0.0.3:9300", "refused")];
    assert_eq!(outcomes, expected.map(|(at, what)| (json!(at), json!(what))).each_ref().map(|(at, what)| (at, what)));
    assert_eq!((&hosts[0]["theirs"], &hosts[0]["ours"]), (&json!("other"), &json!("zazen")));
    assert_eq!(told["unresolved"], json!([{"host": "nowhere", "why": "no such name"}]));
    assert_eq!(told["advice"].as_array().map(Vec::len), Some(3), "{told:#}");
}

#[test]
fn who_is_behind_for_the_moment_of_a_write_does_not_lag_and_who_stays_behind_does() {
    let mut world = led_by_the_first();
    world.inject(Fault::DiskHangs(2));
    let timeout = Duration::from_secs(1);
    let task = Task::Txn(Txn::put("k", "v"));
    world.ask(0, Question::Submit { task, timeout, master_timeout: timeout });
    let mut told_after = |millis| {
        world.run_for(Duration::from_millis(millis)).expect("nothing is broken");
        explanation(&world, 0)
    };
    assert_eq!(told_after(300)["nodes"], json!([]));
    let told = told_after(400);
    assert!(told["summary"].as_str().is_some_and(|text| text.contains("c (10.0.0.3:9300) lags")), "{told:#}");
}

#[test]
fn a_master_explains_itself_and_names_who_does_not_keep_up() {
    let mut world = led_by_the_first();
    world.inject(Fault::Pause(2));
    world.run_for(Duration::from_millis(500)).expect("nothing is broken");
    let told = explanation(&world, 0);
    assert_eq!((&told["mode"], &told["master_node"]["name"]), (&json!("leading"), &json!("a")));
    assert_eq!((&told["advice"], &told["hosts"]), (&json!([]), &json!([])));
    assert_eq!(told["nodes"][0]["node"]["name"], json!("c"));
    assert!(told["nodes"][0]["missed_pings"].as_u64() > Some(0), "{told:#}");
    assert!(told["summary"].as_str().is_some_and(|text| text.contains("c (10.0.0.3:9300) left")), "{told:#}");
}
