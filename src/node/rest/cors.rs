//! Requests of pages of other origins, as browsers ask for them.
//!
//! Mirrors `Netty4CorsHandler` (6.8).

use crate::settings::CorsSettings;
use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderValue, Method, Response, StatusCode, header};
use regex_lite::Regex;

/// Which origins may ask, and how.
#[derive(Debug)]
pub(super) struct Cors {
    origins: Origins,
    settings: CorsSettings,
}

#[derive(Debug)]
enum Origins {
    All,
    These(Vec<String>),
    Fitting(Regex),
}

/// What becomes of a request.
pub(super) enum CorsDecision {
    /// It is answered at once.
    Answered(Response<Body>),
    /// It is answered by its route, for a page of this origin if one asks that may.
    Passed(Option<HeaderValue>),
}

impl Cors {
    /// As the settings say; none where pages are not heeded at all. What is no regular expression fits nothing.
    pub(super) fn of(settings: &CorsSettings) -> Option<Self> {
        let text = settings.allow_origin.trim();
        let between = text.strip_prefix('/').and_then(|text| text.strip_suffix('/')).filter(|text| !text.is_empty());
        let origins = match (text, between) {
            ("*", _) => Origins::All,
            // A slash is escaped there, which means nothing elsewhere.
            (_, Some(pattern)) => match Regex::new(&format!("^(?:{})$", pattern.replace("\\/", "/"))) {
                Ok(pattern) => Origins::Fitting(pattern),
                Err(error) => {
                    tracing::error!(
                        "http.cors.allow-origin: [{text}] is no regular expression, so no origin may ask: {error}"
                    );
                    Origins::These(Vec::new())
                }
            },
            (list, None) => Origins::These(list.split(',').map(|origin| origin.trim().to_owned()).collect()),
        };
        settings.enabled.then(|| Cors { origins, settings: settings.clone() })
    }

    fn allows(&self, origin: &str) -> bool {
        match &self.origins {
            Origins::All => true,
            Origins::These(origins) => origins.iter().any(|known| !known.is_empty() && known == origin),
            Origins::Fitting(pattern) => pattern.is_match(origin),
        }
    }

    /// What becomes of a request, before anything else of it is looked at.
    pub(super) fn judge(&self, parts: &Parts) -> CorsDecision {
        let Some(origin) = parts.headers.get(header::ORIGIN) else {
            return CorsDecision::Passed(None);
        };
        let is_allowed = origin.to_str().is_ok_and(|origin| !origin.is_empty() && self.allows(origin));
        let is_preflight =
            parts.method == Method::OPTIONS && parts.headers.contains_key(header::ACCESS_CONTROL_REQUEST_METHOD);
        match (is_preflight, is_allowed) {
            (true, true) => CorsDecision::Answered(self.preflight(origin)),
            (true, false) => CorsDecision::Answered(closing()),
            (false, true) => CorsDecision::Passed(Some(origin.clone())),
            (false, false) if origin.is_empty() || is_same(origin, parts.headers.get(header::HOST)) => {
                CorsDecision::Passed(None)
            }
            (false, false) => CorsDecision::Answered(super::reply::bare(StatusCode::FORBIDDEN)),
        }
    }

    /// What an allowed origin is told beside every answer.
    pub(super) fn mark(&self, origin: &HeaderValue, headers: &mut HeaderMap) {
        let all = HeaderValue::from_static("*");
        let is_all = matches!(self.origins, Origins::All) && !self.settings.allow_credentials;
        headers.insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, if is_all { all } else { origin.clone() });
        if !is_all {
            // What one origin was told, no cache may tell another one.
            headers.append(header::VARY, HeaderValue::from_static("Origin"));
        }
        if self.settings.allow_credentials {
            headers.insert(header::ACCESS_CONTROL_ALLOW_CREDENTIALS, HeaderValue::from_static("true"));
        }
    }

    /// What a browser asks beforehand.
    fn preflight(&self, origin: &HeaderValue) -> Response<Body> {
        let mut response = super::reply::bare(StatusCode::OK);
        let headers = response.headers_mut();
        self.mark(origin, headers);
        let lines = [
            (header::ACCESS_CONTROL_ALLOW_METHODS, &self.settings.allow_methods),
            (header::ACCESS_CONTROL_ALLOW_HEADERS, &self.settings.allow_headers),
        ];
        for (name, values) in lines {
            let sendable = values.iter().filter(|value| HeaderValue::try_from(value.as_str()).is_ok());
            let line = sendable.map(String::as_str).collect::<Vec<_>>().join(",");
            if let Some(line) = HeaderValue::try_from(line).ok().filter(|line| !line.is_empty()) {
                headers.insert(name, line);
            }
        }
        headers.insert(header::ACCESS_CONTROL_MAX_AGE, HeaderValue::from(self.settings.max_age));
        response
    }
}

/// What a page is told that may not ask.
fn closing() -> Response<Body> {
    let mut response = super::reply::bare(StatusCode::FORBIDDEN);
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Whether a page comes from the very host that it asks.
fn is_same(origin: &HeaderValue, host: Option<&HeaderValue>) -> bool {
    let (Ok(origin), Some(Ok(host))) = (origin.to_str(), host.map(HeaderValue::to_str)) else {
        return false;
    };
    let origin = origin.strip_prefix("http://").or_else(|| origin.strip_prefix("https://")).unwrap_or(origin);
    origin == host
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cors(allow_origin: &str) -> Cors {
        let settings = CorsSettings { enabled: true, allow_origin: allow_origin.into(), ..CorsSettings::default() };
        Cors::of(&settings).expect("it is enabled")
    }

    #[test]
    fn origins_are_named_listed_or_fit_an_expression() {
        let cases = [
            ("*", "http://a", true),
            ("", "http://a", false),
            ("", "", false),
            ("http://a, http://b", "http://b", true),
            ("http://a", "http://ab", false),
            ("/https?:\\/\\/localhost(:[0-9]+)?/", "http://localhost:5601", true),
            ("/https?:\\/\\/localhost(:[0-9]+)?/", "http://localhost.evil", false),
            ("/(/", "(", false),
        ];
        for (allowed, origin, expected) in cases {
            assert_eq!(cors(allowed).allows(origin), expected, "{allowed} {origin}");
        }
        assert!(Cors::of(&CorsSettings::default()).is_none(), "pages are not heeded unless it is enabled");
    }
}
