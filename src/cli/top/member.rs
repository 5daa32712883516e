//! The members of a cluster as rows, and all that is known of one of them.

use super::super::paint::Tone;
use super::super::status::doing;
use super::cells::{Cell, Row, Sheet, bytes, span};
use super::overview::{Member, Overview, name};
use crate::cluster::{NodeId, StateId};
use crate::runtime::figures::NodeFigures;
use crate::runtime::sight::{ReachOutcome, Sight};
use crate::zen::Explanation;

/// One that lags more states than this is pointed out.
const LAG_MAX: u64 = 1;

const HEADS: [&str; 11] = ["name", "does", "master", "term", "version", "lag", "heard", "cpu", "memory", "up", "http"];

/// All members, and those that are none and count in elections.
pub(super) fn sheet(overview: &Overview) -> Sheet {
    let rows = overview.members.iter().map(|member| row(overview, member));
    Sheet::new(&HEADS, rows.chain(gone(overview)))
}

fn gone(overview: &Overview) -> impl Iterator<Item = Row> {
    let voters = &overview.state.voting.committed;
    let is_known = |id: &&NodeId| overview.members.iter().any(|member| member.id == **id);
    voters.iter().filter(move |id| !is_known(id)).map(|id| {
        let dashes = std::iter::repeat_n(Cell::dash(), HEADS.len() - 2);
        let cells = [Cell::text(name(overview, id)), Cell::text("gone").toned(Tone::Bad)];
        Row::new(id.as_str(), cells.into_iter().chain(dashes))
    })
}

fn row(overview: &Overview, member: &Member) -> Row {
    let own = Cell::text(member.name.clone());
    let own = if overview.state.master_node.as_ref() == Some(&member.id) { own.toned(Tone::Good) } else { own };
    let cells = match explained(member) {
        Some((sight, explanation)) => vec![own].into_iter().chain(told(overview, sight, &explanation)).collect(),
        None => silent(own, member),
    };
    Row::new(member.id.as_str(), cells)
}

fn explained(member: &Member) -> Option<(&Sight, Explanation)> {
    let sight = member.sight.as_ref()?;
    Some((sight, serde_json::from_value(sight.explanation.clone()).ok()?))
}

fn silent(own: Cell, member: &Member) -> Vec<Cell> {
    let word = match member.silence.as_deref() {
        Some("not_connected") => "down",
        Some("timed_out") => "silent",
        Some(_) | None => "strange",
    };
    let dashes = std::iter::repeat_n(Cell::dash(), HEADS.len() - 3);
    [own, Cell::text(word).toned(Tone::Bad)]
        .into_iter()
        .chain(dashes)
        .chain([Cell::text(member.address.clone())])
        .collect()
}

fn told(overview: &Overview, sight: &Sight, explanation: &Explanation) -> Vec<Cell> {
    let master = match &explanation.master_node {
        Some(master) => Cell::text(name(overview, &master.id)),
        None => Cell::text("none").toned(Tone::Bad),
    };
    let committed = &explanation.committed;
    let figures = sight.figures.as_ref();
    vec![
        Cell::text(doing(&explanation.mode, sight.drained)),
        master,
        Cell::count(explanation.term.get()),
        Cell::count(committed.version.get()),
        lag(&overview.state.id, committed),
        explanation.master_heard_millis.map_or_else(Cell::dash, span),
        figures
            .and_then(|figures| figures.process.cpu_percent)
            .map_or_else(Cell::dash, |cpu| Cell::number(f64::from(cpu), format!("{cpu}%"))),
        figures.and_then(|figures| figures.memory).map_or_else(Cell::dash, |memory| bytes(memory.used)),
        figures.map_or_else(Cell::dash, |figures| span(figures.uptime_millis)),
        Cell::text(figures.and_then(|figures| figures.http_address.clone()).unwrap_or_else(|| "-".into())),
    ]
}

/// How many states a node is behind the newest that is known; it may as well be ahead of the node that was asked.
fn lag(newest: &StateId, own: &StateId) -> Cell {
    if own.term < newest.term {
        return Cell::text("old term").toned(Tone::Odd);
    }
    let lag = newest.version.get().saturating_sub(own.version.get());
    Cell::count(lag).toned(if lag > LAG_MAX { Tone::Odd } else { Tone::Plain })
}

/// All that is known of one.
pub(super) fn detail(overview: &Overview, member: &Member) -> Vec<String> {
    let mut lines = vec![format!("{}  {}  {}", member.name, member.address, member.id), String::new()];
    let Some((sight, explanation)) = explained(member) else {
        let silence = member.silence.as_deref().unwrap_or("strange");
        lines.push(format!("It does not answer the node that was asked: {silence}."));
        return lines;
    };
    lines.push(explanation.summary.clone());
    lines.extend(explanation.advice.iter().map(|advice| format!("  - {advice}")));
    lines.push(format!("{} for {}", doing(&explanation.mode, sight.drained), span(explanation.since_millis).text));
    if let Some(millis) = explanation.disk_hangs_millis {
        lines.push(format!("its disk hangs since {}", span(millis).text));
    }
    lines.extend(sight.figures.iter().map(figures));
    section(
        &mut lines,
        "Whom it reaches",
        sight.reaches.iter().map(|reach| {
            let outcome = match reach.outcome {
                ReachOutcome::Answered => format!("answered in {:.1} ms", reach.micros as f64 / 1e3),
                ReachOutcome::NotConnected => "no connection".into(),
                ReachOutcome::TimedOut => "no answer in time".into(),
                ReachOutcome::OtherProcess => "another process answered".into(),
            };
            format!("{}: {outcome}", name(overview, &reach.node))
        }),
    );
    section(
        &mut lines,
        "What it was told",
        sight.settings.iter().map(|(key, told)| format!("{key}: {}  ({})", told.value, told.from)),
    );
    lines
}

fn figures(figures: &NodeFigures) -> String {
    let part = |name: &str, text: Option<String>| text.map(|text| format!("{name} {text}"));
    let parts = [
        part("pid", Some(figures.pid.to_string())),
        part("release", Some(figures.release.clone())),
        part("up", Some(span(figures.uptime_millis).text)),
        part("memory", figures.memory.map(|share| bytes(share.used).text)),
        part("files", figures.files.map(|share| format!("{} of {}", share.used, share.max))),
        part("threads", figures.process.threads.map(|threads| threads.to_string())),
        part("http", figures.http_address.clone()),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Some lines under a heading, if there are any.
fn section(lines: &mut Vec<String>, heading: &str, parts: impl Iterator<Item = String>) {
    let parts: Vec<String> = parts.map(|part| format!("  {part}")).collect();
    if !parts.is_empty() {
        lines.extend([String::new(), format!("{heading}:")]);
        lines.extend(parts);
    }
}
