//! What a reply may ask of HTTP: a status, and headers that are allowed.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use support::{Received, ask, by_hyper, post, serve_with};
use switchboard_core::{Call, ErrorObject, Json, Reply, ReplyFuture, Service, Settings, service_fn};
use switchboard_transport::http::Endpoint;
use switchboard_transport::server::ServerOptions;

/// Asks a service whose reply has a status and headers, over the fast path and over hyper.
async fn replies(body: &str) -> Vec<Received> {
    let mut received = Vec::new();
    for settings in [Settings::default(), by_hyper(Settings::default())] {
        let limited = service_fn(|_| {
            let error = ErrorObject::over_limit("rate", "slow down");
            let reply = Reply::error(error).with_status(429).with_metadata("Retry-After", "3");
            ReplyFuture::ready(
                reply.with_metadata("set-cookie", "a=b").with_metadata("retry-after", "bad\r\nvalue"),
            )
        });
        let endpoint = Endpoint::new(limited).with_settings(settings);
        let server = serve_with(endpoint, ServerOptions::default()).await;
        received.push(ask(server.address, post(server.address, "", body)).await);
        server.stop().await;
    }
    received
}

#[tokio::test]
async fn a_reply_chooses_its_status_and_the_headers_that_are_allowed() {
    for received in replies(r#"{"jsonrpc":"2.0","method":"m","id":1}"#).await {
        assert_eq!((received.status, received.header("retry-after")), (429, Some("3")), "{received:?}");
        assert_eq!(received.header("set-cookie"), None);
        assert!(received.body.contains("-32005"), "{received:?}");
    }
}

// SEC-H-03
#[tokio::test]
async fn no_text_of_a_reply_or_a_call_becomes_another_header() {
    let values = ["3\r\nx-injected: 1", "3\nx-injected: 1", "3\rx-injected: 1", "3\0"];
    for settings in [Settings::default(), by_hyper(Settings::default())] {
        for value in values {
            let service = service_fn(move |call: &Call| {
                let injected = call.cx.metadata().get("x-injected").is_some();
                let reply = Reply::value(Json::encode_ref(&injected).unwrap());
                ReplyFuture::ready(reply.with_metadata("retry-after", value))
            });
            let endpoint = Endpoint::new(service).with_settings(settings.clone());
            let server = serve_with(endpoint, ServerOptions::default()).await;
            let body = r#"{"jsonrpc":"2.0","method":"m","id":1}"#;
            let received = ask(server.address, post(server.address, "", body)).await;
            assert_eq!((received.status, received.header("x-injected")), (200, None), "{received:?}");
            assert_eq!(received.header("retry-after"), None, "{received:?}");
            // A client does not send such a value either.
            let client = switchboard_transport::http::connect(&server.url()).unwrap();
            let answer = client.call::<bool>("m", ()).metadata("x-own", value).await;
            assert_ne!(answer, Ok(true), "{value:?}");
            server.stop().await;
        }
    }
}

#[tokio::test]
async fn our_client_gets_the_headers_of_a_reply_that_it_wants_as_metadata() {
    let limited = service_fn(|_| {
        let reply = Reply::error(ErrorObject::over_limit("rate", "slow down")).with_status(429);
        ReplyFuture::ready(reply.with_metadata("retry-after", "3"))
    });
    let server = serve_with(Endpoint::new(limited), ServerOptions::default()).await;
    let client = switchboard_transport::http::connect(&server.url()).unwrap();
    let reply = Service::call(&client, &Call::new("m", None)).await;
    let extra = reply.extra.unwrap();
    assert_eq!(extra.metadata.entries(), [("retry-after", &b"3"[..])]);
    server.stop().await;
}

#[tokio::test]
async fn a_batch_has_a_status_of_its_own() {
    for received in replies(r#"[{"jsonrpc":"2.0","method":"m","id":1}]"#).await {
        assert_eq!((received.status, received.header("retry-after")), (200, None), "{received:?}");
    }
}

#[tokio::test]
async fn unknown_members_of_a_response_survive_being_forwarded() {
    let backend = service_fn(|_| {
        let mut reply = Reply::value(Json::TRUE);
        reply.extra_mut().members = Some(Json::parse(r#"{"x":[1]}"#).unwrap());
        ReplyFuture::ready(reply)
    });
    let backend = serve_with(Endpoint::new(backend), ServerOptions::default()).await;
    let upstream = switchboard_transport::connect(&backend.url()).await.unwrap();
    let front = Endpoint::new(upstream);
    let front = serve_with(front, ServerOptions::default()).await;
    for body in [r#"{"jsonrpc":"2.0","method":"m","id":"a"}"#, r#"[{"jsonrpc":"2.0","method":"m","id":"a"}]"#]
    {
        let answer = ask(front.address, post(front.address, "", body)).await.body;
        assert!(answer.contains(r#"{"jsonrpc":"2.0","result":true,"id":"a","x":[1]}"#), "{answer}");
    }
    front.stop().await;
    backend.stop().await;
}
