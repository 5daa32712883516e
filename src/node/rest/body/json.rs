//! A tree of values whose fields stay in the order in which they were put.
//!
//! Elasticsearch's answers have an order that people and scripts are used to; `serde_json` sorts fields, and must, because
//! states are compared by their text.

use serde_json::{Number, Value};
use std::borrow::Cow;

/// A value of an answer.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::rest) enum Json {
    /// Nothing.
    Null,
    /// True or false.
    Bool(bool),
    /// A number; one with a fraction is written with one even where it is zero.
    Number(Number),
    /// A text.
    Text(Cow<'static, str>),
    /// Values in order.
    List(Vec<Json>),
    /// Named values in order.
    Object(Vec<(Cow<'static, str>, Json)>),
}

impl Json {
    /// An object of these fields.
    pub(in crate::rest) fn object<const N: usize>(fields: [(&'static str, Json); N]) -> Json {
        Json::Object(fields.into_iter().map(|(name, value)| (Cow::Borrowed(name), value)).collect())
    }

    /// An object whose names are not known beforehand.
    pub(in crate::rest) fn map<K: Into<String>>(fields: impl IntoIterator<Item = (K, Json)>) -> Json {
        Json::Object(fields.into_iter().map(|(name, value)| (Cow::Owned(name.into()), value)).collect())
    }

    /// Puts a field behind the others of an object.
    #[must_use]
    pub(in crate::rest) fn with(mut self, name: &'static str, value: impl Into<Json>) -> Json {
        if let Json::Object(fields) = &mut self {
            fields.push((Cow::Borrowed(name), value.into()));
        }
        self
    }

    /// Puts a field behind the others, if there is a value.
    #[must_use]
    pub(in crate::rest) fn with_some(self, name: &'static str, value: Option<impl Into<Json>>) -> Json {
        match value {
            Some(value) => self.with(name, value),
            None => self,
        }
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Json::Bool(value)
    }
}

impl From<u64> for Json {
    fn from(value: u64) -> Self {
        Json::Number(value.into())
    }
}

impl From<i64> for Json {
    fn from(value: i64) -> Self {
        Json::Number(value.into())
    }
}

impl From<usize> for Json {
    fn from(value: usize) -> Self {
        Json::Number(value.into())
    }
}

impl From<u16> for Json {
    fn from(value: u16) -> Self {
        Json::Number(value.into())
    }
}

/// What is no number in JSON is null.
impl From<f64> for Json {
    fn from(value: f64) -> Self {
        Number::from_f64(value).map_or(Json::Null, Json::Number)
    }
}

impl From<&str> for Json {
    fn from(value: &str) -> Self {
        Json::Text(Cow::Owned(value.to_owned()))
    }
}

impl From<String> for Json {
    fn from(value: String) -> Self {
        Json::Text(Cow::Owned(value))
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Self {
        value.map_or(Json::Null, Into::into)
    }
}

impl<T: Into<Json>> FromIterator<T> for Json {
    fn from_iter<I: IntoIterator<Item = T>>(values: I) -> Self {
        Json::List(values.into_iter().map(Into::into).collect())
    }
}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        match value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Number(number) => Json::Number(number.clone()),
            Value::String(text) => text.as_str().into(),
            Value::Array(values) => values.iter().collect(),
            Value::Object(fields) => Json::map(fields.iter().map(|(name, value)| (name, value.into()))),
        }
    }
}
