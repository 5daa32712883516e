//! Runs one hook once: a program, without a shell, that gets the event on its standard input and in its environment; or a
//! POST of it to an address. Either has to be done within a time.

use super::Event;
use crate::runtime::outside;
use crate::settings::Hook;
use rustix::process::{Pid, Signal, kill_process_group};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::process::{Child, Command};

/// What of this process's environment a program gets.
const PASSED_ON: [&str; 4] = ["PATH", "HOME", "LANG", "TZ"];

/// How long a variable may be. Somewhere above that the system runs no program with it, and names are as long as somebody
/// likes.
const VARIABLE_MAX: usize = 4096;

/// Runs it; why not, if that failed.
pub(super) async fn run(hook: &Hook, event: &Event, attempt: u32, timeout: Duration) -> Result<(), String> {
    let body = serde_json::to_string(event).map_err(|error| error.to_string())?;
    match hook {
        Hook::Exec { program, arguments } => exec(program, arguments, event, attempt, body, timeout).await,
        Hook::Webhook { url } => post(url, event, attempt, body, timeout).await,
    }
}

/// Ends a program with all that it started.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0 {
            // It may have ended by itself.
            let _ = kill_process_group(group, Signal::KILL);
        }
    }
}

async fn exec(
    program: &str,
    arguments: &[String],
    event: &Event,
    attempt: u32,
    body: String,
    timeout: Duration,
) -> Result<(), String> {
    let mut command = Command::new(program);
    command.args(arguments).env_clear();
    command.envs(PASSED_ON.iter().filter_map(|name| Some((name, std::env::var_os(name)?))));
    command.envs(environment(event, attempt));
    command.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::inherit());
    command.process_group(0).kill_on_drop(true);
    let mut child = command.spawn().map_err(|error| format!("[{program}] cannot be run: {error}"))?;
    let mut group = Group(child.id().and_then(|id| Pid::from_raw(id.cast_signed())));
    let status = tokio::time::timeout(timeout, feed(&mut child, body)).await;
    match status {
        Ok(Ok(status)) => {
            // What it left running in the background is its own.
            group.0 = None;
            if status.success() { Ok(()) } else { Err(format!("[{program}] ended with {status}")) }
        }
        Ok(Err(error)) => Err(format!("[{program}]: {error}")),
        Err(_) => Err(format!("[{program}] was not done within [{timeout:?}] and was killed")),
    }
}

async fn feed(child: &mut Child, body: String) -> std::io::Result<std::process::ExitStatus> {
    if let Some(mut stdin) = child.stdin.take() {
        // A program need not read what it is told.
        let _ = stdin.write_all(body.as_bytes()).await;
    }
    child.wait().await
}

/// What a program is told without reading.
fn environment(event: &Event, attempt: u32) -> impl Iterator<Item = (&'static str, String)> {
    let master = event.master.as_ref();
    let subject = event.subject.as_ref();
    let all = [
        ("ZAZEN_EVENT", event.trigger.name().into()),
        ("ZAZEN_EVENT_NUMBER", event.number.to_string()),
        ("ZAZEN_ATTEMPT", attempt.to_string()),
        ("ZAZEN_CLUSTER_NAME", event.cluster_name.clone()),
        ("ZAZEN_TERM", event.term.to_string()),
        ("ZAZEN_FENCING_TOKEN", event.fencing_token.to_string()),
        ("ZAZEN_STATE_VERSION", event.state.version.to_string()),
        ("ZAZEN_NODE_NAME", event.node.name.clone()),
        ("ZAZEN_NODE_ID", event.node.id.clone()),
        ("ZAZEN_IS_MASTER", event.is_master.to_string()),
        ("ZAZEN_MASTER_NAME", master.map(|master| master.name.clone()).unwrap_or_default()),
        ("ZAZEN_MASTER_ID", master.map(|master| master.id.clone()).unwrap_or_default()),
        ("ZAZEN_MASTER_ADDRESS", master.map(|master| master.address.clone()).unwrap_or_default()),
        ("ZAZEN_MASTER_HOST", master.map(|master| master.host.clone()).unwrap_or_default()),
        ("ZAZEN_SUBJECT_NAME", subject.map(|subject| subject.name.clone()).unwrap_or_default()),
        ("ZAZEN_SUBJECT_ADDRESS", subject.map(|subject| subject.address.clone()).unwrap_or_default()),
    ];
    all.into_iter().map(|(name, value)| (name, shortened(value)))
}

/// The beginning of a text that is longer than a variable may be; the whole of it is in what the program reads.
fn shortened(mut text: String) -> String {
    text.truncate(text.floor_char_boundary(VARIABLE_MAX));
    text
}

async fn post(url: &str, event: &Event, attempt: u32, body: String, timeout: Duration) -> Result<(), String> {
    let client = outside::client(url, timeout)?;
    let request = client
        .post(url)
        .header("content-type", "application/json")
        .header("x-zazen-event", event.trigger.name())
        .header("x-zazen-attempt", attempt)
        .body(body);
    let response = request.send().await.map_err(|error| outside::why(&error))?;
    if response.status().is_success() { Ok(()) } else { Err(format!("[{url}] answered {}", response.status())) }
}
