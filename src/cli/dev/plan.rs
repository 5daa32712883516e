//! Where the nodes of a cluster under one terminal listen and keep their data, and the file that each is started with.

use super::DevArgs;
use crate::cli::{Trouble, failed};
use std::fs;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

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
}

impl Plan {
    /// Looks for free ports and writes the files.
    pub(super) fn make(args: &DevArgs) -> Result<Self, Trouble> {
        let count = usize::from(args.nodes);
        let http = free_ports(args.http_port, count)?;
        let transport = free_ports(args.transport_port, count)?;
        let temporary = std::env::temp_dir().join(format!("zazen-dev-{}", std::process::id()));
        let directory = args.data.clone().unwrap_or(temporary);
        make_directory(&directory)?;
        let hosts: Vec<String> = transport.iter().map(|port| format!("\"127.0.0.1:{port}\"")).collect();
        let mut places = Vec::new();
        for (at, (http, transport)) in http.into_iter().zip(transport).enumerate() {
            let name = format!("node-{at}");
            let file = directory.join(format!("{name}.yml"));
            let data = directory.join(&name);
            let text = format!(
                "cluster.name: dev\nnode.name: {name}\npath.data: {}\nhttp.port: {http}\ntransport.tcp.port: {transport}\n\
                 discovery.zen.ping.unicast.hosts: [{}]\n",
                quoted(&data),
                hosts.join(", ")
            );
            fs::write(&file, text).map_err(|error| failed(&format!("write [{}]", file.display()), error))?;
            places.push(Place { name, http, transport, file });
        }
        Ok(Plan { places, settings: args.settings.clone(), directory, is_temporary: args.data.is_none() })
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

fn make_directory(directory: &Path) -> Result<(), Trouble> {
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(directory);
    made.map_err(|error| failed(&format!("create the directory [{}]", directory.display()), error))
}

/// So many ports from `first` on that nobody listens on.
fn free_ports(first: u16, count: usize) -> Result<Vec<u16>, Trouble> {
    let is_free = |port: &u16| TcpListener::bind((Ipv4Addr::LOCALHOST, *port)).is_ok();
    let ports: Vec<u16> = (first.max(1)..=u16::MAX).filter(is_free).take(count).collect();
    if ports.len() < count {
        return Err(Trouble::Usage(format!(
            "[{count}] free ports are needed from [{first}] on, there are {}",
            ports.len()
        )));
    }
    Ok(ports)
}
