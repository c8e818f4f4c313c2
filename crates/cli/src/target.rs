//! What every command that calls takes: where to call, and how.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use http::header::AUTHORIZATION;
use http::{HeaderMap, HeaderName, HeaderValue};
use switchboard::address::Scheme;
use switchboard::lasting::Backoff;
use switchboard::tls::{ClientFiles, ClientTls, Trust};
use switchboard::{Dial, DialError, Settings, Version};

use crate::failure::Failure;
use crate::output::Format;
use crate::{output, units, wire};

/// Where to call, and how.
#[derive(Clone, Debug, Args)]
pub(crate) struct Target {
    /// Where to call: a URL of http, https, ws, wss, tcp, tls, unix or exec, such as http://127.0.0.1:8000.
    pub(crate) url: String,
    /// How long to wait for the answer, or for a stream to begin.
    #[arg(long, value_name = "SECONDS", default_value = "30", value_parser = units::seconds)]
    #[arg(help_heading = HEADING)]
    pub(crate) timeout: Duration,
    /// Try so many times more, with growing delays: to connect, and to call what may be called twice, which is what the
    /// far side describes as safe or idempotent.
    #[arg(long, value_name = "COUNT", help_heading = HEADING)]
    retry: Option<u32>,
    /// Say that what is called may be called twice without harm.
    #[arg(long, requires = "retry", help_heading = HEADING)]
    pub(crate) repeatable: bool,
    /// A header to send, as `Name: value`. May be given several times.
    #[arg(long = "header", short = 'H', value_name = "HEADER", value_parser = header, help_heading = HEADING)]
    headers: Vec<(HeaderName, HeaderValue)>,
    /// Send this token as `Authorization: Bearer TOKEN`.
    #[arg(long, value_parser = token, env = "SWITCHBOARD_TOKEN", hide_env_values = true, help_heading = HEADING)]
    token: Option<HeaderValue>,
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
    /// Call in version 1.0 of JSON-RPC.
    #[arg(long, help_heading = HEADING)]
    pub(crate) v1: bool,
    /// Show each message that is sent and received on stderr; twice to log as well, more often for more.
    #[arg(short, long, action = clap::ArgAction::Count, help_heading = HEADING)]
    verbose: u8,
    #[command(flatten)]
    pub(crate) format: Format,
}

const HEADING: &str = "Connection";

impl Target {
    /// How much is logged: what is sent and received is shown first.
    pub(crate) fn log_level(&self) -> u8 {
        self.verbose.saturating_sub(1)
    }

    /// The connection to be made: with headers, certificates, version, times, and a look at the wire as they are given.
    pub(crate) fn dial(&self) -> Result<Dial, Failure> {
        let wrong = |error: DialError| Failure::usage(error.to_string());
        let mut dial = Dial::new(&self.url).map_err(wrong)?.with_connect_time(self.timeout);
        let scheme = dial.address().scheme();
        if scheme == Scheme::Stdio {
            return Err(wrong(DialError::Unsupported(scheme.name())));
        }
        let has_headers = matches!(scheme, Scheme::Http | Scheme::Https | Scheme::Ws | Scheme::Wss);
        if !has_headers && !self.headers.is_empty() {
            return Err(Failure::usage(format!("{} carries no headers", scheme.name()))
                .advise("leave `--header` out, or call an http or ws URL"));
        }
        if self.v1 && !matches!(scheme, Scheme::Http | Scheme::Https) {
            return Err(Failure::usage("only http and https URLs are called in version 1.0"));
        }
        if scheme.is_secure() {
            dial = dial.with_tls(self.tls()?);
        }
        let settings = Settings { tap: (self.verbose > 0).then(wire::tap), ..Settings::default() };
        Ok(dial.with_settings(settings).with_headers(self.headers()).with_version(if self.v1 {
            Version::V1
        } else {
            Version::V2
        }))
    }

    /// Whether this header is given.
    pub(crate) fn has_header(&self, name: &HeaderName) -> bool {
        self.headers.iter().any(|(given, _)| given == name)
    }

    /// How attempts follow each other; none if there is to be one only.
    pub(crate) fn backoff(&self) -> Option<Backoff> {
        let retry = self.retry.filter(|retry| *retry > 0)?;
        Some(Backoff { attempts: retry.checked_add(1), ..Backoff::default() })
    }

    /// The headers to send, the token among them.
    pub(crate) fn headers(&self) -> HeaderMap {
        let mut headers: HeaderMap = HeaderMap::new();
        for (name, value) in self.headers.iter().cloned() {
            headers.append(name, value);
        }
        if let Some(token) = &self.token {
            // A header that is written out says more than a token, which may be left in the environment.
            headers.entry(AUTHORIZATION).or_insert_with(|| token.clone());
        }
        headers
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

/// Reads a header as it is written on the command line.
fn header(text: &str) -> Result<(HeaderName, HeaderValue), String> {
    let (name, value) = text.split_once(':').ok_or("it is no header; write it as 'Name: value'")?;
    let name = name.trim().parse().map_err(|_| format!("{:?} is no name of a header", name.trim()))?;
    let value = value.trim().parse().map_err(|_| "its value holds what no header can".to_owned())?;
    Ok((name, value))
}

/// Reads a token as the value of its header. What is wrong with it is said without it.
fn token(text: &str) -> Result<HeaderValue, String> {
    let is_token = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_graphic());
    let mut value = HeaderValue::try_from(format!("Bearer {text}"))
        .ok()
        .filter(|_| is_token)
        .ok_or("a token is one word of visible characters")?;
    value.set_sensitive(true);
    Ok(value)
}
