//! The notices on their way: at most one to each peer, and the newest behind it.
//!
//! A node that changes its word twice before a peer has taken the first need not bring it the first. So a crowd that
//! elects on a busy machine sends fewer notices the longer each takes, instead of more than it can read.

use crate::cluster::Address;
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is on its way to whom, and what follows it.
#[derive(Clone, Default)]
pub(super) struct Notices(Arc<Mutex<BTreeMap<Address, Option<Bytes>>>>);

impl Notices {
    /// Whether a notice is to be sent now; otherwise it follows the one that is on its way.
    pub(super) fn begin(&self, to: &Address, notice: &Bytes) -> bool {
        let mut sending = self.0.lock();
        match sending.get_mut(to) {
            Some(next) => {
                *next = Some(notice.clone());
                false
            }
            None => {
                sending.insert(to.clone(), None);
                true
            }
        }
    }

    /// The one on its way has arrived or is lost: what follows it, if anything.
    pub(super) fn next(&self, to: &Address) -> Option<Bytes> {
        let mut sending = self.0.lock();
        let next = sending.get_mut(to).and_then(Option::take);
        if next.is_none() {
            sending.remove(to);
        }
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behind_a_notice_on_its_way_waits_only_the_newest_one() {
        let (notices, a, b) = (Notices::default(), Address::from("10.0.0.1:9300"), Address::from("10.0.0.2:9300"));
        let begun = |to, text: &'static str| notices.begin(to, &Bytes::from_static(text.as_bytes()));
        assert!(begun(&a, "one"));
        assert!(!begun(&a, "two") && !begun(&a, "three"));
        assert!(begun(&b, "one"), "another peer is not waited for");
        assert_eq!(notices.next(&a).as_deref(), Some(b"three".as_slice()));
        assert_eq!(notices.next(&a), None);
        assert!(begun(&a, "four"), "nothing is on its way any more");
    }
}
