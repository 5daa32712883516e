//! Which of the protocol's protections a node keeps.
//!
//! Every node keeps all of them: they are constants, unless the feature `switches` is on. Only the simulator turns it on, and
//! gives nodes other rules to show what happens without one of them, and that its checkers see it.

use std::fmt;

/// Makes the table of protections: each with its name on the command line and what it says.
macro_rules! protections {
    ($($variant:ident $name:literal $doc:literal,)*) => {
        /// One protection of the protocol, which can be switched off alone.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Protection {
            $(#[doc = $doc] $variant,)*
        }

        impl Protection {
            /// All of them.
            pub const ALL: &'static [Protection] = &[$(Protection::$variant,)*];

            /// What it is called on the command line.
            pub fn name(self) -> &'static str {
                match self { $(Protection::$variant => $name,)* }
            }

            /// What it says.
            pub fn says(self) -> &'static str {
                match self { $(Protection::$variant => $doc,)* }
            }
        }
    };
}

protections! {
    DurableVote "durable-vote" "A vote is on disk before it is told, so a restart does not forget it.",
    SelfDoubt "self-doubt" "A node whose own loop stalled doubts itself before it doubts others.",
    DurableState "durable-state" "A restart does not forget the accepted state.",
    StoredVotes "stored-votes" "A vote is told only when it is stored.",
    StoredAcks "stored-acks" "A state is acknowledged only when it is stored.",
    StoredReports "stored-reports" "Answers tell only what is stored.",
    OwnVoteStored "own-vote-stored" "A candidate counts its own vote only when it is stored.",
    OwnAckStored "own-ack-stored" "A master counts its own acknowledgement only when it stored the state.",
    StoredBeforeRepeat "stored-before-repeat" "A vote is not sent again before it is stored.",
    IdWithVote "id-with-vote" "The id lives in the record of the vote, so a wiped node is a new node.",
    SettledRestart "settled-restart" "After a restart only a state that is known to be committed is shown.",
    AcceptingVotes "accepting-votes" "Accepting a state of a higher term is a vote for its master.",
    VotesTellAccepted "votes-tell-accepted" "A vote tells the state that is stored when it goes out, not when it is cast.",
    OneTermVotes "one-term-votes" "A candidacy counts the votes of its own term only.",
    NamedVotes "named-votes" "A vote counts for the node that it names, not for whoever listens at its address.",
    OneVoteEach "one-vote-each" "A join that arrives twice counts once.",
    EndedCandidacies "ended-candidacies" "A restart or a step-down ends a candidacy for good: its term is not stood in again.",
    CandidaciesAge "candidacies-age" "Candidacies that follow each other without a pause let others go first when the first one would have.",
    NewerJoins "newer-joins" "A join whose accepted state is newer is not counted.",
    TermBeforeVersion "term-before-version" "Of two states the one of the higher term is newer, whatever their versions.",
    FetchNewer "fetch-newer" "A candidate fetches the newer state of a voter.",
    FetchedTerm "fetched-term" "A state that is fetched is stored with its term and vote.",
    CopiesAckNothing "copies-ack-nothing" "A state acknowledges only for a follower of its master, in its master's term.",
    SeenQuorum "seen-quorum" "Only candidates that see a quorum are chosen.",
    Yielding "yielding" "A candidate yields to a better one.",
    BlindYielding "blind-yielding" "A candidate that sees no quorum any more yields to one that sees one.",
    OwnPings "own-pings" "Only nodes that answered this node's own ping count.",
    LostMasters "lost-masters" "A master that was lost counts again only when it was heard of after that.",
    OldMajority "old-majority" "A decision needs a majority of the last committed voting set.",
    NewMajority "new-majority" "A decision needs a majority of the state's own voting set.",
    CarriedSets "carried-sets" "The last committed voting set is the one that the accepted state carries, not one from memory.",
    WholeElections "whole-elections" "An election needs more than half of the votes.",
    WholeCommits "whole-commits" "A commit needs more than half of the acknowledgements.",
    MinimumCounted "minimum-counted" "Elections and commits need as many nodes as the operator asks for.",
    BootstrapCounted "bootstrap-counted" "A first forming needs a majority of the bootstrap sets.",
    EveryBootstrap "every-bootstrap" "The bootstrap set of each voter is counted, not the candidate's alone.",
    BlankForms "blank-forms-nothing" "A node without a state forms nothing beside one that knows a cluster.",
    SettledSets "settled-sets" "A new voting set is proposed only on a committed state.",
    OwnTakeBack "own-take-back" "A master takes back only a voting set that it proposed itself.",
    GoneStates "gone-states" "A follower that lags is never told that a state is committed which was taken back.",
    SureProposals "sure-proposals" "No voting set is proposed that counts on a node which may be as dead as the one lost last.",
    NewAnswers "new-answers" "A voting set counts on answers that are hardly older than its proposal.",
    OnePublish "one-publish" "One publish is in flight at a time.",
    OwnTermCommits "own-term-commits" "A state that was inherited is committed by descent, never directly.",
    ExactCommits "exact-commits" "A commit counts for exactly the state that it names.",
    CommittedApplies "committed-applies" "A state is applied only when it is committed.",
    LowerTerms "lower-terms" "A state of a lower term is refused.",
    RisingStates "rising-states" "A state is accepted only if its term and version rise.",
    DiffBase "diff-base" "A change is applied only to the state that it was made from.",
    IdentityOnCommit "identity-on-commit" "The cluster's identity is locked when a state is known to be committed.",
    WishesOfTerm "wishes-of-term" "A wish to hand over counts for the mastership of its term only.",
    Twins "twins" "Of two processes with one id only one leads, and none votes that has heard of the other.",
    RolesOnDisk "roles-on-disk" "A node that said that it cannot be master forms a cluster only with all of its hosts, whatever it is later.",
    UuidChecked "uuid-checked" "Nodes of another cluster are refused by its identity.",
    FatalAnswers "fatal-answers" "A master that says that it does not lead is lost at once.",
    NonMembers "non-members" "A node that hears that it is no member joins again.",
    OthersTerms "others-terms" "A master steps down for a master of a higher term, not for any node in one.",
    JoinersTerm "joiners-term" "A joiner of a higher term makes the master take a higher one, and not step down.",
    BumpVotes "bump-votes" "A master takes a higher term only with the votes of a quorum.",
    OwnMasterCalls "own-master-calls" "A vote is given on demand to the own master only.",
    RoundTrip "round-trip" "A joiner is added after a round trip to it.",
    LaggardsTold "laggards-told" "A node that lags is sent the state or the commit again.",
    FormerMasters "former-masters" "Who takes a node for a master is told when it is none.",
    MetAnew "met-anew" "A node that one state removes and takes in again is not taken for dead any more.",
    QuorumLoss "quorum-loss" "A master without a quorum of live nodes steps down.",
    CommitTimeout "commit-timeout" "A publish that is not committed in time ends the mastership.",
    RepeatedJoins "repeated-joins" "A join that is not answered is sent again.",
    ReadsOwnTerm "reads-own-term" "A read waits until the master has committed in its own term.",
    ReadsConfirmed "reads-confirmed" "A read waits until a majority has confirmed the master.",
    ReadsAfter "reads-after" "A confirmation counts for a read only if it was asked for after the read arrived.",
    ReadsInTerm "reads-in-term" "Only a node in the master's term, with its vote for it, confirms a read.",
    ToldAtEnd "told-at-end" "Whoever waits for a master is answered when its mastership ends.",
    RequestsOnce "requests-once" "A request that is asked again is told what became of it before.",
    LeasesAnew "leases-anew" "A new master counts the time of every lease anew.",
    EndingLeases "ending-leases" "A lease whose end is queued is not kept alive any more.",
    UnknownStays "unknown-stays" "What may have been carried out is never carried out again.",
}

impl fmt::Display for Protection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The protections that are switched off: none, and without the feature `switches` there is no way to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    #[cfg(feature = "switches")]
    off: u128,
}

#[cfg(feature = "switches")]
impl Rules {
    /// All protections but this one.
    pub fn without(self, protection: Protection) -> Rules {
        Rules { off: self.off | 1 << protection as u32 }
    }

    /// Whether a protection is kept.
    pub fn keep(self, protection: Protection) -> bool {
        self.off >> protection as u32 & 1 == 0
    }
}

#[cfg(not(feature = "switches"))]
impl Rules {
    /// Whether a protection is kept: each is.
    #[inline]
    pub const fn keep(self, _protection: Protection) -> bool {
        true
    }
}
