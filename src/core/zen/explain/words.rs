//! Makes a sentence of an explanation. Everything that grows with the cluster is cut to a few.

use super::{Attempt, Explanation, Group, Host, Member, PingOutcome, Quota, Straggler};
use crate::cluster::{Address, Node, Uuid};
use std::collections::BTreeMap;
use std::sync::Arc;

/// How many of many are named.
const NAMED_MAX: usize = 10;

/// All of it in one sentence.
pub(super) fn summary(all: &Explanation) -> String {
    let lasts = span(all.since_millis);
    match &all.master_node {
        None => format!("no master for {lasts}: {}", reason(all)),
        Some(master) => {
            let heard = all.master_heard_millis.map(|heard| format!("last heard of {} ago", span(heard)));
            // A follower knows how long it has followed, and not how long that one has led.
            let since = if master.id == all.node.id { " for" } else { ", followed for" };
            let head = format!("{} is master of term {}{since} {lasts}", who(Some(master), &master.address), all.term);
            let unmet = unmet(all).map(|quota| shortage(all, quota));
            let behind = few(all.nodes.iter().map(straggles), ", ");
            let head = [head].into_iter().chain(heard).collect::<Vec<_>>().join(", ");
            joined([head].into_iter().chain(unmet).chain([behind]))
        }
    }
}

/// Why there is no master. The same facts give the same words, however long they last.
pub(in super::super) fn reason(all: &Explanation) -> String {
    let attempt = all.attempt.as_ref().map(attempts);
    let unmet: Vec<String> = unmet(all).map(|quota| shortage(all, quota)).collect();
    let is_puzzling = attempt.is_none() && unmet.is_empty();
    let otherwise = is_puzzling.then(|| undecided(all).to_string());
    let homeless = lost_members(all).map(|member| format!("where {} listens is not known", called(member)));
    let unresolved = all.unresolved.iter().map(|host| format!("host [{}] has no address: {}", host.host, host.why));
    let rest = [few(homeless, ", "), troubles(all), few(unresolved, ", ")];
    let hangs =
        all.disk_hangs_millis.map(|_| "the disk of this node hangs, so it can neither vote nor join".to_string());
    joined(hangs.into_iter().chain(attempt).chain(unmet).chain(otherwise).chain(rest))
}

/// The quotas that keep an election from being won; where others have a master there is none to be won.
pub(super) fn unmet(all: &Explanation) -> impl Iterator<Item = &Quota> {
    let names_master = |host: &Host| matches!(host.outcome, PingOutcome::Answered { master: Some(_), .. });
    let is_led = all.hosts.iter().any(names_master);
    all.needed.iter().filter(move |quota| !is_led && !quota.is_met())
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.filter(|part| !part.is_empty()).collect::<Vec<_>>().join("; ")
}

/// The first of many, and how many more there are.
pub(super) fn few(items: impl Iterator<Item = String>, between: &str) -> String {
    let mut items: Vec<String> = items.collect();
    let more = items.len().saturating_sub(NAMED_MAX);
    items.truncate(NAMED_MAX);
    let named = items.join(between);
    if more > 0 { format!("{named}{between}and {more} more") } else { named }
}

/// Some names as a person lists them.
pub(super) fn several(names: &[String]) -> String {
    match names {
        [] => String::new(),
        [name] => name.clone(),
        [first @ .., last] if names.len() <= NAMED_MAX => format!("{} and {last}", first.join(", ")),
        _ => few(names.iter().cloned(), ", "),
    }
}

/// A time that a person reads at a glance.
fn span(millis: u64) -> String {
    match millis {
        0..1_000 => format!("{millis}ms"),
        1_000..120_000 => format!("{}s", millis / 1_000),
        120_000..7_200_000 => format!("{}m", millis / 60_000),
        7_200_000..172_800_000 => format!("{}h", millis / 3_600_000),
        _ => format!("{}d", millis / 86_400_000),
    }
}

/// A node by its name, where it has one.
pub(super) fn who(node: Option<&Node>, address: &Address) -> String {
    match node.filter(|node| !node.name.is_empty()) {
        Some(node) => format!("{} ({address})", node.name),
        None => address.to_string(),
    }
}

pub(super) fn called(member: &Member) -> &str {
    member.name.as_deref().filter(|name| !name.is_empty()).unwrap_or(&member.id)
}

/// The group with its members: `the voting set {a,b,c}`.
pub(super) fn group(quota: &Quota) -> String {
    let members = few(quota.members.iter().map(|member| called(member).to_string()), ",");
    match quota.of {
        Group::VotingSet => format!("the voting set {{{members}}}"),
        Group::LastCommittedVotingSet => format!("the last committed voting set {{{members}}}"),
        Group::InitialHosts => format!("the initial hosts {{{members}}}"),
        Group::FoundHosts => "the hosts found".into(),
        Group::MasterEligibleNodes => "all master-eligible nodes".into(),
    }
}

fn attempts(attempt: &Attempt) -> String {
    let name = |node: &Node| who(Some(node), &node.address);
    match attempt {
        Attempt::Stands { .. } => "this node stands as a candidate".into(),
        Attempt::Votes { candidate, .. } => format!("this node voted for {}, which does not lead yet", name(candidate)),
        Attempt::Joins { master, .. } => format!("this node asked {} to be taken in", name(master)),
        Attempt::Publishes { .. } => "this node was elected, and its first state is not committed yet".into(),
        Attempt::Accepted { master, .. } => format!("a state of {} is not known to be committed yet", name(master)),
    }
}

/// How many of a quota are there, and who.
fn shortage(all: &Explanation, quota: &Quota) -> String {
    let Quota { needed, found, .. } = quota;
    let are = |count: usize| if count == 1 { "is" } else { "are" };
    let there = match &all.attempt {
        Some(Attempt::Stands { .. }) => "voted".to_string(),
        Some(Attempt::Publishes { .. }) => "stored it".into(),
        Some(Attempt::Votes { .. } | Attempt::Joins { .. } | Attempt::Accepted { .. }) | None => {
            format!("{} there", are(*found))
        }
    };
    let found = if *found == 0 { "none".into() } else { found.to_string() };
    match quota.of {
        Group::MasterEligibleNodes => {
            format!("discovery.zen.minimum_master_nodes asks for {needed} master-eligible nodes, {found} {there}")
        }
        Group::FoundHosts => "before the first forming every host that is found must answer or refuse".into(),
        Group::VotingSet | Group::LastCommittedVotingSet | Group::InitialHosts => {
            let group = group(quota);
            let members = quota.members.iter().filter(|member| member.found).map(|member| called(member).to_string());
            let members = few(members, ", ");
            let members = if members.is_empty() { members } else { format!(" ({members})") };
            format!("{needed} of {group} {} needed, {found} {there}{members}", are(*needed))
        }
    }
}

/// Enough nodes are there, nobody is asked, and yet nobody leads.
fn undecided(all: &Explanation) -> &'static str {
    let any = |is_so: fn(&PingOutcome) -> bool| all.hosts.iter().any(|host| is_so(&host.outcome));
    if any(|outcome| matches!(outcome, PingOutcome::Answered { master: Some(_), .. })) {
        "others have a master, and this node is not with them"
    } else if any(|outcome| matches!(outcome, PingOutcome::Answered { sees_quorum: true, .. })) {
        "enough nodes are there, and no election has succeeded yet"
    } else if all.node.is_master_eligible() {
        "enough nodes are there, and none of them sees enough others yet"
    } else {
        "this node is not master-eligible, and waits for one that is"
    }
}

/// Whether the host is that of a node that a quota names.
pub(super) fn is_needed(all: &Explanation, host: &Host) -> bool {
    members(all).any(|member| member.address.as_ref() == Some(&host.address) || *member.id == *host.address.as_str())
}

pub(super) fn members(all: &Explanation) -> impl Iterator<Item = &Member> {
    all.needed.iter().flat_map(|quota| &quota.members)
}

/// Voters that nobody can ask: they are gone from the state, and no host answers for them.
pub(super) fn lost_members(all: &Explanation) -> impl Iterator<Item = &Member> {
    let voting = unmet(all).filter(|quota| quota.of != Group::FoundHosts && quota.of != Group::InitialHosts);
    voting.flat_map(|quota| &quota.members).filter(|member| !member.found && member.address.is_none())
}

/// What keeps a host from counting.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct HostTrouble {
    /// The verb, of one host and of several.
    verb: [&'static str; 2],
    rest: String,
}

impl HostTrouble {
    fn new(verb: [&'static str; 2], rest: impl Into<String>) -> Option<HostTrouble> {
        Some(HostTrouble { verb, rest: rest.into() })
    }

    fn of(names: &[String], trouble: &HostTrouble) -> String {
        let verb = trouble.verb[usize::from(names.len() > 1)];
        format!("{} {verb} {}", several(names), trouble.rest)
    }
}

/// What keeps the hosts from counting: those that a quota names first, and those of one trouble together.
fn troubles(all: &Explanation) -> String {
    let mut hosts: Vec<&Host> = all.hosts.iter().collect();
    hosts.sort_by_cached_key(|host| !is_needed(all, host));
    let mut groups: Vec<(HostTrouble, Vec<String>)> = Vec::new();
    let mut places: BTreeMap<HostTrouble, usize> = BTreeMap::new();
    for host in hosts {
        let Some(trouble) = trouble(all, host) else {
            continue;
        };
        let place = *places.entry(trouble.clone()).or_insert(groups.len());
        if place == groups.len() {
            groups.push((trouble, Vec::new()));
        }
        groups[place].1.push(who(host.node.as_deref(), &host.address));
    }
    few(groups.iter().map(|(trouble, names)| HostTrouble::of(names, trouble)), ", ")
}

fn trouble(all: &Explanation, host: &Host) -> Option<HostTrouble> {
    const IS: [&str; 2] = ["is", "are"];
    let past = |verb, rest: &str| HostTrouble::new([verb; 2], rest);
    match &host.outcome {
        PingOutcome::Answered { .. } => answers(all, host),
        PingOutcome::Itself => None,
        PingOutcome::Waiting => past("did", "not answer yet"),
        PingOutcome::NotAsked => HostTrouble::new(["was", "were"], "not asked yet"),
        PingOutcome::Refused => past("refused", "the connection"),
        PingOutcome::Reset => past("broke", "the connection"),
        PingOutcome::TimedOut => past("timed", "out"),
        PingOutcome::NotUnderstood => past("gave", "an answer that could not be understood"),
        PingOutcome::OtherClusterName { theirs, ours } => {
            HostTrouble::new(IS, format!("of cluster [{theirs}], not of [{ours}]"))
        }
        PingOutcome::OtherClusterUuid { theirs, ours } => {
            let text = |uuid: &Option<Uuid>| uuid.map_or_else(|| "none".into(), |uuid| uuid.to_string());
            let differs = format!("cluster uuid [{}] is not [{}]", text(theirs), text(ours));
            HostTrouble::new(IS, format!("of another cluster of this name: {differs}"))
        }
        PingOutcome::DuplicateId => HostTrouble::new(["goes", "go"], "by this node's id"),
        PingOutcome::Rejected { why } => past("refused", &format!("the ping: {why}")),
    }
}

/// What keeps a host that answered from counting.
fn answers(all: &Explanation, host: &Host) -> Option<HostTrouble> {
    const IS: [&str; 2] = ["is", "are"];
    let PingOutcome::Answered { master_eligible, masterless, master, not_joined, .. } = &host.outcome else {
        return None;
    };
    let votes = |id: &str| members(all).any(|member| *member.id == *id);
    let is_voting = all.needed.iter().any(|quota| quota.of == Group::VotingSet);
    match (master, &host.node) {
        (Some(master), node) => {
            let why = not_joined.as_ref().map_or_else(String::new, |why| format!(", which this node {why}"));
            let is_it = |node: &Option<Arc<Node>>| node.as_ref().is_some_and(|node| node.same_process(master));
            if is_it(node) {
                return HostTrouble::new(IS, format!("master{why}"));
            }
            // Once is enough.
            let says_it = |host: &Host| is_it(&host.node) && matches!(host.outcome, PingOutcome::Answered { .. });
            let why = if all.hosts.iter().any(says_it) { String::new() } else { why };
            HostTrouble::new(["follows", "follow"], format!("{}{why}", who(Some(master), &master.address)))
        }
        (None, _) if !master_eligible => HostTrouble::new(IS, "not master-eligible"),
        (None, _) if !masterless => HostTrouble::new(IS, "about to follow a master"),
        (None, Some(node)) => match &host.instead_of {
            Some(before) => {
                HostTrouble::new(["has", "have"], format!("the id [{}] in the place of [{before}]", node.id))
            }
            None if is_voting && !votes(node.id.as_str()) => HostTrouble::new(IS, "not in the voting set"),
            None => None,
        },
        (None, None) => None,
    }
}

fn straggles(node: &Straggler) -> String {
    let name = who(Some(&node.node), &node.node.address);
    match &node.failed {
        Some(why) => format!("{name} failed: {why}"),
        None if node.leaves => format!("{name} leaves"),
        None if node.missed_pings == 1 => format!("{name} left a ping unanswered"),
        None if node.missed_pings > 0 => format!("{name} left {} pings unanswered", node.missed_pings),
        None => format!("{name} lags: it accepted {} and applied {}", node.accepted, node.applied),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_grows_with_the_cluster_is_cut_to_a_few() {
        let names = |count: usize| (1..=count).map(|number| number.to_string()).collect::<Vec<_>>();
        assert_eq!(several(&names(1)), "1");
        assert_eq!(several(&names(3)), "1, 2 and 3");
        assert_eq!(several(&names(10)), "1, 2, 3, 4, 5, 6, 7, 8, 9 and 10");
        assert_eq!(several(&names(1_000)), "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, and 990 more");
    }

    #[test]
    fn times_are_read_at_a_glance() {
        let texts = [0, 999, 1_999, 119_999, 120_000, 7_199_999, 7_200_000, 172_800_000].map(span);
        assert_eq!(texts, ["0ms", "999ms", "1s", "119s", "2m", "119m", "2h", "2d"]);
    }
}
