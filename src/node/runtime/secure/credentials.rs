//! The files of secrets and certificates that the settings of a node name, and whether they can be used.

use super::tls::{NodeFiles, for_users};
use super::users::read_users;
use super::{FileError, Secrets};
use crate::settings::NodeSettings;
use std::path::{Path, PathBuf};

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

pub(in crate::runtime) fn node_files(settings: &NodeSettings) -> Result<Option<NodeFiles>, FileError> {
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
    use crate::runtime::{StartError, sample, start_failure};
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
