//! S5: a setting changes only as somebody asked for, and an acknowledged change stays until a later one.
//!
//! Transient settings may end with a full restart. Where a member ran that had shown them since its start, when the state
//! without them was made, there was none.

use super::{Descent, broken};
use crate::cluster::{ClusterState, NodeId, Settings, StateId};
use crate::sim::operation::Setting;
use crate::sim::watch::Violation;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

const RULE: &str = "S5 an acknowledged setting is never lost";

/// Follows what was asked of settings, and what committed states say.
#[derive(Debug, Default)]
pub struct Configured {
    last: Option<Arc<ClusterState>>,
    /// The changes that may yet be carried out.
    open: BTreeMap<Setting, Vec<Option<Arc<str>>>>,
    /// The last state that holds what somebody was told of it, of each setting.
    told: BTreeMap<Setting, StateId>,
    /// The id of each node.
    ids: BTreeMap<usize, NodeId>,
    /// The nodes whose processes have shown transient settings since their start.
    showing: BTreeSet<usize>,
    /// The same, when each of the states was made that may yet be committed.
    shown: BTreeMap<StateId, BTreeSet<NodeId>>,
}

impl Configured {
    /// Somebody asks for a change; without a value the setting is removed.
    pub fn asked(&mut self, setting: &Setting, value: Option<&Arc<str>>) {
        self.open.entry(setting.clone()).or_default().push(value.cloned());
    }

    /// A client was told that its change is in the state `at`; `is_over` if no copy of it can come later.
    pub fn acknowledged(
        &mut self,
        descent: &Descent,
        at: StateId,
        (setting, value): (&Setting, Option<&Arc<str>>),
        is_over: bool,
    ) -> Result<(), Violation> {
        let Some(state) = descent.committed(&at) else {
            return broken(RULE, format!("{setting:?}={value:?} was acknowledged at {at}, which is not committed"));
        };
        let (held, open) = (held(state, setting), self.open.entry(setting.clone()).or_default());
        if held == value {
            self.told.insert(setting.clone(), at);
        }
        // Another change of the same batch may have come behind it, and may have been acknowledged before it.
        let is_behind = self.told.get(setting) == Some(&at) || open.iter().any(|other| other.as_ref() == held);
        if held != value && !is_behind {
            return broken(RULE, format!("{setting:?}={value:?} was acknowledged at {at}, which holds {held:?}"));
        }
        if is_over && let Some(place) = open.iter().position(|other| other.as_ref() == value) {
            open.remove(place);
        }
        Ok(())
    }

    /// A process was started.
    pub fn booted(&mut self, node: usize, id: &NodeId) {
        self.ids.insert(node, id.clone());
        self.showing.remove(&node);
    }

    /// A node sends a state, or hands it to its disk; whoever made it is the first to do so.
    pub fn made(&mut self, id: StateId) {
        let (ids, showing) = (&self.ids, &self.showing);
        let shown = || showing.iter().filter_map(|node| ids.get(node).cloned()).collect();
        self.shown.entry(id).or_insert_with(shown);
    }

    /// A process ended.
    pub fn ended(&mut self, node: usize) {
        self.showing.remove(&node);
    }

    /// A process shows a state to its readers. What it takes up from its disk, without a master, it shows since before it
    /// was started.
    pub fn applied(&mut self, node: usize, state: &ClusterState) {
        if !state.metadata.transient.is_empty() && state.nodes.master.is_some() {
            self.showing.insert(node);
        }
    }

    /// Looks at the states that were committed since it looked last.
    pub fn look(&mut self, descent: &Descent) -> Result<(), Violation> {
        let last = self.last.as_ref().map_or(StateId::NONE, |state| state.id());
        if descent.newest() == last {
            return Ok(());
        }
        for state in descent.after(last) {
            self.changes(state)?;
            self.last = Some(state.clone());
        }
        let newest = descent.newest();
        self.shown.retain(|id, _| id.rank() > newest.rank());
        Ok(())
    }

    fn changes(&mut self, state: &ClusterState) -> Result<(), Violation> {
        let Some(last) = self.last.clone() else {
            return Ok(());
        };
        let (old, new) = (&last.metadata, &state.metadata);
        let mut lost = self.unasked(&old.persistent, &new.persistent, true);
        let transient = self.unasked(&old.transient, &new.transient, false);
        if new.transient.is_empty() && !transient.is_empty() {
            let mut shown = self.shown.get(&state.id()).into_iter().flatten();
            let is_restart = !shown.any(|id| state.nodes.get(id).is_some());
            lost.extend(transient.into_iter().filter(|_| !is_restart));
        } else {
            lost.extend(transient);
        }
        match lost.first() {
            Some(Setting { key, .. }) => {
                let (id, showing) = (state.id(), &self.showing);
                let what = format!("{id} changes [{key}], which nobody asked for or was told of before");
                broken(RULE, format!("{what}; transient settings were shown by {showing:?}"))
            }
            None => Ok(()),
        }
    }

    /// The settings that differ, and that nobody asked to have this value.
    fn unasked(&self, old: &Settings, new: &Settings, is_persistent: bool) -> Vec<Setting> {
        let keys: BTreeSet<&Arc<str>> = old.keys().chain(new.keys()).collect();
        let differ = keys.into_iter().filter(|key| old.get(*key) != new.get(*key));
        let settings = differ.map(|key| Setting { key: key.clone(), is_persistent });
        let is_asked = |setting: &Setting| {
            let open = self.open.get(setting).into_iter().flatten();
            open.into_iter().any(|value| value.as_ref() == new.get(&setting.key))
        };
        settings.filter(|setting| !is_asked(setting)).collect()
    }
}

fn held<'a>(state: &'a ClusterState, setting: &Setting) -> Option<&'a Arc<str>> {
    let metadata = &state.metadata;
    let settings = if setting.is_persistent { &metadata.persistent } else { &metadata.transient };
    settings.get(&setting.key)
}

#[cfg(test)]
mod tests {
    use super::super::sample::{rule, state};
    use super::*;

    fn setting(is_persistent: bool) -> Setting {
        Setting { key: "k".into(), is_persistent }
    }

    fn with(version: u64, persistent: Option<&str>, transient: Option<&str>) -> ClusterState {
        let mut state = state(version, &["a"]);
        let metadata = &mut state.metadata;
        persistent.map(|value| metadata.persistent.insert("k".into(), value.into()));
        transient.map(|value| metadata.transient.insert("k".into(), value.into()));
        state
    }

    /// Somebody asked for both, was told that they are in state 2, and then somebody asks for what is `open`.
    fn judged(open: Option<(bool, Option<&str>)>, third: ClusterState) -> Option<&'static str> {
        let second = with(2, Some("1"), Some("2"));
        let at = second.id();
        let descent = Descent::line_of([state(1, &["a"]), second]);
        let mut configured = Configured::default();
        let told = [(setting(true), "1".into()), (setting(false), "2".into())];
        told.iter().for_each(|(setting, value)| configured.asked(setting, Some(value)));
        configured.look(&descent).expect("it was asked for");
        for (setting, value) in &told {
            configured.acknowledged(&descent, at, (setting, Some(value)), true).expect("the state holds it");
        }
        if let Some((is_persistent, value)) = open {
            configured.asked(&setting(is_persistent), value.map(Into::into).as_ref());
        }
        let states = [state(1, &["a"]), with(2, Some("1"), Some("2")), third];
        rule(configured.look(&Descent::line_of(states)))
    }

    #[test]
    fn what_was_asked_for_may_change_and_nothing_else() {
        assert_eq!(judged(None, with(3, Some("1"), Some("2"))), None);
        assert_eq!(judged(Some((true, Some("3"))), with(3, Some("3"), Some("2"))), None);
        assert_eq!(judged(Some((false, None)), with(3, Some("1"), None)), None);
        assert_eq!(judged(None, with(3, None, Some("2"))), Some(RULE), "it is lost");
        assert_eq!(judged(None, with(3, Some("9"), Some("2"))), Some(RULE), "nobody asked for it");
        assert_eq!(judged(Some((false, Some("9"))), with(3, Some("9"), Some("2"))), Some(RULE), "of another scope");
        assert_eq!(judged(None, with(3, Some("1"), Some("9"))), Some(RULE));
    }

    #[test]
    fn an_acknowledgement_at_a_state_without_the_change_is_caught() {
        let descent = Descent::line_of([with(1, Some("1"), None)]);
        let mut configured = Configured::default();
        let value = Arc::from("2");
        configured.asked(&setting(true), Some(&value));
        let at = with(1, None, None).id();
        let told = (&setting(true), Some(&value));
        assert_eq!(rule(configured.acknowledged(&descent, at, told, true)), Some(RULE));
        let at = with(7, None, None).id();
        assert_eq!(rule(configured.acknowledged(&descent, at, told, true)), Some(RULE), "it is not committed");
    }

    #[test]
    fn two_changes_of_one_batch_may_be_acknowledged_in_any_order() {
        let state = with(1, Some("2"), None);
        let (at, descent) = (state.id(), Descent::line_of([state]));
        let judged = |told: [&str; 2]| {
            let mut configured = Configured::default();
            told.iter().for_each(|value| configured.asked(&setting(true), Some(&(*value).into())));
            let told = told
                .map(|value| rule(configured.acknowledged(&descent, at, (&setting(true), Some(&value.into())), true)));
            told[0].or(told[1])
        };
        assert_eq!((judged(["1", "2"]), judged(["2", "1"]), judged(["1", "1"])), (None, None, Some(RULE)));
    }

    #[test]
    fn transient_settings_that_end_while_somebody_shows_them_are_caught() {
        let (mut second, third) = (with(2, None, Some("2")), with(3, None, None));
        second.nodes.master = Some("a".into());
        let after = |restarts: bool| {
            let mut configured = Configured::default();
            configured.asked(&setting(false), Some(&"2".into()));
            let line = Descent::line_of([state(1, &["a"]), second.clone()]);
            configured.look(&line).expect("it was asked for");
            configured.booted(0, &"a".into());
            configured.applied(0, &second);
            if restarts {
                configured.booted(0, &"a".into());
            }
            configured.acknowledged(&line, second.id(), (&setting(false), Some(&"2".into())), true).expect("it holds");
            configured.made(third.id());
            let line = Descent::line_of([state(1, &["a"]), second.clone(), third.clone()]);
            rule(configured.look(&line))
        };
        assert_eq!((after(true), after(false)), (None, Some(RULE)));
    }
}
