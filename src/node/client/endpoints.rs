//! Which nodes a client knows, and which of them it asks next: the master where it is known, else one that answered.

use super::ClientError;
use crate::runtime::Reach;
use parking_lot::Mutex;
use serde::Deserialize;
use std::time::Duration;

/// How many nodes are remembered.
const ENDPOINTS_MAX: usize = 100;
/// How long a node may take to tell who leads.
const PATIENCE: Duration = Duration::from_secs(1);
/// Where users are listened to unless it is said.
const USUAL_PORT: u16 = 9200;

/// The nodes that a client knows.
pub(super) struct Endpoints(Mutex<Known>);

struct Known {
    /// Those that are asked first stand first.
    endpoints: Vec<String>,
    /// Whether the first one was the master when that was last asked for.
    is_sorted: bool,
    /// The version of a committed state, if any is known.
    version: Option<u64>,
}

/// A row of `/_cat/nodes`.
#[derive(Deserialize)]
struct Row {
    http: Option<String>,
    master: Option<String>,
}

/// `/_cluster/state/version`.
#[derive(Deserialize)]
struct State {
    version: u64,
}

impl Endpoints {
    pub(super) fn new<I: IntoIterator<Item = S>, S: Into<String>>(nodes: I) -> Result<Endpoints, ClientError> {
        let endpoints: Vec<String> = nodes.into_iter().map(|node| read(&node.into())).take(ENDPOINTS_MAX).collect();
        if endpoints.is_empty() {
            return Err(ClientError::Setup("no node is named to ask; allowed: HOST:PORT of one or more".into()));
        }
        Ok(Endpoints(Mutex::new(Known { endpoints, is_sorted: false, version: None })))
    }

    /// How many there are; one at least.
    pub(super) fn count(&self) -> usize {
        self.0.lock().endpoints.len().max(1)
    }

    /// Whom to ask next. Finds the master if it is not known.
    pub(super) async fn best(&self, http: &Reach) -> String {
        for _ in 0..self.count() {
            let (first, is_sorted) = self.first();
            if is_sorted {
                return first;
            }
            if let Some(rows) = rows(http, &first).await {
                let version = version(http, &first).await;
                let mut known = self.0.lock();
                known.is_sorted = true;
                known.version = known.version.max(version);
                known.learn(rows);
            } else {
                self.avoid(&first);
            }
        }
        // Where none tells, one is asked all the same: it may answer what matters.
        self.first().0
    }

    fn first(&self) -> (String, bool) {
        let known = self.0.lock();
        (known.endpoints.first().cloned().unwrap_or_default(), known.is_sorted)
    }

    /// The version of a state that was committed before now, if any is known.
    pub(super) fn version(&self) -> Option<u64> {
        self.0.lock().version
    }

    /// A state of this version is committed.
    pub(super) fn saw(&self, version: u64) {
        let mut known = self.0.lock();
        known.version = known.version.max(Some(version));
    }

    /// Asks others first.
    pub(super) fn avoid(&self, endpoint: &str) {
        let mut known = self.0.lock();
        if let Some(at) = known.endpoints.iter().position(|held| held == endpoint) {
            let endpoint = known.endpoints.remove(at);
            known.endpoints.push(endpoint);
        }
        known.is_sorted = false;
    }
}

impl Known {
    fn learn(&mut self, rows: Vec<Row>) {
        let is_master = |row: &Row| row.master.as_deref() == Some("*");
        let master = rows.iter().find(|row| is_master(row)).and_then(|row| row.http.clone());
        for http in rows.into_iter().filter_map(|row| row.http) {
            if !self.endpoints.contains(&http) && self.endpoints.len() < ENDPOINTS_MAX {
                self.endpoints.push(http);
            }
        }
        if let Some(at) = master.and_then(|master| self.endpoints.iter().position(|held| *held == master)) {
            self.endpoints[..=at].rotate_right(1);
        }
    }
}

async fn rows(http: &Reach, endpoint: &str) -> Option<Vec<Row>> {
    let target = "/_cat/nodes?local=true&format=json&h=http,master";
    let response = http.get(endpoint, target).timeout(PATIENCE).send().await.ok()?;
    serde_json::from_slice(&response.bytes().await.ok()?).ok()
}

async fn version(http: &Reach, endpoint: &str) -> Option<u64> {
    let response = http.get(endpoint, "/_cluster/state/version?local=true").timeout(PATIENCE).send().await.ok()?;
    serde_json::from_slice::<State>(&response.bytes().await.ok()?).ok().map(|state| state.version)
}

/// An endpoint as people write it.
fn read(text: &str) -> String {
    let bare = ["http://", "https://"]
        .iter()
        .find_map(|scheme| text.strip_prefix(scheme))
        .unwrap_or(text)
        .trim_end_matches('/');
    let has_port = bare.rsplit_once(':').is_some_and(|(_, port)| port.parse::<u16>().is_ok());
    if has_port { bare.to_owned() } else { format!("{bare}:{USUAL_PORT}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_master_is_asked_first_and_who_failed_last() {
        let endpoints = Endpoints::new(["http://a:1/", "b:2"]).expect("two are named");
        let row = |http: &str, master: &str| Row { http: Some(http.into()), master: Some(master.into()) };
        endpoints.0.lock().learn(vec![row("a:1", "-"), row("b:2", "-"), row("c:3", "*")]);
        assert_eq!(endpoints.0.lock().endpoints, ["c:3", "a:1", "b:2"]);
        endpoints.avoid("c:3");
        assert_eq!(endpoints.0.lock().endpoints, ["a:1", "b:2", "c:3"]);
        assert!(Endpoints::new([] as [&str; 0]).is_err());
    }
}
