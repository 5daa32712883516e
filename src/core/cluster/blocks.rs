//! What a cluster refuses at the moment, and why.
//!
//! Setting and lifting blocks is left to others. Mirrors `ClusterBlock`, `ClusterBlockLevel` and the global part of
//! `ClusterBlocks` (6.8); a cluster has at most one block of an id.

use super::flags;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;

/// What kind of request is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BlockLevel {
    /// Reading documents.
    Read,
    /// Writing documents.
    Write,
    /// Reading settings, mappings and the state.
    MetadataRead,
    /// Changing settings, mappings and the state.
    MetadataWrite,
}

impl BlockLevel {
    /// All of them, in Elasticsearch's order.
    pub const ALL: [BlockLevel; 4] =
        [BlockLevel::Read, BlockLevel::Write, BlockLevel::MetadataRead, BlockLevel::MetadataWrite];

    /// Its name in JSON.
    pub const fn name(self) -> &'static str {
        match self {
            BlockLevel::Read => "read",
            BlockLevel::Write => "write",
            BlockLevel::MetadataRead => "metadata_read",
            BlockLevel::MetadataWrite => "metadata_write",
        }
    }

    const fn bit(self) -> u8 {
        1 << self as u8
    }
}

/// A set of kinds of requests.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct BlockLevels(u8);

impl BlockLevels {
    /// Every request.
    pub const ALL: BlockLevels = BlockLevels::of(&BlockLevel::ALL);
    /// Requests that change something.
    pub const WRITES: BlockLevels = BlockLevels::of(&[BlockLevel::Write, BlockLevel::MetadataWrite]);

    /// The set of these kinds.
    pub const fn of(levels: &[BlockLevel]) -> Self {
        let mut bits = 0;
        let mut index = 0;
        while index < levels.len() {
            bits |= levels[index].bit();
            index += 1;
        }
        BlockLevels(bits)
    }

    /// Whether `level` is in it.
    pub const fn contains(self, level: BlockLevel) -> bool {
        self.0 & level.bit() != 0
    }

    /// Its kinds, in Elasticsearch's order.
    pub fn iter(self) -> impl Iterator<Item = BlockLevel> {
        BlockLevel::ALL.into_iter().filter(move |&level| self.contains(level))
    }
}

impl fmt::Debug for BlockLevels {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter().map(BlockLevel::name)).finish()
    }
}

impl Serialize for BlockLevels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        flags::serialize(&BlockLevel::ALL.map(|level| (level.name(), self.contains(level))), serializer)
    }
}

impl<'de> Deserialize<'de> for BlockLevels {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut levels = BlockLevels::default();
        flags::deserialize(deserializer, |word| {
            let known = BlockLevel::ALL.into_iter().find(|level| level.name() == word);
            levels.0 |= known.map_or(0, BlockLevel::bit);
        })?;
        Ok(levels)
    }
}

/// One reason to refuse requests.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Block {
    /// Names the reason; clients know these numbers.
    pub id: u32,
    /// The reason in words.
    pub description: Cow<'static, str>,
    /// Whether waiting may help.
    #[serde(default)]
    pub retryable: bool,
    /// Whether metadata must not be written to disk meanwhile.
    #[serde(default)]
    pub disable_state_persistence: bool,
    /// The HTTP status of a refusal.
    pub status: u16,
    /// What is refused.
    #[serde(default)]
    pub levels: BlockLevels,
}

impl Block {
    /// The state of before the full restart was not brought back yet.
    pub const STATE_NOT_RECOVERED: Block = Block::unavailable(1, "state not recovered / initialized", BlockLevels::ALL);
    /// There is no master, and reads may go on.
    pub const NO_MASTER_WRITES: Block = Block::unavailable(2, "no master", BlockLevels::WRITES);
    /// There is no master, and nothing goes on.
    pub const NO_MASTER_ALL: Block = Block::unavailable(2, "no master", BlockLevels::ALL);
    /// A user set `cluster.blocks.read_only`.
    pub const READ_ONLY: Block = Block::read_only(6, "cluster read-only (api)");
    /// A user set `cluster.blocks.read_only_allow_delete`.
    pub const READ_ONLY_ALLOW_DELETE: Block = Block::read_only(13, "cluster read-only / allow delete (api)");

    /// A node that may not even be read from has no metadata worth keeping.
    const fn unavailable(id: u32, description: &'static str, levels: BlockLevels) -> Block {
        let disable_state_persistence = levels.contains(BlockLevel::Read);
        Block {
            id,
            description: Cow::Borrowed(description),
            retryable: true,
            disable_state_persistence,
            status: 503,
            levels,
        }
    }

    const fn read_only(id: u32, description: &'static str) -> Block {
        Block {
            id,
            description: Cow::Borrowed(description),
            retryable: false,
            disable_state_persistence: false,
            status: 403,
            levels: BlockLevels::WRITES,
        }
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status {
            503 => f.write_str("SERVICE_UNAVAILABLE")?,
            403 => f.write_str("FORBIDDEN")?,
            429 => f.write_str("TOO_MANY_REQUESTS")?,
            other => write!(f, "{other}")?,
        }
        write!(f, "/{}/{}", self.id, self.description)
    }
}

/// The blocks of a cluster, in the order of their ids.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Blocks(Arc<Vec<Block>>);

impl Blocks {
    /// No blocks.
    pub fn new() -> Self {
        Blocks::default()
    }

    /// Puts a block in the place of the one with its id; tells whether that changed anything.
    pub fn add(&mut self, block: Block) -> bool {
        match self.0.binary_search_by_key(&block.id, |held| held.id) {
            Ok(at) if self.0[at] == block => return false,
            Ok(at) => Arc::make_mut(&mut self.0)[at] = block,
            Err(at) => Arc::make_mut(&mut self.0).insert(at, block),
        }
        true
    }

    /// Takes the block with this id out.
    pub fn remove(&mut self, id: u32) -> Option<Block> {
        let at = self.0.binary_search_by_key(&id, |held| held.id).ok()?;
        Some(Arc::make_mut(&mut self.0).remove(at))
    }

    /// Whether there is a block with this id.
    pub fn contains(&self, id: u32) -> bool {
        self.get(id).is_some()
    }

    /// The block with this id.
    pub fn get(&self, id: u32) -> Option<&Block> {
        let at = self.0.binary_search_by_key(&id, |held| held.id).ok()?;
        self.0.get(at)
    }

    /// The blocks, the lowest id first.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &Block> + Clone {
        self.0.iter()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those that refuse requests of this kind.
    pub fn at(&self, level: BlockLevel) -> Blocks {
        self.iter().filter(|block| block.levels.contains(level)).cloned().collect()
    }

    /// The HTTP status of a request that they refuse: their greatest.
    pub fn status(&self) -> Option<u16> {
        self.iter().map(|block| block.status).max()
    }

    /// Whether waiting may help: all of them say so.
    pub fn is_retryable(&self) -> bool {
        self.iter().all(|block| block.retryable)
    }
}

impl FromIterator<Block> for Blocks {
    fn from_iter<I: IntoIterator<Item = Block>>(blocks: I) -> Self {
        let mut collected = Blocks::new();
        blocks.into_iter().for_each(|block| {
            collected.add(block);
        });
        collected
    }
}

/// The text of a `ClusterBlockException`.
impl fmt::Display for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("blocked by: ")?;
        self.iter().try_for_each(|block| write!(f, "[{block}];"))
    }
}

impl Serialize for Blocks {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Blocks {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Vec::<Block>::deserialize(deserializer)?.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_reads_as_in_elasticsearch() {
        let mut blocks = Blocks::new();
        assert!(blocks.add(Block::NO_MASTER_ALL) && blocks.add(Block::STATE_NOT_RECOVERED));
        assert_eq!(
            blocks.to_string(),
            "blocked by: [SERVICE_UNAVAILABLE/1/state not recovered / initialized];[SERVICE_UNAVAILABLE/2/no master];"
        );
        assert_eq!((blocks.status(), blocks.is_retryable()), (Some(503), true));
        blocks.add(Block::READ_ONLY);
        assert_eq!((blocks.status(), blocks.is_retryable()), (Some(503), false));
        assert_eq!(Block::READ_ONLY.to_string(), "FORBIDDEN/6/cluster read-only (api)");
    }

    #[test]
    fn a_block_takes_the_place_of_the_one_with_its_id() {
        let mut blocks: Blocks = [Block::NO_MASTER_ALL, Block::READ_ONLY].into_iter().collect();
        let before = blocks.clone();
        assert!(blocks.add(Block::NO_MASTER_WRITES));
        assert!(!blocks.add(Block::NO_MASTER_WRITES));
        assert!(blocks.at(BlockLevel::Read).is_empty() && !before.at(BlockLevel::Read).is_empty());
        assert_eq!(blocks.remove(2), Some(Block::NO_MASTER_WRITES));
        assert!(!blocks.contains(2) && before.contains(2));
    }

    #[test]
    fn only_what_forbids_reading_stops_persistence() {
        let blocks = [Block::STATE_NOT_RECOVERED, Block::NO_MASTER_ALL, Block::NO_MASTER_WRITES, Block::READ_ONLY];
        assert_eq!(blocks.map(|block| block.disable_state_persistence), [true, true, false, false]);
    }
}
