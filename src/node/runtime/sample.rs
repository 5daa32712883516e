//! A member of a cluster, and settings of one, for tests that need any.

use crate::cluster::{Node, Roles};
use crate::settings::{self, NodeSettings, Sources};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

/// One of this name, in its first process.
pub(crate) fn node(name: &str) -> Node {
    Node {
        id: name.into(),
        ephemeral_id: format!("{name}-1").as_str().into(),
        name: name.into(),
        address: format!("{name}:9300").as_str().into(),
        roles: Roles::ALL,
        attributes: Arc::default(),
        version: "6.8.23".into(),
    }
}

/// Settings that are given as arguments, in this configuration directory.
pub(crate) fn settings(path_conf: &Path, arguments: &[(&str, &str)]) -> NodeSettings {
    let given = |(key, value): &(&str, &str)| ((*key).to_owned(), (*value).to_owned());
    let arguments: Vec<(String, String)> = arguments.iter().map(given).collect();
    let environment = BTreeMap::new();
    let path_conf = path_conf.to_owned();
    let sources = Sources { file: None, environment: &environment, arguments: &arguments, path_conf };
    settings::load(&sources).expect("they make sense").settings
}
