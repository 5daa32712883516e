//! Seed hosts in all their forms, with look-ups that answer, change, fail and hang.

use super::lookups::Lookups;
use super::*;
use crate::settings::DiscoverySettings;
use crate::zen::{Bootstrap, BootstrapSet};
use futures_util::FutureExt;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(20);

fn settings(hosts: Option<&[&str]>) -> NodeSettings {
    let hosts = hosts.map(|hosts| hosts.iter().map(ToString::to_string).collect());
    NodeSettings { discovery: DiscoverySettings { hosts, ..DiscoverySettings::default() }, ..NodeSettings::default() }
}

fn own() -> (Address, Vec<SocketAddr>) {
    let bound = ["127.0.0.1:9300", "10.0.0.1:9300"].map(|at| at.parse().expect("an address of a test"));
    ("10.0.0.1:9300".into(), bound.to_vec())
}

/// The names that are known: a node has both kinds of addresses, a service several nodes.
fn known(name: &str) -> Result<Vec<IpAddr>, String> {
    let addresses: &[&str] = match name {
        "es-1" => &["10.0.0.1"],
        "es-2" => &["10.0.0.2", "fd00::2"],
        "es-3" => &["10.0.0.3"],
        "all" => &["10.0.0.1", "10.0.0.2", "10.0.0.3", "fd00::1"],
        "local" => &["127.0.0.1", "::1"],
        "alone" => &["10.0.0.1", "fd00::1"],
        _ => return Err("no such name".into()),
    };
    Ok(addresses.iter().map(|ip| ip.parse().expect("an address of a test")).collect())
}

fn sources(
    names: impl Fn(Arc<str>) -> futures_util::future::BoxFuture<'static, Result<Vec<IpAddr>, String>>
    + Send
    + Sync
    + 'static,
    at_a_time: usize,
) -> Sources {
    let permits = Arc::new(Semaphore::new(at_a_time));
    let target = |host: &str, port| Target { priority: 0, host: host.into(), port };
    let services = move |_| std::future::ready(Ok(vec![target("es-2", 9301), target("lost", 9302)])).boxed();
    Sources {
        names: Lookups::new(Arc::new(names), permits.clone()),
        services: Lookups::new(Arc::new(services), permits.clone()),
        files: Lookups::new(Arc::new(|_| std::future::ready(Err("no file here".into())).boxed()), permits),
    }
}

fn with_names(
    settings: &NodeSettings,
    names: impl Fn(Arc<str>) -> futures_util::future::BoxFuture<'static, Result<Vec<IpAddr>, String>>
    + Send
    + Sync
    + 'static,
) -> Seeds {
    let (published, bound) = own();
    Seeds::with_sources(settings, &published, &bound, sources(names, settings.discovery.concurrent_connects))
}

fn seeds(settings: &NodeSettings) -> Seeds {
    with_names(settings, |name| std::future::ready(known(&name)).boxed())
}

fn peers(resolution: &Resolution<Address>) -> Vec<&str> {
    resolution.peers.iter().map(Address::as_str).collect()
}

fn unresolved(resolution: &Resolution<Address>) -> Vec<String> {
    resolution.unresolved.iter().map(|one| format!("{}: {}", one.host, one.why)).collect()
}

#[tokio::test]
async fn with_nothing_configured_the_first_five_ports_of_loopback_are_tried() {
    let found = seeds(&settings(None)).resolve().await;
    let v4: Vec<&str> = peers(&found).into_iter().filter(|at| at.starts_with("127")).collect();
    assert_eq!(v4, ["127.0.0.1:9301", "127.0.0.1:9302", "127.0.0.1:9303", "127.0.0.1:9304"], "the own one is left out");
    let v6: Vec<&str> = peers(&found).into_iter().filter(|at| at.starts_with('[')).collect();
    assert!(v6.is_empty() || v6.len() == 5 && v6[4] == "[::1]:9304", "{v6:?}");
    assert_eq!((found.unresolved, found.initial), (Vec::new(), Vec::new()));
    let mut narrow = settings(None);
    narrow.transport.ports = PortRange { first: 9400, last: 9401 }.into();
    let found = seeds(&narrow).resolve().await;
    assert!(peers(&found).iter().all(|at| at.ends_with("9400") || at.ends_with("9401")), "{found:?}");
    narrow.transport.ports = PortRange { first: 0, last: 0 }.into();
    assert_eq!(seeds(&narrow).resolve().await.peers, []);
}

#[tokio::test]
async fn a_single_node_and_an_empty_list_have_no_hosts() {
    assert_eq!(seeds(&settings(Some(&[]))).resolve().await, Resolution::of(Vec::new()));
    let mut single = settings(Some(&["10.0.0.2"]));
    single.discovery.kind = DiscoveryKind::SingleNode;
    single.discovery.hosts_file = true;
    assert_eq!(seeds(&single).resolve().await, Resolution::of(Vec::new()));
    assert_eq!(bootstrap(&single), Bootstrap::Hosts(BTreeSet::new()));
}

#[tokio::test]
async fn every_form_of_host_gives_its_addresses_in_order_and_each_once() {
    let hosts =
        ["10.0.0.2:9301-9302", "es-2", "[fd00::2]:9300", "10.0.0.1", "_zen._tcp.example.org", "no host", "gone"];
    let found = seeds(&settings(Some(&hosts))).resolve().await;
    assert_eq!(peers(&found), ["10.0.0.2:9301", "10.0.0.2:9302", "10.0.0.2:9300", "[fd00::2]:9300", "[fd00::2]:9301",]);
    let missing = unresolved(&found);
    assert_eq!(missing.len(), 3, "{missing:?}");
    assert_eq!(missing[0], "lost:9302: no such name");
    assert!(missing[1].starts_with("no host: `no host` is more than one host; allowed: "), "{missing:?}");
    assert_eq!(missing[2], "gone: no such name");
}

#[tokio::test]
async fn a_name_is_looked_up_anew_for_the_next_round_and_its_last_addresses_stay_if_that_fails() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let seeds = with_names(&settings(Some(&["es"])), move |_| {
        let times = count.fetch_add(1, Ordering::SeqCst);
        let answer = match times {
            0 => Ok(vec![IpAddr::from([10, 0, 0, 7])]),
            1 => Ok(vec![IpAddr::from([10, 0, 0, 8]), IpAddr::from([10, 0, 0, 9])]),
            _ => Err("no such name".to_string()),
        };
        std::future::ready(answer).boxed()
    });
    assert_eq!(peers(&seeds.resolve().await), ["10.0.0.7:9300"]);
    assert_eq!(peers(&seeds.resolve().await), ["10.0.0.7:9300"]);
    let moved = async {
        while peers(&seeds.resolve().await) != ["10.0.0.8:9300", "10.0.0.9:9300"] {
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, moved).await.expect("the new addresses are used");
    let failing = async {
        while seeds.told.lock().is_empty() {
            assert_eq!(seeds.resolve().await.peers.len(), 2, "the last addresses stay");
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, failing).await.expect("the trouble is told");
    let found = seeds.resolve().await;
    assert_eq!((found.peers.len(), found.unresolved), (2, Vec::new()));
}

#[tokio::test]
async fn a_look_up_that_hangs_is_waited_for_once_and_never_started_twice() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let mut settings = settings(Some(&["10.0.0.2", "hangs"]));
    settings.discovery.resolve_timeout = Duration::from_millis(30);
    let seeds = with_names(&settings, move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        std::future::pending().boxed()
    });
    let found = timeout(LONG, seeds.resolve()).await.expect("the time for all names is bounded");
    assert_eq!(peers(&found), ["10.0.0.2:9300"]);
    assert_eq!(unresolved(&found), ["hangs: timed out after [30ms]"]);
    for _ in 0..100 {
        let again = seeds.resolve().now_or_never().expect("what hangs is not waited for again");
        assert_eq!(again, found);
    }
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn one_name_on_several_ports_is_looked_up_once_and_found_for_all() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let seeds = with_names(&settings(Some(&["es-3:9301", "es-3:9302", "es-3:9303"])), move |name| {
        count.fetch_add(1, Ordering::SeqCst);
        async move {
            tokio::task::yield_now().await;
            known(&name)
        }
        .boxed()
    });
    let found = seeds.resolve().await;
    assert_eq!((peers(&found), found.unresolved.len()), (vec!["10.0.0.3:9301", "10.0.0.3:9302", "10.0.0.3:9303"], 0));
    assert_eq!(asked.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn addresses_and_known_names_are_given_at_once_while_a_name_server_is_silent() {
    let asked = Arc::new(AtomicUsize::new(0));
    let seeds = with_names(&settings(Some(&["10.0.0.2", "es-3"])), move |name| {
        let is_first = asked.fetch_add(1, Ordering::SeqCst) == 0;
        if is_first { std::future::ready(known(&name)).boxed() } else { std::future::pending().boxed() }
    });
    let first = seeds.resolve().await;
    assert_eq!(peers(&first), ["10.0.0.2:9300", "10.0.0.3:9300"]);
    assert_eq!(seeds.resolve().now_or_never(), Some(first));
    let literals = with_names(&settings(Some(&["10.0.0.2", "[::1]:9301"])), |_| std::future::pending().boxed());
    assert!(literals.resolve().now_or_never().is_some(), "addresses need no look-up");
}

#[tokio::test]
async fn no_more_names_are_looked_up_at_a_time_than_allowed() {
    let names: Vec<String> = (0..20).map(|n| format!("host-{n}")).collect();
    let mut settings = settings(Some(&names.iter().map(String::as_str).collect::<Vec<_>>()));
    settings.discovery.concurrent_connects = 3;
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let peak = most.clone();
    let seeds = with_names(&settings, move |_| {
        let (running, peak) = (running.clone(), peak.clone());
        async move {
            peak.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            for _ in 0..10 {
                tokio::task::yield_now().await;
            }
            running.fetch_sub(1, Ordering::SeqCst);
            known("es-2")
        }
        .boxed()
    });
    let found = timeout(LONG, seeds.resolve()).await.expect("all names are looked up");
    assert_eq!((found.peers.len(), found.unresolved.len()), (2, 0));
    assert_eq!(most.load(Ordering::SeqCst), 3);
}

/// The bootstrap set of a node at 10.0.0.1:9300 with these hosts, as `members` and `aliases`.
async fn expected(settings: &NodeSettings) -> String {
    let set = BootstrapSet::majority_of_found(seeds(settings).resolve().await.initial);
    let aliases: Vec<String> = set.aliases.iter().map(|(alias, name)| format!("{alias}={name}")).collect();
    let members: Vec<&str> = set.members.iter().map(|member| &**member).collect();
    format!("{} | {}", members.join(" "), aliases.join(" "))
}

#[tokio::test]
async fn the_initial_nodes_are_the_hosts_by_whichever_address_they_go() {
    let mut cases: Vec<(&[&str], &str)> = Vec::new();
    cases.push((&["10.0.0.2", "10.0.0.3:9301-9305"], "10.0.0.2:9300 10.0.0.3:9301 | "));
    cases.push((
        &["es-1", "es-2", "gone"],
        "es-1 es-2 gone | 10.0.0.1:9300=es-1 10.0.0.2:9300=es-2 [fd00::2]:9300=es-2",
    ));
    // The usual list of Elasticsearch's own file: this node, twice.
    cases.push((&["127.0.0.1", "[::1]"], "127.0.0.1:9300 | 10.0.0.1:9300=127.0.0.1:9300 [::1]:9300=127.0.0.1:9300"));
    cases.push((&["local:9301"], "local:9301 | 127.0.0.1:9301=local:9301 [::1]:9301=local:9301"));
    // One name for several nodes is as many members.
    cases.push((&["all"], "10.0.0.1:9300 10.0.0.2:9300 10.0.0.3:9300 | "));
    // So it may be where nobody but this node has it yet.
    cases.push((&["alone"], "alone another node of alone | 10.0.0.1:9300=alone [fd00::1]:9300=alone"));
    cases.push((&["_zen._tcp.all"], "es-2:9301 lost:9302 | 10.0.0.2:9301=es-2:9301 [fd00::2]:9301=es-2:9301"));
    cases.push((&["bad host"], "bad host | "));
    for (hosts, members) in cases {
        assert_eq!(expected(&settings(Some(hosts))).await, members, "{hosts:?}");
    }
}

#[tokio::test]
async fn a_machine_that_is_called_by_its_own_name_may_be_alone() {
    let mut settings = settings(Some(&["alone"]));
    settings.node_name = Some("Alone".into());
    assert_eq!(expected(&settings).await, "alone | 10.0.0.1:9300=alone [fd00::1]:9300=alone");
    settings.discovery.initial_master_nodes = Some(vec!["node-1".into(), "10.0.0.2".into(), "10.0.0.3:9301".into()]);
    assert_eq!(expected(&settings).await, "10.0.0.2 10.0.0.3:9301 node-1 | 10.0.0.2:9300=10.0.0.2");
    assert_eq!(bootstrap(&settings), Bootstrap::Hosts(["node-1", "10.0.0.2", "10.0.0.3:9301"].map(Arc::from).into()));
}

#[test]
fn before_anything_is_looked_up_the_configured_texts_count() {
    assert_eq!(bootstrap(&settings(None)), Bootstrap::Found);
    assert_eq!(bootstrap(&settings(Some(&["es-1", "es-2"]))), Bootstrap::Hosts(["es-1", "es-2"].map(Arc::from).into()));
    let mut with_file = settings(None);
    with_file.discovery.hosts_file = true;
    assert_eq!(bootstrap(&with_file), Bootstrap::Hosts([FILE_NAME].map(Arc::from).into()));
}

/// A directory of its own, removed with this.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("zazen-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("discovery-file")).expect("the temporary directory takes another one");
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).expect("what was made can be removed");
    }
}

#[tokio::test]
async fn the_file_names_hosts_until_it_names_others_and_is_missed_only_while_it_named_none() {
    let folder = Folder::new("hosts");
    let mut settings = settings(None);
    settings.discovery.hosts_file = true;
    settings.transport.ports = PortRange { first: 9300, last: 9300 }.into();
    settings.path_conf = folder.0.clone();
    let (published, bound) = own();
    let seeds = Seeds::new(&settings, &published, &bound);
    let beyond = |found: &Resolution<Address>| -> Vec<String> {
        let peers = peers(found).into_iter().filter(|at| at.starts_with("10."));
        peers.map(String::from).collect()
    };
    let first = seeds.resolve().await;
    assert_eq!(beyond(&first), Vec::<String>::new());
    let missing = unresolved(&first);
    assert!(missing.len() == 1 && missing[0].starts_with("unicast_hosts.txt: there is neither ["), "{missing:?}");
    assert_eq!(first.initial, [Initial { name: FILE_NAME.into(), peers: Vec::new() }], "nobody forms without the file");

    let comes_to = async |expected: &[&str]| {
        let found = async {
            while beyond(&seeds.resolve().await) != expected {
                tokio::task::yield_now().await;
            }
        };
        timeout(LONG, found).await.unwrap_or_else(|_| panic!("the file gives {expected:?}"));
    };
    fs::write(folder.0.join("discovery-file").join(FILE_NAME), "10.0.0.4\n").expect("the file can be written");
    comes_to(&["10.0.0.4:9300"]).await;
    let file = folder.0.join(FILE_NAME);
    fs::write(&file, "# two nodes\n10.0.0.2:9301\n\n  10.0.0.3\n#10.0.0.4\n").expect("the file can be written");
    comes_to(&["10.0.0.2:9301", "10.0.0.3:9300"]).await;
    fs::write(&file, "10.0.0.2:9302\n10.0.0.3\n").expect("the file can be written");
    comes_to(&["10.0.0.2:9302", "10.0.0.3:9300"]).await;
    let found = seeds.resolve().await;
    let names: Vec<&str> = found.initial.iter().map(|initial| &*initial.name).collect();
    assert_eq!((names, found.unresolved), (vec!["10.0.0.2:9302", "10.0.0.3:9300"], Vec::new()));

    fs::write(&file, [0xff, 0xfe]).expect("the file can be written");
    let told = async {
        while seeds.told.lock().is_empty() {
            assert_eq!(seeds.resolve().await.peers, found.peers, "its last hosts stay");
            tokio::task::yield_now().await;
        }
    };
    timeout(LONG, told).await.expect("a file that cannot be read is told of");
}

#[tokio::test]
async fn the_system_looks_localhost_up() {
    let mut settings = settings(Some(&["localhost:9301"]));
    settings.discovery.resolve_timeout = LONG;
    let (published, bound) = own();
    let found = Seeds::new(&settings, &published, &bound).resolve().await;
    assert!(found.peers.iter().any(|at| ["127.0.0.1:9301", "[::1]:9301"].contains(&at.as_str())), "{found:?}");
}
