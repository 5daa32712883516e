//! `zazen kv`: the users' keys from the command line.

use super::ask::UrlArgs;
use super::lease::holding;
use super::{CommandError, CommandOutcome, completions, failed, master, refused};
use crate::client::{Change, Client, Entry, News, Precondition, Watch};
use crate::cluster::{Holding, Revision};
use crate::runtime::printable::{self, printable};
use crate::service::Txn;
use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;
use serde_json::json;
use std::io::{self, Read, Write};

/// Read, write and watch keys in the state of a cluster.
///
/// Keys are made for configuration and coordination: every node holds all of them.
#[derive(Debug, Args)]
pub(super) struct KvArgs {
    #[command(flatten)]
    urls: UrlArgs,
    #[command(subcommand)]
    command: KvCommand,
}

#[derive(Debug, Subcommand)]
enum KvCommand {
    /// Print what a key holds, byte by byte.
    ///
    /// Exit codes: 0 there it is, 1 there is no such key, or it could not be read.
    Get {
        /// The key.
        #[arg(add = ArgValueCompleter::new(completions::keys))]
        key: String,
        /// Print its last change instead.
        #[arg(long)]
        revision: bool,
    },
    /// Write a key, and print the change that this was.
    ///
    /// Exit codes: 0 it is written, 1 the condition does not hold, or it could not be written.
    Put {
        /// The key.
        #[arg(add = ArgValueCompleter::new(completions::keys))]
        key: String,
        /// What it shall hold; without it, or with -, what comes on the standard input.
        value: Option<String>,
        /// Let the key vanish with this lease, which must be held under the token.
        #[arg(long, value_name = "NAME:TOKEN", value_parser = holding)]
        lease: Option<Holding>,
        #[command(flatten)]
        only: OnlyArgs,
    },
    /// Delete a key; one that is not there is as good as deleted.
    Delete {
        /// The key.
        #[arg(add = ArgValueCompleter::new(completions::keys))]
        key: String,
        #[command(flatten)]
        only: OnlyArgs,
    },
    /// List the keys that begin so, with their last changes.
    List {
        /// How they begin.
        #[arg(default_value = "", add = ArgValueCompleter::new(completions::keys))]
        prefix: String,
        /// Print what they hold as well.
        ///
        /// A key has one line: line breaks and other control characters are escaped; `zazen kv get` prints what is held.
        #[arg(long)]
        values: bool,
    },
    /// Print every change of the keys that begin so, as it is committed, until Ctrl-C.
    Watch {
        /// How they begin.
        #[arg(default_value = "", add = ArgValueCompleter::new(completions::keys))]
        prefix: String,
        /// Go on from this state, as an earlier watch printed it, instead of beginning with how things are.
        ///
        /// Where what came behind it is remembered no longer, a line `reset` comes before all keys that there are.
        #[arg(long, value_name = "TERM/VERSION")]
        from: Option<Revision>,
        /// Print JSON, one object a line.
        #[arg(long)]
        json: bool,
    },
}

/// On what a write depends.
#[derive(Debug, Args)]
#[group(multiple = false)]
struct OnlyArgs {
    /// Only if there is no such key.
    #[arg(long)]
    if_absent: bool,
    /// Only if its last change is this one.
    #[arg(long, value_name = "TERM/VERSION")]
    if_version: Option<Revision>,
    /// Only if this lease is held under the token.
    ///
    /// Whoever lost a lease without knowing it changes nothing: in a command of zazen run that is
    /// --if-held "$ZAZEN_LEASE:$ZAZEN_FENCING_TOKEN".
    #[arg(long, value_name = "NAME:TOKEN", value_parser = holding)]
    if_held: Option<Holding>,
}

impl OnlyArgs {
    fn only(&self) -> Option<Precondition> {
        let absent = self.if_absent.then_some(Precondition::IfAbsent);
        let unchanged = self.if_version.map(Precondition::IfUnchanged);
        absent.or(unchanged).or(self.if_held.clone().map(Precondition::IfHeld))
    }
}

impl KvArgs {
    pub(super) fn run(&self, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
        let runtime = super::runtime()?;
        runtime.block_on(async {
            let client = master::client(&self.urls).await?;
            match &self.command {
                KvCommand::Get { key, revision } => get(&client, key, *revision, out).await,
                KvCommand::Put { key, value, lease, only } => {
                    let txn = Txn::put(key.as_str(), content(value.as_deref())?).with_lease(lease.clone());
                    let txn = txn.only_if(only.only().map(|only| only.on(key)));
                    writeln!(out, "{}", client.change(&txn).await.map_err(refused)?)?;
                    Ok(CommandOutcome::Fine)
                }
                KvCommand::Delete { key, only } => delete(&client, key, only, out).await,
                KvCommand::List { prefix, values } => list(&client, prefix, *values, out).await,
                KvCommand::Watch { prefix, from, json } => {
                    let watch = client.watch(prefix);
                    let watch = match from {
                        Some(from) => watch.from(from.to_string()),
                        None => watch,
                    };
                    follow(watch, from.is_some(), *json, out).await
                }
            }
        })
    }
}

async fn get(
    client: &Client,
    key: &str,
    is_revision: bool,
    out: &mut impl Write,
) -> Result<CommandOutcome, CommandError> {
    let found = client.get(key).await.map_err(refused)?;
    let Some(Entry { value, revision, .. }) = found else {
        return Err(CommandError::Failed(format!("no such key [{key}]")));
    };
    match is_revision {
        true => writeln!(out, "{revision}")?,
        false => out.write_all(value.as_bytes())?,
    }
    Ok(CommandOutcome::Fine)
}

/// What is to be written: what was said, or what comes on the standard input.
fn content(value: Option<&str>) -> Result<Vec<u8>, CommandError> {
    if let Some(value) = value.filter(|value| *value != "-") {
        return Ok(value.as_bytes().to_vec());
    }
    let mut value = Vec::new();
    io::stdin().read_to_end(&mut value).map_err(|error| failed("read the standard input", error))?;
    Ok(value)
}

async fn delete(
    client: &Client,
    key: &str,
    only: &OnlyArgs,
    out: &mut impl Write,
) -> Result<CommandOutcome, CommandError> {
    let deleted = match only.only() {
        Some(only) => client.delete_if(key, only).await,
        None => client.delete(key).await,
    };
    let was_there = deleted.map_err(refused)?;
    writeln!(out, "{}", if was_there { "deleted" } else { "it was not there" })?;
    Ok(CommandOutcome::Fine)
}

async fn list(
    client: &Client,
    prefix: &str,
    has_values: bool,
    out: &mut impl Write,
) -> Result<CommandOutcome, CommandError> {
    let entries = client.list(prefix).await.map_err(refused)?;
    let width = entries.iter().map(|entry| printable(&entry.key).chars().count()).max().unwrap_or(0);
    for Entry { key, revision, value, .. } in &entries {
        let value = if has_values { format!("  {value}") } else { String::new() };
        printable::line(out, format_args!("{:<width$}  {revision}{value}", printable(key)))?;
    }
    Ok(CommandOutcome::Fine)
}

async fn follow(
    mut watch: Watch,
    mut knows: bool,
    is_json: bool,
    out: &mut impl Write,
) -> Result<CommandOutcome, CommandError> {
    loop {
        let news = tokio::select! {
            news = watch.next() => news.map_err(refused)?,
            // Without a signal to wait for, the default is to end at once.
            Ok(()) = tokio::signal::ctrl_c() => return Ok(CommandOutcome::Fine),
        };
        match news {
            News::State { at, keys, .. } => {
                // What who watches knew before may be gone without a word.
                if knows {
                    let (count, json) = (keys.len(), json!({ "at": at, "kind": "reset", "keys": keys.len() }));
                    line(is_json, &json, format_args!("{at} reset, {count} in all"), out)?;
                }
                for Entry { key, value, .. } in &keys {
                    let json = json!({ "at": at, "kind": "state", "key": key, "value": value });
                    line(is_json, &json, format_args!("{at} state {key} = {value}"), out)?;
                }
            }
            News::Changes { at, changes } => {
                for change in &changes {
                    show(is_json, &at, change, out)?;
                }
            }
        }
        knows = true;
        out.flush()?;
    }
}

fn show(is_json: bool, at: &str, change: &Change, out: &mut impl Write) -> io::Result<()> {
    match change {
        Change::Put { entry: Entry { key, value, .. } } => {
            let json = json!({ "at": at, "kind": "put", "key": key, "value": value });
            line(is_json, &json, format_args!("{at} put {key} = {value}"), out)
        }
        Change::Delete { key } => {
            let json = json!({ "at": at, "kind": "delete", "key": key });
            line(is_json, &json, format_args!("{at} delete {key}"), out)
        }
        Change::Master { .. }
        | Change::Joined { .. }
        | Change::Left { .. }
        | Change::Setting { .. }
        | Change::Granted { .. }
        | Change::Ended { .. } => Ok(()),
    }
}

fn line(
    is_json: bool,
    json: &serde_json::Value,
    text: std::fmt::Arguments<'_>,
    out: &mut impl Write,
) -> io::Result<()> {
    if is_json { writeln!(out, "{json}") } else { printable::line(out, text) }
}
