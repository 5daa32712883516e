//! What both ends know of each held link: each for itself whether it is open.
//!
//! How links are made and how they end is in `linking`.

use std::collections::BTreeMap;

/// Names a link: its holder, its other end, and a number that rises.
pub(super) type LineId = (usize, usize, u64);

/// Which of the two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Holder,
    Other,
}

/// What one end has of a link.
#[derive(Clone, Copy)]
pub(super) struct Knows {
    /// The process that has it.
    pub(super) life: u32,
    pub(super) open: bool,
}

/// One link.
pub(super) struct Lifeline {
    pub(super) holder: Knows,
    pub(super) other: Knows,
    pub(super) made: bool,
}

impl Lifeline {
    pub(super) fn end(&mut self, end: End) -> &mut Knows {
        match end {
            End::Holder => &mut self.holder,
            End::Other => &mut self.other,
        }
    }
}

/// All links of which at least one end believes that they are there.
pub(super) struct Lifelines {
    pub(super) lines: BTreeMap<LineId, Lifeline>,
    pub(super) serial: u64,
}

impl Lifelines {
    pub(super) fn new() -> Self {
        Lifelines { lines: BTreeMap::new(), serial: 0 }
    }

    pub(super) fn held(&self, holder: usize, other: usize) -> Option<LineId> {
        let mut between = self.lines.range((holder, other, 0)..=(holder, other, u64::MAX));
        between.find(|(_, line)| line.holder.open).map(|(&id, _)| id)
    }

    pub(super) fn accepted(&self, holder: usize, other: usize) -> Option<LineId> {
        let mut between = self.lines.range((holder, other, 0)..=(holder, other, u64::MAX));
        between.find(|(_, line)| line.other.open).map(|(&id, _)| id)
    }

    /// Whether a link between the two is open at both ends, whoever holds it.
    pub(super) fn are_linked(&self, one: usize, two: usize) -> bool {
        [(one, two), (two, one)].into_iter().any(|(holder, other)| {
            let mut between = self.lines.range((holder, other, 0)..=(holder, other, u64::MAX));
            between.any(|(_, line)| line.holder.open && line.other.open)
        })
    }

    /// The links of a node, and which end of each it is.
    pub(super) fn of(&self, node: usize) -> Vec<(LineId, End)> {
        let ends = |&id: &LineId| {
            let (holder, other, _) = id;
            let held = (holder == node).then_some((id, End::Holder));
            let accepted = (other == node && holder != node).then_some((id, End::Other));
            held.or(accepted)
        };
        self.lines.keys().filter_map(ends).collect()
    }
}
