//! Shortens what nodes print: their stories repeat names a hundred times.
//!
//! A node is printed as `{name}{id}{ephemeral id}{host}{address}`, as Elasticsearch does; a story says `{a}`, or `{a-2}`
//! for its second process, `{a~2}` once its disk was wiped, or `{a on d}` if d has the disk of a. A uuid is drawn at
//! random: a story says `uuid 1` for the first one that it names.

use crate::cluster::Uuid;

/// How many parts a node is printed in.
const PARTS: usize = 5;

/// The text with every node in it shortened.
pub(super) fn abbreviate(text: &str) -> String {
    let mut short = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        short.push_str(&rest[..open]);
        rest = &rest[open..];
        match node(rest) {
            Some((name, len)) => {
                short.push_str(&format!("{{{name}}}"));
                rest = &rest[len..];
            }
            None => {
                short.push('{');
                rest = &rest[1..];
            }
        }
    }
    short + rest
}

/// The short name of the node that the text begins with, and how long the text of it is.
fn node(text: &str) -> Option<(String, usize)> {
    let mut parts = [""; PARTS];
    let mut len = 0;
    for part in &mut parts {
        let inner = text[len..].strip_prefix('{')?;
        let close = inner.find(['{', '}'])?;
        if !inner[close..].starts_with('}') {
            return None;
        }
        *part = &inner[..close];
        len += close + 2;
    }
    let [name, id, process, ..] = parts;
    let is_first = process.strip_prefix(name)? == "-1";
    let is_own = id.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('~'));
    let short = match (is_own, is_first || id != name) {
        (true, true) => id.to_owned(),
        (true, false) => process.to_owned(),
        (false, _) => format!("{id} on {name}"),
    };
    Some((short, len))
}

/// The uuids that a story has named so far.
#[derive(Debug, Default)]
pub(super) struct Uuids(Vec<String>);

impl Uuids {
    /// The text with a number for every uuid in brackets.
    pub(super) fn number(&mut self, text: &str) -> String {
        let pieces: Vec<String> = text.split('[').map(|piece| self.number_first(piece)).collect();
        pieces.join("[")
    }

    fn number_first(&mut self, piece: &str) -> String {
        let uuid = piece.split_once(']').filter(|(inner, _)| inner.parse::<Uuid>().is_ok());
        let Some((uuid, rest)) = uuid else {
            return piece.to_owned();
        };
        let place = self.0.iter().position(|known| known == uuid).unwrap_or_else(|| {
            self.0.push(uuid.to_owned());
            self.0.len() - 1
        });
        format!("uuid {}]{rest}", place + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_shortened_and_all_else_is_left() {
        let a = "{a}{a}{a-1}{10.0.1}{10.0.1:9300}";
        let again = "{a}{a}{a-2}{10.0.1}{10.0.1:9300}";
        let wiped = "{a}{a~3}{a-3}{10.0.1}{10.0.1:9300}";
        let copy = "{d}{a}{d-1}{10.0.2}{10.0.2:9300}";
        let text = format!("removed {{{a},}}, added {{{again},{wiped},{copy},}} of {{x,y}} {{");
        assert_eq!(abbreviate(&text), "removed {{a},}, added {{a-2},{a~3},{a on d},} of {x,y} {");
    }

    #[test]
    fn uuids_are_numbered_as_they_come() {
        let (one, two) = (Uuid::from_u128(1), Uuid::from_u128(2));
        let mut uuids = Uuids::default();
        let text = uuids.number(&format!("uuid [{two}] is not [{one}], [{two}] or [a]"));
        assert_eq!(text, "uuid [uuid 1] is not [uuid 2], [uuid 1] or [a]");
    }
}
