//! Puts the screen on the terminal.

use super::super::paint::Tone;
use super::super::status::called;
use super::cells::{Cell, Sheet, span};
use super::page::Page;
use super::screen::{Over, Screen};
use super::sheets;
use crate::cluster::NodeId;
use crate::diagnose::{Standing, Verdict};
use ratatui::Frame;
use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};
use ratatui::widgets::{Paragraph, Row, Table, TableState, Wrap};

/// How many verdicts are shown; the others are counted.
const VERDICTS_MAX: usize = 3;

/// Columns between two columns.
const GAP: u16 = 2;

/// A text is not cut shorter than this.
const TEXT_MIN: usize = 6;

const HELP: &[&str] = &[
    "1 to 7, Tab     go to a page",
    "up, down, j, k  choose a row; PgUp, PgDn, Home, End leap",
    "Enter           look into what is chosen; Esc or q goes back",
    "left, right     sort by another column",
    "r               reverse the order",
    "space           hold the picture, and let it go on",
    "q, Ctrl-C       stop",
];

/// Draws all of it.
pub(super) fn draw(frame: &mut Frame<'_>, screen: &Screen) {
    let (headline, verdicts, pages) = ([headline(screen)], verdicts(screen), [pages(screen)]);
    let rows_of = |lines: &[Line<'_>]| height(lines, frame.area().width);
    let heights = [
        Constraint::Length(rows_of(&headline)),
        Constraint::Max(rows_of(&verdicts)),
        Constraint::Length(rows_of(&pages)),
        Constraint::Min(3),
        Constraint::Length(1),
    ];
    let [head, amiss, tabs, body, foot] = Layout::vertical(heights).areas(frame.area());
    let text = |lines: Vec<Line<'static>>| Paragraph::new(lines).wrap(Wrap { trim: true });
    frame.render_widget(text(headline.into()), head);
    frame.render_widget(Paragraph::new(verdicts).wrap(Wrap { trim: false }), amiss);
    frame.render_widget(text(pages.into()), tabs);
    match &screen.over {
        Over::Rows => rows(frame, body, screen),
        Over::Detail { id, from } => {
            let lines = sheets::detail(screen.page(), &screen.seen, id);
            let from = u16::try_from(*from).unwrap_or(u16::MAX).min(u16::try_from(lines.len()).unwrap_or(u16::MAX));
            let lines: Vec<Line<'_>> = lines.into_iter().map(Line::from).collect();
            frame.render_widget(Paragraph::new(lines).wrap(Wrap { trim: false }).scroll((from, 0)), body);
        }
        Over::Help => {
            frame.render_widget(Paragraph::new(HELP.iter().map(|line| Line::from(*line)).collect::<Vec<_>>()), body)
        }
    }
    let keys = match screen.over {
        Over::Rows => "Enter look into  <- -> sort  r reverse  space hold  ? keys  q quit",
        Over::Detail { .. } | Over::Help => "Esc back  up, down scroll",
    };
    frame.render_widget(Paragraph::new(Line::styled(keys, style(screen, Tone::Faint))), foot);
}

/// How many rows these take where lines are broken; a line that is pasted must be there as a whole.
fn height(lines: &[Line<'_>], width: u16) -> u16 {
    // Words that go to the next row as a whole leave room behind: one row more makes up for that.
    let rows = |line: &Line<'_>| {
        let rows = line.width().div_ceil(usize::from(width.max(1)));
        if rows > 1 { rows + 1 } else { rows }
    };
    u16::try_from(lines.iter().map(rows).sum::<usize>()).unwrap_or(u16::MAX)
}

/// Who is master, and how old that is.
fn headline(screen: &Screen) -> Line<'static> {
    let tell = |tone, text: String| Span::styled(text, style(screen, tone));
    let asked = |tried: &[_]| tell(Tone::Bad, super::super::ask::nobody(tried));
    let Some((overview, place, told)) = &screen.seen.overview else {
        return Line::from(if screen.seen.silent.is_empty() {
            tell(Tone::Faint, "asking …".into())
        } else {
            asked(&screen.seen.silent)
        });
    };
    let members = overview.members.iter().filter(|member| member.in_state).count();
    let answering = overview.members.iter().filter(|member| member.in_state && member.sight.is_some()).count();
    let master = overview.members.iter().find(|member| Some(&member.id) == overview.state.master_node.as_ref());
    let (tone, master) = match master {
        Some(master) => (Tone::Good, format!("{} is master of term {}", master.name, overview.state.id.term)),
        None => (Tone::Bad, "no master".into()),
    };
    let age = screen.held.unwrap_or_else(|| told.elapsed());
    let millis = u64::try_from(age.as_millis()).unwrap_or(u64::MAX);
    let (age_tone, hold) =
        (if millis > 3_000 { Tone::Bad } else { Tone::Faint }, if screen.held.is_some() { ", held" } else { "" });
    Line::from(vec![
        tell(Tone::Strong, format!("{}  ", overview.cluster_name)),
        tell(tone, master),
        tell(if answering < members { Tone::Odd } else { Tone::Plain }, format!("  {answering} of {members} answer")),
        tell(age_tone, format!("  {place}, {} ago{hold}", span(millis).text)),
    ])
}

/// What is wrong and what to type.
fn verdicts(screen: &Screen) -> Vec<Line<'static>> {
    if !screen.seen.silent.is_empty() && screen.seen.overview.is_some() {
        let silent = super::super::ask::nobody(&screen.seen.silent);
        return vec![Line::styled(format!("what is shown is old: {silent}"), style(screen, Tone::Bad))];
    }
    let Some(view) = &screen.seen.findings else { return Vec::new() };
    let tone = match view.standing() {
        Standing::Sound => return survives(screen),
        Standing::Reduced => Tone::Odd,
        Standing::NoMaster => Tone::Bad,
    };
    let mut lines: Vec<Line<'static>> =
        view.verdicts.iter().take(VERDICTS_MAX).flat_map(|verdict| verdict_lines(screen, tone, verdict)).collect();
    if view.verdicts.is_empty() {
        lines.push(Line::styled(format!("{}: {}", called(&view.node), view.summary), style(screen, tone)));
    }
    if view.verdicts.len() > VERDICTS_MAX {
        lines.push(Line::from(format!("and {} more: zazen explain", view.verdicts.len() - VERDICTS_MAX)));
    }
    lines
}

fn survives(screen: &Screen) -> Vec<Line<'static>> {
    // What is wrong takes longer to be found than who answers.
    let (missing, voters) = absent_voters(screen);
    if missing > 0 {
        let text = format!("{missing} of {voters} voters do not answer; asking what is wrong");
        return vec![Line::styled(text, style(screen, Tone::Odd))];
    }
    let losses = screen.seen.findings.as_ref().and_then(|view| view.losses_survived);
    let line = |losses| Line::styled(format!("nothing is wrong; {losses} more may be lost"), style(screen, Tone::Good));
    losses.map(line).into_iter().collect()
}

/// How many whose votes count are no members, or do not answer, and how many there are.
fn absent_voters(screen: &Screen) -> (usize, usize) {
    let Some((overview, ..)) = &screen.seen.overview else { return (0, 0) };
    let answers = |id: &NodeId| {
        overview.members.iter().any(|member| member.id == *id && member.in_state && member.sight.is_some())
    };
    let voting = &overview.state.voting.own;
    (voting.iter().filter(|id| !answers(id)).count(), voting.len())
}

fn verdict_lines(screen: &Screen, tone: Tone, verdict: &Verdict) -> Vec<Line<'static>> {
    let mut lines = vec![Line::styled(format!("{}: {}", verdict.code.name(), verdict.summary), style(screen, tone))];
    if let Some(mend) = &verdict.mend {
        let place = match (mend.place(), mend.is_setting) {
            (Some(place), true) => format!("{place}: "),
            (None, true) => "in its file: ".into(),
            (Some(place), false) => format!("type {place}: "),
            (None, false) => "type: ".into(),
        };
        lines.push(Line::from(format!("  {place}{}", mend.line)));
    }
    lines
}

fn pages(screen: &Screen) -> Line<'static> {
    let tab = |(number, page): (usize, &Page)| {
        let text = format!("{} {}", number + 1, page.name());
        let style = style(screen, Tone::Faint);
        let here = Style::new().add_modifier(Modifier::REVERSED);
        [Span::styled(text, if *page == screen.page() { here } else { style }), Span::raw("  ")]
    };
    Line::from(Page::ALL.iter().enumerate().flat_map(tab).collect::<Vec<_>>())
}

fn rows(frame: &mut Frame<'_>, area: Rect, screen: &Screen) {
    let sheet = screen.sheet();
    if sheet.rows.is_empty() {
        frame.render_widget(Paragraph::new(screen.page().nothing()), area);
        return;
    }
    let columns = fitting(&sheet, area.width);
    let heads = Row::new(heads(screen, &sheet).into_iter().take(columns)).style(style(screen, Tone::Faint));
    let body = sheet.rows.iter().map(|row| Row::new(row.cells.iter().take(columns).map(|cell| shown(screen, cell))));
    let table = Table::new(body, widths(&sheet, columns))
        .header(heads)
        .column_spacing(GAP)
        .row_highlight_style(Style::new().add_modifier(Modifier::REVERSED));
    let mut state = TableState::new().with_selected(screen.chosen(&sheet));
    frame.render_stateful_widget(table, area, &mut state);
}

/// The names of the columns, with a mark at the one that is sorted by.
fn heads(screen: &Screen, sheet: &Sheet) -> Vec<Line<'static>> {
    let (sorted, is_reversed) = screen.order();
    let head = |(column, name): (usize, &&str)| {
        let mark = if is_reversed { "▼" } else { "▲" };
        let text = if column == sorted { format!("{name}{mark}") } else { (*name).to_owned() };
        let is_right = sheet.rows.iter().any(|row| row.cells.get(column).is_some_and(Cell::is_number));
        Line::from(text).alignment(if is_right { Alignment::Right } else { Alignment::Left })
    };
    sheet.heads.iter().enumerate().map(head).collect()
}

/// How many of the columns there is room for. Half a number is another number, so that one is shown whole or not at all; of
/// the last text the end may be missing.
fn fitting(sheet: &Sheet, width: u16) -> usize {
    let mut left = usize::from(width);
    let fits = |(column, width): &(usize, usize)| {
        let has_room = *width <= left || (is_text(sheet, *column) && left >= TEXT_MIN);
        left = left.saturating_sub(width + usize::from(GAP));
        has_room
    };
    sheet.widths().into_iter().enumerate().take_while(fits).count()
}

fn is_text(sheet: &Sheet, column: usize) -> bool {
    sheet.rows.iter().all(|row| row.cells.get(column).is_some_and(|cell| !cell.is_number()))
}

/// These columns are as wide as they need; the last one gets the rest if it is text.
fn widths(sheet: &Sheet, columns: usize) -> Vec<Constraint> {
    let width = |(column, width): (usize, usize)| {
        if column + 1 == columns && is_text(sheet, column) {
            Constraint::Fill(1)
        } else {
            Constraint::Length(u16::try_from(width).unwrap_or(u16::MAX))
        }
    };
    sheet.widths().into_iter().take(columns).enumerate().map(width).collect()
}

fn shown(screen: &Screen, cell: &Cell) -> Line<'static> {
    let alignment = if cell.is_number() { Alignment::Right } else { Alignment::Left };
    Line::styled(cell.text.clone(), style(screen, cell.tone)).alignment(alignment)
}

fn style(screen: &Screen, tone: Tone) -> Style {
    let colour = |colour| if screen.is_coloured { Style::new().fg(colour) } else { Style::new() };
    match tone {
        Tone::Plain => Style::new(),
        Tone::Strong => Style::new().add_modifier(Modifier::BOLD),
        Tone::Faint => Style::new().add_modifier(Modifier::DIM),
        Tone::Good => colour(Color::Green),
        Tone::Odd => colour(Color::Yellow),
        Tone::Bad => colour(Color::Red),
    }
}

#[cfg(test)]
mod tests {
    use super::super::feed::Update;
    use super::super::overview::Overview;
    use super::*;
    use crate::cli::ask::{Place, Silence};
    use crate::cli::stopwatch::Stopwatch;
    use crate::protocol::Failure;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
    use serde_json::json;

    fn place() -> Place {
        Place("127.0.0.1:9200".into())
    }

    fn overview() -> Overview {
        let gone = |id: &str, name: &str| json!({"id": id, "name": name, "address": "127.0.0.1:9301", "in_state": true, "silence": "timed_out"});
        let sets = json!(["ia", "ib", "ic"]);
        let left = json!({"sequence": 1, "timestamp_millis": 1, "kind": "node-left", "term": 2, "version": 7, "reason": "",
            "node": {"id": "ic", "name": "the third", "address": "127.0.0.1:9302"}});
        let mut second = gone("ib", "b");
        second["sight"] = json!({"node": "ib", "explanation": null, "events": [left]});
        serde_json::from_value(json!({
            "cluster_name": "dev",
            "state": {
                "id": {"term": 2, "version": 7, "uuid": "D5-HVVk2xJExOtCZ8OLMgA"},
                "master_node": "ia",
                "voting": {"committed": sets, "own": sets},
            },
            "members": [gone("ia", "a"), second],
        }))
        .expect("it is an overview")
    }

    fn drawn(screen: &Screen) -> String {
        let mut terminal = Terminal::new(TestBackend::new(90, 14)).expect("nothing can fail here");
        terminal.draw(|frame| draw(frame, screen)).expect("nothing can fail here");
        terminal.backend().to_string()
    }

    fn press(screen: &mut Screen, code: KeyCode) {
        screen.press(KeyEvent::from(code));
    }

    #[test]
    fn members_that_are_silent_and_voters_that_are_gone_are_shown() {
        let mut screen = Screen::new(false);
        assert!(drawn(&screen).contains("asking"), "{}", drawn(&screen));
        screen.take(Update::Overview(Box::new(overview()), place(), Stopwatch::start()));
        let shown = drawn(&screen);
        for part in
            ["dev", "a is master of term 2", "1 of 2 answer", "silent", "the third", "gone", "1 members", "q quit"]
        {
            assert!(shown.contains(part), "{part}\n{shown}");
        }
    }

    #[test]
    fn nothing_is_said_to_be_well_while_voters_are_missing() {
        let mut screen = Screen::new(false);
        let said = |screen: &Screen| survives(screen).iter().map(ToString::to_string).collect::<Vec<_>>();
        assert!(said(&screen).is_empty(), "nothing is known");
        screen.take(Update::Overview(Box::new(overview()), place(), Stopwatch::start()));
        assert_eq!(said(&screen), ["2 of 3 voters do not answer; asking what is wrong"]);
    }

    #[test]
    fn what_is_old_is_said_to_be_old_and_what_is_held_stays() {
        let mut screen = Screen::new(false);
        let silent = || Update::Silent(vec![(place(), Silence::Failed(Failure::Refused))]);
        screen.take(silent());
        assert!(drawn(&screen).contains("no node answers, tried 127.0.0.1:9200 (refused)"), "{}", drawn(&screen));
        screen.take(Update::Overview(Box::new(overview()), place(), Stopwatch::start()));
        press(&mut screen, KeyCode::Char(' '));
        screen.take(silent());
        assert!(drawn(&screen).contains("held") && !drawn(&screen).contains("refused"), "{}", drawn(&screen));
        press(&mut screen, KeyCode::Char(' '));
        screen.take(silent());
        assert!(drawn(&screen).contains("what is shown is old"), "{}", drawn(&screen));
    }

    #[test]
    fn every_page_help_and_what_is_chosen_can_be_drawn() {
        let mut screen = Screen::new(true);
        screen.take(Update::Overview(Box::new(overview()), place(), Stopwatch::start()));
        for page in Page::ALL {
            assert_eq!(screen.page(), page);
            press(&mut screen, KeyCode::Enter);
            drawn(&screen);
            press(&mut screen, KeyCode::Esc);
            press(&mut screen, KeyCode::Tab);
        }
        press(&mut screen, KeyCode::Down);
        press(&mut screen, KeyCode::Enter);
        assert!(drawn(&screen).contains("It does not answer the node that was asked"), "{}", drawn(&screen));
        press(&mut screen, KeyCode::Char('q'));
        press(&mut screen, KeyCode::Char('?'));
        assert!(drawn(&screen).contains("reverse the order"), "{}", drawn(&screen));
        // Escape, and a blank at once.
        screen.press(KeyEvent::new(KeyCode::Char(' '), KeyModifiers::ALT));
        assert!(
            !drawn(&screen).contains("reverse the order") && drawn(&screen).contains(", held"),
            "{}",
            drawn(&screen)
        );
    }

    #[test]
    fn a_number_is_shown_whole_or_not_at_all_and_a_text_may_lack_its_end() {
        let row = [Cell::text("node-0"), Cell::count(1_234_567), Cell::text("127.0.0.1:9200")];
        let sheet = Sheet::new(&["name", "version", "http"], [super::super::cells::Row::new("a", row)]);
        assert_eq!([40, 31, 22, 21, 16, 15, 6, 5].map(|width| fitting(&sheet, width)), [3, 3, 2, 2, 2, 1, 1, 0]);
    }
}
