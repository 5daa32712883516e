//! How users' tools reach nodes: over TLS or not, logged in or not.

use super::peers::client_with;
use super::secure::{self, FileError, trusting};
use crate::cluster::{Address, is_loopback};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use reqwest::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use reqwest::{Method, RequestBuilder};
use std::fmt;
use std::path::{Path, PathBuf};

/// What a cluster demands of its users.
#[derive(Clone, Default)]
pub struct Access {
    /// The certificates of those who vouch for nodes; with them TLS is spoken.
    pub authorities: Option<PathBuf>,
    /// What is said to log in.
    token: Option<String>,
}

impl fmt::Debug for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let token = if self.token.is_some() { "a token" } else { "none" };
        write!(f, "Access({:?}, {token})", self.authorities)
    }
}

impl Access {
    /// What is demanded where these vouch for nodes; nothing, if none do.
    pub fn new(authorities: Option<PathBuf>) -> Self {
        Access { authorities, token: None }
    }

    /// The same with the token, or `NAME:PASSWORD`, that a file holds, which only its owner may read.
    pub fn with_token_file(self, path: &Path) -> Result<Self, FileError> {
        let token = secure::read_private(path)?.trim().to_owned();
        Ok(Access { token: Some(token), ..self })
    }

    /// Refuses a node at which something would go in the clear that must not: what was to go over TLS, and a token to another
    /// machine.
    pub fn check(&self, url: &str) -> Result<(), ReachError> {
        let (scheme, place) = url.split_once("://").unwrap_or(("http", url));
        if self.authorities.is_some() {
            return Ok(());
        }
        match scheme {
            "https" => Err(ReachError::NoAuthorities(url.to_owned())),
            _ if self.token.is_some() && !is_here(place.trim_end_matches('/')) => {
                Err(ReachError::InClear(url.to_owned()))
            }
            _ => Ok(()),
        }
    }
}

/// Whether a place is on this machine, as it is written: `HOST:PORT`, or a host or a port alone.
fn is_here(place: &str) -> bool {
    place.parse::<u16>().is_ok() || is_loopback(place) || Address::from(place).is_loopback()
}

/// Why nodes cannot be reached as wanted.
#[derive(Debug)]
pub enum ReachError {
    /// A file cannot be used.
    File(FileError),
    /// A token that cannot stand in a header.
    Token,
    /// Nobody is named who vouches for a node that is to be asked over TLS.
    NoAuthorities(String),
    /// The token would be read by others on its way to a node.
    InClear(String),
    /// The system refuses something.
    Client(reqwest::Error),
}

impl fmt::Display for ReachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReachError::File(error) => write!(f, "{error}"),
            ReachError::Token => f.write_str("the token is none: it has letters that no token has"),
            ReachError::NoAuthorities(url) => {
                write!(f, "[{url}] needs the certificates of those who vouch for the nodes")
            }
            ReachError::InClear(url) => write!(
                f,
                "a token goes to [{url}] over TLS only, which needs the certificates of those who vouch for the nodes"
            ),
            ReachError::Client(error) => write!(f, "{error}"),
        }
    }
}

impl std::error::Error for ReachError {}

/// The way to nodes, for their users.
#[derive(Clone, Debug)]
pub struct Reach {
    client: reqwest::Client,
    scheme: &'static str,
    login: HeaderMap,
}

impl Reach {
    /// One that gives what a cluster demands.
    pub fn new(access: &Access) -> Result<Self, ReachError> {
        let tls = trusting(access.authorities.as_deref()).map_err(ReachError::File)?;
        let mut login = HeaderMap::new();
        if let Some(token) = &access.token {
            let said = match token.contains(':') {
                true => format!("Basic {}", STANDARD.encode(token)),
                false => format!("Bearer {token}"),
            };
            let mut value = HeaderValue::try_from(said).map_err(|_| ReachError::Token)?;
            value.set_sensitive(true);
            login.insert(AUTHORIZATION, value);
        }
        let scheme = if access.authorities.is_some() { "https" } else { "http" };
        Ok(Reach { client: client_with(Some(tls)).map_err(ReachError::Client)?, scheme, login })
    }

    /// A request to a place, which is HOST:PORT.
    /// Places that were learned are told who asks as well, but not in the clear on another machine.
    pub fn request(&self, method: Method, place: &str, target: &str) -> RequestBuilder {
        let request = self.client.request(method, format!("{}://{place}{target}", self.scheme));
        let may_log_in = self.login.is_empty() || self.scheme == "https" || is_here(place);
        if may_log_in { request.headers(self.login.clone()) } else { request }
    }

    /// A question.
    pub fn get(&self, place: &str, target: &str) -> RequestBuilder {
        self.request(Method::GET, place, target)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_secret_goes_out_in_the_clear() {
        let with = |token: Option<&str>| Access { authorities: None, token: token.map(Into::into) };
        for (url, is_asked, is_told) in [
            ("https://127.0.0.1:9200", false, false),
            ("http://127.0.0.1:9200", true, true),
            ("http://127.0.0.1:9200/", true, true),
            ("localhost", true, true),
            ("[::1]:9200", true, true),
            ("[::1]", true, true),
            ("9201", true, true),
            ("10.0.0.1:9200", true, false),
            ("http://es-1", true, false),
            ("127.evil.example:9200", true, false),
        ] {
            let may = |token| with(token).check(url).is_ok();
            assert_eq!((may(None), may(Some("t"))), (is_asked, is_told), "{url}");
            assert!(Access { authorities: Some("ca.crt".into()), ..with(Some("t")) }.check(url).is_ok(), "{url}");
        }
    }

    #[test]
    fn a_place_that_was_learned_is_given_no_token_in_the_clear() {
        let reach =
            Reach::new(&Access { authorities: None, token: Some("t".into()) }).expect("a client needs no network");
        let is_given = |place: &str| {
            let request = reach.get(place, "/").build().expect("it is a request");
            request.headers().contains_key(AUTHORIZATION)
        };
        assert!(is_given("127.0.0.1:9200") && !is_given("10.0.0.1:9200"));
    }
}
