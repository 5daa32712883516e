//! A new incarnation of a cluster, made by hand of what is left of one that lost its quorum for good.
//!
//! The new one has a uuid of its own, so the nodes that are not part of it can never take part in it with what they hold;
//! and a higher term, so none of its states has the rank of an old one. Its fencing tokens begin far above the old ones,
//! since what is left may be behind. Whether all this is wanted is not decided here.
//! Mirrors `UnsafeBootstrapMasterCommand` and `DetachClusterCommand` (7.x).

use super::{Memory, Promise, Write};
use crate::cluster::{
    ClusterState, Holding, KeyValue, Lease, Metadata, NodeId, Term, Token, Uuid, VotingSet, VotingSets,
};
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

/// How far above the last token that is known a new incarnation begins. More were not given meanwhile: a thousand grants a
/// second take 34 years for it.
const TOKENS_SKIPPED: u64 = 1 << 40;

/// Why no new incarnation can be made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoIncarnation {
    /// None of the directories holds a node that may become master.
    NobodyEligible,
    /// There is no term above those that were promised.
    TermsUsedUp,
    /// There are too few fencing tokens above those that were given.
    TokensUsedUp,
}

impl fmt::Display for NoIncarnation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoIncarnation::NobodyEligible => {
                f.write_str("none of these nodes may become master, and a cluster needs one that may")
            }
            NoIncarnation::TermsUsedUp => write!(f, "there is no term above {}", Term::MAX),
            NoIncarnation::TokensUsedUp => {
                write!(f, "fewer than {TOKENS_SKIPPED} fencing tokens are left below {}", Token::MAX)
            }
        }
    }
}

impl std::error::Error for NoIncarnation {}

/// The newest state that any of these holds, whether it is known committed or not: what is not may have been.
pub fn newest<'a>(memories: impl IntoIterator<Item = &'a Memory>) -> Option<&'a Arc<ClusterState>> {
    memories.into_iter().filter_map(|memory| memory.accepted.as_ref()).max_by_key(|state| state.rank())
}

/// Whether the nodes with these ids could go on by themselves from this state.
pub fn has_quorum(state: &ClusterState, survivors: &[NodeId]) -> bool {
    state.metadata.voting.has_majority(|id| survivors.contains(id))
}

/// The first state of a new incarnation with these nodes, and what each of them must have on disk for it. The uuids are
/// drawn by the caller: that of the cluster and that of the state.
pub fn incarnate(
    base: &ClusterState,
    survivors: &[Memory],
    [cluster_uuid, state_uuid]: [Uuid; 2],
) -> Result<Vec<Vec<Write>>, NoIncarnation> {
    let ids: Vec<&NodeId> = survivors.iter().filter_map(|memory| memory.promise.node_id.as_ref()).collect();
    let is_eligible = |id: &NodeId| base.nodes.get(id).is_none_or(|node| node.is_master_eligible());
    let voters: VotingSet = ids.iter().copied().filter(|id| is_eligible(id)).cloned().collect();
    if voters.is_empty() {
        return Err(NoIncarnation::NobodyEligible);
    }
    let promised = survivors.iter().map(|memory| memory.promise.term).chain([base.term]).max().unwrap_or(base.term);
    let term = promised.next();
    if term == promised {
        return Err(NoIncarnation::TermsUsedUp);
    }
    let mut state = base.clone();
    (state.term, state.version, state.uuid) = (term, base.version.next(), state_uuid);
    state.cluster_uuid = Some(cluster_uuid);
    state.nodes = base.nodes.iter().filter(|node| ids.contains(&&node.id)).cloned().collect();
    state.metadata.voting = VotingSets { committed: voters.clone(), own: voters };
    renew_tokens(&mut state.metadata).ok_or(NoIncarnation::TokensUsedUp)?;
    let state = Arc::new(state);
    let writes = |memory: &Memory| {
        let promise = Promise { term, vote: None, ..memory.promise.clone() };
        vec![
            Write::Promise(promise),
            Write::Accepted(state.clone()),
            Write::Identity(cluster_uuid),
            Write::Committed(state.id()),
        ]
    };
    Ok(survivors.iter().map(writes).collect())
}

/// Puts every token above all that may have been given, though this state knows nothing of it. A lease that is held goes on
/// under a token that nobody has: so it runs out, and no earlier than its holder was told, but nobody keeps it alive
/// who may have lost it to another.
fn renew_tokens(metadata: &mut Metadata) -> Option<()> {
    let mut last = Token::new(metadata.last_token.get().checked_add(TOKENS_SKIPPED)?)?;
    let mut renewed = BTreeMap::new();
    for (name, lease) in &metadata.leases.clone() {
        last = last.next()?;
        renewed.insert(lease.token, last);
        metadata.leases.insert(name.clone(), Lease { token: last, ..lease.clone() });
    }
    for (key, held) in &metadata.keys.clone() {
        let Some(Holding { name, token }) = &held.lease else { continue };
        let lease = renewed.get(token).map(|token| Holding { name: name.clone(), token: *token });
        metadata.keys.insert(key.clone(), KeyValue { lease, ..held.clone() });
    }
    metadata.last_token = last;
    last.next().map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::{Revision, Version};
    use crate::protocol::Disk;
    use std::time::Duration;

    fn memory(id: &str, term: u64, version: u64) -> Memory {
        let mut state = ClusterState::initial("lost".into());
        state.term = Term::new(term).expect("it is small");
        state.version = Version::new(version).expect("it is small");
        state.metadata.voting.own = ["a", "b", "c"].into_iter().map(NodeId::from).collect();
        state.metadata.voting.committed = state.metadata.voting.own.clone();
        let promise = Promise {
            node_id: Some(id.into()),
            term: state.term,
            vote: Some("c".into()),
            left_out: Default::default(),
        };
        Memory { promise, accepted: Some(Arc::new(state)), committed: None, cluster_uuid: Some(Uuid::from_u128(1)) }
    }

    #[test]
    fn a_new_incarnation_goes_on_from_the_newest_state_with_the_survivors_alone() {
        let mut survivors = [memory("a", 3, 9), memory("b", 2, 40)];
        survivors[1].promise.term = Term::new(5).expect("it is small");
        let base = newest(&survivors).expect("both hold a state").clone();
        assert_eq!(base.rank(), survivors[0].accepted.as_ref().expect("it holds one").rank());
        let uuids = [Uuid::from_u128(7), Uuid::from_u128(8)];
        let writes = incarnate(&base, &survivors, uuids).expect("both may become master");
        for (memory, writes) in survivors.iter_mut().zip(writes) {
            let id = memory.promise.node_id.clone();
            writes.iter().for_each(|write| memory.apply(write));
            let state = memory.accepted.as_ref().expect("it was just put there");
            assert_eq!((state.term.get(), state.version.get(), state.cluster_uuid), (6, 10, Some(uuids[0])));
            assert_eq!(state.metadata.voting.to_string(), "{a,b}");
            assert_eq!((memory.promise.term, &memory.promise.vote, &memory.promise.node_id), (state.term, &None, &id));
            assert_eq!((memory.cluster_uuid, memory.committed), (Some(uuids[0]), Some(state.id())));
        }
    }

    #[test]
    fn tokens_go_on_above_all_that_may_have_been_given_and_nobody_keeps_an_old_lease_alive() {
        let mut survivor = memory("a", 1, 1);
        let token = |number| Token::new(number).expect("it is below 2^53");
        let mut base = (**survivor.accepted.as_ref().expect("it holds one")).clone();
        let lease =
            Lease { holder: "h".into(), token: token(7), ttl: Duration::from_secs(9), granted: Revision::default() };
        base.metadata.leases.insert("l".into(), lease.clone());
        let tied = Holding { name: "l".into(), token: token(7) };
        let held = KeyValue { lease: Some(tied), ..KeyValue::new("v", Revision::default()) };
        base.metadata.keys.insert("k".into(), held);
        base.metadata.last_token = token(9);
        let uuids = [Uuid::from_u128(7), Uuid::from_u128(8)];
        let writes = incarnate(&base, std::slice::from_ref(&survivor), uuids).expect("it may become master");
        writes[0].iter().for_each(|write| survivor.apply(write));
        let metadata = &survivor.accepted.as_ref().expect("it was just put there").metadata;
        let renewed = token(9 + TOKENS_SKIPPED + 1);
        assert_eq!(metadata.last_token, renewed);
        assert_eq!(metadata.leases.get("l"), Some(&Lease { token: renewed, ..lease }));
        let tied = metadata.keys.get("k").and_then(|held| held.lease.as_ref()).map(|lease| lease.token);
        assert_eq!(tied, Some(renewed), "the key vanishes with the lease");
        base.metadata.last_token = token((1 << 53) - TOKENS_SKIPPED);
        let refused = incarnate(&base, &[survivor], uuids).map(drop).err();
        assert_eq!(refused, Some(NoIncarnation::TokensUsedUp));
    }

    #[test]
    fn a_majority_of_the_voters_needs_no_new_incarnation() {
        let state = memory("a", 1, 1).accepted.expect("it holds one");
        assert!(has_quorum(&state, &["a".into(), "b".into()]));
        assert!(!has_quorum(&state, &["a".into(), "x".into(), "y".into()]));
    }

    #[test]
    fn what_cannot_be_led_is_not_made() {
        let uuids = [Uuid::from_u128(7), Uuid::from_u128(8)];
        let base = memory("a", 1, 1).accepted.expect("it holds one");
        assert_eq!(incarnate(&base, &[], uuids).map(drop).err(), Some(NoIncarnation::NobodyEligible));
        let mut last = memory("a", 1, 1);
        last.promise.term = Term::MAX;
        assert_eq!(incarnate(&base, &[last], uuids).map(drop).err(), Some(NoIncarnation::TermsUsedUp));
    }
}
