//! Which settings in force weaken what keeps strangers out, and what each of them lets happen.
//!
//! Judged from the settings alone, so `check-config` tells it before a node runs, `doctor` where it will run, and `explain`
//! while it runs. That nobody logs in on loopback is how a node comes, and is not told. Elasticsearch 6.8 has bootstrap checks
//! for some of it (`TLSLicenseBootstrapCheck`), and otherwise nothing like it.

use super::node::NodeSettings;
use std::fmt;

/// A setting in force that weakens what keeps strangers out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Weakness {
    /// The line of a configuration that says so.
    pub setting: String,
    /// What it lets happen.
    pub lets: &'static str,
    /// The line that ends it.
    pub mend: String,
}

impl fmt::Display for Weakness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Weakness { setting, lets, mend } = self;
        write!(f, "[{setting}]: {lets}; [{mend}] ends it")
    }
}

fn weak(setting: impl Into<String>, lets: &'static str, mend: impl Into<String>) -> Weakness {
    Weakness { setting: setting.into(), lets, mend: mend.into() }
}

/// All of them, the worst first.
pub fn weaknesses(settings: &NodeSettings) -> Vec<Weakness> {
    [ports(settings), lines(settings), pages(settings), faults(settings)].into_iter().flatten().collect()
}

/// Ports that nothing need guard.
fn ports(settings: &NodeSettings) -> Vec<Weakness> {
    let open = settings.security.allow_open.then(|| {
        weak(
            "zazen.security.allow_open: true",
            "ports that other machines reach may be open to everybody who reaches them",
            "zazen.security.allow_open: false",
        )
    });
    open.into_iter().collect()
}

/// What is said where others may listen, and to whom it is said.
fn lines(settings: &NodeSettings) -> Vec<Weakness> {
    let security = &settings.security;
    let path = |path: &std::path::Path| path.display().to_string();
    let in_the_clear =
        security.users.as_deref().filter(|_| security.http_certificate.is_none() && settings.rest.enabled);
    let in_the_clear = in_the_clear.map(|users| {
        weak(
            format!("zazen.security.users: {}", path(users)),
            "without a certificate for users their passwords and tokens go in the clear",
            "zazen.security.http: {certificate: http.crt, key: http.key}",
        )
    });
    let unasked = security.http_certificate.as_deref().filter(|_| security.users.is_none() && settings.rest.enabled);
    let unasked = unasked.map(|certificate| {
        weak(
            format!("zazen.security.http.certificate: {}", path(certificate)),
            "without users nobody is asked who it is: whoever connects can do everything",
            "zazen.security.users: users",
        )
    });
    let read = security.secret.as_deref().filter(|_| security.certificate.is_none());
    let read = read.filter(|_| is_beyond_loopback(&settings.transport.bind_hosts)).map(|secret| {
        weak(
            format!("zazen.security.secret: {}", path(secret)),
            "without certificates whoever listens on the wire reads what nodes say, and each of them can speak for every other",
            "zazen.security: {certificate: node.crt, key: node.key, authorities: ca.crt}",
        )
    });
    [in_the_clear, unasked, read].into_iter().flatten().collect()
}

/// Pages in browsers that may ask.
fn pages(settings: &NodeSettings) -> Vec<Weakness> {
    let (rest, cors) = (&settings.rest, &settings.rest.cors);
    let origins = cors.allow_origin.trim();
    let is_any = cors.enabled && matches!(origins, "*" | "/.*/" | "/.+/");
    let any = is_any.then(|| {
        weak(
            format!("http.cors.allow-origin: \"{origins}\""),
            "every page in a browser that reaches this node reads and changes what the browser's user can",
            "http.cors.allow-origin: \"https://console.example.com\"",
        )
    });
    let credentials = (is_any && cors.allow_credentials).then(|| {
        weak(
            "http.cors.allow-credentials: true",
            "every page asks with the login of the browser's user",
            "http.cors.allow-credentials: false",
        )
    });
    // Where users log in, a page whose name was bound to this machine knows no password.
    let is_bound = settings.security.users.is_none() && rest.allowed_hosts.iter().any(|name| name == "*");
    let bound = is_bound.then(|| {
        weak(
            "zazen.http.allowed_hosts: \"*\"",
            "a page whose name was bound to this machine (DNS rebinding) reads and changes everything",
            "zazen.http.allowed_hosts: [\"zazen.example.com\"]",
        )
    });
    [any, credentials, bound].into_iter().flatten().collect()
}

/// What is for tests only.
fn faults(settings: &NodeSettings) -> Vec<Weakness> {
    let faults = settings.faults.then(|| {
        weak(
            "zazen.faults.enabled: true",
            "whoever may administrate can cut the links of this node, which is for tests",
            "zazen.faults.enabled: false",
        )
    });
    faults.into_iter().collect()
}

/// Whether one of these is more than this machine by itself; what only the machine can resolve counts as more.
fn is_beyond_loopback(hosts: &[String]) -> bool {
    let is_near = |host: &String| {
        let host = host.trim_matches(['[', ']']);
        matches!(host, "_local_" | "_local:ipv4_" | "_local:ipv6_" | "localhost" | "::1") || host.starts_with("127.")
    };
    !hosts.iter().all(is_near)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::{CorsSettings, SecuritySettings};

    /// The settings that are told of a node that has these.
    fn told(change: impl FnOnce(&mut NodeSettings)) -> Vec<String> {
        let mut settings = NodeSettings::default();
        change(&mut settings);
        weaknesses(&settings).into_iter().map(|weakness| weakness.setting).collect()
    }

    fn cors(origin: &str, allow_credentials: bool) -> CorsSettings {
        CorsSettings { enabled: true, allow_origin: origin.into(), allow_credentials, ..CorsSettings::default() }
    }

    #[test]
    fn a_node_as_it_comes_and_one_that_is_set_up_have_no_weakness() {
        assert!(told(|_| ()).is_empty());
        let file = || Some("f".into());
        let all = SecuritySettings {
            secret: file(),
            certificate: file(),
            users: file(),
            http_certificate: file(),
            ..SecuritySettings::default()
        };
        let set_up = told(|node| {
            node.security = all.clone();
            node.transport.bind_hosts = vec!["10.0.0.1".into()];
            node.rest.cors = cors("https://a.example", true);
            node.rest.allowed_hosts = vec!["*".into()];
        });
        assert!(set_up.is_empty(), "{set_up:?}");
    }

    #[test]
    fn each_weakness_is_told_by_the_setting_that_makes_it() {
        assert_eq!(told(|node| node.security.allow_open = true), ["zazen.security.allow_open: true"]);
        assert_eq!(told(|node| node.security.users = Some("u".into())), ["zazen.security.users: u"]);
        let certificate = told(|node| node.security.http_certificate = Some("c".into()));
        assert_eq!(certificate, ["zazen.security.http.certificate: c"]);
        for (hosts, expected) in [("10.0.0.1", true), ("_site_", true), ("_local_", false), ("[::1]", false)] {
            let secret = told(|node| {
                node.security.secret = Some("s".into());
                node.transport.bind_hosts = vec![hosts.into()];
            });
            assert_eq!(secret == ["zazen.security.secret: s"], expected, "{hosts}: {secret:?}");
        }
        for (origin, expected) in [("*", true), ("/.*/", true), ("http://a", false), ("/https?:\\/\\/a/", false)] {
            assert_eq!(!told(|node| node.rest.cors = cors(origin, false)).is_empty(), expected, "{origin}");
        }
        let credentials = told(|node| node.rest.cors = cors("*", true));
        assert_eq!(credentials, ["http.cors.allow-origin: \"*\"", "http.cors.allow-credentials: true"]);
        let hosts = told(|node| node.rest.allowed_hosts = vec!["a".into(), "*".into()]);
        assert_eq!(hosts, ["zazen.http.allowed_hosts: \"*\""]);
        assert_eq!(told(|node| node.faults = true), ["zazen.faults.enabled: true"]);
    }
}
