//! The starts that failed of which this node was told, for as long as somebody may ask for them.

use crate::cluster::Nodes;
use crate::diagnose::FailedStart;
use parking_lot::Mutex;
use std::time::Duration;
use tokio::time::Instant;

/// How many bytes that may have, as it is told and as it is kept: all of it is a part of what a node reports of itself.
pub(in crate::runtime) const FAILED_MAX: usize = 3 << 10;

/// How many are kept, and for how long.
const KEPT_MAX: usize = 16;
const KEPT_FOR: Duration = Duration::from_secs(900);

/// It as it is told; none if it is too long.
pub(in crate::runtime) fn text_of(failed: &FailedStart) -> Option<Vec<u8>> {
    serde_json::to_vec(failed).ok().filter(|text| text.len() <= FAILED_MAX)
}

/// What was heard, the last at the end.
#[derive(Default)]
pub(in crate::runtime) struct FailedStarts(Mutex<Vec<(Instant, FailedStart)>>);

impl FailedStarts {
    pub(in crate::runtime) fn keep(&self, now: Instant, failed: FailedStart) {
        // What is not printable takes more room once it is.
        if text_of(&failed).is_none() {
            return;
        }
        let mut kept = self.0.lock();
        kept.retain(|(_, known)| known.name != failed.name);
        kept.push((now, failed));
        let surplus = kept.len().saturating_sub(KEPT_MAX);
        kept.drain(..surplus);
    }

    /// Those of nodes that are no members, and not for ever: it may have been a try of somebody who went home.
    pub(in crate::runtime) fn told(&self, members: Option<&Nodes>) -> Vec<FailedStart> {
        self.told_at(Instant::now(), members)
    }

    fn told_at(&self, now: Instant, members: Option<&Nodes>) -> Vec<FailedStart> {
        let mut kept = self.0.lock();
        let members = || members.into_iter().flat_map(Nodes::iter);
        let runs = |failed: &FailedStart| members().any(|node| failed.is_it(&node.name, &node.address));
        kept.retain(|(heard, failed)| now - *heard < KEPT_FOR && !runs(failed));
        let since = |heard: Instant| u64::try_from((now - heard).as_millis()).unwrap_or(u64::MAX);
        kept.iter().map(|(heard, failed)| FailedStart { since_millis: since(*heard), ..failed.clone() }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnose::{Code, Obstacle};

    fn told(name: &str, address: &str) -> FailedStart {
        let obstacle = Obstacle { code: Code::PortInUse, fault: String::new(), mend: None };
        FailedStart {
            name: name.into(),
            addresses: vec![address.into()],
            runs: false,
            ended: false,
            cluster: None,
            data: None,
            obstacle,
            since_millis: 7,
        }
    }

    #[test]
    fn it_is_kept_until_the_node_runs_or_nobody_asks_for_it_any_more() {
        let (kept, begin, nobody) = (FailedStarts::default(), Instant::now(), Nodes::default());
        let names = |now, nodes: &Nodes| {
            kept.told_at(now, Some(nodes)).into_iter().map(|failed| failed.name).collect::<Vec<_>>()
        };
        for number in 0..=KEPT_MAX {
            kept.keep(begin, told(&format!("n{number}"), &format!("h:{number}")));
        }
        assert_eq!(names(begin, &nobody).len(), KEPT_MAX, "the first was pushed out");
        kept.keep(begin + Duration::from_secs(1), told("n2", "h:9"));
        assert_eq!(names(begin + Duration::from_secs(1), &nobody).last().map(String::as_str), Some("n2"));
        assert_eq!(names(begin + KEPT_FOR, &nobody), ["n2"]);
        assert_eq!(kept.told_at(begin + KEPT_FOR, Some(&nobody))[0].since_millis, 899_000);
        assert!(names(begin + KEPT_FOR + Duration::from_secs(1), &nobody).is_empty());
    }
}
