//! The files by which nodes show that they belong to a cluster: which they are, where they were made, and whether those of
//! two nodes go together.

use super::beside::listed;
use super::note::read;
use super::{FILES_MAX, absolute};
use crate::diagnose::{Credentials, Origin};
use crate::runtime::host_name;
use crate::runtime::secure::{LINES, made_at};
use crate::settings::NodeSettings;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The files of secrets and certificates that settings name.
pub(in crate::runtime) fn credentials(settings: &NodeSettings) -> Credentials {
    let security = &settings.security;
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| absolute(&settings.path_conf.join(path)));
    Credentials {
        secret: path(&security.secret),
        certificate: path(&security.certificate),
        key: path(&security.key),
        authorities: path(&security.authorities),
        equipped: path(&security.certificate).map(|file| equipped(Path::new(&file))).unwrap_or_default(),
        origin: None,
        unnamed_secret: None,
        files: named(settings),
        unnamed: BTreeMap::new(),
    }
}

/// The files that settings of security name, with their directories.
fn named(settings: &NodeSettings) -> BTreeMap<String, String> {
    let full = |(key, _)| {
        let file = settings.given.get(key)?.elements().first()?.to_string();
        Some((String::from(key), absolute(&settings.path_conf.join(file))))
    };
    known().filter_map(full).collect()
}

/// What `zazen setup` says of security: settings and their files.
fn known() -> impl Iterator<Item = (&'static str, &'static str)> {
    LINES.lines().filter_map(|line| line.split_once(": "))
}

/// The files that settings of security name; if there are none, those that lie where such settings would name them.
fn files(settings: &NodeSettings) -> BTreeMap<String, String> {
    let given = |(key, _)| Some((String::from(key), settings.given.get(key)?.elements().first()?.to_string()));
    let named: BTreeMap<String, String> = known().filter_map(given).collect();
    if named.is_empty() { unnamed(settings) } else { named }
}

/// The files that lie beside the configuration, as a setting of security would name them that is not given.
fn unnamed(settings: &NodeSettings) -> BTreeMap<String, String> {
    let is_unnamed =
        |(key, file): &(&str, &str)| !settings.given.contains_key(*key) && settings.path_conf.join(file).is_file();
    known().filter(is_unnamed).map(|(key, file)| (key.to_owned(), file.to_owned())).collect()
}

/// The same of the node itself, with where its certificates were made.
pub(in crate::runtime) fn own_credentials(settings: &NodeSettings) -> Credentials {
    let own = credentials(settings);
    let named = own.secret.is_none().then_some(own.certificate.as_ref()).flatten();
    let beside = named.map(|certificate| Path::new(certificate).with_file_name("cluster.secret"));
    let unnamed_secret = beside.filter(|secret| secret.is_file()).map(|secret| absolute(&secret));
    Credentials {
        origin: origin(settings, &own),
        unnamed_secret,
        files: files(settings),
        unnamed: unnamed(settings),
        ..own
    }
}

/// Where the certificates that settings name were made.
pub(in crate::runtime) fn origin_of(settings: &NodeSettings) -> Option<Origin> {
    origin(settings, &credentials(settings))
}

/// The directory with the key of the authority: the one that a certificate names if it is here, or the one above its own.
fn origin(settings: &NodeSettings, own: &Credentials) -> Option<Origin> {
    let certificate = own.certificate.as_ref()?;
    let of_users = settings.security.http_certificate.as_ref().map(|file| absolute(&settings.path_conf.join(file)));
    // What is missing, or of another host, may have been made together with the other one.
    let all = [Some(certificate), of_users.as_ref()].into_iter().flatten();
    let made = all.filter_map(|file| read(Path::new(file))).find_map(|text| made_at(&text));
    let above = Path::new(certificate).parent().and_then(Path::parent).map(absolute);
    let named = made.as_ref().map(|(directory, _)| directory.clone());
    let is_its_own = |directory: &String| {
        let (key, made) = (Path::new(directory).join("ca.key"), Path::new(directory).join("ca.crt"));
        let (made, read) = (read(&made), own.authorities.as_ref().and_then(|file| read(Path::new(file))));
        key.is_file() && made.zip(read).is_some_and(|(made, read)| share_an_authority(&made, &read))
    };
    match named.into_iter().chain(above).find(is_its_own) {
        Some(directory) => Some(Origin { directory, host: None }),
        // Where it was made it is no more.
        None => made
            .filter(|(_, host)| *host != host_name())
            .map(|(directory, host)| Origin { directory, host: Some(host) }),
    }
}

/// The directories beside that of a certificate in which there is one as well, by name.
fn equipped(certificate: &Path) -> Vec<String> {
    let (Some(file), Some(own)) = (certificate.file_name(), certificate.parent()) else { return Vec::new() };
    let all = own.parent().map(listed).unwrap_or_default();
    let has_one = all.into_iter().filter(|directory| directory.join(file).is_file());
    has_one.filter_map(|directory| Some(directory.file_name()?.to_str()?.to_owned())).take(FILES_MAX).collect()
}

/// Whether two files go together; none if neither is named or one cannot be read.
pub(in crate::runtime) fn is_same(
    one: &Option<String>,
    other: &Option<String>,
    go_together: fn(&str, &str) -> bool,
) -> Option<bool> {
    match (one, other) {
        (None, None) => None,
        (Some(_), None) | (None, Some(_)) => Some(false),
        (Some(one), Some(other)) => Some(go_together(&read(Path::new(one))?, &read(Path::new(other))?)),
    }
}

/// A node says all with its first secret, and believes all of its secrets.
pub(in crate::runtime) fn believe_each_other(one: &str, other: &str) -> bool {
    let secrets = |text: &str| -> Vec<String> {
        let is_one = |line: &&str| !line.is_empty() && !line.starts_with('#');
        text.lines().map(str::trim).filter(is_one).map(ToOwned::to_owned).collect()
    };
    let (one, other) = (secrets(one), secrets(other));
    let believes = |all: &[String], says: &[String]| says.first().is_some_and(|first| all.contains(first));
    believes(&one, &other) && believes(&other, &one)
}

pub(in crate::runtime) fn share_an_authority(one: &str, other: &str) -> bool {
    !certificates(one).is_disjoint(&certificates(other))
}

fn certificates(text: &str) -> BTreeSet<String> {
    let ends = text.split("-----BEGIN CERTIFICATE-----").skip(1).filter_map(|block| block.split("-----END").next());
    ends.map(|block| block.split_whitespace().collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::sample;
    use std::fs;

    #[test]
    fn what_lies_there_and_is_not_named_is_told() {
        let made = std::env::temp_dir().join(format!("zazen-unnamed-{}", std::process::id()));
        fs::create_dir_all(&made).expect("it can be made");
        for file in ["node.crt", "node.key", "ca.crt", "cluster.secret"] {
            fs::write(made.join(file), "").expect("it can be written");
        }
        let told = |arguments: &[(&str, &str)]| {
            let settings = sample::settings(&made, arguments);
            (files(&settings).into_values().collect::<Vec<_>>(), unnamed(&settings).into_values().collect::<Vec<_>>())
        };
        let all = ["ca.crt", "node.crt", "node.key", "cluster.secret"].map(str::to_owned);
        assert_eq!(told(&[]), (all.to_vec(), all.to_vec()));
        let secret = [("zazen.security.secret", "cluster.secret")];
        assert_eq!(told(&secret), (vec![all[3].clone()], all[..3].to_vec()));
        let _ = fs::remove_dir_all(&made);
    }

    #[test]
    fn nodes_with_secrets_in_another_order_do_not_believe_each_other() {
        assert!(believe_each_other("old\n", "# ours\nold\nnew\n"));
        assert!(!believe_each_other("old\n", "new\nold\n") && !believe_each_other("old\n", "\n"));
    }
}
