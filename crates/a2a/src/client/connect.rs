//! From the URL of a card to the agent (A2A-C-01, A2A-C-03).

use std::sync::Arc;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, StatusCode, Uri};
use serde_json::Value;
use switchboard_core::{CallError, Service, Settings};
use switchboard_transport::carrier::Url;
use switchboard_transport::http::{Client as HttpClient, HttpClientOptions, HttpUrlError};
use switchboard_transport::{Dial, DialError};

use super::{ClientOptions, Remote};
use crate::http::CardRoute;
use crate::model::{AgentCard, AgentInterface, Version, v03};

/// The longest card.
const LONGEST: usize = 1 << 20;

/// Where cards of 0.2 are.
const OLD_PATH: &str = "/.well-known/agent.json";

/// Why there is no client for an agent.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ClientError {
    /// A URL cannot be used.
    #[error(transparent)]
    Url(#[from] HttpUrlError),
    /// The server cannot be reached.
    #[error("{0}")]
    Unreachable(CallError),
    /// There is no card.
    #[error("no agent card at {url}: HTTP {status}")]
    NoCard {
        /// Where it was looked for.
        url: String,
        /// The answer.
        status: u16,
    },
    /// What is there is not a card.
    #[error("the document at {url} is not an agent card: {why}")]
    NotACard {
        /// Where it is.
        url: String,
        /// What is wrong.
        why: String,
    },
    /// The card is not signed by a key that is trusted.
    #[error("the agent card at {url} is not accepted: {why}")]
    Untrusted {
        /// Where it is.
        url: String,
        /// What is wrong.
        why: String,
    },
    /// The agent speaks neither 1.0 nor 0.3 over JSON-RPC.
    #[error("the agent has no interface for JSON-RPC in version 1.0 or 0.3; it has {0}")]
    NoInterface(String),
}

/// The card at a URL, or at the well-known path of its server, and where it was found.
pub(super) async fn card(url: &str, options: &ClientOptions) -> Result<(AgentCard, String), ClientError> {
    let base = url.trim_end_matches('/');
    let is_card = base.ends_with(".json");
    let places = match is_card {
        true => vec![base.to_owned()],
        false => vec![
            format!("{base}{}", CardRoute::PATH),
            format!("{}{}", origin(base), CardRoute::PATH),
            format!("{base}{OLD_PATH}"),
        ],
    };
    let mut missing = None;
    for place in places {
        match fetch(&place, options).await {
            Ok(text) => return Ok((read(&place, &text, options).await?, place)),
            Err(error @ ClientError::NoCard { .. }) => missing = missing.or(Some(error)),
            Err(error) => return Err(error),
        }
    }
    Err(missing.unwrap_or(ClientError::NoCard { url: url.to_owned(), status: 404 }))
}

async fn fetch(url: &str, options: &ClientOptions) -> Result<Bytes, ClientError> {
    let client = HttpClient::with_options(url, options.http.clone())?;
    let time = options.http.call_time;
    let mut headers = HeaderMap::new();
    headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
    let response =
        client.send(Method::GET, headers, Bytes::new(), time).await.map_err(ClientError::Unreachable)?;
    let status = response.status();
    if status != StatusCode::OK {
        return Err(ClientError::NoCard { url: url.to_owned(), status: status.as_u16() });
    }
    response.into_body().whole(LONGEST, time).await.map_err(ClientError::Unreachable)
}

/// Reads a card of any version.
async fn read(url: &str, text: &[u8], options: &ClientOptions) -> Result<AgentCard, ClientError> {
    let wrong =
        |error: &dyn std::fmt::Display| ClientError::NotACard { url: url.to_owned(), why: error.to_string() };
    let mut card: Value = serde_json::from_slice(text).map_err(|error| wrong(&error))?;
    if let Some(trust) = &options.trust
        && let Some(why) = trust.refusal(&card).await
    {
        return Err(ClientError::Untrusted { url: url.to_owned(), why });
    }
    v03::raise::card(&mut card);
    serde_json::from_value(card).map_err(|error| wrong(&error))
}

/// The agent at the first interface of its card that this client speaks.
pub(super) fn remote(
    card: &AgentCard,
    card_url: &str,
    options: &ClientOptions,
) -> Result<Remote, ClientError> {
    let spoken = card
        .supported_interfaces
        .iter()
        .find_map(|interface| Some((interface, version(interface, options)?)));
    let (interface, version) = spoken.ok_or_else(|| {
        let names = card.supported_interfaces.iter();
        let names: Vec<String> = names
            .map(|interface| format!("{} {}", interface.protocol_binding, interface.protocol_version))
            .collect();
        ClientError::NoInterface(if names.is_empty() { "none".to_owned() } else { names.join(", ") })
    })?;
    let mut http = options.http.clone().with_call_time(options.time);
    if origin(&interface.url) != origin(card_url) {
        // A card must not make us send a secret somewhere else. Any header may be one.
        http.headers.clear();
        http.seal = None;
    }
    let service: Arc<dyn Service> = match is_http(&interface.url) {
        true => Arc::new(HttpClient::with_options(&interface.url, http)?),
        false => Arc::new(dial(&interface.url, &http)?.upstream()),
    };
    Ok(Remote::new(service, interface, version, options))
}

/// A connection over another transport than HTTP.
fn dial(url: &str, http: &HttpClientOptions) -> Result<Dial, ClientError> {
    let unusable = |error: DialError| ClientError::Unreachable(error.into());
    let mut settings = Settings::default().with_inherit(http.inherit.clone()).with_tap(http.tap.clone());
    settings.limits = http.limits.clone();
    let dial = Dial::new(url).map_err(unusable)?;
    let dial =
        dial.with_settings(settings).with_headers(http.headers.clone()).with_connect_time(http.connect_time);
    #[cfg(feature = "tls")]
    if let Some(tls) = &http.tls {
        return Ok(dial.with_tls(tls.clone()));
    }
    Ok(dial)
}

/// The version of an interface that this client speaks.
fn version(interface: &AgentInterface, options: &ClientOptions) -> Option<Version> {
    let is_over_http =
        is_http(&interface.url) && interface.protocol_binding.eq_ignore_ascii_case(crate::model::JSON_RPC);
    let is_other = interface.protocol_binding == crate::model::OTHER_TRANSPORTS
        && may_dial(&interface.url, options)
        && Dial::new(&interface.url).is_ok();
    (is_over_http || is_other).then(|| Version::parse(&interface.protocol_version))?
}

/// The URLs that a card may name in addition to those of HTTP.
const OTHER_SCHEMES: [&str; 4] = ["ws://", "wss://", "nats://", "nats+tls://"];

/// Whether this URL of a card may be used over another transport than HTTP. A card must not make us start programs, or open files or sockets of
/// this machine.
fn may_dial(url: &str, options: &ClientOptions) -> bool {
    // Only the client for HTTP checks addresses.
    if options.http.addresses.is_some() || is_http(url) {
        return false;
    }
    let Ok(url) = url.parse::<Url>() else { return false };
    match url.scheme() {
        "ws" | "wss" => true,
        // A broker gets the credentials of this process, so a card must not choose it.
        _ => options.brokers.iter().any(|known| is_broker(known, &url)),
    }
}

/// Whether a URL leads to a broker that is known, with TLS if that has TLS.
fn is_broker(known: &str, url: &Url) -> bool {
    const PORT: u16 = 4222;
    let Ok(known) = known.parse::<Url>() else { return false };
    let (Some(own), Some(other)) = (known.place(), url.place()) else { return false };
    let is_same_host = own.host.eq_ignore_ascii_case(&other.host);
    let is_same_scheme = known.scheme() == url.scheme() || known.scheme() == "nats";
    is_same_host && is_same_scheme && own.port.unwrap_or(PORT) == other.port.unwrap_or(PORT)
}

fn is_http(url: &str) -> bool {
    !OTHER_SCHEMES.iter().any(|scheme| url.starts_with(scheme))
}

/// A URL without its path.
fn origin(url: &str) -> String {
    let uri: Option<Uri> = url.parse().ok();
    let origin = uri.as_ref().and_then(|uri| {
        // A WebSocket is opened by a request over HTTP.
        let scheme = match uri.scheme_str()? {
            "ws" => "http",
            "wss" => "https",
            scheme => scheme,
        };
        Some(format!("{scheme}://{}", uri.authority()?))
    });
    origin.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remote_of(interfaces: Value, options: &ClientOptions) -> Result<Remote, ClientError> {
        let mut card = serde_json::to_value(AgentCard::new("a", "b", "1")).unwrap();
        card["supportedInterfaces"] = interfaces;
        remote(&serde_json::from_value(card).unwrap(), "http://a.test/card.json", options)
    }

    // A2A-C-03
    #[test]
    fn the_first_interface_that_is_spoken_is_used() {
        let interface = |url: &str, binding: &str, version: &str| serde_json::json!({"url": url, "protocolBinding": binding, "protocolVersion": version});
        let interfaces = serde_json::json!([
            interface("http://a.test/grpc", "GRPC", "1.0"),
            interface("http://a.test/2", "JSONRPC", "2.0"),
            interface("http://a.test/1", "JSONRPC", "1.0"),
            interface("http://a.test/0", "JSONRPC", "0.3"),
        ]);
        let remote = remote_of(interfaces, &ClientOptions::default()).unwrap();
        assert_eq!((remote.url(), remote.version()), ("http://a.test/1", Version::V1_0));
        let other = |url: &str, binding: &str| {
            serde_json::json!([
                interface(url, binding, "1.0"),
                interface("http://a.test/1", "JSONRPC", "1.0")
            ])
        };
        let url_of = |interfaces| remote_of(interfaces, &ClientOptions::default()).unwrap().url().to_owned();
        for (url, binding) in [
            ("exec:touch /tmp/file", crate::model::OTHER_TRANSPORTS),
            ("unix:/run/socket", crate::model::OTHER_TRANSPORTS),
            ("ws://a.test", "JSONRPC"),
        ] {
            assert_eq!(url_of(other(url, binding)), "http://a.test/1");
        }
        let none = remote_of(
            serde_json::json!([interface("http://a.test", "GRPC", "1.0")]),
            &ClientOptions::default(),
        );
        assert_eq!(none.unwrap_err(), ClientError::NoInterface("GRPC 1.0".to_owned()));
    }

    // A2A-C-03, SEC-X-01
    #[tokio::test]
    async fn a_card_chooses_no_broker_and_goes_round_no_filter_of_addresses() {
        use switchboard_transport::http::AllowedAddresses;

        let is_used = |url: &str, options: &ClientOptions| {
            let other = crate::model::OTHER_TRANSPORTS;
            let interfaces = serde_json::json!([
                {"url": url, "protocolBinding": other, "protocolVersion": "1.0"},
                {"url": "http://a.test/1", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"},
            ]);
            remote_of(interfaces, options).unwrap().url() == url
        };
        let usual = ClientOptions::default();
        assert!(is_used("ws://a.test", &usual));
        assert!(!is_used("nats://a.test/x", &usual) && !is_used("nats+tls://a.test/x", &usual));
        let known = ClientOptions::default().with_brokers(["nats://A.test", "nats+tls://b.test:4223"]);
        for url in
            ["nats://a.test/x", "nats://a.test:4222/x", "nats+tls://a.test/x", "nats+tls://b.test:4223/x"]
        {
            assert!(is_used(url, &known), "{url}");
        }
        for url in ["nats://a.test:4223/x", "nats://b.test:4223/x", "nats+tls://b.test/x", "nats://c.test/x"]
        {
            assert!(!is_used(url, &known), "{url}");
        }
        let filtered = HttpClientOptions::default().with_addresses(Some(AllowedAddresses::public()));
        let filtered = known.with_http(filtered);
        for url in ["ws://a.test", "nats://a.test/x"] {
            assert!(!is_used(url, &filtered), "{url}");
        }
    }
}
