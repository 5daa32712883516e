//! How users' tools reach nodes: over TLS or not, logged in or not.

use super::secure::{self, FileError, trusting};
use super::transport::client_with;
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

    /// The same with the token that a file holds, which only its owner may read.
    pub fn with_token_file(self, path: &Path) -> Result<Self, FileError> {
        let token = secure::read_private(path)?.trim().to_owned();
        Ok(Access { token: Some(token), ..self })
    }
}

/// Why nodes cannot be reached as wanted.
#[derive(Debug)]
pub enum ReachError {
    /// A file cannot be used.
    File(FileError),
    /// A token that cannot stand in a header.
    Token,
    /// The system refuses something.
    Client(reqwest::Error),
}

impl fmt::Display for ReachError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ReachError::File(error) => write!(f, "{error}"),
            ReachError::Token => f.write_str("the token is none: it has letters that no token has"),
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
            let mut value = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| ReachError::Token)?;
            value.set_sensitive(true);
            login.insert(AUTHORIZATION, value);
        }
        let scheme = if access.authorities.is_some() { "https" } else { "http" };
        Ok(Reach { client: client_with(Some(tls)).map_err(ReachError::Client)?, scheme, login })
    }

    /// A request to a place, which is HOST:PORT.
    pub fn request(&self, method: Method, place: &str, target: &str) -> RequestBuilder {
        self.client.request(method, format!("{}://{place}{target}", self.scheme)).headers(self.login.clone())
    }

    /// A question.
    pub fn get(&self, place: &str, target: &str) -> RequestBuilder {
        self.request(Method::GET, place, target)
    }
}
