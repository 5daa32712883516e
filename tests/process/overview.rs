//! What one node tells of what all see, and what it tells the program that started it.

use super::cluster::Cluster;
use serde_json::Value;

fn member(overview: &Value, name: &str) -> Value {
    let members = overview["members"].as_array().cloned().unwrap_or_default();
    members.into_iter().find(|member| member["name"] == name).unwrap_or_default()
}

fn outcome(from: &Value, to: &Value) -> Value {
    let reaches = from["sight"]["reaches"].as_array().cloned().unwrap_or_default();
    let reach = reaches.into_iter().find(|reach| reach["node"] == to["id"]);
    reach.map_or(Value::Null, |reach| reach["outcome"].clone())
}

#[test]
fn every_member_tells_what_it_sees_and_a_silent_one_is_told_by_the_others() {
    let cluster = Cluster::start(3);
    let master = cluster.wait_master(&[0, 1, 2]);
    let [asked, silent] = cluster.others(&[master])[..] else { panic!("there are three nodes") };
    let (named_master, named_silent) = (format!("n{master}"), format!("n{silent}"));
    let look = || Some(cluster.nodes[asked].get("/_zazen/overview?events=50").ok()?.json());
    let overview = cluster.wait("the links are tried", || {
        let overview = look()?;
        let (from, to) = (member(&overview, &named_master), member(&overview, &named_silent));
        (outcome(&from, &to) == "answered").then_some(overview)
    });
    let leading = member(&overview, &named_master);
    assert_eq!(leading["sight"]["explanation"]["mode"], "leading", "{overview}");
    assert_eq!(overview["state"]["master_node"], leading["id"]);
    assert!(leading["sight"]["settings"]["node.name"]["from"].as_str().is_some_and(|from| from.contains(".yml:")));
    let events = leading["sight"]["events"].as_array().cloned().unwrap_or_default();
    assert!(events.iter().any(|event| event["kind"] == "election-won"), "{events:?}");
    cluster.nodes[silent].pause();
    cluster.wait("the paused node is silent", || {
        let overview = look()?;
        let (from, to) = (member(&overview, &named_master), member(&overview, &named_silent));
        let is_told = to["silence"] == "timed_out" && outcome(&from, &to) == "timed_out";
        // It may be no member any more when somebody looks, and is not asked then.
        (is_told || to == Value::Null).then_some(())
    });
    cluster.nodes[silent].resume();
    cluster.wait("it answers again", || (member(&look()?, &named_silent)["sight"]["node"].is_string()).then_some(()));
}
