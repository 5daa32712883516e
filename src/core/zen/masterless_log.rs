//! How long readers have seen this master, or none, and what the operator was told of the want of one.
//!
//! A time without a master is told of once, and again only when its reason is another one, however many rounds end without
//! one; Zen (6.8) told of each round.

use super::explain::reason;
use super::mode::Stance;
use super::node::{MasterlessLog, NodeState};
use super::{Note, Zen};
use crate::protocol::{Effects, Time};
use std::time::Duration;

/// Within this time an operator is not told again, whatever the reason has become.
const TOLD_AGAIN: Duration = Duration::from_secs(30);

impl NodeState {
    /// Begins anew if readers see another master, or one where they saw none.
    pub(super) fn keep_masterless_log(&mut self, now: Time, stance: Stance<'_>) {
        let master = self.open_master(stance).map(|master| &master.ephemeral_id);
        if master != self.masterless_log.master.as_ref() {
            self.masterless_log = MasterlessLog { master: master.cloned(), since: now, told: None };
        }
    }

    /// Tells the operator why there is no master, unless that was told.
    pub(super) fn warn_masterless(&mut self, now: Time, stance: Stance<'_>, out: &mut Effects<Zen>) {
        if self.masterless_log.told.as_ref().is_some_and(|(at, _)| now < *at + TOLD_AGAIN) {
            return;
        }
        let why = reason(&self.explain(now, stance));
        let is_news = self.masterless_log.told.as_ref().is_none_or(|(_, before)| *before != why);
        self.masterless_log.told = Some((now, why.clone()));
        if is_news {
            out.note(self.lack_of_masters(why, stance));
        }
    }

    fn lack_of_masters(&self, why: String, stance: Stance<'_>) -> Note {
        if self.choose(stance).is_some() {
            return Note::NoMaster { why };
        }
        let (found, needed) = self.found_and_needed(stance);
        Note::NotEnoughMasters { found, needed, why }
    }
}
