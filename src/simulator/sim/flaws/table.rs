//! The rows: what each flaw is called, where it was reported, and by what it is recognised.

use super::random::{self, Kind, Typed};
use crate::sim::witness::Oracle;
use crate::zen68::Dialect;

/// One of Zen's documented failures.
#[derive(Clone, Copy, Debug)]
pub struct Flaw {
    /// Its number, as in `Z1`.
    pub id: &'static str,
    /// What happens.
    pub title: &'static str,
    /// Where it was reported: issues of Elasticsearch.
    pub source: &'static str,
    /// Whose failure it is.
    pub dialect: Dialect,
    /// What it is recognised by.
    pub oracle: Oracle,
    /// Why this protocol does not have it.
    pub cure: &'static str,
    /// How random runs look for it, or why they do not.
    pub search: Result<Typed, &'static str>,
    /// The file of its script.
    pub file: &'static str,
    /// Its script.
    pub script: &'static str,
}

impl Flaw {
    /// The random runs that may show it, if there are any.
    pub fn runs(&self) -> Option<random::Kind> {
        self.search.ok().map(|typed| Kind { dialect: Some(self.dialect), typed })
    }
}

/// Takes in rows with the scripts that they name.
macro_rules! flaws {
    ($($id:literal $title:literal $source:literal $dialect:ident $oracle:ident $search:expr, $file:literal $cure:literal;)*) => {
        /// All of them.
        pub const FLAWS: [Flaw; 22] = [$(Flaw {
            id: $id,
            title: $title,
            source: $source,
            dialect: Dialect::$dialect,
            oracle: Oracle::$oracle,
            cure: $cure,
            search: $search,
            file: $file,
            script: include_str!(concat!("../../../../tests/flaws/", $file)),
        },)*];
    };
}

const MAJORITY: Result<Typed, &str> = Ok(Typed::Majority);
const NOTHING: Result<Typed, &str> = Ok(Typed::Nothing);

flaws! {
    "Z1" "intersecting split" "#2488, #6469, #13727" Zen13 TwoMasters MAJORITY, "z01_intersecting_split.txt"
        "a node that lost its master asks the others, and a vote is for one term";
    "Z2" "two nodes, default quorum" "#10935" Zen68 TwoMasters NOTHING, "z02_two_nodes.txt"
        "the quorum follows from the committed voting set, and one of two is none";
    "Z3" "boot race" "#32006" Zen68 TwoClusters NOTHING, "z03_boot_race.txt"
        "a cluster is formed once, by a majority of the hosts of all who vote";
    "Z4" "commit message lost" "#20384" Zen68 LostUpdate MAJORITY, "z04_commit_lost.txt"
        "what was acknowledged is on disk, and the newest accepted state is elected";
    "Z5" "double vote" "#32006" Zen68 TwoStates MAJORITY, "z05_double_vote.txt"
        "one vote a term, on disk before it is told";
    "Z6" "time travel" "#32006" Zen68 TimeTravel MAJORITY, "z06_time_travel.txt"
        "(term, version) only rises, with and without a master";
    "Z7" "power loss after the answer" "#37122" Zen68 LostUpdate MAJORITY, "z07_power_loss.txt"
        "stored before it is acknowledged";
    "Z8" "stale master after a pause" "#9632, #20290" Zen68 StaleRead MAJORITY, "z08_stale_master.txt"
        "a read is confirmed by a majority that is still in the master's term";
    "Z9" "pings without a version" "#30810" Fd56 LostUpdate MAJORITY, "z09_pings_without_a_version.txt"
        "a master obeys a higher term only, and nobody can tell it to rejoin";
    "Z10" "quorum setting forgotten" "#22108, #29573" Zen68 TwoMasters
        Err("nobody types another number while a random run lasts"), "z10_forgotten_quorum.txt"
        "the voting set is part of the state that a restart finds on disk";
    "Z11" "quorum setting too high" "#24435, #8321" Zen68 NoMaster
        Err("nobody types another number while a random run lasts"), "z11_quorum_too_high.txt"
        "a node's command line goes over what the cluster was told";
    "Z12" "acknowledged too early" "#13303, #30672" Fd56 EarlyAck MAJORITY, "z12_early_ack.txt"
        "only a node that says it has applied the state counts";
    "Z13" "acknowledged and dropped" "#32006" Zen68 ForgottenAck MAJORITY, "z13_acknowledged_and_dropped.txt"
        "the last accepted state is stored, and nothing is queued";
    "Z14" "wiped masters" "#37775" Zen68 IdentityChanged
        Err("no random run empties disks"), "z14_wiped_masters.txt"
        "a node belongs to the cluster of the first committed state that it knew";
    "Z15" "order of restarts" "#23412, #39282" Zen68 LostUpdate NOTHING, "z15_restart_order.txt"
        "who was not in the last voting set elects nobody";
    "Z16" "hearsay of a master" "#31801, #27329" Zen68 NoMaster
        Err("random runs heal all links before they demand a master"), "z16_hearsay.txt"
        "a lost master counts again only once it was heard of later, and a master counts who follows it";
    "Z17" "big partition" "#28920" Zen68 SlowUpdate
        Err("a matter of time, not of chance: random runs have seven nodes at most"), "z17_big_partition.txt"
        "a publish waits for a majority only";
    "Z18" "member that nobody pings" "#6686" Zen13 DeadMember
        Err("random runs start every node again before this could be told"), "z18_zombie.txt"
        "every member is pinged, whenever it came";
    "Z19" "one id twice" "#32904, #21405" Zen68 NoMaster
        Err("no random run copies disks"), "z19_one_id_twice.txt"
        "nodes of one id do not talk to each other, and say so";
    "Z20" "bridge" "aphyr, Jepsen" Zen13 LostUpdate MAJORITY, "z20_bridge.txt"
        "as Z1";
    "Z21" "two masters meet" "`handleAnotherMaster`" Zen68 LostUpdate NOTHING, "z21_masters_meet.txt"
        "there is one master a term, and what the lower one committed the higher one has";
    "Z22" "no master after a stop" "#9694, #30812, #17493" Zen68 NoMaster
        Err("faults of random runs end within seconds"), "z22_stopped_master.txt"
        "the mastership is handed over before the process ends";
}
