//! TLS 1.3, for users and between nodes: certificates from files, and what a node demands of another one's.
//!
//! A node's certificate names a role beside its addresses, made of the name of its cluster: one that the same authority gave
//! to somebody else, or to a node of another cluster, is refused by both ends.

use super::expiry::validity;
use super::file::{FileError, read_private, read_public};
use super::hex;
use crate::cluster::{Address, ClusterName};
use parking_lot::RwLock;
use ring::digest::{SHA256, digest};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::{WebPkiServerVerifier, verify_server_cert_signed_by_trust_anchor};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::version::TLS13;
use rustls::{ClientConfig, DigitallySignedStruct, DistinguishedName, RootCertStore, ServerConfig, SignatureScheme};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio_rustls::TlsAcceptor;

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// How what nodes are called in their certificates ends.
const ROLES: &str = ".zazen.internal";

/// Why a certificate is no good between nodes: as that which users are shown.
const NO_NODE: &str = "no other node believes this certificate, as it names no node of a cluster; allowed: one as the node.crt \
                       that `zazen setup` makes";

/// What a node of this cluster is called in its certificate, beside its addresses.
pub fn role(cluster: &ClusterName) -> String {
    let name = digest(&SHA256, cluster.as_str().as_bytes());
    format!("node.{}{ROLES}", hex(&name.as_ref()[..16]))
}

/// The configuration of a client that trusts these authorities; without any it speaks to nobody over TLS.
pub fn trusting(authorities: Option<&Path>) -> Result<ClientConfig, FileError> {
    let roots = authorities.map_or_else(|| Ok(RootCertStore::empty()), roots)?;
    let builder = ClientConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13]);
    let builder = builder.map_err(|error| strange(authorities.unwrap_or(Path::new("TLS")), error))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// The same, that trusts whom the system trusts, if it is to trust anybody.
pub fn trusting_as_the_system(trusts_any: bool) -> Result<ClientConfig, rustls::Error> {
    let mut roots = RootCertStore::empty();
    if trusts_any {
        // One that cannot be read vouches for nobody.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
    }
    let builder = ClientConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13])?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

/// What a server shows to those who connect, exchangeable while it runs.
#[derive(Clone, Debug)]
pub struct Tls(Arc<RwLock<Arc<ServerConfig>>>);

impl Tls {
    /// The next connections are accepted as this says.
    pub fn new(config: ServerConfig) -> Self {
        Tls(Arc::new(RwLock::new(Arc::new(config))))
    }

    /// The same from now on with another certificate.
    pub fn renew(&self, config: ServerConfig) {
        *self.0.write() = Arc::new(config);
    }

    pub(in crate::runtime) fn acceptor(&self) -> TlsAcceptor {
        TlsAcceptor::from(self.0.read().clone())
    }
}

/// How users are served over TLS.
pub fn for_users(certificate: &Path, key: &Path) -> Result<ServerConfig, FileError> {
    let builder = ServerConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13]);
    let builder = builder.map_err(|error| strange(certificate, error))?.with_no_client_auth();
    builder.with_single_cert(chain(certificate)?, private_key(key)?).map_err(|error| strange(certificate, error))
}

/// The files with which a node shows that it is one.
#[derive(Clone, Debug)]
pub struct NodeFiles {
    /// Its certificate.
    pub certificate: PathBuf,
    /// What belongs to it.
    pub key: PathBuf,
    /// Who may vouch for nodes.
    pub authorities: PathBuf,
}

impl NodeFiles {
    /// How a node speaks to other nodes of its cluster, and how they are served.
    pub fn read(&self, cluster: &ClusterName) -> Result<(ClientConfig, ServerConfig), FileError> {
        let wrong = |error: rustls::Error| strange(&self.certificate, error);
        let roots = Arc::new(roots(&self.authorities)?);
        let of_clients = WebPkiClientVerifier::builder_with_provider(roots, provider()).build();
        let inner = of_clients.map_err(|error| strange(&self.authorities, error))?;
        let clients = Arc::new(NodesOnly { inner, role: self.role(cluster)? });
        let server =
            ServerConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13]).map_err(wrong)?;
        let server = server.with_client_cert_verifier(clients);
        let chain = chain(&self.certificate)?;
        if chain.first().is_some_and(|first| !is_of_a_node(first)) {
            return Err(strange(&self.certificate, NO_NODE));
        }
        let server = server.with_single_cert(chain, private_key(&self.key)?).map_err(wrong)?;
        Ok((self.client(cluster)?, server))
    }

    /// How a node speaks to others of its cluster.
    fn client(&self, cluster: &ClusterName) -> Result<ClientConfig, FileError> {
        let of_servers = WebPkiServerVerifier::builder_with_provider(Arc::new(roots(&self.authorities)?), provider());
        let inner = of_servers.build().map_err(|error| strange(&self.authorities, error))?;
        self.that_trusts(Arc::new(NodesOnly { inner, role: self.role(cluster)? }))
    }

    /// How a node looks at the certificate of whoever shows one.
    pub(super) fn to_look(&self) -> Result<ClientConfig, FileError> {
        self.that_trusts(Arc::new(Anybody))
    }

    /// Whether other nodes of its cluster will believe it at this address.
    pub(in crate::runtime) fn are_believed(&self, cluster: &ClusterName, address: &Address) -> Result<(), String> {
        let chain = chain(&self.certificate).map_err(|error| error.to_string())?;
        let file = self.certificate.display();
        if !self.vouch_for(&chain) {
            return Err(format!("no authority in [{}] made [{file}]", self.authorities.display()));
        }
        match chain.first() {
            Some(first) if is_of(first, cluster) && !names(first, address) => {
                Err(format!("[{file}] is for another node, as it does not name [{address}]"))
            }
            Some(first) if is_of(first, cluster) => Ok(()),
            Some(_) | None => Err(format!("[{file}] is for no node of cluster [{cluster}]")),
        }
    }

    /// Whether one of its authorities made the certificate in a file.
    pub(super) fn made(&self, certificate: &Path) -> bool {
        chain(certificate).is_ok_and(|chain| self.vouch_for(&chain))
    }

    /// Whether one of its authorities made a certificate, whatever that is for.
    pub(super) fn vouch_for(&self, shown: &[CertificateDer<'_>]) -> bool {
        let Some((first, above)) = shown.split_first() else { return false };
        let algorithms = provider().signature_verification_algorithms.all;
        let verified = || {
            let (parsed, roots) = (ParsedCertificate::try_from(first).ok()?, roots(&self.authorities).ok()?);
            let now = within(first, UnixTime::now()).ok()?;
            verify_server_cert_signed_by_trust_anchor(&parsed, &roots, above, now, algorithms).ok()
        };
        verified().is_some()
    }

    fn that_trusts(&self, servers: Arc<dyn ServerCertVerifier>) -> Result<ClientConfig, FileError> {
        let wrong = |error: rustls::Error| strange(&self.certificate, error);
        let client =
            ClientConfig::builder_with_provider(provider()).with_protocol_versions(&[&TLS13]).map_err(wrong)?;
        let client = client.dangerous().with_custom_certificate_verifier(servers);
        client.with_client_auth_cert(chain(&self.certificate)?, private_key(&self.key)?).map_err(wrong)
    }

    fn role(&self, cluster: &ClusterName) -> Result<ServerName<'static>, FileError> {
        ServerName::try_from(role(cluster)).map_err(|error| strange(&self.certificate, error))
    }
}

/// Whether a certificate was given to whoever is reached at this address.
pub fn names(certificate: &CertificateDer<'_>, address: &Address) -> bool {
    let host = address.as_str().rsplit_once(':').map_or(address.as_str(), |(host, _)| host);
    has_name(certificate, host.trim_matches(['[', ']']))
}

/// Whether a certificate was given to a node of a cluster.
pub(super) fn is_of(certificate: &CertificateDer<'_>, cluster: &ClusterName) -> bool {
    has_name(certificate, &role(cluster))
}

/// Whether a certificate was given to a node of some cluster, and not to one who serves users.
pub(super) fn is_of_a_node(certificate: &CertificateDer<'_>) -> bool {
    let parsed = webpki::EndEntityCert::try_from(certificate);
    parsed.is_ok_and(|parsed| parsed.valid_dns_names().any(|name| name.ends_with(ROLES)))
}

fn has_name(certificate: &CertificateDer<'_>, name: &str) -> bool {
    ServerName::try_from(name).is_ok_and(|name| is_named(certificate, &name).is_ok())
}

fn is_named(certificate: &CertificateDer<'_>, name: &ServerName<'_>) -> Result<(), rustls::Error> {
    let wrong = |_| rustls::Error::InvalidCertificate(rustls::CertificateError::NotValidForName);
    let certificate = webpki::EndEntityCert::try_from(certificate).map_err(wrong)?;
    certificate.verify_is_valid_for_subject_name(name).map_err(wrong)
}

/// Demands of the other end what is usual, and that it is a node of this cluster.
#[derive(Debug)]
struct NodesOnly<V: ?Sized> {
    role: ServerName<'static>,
    inner: Arc<V>,
}

/// The time within that of a certificate that is nearest to now.
fn within(certificate: &CertificateDer<'_>, now: UnixTime) -> Result<UnixTime, rustls::Error> {
    let wrong = rustls::Error::InvalidCertificate(rustls::CertificateError::BadEncoding);
    let (begin, end) = validity(certificate).ok_or(wrong)?;
    let nearest = now.as_secs().min(end.saturating_sub(1)).max(begin);
    Ok(UnixTime::since_unix_epoch(Duration::from_secs(nearest)))
}

impl ServerCertVerifier for NodesOnly<WebPkiServerVerifier> {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        above: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let verified = self.inner.verify_server_cert(certificate, above, name, ocsp, now)?;
        is_named(certificate, &self.role).map(|()| verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

/// Demands of the other end nothing but that it has the key of the certificate that it shows, which is looked at then.
#[derive(Debug)]
struct Anybody;

impl ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &provider().signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &provider().signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        provider().signature_verification_algorithms.supported_schemes()
    }
}

impl ClientCertVerifier for NodesOnly<dyn ClientCertVerifier> {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.inner.root_hint_subjects()
    }

    fn verify_client_cert(
        &self,
        certificate: &CertificateDer<'_>,
        above: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        let verified = self.inner.verify_client_cert(certificate, above, now)?;
        is_named(certificate, &self.role).map(|()| verified)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls12_signature(message, certificate, signature)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        self.inner.verify_tls13_signature(message, certificate, signature)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.inner.supported_verify_schemes()
    }
}

fn roots(path: &Path) -> Result<RootCertStore, FileError> {
    let mut roots = RootCertStore::empty();
    for certificate in chain(path)? {
        roots.add(certificate).map_err(|error| strange(path, error))?;
    }
    Ok(roots)
}

fn chain(path: &Path) -> Result<Vec<CertificateDer<'static>>, FileError> {
    let pem = read_public(path)?;
    let chain: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
    let chain = chain.map_err(|error| strange(path, error))?;
    if chain.is_empty() { Err(strange(path, "there is no certificate in it, allowed: PEM")) } else { Ok(chain) }
}

fn private_key(path: &Path) -> Result<PrivateKeyDer<'static>, FileError> {
    PrivateKeyDer::from_pem_slice(read_private(path)?.as_bytes()).map_err(|error| strange(path, error))
}

fn strange(path: &Path, why: impl ToString) -> FileError {
    FileError::Strange(path.to_owned(), why.to_string())
}
