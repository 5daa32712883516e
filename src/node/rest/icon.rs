//! `/favicon.ico`, which browsers ask for unasked. Mirrors `RestController.handleFavicon` (6.8).

use axum::body::Body;
use axum::http::{HeaderValue, Method, Response, StatusCode, header};

/// Where it is.
pub(super) const PATH: &str = "/favicon.ico";

/// A circle drawn with one stroke.
static ICON: &[u8] = include_bytes!("favicon.ico");

/// The icon; nothing else can be done with it.
pub(super) fn answer(method: &Method) -> Response<Body> {
    let (status, content_type, bytes) = match *method == Method::GET {
        true => (StatusCode::OK, "image/x-icon", ICON),
        false => (StatusCode::FORBIDDEN, "text/plain; charset=UTF-8", &[][..]),
    };
    let mut response = Response::new(Body::from(bytes));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response.headers_mut().insert(header::CONTENT_LENGTH, HeaderValue::from(bytes.len()));
    response
}
