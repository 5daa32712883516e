//! A port that strangers reach is opened only for those who can show that they belong.

use crate::cluster::is_loopback;
use crate::diagnose::quoted;
use crate::runtime::addresses::{is_beyond_loopback, publish_address};
use crate::runtime::log::NODE;
use crate::runtime::seeds::host_of;
use crate::settings::{DiscoveryKind, NodeSettings};
use std::fmt;
use std::net::IpAddr;
use std::time::Duration;

/// How often it is said that a port is open to everybody.
const REMIND: Duration = Duration::from_secs(60);

/// Which of the two ports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// That for other nodes.
    Nodes,
    /// That for users.
    Users,
}

/// A port would be open to everybody who reaches it.
#[derive(Debug, PartialEq, Eq)]
pub struct Insecure {
    side: Side,
    hosts: Vec<IpAddr>,
    /// The options that set up what is missing, for this host and the others.
    setup: String,
    /// This host, as others reach it.
    own: String,
}

impl fmt::Display for Insecure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<String> = self.hosts.iter().map(IpAddr::to_string).collect();
        let (hosts, setup, own) = (hosts.join(", "), &self.setup, &self.own);
        let (port, needs) = match self.side {
            Side::Nodes => ("the transport port", "zazen.security.secret or zazen.security.certificate"),
            Side::Users => ("the HTTP port", "zazen.security.users and zazen.security.http.certificate"),
        };
        write!(
            f,
            "{port} would listen on [{hosts}], which other machines reach, and everybody there could change the cluster: it \
             needs {needs}. Two commands set it up:\n\n    zazen setup {setup}\n    zazen start -c \
             security/{own}/zazen.yml\n\nor listen on loopback, without [network.host]. [zazen.security.allow_open: true] \
             starts it all the same, with a warning every minute"
        )
    }
}

impl std::error::Error for Insecure {}

/// Whether only those get in who belong.
fn is_guarded(settings: &NodeSettings, side: Side) -> bool {
    let security = &settings.security;
    match (side, settings.discovery.kind) {
        // Such a node lets no other one in.
        (Side::Nodes, DiscoveryKind::SingleNode) => true,
        (Side::Nodes, DiscoveryKind::Lab(_)) => false,
        (Side::Nodes, DiscoveryKind::Zen) => security.secret.is_some() || security.certificate.is_some(),
        (Side::Users, _) => security.users.is_some() && security.http_certificate.is_some(),
    }
}

/// Whether a port may be opened on these hosts.
pub fn gate(settings: &NodeSettings, side: Side, hosts: &[IpAddr]) -> Result<(), Insecure> {
    if settings.security.allow_open || !is_beyond_loopback(hosts) || is_guarded(settings, side) {
        return Ok(());
    }
    let own = quoted(&own_host(settings, hosts));
    let others = other_hosts(settings, &own);
    let others = if others.is_empty() { "OTHER_HOST...".to_owned() } else { others.join(" ") };
    let cluster = match settings.cluster_name == NodeSettings::default().cluster_name {
        true => String::new(),
        false => format!("--cluster-name {} ", quoted(settings.cluster_name.as_str())),
    };
    let setup = format!("{cluster}--out security {own} {others}");
    Err(Insecure { side, hosts: hosts.to_vec(), setup, own })
}

/// Where others reach this host: what it listens on may stand for all its addresses.
fn own_host(settings: &NodeSettings, hosts: &[IpAddr]) -> String {
    let listened = hosts.iter().find(|host| !host.is_unspecified() && !host.is_loopback()).copied();
    let published = || publish_address(&settings.transport, hosts).ok().filter(|host| !host.is_unspecified());
    listened.or_else(published).map_or_else(|| "HOST".to_owned(), |host| host.to_string())
}

/// The other hosts, as the seed hosts name them.
fn other_hosts(settings: &NodeSettings, own: &str) -> Vec<String> {
    let mut others = Vec::new();
    for seed in settings.discovery.hosts.iter().flatten() {
        let Some(host) = host_of(seed).filter(|host| !is_loopback(host)).map(quoted) else { continue };
        if host != own && !others.contains(&host) {
            others.push(host);
        }
    }
    others
}

/// What is open to everybody who reaches it, in sentences.
pub fn open_sides(settings: &NodeSettings, nodes: &[IpAddr], users: &[IpAddr]) -> Vec<String> {
    let sides = [(Side::Nodes, "transport", nodes), (Side::Users, "http", users)];
    let open = sides.into_iter().filter(|(side, _, hosts)| is_beyond_loopback(hosts) && !is_guarded(settings, *side));
    open.map(|(_, what, hosts)| {
        format!("{what} listens beyond loopback on {hosts:?} without security: whoever reaches it can do everything")
    })
    .collect()
}

/// Says what is open, again and again.
pub async fn remind(open: Vec<String>) {
    loop {
        for what in &open {
            tracing::warn!(target: NODE, "{what}");
        }
        tokio::time::sleep(REMIND).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::SecuritySettings;

    fn settings(security: SecuritySettings) -> NodeSettings {
        NodeSettings { security, ..NodeSettings::default() }
    }

    #[test]
    fn beyond_loopback_each_port_needs_what_tells_friends_from_strangers() {
        let file = || Some("f".into());
        let (none, all) = (SecuritySettings::default(), "10.0.0.1".parse().expect("an address"));
        let beyond = [all];
        let cases = [
            (none.clone(), false, false),
            (SecuritySettings { secret: file(), ..none.clone() }, true, false),
            (SecuritySettings { certificate: file(), ..none.clone() }, true, false),
            (SecuritySettings { users: file(), ..none.clone() }, false, false),
            (SecuritySettings { http_certificate: file(), ..none.clone() }, false, false),
            (SecuritySettings { users: file(), http_certificate: file(), ..none.clone() }, false, true),
            (SecuritySettings { allow_open: true, ..none.clone() }, true, true),
        ];
        for (security, nodes, users) in cases {
            let settings = settings(security);
            let may = |side, hosts: &[IpAddr]| gate(&settings, side, hosts).is_ok();
            assert_eq!((may(Side::Nodes, &beyond), may(Side::Users, &beyond)), (nodes, users), "{settings:?}");
            let loopback = ["127.0.0.1".parse().expect("an address")];
            assert!(may(Side::Nodes, &loopback) && may(Side::Users, &loopback), "loopback asks for nothing");
        }
        let told = gate(&settings(none), Side::Users, &beyond).expect_err("it is open").to_string();
        let lines =
            "zazen setup --out security 10.0.0.1 OTHER_HOST...\n    zazen start -c security/10.0.0.1/zazen.yml\n";
        assert!(told.contains(lines), "{told}");
    }

    #[test]
    fn the_hosts_are_those_that_the_seeds_name() {
        let mut settings = settings(SecuritySettings::default());
        settings.cluster_name = "our shop".into();
        let seeds = ["10.0.0.1:9300", "10.0.0.2:9300-9305", "es-3", "[fd00::4]:9300", "fd00::5", "127.0.0.1", "es-3:1"];
        settings.discovery.hosts = Some(seeds.map(Into::into).into());
        let told = gate(&settings, Side::Nodes, &["10.0.0.1".parse().expect("an address")]).expect_err("it is open");
        let line = "zazen setup --cluster-name 'our shop' --out security 10.0.0.1 10.0.0.2 es-3 fd00::4 fd00::5\n";
        assert!(told.to_string().contains(line), "{told}");
        let any = gate(&settings, Side::Nodes, &["0.0.0.0".parse().expect("an address")]).expect_err("it is open");
        assert!(!any.to_string().contains("security 0.0.0.0"), "{any}");
    }
}
