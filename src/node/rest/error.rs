//! Why a request failed, and how Elasticsearch says so: each kind of error once, with its name and its status.
//!
//! Mirrors `ElasticsearchException`, `RestStatus` and `BytesRestResponse.build` (6.8).

use super::body::{Json, Place};
use crate::cluster::{Blocks, Revision};
use crate::service::{Answer, Refusal};
use crate::settings::{Exception, Objection};
use axum::http::StatusCode;
use std::fmt;

/// What kind of error it is. The names are those of Elasticsearch's classes, because clients look at them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The request asks for nothing.
    ActionRequestValidation,
    /// The query cannot be decoded.
    BadParameter,
    /// It would take more memory than there is for requests and answers.
    CircuitBreaking,
    /// A global block refuses the request.
    ClusterBlock,
    /// The `Content-Type` is no media type, or there are two.
    ContentTypeHeader,
    /// A text is no date.
    DateTimeParse,
    /// A part of a body is missing.
    ElasticsearchParse,
    /// Too much is waiting already.
    EsRejectedExecution,
    /// Whether it was carried out is not known.
    FailedToCommitClusterState,
    /// An argument makes no sense.
    IllegalArgument,
    /// Something is not as it must be.
    IllegalState,
    /// There is no such index.
    IndexNotFound,
    /// No index can have this name.
    InvalidIndexName,
    /// A body is no JSON.
    JsonParse,
    /// Another holds the lease.
    LeaseHeld,
    /// The grant of the lease has ended.
    LeaseNotHeld,
    /// No master was found in time.
    MasterNotDiscovered,
    /// The node is about to end.
    NodeClosed,
    /// A text is no number.
    NumberFormat,
    /// The task was queued for too long.
    ProcessClusterEventTimeout,
    /// What became of a request is remembered no longer.
    RequestForgotten,
    /// There is no parser of this name.
    NamedObjectNotFound,
    /// A part of a search makes no sense.
    Parsing,
    /// There is no repository of this name.
    RepositoryMissing,
    /// There is nothing of this name.
    ResourceNotFound,
    /// Nobody knows who asks, or they may not.
    Security,
    /// Somebody ended the request.
    TaskCancelled,
    /// What was waited for did not come in time.
    Timeout,
    /// The request line or the headers are too long.
    TooLongFrame,
    /// There is no mapping of this type.
    TypeMissing,
    /// It is not done here.
    UnsupportedOperation,
    /// It was changed since.
    VersionConflict,
    /// A field of a body is not known.
    XContentParse,
}

impl Kind {
    /// The class, without `Exception`.
    fn class(self) -> &'static str {
        match self {
            Kind::ActionRequestValidation => "ActionRequestValidation",
            Kind::BadParameter => "BadParameter",
            Kind::CircuitBreaking => "CircuitBreaking",
            Kind::ClusterBlock => "ClusterBlock",
            Kind::ContentTypeHeader => "ContentTypeHeader",
            Kind::DateTimeParse => "DateTimeParse",
            Kind::ElasticsearchParse => "ElasticsearchParse",
            Kind::EsRejectedExecution => "EsRejectedExecution",
            Kind::FailedToCommitClusterState => "FailedToCommitClusterState",
            Kind::IllegalArgument => "IllegalArgument",
            Kind::IllegalState => "IllegalState",
            Kind::IndexNotFound => "IndexNotFound",
            Kind::InvalidIndexName => "InvalidIndexName",
            Kind::JsonParse => "JsonParse",
            Kind::LeaseHeld => "LeaseHeld",
            Kind::LeaseNotHeld => "LeaseNotHeld",
            Kind::MasterNotDiscovered => "MasterNotDiscovered",
            Kind::NodeClosed => "NodeClosed",
            Kind::NamedObjectNotFound => "NamedObjectNotFound",
            Kind::Parsing => "Parsing",
            Kind::NumberFormat => "NumberFormat",
            Kind::ProcessClusterEventTimeout => "ProcessClusterEventTimeout",
            Kind::RequestForgotten => "RequestForgotten",
            Kind::RepositoryMissing => "RepositoryMissing",
            Kind::ResourceNotFound => "ResourceNotFound",
            Kind::Security => "ElasticsearchSecurity",
            Kind::TaskCancelled => "TaskCancelled",
            Kind::Timeout => "ElasticsearchTimeout",
            Kind::TooLongFrame => "TooLongFrame",
            Kind::TypeMissing => "TypeMissing",
            Kind::UnsupportedOperation => "UnsupportedOperation",
            Kind::VersionConflict => "VersionConflictEngine",
            Kind::XContentParse => "XContentParse",
        }
    }

    /// The status, where the error does not bring its own.
    fn status(self) -> StatusCode {
        match self {
            Kind::ActionRequestValidation
            | Kind::BadParameter
            | Kind::ContentTypeHeader
            | Kind::DateTimeParse
            | Kind::ElasticsearchParse
            | Kind::IllegalArgument
            | Kind::InvalidIndexName
            | Kind::JsonParse
            | Kind::NamedObjectNotFound
            | Kind::NumberFormat
            | Kind::Parsing
            | Kind::TaskCancelled
            | Kind::TooLongFrame
            | Kind::UnsupportedOperation
            | Kind::XContentParse => StatusCode::BAD_REQUEST,
            Kind::IndexNotFound | Kind::RepositoryMissing | Kind::ResourceNotFound | Kind::TypeMissing => {
                StatusCode::NOT_FOUND
            }
            Kind::LeaseHeld | Kind::LeaseNotHeld | Kind::RequestForgotten | Kind::VersionConflict => {
                StatusCode::CONFLICT
            }
            Kind::CircuitBreaking | Kind::EsRejectedExecution => StatusCode::TOO_MANY_REQUESTS,
            Kind::FailedToCommitClusterState | Kind::IllegalState | Kind::NodeClosed | Kind::Timeout => {
                StatusCode::INTERNAL_SERVER_ERROR
            }
            Kind::Security => StatusCode::FORBIDDEN,
            Kind::ClusterBlock | Kind::MasterNotDiscovered | Kind::ProcessClusterEventTimeout => {
                StatusCode::SERVICE_UNAVAILABLE
            }
        }
    }

    /// Whether the class is Elasticsearch's own; only these are named where details are off.
    fn is_elasticsearch(self) -> bool {
        match self {
            Kind::CircuitBreaking
            | Kind::ClusterBlock
            | Kind::ElasticsearchParse
            | Kind::FailedToCommitClusterState
            | Kind::IndexNotFound
            | Kind::InvalidIndexName
            | Kind::MasterNotDiscovered
            | Kind::NodeClosed
            | Kind::Parsing
            | Kind::ProcessClusterEventTimeout
            | Kind::RepositoryMissing
            | Kind::ResourceNotFound
            | Kind::Security
            | Kind::TaskCancelled
            | Kind::Timeout
            | Kind::TypeMissing
            | Kind::VersionConflict => true,
            Kind::ActionRequestValidation
            | Kind::BadParameter
            | Kind::ContentTypeHeader
            | Kind::DateTimeParse
            | Kind::EsRejectedExecution
            | Kind::IllegalArgument
            | Kind::IllegalState
            | Kind::JsonParse
            | Kind::LeaseHeld
            | Kind::LeaseNotHeld
            | Kind::NamedObjectNotFound
            | Kind::NumberFormat
            | Kind::RequestForgotten
            | Kind::TooLongFrame
            | Kind::UnsupportedOperation
            | Kind::XContentParse => false,
        }
    }

    /// The name in an answer: the class in small letters, without the name of the house.
    fn name(self) -> String {
        let class = self.class();
        let mut name = String::new();
        for letter in class.strip_prefix("Elasticsearch").unwrap_or(class).chars() {
            if letter.is_ascii_uppercase() && !name.is_empty() {
                name.push('_');
            }
            name.push(letter.to_ascii_lowercase());
        }
        name + "_exception"
    }
}

/// Why a request failed.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct RestError {
    kind: Kind,
    status: StatusCode,
    reason: Option<String>,
    /// What the request was about, by name.
    about: Vec<(&'static str, Json)>,
    caused_by: Option<Box<RestError>>,
    /// What it began with, where that is another one.
    root: Option<Box<RestError>>,
    /// What else went wrong on the way.
    suppressed: Option<Box<RestError>>,
    /// What may help, in a header, as the body is Elasticsearch's.
    hint: Option<String>,
}

impl RestError {
    /// An error with a reason.
    pub(super) fn new(kind: Kind, reason: impl Into<String>) -> Self {
        let reason = Some(reason.into());
        let (caused_by, root, suppressed, hint) = (None, None, None, None);
        RestError { kind, status: kind.status(), reason, about: Vec::new(), caused_by, root, suppressed, hint }
    }

    /// An argument that makes no sense.
    pub(super) fn illegal(reason: impl Into<String>) -> Self {
        RestError::new(Kind::IllegalArgument, reason)
    }

    /// Nothing of this name.
    pub(super) fn no_resource(reason: impl Into<String>) -> Self {
        RestError::new(Kind::ResourceNotFound, reason)
    }

    /// A text that is no number.
    pub(super) fn no_number(text: &str) -> Self {
        RestError::new(Kind::NumberFormat, format!("For input string: \"{text}\""))
    }

    /// No master in time.
    pub(super) fn no_master() -> Self {
        RestError { reason: None, ..RestError::new(Kind::MasterNotDiscovered, "") }
    }

    /// A master, but none that may answer.
    pub(super) fn no_master_because(cause: RestError) -> Self {
        RestError::new(Kind::MasterNotDiscovered, cause.to_string()).caused_by(cause)
    }

    /// No index of this name.
    pub(super) fn no_index(name: &str) -> Self {
        RestError::new(Kind::IndexNotFound, "no such index")
            .about("resource.type", "index_or_alias")
            .about("resource.id", name)
            .about("index_uuid", "_na_")
            .about("index", name)
    }

    /// What refuses a request.
    pub(super) fn blocked(blocks: &Blocks) -> Self {
        let error = RestError::new(Kind::ClusterBlock, blocks.to_string());
        let status = blocks.status().and_then(|status| StatusCode::from_u16(status).ok());
        RestError { status: status.unwrap_or(error.status), ..error }
    }

    /// Adds what the request was about.
    pub(super) fn about(mut self, name: &'static str, value: impl Into<Json>) -> Self {
        self.about.push((name, value.into()));
        self
    }

    /// Something in a body that makes no sense, and where it stands.
    pub(super) fn parsing(place: Place, reason: impl Into<String>) -> Self {
        RestError::new(Kind::Parsing, reason).about("line", place.line).about("col", place.column)
    }

    /// Adds what led to it.
    pub(super) fn caused_by(self, cause: RestError) -> Self {
        RestError { caused_by: Some(Box::new(cause)), ..self }
    }

    /// Adds what it began with.
    pub(super) fn rooted_in(self, root: RestError) -> Self {
        RestError { root: Some(Box::new(root)), ..self }
    }

    /// The same, which began with nothing else.
    pub(super) fn without_root(self) -> Self {
        RestError { root: None, ..self }
    }

    /// Adds what may help.
    pub(super) fn with_hint(self, hint: String) -> Self {
        RestError { hint: Some(hint), ..self }
    }

    /// What may help, if anything.
    pub(super) fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// Elasticsearch looks for results of tasks in an index, which there is not.
    pub(super) fn no_task_index() -> Self {
        RestError::new(Kind::IndexNotFound, "no such index")
            .about("resource.type", "index_expression")
            .about("resource.id", ".tasks")
            .about("index_uuid", "_na_")
            .about("index", ".tasks")
    }

    /// A Java exception wrapped into another one, as the lowest layer of Elasticsearch does it.
    pub(super) fn wrapping(kind: Kind, reason: String) -> Self {
        let cause = RestError::illegal(reason.clone());
        RestError::new(kind, format!("java.lang.IllegalArgumentException: {reason}")).caused_by(cause)
    }

    /// A request that asks for nothing.
    pub(super) fn asks_for_nothing(what: &str) -> Self {
        RestError::new(Kind::ActionRequestValidation, format!("Validation Failed: 1: {what};"))
    }

    /// What is read is not one of those that alone are asked for.
    pub(super) fn not_matched(key: &str, found: Revision) -> Self {
        let reason = format!("key [{key}] was last changed by [{found}], which [If-Match] does not name");
        let error = RestError::new(Kind::VersionConflict, reason).about("current_revision", found.to_string());
        error.with_status(StatusCode::PRECONDITION_FAILED)
    }

    /// Whether it is that something was changed since.
    pub(super) fn is_conflict(&self) -> bool {
        self.kind == Kind::VersionConflict
    }

    /// The same with another status.
    pub(super) fn with_status(self, status: StatusCode) -> Self {
        RestError { status, ..self }
    }

    /// The reason; empty if there is none.
    pub(super) fn reason(&self) -> &str {
        self.reason.as_deref().unwrap_or_default()
    }

    /// The status of the answer.
    pub(super) fn status(&self) -> StatusCode {
        self.status
    }

    /// The body of the answer.
    pub(super) fn body(&self, has_trace: bool) -> Json {
        let roots: Json = [self.root.as_deref().unwrap_or(self).fields(has_trace)].into_iter().collect();
        let Json::Object(fields) = self.whole(has_trace) else {
            return Json::Null;
        };
        let mut error = vec![("root_cause".into(), roots)];
        error.extend(fields);
        Json::object([("error", Json::Object(error)), ("status", self.status.as_u16().into())])
    }

    /// The body where users are told no details.
    pub(super) fn brief_body(&self) -> Json {
        let text =
            if self.kind.is_elasticsearch() { self.to_string() } else { "No ElasticsearchException found".into() };
        Json::object([("error", text.into()), ("status", self.status.as_u16().into())])
    }

    fn fields(&self, has_trace: bool) -> Json {
        let mut fields = Json::object([("type", self.kind.name().into()), ("reason", self.reason.clone().into())]);
        for (name, value) in &self.about {
            fields = fields.with(name, value.clone());
        }
        fields.with_some("stack_trace", has_trace.then(|| self.to_string()))
    }

    /// With what led to it and what else went wrong.
    fn whole(&self, has_trace: bool) -> Json {
        let cause = self.caused_by.as_deref().map(|cause| cause.whole(has_trace));
        let suppressed: Option<Json> =
            self.suppressed.as_deref().map(|other| [other.whole(has_trace)].into_iter().collect());
        self.fields(has_trace).with_some("caused_by", cause).with_some("suppressed", suppressed)
    }
}

/// The class and the reason, which is all that there is of a Java stack trace.
impl fmt::Display for RestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}Exception[{}]", self.kind.class(), self.reason.as_deref().unwrap_or("null"))
    }
}

/// What an answer of the node that is not the wanted one means to a user.
impl From<Answer> for RestError {
    fn from(answer: Answer) -> Self {
        match answer {
            Answer::NotMaster | Answer::NoMaster => RestError::no_master(),
            Answer::Refused(refusal) => refusal.into(),
            Answer::TimedOut { source } => {
                let reason = format!("failed to process cluster event ({source}) in time");
                RestError::new(Kind::ProcessClusterEventTimeout, reason)
            }
            Answer::Unknown { reason } => RestError::new(Kind::FailedToCommitClusterState, reason),
            Answer::Left => RestError::new(Kind::NodeClosed, "node closed"),
            Answer::Done { .. }
            | Answer::Newest { .. }
            | Answer::Value { .. }
            | Answer::Range { .. }
            | Answer::Lease { .. }
            | Answer::Pending(_)
            | Answer::HandedOver { .. } => RestError::new(Kind::IllegalState, "the node answered another question"),
        }
    }
}

/// What Elasticsearch says of a setting that it refuses.
impl From<Objection> for RestError {
    fn from(objection: Objection) -> Self {
        let kind = match objection.exception {
            Exception::IllegalArgument => Kind::IllegalArgument,
            Exception::NumberFormat => Kind::NumberFormat,
            Exception::Parse => Kind::ElasticsearchParse,
        };
        let inner =
            |objection: Option<Box<Objection>>| objection.map(|objection| Box::new(RestError::from(*objection)));
        let (caused_by, suppressed) = (inner(objection.cause), inner(objection.suppressed));
        RestError { caused_by, suppressed, ..RestError::new(kind, objection.reason) }
    }
}

/// Why the master did not do what was asked.
impl From<Refusal> for RestError {
    fn from(refusal: Refusal) -> Self {
        let reason = refusal.to_string();
        match refusal {
            Refusal::Invalid(_) => RestError::illegal(reason),
            Refusal::TooLarge(_) => RestError::illegal(reason).with_status(StatusCode::PAYLOAD_TOO_LARGE),
            Refusal::Overloaded(_) => RestError::new(Kind::EsRejectedExecution, reason),
            Refusal::Blocked { status, .. } => {
                let error = RestError::new(Kind::ClusterBlock, reason);
                let status = StatusCode::from_u16(status).unwrap_or(error.status);
                error.with_status(status)
            }
            Refusal::Conflict { found, .. } => {
                let found = found.map_or_else(|| "none".to_owned(), |found| found.to_string());
                RestError::new(Kind::VersionConflict, reason).about("current_revision", found)
            }
            Refusal::Held { holding, holder } => RestError::new(Kind::LeaseHeld, reason)
                .about("holder", &*holder)
                .about("token", holding.token.to_string()),
            Refusal::NotHeld(_) => RestError::new(Kind::LeaseNotHeld, reason),
            Refusal::Forgotten(_) | Refusal::ForgottenForward(_) => RestError::new(Kind::RequestForgotten, reason),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::Block;
    use crate::rest::body::compact;

    #[test]
    fn an_error_reads_as_in_elasticsearch() {
        let body = |error: RestError| compact(&error.body(false));
        assert_eq!(
            body(RestError::no_master()),
            r#"{"error":{"root_cause":[{"type":"master_not_discovered_exception","reason":null}],"type":"master_not_discovered_exception","reason":null},"status":503}"#
        );
        assert_eq!(
            body(RestError::no_index("foo")),
            r#"{"error":{"root_cause":[{"type":"index_not_found_exception","reason":"no such index","resource.type":"index_or_alias","resource.id":"foo","index_uuid":"_na_","index":"foo"}],"type":"index_not_found_exception","reason":"no such index","resource.type":"index_or_alias","resource.id":"foo","index_uuid":"_na_","index":"foo"},"status":404}"#
        );
        assert_eq!(
            body(RestError::wrapping(Kind::BadParameter, "bad".into())),
            r#"{"error":{"root_cause":[{"type":"bad_parameter_exception","reason":"java.lang.IllegalArgumentException: bad"}],"type":"bad_parameter_exception","reason":"java.lang.IllegalArgumentException: bad","caused_by":{"type":"illegal_argument_exception","reason":"bad"}},"status":400}"#
        );
    }

    #[test]
    fn a_block_brings_its_own_status() {
        let blocked = |block: Block| RestError::blocked(&[block].into_iter().collect());
        assert_eq!(blocked(Block::READ_ONLY).status(), StatusCode::FORBIDDEN);
        let error = blocked(Block::NO_MASTER_ALL);
        assert_eq!(error.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(error.to_string(), "ClusterBlockException[blocked by: [SERVICE_UNAVAILABLE/2/no master];]");
    }

    #[test]
    fn details_are_given_or_kept_back_as_the_node_is_told() {
        let error = RestError::illegal("no").caused_by(RestError::no_number("x"));
        let traced = compact(&error.body(true));
        let trace = r#""stack_trace":"IllegalArgumentException[no]""#;
        assert_eq!(traced.matches(trace).count(), 2, "{traced}");
        assert!(traced.contains(r#""stack_trace":"NumberFormatException[For input string: \"x\"]""#), "{traced}");
        assert_eq!(compact(&error.brief_body()), r#"{"error":"No ElasticsearchException found","status":400}"#);
        let brief = compact(&RestError::no_master().brief_body());
        assert_eq!(brief, r#"{"error":"MasterNotDiscoveredException[null]","status":503}"#);
    }
}
