//! What security costs: a cluster that `zazen setup` made the files of beside one as it comes.
//!
//! Seals, certificates, login, roles and the audit log are on in the one and off in the other.

use super::beside::{BesideArgs, Extra};
use crate::cluster::Cluster;
use crate::peers::Zazen;
use clap::Args;
use std::fs;
use std::path::Path;
use std::process::Command;
use zazen::client::Access;

/// Measures fail-over and throughput with TLS, seals and login beside those without.
#[derive(Args)]
pub(crate) struct SecureArgs {
    #[command(flatten)]
    beside: BesideArgs,
}

impl SecureArgs {
    pub(crate) fn run(&self) -> Result<(), String> {
        self.beside.run(&Extra {
            title: "secure",
            peer: Zazen::SECURE,
            set_up,
            attend: |_, _| Vec::new(),
            failover_max: 1.5,
            throughput_min: 0.7,
        })
    }
}

/// Gives every node the files that `zazen setup` makes, and tells how an administrator comes in.
fn set_up(cluster: &Cluster<'_>) -> Result<Access, String> {
    let first = &cluster.site.places[0].directory;
    let out = first.join("security");
    let mut command = Command::new(env!("CARGO_BIN_EXE_zazen"));
    let made = command.args(["setup", "--cluster-name", "bench", "--out"]).arg(&out).arg("127.0.0.1").output();
    let made = made.map_err(|error| format!("zazen setup cannot be run: {error}"))?;
    if !made.status.success() {
        return Err(format!("zazen setup failed: {}", String::from_utf8_lossy(&made.stderr)));
    }
    cluster.site.places.iter().try_for_each(|place| hand_out(&out.join("127.0.0.1"), &place.directory))?;
    let access = Access::new(Some(out.join("ca.crt"))).with_token_file(&out.join("admin.token"));
    access.map_err(|error| error.to_string())
}

/// Copies all files but the configuration.
fn hand_out(from: &Path, to: &Path) -> Result<(), String> {
    let cannot = |error: std::io::Error| format!("[{}] cannot be copied: {error}", from.display());
    for file in fs::read_dir(from).map_err(cannot)? {
        let file = file.map_err(cannot)?;
        if file.file_name() != "zazen.yml" {
            fs::copy(file.path(), to.join(file.file_name())).map_err(cannot)?;
        }
    }
    Ok(())
}
