//! What a node shows to other nodes and demands of them, put together from its settings, and kept up to date.

use super::figures::Meter;
use super::peers::{Peers, client, client_with};
use super::secure::{NodeFiles, Sealer, Secrets, Shared, Tls, node_files, open_sides, read_private, remind, watch};
use super::start_error::StartError;
use crate::cluster::Address;
use crate::settings::NodeSettings;
use rustls::ClientConfig;
use std::io;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;

/// What tells nodes of this cluster from others.
pub(super) struct Guard {
    pub(super) sealer: Shared,
    pub(super) tls: Option<Tls>,
    client: Option<ClientConfig>,
    files: Option<NodeFiles>,
    secret: Option<PathBuf>,
}

impl Guard {
    /// As the settings of a node say that is reached at this address.
    pub(super) fn of(settings: &NodeSettings, address: &Address) -> Result<Self, StartError> {
        let path = |path: &PathBuf| settings.path_conf.join(path);
        let security = &settings.security;
        let secret = security.secret.as_ref().map(path);
        let secrets = secret.as_deref().map(Secrets::read).transpose().map_err(StartError::Secret)?;
        let sealer = secrets.map(|secrets| {
            let sealer = Sealer::new(secrets, settings.cluster_name.clone(), address.clone());
            sealer
                .map(Arc::new)
                .ok_or_else(|| StartError::System("draw random numbers", io::Error::other("no entropy")))
        });
        let files = node_files(settings).map_err(StartError::Secret)?;
        let read =
            files.as_ref().map(|files| files.read(&settings.cluster_name)).transpose().map_err(StartError::Secret)?;
        let (client, server) = read.unzip();
        Ok(Guard { sealer: sealer.transpose()?, tls: server.map(Tls::new), client, files, secret })
    }

    /// A way to other nodes, beside one of its own for those who ask for figures.
    pub(super) fn peers_beside(&self, meter: &Meter) -> Result<(Peers, Option<Peers>), StartError> {
        let is_on = self.sealer.is_some() || self.tls.is_some();
        let access = is_on.then(|| self.peers()).transpose()?;
        if let Some(access) = &access {
            meter.set_access(access.clone());
        }
        Ok((self.peers()?, access))
    }

    /// A way to other nodes.
    pub(super) fn peers(&self) -> Result<Peers, StartError> {
        let Some(tls) = self.client.clone() else {
            let client = client().map_err(StartError::Client)?;
            return Ok(Peers::new(client, false, self.sealer.clone()));
        };
        let client = client_with(Some(tls)).map_err(StartError::Client)?;
        Ok(Peers::new(client, true, self.sealer.clone()))
    }

    /// Takes over what changes in the files, and reminds of what is open, as long as the node runs.
    pub(super) fn keep_watch(
        self,
        settings: &Arc<NodeSettings>,
        ways: [Option<Peers>; 2],
        (address, hosts): (Address, &[IpAddr]),
    ) {
        if let (Some(path), Some(sealer)) = (self.secret, self.sealer) {
            let mut before = read_private(&path).unwrap_or_default();
            let reload = move || {
                let text = read_private(&path).map_err(|error| error.to_string())?;
                let secrets = Secrets::parse(&text).map_err(|why| format!("[{}]: {why}", path.display()))?;
                if is_cut(&before, &text) {
                    return Err(format!(
                        "[{}]: a secret in it begins as one that was there, and is shorter",
                        path.display()
                    ));
                }
                before = text;
                sealer.renew(secrets);
                Ok(())
            };
            let path = settings.security.secret.iter().map(|path| settings.path_conf.join(path)).collect();
            tokio::spawn(watch(path, "the secret of the cluster", reload));
        }
        if let (Some(files), Some(tls)) = (self.files, self.tls) {
            let paths = vec![files.certificate.clone(), files.key.clone(), files.authorities.clone()];
            let cluster = settings.cluster_name.clone();
            let reload = move || {
                let (client, server) = files.read(&cluster).map_err(|error| error.to_string())?;
                files.are_believed(&cluster, &address)?;
                for way in ways.iter().flatten() {
                    way.renew(client_with(Some(client.clone())).map_err(|error| error.to_string())?);
                }
                tls.renew(server);
                Ok(())
            };
            tokio::spawn(watch(paths, "the certificate of the node", reload));
        }
        let open = open_sides(settings, hosts, &[]);
        if !open.is_empty() {
            tokio::spawn(remind(open));
        }
    }
}

/// Whether a line is the beginning of one that was there, as in a copy that is not complete.
fn is_cut(before: &str, now: &str) -> bool {
    let is_part = |line: &str| before.lines().any(|whole| whole.len() > line.len() && whole.starts_with(line));
    now.lines().map(str::trim).any(|line| !line.is_empty() && is_part(line))
}
