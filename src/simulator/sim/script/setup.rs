//! Who plays, with which settings, and what is printed of it.

use super::mistake::{Mistake, ScriptError};
use super::rules::Kinds;
use super::script_world::ScriptWorld;
use super::words::Words;
use crate::cluster::Address;
use crate::protocol::{Initial, Level, Unresolved};
use crate::settings::{self, REGISTRY, SettingsError};
use crate::sim::cluster_world::{self, NodeSpec};
use crate::zen::{Bootstrap, Tuning};
use crate::zen68::Dialect;
use std::sync::Arc;

/// The defaults of Elasticsearch 6.8 that differ from this protocol's.
const ZEN_TIMING: [(&str, &str); 5] = [
    ("discovery.zen.ping_timeout", "3s"),
    ("discovery.zen.commit_timeout", "30s"),
    ("discovery.zen.fd.ping_interval", "1s"),
    ("discovery.zen.fd.ping_timeout", "30s"),
    ("discovery.zen.fd.ping_retries", "3"),
];

/// Adds nodes that are down. All of one command are set up alike; each knows all others unless `hosts` says otherwise.
pub(super) fn nodes(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    let is_apart = words.flag("apart");
    let mut options = words.clone();
    let names: Vec<&str> = words.rest().into_iter().filter(|word| !word.contains('=')).collect();
    let before = stage.cast.len();
    for name in &names {
        if stage.node(name).is_ok() {
            return Err(Mistake::new(format!("`{name}`, which is there already"), "new names").into());
        }
        let spec = new_spec(stage, name, cluster_world::address(stage.cast.len()), &[])?;
        stage.cast.push(spec);
        options.flag(name);
    }
    let all: Vec<Address> = stage.cast.iter().map(|spec| spec.address.clone()).collect();
    for node in before..stage.cast.len() {
        let spec = new_spec(stage, &stage.cast[node].name, all[node].clone(), &all)?;
        let mut words = options.clone();
        let spec = with_options(stage, spec, &mut words)?;
        words.end()?;
        stage.cast[node] = spec.clone();
        stage.world.watch.0.names.push(spec.name.clone());
        stage.world.watch.1.0.add_node(&spec.cluster_name, is_apart.then_some(before));
        cluster_world::add(&mut stage.world, spec);
    }
    Ok(())
}

/// A node that speaks what is spoken, at the pace of that protocol.
fn new_spec(stage: &ScriptWorld, name: &str, address: Address, hosts: &[Address]) -> Result<NodeSpec, Mistake> {
    let (rules, dialect) = (stage.protections, stage.dialect);
    let spec = NodeSpec { rules, dialect, ..NodeSpec::new(name, address, hosts) };
    if dialect.is_none() {
        return Ok(spec);
    }
    let mistake = |error: SettingsError| Mistake::new(error.to_string(), "Zen's own settings");
    Ok(NodeSpec { tuning: settings::tuning(&ZEN_TIMING).map_err(mistake)?, ..spec })
}

/// What everybody speaks who is added from here on.
pub(super) fn speak(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    let name = words.need("a dialect")?;
    let dialect = Dialect::named(name);
    if dialect.is_none() && name != "zazen" {
        return Err(Mistake::new(format!("`{name}` as a dialect"), "zazen, zen68, fd56, zen14, zen13").into());
    }
    words.end()?;
    stage.speak(dialect);
    Ok(())
}

/// Sets nodes up anew; all but their seeds holds from their next start on.
pub(super) fn configure(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    let mut options = words.clone();
    let names: Vec<&str> = words.rest().into_iter().filter(|word| !word.contains('=')).collect();
    for name in &names {
        options.flag(name);
    }
    for name in names {
        let node = stage.node(name)?;
        let mut words = options.clone();
        let address = words.option("address").map(|place| free_address(stage, node, place)).transpose()?;
        let spec = with_options(stage, stage.cast[node].clone(), &mut words)?;
        let spec = NodeSpec { address: address.unwrap_or(spec.address), ..spec };
        words.end()?;
        stage.cast[node] = spec.clone();
        cluster_world::configure(&mut stage.world, node, spec);
    }
    Ok(())
}

/// Where a node that is down can move to.
fn free_address(stage: &ScriptWorld, node: usize, place: &str) -> Result<Address, Mistake> {
    let address = Address::from(place);
    if stage.world.participant(node).is_some() || stage.world.node_at(&address).is_some() {
        let allowed = "an address that no node has, for a node that is down";
        return Err(Mistake::new(format!("`{place}` as an address"), allowed));
    }
    Ok(address)
}

fn with_options(stage: &ScriptWorld, mut spec: NodeSpec, words: &mut Words<'_>) -> Result<NodeSpec, Mistake> {
    let addresses = |names: &str| -> Result<Vec<Address>, Mistake> {
        names.split(',').map(|name| Ok(stage.cast[stage.node(name)?].address.clone())).collect()
    };
    match words.option("hosts") {
        Some("none") => spec.bootstrap = Bootstrap::Found,
        Some(names) => {
            spec.seeds.peers = addresses(names)?;
            spec.bootstrap = Bootstrap::Hosts(spec.seeds.peers.iter().map(|host| host.as_str().into()).collect());
        }
        None => {}
    }
    if let Some(pairs) = words.option("named") {
        let pairs: Option<Vec<_>> = pairs.split(',').map(|pair| pair.split_once(':')).collect();
        let pairs = pairs.ok_or_else(|| Mistake::new("a name without a node", "`named=host:a,…`"))?;
        spec.seeds.initial = pairs
            .iter()
            .map(|(name, node)| Ok(Initial { name: (*name).into(), peers: addresses(node)? }))
            .collect::<Result<_, Mistake>>()?;
        spec.seeds.peers = spec.seeds.initial.iter().flat_map(|initial| initial.peers.clone()).collect();
        spec.bootstrap = Bootstrap::Hosts(pairs.iter().map(|(name, _)| (*name).into()).collect());
    }
    if let Some(names) = words.option("unresolved") {
        let why = Arc::<str>::from("no such name");
        let unresolved = names.split(',').map(|host| Unresolved { host: host.into(), why: why.clone() });
        spec.seeds.unresolved = unresolved.collect();
    }
    if let Some(names) = words.option("initial") {
        spec.bootstrap = Bootstrap::Hosts(names.split(',').map(Into::into).collect());
    }
    if let Some(name) = words.option("cluster") {
        spec.cluster_name = name.into();
    }
    let is = "`true` or `false`";
    spec.roles.master = words.parsed("master", is)?.unwrap_or(spec.roles.master);
    spec.roles.data = words.parsed("data", is)?.unwrap_or(spec.roles.data);
    spec.roles.ingest = words.parsed("ingest", is)?.unwrap_or(spec.roles.ingest);
    tune(&mut spec.tuning, words)?;
    Ok(spec)
}

/// Settings are named as in Elasticsearch, without `discovery.zen.` before them; `min` is `minimum_master_nodes`. With
/// `_override` behind its name, a dynamic one is given on the node's command line.
fn tune(tuning: &mut Tuning, words: &mut Words<'_>) -> Result<(), Mistake> {
    for setting in REGISTRY.iter().filter(|setting| setting.is_of_protocol()) {
        let key = setting.key.strip_prefix("discovery.zen.").unwrap_or(setting.key);
        let short = if key == "minimum_master_nodes" { "min" } else { key };
        let mistake = |text| move |_| Mistake::new(format!("`{text}` for `{key}`"), setting.kind.to_string());
        if let Some(text) = words.option(key).or_else(|| words.option(short)) {
            setting.set(tuning, text).map_err(mistake(text))?;
            tuning.overrides.remove(setting.key);
        }
        if !setting.is_dynamic() {
            continue;
        }
        if let Some(text) = words.option(&format!("{short}_override")) {
            setting.set(tuning, text).map_err(mistake(text))?;
            tuning.overrides.insert(setting.key);
        }
    }
    Ok(())
}

/// Says which notes are printed.
pub(super) fn notes(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    stage.world.watch.0.notes = match words.need("a level")? {
        "debug" => Some(Level::Debug),
        "info" => Some(Level::Info),
        "warn" => Some(Level::Warn),
        "off" => None,
        other => return Err(Mistake::new(format!("`{other}` as a level"), "debug, info, warn, off").into()),
    };
    Ok(words.end()?)
}

/// Says which messages are printed when they arrive.
pub(super) fn messages(stage: &mut ScriptWorld, words: &mut Words<'_>) -> Result<(), ScriptError> {
    stage.world.watch.0.messages = match (words.need("`on` or `off`")?, words.next()) {
        ("on", kinds) => Some(Kinds::read(kinds.unwrap_or("all"))?),
        ("off", None) => None,
        (other, _) => return Err(Mistake::new(format!("`{other}`"), "`on`, `on <kind>,…` or `off`").into()),
    };
    Ok(words.end()?)
}
