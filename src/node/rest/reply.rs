//! An answer before and after it is written: status, content, and the headers that belong to it.
//!
//! Mirrors `BytesRestResponse` (6.8).

use super::body::{Json, cbor, compact, pretty, smile, yaml};
use super::error::RestError;
use super::release::warning;
use super::response_format::{Format, ResponseFormat};
use crate::runtime::tasks::Running;
use axum::body::Body;
use axum::http::{HeaderName, HeaderValue, Response, StatusCode, header};
use bytes::Bytes;
use futures_util::StreamExt;
use tokio_util::sync::CancellationToken;

const TEXT: &str = "text/plain; charset=UTF-8";
const HTML: &str = "text/html; charset=UTF-8";
const BYTES: &str = "application/octet-stream";

/// Tells what may help where the body is word for word Elasticsearch's.
pub const HINT: HeaderName = HeaderName::from_static("x-zazen-hint");

/// What an answer says.
#[derive(Debug)]
enum Content {
    /// A tree.
    Tree(Json),
    /// Text.
    Text(String),
    /// A page for browsers.
    Page(&'static str),
    /// Bytes of a user's own.
    Bytes(Bytes),
    /// A file of this type that is part of the program.
    File(&'static str, &'static str),
    /// Something of this type that is written as it comes.
    Stream(&'static str, Body),
}

/// An answer.
#[derive(Debug)]
pub(super) struct Reply {
    /// Its status.
    status: StatusCode,
    /// What it says.
    content: Content,
    /// Whether a tree is spread out unless the user says otherwise.
    is_pretty: bool,
    /// What stands beside it.
    headers: Vec<(HeaderName, HeaderValue)>,
    /// Whether a user may ask for a part of it.
    is_partial: bool,
}

impl Reply {
    fn of(content: Content) -> Self {
        Reply { status: StatusCode::OK, content, is_pretty: false, headers: Vec::new(), is_partial: true }
    }

    /// A tree, and all went well.
    pub(super) fn tree(json: Json) -> Self {
        Reply::of(Content::Tree(json))
    }

    /// Text, and all went well.
    pub(super) fn text(text: String) -> Self {
        Reply::of(Content::Text(text))
    }

    /// A page for browsers, and all went well.
    pub(super) fn page(html: &'static str) -> Self {
        Reply::of(Content::Page(html))
    }

    /// Bytes of a user's own, as they are.
    pub(super) fn bytes(bytes: Bytes) -> Self {
        Reply::of(Content::Bytes(bytes))
    }

    /// A file that is part of the program.
    pub(super) fn file(content_type: &'static str, text: &'static str) -> Self {
        Reply::of(Content::File(content_type, text))
    }

    /// Something that is written as it comes.
    pub(super) fn stream(content_type: &'static str, body: Body) -> Self {
        Reply::of(Content::Stream(content_type, body))
    }

    /// The same with another status.
    pub(super) fn with_status(self, status: StatusCode) -> Self {
        Reply { status, ..self }
    }

    /// The same, spread out unless the user says otherwise.
    pub(super) fn pretty(self) -> Self {
        Reply { is_pretty: true, ..self }
    }

    /// The same with a header; a value that cannot stand in one is left out.
    pub(super) fn with_header(mut self, name: HeaderName, value: impl AsRef<str>) -> Self {
        // The values of all headers of ours are text in UTF-8, which may go beyond ASCII.
        self.headers.extend(HeaderValue::from_bytes(value.as_ref().as_bytes()).ok().map(|value| (name, value)));
        self
    }

    /// The same with a warning, as Elasticsearch writes those of what is deprecated.
    pub(super) fn with_warning(self, text: &str) -> Self {
        self.with_header(header::WARNING, warning(text))
    }

    /// The same as a part of a task, which lasts as long as what is written as it comes, and ends it.
    pub(super) fn while_running(self, task: Running, until: Option<CancellationToken>) -> Self {
        let content = match self.content {
            Content::Stream(content_type, body) => {
                let ended = async move {
                    match until {
                        // Whoever goes on listening must still be allowed to.
                        Some(until) => tokio::select! {
                            () = task.cancelled() => {}
                            () = until.cancelled() => {}
                        },
                        None => task.cancelled().await,
                    }
                };
                let body = body.into_data_stream().take_until(Box::pin(ended));
                Content::Stream(content_type, Body::from_stream(body))
            }
            content @ (Content::Tree(_)
            | Content::Text(_)
            | Content::Page(_)
            | Content::Bytes(_)
            | Content::File(..)) => content,
        };
        Reply { content, ..self }
    }

    /// The same, of which a user always gets the whole.
    pub(super) fn whole(self) -> Self {
        Reply { is_partial: false, ..self }
    }

    /// An error that has no class.
    pub(super) fn simple_error(status: StatusCode, text: String) -> Self {
        let body = Json::object([("error", text.into()), ("status", status.as_u16().into())]);
        Reply::tree(body).with_status(status).whole()
    }

    /// An error; the node may keep its details to itself.
    pub(super) fn error(error: &RestError, has_trace: bool, is_detailed: bool) -> Self {
        let body = if is_detailed { error.body(has_trace) } else { error.brief_body() };
        let reply = Reply::tree(body).with_status(error.status()).whole();
        match error.hint().filter(|_| is_detailed) {
            Some(hint) => reply.with_header(HINT, hint),
            None => reply,
        }
    }

    /// Writes it as the user wants it.
    pub(super) fn write(self, wanted: &ResponseFormat) -> Response<Body> {
        let is_pretty = wanted.is_pretty.unwrap_or(self.is_pretty);
        let mut response = match self.content {
            Content::Tree(json) => {
                let json = if self.is_partial { part(json, wanted) } else { Some(json) };
                let format = wanted.format();
                let bytes = json.map_or_else(Vec::new, |json| written(&json, format, is_pretty));
                response(self.status, format.content_type(), bytes)
            }
            Content::Text(text) => response(self.status, TEXT, text.into_bytes()),
            Content::Page(html) => response(self.status, HTML, html),
            Content::Bytes(bytes) => response(self.status, BYTES, bytes),
            Content::File(content_type, text) => response(self.status, content_type, text.as_bytes()),
            Content::Stream(content_type, body) => streamed(self.status, content_type, body),
        };
        response.headers_mut().extend(self.headers);
        response
    }
}

/// What the user wants of it. Of an object an empty one is left at least, of a list nothing.
fn part(json: Json, wanted: &ResponseFormat) -> Option<Json> {
    let empty = matches!(json, Json::Object(_)).then(|| Json::object([]));
    wanted.filter.apply(json).or(empty)
}

fn written(json: &Json, format: Format, is_pretty: bool) -> Vec<u8> {
    match format {
        Format::Json if is_pretty => pretty(json).into_bytes(),
        Format::Json => compact(json).into_bytes(),
        Format::Yaml => yaml(json).into_bytes(),
        Format::Cbor => cbor(json),
        Format::Smile => smile(json),
    }
}

/// An answer with all that every answer has.
fn response(status: StatusCode, content_type: &'static str, bytes: impl Into<Bytes>) -> Response<Body> {
    let bytes: Bytes = bytes.into();
    let length = HeaderValue::from(bytes.len());
    let mut response = streamed(status, content_type, Body::from(bytes));
    response.headers_mut().insert(header::CONTENT_LENGTH, length);
    response
}

/// An answer whose length nobody knows yet.
fn streamed(status: StatusCode, content_type: &'static str, body: Body) -> Response<Body> {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// An answer of a status alone.
pub(super) fn bare(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(0));
    response
}
