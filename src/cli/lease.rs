//! `zazen lease`: what one holder at a time has, from the command line.
//!
//! For scripts that keep a lease alive themselves; `zazen run` does that for a command. What a holder may rely on is told in
//! `docs/leases.md`.

use super::ask::UrlArgs;
use super::run::{holder, time};
use super::{CommandError, CommandOutcome, completions, master, refused};
use crate::client::{Client, Held};
use crate::cluster::{Holding, Token};
use crate::runtime::printable::printable;
use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;
use std::io::{self, Write};
use std::time::Duration;

/// Show the leases of a cluster, take one, keep it alive, give it up.
///
/// A lease has one holder at a time, and ends by itself unless it is kept alive. To run a command under one, use zazen run.
#[derive(Debug, Args)]
pub(super) struct LeaseArgs {
    #[command(flatten)]
    urls: UrlArgs,
    #[command(subcommand)]
    command: LeaseCommand,
}

#[derive(Debug, Subcommand)]
enum LeaseCommand {
    /// List the leases that are held: name, token, time to live and holder.
    List,
    /// Print who holds a lease, in the columns of list.
    ///
    /// Exit codes: 0 somebody does, 1 nobody does, or it could not be asked.
    Get {
        /// The lease.
        #[arg(add = ArgValueCompleter::new(completions::leases))]
        name: String,
    },
    /// Take a lease, and print the token of the grant.
    ///
    /// Exit codes: 0 it is granted, 1 another holds it, or it could not be granted.
    #[command(visible_alias = "grant")]
    Acquire {
        /// The lease.
        #[arg(add = ArgValueCompleter::new(completions::leases))]
        name: String,
        /// How long it is held from each sign of life on, from 100ms to 1d.
        #[arg(long, default_value = "10s", value_name = "TIME", value_parser = time)]
        ttl: Duration,
        /// How long to wait for the holder to release it.
        #[arg(long, default_value = "0s", value_name = "TIME", value_parser = time)]
        wait: Duration,
        /// What the holder calls himself.
        #[arg(long, value_name = "NAME")]
        holder: Option<String>,
    },
    /// Keep a grant alive once, and print for how long the holder may count on it from when this began.
    ///
    /// Exit codes: 0 it is held, 1 it has ended, or nobody could tell.
    KeepAlive(HoldingArgs),
    /// Give up a grant, so that others need not wait for its end.
    ///
    /// Exit codes: 0 it is given up, 1 it had ended before, or nobody could tell.
    Release(HoldingArgs),
}

/// A grant.
#[derive(Debug, Args)]
struct HoldingArgs {
    /// The lease.
    #[arg(add = ArgValueCompleter::new(completions::leases))]
    name: String,
    /// The token of the grant, as acquire printed it.
    #[arg(value_parser = token)]
    token: Token,
}

impl HoldingArgs {
    fn holding(&self) -> Holding {
        Holding { name: self.name.as_str().into(), token: self.token }
    }
}

fn token(text: &str) -> Result<Token, String> {
    let allowed = || format!("allowed: a whole number up to {}", Token::MAX);
    text.parse().ok().and_then(Token::new).ok_or_else(allowed)
}

/// A grant in one word.
pub(super) fn holding(text: &str) -> Result<Holding, String> {
    let (name, under) = text.rsplit_once(':').ok_or("allowed: the name of a lease and its token, as in nightly:7")?;
    Ok(Holding { name: name.into(), token: token(under)? })
}

impl LeaseArgs {
    pub(super) fn run(&self, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
        let runtime = super::runtime()?;
        runtime.block_on(async {
            let client = master::client(&self.urls).await?;
            match &self.command {
                LeaseCommand::List => show(&client.leases().await.map_err(refused)?, out)?,
                LeaseCommand::Get { name } => {
                    let held = client.lease(name).await.map_err(refused)?;
                    let held = held.ok_or_else(|| CommandError::Failed(format!("nobody holds lease [{name}]")))?;
                    show(&[held], out)?;
                }
                LeaseCommand::Acquire { name, ttl, wait, holder: given } => {
                    let holder = given.clone().unwrap_or_else(holder);
                    let grant = client.acquire(name, &holder, *ttl, *wait).await.map_err(refused)?;
                    match grant {
                        Some(grant) => writeln!(out, "{}", grant.token())?,
                        None => return Err(taken(&client, name).await),
                    }
                }
                LeaseCommand::KeepAlive(grant) => {
                    let held = client.keep_lease(&grant.holding()).await.map_err(refused)?;
                    writeln!(out, "{}ms", held.holder_ttl().as_millis())?;
                }
                LeaseCommand::Release(grant) => client.release_lease(&grant.holding()).await.map_err(refused)?,
            }
            Ok(CommandOutcome::Fine)
        })
    }
}

/// Why a lease was not granted. Its holder may have let go of it since.
async fn taken(client: &Client, name: &str) -> CommandError {
    let held = client.lease(name).await.ok().flatten();
    let by = held.map_or_else(String::new, |held| format!(" [{}] under token {}", held.holder, held.token));
    CommandError::Failed(format!("lease [{name}] is held by another{by}"))
}

fn show(leases: &[Held], out: &mut impl Write) -> io::Result<()> {
    let named: Vec<(String, &Held)> = leases.iter().map(|held| (printable(&held.name), held)).collect();
    let width = named.iter().map(|(name, _)| name.chars().count()).max().unwrap_or(0);
    for (name, held) in named {
        let (ttl, holder) = (format!("{}ms", held.ttl().as_millis()), printable(&held.holder));
        writeln!(out, "{name:<width$}  {:>6}  {ttl:>9}  {holder}", held.token.get())?;
    }
    Ok(())
}
