//! What a node shows to other nodes and demands of them, put together from its settings, and kept up to date.

use super::seal::{Sealer, Shared};
use super::tls::{NodeFiles, Tls, for_users};
use super::users::read_users;
use super::{FileError, Secrets, open_sides, read_private, watch};
use crate::cluster::Address;
use crate::runtime::figures::Meter;
use crate::runtime::log::NODE;
use crate::runtime::start::StartError;
use crate::runtime::peers::{Peers, client_with};
use crate::settings::NodeSettings;
use rustls::ClientConfig;
use std::io;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// How often it is said that a port is open to everybody.
const REMIND: Duration = Duration::from_secs(60);

/// What tells nodes of this cluster from others.
pub(in crate::runtime) struct Guard {
    pub(in crate::runtime) sealer: Shared,
    pub(in crate::runtime) tls: Option<Tls>,
    client: Option<ClientConfig>,
    files: Option<NodeFiles>,
    secret: Option<PathBuf>,
}

impl Guard {
    /// As the settings of a node say that is reached at this address.
    pub(in crate::runtime) fn of(settings: &NodeSettings, address: &Address) -> Result<Self, StartError> {
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
    pub(in crate::runtime) fn peers_beside(&self, meter: &Meter) -> Result<(Peers, Option<Peers>), StartError> {
        let is_on = self.sealer.is_some() || self.tls.is_some();
        let access = is_on.then(|| self.peers()).transpose()?;
        if let Some(access) = &access {
            meter.set_access(access.clone());
        }
        Ok((self.peers()?, access))
    }

    /// A way to other nodes.
    pub(in crate::runtime) fn peers(&self) -> Result<Peers, StartError> {
        let Some(tls) = self.client.clone() else {
            let client = crate::runtime::client().map_err(StartError::Client)?;
            return Ok(Peers::new(client, false, self.sealer.clone()));
        };
        let client = client_with(Some(tls)).map_err(StartError::Client)?;
        Ok(Peers::new(client, true, self.sealer.clone()))
    }

    /// Takes over what changes in the files, and reminds of what is open, as long as the node runs.
    pub(in crate::runtime) fn keep_watch(
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

/// Says what is open, again and again.
pub async fn remind(open: Vec<String>) {
    loop {
        for what in &open {
            tracing::warn!(target: NODE, "{what}");
        }
        tokio::time::sleep(REMIND).await;
    }
}

/// Whether all files of secrets and certificates that settings name can be used, as they would be at a start.
pub fn readable(settings: &NodeSettings) -> Result<(), FileError> {
    let path = |path: &PathBuf| settings.path_conf.join(path);
    let security = &settings.security;
    security.secret.as_ref().map(|secret| Secrets::read(&path(secret))).transpose()?;
    if let Some(files) = node_files(settings)? {
        files.read(&settings.cluster_name)?;
    }
    security.users.as_ref().map(|users| read_users(&path(users))).transpose()?;
    if let Some((certificate, key)) = users_files(settings)? {
        for_users(&certificate, &key)?;
    }
    Ok(())
}

/// The certificate that users are shown, and its key, if they are served over TLS.
pub fn users_files(settings: &NodeSettings) -> Result<Option<(PathBuf, PathBuf)>, FileError> {
    let security = &settings.security;
    let path = |path: &PathBuf| settings.path_conf.join(path);
    match (&security.http_certificate, &security.http_key) {
        (None, None) => Ok(None),
        (Some(certificate), Some(key)) => Ok(Some((path(certificate), path(key)))),
        (one, other) => {
            let why = "zazen.security.http.certificate and zazen.security.http.key belong together";
            Err(FileError::Strange(one.clone().or_else(|| other.clone()).unwrap_or_default(), why.into()))
        }
    }
}

/// Whether one of the authorities that a node trusts made a certificate.
pub fn is_own(settings: &NodeSettings, certificate: &Path) -> bool {
    node_files(settings).ok().flatten().is_some_and(|files| files.made(certificate))
}

pub(super) fn node_files(settings: &NodeSettings) -> Result<Option<NodeFiles>, FileError> {
    let security = &settings.security;
    let path = |path: &PathBuf| settings.path_conf.join(path);
    let together = [
        ("zazen.security.certificate", &security.certificate),
        ("zazen.security.key", &security.key),
        ("zazen.security.authorities", &security.authorities),
    ];
    match together.map(|(_, file)| file.as_ref().map(path)) {
        [None, None, None] => Ok(None),
        [Some(certificate), Some(key), Some(authorities)] => Ok(Some(NodeFiles { certificate, key, authorities })),
        [_, _, _] => {
            let missing = together.iter().filter(|(_, file)| file.is_none()).map(|(key, _)| *key);
            Err(FileError::Incomplete(missing.collect()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::Code;
    use crate::runtime::{sample, start_failure};
    use std::fs;

    #[test]
    fn what_is_missing_of_three_settings_is_named_and_started_with() {
        let made = std::env::temp_dir().join(format!("zazen-incomplete-{}", std::process::id()));
        fs::create_dir_all(&made).expect("it can be made");
        for (_, file) in super::super::LINES.lines().filter_map(|line| line.split_once(": ")) {
            fs::write(made.join(file), "").expect("it can be written");
        }
        let given = [("zazen.security.certificate", "node.crt"), ("zazen.security.key", "node.key")];
        let settings = sample::settings(&made, &given);
        let error = node_files(&settings).expect_err("one is missing");
        assert!(error.to_string().starts_with("[zazen.security.authorities] is not set; "), "{error}");
        let told = start_failure::verdict(&StartError::Secret(error), &settings);
        let line = told.mend.expect("its file lies there").line;
        let authorities = format!("zazen.security.authorities={}", made.join("ca.crt").display());
        assert!(told.code == Code::BadSettings && line.contains(&authorities), "{line}");
        let _ = fs::remove_dir_all(&made);
    }
}
