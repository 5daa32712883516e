//! Starts that failed, and nodes that ended by themselves, as they told those among their seed hosts that run: on a machine of
//! its own there is nobody else who could say why a node is not there.

use super::case::{Case, verdict};
use super::{Code, Evidence, Mend, Obstacle, Report, Verdict, Worth};
use crate::cluster::Address;
use serde::{Deserialize, Serialize};

/// A start that failed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailedStart {
    /// Who was to start.
    pub name: String,
    /// Where it would be reached.
    pub addresses: Vec<Address>,
    /// Whether it runs all the same, and is no member for what is wrong with itself.
    #[serde(default)]
    pub runs: bool,
    /// Whether it had started, and ended for what was wrong.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ended: bool,
    /// Its `cluster.name`, if it told that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// Its `path.data`, likewise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub data: Option<String>,
    /// Why it failed, and what to do about that.
    pub obstacle: Obstacle,
    /// How long ago it told so.
    #[serde(default)]
    pub since_millis: u64,
}

impl FailedStart {
    /// Whether people or others call it so: by its name, or by an address.
    fn goes_by(&self, called: &str) -> bool {
        self.name == called || self.addresses.iter().any(|address| address.as_str() == called)
    }

    /// Whether this node, which runs, is the one that failed to start before. Who has its address may be why it failed.
    pub fn is_it(&self, name: &str, address: &Address) -> bool {
        self.name == name || self.name == address.as_str()
    }

    /// What keeps it from being a member, behind its name.
    pub(super) fn what(&self) -> String {
        let how = match (self.runs, self.ended) {
            (true, _) => "runs, and has no master",
            (false, true) => "ended by itself",
            (false, false) => "cannot start",
        };
        format!("{how}: {}", self.obstacle.fault)
    }

    /// What is told where nothing else is known of it.
    pub(super) fn verdict(&self, case: &Case<'_>) -> Verdict {
        let Obstacle { code, mend, .. } = self.obstacle.clone();
        let mend = mend.map(|mend| self.on_other_data(case, &mend).unwrap_or(mend));
        let start = || case.start(self.addresses.first(), &self.name, None);
        let mend = mend.or_else(|| start().filter(|start| self.is_given_back_by(case, start)));
        verdict(code, &self.name, format!("{} {}", self.name, self.what())).mended(mend)
    }

    /// Whether a line that starts it gives its user back what it may not write.
    pub(super) fn is_given_back_by(&self, case: &Case<'_>, start: &Mend) -> bool {
        let is_mixed = || case.started_by(start).is_some_and(|known| known.sibling.is_mixed);
        self.obstacle.code == Code::DataNotWritable && is_mixed()
    }

    /// Whose data is of another cluster than its configuration, which is of this one, is to be in this one without that data.
    fn on_other_data(&self, case: &Case<'_>, mend: &Mend) -> Option<Mend> {
        let (cluster, data) = (self.cluster.as_deref()?, self.data.as_deref()?);
        let is_wanted = self.obstacle.code == Code::WrongClusterName
            && !case.is_masterless()
            && case.me.explanation.cluster_name.as_str() == cluster;
        let worth = Worth::Text(format!("{data}-{cluster}"));
        is_wanted.then(|| Mend { line: Mend::setting("path.data", &worth, None).line, ..mend.clone() })
    }

    fn evidence(&self, told_at: u64) -> Evidence {
        let seconds = self.since_millis / 1_000;
        let what = match (self.runs, self.ended) {
            (true, _) => format!("I had no master [{seconds}s] ago"),
            (false, true) => format!("I ended [{seconds}s] ago"),
            (false, false) => format!("my start failed [{seconds}s] ago"),
        };
        Evidence { by: self.name.clone(), at_millis: told_at.saturating_sub(self.since_millis), what }
    }
}

impl<'a> Case<'a> {
    /// The start that failed last of who goes by a name, and evidence that it did.
    pub(super) fn failed_start(&self, called: &str) -> Option<(&'a FailedStart, Evidence)> {
        let all = self.failed_starts().filter(|(failed, _)| failed.goes_by(called));
        all.min_by_key(|(failed, _)| failed.since_millis)
    }

    /// Those of nodes that do not run since.
    fn failed_starts(&self) -> impl Iterator<Item = (&'a FailedStart, Evidence)> {
        let of = |by: &'a Report| {
            by.facts.failed_starts.iter().map(|failed| (failed, failed.evidence(by.facts.wall_millis)))
        };
        let nodes = self.reports.iter().map(|report| &report.explanation.node);
        let runs = move |failed: &FailedStart| nodes.clone().any(|node| failed.is_it(&node.name, &node.address));
        self.reports.iter().flat_map(of).filter(move |(failed, _)| !runs(failed))
    }
}

/// What is wrong with a node without a master, as it sees it itself, that others cannot see: they do not hear it, or do not
/// believe it.
pub fn own_fault(name: &str, verdicts: &[Verdict]) -> Option<Obstacle> {
    let is_it = |one: &&Verdict| {
        let is_hidden = matches!(
            one.code,
            Code::LoopbackOnly
                | Code::UnreachablePublishAddress
                | Code::AuthoritiesDiffer
                | Code::ClockSkew
                | Code::DuplicateNodeId
                | Code::WrongSeed
                | Code::SettingsDiffer
                | Code::HttpPortInSeeds
        );
        is_hidden && one.node.as_deref() == Some(name)
    };
    let Verdict { code, summary, mend, .. } = verdicts.iter().find(is_it)?.clone();
    Some(Obstacle { code, fault: summary, mend })
}

/// The starts that failed of nodes of which nothing else is told: nobody misses who never was there.
pub(super) fn of_failed_starts(case: &Case<'_>, told: &[Verdict]) -> Vec<Verdict> {
    let mut verdicts: Vec<Verdict> = Vec::new();
    for (failed, evidence) in case.failed_starts() {
        let is_told = |verdict: &Verdict| verdict.node.as_ref().is_some_and(|node| failed.goes_by(node));
        // It may run since, though no master has taken it in yet.
        let runs = |report: &Report| failed.is_it(&report.explanation.node.name, &report.explanation.node.address);
        if told.iter().chain(&verdicts).any(is_told) || !failed.runs && case.reports.iter().any(runs) {
            continue;
        }
        verdicts.push(failed.verdict(case).because(evidence));
    }
    verdicts
}
