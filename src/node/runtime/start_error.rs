//! Why a node could not be started. What it means and what to type is told by `start_failure`.

use super::addresses::AddressError;
use super::descriptors::LEAST;
use super::listen::BindError;
use super::secure;
use super::store::StoreError;
use crate::cluster::ClusterName;
use std::fmt;
use std::io;
use std::path::PathBuf;

/// Why a node could not be started.
#[derive(Debug)]
pub enum StartError {
    /// An address makes no sense here.
    Address(AddressError),
    /// A port could not be had.
    Bind(BindError),
    /// The data directory cannot be used.
    Store(StoreError),
    /// The data directory is that of a node of another cluster.
    OtherCluster {
        /// The directory.
        path: String,
        /// The cluster whose state it holds.
        found: ClusterName,
        /// The configured one.
        configured: ClusterName,
    },
    /// The system refused something.
    System(&'static str, io::Error),
    /// This process may have only so many files and sockets open.
    FewFiles(u64),
    /// A port would be open to everybody.
    Insecure(secure::Insecure),
    /// A file of secrets cannot be used.
    Secret(secure::FileError),
    /// The log cannot be written in its directory.
    Log(PathBuf, io::Error),
    /// The client for other nodes could not be made.
    Client(reqwest::Error),
}

impl fmt::Display for StartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            StartError::Address(error) => write!(f, "{error}"),
            StartError::Bind(error) => write!(f, "{error}"),
            StartError::Store(error) => write!(f, "{error}"),
            StartError::OtherCluster { path, found, configured } => write!(
                f,
                "the data directory [{path}] holds the state of cluster [{found}], but cluster.name is [{configured}]: \
                 set cluster.name to [{found}], or path.data to another directory"
            ),
            StartError::System(what, error) => write!(f, "cannot {what}: {error}"),
            StartError::FewFiles(limit) => write!(
                f,
                "this process may have [{limit}] files and sockets open (ulimit -n), and a node needs at least [{LEAST}]"
            ),
            StartError::Insecure(error) => write!(f, "{error}"),
            StartError::Secret(error) => write!(f, "{error}"),
            StartError::Log(path, error) => {
                write!(f, "cannot write the log in [path.logs: {}]: {error}", path.display())
            }
            StartError::Client(error) => write!(f, "cannot make a client for other nodes: {error}"),
        }
    }
}

impl std::error::Error for StartError {}
