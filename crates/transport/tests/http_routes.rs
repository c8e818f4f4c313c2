//! Other things than calls on an HTTP port: behind the same guard, with the same limits, and drained like calls.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::sync::Arc;
use std::time::Duration;

use axum::extract::Extension;
use axum::routing::{get, post};
use http::{Response, StatusCode};
use support::{ADD, Raw, Running, SUM, ask, post_to, serve_with, within};
use switchboard_core::{Context, Limits, Settings};
use switchboard_transport::http::{
    Body, Cors, Endpoint, EndpointOptions, Guarded, Origins, Route, RouteFuture, tower,
};
use switchboard_transport::server::ServerOptions;
use tokio::sync::{Notify, mpsc};

const JSON: &str = "content-type: application/json\r\n";

/// Answers with what it was sent, up to ten bytes.
struct Echo;

impl Route for Echo {
    fn answer(&self, request: Guarded) -> RouteFuture {
        RouteFuture::new(async move {
            match request.read(10).await {
                Ok(text) => Response::new(Body::new(text)),
                Err(unread) => unread.response(),
            }
        })
    }
}

async fn serve(options: EndpointOptions) -> Running {
    let limits = Limits::default().with_frame(1000);
    let settings = Settings::default().with_limits(limits);
    let endpoint = Endpoint::new(support::router()).with_options(options).with_settings(settings);
    serve_with(endpoint, ServerOptions::default()).await
}

fn fetch(server: &Running, path: &str, headers: &str) -> String {
    format!("GET {path} HTTP/1.1\r\nhost: {}\r\n{headers}\r\n", server.address)
}

fn app() -> axum::Router {
    axum::Router::new()
        .route("/", get(|| async { "root" }))
        .route("/app/hello", get(|| async { "hello" }))
        .route("/app/length", post(async |text: String| text.len().to_string()))
        .route("/app/from", get(async |Extension(cx): Extension<Context>| cx.origin().transport))
        .route("/rpc", post(|| async { "never" }))
}

#[tokio::test]
async fn a_tower_service_answers_below_its_path_and_calls_stay_where_they_are() {
    let server = serve(EndpointOptions::default().route("/*", tower(app()))).await;
    let hello = ask(server.address, fetch(&server, "/app/hello", "")).await;
    assert_eq!((hello.status, hello.body.as_str()), (200, "hello"));
    assert_eq!(hello.header("cache-control"), None, "an application sets its own headers");
    assert_eq!(ask(server.address, fetch(&server, "/app/from", "")).await.body, "http");
    assert_eq!(ask(server.address, fetch(&server, "/other", "")).await.status, 404);
    assert_eq!(ask(server.address, fetch(&server, "/", "")).await.body, "root", "calls are POST requests");
    // Plain, and by way of hyper.
    assert_eq!(ask(server.address, post_to(server.address, "/rpc", JSON, ADD)).await.body, SUM);
    let call = post_to(server.address, "/rpc", &format!("{JSON}x-other: y\r\n"), ADD);
    assert_eq!(ask(server.address, call).await.body, SUM);
    server.stop().await;
}

#[tokio::test]
async fn the_longest_prefix_answers_and_of_equal_paths_the_last() {
    let say = |text: &'static str| tower(axum::Router::new().fallback(move || async move { text }));
    let options = EndpointOptions::default()
        .route("/a/*", say("long"))
        .route("/*", say("short"))
        .route("/a/b", say("first"))
        .route("/a/b", say("last"));
    let server = serve(options).await;
    for (path, expected) in [("/a/x", "long"), ("/x", "short"), ("/a/b", "last")] {
        assert_eq!(ask(server.address, fetch(&server, path, "")).await.body, expected, "{path}");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_route_that_takes_posts_goes_before_calls_at_its_path() {
    let server = serve(EndpointOptions::default().route("/rpc", Echo)).await;
    assert_eq!(ask(server.address, post_to(server.address, "/rpc", JSON, "[1]")).await.body, "[1]");
    assert_eq!(ask(server.address, post_to(server.address, "/", JSON, ADD)).await.body, SUM);
    server.stop().await;
}

// SEC-O-01, SEC-O-02
#[tokio::test]
async fn foreign_hosts_and_origins_do_not_reach_a_route() {
    let server = serve(EndpointOptions::default().route("/app/*", tower(app())).route("/echo", Echo)).await;
    for path in ["/app/hello", "/echo"] {
        let foreign = format!("GET {path} HTTP/1.1\r\nhost: evil.example\r\n\r\n");
        assert_eq!(ask(server.address, foreign).await.status, 403, "{path}");
        let page = fetch(&server, path, "origin: http://evil.example\r\n");
        assert_eq!(ask(server.address, page).await.status, 403, "{path}");
    }
    server.stop().await;
}

// SEC-O-08
#[tokio::test]
async fn responses_of_a_route_have_the_headers_of_every_response() {
    let server = serve(EndpointOptions::default().route("/echo", Echo)).await;
    let answer = ask(server.address, fetch(&server, "/echo", "")).await;
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
    assert!(answer.header("content-security-policy").is_some());
    server.stop().await;
}

#[tokio::test]
async fn cors_holds_for_routes_too() {
    let origins = Origins::only(["https://app.example"]).unwrap();
    let options = EndpointOptions::default().with_origins(origins).with_cors(Some(Cors::default()));
    let server = serve(options.route("/app/*", tower(app()))).await;
    let origin = "origin: https://app.example\r\n";
    let answer = ask(server.address, fetch(&server, "/app/hello", origin)).await;
    assert_eq!(answer.header("access-control-allow-origin"), Some("https://app.example"));
    let preflight = format!(
        "OPTIONS /app/length HTTP/1.1\r\nhost: {}\r\n{origin}access-control-request-method: POST\r\n\r\n",
        server.address
    );
    let answer = ask(server.address, preflight).await;
    assert_eq!(
        (answer.status, answer.header("access-control-allow-origin")),
        (204, Some("https://app.example"))
    );
    server.stop().await;
}

#[tokio::test]
async fn bodies_for_routes_are_bounded_by_the_route_and_by_the_limit_of_frames() {
    let server = serve(EndpointOptions::default().route("/echo", Echo).route("/app/*", tower(app()))).await;
    assert_eq!(ask(server.address, post_to(server.address, "/echo", JSON, "0123456789")).await.status, 200);
    let refused = ask(server.address, post_to(server.address, "/echo", JSON, "0123456789a")).await;
    assert_eq!((refused.status, refused.header("connection")), (413, Some("close")));
    assert!(refused.body.contains("-32"), "{}", refused.body);
    let length = async |length: usize| {
        let body = "x".repeat(length);
        ask(server.address, post_to(server.address, "/app/length", "content-type: text/plain\r\n", &body))
            .await
    };
    assert_eq!(length(1000).await.body, "1000");
    let status = length(1001).await.status;
    assert!((400..500).contains(&status), "{status}");
    server.stop().await;
}

#[tokio::test]
async fn a_body_for_a_route_has_to_arrive_in_time() {
    let options = EndpointOptions::default().with_body_time(Duration::from_millis(50));
    let server = serve(options.route("/echo", Echo).route("/app/*", tower(app()))).await;
    for (path, expected) in [("/echo", 408), ("/app/length", 400)] {
        let mut raw = Raw::open(server.address).await;
        let head = format!("POST {path} HTTP/1.1\r\nhost: {}\r\ncontent-length: 5\r\n\r\nab", server.address);
        raw.send(head).await;
        assert_eq!(raw.response().await.unwrap().status, expected, "{path}");
    }
    server.stop().await;
}

#[tokio::test]
async fn shutting_down_waits_for_the_response_of_a_route() {
    let (began, mut begun) = mpsc::channel(1);
    let go_on = Arc::new(Notify::new());
    let wait = Arc::clone(&go_on);
    let slow = move || {
        let (began, wait) = (began.clone(), Arc::clone(&wait));
        async move {
            began.send(()).await.unwrap();
            wait.notified().await;
            "done"
        }
    };
    let app: axum::Router = axum::Router::new().route("/slow", get(slow));
    let server = serve(EndpointOptions::default().route("/slow", tower(app))).await;
    let asked = tokio::spawn(ask(server.address, fetch(&server, "/slow", "")));
    within(begun.recv()).await.unwrap();
    server.handle.shutdown();
    go_on.notify_one();
    assert_eq!(within(asked).await.unwrap().body, "done");
    within(server.task).await.unwrap();
}

#[tokio::test]
async fn a_service_that_fails_is_500_and_says_nothing_of_why() {
    #[derive(Clone)]
    struct Failing;
    impl tower_service::Service<http::Request<switchboard_transport::http::RequestBody>> for Failing {
        type Response = Response<Body>;
        type Error = &'static str;
        type Future = std::future::Ready<Result<Response<Body>, &'static str>>;

        fn poll_ready(
            &mut self,
            _: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Result<(), &'static str>> {
            std::task::Poll::Ready(Ok(()))
        }

        fn call(&mut self, _: http::Request<switchboard_transport::http::RequestBody>) -> Self::Future {
            std::future::ready(Err("a secret"))
        }
    }
    let server = serve(EndpointOptions::default().route("/fails", tower(Failing))).await;
    let answer = ask(server.address, fetch(&server, "/fails", "")).await;
    assert_eq!(answer.status, StatusCode::INTERNAL_SERVER_ERROR.as_u16());
    assert!(answer.body.contains("-32603") && !answer.body.contains("secret"), "{}", answer.body);
    server.stop().await;
}
