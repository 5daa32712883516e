//! Where the nodes of a cluster under one terminal listen and keep their data, and the file that each is started with.

use super::DevArgs;
use crate::cli::setup::Shared;
use crate::cli::setup::make_private_directory;
use crate::cli::{CommandError, failed};
use crate::runtime::Access;
use crate::runtime::secure::LINES;
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::path::{Path, PathBuf};

/// For how long the certificates of a cluster under a terminal last.
const DAYS: u64 = 365;

/// One node.
pub(super) struct Place {
    pub(super) name: String,
    pub(super) http: u16,
    pub(super) transport: u16,
    /// The file that it is started with.
    pub(super) file: PathBuf,
}

/// The nodes of a cluster.
pub(super) struct Plan {
    pub(super) places: Vec<Place>,
    /// Settings for every node, as they were given.
    pub(super) settings: Vec<(String, String)>,
    directory: PathBuf,
    is_temporary: bool,
    access: Access,
}

impl Plan {
    /// Looks for free ports and writes the files.
    pub(super) fn make(args: &DevArgs) -> Result<Self, CommandError> {
        let count = usize::from(args.nodes);
        let http = free_ports(args.http_port, count)?;
        let transport = free_ports(args.transport_port, count)?;
        let temporary = std::env::temp_dir().join(format!("zazen-dev-{}", std::process::id()));
        let directory = args.data.clone().unwrap_or(temporary);
        make_private_directory(&directory)?;
        let hosts: Vec<String> = transport.iter().map(|port| format!("\"127.0.0.1:{port}\"")).collect();
        let secure = args.secure.then(|| Shared::open(&directory, "dev".into(), DAYS)).transpose()?;
        let mut places = Vec::new();
        for (at, (http, transport)) in http.into_iter().zip(transport).enumerate() {
            let name = format!("node-{at}");
            let file = match &secure {
                None => directory.join(format!("{name}.yml")),
                Some(shared) => {
                    let own = directory.join(format!("{name}.conf"));
                    shared.equip(&own, &["127.0.0.1".into()])?;
                    own.join("zazen.yml")
                }
            };
            let data = directory.join(&name);
            let text = format!(
                "cluster.name: dev\nnode.name: {name}\npath.data: {}\nhttp.port: {http}\ntransport.tcp.port: {transport}\n\
                 discovery.zen.ping.unicast.hosts: [{}]\n{}",
                quoted(&data),
                hosts.join(", "),
                if secure.is_some() { LINES } else { "" }
            );
            fs::write(&file, text).map_err(|error| failed(&format!("write [{}]", file.display()), error))?;
            places.push(Place { name, http, transport, file });
        }
        let mut access = Access::default();
        if secure.is_some() {
            access.authorities = Some(directory.join("ca.crt"));
            access = access
                .with_token_file(&directory.join("admin.token"))
                .map_err(|error| failed("read the token", error))?;
        }
        let (settings, is_temporary) = (args.settings.clone(), args.data.is_none());
        Ok(Plan { places, settings, directory, is_temporary, access })
    }

    /// What its nodes demand of their users.
    pub(super) fn access(&self) -> &Access {
        &self.access
    }

    pub(super) fn is_secure(&self) -> bool {
        self.access.authorities.is_some()
    }

    pub(super) fn scheme(&self) -> &'static str {
        if self.is_secure() { "https" } else { "http" }
    }

    pub(super) fn directory(&self) -> &Path {
        &self.directory
    }

    /// Removes what nobody asked to keep.
    pub(super) fn clean_up(&self) {
        if self.is_temporary {
            // What cannot be removed stays in the directory for temporary files.
            let _ = fs::remove_dir_all(&self.directory);
        }
    }
}

/// A path as a YAML text.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.display().to_string().replace('\'', "''"))
}

/// So many ports from `first` on that nobody listens on.
fn free_ports(first: u16, count: usize) -> Result<Vec<u16>, CommandError> {
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    let ports: Vec<u16> = (first.max(1)..=u16::MAX).filter(is_free).take(count).collect();
    if ports.len() < count {
        return Err(CommandError::Usage(format!(
            "[{count}] free ports are needed from [{first}] on, there are {}",
            ports.len()
        )));
    }
    Ok(ports)
}
