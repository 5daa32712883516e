//! When certificates end: told long before, in metrics, in the log and by `explain`.
//!
//! The files are read again and again, so that a certificate that was made anew is seen without a restart. Whether a file
//! makes sense is said where it is used.

use super::file::read_public;
use crate::runtime::log::NODE;
use crate::settings::NodeSettings;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};
use x509_cert::Certificate;
use x509_cert::der::Decode;

/// How long before its end a certificate is told of.
const EARLY: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// The setting of the certificate that other nodes are shown.
pub const OF_NODES: &str = "zazen.security.certificate";

/// How often the files are read.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// How often the same is said.
const SAY_AGAIN: u32 = 24 * 60;

/// When the first certificate of a file ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Expiry {
    /// The setting that names the file.
    pub setting: &'static str,
    /// The file.
    pub file: PathBuf,
    /// The file of its key, if it has one.
    pub key: Option<PathBuf>,
    /// The certificate that is shown.
    pub first: CertificateDer<'static>,
    /// When, in seconds since 1970.
    pub at: u64,
}

/// The ends of all certificates that a node was given. Reads files.
pub fn expiries(settings: &NodeSettings) -> Vec<Expiry> {
    let security = &settings.security;
    let files = [
        (OF_NODES, &security.certificate, &security.key),
        ("zazen.security.authorities", &security.authorities, &None),
        ("zazen.security.http.certificate", &security.http_certificate, &security.http_key),
    ];
    let expiry = |(setting, file, key): (&'static str, &Option<PathBuf>, &Option<PathBuf>)| {
        let file = settings.path_conf.join(file.as_ref()?);
        let key = key.as_ref().map(|key| settings.path_conf.join(key));
        let all = certificates(&read_public(&file).ok()?);
        let at = first_end(&all)?;
        Some(Expiry { setting, file, key, first: all.into_iter().next()?, at })
    };
    files.into_iter().filter_map(expiry).collect()
}

fn certificates(pem: &[u8]) -> Vec<CertificateDer<'static>> {
    CertificateDer::pem_slice_iter(pem).filter_map(Result::ok).collect()
}

/// When the first of some certificates ends.
fn first_end(all: &[CertificateDer<'_>]) -> Option<u64> {
    all.iter().filter_map(end_of).min()
}

/// When a certificate ends.
fn end_of(certificate: &CertificateDer<'_>) -> Option<u64> {
    validity(certificate).map(|(_, end)| end)
}

/// From when to when a certificate holds, in seconds since 1970.
pub(super) fn validity(certificate: &CertificateDer<'_>) -> Option<(u64, u64)> {
    let validity = Certificate::from_der(certificate).ok()?.tbs_certificate.validity;
    Some((validity.not_before.to_unix_duration().as_secs(), validity.not_after.to_unix_duration().as_secs()))
}

/// Tells of the ends as long as the node runs, if it has certificates, and has them counted whenever the files were read.
pub(in crate::runtime) async fn watch_expiries(settings: Arc<NodeSettings>, count: impl Fn(Vec<Expiry>)) {
    for round in 0_u32.. {
        let settings = settings.clone();
        let Ok(expiries) = tokio::task::spawn_blocking(move || expiries(&settings)).await else { return };
        if expiries.is_empty() && round == 0 {
            return;
        }
        if round % SAY_AGAIN == 0 {
            expiries
                .iter()
                .filter_map(|expiry| warning(expiry, now()))
                .for_each(|text| tracing::warn!(target: NODE, "{text}"));
        }
        count(expiries);
        tokio::time::sleep(LOOK_AGAIN).await;
    }
}

/// That a certificate has ended, or when it ends if that is soon.
pub fn ending(expiry: &Expiry) -> Option<String> {
    told(expiry, now())
}

fn warning(expiry: &Expiry, now: u64) -> Option<String> {
    Some(format!("{}: `zazen setup --renew` makes it anew", told(expiry, now)?))
}

fn told(expiry: &Expiry, now: u64) -> Option<String> {
    let Expiry { setting, file, at, .. } = expiry;
    let file = file.display();
    match at.checked_sub(now) {
        Some(left) if left > EARLY.as_secs() => None,
        Some(left) => Some(format!("[{setting}: {file}] ends in {} days", left / 86_400)),
        None => Some(format!("[{setting}: {file}] has ended")),
    }
}

#[expect(clippy::disallowed_methods, reason = "certificates end by the clock on the wall")]
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::super::{Authority, Purpose};
    use super::*;

    #[test]
    fn the_end_of_a_certificate_is_told_a_month_before() {
        let (authority, _) = Authority::make("prod".into()).expect("there is entropy");
        let made = authority.vouch(Purpose::Users, &["10.0.0.1".into()], 29).expect("it can be made");
        let all = certificates(made.certificate.as_bytes());
        let end = first_end(&all).expect("it has an end");
        let days = (end - now()).div_ceil(86_400);
        assert_eq!(days, 29, "it was made for so long");
        let expiry = |at| Expiry { setting: "s", file: "f".into(), key: None, first: all[0].clone(), at };
        assert_eq!(warning(&expiry(end), end - EARLY.as_secs() - 1), None);
        let soon = warning(&expiry(end), end - 5 * 86_400).expect("it is told");
        assert!(soon.contains("[s: f] ends in 5 days"), "{soon}");
        assert!(warning(&expiry(end), end + 1).is_some_and(|text| text.contains("has ended")));
        assert_eq!(first_end(&certificates(b"-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n")), None);
    }
}
