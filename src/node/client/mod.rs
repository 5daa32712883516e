//! A client of a cluster, for Rust programs: keys, leases and watches over HTTP.
//!
//! It knows several nodes and asks the master where it can; a node that does not answer is passed over. What is asked
//! twice is carried out once: every change bears a name, and a second attempt says so. What the routes mean is told in
//! `docs/rest.md`.

mod endpoints;
mod error;
mod grant;
mod lease;
mod watch;

pub use error::ClientError;
pub use grant::Grant;
pub use lease::Held;
pub use watch::{Change, Entry, LeaseView, News, NodeView, Watch};

use crate::cluster::{Blob, Holding, RequestId, Revision, Uuid};
pub use crate::runtime::Access;
use crate::runtime::{self, Reach};
use crate::service::{Condition, Txn};
use endpoints::Endpoints;
use error::Fate;
use reqwest::{Method, RequestBuilder, Response};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;
use tokio::time::Instant;

/// How long a request is tried unless it is said otherwise.
const PATIENCE: Duration = Duration::from_secs(30);
/// How long one node may take before another one is asked; twice as long each time all were asked. A node that stands
/// still takes connections and says nothing.
const TURN: Duration = Duration::from_secs(1);
/// It may take so long at the least.
const TURN_MIN: Duration = Duration::from_millis(100);
/// The pause before the next attempt when all nodes were asked, at first and at the most.
const PAUSE_MIN: Duration = Duration::from_millis(10);
const PAUSE_MAX: Duration = Duration::from_millis(500);
/// Longer answers are not read.
const ANSWER_BYTES_MAX: usize = 64 << 20;
/// How many keys are asked for at a time.
const PAGE: usize = 1_000;

/// A client of one cluster. Clones share their connections and what they know of the nodes.
///
/// ```
/// # use zazen_node as zazen;
/// # let data = std::env::temp_dir().join(format!("zazen-client-{}", std::process::id()));
/// # let node = zazen::Node::builder().setting("discovery.type", "single-node").setting("path.data", data.display());
/// # let node = node.setting("transport.tcp.port", 0).setting("http.port", 0).start()?;
/// # let address = node.http_address().expect("it serves users").to_string();
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// use zazen::client::{Client, News, Precondition};
///
/// let client = Client::new([address])?;
/// let revision = client.put("config/limit", "100").await?;
/// client.put_if("config/limit", "200", Precondition::IfUnchanged(revision)).await?;
/// let overtaken = client.put_if("config/limit", "300", Precondition::IfUnchanged(revision)).await;
/// assert!(overtaken.is_err_and(|error| error.is_conflict()));
///
/// let News::State { keys, .. } = client.watch("config/").next().await? else { panic!("the state comes first") };
/// assert_eq!(keys[0].value.to_string(), "200");
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// # })?;
/// # node.stop();
/// # std::fs::remove_dir_all(data)?;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct Client {
    http: Reach,
    endpoints: Arc<Endpoints>,
    id: Uuid,
    requests: Arc<AtomicU64>,
    patience: Duration,
    turn: Duration,
}

/// A request that may have been sent before.
#[derive(Clone, Copy)]
struct Retry {
    /// The version of a state that was known before it was.
    since: Option<u64>,
}

/// Under which condition a key is written or deleted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Precondition {
    /// It does not exist.
    IfAbsent,
    /// Its last change is this one.
    IfUnchanged(Revision),
    /// A lease is held under this token, whoever changed the key: whoever was overtaken writes nothing.
    IfHeld(Holding),
}

impl Precondition {
    /// The condition of a change of this key, for a [`Txn`].
    pub fn on(self, key: &str) -> Condition {
        match self {
            Precondition::IfAbsent => Condition::Absent { key: key.into() },
            Precondition::IfUnchanged(by) => Condition::Changed { key: key.into(), by },
            Precondition::IfHeld(holding) => Condition::Held(holding),
        }
    }
}

/// One request, whoever is asked.
struct Ask {
    method: Method,
    path: String,
    query: Vec<(&'static str, String)>,
    body: Option<Vec<u8>>,
    /// The name of a change; reads need none.
    id: Option<RequestId>,
    /// How long the node may take to answer, beyond what the request lasts anyway.
    wait: Duration,
}

impl Ask {
    fn read(path: impl Into<String>) -> Ask {
        Ask { method: Method::GET, path: path.into(), query: Vec::new(), body: None, id: None, wait: Duration::ZERO }
    }

    fn with(mut self, name: &'static str, value: impl ToString) -> Ask {
        self.query.push((name, value.to_string()));
        self
    }
}

#[derive(Deserialize)]
struct Written {
    revision: String,
    #[serde(default)]
    deleted: u64,
}

/// A node of a cluster, or one that counts without being there.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Member {
    /// Its id.
    pub id: String,
    /// Its name, if it is there.
    pub name: Option<String>,
    /// Where other nodes find it, if it is there.
    pub transport_address: Option<String>,
    /// Whether it is there.
    pub present: bool,
    /// Whether it leads.
    pub master: bool,
    /// Whether it counts in elections and commits.
    pub voting: bool,
}

#[derive(Deserialize)]
struct Members {
    members: Vec<Member>,
}

#[derive(Deserialize)]
struct HandedOver {
    to: String,
}

#[derive(Deserialize)]
struct Page {
    keys: Vec<Entry>,
    more: bool,
}

impl Client {
    /// A client of the cluster that these nodes belong to: `HOST:PORT` of their `http.port`, of as many as are known.
    pub fn new<I: IntoIterator<Item = S>, S: Into<String>>(nodes: I) -> Result<Client, ClientError> {
        Client::with_access(nodes, &Access::default())
    }

    /// The same, of a cluster that demands TLS or a login.
    pub fn with_access<I: IntoIterator<Item = S>, S: Into<String>>(
        nodes: I,
        access: &Access,
    ) -> Result<Client, ClientError> {
        let nodes: Vec<String> = nodes.into_iter().map(Into::into).collect();
        let refused = nodes.iter().find_map(|node| access.check(node).err());
        if let Some(error) = refused {
            return Err(ClientError::Setup(error.to_string()));
        }
        let endpoints = Endpoints::new(nodes)?;
        let http = Reach::new(access).map_err(|error| ClientError::Setup(error.to_string()))?;
        let id = Uuid::from_u128(uuid::Uuid::new_v4().as_u128());
        Ok(Client {
            http,
            endpoints: Arc::new(endpoints),
            id,
            requests: Arc::default(),
            patience: PATIENCE,
            turn: TURN,
        })
    }

    /// The same client that tries a request for so long.
    #[must_use]
    pub fn with_patience(self, patience: Duration) -> Client {
        Client { patience, ..self }
    }

    /// The same client that waits for one node for so long, before it asks another one.
    fn with_turn(self, turn: Duration) -> Client {
        Client { turn: turn.clamp(TURN_MIN, TURN), ..self }
    }

    /// What a key holds; none if there is no such key. Misses nothing that was written before.
    pub async fn get(&self, key: &str) -> Result<Option<Entry>, ClientError> {
        match self.json(Ask::read(kv(key)).with("format", "json")).await {
            Ok(entry) => Ok(Some(entry)),
            Err(error) if error.is_not_found() => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// The keys that begin so, with what they hold. Keys that change meanwhile are shown as they are when they are met.
    pub async fn list(&self, prefix: &str) -> Result<Vec<Entry>, ClientError> {
        let mut all: Vec<Entry> = Vec::new();
        loop {
            let mut ask = Ask::read("/_zazen/kv").with("prefix", prefix).with("limit", PAGE).with("values", true);
            if let Some(last) = all.last() {
                ask = ask.with("after", &last.key);
            }
            let page: Page = self.json(ask).await?;
            all.extend(page.keys);
            if !page.more {
                return Ok(all);
            }
        }
    }

    /// Writes a key.
    pub async fn put(&self, key: &str, value: impl Into<Blob>) -> Result<Revision, ClientError> {
        self.change(&Txn::put(key, value)).await
    }

    /// Writes a key if the condition holds; [`ClientError::is_conflict`] tells that it does not.
    pub async fn put_if(
        &self,
        key: &str,
        value: impl Into<Blob>,
        precondition: Precondition,
    ) -> Result<Revision, ClientError> {
        self.change(&Txn::put(key, value).only_if(precondition.on(key))).await
    }

    /// Deletes a key, and tells whether it was there.
    pub async fn delete(&self, key: &str) -> Result<bool, ClientError> {
        Ok(self.written(&Txn::delete(key)).await?.deleted > 0)
    }

    /// Deletes a key if the condition holds.
    pub async fn delete_if(&self, key: &str, precondition: Precondition) -> Result<bool, ClientError> {
        Ok(self.written(&Txn::delete(key).only_if(precondition.on(key))).await?.deleted > 0)
    }

    /// Makes several changes together if all conditions hold.
    pub async fn change(&self, txn: &Txn) -> Result<Revision, ClientError> {
        let written = self.written(txn).await?;
        let strange = |_| ClientError::Strange(format!("[{}] names no change of a key", written.revision));
        let revision: Revision = written.revision.parse().map_err(strange)?;
        self.endpoints.saw(revision.version.get());
        Ok(revision)
    }

    async fn written(&self, txn: &Txn) -> Result<Written, ClientError> {
        let body = serde_json::to_vec(txn).map_err(|error| ClientError::Setup(error.to_string()))?;
        let ask = Ask { method: Method::POST, body: Some(body), ..Ask::read("/_zazen/txn") };
        self.json(self.named(ask)).await
    }

    /// Every change of keys that begin so, from now on or from where an earlier watch stood.
    pub fn watch(&self, prefix: &str) -> Watch {
        Watch::new(self.clone(), vec![("prefix", prefix.to_owned())])
    }

    /// Every change of these kinds: `master`, `nodes`, `settings`, `keys`, `leases`.
    pub fn watch_kinds(&self, kinds: &[&str]) -> Watch {
        Watch::new(self.clone(), vec![("kinds", kinds.join(","))])
    }

    /// Waits for a lease and takes it, for this long from each sign of life on; none if another has it when the time to
    /// wait is over.
    pub async fn acquire(
        &self,
        name: &str,
        holder: &str,
        ttl: Duration,
        wait: Duration,
    ) -> Result<Option<Grant>, ClientError> {
        Grant::acquire(self, grant::Wanted { name, holder, ttl, wait }).await
    }

    /// Who is in the cluster and counts in it.
    pub async fn members(&self) -> Result<Vec<Member>, ClientError> {
        let Members { members } = self.json(Ask::read("/_zazen/members")).await?;
        Ok(members)
    }

    /// Takes a node that died for good, by its id or its name, out of the voting set.
    pub async fn remove_member(&self, node: &str) -> Result<(), ClientError> {
        let path = format!("/_zazen/members/{}", escaped(node));
        let ask = Ask { method: Method::DELETE, ..Ask::read(path) };
        self.ask(self.named(ask)).await.map(drop)
    }

    /// Moves the mastership to a node, by its id or its name, or to the best one; tells who agreed.
    pub async fn hand_over(&self, to: Option<&str>) -> Result<String, ClientError> {
        let mut ask = Ask { method: Method::POST, ..Ask::read("/_zazen/handover") };
        if let Some(to) = to {
            ask = ask.with("to", to);
        }
        let HandedOver { to } = self.json(ask).await?;
        Ok(to)
    }

    /// Gives a change a name of its own.
    fn named(&self, ask: Ask) -> Ask {
        let sequence = self.requests.fetch_add(1, Ordering::Relaxed) + 1;
        Ask { id: Some(RequestId { client: self.id, sequence }), ..ask }
    }

    async fn json<T: DeserializeOwned>(&self, ask: Ask) -> Result<T, ClientError> {
        let body = self.ask(ask).await?;
        serde_json::from_slice(&body).map_err(|error| ClientError::Strange(error.to_string()))
    }

    /// Asks one node after the other until one answers for good.
    async fn ask(&self, ask: Ask) -> Result<Vec<u8>, ClientError> {
        let deadline = Instant::now() + self.patience + ask.wait;
        let (mut pause, mut turn) = (PAUSE_MIN, self.turn);
        let (mut attempts, mut may_be_done) = (0_usize, false);
        let mut endpoint = self.endpoints.best(&self.http).await;
        let since = self.endpoints.version();
        loop {
            let until = deadline.min(Instant::now() + turn + ask.wait);
            let retry = may_be_done.then_some(Retry { since });
            let error = match self.attempt(&ask, &endpoint, retry, until).await {
                Ok(body) => return Ok(body),
                Err(error) => error,
            };
            match error.fate() {
                Fate::Final => return Err(error),
                Fate::NotDone => {}
                Fate::Unknown => may_be_done |= ask.id.is_some(),
            }
            self.endpoints.avoid(&endpoint);
            attempts += 1;
            if Instant::now() >= deadline {
                let last = Box::new(error);
                return Err(if may_be_done { ClientError::Unknown(last) } else { ClientError::NotDone(last) });
            }
            if attempts.is_multiple_of(self.endpoints.count()) {
                tokio::time::sleep_until((Instant::now() + pause).min(deadline)).await;
                pause = (pause * 2).min(PAUSE_MAX);
                turn = (turn * 2).min(self.patience);
            }
            endpoint = self.endpoints.best(&self.http).await;
        }
    }

    async fn attempt(
        &self,
        ask: &Ask,
        endpoint: &str,
        retry: Option<Retry>,
        until: Instant,
    ) -> Result<Vec<u8>, ClientError> {
        let left = until.saturating_duration_since(Instant::now()).max(PAUSE_MIN);
        let response = self.request(ask, endpoint, retry).timeout(left).send().await;
        let response = response.map_err(|error| ClientError::Silent(endpoint.to_owned(), runtime::failure(&error)))?;
        let status = response.status().as_u16();
        let body = read(response, endpoint).await?;
        if (200..300).contains(&status) { Ok(body) } else { Err(ClientError::refused(status, &body)) }
    }

    fn request(&self, ask: &Ask, endpoint: &str, retry: Option<Retry>) -> RequestBuilder {
        let retry = retry.filter(|_| ask.id.is_some());
        let since = retry.and_then(|retry| retry.since).map(|since| format!("since={since}"));
        let retry = retry.map(|_| "retry=true".to_owned()).into_iter().chain(since);
        let pairs = ask.query.iter().map(|(name, value)| format!("{name}={}", escaped(value))).chain(retry);
        let query = pairs.collect::<Vec<_>>().join("&");
        let mut request = self.http.request(ask.method.clone(), endpoint, &format!("{}?{query}", ask.path));
        if let Some(id) = ask.id {
            request = request.header("idempotency-key", id.to_string());
        }
        match &ask.body {
            Some(body) => request.header("content-type", "application/json").body(body.clone()),
            None => request,
        }
    }
}

async fn read(mut response: Response, endpoint: &str) -> Result<Vec<u8>, ClientError> {
    let mut body = Vec::new();
    let silent = |error: reqwest::Error| ClientError::Silent(endpoint.to_owned(), runtime::failure(&error));
    while let Some(chunk) = response.chunk().await.map_err(silent)? {
        body.extend_from_slice(&chunk);
        if body.len() > ANSWER_BYTES_MAX {
            return Err(ClientError::Strange(format!("{endpoint} answers with more than {ANSWER_BYTES_MAX} bytes")));
        }
    }
    Ok(body)
}

fn kv(key: &str) -> String {
    format!("/_zazen/kv/{}", escaped(key))
}

/// A text as it stands in one piece of a path or a query.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(char::from(byte)),
            byte => out += &format!("%{byte:02X}"),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_stand_in_paths_whatever_is_in_them() {
        assert_eq!(kv("app/one two?&é%"), "/_zazen/kv/app%2Fone%20two%3F%26%C3%A9%25");
    }
}
