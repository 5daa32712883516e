//! A member on another host, as it told of itself while it ran: afterwards nobody there tells how it is started.

use super::case::Case;
use super::credentials::security;
use super::{Mend, Report, Start};
use crate::cluster::{Address, NodeId};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// A member of another host.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Distant {
    /// Its id.
    pub id: NodeId,
    /// Its name.
    pub name: String,
    /// The cluster that it is of.
    pub cluster: String,
    /// Where it listened.
    pub address: Address,
    /// Where its users were answered, if that is at the same address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http: Option<Address>,
    /// The files of its security by setting, as its configuration named them.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub security: BTreeMap<String, String>,
    /// Its process, if it was seen since this node began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// How it is started.
    pub start: Start,
}

impl Distant {
    /// What is worth keeping of what a member told; nothing if it did not tell how it was started.
    pub fn of(report: &Report) -> Option<Self> {
        let explanation = &report.explanation;
        // A member is not to have others call whatever address it likes.
        let is_its_own = |http: &Address| !http.is_loopback() && http.host() == explanation.node.host();
        Some(Distant {
            id: explanation.node.id.clone(),
            name: explanation.node.name.to_string(),
            cluster: explanation.cluster_name.to_string(),
            address: explanation.node.address.clone(),
            http: report.facts.http.as_deref().map(Address::from).filter(is_its_own),
            security: report.facts.credentials.files.clone(),
            pid: Some(report.facts.pid),
            start: Start::again(&report.facts)?,
        })
    }

    fn mend(&self, line: Mend) -> Mend {
        Mend { host: Some(self.address.host().to_owned()), ..line.about(&self.name) }
    }
}

impl<'a> Case<'a> {
    /// The member that was at an address of another host, and had this id if that is known.
    fn distant(&self, address: &Address, id: Option<&str>) -> Option<&'a Distant> {
        let cluster = self.me.explanation.cluster_name.as_str();
        let mut all = self.reports.iter().flat_map(|report| &report.facts.distant);
        all.find(|one| one.address == *address && one.cluster == cluster && id.is_none_or(|id| one.id.as_str() == id))
    }

    /// How a member of another host is started there.
    pub(super) fn start_distant(&self, address: &Address, id: Option<&str>) -> Option<Mend> {
        let distant = self.distant(address, id)?;
        Some(distant.mend(distant.start.mend("")))
    }

    /// How a process of another host is let go on that takes connections and answers nobody.
    pub(super) fn go_on_distant(&self, address: &Address) -> Option<Mend> {
        let distant = self.distant(address, None)?;
        Some(distant.mend(Mend::command(format!("kill -CONT {}", distant.pid?))))
    }

    /// The line by which the configuration of a member of another host names its files of security again.
    pub(super) fn secure_distant(&self, address: &Address) -> Option<Mend> {
        let distant = self.distant(address, None)?;
        let (key, worth) = security(&distant.security)?;
        Some(distant.mend(Mend::setting(key, &worth, distant.start.file().map(ToOwned::to_owned))))
    }
}
