//! The files by which a node shows that it belongs to a cluster, and how its configuration names them.
//!
//! Who is not believed for them is decided in `unbelieved`.

use super::Worth;
use super::yaml::in_quotes;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The files by which a node shows that it belongs to a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Credentials {
    /// `zazen.security.secret`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret: Option<String>,
    /// A file of secrets beside the certificate, if no setting names one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unnamed_secret: Option<String>,
    /// `zazen.security.certificate`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certificate: Option<String>,
    /// `zazen.security.key`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub key: Option<String>,
    /// `zazen.security.authorities`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub authorities: Option<String>,
    /// The hosts that have certificates beside it: `node.crt` in directories called as they are.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub equipped: Vec<String>,
    /// Where the certificate was made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub origin: Option<Origin>,
    /// All files of its security by setting, as its configuration names them; where it names none, those that lie beside it
    /// and are called as `zazen setup` calls them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<String, String>,
    /// Those that lie there and that its configuration does not name.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unnamed: BTreeMap<String, String>,
}

/// Where certificates were made: the directory with the key of their authority.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Origin {
    /// The directory.
    pub directory: String,
    /// The host that it is on, if the key is not to be seen where the node runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub host: Option<String>,
}

impl Credentials {
    /// The files for another host that were made together with these; these themselves where they are its own.
    pub(super) fn of_host(&self, host: &str) -> Option<Credentials> {
        let certificate = self.certificate.as_deref()?;
        let mut parts = certificate.rsplitn(3, '/').skip(1);
        let (own, above) = (parts.next()?, parts.next()?);
        if own == host || !self.equipped.iter().any(|name| name == own) {
            return Some(self.clone());
        }
        self.equipped.iter().find(|name| *name == host)?;
        let (before, after) = (format!("{above}/{own}/"), format!("{above}/{host}/"));
        let there =
            |file: &String| file.strip_prefix(&before).map_or_else(|| file.clone(), |rest| format!("{after}{rest}"));
        let moved = |file: &Option<String>| file.as_ref().map(there);
        Some(Credentials {
            secret: moved(&self.secret),
            certificate: moved(&self.certificate),
            key: moved(&self.key),
            authorities: moved(&self.authorities),
            unnamed_secret: None,
            equipped: self.equipped.clone(),
            origin: self.origin.clone(),
            files: self.files.iter().map(|(key, file)| (key.clone(), there(file))).collect(),
            unnamed: BTreeMap::new(),
        })
    }

    /// All files by setting, beside the certificate where it is not said where.
    pub(super) fn in_full(&self) -> BTreeMap<String, String> {
        let home = self.certificate.as_deref().and_then(|certificate| certificate.rsplit_once('/'));
        let full = |file: &String| match home {
            Some((home, _)) if !file.starts_with('/') => format!("{home}/{file}"),
            Some(_) | None => file.clone(),
        };
        self.files.iter().map(|(key, file)| (key.clone(), full(file))).collect()
    }

    /// Whether there is nothing of it.
    pub fn is_empty(&self) -> bool {
        *self == Credentials::default()
    }
}

/// How the keys of all settings of security begin.
const SECURITY: &str = "zazen.security.";

/// What a node must have all of or nothing, or it does not start.
const TOGETHER: [&str; 3] = ["zazen.security.authorities", "zazen.security.certificate", "zazen.security.key"];

/// The line of a configuration that gives some settings of security; none if there are none, or not all that belong together.
pub(super) fn security(files: &BTreeMap<String, String>) -> Option<(&'static str, Worth)> {
    if !matches!(TOGETHER.iter().filter(|key| files.contains_key(**key)).count(), 0 | 3) {
        return None;
    }
    let one = |(key, file): (&String, &String)| Some(format!("{}: {}", key.strip_prefix(SECURITY)?, in_quotes(file)));
    let all: Vec<String> = files.iter().filter_map(one).collect();
    (!all.is_empty()).then(|| ("zazen.security", Worth::Plain(format!("{{{}}}", all.join(", ")))))
}

/// Where a file of a node lies on another host, if each has its own in a directory that is called as the host, as `zazen setup`
/// makes them.
pub(super) fn in_place(file: &str, own: &str, other: &str) -> String {
    match file.rsplit_once('/').and_then(|(home, name)| Some((home.strip_suffix(own)?, name))) {
        Some((above, name)) if above.ends_with('/') => format!("{above}{other}/{name}"),
        Some(_) | None => file.to_owned(),
    }
}
