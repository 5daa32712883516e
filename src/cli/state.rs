//! `zazen state`: all that a cluster keeps, taken out as a file and put into the directory of a new node.

use super::ask::{Asker, UrlArgs, nobody};
use super::setup::write_private;
use super::{CommandError, CommandOutcome, failed};
use crate::cluster::{ClusterState, NodeId, Uuid};
use crate::runtime::store::Store;
use crate::zen::recovery::{incarnate, newest};
use crate::zen::{Memory, Promise};
use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};
use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The version of the format that is written, and the only one that is read.
const FORMAT: u32 = 1;

/// How long a node may take to tell its state.
const PATIENCE: Duration = Duration::from_secs(30);

/// Take all that a cluster keeps out as a file, and put it into a new one.
#[derive(Debug, Args)]
pub(super) struct StateArgs {
    #[command(subcommand)]
    command: StateCommand,
}

#[derive(Debug, Subcommand)]
enum StateCommand {
    Export(ExportArgs),
    Import(ImportArgs),
}

/// Write the state of a cluster into a file: settings, keys, indices, all of it.
///
/// Asks a node that runs; with --data, reads the directory of one that does not.
#[derive(Debug, Args)]
struct ExportArgs {
    #[command(flatten)]
    urls: UrlArgs,
    /// The data directory of a node that does not run: its `path.data`.
    #[arg(long, value_name = "DIR", conflicts_with = "given")]
    data: Option<PathBuf>,
    /// The file; without it, the standard output.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
}

/// Make a new cluster of one node that begins with the state of a file.
///
/// The directory must be empty or missing. Start the node on it, then others with empty directories, which join it. The
/// cluster has a uuid of its own: nodes of the old one are no part of it.
#[derive(Debug, Args)]
struct ImportArgs {
    /// What `zazen state export` wrote.
    file: PathBuf,
    /// The data directory of the new node: its `path.data`.
    #[arg(long, value_name = "DIR")]
    data: PathBuf,
}

/// What stands in a file.
#[derive(Serialize, Deserialize)]
struct Exported {
    zazen_state: u32,
    state: ClusterState,
}

impl StateArgs {
    pub(super) fn run(&self, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
        match &self.command {
            StateCommand::Export(export) => export.run(out),
            StateCommand::Import(import) => import.run(out),
        }
    }
}

impl ExportArgs {
    fn run(&self, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
        let state = match &self.data {
            Some(directory) => kept(directory)?,
            None => self.asked()?,
        };
        let exported = Exported { zazen_state: FORMAT, state };
        let mut text = serde_json::to_string_pretty(&exported).map_err(|error| failed("write the state", error))?;
        text.push('\n');
        match &self.output {
            // A device or a pipe takes it as it comes.
            Some(path) if path.exists() && !path.is_file() => {
                let written = File::options().write(true).open(path).and_then(|mut at| at.write_all(text.as_bytes()));
                written.map_err(|error| failed(&format!("write [{}]", path.display()), error))?;
            }
            // All keys stand in it, which only their owner may read; and what was there stays until this is whole.
            Some(path) => write_private(path, &text)?,
            None => out.write_all(text.as_bytes())?,
        }
        Ok(CommandOutcome::Fine)
    }

    fn asked(&self) -> Result<ClusterState, CommandError> {
        let runtime = super::runtime()?;
        runtime.block_on(async {
            let asker = Asker::new(&self.urls.access()?)?;
            let mut tried = Vec::new();
            for place in asker.awake_first(self.urls.places()).await {
                match asker.ask(&place, "/_zazen/state", PATIENCE).await {
                    Ok(state) => return Ok(state),
                    Err(why) => tried.push((place, why)),
                }
            }
            Err(CommandError::Failed(nobody(&tried)))
        })
    }
}

/// The newest state in a directory.
fn kept(directory: &Path) -> Result<ClusterState, CommandError> {
    let path = directory.display();
    if !directory.join("nodes").is_dir() {
        return Err(CommandError::Usage(format!("[{path}] is no data directory of a node: it has no [nodes] in it")));
    }
    let (_, memory) = Store::open(directory).map_err(|error| CommandError::Failed(error.to_string()))?;
    let state = newest([&memory]).map(|state| (**state).clone());
    state.ok_or_else(|| CommandError::Failed(format!("[{path}] holds no cluster state")))
}

impl ImportArgs {
    fn run(&self, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
        let path = self.file.display();
        let text =
            fs::read(&self.file).map_err(|error| CommandError::Usage(format!("cannot read [{path}]: {error}")))?;
        let strange = |error: serde_json::Error| CommandError::Usage(format!("[{path}] is no exported state: {error}"));
        let Exported { zazen_state, state } = serde_json::from_slice(&text).map_err(strange)?;
        if zazen_state != FORMAT {
            return Err(CommandError::Usage(format!("[{path}] has the format {zazen_state}, allowed is {FORMAT}")));
        }
        let (mut store, memory) = Store::open(&self.data).map_err(|error| CommandError::Failed(error.to_string()))?;
        if memory.promise.node_id.is_some() || memory.accepted.is_some() {
            let path = self.data.display();
            return Err(CommandError::Usage(format!(
                "[{path}] belongs to a node already; allowed: an empty directory"
            )));
        }
        let id = NodeId::from(fresh().to_string());
        let newcomer = Memory { promise: Promise { node_id: Some(id), ..Promise::default() }, ..Memory::default() };
        let writes = incarnate(&state, &[newcomer], [fresh(), fresh()]);
        let writes = writes.map_err(|error| CommandError::Failed(error.to_string()))?;
        for writes in &writes {
            store.write(writes).map_err(|error| failed("write the state", error))?;
        }
        let (name, data) = (&state.cluster_name, self.data.display());
        writeln!(out, "[{data}] holds a cluster of one node that begins with state {} of [{name}].", state.id())?;
        writeln!(out, "Start it with cluster.name: {name}, and others with empty data directories to join it.")?;
        Ok(CommandOutcome::Fine)
    }
}

fn fresh() -> Uuid {
    Uuid::from_u128(uuid::Uuid::new_v4().as_u128())
}
