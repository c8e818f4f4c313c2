//! WebSockets through an endpoint that is mounted into another server.

#![cfg(feature = "ws")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::extract::Request;
use axum::middleware::{self, Next};
use support::{ADD, ask, post_to, within};
use switchboard_core::{Context, ErrorObject, Origin, Router, Settings};
use switchboard_transport::http::Endpoint;
use switchboard_transport::ws::{WebSocketClientOptions, connect};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Notify, mpsc, oneshot};

/// Serves an application; drop the sender to shut it down.
async fn serve(app: axum::Router) -> (SocketAddr, oneshot::Sender<()>, tokio::task::JoinHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel::<()>();
    let stopped = async move { drop(stopped.await) };
    let serving = axum::serve(listener, app).with_graceful_shutdown(stopped);
    (address, stop, tokio::spawn(async move { serving.await.unwrap() }))
}

#[tokio::test]
async fn a_mounted_endpoint_upgrades_and_keeps_the_headers() {
    let router = Router::builder()
        .method("token", |(): (), cx: Context| {
            let token = cx.metadata().text("authorization").map(str::to_owned);
            Ok::<_, ErrorObject>((cx.origin().transport, token))
        })
        .build()
        .unwrap();
    let endpoint = Endpoint::mounted(router);
    let (address, _stop, _) = serve(axum::Router::new().route_service("/here", endpoint)).await;
    let mut options = WebSocketClientOptions::default();
    options.headers.insert("authorization", "Bearer abc".parse().unwrap());
    let nothing = Arc::new(Router::builder().build().unwrap());
    let url = format!("ws://{address}/here");
    let peer = connect(&url, nothing, Arc::new(Settings::default()), &options).await.unwrap();
    let told: (String, Option<String>) = peer.call("token", ()).await.unwrap();
    assert_eq!(told, ("ws".to_owned(), Some("Bearer abc".to_owned())));
}

#[tokio::test]
async fn what_middleware_attached_holds_for_all_calls_of_the_websocket() {
    struct User(&'static str);
    let router = Router::builder()
        .method("whoami", |(): (), cx: Context| Ok::<_, ErrorObject>(cx.get::<User>().map(|user| user.0)));
    let identify = middleware::from_fn(async |mut request: Request, next: Next| {
        let mut cx = Context::new(Origin::new("http"));
        cx.insert(User("ada"));
        request.extensions_mut().insert(cx);
        next.run(request).await
    });
    let endpoint = Endpoint::mounted(router.build().unwrap());
    let app = axum::Router::new().route_service("/rpc", endpoint).layer(identify);
    let (address, _stop, _) = serve(app).await;
    let peer = switchboard_transport::connect(&format!("ws://{address}/rpc")).await.unwrap();
    for _ in 0..2 {
        let name: Option<String> = within(peer.call("whoami", ())).await.unwrap();
        assert_eq!(name.as_deref(), Some("ada"));
    }
}

/// A WebSocket by hand, to see its frames.
async fn open(address: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!(
        "GET /rpc HTTP/1.1\r\nhost: {address}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(within(stream.read_u8()).await.unwrap());
    }
    assert!(head.starts_with(b"HTTP/1.1 101 "), "{}", String::from_utf8_lossy(&head));
    stream
}

/// Sends a short frame, with a mask of zeros.
async fn send(stream: &mut TcpStream, opcode: u8, payload: &[u8]) {
    let mut frame = vec![0x80 | opcode, 0x80 | u8::try_from(payload.len()).unwrap(), 0, 0, 0, 0];
    frame.extend_from_slice(payload);
    stream.write_all(&frame).await.unwrap();
}

/// The next short frame: its opcode and its payload.
async fn receive(stream: &mut TcpStream) -> (u8, Vec<u8>) {
    let (first, length) = (stream.read_u8().await.unwrap(), stream.read_u8().await.unwrap());
    let mut payload = vec![0; length.into()];
    stream.read_exact(&mut payload).await.unwrap();
    (first & 0xf, payload)
}

#[tokio::test]
async fn shutting_an_endpoint_down_answers_its_websockets_and_ends_them_with_a_close_frame() {
    let (began, mut begun) = mpsc::channel(1);
    let go_on = Arc::new(Notify::new());
    let wait = Arc::clone(&go_on);
    let hold = move |(): (), _| {
        let (began, wait) = (began.clone(), Arc::clone(&wait));
        async move {
            began.send(()).await.unwrap();
            wait.notified().await;
            Ok::<_, ErrorObject>("done")
        }
    };
    let endpoint = Endpoint::mounted(Router::builder().async_method("hold", hold).build().unwrap());
    let handle = endpoint.handle();
    let (address, stop, serving) = serve(axum::Router::new().route_service("/rpc", endpoint)).await;
    let (mut idle, mut busy) = (open(address).await, open(address).await);
    send(&mut busy, 1, br#"{"jsonrpc":"2.0","method":"hold","id":1}"#).await;
    within(begun.recv()).await.unwrap();

    handle.shutdown();
    let refused = ask(address, post_to(address, "/rpc", "content-type: application/json\r\n", ADD)).await;
    assert_eq!((refused.status, refused.header("retry-after")), (503, Some("1")));
    assert!(refused.body.contains("-32006"), "{}", refused.body);
    // The surrounding server ends, and with it the application; the handle keeps the endpoint.
    stop.send(()).unwrap();
    within(serving).await.unwrap();
    let reason = [&1001_u16.to_be_bytes()[..], b"the server is shutting down"].concat();
    let going_away = (8, reason);
    assert_eq!(within(receive(&mut idle)).await, going_away);
    send(&mut idle, 8, &going_away.1).await;

    let finishing = tokio::spawn({
        let handle = handle.clone();
        async move { handle.finished().await }
    });
    go_on.notify_one();
    let (opcode, answer) = within(receive(&mut busy)).await;
    assert_eq!((opcode, String::from_utf8_lossy(&answer).contains("done")), (1, true));
    assert_eq!(within(receive(&mut busy)).await, going_away);
    assert!(!finishing.is_finished(), "the close frame of the other side is awaited");
    send(&mut busy, 8, &going_away.1).await;
    within(finishing).await.unwrap();
}
