//! The pages: what each is called, and where what is on it is asked for. The rows are made in `sheets`.

/// A page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Page {
    Members,
    Links,
    Events,
    Keys,
    Leases,
    Tasks,
    Settings,
}

impl Page {
    pub(super) const ALL: [Page; 7] =
        [Page::Members, Page::Links, Page::Events, Page::Keys, Page::Leases, Page::Tasks, Page::Settings];

    pub(super) fn name(self) -> &'static str {
        match self {
            Page::Members => "members",
            Page::Links => "links",
            Page::Events => "events",
            Page::Keys => "keys",
            Page::Leases => "leases",
            Page::Tasks => "tasks",
            Page::Settings => "settings",
        }
    }

    /// Where what is on it is asked for, if that is not what all members see.
    pub(super) fn path(self) -> Option<&'static str> {
        match self {
            Page::Members | Page::Links | Page::Events => None,
            Page::Keys => Some("/_zazen/kv?local=true&limit=1000"),
            Page::Leases => Some("/_zazen/lease?local=true"),
            Page::Tasks => Some("/_cluster/pending_tasks?master_timeout=1s"),
            Page::Settings => Some("/_cluster/settings?flat_settings=true&local=true"),
        }
    }

    /// What stands there instead of rows.
    pub(super) fn nothing(self) -> &'static str {
        match self {
            Page::Members | Page::Links => "No node told of any yet.",
            Page::Events => "Nothing happened that is kept.",
            Page::Keys => "There are no keys. zazen kv put KEY VALUE stores one.",
            Page::Leases => "Nobody holds a lease. zazen run --lease NAME -- COMMAND takes one.",
            Page::Tasks => "No task waits for the master.",
            Page::Settings => "No setting was given.",
        }
    }

    /// The column that it is sorted by at first, and whether that is reversed: the newest event is the first.
    pub(super) fn order(self) -> (usize, bool) {
        (0, self == Page::Events)
    }
}
