//! A corpus of requests with another request hidden in them (SEC-H-01, SEC-H-02, SEC-Z-04), sent to the fast path for plain requests and to
//! hyper. `README.md` has the results.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod corpus;
mod pair;
#[path = "../support/mod.rs"]
mod support;

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::Response;
use pair::{End, Pair};
use support::{ADD, Raw, Running, SUM, by_hyper, post, serve_with};
use switchboard_core::{ErrorObject, Router, Settings};
use switchboard_transport::http::{Body, Cors, Endpoint, EndpointOptions, Get, Guarded, Route, RouteFuture};
use switchboard_transport::server::ServerOptions;

struct Health;

impl Route for Health {
    fn answer(&self, _: Guarded) -> RouteFuture {
        RouteFuture::ready(Response::new(Body::new("well")))
    }
}

/// A server, and how often its hidden method was called.
async fn serve(settings: Settings) -> (Running, Arc<AtomicUsize>) {
    let called = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&called);
    let router = Router::builder()
        .method("add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b))
        .method("hidden", move |(): (), _| Ok::<_, ErrorObject>(count.fetch_add(1, Ordering::Relaxed)));
    let options = EndpointOptions::default().with_cors(Some(Cors::default())).with_get(Get::only(["add"]));
    let endpoint = Endpoint::new(router.build().unwrap())
        .with_options(options.route("/health", Health))
        .with_settings(settings);
    (serve_with(endpoint, ServerOptions::default()).await, called)
}

#[tokio::test]
async fn a_hidden_request_is_answered_only_if_nobody_can_read_it_in_another_way() {
    for (path, settings) in [("plain", Settings::default()), ("hyper", by_hyper(Settings::default()))] {
        let (server, called) = serve(settings).await;
        let mut failed = Vec::new();
        for pair in corpus::pairs() {
            let (statuses, end) = send(&server, &pair, &called).await;
            if (&statuses[..], Some(end)) != (pair.statuses, Some(pair.end)) {
                let Pair { name, statuses: due, end: due_end, .. } = pair;
                failed.push(format!("{name}: {due:?} {due_end:?} expected; {statuses:?} {end:?}"));
            }
        }
        assert!(failed.is_empty(), "by {path}:\n{}", failed.join("\n"));
        server.stop().await;
    }
}

#[test]
fn the_results_are_stated() {
    let pairs = corpus::pairs();
    let names: HashSet<_> = pairs.iter().map(|pair| pair.name).collect();
    let count = |end| pairs.iter().filter(|pair| pair.end == end).count();
    let result = format!(
        "{} pairs: {} close the connection, {} keep the hidden request within the first, {} are two requests to every reader",
        pairs.len(),
        count(End::Closed),
        count(End::Open),
        count(End::Agreed),
    );
    assert!(include_str!("README.md").contains(&result), "README.md must say: {result}");
    assert_eq!(names.len(), pairs.len(), "each name stands once");
}

/// Sends a pair. Gives the statuses of the responses to the first request, and what became of the rest.
async fn send(server: &Running, pair: &Pair, called: &AtomicUsize) -> (Vec<u16>, End) {
    let before = called.load(Ordering::Relaxed);
    let mut raw = Raw::open(server.address).await;
    raw.try_send(pair.bytes()).await;
    // Asks for the end of a connection that is still open, and shows that it is.
    raw.try_send(post(server.address, "connection: close\r\n", ADD)).await;
    let mut responses = Vec::new();
    while let Some(received) = raw.response().await {
        if received.status != 100 {
            responses.push(received);
        }
    }
    let is_open = responses.len() > 1 && responses.last().is_some_and(|last| last.body == SUM);
    if is_open {
        responses.pop();
    }
    let is_hidden_answered = called.load(Ordering::Relaxed) > before;
    let end = match (is_open, is_hidden_answered) {
        (false, false) => End::Closed,
        (true, false) => End::Open,
        (_, true) => End::Agreed,
    };
    if is_hidden_answered {
        responses.pop();
    }
    (responses.iter().map(|received| received.status).collect(), end)
}
