//! Calling over HTTP: JH-28, J2-71.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::net::SocketAddr;
use std::time::Duration;

use support::{router, serve, serve_with, within};
use switchboard_core::{CallError, Code, ErrorObject, Json, Limits, Peer, Router, Settings};
use switchboard_transport::http::{self, Client, Endpoint, EndpointOptions, HttpClientOptions};
use switchboard_transport::server::ServerOptions;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

#[tokio::test]
async fn calls_notifications_and_batches_reach_a_server() {
    let server = serve().await;
    let peer = http::connect(&server.url()).unwrap();
    let sum: i64 = peer.call("add", [2, 3]).await.unwrap();
    assert_eq!(sum, 5);
    peer.notify("add", [2, 3]).await.unwrap();
    peer.notify("no such method", ()).await.unwrap();
    let error = peer.call::<i64>("no", ()).await.unwrap_err();
    assert_eq!(error.rejection().unwrap().code, Code::METHOD_NOT_FOUND);

    let batch = peer.batch().call("add", [1, 1]).notify("add", [0, 0]).call("no", ()).call("echo", ["x"]);
    let outcomes = batch.send().await.unwrap();
    assert_eq!(outcomes.len(), 3);
    assert_eq!(outcomes[0].as_ref().unwrap().as_str(), "2");
    assert_eq!(outcomes[1].as_ref().unwrap_err().rejection().unwrap().code, Code::METHOD_NOT_FOUND);
    assert_eq!(outcomes[2].as_ref().unwrap().as_str(), "\"x\"");
    assert_eq!(peer.batch().notify("add", [0, 0]).send().await.unwrap(), []);
    assert_eq!(peer.batch().send().await.unwrap(), []);
    server.stop().await;
}

#[tokio::test]
async fn an_error_keeps_its_code_and_data_whatever_the_status() {
    let router = Router::builder().method("fail", |(): (), _| {
        Err::<(), _>(ErrorObject::new(Code(1001), "no such user").with_data(&[7]))
    });
    let endpoint = Endpoint::new(router.build().unwrap());
    for status in [http::StatusMapping::AlwaysOk, http::StatusMapping::Draft2008] {
        let endpoint = endpoint.clone().with_options(EndpointOptions::default().with_status(status));
        let server = serve_with(endpoint, ServerOptions::default()).await;
        let peer = http::connect(&server.url()).unwrap();
        let error = peer.call::<()>("fail", ()).await.unwrap_err();
        let error = error.rejection().expect("the far side's own error");
        assert_eq!((error.code, &*error.message), (Code(1001), "no such user"));
        assert_eq!(error.data.as_ref().unwrap().as_str(), "[7]");
        server.stop().await;
    }
}

#[tokio::test]
async fn a_refusal_of_http_is_the_error_in_its_body() {
    let limits = Limits::default().with_frame(100);
    let endpoint = Endpoint::new(router()).with_settings(Settings::default().with_limits(limits));
    let server = serve_with(endpoint, ServerOptions::default()).await;
    let peer = http::connect(&server.url()).unwrap();
    let error = peer.call::<String>("echo", ["x".repeat(100)]).await.unwrap_err();
    assert_eq!(error.rejection().unwrap().code, Code::INVALID_REQUEST);
    let peer = http::connect(&format!("http://{}/other", server.address)).unwrap();
    let error = peer.call::<i64>("add", [1, 2]).await.unwrap_err();
    assert_eq!(error.rejection().unwrap().code, Code::INVALID_REQUEST);
    server.stop().await;
}

#[tokio::test]
async fn large_values_go_both_ways() {
    let server = serve().await;
    let peer = http::connect(&server.url()).unwrap();
    let text = "é".repeat(1 << 20);
    let same: String = peer.call("echo", [&text]).await.unwrap();
    assert_eq!(same, text);
    server.stop().await;
}

#[tokio::test]
async fn many_calls_at_once_each_get_their_own_answer() {
    let server = serve().await;
    for http2 in [false, true] {
        let options = HttpClientOptions::default().with_http2(http2);
        let peer = Peer::new(Client::with_options(&server.url(), options).unwrap());
        let calls = (0..50).map(|n| {
            let peer = peer.clone();
            tokio::spawn(async move { (n, peer.call::<i64>("add", [n, 1]).await) })
        });
        for call in calls.collect::<Vec<_>>() {
            let (n, sum) = within(call).await.unwrap();
            assert_eq!(sum, Ok(n + 1));
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn when_nothing_listens_the_error_says_so() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    drop(listener);
    let peer = http::connect(&format!("http://{address}/")).unwrap();
    let error = peer.call::<i64>("add", [1, 2]).await.unwrap_err();
    assert_eq!(error, CallError::Unreachable(format!("nothing is listening on {address}").into()));
}

/// Answers each connection with a text, and tells what it read.
async fn canned(answer: &'static [u8]) -> (SocketAddr, mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (seen, requests) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let read = read_request(&mut stream).await;
            let _ = seen.send(String::from_utf8_lossy(&read).into_owned());
            let _ = stream.write_all(answer).await;
        }
    });
    (address, requests)
}

/// Reads a request, up to the brace, or the bracket, that ends the body.
async fn read_request(stream: &mut TcpStream) -> Vec<u8> {
    let mut read = Vec::new();
    while !matches!(read.last(), Some(b'}' | b']')) {
        if stream.read_buf(&mut read).await.unwrap_or(0) == 0 {
            break;
        }
    }
    read
}

async fn call_canned(answer: &'static [u8]) -> CallError {
    let (address, mut requests) = canned(answer).await;
    let peer = http::connect(&format!("http://{address}/")).unwrap();
    let error = within(async { peer.call::<Json>("add", [1, 2]).await }).await.unwrap_err();
    assert!(requests.recv().await.is_some());
    assert!(requests.try_recv().is_err(), "a call is sent once");
    error
}

#[tokio::test]
async fn what_is_not_an_answer_is_told_apart() {
    let transport = call_canned(b"HTTP/1.1 502 Bad Gateway\r\ncontent-length: 5\r\n\r\nsorry").await;
    assert!(transport.to_string().contains("502 Bad Gateway"), "{transport}");
    assert!(matches!(transport, CallError::Transport(_)), "{transport:?}");

    // SEC-H-06
    let redirect =
        call_canned(b"HTTP/1.1 307 Temporary Redirect\r\nlocation: /x\r\ncontent-length: 0\r\n\r\n").await;
    assert!(matches!(redirect, CallError::Transport(_)), "{redirect:?}");

    let page = call_canned(b"HTTP/1.1 200 OK\r\ncontent-length: 6\r\n\r\n<html>").await;
    assert!(matches!(page, CallError::Protocol(_)), "{page:?}");

    let empty = call_canned(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await;
    assert!(matches!(empty, CallError::Protocol(_)), "{empty:?}");

    let closed = call_canned(b"").await;
    assert!(matches!(closed, CallError::Closed(_)), "{closed:?}");

    let midway = call_canned(b"HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{").await;
    assert!(matches!(midway, CallError::Closed(_)), "{midway:?}");

    let other = call_canned(b"SSH-2.0-OpenSSH_9.2\r\n").await;
    assert!(matches!(other, CallError::Transport(_)), "{other:?}");
}

#[tokio::test]
async fn interim_responses_are_skipped_but_not_for_ever() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let peer = http::connect(&format!("http://{address}/")).unwrap();
    let server = tokio::spawn(async move {
        let interim = "HTTP/1.1 100 Continue\r\n\r\n";
        let answer =
            "HTTP/1.1 200 OK\r\ncontent-length: 35\r\n\r\n{\"jsonrpc\":\"2.0\",\"result\":3,\"id\":1}";
        let (mut stream, _) = listener.accept().await.unwrap();
        read_request(&mut stream).await;
        stream.write_all(format!("{}{answer}", interim.repeat(100)).as_bytes()).await.unwrap();
        // The second call comes over the same connection, and is answered with nothing else.
        read_request(&mut stream).await;
        let many = interim.repeat(1000);
        while stream.write_all(many.as_bytes()).await.is_ok() {}
    });
    assert_eq!(within(async { peer.call::<i64>("add", [1, 2]).await }).await, Ok(3));
    let error = within(async { peer.call::<i64>("add", [1, 2]).await }).await.unwrap_err();
    assert!(matches!(error, CallError::Transport(_)), "{error:?}");
    assert!(error.to_string().ends_with("sent more than 100 interim responses and no final one"), "{error}");
    // The connection is given up, too.
    within(server).await.unwrap();
}

#[tokio::test]
async fn an_answer_beyond_the_limit_is_not_read() {
    let server = serve().await;
    let limits = Limits::default().with_reply(1000);
    let options = HttpClientOptions::default().with_limits(limits);
    let peer = Peer::new(Client::with_options(&server.url(), options).unwrap());
    let error = peer.call::<String>("echo", ["x".repeat(100_000)]).await.unwrap_err();
    assert!(matches!(&error, CallError::Transport(text) if text.contains("limits.reply")), "{error:?}");
    server.stop().await;
}

#[tokio::test]
async fn headers_and_increasing_identifiers_are_sent() {
    let (address, mut requests) = canned(b"HTTP/1.1 204 No Content\r\nconnection: close\r\n\r\n").await;
    let mut options = HttpClientOptions::default();
    options.headers.insert("authorization", "Bearer secret".parse().unwrap());
    let client = Client::with_options(&format!("http://{address}/rpc"), options).unwrap();
    assert!(!format!("{client:?}").contains("secret"));
    let peer = Peer::new(client);
    for id in [1, 2] {
        let _ = peer.call::<Json>("add", [1, 2]).await;
        let request = requests.recv().await.unwrap();
        assert!(request.starts_with("POST /rpc HTTP/1.1\r\n"), "{request}");
        for line in
            ["content-type: application/json", "accept: application/json", "authorization: Bearer secret"]
        {
            assert!(request.contains(line), "{request}");
        }
        let body = format!(r#"{{"jsonrpc":"2.0","method":"add","params":[1,2],"id":{id}}}"#);
        assert!(request.ends_with(&body), "{request}");
    }
}

#[tokio::test]
async fn a_call_without_an_answer_times_out_and_hangs_up() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let peer = http::connect(&format!("http://{}/", listener.local_addr().unwrap())).unwrap();
    let call = peer.call::<Json>("add", [1, 2]).timeout(Duration::from_millis(100));
    let (error, closed) = tokio::join!(call, async {
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut read = Vec::new();
        within(stream.read_to_end(&mut read)).await
    });
    assert_eq!(error, Err(CallError::TimedOut));
    assert!(closed.is_ok());
}

#[tokio::test]
async fn a_timeout_travels_as_a_header_and_reaches_the_handler() {
    let left = Router::builder().method("left", |(): (), cx: switchboard_core::Context| {
        Ok::<_, ErrorObject>(cx.time_left().map(|left| left.as_millis() as u64))
    });
    let server = serve_with(Endpoint::new(left.build().unwrap()), ServerOptions::default()).await;
    let peer = http::connect(&server.url()).unwrap();
    let hour = Duration::from_secs(3600);
    let left = peer.call::<Option<u64>>("left", ()).timeout(hour).await.unwrap();
    assert!(left.is_some_and(|left| left <= 3_599_950), "{left:?}");
    assert_eq!(peer.call::<Option<u64>>("left", ()).await, Ok(None));
    server.stop().await;
}

#[tokio::test]
async fn a_request_whose_caller_has_given_up_runs_nothing() {
    let server = serve().await;
    let address = server.url().trim_start_matches("http://").split('/').next().unwrap().parse().unwrap();
    let call = r#"{"jsonrpc":"2.0","id":1,"method":"add","params":[1,2]}"#;
    let check = async |header: &str, expected: &str| {
        let received = support::ask(address, support::post(address, header, call)).await;
        assert!(received.body.contains(expected), "{header}: {received:?}");
    };
    check("Switchboard-Timeout-Ms: 0\r\n", "-32003").await;
    check("Switchboard-Timeout-Ms: 60000\r\n", "\"result\":3").await;
    check("Switchboard-Timeout-Ms: soon\r\n", "\"result\":3").await;
    server.stop().await;
}
