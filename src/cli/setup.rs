//! `zazen setup`: all that a secure cluster needs, for a list of hosts, in one go.
//!
//! An authority, a certificate for each node and one for its users, the secret that the nodes share, and an administrator
//! with a token. A directory for each host holds what belongs there; the key of the authority stays behind.

use super::{CommandError, CommandOutcome, failed};
use crate::cluster::ClusterName;
use crate::runtime::host_name;
use crate::runtime::secure::{
    Authority, LINES, Made, Purpose, authority_for, fresh_secret, fresh_token, made_at, made_line, random_hex,
    read_private,
};
use clap::Args;
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::net::{IpAddr, ToSocketAddrs};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// What a cluster is called that nobody named.
const DEFAULT_NAME: &str = "elasticsearch";

/// What all hosts have the same of.
const SHARED: [&str; 3] = ["cluster.secret", "users", "ca.crt"];

/// What a user of a machine is called in certificates beside its own names.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Make certificates, a secret, an administrator and configurations for a secure cluster.
///
/// For each host a directory is made, with a configuration that `zazen start` runs on; copy it there. Made once more for the
/// same directory, more hosts are added, and with --renew certificates are made anew; a running node takes them over by
/// itself. Each time all hosts' directories get the secret, the users and the authorities that stand beside ca.key. That
/// key is needed for this only: keep it off the nodes.
#[derive(Debug, Args)]
pub(super) struct SetupArgs {
    /// Where to put it all.
    #[arg(long, value_name = "DIR", default_value = "security")]
    out: PathBuf,
    /// The name of the cluster: that of the authority that is there already, or `elasticsearch`.
    #[arg(long, value_name = "NAME")]
    cluster_name: Option<String>,
    /// For how many days certificates last.
    #[arg(long, value_name = "DAYS", default_value_t = 825, value_parser = clap::value_parser!(u16).range(1..=3650))]
    days: u16,
    /// Make the certificates of these hosts anew.
    #[arg(long)]
    renew: bool,
    /// The addresses of the hosts as the others reach them, or names that have such addresses on this host.
    #[arg(value_name = "HOST")]
    hosts: Vec<String>,
}

/// What is the same on all nodes of a cluster.
pub(super) struct Shared {
    authority: Authority,
    authorities: String,
    secret: String,
    users: String,
    days: u64,
    /// What is said over each certificate: where it was made.
    made: String,
}

impl SetupArgs {
    pub(super) fn run(&self, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
        if let Some(strange) = self.hosts.iter().find(|host| host.contains(['/', ' ']) || host.starts_with('.')) {
            return Err(CommandError::Usage(format!("[{strange}] is no host, allowed: an address or a name")));
        }
        let known = hosts_in(&self.out);
        if self.hosts.is_empty() && known.is_empty() {
            let text =
                format!("there is no host in [{}] yet, allowed: the addresses of one at least", self.out.display());
            return Err(CommandError::Usage(text));
        }
        self.with_its_key()?;
        let names = self.hosts.iter().map(|host| names_of(host)).collect::<Result<Vec<_>, _>>()?;
        let cluster = self.cluster()?;
        let shared = Shared::open(&self.out, cluster.clone(), self.days.into())?;
        for (host, names) in self.hosts.iter().zip(&names) {
            let directory = self.out.join(host);
            let is_there = directory.join("node.crt").exists();
            if is_there && !self.renew {
                writeln!(out, "{}  is there already, --renew makes its certificates anew", directory.display())?;
                continue;
            }
            shared.equip(&directory, names)?;
            if !is_there {
                write_private(&directory.join("zazen.yml"), &self.configuration(&cluster, host, &known))?;
            }
            writeln!(
                out,
                "{}  for the host itself: zazen start -c {}/zazen.yml",
                directory.display(),
                directory.display()
            )?;
        }
        for name in SHARED {
            for newer in give_to_hosts(&self.out, name)? {
                writeln!(out, "{newer}  is newer than the one beside ca.key, and stays")?;
            }
        }
        let (ca, token) = (self.out.join("ca.crt"), self.out.join("admin.token"));
        writeln!(out, "{}  for users, who trust it", ca.display())?;
        writeln!(out, "{}  the token of the user `admin`", token.display())?;
        writeln!(out, "{}  keep it apart: who has it makes nodes", self.out.join("ca.key").display())?;
        let host = self.hosts.first().or(known.first()).map_or("", String::as_str);
        let host = if host.contains(':') { format!("[{host}]") } else { host.to_owned() };
        writeln!(
            out,
            "\nAsk the cluster:\n    zazen status --ca {ca} --token-file {token} --url {host}\n    curl --cacert {ca} -H \
             \"Authorization: Bearer $(cat {token})\" 'https://{host}:9200/_cat/nodes?v'",
            ca = ca.display(),
            token = token.display(),
        )?;
        Ok(CommandOutcome::Fine)
    }

    /// Certificates of another authority than the one that is there already would lock their nodes out.
    fn with_its_key(&self) -> Result<(), CommandError> {
        let is_there = |name: &str| self.out.join(name).exists();
        let has_some =
            || self.renew || is_there("ca.crt") || self.hosts.iter().any(|host| is_there(&format!("{host}/node.crt")));
        if is_there("ca.key") || !has_some() {
            return Ok(());
        }
        let places = ["node.crt", "ca.crt"].map(|name| self.out.join(name)).into_iter();
        let mut of_hosts = self.hosts.iter().map(|host| self.out.join(host).join("node.crt"));
        let made = places.chain(&mut of_hosts).find_map(|file| made_at(&fs::read_to_string(file).ok()?));
        let made = made.map(|(directory, host)| format!(", which is [{directory}] on [{host}]")).unwrap_or_default();
        let asked = if self.renew { "make certificates anew" } else { "make certificates for more hosts" };
        let text = format!(
            "cannot {asked} in [{}]: there is no ca.key; allowed: --out with the directory that holds the ca.key of the \
             cluster{made}",
            self.out.display()
        );
        Err(CommandError::Failed(text))
    }

    /// The name that the authority has: what it makes under another one nobody believes.
    fn cluster(&self) -> Result<ClusterName, CommandError> {
        let given = self.cluster_name.as_deref().map(ClusterName::from);
        let there = fs::read_to_string(self.out.join("ca.crt")).ok().and_then(|authority| authority_for(&authority));
        match (given, there) {
            (Some(given), Some(there)) if given != there => Err(CommandError::Failed(format!(
                "cannot make certificates for cluster [{given}] in [{}]: its authority is that of cluster [{there}]; allowed: \
                 --cluster-name {there}, or another --out",
                self.out.display()
            ))),
            (given, there) => Ok(given.or(there).unwrap_or_else(|| DEFAULT_NAME.into())),
        }
    }

    /// Who comes to hosts that are there already looks for them, and forms no cluster of its own.
    fn configuration(&self, cluster: &ClusterName, host: &str, known: &[String]) -> String {
        let added = self.hosts.iter().filter(|host| !known.contains(host));
        let hosts: Vec<String> = known.iter().chain(added).map(|host| format!("\"{host}\"")).collect();
        // These are on one machine, and may be started from one directory.
        let is_loopback = host.parse::<IpAddr>().is_ok_and(|host| host.is_loopback());
        let data = if is_loopback { format!("path.data: \"data-{host}\"\n") } else { String::new() };
        format!(
            "cluster.name: \"{cluster}\"\nnode.name: \"{host}\"\nnetwork.host: \"{host}\"\n\
             discovery.zen.ping.unicast.hosts: [{}]\n{data}\n{LINES}",
            hosts.join(", "),
        )
    }
}

/// The hosts that have a directory there.
fn hosts_in(directory: &Path) -> Vec<String> {
    let found = fs::read_dir(directory).into_iter().flatten().flatten();
    let of_hosts = found.filter(|found| found.path().join("node.crt").exists());
    let mut hosts: Vec<String> = of_hosts.filter_map(|found| found.file_name().into_string().ok()).collect();
    hosts.sort_unstable();
    hosts
}

/// Gives a file to all hosts that have another one; whatever is newer than this stays, and is named.
pub(super) fn give_to_hosts(directory: &Path, name: &str) -> Result<Vec<String>, CommandError> {
    let given = hosts_in(directory).into_iter().map(|host| give(directory, &directory.join(host), name));
    Ok(given.collect::<Result<Vec<_>, _>>()?.into_iter().flatten().collect())
}

fn give(from: &Path, to: &Path, name: &str) -> Result<Option<String>, CommandError> {
    let (from, to) = (from.join(name), to.join(name));
    let cannot_read = |error| failed(&format!("read [{}]", from.display()), error);
    let text = fs::read_to_string(&from).map_err(cannot_read)?;
    let changed = |path: &Path| fs::metadata(path).and_then(|found| found.modified());
    match fs::read_to_string(&to) {
        Ok(there) if there == text => Ok(None),
        Ok(_) if changed(&to).ok() > changed(&from).ok() => Ok(Some(to.display().to_string())),
        Ok(_) | Err(_) => write_private(&to, &text).map(|()| None),
    }
}

/// What a host is called in its certificates: its name, and the addresses at which nodes reach each other.
fn names_of(host: &str) -> Result<Vec<String>, CommandError> {
    if let Ok(address) = host.parse::<IpAddr>() {
        if address.is_unspecified() {
            let text =
                format!("[{host}] is no address that others reach, allowed: the one at which they reach this host");
            return Err(CommandError::Usage(text));
        }
        return Ok(vec![host.to_owned()]);
    }
    let found = (host, 0).to_socket_addrs();
    let all: Vec<IpAddr> = found.iter().flat_map(Clone::clone).map(|at| at.ip()).collect();
    let is_local = |ip: &IpAddr| ip.is_loopback() || ip.is_unspecified();
    let addresses: BTreeSet<String> = match host {
        "localhost" => all.iter().map(ToString::to_string).collect(),
        _ => all.iter().filter(|ip| !is_local(ip)).map(ToString::to_string).collect(),
    };
    if addresses.is_empty() {
        let why = match (found, all.first()) {
            (Err(error), _) => error.to_string(),
            (Ok(_), Some(ip)) => format!("it is [{ip}] here, which is another place on every host"),
            (Ok(_), None) => "it has none".into(),
        };
        return Err(CommandError::Failed(format!(
            "cannot find the address of [{host}], which its certificates must name: {why}; allowed: an address, or a name \
             that has one on this host"
        )));
    }
    Ok([host.to_owned()].into_iter().chain(addresses).collect())
}

impl Shared {
    /// What was made there before, or all of it new.
    pub(super) fn open(directory: &Path, cluster: ClusterName, days: u64) -> Result<Self, CommandError> {
        make_private_directory(directory)?;
        let made = origin_line(directory);
        let (key, certificate) = (directory.join("ca.key"), directory.join("ca.crt"));
        let (secret, users) = (directory.join("cluster.secret"), directory.join("users"));
        let refused = |error: &dyn std::fmt::Display| CommandError::Failed(error.to_string());
        if key.exists() {
            let read = |path: &Path| read_private(path).map_err(|error| refused(&error));
            let authority =
                Authority::with_key(cluster, &read(&key)?).map_err(|error| failed("read the key", error))?;
            let authorities = fs::read_to_string(&certificate).map_err(|error| failed("read the authority", error))?;
            return Ok(Shared { authority, authorities, secret: read(&secret)?, users: read(&users)?, days, made });
        }
        let (authority, Made { certificate: authorities, key: text }) =
            Authority::make(cluster).map_err(|error| failed("make an authority", error))?;
        let no_entropy = || CommandError::Failed("the system gives no random numbers".into());
        let (token, hash) = fresh_token("admin").ok_or_else(no_entropy)?;
        let shared = Shared {
            authority,
            authorities,
            secret: fresh_secret().ok_or_else(no_entropy)? + "\n",
            users: format!(
                "# name role hash [keys=PREFIX,...] [leases=NAME,...]; `zazen user` adds more\nadmin admin {hash}\n"
            ),
            days,
            made,
        };
        write_private(&key, &text)?;
        write_private(&certificate, &shared.authorities)?;
        write_private(&secret, &shared.secret)?;
        write_private(&users, &shared.users)?;
        write_private(&directory.join("admin.token"), &(token + "\n"))?;
        Ok(shared)
    }

    /// Writes what one node needs that is reached under these names. Its secret and users stay if they are there.
    pub(super) fn equip(&self, directory: &Path, names: &[String]) -> Result<(), CommandError> {
        make_private_directory(directory)?;
        let vouch = |purpose, names: &[String]| {
            self.authority.vouch(purpose, names, self.days).map_err(|error| failed("make a certificate", error))
        };
        let of_users: Vec<String> = names.iter().cloned().chain(LOOPBACK.map(str::to_owned)).collect();
        let (node, users) = (vouch(Purpose::Node, names)?, vouch(Purpose::Users, &of_users)?);
        let files = [
            ("node.key", &node.key),
            ("node.crt", &(self.made.clone() + &node.certificate)),
            ("http.key", &users.key),
            ("http.crt", &(self.made.clone() + &users.certificate)),
            ("ca.crt", &self.authorities),
        ];
        for (name, text) in files {
            write_private(&directory.join(name), text)?;
        }
        for (name, text) in [("cluster.secret", &self.secret), ("users", &self.users)] {
            if !directory.join(name).exists() {
                write_private(&directory.join(name), text)?;
            }
        }
        Ok(())
    }
}

/// Says that certificates were made here.
fn origin_line(directory: &Path) -> String {
    let directory = fs::canonicalize(directory).unwrap_or_else(|_| directory.to_owned());
    made_line(&directory.display().to_string(), &host_name())
}

/// Makes a directory for secrets; one that is there already must be this user's own, or whoever made it takes what comes in.
pub(super) fn make_private_directory(directory: &Path) -> Result<(), CommandError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.map_err(|error| failed(&format!("create the directory [{}]", directory.display()), error))?;
    let found =
        fs::metadata(directory).map_err(|error| failed(&format!("look at [{}]", directory.display()), error))?;
    let (mode, owner) = (found.mode() & 0o777, found.uid());
    if owner != rustix::process::geteuid().as_raw() || mode & 0o002 != 0 {
        return Err(CommandError::Failed(format!(
            "cannot keep secrets in [{}]: it belongs to the user {owner} and has the mode {mode:04o}, so others may change \
             what is in it; allowed: a directory of one's own that nobody else may write, or one that is not there yet",
            directory.display()
        )));
    }
    Ok(())
}

/// Writes a file that only its owner may read; whoever reads it meanwhile gets the old text or the new one.
pub(super) fn write_private(path: &Path, text: &str) -> Result<(), CommandError> {
    let cannot = |error| failed(&format!("write [{}]", path.display()), error);
    let chance = random_hex::<8>().ok_or_else(|| cannot(io::Error::other("the system gives no random numbers")))?;
    let mut unfinished = path.as_os_str().to_owned();
    // A name that nobody can have taken beforehand.
    unfinished.push(format!(".{chance}.tmp"));
    let write = || {
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&unfinished)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&unfinished, path)
    };
    write().map_err(|error| {
        let _ = fs::remove_file(&unfinished);
        cannot(error)
    })
}
