//! The other nodes of this host, whether they run or not: by the configuration files beside a node's own, and by the note
//! that each leaves in its data directory when it begins ([`crate::runtime::host::note`]).

use super::obstacle::{Held, Host, is_name, looked_at, ran_here};
use crate::cluster::{Address, NodeId};
use crate::diagnose::{Launch, Mend, Sibling, Slip, Worth};
use crate::runtime::addresses::{AddressError, Machine};
use crate::runtime::host::{
    Configurations, FILES_MAX, absolute, around, believe_each_other, credentials, files_beside, is_same, is_trusted,
    launch_of, listed, note, rewritten, room, roomy, seed_hosts, share_an_authority, user,
};
use crate::runtime::proc;
use crate::settings::{DiscoveryKind, ListenSettings, NodeSettings, Value, may_be_secret};
use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// From this [`distance`] on a node has likely nothing to do with this one.
const FAR: u8 = 2;

/// What is known of this host while one looks around on it.
pub(super) struct Look<'a> {
    host: Host,
    files: &'a mut Configurations,
    held: &'a mut Held,
}

impl<'a> Look<'a> {
    pub(super) fn around(files: &'a mut Configurations, held: &'a mut Held) -> Self {
        Look { host: Host::look(), files, held }
    }
}

/// Leaves the note by which others of this host know how this node is started.
pub(in crate::runtime) fn leave_note(settings: &NodeSettings, id: &NodeId, address: &Address) {
    let (file, machine) = (settings.file.as_deref().map(absolute), Machine::look().unwrap_or_default());
    let note = Sibling {
        id: Some(id.clone()),
        last: Some(address.clone()),
        launch: launch_of(&settings.launch),
        unit: proc::service(),
        written: written(settings),
        owner: user(),
        ..sibling(settings, file, &machine)
    };
    note::leave(&settings.path_data, &note);
}

/// What its file says, as somebody would write it anew.
fn written(settings: &NodeSettings) -> Vec<String> {
    let line = |(key, value): (&String, &Value)| {
        let is_plain = |text: &str| text.parse::<u64>().is_ok() || text.parse::<bool>().is_ok();
        let worth = match value {
            Value::Text(text) if is_plain(text) => Worth::Plain(text.clone()),
            Value::Text(text) => Worth::Text(text.clone()),
            Value::List(elements) => Worth::List(elements.clone()),
        };
        Mend::setting(key, &worth, None).line
    };
    settings.in_file.iter().map(line).filter(|line| !may_be_secret(line)).collect()
}

/// What the settings of a node say of it.
pub(in crate::runtime) fn sibling(settings: &NodeSettings, file: Option<String>, machine: &Machine) -> Sibling {
    let (hosts, is_elsewhere) = hosts(&settings.transport, machine);
    let here = Some(settings.path_data.as_path()).filter(|_| !is_elsewhere);
    Sibling {
        file,
        name: settings.node_name.as_deref().map(ToOwned::to_owned),
        cluster: settings.cluster_name.as_str().to_owned(),
        port: settings.transport.ports.only().filter(|port| *port != 0),
        hosts,
        is_elsewhere,
        data: absolute(&settings.path_data),
        is_data_relative: settings.path_data.is_relative(),
        is_eligible: settings.roles.master,
        experiment: experiment(settings),
        seeds: seed_hosts(settings).unwrap_or_default(),
        has_begun: here.is_some_and(|data| data.join("nodes").exists()),
        free_bytes: here.and_then(room),
        roomy: here.and_then(roomy),
        owner: here.and_then(owner),
        is_mixed: here.is_some_and(is_mixed),
        credentials: credentials(settings),
        ..Sibling::default()
    }
}

/// By what it elects, if that is an experiment.
fn experiment(settings: &NodeSettings) -> Option<String> {
    match settings.discovery.kind {
        DiscoveryKind::Lab(name) => Some(name.to_owned()),
        DiscoveryKind::Zen | DiscoveryKind::SingleNode => None,
    }
}

/// Whose a data directory is, if that is another user than this one.
fn owner(data: &Path) -> Option<(u32, u32)> {
    let about = fs::metadata(data.join("nodes").join("0")).or_else(|_| fs::metadata(data)).ok()?;
    (about.uid() != rustix::process::geteuid().as_raw()).then(|| as_user(&about))
}

/// The same, and whether files in it are another user's. What was given to root as a whole is to be that of the user whom the
/// node ran as.
fn whose(data: &Path, ran_as: Option<(u32, u32)>) -> (Option<(u32, u32)>, bool) {
    match (owner(data), ran_as.filter(|(user, _)| *user != 0)) {
        (None, Some(ran_as)) if rustix::process::geteuid().is_root() => (Some(ran_as), true),
        (owner, _) => (owner, is_mixed(data)),
    }
}

/// The user and the group of a file; nobody gets the group of root by it.
fn as_user(about: &fs::Metadata) -> (u32, u32) {
    (about.uid(), if about.gid() == 0 { about.uid() } else { about.gid() })
}

/// A node as its file is to be started: what another user wrote is started as that user, which only root can. Nothing is
/// believed that anybody can write.
fn as_its_writer(sibling: Sibling) -> Option<Sibling> {
    const OTHERS_WRITE: u32 = 0o002;
    let Some(file) = sibling.file.as_deref() else { return Some(sibling) };
    let about = fs::metadata(file).ok()?;
    let own = rustix::process::geteuid().as_raw();
    match about.uid() {
        _ if about.mode() & OTHERS_WRITE != 0 => None,
        writer if writer == 0 || writer == own => Some(sibling),
        _ if own == 0 => {
            // Only sed puts a new file in the place of one, wherever that leads by then.
            let is_safe = |mend: &String| mend.starts_with("sed -i ");
            let slip = sibling.slip.map(|slip| Slip { mend: slip.mend.filter(is_safe), ..slip });
            Some(Sibling { owner: Some(as_user(&about)), is_mixed: false, roomy: None, slip, ..sibling })
        }
        _ => None,
    }
}

/// The root, the directory of homes, and a home.
const HOME_DEPTH: usize = 3;

/// The user and the group whose a data directory is, if these may not read the file by which its node is started, or one of its
/// secrets, and what of it they may not. Of what is another user's nothing is known of who belongs to a group.
fn unread_by(one: &Sibling) -> Option<((u32, u32), Vec<String>)> {
    let (file, data) = (one.file.as_ref()?, Path::new(one.left.as_ref().unwrap_or(&one.data)));
    let user = as_user(&fs::metadata(data.join("nodes").join("0")).or_else(|_| fs::metadata(data)).ok()?);
    let home = Path::new(file).parent()?;
    // Where anybody may make a directory, whose the data is says nothing of whose the node is.
    let above = data.parent().and_then(|above| fs::metadata(above).ok());
    above.filter(|above| above.mode() & 0o002 == 0)?;
    // What another user's configuration names may be anybody's, and what lies elsewhere may be for others as well.
    let is_trusted = fs::metadata(file).is_ok_and(|about| is_trusted(about.uid()));
    let secrets = one.credentials.files.values().filter(|file| is_trusted && Path::new(file).starts_with(home));
    // The home of a user, or a directory of the system, is nobody else's whatever lies in it.
    let above = home.display().to_string();
    let has_secrets = one.credentials.files.values().any(|file| Path::new(file).parent() == Some(home));
    let above = Some(&above).filter(|_| is_trusted && has_secrets && home.components().count() > HOME_DEPTH);
    let all = [file].into_iter().chain(secrets).chain(above);
    let unread: Vec<String> = all.filter(|file| may_read(file, user) == Some(false)).cloned().collect();
    (!unread.is_empty()).then_some((user, unread))
}

/// Whether a user may read a file, or enter a directory.
fn may_read(file: &str, (user, _): (u32, u32)) -> Option<bool> {
    let (about, own) = (fs::metadata(file).ok()?, rustix::process::geteuid().as_raw());
    if user == own {
        return Some(rustix::fs::access(file, rustix::fs::Access::READ_OK).is_ok());
    }
    let [of_owner, of_others] = if about.is_dir() { [0o100, 0o011] } else { [0o400, 0o044] };
    let allowed = if about.uid() == user { about.mode() & of_owner } else { about.mode() & of_others };
    Some(user == 0 || allowed != 0)
}

/// Whether files of a node are another user's than the directory that they are in.
fn is_mixed(data: &Path) -> bool {
    let inside = data.join("nodes").join("0");
    let owner = |path: &Path| fs::symlink_metadata(path).map(|about| about.uid()).ok();
    let own = owner(&inside);
    own.is_some() && listed(&inside).iter().any(|file| owner(file).is_some_and(|its| Some(its) != own))
}

/// Where a node would be reached, and whether that is on another host. Nothing is looked up: names may take long.
fn hosts(listen: &ListenSettings, machine: &Machine) -> (Vec<String>, bool) {
    if listen.bind_hosts.iter().chain(&listen.publish_hosts).any(|host| is_name(host)) {
        return (Vec::new(), false);
    }
    match machine.bind_addresses(listen) {
        Ok(bound) => {
            let published = machine.publish_address(listen, &bound).ok();
            let sockets: Vec<SocketAddr> = bound.iter().map(|host| SocketAddr::new(*host, 0)).collect();
            let reached = machine.reached_at(&sockets).into_iter().map(|at| at.ip());
            let mut hosts: Vec<String> = Vec::new();
            for host in published.into_iter().chain(reached).map(|host| host.to_string()) {
                if !hosts.contains(&host) {
                    hosts.push(host);
                }
            }
            (hosts, false)
        }
        Err(AddressError::NotHere { address, .. }) => (vec![address.to_string()], true),
        Err(_) => (Vec::new(), false),
    }
}

/// All that are found, those that were met with their data in these directories among them.
pub(super) fn siblings(settings: &NodeSettings, met: &BTreeSet<PathBuf>, look: &mut Look<'_>) -> Vec<Sibling> {
    let own = settings.file.as_deref().map(absolute).map(PathBuf::from);
    let files = own.as_deref().map(files_beside).unwrap_or_default();
    let by_file = without_copies(files.iter().filter_map(|file| by_file(file, look)).collect());
    let here = by_file.iter().filter(|one| !one.is_elsewhere).map(|one| PathBuf::from(&one.data));
    let named = here.chain(met.iter().cloned()).collect();
    let noted = notes(&PathBuf::from(absolute(&settings.path_data)), named, look);
    let told: BTreeSet<&String> = noted.iter().filter_map(|one| one.file.as_ref()).collect();
    let untold = by_file.iter().filter(|one| one.file.as_ref().is_none_or(|file| !told.contains(file)));
    let own = credentials(settings);
    let mut all: Vec<&Sibling> = noted.iter().chain(untold).collect();
    let hosts = seed_hosts(settings).unwrap_or_default();
    all.sort_by_key(|one| distance(settings, &hosts, one));
    let near: Vec<Sibling> = all.into_iter().take(FILES_MAX).cloned().collect();
    near.into_iter()
        .map(|one| {
            let (unread_by, unread) = unread_by(&one).unzip();
            Sibling { unread_by, unread: unread.unwrap_or_default(), ..one }
        })
        .map(|one| Sibling {
            shares_secret: is_same(&own.secret, &one.credentials.secret, believe_each_other),
            shares_authority: is_same(&own.authorities, &one.credentials.authorities, share_an_authority),
            ..one
        })
        .map(|one| if distance(settings, &hosts, &one) < FAR { looked_into(one, look) } else { one })
        .collect()
}

/// One with what is to be known before it is started by its file, on the data that it has.
fn looked_into(one: Sibling, look: &mut Look<'_>) -> Sibling {
    let known = look.files.loaded(one.file.as_deref(), &one.launch).filter(|(_, slip)| slip.is_none());
    let Some((settings, _)) = known else { return one };
    let data = one.left.as_ref().unwrap_or(&one.data);
    let settings = NodeSettings { path_data: data.into(), ..settings.clone() };
    looked_at(one, &settings, &look.host, look.held)
}

/// How likely another node of this host has something to do with this one: of too many the nearest are told of. The name of
/// its cluster says the least, as it may be mistyped.
fn distance(settings: &NodeSettings, hosts: &[String], other: &Sibling) -> u8 {
    let home = |file: &str| Path::new(file).parent().map(Path::to_owned);
    let own = settings.file.as_deref().map(absolute);
    if other.seeds.iter().any(|seed| hosts.contains(seed)) {
        0
    } else if own.as_deref().and_then(home) == other.file.as_deref().and_then(home) {
        1
    } else if other.cluster == settings.cluster_name.as_str() {
        2
    } else {
        3
    }
}

/// Of files that are for one node, as a copy that was kept beside the file, the one with the shortest name.
fn without_copies(all: Vec<Sibling>) -> Vec<Sibling> {
    let length = |one: &Sibling| one.file.as_ref().map_or(0, String::len);
    let is_other = |one: &Sibling, other: &Sibling| {
        one.name.is_none()
            || one.port.is_none()
            || (&one.name, one.port, &one.hosts) != (&other.name, other.port, &other.hosts)
    };
    let is_copy = |(at, one): (usize, &Sibling)| {
        let others = all.iter().enumerate().filter(|(other, _)| *other != at);
        let mut alike = others.filter(|(_, other)| !is_other(one, other));
        alike.any(|(place, other)| (length(other), place) < (length(one), at))
    };
    let copies: Vec<bool> = all.iter().enumerate().map(is_copy).collect();
    all.into_iter().zip(copies).filter(|(_, is_copy)| !is_copy).map(|(one, _)| one).collect()
}

/// What nodes left in these directories, and in those beside a node's own and beside these.
fn notes(own: &Path, named: Vec<PathBuf>, look: &mut Look<'_>) -> Vec<Sibling> {
    around(own, named).iter().filter_map(|data| noted(data, look)).collect()
}

/// What a node left in its data directory, brought up to its file. A copy of a directory has the note of another one.
fn noted(data: &Path, look: &mut Look<'_>) -> Option<Sibling> {
    let note = note::trusted(data)?;
    if fs::canonicalize(&note.data).ok()? != fs::canonicalize(data).ok()? {
        return None;
    }
    let found = look.files.loaded(note.file.as_deref(), &note.launch);
    let found = found.map(|(settings, slip)| (settings.clone(), slip.clone()));
    let is_gone = note.file.as_deref().is_some_and(|file| !Path::new(file).exists());
    // Nobody can start a node by a file that is gone.
    let found = if is_gone { Some(rewritten(&note)?) } else { found };
    let now =
        found.map(|(settings, slip)| Sibling { slip, ..sibling(&settings, note.file.clone(), &look.host.machine) });
    // From where it was started is not known here.
    let now = now.map(|now| if now.is_data_relative { Sibling { data: note.data.clone(), ..now } } else { now });
    let Sibling { last, launch, unit, id, .. } = note.clone();
    let (free_bytes, roomy, left) = (room(data), roomy(data), Some(note.data.clone()));
    let (owner, is_mixed) = whose(data, note.owner);
    let note = Sibling { written: Vec::new(), ..note };
    let one = Sibling { last, launch, unit, id, left, free_bytes, roomy, owner, is_mixed, ..now.unwrap_or(note) };
    // An address that is not here may be a slip.
    let one = Sibling { is_elsewhere: one.is_elsewhere && !ran_here(&one), ..one };
    // The note is this user's.
    if is_gone { Some(one) } else { as_its_writer(one) }
}

fn by_file(path: &Path, look: &mut Look<'_>) -> Option<Sibling> {
    let name = path.display().to_string();
    let (settings, slip) = look.files.loaded(Some(&name), &Launch::default())?;
    settings.given.contains_key("cluster.name").then_some(())?;
    let (settings, slip) = (settings.clone(), slip.clone());
    as_its_writer(Sibling { slip, ..sibling(&settings, Some(name), &look.host.machine) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{self, FileText, Sources};
    use std::collections::BTreeMap;

    /// A directory of a test, gone afterwards.
    struct Scratch(PathBuf);

    impl Scratch {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("zazen-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).expect("files of tests can be written");
            Scratch(path)
        }

        /// The settings of a node with its data here, as they come of a file and these arguments.
        fn settings(&self, name: &str, arguments: &[(&str, &str)]) -> NodeSettings {
            let file = self.0.join("zazen.yml").display().to_string();
            let text = "cluster.name: shop\nnode.name: ${NAME}\n";
            fs::write(&file, text).expect("files of tests can be written");
            let data = self.0.join(name).display().to_string();
            let pair = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
            let own = [("path.data".to_owned(), data)];
            let arguments: Vec<_> = own.into_iter().chain(arguments.iter().map(pair)).collect();
            let environment = BTreeMap::from([("NAME".to_owned(), name.to_owned())]);
            let file = Some(FileText { name: &file, text });
            let sources = Sources { file, environment: &environment, arguments: &arguments, path_conf: self.0.clone() };
            settings::load(&sources).expect("they make sense").settings
        }

        /// The siblings of a node among those of the test: other nodes of the host are none of its.
        fn siblings(&self, of: &NodeSettings) -> Vec<Sibling> {
            siblings(of, &BTreeSet::new(), &mut Look::around(&mut Configurations::default(), &mut Held::default()))
                .into_iter()
                .filter(|one| Path::new(&one.data).starts_with(&self.0))
                .collect()
        }

        /// Lets a node leave its note.
        fn begin(&self, settings: &NodeSettings, address: &str) {
            fs::create_dir_all(settings.path_data.join("nodes/0")).expect("files of tests can be written");
            leave_note(settings, &"id".into(), &address.into());
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn nodes_of_one_file_are_known_by_what_they_left_in_their_directories() {
        let scratch = Scratch::new("notes");
        let own = scratch.settings("n0", &[]);
        let other = scratch.settings("n1", &[("transport.tcp.port", "9301"), ("hooks.on_step_down", "post,me")]);
        scratch.begin(&own, "127.0.0.1:9300");
        scratch.begin(&other, "127.0.0.1:9301");
        let found = scratch.siblings(&own);
        let [found] = &found[..] else { panic!("there is one besides: {found:?}") };
        assert_eq!((found.name.as_deref(), found.port, found.cluster.as_str()), (Some("n1"), Some(9301), "shop"));
        assert_eq!(found.last, Some("127.0.0.1:9301".into()));
        assert_eq!(found.launch.variables[0].value, "n1");
        assert_eq!(found.launch.withheld, ["hooks.on_step_down"]);
        let keys: Vec<&str> = found.launch.arguments.iter().map(|(key, _)| key.as_str()).collect();
        assert_eq!(keys, ["path.data", "transport.tcp.port"]);
    }

    #[test]
    fn the_file_of_a_node_that_is_gone_is_written_anew_without_what_may_be_secret() {
        let scratch = Scratch::new("rewritten");
        let own = scratch.settings("n0", &[]);
        let (file, data) = (scratch.0.join("n1.yml"), scratch.0.join("n1"));
        let lines = format!(
            "cluster.name: shop\nnode.attr.key: ${{KEY}}\nnode.name: n1\npath.data: {}\ntransport.tcp.port: 9301\n",
            data.display()
        );
        let text = format!("{lines}hooks.on_step_down: [\"exec:/bin/post\"]\n");
        let environment = BTreeMap::from([("KEY".to_owned(), "1234".to_owned())]);
        let name = file.display().to_string();
        let given = Some(FileText { name: &name, text: &text });
        let sources = Sources { file: given, environment: &environment, arguments: &[], path_conf: scratch.0.clone() };
        let other = settings::load(&sources).expect("they make sense").settings;
        scratch.begin(&other, "127.0.0.1:9301");
        let found = scratch.siblings(&own);
        let [found] = &found[..] else { panic!("there is one besides: {found:?}") };
        assert_eq!((found.name.as_deref(), found.port, found.written.len()), (Some("n1"), Some(9301), 0));
        let mend = found.slip.as_ref().and_then(|slip| slip.mend.as_deref()).expect("it is written anew");
        assert!(!mend.contains("post"), "{mend}");
        let done = std::process::Command::new("sh").args(["-c", mend]).status().expect("there is a shell");
        let text = fs::read_to_string(&file).expect("it was written");
        assert_eq!((done.success(), text), (true, lines), "what a variable held is not written");
        fs::write(&file, "cluster.name: other\n").expect("files of tests can be written");
        assert!(std::process::Command::new("sh").args(["-c", mend]).status().is_ok_and(|done| done.success()));
        assert_eq!(fs::read_to_string(&file).ok().as_deref(), Some("cluster.name: other\n"), "it came back meanwhile");
    }

    #[test]
    fn nodes_in_directories_of_their_own_are_found_among_many_and_copies_of_files_are_not() {
        let scratch = Scratch::new("cousins");
        let home = |number: usize| scratch.0.join(format!("n{number:02}"));
        for number in 0..20 {
            fs::create_dir_all(home(number).join("config")).expect("files of tests can be written");
            let data = home(number).join("data").display().to_string();
            let text = format!(
                "cluster.name: shop\nnode.name: n{number}\ntransport.port: {}\npath.data: {data}\n",
                9300 + number
            );
            for name in ["zazen.yml", "zazen-before.yml"] {
                fs::write(home(number).join("config").join(name), &text).expect("files of tests can be written");
            }
        }
        let file = home(0).join("config/zazen.yml").display().to_string();
        let loaded = |file: &str, launch: &Launch| {
            Configurations::default().loaded(Some(file), launch).expect("it makes sense").0.clone()
        };
        let settings = loaded(&file, &Launch::default());
        let own = NodeSettings { file: Some(file.into()), ..settings };
        let given = Launch { arguments: vec![("transport.port".into(), "9399".into())], ..Launch::default() };
        let file = home(7).join("config/zazen.yml").display().to_string();
        let other = NodeSettings { file: Some(file.clone().into()), ..loaded(&file, &given) };
        scratch.begin(&other, "127.0.0.1:9399");
        let found = scratch.siblings(&own);
        let names: BTreeSet<_> = found.iter().filter_map(|one| one.name.clone()).collect();
        let hosts = ["a:1".to_owned()];
        let of = |cluster: &str, seed: &str| Sibling {
            cluster: cluster.into(),
            seeds: vec![seed.into()],
            ..Sibling::default()
        };
        assert!(distance(&own, &hosts, &of("shop", "a:1")) < distance(&own, &hosts, &of("shop", "b:1")));
        assert!(distance(&own, &hosts, &of("other", "a:1")) < distance(&own, &hosts, &of("shop", "b:1")));
        assert!(distance(&own, &hosts, &of("shop", "b:1")) < distance(&own, &hosts, &of("other", "b:1")));
        assert!(names.len() >= 19 && names.contains("n19"), "{names:?}");
        assert!(
            found
                .iter()
                .all(|one| one.file.as_ref().is_some_and(|file| !file.contains("before") || file.contains("n00"))),
            "{found:?}"
        );
        assert!(found.iter().any(|one| one.last == Some("127.0.0.1:9399".into())), "{found:?}");
    }

    #[test]
    fn a_note_of_another_directory_or_another_host_is_none() {
        let scratch = Scratch::new("foreign-notes");
        let (own, far) = (scratch.settings("n0", &[]), scratch.settings("n1", &[]));
        scratch.begin(&far, "198.51.100.7:9300");
        let near = scratch.settings("n2", &[]);
        scratch.begin(&near, "127.0.0.1:9302");
        let copy = scratch.0.join("copy/nodes/0");
        fs::create_dir_all(&copy).expect("files of tests can be written");
        fs::copy(note::path_in(&near.path_data), copy.join("_start.json")).expect("it is there");
        let names: Vec<_> = scratch.siblings(&own).into_iter().filter_map(|one| one.name).collect();
        assert_eq!(names, ["n2"]);
    }
}
