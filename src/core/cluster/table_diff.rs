//! How one table differs from another.
//!
//! Tables that come from one another share most chunks, and those are passed over without a look at their entries.
//! Mirrors `DiffableUtils.MapDiff` (6.8).

use super::Table;
use super::table::Chunk;
use serde::{Deserialize, Serialize};
use std::cmp::Ordering;
use std::sync::Arc;

/// One entry that differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TableChange<'a, K, V> {
    /// The key is no longer there; with the value it had.
    Removed(&'a K, &'a V),
    /// The key is new or has another value, this one.
    Put(&'a K, &'a V),
}

impl<K: Ord, V: PartialEq> Table<K, V> {
    /// What must be done to `base` to make it equal to this table, in the order of the keys.
    pub fn changes_since<'a>(&'a self, base: &'a Self) -> impl Iterator<Item = TableChange<'a, K, V>> {
        let (old, new) = if self.ptr_eq(base) { (&[][..], &[][..]) } else { (base.chunks(), self.chunks()) };
        Changes { old: Cursor { chunks: old, place: 0 }, new: Cursor { chunks: new, place: 0 } }
    }
}

/// Walks two tables side by side. Where a chunk is shared, both come to its beginning together: until then the one that
/// is behind stands at lesser keys, and the other does not move.
struct Changes<'a, K, V> {
    old: Cursor<'a, K, V>,
    new: Cursor<'a, K, V>,
}

impl<'a, K: Ord, V: PartialEq> Iterator for Changes<'a, K, V> {
    type Item = TableChange<'a, K, V>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            self.skip_shared();
            let order = match (self.old.entry(), self.new.entry()) {
                (None, None) => return None,
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (Some((old, _)), Some((new, _))) => old.cmp(new),
            };
            match order {
                Ordering::Less => return self.old.take().map(|(key, value)| TableChange::Removed(key, value)),
                Ordering::Greater => return self.new.take().map(|(key, value)| TableChange::Put(key, value)),
                Ordering::Equal => {
                    let ((_, old), (key, new)) = (self.old.take()?, self.new.take()?);
                    if old != new {
                        return Some(TableChange::Put(key, new));
                    }
                }
            }
        }
    }
}

impl<K, V> Changes<'_, K, V> {
    fn skip_shared(&mut self) {
        while let (Some(old), Some(new)) = (self.old.whole_chunk(), self.new.whole_chunk())
            && Arc::ptr_eq(old, new)
        {
            self.old.skip_chunk();
            self.new.skip_chunk();
        }
    }
}

struct Cursor<'a, K, V> {
    chunks: &'a [Arc<Chunk<K, V>>],
    place: usize,
}

impl<'a, K, V> Cursor<'a, K, V> {
    fn entry(&self) -> Option<&'a (K, V)> {
        self.chunks.first()?.get(self.place)
    }

    fn take(&mut self) -> Option<&'a (K, V)> {
        let chunk = self.chunks.first()?;
        let entry = chunk.get(self.place);
        self.place += 1;
        if self.place == chunk.len() {
            self.skip_chunk();
        }
        entry
    }

    fn whole_chunk(&self) -> Option<&'a Arc<Chunk<K, V>>> {
        self.chunks.first().filter(|_| self.place == 0)
    }

    fn skip_chunk(&mut self) {
        self.chunks = self.chunks.get(1..).unwrap_or_default();
        self.place = 0;
    }
}

/// What makes one table of another.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, bound(deserialize = "K: Deserialize<'de>, V: Deserialize<'de>"))]
pub struct TableDiff<K, V> {
    /// The keys to take out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub removed: Vec<K>,
    /// The entries to put in.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub put: Vec<(K, V)>,
}

impl<K, V> Default for TableDiff<K, V> {
    fn default() -> Self {
        TableDiff { removed: Vec::new(), put: Vec::new() }
    }
}

impl<K, V> TableDiff<K, V> {
    /// Whether it changes nothing.
    pub fn is_empty(&self) -> bool {
        self.removed.is_empty() && self.put.is_empty()
    }
}

impl<K: Ord + Clone, V: Clone + PartialEq> TableDiff<K, V> {
    /// What makes `to` of `from`.
    pub fn between(from: &Table<K, V>, to: &Table<K, V>) -> Self {
        let mut diff = TableDiff::default();
        for change in to.changes_since(from) {
            match change {
                TableChange::Removed(key, _) => diff.removed.push(key.clone()),
                TableChange::Put(key, value) => diff.put.push((key.clone(), value.clone())),
            }
        }
        diff
    }
}

impl<K: Ord + Clone, V: Clone> TableDiff<K, V> {
    /// Changes `table` accordingly.
    pub fn apply(&self, table: &mut Table<K, V>) {
        for key in &self.removed {
            table.remove(key);
        }
        table.extend(self.put.iter().cloned());
    }
}
