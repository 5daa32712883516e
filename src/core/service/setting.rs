//! Changes of settings as they are asked for, and the rule by which they are judged.
//!
//! What one does to a state is told in `put_settings`.

use std::sync::Arc;

/// The key of the quorum that an operator adds to the automatic one.
pub const MINIMUM_MASTER_NODES: &str = "discovery.zen.minimum_master_nodes";

/// The keys of the blocks of changes that users ask for.
pub(super) const READ_ONLY: &str = "cluster.blocks.read_only";
pub(super) const READ_ONLY_ALLOW_DELETE: &str = "cluster.blocks.read_only_allow_delete";

/// Changes of settings by key; none removes the key, and a key may hold wildcards then.
pub type SettingsPatch = Vec<(Arc<str>, Option<Arc<str>>)>;

/// One setting that somebody wants changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Update<'a> {
    /// Whether it shall survive a full restart.
    pub persistent: bool,
    /// The setting, with wildcards perhaps if it shall be removed.
    pub key: &'a str,
    /// Its new value; none removes it.
    pub value: Option<&'a str>,
}

/// Says why a setting cannot be changed so, if it cannot.
pub type SettingRule = fn(Update<'_>) -> Result<(), String>;

/// Whether a change concerns nothing but one block of changes, and so must not be blocked itself. As in Elasticsearch one that
/// names two of them is no exception.
pub(super) fn is_about_blocks(persistent: &SettingsPatch, transient: &SettingsPatch) -> bool {
    let mut keys = persistent.iter().chain(transient).map(|(key, _)| &**key);
    matches!((keys.next(), keys.next()), (Some(READ_ONLY | READ_ONLY_ALLOW_DELETE), None))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_change_of_one_block_passes_the_blocks() {
        let patch = |keys: &[&str]| keys.iter().map(|key| ((*key).into(), None)).collect::<SettingsPatch>();
        let none = SettingsPatch::default();
        assert!(
            is_about_blocks(&patch(&[READ_ONLY]), &none) && is_about_blocks(&none, &patch(&[READ_ONLY_ALLOW_DELETE]))
        );
        assert!(!is_about_blocks(&patch(&[READ_ONLY, READ_ONLY_ALLOW_DELETE]), &none), "two of them");
        assert!(!is_about_blocks(&patch(&[READ_ONLY]), &patch(&[READ_ONLY])), "one of each kind");
        assert!(!is_about_blocks(&patch(&["cluster.metadata.a"]), &none) && !is_about_blocks(&none, &none));
    }
}
