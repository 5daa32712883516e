//! What all reports say together, by address and by name.

use super::kin;
use super::seed_host::is_seed_of;
use super::{Certainty, Code, Distrust, Evidence, Found, Mend, Process, Report, Sibling, Standing, Verdict};
use crate::cluster::{Address, Node, NodeId};
use crate::zen::explain::{Group, Host, Member, PingOutcome, Quota};

/// The setting of the seed hosts.
pub(super) const HOSTS: &str = "discovery.zen.ping.unicast.hosts";

/// The reports, with ways to find one's way in them.
pub(super) struct Case<'a> {
    pub(super) reports: &'a [Report],
    pub(super) me: &'a Report,
}

/// A node of a host that need not run, and who tells of it.
#[derive(Clone, Copy)]
pub(super) struct Known<'a> {
    pub(super) by: &'a Report,
    pub(super) sibling: &'a Sibling,
}

impl<'a> Case<'a> {
    /// Of no reports nothing comes.
    pub(super) fn new(reports: &'a [Report]) -> Option<Self> {
        reports.first().map(|me| Case { reports, me })
    }

    /// Whether the node that was asked sees no master.
    pub(super) fn is_masterless(&self) -> bool {
        self.me.explanation.master_node.is_none()
    }

    /// Whether any node sees one.
    pub(super) fn has_master(&self) -> bool {
        self.reports.iter().any(|report| report.explanation.master_node.is_some())
    }

    pub(super) fn standing(&self, verdicts: &[Verdict]) -> Standing {
        // What lets strangers in was set on purpose, and the cluster serves.
        let is_allowed = |code| matches!(code, Code::OpenToStrangers | Code::InsecureSetting);
        let is_sound = verdicts.iter().all(|verdict| is_allowed(verdict.code));
        match (self.is_masterless(), is_sound) {
            (true, _) => Standing::NoMaster,
            (false, true) => Standing::Sound,
            (false, false) => Standing::Reduced,
        }
    }

    /// As the master counts; a follower does not know who lives.
    pub(super) fn losses_survived(&self) -> Option<usize> {
        let master = self.master().or(Some(self.me).filter(|_| !self.is_masterless()))?;
        let spare = |quota: &Quota| quota.found.saturating_sub(quota.needed);
        let quotas = master.explanation.needed.iter().filter(|quota| quota.needed > 0);
        let most = quotas.clone().map(spare).min()?;
        let voters = quotas.clone().find(|quota| quota.of == Group::VotingSet);
        let there = quotas.clone().map(|quota| quota.found).max()?;
        // The master may be among those that are lost, and who asks for more than are left votes for nobody.
        let minimums: Vec<usize> = self.reports.iter().filter_map(minimum_of).collect();
        let may_elect = |lost: &usize| {
            let odd = minimums.iter().filter(|minimum| **minimum + lost > there).count();
            voters.is_none_or(|quota| quota.found >= quota.needed + lost + odd)
        };
        Some((1..=most).take_while(may_elect).last().unwrap_or(0))
    }

    /// The report of the master that the asked node sees.
    pub(super) fn master(&self) -> Option<&'a Report> {
        let id = &self.me.explanation.master_node.as_ref()?.id;
        self.reports.iter().find(|report| report.explanation.node.id == *id)
    }

    pub(super) fn name(&self, report: &Report) -> String {
        called(&report.explanation.node)
    }

    /// Who answered at this address, or has it.
    pub(super) fn at(&self, address: &Address) -> Option<&'a Report> {
        let has = |report: &&Report| {
            report.explanation.node.address == *address
                || report.facts.bound.iter().any(|bound| bound == address.as_str())
        };
        self.reports.iter().find(has)
    }

    /// Whether a node that goes by this id said something.
    pub(super) fn has_id(&self, id: &str) -> bool {
        self.reports.iter().any(|report| report.explanation.node.id.as_str() == id)
    }

    pub(super) fn by_id(&self, id: &NodeId) -> Option<&'a Report> {
        self.reports.iter().find(|report| report.explanation.node.id == *id)
    }

    /// What the node that was asked calls whoever should be at an address.
    pub(super) fn name_at(&self, address: &Address) -> String {
        let answered = self.at(address).map(|report| self.name(report));
        let member = || {
            let all = self.reports.iter().flat_map(|report| &report.facts.members);
            all.clone().find(|(_, at, _)| at == address).map(|(name, _, _)| name.clone())
        };
        let pinged = || {
            let mut hosts = self.reports.iter().flat_map(|report| &report.explanation.hosts);
            let named = |host: &Host| Some(called(host.node.as_ref()?)).filter(|_| host.address == *address);
            hosts.find_map(named)
        };
        let sibling = || self.sibling_at(address).and_then(|known| known.sibling.name.clone());
        answered.or_else(member).or_else(pinged).or_else(sibling).unwrap_or_else(|| address.to_string())
    }

    /// Whether what a report tells of files and processes is about the machine of the node that was asked.
    pub(super) fn is_here(&self, report: &Report) -> bool {
        let host = |report: &Report| report.explanation.node.host().to_owned();
        match (&self.me.facts.machine, &report.facts.machine) {
            (Some(own), Some(its)) => own == its,
            (Some(_) | None, _) => host(self.me) == host(report),
        }
    }

    /// Whether a report can tell of what is at an address: loopback is another place on each machine.
    pub(super) fn can_tell(&self, report: &Report, address: &Address) -> bool {
        !address.is_loopback() || self.is_here(report)
    }

    /// The node of this host that is to listen at an address.
    pub(super) fn neighbour_at(&self, address: &Address) -> Option<Known<'a>> {
        self.sibling_at(address).filter(|known| self.is_here(known.by) && !known.sibling.is_elsewhere)
    }

    /// The node of some host that should listen at an address.
    pub(super) fn sibling_at(&self, address: &Address) -> Option<Known<'a>> {
        let all = self.siblings().filter(|known| known.sibling.is_at(address) && self.can_tell(known.by, address));
        self.nearest(all, None)
    }

    /// The likeliest of several nodes that fit: the one of this id, then one whose file lies beside that of the asked one.
    pub(super) fn nearest(&self, all: impl Iterator<Item = Known<'a>>, id: Option<&str>) -> Option<Known<'a>> {
        let nearness = |known: &Known<'_>| {
            let by_id = match (id, known.sibling.id.as_ref()) {
                (Some(id), Some(its)) => {
                    if its.as_str() == id {
                        2
                    } else {
                        0
                    }
                }
                (Some(_) | None, _) => 1,
            };
            (by_id, kin::is_beside(self.me, known.sibling))
        };
        all.reduce(|best, other| if nearness(&other) > nearness(&best) { other } else { best })
    }

    pub(super) fn siblings(&self) -> impl Iterator<Item = Known<'a>> + use<'a> {
        let reports = self.reports;
        let of = |by: &'a Report| by.facts.siblings.iter().map(move |sibling| Known { by, sibling });
        reports.iter().flat_map(of).filter(move |known| kin::is_ours(reports, known.sibling))
    }

    /// What is remembered of a node by those who saw it.
    pub(super) fn remembered(&self, id: &str) -> Option<(&'a str, &'a Address)> {
        let all = self.reports.iter().flat_map(|report| &report.facts.remembered);
        all.clone().find(|known| known.id.as_str() == id).map(|known| (known.name.as_str(), &known.address))
    }

    /// Whether a node said good-bye when it went, as far as those know who saw it.
    pub(super) fn said_so(&self, id: &str) -> bool {
        let mut all = self.reports.iter().flat_map(|report| &report.facts.remembered);
        all.any(|known| known.id.as_str() == id && known.said_so)
    }

    /// The name of a member of a group, and where it was last.
    pub(super) fn place(&self, member: &Member) -> (String, Option<Address>) {
        let by_id = member.id.contains(':').then(|| Address::from(&*member.id));
        let remembered = self.remembered(&member.id);
        let address = member.address.clone().or(by_id).or_else(|| remembered.map(|(_, address)| address.clone()));
        let given = member.name.as_ref().filter(|name| !name.is_empty()).map(|name| name.to_string());
        let name = given.or_else(|| remembered.map(|(name, _)| name.to_owned()));
        let name = name.or_else(|| address.as_ref().map(|address| self.name_at(address)));
        (name.unwrap_or_else(|| member.id.to_string()), address)
    }

    /// What the asked node found at an address.
    pub(super) fn probe(&self, address: &Address) -> Option<&'a Found> {
        self.me.facts.probes.iter().find(|probe| probe.address == *address).map(|probe| &probe.found)
    }

    /// Why the asked node and one at an address do not believe each other.
    pub(super) fn distrust(&self, address: &Address) -> Option<&'a Distrust> {
        match self.probe(address)? {
            Found::Distrusted(why) => Some(why),
            Found::HttpOf(_) | Found::Version(_) | Found::Stranger | Found::Mute | Found::Walled | Found::Silence => {
                None
            }
        }
    }

    /// Whether somebody names an address, or named it: where it was only guessed another cluster may be. Who names nobody, on
    /// purpose, has nothing to do with whoever is called as its cluster is.
    pub(super) fn is_named(&self, address: &Address) -> bool {
        let names = |report: &Report| {
            let Report { explanation, facts, .. } = report;
            let voters = explanation.needed.iter().flat_map(|quota| &quota.members);
            let known =
                facts.members.iter().map(|(_, at, _)| at).chain(facts.remembered.iter().map(|node| &node.address));
            let pinged = explanation.hosts.iter().map(|host| &host.address);
            let mut all = known.chain(pinged).chain(voters.filter_map(|member| member.address.as_ref()));
            all.any(|at| at == address) || facts.seeds.iter().flatten().any(|seed| is_seed_of(seed, address))
        };
        let own = self.me.explanation.cluster_name.as_str();
        let is_ours =
            |one: &Sibling| one.cluster == own || one.shares_secret == Some(true) || one.shares_authority == Some(true);
        let is_alone = self.me.facts.seeds.as_ref().is_some_and(Vec::is_empty) && self.reports.len() == 1;
        let is_sibling = || self.sibling_at(address).is_some_and(|known| is_ours(known.sibling));
        self.reports.iter().any(names) || !is_alone && is_sibling()
    }

    /// Whether a node listens at an address that has other credentials than the asked one.
    pub(super) fn is_unbelieved(&self, address: &Address) -> bool {
        self.distrust(address).is_some()
    }

    /// Whether somebody answers or listens at an address, whoever it is.
    pub(super) fn is_there(&self, address: &Address) -> bool {
        self.at(address).is_some() || self.listens(address).is_some() || self.is_unbelieved(address)
    }

    /// Whether an address neither answers nor refuses.
    pub(super) fn is_silent(&self, address: &Address) -> bool {
        matches!(self.probe(address), Some(Found::Silence | Found::Walled | Found::Mute))
            && self.listens(address).is_none()
            && self.at(address).is_none()
    }

    /// The process that listens at an address, as far as the nodes see it.
    pub(super) fn listens(&self, address: &Address) -> Option<&'a Process> {
        self.listener(address).map(|(_, process)| process)
    }

    /// The same with who sees it.
    pub(super) fn listener(&self, address: &Address) -> Option<(&'a Report, &'a Process)> {
        let of = |by: &'a Report| by.facts.processes.iter().map(move |process| (by, process));
        let mut all = self.reports.iter().flat_map(of);
        all.find(|(by, process)| process.address == *address && self.can_tell(by, address))
    }

    /// Whether a process is one of a node: it is called as this one is, or nobody knows how.
    pub(super) fn is_node(&self, process: &Process) -> bool {
        let binary = self.me.facts.binary.rsplit('/').next().unwrap_or_default();
        process.program.is_empty() || binary.is_empty() || binary.starts_with(&process.program)
    }

    /// The node that runs at an address, if one does that is not stopped.
    pub(super) fn runs(&self, address: &Address) -> bool {
        self.listens(address).is_some_and(|process| !process.is_stopped && self.is_node(process))
    }

    /// The process of a node at an address that was stopped, if it is one of a node.
    pub(super) fn stopped(&self, address: &Address) -> Option<&'a Process> {
        self.listens(address).filter(|process| process.is_stopped && self.is_node(process))
    }

    /// The node of some host that goes by this name.
    pub(super) fn sibling_named(&self, name: &str) -> Option<Known<'a>> {
        self.nearest(self.siblings().filter(|known| known.sibling.name.as_deref() == Some(name)), None)
    }

    /// What became of the pings of an address, as all tell it.
    pub(super) fn pings_of(&self, address: &Address) -> Vec<(&'a Report, &'a Host)> {
        let of = |report: &'a Report| {
            report.explanation.hosts.iter().filter(|host| host.address == *address).map(move |host| (report, host))
        };
        self.reports.iter().flat_map(of).collect()
    }

    /// The master that hears a member, and whom that one refuses where it publishes to be.
    pub(super) fn refuser_of(&self, address: &Address) -> Option<&'a Report> {
        self.reports.iter().find(|report| report.facts.refused.contains(address))
    }

    /// Evidence that this report says something.
    pub(super) fn says(&self, report: &Report, what: impl Into<String>) -> Evidence {
        Evidence { by: self.name(report), at_millis: report.facts.wall_millis, what: what.into() }
    }

    /// The quota of the asked node that is not met; of one that cannot be master, which waits for others, that of any.
    pub(super) fn unmet(&self, of: Group) -> Option<&'a Quota> {
        let others = self.reports.iter().filter(|_| !self.me.explanation.node.is_master_eligible());
        let all = std::iter::once(self.me).chain(others).flat_map(|report| &report.explanation.needed);
        all.into_iter().find(|quota| quota.of == of && !quota.is_met())
    }

    /// Pings of a node, of those that did not answer as nodes of its cluster.
    pub(super) fn silent_hosts(report: &'a Report) -> impl Iterator<Item = &'a Host> + use<'a> {
        let is_silent = |host: &&Host| match host.outcome {
            PingOutcome::Refused | PingOutcome::Reset | PingOutcome::TimedOut | PingOutcome::NotUnderstood => true,
            PingOutcome::Answered { .. }
            | PingOutcome::Waiting
            | PingOutcome::NotAsked
            | PingOutcome::OtherClusterName { .. }
            | PingOutcome::OtherClusterUuid { .. }
            | PingOutcome::DuplicateId
            | PingOutcome::Itself
            | PingOutcome::Rejected { .. } => false,
        };
        report.explanation.hosts.iter().filter(is_silent)
    }
}

/// How many master-eligible nodes one that may vote asks for.
fn minimum_of(report: &Report) -> Option<usize> {
    let mut quotas = report.explanation.needed.iter().filter(|_| report.explanation.node.is_master_eligible());
    quotas.find(|quota| quota.of == Group::MasterEligibleNodes).map(|quota| quota.needed)
}

/// What people call a node.
pub(super) fn called(node: &Node) -> String {
    if node.name.is_empty() { node.address.to_string() } else { node.name.to_string() }
}

/// What became of a ping, behind its address.
pub(super) fn outcome(outcome: &PingOutcome) -> &'static str {
    match outcome {
        PingOutcome::Answered { .. } => "answered",
        PingOutcome::Waiting => "has yet to answer",
        PingOutcome::NotAsked => "was not asked",
        PingOutcome::Refused => "refused the connection",
        PingOutcome::Reset => "broke the connection",
        PingOutcome::TimedOut => "did not answer in time",
        PingOutcome::NotUnderstood => "gave an answer that could not be understood",
        PingOutcome::OtherClusterName { .. } => "is of a cluster of another name",
        PingOutcome::OtherClusterUuid { .. } => "is of another cluster of this name",
        PingOutcome::DuplicateId => "goes by this node's id",
        PingOutcome::Itself => "is this node itself",
        PingOutcome::Rejected { .. } => "refused the ping",
    }
}

/// A verdict about a node.
pub(super) fn verdict(code: Code, node: impl Into<String>, summary: impl Into<String>) -> Verdict {
    Verdict {
        code,
        summary: summary.into(),
        certainty: Certainty::Certain,
        node: Some(node.into()),
        evidence: Vec::new(),
        mend: None,
    }
}

impl Verdict {
    pub(super) fn because(mut self, evidence: Evidence) -> Self {
        self.evidence.push(evidence);
        self
    }

    pub(super) fn mended(mut self, mend: impl Into<Option<Mend>>) -> Self {
        self.mend = mend.into();
        self
    }

    pub(super) fn only(mut self, certainty: Certainty) -> Self {
        self.certainty = certainty;
        self
    }
}

/// So many of something, in words.
pub(super) fn counted(count: usize, what: &str) -> String {
    if count == 1 { format!("{count} {what}") } else { format!("{count} {what}s") }
}

/// How many there are, behind `there`.
pub(super) fn so_many(count: usize) -> String {
    format!("{} [{count}]", if count == 1 { "is" } else { "are" })
}
