//! Hooks of real nodes: programs that are run when the master changes, in order, again when they fail, and to the last one.

use super::cluster::Cluster;
use super::http::ask;
use super::node::Node;
use super::receiver::Receiver;
use serde_json::Value;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Writes down what it is told. Its first attempt at each event fails, and the second one succeeds.
fn recorder(directory: &Path) -> PathBuf {
    let path = directory.join("record");
    let script = format!(
        "#!/bin/sh\nset -eu\nfile='{}'/$ZAZEN_NODE_NAME.events\nprintf '%s ' \"$ZAZEN_ATTEMPT\" >>\"$file\"\ncat >>\"$file\"\n\
         echo >>\"$file\"\n[ \"$ZAZEN_ATTEMPT\" -gt 1 ]\n",
        directory.display()
    );
    fs::write(&path, script).expect("the folder of a test can be written to");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it is ours");
    path
}

/// What a node's hooks were told: the attempt, and the event.
fn told(directory: &Path, node: &str) -> Vec<(u32, Value)> {
    let text = fs::read_to_string(directory.join(format!("{node}.events"))).unwrap_or_default();
    // The last line may be half written.
    let lines = text.split_inclusive('\n').filter(|line| line.ends_with('\n'));
    let event = |line: &str| {
        let (attempt, event) = line.split_once(' ')?;
        Some((attempt.parse().ok()?, serde_json::from_str(event).ok()?))
    };
    lines.filter_map(event).collect()
}

/// The names and tokens of the events that were carried out.
fn done(directory: &Path, node: &str) -> Vec<(String, u64)> {
    let done = told(directory, node).into_iter().filter(|(attempt, _)| *attempt == 2);
    let name = |event: &Value| event["event"].as_str().expect("an event has a name").to_owned();
    done.map(|(_, event)| (name(&event), event["fencing_token"].as_u64().expect("a token"))).collect()
}

/// Starts nodes with these settings besides, kills one that is not the master, and starts it again; which one is the master.
fn rejoined(settings: &[&str]) -> (Cluster, usize) {
    let mut cluster = Cluster::start_with(3, |_, node| {
        with_hooks(node);
        node.settings.extend(settings.iter().map(|line| (*line).to_owned()));
    });
    let master = cluster.wait_master(&[0, 1, 2]);
    let other = cluster.others(&[master])[0];
    cluster.kill(other);
    cluster.wait("the other one is gone", || (cluster.view(master).members.len() == 2).then_some(()));
    cluster.restart(other);
    cluster.wait("the other one is back", || (cluster.view(master).members.len() == 3).then_some(()));
    (cluster, master)
}

fn with_hooks(node: &mut Node) {
    let directory = node.home().parent().expect("nodes share a folder").to_owned();
    let program = recorder(&directory);
    for event in ["on_master_elected", "on_step_down", "on_no_master"] {
        node.settings
            .push(format!("hooks.{event}: [\"{}\", \"argument with spaces; and $no shell\"]", program.display()));
    }
}

#[test]
fn programs_are_told_of_each_reign_in_order_again_when_they_fail_and_at_the_end() {
    let mut cluster = Cluster::start_with(3, |_, node| with_hooks(node));
    let directory = cluster.scratch.path().to_owned();
    let master = cluster.wait_master(&[0, 1, 2]);
    let name = format!("n{master}");
    cluster.wait("the master's hooks are done", || (done(&directory, &name).len() >= 2).then_some(()));
    // More may be under way: a joiner that stood before makes the master lead on in a later term.
    let events: Vec<_> = told(&directory, &name).into_iter().take(4).collect();
    let attempts: Vec<u32> = events.iter().map(|(attempt, _)| *attempt).collect();
    assert_eq!(attempts, [1, 2, 1, 2], "each one is tried again before the next: {events:?}");
    assert_eq!(done(&directory, &name)[..2], [("on_no_master".into(), 0), ("on_master_elected".into(), 1)]);
    let (_, elected) = &events[3];
    assert_eq!((&elected["is_master"], &elected["master"]["name"]), (&Value::from(true), &Value::from(name.as_str())));
    assert_eq!(elected["number"], events[2].1["number"], "it is the same event");
    let refused = r#"{"transient": {"hooks.on_no_master": "/bin/true"}}"#;
    let answer = ask(cluster.nodes[master].http, "PUT", "/_cluster/settings", refused).expect("there is a master");
    assert_eq!(answer.status, 400, "nothing from the network sets a hook: {}", answer.body);

    assert_eq!(cluster.nodes[master].terminate(), Some(0));
    let last = done(&directory, &name).pop().expect("its hooks were run");
    assert_eq!(last.0, "on_no_master", "a node that ends tells it before: {:?}", done(&directory, &name));
    assert!(done(&directory, &name).iter().any(|(name, _)| name == "on_step_down"));
    let others = cluster.others(&[master]);
    let next = cluster.wait_master(&others);
    let next_name = format!("n{next}");
    cluster.wait("the next master's hooks are done", || {
        let (name, token) = done(&directory, &next_name).pop()?;
        (name == "on_master_elected" && token > 1).then_some(())
    });
}

#[test]
fn a_master_that_ends_tells_so_whatever_hangs_before_it() {
    let (mut cluster, master) = rejoined(&["hooks.on_node_joined: [\"/bin/sleep\", \"300\"]", "hooks.timeout: 2s"]);
    assert_eq!(cluster.nodes[master].terminate(), Some(0));
    let done = done(cluster.scratch.path(), &format!("n{master}"));
    assert!(done.iter().any(|(name, _)| name == "on_step_down"), "{done:?}");
}

#[test]
fn a_node_that_steps_down_tells_so_though_what_came_before_it_fails_again_and_again() {
    let (cluster, master) = rejoined(&["hooks.on_node_joined: [\"/bin/false\"]", "hooks.attempts: 10"]);
    cluster.wait("its hook fails", || cluster.nodes[master].log().contains("[on_node_joined]").then_some(()));
    let answer = ask(cluster.nodes[master].http, "POST", "/_zazen/handover", "").expect("another one can lead");
    assert_eq!(answer.status, 200, "{}", answer.body);
    let name = format!("n{master}");
    let told = || done(cluster.scratch.path(), &name).iter().any(|(name, _)| name == "on_step_down").then_some(());
    cluster.wait("it tells that it stepped down", told);
    assert!(!cluster.nodes[master].log().contains("(10 of 10)"), "{}", cluster.nodes[master].tail());
}

#[test]
fn a_second_signal_ends_a_node_whose_hook_hangs() {
    let mut cluster = Cluster::start_with(1, |_, node| {
        node.settings.push("hooks.on_master_elected: [\"/bin/sleep\", \"3000\"]".into());
        node.settings.push("hooks.timeout: 1h".into());
    });
    cluster.nodes[0].ask_to_leave();
    cluster.wait("it says good-bye", || cluster.nodes[0].log().contains("stopping ...").then_some(()));
    cluster.wait("nobody is answered any more", || cluster.nodes[0].get("/livez").is_err().then_some(()));
    cluster.nodes[0].ask_to_leave();
    assert_eq!(cluster.nodes[0].ended().code(), Some(0));
}

#[test]
fn a_webhook_is_told_what_happened_and_which_event_and_attempt_it_is() {
    let receiver = Receiver::start();
    let webhook = format!("hooks.on_master_elected: \"http://127.0.0.1:{}/told?by=zazen\"", receiver.port);
    let cluster = Cluster::start_with(1, |_, node| node.settings.push(webhook.clone()));
    let posted = cluster.wait("it is told of the master", || receiver.taken().into_iter().next());
    assert_eq!(posted.path, "/told?by=zazen");
    for line in ["content-type: application/json", "x-zazen-event: on_master_elected", "x-zazen-attempt: 1"] {
        assert!(posted.head.iter().any(|found| found == line), "{line}: {posted:?}");
    }
    let event: Value = serde_json::from_str(&posted.body).expect("it is JSON");
    assert_eq!((&event["event"], &event["is_master"]), (&"on_master_elected".into(), &true.into()), "{event}");
    assert!(!cluster.nodes[0].log().contains("panic"), "{}", cluster.nodes[0].tail());
}
