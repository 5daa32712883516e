//! `zazen setup`: all that a secure cluster needs, for a list of hosts, in one go.
//!
//! An authority, a certificate for each node and one for its users, the secret that the nodes share, and an administrator
//! with a token. A directory for each host holds what belongs there; the key of the authority stays behind.

use super::{CommandError, CommandOutcome, failed};
use crate::cluster::ClusterName;
use crate::runtime::host_name;
use crate::runtime::secure::{
    Authority, LINES, Made, Purpose, authority_for, fresh_secret, fresh_token, made_at, made_line, read_private,
};
use clap::Args;
use std::collections::BTreeSet;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::net::{IpAddr, ToSocketAddrs};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// What a cluster is called that nobody named.
const DEFAULT_NAME: &str = "elasticsearch";

/// What a user of a machine is called in certificates beside its own names.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "::1"];

/// Make certificates, a secret, an administrator and configurations for a secure cluster.
///
/// For each host a directory is made, with a configuration that `zazen start` runs on; copy it there. Made once more for the
/// same directory, more hosts are added, and with --renew certificates are made anew; a running node takes them over by
/// itself. The key of the authority, ca.key, is needed for this only: keep it off the nodes.
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
    /// Make the certificates of these hosts anew; their secrets and users stay as they are.
    #[arg(long)]
    renew: bool,
    /// The addresses of the hosts as the others reach them, or names that have such addresses on this host.
    #[arg(value_name = "HOST", required = true)]
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
                write_private(&directory.join("zazen.yml"), &self.configuration(&cluster, host))?;
            }
            writeln!(
                out,
                "{}  for the host itself: zazen start -c {}/zazen.yml",
                directory.display(),
                directory.display()
            )?;
        }
        let (ca, token) = (self.out.join("ca.crt"), self.out.join("admin.token"));
        writeln!(out, "{}  for users, who trust it", ca.display())?;
        writeln!(out, "{}  the token of the user `admin`", token.display())?;
        writeln!(out, "{}  keep it apart: who has it makes nodes", self.out.join("ca.key").display())?;
        let host = self.hosts.first().map_or("", String::as_str);
        writeln!(
            out,
            "\nAsk the cluster:\n    zazen status --ca {ca} --token-file {token} --url {host}\n    curl --cacert {ca} -H \
             \"Authorization: Bearer $(cat {token})\" https://{host}:9200/_cat/nodes?v",
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

    fn configuration(&self, cluster: &ClusterName, host: &str) -> String {
        let hosts: Vec<String> = self.hosts.iter().map(|host| format!("\"{host}\"")).collect();
        format!(
            "cluster.name: \"{}\"\nnode.name: \"{host}\"\nnetwork.host: \"{host}\"\ndiscovery.zen.ping.unicast.hosts: [{}]\n\n{}",
            cluster,
            hosts.join(", "),
            LINES
        )
    }
}

/// What a host is called in its certificates: its name, and the addresses at which nodes reach each other.
fn names_of(host: &str) -> Result<Vec<String>, CommandError> {
    if host.parse::<IpAddr>().is_ok() {
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
        make_directory(directory)?;
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
        make_directory(directory)?;
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

fn make_directory(directory: &Path) -> Result<(), CommandError> {
    let made = DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.map_err(|error| failed(&format!("create the directory [{}]", directory.display()), error))
}

/// Writes a file that only its owner may read; whoever reads it meanwhile gets the old text or the new one.
pub(super) fn write_private(path: &Path, text: &str) -> Result<(), CommandError> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".tmp");
    let write = || {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
        file.write_all(text.as_bytes())?;
        file.sync_all()?;
        fs::rename(&unfinished, path)
    };
    write().map_err(|error| failed(&format!("write [{}]", path.display()), error))
}
