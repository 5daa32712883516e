//! SIGHUP at a node: its configuration is read again, and what is dynamic of it takes effect.
//!
//! The signal also comes when the terminal of a process is closed, and means its end then. What is dynamic is decided in
//! `settings`, and how a node takes it over in `runtime`.

use super::CommandError;
use super::config::{self, ConfigArgs};
use crate::cluster::Metadata;
use crate::runtime::Handle;
use crate::runtime::log::NODE;
use crate::settings::{Again, Loaded, NodeSettings};
use std::collections::BTreeMap;
use std::io::{self, IsTerminal};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// A file that takes longer to be read, as one of a network disk that is gone, is not waited for.
const READING_MAX: Duration = Duration::from_secs(10);

/// The hang-ups of this process.
pub(super) struct HangUps {
    signals: Signal,
    had_terminal: bool,
}

/// What a hang-up means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HangUp {
    /// The terminal was closed.
    Closed,
    /// Somebody wants the configuration to be read again.
    Again,
}

impl HangUps {
    pub(super) fn listen() -> io::Result<Self> {
        Ok(HangUps { signals: signal(SignalKind::hangup())?, had_terminal: io::stdin().is_terminal() })
    }

    /// Waits for one that means this.
    pub(super) async fn wait_for(&mut self, wanted: HangUp) {
        while self.signals.recv().await.is_some() {
            let is_closed = self.had_terminal && !io::stdin().is_terminal();
            if wanted == if is_closed { HangUp::Closed } else { HangUp::Again } {
                return;
            }
        }
        std::future::pending().await
    }
}

/// Reads the configuration again whenever that is wanted.
pub(super) async fn heed(mut hang_ups: HangUps, config: ConfigArgs, handle: Handle) {
    loop {
        hang_ups.wait_for(HangUp::Again).await;
        match read(&config).await {
            Ok(loaded) => {
                config::warn(&loaded);
                let before = handle.settings();
                let again = before.read_again(&loaded.settings);
                tell(&before, &loaded.settings, &again, &handle.state().metadata);
                handle.retune(again.settings).await;
            }
            Err(CommandError::Usage(what) | CommandError::Failed(what)) => {
                tracing::warn!(target: NODE, "SIGHUP: the configuration is refused, and nothing of it is used: {what}");
            }
            Err(CommandError::Output(_)) => {}
        }
    }
}

/// Reads it where nobody waits: the threads that serve users, and hear the next signal, go on whatever the disk does.
async fn read(config: &ConfigArgs) -> Result<Loaded, CommandError> {
    let config = config.clone();
    let reading = tokio::task::spawn_blocking(move || config::load_again(&config));
    match tokio::time::timeout(READING_MAX, reading).await {
        Ok(read) => read.map_err(|error| CommandError::Failed(error.to_string()))?,
        Err(_) => Err(CommandError::Failed(format!("it could not be read within {READING_MAX:?}"))),
    }
}

/// Says what takes effect, what waits, and what the cluster goes over.
fn tell(before: &NodeSettings, after: &NodeSettings, again: &Again, cluster: &Metadata) {
    let change = |key: &String| format!("{key}: {} -> {}", shown(&before.given, key), shown(&after.given, key));
    let list = |keys: &[String]| keys.iter().map(change).collect::<Vec<_>>().join(", ");
    let (applied, waiting) = (list(&again.applied), list(&again.waiting));
    tracing::info!(
        target: NODE,
        "SIGHUP: read the configuration again; in effect at once: [{applied}], with the next start: [{waiting}]"
    );
    for key in &again.applied {
        let over = cluster.transient.get(key.as_str()).or_else(|| cluster.persistent.get(key.as_str()));
        if let Some(value) = over {
            tracing::warn!(target: NODE, "SIGHUP: [{key}] is [{value}] in the cluster's settings, which go over the file");
        }
    }
}

fn shown(given: &BTreeMap<String, crate::settings::Value>, key: &str) -> String {
    given.get(key).map_or_else(|| "default".into(), |value| value.joined())
}
