//! What a route is, and which one a request takes.
//!
//! Where several patterns fit a path, the one with the earliest literal pieces wins; its methods are those that are
//! allowed. Mirrors `RestController` and `PathTrie` (6.8).

use super::column::{Column, Row};
use super::error::RestError;
use super::lane::Lane;
use super::login::Guest;
use super::parameters::{Parameter, Parameters};
use super::reply::Reply;
use super::rights::Needs;
use super::uri;
use crate::runtime::Handle;
use axum::http::{HeaderMap, HeaderName, Method};
use bytes::Bytes;
use std::net::SocketAddr;
use std::pin::Pin;

/// The methods that there are; any other word is no request.
pub(super) const METHODS: [&str; 9] = ["CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE"];

/// What whoever asks calls a request; it is told again with the answer.
pub(super) const OPAQUE_ID: HeaderName = HeaderName::from_static("x-opaque-id");

/// A request that found its route.
pub(super) struct Call {
    /// The node that was asked.
    pub(super) handle: Handle,
    /// The route that it found.
    pub(super) route: &'static Route,
    /// Who asks, where that is known.
    pub(super) guest: Option<Guest>,
    /// Where it goes on with what takes long.
    pub(super) lane: Lane,
    /// The path as it was meant.
    pub(super) path: String,
    /// The path and the query as they were sent.
    pub(super) target: String,
    /// What is to be done.
    pub(super) method: Method,
    /// What it was given.
    pub(super) parameters: Parameters,
    /// What stood above the body.
    pub(super) headers: HeaderMap,
    /// Who sent it, if it came over a connection.
    pub(super) peer: Option<SocketAddr>,
    /// The number of the task that it is.
    pub(super) task: u64,
    /// What came behind the headers.
    pub(super) body: Bytes,
    /// Whether figures are wanted in a form for people as well.
    pub(super) is_human: bool,
}

/// An answer on its way.
pub(super) type Answering<T> = Pin<Box<dyn Future<Output = Result<T, RestError>> + Send>>;

/// What answers look like, as it stands beside a route for `openapi`: the statuses, if 200 is not the only one, and then one
/// kind or two with `or` between, a tree in the notation of `openapi::shape`, `text`, `bytes`, `html`, `events` or `metrics`.
pub(super) type Said = &'static str;

/// How a route answers.
#[derive(Clone, Copy)]
pub(super) enum Answers {
    /// With a tree in the notation that the user wants, or a text; what it looks like stands beside it, for `openapi`.
    Reply(fn(Call) -> Answering<Reply>, Said),
    /// With the one error for all that is about documents and changes of indices, whatever it is given.
    Refused,
    /// With the rows of a table of these columns.
    Table(&'static [Column], fn(Call) -> Answering<Vec<Row>>),
}

/// What a body may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    /// A tree in a notation that `Content-Type` names.
    Tree,
    /// The same, which looks as `openapi` is told here.
    Body(&'static str),
    /// Any bytes.
    Bytes,
    /// The same, which are the value of a key.
    Value,
}

/// One row of the table of routes.
pub(super) struct Route {
    /// The methods that lead here.
    pub(super) methods: &'static [&'static str],
    /// The paths that lead here; a piece in braces stands for any text, which becomes the parameter of that name, and with a
    /// star behind the name for all that is left, slashes included.
    pub(super) paths: &'static [&'static str],
    /// What it understands, besides what all routes and all tables understand.
    pub(super) parameters: &'static [&'static [Parameter]],
    /// What whoever asks must be allowed to.
    pub(super) needs: Needs,
    /// What its body may be.
    pub(super) takes: Takes,
    /// How it answers.
    pub(super) answers: Answers,
    /// What it is called where it is counted, by Elasticsearch's names where there are any.
    pub(super) name: &'static str,
    /// What it is for, in whole sentences, one a line.
    pub(super) doc: &'static str,
}

/// Where a request leads.
pub(super) enum Way {
    /// To this route, with what its path captured.
    Here(&'static Route, Vec<(&'static str, String)>),
    /// To a path that knows other methods only.
    OtherMethods(Vec<&'static str>),
    /// Nowhere.
    Nowhere,
}

/// Finds the way of a request among these routes, each with the paths that count. A capture that cannot be decoded is an error,
/// whatever the method.
pub(super) fn find<'a>(
    routes: impl Iterator<Item = (&'static Route, &'a [&'static str])>,
    method: &str,
    path: &str,
) -> Result<Way, RestError> {
    let fits = |(route, paths): (&'static Route, &[&'static str])| {
        paths.iter().filter_map(|pattern| fit(pattern, path)).min().map(|captures| (captures, route))
    };
    let fitting: Vec<(Captures, &Route)> = routes.filter_map(fits).collect();
    let Some(best) = fitting.iter().map(|(captures, _)| captures).min().cloned() else {
        return Ok(Way::Nowhere);
    };
    let here: Vec<&(Captures, &Route)> = fitting.iter().filter(|(captures, _)| captures.is_like(&best)).collect();
    let captured: Result<Vec<_>, String> =
        best.0.iter().flatten().map(|(name, piece)| Ok((*name, uri::decode(piece)?))).collect();
    let captured = captured.map_err(RestError::illegal)?;
    match here.iter().find(|(_, route)| route.methods.contains(&method)) {
        Some((_, route)) => Ok(Way::Here(route, captured)),
        None => Ok(Way::OtherMethods(here.iter().flat_map(|(_, route)| route.methods).copied().collect())),
    }
}

/// For each piece of a path what captured it, if anything. Orders literal pieces before captured ones.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Captures<'a>(Vec<Option<(&'static str, &'a str)>>);

impl Captures<'_> {
    fn is_like(&self, other: &Captures<'_>) -> bool {
        self.0.iter().map(Option::is_some).eq(other.0.iter().map(Option::is_some))
    }
}

/// The captures that Elasticsearch lets be empty, where routes about documents find out later what is missing.
const MAY_BE_EMPTY: [&str; 5] = ["index", "type", "id", "nodeId", "task_id"];

/// Whether a pattern fits these pieces. An empty piece is captured by few.
fn fit<'a>(pattern: &'static str, path: &'a str) -> Option<Captures<'a>> {
    // What stands before the first capture tells most patterns from the path at once.
    let literal = pattern.split('{').next().unwrap_or(pattern);
    if literal != "/" && !path.starts_with(literal) {
        return None;
    }
    let pattern = uri::pieces(pattern);
    let takes_rest = pattern.last().is_some_and(|last| last.ends_with("*}"));
    let pieces = if takes_rest { uri::first_pieces(path, pattern.len()) } else { uri::pieces(path) };
    if pattern.len() != pieces.len() {
        return None;
    }
    let captures = pattern.into_iter().zip(pieces).map(|(wanted, piece)| match capture(wanted) {
        Some(name) if !piece.is_empty() || MAY_BE_EMPTY.contains(&name) => Some(Some((name, piece))),
        None if wanted == piece => Some(None),
        Some(_) | None => None,
    });
    captures.collect::<Option<_>>().map(Captures)
}

/// The name that a piece of a pattern captures under, if it captures.
pub(super) fn capture(piece: &str) -> Option<&str> {
    let name = piece.strip_prefix('{')?.strip_suffix('}')?;
    Some(name.strip_suffix('*').unwrap_or(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn route(methods: &'static [&'static str], paths: &'static [&'static str]) -> Route {
        let answers = Answers::Table(&[], |_| Box::pin(async { Ok(Vec::new()) }));
        Route { methods, paths, parameters: &[], needs: Needs::LOOK, takes: Takes::Tree, answers, name: "", doc: "" }
    }

    static ROUTES: [Route; 6] = [
        route(&["GET", "HEAD"], &["/"]),
        route(&["GET"], &["/_cluster/state", "/_cluster/state/{metric}", "/_cluster/state/{metric}/{indices}"]),
        route(&["PUT"], &["/_cluster/state/{metric}"]),
        route(&["POST"], &["/{index}/{type}"]),
        route(&["DELETE"], &["/{index}/_alias"]),
        route(&["GET"], &["/_keys/{key*}"]),
    ];

    fn way(method: &str, path: &str) -> String {
        match find(ROUTES.iter().map(|route| (route, route.paths)), method, path) {
            Ok(Way::Here(route, captured)) => {
                let captured: Vec<_> = captured.iter().map(|(name, value)| format!("{name}={value}")).collect();
                format!("{} {}", route.paths[0], captured.join(" "))
            }
            Ok(Way::OtherMethods(methods)) => format!("405 {}", methods.join(",")),
            Ok(Way::Nowhere) => "nowhere".into(),
            Err(error) => error.to_string(),
        }
    }

    #[test]
    fn literal_pieces_go_before_captures_and_hide_them() {
        let cases = [
            ("GET", "/", "/ "),
            ("PUT", "/", "405 GET,HEAD"),
            ("GET", "/_cluster/state/", "/_cluster/state "),
            ("GET", "/_cluster/state/a%20b/c+d", "/_cluster/state metric=a b indices=c d"),
            ("PUT", "/_cluster/state/x", "/_cluster/state/{metric} metric=x"),
            ("POST", "/_cluster/state/x", "405 GET,PUT"),
            ("POST", "/_cluster/state", "405 GET"),
            ("POST", "/_cluster/hea%6Cth", "/{index}/{type} index=_cluster type=health"),
            ("GET", "/_cluster/hea%6Cth", "405 POST"),
            ("DELETE", "/a/_alias", "/{index}/_alias index=a"),
            ("POST", "/a/_alias", "405 DELETE"),
            ("GET", "//_cluster/state", "nowhere"),
            ("GET", "/_cluster//state", "nowhere"),
            ("GET", "/a/b/c/d/e", "nowhere"),
            ("GET", "/_keys/a%2Fb/c//d/", "/_keys/{key*} key=a/b/c//d"),
            ("GET", "/_keys/", "nowhere"),
            ("GET", "*", "/ "),
            ("GET", "/a/%zz", "IllegalArgumentException[invalid escape sequence `%zz' at index 0 of: %zz]"),
        ];
        for (method, path, expected) in cases {
            assert_eq!(way(method, path), expected, "{method} {path}");
        }
    }
}
