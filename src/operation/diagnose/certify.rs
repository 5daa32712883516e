//! The commands that make certificates: typed where the authority's key is kept, and brought to where they are read.

use super::case::Case;
use super::shell::quoted;
use super::{Certificate, Credentials, Mend, Origin, Report};
use crate::cluster::is_loopback;

/// Where the key of an authority is kept, if a node cannot tell.
const SOMEWHERE: &str = "the host that keeps ca.key";

/// What a node needs of security, as `zazen setup` calls it.
const ALL: [&str; 7] = ["node.crt", "node.key", "http.crt", "http.key", "ca.crt", "cluster.secret", "users"];

/// What of it one authority makes for one host.
const CERTIFICATES: [&str; 4] = ["node.crt", "node.key", "http.crt", "http.key"];

/// The command that makes what the nodes of some hosts need.
pub(super) fn setup<'a>(report: &Report, options: &str, hosts: impl IntoIterator<Item = &'a str>) -> String {
    command((&report.facts.binary, report.explanation.cluster_name.as_str()), options, hosts)
}

fn command<'a>((binary, cluster): (&str, &str), options: &str, hosts: impl IntoIterator<Item = &'a str>) -> String {
    let hosts: Vec<String> = hosts.into_iter().map(quoted).collect();
    format!("{} setup --cluster-name {} {options} {}", quoted(binary), quoted(cluster), hosts.join(" "))
}

/// The certificates of a node, which are to be made anew and put where the node reads them.
#[derive(Clone, Debug)]
pub struct Renewal<'a> {
    /// The program.
    pub binary: &'a str,
    /// The node's cluster.
    pub cluster: &'a str,
    /// Where the node is reached.
    pub host: &'a str,
    /// Where they are made, if it is known.
    pub origin: Option<&'a Origin>,
    /// A certificate that it reads.
    pub certificate: &'a str,
    /// All that it reads: whether users are shown it, the certificate, its key.
    pub read: Vec<(bool, &'a str, &'a str)>,
}

impl Renewal<'_> {
    /// Whether they are made on the node's own host.
    pub fn is_here(&self) -> bool {
        self.origin.is_some_and(|origin| origin.host.is_none())
    }

    /// The command, to be typed where they are made.
    pub fn mend(&self) -> Mend {
        placed(Mend::command(self.line()), self.origin)
    }

    /// The command.
    pub fn line(&self) -> String {
        let Renewal { binary, cluster, host, origin, certificate, read } = self;
        let above = certificate.rsplitn(3, '/').nth(2).filter(|directory| !directory.is_empty());
        let directory = origin.map_or(above.unwrap_or("security"), |origin| &origin.directory);
        let options = format!("--renew --out {}", quoted(directory));
        let copy = |(made, read): (String, &str)| match self.is_here() {
            true => format!(" && cp -p {} {}", quoted(&made), quoted(read)),
            false => format!(" && scp -p {} {}", quoted(&made), quoted(&format!("{host}:{read}"))),
        };
        // It makes all of them at once.
        let pairs = read.iter().filter(|_| origin.is_some()).flat_map(|(is_users, certificate, key)| {
            let kind = if *is_users { "http" } else { "node" };
            let made = ["crt", "key"].map(|end| format!("{directory}/{host}/{kind}.{end}"));
            made.into_iter().zip([*certificate, *key])
        });
        let copies: String = pairs.filter(|(made, read)| made != *read).map(copy).collect();
        command((binary, cluster), &options, [*host]) + &copies
    }
}

/// Makes the certificates of a node anew, and puts them where the node reads them.
pub(super) fn renewed(case: &Case<'_>, report: &Report, certificate: &Certificate) -> Mend {
    let origin = report.facts.credentials.origin.as_ref();
    let all = report.facts.certificates.iter();
    let read = all.filter_map(|one| Some((one.setting.contains(".http."), &*one.file, one.key.as_deref()?)));
    let renewal = Renewal {
        binary: &report.facts.binary,
        cluster: report.explanation.cluster_name.as_str(),
        host: &case.host(report),
        origin,
        certificate: &certificate.file,
        read: read.collect(),
    };
    placed(case.command(report, renewal.line()), origin)
}

/// Makes all that the node of another host needs to belong to a node's cluster, and brings it to where this one has its own.
pub(super) fn equipped(case: &Case<'_>, report: &Report, host: &str) -> Option<Mend> {
    // What lies there already may be no good.
    brought(case, report, (host, host), ("--renew ", &ALL))
}

/// Makes all that a node needs to belong to the cluster of others, whose authority is not its own.
pub(super) fn adopted(case: &Case<'_>, report: &Report) -> Option<Mend> {
    let (read, _) = report.facts.credentials.certificate.as_ref()?.rsplit_once('/')?;
    let host = case.host(report);
    // Elsewhere there is no key, and nothing is made then.
    let line = setup(report, "--renew --out security", [&*host]);
    let made: Vec<String> = ALL.iter().map(|file| quoted(&format!("security/{host}/{file}"))).collect();
    let copy = format!(" && scp -p {} {}", made.join(" "), quoted(&format!("{host}:{read}/")));
    Some(placed(case.command(report, line + &copy), None))
}

/// Makes anew what the asked node reads in the directory of its host, where its neighbours have theirs beside.
pub(super) fn equipped_beside(case: &Case<'_>, neighbours: &Credentials) -> Option<Mend> {
    let (host, origin) = (case.me.explanation.node.host(), neighbours.origin.as_ref());
    let home = |certificate: &str| Some(certificate.rsplit_once('/')?.0.to_owned());
    let read = home(case.me.facts.credentials.certificate.as_ref()?)?;
    let theirs = home(neighbours.certificate.as_ref()?)?;
    let (above, _) = theirs.rsplit_once('/')?;
    let directory = origin.map_or(above, |origin| &origin.directory);
    let line = setup(case.me, &format!("--renew --out {}", quoted(directory)), [host]);
    (read == format!("{directory}/{host}")).then(|| placed(case.command(case.me, line), origin))
}

/// The same where its certificates only have ended.
pub(super) fn renewed_elsewhere(case: &Case<'_>, report: &Report, host: &str) -> Option<Mend> {
    brought(case, report, (host, host), ("--renew ", &CERTIFICATES))
}

/// The same for one that is at another host than its certificates were made for.
pub(super) fn equipped_anew(case: &Case<'_>, report: &Report, (before, now): (&str, &str)) -> Option<Mend> {
    // The directory of an address at which another node is holds that node's files, of which this one has copies.
    let is_taken = case.reports.iter().any(|other| other.explanation.node.host() == before);
    brought(case, report, (if is_taken { now } else { before }, now), ("--renew ", &CERTIFICATES))
}

/// Files that are made with these options for the node of another host, and brought to where this one has its own, be it in
/// a directory that is called as the host is or was.
fn brought(
    case: &Case<'_>,
    report: &Report,
    (before, host): (&str, &str),
    (options, files): (&str, &[&str]),
) -> Option<Mend> {
    let own = &report.facts.credentials;
    let (read, _) = own.certificate.as_ref()?.rsplit_once('/')?;
    let (above, last) = read.rsplit_once('/')?;
    let is_each_its_own = last == report.explanation.node.host();
    let there = if is_each_its_own { format!("{above}/{before}") } else { read.to_owned() };
    let directory = own.origin.as_ref().map_or(if is_each_its_own { above } else { "security" }, |one| &one.directory);
    let line = setup(report, &format!("{options}--out {}", quoted(directory)), [host]);
    let made: Vec<String> = files.iter().map(|file| quoted(&format!("{directory}/{host}/{file}"))).collect();
    let copy = match is_loopback(host) {
        // All of it is on this host.
        true if there == format!("{directory}/{host}") => String::new(),
        true => format!(" && cp -p {} {}", made.join(" "), quoted(&format!("{there}/"))),
        false => format!(" && scp -p {} {}", made.join(" "), quoted(&format!("{host}:{there}/"))),
    };
    Some(placed(case.command(report, line + &copy), own.origin.as_ref()))
}

/// Typed where the key is.
fn placed(mend: Mend, origin: Option<&Origin>) -> Mend {
    match origin {
        Some(Origin { host: None, .. }) => mend,
        Some(Origin { host: Some(host), .. }) => Mend { host: Some(host.clone()), ..mend },
        None => Mend { host: Some(SOMEWHERE.into()), ..mend },
    }
}
