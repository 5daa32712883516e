//! Random damage to the JSON of messages: to the bytes, and to the values.

use serde_json::{Value, json};
use std::collections::BTreeMap;
use zazen::protocol::Rng;

/// Values of messages by the names that they stand under.
pub(crate) type Named = BTreeMap<String, Vec<Value>>;

/// How many values of one name are kept.
const ALIKE_MAX: usize = 40;

/// What readers of JSON have stumbled over.
const TOKENS: [&str; 24] = [
    "null",
    "true",
    "{}",
    "[]",
    "\"\"",
    "0",
    "-1",
    "1.5",
    "1e999",
    "-0",
    "9007199254740992",
    "9007199254740993",
    "18446744073709551615",
    "18446744073709551616",
    "\"\\ud800\"",
    "\"\\u0000\"",
    "{\"a\":",
    "[[[[",
    "]",
    "}",
    ",",
    ":",
    "\"",
    "\\",
];

/// Damages bytes in a few places.
pub(crate) fn damaged(bytes: &[u8], rng: &mut Rng) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    for _ in 0..rng.between(1, 4) {
        let at = rng.below(bytes.len() as u64 + 1) as usize;
        let until = at + rng.below((bytes.len() - at).min(40) as u64 + 1) as usize;
        match rng.below(7) {
            0 => bytes.truncate(at),
            1 => drop(bytes.drain(at..until)),
            2 => {
                let copy = bytes[at..until].to_vec();
                bytes.splice(at..at, copy);
            }
            3 | 4 => {
                let token = *rng.pick(&TOKENS).expect("there are tokens");
                let end = if rng.percent(50) { until } else { at };
                bytes.splice(at..end, token.bytes());
            }
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << rng.below(8);
                }
            }
        }
    }
    bytes
}

/// Changes some values into others. `foreign` are values that other messages hold under the same names.
pub(crate) fn changed(value: &Value, foreign: &Named, rng: &mut Rng) -> Value {
    let mut value = value.clone();
    for _ in 0..rng.between(1, 4) {
        let mut places = Vec::new();
        pointers(&value, &mut String::new(), &mut places);
        let place = rng.pick(&places).expect("the top is a place").clone();
        let name = place.rsplit('/').next().unwrap_or_default();
        let alike = foreign.get(name).map_or(&[][..], Vec::as_slice);
        let other = rng.pick(&places).and_then(|other| value.pointer(other)).cloned().unwrap_or_default();
        let target = value.pointer_mut(&place).expect("it was found there");
        match rng.below(10) {
            0..=4 if !alike.is_empty() => *target = rng.pick(alike).expect("there are some").clone(),
            0..=6 => change_scalar(target, rng),
            7 => *target = other,
            8 => *target = token(rng),
            _ => change_shape(target, rng),
        }
    }
    value
}

/// Takes most values over that other messages hold under the same names.
pub(crate) fn adopted(value: &Value, foreign: &Named, rng: &mut Rng) -> Value {
    let mut value = value.clone();
    let mut places = Vec::new();
    pointers(&value, &mut String::new(), &mut places);
    for place in places {
        let name = place.rsplit('/').next().unwrap_or_default();
        let alike = foreign.get(name).map_or(&[][..], Vec::as_slice);
        // What stood further down may be gone with what was taken over above it.
        if rng.percent(70)
            && let (Some(taken), Some(target)) = (rng.pick(alike), value.pointer_mut(&place))
            && !matches!(name, "" | "kind" | "body")
        {
            target.clone_from(taken);
        }
    }
    value
}

/// Keeps every value under the name that it stands under; where there are many, in the place of any other.
pub(crate) fn keep_named(value: &Value, kept: &mut Named, rng: &mut Rng) {
    let mut places = Vec::new();
    pointers(value, &mut String::new(), &mut places);
    for place in places {
        let name = place.rsplit('/').next().unwrap_or_default();
        let alike = kept.entry(name.to_owned()).or_default();
        let value = value.pointer(&place).cloned().unwrap_or_default();
        if alike.len() < ALIKE_MAX {
            alike.push(value);
        } else {
            alike[rng.below(ALIKE_MAX as u64) as usize] = value;
        }
    }
}

/// The places of all values, in the way of `Value::pointer`.
pub(crate) fn pointers(value: &Value, prefix: &mut String, found: &mut Vec<String>) {
    found.push(prefix.clone());
    let length = prefix.len();
    let mut visit = |name: &str, value: &Value| {
        prefix.push('/');
        prefix.push_str(&name.replace('~', "~0").replace('/', "~1"));
        pointers(value, prefix, found);
        prefix.truncate(length);
    };
    match value {
        Value::Object(fields) => fields.iter().for_each(|(name, value)| visit(name, value)),
        Value::Array(items) => items.iter().enumerate().for_each(|(index, value)| visit(&index.to_string(), value)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

fn change_scalar(value: &mut Value, rng: &mut Rng) {
    *value = match &*value {
        Value::Bool(is_so) => json!(!is_so),
        Value::Number(number) => {
            let number = number.as_u64().unwrap_or(0);
            let choices =
                [number.saturating_add(1), number.saturating_sub(1), 0, 1 << 53, (1 << 53) - 1, number ^ 1_000];
            json!(*rng.pick(&choices).expect("there are choices"))
        }
        Value::String(text) => {
            let choices = [format!("{text}x"), String::new(), "x".repeat(300), text.chars().skip(1).collect()];
            json!(*rng.pick(&choices).expect("there are choices"))
        }
        Value::Null | Value::Array(_) | Value::Object(_) => token(rng),
    };
}

fn change_shape(value: &mut Value, rng: &mut Rng) {
    match value {
        Value::Object(fields) if rng.percent(50) => {
            let names: Vec<String> = fields.keys().cloned().collect();
            rng.pick(&names).and_then(|name| fields.remove(name));
        }
        Value::Object(fields) => {
            fields.insert("unheard-of".into(), token(rng));
        }
        Value::Array(items) if rng.percent(50) => {
            let copies: Vec<Value> = items.iter().cycle().take(items.len() * 3).cloned().collect();
            *items = copies;
        }
        Value::Array(items) => drop(items.pop()),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {
            let levels = *rng.pick(&[1, 2, 200]).expect("there are choices");
            *value = (0..levels).fold(value.take(), |value, _| json!([value]));
        }
    }
}

/// A token that is JSON by itself.
fn token(rng: &mut Rng) -> Value {
    let text = *rng.pick(&TOKENS).expect("there are tokens");
    serde_json::from_str(text).unwrap_or(Value::Null)
}
