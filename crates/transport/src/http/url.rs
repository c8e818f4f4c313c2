//! URLs to call.

use http::Uri;
use http::uri::Scheme;

/// A URL that cannot be called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum HttpUrlError {
    /// It is not a URL.
    #[error("{0:?} is not a URL to call; write it as \"http://host:port/path\"")]
    Malformed(String),
    /// It has another scheme.
    #[error(
        "{0:?} cannot be called over HTTP; the scheme must be \"http\", or \"https\" with the feature `tls`"
    )]
    Scheme(String),
    /// TLS cannot be set up for it.
    #[error("{0}")]
    Tls(String),
    /// It contains a user name or password. It is not shown, so that it does not end up in a log.
    #[error("the URL contains credentials; remove them and send an `Authorization` header instead")]
    Credentials,
}

/// Checks that a text is the URL of something to call.
pub(super) fn parse(text: &str) -> Result<Uri, HttpUrlError> {
    let malformed = || HttpUrlError::Malformed(text.to_owned());
    let uri = Uri::try_from(text).map_err(|_| malformed())?;
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(HttpUrlError::Credentials);
    }
    match uri.scheme() {
        Some(scheme) if *scheme == Scheme::HTTP => {}
        Some(scheme) if cfg!(feature = "tls") && *scheme == Scheme::HTTPS => {}
        Some(_) => return Err(HttpUrlError::Scheme(text.to_owned())),
        None => return Err(malformed()),
    }
    if uri.host().is_none_or(str::is_empty) { Err(malformed()) } else { Ok(uri) }
}

/// Host and port, for messages.
pub(super) fn target(uri: &Uri) -> String {
    let usual = if uri.scheme() == Some(&Scheme::HTTPS) { 443 } else { 80 };
    format!("{}:{}", uri.host().unwrap_or_default(), uri.port_u16().unwrap_or(usual))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_http_urls_without_credentials_are_taken() {
        assert_eq!(parse("http://127.0.0.1:8000/rpc?x=1").unwrap().path(), "/rpc");
        assert_eq!(parse("http://localhost").unwrap().path(), "/");
        let check = |url: &str, expected: HttpUrlError| assert_eq!(parse(url), Err(expected), "{url}");
        assert_eq!(parse("https://a.example/").is_ok(), cfg!(feature = "tls"));
        check("ws://a.example/", HttpUrlError::Scheme("ws://a.example/".to_owned()));
        check("http://me:pw@a.example/", HttpUrlError::Credentials);
        for url in ["", "/rpc", "localhost:8000", "http://", "not a url"] {
            check(url, HttpUrlError::Malformed(url.to_owned()));
        }
    }
}
