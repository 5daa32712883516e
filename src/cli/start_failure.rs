//! Why a node did not start, as a verdict: with a code, and with what to type.

use crate::diagnose::{Certainty, Code, Mend, Verdict};
use crate::runtime::StartError;
use crate::runtime::addresses::AddressError;
use crate::runtime::store::StoreError;
use crate::settings::NodeSettings;
use std::io;
use std::path::Path;

/// What is wrong.
pub(super) fn verdict(error: &StartError, settings: &NodeSettings) -> Verdict {
    let (code, mend) = match error {
        StartError::Address(error) => {
            (Code::BadAddress, Some(line(settings, format!("{}: _local_", key(error, settings)))))
        }
        StartError::Bind(error) if error.is_taken() => {
            let (side, port) = match settings.http.ports.only() == Some(error.first_port()) {
                true => ("http.port", "9200-9300"),
                false => ("transport.tcp.port", "9300-9400"),
            };
            (Code::PortInUse, Some(line(settings, format!("{side}: {port}"))))
        }
        StartError::Bind(_) => (Code::BadAddress, Some(line(settings, "network.host: _local_".into()))),
        StartError::Store(error) => store(error, settings),
        StartError::OtherCluster { found, .. } => {
            (Code::WrongClusterName, Some(line(settings, format!("cluster.name: {found}"))))
        }
        StartError::System(_, error) if error.raw_os_error() == Some(rustix::io::Errno::MFILE.raw_os_error()) => {
            (Code::TooManyFiles, Some(command("ulimit -n 65536".into())))
        }
        // They say themselves what to type.
        StartError::Insecure(_) | StartError::Secret(_) | StartError::System(..) | StartError::Client(_) => {
            (Code::BadSettings, None)
        }
    };
    let node = settings.node_name.as_deref().map(ToOwned::to_owned);
    Verdict { code, summary: error.to_string(), certainty: Certainty::Certain, node, evidence: Vec::new(), mend }
}

fn key(error: &AddressError, settings: &NodeSettings) -> &'static str {
    let is_publish = matches!(error, AddressError::Multicast { purpose: "publish", .. });
    let keys = ["transport.host", "transport.bind_host", "network.bind_host", "http.host", "http.bind_host"];
    let given =
        keys.into_iter().find(|key| settings.given.contains_key(*key) && !settings.given.contains_key("network.host"));
    if is_publish { "network.publish_host" } else { given.unwrap_or("network.host") }
}

fn store(error: &StoreError, settings: &NodeSettings) -> (Code, Option<Mend>) {
    let path = &settings.path_data;
    let new = || Some(line(settings, format!("path.data: {}-new", absolute(path))));
    match error {
        StoreError::Locked { holder, .. } => {
            (Code::DataInUse, holder.map(|pid| command(format!("kill {pid}"))).or_else(new))
        }
        StoreError::Io { source, .. } if source.kind() == io::ErrorKind::StorageFull => (Code::DiskFull, new()),
        StoreError::Io { .. } => {
            let owner = format!("chown -R \"$(id -un)\" {0} && chmod -R u+rwX {0}", absolute(path));
            (Code::DataNotWritable, Some(command(owner)))
        }
        StoreError::Corrupt { .. } | StoreError::UnknownVersion { .. } => (Code::DataDamaged, new()),
        StoreError::Replaced { .. }
        | StoreError::Unwritable { .. }
        | StoreError::Panicked { .. }
        | StoreError::GaveUp { .. } => (Code::DataDamaged, None),
    }
}

/// What is said of a failure at the standard error: the words, the code, and what to type.
pub(super) fn words(error: &StartError, settings: &NodeSettings) -> String {
    let found = verdict(error, settings);
    let mend = found.mend.map_or_else(String::new, |mend| {
        let file = mend.file.as_ref().map(|file| format!(" in {file}")).unwrap_or_default();
        format!("; to mend it{file}: {}", mend.line)
    });
    format!("{error} [{}]{mend}", found.code.name())
}

/// A line of the configuration that a node was to be started by.
pub(super) fn line(settings: &NodeSettings, line: String) -> Mend {
    let file = settings.file.as_deref().map(absolute);
    Mend { line, is_setting: true, file, node: settings.node_name.as_deref().map(ToOwned::to_owned) }
}

fn command(line: String) -> Mend {
    Mend { line, is_setting: false, file: None, node: None }
}

fn absolute(path: &Path) -> String {
    std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf()).display().to_string()
}
