//! How a node is started so that it is what it was: its file, and what it was given besides.
//!
//! A setting that was given as an argument or by the environment wins over the file, so it is changed there.

use super::launch::is_of;
use super::shell::quoted;
use super::{Facts, Launch, Mend, Sibling, Worth};
use serde::{Deserialize, Serialize};

/// How a node is started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Start {
    binary: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    file: Option<String>,
    #[serde(default, skip_serializing_if = "Launch::is_empty")]
    launch: Launch,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    owner: Option<(u32, u32)>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unit: Option<String>,
}

impl Start {
    /// By a program, a file and what was given besides.
    pub fn new(binary: &str, file: Option<&str>, launch: &Launch) -> Self {
        let (binary, file) = (binary.to_owned(), file.map(ToOwned::to_owned));
        Start { binary, file, launch: launch.clone(), owner: None, unit: None }
    }

    /// Its configuration, if that is a file.
    pub(super) fn file(&self) -> Option<&str> {
        self.file.as_deref()
    }

    /// As a node was that runs; none if nothing tells how.
    pub(super) fn again(facts: &Facts) -> Option<Self> {
        let is_told = facts.file.is_some() || !facts.launch.is_empty();
        let start = is_told.then(|| Start::new(&facts.binary, facts.file.as_deref(), &facts.launch))?;
        let start = if facts.is_data_relative { start.on(&facts.data) } else { start };
        let start = if facts.unit.is_some() { start.owned_by(facts.user) } else { start };
        Some(Start { unit: facts.unit.clone(), ..start })
    }

    /// As a node was, or would be by its file.
    pub(super) fn of(binary: &str, sibling: &Sibling) -> Self {
        let start = Start::new(binary, sibling.file.as_deref(), &sibling.launch);
        let start = if sibling.is_data_relative { start.on(&sibling.data) } else { start };
        Start { unit: sibling.unit.clone(), ..start }
    }

    /// With another value of a setting.
    pub fn with(mut self, key: &str, worth: &Worth) -> Self {
        self.launch.arguments.retain(|(given, _)| !is_of(given, key));
        self.launch.variables.retain(|variable| variable.gives.as_deref() != Some(key));
        self.launch.arguments.push((key.to_owned(), worth.as_argument()));
        // A unit is started as its file says.
        Start { unit: None, ..self }
    }

    /// On this data directory, wherever it is typed.
    pub fn on(self, data: &str) -> Self {
        self.with("path.data", &Worth::Text(data.to_owned()))
    }

    /// By root, as the user and the group whose its data is: what root wrote there that user could not read.
    pub fn owned_by(self, owner: Option<(u32, u32)>) -> Self {
        Start { owner, ..self }
    }

    /// As a line for a shell.
    pub fn line(&self) -> String {
        if let Some(unit) = &self.unit {
            return format!("systemctl start {}", quoted(unit));
        }
        let variables = self.launch.variables.iter().map(|one| format!("{} ", quoted_pair(&one.name, &one.value)));
        let file = self.file.as_ref().map(|file| format!(" -c {}", quoted(file))).unwrap_or_default();
        let arguments = self.launch.arguments.iter().map(|(key, value)| format!(" -E {}", quoted_pair(key, value)));
        let (variables, arguments): (String, String) = (variables.collect(), arguments.collect());
        let by = self.owner.map(as_user).unwrap_or_default();
        format!("{variables}{by}{} start{file}{arguments}", quoted(&self.binary))
    }

    /// The line, with something before it and what must be given besides, to be typed.
    pub fn mend(&self, before: &str) -> Mend {
        let withheld = if self.unit.is_some() { Vec::new() } else { self.launch.withheld.clone() };
        Mend { withheld, ..Mend::command(format!("{before}{}", self.line())) }
    }
}

fn quoted_pair(key: &str, value: &str) -> String {
    format!("{}={}", quoted(key), quoted(value))
}

/// What comes before a command that root has another user carry out.
pub(super) fn as_user((user, group): (u32, u32)) -> String {
    format!("setpriv --reuid={user} --regid={group} --clear-groups ")
}

/// Ends a node that runs, and waits until it has ended. What is a service would be started again at once if it was ended
/// otherwise.
pub(super) fn stopped(facts: &Facts) -> String {
    match &facts.unit {
        Some(unit) => format!("systemctl stop {}; ", quoted(unit)),
        None => ended(facts.pid),
    }
}

/// Ends a process, and waits until it has ended, as the beginning of a line.
pub fn ended(pid: u32) -> String {
    format!("kill {pid}; {}", until_ended(&[pid]))
}

/// Waits until none of these runs. One that nobody asks what became of it is listed for ever, and runs no more.
pub(super) fn until_ended(pids: &[u32]) -> String {
    let files: String = pids.iter().map(|pid| format!(" /proc/{pid}/status")).collect();
    format!("while grep -q '^State:.[^XZ]'{files} 2>/dev/null; do sleep 0.1; done; ")
}
