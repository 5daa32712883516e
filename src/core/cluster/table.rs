//! A sorted map made for states: copies share what did not change.
//!
//! The entries stand in order in chunks, the chunks in a spine. A clone shares the spine; a change copies the spine and
//! the chunk it touches, and not even these if nobody shares them. How two tables differ is told by `table_diff.rs`,
//! which passes over shared chunks. Stands where Elasticsearch has `ImmutableOpenMap`.
//!
//! No chunk is empty or longer than [`CHUNK_MAX`], and keys rise from entry to entry and from chunk to chunk.

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::Arc;
use std::{fmt, mem, slice};

const CHUNK_MAX: usize = 64;
/// How full chunks are built: an insert here and there then splits none.
const CHUNK_FILL: usize = 48;
/// Neighbours that have no more than this together become one.
const CHUNK_MERGE: usize = 32;

pub(super) type Chunk<K, V> = Vec<(K, V)>;

/// A sorted map whose clones share their entries.
pub struct Table<K, V> {
    len: usize,
    chunks: Arc<Vec<Arc<Chunk<K, V>>>>,
}

impl<K, V> Table<K, V> {
    /// The empty table.
    pub fn new() -> Self {
        Table { len: 0, chunks: Arc::default() }
    }

    /// How many entries it has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has no entries.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Whether both are clones of one table and neither changed since.
    pub fn ptr_eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.chunks, &other.chunks)
    }

    /// How many chunks its entries stand in.
    pub fn chunk_count(&self) -> usize {
        self.chunks.len()
    }

    /// How many of its chunks are held by `other` as well, and so take no memory of their own.
    pub fn shared_chunk_count(&self, other: &Self) -> usize {
        let theirs: BTreeSet<_> = other.chunks.iter().map(Arc::as_ptr).collect();
        self.chunks.iter().filter(|chunk| theirs.contains(&Arc::as_ptr(chunk))).count()
    }

    /// The entries in the order of their keys.
    pub fn iter(&self) -> TableIter<'_, K, V> {
        TableIter { chunks: self.chunks.iter(), entries: [].iter() }
    }

    /// The keys in order.
    pub fn keys(&self) -> impl Iterator<Item = &K> + Clone {
        self.iter().map(|(key, _)| key)
    }

    /// The values in the order of their keys.
    pub fn values(&self) -> impl Iterator<Item = &V> + Clone {
        self.iter().map(|(_, value)| value)
    }

    pub(super) fn chunks(&self) -> &[Arc<Chunk<K, V>>] {
        &self.chunks
    }
}

impl<K: Ord, V> Table<K, V> {
    /// The value of `key`.
    pub fn get<Q: Ord + ?Sized>(&self, key: &Q) -> Option<&V>
    where
        K: Borrow<Q>,
    {
        let (chunk, entry) = self.locate(key);
        Some(&self.chunks.get(chunk)?.get(entry.ok()?)?.1)
    }

    /// Whether `key` has a value.
    pub fn contains_key<Q: Ord + ?Sized>(&self, key: &Q) -> bool
    where
        K: Borrow<Q>,
    {
        self.locate(key).1.is_ok()
    }

    /// The entries from the first key that is not below `key`, in order.
    pub fn range_from<Q: Ord + ?Sized>(&self, key: &Q) -> TableIter<'_, K, V>
    where
        K: Borrow<Q>,
    {
        let (chunk, entry) = self.locate(key);
        let entry = entry.unwrap_or_else(|place| place);
        let mut chunks = self.chunks.get(chunk..).unwrap_or_default().iter();
        let entries = chunks.next().and_then(|chunk| chunk.get(entry..)).unwrap_or_default();
        TableIter { chunks, entries: entries.iter() }
    }

    /// The chunk that has `key` or would have it, and the place there; past the end only if there are no chunks.
    fn locate<Q: Ord + ?Sized>(&self, key: &Q) -> (usize, Result<usize, usize>)
    where
        K: Borrow<Q>,
    {
        let is_below = |chunk: &Arc<Chunk<K, V>>| chunk.last().is_some_and(|(last, _)| last.borrow() < key);
        let index = self.chunks.partition_point(is_below).min(self.chunks.len().saturating_sub(1));
        let entries = self.chunks.get(index).map_or(&[][..], |chunk| chunk);
        (index, entries.binary_search_by(|(held, _)| held.borrow().cmp(key)))
    }
}

impl<K: Ord + Clone, V: Clone> Table<K, V> {
    /// Gives `key` a value and returns the one it had.
    pub fn insert(&mut self, key: K, value: V) -> Option<V> {
        let (chunk, entry) = self.locate(&key);
        let chunks = Arc::make_mut(&mut self.chunks);
        match entry {
            Ok(place) => Some(mem::replace(&mut Arc::make_mut(&mut chunks[chunk])[place].1, value)),
            Err(place) => {
                self.len += 1;
                insert_new(chunks, chunk, place, (key, value));
                None
            }
        }
    }

    /// Takes the value of `key` out.
    pub fn remove<Q: Ord + ?Sized>(&mut self, key: &Q) -> Option<V>
    where
        K: Borrow<Q>,
    {
        let (chunk, entry) = self.locate(key);
        let place = entry.ok()?;
        let chunks = Arc::make_mut(&mut self.chunks);
        let (_, value) = Arc::make_mut(&mut chunks[chunk]).remove(place);
        self.len -= 1;
        if chunks[chunk].is_empty() {
            chunks.remove(chunk);
        } else {
            merge_with_next(chunks, chunk);
            merge_with_next(chunks, chunk.saturating_sub(1));
        }
        Some(value)
    }
}

fn insert_new<K: Clone, V: Clone>(
    chunks: &mut Vec<Arc<Chunk<K, V>>>,
    mut index: usize,
    mut place: usize,
    entry: (K, V),
) {
    let Some(chunk) = chunks.get_mut(index) else {
        chunks.push(Arc::new(vec![entry]));
        return;
    };
    if chunk.len() == CHUNK_MAX {
        // A table that grows at its end is better served by full chunks than by halves.
        let split = if place == CHUNK_MAX { CHUNK_MAX } else { CHUNK_MAX / 2 };
        let upper = if split == CHUNK_MAX { Vec::new() } else { Arc::make_mut(chunk).split_off(split) };
        chunks.insert(index + 1, Arc::new(upper));
        if place >= split {
            index += 1;
            place -= split;
        }
    }
    Arc::make_mut(&mut chunks[index]).insert(place, entry);
}

fn merge_with_next<K: Clone, V: Clone>(chunks: &mut Vec<Arc<Chunk<K, V>>>, index: usize) {
    let Some([one, next]) = chunks.get(index..index + 2) else {
        return;
    };
    if one.len() + next.len() <= CHUNK_MERGE {
        let next = chunks.remove(index + 1);
        Arc::make_mut(&mut chunks[index]).extend(Arc::unwrap_or_clone(next));
    }
}

impl<K, V> Clone for Table<K, V> {
    fn clone(&self) -> Self {
        Table { len: self.len, chunks: Arc::clone(&self.chunks) }
    }
}

impl<K, V> Default for Table<K, V> {
    fn default() -> Self {
        Table::new()
    }
}

impl<K: Ord, V: PartialEq> PartialEq for Table<K, V> {
    fn eq(&self, other: &Self) -> bool {
        self.len == other.len && other.changes_since(self).next().is_none()
    }
}

impl<K: Ord, V: Eq> Eq for Table<K, V> {}

impl<K: fmt::Debug, V: fmt::Debug> fmt::Debug for Table<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_map().entries(self).finish()
    }
}

/// Where a key comes more than once, the last one wins.
impl<K: Ord, V> FromIterator<(K, V)> for Table<K, V> {
    fn from_iter<I: IntoIterator<Item = (K, V)>>(entries: I) -> Self {
        let mut entries: Vec<(K, V)> = entries.into_iter().collect();
        entries.sort_by(|(one, _), (other, _)| one.cmp(other));
        // The later one stands behind, and `dedup_by` would keep the earlier.
        entries.dedup_by(|later, kept| {
            let is_same = later.0 == kept.0;
            if is_same {
                mem::swap(later, kept);
            }
            is_same
        });
        let len = entries.len();
        let mut entries = entries.into_iter();
        let chunks = (0..len.div_ceil(CHUNK_FILL)).map(|_| Arc::new(entries.by_ref().take(CHUNK_FILL).collect()));
        Table { len, chunks: Arc::new(chunks.collect()) }
    }
}

impl<K: Ord + Clone, V: Clone> Extend<(K, V)> for Table<K, V> {
    fn extend<I: IntoIterator<Item = (K, V)>>(&mut self, entries: I) {
        for (key, value) in entries {
            self.insert(key, value);
        }
    }
}

impl<'a, K, V> IntoIterator for &'a Table<K, V> {
    type Item = (&'a K, &'a V);
    type IntoIter = TableIter<'a, K, V>;

    fn into_iter(self) -> TableIter<'a, K, V> {
        self.iter()
    }
}

/// Entries of a table in the order of their keys.
pub struct TableIter<'a, K, V> {
    chunks: slice::Iter<'a, Arc<Chunk<K, V>>>,
    entries: slice::Iter<'a, (K, V)>,
}

impl<K, V> Clone for TableIter<'_, K, V> {
    fn clone(&self) -> Self {
        TableIter { chunks: self.chunks.clone(), entries: self.entries.clone() }
    }
}

impl<'a, K, V> Iterator for TableIter<'a, K, V> {
    type Item = (&'a K, &'a V);

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some((key, value)) = self.entries.next() {
                return Some((key, value));
            }
            self.entries = self.chunks.next()?.iter();
        }
    }
}

impl<K: Serialize, V: Serialize> Serialize for Table<K, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self)
    }
}

impl<'de, K: Ord + Deserialize<'de>, V: Deserialize<'de>> Deserialize<'de> for Table<K, V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(TableVisitor(PhantomData))
    }
}

struct TableVisitor<K, V>(PhantomData<(K, V)>);

impl<'de, K: Ord + Deserialize<'de>, V: Deserialize<'de>> Visitor<'de> for TableVisitor<K, V> {
    type Value = Table<K, V>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Table<K, V>, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(entries.into_iter().collect())
    }
}
