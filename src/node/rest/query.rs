//! What a query may look like: its name, and the queries inside it.
//!
//! What a query compares is not looked at, as there is nothing to compare it with. Mirrors `AbstractQueryBuilder` and the
//! builders of queries that hold others (6.8).

use super::body::{Field, Part, Place, Placed};
use super::error::{Kind, RestError};

/// What is wrong with a query.
pub(super) struct Fault {
    place: Place,
    reason: String,
    /// What else may be wrong with any argument, and so has no place of its own.
    is_argument: bool,
    cause: Option<Box<RestError>>,
}

impl Fault {
    fn at(place: Place, reason: impl Into<String>) -> Fault {
        Fault { place, reason: reason.into(), is_argument: false, cause: None }
    }

    fn argument(place: Place, reason: impl Into<String>) -> Fault {
        Fault { is_argument: true, ..Fault::at(place, reason) }
    }

    /// As a search tells it.
    pub(super) fn of_search(self) -> RestError {
        if self.is_argument {
            return RestError::illegal(self.reason);
        }
        let error = RestError::parsing(self.place, self.reason);
        match self.cause {
            Some(cause) => error.caused_by(*cause),
            None => error,
        }
    }

    /// As a count tells it, which wraps what has no place.
    pub(super) fn of_count(self) -> RestError {
        if self.is_argument {
            return RestError::parsing(self.place, "Failed to parse").caused_by(RestError::illegal(self.reason));
        }
        self.of_search()
    }
}

/// What is said of a query that is told nothing.
enum Empty {
    Fine,
    Lacks(&'static str),
    LacksArgument(&'static str),
}

use Empty::{Fine, Lacks, LacksArgument};

/// The queries that there are.
const QUERIES: [(&str, Empty); 45] = [
    ("bool", Fine),
    ("boosting", Lacks("[boosting] query requires 'positive' query to be set'")),
    ("common", LacksArgument("field name is null or empty")),
    ("constant_score", Lacks("[constant_score] requires a 'filter' element")),
    ("dis_max", Lacks("[dis_max] requires 'queries' field with at least one clause")),
    ("exists", Lacks("[exists] must be provided with a [field]")),
    ("field_masking_span", Lacks("field_masking_span must have [query] span query clause")),
    ("function_score", Fine),
    ("fuzzy", LacksArgument("field name cannot be null or empty")),
    ("geo_bounding_box", Fine),
    ("geo_distance", Lacks("geo_distance requires 'distance' to be specified")),
    ("geo_polygon", LacksArgument("fieldName must not be null")),
    ("geo_shape", Fine),
    ("has_child", Fine),
    ("has_parent", Fine),
    ("ids", Fine),
    ("match", Lacks("No text specified for text query")),
    ("match_all", Fine),
    ("match_none", Fine),
    ("match_phrase", LacksArgument("[match_phrase] requires fieldName")),
    ("match_phrase_prefix", LacksArgument("[match_phrase_prefix] requires fieldName")),
    ("more_like_this", Lacks("more_like_this requires 'like' to be specified")),
    ("multi_match", Lacks("No text specified for multi_match query")),
    ("nested", LacksArgument("[nested] requires 'path' field")),
    ("parent_id", Fine),
    ("percolate", Fine),
    ("prefix", LacksArgument("field name is null or empty")),
    ("query_string", Lacks("[query_string] must be provided with a [query]")),
    ("range", LacksArgument("field name is null or empty")),
    ("regexp", LacksArgument("field name is null or empty")),
    ("script", Lacks("script must be provided with a [script] filter")),
    ("simple_query_string", Lacks("[simple_query_string] query text missing")),
    ("span_containing", LacksArgument("inner clause [big] cannot be null.")),
    ("span_first", Lacks("span_first must have [match] span query clause")),
    ("span_multi", Lacks("[span_multi] must have [match] multi term query clause")),
    ("span_near", Lacks("span_near must include [clauses]")),
    ("span_not", Lacks("span_not must have [include] span query clause")),
    ("span_or", Lacks("span_or must include [clauses]")),
    ("span_term", LacksArgument("field name is null or empty")),
    ("span_within", Lacks("span_within must include [big]")),
    ("term", LacksArgument("field name is null or empty")),
    (
        "terms",
        Lacks("[terms] query requires a field name, followed by array of terms or a document lookup specification"),
    ),
    ("terms_set", Lacks("[terms_set] unknown token [END_OBJECT]")),
    ("type", Lacks("[type] filter needs to be provided with a value for the type")),
    ("wildcard", LacksArgument("field name is null or empty")),
];

/// Queries that hold others: the fields with these, and what else they are told.
const HOLDERS: [(&str, &[&str], &[&str]); 4] = [
    (
        "bool",
        &["must", "filter", "should", "must_not"],
        &["disable_coord", "minimum_should_match", "boost", "adjust_pure_negative", "_name"],
    ),
    ("boosting", &["positive", "negative"], &["negative_boost", "boost", "_name"]),
    ("constant_score", &["filter"], &["boost", "_name"]),
    ("dis_max", &["queries"], &["tie_breaker", "boost", "_name"]),
];

/// Looks at a query as far as its names go.
pub(super) fn check(query: &Placed) -> Result<(), Fault> {
    let Part::Object(fields) = &query.part else {
        return Err(Fault::at(query.begin, "[_na] query malformed, must start with start_object"));
    };
    let [Field { name, value, .. }, others @ ..] = fields.as_slice() else {
        let reason = format!("query malformed, empty clause found at [{}]", query.end);
        return Err(Fault::argument(query.end, reason));
    };
    let Part::Object(told) = &value.part else {
        return Err(Fault::at(value.begin, format!("[{name}] query malformed, no start_object after query name")));
    };
    let Some((_, empty)) = QUERIES.iter().find(|(known, _)| known == name) else {
        return Err(Fault::at(value.begin, format!("no [query] registered for [{name}]")));
    };
    match empty {
        Lacks(what) if told.is_empty() => return Err(Fault::at(value.end, *what)),
        LacksArgument(what) if told.is_empty() => return Err(Fault::argument(value.end, *what)),
        Fine | Lacks(_) | LacksArgument(_) => told.iter().try_for_each(|field| check_told(name, field))?,
    }
    match others.first() {
        None => Ok(()),
        Some(other) => {
            let reason = format!("[{name}] malformed query, expected [END_OBJECT] but found [FIELD_NAME]");
            Err(Fault::at(other.place, reason))
        }
    }
}

fn check_told(query: &str, field: &Field) -> Result<(), Fault> {
    let unknown = |place| Err(Fault::at(place, format!("[{query}] query does not support [{}]", field.name)));
    let name = field.name.as_str();
    if query == "match_all" && !["boost", "_name"].contains(&name) {
        return Err(unknown_field(query, field));
    }
    if query == "ids" && !["type", "values", "boost", "_name"].contains(&name) {
        return Err(unknown_field(query, field));
    }
    let Some((_, holds, others)) = HOLDERS.iter().find(|(known, ..)| *known == query) else {
        return Ok(());
    };
    let is_held = holds.contains(&name);
    match &field.value.part {
        Part::Object(_) if is_held => check(&field.value),
        Part::List(queries) if query == "dis_max" && is_held && queries.is_empty() => {
            Err(Fault::at(field.value.end, "[_na] query malformed, must start with start_object"))
        }
        Part::List(queries) if is_held => queries.iter().try_for_each(check),
        Part::List(values) if query == "bool" => values.iter().try_for_each(|value| unknown(value.begin)),
        Part::Leaf(_) if others.contains(&name) => Ok(()),
        Part::Object(_) | Part::List(_) | Part::Leaf(_) => unknown(field.value.begin),
    }
}

/// What some builders say of a field, and as what it is told.
fn unknown_field(query: &str, field: &Field) -> Fault {
    let reason = format!("[{}] [{query}] unknown field [{}], parser not found", field.place, field.name);
    let cause = RestError::new(Kind::XContentParse, reason.clone());
    Fault { cause: Some(Box::new(cause)), ..Fault::at(field.place, reason) }
}
