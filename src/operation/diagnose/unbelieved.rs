//! Nodes that do not believe each other: other secrets, or other authorities.

use super::case::{Case, Known, verdict};
use super::certify::{adopted, equipped, equipped_anew, equipped_beside, renewed_elsewhere};
use super::credentials::{in_place, security};
use super::distrust::named_again;
use super::kin::is_ours;
use super::shell::quoted;
use super::{
    Certainty, Certificate, Code, Credentials, Distrust, Facts, Found, Mend, Report, Sibling, Start, Verdict, Worth,
    ended,
};
use crate::cluster::Address;
use crate::zen::explain::PingOutcome;
use std::collections::BTreeSet;

/// What is different, with what tells it and the settings that name it.
struct Kind {
    code: Code,
    is_found: fn(&Distrust) -> bool,
    keys: &'static [&'static str],
}

const SECRET: Kind = Kind {
    code: Code::SecretsDiffer,
    is_found: |found| matches!(found, Distrust::OtherSecret | Distrust::NoSecret),
    keys: &["zazen.security.secret"],
};
const AUTHORITY: Kind = Kind {
    code: Code::AuthoritiesDiffer,
    is_found: |found| {
        matches!(found, Distrust::OtherAuthority(_) | Distrust::RefusesAuthority | Distrust::Unsecured(_))
    },
    keys: &["zazen.security.authorities", "zazen.security.certificate", "zazen.security.key", "zazen.security.secret"],
};

/// All of it.
pub(super) fn of_unbelieved(case: &Case<'_>) -> Vec<Verdict> {
    // Nobody believes whoever shows the certificate of another cluster, or one that has ended, and that is told by itself.
    let Facts { certificates, wall_millis, .. } = &case.me.facts;
    let is_bad = |one: &Certificate| {
        one.of_cluster.is_some() || one.setting == "zazen.security.certificate" && one.ends_millis < *wall_millis
    };
    if certificates.iter().any(is_bad) {
        return Vec::new();
    }
    let differ =
        [SECRET, AUTHORITY].iter().flat_map(|kind| [differ(case, kind), misnamed(case, kind)].concat()).collect();
    let of_another = case.me.facts.probes.iter().filter_map(|probe| made_for_another(case, &probe.address));
    [differ, lapsed(case), of_another.collect()].concat()
}

/// Nodes that are refused for nothing but the end of their certificates.
fn lapsed(case: &Case<'_>) -> Vec<Verdict> {
    let of = |address: &Address| {
        let name = case.name_at(address);
        let summary = format!("the certificate of {name} has ended: no other node believes it");
        let evidence = case.says(case.me, format!("[{address}] shows a certificate that has ended"));
        let mend = renewed_elsewhere(case, case.me, address.host()).map(|mend| mend.about(&name));
        verdict(Code::CertificateExpires, &name, summary).because(evidence).mended(mend)
    };
    let is_lapsed = |found: &Distrust| *found == Distrust::LapsedCertificate;
    unbelieved(case, is_lapsed).map(of).collect()
}

/// A node whose certificate the right authority made, for another host or cluster than that which it is of.
fn made_for_another(case: &Case<'_>, address: &Address) -> Option<Verdict> {
    let found = case.distrust(address)?;
    let (name, own) = (case.name_at(address), case.name(case.me));
    let cluster = case.me.explanation.cluster_name.as_str();
    let (code, summary, mend) = match found {
        Distrust::OfHost(made_for) => {
            let summary = format!(
                "the certificate of {name} was made for [{made_for}], and it is at [{}]: no other node believes it",
                address.host()
            );
            (Code::AuthoritiesDiffer, summary, equipped_anew(case, case.me, (made_for, address.host())))
        }
        Distrust::OfCluster(made_for) => {
            let summary = format!(
                "the certificate of {name} was made for a node of cluster [{made_for}], and {own} is of [{cluster}]"
            );
            (Code::WrongClusterName, summary, None)
        }
        Distrust::RefusesCluster => {
            let summary = format!(
                "{name} has a certificate of cluster [{cluster}] and refuses those of other nodes of it: its cluster.name is another"
            );
            (Code::WrongClusterName, summary, there(case, address, "cluster.name", &Worth::Text(cluster.to_owned())))
        }
        Distrust::OtherSecret
        | Distrust::NoSecret
        | Distrust::OtherAuthority(_)
        | Distrust::RefusesAuthority
        | Distrust::Unsecured(_)
        | Distrust::LapsedCertificate
        | Distrust::EarlyCertificate(_)
        | Distrust::ClockBehind(_)
        | Distrust::OtherTime => return None,
    };
    let evidence = case.says(case.me, format!("[{address}] {}", found.seen(&case.me.facts.credentials)));
    let mend = mend.map(|mend| mend.about(&name));
    Some(verdict(code, &name, summary).because(evidence).mended(mend).only(Certainty::Likely))
}

/// The nodes that have another one than this, or this one if it is the odd one.
fn differ(case: &Case<'_>, kind: &Kind) -> Vec<Verdict> {
    let refused = unbelieved(case, kind.is_found).chain(one_way(case, kind));
    let others: Vec<&Address> = refused.filter(|at| sharer(case, at, kind).is_none()).collect();
    let Some(first) = others.first() else { return Vec::new() };
    // Other clusters of this host have other ones.
    let own = &case.me.explanation;
    let is_asked = |sibling: &&Sibling| {
        let is_probed = case.me.facts.probes.iter().any(|probe| sibling.is_at(&probe.address));
        is_probed || sibling.cluster == own.cluster_name.as_str() && is_ours(std::slice::from_ref(case.me), sibling)
    };
    let beside: Vec<bool> =
        case.me.facts.siblings.iter().filter(is_asked).filter_map(|one| shares(one, kind)).collect();
    let with = case.reports.len().max(1 + beside.iter().filter(|shares| **shares).count());
    let against = others.len().max(beside.iter().filter(|shares| !**shares).count());
    let certainty = if with == against { Certainty::Possible } else { Certainty::Certain };
    // Who was never in a cluster is the newcomer, where as many are on either side.
    let is_newcomer = against == with && own.cluster_uuid.is_none();
    if (against > with || is_newcomer) && !is_each_its_own(case, &others) {
        let mend = take_over(case, first, kind);
        return vec![told(case, kind, &case.name(case.me), (&others, certainty)).mended(mend)];
    }
    let of = |address: &&Address| {
        let name = case.name_at(address);
        let mend = hand_over(case, address, kind).map(|mend| mend.about(&name));
        told(case, kind, &name, (&[*address], certainty)).mended(mend)
    };
    others.iter().map(of).collect()
}

/// Whether no two of several nodes have their certificates of one authority, as where each host made its own: then the asked
/// node's is as good as any.
fn is_each_its_own(case: &Case<'_>, others: &[&Address]) -> bool {
    let maker = |at: &&Address| match case.distrust(at)? {
        Distrust::OtherAuthority(maker) => maker.as_ref(),
        Distrust::OtherSecret
        | Distrust::NoSecret
        | Distrust::OfHost(_)
        | Distrust::OfCluster(_)
        | Distrust::RefusesAuthority
        | Distrust::RefusesCluster
        | Distrust::Unsecured(_)
        | Distrust::LapsedCertificate
        | Distrust::EarlyCertificate(_)
        | Distrust::ClockBehind(_)
        | Distrust::OtherTime => None,
    };
    let makers: Option<BTreeSet<&String>> = others.iter().map(maker).collect();
    others.len() > 1 && makers.is_some_and(|makers| makers.len() == others.len())
}

fn unbelieved<'a>(case: &Case<'a>, is_such: fn(&Distrust) -> bool) -> impl Iterator<Item = &'a Address> {
    let probes = case.me.facts.probes.iter();
    let is_such = move |found: &Found| matches!(found, Found::Distrusted(why) if is_such(why));
    probes
        .filter(move |probe| is_such(&probe.found))
        .map(|probe| &probe.address)
        .filter(|address| case.is_named(address))
}

/// Nodes that this one understands and that do not understand its master's side: they have its secret, and say all with
/// another one.
fn one_way<'a>(case: &Case<'a>, kind: &Kind) -> Vec<&'a Address> {
    if case.is_masterless() || kind.code != Code::SecretsDiffer {
        return Vec::new();
    }
    let has_master = |report: &Report| report.explanation.master_node.is_some();
    let is_refused = |report: &&Report| {
        let strange = report.explanation.hosts.iter().filter(|host| host.outcome == PingOutcome::NotUnderstood);
        !has_master(report) && strange.filter_map(|host| case.at(&host.address)).any(has_master)
    };
    let differs =
        |address: &&Address| case.sibling_at(address).is_some_and(|known| shares(known.sibling, kind) == Some(false));
    case.reports.iter().filter(is_refused).map(|report| &report.explanation.node.address).filter(differs).collect()
}

/// The node at an address that is not believed, though its files are the same.
fn sharer<'a>(case: &Case<'a>, address: &Address, kind: &Kind) -> Option<Known<'a>> {
    case.sibling_at(address).filter(|known| shares(known.sibling, kind) == Some(true))
}

/// Seals and certificates are good for one cluster: with the same files it is its name that differs.
fn misnamed(case: &Case<'_>, kind: &Kind) -> Vec<Verdict> {
    let own = case.me.explanation.cluster_name.as_str();
    let named = |name: &str| case.siblings().filter(|known| known.sibling.cluster == name).count();
    let of = |known: Known<'_>| {
        let theirs = known.sibling.cluster.as_str();
        let is_mine = named(theirs) > named(own) + 1;
        let (wrong, right) = if is_mine { (own, theirs) } else { (theirs, own) };
        let worth = Worth::Text(right.to_owned());
        let (name, mend) = match is_mine {
            true => (case.name(case.me), case.set(case.me, "cluster.name", &worth)),
            false => (known.sibling.name.clone().unwrap_or_default(), case.set_sibling(known, "cluster.name", &worth)),
        };
        let summary = format!("{name} is of cluster [{wrong}], and those it should be with are of [{right}]");
        let evidence = case.says(known.by, format!("the file of another node has [cluster.name: {theirs}]"));
        verdict(Code::WrongClusterName, &name, summary).because(evidence).mended(mend.about(&name))
    };
    let sharers = unbelieved(case, kind.is_found).filter_map(|address| sharer(case, address, kind));
    sharers.filter(|known| known.sibling.cluster != own).map(of).collect()
}

fn shares(sibling: &Sibling, kind: &Kind) -> Option<bool> {
    if kind.code == Code::SecretsDiffer { sibling.shares_secret } else { sibling.shares_authority }
}

fn told(case: &Case<'_>, kind: &Kind, name: &str, (others, certainty): (&[&Address], Certainty)) -> Verdict {
    let own = case.name(case.me);
    let is_own = *name == own;
    let others_of = if is_own { "the other nodes" } else { &*own };
    // One that has the master's secret and says all with another is believed by the asked one.
    let found = |at: &Address| case.distrust(at).cloned().unwrap_or(Distrust::OtherSecret);
    let first = others.first().map_or(Distrust::OtherSecret, |at| found(at));
    let (has, but) = first.apart(&case.me.facts.credentials, is_own);
    let summary = format!("{name} {has} {others_of} {but}").trim_end().to_owned();
    let seen = |at: &Address| found(at).seen(&case.me.facts.credentials);
    let evidence = others.iter().map(|at| case.says(case.me, format!("[{at}] {}", seen(at))));
    evidence.fold(verdict(kind.code, name, summary).only(certainty), Verdict::because)
}

fn file<'a>(files: &'a Credentials, key: &str) -> Option<&'a String> {
    match key {
        "zazen.security.secret" => files.secret.as_ref(),
        "zazen.security.certificate" => files.certificate.as_ref(),
        "zazen.security.key" => files.key.as_ref(),
        _ => files.authorities.as_ref(),
    }
}

/// The settings of these files; none if the files do not belong together.
fn changes(kind: &Kind, files: &Credentials) -> Vec<(&'static str, Worth)> {
    let all = kind.keys.iter().filter_map(|key| Some((*key, Worth::Text(file(files, key)?.clone()))));
    all.collect()
}

/// Whether a node is given these files already.
fn is_all_of(files: &Credentials, changes: &[(&'static str, Worth)]) -> bool {
    changes.iter().all(|(key, worth)| file(files, key).map(|file| Worth::Text(file.clone())).as_ref() == Some(worth))
}

/// What the asked node does to have what a neighbour has.
fn take_over(case: &Case<'_>, others: &Address, kind: &Kind) -> Option<Mend> {
    let Some(right) = case.neighbour_at(others) else { return from_elsewhere(case, others, kind) };
    let files = fitting(kind, &right.sibling.credentials, case.me.explanation.node.host())?;
    let changes = changes(kind, &files);
    match &changes[..] {
        [] => None,
        _ if is_all_of(&case.me.facts.credentials, &changes) => equipped_beside(case, &right.sibling.credentials),
        [(key, worth)] => Some(case.set(case.me, key, worth)),
        _ => case.restart(case.me, "", |start| with(start, &changes)),
    }
}

/// The files of a node that another one, on this host, should have: a secret is the same for all, a certificate is one host's.
fn fitting(kind: &Kind, files: &Credentials, host: &str) -> Option<Credentials> {
    if kind.code == Code::SecretsDiffer { Some(files.clone()) } else { files.of_host(host) }
}

fn with(start: Start, changes: &[(&'static str, Worth)]) -> Start {
    changes.iter().fold(start, |start, (key, worth)| start.with(key, worth))
}

/// What the other node does to have what the asked one has: by its file on this host, by a copy on another.
fn hand_over(case: &Case<'_>, address: &Address, kind: &Kind) -> Option<Mend> {
    let files = fitting(kind, &case.me.facts.credentials, address.host());
    let changes = files.map(|files| changes(kind, &files)).unwrap_or_default();
    let Some(known) = case.neighbour_at(address) else { return elsewhere(case, address, kind) };
    match &changes[..] {
        [] => None,
        [(key, worth)] => Some(case.set_sibling(known, key, worth)),
        // They lie where it reads its own, and are no good.
        _ if is_all_of(&known.sibling.credentials, &changes) => equipped(case, case.me, address.host()),
        _ => {
            let running = case.listens(address).map(|process| ended(process.pid)).unwrap_or_default();
            let start = with(Start::of(&known.by.facts.binary, known.sibling), &changes);
            // Who had nothing of it, or all of it of one hand, is to have what users are shown as well.
            let own = &known.sibling.credentials;
            let is_all = own.certificate.is_none() || kind.code == Code::AuthoritiesDiffer && lie_together(own);
            let for_users = is_all.then_some(&case.me.facts.credentials);
            let all =
                for_users.and_then(|own| own.of_host(address.host())).map(|all| all.in_full()).unwrap_or_default();
            let more = all.iter().filter(|(key, _)| changes.iter().all(|(told, _)| told != key));
            let start = more.fold(start, |start, (key, file)| start.with(key, &Worth::Text(file.clone())));
            Some(start.mend(&running))
        }
    }
}

/// Whether what a node shows to users lies beside what it shows to nodes.
fn lie_together(files: &Credentials) -> bool {
    let home = |file: &String| file.rsplit_once('/').map(|(home, _)| home.to_owned());
    let for_users = files.files.get("zazen.security.http.certificate");
    for_users.is_some() && for_users.and_then(home) == files.certificate.as_ref().and_then(home)
}

/// The secret of a node on another host, where it lies in the same place.
fn from_elsewhere(case: &Case<'_>, other: &Address, kind: &Kind) -> Option<Mend> {
    let own = &case.me.facts.credentials;
    if let Some(unnamed) = own.unnamed_secret.clone().filter(|_| kind.code == Code::SecretsDiffer) {
        return Some(case.text(case.me, "zazen.security.secret", &unnamed));
    }
    if kind.code == Code::AuthoritiesDiffer {
        if own.certificate.is_some() {
            let has_another =
                matches!(case.distrust(other), Some(Distrust::OtherAuthority(_) | Distrust::RefusesAuthority));
            return has_another.then(|| adopted(case, case.me)).flatten();
        }
        let (key, worth) = security(&own.unnamed)?;
        return Some(case.set(case.me, key, &worth));
    }
    let (secret, host) = (own.secret.as_ref()?, case.me.explanation.node.host());
    let source = format!("{}:{}", other.host(), in_place(secret, host, other.host()));
    let is_elsewhere = other.host() != host;
    is_elsewhere.then(|| case.command(case.me, format!("scp -p {} {}", quoted(&source), quoted(secret))))
}

/// A secret is copied to the same place; certificates are made where the authority's key is kept.
fn elsewhere(case: &Case<'_>, address: &Address, kind: &Kind) -> Option<Mend> {
    let own = &case.me.facts.credentials;
    let (host, _) = address.as_str().rsplit_once(':')?;
    if kind.code == Code::SecretsDiffer {
        let secret = own.secret.as_ref()?;
        if case.distrust(address) == Some(&Distrust::NoSecret) {
            return there(case, address, "zazen.security.secret", &Worth::Text(secret.clone()));
        }
        let target = format!("{host}:{}", in_place(secret, case.me.explanation.node.host(), host));
        return Some(Mend::command(format!("scp -p {} {}", quoted(secret), quoted(&target))));
    }
    // What named its files before may name them again.
    let named = match case.distrust(address) {
        Some(Distrust::Unsecured(bare)) => case.secure_distant(address).or_else(|| named_again(bare, address)),
        Some(_) | None => None,
    };
    named.or_else(|| equipped(case, case.me, host))
}

/// A setting of a node on another host: as its files are where the asked one has them, so is its configuration.
fn there(case: &Case<'_>, address: &Address, key: &str, worth: &Worth) -> Option<Mend> {
    if let Some(known) = case.neighbour_at(address) {
        return Some(case.set_sibling(known, key, worth));
    }
    let host = address.host();
    let file = case.me.facts.file.as_deref().map(|file| in_place(file, case.me.explanation.node.host(), host));
    Some(Mend { host: Some(host.to_owned()), ..Mend::setting(key, worth, file) })
}
