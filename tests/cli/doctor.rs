//! The doctor reads seed hosts as a node does, and prints nothing that makes a second cluster.

use super::{Folder, ends_with};

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
    for seed in ["127.0.0.1:2-4", "127.0.0.1", "::1", "[::1]:3"] {
        let out = doctor(&folder, 0, free, &format!("[\"{seed}\"]"));
        assert!(out.contains(&format!("ok  nobody listens at seed host [{seed}] yet")), "{seed}: {out}");
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
