//! What keeps web pages out: which `Host` a request may name, and from which `Origin` it may come.
//!
//! A page in a browser reaches loopback as its user does, so listening there is no protection by itself. A page of another
//! origin says so in `Origin`; one whose name was bound to this machine after it was loaded (DNS rebinding) names a host
//! that nobody here goes by. Numbers, `localhost` and names without a dot cannot be bound by anybody outside. Mirrors nothing of Elasticsearch,
//! which heeds neither.

use super::proc;
use crate::settings::ListenSettings;
use axum::http::{HeaderMap, HeaderName, Uri, header};
use std::net::IpAddr;

/// What browsers say of every request, and nobody else.
const OF_BROWSERS: [HeaderName; 6] = [
    header::ORIGIN,
    header::REFERER,
    HeaderName::from_static("sec-fetch-site"),
    HeaderName::from_static("sec-fetch-mode"),
    HeaderName::from_static("sec-fetch-dest"),
    HeaderName::from_static("sec-fetch-user"),
];

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// Under which names a port may be asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Wall {
    names: Vec<String>,
    is_open: bool,
}

impl Wall {
    /// One that lets in what names this machine: its numbers, `localhost`, what it listens on and is published by, its own
    /// name, and `allowed`, in which `*` stands for every name and `.example.com` for all below one.
    pub fn new(listen: &ListenSettings, allowed: &[String]) -> Self {
        let names = listen.bind_hosts.iter().chain(&listen.publish_hosts).chain(allowed);
        let names = names.map(|name| name.to_ascii_lowercase()).chain([proc::host_name().to_ascii_lowercase()]);
        Wall { names: names.filter(|name| !name.is_empty()).collect(), is_open: allowed.iter().any(|name| name == "*") }
    }

    /// Whether a request names a host that it may name; else the name.
    pub fn admits_host(&self, uri: &Uri, headers: &HeaderMap) -> Result<(), String> {
        let said = headers.get_all(header::HOST).iter().map(|host| host.to_str().unwrap_or("\u{fffd}"));
        let strange = said.chain(uri.authority().map(|place| place.as_str())).find(|host| !self.knows(host));
        strange.map_or(Ok(()), |host| Err(host.to_owned()))
    }

    fn knows(&self, host: &str) -> bool {
        let host = name_of(host).to_ascii_lowercase();
        let host = host.strip_suffix('.').unwrap_or(&host);
        let fits = |name: &String| match name.strip_prefix('.') {
            Some(domain) => host.strip_suffix(domain).is_some_and(|rest| rest.ends_with('.')),
            None => name == host,
        };
        let is_number = host.trim_matches(['[', ']']).parse::<IpAddr>().is_ok();
        // A name without a dot, as in a network of containers, belongs to nobody who could bind it from outside.
        let is_near = !host.is_empty() && !host.contains('.') || host.ends_with(".localhost");
        self.is_open || is_number || is_near || self.names.iter().any(fits)
    }
}

/// The host without its port.
fn name_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if !name.is_empty() && port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        Some(_) | None => host,
    }
}

/// Whether a request comes from a page that another host gave.
pub fn is_of_another_page(headers: &HeaderMap) -> bool {
    let site = headers.get(FETCH_SITE).map(|site| site.as_bytes());
    match headers.get(header::ORIGIN) {
        Some(origin) => !is_same(origin.to_str().ok(), headers.get(header::HOST).and_then(|host| host.to_str().ok())),
        None => matches!(site, Some(b"cross-site" | b"same-site")),
    }
}

/// Whether a page comes from the very host that it asks.
fn is_same(origin: Option<&str>, host: Option<&str>) -> bool {
    let place = origin.and_then(|origin| origin.split_once("://")).map(|(_, place)| place);
    place.is_some() && place == host
}

/// Whether a browser sent this.
pub fn is_of_a_browser(headers: &HeaderMap) -> bool {
    OF_BROWSERS.iter().any(|name| headers.contains_key(name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::NodeSettings;
    use axum::http::HeaderValue;

    fn headers(given: &[(HeaderName, &str)]) -> HeaderMap {
        let pair = |(name, value): &(HeaderName, &str)| (name.clone(), HeaderValue::from_str(value).expect("a value"));
        given.iter().map(pair).collect()
    }

    #[test]
    fn a_host_is_a_number_this_machine_or_a_name_that_was_allowed() {
        let listen = ListenSettings { publish_hosts: vec!["es1.corp".into()], ..NodeSettings::default().http };
        let wall = Wall::new(&listen, &["search.example.com".into(), ".intern".into()]);
        let cases = [
            ("127.0.0.1:9200", true),
            ("[::1]:9200", true),
            ("::1", true),
            ("10.1.2.3", true),
            ("localhost:9200", true),
            ("LOCALHOST", true),
            ("a.localhost:1", true),
            ("localhost.:9200", true),
            ("es1.corp:9200", true),
            ("search.example.com", true),
            ("a.b.intern", true),
            ("es01:9200", true),
            ("x.xintern", false),
            ("evil.example:9200", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example:9200", false),
            ("", false),
        ];
        for (host, expected) in cases {
            let told = wall.admits_host(&Uri::from_static("/"), &headers(&[(header::HOST, host)]));
            assert_eq!(told.is_ok(), expected, "{host}");
        }
        assert_eq!(wall.admits_host(&Uri::from_static("/"), &HeaderMap::new()), Ok(()), "HTTP/1.0 names none");
        let absolute = wall.admits_host(&Uri::from_static("http://evil.example/"), &HeaderMap::new());
        assert_eq!(absolute, Err("evil.example".into()));
        let two = [(header::HOST, "localhost"), (header::HOST, "evil.example")];
        assert!(wall.admits_host(&Uri::from_static("/"), &headers(&two)).is_err(), "every one counts");
        assert!(Wall::new(&listen, &["*".into()]).knows("evil.example"));
    }

    #[test]
    fn pages_of_other_origins_are_told_from_others() {
        let host = (header::HOST, "localhost:9200");
        let site = |site| (FETCH_SITE, site);
        let cases: [(&[(HeaderName, &str)], bool); 7] = [
            (&[], false),
            (&[(header::ORIGIN, "http://localhost:9200")], false),
            (&[(header::ORIGIN, "http://localhost:9201")], true),
            (&[(header::ORIGIN, "http://evil.example")], true),
            (&[(header::ORIGIN, "null")], true),
            (&[site("cross-site")], true),
            (&[site("same-origin")], false),
        ];
        for (given, expected) in cases {
            let all: Vec<_> = given.iter().cloned().chain([host.clone()]).collect();
            assert_eq!(is_of_another_page(&headers(&all)), expected, "{given:?}");
        }
        assert!(!is_of_a_browser(&headers(&[host])) && is_of_a_browser(&headers(&[site("none")])));
    }
}
