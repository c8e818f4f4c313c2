//! Connecting: the client's handshake, and the peer that it opens.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use http::{StatusCode, Uri};
use switchboard_core::{Direction, Json, Origin, Peer, Service, Settings, Tap, Wire};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::ending::Ending;
use super::frame::Role;
use super::handshake::{HeadWatch, accept_key, asks_for_websocket, has_token, new_key};
use super::masks::Masks;
use super::options::WebSocketOptions;
use super::shared::DuplexIo;
use super::sink::WebSocketSink;
use super::source::WebSocketSource;
use super::{open, start};
use crate::http::{redact, write_line};

/// The options of a client connection.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct WebSocketClientOptions {
    /// Additional headers of the handshake, such as `Authorization`: none.
    pub headers: HeaderMap,
    /// How long connecting may take, including the handshake: 10 s.
    pub connect_time: Duration,
    /// The options of the connection; its [`protocols`](WebSocketOptions::protocols) are requested, `jsonrpc` by default.
    pub websocket: WebSocketOptions,
}

impl Default for WebSocketClientOptions {
    fn default() -> WebSocketClientOptions {
        WebSocketClientOptions {
            headers: HeaderMap::new(),
            connect_time: Duration::from_secs(10),
            websocket: WebSocketOptions { protocols: Vec::new(), ..WebSocketOptions::default() },
        }
    }
}

impl WebSocketClientOptions {
    /// Sets [`headers`](WebSocketClientOptions::headers).
    #[must_use]
    pub fn with_headers(mut self, headers: HeaderMap) -> WebSocketClientOptions {
        self.headers = headers;
        self
    }

    /// Sets [`connect_time`](WebSocketClientOptions::connect_time).
    #[must_use]
    pub fn with_connect_time(mut self, connect_time: Duration) -> WebSocketClientOptions {
        self.connect_time = connect_time;
        self
    }

    /// Sets [`websocket`](WebSocketClientOptions::websocket).
    #[must_use]
    pub fn with_websocket(mut self, websocket: WebSocketOptions) -> WebSocketClientOptions {
        self.websocket = websocket;
        self
    }
}

/// Why connecting failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// It is not a WebSocket URL.
    #[error("{0:?} is not a WebSocket URL; write it as \"ws://host:port/path\"")]
    Url(String),
    /// The URL contains a user name or password. It is not shown, so that it does not end up in a log.
    #[error("the URL contains credentials; remove them and send an `Authorization` header instead")]
    Credentials,
    /// The server cannot be reached.
    #[error("cannot connect to {target}: {error}")]
    Unreachable {
        /// Host and port.
        target: String,
        /// The system's error.
        error: io::Error,
    },
    /// The handshake timed out.
    #[error("{0} did not accept the connection in time")]
    TimedOut(String),
    /// The server refused the connection.
    #[error("{target} refused the connection with status {status}{}", quoted(body))]
    Refused {
        /// Host and port.
        target: String,
        /// The status of its response.
        status: StatusCode,
        /// The beginning of its response body.
        body: String,
    },
    /// The server does not support WebSocket.
    #[error("{target} is not a WebSocket server: {why}")]
    NotWebSocket {
        /// Host and port.
        target: String,
        /// What is wrong with its response.
        why: &'static str,
    },
    /// The connection was lost during the handshake.
    #[error("the connection to {target} was lost: {error}")]
    Broken {
        /// Host and port.
        target: String,
        /// The system's error.
        error: io::Error,
    },
}

impl ConnectError {
    /// Whether another attempt would fail in the same way until something changes: the URL, the credentials, the server.
    #[must_use]
    pub fn is_permanent(&self) -> bool {
        match self {
            ConnectError::Url(_) | ConnectError::Credentials => true,
            ConnectError::Refused { status, .. } => is_permanent(*status),
            // TLS is explained by an error of this kind.
            ConnectError::Broken { error, .. } | ConnectError::Unreachable { error, .. } => {
                error.kind() == io::ErrorKind::PermissionDenied
            }
            ConnectError::NotWebSocket { .. } | ConnectError::TimedOut(_) => false,
        }
    }
}

/// Whether a server that answers with this status does so until something changes: not if it has too much to do, or
/// stands behind something that cannot reach it.
fn is_permanent(status: StatusCode) -> bool {
    let may_pass =
        [StatusCode::REQUEST_TIMEOUT, StatusCode::TOO_EARLY, StatusCode::TOO_MANY_REQUESTS].contains(&status);
    !status.is_server_error() && !may_pass
}

/// What a server said, if it said anything; of an error of JSON-RPC what is wrong.
fn quoted(body: &str) -> String {
    match body {
        "" => String::new(),
        body => format!(": {:?}", said(body).unwrap_or_else(|| body.to_owned())),
    }
}

fn said(body: &str) -> Option<String> {
    let member = |json: &Json, name: &str| json.decode::<BTreeMap<String, Json>>().ok()?.remove(name);
    let error = member(&Json::parse(body.to_owned()).ok()?, "error")?;
    let details = member(&error, "data").and_then(|data| member(&data, "details"));
    details.or_else(|| member(&error, "message"))?.decode().ok()
}

/// Connects to the server at this `ws` URL, which may call `service`.
///
/// The connection closes gracefully when the last clone of the peer is dropped, and with it every reply and stream.
///
/// # Errors
///
/// When the URL is invalid, or the server cannot be reached or refuses.
///
/// # Examples
///
/// ```no_run
/// use std::sync::Arc;
/// use switchboard_core::{Router, Settings};
/// use switchboard_transport::ws;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let nothing = Arc::new(Router::builder().build()?);
/// let url = "ws://127.0.0.1:8000/rpc/ws";
/// let peer = ws::connect(url, nothing, Arc::new(Settings::default()), &ws::WebSocketClientOptions::default()).await?;
/// let sum: i64 = peer.call("add", [2, 3]).await?;
/// # Ok(())
/// # }
/// ```
pub async fn connect(
    url: &str,
    service: Arc<dyn Service>,
    settings: Arc<Settings>,
    options: &WebSocketClientOptions,
) -> Result<Peer, ConnectError> {
    let place = ServerAddress::parse(url, "ws")?;
    let open = async {
        let unreachable = |error| ConnectError::Unreachable { target: place.target(), error };
        let tcp = TcpStream::connect((place.host(), place.port)).await.map_err(unreachable)?;
        let _ = tcp.set_nodelay(true);
        let origin = match tcp.peer_addr() {
            Ok(address) => Origin::new("ws").with_address(address),
            Err(_) => Origin::new("ws"),
        };
        let (io, unread) = shake_hands(tcp, &place, options, settings.tap.as_ref()).await?;
        Ok(run(io, unread, service, origin, settings, &options.websocket))
    };
    let opened = tokio::time::timeout(options.connect_time, open).await;
    opened.unwrap_or_else(|_| Err(ConnectError::TimedOut(place.target())))
}

/// Like [`connect`], over a stream that is already connected, with TLS for instance. The URL may be `ws` or `wss`; it provides
/// the host and the path.
///
/// # Errors
///
/// When the URL is invalid, or the server refuses.
pub async fn connect_over<S: DuplexIo>(
    io: S,
    url: &str,
    service: Arc<dyn Service>,
    settings: Arc<Settings>,
    options: &WebSocketClientOptions,
) -> Result<Peer, ConnectError> {
    let (io, unread) = shake_hands_over(io, url, options, settings.tap.as_ref()).await?;
    Ok(run(io, unread, service, Origin::new("ws"), settings, &options.websocket))
}

/// Like [`connect_over`], for messages that are not JSON-RPC, of up to `limit` bytes: the client's counterpart of [`accept`](super::accept()).
///
/// # Errors
///
/// When the URL is invalid, or the server refuses.
pub async fn connect_frames<S: DuplexIo>(
    io: S,
    url: &str,
    limit: usize,
    options: &WebSocketClientOptions,
) -> Result<(WebSocketSource<S>, WebSocketSink<S>, Ending<S>), ConnectError> {
    let (io, unread) = shake_hands_over(io, url, options, None).await?;
    Ok(open(io, Role::Client, limit, (unread, Vec::new()), &options.websocket))
}

async fn shake_hands_over<S: DuplexIo>(
    io: S,
    url: &str,
    options: &WebSocketClientOptions,
    tap: Option<&Tap>,
) -> Result<(S, BytesMut), ConnectError> {
    let scheme = if url.starts_with("wss:") { "wss" } else { "ws" };
    let place = ServerAddress::parse(url, scheme)?;
    let shaken = tokio::time::timeout(options.connect_time, shake_hands(io, &place, options, tap)).await;
    shaken.unwrap_or_else(|_| Err(ConnectError::TimedOut(place.target())))
}

/// Runs the connection in a task that ends with the last clone of the peer.
fn run<S: DuplexIo>(
    io: S,
    unread: BytesMut,
    service: Arc<dyn Service>,
    origin: Origin,
    settings: Arc<Settings>,
    options: &WebSocketOptions,
) -> Peer {
    let held = Arc::clone(&service);
    let (_, connection, ending) =
        start(io, Role::Client, (unread, Vec::new()), service, origin, settings, options);
    let peer = connection.owning_peer();
    let session = connection.session().clone();
    tokio::spawn(async move {
        let outcome = connection.await;
        if let Err(error) = &outcome {
            tracing::debug!(%error, "a WebSocket connection ended");
        }
        ending.finish_for(&outcome, session.close_reason()).await;
        // That it is dropped tells its owner that all is over.
        drop(held);
    });
    peer
}

/// Where to connect to.
#[derive(Debug)]
struct ServerAddress {
    uri: Uri,
    port: u16,
}

impl ServerAddress {
    fn parse(text: &str, scheme: &str) -> Result<ServerAddress, ConnectError> {
        let wrong = || ConnectError::Url(text.to_owned());
        let uri = Uri::try_from(text).map_err(|_| wrong())?;
        if uri.authority().is_some_and(|authority| authority.as_str().contains('@')) {
            return Err(ConnectError::Credentials);
        }
        if uri.scheme_str() != Some(scheme) || uri.host().is_none_or(str::is_empty) {
            return Err(wrong());
        }
        let port = uri.port_u16().unwrap_or(if scheme == "wss" { 443 } else { 80 });
        Ok(ServerAddress { uri, port })
    }

    /// The host, without the brackets of an address.
    fn host(&self) -> &str {
        self.uri.host().unwrap_or_default().trim_start_matches('[').trim_end_matches(']')
    }

    /// The path with the query.
    fn path(&self) -> &str {
        self.uri.path_and_query().map_or("/", |path| path.as_str())
    }

    fn target(&self) -> String {
        format!("{}:{}", self.uri.host().unwrap_or_default(), self.port)
    }
}

/// The most bytes that the head of a response may have.
const HEAD: usize = 16 << 10;
/// As much of a refusal is read.
const EXCERPT: usize = 512;

/// Sends the request and reads the response; returns the bytes after it, too.
async fn shake_hands<S: DuplexIo>(
    mut io: S,
    place: &ServerAddress,
    options: &WebSocketClientOptions,
    tap: Option<&Tap>,
) -> Result<(S, BytesMut), ConnectError> {
    let broken = |error| ConnectError::Broken { target: place.target(), error };
    let key = new_key(Masks::default().nonce());
    let own = own_headers(place, options, &key);
    io.write_all(&request(place.path(), &own, &options.headers)).await.map_err(broken)?;
    io.flush().await.map_err(broken)?;
    if let Some(tap) = tap {
        let head = redact::handshake(place.path(), &own, &options.headers);
        tap.show(Direction::Sent, Wire::Carrier(&head));
    }
    let (mut unread, mut watch) = (BytesMut::with_capacity(1 << 10), HeadWatch::default());
    let not_websocket = |why| ConnectError::NotWebSocket { target: place.target(), why };
    let (status, headers) = loop {
        if io.read_buf(&mut unread).await.map_err(broken)? == 0 {
            return Err(not_websocket("it closed the connection without a response"));
        }
        let read = if watch.is_due(&unread) { head(&unread) } else { Ok(None) };
        match read {
            Ok(Some((status, headers, size))) => {
                unread.advance(size);
                break (status, headers);
            }
            Ok(None) if unread.len() < HEAD => {}
            Ok(None) => return Err(not_websocket("its response headers do not end")),
            Err(()) => return Err(not_websocket("its response is not HTTP/1.1")),
        }
    };
    if let Some(tap) = tap {
        tap.show(Direction::Received, Wire::Carrier(&redact::response(status, &headers)));
    }
    if status != StatusCode::SWITCHING_PROTOCOLS {
        let body = excerpt(&mut io, &headers, unread).await;
        return Err(ConnectError::Refused { target: place.target(), status, body });
    }
    check(&headers, &key, &options.websocket.protocols).map_err(not_websocket)?;
    Ok((io, unread))
}

/// The headers that the handshake has anyway.
fn own_headers(place: &ServerAddress, options: &WebSocketClientOptions, key: &str) -> String {
    let host = place.uri.authority().map_or("", |authority| authority.as_str());
    let mut text = format!(
        "Host: {host}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
    );
    if !options.websocket.protocols.is_empty() {
        text.push_str(&format!("Sec-WebSocket-Protocol: {}\r\n", options.websocket.protocols.join(", ")));
    }
    text
}

fn request(path: &str, own: &str, headers: &HeaderMap) -> Vec<u8> {
    let mut text = format!("GET {path} HTTP/1.1\r\n{own}").into_bytes();
    for (name, value) in headers {
        write_line(&mut text, name, value);
    }
    text.extend_from_slice(b"\r\n");
    text
}

/// The status, the headers and the length of a head, if it is here as a whole.
fn head(bytes: &[u8]) -> Result<Option<(StatusCode, HeaderMap, usize)>, ()> {
    let mut fields = [httparse::EMPTY_HEADER; 64];
    let mut response = httparse::Response::new(&mut fields);
    let httparse::Status::Complete(size) = response.parse(bytes).map_err(|_| ())? else { return Ok(None) };
    if response.version != Some(1) {
        return Err(());
    }
    let status = response.code.and_then(|code| StatusCode::from_u16(code).ok()).ok_or(())?;
    let mut headers = HeaderMap::new();
    for field in response.headers {
        let name = HeaderName::from_bytes(field.name.as_bytes()).map_err(|_| ())?;
        headers.append(name, HeaderValue::from_bytes(field.value).map_err(|_| ())?);
    }
    Ok(Some((status, headers, size)))
}

/// What is wrong with the headers of an answer that says yes (RFC 6455, section 4.1).
fn check(headers: &HeaderMap, key: &str, protocols: &[String]) -> Result<(), &'static str> {
    if !asks_for_websocket(headers) || !has_token(headers, &header::CONNECTION, "upgrade") {
        return Err("its response does not upgrade the connection to a WebSocket");
    }
    let mut accepts = headers.get_all(header::SEC_WEBSOCKET_ACCEPT).iter();
    let accept = accepts.next().map(|value| value.as_bytes().trim_ascii());
    if accept != Some(accept_key(key.as_bytes()).as_bytes()) || accepts.next().is_some() {
        return Err("`Sec-WebSocket-Accept` does not match the key");
    }
    if headers.contains_key(header::SEC_WEBSOCKET_EXTENSIONS) {
        return Err("it uses an extension that was not requested");
    }
    match headers.get(header::SEC_WEBSOCKET_PROTOCOL) {
        Some(chosen) if !protocols.iter().any(|protocol| protocol.as_bytes() == chosen.as_bytes()) => {
            Err("it uses a subprotocol that was not requested")
        }
        _ => Ok(()),
    }
}

/// The beginning of a refusal's body.
async fn excerpt<S: DuplexIo>(io: &mut S, headers: &HeaderMap, mut unread: BytesMut) -> String {
    let length = headers.get(header::CONTENT_LENGTH).and_then(|value| value.to_str().ok()?.parse().ok());
    let length = length.unwrap_or(0_usize).min(EXCERPT);
    while unread.len() < length {
        if !matches!(io.read_buf(&mut unread).await, Ok(1..)) {
            break;
        }
    }
    unread.truncate(EXCERPT);
    String::from_utf8_lossy(&unread).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_an_error_what_is_wrong_is_told() {
        let check = |body: &str, expected: &str| assert_eq!(quoted(body), expected, "{body}");
        check("", "");
        check("no \"way\"", r#": "no \"way\"""#);
        check(r#"{"error":{"code":1,"message":"no","data":{"details":"why"}}}"#, ": \"why\"");
        check(r#"{"error":{"code":1,"message":"no","data":[1]}}"#, ": \"no\"");
        check(r#"{"error":5}"#, r#": "{\"error\":5}""#);
    }

    #[test]
    fn a_refusal_is_permanent_unless_the_server_is_busy_or_broken() {
        for status in [301, 400, 401, 403, 404, 426] {
            assert!(is_permanent(StatusCode::from_u16(status).unwrap()), "{status}");
        }
        for status in [408, 425, 429, 500, 502, 503, 504] {
            assert!(!is_permanent(StatusCode::from_u16(status).unwrap()), "{status}");
        }
    }
}
