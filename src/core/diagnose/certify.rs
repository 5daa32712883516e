//! The commands that make certificates: typed where the authority's key is kept, and brought to where they are read.

use super::case::{Case, quoted};
use super::{Certificate, Mend, Report};
use serde::{Deserialize, Serialize};

/// Where the key of an authority is kept, if a node cannot tell.
const SOMEWHERE: &str = "the host that keeps ca.key";

/// Where certificates were made: the directory with the key of their authority.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The directory.
    pub directory: String,
    /// The host that it is on, if the key is not to be seen where the node runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

/// The command that makes what the nodes of some hosts need.
pub(super) fn setup<'a>(report: &Report, options: &str, hosts: impl IntoIterator<Item = &'a str>) -> String {
    let hosts: Vec<String> = hosts.into_iter().map(quoted).collect();
    let (binary, cluster) = (quoted(&report.facts.binary), quoted(report.explanation.cluster_name.as_str()));
    format!("{binary} setup --cluster-name {cluster} {options} {}", hosts.join(" "))
}

/// Makes the certificates of a node anew, and puts them where the node reads them.
pub(super) fn renewed(case: &Case<'_>, report: &Report, certificate: &Certificate) -> Mend {
    let host = case.host(report);
    let above = certificate.file.rsplitn(3, '/').nth(2).filter(|directory| !directory.is_empty());
    let origin = report.facts.credentials.origin.as_ref();
    let directory = origin.map_or(above.unwrap_or("security"), |origin| &origin.directory);
    let line = setup(report, &format!("--renew --out {}", quoted(directory)), [&*host]);
    let is_here = origin.is_some_and(|origin| origin.host.is_none());
    let copy = |(made, read): (String, &String)| match is_here {
        true => format!(" && cp -p {} {}", quoted(&made), quoted(read)),
        false => format!(" && scp -p {} {}", quoted(&made), quoted(&format!("{host}:{read}"))),
    };
    // It makes all of them at once.
    let all = report.facts.certificates.iter().filter(|one| one.key.is_some() && origin.is_some());
    let pairs = all.flat_map(|one| {
        let kind = if one.setting.contains(".http.") { "http" } else { "node" };
        let made = ["crt", "key"].map(|end| format!("{directory}/{host}/{kind}.{end}"));
        made.into_iter().zip([Some(&one.file), one.key.as_ref()].into_iter().flatten())
    });
    let copies: String = pairs.filter(|(made, read)| made != *read).map(copy).collect();
    placed(case.command(report, line + &copies), origin)
}

/// Makes all that the node of another host needs to belong to a node's cluster, and brings it to where this one has its own.
pub(super) fn equipped(case: &Case<'_>, report: &Report, host: &str) -> Option<Mend> {
    let all = ["node.crt", "node.key", "http.crt", "http.key", "ca.crt", "cluster.secret", "users"];
    brought(case, report, host, ("", &all))
}

/// The same where its certificates only have ended.
pub(super) fn renewed_elsewhere(case: &Case<'_>, report: &Report, host: &str) -> Option<Mend> {
    brought(case, report, host, ("--renew ", &["node.crt", "node.key", "http.crt", "http.key"]))
}

/// Files that are made with these options for the node of another host, and brought to where this one has its own.
fn brought(case: &Case<'_>, report: &Report, host: &str, (options, files): (&str, &[&str])) -> Option<Mend> {
    let own = &report.facts.credentials;
    let (read, _) = own.certificate.as_ref()?.rsplit_once('/')?;
    let (above, last) = read.rsplit_once('/')?;
    let is_each_its_own = last == report.explanation.node.host();
    let there = if is_each_its_own { format!("{above}/{host}") } else { read.to_owned() };
    let directory = own.origin.as_ref().map_or(if is_each_its_own { above } else { "security" }, |one| &one.directory);
    let line = setup(report, &format!("{options}--out {}", quoted(directory)), [host]);
    let made: Vec<String> = files.iter().map(|file| quoted(&format!("{directory}/{host}/{file}"))).collect();
    let copy = format!(" && scp -p {} {}", made.join(" "), quoted(&format!("{host}:{there}/")));
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
