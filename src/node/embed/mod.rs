//! A whole node inside another program: the same as `zazen start` runs, without a process of its own.
//!
//! The node keeps its own threads, and so does what serves its users and calls the program back; the program needs no
//! runtime of its own.

mod mastership;
mod users;

pub use mastership::Mastership;
pub use users::{Users, leave};

use crate::client::{Client, ClientError};
use crate::cluster::{self, ClusterState};
use crate::runtime::listen::Server;
use crate::runtime::log::{LevelError, Levels, Log};
use crate::runtime::{self, Handle, Running, StartError};
use crate::settings::{self, Faults, FileText, NodeSettings, Sources};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, mpsc};
use std::thread::{self, JoinHandle};
use std::time::Duration;
use std::{fmt, io};
use tokio::sync::oneshot;

/// How long requests of users may go on once the node has left.
const DRAIN: Duration = Duration::from_millis(100);

/// Why an embedded node could not be started.
#[derive(Debug)]
pub enum EmbedError {
    /// The settings make no sense.
    Settings(Faults),
    /// The level of a logger is none.
    Level(LevelError),
    /// The node could not be started.
    Start(StartError),
    /// The system refused something.
    System(io::Error),
}

impl fmt::Display for EmbedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EmbedError::Settings(faults) => write!(f, "{faults}"),
            EmbedError::Level(error) => write!(f, "{error}"),
            EmbedError::Start(error) => write!(f, "{error}"),
            EmbedError::System(error) => write!(f, "cannot start the threads of a node: {error}"),
        }
    }
}

impl std::error::Error for EmbedError {}

type OnMastership = Box<dyn FnMut(Mastership) + Send>;

/// What an embedded node is to be.
#[derive(Default)]
pub struct Builder {
    file: Option<String>,
    settings: Vec<(String, String)>,
    on_mastership: Option<OnMastership>,
}

impl Builder {
    /// Takes the settings from the text of a configuration file.
    #[must_use]
    pub fn config(self, text: impl Into<String>) -> Builder {
        Builder { file: Some(text.into()), ..self }
    }

    /// Gives a setting, which wins over those of the file, and over those of the cluster as `-E` does on a command line. All
    /// are listed in `docs/settings.md`.
    #[must_use]
    pub fn setting(mut self, key: impl Into<String>, value: impl fmt::Display) -> Builder {
        self.settings.push((key.into(), value.to_string()));
        self
    }

    /// Is called once at the beginning and whenever somebody else leads, on a thread that has nothing else to do. What changes
    /// while it runs is told when it returns, the newest only.
    #[must_use]
    pub fn on_mastership(self, call: impl FnMut(Mastership) + Send + 'static) -> Builder {
        Builder { on_mastership: Some(Box::new(call)), ..self }
    }

    /// Starts the node, and returns when it listens.
    pub fn start(self) -> Result<Node, EmbedError> {
        let sources = Sources {
            file: self.file.as_deref().map(|text| FileText { name: "the configuration", text }),
            environment: &BTreeMap::new(),
            arguments: &self.settings,
            path_conf: ".".into(),
        };
        let settings = settings::load(&sources).map_err(EmbedError::Settings)?.settings;
        // What is printed, and where, is the business of the program.
        let (levels, _) = Levels::new(&settings.log).map_err(EmbedError::Level)?;
        let (stop, stopped) = oneshot::channel();
        let (ready, is_ready) = mpsc::channel();
        let told = StartOptions { settings, log: Log::new(levels), call: self.on_mastership };
        let run = move || run(told, &ready, stopped);
        let thread = thread::Builder::new().name("zazen".into()).spawn(run).map_err(EmbedError::System)?;
        let died = || EmbedError::System(io::Error::other("the thread ended at once"));
        let (handle, http) = is_ready.recv().unwrap_or_else(|_| Err(died()))?;
        Ok(Node { handle, http, stop: Some(stop), thread: Some(thread) })
    }
}

/// How a node is to end.
enum Ending {
    /// After a good-bye.
    Leave,
    /// At once.
    Drop,
}

/// A running node. It ends when this is dropped, as if its process were killed; [`Node::stop`] lets it say good-bye.
///
/// ```
/// # use zazen_node as zazen;
/// # let data = std::env::temp_dir().join(format!("zazen-embedded-{}", std::process::id()));
/// # let free = || Ok::<_, std::io::Error>(std::net::TcpListener::bind("127.0.0.1:0")?.local_addr()?.port());
/// use zazen::Node;
/// use zazen::embed::Mastership;
///
/// let node = Node::builder()
///     .setting("cluster.name", "demo")
///     .setting("discovery.type", "single-node")
///     .setting("path.data", data.display())
/// #   .setting("transport.tcp.port", free()?)
/// #   .setting("http.port", free()?)
///     .on_mastership(|who| println!("{who:?}"))
///     .start()?;
/// # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
/// let client = node.client()?;
/// client.put("greeting", "hello").await?;
/// let entry = client.get("greeting").await?.expect("it was just written");
/// assert_eq!(entry.value.to_string(), "hello");
/// assert!(matches!(node.mastership(), Mastership::Leading { .. }));
/// # Ok::<_, zazen::client::ClientError>(())
/// # })?;
/// node.stop();
/// # std::fs::remove_dir_all(data)?;
/// # Ok::<_, Box<dyn std::error::Error>>(())
/// ```
pub struct Node {
    handle: Handle,
    http: Option<SocketAddr>,
    stop: Option<oneshot::Sender<Ending>>,
    thread: Option<JoinHandle<()>>,
}

impl Node {
    /// Says what a node is to be.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// The way to its core: states as they come, and questions.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// The node as others know it.
    pub fn local(&self) -> &Arc<cluster::Node> {
        self.handle.local()
    }

    /// The newest state that it applied.
    pub fn state(&self) -> Arc<ClusterState> {
        self.handle.state()
    }

    /// Who leads, as far as it knows.
    pub fn mastership(&self) -> Mastership {
        Mastership::of(&self.state(), &self.local().id)
    }

    /// Where its users find it, unless `http.enabled` is false.
    pub fn http_address(&self) -> Option<SocketAddr> {
        self.http
    }

    /// A client that asks this node, and the others that it learns of.
    pub fn client(&self) -> Result<Client, ClientError> {
        Client::new(self.http.map(|address| address.to_string()))
    }

    /// Leaves the cluster in good order, and returns when the node has ended.
    pub fn stop(mut self) {
        self.end(Ending::Leave);
    }

    fn end(&mut self, ending: Ending) {
        if let Some(stop) = self.stop.take() {
            // A node that ended by itself hears nothing.
            let _ = stop.send(ending);
        }
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        self.end(Ending::Drop);
    }
}

/// What the thread of a node is told.
struct StartOptions {
    settings: NodeSettings,
    log: Log,
    call: Option<OnMastership>,
}

type Ready = Result<(Handle, Option<SocketAddr>), EmbedError>;

fn run(told: StartOptions, ready: &mpsc::Sender<Ready>, stopped: oneshot::Receiver<Ending>) {
    let StartOptions { settings, log, call } = told;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = match runtime {
        Ok(runtime) => runtime,
        Err(error) => {
            // Whoever waits for it is there.
            let _ = ready.send(Err(EmbedError::System(error)));
            return;
        }
    };
    runtime.block_on(async {
        match begin(settings, log).await {
            Ok((node, users, server)) => {
                let _ = ready.send(Ok((node.handle().clone(), users)));
                let told = call.map(|call| tell(node.handle().clone(), call)).transpose();
                if let Err(error) = &told {
                    tracing::error!("cannot start the thread that reports changes of mastership: {error}");
                }
                finish(node, server, stopped).await;
            }
            Err(error) => drop(ready.send(Err(EmbedError::Start(error)))),
        }
    });
}

async fn begin(settings: NodeSettings, log: Log) -> Result<(Running, Option<SocketAddr>, Option<Server>), StartError> {
    let users = Users::listen(&settings).await?;
    let address = users.address();
    let node = runtime::start(settings, users.place().cloned(), log)?;
    let server = users.serve(node.handle());
    Ok((node, address, server))
}

async fn finish(node: Running, server: Option<Server>, stopped: oneshot::Receiver<Ending>) {
    let handle = node.handle().clone();
    let ending = tokio::select! {
        ending = stopped => ending.unwrap_or(Ending::Drop),
        () = handle.ended() => Ending::Drop,
    };
    match ending {
        Ending::Leave => users::leave(&handle, server.as_ref()).await,
        Ending::Drop => {}
    }
    node.stop().await;
    if let Some(server) = server {
        server.stop(DRAIN).await;
    }
}

/// Calls the program on a thread of its own, which may take its time and ends with the node.
fn tell(handle: Handle, mut call: OnMastership) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let work = move || {
        let local = handle.local().id.clone();
        let mut states = handle.states();
        drop(handle);
        let mut told = None;
        loop {
            let now = Mastership::of(&states.borrow_and_update(), &local);
            if told.as_ref() != Some(&now) {
                call(now.clone());
                told = Some(now);
            }
            if runtime.block_on(states.changed()).is_err() {
                return;
            }
        }
    };
    thread::Builder::new().name("mastership".into()).spawn(work).map(drop)
}
