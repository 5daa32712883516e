//! Looks on and remembers what contradicts what a cluster promises. It stops nothing: a flaw is to be seen to its end.
//!
//! It knows neither what is done to the nodes nor which rules they keep, and judges by what they show and tell. `oracle`
//! names what it looks for, `claims` remembers what clients were told.

mod claims;
mod oracle;

pub use oracle::Oracle;

use crate::cluster::{Block, ClusterState, EphemeralId, NodeId, RequestOutcome, StateId, Term, Uuid, Version};
use crate::protocol::{Ticket, Time};
use crate::service::{Answer, Question};
use crate::sim::Member;
use crate::sim::watch::{Violation, Watch};
use crate::zen::Message;
use claims::Claims;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

/// What is known of a process.
#[derive(Debug)]
struct Process {
    name: Arc<str>,
    id: NodeId,
    ephemeral_id: EphemeralId,
    /// A frozen node leads nobody, whatever it would say.
    is_paused: bool,
    /// Since when it leads for all to see.
    leads: Option<Time>,
    /// Since when it shows no master.
    leaderless: Option<Time>,
    /// The master that it shows.
    master: Option<EphemeralId>,
    applied: Arc<ClusterState>,
}

/// What was seen.
#[derive(Debug, Default)]
pub struct Witness {
    processes: BTreeMap<usize, Process>,
    /// Processes that ended, and when.
    gone: BTreeMap<EphemeralId, Time>,
    /// The committed states, by rank.
    committed: BTreeMap<(Term, Version), Arc<ClusterState>>,
    /// Which cluster each node belongs to.
    clusters: BTreeMap<NodeId, Uuid>,
    /// The newest state that each node acknowledged.
    acknowledged: BTreeMap<NodeId, StateId>,
    claims: Claims,
    /// The first sight of what needs no measuring.
    firsts: BTreeMap<Oracle, String>,
    /// What lasted longest.
    overlap: Option<(Duration, String)>,
    dead: Option<(Duration, String)>,
}

impl Witness {
    /// A client asks.
    pub fn asked(&mut self, at: Time, ticket: Ticket, question: &Question) {
        self.claims.asked(at, ticket, question);
    }

    /// What was seen of a flaw by `now`, among these nodes or all, lasting as long as that; none if it was not self.
    pub fn judge(&self, oracle: Oracle, now: Time, nodes: &[usize], span: Duration) -> Option<String> {
        match oracle {
            Oracle::TwoMasters => self.two_masters(now, span),
            Oracle::TwoClusters => self.two_clusters(),
            Oracle::TwoStates => self.first(Oracle::TwoStates),
            Oracle::TimeTravel => self.first(Oracle::TimeTravel),
            Oracle::IdentityChanged => self.first(Oracle::IdentityChanged),
            Oracle::LostUpdate => self.lost_update(),
            Oracle::StaleRead => self.first(Oracle::StaleRead),
            Oracle::ForgottenAck => self.first(Oracle::ForgottenAck),
            Oracle::EarlyAck => self.first(Oracle::EarlyAck),
            Oracle::NoMaster => self.no_master(now, nodes, span),
            Oracle::DeadMember => self.dead_member(span),
            Oracle::SlowUpdate => self.slow_update(now, span),
        }
    }

    /// The first sight of something.
    fn first(&self, oracle: Oracle) -> Option<String> {
        self.firsts.get(&oracle).cloned()
    }

    fn two_masters(&self, now: Time, span: Duration) -> Option<String> {
        let (lasted, who) = self.overlap.clone().max(self.overlap_at(now)).filter(|(lasted, _)| *lasted >= span)?;
        Some(format!("{who} for {} s", lasted.as_secs()))
    }

    /// How long two nodes have both led, and who.
    fn overlap_at(&self, now: Time) -> Option<(Duration, String)> {
        let leads = |process: &Process| Some((process.leads?, process.name.clone()));
        let mut leading: Vec<(Time, Arc<str>)> = self.processes.values().filter_map(leads).collect();
        leading.sort_unstable();
        let [(_, one), (since, other), ..] = leading.as_slice() else {
            return None;
        };
        Some((now.since(*since), format!("{one} and {other} both led")))
    }

    fn dead_member(&self, span: Duration) -> Option<String> {
        let (lasted, who) = self.dead.as_ref().filter(|(lasted, _)| *lasted >= span)?;
        Some(format!("{who}, {} s after it ended", lasted.as_secs()))
    }

    fn slow_update(&self, now: Time, span: Duration) -> Option<String> {
        let (lasted, which) = self.claims.slowest(now).filter(|(lasted, _)| *lasted >= span)?;
        Some(format!("{which} took {} s", lasted.as_secs()))
    }

    fn two_clusters(&self) -> Option<String> {
        let (first, uuid) = self.clusters.first_key_value()?;
        let (other, _) = self.clusters.iter().find(|(_, other)| *other != uuid)?;
        Some(format!("{first} and {other} are of different clusters"))
    }

    /// These nodes, or all, as far as they run: who among them has had no master for so long.
    fn no_master(&self, now: Time, nodes: &[usize], span: Duration) -> Option<String> {
        let meant = self.processes.iter().filter(|(node, _)| nodes.is_empty() || nodes.contains(node));
        // Who shows a master that is gone has none either.
        let is_gone = |process: &Process| process.master.as_ref().and_then(|master| self.gone.get(master)).copied();
        let lack = meant.filter_map(|(_, process)| {
            Some((now.since(process.leaderless.or_else(|| is_gone(process))?), &process.name))
        });
        let (lasted, name) = lack.max().filter(|(lasted, _)| *lasted >= span)?;
        Some(format!("{name} has had no master for {} s", lasted.as_secs()))
    }

    /// An acknowledged update that a master committed without, or that the one with the most nodes lacks in the end.
    fn lost_update(&self) -> Option<String> {
        self.first(Oracle::LostUpdate).or_else(|| self.lost_at_last())
    }

    fn lost_at_last(&self) -> Option<String> {
        let masters = self.processes.values().filter(|process| process.leads.is_some());
        let followers = |master: &Process| {
            let id = master.applied.nodes.master.as_ref();
            self.processes
                .values()
                .filter(|other| other.leaderless.is_none() && other.applied.nodes.master.as_ref() == id)
                .count()
        };
        let master = masters.max_by_key(|master| (followers(master), master.applied.version))?;
        let missing = self.claims.missing_in(&master.applied, false)?;
        Some(format!("{missing} is not in {} of {}", master.applied.id(), master.name))
    }

    fn note(&mut self, oracle: Oracle, text: impl FnOnce() -> String) {
        self.firsts.entry(oracle).or_insert_with(text);
    }

    fn see_mastership(&mut self, at: Time, node: usize, member: &Member) {
        let shows = member.open_master();
        let leads = shows.is_some_and(|master| master.same_process(member.local()));
        let has_master = shows.is_some();
        let Some(process) = self.processes.get_mut(&node) else {
            return;
        };
        process.leads = if leads && !process.is_paused { process.leads.or(Some(at)) } else { None };
        process.master = shows.map(|master| master.ephemeral_id.clone());
        process.leaderless = if has_master { None } else { process.leaderless.or(Some(at)) };
        if process.leads.is_none() {
            return;
        }
        let name = process.name.clone();
        self.overlap = self.overlap.take().max(self.overlap_at(at));
        let nodes = member.applied().nodes.iter();
        for (listed, ended) in nodes.filter_map(|listed| Some((listed, self.gone.get(&listed.ephemeral_id)?))) {
            let lasted = at.since(*ended);
            if self.dead.as_ref().is_none_or(|(longest, _)| *longest < lasted) {
                self.dead = Some((lasted, format!("{name} lists {}", listed.name)));
            }
        }
    }

    fn see_commit(&mut self, node: usize, member: &Member) {
        let applied = member.applied();
        let is_unrecovered = member.zen().is_none() && applied.blocks.contains(Block::STATE_NOT_RECOVERED.id);
        if is_unrecovered || applied.id() == StateId::NONE {
            return;
        }
        let (id, name) = (applied.id(), &member.local().name);
        let known = self.committed.entry(id.rank()).or_insert_with(|| applied.clone()).uuid;
        if known != id.uuid {
            self.note(Oracle::TwoStates, || format!("{name} applied a state {id} that is not the {id} of others"));
        }
        let before =
            self.processes.get_mut(&node).map(|process| std::mem::replace(&mut process.applied, applied.clone()));
        let before = before.map_or(StateId::NONE, |state| state.id());
        if before.rank() > id.rank() || before.rank() == id.rank() && before.uuid != id.uuid {
            self.note(Oracle::TimeTravel, || format!("{name} applied {id} after {before}"));
        }
        if before != id
            && member.leads()
            && !self.firsts.contains_key(&Oracle::LostUpdate)
            && let Some(missing) = self.claims.missing_in(applied, true)
        {
            self.note(Oracle::LostUpdate, || format!("{missing} is not in {id} of {name}"));
        }
        if let Some(uuid) = applied.cluster_uuid
            && self.clusters.insert(member.local().id.clone(), uuid).is_some_and(|before| before != uuid)
        {
            self.note(Oracle::IdentityChanged, || format!("{name} follows a cluster with another uuid than before"));
        }
    }

    fn see_acknowledged(&mut self, member: &Member) {
        let (held, id) = (member.newest_held(), &member.local().id);
        if let Some(told) = self.acknowledged.get(id).copied().filter(|told| told.rank() > held.rank()) {
            self.note(Oracle::ForgottenAck, || format!("{id} acknowledged {told} and holds {held}"));
        }
    }

    /// A client is told that all have applied a state: whoever is in it, has been a member since and runs must have. Who asks
    /// again is told of the state that made the change, and it is the members of a later one who were waited for.
    fn see_all_applied(&mut self, at: StateId) {
        if self.committed.get(&at.rank()).is_none_or(|state| state.uuid != at.uuid) {
            return;
        }
        let lags = |process: &&Process| {
            let is_in = |state: &ClusterState| state.nodes.iter().any(|node| node.ephemeral_id == process.ephemeral_id);
            let mut since = self.committed.range(at.rank()..).map(|(_, state)| state);
            process.applied.rank() < at.rank() && since.all(|state| is_in(state))
        };
        let laggard = self.processes.values().find(lags).map(|process| (process.name.clone(), process.applied.id()));
        if let Some((name, has)) = laggard {
            self.note(Oracle::EarlyAck, || format!("{at} is said to be applied by all, and {name} has {has}"));
        }
    }
}

impl Watch<Member> for Witness {
    fn booted(&mut self, at: Time, node: usize, member: &Member) -> Result<(), Violation> {
        let local = member.local();
        let process = Process {
            name: local.name.clone(),
            id: local.id.clone(),
            ephemeral_id: local.ephemeral_id.clone(),
            is_paused: false,
            leads: None,
            leaderless: Some(at),
            master: None,
            applied: Arc::new(ClusterState::initial("none".into())),
        };
        self.processes.insert(node, process);
        Ok(())
    }

    fn handled(&mut self, at: Time, node: usize, member: &Member) -> Result<(), Violation> {
        self.see_commit(node, member);
        self.see_mastership(at, node, member);
        self.see_acknowledged(member);
        Ok(())
    }

    fn ended(&mut self, at: Time, node: usize) -> Result<(), Violation> {
        if let Some(process) = self.processes.remove(&node) {
            self.gone.insert(process.ephemeral_id, at);
        }
        Ok(())
    }

    fn paused(&mut self, at: Time, node: usize, is_paused: bool) -> Result<(), Violation> {
        if let Some(process) = self.processes.get_mut(&node) {
            process.is_paused = is_paused;
            let leads = process.master.as_ref() == Some(&process.ephemeral_id);
            process.leads = (leads && !is_paused).then_some(at);
        }
        Ok(())
    }

    fn sent(&mut self, _at: Time, from: usize, _to: usize, message: &Message) -> Result<(), Violation> {
        if let (Message::Report(report), Some(process)) = (message, self.processes.get(&from)) {
            let told = self.acknowledged.entry(process.id.clone()).or_insert(StateId::NONE);
            *told = (*told).max(report.accepted);
        }
        Ok(())
    }

    fn answered(&mut self, at: Time, _node: usize, ticket: Ticket, answer: &Answer) -> Result<(), Violation> {
        if let Some(stale) = self.claims.answered(at, ticket, answer) {
            self.note(Oracle::StaleRead, || stale);
        }
        if let Answer::Done { at, acknowledged: true, outcome: RequestOutcome::Written { .. } } = answer {
            self.see_all_applied(*at);
        }
        Ok(())
    }

    fn lost(&mut self, _at: Time, _node: usize, ticket: Ticket) -> Result<(), Violation> {
        self.claims.lost(ticket);
        Ok(())
    }
}
