//! Asking nodes on their HTTP ports, for the commands that look at a cluster from outside.
//!
//! One question, one answer or the reason why there is none; whom to ask is decided by the commands.

use super::{CommandError, failed};
use crate::client::Client;
use crate::protocol::Failure;
use crate::rest::HINT;
use crate::runtime::printable::printable;
use crate::runtime::{self, Access, Reach};
use clap::Args;
use serde::de::DeserializeOwned;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// Where nodes of one machine listen that are told nothing else.
const USUAL: [&str; 3] = ["127.0.0.1:9200", "127.0.0.1:9201", "127.0.0.1:9202"];

/// Where users are listened to unless it is said.
const USUAL_PORT: u16 = 9200;

/// Nodes that say nothing for so long are asked last.
const AWAKE_WITHIN: Duration = Duration::from_secs(1);

/// Longer answers are not read.
const ANSWER_BYTES_MAX: usize = 16 << 20;

/// So much is shown of why something is refused.
const REASON_MAX: usize = 300;

/// Whom to ask.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct UrlArgs {
    /// Where a node listens to its users; the first of several that answers is taken.
    ///
    /// Written as http://HOST:PORT, HOST:PORT, HOST or PORT. Without it, the ports 9200, 9201 and 9202 of this machine are
    /// tried.
    #[arg(long = "url", value_name = "URL", value_parser = Url::read, global = true)]
    given: Vec<Url>,

    /// The certificates of those who vouch for the nodes: then TLS is spoken. Else ZAZEN_CA names it.
    #[arg(long, value_name = "FILE", global = true)]
    ca: Option<PathBuf>,

    /// The file with the token to log in with, or NAME:PASSWORD, readable by its owner only. Else ZAZEN_TOKEN_FILE names it.
    #[arg(long, value_name = "FILE", global = true)]
    token_file: Option<PathBuf>,
}

impl UrlArgs {
    /// Those that were given, or the usual ones.
    pub(super) fn places(&self) -> Vec<Place> {
        if self.given.is_empty() { USUAL.iter().map(|place| Place((*place).into())).collect() } else { self.given() }
    }

    /// A client that asks these.
    pub(super) fn client(&self) -> Result<Client, CommandError> {
        let places = self.places().into_iter().map(|place| place.0);
        Client::with_access(places, &self.access()?).map_err(|error| CommandError::Failed(error.to_string()))
    }

    /// What is said to the nodes to be let in.
    pub(super) fn access(&self) -> Result<Access, CommandError> {
        let named = |variable: &str| std::env::var_os(variable).filter(|value| !value.is_empty()).map(PathBuf::from);
        let access = Access::new(self.ca.clone().or_else(|| named("ZAZEN_CA")));
        let access = match self.token_file.clone().or_else(|| named("ZAZEN_TOKEN_FILE")) {
            Some(path) => access.with_token_file(&path).map_err(|error| CommandError::Usage(error.to_string()))?,
            None => access,
        };
        let refused = self.given.iter().find_map(|url| access.check(&url.text).err());
        match refused {
            Some(error) => Err(CommandError::Usage(format!("{error}: --ca FILE, or ZAZEN_CA, names them"))),
            None => Ok(access),
        }
    }

    /// Those that were given.
    pub(super) fn given(&self) -> Vec<Place> {
        self.given.iter().map(|url| url.place.clone()).collect()
    }
}

/// What was given with `--url`.
#[derive(Clone, Debug)]
struct Url {
    text: String,
    place: Place,
}

impl Url {
    fn read(text: &str) -> Result<Self, String> {
        Ok(Url { text: text.to_owned(), place: Place::read(text)? })
    }
}

/// Where a node listens to its users: `HOST:PORT`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place(pub(super) String);

impl Place {
    fn read(text: &str) -> Result<Self, String> {
        let allowed = "allowed: http://HOST:PORT, HOST:PORT, HOST or PORT";
        let bare = ["http://", "https://"].iter().find_map(|scheme| text.strip_prefix(scheme));
        let rest = bare.unwrap_or(text).trim_end_matches('/');
        if let Ok(port) = rest.parse::<u16>() {
            return Ok(Place(format!("127.0.0.1:{port}")));
        }
        let has_port = rest.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
        let place = if has_port { rest.to_owned() } else { format!("{rest}:{USUAL_PORT}") };
        let is_bare = !rest.is_empty() && !rest.contains(['/', '?', '#', '@']);
        if rest.contains(',') {
            return Err(format!("repeat --url for each node; {allowed}"));
        }
        if is_bare && reqwest::Url::parse(&format!("http://{place}")).is_ok() {
            Ok(Place(place))
        } else {
            Err(allowed.into())
        }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Silence {
    /// No connection, or none that lasted.
    Failed(Failure),
    /// Its certificate is not believed, for this reason.
    Untrusted(&'static str),
    /// An answer with another status than 200, and its reason if it tells one.
    Status(u16, Option<String>),
    /// It runs, and nobody knows where it listens to its users.
    NotAsked,
}

impl fmt::Display for Silence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Silence::Failed(Failure::Refused) => f.write_str("refused"),
            Silence::Failed(Failure::Reset) => f.write_str("reset"),
            Silence::Failed(Failure::TimedOut) => f.write_str("timed out"),
            Silence::Failed(Failure::BadAnswer) => f.write_str(
                "not understood; a node with TLS is asked with --ca FILE, at an address that its certificate names",
            ),
            Silence::Untrusted(why) => f.write_str(why),
            Silence::Status(401, _) => f.write_str("HTTP status 401; it asks who you are: --token-file FILE tells"),
            Silence::Status(403, _) => f.write_str("HTTP status 403; this user may not ask for that"),
            Silence::Status(404, _) => {
                f.write_str("HTTP status 404; this is no port for users, as that of the transport is none")
            }
            Silence::Status(status, None) => write!(f, "HTTP status {status}"),
            Silence::Status(status, Some(reason)) => write!(f, "HTTP status {status}: {reason}"),
            Silence::NotAsked => f.write_str("runs, HTTP unknown"),
        }
    }
}

/// What a node tells of a change.
pub(super) struct ChangeAnswer {
    pub(super) status: u16,
    /// What may have been meant, where something is not known.
    pub(super) hint: Option<String>,
    pub(super) answer: serde_json::Value,
}

/// Asks nodes.
#[derive(Clone)]
pub(super) struct Asker(Reach);

impl Asker {
    pub(super) fn new(access: &Access) -> Result<Self, CommandError> {
        Reach::new(access).map(Asker).map_err(|error| failed("make an HTTP client", error))
    }

    /// Asks a node, and reads its answer.
    pub(super) async fn ask<T: DeserializeOwned>(
        &self,
        place: &Place,
        path: &str,
        timeout: Duration,
    ) -> Result<T, Silence> {
        let request = self.0.get(&place.0, path).timeout(timeout);
        let mut response = request.send().await.map_err(|error| fails(&error))?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| fails(&error))? {
            body.extend_from_slice(&chunk);
            if body.len() > ANSWER_BYTES_MAX {
                return Err(Silence::Failed(Failure::BadAnswer));
            }
        }
        if response.status() != reqwest::StatusCode::OK {
            return Err(Silence::Status(response.status().as_u16(), reason(&body)));
        }
        serde_json::from_slice(&body).map_err(|_| Silence::Failed(Failure::BadAnswer))
    }
}

impl Asker {
    /// The places of nodes, those first that answer at all: one that stands still would be waited for in vain.
    pub(super) async fn awake_first(&self, places: Vec<Place>) -> Vec<Place> {
        if places.len() < 2 {
            return places;
        }
        let look = async |place: Place| {
            let told = self.ask::<serde_json::Value>(&place, "/", AWAKE_WITHIN).await;
            (!matches!(told, Err(Silence::Failed(_) | Silence::Untrusted(_))), place)
        };
        let looked = futures_util::future::join_all(places.into_iter().map(look)).await;
        let (awake, silent): (Vec<_>, Vec<_>) = looked.into_iter().partition(|(is_awake, _)| *is_awake);
        awake.into_iter().chain(silent).map(|(_, place)| place).collect()
    }

    /// Sends a change, and tells the status and the answer, whatever they are, and what may have been meant.
    pub(super) async fn put(
        &self,
        place: &Place,
        path: &str,
        body: String,
        timeout: Duration,
    ) -> Result<ChangeAnswer, Silence> {
        let request = self.0.request(reqwest::Method::PUT, &place.0, path).timeout(timeout);
        let request = request.header(reqwest::header::CONTENT_TYPE, "application/json").body(body);
        let response = request.send().await.map_err(|error| fails(&error))?;
        let status = response.status().as_u16();
        let hint = response.headers().get(HINT).and_then(|hint| hint.to_str().ok()).map(ToOwned::to_owned);
        let answer = response.bytes().await.map_err(|error| fails(&error))?;
        Ok(ChangeAnswer { status, hint, answer: serde_json::from_slice(&answer).unwrap_or_default() })
    }
}

/// Why a node refuses something, as it says in its answer; whoever answers may not move the cursor.
fn reason(answer: &[u8]) -> Option<String> {
    let told: serde_json::Value = serde_json::from_slice(answer).ok()?;
    let reason = told.get("error")?.get("reason")?.as_str()?;
    Some(printable(reason).chars().take(REASON_MAX).collect())
}

fn fails(error: &reqwest::Error) -> Silence {
    runtime::untrusted(error).map_or_else(|| Silence::Failed(runtime::failure(error)), Silence::Untrusted)
}

/// What is said when nobody answers.
pub(super) fn nobody(tried: &[(Place, Silence)]) -> String {
    let stopped = tried.iter().find_map(|(place, _)| runtime::stopped(place.0.parse().ok()?));
    let is_refused = !tried.is_empty() && tried.iter().all(|(_, why)| matches!(why, Silence::Status(..)));
    let tried: Vec<String> = tried.iter().map(|(place, why)| format!("{place} ({why})")).collect();
    let what = if is_refused { "no node tells it" } else { "no node answers" };
    let tried = format!("{what}, tried {}", tried.join(", "));
    match stopped {
        Some(pid) => format!("{tried}; the process that listens there was stopped; to mend it: kill -CONT {pid}"),
        None => format!(
            "{tried}; name the HTTP address of one with --url; where none runs, `zazen doctor -c FILE` tells what keeps one from it"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_read_as_people_write_them() {
        let cases = [
            ("http://127.0.0.1:9201/", Some("127.0.0.1:9201")),
            ("9201", Some("127.0.0.1:9201")),
            ("localhost", Some("localhost:9200")),
            ("[::1]:9200", Some("[::1]:9200")),
            ("[::1]", Some("[::1]:9200")),
            ("https://127.0.0.1", Some("127.0.0.1:9200")),
            ("ftp://127.0.0.1", None),
            ("127.0.0.1:9200/_cat", None),
            ("127.0.0.1:99999", None),
            ("", None),
        ];
        for (text, expected) in cases {
            assert_eq!(Place::read(text).ok().map(|place| place.0).as_deref(), expected, "{text}");
        }
    }
}
