//! The client for servers that are no nodes: webhooks, and collectors of spans. They are known by the authorities that the
//! system trusts, or those of `SSL_CERT_FILE`.

use super::secure;
use std::time::Duration;

/// A client for a server, which may take so long for an answer.
pub(super) fn client(url: &str, timeout: Duration) -> Result<reqwest::Client, String> {
    let tls = secure::trusting_as_the_system(url.starts_with("https://")).map_err(|error| error.to_string())?;
    reqwest::Client::builder()
        .no_proxy()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .timeout(timeout)
        .tls_backend_preconfigured(tls)
        .build()
        .map_err(|error| error.to_string())
}

/// Why a server did not answer, to the last reason: the first one only says that it did not.
pub(super) fn why(error: &reqwest::Error) -> String {
    let mut text = error.to_string();
    let mut source = std::error::Error::source(error);
    while let Some(deeper) = source {
        text = format!("{text}: {deeper}");
        source = deeper.source();
    }
    text
}
