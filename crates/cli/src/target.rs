//! What every command that calls takes: where to call, and how.

use std::fmt;
use std::path::PathBuf;
use std::sync::Once;
use std::time::Duration;

use clap::Args;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};
use switchboard::carrier::Url;
use switchboard::reconnect::Backoff;
use switchboard::tls::{ClientFiles, ClientTls, Trust};
use switchboard::{Dial, DialError, Limits, Profile, Settings, Tap, Version, Versions};

use crate::failure::Failure;
use crate::layout::visible;
use crate::output::Format;
use crate::{output, source, units, wire};

/// Where to call, and how.
#[derive(Clone, Debug, Args)]
pub(crate) struct Target {
    /// Where to call: a URL of http, https, ws, wss, tcp, tls, unix or exec, such as http://127.0.0.1:8000.
    pub(crate) url: String,
    /// How long to wait for the answer, or for a stream to begin; all attempts together.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = units::seconds)]
    #[arg(help_heading = HEADING)]
    pub(crate) timeout: Duration,
    /// Make up to this many further attempts if the server cannot be reached, after delays that grow from 1/4 s to 10 s. A
    /// call that was under way when the connection broke is sent again only if the server describes it as safe or idempotent.
    #[arg(long, value_name = "COUNT", value_parser = units::attempts, help_heading = HEADING)]
    retry: Option<u32>,
    /// Declare that the method may run twice without harm, so that it is also retried if the connection breaks.
    #[arg(long, requires = "retry", help_heading = HEADING)]
    pub(crate) repeatable: bool,
    /// A header to send, as `Name: value`, over http, https, ws and wss. May be given several times.
    #[arg(long = "header", short = 'H', value_name = "HEADER", help_heading = HEADING)]
    headers: Vec<Secret>,
    /// Send this token as `Authorization: Bearer TOKEN`, over http, https, ws and wss.
    #[arg(long, env = TOKEN, hide_env_values = true, help_heading = HEADING)]
    token: Option<Secret>,
    /// Trust the certificates that those in this PEM file have issued, and no others.
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    cacert: Option<PathBuf>,
    /// The certificate to show to servers that ask for one, in PEM.
    #[arg(long, value_name = "FILE", requires = "key", help_heading = HEADING)]
    cert: Option<PathBuf>,
    /// The key of that certificate, in PEM.
    #[arg(long, value_name = "FILE", requires = "cert", help_heading = HEADING)]
    key: Option<PathBuf>,
    /// Trust any certificate: whoever is on the way can read and change everything.
    #[arg(long, conflicts_with = "cacert", help_heading = HEADING)]
    insecure: bool,
    /// Call in version 1.0 of JSON-RPC, which has no batches and no streams.
    #[arg(long, help_heading = HEADING)]
    pub(crate) v1: bool,
    /// Send what servers of Switchboard understand besides JSON-RPC, over every carrier: how long the caller waits, as the
    /// member `timeoutMs`, and that it reads streams, as `stream`. Others may refuse requests with such members.
    #[arg(long, conflicts_with = "v1", help_heading = HEADING)]
    pub(crate) extensions: bool,
    /// The most bytes that an answer may have, such as 500M.
    #[arg(long, value_name = "BYTES", default_value = "64M", value_parser = units::bytes, help_heading = HEADING)]
    max_answer: usize,
    /// Show each message that is sent and received on stderr; twice to log as well, more often for more.
    #[arg(short, long, action = clap::ArgAction::Count, help_heading = HEADING)]
    verbose: u8,
    #[command(flatten)]
    pub(crate) format: Format,
}

const HEADING: &str = "Connection";
/// Where the token may be besides the command line.
const TOKEN: &str = "SWITCHBOARD_TOKEN";
/// The carriers that have headers.
const HEADED: &str = "an http, https, ws or wss URL";

/// Text of the command line that nobody else is to see. It is read here and not by the parser of arguments, which shows
/// what it cannot read.
#[derive(Clone)]
struct Secret(String);

impl From<String> for Secret {
    fn from(text: String) -> Secret {
        Secret(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl Target {
    /// How much is logged: what is sent and received is shown first.
    pub(crate) fn log_level(&self) -> u8 {
        self.verbose.saturating_sub(1)
    }

    /// What shows the wire, if that is asked for.
    pub(crate) fn tap(&self) -> Option<Tap> {
        (self.verbose > 0).then(wire::tap)
    }

    /// The connection to be made: with headers, certificates, version, times, and a look at the wire as they are given.
    pub(crate) fn dial(&self) -> Result<Dial, Failure> {
        let wrong = |error: DialError| Failure::usage(error.to_string());
        let mut dial = Dial::new(&self.url).map_err(wrong)?.with_connect_time(self.timeout);
        let scheme = dial.url().scheme().to_owned();
        if scheme == "stdio" {
            return Err(Failure::usage("\"stdio\" is for `serve` and cannot be called")
                .advise("name the program to be started and called, as in `exec:COMMAND`"));
        }
        self.check_credentials(&scheme)?;
        if is_secure(&scheme) {
            dial = dial.with_tls(self.tls()?);
        }
        let version = if self.v1 { Version::V1 } else { Version::V2 };
        Ok(dial.with_settings(self.settings()).with_headers(self.headers()?).with_version(version))
    }

    /// How much is taken, and what is sent besides plain JSON-RPC: nothing, unless it is asked for.
    fn settings(&self) -> Settings {
        let default = Limits::default();
        let limits = Limits {
            frame: default.frame.min(self.max_answer),
            reply: self.max_answer,
            batch_reply: self.max_answer,
            // What is in an answer takes its bytes, and those are counted.
            members: usize::MAX,
            // An item may be as long as an answer, and the next one comes before it is shown. It is also what a terminal
            // that is held on may be behind.
            outbox: default.outbox.saturating_add(self.max_answer.saturating_mul(2)),
            ..default
        };
        let mut profile = Profile::default();
        profile.call_options = self.extensions;
        if self.v1 {
            profile.versions = Versions::V1;
        }
        Settings { limits, profile, tap: self.tap(), ..Settings::default() }
    }

    /// Whether calls go over HTTP.
    pub(crate) fn is_http(&self) -> bool {
        self.url.parse::<Url>().is_ok_and(|url| is_http(url.scheme()))
    }

    /// Whoever gives credentials counts on it that they are sent, so they are refused where they cannot be.
    fn check_credentials(&self, name: &str) -> Result<(), Failure> {
        let is_web = is_http(name) || is_websocket(name);
        if !is_web && !self.headers.is_empty() {
            return Err(Failure::usage(format!("{name} carries no headers"))
                .advise(format!("leave `--header` out, or call {HEADED}")));
        }
        if !is_web && let Some(Secret(token)) = &self.token {
            // What is left in the environment is for whoever takes it.
            if std::env::var(TOKEN).ok().as_ref() != Some(token) {
                return Err(Failure::usage(format!("{name} carries no headers, so no token"))
                    .advise(format!("leave `--token` out, or call {HEADED}")));
            }
            static TOLD: Once = Once::new();
            let warning = format!("warning: {name} carries no headers, so {TOKEN} is not sent\n");
            TOLD.call_once(|| output::note(&warning));
        }
        if self.cert.is_some() && !is_secure(name) {
            return Err(Failure::usage(format!("{name} speaks no TLS, so nobody sees a certificate"))
                .advise("leave `--cert` and `--key` out, or call an https, wss or tls URL"));
        }
        Ok(())
    }

    /// The target with another URL. Credentials are for the far side they were given for: token, headers and certificate
    /// are left out if this is another one.
    pub(crate) fn at(&self, url: &str) -> Target {
        let mut target = Target { url: url.to_owned(), ..self.clone() };
        if !source::is_far(&self.url) || is_same_origin(&self.url, url) {
            return target;
        }
        let had_any = !self.headers.is_empty() || self.token.is_some() || self.cert.is_some();
        if had_any {
            output::note(&format!(
                "warning: {} is another server; no credentials are sent to it\n",
                visible(url)
            ));
        }
        target.headers.clear();
        (target.token, target.cert, target.key) = (None, None, None);
        target
    }

    /// Whether this header is given.
    pub(crate) fn has_header(&self, name: &HeaderName) -> bool {
        let mut names = self.headers.iter().filter_map(|Secret(text)| text.split_once(':'));
        names.any(|(given, _)| given.trim().eq_ignore_ascii_case(name.as_str()))
    }

    /// How attempts follow each other, if there are to be several.
    pub(crate) fn backoff(&self) -> Option<Backoff> {
        let retry = self.retry.filter(|retry| *retry > 0)?;
        let (first, longest) = (Duration::from_millis(250), Duration::from_secs(10));
        Some(Backoff { first, longest, jitter: 0.5, attempts: retry.checked_add(1), ..Backoff::default() })
    }

    /// The headers to send, the token among them.
    pub(crate) fn headers(&self) -> Result<HeaderMap, Failure> {
        let mut headers: HeaderMap = HeaderMap::new();
        for text in &self.headers {
            let (name, value) = header(text)?;
            headers.append(name, value);
        }
        if let Some(token) = self.token.as_ref().map(token).transpose()?.flatten() {
            // A header that is written out says more than a token, which may be left in the environment.
            headers.entry(AUTHORIZATION).or_insert(token);
        }
        Ok(headers)
    }

    fn tls(&self) -> Result<ClientTls, Failure> {
        let trust = match &self.cacert {
            Some(file) => Trust::Authority(file.clone()),
            None if self.insecure => {
                output::note("warning: --insecure trusts any certificate; do not send secrets\n");
                Trust::Anybody
            }
            None => Trust::Platform,
        };
        let certificate = self.cert.clone().zip(self.key.clone());
        let mut files = ClientFiles::default();
        (files.trust, files.certificate) = (trust, certificate);
        ClientTls::load(&files).map_err(|error| Failure::usage(error.to_string()))
    }
}

/// Whether calls over this scheme are HTTP requests.
pub(crate) fn is_http(scheme: &str) -> bool {
    matches!(scheme, "http" | "https")
}

/// Whether calls over this scheme are WebSocket messages.
pub(crate) fn is_websocket(scheme: &str) -> bool {
    matches!(scheme, "ws" | "wss")
}

/// Whether this scheme uses TLS.
pub(crate) fn is_secure(scheme: &str) -> bool {
    matches!(scheme, "https" | "wss" | "tls")
}

/// The port of a URL over a network, the scheme's own if none is given.
pub(crate) fn port(url: &Url) -> Option<u16> {
    let usual = || if is_secure(url.scheme()) { 443 } else { 80 };
    url.place().map(|place| place.port.unwrap_or_else(usual))
}

/// Whether two URLs have the same scheme, host and port.
fn is_same_origin(one: &str, other: &str) -> bool {
    let origin = |text: &str| {
        let url: Url = text.parse().ok()?;
        // URLs without a host take no credentials.
        let host = url.place()?.host.to_ascii_lowercase();
        Some((url.scheme().to_owned(), host, port(&url)))
    };
    one == other || origin(one).is_some_and(|one| Some(one) == origin(other))
}

/// Reads a header as it is written on the command line. What is wrong with it is said without its value.
fn header(Secret(text): &Secret) -> Result<(HeaderName, HeaderValue), Failure> {
    let wrong = || {
        Failure::usage("what `--header` gives is no header").advise("write it as `--header 'Name: value'`")
    };
    let (name, value) = text.split_once(':').ok_or_else(wrong)?;
    let name: HeaderName = name.trim().parse().map_err(|_| wrong())?;
    match value.trim().parse() {
        Ok(value) => Ok((name, value)),
        Err(_) => Err(Failure::usage(format!("the value of the header {name} holds what no header can"))),
    }
}

/// Reads a token as the value of its header; an empty one is none. What is wrong with it is said without it.
fn token(Secret(text): &Secret) -> Result<Option<HeaderValue>, Failure> {
    // What is read from a file often ends with its line.
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() {
        return Ok(None);
    }
    let is_token = text.bytes().all(|byte| byte.is_ascii_graphic());
    match HeaderValue::try_from(format!("Bearer {text}")) {
        Ok(mut value) if is_token => {
            value.set_sensitive(true);
            Ok(Some(value))
        }
        _ => Err(Failure::usage("a token is one word of visible characters")
            .advise("look at what `--token` or SWITCHBOARD_TOKEN holds")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        target: Target,
    }

    fn target(arguments: &[&str]) -> Target {
        Line::try_parse_from([&["line", "http://127.0.0.1:1"], arguments].concat()).unwrap().target
    }

    #[test]
    fn a_token_may_end_with_a_line_and_an_empty_one_is_none() {
        let sent = |token: &str| target(&["--token", token]).headers().unwrap().remove(AUTHORIZATION);
        assert_eq!(sent("abc\r\n").unwrap(), "Bearer abc");
        assert_eq!(sent("\n"), None);
        assert_eq!(sent(""), None);
    }

    #[test]
    fn secrets_are_not_shown_whatever_is_wrong_with_them() {
        for arguments in [
            ["--token", "sekret words"],
            ["--token", "sekret\nmore"],
            ["-H", "sekret"],
            ["-H", "sekret words: sekret"],
            ["-H", "Authorization: sekret\nmore"],
        ] {
            let target = target(&arguments);
            assert!(!format!("{target:?}").contains("sekret"), "{target:?}");
            let failure = target.dial().err().unwrap();
            assert_eq!(failure.exit(), crate::exit::Exit::Usage);
            assert!(!format!("{failure:?}").contains("sekret"), "{failure:?}");
        }
    }

    #[test]
    fn credentials_are_for_the_origin_they_were_given_for() {
        let target = target(&["--token", "abc", "-H", "A: b", "--cert", "c", "--key", "k"]);
        let check = |url: &str, is_same: bool| {
            let other = target.at(url);
            assert_eq!(other.headers().unwrap().len(), if is_same { 2 } else { 0 }, "{url}");
            assert_eq!((other.cert.is_some(), other.key.is_some()), (is_same, is_same), "{url}");
            assert_eq!(other.url, url);
        };
        check("http://127.0.0.1:1", true);
        check("http://127.0.0.1:1/old", true);
        check("http://127.0.0.1:2", false);
        check("http://127.0.0.2:1", false);
        check("https://127.0.0.1:1", false);
        check("ws://127.0.0.1:1", false);
        check("exec:old", false);
        assert!(is_same_origin("https://Host/a", "https://host:443/b"));
        // With a file there is one far side only.
        let alone = Target { url: "-".to_owned(), ..target.clone() };
        assert_eq!(alone.at("http://127.0.0.2:1").headers().unwrap().len(), 2);
    }
}
