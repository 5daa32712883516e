//! `zazen settings`: the settings of a running cluster, from the command line.

use super::ask::{Asker, Place, UrlArgs, nobody};
use super::{CommandError, CommandOutcome, completions, config, master};
use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;
use serde_json::{Map, Value, json};
use std::io::Write;
use std::time::Duration;

/// How long a question may take; a change waits for a master besides.
const ANSWER_MAX: Duration = Duration::from_secs(35);

/// Show and change the settings of a running cluster.
///
/// What is set holds for all nodes and goes over their files. What can be set is said to be dynamic in docs/settings.md.
#[derive(Debug, Args)]
pub(super) struct SettingsArgs {
    #[command(flatten)]
    urls: UrlArgs,
    #[command(subcommand)]
    command: SettingsCommand,
}

#[derive(Debug, Subcommand)]
enum SettingsCommand {
    /// List what is set, and with --all what holds besides on the node that answers.
    List {
        /// Print what was not set as well.
        #[arg(long)]
        all: bool,
    },
    /// Set some, all or none of them.
    Set {
        /// As in discovery.zen.commit_timeout=10s.
        #[arg(required = true, value_name = "KEY=VALUE", value_parser = config::key_and_value,
              add = ArgValueCompleter::new(completions::key_value))]
        settings: Vec<(String, String)>,
        /// Until the next full restart only.
        #[arg(long)]
        transient: bool,
    },
    /// Let go of some, of both kinds.
    Unset {
        /// As in discovery.zen.commit_timeout; a * stands for anything.
        #[arg(required = true, value_name = "KEY", add = ArgValueCompleter::new(completions::setting))]
        keys: Vec<String>,
    },
}

impl SettingsArgs {
    pub(super) fn run(&self, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
        let runtime = super::runtime()?;
        runtime.block_on(async {
            master::wait(&self.urls).await?;
            match &self.command {
                SettingsCommand::List { all } => self.list(*all, out).await,
                SettingsCommand::Set { settings, transient } => {
                    let wanted = settings.iter().map(|(key, value)| (key.clone(), json!(value)));
                    let kind = if *transient { "transient" } else { "persistent" };
                    self.change(json!({ kind: Map::from_iter(wanted) })).await
                }
                SettingsCommand::Unset { keys } => {
                    let none = Map::from_iter(keys.iter().map(|key| (key.clone(), Value::Null)));
                    self.change(json!({ "persistent": none, "transient": none })).await
                }
            }
        })
    }

    async fn list(&self, is_all: bool, out: &mut impl Write) -> Result<CommandOutcome, CommandError> {
        let path = format!("/_cluster/settings?flat_settings=true&include_defaults={is_all}");
        let told: Value = first(&self.urls, |asker, place| {
            let path = path.clone();
            async move { asker.ask(&place, &path, ANSWER_MAX).await }
        })
        .await?;
        for kind in ["persistent", "transient", "defaults"] {
            for (key, value) in told[kind].as_object().into_iter().flatten() {
                let text = value.as_str().map_or_else(|| value.to_string(), ToOwned::to_owned);
                writeln!(out, "{kind:<10}  {key} = {text}")?;
            }
        }
        Ok(CommandOutcome::Fine)
    }

    async fn change(&self, body: Value) -> Result<CommandOutcome, CommandError> {
        let body = body.to_string();
        let told = first(&self.urls, |asker, place| {
            let body = body.clone();
            async move { asker.put(&place, "/_cluster/settings", body, ANSWER_MAX).await }
        })
        .await?;
        if told.status == 200 {
            return Ok(CommandOutcome::Fine);
        }
        let reason = &told.answer["error"]["reason"];
        let reason = reason.as_str().map_or_else(|| told.answer.to_string(), ToOwned::to_owned);
        let hint = told.hint.map_or_else(String::new, |hint| format!(", {hint}"));
        Err(CommandError::Failed(format!("{reason}{hint}")))
    }
}

/// What the first node says that answers.
async fn first<T, F, Answer>(urls: &UrlArgs, ask: F) -> Result<T, CommandError>
where
    F: Fn(Asker, Place) -> Answer,
    Answer: Future<Output = Result<T, super::ask::Silence>>,
{
    let (asker, mut tried) = (Asker::new(&urls.access()?)?, Vec::new());
    for place in asker.awake_first(urls.places()).await {
        match ask(asker.clone(), place.clone()).await {
            Ok(told) => return Ok(told),
            Err(why) => tried.push((place, why)),
        }
    }
    Err(CommandError::Failed(nobody(&tried)))
}
