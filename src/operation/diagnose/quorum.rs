//! Who is missing where there is no master: voters that are gone, wiped or never there, and numbers that ask for too many.

use super::case::{Case, HOSTS, called, counted, outcome, so_many, verdict};
use super::elsewhere::displaced;
use super::node::full;
use super::reach::frozen;
use super::seed_host::is_seed_of;
use super::seeds::{misaddressed, names_for};
use super::shell::quoted;
use super::standing::settings;
use super::wiped::wiped_majority;
use super::{Certainty, Code, Mend, Report, Verdict, Worth};
use crate::cluster::Address;
use crate::service::MINIMUM_MASTER_NODES;
use crate::zen::explain::{Group, Host, Member, PingOutcome, Quota};

const INITIAL: &str = "cluster.initial_master_nodes";

/// All of it; who is blamed already is not missing for another reason.
pub(super) fn of_quorum(case: &Case<'_>, before: &[Verdict]) -> Vec<Verdict> {
    if !case.is_masterless() || case.has_master() {
        return Vec::new();
    }
    if let Some(found) = eligible(case, before) {
        return vec![found];
    }
    let mut verdicts = voters(case, before);
    if verdicts.is_empty() {
        verdicts.extend(unable(case));
    }
    if verdicts.is_empty() {
        let asking: Vec<Verdict> = case.reports.iter().filter_map(|report| minimum(case, report, before)).collect();
        // Who asks for too many is told so, and not what others ask for.
        let is_told = asking.iter().any(|verdict| verdict.code == Code::MinimumMasterNodesTooHigh);
        if !is_told && case.reports.iter().any(|report| unmet_minimum(report).is_some()) {
            verdicts.extend(settings(case));
        }
        verdicts.extend(asking);
        verdicts.extend(idle(case, before));
    }
    verdicts.extend(initial(case, before));
    verdicts
}

/// Whether it counts votes: while the voting set changes a majority of both is needed.
fn is_of_votes(quota: &Quota) -> bool {
    matches!(quota.of, Group::VotingSet | Group::LastCommittedVotingSet)
}

fn is_blamed(before: &[Verdict], name: &str) -> bool {
    before.iter().any(|verdict| verdict.node.as_deref() == Some(name))
}

/// The host of the asked node at which a member should be.
fn host_of<'a>(case: &Case<'a>, member: &Member) -> Option<&'a Host> {
    let place = case.place(member).1;
    let is_it = |host: &&Host| place.as_ref() == Some(&host.address);
    case.me.explanation.hosts.iter().find(is_it)
}

/// Whether somebody answers where this member was, under another id, who is of no other cluster than the teller.
fn is_wiped(case: &Case<'_>, teller: &Report, member: &Member) -> bool {
    let told = case.reports.iter().flat_map(|report| &report.explanation.hosts);
    let is_replaced = |host: &Host| {
        let before = host.instead_of.as_ref().is_some_and(|before| before.as_str() == &*member.id);
        before && matches!(host.outcome, PingOutcome::Answered { master: None, .. })
    };
    let place = case.place(member).1;
    let is_new = |report: &Report| {
        let (node, uuid) = (&report.explanation.node, report.explanation.cluster_uuid);
        let is_ours = uuid.is_none() || uuid == teller.explanation.cluster_uuid;
        is_ours && place.as_ref() == Some(&node.address) && node.id.as_str() != &*member.id
    };
    told.clone().any(is_replaced) || case.reports.iter().any(is_new)
}

/// Whether something at this member's place answers or may yet: then it is not to be started.
fn may_run(case: &Case<'_>, member: &Member) -> bool {
    host_of(case, member).is_some_and(|host| match host.outcome {
        PingOutcome::Refused | PingOutcome::Reset | PingOutcome::NotAsked | PingOutcome::NotUnderstood => false,
        PingOutcome::TimedOut
        | PingOutcome::Waiting
        | PingOutcome::Answered { .. }
        | PingOutcome::OtherClusterName { .. }
        | PingOutcome::OtherClusterUuid { .. }
        | PingOutcome::DuplicateId
        | PingOutcome::Itself
        | PingOutcome::Rejected { .. } => true,
    })
}

/// Whether nothing answers or listens where a member should be, and nobody is blamed for it.
fn is_down(case: &Case<'_>, before: &[Verdict], name: &str, member: &Member) -> bool {
    let is_there = |address: Address| case.is_there(&address);
    let runs = case.failed_start(name).is_some_and(|(told, _)| told.runs);
    !runs && !may_run(case, member) && !case.place(member).1.is_some_and(is_there) && !is_blamed(before, name)
}

/// Voters that do not run, where enough of them answer and yet there are not enough votes.
fn idle(case: &Case<'_>, before: &[Verdict]) -> Vec<Verdict> {
    let of = |report: &Report| {
        let quota = report.explanation.needed.iter().find(|quota| is_of_votes(quota) && !quota.is_met())?;
        let gone = quota.members.iter().filter(|member| !member.found && !case.has_id(&member.id));
        let gone = gone.filter(|member| !is_wiped(case, report, member)).map(|member| (case.place(member).0, member));
        let gone = gone.filter(|(name, member)| is_down(case, before, name, member));
        Some(gone.map(|(name, member)| down(case, &name, member)).collect::<Vec<_>>())
    };
    case.reports.iter().filter_map(of).flatten().collect()
}

/// The voting set lacks a majority.
fn voters(case: &Case<'_>, before: &[Verdict]) -> Vec<Verdict> {
    let is_short = |report: &&Report| {
        let mut sets = report.explanation.needed.iter().filter(|quota| is_of_votes(quota) && quota.needed > 0);
        sets.any(|quota| !quota.is_met())
    };
    // One that came back without its disk has what others say of the voting set, and holds nothing itself.
    let is_known = |report: &&Report| is_short(report) && report.explanation.cluster_uuid.is_some();
    let formed = case.reports.iter().find(is_known).or_else(|| case.reports.iter().find(is_short));
    let quotas = [Group::VotingSet, Group::LastCommittedVotingSet];
    // What a candidate lacks is votes: those who do not give theirs may be there.
    let is_absent = |member: &&Member| !member.found && !case.has_id(&member.id);
    let lacks = |quota: &Quota| quota.members.len() - quota.members.iter().filter(is_absent).count() < quota.needed;
    let of = |report: &Report| -> Option<Quota> {
        let unmet = |group: &Group| report.explanation.needed.iter().find(|quota| quota.of == *group && lacks(quota));
        quotas.iter().find_map(unmet).cloned()
    };
    let Some((teller, quota)) = formed.and_then(|report| Some((report, of(report)?))) else {
        return Vec::new();
    };
    let missing: Vec<&Member> = quota.members.iter().filter(is_absent).collect();
    let (lost, gone): (Vec<&Member>, Vec<&Member>) =
        missing.into_iter().partition(|member| is_wiped(case, teller, member));
    let is_elsewhere = |verdict: &Verdict| verdict.code == Code::DataElsewhere;
    if before.iter().any(is_elsewhere) {
        return Vec::new();
    }
    let elsewhere: Vec<Verdict> = lost.iter().filter_map(|member| displaced(case, teller, member)).collect();
    if !elsewhere.is_empty() {
        return elsewhere;
    }
    if quota.members.len() - lost.len() < quota.needed {
        // One of those that were wiped holds nothing to begin anew from: whoever told it of the voting set is yet to answer.
        let holds = teller.explanation.cluster_uuid.is_some();
        return if holds { vec![wiped_majority(case, teller, &quota, &lost)] } else { Vec::new() };
    }
    let gone: Vec<(String, &Member)> = gone.into_iter().map(|member| (case.place(member).0, member)).collect();
    let stopped: Vec<Verdict> = gone.iter().filter_map(|(name, member)| stopped_member(case, name, member)).collect();
    let gone: Vec<(String, &Member)> =
        gone.into_iter().filter(|(name, member)| is_down(case, before, name, member)).collect();
    if !stopped.is_empty() {
        // With those that go on there may be enough.
        return stopped.into_iter().chain(gone.iter().map(|(name, member)| down(case, name, member))).collect();
    }
    let Some((first, member)) = gone.first().map(|gone| (&gone.0, gone.1)) else {
        return Vec::new();
    };
    let names: Vec<&str> = gone.iter().map(|(name, _)| name.as_str()).collect();
    let summary = format!(
        "{} of {} {} needed for a master, and {} {} not run",
        quota.needed,
        counted(quota.members.len(), "voter"),
        if quota.needed == 1 { "is" } else { "are" },
        names.join(", "),
        if names.len() == 1 { "does" } else { "do" }
    );
    let what =
        format!("my voting set needs {} of {}, and there {}", quota.needed, quota.members.len(), so_many(quota.found));
    let mend = down(case, first, member).mend;
    // Where it is not known how they are started they may be gone for good.
    let is_formed = teller.explanation.cluster_uuid.is_some();
    let summary = if mend.is_none() && is_formed { format!("{summary}: {}", if_gone(teller)) } else { summary };
    let lost = verdict(Code::QuorumLost, first, summary).because(case.says(teller, what)).mended(mend);
    std::iter::once(lost).chain(gone.iter().map(|(name, member)| down(case, name, member))).collect()
}

/// What is left if nobody comes back.
fn if_gone(teller: &Report) -> String {
    let (binary, data) = (quoted(&teller.facts.binary), quoted(&teller.facts.data));
    format!(
        "start them where they are; if what they had on disk is gone for good, end this node and say \
         `{binary} recover {data}`, which gives up what only they had"
    )
}

/// Voters that are there and were told since that they cannot be master: they vote for nobody.
fn unable(case: &Case<'_>) -> Vec<Verdict> {
    let short = |report: &Report| {
        let mut quotas = report.explanation.needed.iter().filter(|quota| quota.needed > 0 && !quota.is_met());
        quotas.find(|quota| is_of_votes(quota)).cloned()
    };
    let Some((teller, quota)) = case.reports.iter().find_map(|report| Some((report, short(report)?))) else {
        return Vec::new();
    };
    let cannot = |report: &&Report| {
        let node = &report.explanation.node;
        !node.is_master_eligible() && quota.members.iter().any(|member| *member.id == *node.id.as_str())
    };
    let of = |report: &Report| {
        let name = case.name(report);
        let summary = format!("the vote of {name} is needed, and its node.master is false: it votes for nobody");
        let evidence = case.says(teller, format!("[{}] is in the voting set", report.explanation.node.id));
        let mend = case.plain(report, "node.master", "true");
        verdict(Code::QuorumLost, name, summary).because(evidence).mended(mend)
    };
    case.reports.iter().filter(cannot).map(of).collect()
}

fn stopped_member(case: &Case<'_>, name: &str, member: &Member) -> Option<Verdict> {
    let address = case.place(member).1?;
    Some(frozen(case, case.me, name, case.stopped(&address)?))
}

fn start(case: &Case<'_>, name: &str, member: &Member) -> Option<Mend> {
    case.start(case.place(member).1.as_ref(), name, Some(&member.id))
}

/// A member that nobody hears of.
fn down(case: &Case<'_>, name: &str, member: &Member) -> Verdict {
    let host = host_of(case, member);
    let place = case.place(member).1;
    if let Some(full) = place.as_ref().and_then(|address| full(case, address, name)) {
        return full;
    }
    let by_file = || case.sibling_named(name).and_then(|known| known.sibling.place());
    let where_ = place.clone().or_else(by_file).map_or_else(|| member.id.to_string(), |place| place.to_string());
    let is_refused = host.is_some_and(|host| matches!(host.outcome, PingOutcome::Refused | PingOutcome::Reset));
    let mend = start(case, name, member);
    // It may be a slip of whoever names it.
    let is_known = mend.is_some() || name != where_;
    let summary = if is_refused && !is_known {
        format!(
            "nobody listens at [{where_}], which is needed, and no node was ever seen there: start it, or correct the address"
        )
    } else if is_refused {
        let went = if case.said_so(&member.id) { "left in good order and " } else { "" };
        format!("{name} {went}does not run: nobody listens at [{where_}], where it is needed")
    } else {
        format!("{name} is needed, and nobody hears of it at [{where_}]")
    };
    let mut found = verdict(Code::VoterDown, name, summary).mended(mend);
    let pings = host.map(|host| case.pings_of(&host.address)).unwrap_or_default();
    for (by, host) in pings {
        found = found.because(case.says(by, format!("[{}] {}", host.address, outcome(&host.outcome))));
    }
    match (is_refused, is_known) {
        (true, true) => found,
        (true, false) => found.only(Certainty::Possible),
        (false, _) => found.only(Certainty::Likely),
    }
}

/// Nobody may become master.
fn eligible(case: &Case<'_>, before: &[Verdict]) -> Option<Verdict> {
    let is_there = |report: &Report| report.explanation.node.is_master_eligible();
    let answered = case
        .me
        .explanation
        .hosts
        .iter()
        .any(|host| matches!(host.outcome, PingOutcome::Answered { master_eligible: true, .. }));
    if case.reports.iter().any(is_there) || answered || case.me.facts.discovery == "single-node" {
        return None;
    }
    if let Some(found) = eligible_elsewhere(case) {
        return Some(found);
    }
    let own = case.name(case.me);
    if !before.is_empty() {
        return None;
    }
    let cluster = case.me.explanation.cluster_name.as_str();
    let is_absent = |one: &&super::Sibling| {
        one.cluster == cluster && one.is_eligible && one.place().is_none_or(|place| case.at(&place).is_none())
    };
    let absent = case.siblings().map(|known| known.sibling).find(is_absent);
    let mend = match absent {
        Some(sibling) => case.start(None, sibling.name.as_deref().unwrap_or_default(), None),
        None => Some(case.plain(case.me, "node.master", "true")),
    };
    let node = absent.and_then(|sibling| sibling.name.clone()).unwrap_or(own);
    let summary = "none of the nodes that answer may become master: node.master is false on all of them";
    let mut found = verdict(Code::NoEligibleNode, node, summary).mended(mend);
    for report in case.reports {
        found = found.because(case.says(report, "I am not master-eligible"));
    }
    Some(found)
}

/// One that may become master and does not answer: a member of the last state, or whoever is at a seed host that refuses.
fn eligible_elsewhere(case: &Case<'_>) -> Option<Verdict> {
    let me = case.me;
    let is_away = |address: &Address| case.at(address).is_none() && !case.runs(address);
    let member = me.facts.members.iter().find(|(_, address, is_eligible)| *is_eligible && is_away(address));
    if let Some((name, address, _)) = member {
        let what = format!("none of the nodes that answer may become master, and {name} is not there at [{address}]");
        let evidence = case.says(me, format!("{name} is a member of the last state, and may become master"));
        let start = case.start(Some(address), name, None);
        return Some(verdict(Code::NoEligibleNode, name, what).because(evidence).mended(start));
    }
    // A file beside may tell of one that does not run.
    let refusing = me.explanation.hosts.iter().find(|host| matches!(host.outcome, PingOutcome::Refused))?;
    let address = Some(&refusing.address).filter(|address| is_away(address) && case.siblings().next().is_none())?;
    let what = format!(
        "none of the nodes that answer may become master, and nothing listens at [{address}], a seed host of {}: start the \
         node there, or name others in {HOSTS}",
        case.name(me)
    );
    let evidence = case.says(me, format!("[{address}] refused the connection"));
    Some(verdict(Code::VoterDown, address.as_str(), what).because(evidence).only(Certainty::Likely))
}

/// The operator's number, if this node sees fewer.
fn unmet_minimum(report: &Report) -> Option<&Quota> {
    report.explanation.needed.iter().find(|quota| quota.of == Group::MasterEligibleNodes && !quota.is_met())
}

fn minimum(case: &Case<'_>, report: &Report, before: &[Verdict]) -> Option<Verdict> {
    let quota = unmet_minimum(report)?;
    let here = case.reports.iter().filter(|report| report.explanation.node.is_master_eligible()).count();
    if here >= quota.needed {
        return None;
    }
    // Who was, and answers that it is no more, may be asked for in vain.
    let may_vote = |address: &Address| case.at(address).is_none_or(|one| one.explanation.node.is_master_eligible());
    let members = report.facts.members.iter().filter(|(_, at, is_eligible)| *is_eligible && may_vote(at)).count();
    let initial = report.explanation.needed.iter().find(|quota| quota.of == Group::InitialHosts);
    let known = here.max(members).max(initial.map_or(0, |quota| quota.members.len()));
    let name = case.name(report);
    let what = format!(
        "{MINIMUM_MASTER_NODES} asks for [{}] master-eligible nodes, and there {}",
        quota.needed,
        so_many(quota.found)
    );
    if known >= quota.needed {
        // Enough are known: those that are gone are to come back.
        let absent = |(name, address, is_eligible): &&(String, Address, bool)| {
            *is_eligible && case.at(address).is_none() && !is_blamed(before, name)
        };
        let gone: Vec<_> = report.facts.members.iter().filter(absent).collect();
        let names: Vec<&str> = gone.iter().map(|(name, ..)| name.as_str()).collect();
        let (first, ..) = gone.first()?;
        let summary = format!(
            "{MINIMUM_MASTER_NODES} asks for {} master-eligible nodes, and {} {} not run",
            quota.needed,
            names.join(", "),
            if names.len() == 1 { "does" } else { "do" }
        );
        let start = gone.iter().find_map(|(name, address, _)| case.start(Some(address), name, None));
        let found = verdict(Code::VoterDown, first, summary).because(case.says(report, what));
        // Where nobody knows how they are started, fewer must do.
        return Some(found.mended(start.or_else(|| fewer(case, report, here))));
    }
    let right = known / 2 + 1;
    let mend = fewer(case, report, known);
    let summary = format!(
        "{name} waits for [{}] master-eligible nodes by its {MINIMUM_MASTER_NODES}, and there {}: [{right}] is a majority",
        quota.needed,
        so_many(known)
    );
    Some(verdict(Code::MinimumMasterNodesTooHigh, &name, summary).because(case.says(report, what)).mended(mend))
}

/// A minimum that is a majority of so many.
fn fewer(case: &Case<'_>, report: &Report, known: usize) -> Option<Mend> {
    let right = known / 2 + 1;
    match (&report.facts.minimum_of_state, report.facts.given.get(MINIMUM_MASTER_NODES)) {
        (None, Some(_)) => Some(case.plain(report, MINIMUM_MASTER_NODES, right)),
        (Some(_), _) | (None, None) => {
            case.restart(report, "", |start| start.with(MINIMUM_MASTER_NODES, &Worth::Plain(right.to_string())))
        }
    }
}

/// Before the first forming.
fn initial(case: &Case<'_>, before: &[Verdict]) -> Vec<Verdict> {
    let Some(quota) = case.unmet(Group::InitialHosts) else { return Vec::new() };
    let by_name = case.me.facts.given.contains_key(INITIAL);
    let seeds = case.me.facts.seeds.as_deref().unwrap_or_default();
    let is_there = |member: &&Member| {
        let host = host_of(case, member);
        let is_name = |report: &Report| {
            let node = &report.explanation.node;
            *node.name == *member.id || called(node) == *member.id || node.address.as_str() == &*member.id
        };
        let may_vote = |report: &Report| report.explanation.node.is_master_eligible();
        let answers =
            host.is_some_and(|host| matches!(host.outcome, PingOutcome::Answered { master_eligible: true, .. }));
        let is_waited_for = host.is_some_and(|host| host.outcome == PingOutcome::Waiting);
        let is_unbelieved = case.place(member).1.is_some_and(|address| case.is_unbelieved(&address));
        !member.found
            && !answers
            && !is_waited_for
            && !is_unbelieved
            && !case.reports.iter().any(|report| is_name(report) && may_vote(report))
    };
    let missing: Vec<(String, &Member)> =
        quota.members.iter().filter(is_there).map(|member| (case.place(member).0, member)).collect();
    let is_nowhere = |member: &Member| {
        let at = Address::from(&*member.id);
        !case.is_there(&at) && case.sibling_at(&at).is_none() && !seeds.iter().any(|seed| is_seed_of(seed, &at))
    };
    let is_strange = |name: &str, member: &Member| match is_addressless(member) {
        true => case.sibling_named(name).is_none(),
        false => is_nowhere(member),
    };
    let strange: Vec<&(String, &Member)> =
        missing.iter().filter(|(name, member)| by_name && is_strange(name, member)).collect();
    let runs: Vec<String> = case
        .reports
        .iter()
        .filter(|report| report.explanation.node.is_master_eligible())
        .map(|report| case.name(report))
        .collect();
    if let Some((name, _)) = strange.first() {
        // With fewer than a majority of what was named, those that are to come later would found a cluster of their own.
        if runs.len() < quota.needed {
            return vec![not_begun(case, quota, &missing)];
        }
        return case.reports.iter().filter_map(|report| misnamed(case, report, name, &runs)).collect();
    }
    let is_open = |(name, member): &&(String, &Member)| is_awaited(case, before, (name, member), by_name);
    missing.iter().filter(is_open).map(|(name, member)| down(case, name, member)).collect()
}

/// Whether this node waits for one that is to found the cluster, and nothing else was told about it.
fn is_awaited(case: &Case<'_>, before: &[Verdict], (name, member): (&str, &Member), by_name: bool) -> bool {
    let seeds = case.me.facts.seeds.as_deref().unwrap_or_default();
    let is_mine = |verdict: &Verdict| verdict.code == Code::WrongSeed && verdict.summary.contains(&*member.id);
    let is_misplaced = |verdict: &Verdict| {
        let codes = [Code::HttpPortInSeeds, Code::ForeignCluster, Code::SeedUnresolved];
        codes.contains(&verdict.code) && verdict.summary.contains(&*member.id)
    };
    // Where its name leads nobody answers, which is told.
    let is_silent =
        |host: &Host| host.outcome == PingOutcome::TimedOut && names_for(case.me, &host.address).contains(&&*member.id);
    let is_led_astray = is_addressless(member) && case.me.explanation.hosts.iter().any(is_silent);
    let is_told = is_led_astray || before.iter().any(|verdict| is_mine(verdict) || is_misplaced(verdict));
    // Others tell a candidate where they look: who should be there they know.
    let is_seed = || seeds.iter().any(|seed| is_seed_of(seed, &Address::from(&*member.id)));
    let is_looked_for = by_name || host_of(case, member).is_some() || is_seed();
    // The name of its own host, which is loopback there.
    let is_itself = || Address::from(&*member.id).is_loopback() && !case.me.explanation.node.address.is_loopback();
    let is_looked_for = is_looked_for && (is_seed() || !is_itself());
    // Who has tried to start at another host's address said so itself.
    let cluster = case.me.explanation.cluster_name.as_str();
    let meant = misaddressed(case, cluster, &Address::from(&*member.id)).and_then(|one| one.name.as_deref());
    let is_told = is_told || meant.is_some_and(|meant| case.failed_start(meant).is_some());
    is_looked_for && !is_blamed(before, name) && !is_told && !is_own_place(case, before, member)
}

/// Whether a member of the initial hosts is told by a name that is no address.
fn is_addressless(member: &Member) -> bool {
    member.address.is_none() && !member.id.contains(':')
}

/// Whether this node itself should be reached there, and listens on loopback only.
fn is_own_place(case: &Case<'_>, before: &[Verdict], member: &Member) -> bool {
    let own = case.name(case.me);
    let is_hidden =
        before.iter().any(|verdict| verdict.code == Code::LoopbackOnly && verdict.node.as_deref() == Some(&*own));
    let place = case.place(member).1;
    is_hidden && place.is_some_and(|place| place.port() == case.me.explanation.node.address.port())
}

/// Nodes that are to found the cluster and of which nobody knows yet.
fn not_begun(case: &Case<'_>, quota: &Quota, missing: &[(String, &Member)]) -> Verdict {
    let names: Vec<&str> = missing.iter().map(|(name, _)| name.as_str()).collect();
    let first = missing.first().map_or_else(String::new, |(name, _)| name.clone());
    let summary = format!(
        "{} of the nodes in {INITIAL} are needed to found the cluster, and {} {} not heard of: start {}, or correct the \
         name where it is another one",
        quota.needed,
        names.join(", "),
        if names.len() == 1 { "is" } else { "are" },
        if names.len() == 1 { "it" } else { "them" },
    );
    let what = format!("of the nodes in my {INITIAL} there {}", so_many(quota.found));
    let mend = missing.iter().find_map(|(name, member)| start(case, name, member));
    verdict(Code::VoterDown, first, summary).because(case.says(case.me, what)).mended(mend).only(Certainty::Likely)
}

/// A node that waits for one of this name, which nobody has.
fn misnamed(case: &Case<'_>, report: &Report, name: &str, runs: &[String]) -> Option<Verdict> {
    let own = case.name(report);
    let given = report.facts.given.get(INITIAL).filter(|given| given.contains(name))?;
    let summary = format!("{own} waits for [{name}], which its {INITIAL} names and no node is called");
    let evidence = case.says(report, format!("I was given {INITIAL}: [{given}]"));
    let mend = case.list(report, INITIAL, runs.to_vec());
    Some(verdict(Code::WrongInitialMasterNodes, &own, summary).because(evidence).mended(mend))
}
