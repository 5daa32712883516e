//! The page of the API, made from the table of routes.

use super::cat::DISPLAY;
use super::column::Column;
use super::parameters::Parameter;
use super::response_format::COMMON;
use super::route::{Answers, Route};
use super::routes::routes;
use std::fmt::Write;

const HEAD: &str = "\
<!-- Made from src/node/rest by `ZAZEN_BLESS=1 cargo test --test rest`. -->

# REST

Every path that a node understands on `http.port`, in Elasticsearch 6.8's shape.
[What differs](differences.md#rest) stands on a page of its own.

A read goes by the master: the node asks it for the newest state, which it names once a majority has confirmed that it \
still leads, and answers when that state has arrived here.
With `local=true` the node answers at once from what it has.
Parameters that are not known are refused, with the names that may have been meant.
`X-Opaque-Id` comes back with the answer.
Answers are packed with gzip or deflate for those whose `Accept-Encoding` allows it, and bodies of requests may be packed; \
pages of other origins are answered where `http.cors.enabled` says so ([settings](settings.md)).

A change goes to the master, whichever node is asked, and follows a change of masters until `master_timeout`.
What it is answered with is committed, on the disks of a majority; `acknowledged` says whether every node had applied it \
within `timeout` as well.
The two times add up: a change that was sent to a master is waited for as long as both together.
A node that is told to stop answers whoever waits there for a lease, `_cluster/health` or `_cluster/state` with 503: what they wait for may come elsewhere, where clients of Elasticsearch ask next.
Every change understands the header `Idempotency-Key`: a client draws 128 random bits, written as 22 characters of \
URL-safe base64, the last of which is `A`, `Q`, `g` or `w`, and counts its requests behind a slash, `AAAAcAAAAAAAAAAAAAAABw/7`.
A request that got no answer is sent again with the same name and `retry=true`, and is carried out once.
A name is for one request: another one under the same name is refused with 400 as long as the first is remembered, and nothing is done.
A client that may have been forgotten is refused then; one that says as `since` which version of the state it knew before its first attempt, as `GET /_cluster/state/version` tells it, is not, if that is later than all that was forgotten.
Of each client the last 128 requests are remembered, and of all clients the 256 that asked last.

A request may have a body of `http.max_content_length`, a first line of 4096 bytes and headers of 8192 bytes.

`HEAD`, where there is one, is answered as `GET` is, without the body and never packed: of an error there is the status alone.
Clients whose `exists()` takes 404 for no and any other error for a failure so fail without a reason where documents are refused, with 400; `GET` on the same path tells it.

| what went wrong | status | `error.type` |
|---|---|---|
| a parameter, a value or an escape makes no sense | 400 | `illegal_argument_exception`, `number_format_exception`, `bad_parameter_exception` |
| `Content-Type` is no media type, or there are two | 400 | `content_type_header_exception` |
| the first line or the headers are too long | 400 | `too_long_frame_exception` |
| no route has this path | 400 | `error` is a text, and there is no `status` |
| a body is missing, or is no JSON or YAML | 400 | `parse_exception`, `json_parse_exception` |
| a request asks for nothing | 400 | `action_request_validation_exception` |
| a field or a command of a body is not known | 400 | `x_content_parse_exception` |
| the request is about documents, or changes of indices, or a search that is none of `_search` and `_count` | 400 | `unsupported_operation_exception` |
| another request ended this one | 400 | `task_cancelled_exception` |
| no index can have this name | 400 | `invalid_index_name_exception` |
| there is no such index | 404 | `index_not_found_exception` |
| there is no such key, lease, node or task | 404 | `resource_not_found_exception` |
| there is no such repository, or no such type of documents | 404 | `repository_missing_exception`, `type_missing_exception` |
| the path has other methods | 405 | `error` is a text; `Allow` names them |
| the body has no `Content-Type` that is understood | 406 | `error` is a text |
| what `_cluster/health` waits for did not come in time | 408 | the body tells how the cluster is |
| a key was changed since | 409, or 412 if a header said so | `version_conflict_engine_exception`, with `current_revision` |
| another holds the lease, or nobody under this token | 409 | `lease_held_exception`, `lease_not_held_exception` |
| a repeated request may have been carried out, and what became of it is remembered no longer | 409 | `request_forgotten_exception` |
| the body is too large | 413 | there is no body |
| a key, or all keys together, would be too large | 413 | `illegal_argument_exception` |
| too many questions wait | 429 | `es_rejected_execution_exception` |
| three of four connections have requests that wait, and this one would as well | 429, with `Retry-After` | `es_rejected_execution_exception` |
| a body above 16 KiB had no turn for 10 s beside those of others | 429, with `Retry-After` | `es_rejected_execution_exception` |
| requests and answers under way take all the memory that they may | 429, with `Retry-After` | `circuit_breaking_exception` |
| a request would take more than that alone | 413 | `circuit_breaking_exception` |
| the body does not arrive in time | 408 | there is no body |
| whether a change was carried out is not known | 500 | `failed_to_commit_cluster_state_exception` |
| the master had no time for a change within `master_timeout` | 503 | `process_cluster_event_timeout_exception` |
| no master was found within `master_timeout` | 503 | `master_not_discovered_exception` |
| a block refuses the request | that of the block | `cluster_block_exception` |
";

/// The page, in Markdown.
pub fn page() -> String {
    let mut page = HEAD.to_owned();
    let _ = write!(page, "\n## What every path understands\n\n{}", parameters(COMMON.iter()));
    let _ = write!(page, "\n## What every table understands\n\n{}", parameters(DISPLAY.iter()));
    for route in routes() {
        page += &section(route);
    }
    page
}

fn section(route: &Route) -> String {
    let title = format!("`{} {}`", route.methods[0], route.paths[0]);
    let also = route.paths.iter().skip(1).map(|path| format!("`{} {path}`", route.methods[0]));
    let also = also.chain(route.methods.iter().skip(1).map(|method| format!("`{method} {}`", route.paths[0])));
    let also: Vec<String> = also.collect();
    let also = if also.is_empty() { String::new() } else { format!("Also {}.\n\n", also.join(", ")) };
    let needs =
        format!("Where users log in, it needs the role `{}`{}.", route.needs.role.name(), route.needs.touches.told());
    let mut section = format!("\n## {title}\n\n{also}{}\n{needs}\n", route.doc);
    let own = || route.parameters.iter().flat_map(|group| group.iter());
    if own().next().is_some() {
        let _ = write!(section, "\n{}", parameters(own()));
    }
    match route.answers {
        Answers::Table(columns, _) => section + "\n" + &columns_table(columns),
        Answers::Reply(..) | Answers::Refused => section,
    }
}

fn parameters<'a>(parameters: impl Iterator<Item = &'a Parameter>) -> String {
    let mut table = "| parameter | values | default | meaning |\n|---|---|---|---|\n".to_owned();
    for Parameter { name, values, default, doc } in parameters {
        let _ = writeln!(table, "| `{name}` | {} | {default} | {} |", values.name(), cell(doc));
    }
    table
}

fn columns_table(columns: &[Column]) -> String {
    let mut table = "| column | aliases | shown | tells |\n|---|---|---|---|\n".to_owned();
    for column in columns {
        let aliases: Vec<String> = column.aliases.iter().map(|alias| format!("`{alias}`")).collect();
        let shown = if column.is_default { "always" } else { "on request" };
        let _ = writeln!(table, "| `{}` | {} | {shown} | {} |", column.name, aliases.join(" "), cell(column.doc));
    }
    table
}

/// A bar would end the cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|")
}
