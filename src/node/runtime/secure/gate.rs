//! A port that strangers reach is opened only for those who can show that they belong.

use crate::runtime::addresses::is_beyond_loopback;
use crate::settings::{DiscoveryKind, NodeSettings};
use std::fmt;
use std::net::IpAddr;

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
}

impl fmt::Display for Insecure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hosts: Vec<String> = self.hosts.iter().map(IpAddr::to_string).collect();
        let (hosts, them) = (hosts.join(", "), self.hosts.first().map(IpAddr::to_string).unwrap_or_default());
        let (port, needs) = match self.side {
            Side::Nodes => ("the transport port", "zazen.security.secret or zazen.security.certificate"),
            Side::Users => ("the HTTP port", "zazen.security.users and zazen.security.http.certificate"),
        };
        write!(
            f,
            "{port} would listen on [{hosts}], which other machines reach, and everybody there could change the cluster: it \
             needs {needs}. Two commands set it up:\n\n    zazen setup --out security {them} OTHER_HOST...\n    zazen start -c \
             security/{them}/zazen.yml\n\nor listen on loopback, without [network.host]. [zazen.security.allow_open: true] \
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
    Err(Insecure { side, hosts: hosts.to_vec() })
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
        assert!(told.contains("zazen setup --out security 10.0.0.1") && told.contains("zazen start -c"), "{told}");
    }
}
