//! Where to call and where to listen: the URLs of every carrier.
//!
//! ```text
//! http://host:port/path   https://…      HTTP; a bare host:port means this
//! ws://host:port/path     wss://…        WebSocket
//! tcp://host:port         tls://…        messages over a socket
//! unix:PATH                              messages over a Unix socket
//! stdio                                  messages over stdin and stdout
//! exec:COMMAND                           messages with a program that is started
//! ```
//!
//! The last four take `?framing=` with `lines`, `json`, `lsp` or `length`. Reading a URL does not mean that this build has
//! its carrier; whoever listens or connects says so.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

/// A URL of a carrier, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Address {
    /// `http`, `https`, `ws` and `wss`.
    Web {
        /// The carrier.
        scheme: Scheme,
        /// The host, and its port unless it is the scheme's own.
        place: Place,
        /// The path with the query; at least `/`.
        path: String,
    },
    /// `tcp` and `tls`.
    Socket {
        /// The carrier.
        scheme: Scheme,
        /// The host and its port.
        place: Place,
        /// How messages are told apart.
        framing: Option<String>,
    },
    /// A Unix socket.
    Unix {
        /// Its file.
        path: PathBuf,
        /// How messages are told apart.
        framing: Option<String>,
    },
    /// Stdin and stdout.
    Stdio {
        /// How messages are told apart.
        framing: Option<String>,
    },
    /// A program.
    Exec {
        /// The program and its arguments, as they were written.
        command: String,
        /// How messages are told apart.
        framing: Option<String>,
    },
}

/// A host and a port.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Place {
    /// A name or an address; without the brackets of IPv6.
    pub host: String,
    /// The port, if there is one.
    pub port: Option<u16>,
}

/// The carrier that a URL names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
#[expect(missing_docs, reason = "each is what it is called")]
pub enum Scheme {
    Http,
    Https,
    Ws,
    Wss,
    Tcp,
    Tls,
    Unix,
    Stdio,
    Exec,
}

/// What is wrong with a URL, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum AddressError {
    /// No scheme that is known.
    #[error("the scheme {scheme:?} is not known{hint}; those known are {}", known())]
    Scheme {
        /// The scheme as it was written.
        scheme: String,
        /// `; did you mean …?` if there is one that looks alike.
        hint: Hint,
    },
    /// No scheme and no host with a port.
    #[error(
        "{0:?} is no URL; write it as \"http://127.0.0.1:8000\", \"tcp://127.0.0.1:8000\", \
         \"unix:/run/rpc.sock\" or \"exec:program argument\""
    )]
    Malformed(String),
    /// No host.
    #[error("{0:?} has no host; write it as \"http://127.0.0.1:8000\"")]
    Host(String),
    /// No port where there must be one, or one that cannot be.
    #[error("{0:?} has no port, or one above 65535; write it as \"{scheme}://127.0.0.1:8000\"", scheme = scheme_of(.0))]
    Port(String),
    /// A user's name or password. It is not shown, lest it ends up in a log.
    #[error("the URL holds credentials; leave them out, and send an `Authorization` header")]
    Credentials,
    /// A path where there can be none.
    #[error("{0:?} has a path, and a socket has none; leave it out")]
    Path(String),
    /// Nothing after the colon.
    #[error("{0:?} names no {1}; write it behind the colon")]
    Empty(String, &'static str),
    /// A framing that is none.
    #[error("the framing {0:?} is not known{1}; those known are \"lines\", \"json\", \"lsp\" and \"length\"")]
    Framing(String, Hint),
    /// A framing where messages are told apart already.
    #[error("{0:?} takes no framing: {1} tells messages apart itself")]
    NoFraming(String, &'static str),
    /// Something else in the query.
    #[error("{0:?} is no option of this URL; the only one is \"framing\", as in \"?framing=lsp\"")]
    Query(String),
}

/// A word that looks like the one that was written, if there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hint(Option<&'static str>);

impl fmt::Display for Hint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(Ok(()), |word| write!(f, " (did you mean {word:?}?)"))
    }
}

const SCHEMES: [(&str, Scheme); 9] = [
    ("http", Scheme::Http),
    ("https", Scheme::Https),
    ("ws", Scheme::Ws),
    ("wss", Scheme::Wss),
    ("tcp", Scheme::Tcp),
    ("tls", Scheme::Tls),
    ("unix", Scheme::Unix),
    ("stdio", Scheme::Stdio),
    ("exec", Scheme::Exec),
];
const FRAMINGS: [&str; 4] = ["lines", "json", "lsp", "length"];

/// The scheme that a URL is written with.
fn scheme_of(url: &str) -> &str {
    url.split_once("://").map_or("http", |(scheme, _)| scheme)
}

fn known() -> String {
    SCHEMES.map(|(name, _)| format!("{name:?}")).join(", ")
}

impl Scheme {
    /// As it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        SCHEMES.iter().find(|(_, scheme)| *scheme == self).map_or("", |(name, _)| name)
    }

    /// Whether it is spoken over TLS.
    #[must_use]
    pub fn is_secure(self) -> bool {
        matches!(self, Scheme::Https | Scheme::Wss | Scheme::Tls)
    }
}

impl Address {
    /// The carrier.
    #[must_use]
    pub fn scheme(&self) -> Scheme {
        match self {
            Address::Web { scheme, .. } | Address::Socket { scheme, .. } => *scheme,
            Address::Unix { .. } => Scheme::Unix,
            Address::Stdio { .. } => Scheme::Stdio,
            Address::Exec { .. } => Scheme::Exec,
        }
    }
}

impl FromStr for Address {
    type Err = AddressError;

    fn from_str(text: &str) -> Result<Address, AddressError> {
        let (name, rest) = match (text.split_once(':'), text.split_once("://")) {
            _ if text == "stdio" || text.starts_with("stdio?") => ("stdio", &text[5..]),
            // First of all: a command may hold a URL.
            (Some((name, rest)), _) if is_local(name) => (name, rest.strip_prefix("//").unwrap_or(rest)),
            (_, Some(parts)) => parts,
            // A bare host and port.
            (Some((_, port)), _)
                if port.starts_with(|c: char| c.is_ascii_digit()) || text.starts_with('[') =>
            {
                ("http", text)
            }
            _ => return Err(AddressError::Malformed(text.to_owned())),
        };
        let lower = name.to_ascii_lowercase();
        let Some((_, scheme)) = SCHEMES.iter().find(|(known, _)| *known == lower) else {
            let hint = alike(&lower, SCHEMES.iter().map(|(name, _)| *name));
            return Err(AddressError::Scheme { scheme: name.to_owned(), hint });
        };
        match scheme {
            Scheme::Http | Scheme::Https | Scheme::Ws | Scheme::Wss => web(*scheme, text, rest),
            Scheme::Tcp | Scheme::Tls => socket(*scheme, text, rest),
            Scheme::Unix => {
                let (path, framing) = with_framing(rest)?;
                non_empty(path, text, "file")?;
                Ok(Address::Unix { path: path.into(), framing })
            }
            Scheme::Stdio => {
                let (rest, framing) = with_framing(rest)?;
                if rest.is_empty() {
                    Ok(Address::Stdio { framing })
                } else {
                    Err(AddressError::Path(text.to_owned()))
                }
            }
            Scheme::Exec => {
                let (command, framing) = with_framing(rest)?;
                non_empty(command.trim(), text, "command; write it as \"exec:program argument\"")?;
                Ok(Address::Exec { command: command.to_owned(), framing })
            }
        }
    }
}

/// Whether what follows this scheme is no place on a network, and goes to the end of the text.
fn is_local(name: &str) -> bool {
    ["unix", "exec", "stdio"].iter().any(|local| name.eq_ignore_ascii_case(local))
}

/// What keeps two slashes at the start from being taken for those of a URL.
fn slashes(rest: &str) -> &'static str {
    if rest.starts_with("//") { "//" } else { "" }
}

impl fmt::Display for Address {
    /// The URL.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.scheme().name();
        let framing = match self {
            Address::Web { place, path, .. } => return write!(f, "{name}://{place}{path}"),
            Address::Socket { place, framing, .. } => {
                write!(f, "{name}://{place}")?;
                framing
            }
            Address::Unix { path, framing } => {
                let path = path.display().to_string();
                write!(f, "{name}:{}{path}", slashes(&path))?;
                framing
            }
            Address::Stdio { framing } => {
                f.write_str(name)?;
                framing
            }
            Address::Exec { command, framing } => {
                write!(f, "{name}:{}{command}", slashes(command))?;
                framing
            }
        };
        framing.as_ref().map_or(Ok(()), |framing| write!(f, "?framing={framing}"))
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (open, close) = if self.host.contains(':') { ("[", "]") } else { ("", "") };
        write!(f, "{open}{}{close}", self.host)?;
        self.port.map_or(Ok(()), |port| write!(f, ":{port}"))
    }
}

fn web(scheme: Scheme, text: &str, rest: &str) -> Result<Address, AddressError> {
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, path) = rest.split_at(end);
    let place = place(authority, text)?;
    // What stands after a `#` is for whoever shows a page.
    let path = path.split('#').next().unwrap_or_default();
    if path
        .split_once('?')
        .is_some_and(|(_, query)| query.split('&').any(|pair| pair.starts_with("framing=")))
    {
        let carrier = if matches!(scheme, Scheme::Http | Scheme::Https) { "HTTP" } else { "WebSocket" };
        return Err(AddressError::NoFraming(text.to_owned(), carrier));
    }
    let is_visible = |path: &str| path.bytes().all(|byte| byte.is_ascii_graphic());
    if !is_visible(path) {
        return Err(AddressError::Malformed(text.to_owned()));
    }
    let path = if path.starts_with('/') { path.to_owned() } else { format!("/{path}") };
    Ok(Address::Web { scheme, place, path })
}

fn socket(scheme: Scheme, text: &str, rest: &str) -> Result<Address, AddressError> {
    let (authority, query) = rest.split_once('?').map_or((rest, None), |(rest, query)| (rest, Some(query)));
    let framing = query.map(framing).transpose()?;
    let (authority, path) = authority.split_once('/').unwrap_or((authority, ""));
    if !path.is_empty() {
        return Err(AddressError::Path(text.to_owned()));
    }
    let place = place(authority, text)?;
    if place.port.is_none() {
        return Err(AddressError::Port(text.to_owned()));
    }
    Ok(Address::Socket { scheme, place, framing })
}

fn place(authority: &str, text: &str) -> Result<Place, AddressError> {
    if authority.contains('@') {
        return Err(AddressError::Credentials);
    }
    let (host, port) = match authority.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, port)) if host.parse::<std::net::Ipv6Addr>().is_ok() => (host, port),
        Some(_) => return Err(AddressError::Host(text.to_owned())),
        None => authority.split_at(authority.find(':').unwrap_or(authority.len())),
    };
    let port = match port.strip_prefix(':') {
        None if port.is_empty() => None,
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(digits.parse().map_err(|_| AddressError::Port(text.to_owned()))?)
        }
        _ => return Err(AddressError::Port(text.to_owned())),
    };
    let is_host = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~%:".contains(&byte);
    if host.is_empty() || !host.bytes().all(is_host) {
        return Err(AddressError::Host(text.to_owned()));
    }
    Ok(Place { host: host.to_owned(), port })
}

/// Takes the framing off the end of what may itself hold question marks.
fn with_framing(rest: &str) -> Result<(&str, Option<String>), AddressError> {
    match rest.rsplit_once('?') {
        Some((rest, query)) if query.starts_with("framing=") => Ok((rest, Some(framing(query)?))),
        _ => Ok((rest, None)),
    }
}

fn framing(query: &str) -> Result<String, AddressError> {
    let name = query.strip_prefix("framing=").ok_or_else(|| AddressError::Query(query.to_owned()))?;
    if FRAMINGS.contains(&name) {
        return Ok(name.to_owned());
    }
    Err(AddressError::Framing(name.to_owned(), alike(name, FRAMINGS.into_iter())))
}

fn non_empty(part: &str, text: &str, what: &'static str) -> Result<(), AddressError> {
    if part.is_empty() { Err(AddressError::Empty(text.to_owned(), what)) } else { Ok(()) }
}

/// The word that is at most two changes away, if there is one.
fn alike(written: &str, words: impl Iterator<Item = &'static str>) -> Hint {
    let distances = words.map(|word| (distance(written, word), word));
    Hint(distances.min().filter(|(count, word)| *count <= 2 && *count < word.len()).map(|(_, word)| word))
}

/// How many letters have to be added, removed or changed to make one word of the other.
fn distance(a: &str, b: &str) -> usize {
    // Only short words are compared.
    if a.len() > 16 {
        return usize::MAX;
    }
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut corner = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let change = corner + if x == y { 0 } else { 1 };
            corner = row[j + 1];
            row[j + 1] = change.min(corner + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_carrier_has_its_urls_and_they_are_shown_as_they_are_read() {
        let check = |text: &str, scheme, shown: &str| {
            let address: Address = text.parse().unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!((address.scheme(), address.to_string().as_str()), (scheme, shown), "{text}");
            assert_eq!(shown.parse(), Ok(address), "{text}");
        };
        check("http://127.0.0.1:8000", Scheme::Http, "http://127.0.0.1:8000/");
        check("HTTPS://a.example/rpc?x=1#top", Scheme::Https, "https://a.example/rpc?x=1");
        check("ws://[::1]:8000/rpc/ws", Scheme::Ws, "ws://[::1]:8000/rpc/ws");
        check("wss://a.example", Scheme::Wss, "wss://a.example/");
        check("127.0.0.1:8000", Scheme::Http, "http://127.0.0.1:8000/");
        check("localhost:8000/rpc", Scheme::Http, "http://localhost:8000/rpc");
        check("[::1]:8000", Scheme::Http, "http://[::1]:8000/");
        check("tcp://localhost:4000", Scheme::Tcp, "tcp://localhost:4000");
        check("tls://localhost:4000/?framing=lsp", Scheme::Tls, "tls://localhost:4000?framing=lsp");
        check("unix:/run/a b.sock", Scheme::Unix, "unix:/run/a b.sock");
        check("unix:rpc.sock?framing=lines", Scheme::Unix, "unix:rpc.sock?framing=lines");
        check("stdio", Scheme::Stdio, "stdio");
        check("stdio?framing=lsp", Scheme::Stdio, "stdio?framing=lsp");
        check("exec:python3 server.py what?", Scheme::Exec, "exec:python3 server.py what?");
        check("exec:server?framing=length", Scheme::Exec, "exec:server?framing=length");
        check("exec:proxy --to http://a.example:1/", Scheme::Exec, "exec:proxy --to http://a.example:1/");
        check("unix:///run/a://b", Scheme::Unix, "unix:/run/a://b");
        check("unix:////run/a", Scheme::Unix, "unix:////run/a");
        check("EXEC:server", Scheme::Exec, "exec:server");
    }

    #[cfg(feature = "stream")]
    #[test]
    fn every_framing_has_its_name_in_urls() {
        use crate::framing::Framing;
        let mut names = Framing::ALL.map(Framing::name);
        let mut known = FRAMINGS;
        names.sort_unstable();
        known.sort_unstable();
        assert_eq!(names, known);
    }

    #[test]
    fn what_is_wrong_with_a_url_is_said_and_what_would_be_right() {
        let check = |text: &str, expected: &str| {
            let error = text.parse::<Address>().expect_err(text).to_string();
            assert!(error.contains(expected), "{text}: {error}");
        };
        check("htp://127.0.0.1:8000", "did you mean \"http\"?");
        check("ftp://127.0.0.1", "those known are \"http\", \"https\", \"ws\"");
        check("", "is no URL");
        check("localhost", "write it as \"http://127.0.0.1:8000\"");
        check("localhost:rpc", "is no URL");
        check("http://", "no host");
        check("http://:8000", "no host");
        check("http://a b:1", "no host");
        check("http://a/b c", "is no URL");
        check("http://[zz]:1", "no host");
        check("http://a:70000", "above 65535; write it as \"http://127.0.0.1:8000\"");
        check("http://a:b", "no port");
        check("http://me:secret@a.example", "credentials");
        check("http://a.example?framing=lsp", "takes no framing: HTTP tells");
        check("ws://a.example/?framing=lsp", "takes no framing: WebSocket tells");
        check("tcp://a.example", "no port, or one above 65535; write it as \"tcp://127");
        check("tcp://a.example:1/rpc", "has a path");
        check("tcp://a.example:1?framing=line", "did you mean \"lines\"?");
        check("tcp://a.example:1?fram=lsp", "as in \"?framing=lsp\"");
        check("unix:", "names no file");
        check("exec:", "names no command");
        check("exec:  ?framing=lsp", "names no command");
        check("stdio:x", "has a path");
        let secret = "http://me:secret@a.example".parse::<Address>().unwrap_err().to_string();
        assert!(!secret.contains("secret"));
    }
}
