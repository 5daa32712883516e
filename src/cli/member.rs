//! `zazen member`: who is in a cluster and counts in it, and who leads it.

use super::ask::UrlArgs;
use super::{CommandError, CommandOutcome, completions, master, refused};
use crate::client::Client;
use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;
use std::io::Write;

/// List the members of a cluster, remove one that died for good, move the mastership.
#[derive(Debug, Args)]
pub(super) struct MemberArgs {
    #[command(flatten)]
    urls: UrlArgs,
    #[command(subcommand)]
    command: MemberCommand,
}

#[derive(Debug, Subcommand)]
enum MemberCommand {
    /// List the nodes, and those that count without being there.
    List,
    /// Take a node that died for good out of the voting set, so that nobody waits for its vote.
    ///
    /// If it comes back all the same, it joins as any other node does.
    Remove {
        /// Its id or its name.
        #[arg(add = ArgValueCompleter::new(completions::nodes))]
        node: String,
    },
    /// Move the mastership to another node, or to the best one.
    Handover {
        /// The id or the name of the node that shall lead.
        #[arg(add = ArgValueCompleter::new(completions::nodes))]
        node: Option<String>,
    },
}

impl MemberArgs {
    pub(super) fn run(&self, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
        let runtime = super::runtime()?;
        runtime.block_on(async {
            let client = master::client(&self.urls).await?;
            match &self.command {
                MemberCommand::List => list(&client, out).await?,
                MemberCommand::Remove { node } => {
                    client.remove_member(node).await.map_err(refused)?;
                    writeln!(out, "[{node}] does not count, and is not missed")?;
                }
                MemberCommand::Handover { node } => {
                    let to = client.hand_over(node.as_deref()).await.map_err(refused)?;
                    writeln!(out, "[{to}] was asked to lead, and agreed")?;
                }
            }
            Ok(CommandOutcome::Fine)
        })
    }
}

async fn list(client: &Client, out: &mut impl Write) -> Result<(), CommandError> {
    let members = client.members().await.map_err(refused)?;
    let rows = members.iter().map(|member| {
        let roles = [
            (member.master, "master"),
            (member.voting && !member.present, "counts, but is gone"),
            (member.voting && member.present, "counts"),
        ];
        let roles: Vec<&str> = roles.iter().filter(|(has, _)| *has).map(|(_, role)| *role).collect();
        let shown = |text: &Option<String>| text.clone().unwrap_or_else(|| "-".into());
        [shown(&member.name), member.id.clone(), shown(&member.transport_address), roles.join(", ")]
    });
    let rows: Vec<[String; 4]> = rows.collect();
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];
    for [name, id, address, roles] in &rows {
        let line = format!("{name:<0$}  {id:<1$}  {address:<2$}  {roles}", widths[0], widths[1], widths[2]);
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}
