//! The text of a file to settings under dotted keys, each with its place.
//!
//! YAML as far as settings need it: maps of names, texts, lists of texts; nested and dotted keys in any mixture. The text
//! of a scalar stays as it was written. What settings cannot mean is refused with its place: a second document, aliases,
//! lists in lists, values that are null. Mirrors `SettingsLoader` of `Settings.Builder` (6.8).

use super::Value;
use super::fault::{FAULTS_MAX, Fault};
use super::layer::{At, Given};
use super::meant::remedy_of_nothing;
use super::sources::{FileText, Span};
use saphyr_parser::{Event, Marker, Parser, ScalarStyle, StrInput};
use std::collections::BTreeMap;

/// Longer texts are not settings.
pub(super) const BYTES_MAX: usize = 1 << 20;
/// No key has so many parts.
const DEPTH_MAX: usize = 32;

/// What a file gives, and what is wrong with it.
pub(super) struct Read {
    pub(super) given: Vec<Given>,
    pub(super) faults: Vec<Fault>,
    /// Whether it was read to its end; else the last fault is why not.
    pub(super) is_whole: bool,
}

/// Reads a file; what is wrong with it comes with what was understood up to there.
pub(super) fn read(file: &FileText<'_>) -> Read {
    let mut reader = Reader { file, events: Parser::new_from_str(file.text), given: Vec::new(), faults: Vec::new() };
    let stopped = strange_text(file).map_or(Ok(()), Err).and_then(|()| reader.document()).err();
    let is_whole = stopped.is_none();
    reader.faults.extend(stopped);
    Read { given: reader.given, faults: reader.faults, is_whole }
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

/// A scalar as it was written.
struct Scalar {
    text: String,
    is_plain: bool,
}

impl Scalar {
    fn is_null(&self) -> bool {
        self.is_plain && matches!(self.text.as_str(), "" | "~" | "null" | "Null" | "NULL")
    }

    /// Whether nothing was written at all.
    fn is_missing(&self) -> bool {
        self.text.is_empty() || self.is_plain && self.text == "~"
    }
}

/// What a file is made of.
enum Token {
    Document,
    Scalar(Scalar),
    Alias,
    List,
    ListEnd,
    Map,
    MapEnd,
    End,
}

struct Reader<'a> {
    file: &'a FileText<'a>,
    events: Parser<'a, StrInput<'a>>,
    given: Vec<Given>,
    faults: Vec<Fault>,
}

impl Reader<'_> {
    fn fault(&self, span: Span, message: impl Into<String>) -> Fault {
        Fault::in_file(self.file, span, message)
    }

    /// Notes what is wrong and goes on, unless there is much already.
    fn complain(&mut self, span: Span, message: String) -> Result<(), Fault> {
        self.note(self.fault(span, message))
    }

    fn note(&mut self, fault: Fault) -> Result<(), Fault> {
        if self.faults.len() + 1 >= FAULTS_MAX {
            return Err(fault);
        }
        self.faults.push(fault);
        Ok(())
    }

    /// The next token and its place.
    fn next(&mut self) -> Result<(Token, Span), Fault> {
        loop {
            let (event, span) = match self.events.next_event() {
                Some(Ok((event, span))) => (event, span_of(span.start, span.end)),
                Some(Err(error)) => return Err(self.syntax_fault(*error.marker(), error.info())),
                None => (Event::StreamEnd, Span { line: 1, column: 1, width: 1 }),
            };
            let token = match event {
                Event::Nothing | Event::StreamStart | Event::DocumentEnd => continue,
                Event::DocumentStart(_) => Token::Document,
                Event::StreamEnd => Token::End,
                Event::Alias(_) => Token::Alias,
                Event::SequenceStart(..) => Token::List,
                Event::SequenceEnd => Token::ListEnd,
                Event::MappingStart(..) => Token::Map,
                Event::MappingEnd => Token::MapEnd,
                Event::Scalar(text, style, ..) => {
                    Token::Scalar(Scalar { text: text.into_owned(), is_plain: style == ScalarStyle::Plain })
                }
            };
            return Ok((token, span));
        }
    }

    /// A parser tells where it noticed; what is wrong may stand in the line behind that or before it. A tab and a missing
    /// colon are what people get wrong most, and parsers say least about them.
    fn syntax_fault(&self, marker: Marker, info: &str) -> Fault {
        let lines: Vec<&str> = self.file.text.lines().collect();
        if let Some(span) = tab(&lines, marker, info) {
            return self.fault(span, "a tab in the indentation, allowed are blanks");
        }
        if let Some(span) = without_colon(&lines, marker, info) {
            return self.fault(span, "this is not YAML: a colon with a blank behind it is missing, as in `key: value`");
        }
        let line = lines.get(marker.line().saturating_sub(1)).copied().unwrap_or_default();
        let is_quote = matches!(line.chars().nth(marker.col()), Some('"' | '\''));
        let hint = if is_quote { "; is the quote closed?" } else { "" };
        self.fault(span_of(marker, marker), format!("this is not YAML: {info}{hint}"))
    }

    /// One document: a map, or nothing.
    fn document(&mut self) -> Result<(), Fault> {
        let mut next = self.next()?;
        if let (Token::Document, _) = next {
            next = self.next()?;
        }
        let (token, span) = next;
        match token {
            Token::End => return Ok(()),
            Token::Map => self.map()?,
            Token::Scalar(scalar) if scalar.is_missing() => {}
            Token::Scalar(_) | Token::Alias => {
                let message = "this is a text, allowed are settings: `key: value`, with a blank behind the colon";
                return Err(self.fault(span, message));
            }
            Token::List | Token::ListEnd | Token::MapEnd | Token::Document => {
                return Err(self.fault(span, "this is a list, allowed are settings: `key: value`"));
            }
        }
        match self.next()? {
            (Token::End, _) => Ok(()),
            (_, span) => Err(self.fault(span, "a second document begins here, allowed is one")),
        }
    }

    /// A map to its end, with all maps in it.
    fn map(&mut self) -> Result<(), Fault> {
        let mut frames = vec![Frame { prefix: String::new(), maps: BTreeMap::new() }];
        while let Some(frame) = frames.last_mut() {
            let (token, key_span) = self.next()?;
            let Some(key) = self.key(token, key_span)? else {
                frames.pop();
                continue;
            };
            let name = format!("{}{key}", frame.prefix);
            let (token, span) = self.next()?;
            match token {
                Token::Scalar(value) => self.scalar(name, key_span, value, span)?,
                Token::List => self.list(name, key_span, span)?,
                Token::Map => {
                    if let Some(line) = frame.maps.insert(key, key_span.line) {
                        self.complain(
                            key_span,
                            format!("duplicate key [{name}], it has a map in line {line} already"),
                        )?;
                    }
                    if frames.len() == DEPTH_MAX {
                        let message = format!("maps in more than {DEPTH_MAX} maps, no key has so many parts");
                        return Err(self.fault(span, message));
                    }
                    frames.push(Frame { prefix: name + ".", maps: BTreeMap::new() });
                }
                Token::Alias | Token::ListEnd | Token::MapEnd | Token::Document | Token::End => {
                    return Err(self.alias(span));
                }
            }
        }
        Ok(())
    }

    /// A key, or none at the end of the map.
    fn key(&self, token: Token, span: Span) -> Result<Option<String>, Fault> {
        match token {
            Token::MapEnd => Ok(None),
            Token::Scalar(key) if key.text == "<<" => {
                Err(self.fault(span, "maps cannot be merged by `<<`, give each setting where it belongs"))
            }
            Token::Scalar(key) if key.is_missing() => Err(self.fault(span, "a key is missing before the colon")),
            Token::Scalar(key) => Ok(Some(key.text)),
            Token::Alias => Err(self.alias(span)),
            Token::List | Token::ListEnd | Token::Map | Token::Document | Token::End => {
                Err(self.fault(span, "a key must be a name, as in `key: value`"))
            }
        }
    }

    fn alias(&self, span: Span) -> Fault {
        self.fault(span, "aliases (`*name`) are not followed, write the value again, or put it in quotes")
    }

    fn scalar(&mut self, name: String, key: Span, value: Scalar, span: Span) -> Result<(), Fault> {
        if value.is_null() {
            let message = format!("null-valued setting found for key [{name}], give a value or remove the line");
            let fault = self.fault(key, message).with_remedy(remedy_of_nothing(&name, key.line));
            return self.note(fault);
        }
        let at = At::File { key, value: span };
        self.given.push(Given { key: name, value: Value::Text(value.text), is_plain: value.is_plain, at });
        Ok(())
    }

    fn list(&mut self, name: String, key: Span, mut place: Span) -> Result<(), Fault> {
        let mut elements = Vec::new();
        loop {
            let (token, span) = self.next()?;
            match token {
                Token::ListEnd if span.line == place.line => {
                    place.width = (span.column + span.width).saturating_sub(place.column).max(1);
                    break;
                }
                Token::ListEnd => break,
                Token::Scalar(element) if element.is_null() => {
                    self.complain(span, format!("null in the list of [{name}], only texts are allowed"))?;
                }
                Token::Scalar(element) => elements.push(element.text),
                Token::Alias => return Err(self.alias(span)),
                Token::List | Token::Map | Token::MapEnd | Token::Document | Token::End => {
                    return Err(self.fault(span, format!("only texts are allowed in the list of [{name}]")));
                }
            }
        }
        let at = At::File { key, value: place };
        self.given.push(Given { key: name, value: Value::List(elements), is_plain: false, at });
        Ok(())
    }
}

/// The tab in the indentation of the line that was being read, or of the next one where a text ended because of it.
fn tab(lines: &[&str], marker: Marker, info: &str) -> Option<Span> {
    let at = marker.line().saturating_sub(1);
    let next = (at + 1..lines.len()).find(|at| !lines[*at].trim().is_empty()).filter(|_| info.contains("tab"));
    [Some(at), next].into_iter().flatten().find_map(|at| {
        let indent = lines.get(at)?.chars().take_while(|c| matches!(c, ' ' | '\t'));
        let (column, _) = indent.enumerate().find(|(_, c)| *c == '\t')?;
        Some(Span { line: at + 1, column: column + 1, width: 1 })
    })
}

/// The line before the marker, if it is a bare text and was to be a key: only the next line shows that it is none.
fn without_colon(lines: &[&str], marker: Marker, info: &str) -> Option<Span> {
    let is_told = info.contains("simple key expect") || info.starts_with("mapping values are not allowed");
    let is_content = |at: &usize| !lines[*at].trim().is_empty() && !lines[*at].trim_start().starts_with('#');
    let at = (0..marker.line().saturating_sub(1).min(lines.len())).rev().find(is_content).filter(|_| is_told)?;
    let text = lines[at].trim();
    let is_bare = text.starts_with(char::is_alphanumeric) && !text.contains(['[', ']', '{', '}', ',', '"', '\'']);
    let has_colon = text.ends_with(':') || text.contains(": ");
    let indent = lines[at].chars().take_while(|c| c.is_whitespace()).count();
    (is_bare && !has_colon).then(|| Span { line: at + 1, column: indent + 1, width: text.chars().count() })
}

fn span_of(start: Marker, end: Marker) -> Span {
    let width = if start.line() == end.line() { end.col().saturating_sub(start.col()) } else { 1 };
    Span { line: start.line(), column: start.col() + 1, width: width.max(1) }
}
