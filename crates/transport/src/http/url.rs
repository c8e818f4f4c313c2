//! Where to call.

use http::Uri;
use http::uri::Scheme;

/// A URL that cannot be called.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// Not a URL.
    #[error("{0:?} is not a URL to call; write it as \"http://host:port/path\"")]
    Malformed(String),
    /// A URL of another kind.
    #[error(
        "{0:?} cannot be called over HTTP; its scheme must be \"http\", or \"https\" with the feature `tls`"
    )]
    Scheme(String),
    /// TLS cannot be set up for it.
    #[error("{0}")]
    Tls(String),
    /// A URL with a user's name or password in it. It is not shown, lest it ends up in a log.
    #[error("the URL holds credentials; leave them out, and send an `Authorization` header")]
    Credentials,
}

/// Checks that a text is the URL of something to call.
pub(super) fn parse(text: &str) -> Result<Uri, UrlError> {
    let malformed = || UrlError::Malformed(text.to_owned());
    let uri = Uri::try_from(text).map_err(|_| malformed())?;
    if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Err(UrlError::Credentials);
    }
    match uri.scheme() {
        Some(scheme) if *scheme == Scheme::HTTP => {}
        Some(scheme) if cfg!(feature = "tls") && *scheme == Scheme::HTTPS => {}
        Some(_) => return Err(UrlError::Scheme(text.to_owned())),
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
        let check = |url: &str, expected: UrlError| assert_eq!(parse(url), Err(expected), "{url}");
        assert_eq!(parse("https://a.example/").is_ok(), cfg!(feature = "tls"));
        check("ws://a.example/", UrlError::Scheme("ws://a.example/".to_owned()));
        check("http://me:pw@a.example/", UrlError::Credentials);
        for url in ["", "/rpc", "localhost:8000", "http://", "not a url"] {
            check(url, UrlError::Malformed(url.to_owned()));
        }
    }
}
