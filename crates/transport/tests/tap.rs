//! What whoever taps a connection sees: each message once, in its direction, over every carrier.
#![cfg(all(feature = "http", feature = "ws", feature = "tcp"))]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::sync::{Arc, Mutex};

use futures_util::{StreamExt, stream};
use http::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use support::{Running, within};
use switchboard_core::{Direction, ErrorObject, Method, Peer, Router, Settings, Tap, Wire};
use switchboard_transport::Dial;
use switchboard_transport::http::{Client, Endpoint, EndpointOptions, HttpClientOptions, Page};
use switchboard_transport::server::{Server, ServerOptions};

type Seen = Arc<Mutex<Vec<(Direction, String)>>>;

/// A tap that keeps messages apart from what the carrier says.
fn tap() -> (Tap, Seen, Seen) {
    let (messages, carrier) = (Seen::default(), Seen::default());
    let (kept, words) = (Arc::clone(&messages), Arc::clone(&carrier));
    let tap = Tap::new(move |direction, what| match what {
        Wire::Message(text) => {
            kept.lock().unwrap().push((direction, String::from_utf8(text.to_vec()).unwrap()));
        }
        Wire::Carrier(text) => words.lock().unwrap().push((direction, text.to_owned())),
        _ => {}
    });
    (tap, messages, carrier)
}

#[tokio::test]
async fn each_message_is_seen_once_in_its_direction() {
    let router = Router::builder().method("add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b));
    let mut server = Server::new(router.build().unwrap());
    for url in ["http://127.0.0.1:0", "ws://127.0.0.1:0", "tcp://127.0.0.1:0"] {
        server.listen(url).await.unwrap();
    }
    let urls: Vec<String> = server.urls().collect();
    tokio::spawn(server.serve());
    for url in urls {
        let (tap, messages, carrier) = tap();
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, HeaderValue::from_static("Bearer secret"));
        let settings = Settings::default().with_tap(Some(tap));
        let dial = Dial::new(&url).unwrap().with_settings(settings).with_headers(headers);
        let peer = dial.connect().await.unwrap();
        assert_eq!(peer.call::<i64>("add", [2, 3]).await.unwrap(), 5);
        let expected = [
            (Direction::Sent, r#"{"jsonrpc":"2.0","method":"add","params":[2,3],"id":1}"#.to_owned()),
            (Direction::Received, r#"{"jsonrpc":"2.0","result":5,"id":1}"#.to_owned()),
        ];
        assert_eq!(*messages.lock().unwrap(), expected, "{url}");
        let heads = carrier.lock().unwrap();
        let expected = if url.starts_with("tcp:") { 0 } else { 2 };
        assert_eq!(heads.len(), expected, "{url}: {heads:?}");
        for (direction, head) in heads.iter() {
            let is_sent = *direction == Direction::Sent;
            assert_eq!(head.contains("authorization: Bearer ***"), is_sent, "{head}");
            assert!(!head.contains("secret"), "{head}");
        }
    }
}

/// A server on loopback whose tap tells all that it sees, in order.
async fn tapped_server() -> (Running, Seen) {
    let seen = Seen::default();
    let kept = Arc::clone(&seen);
    let tap = Tap::new(move |direction, what| {
        let text = match what {
            Wire::Message(text) => String::from_utf8(text.to_vec()).unwrap(),
            Wire::Carrier(text) => text.to_owned(),
            _ => return,
        };
        kept.lock().unwrap().push((direction, text));
    });
    let router = Router::builder()
        .method("add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b))
        .add(Method::stream("count", |(to,): (u32,), _| stream::iter(1..=to)));
    let settings = Settings::default().with_tap(Some(tap));
    let options = EndpointOptions::default().route("/page", Page::new("<p>hello"));
    let endpoint = Endpoint::new(router.build().unwrap()).with_options(options).with_settings(settings);
    (support::serve_with(endpoint, ServerOptions::default()).await, seen)
}

/// What was seen since the last time, each in one line: the direction, then the first line of a head or a whole message.
fn told(seen: &Seen) -> Vec<String> {
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    let arrow = |direction| if direction == Direction::Received { "-->" } else { "<--" };
    seen.iter()
        .map(|(direction, text)| format!("{} {}", arrow(*direction), text.lines().next().unwrap()))
        .collect()
}

#[tokio::test]
async fn a_server_shows_each_request_and_response_over_both_versions_of_http() {
    let (server, seen) = tapped_server().await;
    for http2 in [false, true] {
        let options = HttpClientOptions::default().with_http2(http2);
        let peer = Peer::new(Client::with_options(&server.url(), options).unwrap());
        assert_eq!(within(peer.call::<i64>("add", [2, 3])).await, Ok(5));
        let expected = [
            "--> POST /",
            r#"--> {"jsonrpc":"2.0","method":"add","params":[2,3],"id":1}"#,
            "<-- 200 OK",
            r#"<-- {"jsonrpc":"2.0","result":5,"id":1}"#,
        ];
        assert_eq!(told(&seen), expected, "http2: {http2}");
        within(peer.notify("add", [2, 3])).await.unwrap();
        let notified = r#"--> {"jsonrpc":"2.0","method":"add","params":[2,3]}"#;
        assert_eq!(told(&seen), ["--> POST /", notified, "<-- 204 No Content"]);
        let items = within(peer.stream::<u32>("count", [2])).await.unwrap();
        assert_eq!(within(items.map(Result::unwrap).collect::<Vec<_>>()).await, [1, 2]);
        let expected = [
            "--> POST /",
            r#"--> {"jsonrpc":"2.0","method":"count","params":[2],"id":3}"#,
            "<-- 200 OK",
            r#"<-- {"jsonrpc":"2.0","result":1,"id":3}"#,
            r#"<-- {"jsonrpc":"2.0","result":2,"id":3}"#,
            "<-- [DONE]",
        ];
        assert_eq!(told(&seen), expected, "http2: {http2}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_server_shows_refusals_and_heads_without_secrets_and_no_pages() {
    let (server, seen) = tapped_server().await;
    let secrets = "authorization: Bearer sekret\r\ncookie: id=sekret\r\nx-plain: seen\r\n";
    support::ask(server.address, support::post(server.address, secrets, support::ADD)).await;
    {
        let seen = seen.lock().unwrap();
        let (head, answer) = (&seen[0].1, &seen[2].1);
        assert!(head.contains("\nauthorization: Bearer ***") && head.contains("\nx-plain: seen"), "{head}");
        assert!(answer.contains("\ncontent-type: application/json"), "{answer}");
        assert!(answer.contains("\ncontent-length: 35"), "{answer}");
        assert!(seen.iter().all(|(_, text)| !text.contains("sekret")), "{seen:?}");
    }
    told(&seen);
    support::ask(server.address, support::post(server.address, "origin: http://evil.example\r\n", "{}"))
        .await;
    let refused = told(&seen);
    assert_eq!(refused[..2], ["--> POST /", "<-- 403 Forbidden"], "{refused:?}");
    assert!(refused[2].contains("-32002") && refused.len() == 3, "{refused:?}");
    let get =
        format!("GET /page?token=sekret HTTP/1.1\r\nhost: {}\r\naccept: text/html\r\n\r\n", server.address);
    support::ask(server.address, get).await;
    assert_eq!(told(&seen), ["--> GET /page?token=***", "<-- 200 OK"]);
    server.stop().await;
}
