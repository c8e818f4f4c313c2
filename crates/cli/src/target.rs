//! The options that all calling commands share: where to call, and how.

use std::fmt;
use std::path::PathBuf;
use std::sync::Once;
use std::time::Duration;

use clap::Args;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};
use switchboard::carrier::{Url, UrlError};
use switchboard::reconnect::Backoff;
use switchboard::tls::{ClientFiles, ClientTls, Trust};
use switchboard::{Dial, DialError, Limits, Profile, Settings, Tap, Version, Versions};

use crate::failure::Failure;
use crate::login::Login;
use crate::output::Format;
use crate::signing::SignOptions;
use crate::visible::visible;
use crate::{output, source, units, usage, wire};

/// Where to call, and how.
#[derive(Clone, Debug, Args)]
pub(crate) struct Target {
    /// URL of the server, such as http://127.0.0.1:8000. Schemes: http, https, ws, wss, tcp, tls, unix, nats, exec.
    pub(crate) url: String,
    /// How long to wait for the answer, or for a stream to begin, including all retries. Examples: 500ms, 5s, 2m; a bare
    /// number is in seconds.
    #[arg(long, value_name = "DURATION", default_value = "30s", value_parser = units::duration)]
    #[arg(help_heading = HEADING)]
    pub(crate) timeout: Duration,
    /// Retry this many times if the server cannot be reached, with delays that grow from 250 ms to 10 s. If the connection
    /// breaks during a call, the call is only retried if the server describes the method as safe or idempotent.
    #[arg(long, value_name = "COUNT", value_parser = units::attempts, help_heading = HEADING)]
    retry: Option<u32>,
    /// Declare that running the method twice does no harm, so that it is also retried if the connection breaks during a call.
    #[arg(long, requires = "retry", help_heading = HEADING)]
    pub(crate) repeatable: bool,
    /// Send this header, written as `Name: value`. For http, https, ws and wss. Can be repeated.
    #[arg(long = "header", short = 'H', value_name = "HEADER", help_heading = HEADING)]
    headers: Vec<Secret>,
    /// Send this token: as `Authorization: Bearer TOKEN` over HTTP and WebSocket, else in a call of `rpc.login`.
    #[arg(long, env = TOKEN, hide_env_values = true, help_heading = HEADING)]
    token: Option<Secret>,
    #[command(flatten)]
    pub(crate) signing: SignOptions,
    /// Trust only certificates issued by the authorities in this PEM file.
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    cacert: Option<PathBuf>,
    /// Client certificate for servers that require one, in PEM format.
    #[arg(long, value_name = "FILE", requires = "key", help_heading = HEADING)]
    cert: Option<PathBuf>,
    /// Private key of the client certificate, in PEM format.
    #[arg(long, value_name = "FILE", requires = "cert", help_heading = HEADING)]
    key: Option<PathBuf>,
    /// Trust any certificate. Anyone between you and the server can then read and change everything.
    #[arg(long, conflicts_with = "cacert", help_heading = HEADING)]
    insecure: bool,
    /// Use JSON-RPC 1.0, which has no batches and no streams.
    #[arg(long, help_heading = HEADING)]
    pub(crate) v1: bool,
    /// Send the extensions that Switchboard servers understand, over every transport: `timeoutMs`, how long the caller waits,
    /// and `stream`, that it wants a stream. Other servers may reject requests with these members.
    #[arg(long, conflicts_with = "v1", help_heading = HEADING)]
    pub(crate) extensions: bool,
    /// Maximum size of an answer, such as 500M.
    #[arg(long, value_name = "BYTES", default_value = "64M", value_parser = units::bytes, help_heading = HEADING)]
    pub(crate) max_answer: usize,
    /// Show each message sent and received on stderr. -vv also logs; -vvv logs more.
    #[arg(short, long, action = clap::ArgAction::Count, help_heading = HEADING)]
    verbose: u8,
    #[command(flatten)]
    pub(crate) format: Format,
}

const HEADING: &str = "Connection";
/// Where the token may be besides the command line.
const TOKEN: &str = "SWITCHBOARD_TOKEN";
/// The URLs whose transports have headers.
const HEADED: &str = "an http, https, ws or wss URL";

/// A secret of the command line. It is parsed here and not by the argument parser, which shows invalid values.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct Secret(pub(crate) String);

impl Secret {
    /// This token as the header that has it; none if it is empty.
    pub(crate) fn header(&self) -> Result<Option<(HeaderName, HeaderValue)>, Failure> {
        let Some(token) = token(self)? else { return Ok(None) };
        let mut value = HeaderValue::try_from(format!("Bearer {token}")).map_err(|_| wrong_token())?;
        value.set_sensitive(true);
        Ok(Some((AUTHORIZATION, value)))
    }
}

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
    /// How much is logged: the first `-v` only shows messages.
    pub(crate) fn log_level(&self) -> u8 {
        self.verbose.saturating_sub(1)
    }

    /// Shows the messages, if `-v` asks for it.
    pub(crate) fn tap(&self) -> Option<Tap> {
        (self.verbose > 0).then(wire::tap)
    }

    /// The connection to be made, with all options of the command line.
    pub(crate) fn dial(&self) -> Result<Dial, Failure> {
        let mut dial = Dial::new(&self.url).map_err(|error| self.wrong_url(&error))?;
        dial = dial.with_connect_time(self.timeout);
        let scheme = dial.url().scheme().to_owned();
        if scheme == "stdio" {
            return Err(Failure::usage("`stdio` is for servers and cannot be called")
                .advise("to start a program and call it, use `exec:COMMAND`"));
        }
        self.check_credentials(&scheme)?;
        if is_secure(&scheme) {
            dial = dial.with_tls(self.tls()?);
        }
        let version = if self.v1 { Version::V1 } else { Version::V2 };
        Ok(dial.with_settings(self.settings()).with_headers(self.headers()?).with_version(version))
    }

    /// The same for commands that speak for themselves over the connection, and so cannot log in.
    pub(crate) fn dial_raw(&self) -> Result<Dial, Failure> {
        let dial = self.dial()?;
        self.check_token(dial.url().scheme())?;
        Ok(dial)
    }

    /// The token as a login, for transports without headers.
    pub(crate) fn login(&self) -> Result<Option<Login>, Failure> {
        let is_web = |url: &Url| is_http(url.scheme()) || is_websocket(url.scheme());
        if self.url.parse::<Url>().is_ok_and(|url| is_web(&url)) {
            return Ok(None);
        }
        let token = self.token.as_ref().map(token).transpose()?.flatten();
        Ok(token.map(|token| Login {
            token: token.to_owned(),
            is_ambient: self.is_token_ambient(),
            timeout: self.timeout,
        }))
    }

    /// Whether the token is from the environment, and may be meant for other calls.
    fn is_token_ambient(&self) -> bool {
        std::env::var(TOKEN).ok().as_ref() == self.token.as_ref().map(|Secret(token)| token)
    }

    /// What is wrong with the URL. The first argument may be the method, followed by the URL.
    fn wrong_url(&self, error: &DialError) -> Failure {
        match (error, usage::url_first(&self.url)) {
            (DialError::Url(UrlError::Malformed(_)), Some(advice)) => {
                Failure::usage(format!("`{}` is not a URL", self.url)).advise(advice)
            }
            _ => Failure::usage(error.to_string()),
        }
    }

    /// How large answers may be, and which extensions of JSON-RPC are sent: none, unless the command line asks for them.
    fn settings(&self) -> Settings {
        let default = Limits::default();
        let (frame, outbox) = (default.frame, default.outbox);
        let limits = default
            .with_frame(frame.min(self.max_answer))
            .with_reply(self.max_answer)
            .with_batch_reply(self.max_answer)
            // The size of an answer bounds its members.
            .with_members(usize::MAX)
            // An item may be as long as an answer, and the next one arrives before it is shown. This is also how far a paused
            // terminal may fall behind.
            .with_outbox(outbox.saturating_add(self.max_answer.saturating_mul(2)));
        let mut profile = Profile::default();
        profile.call_options = self.extensions;
        if self.v1 {
            profile.versions = Versions::V1;
        }
        Settings::default().with_limits(limits).with_profile(profile).with_tap(self.tap())
    }

    /// Whether calls go over HTTP.
    pub(crate) fn is_http(&self) -> bool {
        self.url.parse::<Url>().is_ok_and(|url| is_http(url.scheme()))
    }

    /// Credentials that cannot be sent are refused, since users rely on them.
    fn check_credentials(&self, name: &str) -> Result<(), Failure> {
        let is_web = is_http(name) || is_websocket(name);
        if !is_web && !self.headers.is_empty() {
            return Err(Failure::usage(format!("{name} URLs do not support headers"))
                .advise(format!("remove `--header`, or use {HEADED}")));
        }
        if self.cert.is_some() && !is_secure(name) {
            return Err(Failure::usage(format!("{name} URLs do not use TLS or client certificates"))
                .advise("remove `--cert` and `--key`, or use an https, wss or tls URL"));
        }
        Ok(())
    }

    /// A token that cannot be sent is refused, unless it is from the environment.
    pub(crate) fn check_token(&self, name: &str) -> Result<(), Failure> {
        if is_http(name) || is_websocket(name) || self.token.is_none() {
            return Ok(());
        }
        if !self.is_token_ambient() {
            return Err(Failure::usage(format!("this command cannot send a token over {name} URLs"))
                .advise(format!("remove `--token`, or use {HEADED}")));
        }
        static TOLD: Once = Once::new();
        let warning =
            format!("warning: this command cannot log in over {name} URLs, so {TOKEN} is not sent\n");
        TOLD.call_once(|| output::note(&warning));
        Ok(())
    }

    /// The target with another URL. Credentials are for one server: another one gets no token, headers or certificate.
    pub(crate) fn at(&self, url: &str) -> Target {
        let mut target = Target { url: url.to_owned(), ..self.clone() };
        if !source::is_far(&self.url) || is_same_origin(&self.url, url) {
            return target;
        }
        let had_any =
            !self.headers.is_empty() || self.token.is_some() || self.cert.is_some() || self.signing.is_on();
        if had_any {
            output::note(&format!("warning: {} is another server; no credentials are sent\n", visible(url)));
        }
        target.headers.clear();
        (target.token, target.cert, target.key) = (None, None, None);
        target.signing = SignOptions::default();
        target
    }

    /// Whether this header is given.
    pub(crate) fn has_header(&self, name: &HeaderName) -> bool {
        let mut names = self.headers.iter().filter_map(|Secret(text)| text.split_once(':'));
        names.any(|(given, _)| given.trim().eq_ignore_ascii_case(name.as_str()))
    }

    /// The delays between attempts, if there are several.
    pub(crate) fn backoff(&self) -> Option<Backoff> {
        let retry = self.retry.filter(|retry| *retry > 0)?;
        let (first, longest) = (Duration::from_millis(250), Duration::from_secs(10));
        Some(
            Backoff::default()
                .with_first(first)
                .with_longest(longest)
                .with_jitter(0.5)
                .with_attempts(retry.checked_add(1)),
        )
    }

    /// The headers to send, the token among them.
    pub(crate) fn headers(&self) -> Result<HeaderMap, Failure> {
        let mut headers: HeaderMap = HeaderMap::new();
        for text in &self.headers {
            let (name, value) = header(text)?;
            headers.append(name, value);
        }
        if let Some((name, value)) = self.token.as_ref().map(Secret::header).transpose()?.flatten() {
            // An explicit header takes precedence over a token, which may come from the environment.
            headers.entry(name).or_insert(value);
        }
        Ok(headers)
    }

    /// Whom to trust, and how to prove who calls.
    pub(crate) fn tls(&self) -> Result<ClientTls, Failure> {
        let trust = match &self.cacert {
            Some(file) => Trust::Authority(file.clone()),
            None if self.insecure => {
                output::note("warning: --insecure accepts any certificate; do not send secrets\n");
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

/// Parses a header of the command line. Errors do not show its value.
pub(crate) fn header(Secret(text): &Secret) -> Result<(HeaderName, HeaderValue), Failure> {
    let wrong = || {
        Failure::usage("the value of `--header` is not a header")
            .advise("write it as `--header 'Name: value'`")
    };
    let (name, value) = text.split_once(':').ok_or_else(wrong)?;
    let name: HeaderName = name.trim().parse().map_err(|_| wrong())?;
    match value.trim().parse() {
        Ok(value) => Ok((name, value)),
        Err(_) => Err(Failure::usage(format!("the value of the header {name} contains invalid characters"))),
    }
}

/// Reads a token; an empty one is ignored. Errors do not show it.
fn token(Secret(text): &Secret) -> Result<Option<&str>, Failure> {
    // A token that was read from a file often ends with a line break.
    let text = text.trim_end_matches(['\r', '\n']);
    match text.bytes().all(|byte| byte.is_ascii_graphic()) {
        true => Ok(Some(text).filter(|text| !text.is_empty())),
        false => Err(wrong_token()),
    }
}

fn wrong_token() -> Failure {
    Failure::usage("the token contains spaces or invalid characters")
        .advise("check the option, or the environment variable that it is from")
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    impl Target {
        /// What these arguments say.
        pub(crate) fn of(arguments: &[&str]) -> Target {
            #[derive(Parser)]
            struct Line {
                #[command(flatten)]
                target: Target,
            }
            Line::try_parse_from([&["line"], arguments].concat()).unwrap().target
        }
    }

    fn target(arguments: &[&str]) -> Target {
        Target::of(&[&["http://127.0.0.1:1"], arguments].concat())
    }

    #[test]
    fn a_token_may_end_with_a_line_and_an_empty_one_is_none() {
        let sent = |token: &str| target(&["--token", token]).headers().unwrap().remove(AUTHORIZATION);
        assert_eq!(sent("abc\r\n").unwrap(), "Bearer abc");
        assert_eq!(sent("\n"), None);
        assert_eq!(sent(""), None);
    }

    #[test]
    fn invalid_secrets_are_not_shown() {
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
        // With a file there is only one server.
        let alone = Target { url: "-".to_owned(), ..target.clone() };
        assert_eq!(alone.at("http://127.0.0.2:1").headers().unwrap().len(), 2);
    }
}
