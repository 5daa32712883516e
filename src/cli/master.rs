//! What a command says that needs a master where there is none: a wait of a moment, and then why.

use super::CommandError;
use super::ask::{Asker, UrlArgs};
use super::status::View;
use crate::client::Client;
use std::time::Duration;

/// How often it is looked for a master, and how long the pauses between are: elections take less than that in all.
const LOOKS: u32 = 8;
const PAUSE: Duration = Duration::from_millis(250);

/// A client, as soon as there is a master for it.
pub(super) async fn client(urls: &UrlArgs) -> Result<Client, CommandError> {
    wait(urls).await?;
    urls.client()
}

/// Goes on as soon as some node sees a master, or none answers at all: then the command itself says so.
pub(super) async fn wait(urls: &UrlArgs) -> Result<(), CommandError> {
    let asker = Asker::new(&urls.access()?)?;
    let mut blind = None;
    for look in 0..LOOKS {
        let mut answers = 0;
        for place in urls.places() {
            if let Ok(view) = View::local(&asker, &place).await {
                answers += 1;
                if view.master_node.is_some() {
                    return Ok(());
                }
                blind = Some(place);
            }
        }
        if answers == 0 {
            return Ok(());
        }
        if look + 1 < LOOKS {
            tokio::time::sleep(PAUSE).await;
        }
    }
    let Some(place) = blind else { return Ok(()) };
    let Ok(view) = View::of(&asker, &place).await else { return Ok(()) };
    let first = view.verdicts.first().map(|verdict| {
        let mend = verdict.mend.as_ref().map_or_else(String::new, |mend| format!("; to mend it: {}", mend.line));
        format!("\n{}: {}{mend}", verdict.code.name(), verdict.summary)
    });
    Err(CommandError::Failed(format!("{}{}", view.summary, first.unwrap_or_default())))
}
