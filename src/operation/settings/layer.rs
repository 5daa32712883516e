//! What one source gives: each key once, lists put together from their elements.
//!
//! A file, the environment and the command line are a layer each; which of them wins is decided in `load`.

use super::fault::{FAULTS_MAX, Fault, Remedy, Way};
use super::sources::{FileText, Span};
use super::{Origin, Place, SettingsError, Value};
use crate::zen::Tuning;
use std::collections::BTreeMap;

/// Something given for a key.
#[derive(Clone, Debug)]
pub(super) struct Given {
    pub(super) key: String,
    pub(super) value: Value,
    /// Whether it stood in a file without quotes.
    pub(super) is_plain: bool,
    pub(super) at: At,
}

/// Where it was given.
#[derive(Clone, Debug)]
pub(super) enum At {
    /// In the file.
    File { key: Span, value: Span },
    /// In this environment variable.
    Environment(String),
    /// As an argument.
    CommandLine,
}

/// Which part of what was given is wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Key,
    Value,
}

impl Given {
    /// The fault that one of its parts is.
    pub(super) fn fault(&self, file: Option<&FileText<'_>>, part: Part, message: impl Into<String>) -> Fault {
        match (&self.at, file, part) {
            (At::File { key, .. }, Some(file), Part::Key) => Fault::in_file(file, *key, message),
            (At::File { value, .. }, Some(file), Part::Value) => Fault::in_file(file, *value, message),
            (At::File { .. }, None, _) => Fault::new("the file", message),
            (At::Environment(variable), _, _) => Fault::new(format!("{variable}={}", self.value.joined()), message),
            (At::CommandLine, _, _) => Fault::new(format!("-E {}={}", self.key, self.value.joined()), message),
        }
    }

    /// Where it comes from.
    pub(super) fn origin(&self, file: Option<&FileText<'_>>) -> Origin {
        match (&self.at, file) {
            (At::File { value, .. }, file) => {
                let file = file.map(|file| file.name).unwrap_or_default().into();
                Origin::File(Place { file, line: value.line, column: value.column })
            }
            (At::Environment(variable), _) => Origin::Environment(variable.clone()),
            (At::CommandLine, _) if self.is_override() => Origin::Override,
            (At::CommandLine, _) => Origin::CommandLine,
        }
    }

    /// Whether it goes over what the cluster is told, so that a node can be helped whose cluster was told the wrong thing.
    pub(super) fn is_override(&self) -> bool {
        matches!(self.at, At::CommandLine) && Tuning::dynamic_keys().any(|key| key == self.key)
    }

    /// Gives it another value in its file.
    pub(super) fn remedy_to(&self, file: &FileText<'_>, value: &str) -> Option<Remedy> {
        let At::File { key, value: at } = &self.at else { return None };
        let way = Way::Value(file.written(*at)?, value.to_owned());
        Some(Remedy { line: at.line, way }).filter(|_| key.line == at.line)
    }

    /// Its value, with the words that YAML 1.1 has for `true` and `false`, where one of these is meant.
    pub(super) fn canonical(&self, is_boolean: bool) -> Value {
        let word = self.value.text().filter(|_| is_boolean && self.is_plain && matches!(self.at, At::File { .. }));
        match word.map(str::to_ascii_lowercase).as_deref() {
            Some("true" | "yes" | "on") => "true".into(),
            Some("false" | "no" | "off") => "false".into(),
            Some(_) | None => self.value.clone(),
        }
    }
}

/// What one source gives, by key.
pub(super) type Layer = BTreeMap<String, Given>;

/// Puts a layer together, and adds what is wrong with it to the faults.
pub(super) fn layer(given: Vec<Given>, file: Option<&FileText<'_>>, faults: &mut Vec<Fault>) -> Layer {
    let mut layer = Layer::new();
    let mut lists: BTreeMap<String, BTreeMap<usize, Given>> = BTreeMap::new();
    for given in given {
        if faults.len() >= FAULTS_MAX {
            break;
        }
        let first = match element_of(&given.key) {
            Some((list, index)) => lists.entry(list).or_default().insert(index, given.clone()),
            None => layer.insert(given.key.clone(), given.clone()),
        };
        if let Some(first) = first {
            let fault = given.fault(file, Part::Key, given_twice(&first, &given));
            faults.push(fault.with_remedies(file.and_then(|file| remedies_of_twice(file, &first, &given))));
        }
    }
    for (key, elements) in lists {
        if faults.len() >= FAULTS_MAX {
            break;
        }
        if let Some(fault) = put_together(&key, elements, &mut layer, file) {
            faults.push(fault);
        }
    }
    layer
}

/// Who adds a line means that one: what came with the file stands above it. A line below a key of its own cannot go without
/// that, so it takes the value.
fn remedies_of_twice(file: &FileText<'_>, first: &Given, second: &Given) -> Option<Vec<Remedy>> {
    let gone = |line| Remedy { line, way: Way::Remove };
    let (place, _) = in_one_line(file, first)?;
    if place.column == 1 {
        return Some(vec![gone(place.line)]);
    }
    let (last, value) = in_one_line(file, second)?;
    Some(vec![first.remedy_to(file, &value)?, gone(last.line)])
}

/// Where the key of something stands that is given in one line, and its value as it is written there.
fn in_one_line(file: &FileText<'_>, given: &Given) -> Option<(Span, String)> {
    let At::File { key, value } = given.at else { return None };
    let text = file.written(value)?;
    let is_whole = match &given.value {
        Value::Text(word) => text.trim_matches(['"', '\'']) == word,
        Value::List(_) => text.starts_with('[') && text.ends_with(']'),
    };
    (is_whole && key.line == value.line).then_some((key, text))
}

fn given_twice(first: &Given, second: &Given) -> String {
    match &first.at {
        At::File { key, .. } => {
            let (key, line) = (&second.key, key.line);
            let (first, second) = (first.value.joined(), second.value.joined());
            format!("duplicate settings key [{key}], previous value [{first}] in line {line}, current value [{second}]")
        }
        At::Environment(_) | At::CommandLine => {
            let (key, first, second) = (second.key.clone(), first.value.joined(), second.value.joined());
            SettingsError::AlreadySet { key, first, second }.to_string()
        }
    }
}

/// The list and the place in it, if a key is that of an element: `path.data.0`.
fn element_of(key: &str) -> Option<(String, usize)> {
    let (list, index) = key.rsplit_once('.')?;
    let is_number = !index.is_empty() && index.bytes().all(|byte| byte.is_ascii_digit());
    let index = index.parse().ok().filter(|_| is_number && is_list(list))?;
    Some((list.to_owned(), index))
}

fn is_list(key: &str) -> bool {
    match super::setting(key) {
        Ok(setting) => setting.kind.is_list(),
        Err(_) => super::known(key).is_some_and(|known| known.is_list()),
    }
}

/// Adds a list that was given element by element to its layer, or says what is wrong with it.
fn put_together(
    key: &str,
    elements: BTreeMap<usize, Given>,
    layer: &mut Layer,
    file: Option<&FileText<'_>>,
) -> Option<Fault> {
    let missing = (0..).zip(elements.keys()).find(|(expected, found)| expected != *found);
    let first = elements.values().next()?.clone();
    if let Some((missing, found)) = missing {
        let message = format!("[{key}.{found}] is given without [{key}.{missing}], elements are counted from 0");
        return Some(elements.get(found)?.fault(file, Part::Key, message));
    }
    if let Some(whole) = layer.get(key) {
        let (whole, part) = (whole.value.joined(), first.value.joined());
        let message = format!("settings can't contain both [{key}={whole}] and [{}={part}]", first.key);
        return Some(first.fault(file, Part::Key, message));
    }
    let value = Value::List(elements.into_values().map(|given| given.value.joined()).collect());
    layer.insert(key.to_owned(), Given { key: key.to_owned(), value, ..first });
    None
}
