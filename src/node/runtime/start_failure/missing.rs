//! What to type where a file is gone that all nodes of a cluster have alike: take it from a node beside, or from the host of
//! a seed; and where a configuration lost what it said.

use super::{absolute, start, text};
use crate::cluster::Address;
use crate::diagnose::{Mend, quoted};
use crate::runtime::addresses::is_here;
use crate::runtime::host::{OneOfSecurity, file_beside, listed, note};
use crate::runtime::program;
use crate::settings::NodeSettings;
use std::net::IpAddr;
use std::path::{Path, PathBuf};

/// Brings it, and starts the node; none if it is a node's own, or nobody is known to have it.
pub(super) fn brought(path: &Path, settings: &NodeSettings) -> Option<Mend> {
    start(settings, &format!("{} && ", copied(path, settings)?))
}

/// Makes a file of users where nobody is known to have one, with one who may do everything, and starts the node. The token is
/// shown to whoever types it.
pub(super) fn with_an_admin(path: &Path, settings: &NodeSettings) -> Option<Mend> {
    let users = settings.security.users.as_ref().map(|users| settings.path_conf.join(users));
    let file = Some(quoted(&absolute(path))).filter(|_| users.as_deref() == Some(path))?;
    start(settings, &format!("{} user add admin --role admin --file {file} && ", quoted(&program())))
}

/// Names the secret, or the users, that nodes beside have in the place of what is no good.
pub(super) fn as_beside(path: &Path, settings: &NodeSettings) -> Option<Mend> {
    const ALIKE: [(&str, OneOfSecurity); 2] = [
        ("zazen.security.secret", |security| security.secret.as_ref()),
        ("zazen.security.users", |security| security.users.as_ref()),
    ];
    let is_it =
        |which: OneOfSecurity| which(&settings.security).is_some_and(|file| settings.path_conf.join(file) == path);
    let (key, which) = ALIKE.into_iter().find(|(_, which)| is_it(*which))?;
    Some(text(settings, key, &file_beside(settings, which)?.display().to_string()))
}

/// The command that brings it.
pub(in crate::runtime) fn copied(path: &Path, settings: &NodeSettings) -> Option<String> {
    let security = &settings.security;
    let common = [&security.secret, &security.authorities, &security.users];
    let mut common = common.into_iter().flatten().map(|file| settings.path_conf.join(file));
    if !common.any(|file| file == path) {
        return None;
    }
    let to = quoted(&absolute(path));
    Some(match beside(path) {
        Some(from) => format!("cp -p {} {to}", quoted(&absolute(&from))),
        // Nodes have it where this one has.
        None => format!("scp -p {} {to}", quoted(&format!("{}:{}", host_of_another(settings)?, absolute(path)))),
    })
}

/// Adds to a configuration what it said when the node began last and says no more, as after it was replaced, and starts the node;
/// none if that is not the name of its cluster and more.
pub(super) fn as_noted(settings: &NodeSettings) -> Option<Mend> {
    let file = settings.file.as_deref().map(absolute)?;
    let note = note::trusted(&settings.path_data).filter(|note| note.file.as_ref() == Some(&file))?;
    let is_lost = |line: &&String| line.split_once(':').is_some_and(|(key, _)| !settings.given.contains_key(key));
    let lost: Vec<&String> = note.written.iter().filter(is_lost).collect();
    if lost.len() < 2 || !lost.iter().any(|line| line.starts_with("cluster.name:")) {
        return None;
    }
    let lines: Vec<String> = lost.into_iter().map(|line| quoted(line)).collect();
    start(settings, &format!("printf '%s\\n' '' {} >> {} && ", lines.join(" "), quoted(&file)))
}

/// The same file of another node, as `zazen setup` puts them beside each other.
fn beside(path: &Path) -> Option<PathBuf> {
    let above = path.parent()?.parent()?;
    listed(above)
        .into_iter()
        .filter_map(|directory| Some(directory.join(path.file_name()?)))
        .find(|file| file != path && file.metadata().is_ok_and(|about| about.is_file() && about.len() > 0))
}

/// The first seed host that is another one than this.
fn host_of_another(settings: &NodeSettings) -> Option<String> {
    let host = |seed: &String| Address::from(seed.as_str()).host().to_owned();
    let is_another = |host: &String| match host.parse::<IpAddr>() {
        Ok(address) => !is_here(&address),
        Err(_) => *host != crate::runtime::host_name() && host != "localhost",
    };
    settings.discovery.hosts.iter().flatten().map(host).find(is_another)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::sample;
    use std::fs;

    /// What is typed where a file is missing in a directory of hosts that `leave` fills.
    fn typed(name: &str, missing: &str, leave: impl FnOnce(&Path)) -> Option<String> {
        let made = std::env::temp_dir().join(format!("zazen-missing-{name}-{}", std::process::id()));
        let own = made.join("203.0.113.1");
        fs::create_dir_all(&own).expect("it can be made");
        leave(&made);
        let arguments = [
            ("zazen.security.users", "users"),
            ("zazen.security.key", "node.key"),
            ("discovery.zen.ping.unicast.hosts", "127.0.0.1:9300,203.0.113.2"),
        ];
        let line = brought(&own.join(missing), &sample::settings(&own, &arguments)).map(|mend| mend.line);
        let _ = fs::remove_dir_all(&made);
        line.map(|line| line.replace(&absolute(&made), "/made"))
    }

    #[test]
    fn what_all_have_alike_is_taken_from_a_node_beside() {
        let leave = |made: &Path| {
            for host in ["203.0.113.2", "203.0.113.3"] {
                fs::create_dir_all(made.join(host)).expect("it can be made");
            }
            fs::write(made.join("203.0.113.2/users"), "").expect("it can be written");
            fs::write(made.join("203.0.113.3/users"), "ann").expect("it can be written");
        };
        let line = typed("beside", "users", leave).expect("another has it");
        assert!(line.starts_with("cp -p /made/203.0.113.3/users /made/203.0.113.1/users && "), "{line}");
    }

    #[test]
    fn else_from_the_first_seed_host_that_is_elsewhere() {
        let line = typed("seed", "users", |_| ()).expect("another has it");
        assert!(line.starts_with("scp -p 203.0.113.2:/made/203.0.113.1/users /made/203.0.113.1/users && "), "{line}");
    }

    #[test]
    fn who_has_no_users_anywhere_gets_one_who_may_do_everything() {
        let settings = sample::settings(Path::new("/srv/n1"), &[("zazen.security.users", "users")]);
        let line = |file: &str| with_an_admin(Path::new(file), &settings).map(|mend| mend.line);
        let made = line("/srv/n1/users").expect("it is its file of users");
        assert!(made.contains(" user add admin --role admin --file /srv/n1/users && "), "{made}");
        assert_eq!(line("/srv/n1/cluster.secret"), None);
    }

    #[test]
    fn what_is_a_nodes_own_nobody_else_has() {
        assert_eq!(typed("own", "node.key", |_| ()), None);
    }
}
