//! Documents of other servers: SEC-X-01.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::time::Duration;

use switchboard_transport::http::{Resource, ResourceError, ResourceOptions};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

/// A server that gives this answer to each connection, and then the request; without an answer it stays silent.
async fn server(answer: Option<String>) -> (String, tokio::sync::mpsc::UnboundedReceiver<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/jwks.json", listener.local_addr().unwrap());
    let (requests, received) = tokio::sync::mpsc::unbounded_channel();
    tokio::spawn(async move {
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut request = Vec::new();
            while !request.ends_with(b"\r\n\r\n") {
                request.push(stream.read_u8().await.unwrap());
            }
            let _ = requests.send(String::from_utf8(request).unwrap());
            match &answer {
                Some(answer) => drop(stream.write_all(answer.as_bytes()).await),
                None => std::future::pending().await,
            }
        }
    });
    (url, received)
}

fn answer(status: &str, headers: &str, body: &str) -> Option<String> {
    let length = body.len();
    Some(format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: {length}\r\n{headers}\r\n{body}"))
}

#[tokio::test]
async fn a_document_is_read_with_a_plain_get() {
    let (url, mut requests) = server(answer("200 OK", "", "{\"keys\":[]}")).await;
    let document = Resource::new(&url).unwrap().get().await.unwrap();
    assert_eq!(document, "{\"keys\":[]}");
    let request = requests.recv().await.unwrap();
    assert!(request.starts_with("GET /jwks.json HTTP/1.1\r\n"), "{request}");
    for absent in ["authorization", "cookie", "content-type", "content-length"] {
        assert!(!request.to_lowercase().contains(absent), "{request}");
    }
}

#[tokio::test]
async fn redirects_and_other_statuses_are_refused() {
    for (line, headers, status) in [
        ("302 Found", "location: http://169.254.169.254/\r\n", 302),
        ("404 Not Found", "", 404),
        ("204 No Content", "", 204),
    ] {
        let (url, _) = server(answer(line, headers, "")).await;
        let refused = Resource::new(&url).unwrap().get().await;
        assert_eq!(refused, Err(ResourceError::Status { url, status }));
    }
}

#[tokio::test]
async fn a_document_that_is_too_long_is_not_read() {
    let check = async |answer: Option<String>| {
        let (url, _) = server(answer).await;
        let options = ResourceOptions::default().with_length(1000);
        let refused = Resource::with_options(&url, options).unwrap().get().await;
        assert_eq!(refused, Err(ResourceError::TooLong { url, limit: 1000 }));
    };
    check(answer("200 OK", "", &"x".repeat(1001))).await;
    // Without a length, to the end of the connection.
    check(Some(format!("HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n{}", "x".repeat(1001)))).await;
}

#[tokio::test]
async fn a_silent_server_is_left() {
    let (url, _requests) = server(None).await;
    let options = ResourceOptions::default().with_time(Duration::from_millis(50));
    let left = Resource::with_options(&url, options).unwrap().get().await;
    assert!(matches!(left, Err(ResourceError::Unreachable { .. })), "{left:?}");
}
