//! `zazen status --watch`: what is shown, how old it is, and that nobody who stands still holds it up.

use super::cluster::Cluster;
use super::node::wait_for;
use super::tool::{Running, output, url, zazen};
use rustix::process::{Pid, Signal, kill_process};
use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;

/// The command watches these nodes and writes into this file.
fn watch(cluster: &Cluster, file: &Path) -> Running {
    let out = File::create(file).expect("the folder of a test can be written to");
    let mut command = zazen(&["status", "--watch=0.1"]);
    // The last node is asked first.
    command.args(cluster.nodes.iter().rev().map(url));
    Running(command.stdout(out).stderr(Stdio::null()).spawn().expect("the command can be run"))
}

/// The last whole picture.
fn last(file: &Path) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let (whole, _) = text.rsplit_once(" s old")?;
    Some(whole.rsplit("cluster ").next()?.to_owned())
}

fn waits(cluster: &Cluster, file: &Path, what: &str) {
    cluster.wait(what, || last(file)?.contains(what).then_some(()));
}

#[test]
fn a_watch_goes_on_while_a_node_stands_still_and_tells_how_old_it_is() {
    let cluster = Cluster::start(3);
    cluster.wait_master(&[0, 1, 2]);
    let file = cluster.scratch.path().join("watched");
    let mut watching = watch(&cluster, &file);
    waits(&cluster, &file, "all 3 nodes agree");
    cluster.nodes[2].pause();
    waits(&cluster, &file, "timed out");
    cluster.wait("the age of a picture whose next one is late", || {
        let text = fs::read_to_string(&file).ok()?;
        text.contains(" s old, asking again").then_some(())
    });
    cluster.nodes[2].resume();
    waits(&cluster, &file, "all 3 nodes agree");
    kill_process(Pid::from_child(&watching.0), Signal::INT).expect("it runs");
    let status = wait_for(|| watching.0.try_wait().expect("it is a child")).expect("it ends as it is told");
    assert_eq!(status.code(), Some(0), "all was well at last");
}

#[test]
fn without_a_watch_a_node_that_stands_still_is_told_of() {
    let cluster = Cluster::start(3);
    cluster.wait_master(&[0, 1, 2]);
    cluster.nodes[2].pause();
    let urls: Vec<String> = cluster.nodes.iter().rev().map(url).collect();
    let arguments: Vec<&str> = std::iter::once("status").chain(urls.iter().map(String::as_str)).collect();
    let told = output(1, &arguments);
    cluster.nodes[2].resume();
    assert!(told.contains("timed out") && told.contains("but 1 of 3 nodes"), "nobody is counted twice: {told}");
}

#[test]
fn a_member_that_listens_to_no_users_is_well() {
    let cluster = Cluster::start_apart(3, |at, node| {
        if at == 2 {
            node.settings.push("http.enabled: false".into());
        }
    });
    cluster.wait("all three are members", || (cluster.view(0).members.len() == 3).then_some(()));
    let told = output(0, &["status", &url(&cluster.nodes[0])]);
    assert!(told.contains("all 2 nodes agree that can be asked, 1 cannot"), "{told}");
    assert!(told.contains("runs, HTTP unknown"), "{told}");
}
