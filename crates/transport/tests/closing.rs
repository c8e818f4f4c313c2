//! Sessions that the service closes: each carrier ends its own way, after the answer.
#![cfg(all(feature = "http", feature = "ws", feature = "tcp"))]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::sync::{Arc, Mutex};

use support::{Raw, by_hyper, post, serve_with, within};
use switchboard_core::{CloseReason, Context, EndReason, ErrorObject, Router, Settings};
use switchboard_transport::http::Endpoint;
use switchboard_transport::server::{Server, ServerOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

type Ends = Arc<Mutex<Vec<EndReason>>>;

/// Closes the session of its caller.
fn router(ends: &Ends) -> Router {
    let ends = Arc::clone(ends);
    let bye = move |(): (), cx: Context| {
        let ends = Arc::clone(&ends);
        cx.session().on_end(move |end| ends.lock().unwrap().push(end.clone()));
        cx.session().close(CloseReason::new("enough").with_code(4001));
        Ok::<_, ErrorObject>("bye")
    };
    Router::builder().method("bye", bye).build().unwrap()
}

const BYE: &str = r#"{"jsonrpc":"2.0","method":"bye","id":1}"#;

fn closed() -> EndReason {
    EndReason::Closed(CloseReason::new("enough").with_code(4001))
}

#[tokio::test]
async fn an_http_connection_is_closed_after_its_answer() {
    for settings in [Settings::default(), by_hyper(Settings::default())] {
        let ends = Ends::default();
        let endpoint = Endpoint::new(router(&ends)).with_settings(settings);
        let server = serve_with(endpoint, ServerOptions::default()).await;
        let mut raw = Raw::open(server.address).await;
        raw.send(post(server.address, "", BYE)).await;
        let received = raw.response().await.unwrap();
        assert!(received.body.contains("bye"), "{received:?}");
        assert!(raw.is_closed().await);
        server.stop().await;
        assert_eq!(*ends.lock().unwrap(), [closed()]);
    }
}

#[tokio::test]
async fn a_websocket_is_closed_with_the_code_and_the_words_of_the_reason() {
    let ends = Ends::default();
    let server = serve_with(Endpoint::new(router(&ends)), ServerOptions::default()).await;
    let mut stream = TcpStream::connect(server.address).await.unwrap();
    let head = format!(
        "GET /rpc HTTP/1.1\r\nhost: {}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n",
        server.address
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    // A masked text frame whose key is zero.
    let mut frame = vec![0x81, 0x80 | u8::try_from(BYE.len()).unwrap(), 0, 0, 0, 0];
    frame.extend_from_slice(BYE.as_bytes());
    stream.write_all(&frame).await.unwrap();
    let mut said = Vec::new();
    let expected = [&[0x88, 8][..], &4001_u16.to_be_bytes(), b"enough"].concat();
    while !said.ends_with(&expected) {
        assert_ne!(
            within(stream.read_buf(&mut said)).await.unwrap(),
            0,
            "{}",
            String::from_utf8_lossy(&said)
        );
    }
    assert!(String::from_utf8_lossy(&said).contains(r#""result":"bye""#));
    drop(stream);
    server.stop().await;
    assert_eq!(*ends.lock().unwrap(), [closed()]);
}

#[tokio::test]
async fn a_tcp_connection_ends_after_its_answer() {
    let ends = Ends::default();
    let mut server = Server::new(router(&ends));
    server.listen("tcp://127.0.0.1:0").await.unwrap();
    let (url, handle) = (server.urls().next().unwrap(), server.handle());
    let serving = tokio::spawn(server.serve());
    let mut stream = TcpStream::connect(url.strip_prefix("tcp://").unwrap()).await.unwrap();
    stream.write_all(format!("{BYE}\n").as_bytes()).await.unwrap();
    let mut said = String::new();
    within(stream.read_to_string(&mut said)).await.unwrap();
    assert!(said.contains(r#""result":"bye""#), "{said}");
    handle.shutdown();
    within(serving).await.unwrap();
    assert_eq!(*ends.lock().unwrap(), [closed()]);
}
