//! What is shown: the page, the row that is chosen, the order of the rows, and what the keys do to it.

use super::cells::Sheet;
use super::feed::Update;
use super::page::Page;
use super::seen::Seen;
use super::sheets;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use std::collections::BTreeMap;
use std::time::Duration;

/// How many rows a page is turned by.
const LEAP: usize = 10;

/// What is to be done after a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Go on.
    Stay,
    /// Ask for what is on another page.
    Turn,
    /// Stop.
    Quit,
}

/// What lies over the rows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Over {
    /// Nothing.
    Rows,
    /// All of one row, from this line on.
    Detail { id: String, from: usize },
    /// The keys.
    Help,
}

/// The screen.
#[derive(Debug)]
pub(super) struct Screen {
    pub(super) seen: Seen,
    pub(super) over: Over,
    pub(super) is_coloured: bool,
    /// How old what is shown was when the picture was held.
    pub(super) held: Option<Duration>,
    page: Page,
    order: BTreeMap<Page, (usize, bool)>,
    chosen: Option<String>,
}

impl Screen {
    pub(super) fn new(is_coloured: bool) -> Self {
        Screen {
            seen: Seen::default(),
            over: Over::Rows,
            is_coloured,
            held: None,
            page: Page::Members,
            order: BTreeMap::new(),
            chosen: None,
        }
    }

    /// Takes what a node told, unless the picture is held.
    pub(super) fn take(&mut self, told: Update) {
        if self.held.is_some() {
            return;
        }
        match told {
            Update::Overview(overview, place, at) => {
                self.seen.silent.clear();
                self.seen.overview = Some((overview, place, at));
            }
            Update::Findings(view) => self.seen.findings = Some(view),
            Update::Page(page, value) => {
                self.seen.pages.insert(page, value);
            }
            Update::Silent(silent) => self.seen.silent = silent,
        }
    }

    pub(super) fn page(&self) -> Page {
        self.page
    }

    /// The column that the rows are sorted by, and whether they are reversed.
    pub(super) fn order(&self) -> (usize, bool) {
        self.order.get(&self.page).copied().unwrap_or_else(|| self.page.order())
    }

    /// The rows of the page, in their order.
    pub(super) fn sheet(&self) -> Sheet {
        let mut sheet = sheets::sheet(self.page, &self.seen);
        let (column, is_reversed) = self.order();
        sheet.sort(column, is_reversed);
        sheet
    }

    /// Which of these rows is chosen: the one that was, or the first.
    pub(super) fn chosen(&self, sheet: &Sheet) -> usize {
        let chosen = self.chosen.as_ref().and_then(|id| sheet.rows.iter().position(|row| row.id == *id));
        chosen.unwrap_or(0)
    }

    /// Does what a key stands for.
    pub(super) fn press(&mut self, key: KeyEvent) -> Next {
        // A terminal sends Alt and a key as Escape and that key, which may be what was pressed.
        if key.modifiers.contains(KeyModifiers::ALT) {
            self.press(KeyEvent::from(KeyCode::Esc));
            return self.press(KeyEvent { modifiers: key.modifiers - KeyModifiers::ALT, ..key });
        }
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match (key.code, &self.over) {
            (KeyCode::Char('c'), _) if is_control => return Next::Quit,
            (KeyCode::Char('q'), Over::Rows) => return Next::Quit,
            (KeyCode::Char('q' | '?') | KeyCode::Esc | KeyCode::Enter, Over::Help | Over::Detail { .. }) => {
                self.over = Over::Rows;
            }
            (KeyCode::Char('?'), Over::Rows) => self.over = Over::Help,
            (KeyCode::Char(' '), _) => self.held = if self.held.is_none() { self.seen.age() } else { None },
            (code, Over::Detail { .. }) => self.scroll(code),
            (code, Over::Rows) => return self.walk(code),
            (_, Over::Help) => {}
        }
        Next::Stay
    }

    fn scroll(&mut self, code: KeyCode) {
        if let Over::Detail { from, .. } = &mut self.over {
            *from = moved(*from, usize::MAX, code).unwrap_or(*from);
        }
    }

    /// Goes to another row, column or page.
    #[expect(clippy::wildcard_enum_match_arm, reason = "a terminal has many keys, and most mean nothing here")]
    fn walk(&mut self, code: KeyCode) -> Next {
        let sheet = self.sheet();
        let (column, is_reversed) = self.order();
        let columns = sheet.heads.len().max(1);
        if let Some(row) = moved(self.chosen(&sheet), sheet.rows.len(), code) {
            self.chosen = sheet.rows.get(row).map(|row| row.id.clone());
            return Next::Stay;
        }
        let order = match code {
            KeyCode::Right | KeyCode::Char('l' | '>') => ((column + 1) % columns, is_reversed),
            KeyCode::Left | KeyCode::Char('h' | '<') => ((column + columns - 1) % columns, is_reversed),
            KeyCode::Char('r') => (column, !is_reversed),
            KeyCode::Enter => {
                self.look_into(&sheet);
                return Next::Stay;
            }
            _ => return self.turn(code),
        };
        self.order.insert(self.page, order);
        Next::Stay
    }

    fn look_into(&mut self, sheet: &Sheet) {
        if let Some(row) = sheet.rows.get(self.chosen(sheet)) {
            self.over = Over::Detail { id: row.id.clone(), from: 0 };
        }
    }

    #[expect(clippy::wildcard_enum_match_arm, reason = "a terminal has many keys, and most mean nothing here")]
    fn turn(&mut self, code: KeyCode) -> Next {
        let here = Page::ALL.iter().position(|page| *page == self.page).unwrap_or(0);
        let count = Page::ALL.len();
        let page = match code {
            KeyCode::Tab => Some((here + 1) % count),
            KeyCode::BackTab => Some((here + count - 1) % count),
            KeyCode::Char(digit) => digit.to_digit(10).and_then(|digit| (digit as usize).checked_sub(1)),
            _ => None,
        };
        match page.and_then(|page| Page::ALL.get(page)) {
            Some(page) if *page != self.page => {
                (self.page, self.chosen) = (*page, None);
                Next::Turn
            }
            Some(_) | None => Next::Stay,
        }
    }
}

/// Where a key leads from here among so many; nothing if it leads nowhere.
#[expect(clippy::wildcard_enum_match_arm, reason = "a terminal has many keys, and most mean nothing here")]
fn moved(here: usize, count: usize, code: KeyCode) -> Option<usize> {
    let last = count.saturating_sub(1);
    Some(match code {
        KeyCode::Up | KeyCode::Char('k') => here.saturating_sub(1),
        KeyCode::Down | KeyCode::Char('j') => (here + 1).min(last),
        KeyCode::PageUp => here.saturating_sub(LEAP),
        KeyCode::PageDown => here.saturating_add(LEAP).min(last),
        KeyCode::Home | KeyCode::Char('g') => 0,
        KeyCode::End | KeyCode::Char('G') => last,
        _ => return None,
    })
}
