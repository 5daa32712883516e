//! Makes certificates: an authority of its own for a cluster, and what it vouches for.

use super::hex;
use super::tls::{is_of, role};
use crate::cluster::ClusterName;
use rcgen::{
    BasicConstraints, CertificateParams, DnType, Error, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose, PKCS_ECDSA_P256_SHA256, date_time_ymd,
};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use std::time::{Duration, SystemTime};
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::AuthorityKeyIdentifier;

/// For how long an authority lasts.
const AUTHORITY_DAYS: u64 = 3_650;
const DAY: Duration = Duration::from_secs(86_400);

/// What stands behind the name of its cluster in the name of an authority.
const AUTHORITY: &str = " Zazen CA";

/// A certificate and its private key, as PEM.
pub struct Made {
    /// The certificate.
    pub certificate: String,
    /// The key.
    pub key: String,
}

/// Vouches for the nodes of one cluster.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
    cluster: ClusterName,
}

/// For whom a certificate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// A node shows it to other nodes.
    Node,
    /// A node shows it to users.
    Users,
}

/// How the line begins that says where a certificate was made.
const MADE: &str = "# Made with ca.key in ";

/// The line over a certificate that says where it was made; whoever reads certificates skips it.
pub fn made_line(directory: &str, host: &str) -> String {
    format!("{MADE}[{directory}] on [{host}]\n")
}

/// The directory and the host that such a line names.
pub fn made_at(certificate: &str) -> Option<(String, String)> {
    let line = certificate.lines().next()?.strip_prefix(MADE)?;
    let (directory, host) = line.strip_prefix('[')?.strip_suffix(']')?.split_once("] on [")?;
    let is_plain = |text: &str| !text.is_empty() && !text.contains(char::is_control);
    (directory.starts_with('/') && is_plain(directory) && is_plain(host))
        .then(|| (directory.to_owned(), host.to_owned()))
}

/// The cluster that an authority vouches for whose certificate this is, as `zazen setup` names it.
pub fn authority_for(pem: &str) -> Option<ClusterName> {
    let authority = CertificateDer::from_pem_slice(pem.as_bytes()).ok()?;
    let subject = Certificate::from_der(&authority).ok()?.tbs_certificate.subject.to_string();
    Some(ClusterName::from(subject.strip_prefix("CN=")?.strip_suffix(AUTHORITY)?))
}

/// The cluster that the authority of a certificate vouches for, as `zazen setup` names it.
pub fn made_for(certificate: &CertificateDer<'_>) -> Option<ClusterName> {
    let issuer = Certificate::from_der(certificate).ok()?.tbs_certificate.issuer.to_string();
    let cluster = ClusterName::from(issuer.strip_prefix("CN=")?.strip_suffix(AUTHORITY)?);
    // The name of an authority is only a name; this is what nodes look at.
    is_of(certificate, &cluster).then_some(cluster)
}

/// Which key made a certificate, by the id that it says.
pub(super) fn maker(certificate: &CertificateDer<'_>) -> Option<String> {
    let parsed = Certificate::from_der(certificate).ok()?;
    let (_, id) = parsed.tbs_certificate.get::<AuthorityKeyIdentifier>().ok()??;
    Some(hex(id.key_identifier?.as_bytes()))
}

/// Who a certificate was made for: the first name that it was made with.
pub(super) fn subject(certificate: &CertificateDer<'_>) -> Option<String> {
    let subject = Certificate::from_der(certificate).ok()?.tbs_certificate.subject.to_string();
    subject.strip_prefix("CN=").map(ToOwned::to_owned)
}

#[expect(clippy::disallowed_methods, reason = "a certificate says from when to when it is good")]
fn since_1970() -> Duration {
    SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default()
}

fn lasting(mut params: CertificateParams, days: u64) -> CertificateParams {
    let began = date_time_ymd(1970, 1, 1);
    // Clocks of nodes differ.
    params.not_before = began + since_1970().saturating_sub(DAY);
    params.not_after = began + since_1970() + DAY * u32::try_from(days).unwrap_or(u32::MAX);
    params
}

fn of_authority(cluster: &ClusterName) -> CertificateParams {
    let mut params = lasting(CertificateParams::default(), AUTHORITY_DAYS);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params.distinguished_name.push(DnType::CommonName, format!("{}{AUTHORITY}", cluster.as_str()));
    params
}

impl Authority {
    /// A new one.
    pub fn make(cluster: ClusterName) -> Result<(Authority, Made), Error> {
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let params = of_authority(&cluster);
        let certificate = params.self_signed(&key)?.pem();
        let made = Made { certificate, key: key.serialize_pem() };
        Ok((Authority { issuer: Issuer::new(params, key), cluster }, made))
    }

    /// The one whose key this is.
    pub fn with_key(cluster: ClusterName, key: &str) -> Result<Authority, Error> {
        let key = KeyPair::from_pem(key)?;
        Ok(Authority { issuer: Issuer::new(of_authority(&cluster), key), cluster })
    }

    /// Vouches for whoever is reached under these names.
    pub fn vouch(&self, purpose: Purpose, names: &[String], days: u64) -> Result<Made, Error> {
        let mut names = names.to_vec();
        let usages = match purpose {
            Purpose::Node => {
                names.push(role(&self.cluster));
                vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth]
            }
            Purpose::Users => vec![ExtendedKeyUsagePurpose::ServerAuth],
        };
        let mut params = lasting(CertificateParams::new(names.clone())?, days);
        params.distinguished_name.push(DnType::CommonName, names.first().cloned().unwrap_or_default());
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.extended_key_usages = usages;
        params.use_authority_key_identifier_extension = true;
        let key = KeyPair::generate_for(&PKCS_ECDSA_P256_SHA256)?;
        let certificate = params.signed_by(&key, &self.issuer)?.pem();
        Ok(Made { certificate, key: key.serialize_pem() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_certificate_tells_for_which_cluster_it_was_made() {
        let told = |authority: &Authority, purpose| {
            let made = authority.vouch(purpose, &["n1".into()], 1).expect("it can be made").certificate;
            made_for(&CertificateDer::from_pem_slice(made.as_bytes()).expect("it is one"))
        };
        let (of_shop, made) = Authority::make("our shop".into()).expect("it can be made");
        assert_eq!(told(&of_shop, Purpose::Node), Some("our shop".into()));
        assert_eq!(told(&of_shop, Purpose::Users), None, "it is for no node");
        assert_eq!(authority_for(&made.certificate), Some("our shop".into()));
    }

    #[test]
    fn where_a_certificate_was_made_is_read_from_the_line_over_it_and_from_nothing_else() {
        let made = ("/root/a [b]/security".to_owned(), "admin".to_owned());
        assert_eq!(made_at(&(made_line(&made.0, &made.1) + "-----BEGIN")), Some(made));
        for text in
            ["", "-----BEGIN", "# Made with ca.key in [security] on [admin]\n", "# Made with ca.key in [/a] on []\n"]
        {
            assert_eq!(made_at(text), None, "{text}");
        }
    }
}
