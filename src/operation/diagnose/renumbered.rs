//! A network whose addresses were all changed: nodes that look for each other where they were.

use super::case::{Case, verdict};
use super::{Certainty, Code, Mend, Verdict};
use crate::cluster::Address;
use crate::zen::explain::PingOutcome;

/// The asked node is at another address than in the last state that it has, hears of nobody, and names the others where they
/// were. Where they are now is guessed: networks are given other numbers, and hosts keep theirs in it.
pub(super) fn of_renumbered(case: &Case<'_>) -> Option<Verdict> {
    let (explanation, facts) = (&case.me.explanation, &case.me.facts);
    let answers = explanation.hosts.iter().any(|host| matches!(host.outcome, PingOutcome::Answered { .. }));
    if !case.is_masterless() || case.reports.len() > 1 || answers {
        return None;
    }
    let new = &explanation.node.address;
    let (own, others): (Vec<_>, Vec<_>) = facts.members.iter().partition(|(name, ..)| *name == *explanation.node.name);
    let (_, old, _) = own.first().filter(|(_, old, _)| old.host() != new.host())?;
    let is_named = |host: &str| facts.seeds.iter().flatten().any(|seed| Address::from(seed.as_str()).host() == host);
    let others: Vec<&Address> = others.into_iter().map(|(_, at, _)| at).filter(|at| is_named(at.host())).collect();
    if others.is_empty() {
        return None;
    }
    let named = others.iter().map(|at| format!("[{at}]")).collect::<Vec<_>>().join(", ");
    let name = case.name(case.me);
    let summary = format!(
        "{name} was at [{old}] and is at [{new}] now, and looks for the others where they were, at {named}: if their addresses \
         have changed as well, its seed hosts are to name the new ones"
    );
    let evidence = case.says(case.me, format!("the last state that I have names me at [{old}], and I am at [{new}]"));
    let found = verdict(Code::WrongSeed, &name, summary).because(evidence).only(Certainty::Likely);
    Some(found.mended(seeds(case, old, new, &others)))
}

/// The line of seed hosts with the new addresses, if these can be told.
fn seeds(case: &Case<'_>, old: &Address, new: &Address, others: &[&Address]) -> Option<Mend> {
    let moved = |at: &&Address| {
        let host = in_new_network(old.host(), new.host(), at.host())?;
        Some(format!("{host}:{}", at.port()?))
    };
    let places: Option<Vec<String>> = others.iter().map(moved).collect();
    let all: Vec<String> = [new.to_string()].into_iter().chain(places?).collect();
    case.hosts(case.me, &all, |seed| Some(seed.to_owned()))
}

/// Where a host is by the numbers of another network, if one host went from there to here and kept its own number.
fn in_new_network(old: &str, new: &str, host: &str) -> Option<String> {
    let numbers = |text: &str| -> Option<Vec<u8>> {
        let all: Vec<u8> = text.split('.').map(str::parse).collect::<Result<_, _>>().ok()?;
        (all.len() == 4).then_some(all)
    };
    let (old, new, host) = (numbers(old)?, numbers(new)?, numbers(host)?);
    let network = old.iter().zip(&new).rposition(|(old, new)| old != new)? + 1;
    let is_neighbour = network < old.len() && host[..network] == old[..network];
    let moved: Vec<String> = new[..network].iter().chain(&host[network..]).map(u8::to_string).collect();
    is_neighbour.then(|| moved.join("."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_keeps_its_number_where_the_network_gets_another() {
        let moved = |host| in_new_network("10.1.0.1", "10.2.0.1", host);
        assert_eq!(moved("10.1.0.7").as_deref(), Some("10.2.0.7"));
        assert_eq!(moved("10.1.9.7").as_deref(), Some("10.2.9.7"));
        assert_eq!(moved("192.0.2.7"), None, "it was in another network");
        assert_eq!(in_new_network("10.1.0.1", "10.1.0.9", "10.1.0.7"), None, "this host did not keep its own");
        assert_eq!(in_new_network("::1", "::2", "::3"), None);
    }
}
