//! Our server with a client of others, and our client with a server of others.

use std::sync::Arc;

use futures_util::{SinkExt, StreamExt};
use switchboard_core::{CallError, ErrorObject, Json, Router, Settings};
use switchboard_tests::demo;
use switchboard_transport::http::HttpServer;
use switchboard_transport::ws::{self, ConnectError, WebSocketClientOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_tungstenite::tungstenite::Message;

fn nothing() -> Arc<Router> {
    Arc::new(Router::builder().build().unwrap())
}

async fn connect(url: &str) -> Result<switchboard_core::Peer, ConnectError> {
    ws::connect(url, nothing(), Arc::new(Settings::default()), &WebSocketClientOptions::default()).await
}

#[tokio::test]
async fn a_foreign_client_is_answered_in_the_kind_it_uses() {
    let server = HttpServer::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/rpc/ws", server.local_addr());
    let mut tasks = JoinSet::new();
    tasks.spawn(server.serve(demo::router()));
    let (mut client, _) = tokio_tungstenite::connect_async(&url).await.unwrap();
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"add","params":[2,3]}"#;
    let sum = r#"{"jsonrpc":"2.0","result":5,"id":1}"#;
    client.send(Message::text(call)).await.unwrap();
    assert_eq!(client.next().await.unwrap().unwrap(), Message::text(sum));
    client.send(Message::binary(call.as_bytes().to_vec())).await.unwrap();
    assert_eq!(client.next().await.unwrap().unwrap(), Message::binary(sum.as_bytes().to_vec()));
    client.send(Message::Ping("alive?".into())).await.unwrap();
    assert_eq!(client.next().await.unwrap().unwrap(), Message::Pong("alive?".into()));
    let long = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"echo","params":["{}"]}}"#, "x".repeat(300_000));
    client.send(Message::text(long)).await.unwrap();
    assert!(client.next().await.unwrap().unwrap().len() > 300_000);
    client.close(None).await.unwrap();
    while let Some(message) = client.next().await {
        assert!(message.unwrap().is_close());
    }
}

#[tokio::test]
async fn a_foreign_server_is_called_and_closed_in_good_order() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/", listener.local_addr().unwrap());
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let (tcp, _) = listener.accept().await.unwrap();
        let mut socket = tokio_tungstenite::accept_async(tcp).await.unwrap();
        let mut close = None;
        while let Some(Ok(message)) = socket.next().await {
            if let Message::Close(frame) = message {
                close = frame;
                continue;
            }
            if !message.is_text() {
                continue;
            }
            let call: Json = Json::parse(message.into_data()).unwrap();
            let reply =
                call.as_str().replace(r#""method":"ask""#, r#""result":7"#).replace(r#","params":[1]"#, "");
            socket.send(Message::Ping("?".into())).await.unwrap();
            socket.send(Message::text(reply)).await.unwrap();
        }
        assert_eq!(u16::from(close.unwrap().code), 1000);
    });
    let peer = connect(&url).await.unwrap();
    for _ in 0..3 {
        assert_eq!(peer.call::<u8>("ask", [1]).await.unwrap(), 7);
    }
    drop(peer);
    tasks.join_next().await.unwrap().unwrap();
}

#[tokio::test]
async fn a_call_under_way_learns_why_the_far_side_closed() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/", listener.local_addr().unwrap());
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let (tcp, _) = listener.accept().await.unwrap();
        let mut socket = tokio_tungstenite::accept_async(tcp).await.unwrap();
        socket.next().await.unwrap().unwrap();
        socket.close(None).await.unwrap();
        while socket.next().await.is_some() {}
    });
    let error = connect(&url).await.unwrap().call::<u8>("ask", [1]).await.unwrap_err();
    assert!(
        matches!(&error, CallError::Closed(why) if why.contains("closed the connection: without a code")),
        "{error}"
    );
    tasks.join_next().await.unwrap().unwrap();
}

#[tokio::test]
async fn our_client_and_our_server_understand_each_other() {
    let server = HttpServer::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/", server.local_addr());
    let mut tasks = JoinSet::new();
    tasks.spawn(server.serve(demo::router()));
    let peer = connect(&url).await.unwrap();
    let long = "é".repeat(200_000);
    assert_eq!(peer.call::<(String,)>("echo", (&long,)).await.unwrap().0, long);
    let counted: Vec<_> = peer.stream::<u16>("count", (300,)).await.unwrap().collect().await;
    assert_eq!(counted.len(), 300);
    let batch = peer.batch().call("add", (1, 2)).call("fail", ()).send().await.unwrap();
    assert_eq!(batch.len(), 2);
    let refused = peer.call::<u8>("no", ()).await.unwrap_err();
    assert!(matches!(refused, CallError::Rejected(ErrorObject { .. })));
}

/// A server that answers a handshake with this text.
async fn answered_with(text: &'static str) -> ConnectError {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/", listener.local_addr().unwrap());
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        let (mut tcp, _) = listener.accept().await.unwrap();
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            tcp.read_buf(&mut head).await.unwrap();
        }
        tcp.write_all(text.as_bytes()).await.unwrap();
    });
    connect(&url).await.unwrap_err()
}

#[tokio::test]
async fn whatever_is_no_websocket_server_is_told_in_words() {
    let refused = answered_with("HTTP/1.1 401 Unauthorized\r\ncontent-length: 8\r\n\r\nno token").await;
    let ConnectError::Refused { status, body, .. } = refused else { panic!("{refused}") };
    assert_eq!((status.as_u16(), body.as_str()), (401, "no token"));
    let check = |error: ConnectError| assert!(matches!(error, ConnectError::NotWebSocket { .. }), "{error}");
    check(answered_with("220 mail.example ESMTP\r\n").await);
    check(answered_with("HTTP/1.1 101 Switching Protocols\r\n\r\n").await);
    let wrong_key = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
                     sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n";
    check(answered_with(wrong_key).await);
    check(answered_with("").await);
    let closed = TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap();
    assert!(matches!(connect(&format!("ws://{closed}/")).await, Err(ConnectError::Unreachable { .. })));
    assert!(matches!(connect("http://a.example/").await, Err(ConnectError::Url(_))));
    assert!(matches!(connect("ws://me:pw@a.example/").await, Err(ConnectError::Credentials)));
}
