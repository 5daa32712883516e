//! The doctor reads seed hosts as a node does, and prints nothing that makes a second cluster.

use super::alone::Alone;
use super::{Folder, ends_with};
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

/// What the doctor says of a node with these seed hosts, if it ends with this code.
fn doctor(folder: &Folder, code: i32, port: u16, seeds: &str) -> String {
    let data = folder.0.join("data");
    let text = format!(
        "http.port: 0\ntransport.port: {port}\npath.data: {}\ndiscovery.zen.ping.unicast.hosts: {seeds}\n",
        data.display()
    );
    folder.file("zazen.yml", text.as_bytes());
    ends_with(code, &format!("doctor -c {}", folder.0.join("zazen.yml").display())).0
}

#[test]
fn seed_hosts_are_read_as_a_node_reads_them() {
    let folder = Folder::new("doctor-seeds");
    let free = super::ports::free_port();
    // Nobody listens at the ports of old services, nor at the one that was free.
    for seed in ["127.0.0.1:2-4", "[::1]:3"] {
        let out = doctor(&folder, 0, free, &format!("[\"{seed}\"]"));
        assert!(out.contains(&format!("ok  nobody listens at seed host [{seed}] yet")), "{seed}: {out}");
    }
    // One without a port has that of the node.
    for seed in ["127.0.0.1", "::1"] {
        let out = doctor(&folder, 0, free, &format!("[\"{seed}\"]"));
        assert!(out.contains(&format!("ok  seed host [{seed}] is this node itself")), "{seed}: {out}");
    }
}

#[test]
fn the_doctor_never_takes_the_last_seed_host_away() {
    let folder = Folder::new("doctor-no-seeds");
    let alone = doctor(&folder, 1, 0, "[\"nowhere.invalid:9300\"]");
    assert!(alone.contains("seed-unresolved") && !alone.contains("unicast.hosts: "), "{alone}");
    let one_of_two = doctor(&folder, 1, 0, "[\"nowhere.invalid:9300\", \"127.0.0.1:2\"]");
    assert!(one_of_two.contains("unicast.hosts: [\"127.0.0.1:2\"]"), "{one_of_two}");
}

/// What it says of a node with these lines, run in the folder.
fn told(folder: &Folder, code: i32, lines: &str) -> String {
    folder.file("zazen.yml", format!("http.port: 0\n{lines}\n").as_bytes());
    let mut command = Command::new(env!("CARGO_BIN_EXE_zazen"));
    let output = command.args(["doctor", "-c", "zazen.yml"]).current_dir(&folder.0).env_clear().output();
    let output = output.expect("the command that was built with this test can be run");
    let out = String::from_utf8_lossy(&output.stdout).into_owned();
    assert_eq!(output.status.code(), Some(code), "{lines}\n{out}\n{}", String::from_utf8_lossy(&output.stderr));
    out
}

#[test]
fn a_data_directory_that_nobody_can_make_is_replaced_by_one_beside_the_file() {
    let folder = Folder::new("doctor-proc");
    let out = told(&folder, 2, "discovery.type: single-node\ntransport.port: 0\npath.data: /proc/foo");
    let new = folder.0.join("data-node");
    assert!(out.contains("data-not-writable: "), "{out}");
    assert!(out.contains(&format!("path.data: {}", new.display())) && !new.exists(), "{out}");
}

#[test]
fn a_log_that_nobody_can_write_gets_another_directory() {
    let folder = Folder::new("doctor-log");
    let settings = "discovery.type: single-node\ntransport.port: 0\npath.data: data";
    let out = told(&folder, 2, &format!("{settings}\npath.logs: /proc/foo"));
    let new = folder.0.join("data/logs");
    assert!(out.contains("bad-settings: ") && out.contains(&format!("path.logs: {}", new.display())), "{out}");
    let out = told(&folder, 0, &format!("{settings}\npath.logs: logs"));
    assert!(out.contains("ok  the log can be written in ["), "{out}");
    assert!(!new.exists() && !folder.0.join("logs").exists(), "nothing is left behind");
}

#[test]
fn no_directory_is_left_behind() {
    let folder = Folder::new("doctor-traces");
    for data in ["data/n0".to_owned(), folder.0.join("a/b/c").display().to_string()] {
        told(&folder, 0, &format!("discovery.type: single-node\ntransport.port: 0\npath.data: {data}"));
    }
    let left: Vec<_> =
        std::fs::read_dir(&folder.0).expect("it is there").flatten().map(|one| one.file_name()).collect();
    assert_eq!(left, ["zazen.yml"]);
}

#[test]
fn more_masters_than_there_are_seed_hosts_are_told() {
    let folder = Folder::new("doctor-minimum");
    let asks = |code, minimum: usize, seeds: &str| {
        let port = super::ports::free_port();
        told(
            &folder,
            code,
            &format!(
                "transport.port: {port}\npath.data: data\ndiscovery.zen.minimum_master_nodes: {minimum}\n\
                 discovery.zen.ping.unicast.hosts: [{}]",
                seeds.replace("SELF", &format!("127.0.0.1:{port}"))
            ),
        )
    };
    asks(0, 3, "\"SELF\", \"127.0.0.1:2\", \"127.0.0.1:3\"");
    asks(0, 3, "\"127.0.0.1:2-3\"");
    let out = asks(1, 4, "\"SELF\", \"127.0.0.1:2\", \"127.0.0.1:3\"");
    let line = "discovery.zen.minimum_master_nodes: 2";
    assert!(out.contains("minimum-master-nodes-too-high: ") && out.contains(line), "{out}");
}

#[test]
fn a_seed_host_that_says_nothing_is_no_stranger() {
    let folder = Folder::new("doctor-silent");
    let silent = TcpListener::bind("127.0.0.1:0").expect("there is a port");
    let seed = silent.local_addr().expect("it is bound").to_string();
    let out = doctor(&folder, 1, 0, &format!("[\"{seed}\"]"));
    assert!(
        out.contains("frozen-node (possible): ") && out.contains(&format!("[{seed}] did not answer within")),
        "{out}"
    );
    assert!(out.contains("may be stopped, or busy") && !out.contains("kill"), "{out}");

    let port = super::ports::free_port();
    let alone = Alone::start_at(port, "doctor-frozen");
    let signal = |name: &str| {
        let done = Command::new("kill").args([name, &alone.pid().to_string()]).status();
        assert!(done.is_ok_and(|done| done.success()), "kill {name}");
    };
    signal("-STOP");
    let out = doctor(&folder, 1, 0, &format!("[\"127.0.0.1:{port}\"]"));
    signal("-CONT");
    assert!(out.contains("frozen-node: ") && out.contains(&format!("kill -CONT {}", alone.pid())), "{out}");
}

#[test]
fn a_publish_host_where_another_process_listens_is_told() {
    let folder = Folder::new("doctor-publish");
    // What is published is called; this one answers in the place of the node.
    let other = TcpListener::bind("127.0.0.2:0").expect("all of 127.0.0.0/8 is loopback");
    let port = other.local_addr().expect("it is bound").port();
    let lines = format!(
        "discovery.type: single-node\npath.data: data\ntransport.port: {port}\ntransport.bind_host: 127.0.0.1\n\
         transport.publish_host: 127.0.0.2"
    );
    let out = told(&folder, 1, &lines);
    assert!(out.contains("unreachable-publish-address") && out.contains("transport.publish_host: 127.0.0.1"), "{out}");
}

#[test]
fn a_data_directory_that_is_a_copy_or_damaged_is_told() {
    let folder = Folder::new("doctor-data");
    let port = super::ports::free_port();
    let alone = Alone::start_at(port, "doctor-alone");
    let state = |data: &Path| data.join("nodes/0/_state");
    let copy = folder.0.join("copy");
    std::fs::create_dir_all(state(&copy)).expect("the folder can be written to");
    for file in std::fs::read_dir(state(&alone.data)).expect("it is there").flatten() {
        std::fs::copy(file.path(), state(&copy).join(file.file_name())).expect("it can be read");
    }
    let lines = format!(
        "transport.port: 0\npath.data: copy\ncluster.name: elasticsearch\n\
         discovery.zen.ping.unicast.hosts: [\"127.0.0.1:{port}\"]"
    );
    let out = told(&folder, 1, &lines);
    assert!(out.contains("duplicate-node-id: ") && out.contains("copy-new"), "{out}");
    let file = std::fs::read_dir(state(&copy)).expect("it is there").flatten().map(|one| one.path()).next();
    let file = file.expect("it has a generation");
    let mut bytes = std::fs::read(&file).expect("it can be read");
    let at = bytes.iter().skip(1_536).position(|byte| *byte == b'{').expect("there is a record") + 1_538;
    bytes[at] ^= 0x16;
    std::fs::write(&file, &bytes).expect("it can be written");
    let out = told(&folder, 2, &lines);
    assert!(out.contains("data-damaged: "), "{out}");
    assert_eq!(std::fs::read(&file).expect("it can be read"), bytes, "nothing is changed");
}

#[test]
fn a_node_that_runs_already_is_no_mistake_of_its_file() {
    let folder = Folder::new("doctor-runs");
    let (http, transport) = (super::ports::free_port(), super::ports::free_port());
    let lines = format!(
        "http.port: {http}\ntransport.port: {transport}\npath.data: {}\ndiscovery.type: single-node\n",
        folder.0.join("data").display()
    );
    folder.file("zazen.yml", lines.as_bytes());
    let _alone = Alone::start_by(&folder.0.join("zazen.yml"), folder.0.join("data"));
    let out = ends_with(0, &format!("doctor -c {}", folder.0.join("zazen.yml").display())).0;
    assert!(out.contains(&format!("`zazen explain --url 127.0.0.1:{http}` tells what")), "{out}");
    assert!(!out.contains("in-use") && !out.contains("kill "), "{out}");
    let other = lines.replace(&transport.to_string(), "0");
    folder.file("other.yml", other.as_bytes());
    let out = ends_with(2, &format!("doctor -c {}", folder.0.join("other.yml").display())).0;
    assert!(out.contains("port-in-use: ") && out.contains("data-in-use: "), "another file is another node: {out}");
}

#[test]
fn a_node_that_runs_by_a_directory_is_known_by_its_file_and_the_other_way_round() {
    let folder = Folder::new("doctor-runs-by-directory");
    let (http, transport) = (super::ports::free_port(), super::ports::free_port());
    let data = folder.0.join("data");
    let lines = format!(
        "http.port: {http}\ntransport.port: {transport}\npath.data: {}\nnode.name: first\n\
         discovery.zen.ping.unicast.hosts: [\"127.0.0.1:{transport}\"]\ndiscovery.zen.minimum_master_nodes: 1\n",
        data.display()
    );
    folder.file("conf/zazen.yml", lines.as_bytes());
    let _alone = Alone::start_by(&folder.0.join("conf"), data);
    let told = |code, file: &str| ends_with(code, &format!("doctor -c {}", folder.0.join(file).display())).0;
    for same in ["conf", "conf/zazen.yml", "conf/../conf/"] {
        let out = told(0, same);
        assert!(out.contains(&format!("`zazen explain --url 127.0.0.1:{http}` tells what")), "{same}: {out}");
        assert!(!out.contains("in-use"), "{same}: {out}");
    }
    let other = lines.replace("first", "second").replace("/data", "/data-of-another");
    folder.file("other.yml", other.as_bytes());
    let out = told(2, "other.yml");
    assert!(out.contains("it is held by node [first] of this cluster, process ["), "{out}");
}

#[test]
fn one_that_asks_nobody_and_names_others_is_told() {
    let folder = Folder::new("doctor-single");
    let lines = "discovery.type: single-node\ntransport.port: 0\npath.data: data\n";
    let out = told(&folder, 1, &format!("{lines}discovery.zen.ping.unicast.hosts: [\"127.0.0.1:2\"]"));
    assert!(out.contains("single-node-discovery (likely): ") && out.contains("discovery.type: zen"), "{out}");
    for own in ["127.0.0.1", "localhost", "[::1]", "::1", "127.0.0.1:0"] {
        let out = told(&folder, 0, &format!("{lines}discovery.zen.ping.unicast.hosts: [\"{own}\"]"));
        assert!(out.contains("asks nobody"), "it names itself only: {out}");
    }
}

#[test]
fn what_both_ports_have_wrong_is_told_once() {
    let folder = Folder::new("doctor-once");
    let out = told(&folder, 2, "network.host: _nowhere_\ntransport.port: 0\npath.data: data");
    assert_eq!(out.matches("bad-address: ").count(), 1, "{out}");
}

#[test]
fn a_file_that_is_there_with_another_ending_is_what_was_meant() {
    let folder = Folder::new("doctor-ending");
    folder.file("n1.yml", b"cluster.name: shop\n");
    let (meant, typed) = (folder.0.join("n1.yml"), folder.0.join("n1.yaml"));
    let (_, told) = ends_with(2, &format!("doctor -c {}", typed.display()));
    assert!(told.contains("[bad-settings]; to mend it: "), "{told}");
    assert!(told.trim_end().ends_with(&format!(" doctor -c {}", meant.display())), "{told}");
}
