//! The settings of a connection apply over every transport.

use std::sync::{Arc, Mutex};

use serde_json::Value;
use switchboard_core::{CallError, Direction, Limits, Settings, Tap, Wire};
use switchboard_mcp::model::Revision;
use switchboard_mcp::{Client, Server};
use switchboard_transport::Dial;

use crate::client::within;
use crate::fixtures::{server, text_tool};
use crate::serving::serve;
use crate::ways::{Way, builder, path};

const WAYS: [Way; 3] = [Way::Http(Revision::V2025_11_25), Way::Http(Revision::V2026_07_28), Way::OldSse];

/// Calls a tool with these settings: over each kind of HTTP, and over TCP.
async fn each(server: &Server, settings: impl Fn() -> Settings, check: impl AsyncFn(&str, Client)) {
    let serving = serve(server).await;
    let mut duplex = switchboard_transport::server::Server::new(server.service().unwrap())
        .with_settings(Settings::default().with_profile(Server::profile()));
    duplex.listen("tcp://127.0.0.1:0").await.unwrap();
    let over_tcp = duplex.urls().next().unwrap();
    tokio::spawn(duplex.serve());
    let over_http = WAYS.map(|way| format!("http://{}/{}", serving.address, path(way)));
    for url in over_http.into_iter().chain([over_tcp]) {
        let dial = Dial::new(&url).unwrap().with_settings(settings());
        let client = within(builder().dial(dial)).await.unwrap();
        check(&url, client).await;
    }
}

#[tokio::test]
async fn each_message_is_shown_to_the_tap_once() {
    let seen: Arc<Mutex<Vec<(Direction, Value)>>> = Arc::default();
    let kept = Arc::clone(&seen);
    let tap = Tap::new(move |direction, what| {
        if let Wire::Message(text) = what {
            // The path in the first event of the old transport is not JSON.
            let message = serde_json::from_slice(text).unwrap_or(Value::Null);
            kept.lock().unwrap().push((direction, message));
        }
    });
    let hello = text_tool("hello", |_, _| async { Ok("Hello!".to_owned()) });
    let settings = || Settings::default().with_tap(Some(tap.clone()));
    each(&server([hello]), settings, async |url, client| {
        seen.lock().unwrap().clear();
        within(client.tool("hello", ()).into_future()).await.unwrap();
        let seen = seen.lock().unwrap();
        let sent: Vec<_> = seen.iter().filter(|(_, message)| message["method"] == "tools/call").collect();
        assert!(matches!(sent[..], [(Direction::Sent, _)]), "{url}: {seen:?}");
        let id = &sent[0].1["id"];
        let answers: Vec<_> = seen.iter().filter(|(way, _)| *way == Direction::Received).collect();
        assert_eq!(answers.iter().filter(|(_, answer)| answer["id"] == *id).count(), 1, "{url}: {seen:?}");
    })
    .await;
}

#[tokio::test]
async fn an_answer_that_is_longer_than_the_limit_is_refused() {
    let long = text_tool("long", |_, _| async { Ok("x".repeat(1 << 20)) });
    let short = text_tool("short", |_, _| async { Ok("x".repeat(1 << 10)) });
    let limits = || Limits::default().with_frame(128 << 10).with_reply(128 << 10).with_batch_reply(128 << 10);
    let settings = || Settings::default().with_limits(limits());
    each(&server([long, short]), settings, async |url, client| {
        within(client.tool("short", ()).into_future()).await.unwrap();
        let told = within(client.tool("long", ()).into_future()).await;
        assert!(matches!(told, Err(CallError::Protocol(_) | CallError::Closed(_))), "{url}: {told:?}");
    })
    .await;
}
