//! The URLs of transports. The transports define the schemes, and what their URLs must contain.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use super::suggest::Suggestion;

/// A URL: a scheme, followed by a host with a path, or by any text.
///
/// ```text
/// ws://host:port/path?query     host, port, path and query
/// unix:/run/rpc.sock            text; `unix:///run/rpc.sock` is the same
/// stdio                         nothing after the scheme
/// host:port/path                short for http://host:port/path
/// ```
///
/// Options such as `?framing=lsp` are in the query, or at the end of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Url {
    scheme: String,
    rest: Rest,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rest {
    /// `//host:port`, and then nothing, a path or a query.
    Place(HostPort, String),
    Text(String),
}

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct HostPort {
    /// A name or an address, without the brackets of IPv6.
    pub host: String,
    /// The port, if there is one.
    pub port: Option<u16>,
}

/// What is wrong with a URL, and how to fix it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum UrlError {
    /// No transport has this scheme.
    #[error("unknown scheme {scheme:?}{suggestion}; this build supports {known}")]
    Scheme {
        /// The scheme as it was written.
        scheme: String,
        /// A similar scheme.
        suggestion: Suggestion,
        /// All supported schemes.
        known: String,
    },
    /// Neither a scheme nor a host with a port.
    #[error(
        "{0:?} is not a URL; write it as \"http://127.0.0.1:8000\", \"tcp://127.0.0.1:8000\", \
         \"unix:/run/rpc.sock\" or \"exec:program argument\""
    )]
    Malformed(String),
    /// No host.
    #[error("{0:?} has no host; write it as \"http://127.0.0.1:8000\"")]
    Host(String),
    /// A host, for a transport that has none.
    #[error("{0:?} has a host, but {1:?} URLs have none; write it as \"{1}:{2}\"")]
    UnexpectedHost(String, String, &'static str),
    /// A port is required and missing, or invalid.
    #[error("{0:?} has no port, or one above 65535; write it as \"{scheme}://127.0.0.1:8000\"", scheme = scheme_of(.0))]
    Port(String),
    /// A user name or password. It is not shown, so that it does not end up in a log.
    #[error("the URL contains credentials; remove them and send an `Authorization` header instead")]
    Credentials,
    /// A path, for a transport that has none.
    #[error("{0:?} has a path, but this transport does not use one; remove it")]
    Path(String),
    /// Nothing after the colon.
    #[error("{0:?} has no {1}")]
    Empty(String, &'static str),
    /// An unknown framing.
    #[error("unknown framing {0:?}{1}; use \"lines\", \"json\", \"lsp\" or \"length\"")]
    Framing(String, Suggestion),
    /// A framing, for a transport that separates messages itself.
    #[error("{0:?} takes no framing option: {1} separates messages itself")]
    NoFraming(String, &'static str),
    /// An option that this transport does not support.
    #[error("{0:?} is not an option of this URL; the only option is \"framing\", as in \"?framing=lsp\"")]
    Query(String),
    /// An option, for a transport that has none.
    #[error("{0:?} is not an option of this URL, which takes no options; remove it")]
    NoOptions(String),
    /// No service, for a transport that has many at one place.
    #[error(
        "{0:?} names no service; write it as \"nats://127.0.0.1:4222/math\", with letters, digits, `-` and `_` in the name"
    )]
    Service(String),
}

impl UrlError {
    pub(super) fn unknown(url: &Url, schemes: impl Iterator<Item = &'static str>) -> UrlError {
        let schemes: Vec<&'static str> = schemes.collect();
        let suggestion = Suggestion::of(&url.scheme, schemes.iter().copied());
        if matches!(url.rest, Rest::Text(_)) && !suggestion.is_some() {
            return UrlError::Malformed(url.to_string());
        }
        let known = schemes.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
        UrlError::Scheme { scheme: url.scheme.clone(), suggestion, known }
    }
}

/// The scheme that a URL is written with.
fn scheme_of(url: &str) -> &str {
    url.split_once("://").map_or("http", |(scheme, _)| scheme)
}

impl Url {
    /// The scheme, in lower case.
    #[must_use]
    pub fn scheme(&self) -> &str {
        &self.scheme
    }

    /// The host and the port, if the URL has them.
    #[must_use]
    pub fn place(&self) -> Option<&HostPort> {
        match &self.rest {
            Rest::Place(place, _) => Some(place),
            Rest::Text(_) => None,
        }
    }

    /// The text after the scheme of a URL without a host, including options.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match &self.rest {
            Rest::Place(..) => None,
            Rest::Text(text) => Some(text),
        }
    }

    /// The path after the host, without the query; empty if there is none.
    #[must_use]
    pub fn path(&self) -> &str {
        match &self.rest {
            Rest::Place(_, path) => path.split('?').next().unwrap_or_default(),
            Rest::Text(_) => "",
        }
    }

    /// The path with the query, as in an HTTP request: at least `/`.
    #[must_use]
    pub fn path_and_query(&self) -> Cow<'_, str> {
        match &self.rest {
            Rest::Place(_, path) if path.starts_with('/') => Cow::Borrowed(path),
            Rest::Place(_, query) => Cow::Owned(format!("/{query}")),
            Rest::Text(_) => Cow::Borrowed("/"),
        }
    }

    /// The options after the last `?`, separated by `&`. In a URL without a host that text may also be a part of
    /// the name.
    pub fn options(&self) -> impl Iterator<Item = &str> {
        let (Rest::Place(_, text) | Rest::Text(text)) = &self.rest;
        let options = text.rsplit_once('?').map(|(_, options)| options);
        options.into_iter().flat_map(|options| options.split('&'))
    }

    /// The value of this option, if it is given.
    #[must_use]
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options().find_map(|option| option.strip_prefix(name)?.strip_prefix('='))
    }

    /// The text after the scheme of a URL without a host, without this option.
    #[must_use]
    pub fn text_without(&self, option: &str) -> Option<String> {
        let text = self.text()?;
        if self.option(option).is_none() {
            return Some(text.to_owned());
        }
        let (start, _) = text.rsplit_once('?')?;
        let is_other = |given: &&str| given.strip_prefix(option).is_none_or(|value| !value.starts_with('='));
        let others: Vec<&str> = self.options().filter(is_other).collect();
        Some(if others.is_empty() { start.to_owned() } else { format!("{start}?{}", others.join("&")) })
    }
}

impl FromStr for Url {
    type Err = UrlError;

    fn from_str(text: &str) -> Result<Url, UrlError> {
        let malformed = || UrlError::Malformed(text.to_owned());
        if is_bare_place(text) {
            return Ok(Url { scheme: "http".to_owned(), rest: with_place(text, text)? });
        }
        let is_scheme = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '-' | '.');
        let (scheme, rest) = text.split_at(text.find(|c| !is_scheme(c)).unwrap_or(text.len()));
        if !scheme.starts_with(|c: char| c.is_ascii_alphabetic()) {
            return Err(malformed());
        }
        let rest = match rest.strip_prefix(':') {
            Some(rest) => rest,
            None if rest.is_empty() || rest.starts_with('?') => rest,
            None => return Err(malformed()),
        };
        let rest = match rest.strip_prefix("//") {
            Some(place) if !place.is_empty() && !place.starts_with(['/', '?', '#']) => {
                with_place(place, text)?
            }
            // Without a host, two slashes mean nothing.
            Some(rest) => Rest::Text(rest.to_owned()),
            None => Rest::Text(rest.to_owned()),
        };
        Ok(Url { scheme: scheme.to_ascii_lowercase(), rest })
    }
}

/// Whether a text begins with a host and a port, where others have a scheme.
fn is_bare_place(text: &str) -> bool {
    let authority = &text[..text.find(['/', '?', '#']).unwrap_or(text.len())];
    let is_port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    authority.starts_with('[') || authority.split_once(':').is_some_and(|(_, port)| is_port(port))
}

fn with_place(text: &str, url: &str) -> Result<Rest, UrlError> {
    let (authority, path) = text.split_at(text.find(['/', '?', '#']).unwrap_or(text.len()));
    let place = place(authority, url)?;
    // What stands behind a `#` is for programs that show a page.
    let path = path.split('#').next().unwrap_or_default();
    if !path.bytes().all(|byte| byte.is_ascii_graphic()) {
        return Err(UrlError::Malformed(url.to_owned()));
    }
    Ok(Rest::Place(place, path.to_owned()))
}

fn place(authority: &str, url: &str) -> Result<HostPort, UrlError> {
    if authority.contains('@') {
        return Err(UrlError::Credentials);
    }
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) if host.parse::<std::net::Ipv6Addr>().is_ok() => (host, port),
        Some(_) => return Err(UrlError::Host(url.to_owned())),
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let port = match port.strip_prefix(':') {
        None if port.is_empty() => None,
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(digits.parse().map_err(|_| UrlError::Port(url.to_owned()))?)
        }
        _ => return Err(UrlError::Port(url.to_owned())),
    };
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%:".contains(&byte);
    if host.is_empty() || !host.bytes().all(is_host) {
        return Err(UrlError::Host(url.to_owned()));
    }
    Ok(HostPort { host: host.to_owned(), port })
}

impl fmt::Display for Url {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let scheme = &self.scheme;
        match &self.rest {
            Rest::Place(place, path) => write!(f, "{scheme}://{place}{path}"),
            Rest::Text(text) if text.is_empty() || text.starts_with('?') => write!(f, "{scheme}{text}"),
            // What keeps two slashes at the start from being dropped as those of a URL.
            Rest::Text(text) if text.starts_with("//") => write!(f, "{scheme}://{text}"),
            Rest::Text(text) => write!(f, "{scheme}:{text}"),
        }
    }
}

impl fmt::Display for HostPort {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, close) = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{open}{}{close}", self.host)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_of_every_form_are_written_as_they_are_read() {
        let check = |text: &str, scheme: &str, shown: &str| {
            let url: Url = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!((url.scheme(), url.to_string().as_str()), (scheme, shown), "{text}");
            assert_eq!(shown.parse(), Ok(url), "{text}");
        };
        check("http://127.0.0.1:8000", "http", "http://127.0.0.1:8000");
        check("HTTPS://a.example/rpc?x=1#top", "https", "https://a.example/rpc?x=1");
        check("ws://[::1]:8000/rpc/ws", "ws", "ws://[::1]:8000/rpc/ws");
        check("127.0.0.1:8000", "http", "http://127.0.0.1:8000");
        check("localhost:8000/rpc", "http", "http://localhost:8000/rpc");
        check("my_host:8000", "http", "http://my_host:8000");
        check("[::1]:8000", "http", "http://[::1]:8000");
        check("tls://localhost:4000/?framing=lsp", "tls", "tls://localhost:4000/?framing=lsp");
        check("new+scheme://host/path", "new+scheme", "new+scheme://host/path");
        check("unix:/run/a b.sock", "unix", "unix:/run/a b.sock");
        check("unix:rpc.sock?framing=lines", "unix", "unix:rpc.sock?framing=lines");
        check("stdio", "stdio", "stdio");
        check("stdio:", "stdio", "stdio");
        check("stdio?framing=lsp", "stdio", "stdio?framing=lsp");
        check("exec:python3 server.py what?", "exec", "exec:python3 server.py what?");
        check("exec:7zip x", "exec", "exec:7zip x");
        check("exec:proxy --to http://a.example:1/", "exec", "exec:proxy --to http://a.example:1/");
        check("unix:///run/a://b", "unix", "unix:/run/a://b");
        check("unix:////run/a", "unix", "unix:////run/a");
        check("EXEC:server", "exec", "exec:server");
    }

    #[test]
    fn the_parts_of_a_url_are_told_apart() {
        let url: Url = "tcp://localhost:4000/a?framing=lsp&x=1".parse().unwrap();
        assert_eq!(url.place().map(ToString::to_string).as_deref(), Some("localhost:4000"));
        assert_eq!((url.path(), url.option("framing"), url.option("x")), ("/a", Some("lsp"), Some("1")));
        assert_eq!(url.path_and_query(), "/a?framing=lsp&x=1");
        assert_eq!("http://a?x".parse::<Url>().unwrap().path_and_query(), "/?x");
        let check = |text: &str, option: Option<&str>, without: &str| {
            let url: Url = text.parse().unwrap();
            let found = (url.option("framing"), url.text_without("framing"));
            assert_eq!(found, (option, Some(without.to_owned())), "{text}");
        };
        check("exec:server what?", None, "server what?");
        check("exec:server what?framing=lsp", Some("lsp"), "server what");
        check("exec:get http://a/?x=1&framing=lsp", Some("lsp"), "get http://a/?x=1");
        check("exec:get http://a/?x=1", None, "get http://a/?x=1");
        check("stdio?framing=lines", Some("lines"), "");
    }

    #[test]
    fn the_error_for_a_malformed_url_says_what_would_be_right() {
        let check = |text: &str, expected: &str| {
            let error = text.parse::<Url>().expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        };
        check("", "is not a URL");
        check("not a url", "is not a URL");
        check("http://:8000", "no host");
        check("http://a b:1", "no host");
        check("http://a/b c", "is not a URL");
        check("http://[zz]:1", "no host");
        check("http://a:70000", "above 65535; write it as \"http://127.0.0.1:8000\"");
        check("http://a:b", "no port");
        check("http://me:secret@a.example", "credentials");
        let secret = "http://me:secret@a.example".parse::<Url>().unwrap_err().to_string();
        assert!(!secret.contains("secret"));
    }
}
