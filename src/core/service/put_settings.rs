//! What happens to the settings of the cluster: a change is judged as a whole before any of it is made.
//!
//! Which settings there are, and what they may be, is told by a rule that is handed in, so that what takes requests and
//! the master refuse the same. Mirrors `SettingsUpdater` and `AbstractScopedSettings.updateSettings` (6.8).

use super::account::{setting_bytes, settings_bytes};
use super::execute::{Batch, check_name, check_value};
use super::limits::SETTING_BYTES_MAX;
use super::setting::{READ_ONLY, READ_ONLY_ALLOW_DELETE};
use super::{Account, MINIMUM_MASTER_NODES, Refusal, SettingRule, SettingsPatch, Update, matches};
use crate::cluster::{Block, ClusterState, Metadata, RequestOutcome, Settings};
use std::sync::Arc;

/// How the names of settings begin that are kept though nobody understands them.
pub const ARCHIVED: &str = "archived.";

/// With so many bytes of names the wildcards of one change are compared at the most.
const LOOKED_AT_MAX: usize = 16 << 20;

/// What it costs to come to a name, in bytes of one.
const LOOKING: usize = 64;

impl Batch {
    pub(super) fn put_settings(
        &mut self,
        persistent: &SettingsPatch,
        transient: &SettingsPatch,
    ) -> Result<RequestOutcome, Refusal> {
        if persistent.is_empty() && transient.is_empty() {
            return Err(Refusal::Invalid("no settings to update".into()));
        }
        self.judge(transient, false)?;
        self.judge(persistent, true)?;
        demand_little_to_look_at(&self.state.metadata, persistent, transient)?;
        for (_, value) in transient.iter().chain(persistent).filter(|(key, _)| &**key == MINIMUM_MASTER_NODES) {
            if let Some(value) = value {
                check_minimum(value)?;
            }
        }
        let rule = self.rule;
        let metadata = &mut self.state.metadata;
        let before = *self.setting_bytes.get_or_insert_with(|| settings_bytes(metadata));
        let (old_persistent, old_transient) = (metadata.persistent.clone(), metadata.transient.clone());
        let old_minimum = effective(metadata, MINIMUM_MASTER_NODES).map(str::to_owned);
        let changes = [
            patch(&mut metadata.persistent, persistent, |key| may_remove(rule, key, true)),
            patch(&mut metadata.transient, transient, |key| may_remove(rule, key, false)),
        ];
        let added: u64 = changes.iter().map(|change| change.added).sum();
        let removed: u64 = changes.iter().map(|change| change.removed).sum();
        let after = (before + added).saturating_sub(removed);
        let fits = self.demand_setting_room(before, after);
        if let Err(refusal) = fits.and_then(|()| demand_masters(&self.state, old_minimum.as_deref())) {
            (self.state.metadata.persistent, self.state.metadata.transient) = (old_persistent, old_transient);
            self.forget_account();
            return Err(refusal);
        }
        self.setting_bytes = Some(after);
        self.forget_account();
        block_as_set(&mut self.state);
        Ok(RequestOutcome::Applied)
    }

    /// Refuses settings that would be too large; the state holds them already.
    fn demand_setting_room(&self, before: u64, after: u64) -> Result<(), Refusal> {
        if after <= before {
            return Ok(());
        }
        if after > SETTING_BYTES_MAX {
            let why = format!("the settings would have {after} bytes together, allowed are {SETTING_BYTES_MAX}");
            return Err(Refusal::TooLarge(why));
        }
        let fits = |account: Account| account.total() <= Account::BYTES_MAX;
        if fits(Account::at_most(&self.state)) || fits(Account::of(&self.state)) {
            return Ok(());
        }
        Err(Account::of(&self.state).refusal(0))
    }

    fn judge(&self, changes: &SettingsPatch, persistent: bool) -> Result<(), Refusal> {
        for (key, value) in changes {
            check_name("setting", key)?;
            check_value("setting", key, value.as_ref().map_or(0, |value| value.len()))?;
            let is_archived = value.is_none() && key.starts_with(ARCHIVED);
            if !is_archived {
                (self.rule)(Update { persistent, key, value: value.as_deref() }).map_err(Refusal::Invalid)?;
            }
        }
        Ok(())
    }
}

/// What a wildcard removes: only settings that could be removed by their names.
fn may_remove(rule: SettingRule, key: &str, persistent: bool) -> bool {
    key.starts_with(ARCHIVED) || rule(Update { persistent, key, value: None }).is_ok()
}

/// How many bytes a change of settings added and took away.
#[derive(Clone, Copy, Debug, Default)]
struct Change {
    added: u64,
    removed: u64,
}

/// Removes first and sets then, whatever the order.
fn patch(settings: &mut Settings, changes: &SettingsPatch, may_remove: impl Fn(&str) -> bool) -> Change {
    let mut change = Change::default();
    for (pattern, _) in changes.iter().filter(|(_, value)| value.is_none()) {
        let gone = in_question(settings, pattern).filter(|key| matches(pattern, key) && may_remove(key));
        let gone: Vec<Arc<str>> = gone.cloned().collect();
        for key in gone {
            change.removed += settings.remove(&key).map_or(0, |old| setting_bytes(&key, &old));
        }
    }
    for (key, value) in changes {
        if let Some(value) = value {
            change.added += setting_bytes(key, value);
            change.removed += settings.insert(key.clone(), value.clone()).map_or(0, |old| setting_bytes(key, &old));
        }
    }
    change
}

/// The settings that a pattern may stand for, by what stands before its first wildcard; without one it is a name.
fn in_question<'a>(settings: &'a Settings, pattern: &'a str) -> impl Iterator<Item = &'a Arc<str>> {
    let (prefix, is_name) = pattern.split_once('*').map_or((pattern, true), |(prefix, _)| (prefix, false));
    let from = settings.range_from(prefix).map(|(key, _)| key);
    from.take_while(move |key| if is_name { &***key == pattern } else { key.starts_with(prefix) })
}

/// A master compares each wildcard with each name, and does nothing else meanwhile.
fn demand_little_to_look_at(
    metadata: &Metadata,
    persistent: &SettingsPatch,
    transient: &SettingsPatch,
) -> Result<(), Refusal> {
    let sets = [(&metadata.persistent, persistent), (&metadata.transient, transient)];
    let mut bytes = 0;
    for (settings, changes) in sets {
        for (pattern, _) in changes.iter().filter(|(key, value)| value.is_none() && key.contains('*')) {
            for key in in_question(settings, pattern) {
                bytes += key.len() + LOOKING;
                if bytes > LOOKED_AT_MAX {
                    let why = format!(
                        "the wildcards would be compared with names of more than [{LOOKED_AT_MAX}] bytes of settings, \
                         allowed are as many: reset fewer at a time, or by their names"
                    );
                    return Err(Refusal::Invalid(why));
                }
            }
        }
    }
    Ok(())
}

/// Says what no set may hold, though the other one should win.
fn check_minimum(value: &str) -> Result<(), Refusal> {
    match value.parse::<i64>() {
        Ok(minimum) if minimum < 1 => Err(Refusal::Invalid(format!(
            "Failed to parse value [{value}] for setting [{MINIMUM_MASTER_NODES}] must be >= 1"
        ))),
        Ok(_) => Ok(()),
        Err(_) => {
            Err(Refusal::Invalid(format!("Failed to parse value [{value}] for setting [{MINIMUM_MASTER_NODES}]")))
        }
    }
}

/// Too low a number splits nothing here, but one that cannot be met would end the mastership that is asked to set it.
fn demand_masters(state: &ClusterState, before: Option<&str>) -> Result<(), Refusal> {
    let eligible = state.nodes.eligible().count();
    let changed = effective(&state.metadata, MINIMUM_MASTER_NODES).filter(|now| Some(*now) != before);
    match changed.and_then(|now| now.parse::<i64>().ok()) {
        Some(minimum) if minimum > eligible as i64 => Err(Refusal::Invalid(format!(
            "cannot set {MINIMUM_MASTER_NODES} to more than the current master nodes count [{eligible}]"
        ))),
        Some(_) | None => Ok(()),
    }
}

/// The blocks that users ask for by settings.
fn block_as_set(state: &mut ClusterState) {
    for (key, block) in [(READ_ONLY, Block::READ_ONLY), (READ_ONLY_ALLOW_DELETE, Block::READ_ONLY_ALLOW_DELETE)] {
        if effective(&state.metadata, key) == Some("true") {
            state.blocks.add(block);
        } else {
            state.blocks.remove(block.id);
        }
    }
}

fn effective<'a>(metadata: &'a Metadata, key: &str) -> Option<&'a str> {
    metadata.transient.get(key).or_else(|| metadata.persistent.get(key)).map(|value| &**value)
}

/// Leaves of the settings what survives a restart: those that the rule does not understand under names that nobody heeds,
/// and no transient ones if every node was restarted. Tells which are strange, and why.
pub fn restore_settings(state: &mut ClusterState, rule: SettingRule, is_full: bool) -> Vec<(Arc<str>, String)> {
    if is_full {
        state.metadata.transient = Settings::new();
    }
    let strange = archive(&mut state.metadata, rule);
    block_as_set(state);
    strange
}

fn archive(metadata: &mut Metadata, rule: SettingRule) -> Vec<(Arc<str>, String)> {
    let own = metadata.persistent.iter().filter(|(key, _)| !key.starts_with(ARCHIVED));
    let strange = own.filter_map(|(key, value)| {
        let update = Update { persistent: true, key, value: Some(value) };
        rule(update).err().map(|why| (key.clone(), why))
    });
    let strange: Vec<(Arc<str>, String)> = strange.collect();
    for (key, _) in &strange {
        if let Some(value) = metadata.persistent.remove(key) {
            metadata.persistent.insert(format!("{ARCHIVED}{key}").into(), value);
        }
    }
    strange
}

#[cfg(test)]
mod tests {
    use super::super::Task;
    use super::*;

    fn rule(update: Update<'_>) -> Result<(), String> {
        match (update.key, update.value) {
            (key, _) if key.starts_with("a.") || key.starts_with("cluster.blocks.") => Ok(()),
            (key, None) if key.ends_with('*') => Ok(()),
            (key, _) => Err(format!("[{key}], not recognized")),
        }
    }

    fn set_of<'a>(changes: impl Iterator<Item = (&'a str, Option<&'a str>)>) -> Task {
        let changes = changes.map(|(key, value)| (Arc::from(key), value.map(Arc::from))).collect();
        Task::PutSettings { persistent: changes, transient: Vec::new() }
    }

    fn set(batch: &mut Batch, changes: &[(&str, Option<&str>)]) -> Result<(), String> {
        batch.carry_out(&set_of(changes.iter().copied())).map(|_| ()).map_err(|refusal| refusal.to_string())
    }

    fn held(batch: &Batch) -> Vec<&str> {
        batch.state.metadata.persistent.keys().map(|key| &**key).collect()
    }

    #[test]
    fn a_change_is_made_as_a_whole_or_not_at_all_and_removes_before_it_sets() {
        let mut batch = Batch::new(ClusterState::initial("one".into()), rule);
        assert_eq!(set(&mut batch, &[("a.x", Some("1")), ("b", Some("1"))]), Err("[b], not recognized".into()));
        assert_eq!(held(&batch), Vec::<&str>::new());
        assert_eq!(set(&mut batch, &[("a.x", Some("1")), ("a.y", Some("1"))]), Ok(()));
        assert_eq!(set(&mut batch, &[("a.x", Some("2")), ("a.*", None)]), Ok(()));
        assert_eq!(held(&batch), ["a.x"]);
        assert_eq!(set(&mut batch, &[("nothing.there.*", None)]), Ok(()));
    }

    #[test]
    fn many_wildcards_on_many_settings_are_refused_and_names_are_not() {
        let mut batch = Batch::new(ClusterState::initial("one".into()), rule);
        for number in 0..1_000 {
            batch.state.metadata.persistent.insert(format!("a.{}{number}", "k".repeat(400)).into(), "1".into());
        }
        let patterns: Vec<String> = (0..1_000).map(|number| format!("a.*z{number}*")).collect();
        let changes = |all: &[String]| set_of(all.iter().map(|key| (&**key, None)));
        assert!(batch.carry_out(&changes(&patterns)).is_err_and(|why| why.to_string().contains("reset fewer")));
        assert_eq!(held(&batch).len(), 1_000);
        assert!(batch.carry_out(&changes(&patterns[..30])).is_ok());
        let names: Vec<String> = held(&batch).into_iter().map(ToOwned::to_owned).collect();
        assert!(batch.carry_out(&changes(&names)).is_ok());
        assert_eq!(held(&batch), Vec::<&str>::new());
    }

    #[test]
    fn what_is_not_understood_is_put_aside_and_can_be_removed_from_there_only() {
        let mut batch = Batch::new(ClusterState::initial("one".into()), rule);
        batch.state.metadata.persistent.insert("old.thing".into(), "1".into());
        batch.state.metadata.persistent.insert("a.x".into(), "1".into());
        let told = ("old.thing".into(), "[old.thing], not recognized".to_string());
        assert_eq!(archive(&mut batch.state.metadata, rule), [told]);
        assert_eq!(archive(&mut batch.state.metadata, rule), [], "it is put aside once");
        assert_eq!(held(&batch), ["a.x", "archived.old.thing"]);
        assert!(set(&mut batch, &[("archived.old.thing", Some("2"))]).is_err());
        assert_eq!(set(&mut batch, &[("archived.*", None)]), Ok(()));
        assert_eq!(held(&batch), ["a.x"]);
    }

    #[test]
    fn a_user_can_block_changes_and_unblock_them_again() {
        let mut batch = Batch::new(ClusterState::initial("one".into()), rule);
        assert_eq!(set(&mut batch, &[(READ_ONLY, Some("true"))]), Ok(()));
        assert!(batch.state.blocks.contains(Block::READ_ONLY.id));
        assert_eq!(set(&mut batch, &[(READ_ONLY, None)]), Ok(()));
        assert!(batch.state.blocks.is_empty());
    }
}
