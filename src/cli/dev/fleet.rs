//! The processes of a cluster under one terminal.

use super::orders::{Deed, Order};
use super::plan::{Place, Plan};
use crate::cli::ask::{self, Asker};
use crate::cli::status::{View, called};
use crate::cli::{CommandError, CommandOutcome, failed};
use rustix::process::{Pid, Signal, kill_process};
use std::fmt::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::process::{Child, ChildStdin, Command};

/// How long nodes that were told to end are waited for before they are killed.
const END_MAX: Duration = Duration::from_millis(1_500);

/// How often it is asked whether the cluster is formed.
const ASK_AGAIN: Duration = Duration::from_millis(20);

/// A node that runs.
struct Node {
    child: Child,
    /// Held open for as long as the node is to run; waiting for the child would close its own.
    _stdin: Option<ChildStdin>,
}

impl Node {
    fn id(&self) -> Option<u32> {
        self.child.id()
    }
}

/// The nodes, each running or not.
pub(super) struct Fleet<'a> {
    plan: &'a Plan,
    children: Vec<Option<Node>>,
}

impl<'a> Fleet<'a> {
    /// Starts every node.
    pub(super) fn start(plan: &'a Plan) -> Result<Self, CommandError> {
        let mut fleet = Fleet { plan, children: Vec::new() };
        for place in &plan.places {
            fleet.children.push(Some(run(plan, place)?));
        }
        Ok(fleet)
    }

    /// Whether any node runs.
    pub(super) fn is_running(&self) -> bool {
        self.children.iter().any(Option::is_some)
    }

    /// The nodes, who is their master, and what can be done with them.
    pub(super) async fn picture(&self) -> String {
        let views = self.views().await;
        let master = views.iter().flatten().filter_map(|view| view.master_node.as_ref().zip(Some(view.term)));
        let master = master.max_by_key(|(_, term)| *term).map(|(node, _)| called(node));
        let page = self.plan.places.first().map_or(0, |first| first.http);
        let mut text = format!("\n  Watch it: {}://127.0.0.1:{page}/_dashboard\n", self.plan.scheme());
        if self.plan.is_secure() {
            let directory = self.plan.directory().display();
            let _ = writeln!(
                text,
                "            name admin, password all of {directory}/admin.token; the browser does not know {directory}/ca.crt"
            );
        }
        text.push_str("\n    node      http                    transport        pid      does\n");
        let mut pid_of_master = None;
        for ((place, child), view) in self.plan.places.iter().zip(&self.children).zip(&views) {
            let pid = child.as_ref().and_then(Node::id).map_or("-".into(), |pid| pid.to_string());
            let does = match (child, view) {
                (None, _) => "ended",
                (Some(_), None) => "does not answer",
                (Some(_), Some(view)) => view.mode.as_str(),
            };
            let is_master = master.as_ref() == Some(&place.name) && child.is_some();
            let star = if is_master { "*" } else { " " };
            if is_master {
                pid_of_master = Some(pid.clone());
            }
            let (http, transport) = (format!("{}://127.0.0.1:{}", self.plan.scheme(), place.http), place.transport);
            let _ = writeln!(text, "  {star} {:<9} {http:<23} 127.0.0.1:{transport:<6} {pid:<8} {does}", place.name);
        }
        text + &self.hints(pid_of_master.as_deref())
    }

    fn hints(&self, master: Option<&str>) -> String {
        let url = self.plan.places.first().map_or_else(String::new, |first| format!("127.0.0.1:{}", first.http));
        let (master, what) = master.map_or(("PID", "end a node"), |pid| (pid, "end the master"));
        let (directory, scheme) =
            (self.plan.directory().display(), if self.plan.is_secure() { "https://" } else { "" });
        let (curl, zazen) = if self.plan.is_secure() {
            (
                format!(
                    "curl --cacert {directory}/ca.crt -H \"Authorization: Bearer $(cat {directory}/admin.token)\" "
                ),
                format!("--ca {directory}/ca.crt --token-file {directory}/admin.token "),
            )
        } else {
            ("curl ".into(), String::new())
        };
        format!(
            "\n  Data and configuration: {directory}\n\n  Try, in another terminal:\n    {curl}'{scheme}{url}/_cat/nodes?v'\n    \
             {curl}'{scheme}{url}/_cluster/state?pretty'\n    zazen status --watch {zazen}--url {url}\n    kill -9 {master}    # {what}\n  \
             or here: kill, stop, pause, resume or start a node, as in `kill node-0`; show; quit.\n\n",
        )
    }

    /// What each node says that runs and answers.
    async fn views(&self) -> Vec<Option<View>> {
        let Ok(asker) = Asker::new(self.plan.access()) else {
            return self.children.iter().map(|_| None).collect();
        };
        let view = |(place, child): (&Place, &Option<Node>)| {
            let (asker, place, is_running) = (asker.clone(), at(place), child.is_some());
            async move { if is_running { View::local(&asker, &place).await.ok() } else { None } }
        };
        futures_util::future::join_all(self.plan.places.iter().zip(&self.children).map(view)).await
    }

    /// Waits until a node ends, and tells how.
    pub(super) async fn next_ended(&mut self) -> String {
        let running = self.children.iter_mut().enumerate();
        let ends = running.filter_map(|(at, child)| child.as_mut().map(|node| (at, &mut node.child)));
        let ends: Vec<_> = ends.map(|(at, child)| Box::pin(async move { (at, child.wait().await) })).collect();
        if ends.is_empty() {
            return std::future::pending().await;
        }
        let ((at, status), _, _) = futures_util::future::select_all(ends).await;
        self.children[at] = None;
        let Place { name, file, .. } = &self.plan.places[at];
        let how = status.map_or_else(|error| error.to_string(), how);
        format!("{name} {how}; bring it back with `start {name}`, or elsewhere with: zazen start -c {}", file.display())
    }

    /// Which node is master, as far as the nodes tell.
    async fn master(&self) -> Option<usize> {
        let views = self.views().await;
        let id = views.iter().flatten().find_map(|view| view.master_node.as_ref()).map(|master| master.id.clone())?;
        views.iter().position(|view| view.as_ref().is_some_and(|view| view.node.id == id))
    }

    /// Does what was typed, and says what was done.
    pub(super) async fn obey(&mut self, order: Order) -> Result<String, CommandError> {
        let (deed, at) = match order {
            Order::Show | Order::Quit => return Ok(self.picture().await),
            Order::Node(deed, at) => (deed, at),
            Order::Master(deed) => match self.master().await {
                Some(at) => (deed, at),
                None => return Ok("no node is master at present".into()),
            },
        };
        let Some(place) = self.plan.places.get(at) else {
            return Ok(format!("there is no node-{at}, only node-0 to node-{}", self.plan.places.len() - 1));
        };
        let pid = self.children[at].as_ref().and_then(Node::id);
        match (deed, pid) {
            (Deed::Start, Some(pid)) => Ok(format!("{} runs already, pid {pid}", place.name)),
            (Deed::Start, None) => {
                let child = run(self.plan, place)?;
                let pid = child.id().unwrap_or_default();
                self.children[at] = Some(child);
                Ok(format!("{} was started, pid {pid}", place.name))
            }
            (Deed::Kill | Deed::Stop | Deed::Pause | Deed::Resume, None) => Ok(format!("{} does not run", place.name)),
            (Deed::Kill, Some(pid)) => Ok(send(place, pid, Signal::KILL, "SIGKILL")),
            (Deed::Stop, Some(pid)) => Ok(send(place, pid, Signal::TERM, "SIGTERM")),
            (Deed::Pause, Some(pid)) => Ok(send(place, pid, Signal::STOP, "SIGSTOP")),
            (Deed::Resume, Some(pid)) => Ok(send(place, pid, Signal::CONT, "SIGCONT")),
        }
    }

    /// Ends all nodes: asked first, killed if they do not within a moment, or when `hurry` comes.
    pub(super) async fn end(mut self, hurry: impl Future<Output = ()>) -> Result<CommandOutcome, CommandError> {
        for (place, child) in self.plan.places.iter().zip(&self.children) {
            if let Some(pid) = child.as_ref().and_then(Node::id) {
                // A paused node hears nothing before it goes on.
                send(place, pid, Signal::TERM, "SIGTERM");
                send(place, pid, Signal::CONT, "SIGCONT");
            }
        }
        let all = async {
            for node in self.children.iter_mut().flatten() {
                let _ = node.child.wait().await;
            }
        };
        tokio::select! {
            () = all => return Ok(CommandOutcome::Fine),
            () = tokio::time::sleep(END_MAX) => {}
            () = hurry => {}
        }
        for node in self.children.iter_mut().flatten() {
            // It has ended meanwhile if it cannot be killed.
            let _ = node.child.kill().await;
        }
        Ok(CommandOutcome::Fine)
    }
}

/// Waits until the first node knows a master and all nodes; tells whether it came to that in time.
pub(super) async fn is_formed(plan: &Plan, patience: Duration) -> bool {
    let (Some(first), Ok(asker)) = (plan.places.first(), Asker::new(plan.access())) else {
        return true;
    };
    let path = format!("/_cluster/health?wait_for_nodes={}&timeout=5s", plan.places.len());
    let formed = async {
        while asker.ask::<serde_json::Value>(&at(first), &path, patience).await.is_err() {
            tokio::time::sleep(ASK_AGAIN).await;
        }
    };
    tokio::time::timeout(patience, formed).await.is_ok()
}

fn at(place: &Place) -> ask::Place {
    ask::Place(format!("127.0.0.1:{}", place.http))
}

/// Runs a node. It ends when this process does, whatever ends that: its standard input closes then.
fn run(plan: &Plan, place: &Place) -> Result<Node, CommandError> {
    let program = std::env::current_exe().map_err(|error| failed("find this program", error))?;
    let mut command = Command::new(program);
    command.arg("start").arg("--config").arg(&place.file).arg("--until-stdin-ends");
    for (key, value) in &plan.settings {
        command.arg("-E").arg(format!("{key}={value}"));
    }
    // A group of its own: Ctrl-C reaches this process only, which ends its nodes in good order.
    command.stdin(Stdio::piped()).kill_on_drop(true).process_group(0);
    let mut child = command.spawn().map_err(|error| failed(&format!("start {}", place.name), error))?;
    let stdin = child.stdin.take();
    Ok(Node { child, _stdin: stdin })
}

fn send(place: &Place, pid: u32, signal: Signal, word: &str) -> String {
    let target = i32::try_from(pid).ok().and_then(Pid::from_raw);
    match target.map(|target| kill_process(target, signal)) {
        Some(Ok(())) => format!("{word} was sent to {}, pid {pid}", place.name),
        Some(Err(error)) => format!("cannot send {word} to {}, pid {pid}: {error}", place.name),
        None => format!("{} has no pid", place.name),
    }
}

fn how(status: ExitStatus) -> String {
    match (status.signal(), status.code()) {
        (Some(signal), _) => format!("was ended by signal {signal}"),
        (None, Some(code)) => format!("ended with exit code {code}"),
        (None, None) => "ended".into(),
    }
}
