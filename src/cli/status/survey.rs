//! What the nodes of a cluster say, each for itself, and whether that is one thing.
//!
//! One node names the members, then each of them is asked on its own, all at the same time: what a node does not know of
//! another one shows only so.

use super::super::ask::{Asker, Place, Silence};
use super::super::stopwatch::Stopwatch;
use crate::cluster::{Address, ClusterName, Node, StateId, Term};
use crate::diagnose::{Standing, Verdict as Finding};
use crate::protocol::Failure;
use futures_util::{StreamExt, stream};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// How long a node may take to name the members; it asks each of them for a second.
const MEMBERS_MAX: Duration = Duration::from_secs(2);

/// How long a node may take to tell what it sees.
const VIEW_MAX: Duration = Duration::from_secs(1);

/// How long a node may take that asks all others.
const DIAGNOSIS_MAX: Duration = Duration::from_secs(6);

/// How many nodes are asked at a time.
const ASKED_AT_A_TIME: usize = 64;

/// How many nodes are remembered that were seen once.
const KNOWN_MAX: usize = 10_000;

const MEMBERS: &str = "/_cat/nodes?local=true&full_id=true&format=json&h=id,name,http,ip,port";

/// What one node says of its cluster.
#[derive(Clone, Debug, Deserialize, Serialize)]
pub(in crate::cli) struct View {
    /// Why there is a master or none, in a sentence.
    pub(in crate::cli) summary: String,
    /// What to do.
    pub(in crate::cli) advice: Vec<String>,
    /// The node itself.
    pub(in crate::cli) node: Node,
    /// Its cluster.
    pub(in crate::cli) cluster_name: ClusterName,
    /// What it is doing.
    pub(in crate::cli) mode: String,
    /// Whether it is to be stopped soon.
    #[serde(default)]
    pub(super) drained: bool,
    /// Its term.
    pub(in crate::cli) term: Term,
    /// The newest state that it knows to be committed.
    pub(in crate::cli) committed: StateId,
    /// The master that its readers see.
    #[serde(default)]
    pub(in crate::cli) master_node: Option<Node>,
    /// How the cluster is, if the node asked around.
    #[serde(default)]
    standing: Option<Standing>,
    /// How many voters may be lost.
    #[serde(default)]
    pub(in crate::cli) losses_survived: Option<usize>,
    /// What is nobody's fault and may not be meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(in crate::cli) remark: Option<String>,
    /// What is wrong.
    #[serde(default)]
    pub(in crate::cli) verdicts: Vec<Finding>,
    /// The names of the nodes that answered it, if it asked around.
    #[serde(default)]
    asked: Vec<String>,
    /// What became of the hosts that it pinged.
    #[serde(default)]
    hosts: Vec<Pinged>,
}

/// What a node is doing, and whether it is to be stopped soon.
pub(in crate::cli) fn doing(mode: &str, is_drained: bool) -> String {
    format!("{mode}{}", if is_drained { ", drained" } else { "" })
}

/// What became of a host that was pinged.
#[derive(Clone, Debug, Deserialize, Serialize)]
struct Pinged {
    address: Address,
    outcome: String,
}

impl View {
    /// What the node is doing, in words.
    pub(in crate::cli) fn does(&self) -> String {
        doing(&self.mode, self.drained)
    }

    /// Asks a node what it sees.
    pub(in crate::cli) async fn of(asker: &Asker, place: &Place) -> Result<View, Silence> {
        // Nodes of a service are another user's than root, who types what is told.
        if rustix::process::geteuid().is_root() {
            match asker.ask(place, "/_zazen/explain?as_root=true", DIAGNOSIS_MAX).await {
                // An older node does not know the parameter.
                Err(Silence::Status(400, _)) => {}
                told => return told,
            }
        }
        asker.ask(place, "/_zazen/explain", DIAGNOSIS_MAX).await
    }

    /// Asks a node what it sees by itself.
    pub(in crate::cli) async fn local(asker: &Asker, place: &Place) -> Result<View, Silence> {
        asker.ask(place, "/_zazen/explain?local=true", VIEW_MAX).await
    }

    /// How the cluster is, in the eyes of the node.
    pub(in crate::cli) fn standing(&self) -> Standing {
        let found = if self.master_node.is_none() { Standing::NoMaster } else { Standing::Sound };
        self.standing.unwrap_or(found)
    }

    /// All of it, for programs.
    pub(in crate::cli) fn data(&self) -> Value {
        serde_json::to_value(self).unwrap_or_default()
    }
}

/// A node as another one lists it.
#[derive(Clone, Debug, Deserialize)]
struct Member {
    id: String,
    name: String,
    http: String,
    ip: String,
    port: String,
}

/// What is known of a node that was listed once.
#[derive(Clone, Debug)]
struct Known {
    /// Its id; empty if it was never listed.
    id: String,
    name: String,
    place: Option<Place>,
    transport: String,
}

/// The nodes that were ever listed, by id: one that is gone, or frozen, is not told any more where it listens.
#[derive(Default)]
pub(super) struct Book(BTreeMap<String, Known>);

/// One node and what it says.
#[derive(Debug)]
pub(super) struct Seat {
    /// The id under which it is listed, if it is.
    id: String,
    /// Its name, as far as that is known.
    pub(super) name: String,
    /// Where its users are listened to, if that is known; else where its transport listens.
    pub(super) place: String,
    /// Where its transport listens, if nobody knows how to ask it.
    transport: Option<String>,
    /// Whether the node that named the members names it.
    pub(super) is_member: bool,
    /// What it says and how long that took, or why it says nothing.
    pub(super) told: Result<(View, Duration), Silence>,
}

/// What all of them say.
#[derive(Debug)]
pub(super) struct Survey {
    /// The nodes, by name.
    pub(super) seats: Vec<Seat>,
    /// Who was asked for the members in vain.
    pub(super) silent: Vec<(Place, Silence)>,
    /// What is wrong, as a node tells that asked around: one without a master if there is one.
    pub(super) findings: Vec<Finding>,
    /// Where that was asked in vain: then nobody knows whether something is wrong.
    pub(super) untold: Option<Place>,
}

/// What comes of it all.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Agreement {
    /// Nobody answers.
    Nobody,
    /// All members answer, and see this master.
    Agreed(String),
    /// All that see a master see this one; so many see none, and so many members or named nodes do not answer.
    Partly { master: String, blind: usize, silent: usize },
    /// Different masters are seen.
    Several(Vec<String>),
    /// No node sees a master.
    NoMaster,
}

impl Survey {
    /// Asks everybody.
    pub(super) async fn take(asker: &Asker, places: &[Place], given: &[Place], book: &mut Book) -> Survey {
        let places = asker.awake_first(places.to_vec()).await;
        let (members, silent) = members(asker, &places).await;
        let ids: BTreeSet<&str> = members.iter().map(|member| member.id.as_str()).collect();
        book.note(&members);
        let listed = book.0.iter().map(|(id, known)| (known.clone(), ids.contains(id.as_str())));
        let known: BTreeSet<&Place> = book.0.values().filter_map(|known| known.place.as_ref()).collect();
        let strange = given.iter().filter(|place| !known.contains(place));
        let strange = strange.map(|place| {
            let place = Some(place.clone());
            (Known { id: String::new(), name: "?".into(), place, transport: String::new() }, false)
        });
        let all: Vec<(Known, bool)> = listed.chain(strange).collect();
        let seats = stream::iter(all).map(|(known, is_member)| seat(asker, known, is_member));
        let mut seats: Vec<Seat> = seats.buffered(ASKED_AT_A_TIME).collect().await;
        let pinged: Vec<Pinged> =
            seats.iter().filter_map(|seat| seat.told.as_ref().ok()).flat_map(|(view, _)| view.hosts.clone()).collect();
        for seat in seats.iter_mut().filter(|seat| seat.transport.is_some()) {
            let is_it = |host: &&Pinged| seat.transport.as_deref() == Some(host.address.as_str());
            let mut became = pinged.iter().filter(is_it).map(|host| host.outcome.as_str());
            if became.clone().any(|outcome| outcome == "refused") {
                seat.told = Err(Silence::Failed(Failure::Refused));
            } else if became.any(|outcome| outcome == "answered") {
                seat.told = Err(Silence::NotAsked);
            }
        }
        let mut seats = without_doubles(apart(seats));
        let told = |seat: &&Seat| seat.told.is_ok();
        let blind = |seat: &&Seat| seat.told.as_ref().is_ok_and(|(view, _)| view.master_node.is_none());
        let whom = seats.iter().find(blind).or_else(|| seats.iter().find(told));
        let whom = whom.map(|seat| Place(seat.place.clone()));
        let found = match &whom {
            Some(place) => View::of(asker, place).await.ok(),
            None => None,
        };
        let untold = whom.filter(|_| found.is_none());
        let (findings, answered) = found.map(|view| (view.verdicts, view.asked)).unwrap_or_default();
        // A member that listens to no users answers the nodes all the same.
        for seat in seats.iter_mut().filter(|seat| seat.transport.is_some() && answered.contains(&seat.name)) {
            seat.told = Err(Silence::NotAsked);
        }
        Survey { seats, silent, findings, untold }
    }

    /// The nodes that say something, with what they say.
    pub(super) fn views(&self) -> impl Iterator<Item = &View> {
        self.seats.iter().filter_map(|seat| seat.told.as_ref().ok()).map(|(view, _)| view)
    }

    /// Whether they agree on one master.
    pub(super) fn verdict(&self) -> Agreement {
        let masters: BTreeMap<_, _> =
            self.views().filter_map(|view| view.master_node.as_ref()).map(|node| (&node.id, node)).collect();
        let masters: Vec<String> = masters.values().map(|node| called(node)).collect();
        let blind = self.views().filter(|view| view.master_node.is_none()).count();
        let is_wanted = |seat: &&Seat| seat.is_member || seat.id.is_empty();
        let is_silent = |seat: &&Seat| seat.told.as_ref().is_err_and(|why| !matches!(why, Silence::NotAsked));
        let silent = self.seats.iter().filter(is_wanted).filter(is_silent).count();
        match masters.as_slice() {
            [] if self.views().next().is_none() => Agreement::Nobody,
            [] => Agreement::NoMaster,
            [master] if blind == 0 && silent == 0 => Agreement::Agreed(master.clone()),
            [master] => Agreement::Partly { master: master.clone(), blind, silent },
            [_, _, ..] => Agreement::Several(masters),
        }
    }
}

/// What people call a node.
pub(in crate::cli) fn called(node: &Node) -> String {
    if node.name.is_empty() { node.id.to_string() } else { node.name.to_string() }
}

/// Where the members of a cluster listen to their users, as the first of these places that answers tells, with those that
/// were given; and who does not answer.
pub(in crate::cli) async fn nodes_of(
    asker: &Asker,
    places: &[Place],
    given: &[Place],
) -> (Vec<Place>, Vec<(Place, Silence)>) {
    let (members, silent) = members(asker, places).await;
    let listed = members.iter().filter(|member| member.http != "-").map(|member| Place(member.http.clone()));
    let all: BTreeSet<Place> = listed.chain(given.iter().cloned()).collect();
    (all.into_iter().collect(), silent)
}

/// The members as the first of these names them that answers, and those before it that do not.
async fn members(asker: &Asker, places: &[Place]) -> (Vec<Member>, Vec<(Place, Silence)>) {
    let ask = |place: Place| async move {
        let members: Result<Vec<Member>, Silence> = asker.ask(&place, MEMBERS, MEMBERS_MAX).await;
        (place, members)
    };
    let mut answers = stream::iter(places.to_vec()).map(ask).buffered(ASKED_AT_A_TIME);
    let mut silent = Vec::new();
    while let Some((place, members)) = answers.next().await {
        match members {
            Ok(members) => return (members, silent),
            Err(why) => silent.push((place, why)),
        }
    }
    (Vec::new(), silent)
}

impl Book {
    fn note(&mut self, members: &[Member]) {
        for member in members {
            // A node that did not give its figures in time shows a dash.
            let place = (member.http != "-").then(|| Place(member.http.clone()));
            let place = place.or_else(|| self.0.get(&member.id).and_then(|known| known.place.clone()));
            let transport = format!("{}:{}", member.ip, member.port);
            if self.0.len() < KNOWN_MAX || self.0.contains_key(&member.id) {
                let (id, name) = (member.id.clone(), member.name.clone());
                self.0.insert(id.clone(), Known { id, name, place, transport });
            }
        }
    }
}

async fn seat(asker: &Asker, known: Known, is_member: bool) -> Seat {
    let Some(place) = known.place else {
        // Who did not tell the other node where it listens did not answer it.
        let told = Err(Silence::Failed(Failure::TimedOut));
        let place = format!("transport {}", known.transport);
        return Seat { id: known.id, name: known.name, place, transport: Some(known.transport), is_member, told };
    };
    let stopwatch = Stopwatch::start();
    let told = View::local(asker, &place).await.map(|view| (view, stopwatch.elapsed()));
    let name = told.as_ref().map_or(known.name, |(view, _)| called(&view.node));
    Seat { id: known.id, name, place: place.to_string(), transport: None, is_member, told }
}

/// Who was named by the user and says nothing is most likely one of the members of that host that say nothing, of whom nobody
/// knows where they listen to users.
fn without_doubles(mut seats: Vec<Seat>) -> Vec<Seat> {
    let host = |place: &str| place.rsplit_once(':').map(|(host, _)| host.to_owned());
    let named = |seat: &Seat| (seat.id.is_empty() && seat.told.is_err()).then(|| host(&seat.place)).flatten();
    let lost = |seat: &Seat| seat.transport.as_deref().filter(|_| seat.is_member).and_then(host);
    let hosts: BTreeSet<String> = seats.iter().filter_map(named).collect();
    for at in hosts {
        let is_at = |host: Option<String>| host.as_ref() == Some(&at);
        let doubles = seats.iter().filter(|seat| is_at(named(seat))).count();
        if doubles <= seats.iter().filter(|seat| is_at(lost(seat))).count() {
            seats.retain(|seat| !is_at(named(seat)));
        }
    }
    seats
}

/// Each node once, by name: some are known under two addresses, and answer at one of them.
fn apart(seats: Vec<Seat>) -> Vec<Seat> {
    let answered = |seat: &Seat| seat.told.as_ref().ok().map(|(view, _)| view.node.id.to_string());
    let answers: BTreeSet<String> = seats.iter().filter_map(answered).collect();
    let members: BTreeSet<String> = seats.iter().filter(|seat| seat.is_member).map(|seat| seat.id.clone()).collect();
    let mut seen = BTreeSet::new();
    let mut apart: Vec<Seat> = Vec::new();
    for mut seat in seats {
        match answered(&seat) {
            Some(id) => {
                seat.is_member |= members.contains(&id);
                if seen.insert(id) {
                    apart.push(seat);
                }
            }
            None if !answers.contains(&seat.id) => apart.push(seat),
            None => {}
        }
    }
    apart.sort_by(|one, other| (&one.name, &one.place).cmp(&(&other.name, &other.place)));
    apart
}
