//! Who may come in: asked when a session opens, before a body is read, and before an upgrade.
#![cfg(all(feature = "http", feature = "ws", feature = "tcp"))]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use bytes::Bytes;
use http::Request;
use http_body_util::Full;
use support::{Raw, ask, by_hyper, post, serve_with, within};
use switchboard_core::observer::{Observer, Refused};
use switchboard_core::{
    Admission, AdmitFuture, Arrival, CallError, Code, Context, ErrorObject, Peer, Refusal, Router, Settings,
};
use switchboard_transport::http::{
    Client, Cors, DocumentRoute, Endpoint, EndpointOptions, HttpClientOptions,
};
use switchboard_transport::server::{Server, ServerOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tower_service::Service as _;

/// Lets in who brings a key, and tells handlers who that is.
struct Keys {
    is_slow: bool,
    asked: Arc<AtomicUsize>,
}

struct User(String);

impl Admission for Keys {
    fn admit(&self, arrival: &Arrival<'_>) -> AdmitFuture {
        let Arrival::Request { cx, path, .. } = arrival else {
            return AdmitFuture::admitted(arrival.cx().clone());
        };
        self.asked.fetch_add(1, Ordering::Relaxed);
        let decision = match cx.metadata().text("x-key") {
            Some(key) => {
                let mut cx = (*cx).clone();
                cx.insert(User(format!("{key} at {path}")));
                Ok(cx)
            }
            None => {
                let refusal = Refusal::new(ErrorObject::from_code(Code::UNAUTHORIZED)).with_status(401);
                Err(refusal.with_metadata("www-authenticate", "Key"))
            }
        };
        match (self.is_slow, decision) {
            (true, decision) => AdmitFuture::pending(async move {
                tokio::task::yield_now().await;
                decision
            }),
            (false, Ok(cx)) => AdmitFuture::admitted(cx),
            (false, Err(refusal)) => AdmitFuture::refused(refusal),
        }
    }
}

fn router() -> Router {
    let who = |(): (), cx: Context| Ok::<_, ErrorObject>(cx.get::<User>().map(|user| user.0.clone()));
    Router::builder().method("who", who).build().unwrap()
}

/// Sees what is refused.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Refusals>>);

/// Codes and statuses.
type Refusals = Vec<(Code, Option<u16>)>;

impl Observer for Seen {
    fn refused(&self, _: &Context, refused: &Refused<'_>) {
        self.0.lock().unwrap().push((refused.error.code, refused.status));
    }
}

const WHO: &str = r#"{"jsonrpc":"2.0","method":"who","id":1}"#;

#[tokio::test]
async fn a_request_is_let_in_or_refused_with_status_and_headers_and_the_connection_stays() {
    for (is_slow, is_plain) in [(false, true), (false, false), (true, true), (true, false)] {
        let (asked, seen) = (Arc::new(AtomicUsize::new(0)), Seen::default());
        let admission = Keys { is_slow, asked: Arc::clone(&asked) };
        let settings = Settings::default()
            .with_admission(Some(admission.into()))
            .with_observer(Some(seen.clone().into()));
        let settings = if is_plain { settings } else { by_hyper(settings) };
        let server =
            serve_with(Endpoint::new(router()).with_settings(settings), ServerOptions::default()).await;
        let mut raw = Raw::open(server.address).await;
        raw.send(&post(server.address, "", WHO)).await;
        let refused = raw.response().await.unwrap();
        assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some("Key")), "{refused:?}");
        assert!(refused.body.contains(&Code::UNAUTHORIZED.to_string()), "{refused:?}");
        raw.send(&post(server.address, "x-key: ann\r\n", WHO)).await;
        let received = raw.response().await.unwrap();
        assert!(received.body.contains(r#""result":"ann at /""#), "{received:?}");
        assert_eq!(asked.load(Ordering::Relaxed), 2, "each request asks once");
        assert_eq!(*seen.0.lock().unwrap(), [(Code::UNAUTHORIZED, Some(401))]);
        drop(raw);
        server.stop().await;
    }
}

#[tokio::test]
async fn a_request_is_refused_before_its_body_is_read() {
    let asked = Arc::new(AtomicUsize::new(0));
    let settings =
        Settings::default().with_admission(Some(Keys { is_slow: false, asked: Arc::clone(&asked) }.into()));
    let server = serve_with(Endpoint::new(router()).with_settings(settings), ServerOptions::default()).await;
    let head = format!(
        "POST / HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json\r\ncontent-length: 1000000\r\n\r\n",
        server.address
    );
    // Nothing of the body is sent.
    let refused = ask(server.address, head).await;
    assert_eq!((refused.status, refused.header("connection")), (401, Some("close")), "{refused:?}");
    server.stop().await;
}

#[tokio::test]
async fn every_kind_of_request_is_asked_about() {
    let asked = Arc::new(AtomicUsize::new(0));
    let settings =
        Settings::default().with_admission(Some(Keys { is_slow: true, asked: Arc::clone(&asked) }.into()));
    let options =
        EndpointOptions::default().with_cors(Some(Cors::default())).route("/openrpc.json", DocumentRoute);
    let endpoint = Endpoint::new(router()).with_settings(settings).with_options(options);
    let server = serve_with(endpoint.clone(), ServerOptions::default()).await;
    let host = server.address;
    let batch = format!("[{WHO},{WHO}]");
    let requests = [
        post(host, "", &batch),
        post(host, "accept: text/event-stream\r\n", WHO),
        post(host, "accept: application/json, text/event-stream\r\n", WHO),
        format!("GET /rpc/stream?method=who HTTP/1.1\r\nhost: {host}\r\n\r\n"),
        format!("GET /openrpc.json HTTP/1.1\r\nhost: {host}\r\n\r\n"),
        // A body that is announced and does not arrive is not waited for.
        format!(
            "POST / HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\r\n"
        ),
    ];
    for (count, request) in (1..).zip(requests) {
        let refused = ask(host, request.clone()).await;
        assert_eq!(refused.status, 401, "{request}: {refused:?}");
        assert_eq!(asked.load(Ordering::Relaxed), count, "{request}");
    }
    // A browser asks what a page may do without credentials.
    let preflight = format!(
        "OPTIONS / HTTP/1.1\r\nhost: {host}\r\norigin: http://{host}\r\naccess-control-request-method: POST\r\n\r\n"
    );
    assert_eq!(ask(host, preflight).await.status, 204);
    server.stop().await;

    let request = Request::post("/").header("host", "h").header("content-type", "application/json");
    let mut mounted = endpoint;
    let response = mounted.call(request.body(Full::new(Bytes::from(WHO))).unwrap()).await.unwrap();
    assert_eq!(response.status(), 401);
}

#[tokio::test]
async fn http2_is_asked_too() {
    let settings =
        Settings::default().with_admission(Some(Keys { is_slow: false, asked: Arc::default() }.into()));
    let server = serve_with(Endpoint::new(router()).with_settings(settings), ServerOptions::default()).await;
    let options = HttpClientOptions::default().with_http2(true);
    let peer = Peer::new(Client::with_options(&server.url(), options).unwrap());
    assert!(within(peer.call::<String>("who", ())).await.is_err());
    let who: String = within(peer.call("who", ()).metadata("x-key", "ann")).await.unwrap();
    assert_eq!(who, "ann at /");
    drop(peer);
    server.stop().await;
}

#[tokio::test]
async fn a_websocket_is_refused_before_it_opens_and_knows_who_was_let_in() {
    let settings =
        Settings::default().with_admission(Some(Keys { is_slow: true, asked: Arc::default() }.into()));
    let server = serve_with(Endpoint::new(router()).with_settings(settings), ServerOptions::default()).await;
    let url = format!("ws://{}/rpc/ws", server.address);
    let open = async |key: Option<&str>| {
        let mut options = switchboard_transport::ws::WebSocketClientOptions::default();
        if let Some(key) = key {
            options.headers.insert("x-key", key.parse().unwrap());
        }
        let nothing = Arc::new(Router::builder().build().unwrap());
        switchboard_transport::ws::connect(&url, nothing, Arc::new(Settings::default()), &options).await
    };
    let refused = open(None).await.unwrap_err().to_string();
    assert!(refused.contains("401"), "{refused}");
    let peer = open(Some("ann")).await.unwrap();
    for _ in 0..2 {
        let who: String = within(peer.call("who", ())).await.unwrap();
        assert_eq!(who, "ann at /rpc/ws");
    }
    drop(peer);
    server.stop().await;
}

/// Lets nobody in.
struct Closed;

impl Admission for Closed {
    fn admit(&self, _: &Arrival<'_>) -> AdmitFuture {
        AdmitFuture::pending(async {
            tokio::task::yield_now().await;
            Err(Refusal::new(ErrorObject::from_code(Code::UNAUTHORIZED)))
        })
    }
}

#[tokio::test]
async fn a_session_that_is_refused_gets_an_error_and_is_closed_over_every_carrier() {
    let settings = Settings::default().with_admission(Some(Closed.into()));
    let mut server = Server::new(router()).with_settings(settings);
    for url in ["http://127.0.0.1:0", "tcp://127.0.0.1:0"] {
        server.listen(url).await.unwrap();
    }
    let (urls, handle): (Vec<_>, _) = (server.urls().collect(), server.handle());
    let serving = tokio::spawn(server.serve());
    for url in &urls {
        let address = url.split("//").nth(1).unwrap().trim_end_matches('/');
        let mut stream = TcpStream::connect(address).await.unwrap();
        stream.write_all(format!("{WHO}\n").as_bytes()).await.unwrap();
        let mut said = String::new();
        within(stream.read_to_string(&mut said)).await.unwrap();
        assert!(said.contains(&Code::UNAUTHORIZED.to_string()), "{url}: {said}");
        assert_eq!(url.starts_with("http"), said.starts_with("HTTP/1.1 403"), "{url}: {said}");
    }
    let peer = switchboard_transport::connect(&urls[1]).await.unwrap();
    let outcome = within(peer.call::<Option<String>>("who", ())).await;
    assert!(matches!(outcome, Err(CallError::Closed(_) | CallError::Rejected(_))), "{outcome:?}");
    handle.shutdown();
    within(serving).await.unwrap();
}

/// Panics.
struct Broken;

impl Admission for Broken {
    fn admit(&self, _: &Arrival<'_>) -> AdmitFuture {
        panic!("no decision")
    }
}

#[tokio::test]
async fn an_admission_that_panics_refuses() {
    let settings = Settings::default().with_admission(Some(Broken.into()));
    let server = serve_with(Endpoint::new(router()).with_settings(settings), ServerOptions::default()).await;
    let refused = ask(server.address, post(server.address, "", WHO)).await;
    assert_eq!(refused.status, 500);
    server.stop().await;
}
