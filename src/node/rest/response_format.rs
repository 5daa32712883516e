//! How a user wants an answer: in which notation, for whom, and how much of it.
//!
//! These parameters are understood by every route. Mirrors `RestRequest`'s and `AbstractRestChannel`'s part in it (6.8).

use super::body::Filter;
use super::error::{Kind, RestError};
use super::parameters::{Parameter, Parameters, Values};
use axum::http::{HeaderMap, header};

/// What every route understands.
pub(super) const COMMON: &[Parameter] = &[
    Parameter {
        name: "pretty",
        values: Values::Flag,
        default: "false",
        doc: "Spreads an answer out for people; at `/` this is the default.",
    },
    Parameter {
        name: "human",
        values: Values::Flag,
        default: "false",
        doc: "Adds a readable twin in front of times, sizes and percentages.",
    },
    Parameter {
        name: "filter_path",
        values: Values::List,
        default: "everything",
        doc: "What of an answer is wanted: paths of names between dots, with `*` for any part of a name, `**` for one name or \
              more, and `-` in front of what is not wanted.",
    },
    Parameter {
        name: "format",
        values: Values::Text,
        default: "as `Accept` says, else `json`",
        doc: "The notation of an answer: `json`, `yaml`, `cbor` or `smile`, or their media types; tables are `text` without it.",
    },
    Parameter {
        name: "error_trace",
        values: Values::Flag,
        default: "false",
        doc: "Adds the class and the reason of each error once more, in one line.",
    },
];

/// A notation for trees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Format {
    /// JSON, in one line or spread out.
    Json,
    /// YAML.
    Yaml,
    /// CBOR.
    Cbor,
    /// SMILE.
    Smile,
}

impl Format {
    const ALL: [Format; 4] = [Format::Json, Format::Yaml, Format::Cbor, Format::Smile];

    fn media_type(self) -> &'static str {
        match self {
            Format::Json => "application/json",
            Format::Yaml => "application/yaml",
            Format::Cbor => "application/cbor",
            Format::Smile => "application/smile",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Format::Json => "json",
            Format::Yaml => "yaml",
            Format::Cbor => "cbor",
            Format::Smile => "smile",
        }
    }

    /// The `content-type` of an answer.
    pub(super) fn content_type(self) -> &'static str {
        match self {
            Format::Json => "application/json; charset=UTF-8",
            Format::Yaml => "application/yaml",
            Format::Cbor => "application/cbor",
            Format::Smile => "application/smile",
        }
    }

    /// The notation that a name or a media type means, if it means one.
    pub(super) fn named(text: &str) -> Option<Format> {
        let text = text.to_ascii_lowercase();
        let is_meant = |format: &Format| {
            let parameters = text.strip_prefix(format.media_type());
            text == format.name() || parameters.is_some_and(|rest| rest.is_empty() || rest.starts_with(';'))
        };
        let any = text.starts_with("application/*").then_some(Format::Json);
        Format::ALL.into_iter().find(is_meant).or(any)
    }
}

/// How an answer is wanted.
#[derive(Clone, Debug, Default)]
pub(super) struct ResponseFormat {
    /// Whether it is to be spread out, if that was said.
    pub(super) is_pretty: Option<bool>,
    /// Whether figures are wanted in a form for people as well.
    pub(super) is_human: bool,
    /// Whether errors are to tell where they come from.
    pub(super) has_trace: bool,
    /// What of it is wanted.
    pub(super) filter: Filter,
    /// The notation that was asked for.
    pub(super) asked: Option<Format>,
    /// The notation of the request itself.
    pub(super) sent: Option<Format>,
}

impl ResponseFormat {
    /// Reads it from what a request was given.
    pub(super) fn read(parameters: &Parameters, headers: &HeaderMap) -> Result<ResponseFormat, RestError> {
        let accepted = || headers.get(header::ACCEPT).and_then(|value| value.to_str().ok());
        let filter = parameters.text("filter_path").map(Filter::parse).transpose().map_err(RestError::illegal)?;
        Ok(ResponseFormat {
            is_pretty: parameters.flag("pretty")?,
            is_human: parameters.flag("human")?.unwrap_or(false),
            has_trace: parameters.flag("error_trace")?.unwrap_or(false),
            filter: filter.unwrap_or_default(),
            asked: parameters.text("format").or_else(accepted).and_then(Format::named),
            sent: content_type(headers)?.and_then(Format::named),
        })
    }

    /// The notation of a tree.
    pub(super) fn format(&self) -> Format {
        self.asked.or(self.sent).unwrap_or(Format::Json)
    }
}

/// The `Content-Type` of a request, if it says one that is a media type.
pub(super) fn content_type(headers: &HeaderMap) -> Result<Option<&str>, RestError> {
    let mut types = headers.get_all(header::CONTENT_TYPE).iter();
    let Some(first) = types.next() else {
        return Ok(None);
    };
    if types.next().is_some() {
        let reason = "only one Content-Type header should be provided".into();
        return Err(RestError::wrapping(Kind::ContentTypeHeader, reason));
    }
    let strange = |reason| RestError::wrapping(Kind::ContentTypeHeader, reason);
    match first.to_str().ok().filter(|text| is_media_type(text)) {
        Some(text) => Ok(Some(text)),
        None if first.as_bytes() == b";" => Err(strange("empty Content-Type header".into())),
        None => Err(strange(format!("invalid Content-Type header [{}]", String::from_utf8_lossy(first.as_bytes())))),
    }
}

/// Refuses what is no media type, where it was given in a query.
pub(super) fn check_media_type(text: &str) -> Result<(), RestError> {
    let refuse = || RestError::illegal(format!("invalid Content-Type header [{text}]"));
    is_media_type(text).then_some(()).ok_or_else(refuse)
}

/// Whether a body in this notation can be sent.
pub(super) fn is_body_type(content_type: &str) -> bool {
    let kind = content_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    Format::ALL.iter().any(|format| format.media_type() == kind)
}

/// Two words with a slash between, whatever follows behind a semicolon.
fn is_media_type(text: &str) -> bool {
    let is_word = |word: &str| {
        let is_letter = |c: char| c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c);
        !word.is_empty() && word.chars().all(is_letter)
    };
    let kind = text.split(';').next().unwrap_or_default().trim();
    kind.split_once('/').is_some_and(|(one, other)| is_word(one) && is_word(other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use axum::http::HeaderValue;
    use std::collections::BTreeMap;

    type Query = &'static [(&'static str, &'static str)];
    type Headers = &'static [(header::HeaderName, &'static str)];

    fn wanted(query: &[(&str, &str)], headers: &[(header::HeaderName, &str)]) -> Result<ResponseFormat, RestError> {
        let given: BTreeMap<String, String> =
            query.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect();
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(name, HeaderValue::from_str(value).expect("the sample is a header"));
        }
        ResponseFormat::read(&given.into(), &map)
    }

    #[test]
    fn the_notation_is_what_was_asked_for_or_sent() {
        let cases: [(Query, Headers, Option<Format>, Format); 9] = [
            (&[], &[], None, Format::Json),
            (&[("format", "YAML")], &[(header::ACCEPT, "application/json")], Some(Format::Yaml), Format::Yaml),
            (&[("format", "text")], &[(header::ACCEPT, "application/json")], None, Format::Json),
            (&[("format", "application/cbor;x")], &[], Some(Format::Cbor), Format::Cbor),
            (&[], &[(header::ACCEPT, "application/*")], Some(Format::Json), Format::Json),
            (&[], &[(header::ACCEPT, "*/*")], None, Format::Json),
            (&[], &[(header::ACCEPT, "text/html, application/yaml")], None, Format::Json),
            (&[], &[(header::CONTENT_TYPE, "application/yaml; charset=UTF-8")], None, Format::Yaml),
            (&[("format", "smile")], &[], Some(Format::Smile), Format::Smile),
        ];
        for (query, headers, asked, format) in cases {
            let wanted = wanted(query, headers).unwrap_or_else(|error| panic!("{query:?} {headers:?}: {error}"));
            assert_eq!((wanted.asked, wanted.format()), (asked, format), "{query:?} {headers:?}");
        }
    }

    #[test]
    fn headers_and_booleans_that_make_no_sense_are_refused() {
        let reason = |query: &[(&str, &str)], headers: &[(header::HeaderName, &str)]| {
            wanted(query, headers).map(drop).map_err(|error| error.to_string())
        };
        let class = "ContentTypeHeaderException[java.lang.IllegalArgumentException: ";
        assert_eq!(
            reason(&[], &[(header::CONTENT_TYPE, "foo")]),
            Err(format!("{class}invalid Content-Type header [foo]]"))
        );
        let empty = reason(&[], &[(header::CONTENT_TYPE, "")]);
        assert_eq!(empty, Err(format!("{class}invalid Content-Type header []]")));
        let two = [(header::CONTENT_TYPE, "application/json"), (header::CONTENT_TYPE, "application/json")];
        assert_eq!(reason(&[], &two), Err(format!("{class}only one Content-Type header should be provided]")));
        let words = "IllegalArgumentException[Failed to parse value [perhaps] as only [true] or [false] are allowed.]";
        for name in ["pretty", "human", "error_trace"] {
            assert_eq!(reason(&[(name, "perhaps")], &[]), Err(words.into()), "{name}");
        }
        assert!(reason(&[("filter_path", "-")], &[]).is_err());
    }

    #[test]
    fn bodies_come_in_known_notations_only() {
        for (text, expected) in [
            ("application/json", true),
            ("Application/JSON; charset=UTF-8", true),
            ("application/smile", true),
            ("application/x-ndjson", false),
            ("application/x-www-form-urlencoded", false),
        ] {
            assert_eq!(is_body_type(text), expected, "{text}");
        }
    }
}
