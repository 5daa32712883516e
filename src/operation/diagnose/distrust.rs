//! Why two nodes do not believe each other, as one of them finds it at the other.
//!
//! Which of them is the odd one is decided in `unbelieved`.

use super::credentials::security;
use super::{Credentials, Mend};
use crate::cluster::Address;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Why a node and the one that asks do not believe each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Distrust {
    /// A node that has another secret than the one that asks, or one where that has none.
    OtherSecret,
    /// A node that has no secret where the one that asks has one.
    NoSecret,
    /// A node that cannot show a certificate of an authority that the one that asks trusts, or the other way round.
    /// Who made its certificate, if it shows one: the id of a key.
    OtherAuthority(Option<String>),
    /// A node whose certificate comes from an authority that the one that asks trusts, and was made for another host: this one.
    OfHost(String),
    /// The same, made for a node of another cluster: of this one.
    OfCluster(String),
    /// A node whose certificate is in order, and that trusts another authority than the one that asks shows.
    RefusesAuthority,
    /// A node whose certificate is in order, and that refuses the one of the cluster that it was made for.
    RefusesCluster,
    /// A node that tells whoever asks, in the clear, where the one that asks has certificates.
    Unsecured(Bare),
    /// A node whose certificate has ended, and is in order else.
    LapsedCertificate,
    /// A node whose certificate begins so many seconds from now by the clock of the one that asks, and is in order else.
    EarlyCertificate(u64),
    /// A node whose certificate has ended by the clock of the one that asks, and not by its own, which is so many seconds behind.
    ClockBehind(u64),
    /// A node that refuses the certificate of the one that asks for its time, though it is in its time by that one's clock.
    OtherTime,
}

/// What a node tells of itself to whoever asks: nobody vouches for it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Bare {
    /// Its name.
    pub name: String,
    /// Its configuration.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The files of security by setting that lie beside its configuration, which does not name them.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub unnamed: BTreeMap<String, String>,
}

impl Distrust {
    /// What keeps two nodes apart: what is said of the one that is told, before and behind the name of the other.
    pub(super) fn apart(&self, own: &Credentials, is_own: bool) -> (&'static str, &'static str) {
        let has_certificate = own.certificate.is_some();
        match (self, is_own) {
            (Distrust::NoSecret, false) => ("has no secret, and", "has one"),
            (Distrust::NoSecret, true) => ("has a secret, and", "have none"),
            (Distrust::Unsecured(_), false) => ("has no certificate and speaks in the clear, and", "speaks TLS only"),
            (Distrust::Unsecured(_), true) => ("speaks TLS only, and", "have no certificates and speak in the clear"),
            (Distrust::OtherAuthority(_), true) if !has_certificate => ("has no certificate, and", "speak TLS only"),
            (Distrust::OtherAuthority(_), false) if !has_certificate => ("speaks TLS only, and", "has no certificate"),
            (Distrust::RefusesAuthority, false) => {
                ("trusts another authority than the one that made the certificate of", "")
            }
            (Distrust::RefusesAuthority | Distrust::OtherAuthority(_), true) => {
                ("has a certificate of another authority than", "trust: they do not believe each other")
            }
            (Distrust::OtherAuthority(_), false) => {
                ("has a certificate of another authority than", "trusts: they do not believe each other")
            }
            (
                Distrust::OtherSecret
                | Distrust::OfHost(_)
                | Distrust::OfCluster(_)
                | Distrust::RefusesCluster
                | Distrust::LapsedCertificate
                | Distrust::EarlyCertificate(_)
                | Distrust::ClockBehind(_)
                | Distrust::OtherTime,
                _,
            ) => match (own.secret.is_some(), is_own) {
                (true, _) => ("has another secret than", "(or another cluster.name): they do not believe each other"),
                (false, true) => ("has no secret, and", "have one"),
                (false, false) => ("has a secret, and", "has none"),
            },
        }
    }

    /// What the asked node found.
    pub(super) fn seen(&self, own: &Credentials) -> String {
        let text = match self {
            Distrust::OtherSecret if own.secret.is_none() => "takes only what is sealed with a secret",
            Distrust::OtherSecret => "does not take what I seal with my secret",
            Distrust::NoSecret => "takes what is not sealed: it has no secret",
            Distrust::OtherAuthority(_) if own.certificate.is_none() => "speaks TLS only",
            Distrust::OtherAuthority(_) => "shows a certificate of an authority that I do not trust",
            Distrust::OfHost(host) => return format!("shows a certificate that was made for [{host}]"),
            Distrust::OfCluster(cluster) => {
                return format!("shows a certificate that was made for cluster [{cluster}]");
            }
            Distrust::RefusesAuthority => "shows a certificate that I trust, and does not trust mine",
            Distrust::RefusesCluster => "shows a certificate of my cluster, and refuses mine for its cluster",
            Distrust::Unsecured(_) => "is a node that tells whoever asks, in the clear",
            Distrust::LapsedCertificate => "shows a certificate that has ended",
            Distrust::ClockBehind(_) => "shows a certificate that has ended by my clock alone",
            Distrust::EarlyCertificate(_) => "shows a certificate that has not begun",
            Distrust::OtherTime => "refuses my certificate for its time",
        };
        text.into()
    }
}

/// The line by which a node of another host that speaks in the clear names the files that lie beside its configuration.
pub(super) fn named_again(bare: &Bare, address: &Address) -> Option<Mend> {
    let (key, worth) = security(&bare.unnamed)?;
    let line = Mend::setting(key, &worth, bare.file.clone()).about(&bare.name);
    Some(Mend { host: Some(address.host().to_owned()), ..line })
}
