//! `zazen recover`: what is left of a cluster that lost its quorum for good, and a new incarnation of it.
//!
//! Reads the data directories of nodes that do not run, tells what they hold and what may be lost, and goes on only when
//! the user said so. What the new incarnation is like is decided in `zen`.

use super::{CommandError, CommandOutcome, failed};
use crate::cluster::{ClusterState, NodeId, Uuid};
use crate::runtime::store::Store;
use crate::service::{MINIMUM_MASTER_NODES, Update, matches};
use crate::settings::rule;
use crate::zen::Memory;
use crate::zen::recovery::{has_quorum, incarnate, newest};
use clap::Args;
use clap_complete::ArgValueCompleter;
use std::io::{self, IsTerminal, Write};
use std::path::PathBuf;

/// Start a new incarnation of a cluster that lost its quorum for good.
///
/// Shows what the data directories of the surviving nodes hold, and what may be lost: nothing else is done without --yes,
/// or the name of the cluster typed at the terminal. None of the nodes may run. The nodes that are not named here can
/// never take part in the new incarnation with what they hold: wipe their data directories, and they join as new ones.
///
/// Exit codes: 0 it is done, 1 it was not wanted or could not be done, 2 the arguments make no sense.
#[derive(Debug, Args)]
pub(super) struct RecoverArgs {
    /// The data directories of the surviving nodes: their `path.data`.
    #[arg(required = true, value_name = "DIR")]
    directories: Vec<PathBuf>,
    /// Give a stored setting another value in the new incarnation; without a value it is removed.
    ///
    /// For a setting that keeps the cluster from forming, such as a discovery.zen.minimum_master_nodes that is too high.
    #[arg(long = "set", value_name = "KEY=VALUE", value_parser = super::config::key_and_value,
          add = ArgValueCompleter::new(super::completions::setting_value))]
    settings: Vec<(String, String)>,
    /// Do it without asking.
    #[arg(long)]
    yes: bool,
}

/// A surviving node.
struct Survivor {
    directory: PathBuf,
    store: Store,
    memory: Memory,
}

impl RecoverArgs {
    pub(super) fn run(&self, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
        self.check_settings()?;
        let mut survivors = self.survivors()?;
        let Some(base) = newest(survivors.iter().map(|survivor| &survivor.memory)).cloned() else {
            let why = "none of these directories holds a cluster state: there is nothing to recover, start the nodes";
            return Err(CommandError::Failed(why.into()));
        };
        check_one_cluster(&survivors)?;
        let ids: Vec<NodeId> = survivors.iter().filter_map(|one| one.memory.promise.node_id.clone()).collect();
        show(&survivors, &base, &ids, out)?;
        if has_quorum(&base, &ids) && self.settings.is_empty() {
            let why =
                "these directories hold a quorum, so nothing is lost: start the nodes, there is nothing to recover";
            return Err(CommandError::Failed(why.into()));
        }
        let state = self.mended(&base);
        warn_of_minimum(&state, ids.len(), out)?;
        out.flush()?;
        if !self.yes && !is_wanted(base.cluster_name.as_str())? {
            writeln!(out, "Nothing was changed.")?;
            return Ok(CommandOutcome::Broken);
        }
        self.carry_out(&state, &mut survivors, out)
    }

    fn carry_out(
        &self,
        state: &ClusterState,
        survivors: &mut [Survivor],
        out: &mut impl Write,
    ) -> Result<CommandOutcome, CommandError> {
        let memories: Vec<Memory> = survivors.iter().map(|survivor| survivor.memory.clone()).collect();
        let writes = incarnate(state, &memories, [fresh_uuid(), fresh_uuid()]);
        let writes = writes.map_err(|error| CommandError::Failed(error.to_string()))?;
        for (survivor, writes) in survivors.iter_mut().zip(&writes) {
            let path = survivor.directory.display().to_string();
            survivor.store.write(writes).map_err(|error| failed(&format!("write to [{path}]"), error))?;
            writeln!(out, "{path}: written")?;
        }
        writeln!(out, "\nStart these nodes. Wipe the data directories of all others before they are started again.")?;
        Ok(CommandOutcome::Fine)
    }

    fn check_settings(&self) -> Result<(), CommandError> {
        for (key, value) in &self.settings {
            // What is removed may be anything: it may be there because of a mistake.
            if !value.is_empty() {
                rule(Update { persistent: true, key, value: Some(value) }).map_err(CommandError::Usage)?;
            }
        }
        Ok(())
    }

    fn survivors(&self) -> Result<Vec<Survivor>, CommandError> {
        let open = |directory: &PathBuf| {
            if !directory.join("nodes").is_dir() {
                let path = directory.display();
                return Err(CommandError::Usage(format!(
                    "[{path}] is no data directory of a node: it has no [nodes] in it"
                )));
            }
            let (store, memory) = Store::open(directory).map_err(|error| CommandError::Failed(error.to_string()))?;
            Ok(Survivor { directory: directory.clone(), store, memory })
        };
        self.directories.iter().map(open).collect()
    }

    /// The state with the settings that were asked for, whichever set they stood in.
    fn mended(&self, base: &ClusterState) -> ClusterState {
        let mut state = base.clone();
        for (key, value) in &self.settings {
            for settings in [&mut state.metadata.persistent, &mut state.metadata.transient] {
                let gone: Vec<_> = settings.keys().filter(|held| matches(key, held)).cloned().collect();
                gone.iter().for_each(|key| drop(settings.remove(&**key)));
            }
            if !value.is_empty() {
                state.metadata.persistent.insert(key.as_str().into(), value.as_str().into());
            }
        }
        state
    }
}

fn fresh_uuid() -> Uuid {
    Uuid::from_u128(uuid::Uuid::new_v4().as_u128())
}

/// States of different clusters do not follow from each other.
fn check_one_cluster(survivors: &[Survivor]) -> Result<(), CommandError> {
    let mut uuids: Vec<(Uuid, &PathBuf)> =
        survivors.iter().filter_map(|one| Some((one.memory.cluster_uuid?, &one.directory))).collect();
    uuids.sort();
    uuids.dedup_by_key(|(uuid, _)| *uuid);
    let ([] | [_]) = uuids[..] else {
        let named: Vec<String> = uuids.iter().map(|(uuid, path)| format!("{} ({uuid})", path.display())).collect();
        return Err(CommandError::Usage(format!("these directories are of different clusters: {}", named.join(", "))));
    };
    Ok(())
}

fn show(survivors: &[Survivor], base: &ClusterState, ids: &[NodeId], out: &mut impl Write) -> io::Result<()> {
    let rows = survivors.iter().map(|survivor| {
        let Memory { promise, accepted, committed, .. } = &survivor.memory;
        let id = promise.node_id.as_ref().map_or("-", |id| id.as_str());
        let name = base.nodes.iter().find(|node| node.id.as_str() == id).map_or("-", |node| &*node.name);
        let shown = |id: Option<String>| id.unwrap_or_else(|| "-".into());
        let accepted = shown(accepted.as_ref().map(|state| state.id().to_string()));
        let committed = shown(committed.map(|id| id.to_string()));
        [
            survivor.directory.display().to_string(),
            name.into(),
            id.into(),
            promise.term.to_string(),
            accepted,
            committed,
        ]
    });
    let head = ["directory", "node", "id", "term", "accepted", "committed"].map(String::from);
    let rows: Vec<[String; 6]> = std::iter::once(head).chain(rows).collect();
    for row in &rows {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let width = rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
            format!("{cell:<width$}")
        });
        writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    tell_losses(base, ids, out)
}

fn tell_losses(base: &ClusterState, ids: &[NodeId], out: &mut impl Write) -> io::Result<()> {
    let uuid = base.cluster_uuid.map_or_else(|| "_na_".into(), |uuid| uuid.to_string());
    writeln!(out, "\nThe newest state is {} of cluster [{}] ({uuid}).", base.id(), base.cluster_name)?;
    let voting = &base.metadata.voting;
    let voters: std::collections::BTreeSet<&NodeId> = voting.committed.iter().chain(voting.own.iter()).collect();
    let name = |id: &&NodeId| base.nodes.get(id).map_or_else(|| id.to_string(), |node| node.name.to_string());
    let missing: Vec<String> = voters.iter().filter(|id| !ids.contains(id)).map(name).collect();
    writeln!(out, "Its voters are {voting}; of these {} are here.", voters.len() - missing.len())?;
    if !has_quorum(base, ids) {
        let missing = missing.join(", ");
        writeln!(out, "What may be lost: every change after {} that was committed without these nodes,", base.id())?;
        writeln!(
            out,
            "by {missing}. If a majority of the voters still lives anywhere, stop here and start those nodes."
        )?;
    }
    Ok(())
}

/// A number that asks for more nodes than there are would keep the new incarnation from forming, too.
fn warn_of_minimum(state: &ClusterState, nodes: usize, out: &mut impl Write) -> io::Result<()> {
    let metadata = &state.metadata;
    let held = metadata.transient.get(MINIMUM_MASTER_NODES).or_else(|| metadata.persistent.get(MINIMUM_MASTER_NODES));
    match held.filter(|held| held.parse::<usize>().is_ok_and(|held| held > nodes)) {
        Some(held) => writeln!(
            out,
            "{MINIMUM_MASTER_NODES} is {held}, so {nodes} nodes elect nobody: remove it with --set {MINIMUM_MASTER_NODES}="
        ),
        None => Ok(()),
    }
}

/// Asks for the name of the cluster, as one types nothing else by mistake.
fn is_wanted(cluster: &str) -> Result<bool, CommandError> {
    if !io::stdin().is_terminal() {
        return Err(CommandError::Usage(
            "there is no terminal to ask at; allowed: --yes to go on without asking".into(),
        ));
    }
    eprint!("\nType the name of the cluster to start a new incarnation of it: ");
    let mut line = String::new();
    io::stdin().read_line(&mut line).map_err(|error| failed("read the terminal", error))?;
    Ok(line.trim() == cluster)
}
