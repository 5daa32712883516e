//! Times, and a table of them with ratios to its last row.

use std::time::{Duration, Instant};

/// How long each round takes.
#[expect(clippy::disallowed_methods, reason = "a benchmark reads the clock")]
pub(crate) fn timed(rounds: usize, mut round: impl FnMut(usize)) -> Vec<Duration> {
    let one = |number| {
        let began = Instant::now();
        round(number);
        began.elapsed()
    };
    (0..rounds).map(one).collect()
}

/// The times of one thing.
pub(crate) struct Row {
    median: f64,
    p99: f64,
    mean: f64,
}

impl Row {
    pub(crate) fn of(mut times: Vec<Duration>) -> Self {
        times.sort();
        let ms = |time: Duration| time.as_secs_f64() * 1_000.0;
        let mean = ms(times.iter().sum::<Duration>()) / times.len() as f64;
        Row { median: ms(times[times.len() / 2]), p99: ms(times[times.len() * 99 / 100]), mean }
    }

    fn text(&self, reference: Option<&Row>) -> String {
        let ratio = reference.map(|row| format!(" {:5.1}x", self.median / row.median)).unwrap_or_default();
        format!("{:.3} ({:.3}, {:.3}){ratio}", self.median, self.mean, self.p99)
    }
}

enum Cells {
    Times(Vec<Row>),
    Text(Vec<String>),
}

/// Rows with a name each; the last one is what the others are compared with.
pub(crate) struct Table {
    title: String,
    columns: Vec<String>,
    rows: Vec<(String, Cells)>,
}

impl Table {
    pub(crate) fn new(title: &str, columns: &[&str]) -> Self {
        Table { title: title.into(), columns: columns.iter().map(|name| name.to_string()).collect(), rows: Vec::new() }
    }

    pub(crate) fn add(&mut self, name: &str, cells: Vec<Row>) {
        self.rows.push((name.into(), Cells::Times(cells)));
    }

    pub(crate) fn add_text(&mut self, name: &str, cells: Vec<String>) {
        self.rows.push((name.into(), Cells::Text(cells)));
    }

    pub(crate) fn print(&self) {
        println!("\n{}, in ms: median (mean, 99 %)", self.title);
        print!("{:54}", "");
        self.columns.iter().for_each(|column| print!(" {column:>32}"));
        println!();
        let reference = match self.rows.last() {
            Some((_, Cells::Times(rows))) => rows.as_slice(),
            Some((_, Cells::Text(_))) | None => &[],
        };
        for (name, cells) in &self.rows {
            print!("{name:54}");
            match cells {
                Cells::Times(rows) => {
                    rows.iter().enumerate().for_each(|(at, row)| print!(" {:>32}", row.text(reference.get(at))));
                }
                Cells::Text(texts) => texts.iter().for_each(|text| print!(" {text:>32}")),
            }
            println!();
        }
    }
}
