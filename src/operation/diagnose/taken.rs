//! Nodes that are not where they should listen: somebody else listens there, or they elect by an experiment for now.

use super::case::{Case, Known, verdict};
use super::{Code, Found, Verdict, Worth};
use crate::cluster::Address;

impl<'a> Case<'a> {
    /// Something that is no node listens where a node should by its configuration file, or was stopped in its place.
    pub(super) fn taken(&self, address: &Address) -> Option<Verdict> {
        if self.at(address).is_some() || self.is_unbelieved(address) {
            return None;
        }
        let sibling = self.sibling_at(address);
        let probe = self.reports.iter().flat_map(|report| &report.facts.probes).find(|probe| probe.address == *address);
        let other = self.listens(address).filter(|process| !self.is_node(process));
        let is_strange = other.is_some() || probe.is_some_and(|probe| probe.found == Found::Stranger);
        let is_stopped = other.is_some_and(|process| process.is_stopped);
        if !is_stopped && (sibling.is_none() || !is_strange) {
            return None;
        }
        let name = sibling.and_then(|known| known.sibling.name.clone()).unwrap_or_else(|| self.name_at(address));
        if let Some(verdict) = sibling.filter(|_| other.is_none()).and_then(|known| self.experiments(known, &name)) {
            return Some(verdict);
        }
        let who = other.map_or_else(
            || "something".into(),
            |one| format!("process [{}], {}, which is no node,", one.pid, one.program),
        );
        let summary = format!("{name} cannot listen at [{address}], its transport port: {who} does");
        let mend = sibling.zip(probe.and_then(|probe| probe.free_port)).map(|(known, port)| {
            // The first one wins over the other, wherever each is given.
            let keys = ["transport.port", "transport.tcp.port"];
            let key = keys.into_iter().find(|key| known.sibling.launch.gives(key)).unwrap_or(keys[0]);
            self.set_sibling(known, key, &Worth::Plain(known.sibling.ports_from(port))).about(&name)
        });
        // What its own start would tell of it.
        let told = || sibling?.sibling.obstacle.as_ref().filter(|told| told.code == Code::PortInUse)?.mend.clone();
        let mend = mend.or_else(|| Some(self.placed_as(told()?.about(&*name), sibling?)));
        let evidence = self.says(self.me, format!("[{address}] does not answer as a node does"));
        Some(verdict(Code::PortInUse, name, summary).because(evidence).mended(mend))
    }

    /// A node that elects by an experiment, and so speaks to none of these.
    fn experiments(&self, known: Known<'a>, name: &str) -> Option<Verdict> {
        let experiment = known.sibling.experiment.as_ref()?;
        let summary = format!(
            "{name} elects by an experiment, [discovery.type: {experiment}], and is in no cluster as long as it does"
        );
        let evidence = self.says(known.by, format!("that is what {name} is to be started with"));
        let mend = self.set_sibling(known, "discovery.type", &Worth::Plain("zen".into())).about(name);
        Some(verdict(Code::SettingsDiffer, name, summary).because(evidence).mended(Some(mend)))
    }
}
