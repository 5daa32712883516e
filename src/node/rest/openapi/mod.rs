//! `/_zazen/openapi.json`: the whole API in OpenAPI 3.1, made from the table of routes; and `/_docs`, a page that shows it.
//!
//! What answers look like stands beside each route in the notation of [`shape`], with the trees that have names in
//! `shapes.txt`. Elasticsearch 6.8 has nothing like it.

mod operation;
mod shape;

use super::body::Json;
use super::cat::DISPLAY;
use super::error::{Kind, RestError};
use super::icon;
use super::reply::Reply;
use super::response_format::COMMON;
use super::route::{Call, Route, capture};
use super::uri;
use operation::operation;
use std::collections::BTreeMap;

/// The trees that have names: a name a line, and what it stands for below it.
const SHAPES: &str = include_str!("shapes.txt");

/// The page that shows the document.
const PAGE: &str = include_str!("page.html");

const INTRODUCTION: &str = "\
Every path of a node, in Elasticsearch 6.8's shape. `required` names what an answer has unless the request takes parts away \
with `filter_path`, which every path understands and no operation lists for that reason. With `human` there are readable \
twins besides. Bodies may be sent and asked for as JSON, YAML, CBOR and SMILE; answers with a status of 400 and above are \
errors unless the operation says otherwise. Where users log in, `x-role` is the least role that may ask, and `x-touches` what is \
compared with the keys and leases of a user who may not touch all of them.";

/// The document that these routes make.
pub(super) fn show(routes: impl Iterator<Item = &'static Route>) -> Result<Reply, RestError> {
    document(routes).map(Reply::tree).map_err(|why| RestError::new(Kind::IllegalState, why))
}

/// The page.
pub(super) async fn page(_: Call) -> Result<Reply, RestError> {
    Ok(Reply::page(PAGE))
}

/// The whole of it; fails with the route whose shape cannot be read.
fn document(routes: impl Iterator<Item = &'static Route>) -> Result<Json, String> {
    let mut paths: BTreeMap<String, Vec<(String, Json)>> = BTreeMap::new();
    let mut ids = BTreeMap::new();
    for route in routes {
        for (path, method) in ways(route) {
            let id = operation_id(&mut ids, route.name);
            let operation = operation(route, path, method, &id).map_err(|why| format!("{method} {path}: {why}"))?;
            paths.entry(template(path)).or_default().push((method.to_ascii_lowercase(), operation));
        }
    }
    paths.entry(icon::PATH.to_owned()).or_default().push(("get".to_owned(), operation::icon()));
    let info = Json::object([
        ("title", "Zazen".into()),
        ("version", env!("CARGO_PKG_VERSION").into()),
        ("description", INTRODUCTION.into()),
        ("license", Json::object([("name", "Apache-2.0".into())])),
    ]);
    let paths = Json::map(paths.into_iter().map(|(path, operations)| (path, Json::map(operations))));
    Ok(Json::object([("openapi", "3.1.0".into()), ("info", info), ("paths", paths), ("components", components()?)]))
}

/// Every path with every method.
fn ways(route: &'static Route) -> impl Iterator<Item = (&'static str, &'static str)> {
    route.paths.iter().flat_map(|path| route.methods.iter().map(|method| (*path, *method)))
}

/// A path as OpenAPI writes it, which has no mark for a piece that takes the rest.
fn template(path: &str) -> String {
    path.replace("*}", "}")
}

/// A name that no other operation has.
fn operation_id(taken: &mut BTreeMap<&'static str, usize>, name: &'static str) -> String {
    let times = taken.entry(name).or_insert(0);
    *times += 1;
    if *times == 1 { name.to_owned() } else { format!("{name}_{times}") }
}

fn components() -> Result<Json, String> {
    let schemas =
        named_shapes().map(|(name, text)| Ok((name, shape::schema(text).map_err(|why| format!("{name}: {why}"))?)));
    let schemas: Result<Vec<_>, String> = schemas.collect();
    let parameters =
        COMMON.iter().chain(DISPLAY).map(|parameter| (parameter.name, operation::parameter(parameter, "query")));
    Ok(Json::object([
        ("schemas", Json::map(schemas?)),
        ("parameters", Json::map(parameters)),
        ("responses", operation::shared_responses()),
    ]))
}

/// The trees that have names.
fn named_shapes() -> impl Iterator<Item = (&'static str, &'static str)> {
    let parts = SHAPES.split("\n\n").filter(|part| !part.starts_with('#'));
    parts.filter_map(|part| part.trim().split_once('\n'))
}

/// The names that the pieces of a path are captured under.
fn captures(path: &'static str) -> impl Iterator<Item = &'static str> {
    uri::pieces(path).into_iter().filter_map(capture)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rest::body::compact;
    use crate::rest::routes::routes;
    use std::collections::BTreeSet;

    #[test]
    fn every_route_tells_what_it_answers_with() {
        let document = document(routes()).unwrap_or_else(|why| panic!("{why}: see src/node/rest/openapi/shape.rs"));
        let text = compact(&document);
        for (name, _) in named_shapes() {
            assert!(text.contains(&format!("schemas/{name}\"")), "{name} is in shapes.txt, and nothing refers to it");
        }
        let known: BTreeSet<&str> = named_shapes().map(|(name, _)| name).collect();
        for part in text.split("#/components/schemas/").skip(1) {
            let name = part.split('"').next().unwrap_or_default();
            assert!(known.contains(name), "@{name} is not in shapes.txt");
        }
    }

    #[test]
    fn no_two_paths_differ_in_the_names_of_their_pieces_only() {
        let mut seen = BTreeMap::new();
        for route in routes() {
            for (path, method) in ways(route) {
                let bare: Vec<&str> = uri::pieces(path)
                    .into_iter()
                    .map(|piece| if piece.starts_with('{') { "{}" } else { piece })
                    .collect();
                let first = seen.entry(bare.join("/")).or_insert(template(path));
                assert_eq!(*first, template(path), "{method}");
            }
        }
    }
}
