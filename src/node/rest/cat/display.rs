//! What of a table is shown, and how: as aligned text, or as a tree of rows.

use crate::rest::body::Json;
use crate::rest::column::{Cell, Column, Row, Units};
use crate::rest::error::RestError;
use crate::rest::parameters::{Parameter, Parameters, Values};
use crate::service::matches;
use std::cmp::Ordering;

const fn parameter(name: &'static str, values: Values, default: &'static str, doc: &'static str) -> Parameter {
    Parameter { name, values, default, doc }
}

/// What every table understands.
pub(in crate::rest) const DISPLAY: &[Parameter] = &[
    parameter("v", Values::Flag, "false", "Puts the names of the columns above them."),
    parameter(
        "h",
        Values::List,
        "the usual ones",
        "The columns that are wanted, by name or alias; `*` stands for any part of one.",
    ),
    parameter(
        "s",
        Values::List,
        "as in the state",
        "The columns to sort by; `:desc` behind one turns its order around.",
    ),
    parameter("help", Values::Flag, "false", "Shows the columns that there are, and no rows."),
    parameter("bytes", Values::Text, "the best for each", "The unit of sizes: `b`, `kb`, `mb`, `gb`, `tb` or `pb`."),
    parameter(
        "time",
        Values::Text,
        "the best for each",
        "The unit of times: `nanos`, `micros`, `ms`, `s`, `m`, `h` or `d`.",
    ),
    parameter("ts", Values::Flag, "true", "Whether columns that tell what time it is are shown."),
    parameter("size", Values::Text, "none", "Understood, and without a meaning in the tables that there are."),
    parameter("pri", Values::Flag, "false", "Understood, and without a meaning in the tables that there are."),
];

/// Columns that tell what time it is.
const TIMESTAMPS: [&str; 2] = ["epoch", "timestamp"];

/// How a user wants to see a table.
pub(in crate::rest) struct Display {
    columns: &'static [Column],
    /// Places in a row, and the names that they were asked for by.
    shown: Vec<(usize, String)>,
    /// Places in a row, and whether their order is turned around.
    sorted: Vec<(usize, bool)>,
    has_header: bool,
    /// Whether the columns are wanted and no rows.
    pub(in crate::rest) is_help: bool,
    units: Units,
}

impl Display {
    /// Reads it from a request.
    pub(in crate::rest) fn read(
        columns: &'static [Column],
        parameters: &Parameters,
        is_text: bool,
    ) -> Result<Self, RestError> {
        let is_help = parameters.flag("help")?.unwrap_or(false);
        let mut shown = match parameters.list("h") {
            Some(names) => chosen(columns, &names),
            None => usual(columns),
        };
        let tells_time = |place: usize| TIMESTAMPS.contains(&columns[place].name);
        // What does not tell what time it is does not look at it.
        if !is_help && shown.iter().any(|(place, _)| tells_time(*place)) {
            let has_time = parameters.flag("ts")?.unwrap_or(true);
            shown.retain(|(place, _)| has_time || !tells_time(*place));
        }
        let sorted = match parameters.list("s") {
            Some(keys) if !is_help => sorted(columns, &keys)?,
            Some(_) | None => Vec::new(),
        };
        let unit = |name| parameters.text(name).map(str::to_owned);
        let units = Units { bytes: unit("bytes"), time: unit("time") };
        // Only a text has a header.
        let has_header = is_text && !is_help && parameters.flag("v")?.unwrap_or(false);
        Ok(Display { columns, shown, sorted, has_header, is_help, units })
    }

    /// The columns that there are, one a line.
    pub(in crate::rest) fn help(&self) -> String {
        let line = |column: &Column| [column.name.to_owned(), column.aliases.join(","), column.doc.to_owned()];
        let lines: Vec<[String; 3]> = self.columns.iter().map(line).collect();
        let width = |at: usize| lines.iter().map(|line| line[at].chars().count()).max().unwrap_or(0);
        let [names, aliases, docs] = [width(0), width(1), width(2)];
        let padded = |[name, alias, doc]: &[String; 3]| format!("{name:names$} | {alias:aliases$} | {doc:docs$}\n");
        lines.iter().map(padded).collect()
    }

    /// Lines of aligned cells.
    pub(in crate::rest) fn text(&self, rows: Vec<Row>) -> String {
        let header = self.has_header.then(|| self.shown.iter().map(|(_, name)| name.clone()).collect());
        let cells = self.cells(rows).map(|row| row.into_iter().map(Option::unwrap_or_default).collect());
        let lines: Vec<Vec<String>> = header.into_iter().chain(cells).collect();
        let width = |at: usize| lines.iter().map(|line: &Vec<String>| line[at].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..self.shown.len()).map(width).collect();
        lines.iter().map(|line| self.line(line, &widths)).collect()
    }

    /// A cell that is aligned to the left and the last of its line is not padded.
    fn line(&self, cells: &[String], widths: &[usize]) -> String {
        let mut line = String::new();
        for (at, (cell, &width)) in cells.iter().zip(widths).enumerate() {
            if at > 0 {
                line.push(' ');
            }
            let is_last = at + 1 == widths.len();
            match self.columns[self.shown[at].0].is_right {
                true => line += &format!("{cell:>width$}"),
                false if is_last => line += cell,
                false => line += &format!("{cell:<width$}"),
            }
        }
        line + "\n"
    }

    /// A list of objects, in which all that is known is text.
    pub(in crate::rest) fn tree(&self, rows: Vec<Row>) -> Json {
        let names = || self.shown.iter().map(|(_, name)| name.clone());
        self.cells(rows).map(|row| Json::map(names().zip(row.into_iter().map(Json::from)))).collect()
    }

    /// The cells that are shown, as they are shown.
    fn cells(&self, mut rows: Vec<Row>) -> impl Iterator<Item = Vec<Option<String>>> {
        rows.sort_by(|one, other| self.order(one, other));
        let show = |row: Row| self.shown.iter().map(|(at, _)| row.get(*at)?.show(&self.units)).collect();
        rows.into_iter().map(show)
    }

    fn order(&self, one: &Row, other: &Row) -> Ordering {
        let by = |&(at, is_descending): &(usize, bool)| {
            let [one, other] = [one, other].map(|row| row.get(at).unwrap_or(&Cell::Empty));
            let order = one.order(other);
            if is_descending { order.reverse() } else { order }
        };
        self.sorted.iter().map(by).find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}

fn usual(columns: &[Column]) -> Vec<(usize, String)> {
    let usual = columns.iter().enumerate().filter(|(_, column)| column.is_default);
    usual.map(|(place, column)| (place, column.name.to_owned())).collect()
}

/// The columns of these names, each name once; those that there are not are passed over.
fn chosen(columns: &[Column], names: &[&str]) -> Vec<(usize, String)> {
    let mut chosen: Vec<(usize, String)> = Vec::new();
    for name in names {
        let found: Vec<(usize, &str)> = if name.contains('*') {
            let fits = |column: &Column| [column.name].iter().chain(column.aliases).any(|known| matches(name, known));
            columns
                .iter()
                .enumerate()
                .filter(|(_, column)| fits(column))
                .map(|(at, column)| (at, column.name))
                .collect()
        } else {
            place(columns, name).map(|place| (place, *name)).into_iter().collect()
        };
        for (place, name) in found {
            if !chosen.iter().any(|(_, known)| known == name) {
                chosen.push((place, name.to_owned()));
            }
        }
    }
    chosen
}

/// The column of a name, or the last one of an alias.
fn place(columns: &[Column], name: &str) -> Option<usize> {
    let by_name = columns.iter().position(|column| column.name == name);
    by_name.or_else(|| columns.iter().rposition(|column| column.aliases.contains(&name)))
}

/// The columns to sort by; one that was named before decides nothing more.
fn sorted(columns: &[Column], keys: &[&str]) -> Result<Vec<(usize, bool)>, RestError> {
    let mut sorted: Vec<(usize, bool)> = Vec::new();
    for key in keys {
        let (place, is_descending) = sort_key(columns, key)?;
        if !sorted.iter().any(|(known, _)| *known == place) {
            sorted.push((place, is_descending));
        }
    }
    Ok(sorted)
}

fn sort_key(columns: &[Column], key: &str) -> Result<(usize, bool), RestError> {
    let (name, is_descending) = match key.rsplit_once(':') {
        Some((name, "desc")) => (name, true),
        Some((name, "asc")) => (name, false),
        Some(_) | None => (key, false),
    };
    let unknown = || RestError::illegal(format!("Unable to sort by unknown sort key `{name}`"));
    place(columns, name).map(|place| (place, is_descending)).ok_or_else(unknown)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rest::body::compact;
    use std::collections::BTreeMap;
    use std::time::Duration;

    static COLUMNS: [Column; 5] = [
        Column::new("epoch", &["t", "time"], "seconds").shown(),
        Column::new("name", &["n"], "what it is called").shown(),
        Column::new("size", &["s", "t"], "how large it is").right().shown(),
        Column::new("age", &["a"], "how old it is").right(),
        Column::new("role", &["r"], "what it does").shown(),
    ];

    fn rows() -> Vec<Row> {
        let row = |name: &str, size, age, role| {
            vec![Cell::Count(7), Cell::text(name), size, Cell::Time(Duration::from_millis(age)), role]
        };
        vec![
            row("n1", Cell::Bytes(2_048), 90_000, Cell::text("mdi")),
            row("node-two", Cell::Bytes(1_000), 2_000, Cell::text("-")),
            row("é", Cell::Empty, 500, Cell::Empty),
        ]
    }

    fn display(query: &str) -> Result<Display, RestError> {
        let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
        let given: BTreeMap<String, String> = pairs.map(|(name, value)| (name.into(), value.into())).collect();
        Display::read(&COLUMNS, &given.into(), true)
    }

    fn text(query: &str) -> String {
        display(query).unwrap_or_else(|error| panic!("{query}: {error}")).text(rows())
    }

    #[test]
    fn columns_are_as_wide_as_their_widest_cell_and_the_last_one_has_no_blanks_behind() {
        let plain = "7 n1         2kb mdi\n7 node-two 1000b -\n7 é              \n";
        assert_eq!(text(""), plain);
        let header =
            "epoch name      size role\n7     n1         2kb mdi\n7     node-two 1000b -\n7     é              \n";
        assert_eq!(text("v="), header);
        assert_eq!(text("h=role,size"), "mdi   2kb\n-   1000b\n         \n");
    }

    #[test]
    fn columns_are_chosen_by_name_alias_or_pattern() {
        assert_eq!(text("h=n,name,n&v="), "n        name\nn1       n1\nnode-two node-two\né        é\n");
        assert_eq!(text("h=t&v="), "    t\n  2kb\n1000b\n     \n");
        assert_eq!(text("h=*m*,nope&ts=false&v="), "name\nn1\nnode-two\né\n");
        assert_eq!(text("h=nope&v="), "\n\n\n\n");
        assert_eq!(text("h="), "\n\n\n");
        assert_eq!(text("h=epoch,n&ts=false"), "n1\nnode-two\né\n");
    }

    #[test]
    fn what_is_not_shown_may_be_asked_for_in_any_words() {
        assert_eq!(text("h=n&ts=x"), text("h=n"));
        let refused = |query: &str| display(query).err().map(|error| error.to_string());
        let expected =
            Some("IllegalArgumentException[Failed to parse value [x] as only [true] or [false] are allowed.]");
        assert_eq!(refused("h=epoch&ts=x").as_deref(), expected);
        assert_eq!(refused("h=n&v=x").as_deref(), expected);
        assert_eq!(refused("help=&v=x&ts=x"), None);
        let given = BTreeMap::from([("v".to_owned(), "x".to_owned())]);
        assert!(Display::read(&COLUMNS, &given.into(), false).is_ok(), "a tree has no header");
    }

    #[test]
    fn rows_are_sorted_by_what_their_cells_mean() {
        assert_eq!(text("h=n&s=size"), "é\nnode-two\nn1\n");
        assert_eq!(text("h=n&s=epoch,a:desc"), "n1\nnode-two\né\n");
        assert_eq!(text("h=n&s=name:asc,n:desc"), "n1\nnode-two\né\n");
        for key in ["x", "name:foo", "a:desc:x", ":desc"] {
            let error = display(&format!("s={key}")).err().map(|error| error.to_string());
            let named = key.strip_suffix(":desc").unwrap_or(key);
            let expected = format!("IllegalArgumentException[Unable to sort by unknown sort key `{named}`]");
            assert_eq!(error, Some(expected));
        }
    }

    #[test]
    fn sizes_and_times_come_in_the_unit_that_is_asked_for() {
        assert_eq!(text("h=size,age&bytes=k&time=s"), "2 90\n0  2\n   0\n");
        assert_eq!(text("h=size,age&bytes=x&time=x"), "  2kb  1.5m\n1000b    2s\n      500ms\n");
    }

    #[test]
    fn a_tree_has_the_names_that_were_asked_for_and_texts_only() {
        let tree = display("h=n,size&s=n").unwrap_or_else(|error| panic!("{error}")).tree(rows());
        let expected = r#"[{"n":"n1","size":"2kb"},{"n":"node-two","size":"1000b"},{"n":"é","size":null}]"#;
        assert_eq!(compact(&tree), expected);
    }

    #[test]
    fn help_lists_every_column_and_asks_for_no_sense() {
        let display = display("help=true&h=x&s=x&v=").unwrap_or_else(|error| panic!("{error}"));
        let expected = "epoch | t,time | seconds          \nname  | n      | what it is called\n\
                        size  | s,t    | how large it is  \nage   | a      | how old it is    \n\
                        role  | r      | what it does     \n";
        assert_eq!((display.is_help, display.help().as_str()), (true, expected));
    }
}
