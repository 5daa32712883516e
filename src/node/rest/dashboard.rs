//! `/_dashboard`: a page to watch a cluster on, from the program itself.
//!
//! The page asks the node that it came from and nobody else, and its policy forbids it all else: whatever a cluster holds is
//! text to it.

use super::error::RestError;
use super::parameters::{Parameter, Values};
use super::reply::Reply;
use super::route::Call;
use axum::http::header;

/// Which file of it.
pub(super) const PARAMETERS: &[Parameter] =
    &[Parameter { name: "file", values: Values::Text, default: "the page", doc: "A file that the page consists of." }];

const SCRIPT: &str = "text/javascript; charset=UTF-8";

/// The files by name, the page itself without one, with their types.
const FILES: [(&str, &str, &str); 6] = [
    ("", "text/html; charset=UTF-8", include_str!("dashboard/index.html")),
    ("dom.js", SCRIPT, include_str!("dashboard/dom.js")),
    ("model.js", SCRIPT, include_str!("dashboard/model.js")),
    ("draw.js", SCRIPT, include_str!("dashboard/draw.js")),
    ("app.js", SCRIPT, include_str!("dashboard/app.js")),
    ("style.css", "text/css; charset=UTF-8", include_str!("dashboard/style.css")),
];

/// What the page may do: run its own script, wear its own style, ask its own node. Nobody may put a frame around it.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
                      base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// A file of the page.
pub(super) async fn show(call: Call) -> Result<Reply, RestError> {
    let name = call.parameters.text("file").unwrap_or_default();
    let file = FILES.iter().find(|(known, ..)| *known == name);
    let (_, content_type, text) =
        file.ok_or_else(|| RestError::no_resource(format!("the dashboard has no file [{name}]")))?;
    // A node that was upgraded shows its new page at once.
    let reply = Reply::file(content_type, text).with_header(header::CACHE_CONTROL, "no-cache");
    let reply = reply.with_header(header::CONTENT_SECURITY_POLICY, POLICY);
    Ok(reply.with_header(header::X_CONTENT_TYPE_OPTIONS, "nosniff").with_header(header::REFERRER_POLICY, "no-referrer"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_loads_nothing_from_elsewhere_and_takes_no_text_for_markup() {
        for (name, _, text) in FILES {
            for forbidden in
                ["innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "//cdn", "@import"]
            {
                assert!(!text.contains(forbidden), "{name} has {forbidden}");
            }
            let addresses = text.match_indices("http").map(|(at, _)| &text[at..]);
            let strange = addresses.filter(|text| text.starts_with("http://") || text.starts_with("https://"));
            let mut strange = strange.filter(|text| !text.starts_with("http://www.w3.org/2000/svg"));
            assert_eq!(strange.next().map(|text| text.chars().take(40).collect::<String>()), None, "{name}");
        }
        let page = FILES[0].2;
        assert!(!page.contains(" on") || !page.contains("onclick="), "the policy forbids handlers in the markup");
        assert!(!page.contains("style="), "and styles in it");
    }
}
