//! Seed hosts that change while a node runs.

use super::cluster::Cluster;
use super::node::wait_for;
use std::fs;

#[test]
fn a_file_of_seed_hosts_is_read_again_when_it_changes() {
    let cluster = Cluster::start(2);
    let master = cluster.wait_master(&[0, 1]);
    let mut late = cluster.stranger("tested", "late");
    late.settings = vec!["discovery.zen.hosts_provider: file".into()];
    let file = late.home().join("unicast_hosts.txt");
    fs::write(&file, "# nobody yet\n").expect("the folder of a node can be written to");
    late.start();
    let searches = wait_for(|| late.view().filter(|view| view.master.is_none()));
    assert!(searches.is_some(), "a node that knows nobody has no master\n{}", late.tail());
    let hosts: Vec<String> = cluster.transports().iter().map(|port| format!("127.0.0.1:{port}\n")).collect();
    fs::write(&file, hosts.concat()).expect("the folder of a node can be written to");
    let joined = wait_for(|| late.view().filter(|view| view.master.is_some() && view.members.len() == 3));
    let joined = joined.unwrap_or_else(|| panic!("it does not join\n{}", late.tail()));
    assert_eq!(joined.master, Some(cluster.nodes[master].name.clone()));
    assert_eq!(joined.uuid, cluster.view(master).uuid);
}
