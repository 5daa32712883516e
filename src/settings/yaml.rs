//! The text of a file to settings under dotted keys, each with its place.
//!
//! YAML as far as settings need it: maps of names, texts, lists of texts; nested and dotted keys in any mixture. The text
//! of a scalar stays as it was written. What settings cannot mean is refused with its place: a second document, aliases,
//! lists in lists, values that are null. Mirrors `SettingsLoader` of `Settings.Builder` (6.8).

use super::Value;
use super::fault::{Fault, Span};
use super::layer::{At, Given};
use super::load::FileText;
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, StrInput};
use std::collections::BTreeMap;

/// Longer texts are not settings.
pub(super) const BYTES_MAX: usize = 1 << 20;
/// No key has so many parts.
const DEPTH_MAX: usize = 32;

/// Reads a file; what is wrong with it comes with what was understood up to there.
pub(super) fn read(file: &FileText<'_>) -> (Vec<Given>, Vec<Fault>) {
    let mut reader = Reader { file, events: Parser::new_from_str(file.text), given: Vec::new(), faults: Vec::new() };
    if let Err(fault) = strange_text(file).map_or(Ok(()), Err).and_then(|()| reader.document()) {
        reader.faults.push(fault);
    }
    (reader.given, reader.faults)
}

/// What a text is refused for before it is read as YAML.
fn strange_text(file: &FileText<'_>) -> Option<Fault> {
    if file.text.len() > BYTES_MAX {
        let message = format!("the file has {} bytes, at most {BYTES_MAX} are read", file.text.len());
        return Some(Fault::new(file.name, message));
    }
    let is_strange = |c: &char| c.is_control() && !matches!(c, '\t' | '\n' | '\r');
    file.text.lines().enumerate().find_map(|(at, line)| {
        let (column, c) = line.chars().enumerate().find(|(_, c)| is_strange(c))?;
        let span = Span { line: at + 1, column: column + 1, width: 1 };
        let code = u32::from(c);
        Some(Fault::in_file(file, span, format!("control character U+{code:04X}, allowed is text that can be printed")))
    })
}

/// A map that is being read.
struct Frame {
    /// What stands before its keys: nothing, or names with a dot behind each.
    prefix: String,
    /// The lines of the maps in it.
    maps: BTreeMap<String, usize>,
}

struct Reader<'a> {
    file: &'a FileText<'a>,
    events: Parser<'a, StrInput<'a>>,
    given: Vec<Given>,
    faults: Vec<Fault>,
}

/// A scalar as it was written.
struct Scalar {
    text: String,
    is_plain: bool,
    span: Span,
}

impl Scalar {
    fn is_null(&self) -> bool {
        self.is_plain && matches!(self.text.as_str(), "" | "~" | "null" | "Null" | "NULL")
    }
}

impl<'a> Reader<'a> {
    fn fault(&self, span: Span, message: impl Into<String>) -> Fault {
        Fault::in_file(self.file, span, message)
    }

    /// The next event and its place.
    fn next(&mut self) -> Result<(Event<'a>, Span), Fault> {
        loop {
            match self.events.next_event() {
                Some(Ok((Event::Nothing, _))) => {}
                Some(Ok((event, span))) => return Ok((event, self.span(span.start, span.end))),
                Some(Err(error)) => return Err(self.syntax_fault(*error.marker(), error.info())),
                None => return Ok((Event::StreamEnd, Span { line: 1, column: 1, width: 1 })),
            }
        }
    }

    fn span(&self, start: Marker, end: Marker) -> Span {
        let width = if start.line() == end.line() { end.col().saturating_sub(start.col()) } else { 1 };
        Span { line: start.line(), column: start.col() + 1, width: width.max(1) }
    }

    /// A tab is what people get wrong most, and parsers say least about it.
    fn syntax_fault(&self, marker: Marker, info: &str) -> Fault {
        let line = self.file.text.lines().nth(marker.line().saturating_sub(1)).unwrap_or_default();
        let indent = line.chars().take_while(|c| matches!(c, ' ' | '\t'));
        match indent.enumerate().find(|(_, c)| *c == '\t') {
            Some((at, _)) => {
                let span = Span { line: marker.line(), column: at + 1, width: 1 };
                self.fault(span, "a tab in the indentation, allowed are blanks")
            }
            None => self.fault(self.span(marker, marker), format!("this is not YAML: {info}")),
        }
    }

    /// One document: a map, or nothing.
    fn document(&mut self) -> Result<(), Fault> {
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamStart | Event::DocumentStart(_) | Event::Nothing => {}
                Event::StreamEnd | Event::DocumentEnd => break,
                Event::MappingStart(..) => {
                    self.map()?;
                    break;
                }
                Event::Scalar(text, ScalarStyle::Plain, ..) if matches!(&*text, "" | "~") => break,
                Event::Scalar(..) => {
                    let message = "this is a text, allowed are settings: `key: value`, with a blank behind the colon";
                    return Err(self.fault(span, message));
                }
                Event::Alias(_) | Event::SequenceStart(..) | Event::SequenceEnd | Event::MappingEnd => {
                    return Err(self.fault(span, "this is a list, allowed are settings: `key: value`"));
                }
            }
        }
        self.end()
    }

    /// Nothing may come after the document.
    fn end(&mut self) -> Result<(), Fault> {
        loop {
            match self.next()? {
                (Event::StreamEnd, _) => return Ok(()),
                (Event::DocumentEnd | Event::Nothing, _) => {}
                (_, span) => return Err(self.fault(span, "a second document begins here, allowed is one")),
            }
        }
    }

    /// A map to its end, with all maps in it.
    fn map(&mut self) -> Result<(), Fault> {
        let mut frames = vec![Frame { prefix: String::new(), maps: BTreeMap::new() }];
        while let Some(frame) = frames.last_mut() {
            let (event, span) = self.next()?;
            let key = match event {
                Event::MappingEnd => {
                    frames.pop();
                    continue;
                }
                event => self.key(event, span)?,
            };
            let name = format!("{}{}", frame.prefix, key.text);
            match self.next()? {
                (Event::Scalar(text, style, ..), span) => {
                    let value = Scalar { text: text.into_owned(), is_plain: style == ScalarStyle::Plain, span };
                    self.scalar(name, key.span, value);
                }
                (Event::SequenceStart(..), span) => self.list(name, key.span, span)?,
                (Event::MappingStart(..), span) => {
                    if let Some(line) = frame.maps.insert(key.text, key.span.line) {
                        let message = format!("duplicate key [{name}], it has a map in line {line} already");
                        self.faults.push(self.fault(key.span, message));
                    }
                    if frames.len() == DEPTH_MAX {
                        return Err(
                            self.fault(span, format!("maps in more than {DEPTH_MAX} maps, no key has so many parts"))
                        );
                    }
                    frames.push(Frame { prefix: name + ".", maps: BTreeMap::new() });
                }
                (_, span) => return Err(self.alias(span)),
            }
        }
        Ok(())
    }

    fn key(&self, event: Event<'a>, span: Span) -> Result<Scalar, Fault> {
        match event {
            Event::Scalar(text, _, ..) if &*text == "<<" => {
                Err(self.fault(span, "maps cannot be merged by `<<`, give each setting where it belongs"))
            }
            Event::Scalar(text, style, ..) => {
                let key = Scalar { text: text.into_owned(), is_plain: style == ScalarStyle::Plain, span };
                let is_missing = key.text.is_empty() || key.is_plain && key.text == "~";
                if is_missing { Err(self.fault(span, "a key is missing before the colon")) } else { Ok(key) }
            }
            Event::Alias(_) => Err(self.alias(span)),
            _ => Err(self.fault(span, "a key must be a name, as in `key: value`")),
        }
    }

    fn alias(&self, span: Span) -> Fault {
        self.fault(span, "aliases (`*name`) are not followed, write the value again, or put it in quotes")
    }

    fn scalar(&mut self, name: String, key: Span, value: Scalar) {
        if value.is_null() {
            let message = format!("null-valued setting found for key [{name}], give a value or remove the line");
            self.faults.push(self.fault(key, message));
            return;
        }
        let at = At::File { key, value: value.span };
        self.given.push(Given { key: name, value: Value::Text(value.text), is_plain: value.is_plain, at });
    }

    fn list(&mut self, name: String, key: Span, start: Span) -> Result<(), Fault> {
        let mut elements = Vec::new();
        loop {
            let (event, span) = self.next()?;
            let element = match event {
                Event::SequenceEnd => break,
                Event::Scalar(text, style, ..) => {
                    Scalar { text: text.into_owned(), is_plain: style == ScalarStyle::Plain, span }
                }
                Event::Alias(_) => return Err(self.alias(span)),
                _ => return Err(self.fault(span, format!("only texts are allowed in the list of [{name}]"))),
            };
            if element.is_null() {
                self.faults
                    .push(self.fault(element.span, format!("null in the list of [{name}], only texts are allowed")));
            }
            elements.push(element.text);
        }
        let at = At::File { key, value: start };
        self.given.push(Given { key: name, value: Value::List(elements), is_plain: false, at });
        Ok(())
    }
}
