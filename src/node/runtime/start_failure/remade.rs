//! What to type where the certificate of a node, or its key, is gone or no good: they are made anew where they were made, and
//! put where the node reads them.

use super::{about, absolute, running, starts};
use crate::diagnose::{Mend, Renewal, Worth};
use crate::runtime::addresses;
use crate::runtime::host::origin_of;
use crate::runtime::program;
use crate::settings::NodeSettings;
use std::path::Path;

/// What nodes show to each other, as `zazen setup` calls it.
const OF_NODES: [(&str, &str); 2] = [("zazen.security.certificate", "node.crt"), ("zazen.security.key", "node.key")];

/// Makes them, and starts the node where both is done on one host; one that runs takes them over by itself. None if the file is
/// another one.
pub fn remade(path: &Path, settings: &NodeSettings) -> Option<Mend> {
    let security = &settings.security;
    let own = [(false, &security.certificate, &security.key), (true, &security.http_certificate, &security.http_key)];
    let named = own.iter().filter_map(|(is_users, certificate, key)| {
        let file = |file: &Path| absolute(&settings.path_conf.join(file));
        Some((*is_users, file(certificate.as_deref()?), file(key.as_deref()?)))
    });
    let named: Vec<(bool, String, String)> = named.collect();
    let lost = absolute(path);
    let (_, certificate, _) = named.iter().find(|(_, certificate, key)| *certificate == lost || *key == lost)?;
    let bound = addresses::bind_addresses(&settings.transport).ok()?;
    let host = addresses::publish_address(&settings.transport, &bound).ok()?.to_string();
    let origin = origin_of(settings);
    let renewal = Renewal {
        binary: &program(),
        cluster: settings.cluster_name.as_str(),
        host: &host,
        origin: origin.as_ref(),
        certificate,
        read: named.iter().map(|(is_users, certificate, key)| (*is_users, &**certificate, &**key)).collect(),
    };
    let mend = match starts(settings).filter(|_| renewal.is_here() && running(settings).is_none()) {
        Some(start) => start.mend(&format!("{} && ", renewal.line())),
        None => renewal.mend(),
    };
    Some(about(settings, mend))
}

/// The start with the certificate for nodes, where that for users is named in its place and both lie beside each other.
pub(super) fn mistaken(path: &Path, settings: &NodeSettings) -> Option<Mend> {
    let named = settings.security.certificate.as_ref().map(|certificate| settings.path_conf.join(certificate))?;
    let mut start = starts(settings).filter(|_| named == path)?;
    for (key, name) in OF_NODES {
        let file = path.parent()?.join(name);
        if !file.is_file() || file == path {
            return None;
        }
        start = start.with(key, &Worth::Text(absolute(&file)));
    }
    Some(about(settings, start.mend("")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::secure::made_line;
    use crate::runtime::{host_name, sample};
    use std::fs;

    /// What is typed where a file of a node is lost whose other certificate says that it was made on this host.
    fn typed(lost: &str, made_on: &str) -> Option<Mend> {
        let name = format!("zazen-remade-{lost}-{made_on}-{}", std::process::id());
        let made = std::env::temp_dir().join(name);
        let own = made.join("etc");
        fs::create_dir_all(&own).expect("it can be made");
        let certificate = "-----BEGIN CERTIFICATE-----\nYQ==\n-----END CERTIFICATE-----\n";
        let files = [
            (made.join("ca.key"), "key".to_owned()),
            (made.join("ca.crt"), certificate.to_owned()),
            (own.join("ca.crt"), certificate.to_owned()),
            (own.join("http.crt"), made_line(&absolute(&made), made_on)),
        ];
        for (file, text) in files.iter().filter(|_| made_on == host_name()).chain(&files[3..]) {
            fs::write(file, text).expect("it can be written");
        }
        let arguments = [
            ("cluster.name", "shop"),
            ("network.host", "127.0.0.1"),
            ("zazen.security.certificate", "node.crt"),
            ("zazen.security.key", "node.key"),
            ("zazen.security.authorities", "ca.crt"),
            ("zazen.security.http.certificate", "http.crt"),
            ("zazen.security.http.key", "http.key"),
        ];
        let mend = remade(&own.join(lost), &sample::settings(&own, &arguments));
        let _ = fs::remove_dir_all(&made);
        mend.map(|mend| Mend { line: mend.line.replace(&absolute(&made), "/made"), ..mend })
    }

    #[test]
    fn a_certificate_is_made_where_the_other_one_was_and_the_node_is_started() {
        let mend = typed("node.crt", &host_name()).expect("it is known where");
        let setup = " setup --cluster-name shop --renew --out /made 127.0.0.1 && cp -p /made/127.0.0.1/node.crt \
                     /made/etc/node.crt && cp -p /made/127.0.0.1/node.key /made/etc/node.key && ";
        assert!(mend.line.contains(setup) && mend.line.contains(" start -E cluster.name=shop"), "{}", mend.line);
        assert_eq!(mend.host, None);
    }

    #[test]
    fn on_another_host_it_is_made_there_and_sent() {
        let mend = typed("node.key", "admin").expect("it is known where");
        assert!(
            mend.line.contains(" && scp -p /made/127.0.0.1/node.key 127.0.0.1:/made/etc/node.key"),
            "{}",
            mend.line
        );
        assert!(!mend.line.contains(" start "), "{}", mend.line);
        assert_eq!(mend.host.as_deref(), Some("admin"));
    }

    #[test]
    fn in_the_place_of_that_for_users_the_one_for_nodes_is_named() {
        let own = std::env::temp_dir().join(format!("zazen-mistaken-{}", std::process::id()));
        fs::create_dir_all(&own).expect("it can be made");
        let arguments = [("zazen.security.certificate", "http.crt"), ("zazen.security.key", "http.key")];
        let settings = sample::settings(&own, &arguments);
        assert_eq!(mistaken(&own.join("http.crt"), &settings), None, "nothing lies beside it");
        for file in ["node.crt", "node.key"] {
            fs::write(own.join(file), "").expect("it can be written");
        }
        let line = mistaken(&own.join("http.crt"), &settings).expect("both lie beside it").line;
        for (key, file) in [("certificate", "node.crt"), ("key", "node.key")] {
            let named = format!("-E zazen.security.{key}={}", own.join(file).display());
            assert!(line.contains(&named), "{line}");
        }
        assert_eq!(mistaken(&own.join("ca.crt"), &settings), None, "it is another file");
        let _ = fs::remove_dir_all(&own);
    }

    #[test]
    fn what_is_no_certificate_is_not_made() {
        assert_eq!(typed("cluster.secret", &host_name()), None);
    }
}
