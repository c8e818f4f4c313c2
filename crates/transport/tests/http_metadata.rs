//! Headers as the metadata of calls, both ways, and metadata over every other carrier.
#![cfg(all(feature = "http", feature = "ws", feature = "tcp"))]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use support::{Running, ask, by_hyper, post, serve_with, within};
use switchboard_core::{AllowedNames, CallError, Context, ErrorObject, Metadata, Peer, Router, Settings};
use switchboard_transport::connect;
use switchboard_transport::http::Endpoint;
use switchboard_transport::server::{Server, ServerOptions};

/// Tells what came with a call under a name.
fn router() -> Router {
    let told = |(name,): (String,), cx: Context| {
        let values =
            cx.metadata().entries().into_iter().filter(|(found, _)| found.eq_ignore_ascii_case(&name));
        let values = values.map(|(_, value)| String::from_utf8_lossy(value).into_owned());
        Ok::<_, ErrorObject>(values.collect::<Vec<_>>())
    };
    let left = |(): (), cx: Context| Ok::<_, ErrorObject>(cx.time_left().map(|left| left.as_secs() <= 5));
    Router::builder().method("told", told).method("left", left).build().unwrap()
}

async fn http(settings: Settings) -> Running {
    serve_with(Endpoint::new(router()).with_settings(settings), ServerOptions::default()).await
}

#[tokio::test]
async fn headers_are_metadata_on_the_fast_path_and_over_hyper() {
    for settings in [Settings::default(), by_hyper(Settings::default())] {
        let server = http(settings).await;
        for value in ["blue", "red"] {
            let call = r#"{"jsonrpc":"2.0","method":"told","params":["X-Tenant"],"id":1}"#;
            let headers = format!("x-tenant: {value}\r\n");
            let received = ask(server.address, post(server.address, &headers, call)).await;
            assert!(received.body.contains(&format!(r#""result":["{value}"]"#)), "{received:?}");
            assert_eq!(received.header("x-tenant"), None);
        }
        server.stop().await;
    }
}

#[tokio::test]
async fn what_outlives_a_request_keeps_its_own_metadata() {
    let (sender, mut kept) = tokio::sync::mpsc::unbounded_channel();
    let slow = move |(): (), cx: Context| {
        sender.send(cx.clone()).unwrap();
        async move {
            tokio::task::yield_now().await;
            Ok::<_, ErrorObject>(cx.metadata().text("x-tenant").map(str::to_owned))
        }
    };
    let router = Router::builder().async_method("slow", slow).build().unwrap();
    let server = serve_with(Endpoint::new(router), ServerOptions::default()).await;
    let call = r#"{"jsonrpc":"2.0","method":"slow","id":1}"#;
    let two =
        ["blue", "red"].map(|value| post(server.address, &format!("x-tenant: {value}\r\n"), call)).concat();
    let mut raw = support::Raw::open(server.address).await;
    raw.send(&two).await;
    for value in ["blue", "red"] {
        let received = raw.response().await.unwrap();
        assert!(received.body.contains(&format!(r#""result":"{value}""#)), "{received:?}");
    }
    for value in ["blue", "red"] {
        assert_eq!(kept.recv().await.unwrap().metadata().text("x-tenant"), Some(value));
    }
    server.stop().await;
}

/// Runs a check over every carrier.
async fn over_each(settings: Settings, check: impl AsyncFn(Peer, &str)) {
    let mut server = Server::new(router()).with_settings(settings);
    for url in ["http://127.0.0.1:0", "tcp://127.0.0.1:0"] {
        server.listen(url).await.unwrap();
    }
    let (urls, handle): (Vec<_>, _) = (server.urls().collect(), server.handle());
    let serving = tokio::spawn(server.serve());
    for url in urls {
        check(connect(&url).await.unwrap(), &url).await;
        if let Some(rest) = url.strip_prefix("http") {
            check(connect(&format!("ws{rest}")).await.unwrap(), "ws").await;
        }
    }
    handle.shutdown();
    within(serving).await.unwrap();
}

#[tokio::test]
async fn metadata_of_a_call_arrives_over_every_carrier() {
    let mut settings = Settings::default();
    settings.profile.metadata = AllowedNames::from_iter(["x-tenant"]);
    over_each(settings, async |peer, carrier| {
        let told: Vec<String> =
            within(peer.call("told", ("x-tenant",)).metadata("X-Tenant", "blue").metadata("x-tenant", "red"))
                .await
                .unwrap();
        assert_eq!(told[0], "blue", "{carrier}");
        let nothing: Vec<String> = within(peer.call("told", ("x-tenant",))).await.unwrap();
        assert!(nothing.is_empty(), "{carrier}");
    })
    .await;
}

// SEC-T-05
#[tokio::test]
async fn only_what_is_allowed_goes_on_to_calls_that_are_made_for_another() {
    over_each(Settings::default(), async |peer, carrier| {
        let metadata = Metadata::from_iter([("authorization", "secret"), ("traceparent", "00-1")]);
        let mut cx = Context::default().with_metadata(metadata);
        cx.expect_within(Duration::from_secs(5));
        let peer = peer.within(&cx);
        let trace: Vec<String> = within(peer.call("told", ("traceparent",))).await.unwrap();
        assert_eq!(trace, ["00-1"], "{carrier}");
        let secret: Vec<String> = within(peer.call("told", ("authorization",))).await.unwrap();
        assert!(secret.is_empty(), "{carrier}");
        let left: Option<bool> = within(peer.call("left", ())).await.unwrap();
        assert_eq!(left, Some(true), "{carrier}");
        let batch = within(peer.batch().call("told", ("traceparent",)).send()).await.unwrap();
        assert_eq!(batch[0].as_ref().unwrap().as_str(), r#"["00-1"]"#, "{carrier}");
    })
    .await;
}

#[tokio::test]
async fn a_call_whose_time_is_over_is_not_made() {
    let mut cx = Context::default();
    cx.expect_within(Duration::ZERO);
    let peer = Peer::from(router()).within(&cx);
    let outcome = peer.call::<Vec<String>>("told", ("a",)).await;
    assert!(matches!(outcome, Err(CallError::TimedOut)), "{outcome:?}");
}

#[tokio::test]
async fn a_message_adds_nothing_to_headers_that_a_proxy_may_vouch_for() {
    over_each(Settings::default(), async |peer, carrier| {
        let told: Vec<String> =
            within(peer.call("told", ("x-user",)).metadata("x-user", "bob")).await.unwrap();
        // Over HTTP it is a header, which a proxy would strip; over TCP there is nothing else.
        assert_eq!(told.is_empty(), carrier == "ws", "{carrier}");
    })
    .await;
    let server = http(Settings::default()).await;
    let call = r#"{"jsonrpc":"2.0","method":"told","params":["x-user"],"id":1,"metadata":{"x-user":"bob"}}"#;
    let received = ask(server.address, post(server.address, "", call)).await;
    assert!(received.body.contains(r#""result":[]"#), "{received:?}");
    server.stop().await;
}

#[tokio::test]
async fn names_that_are_not_allowed_stay_behind_and_none_can_be() {
    let names = AllowedNames::none();
    let mut cx = Context::default().with_metadata(Metadata::from_iter([("traceparent", "00-1")]));
    assert!(cx.outgoing_metadata(&names).is_empty());
    cx.send_metadata("traceparent", "00-2");
    assert_eq!(cx.outgoing_metadata(&AllowedNames::default()).entries(), [("traceparent", &b"00-2"[..])]);
}

#[tokio::test]
async fn a_service_of_this_process_gets_what_is_sent() {
    let peer = Peer::from(Arc::new(router()));
    let told: Vec<String> = peer.call("told", ("a",)).metadata("a", "1").await.unwrap();
    assert_eq!(told, ["1"]);
    let cx = Context::default()
        .with_metadata(Metadata::from_iter([("authorization", "secret"), ("traceparent", "00-1")]));
    let secret: Vec<String> = peer.within(&cx).call("told", ("authorization",)).await.unwrap();
    let trace: Vec<String> = peer.within(&cx).call("told", ("traceparent",)).await.unwrap();
    assert_eq!((secret, trace), (vec![], vec!["00-1".to_owned()]));
}
