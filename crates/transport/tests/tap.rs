//! What whoever taps a connection sees: each message once, in its direction, over every carrier.
#![cfg(all(feature = "http", feature = "ws", feature = "tcp"))]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::sync::{Arc, Mutex};

use http::header::{AUTHORIZATION, HeaderMap, HeaderValue};
use switchboard_core::{Direction, ErrorObject, Router, Settings, Tap, Wire};
use switchboard_transport::Dial;
use switchboard_transport::server::Server;

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
        let settings = Settings { tap: Some(tap), ..Settings::default() };
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
