//! What a request is answered with: JH-20 to JH-29.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use support::{ADD, Raw, SUM, ask, post, post_to, serve, serve_with};
use switchboard_core::{Limits, Settings};
use switchboard_transport::http::{Cors, Endpoint, EndpointOptions, Origins, StatusMapping};
use switchboard_transport::server::ServerOptions;

async fn serve_options(options: EndpointOptions) -> support::Running {
    serve_with(Endpoint::new(support::router()).with_options(options), ServerOptions::default()).await
}

// JH-22, JH-25
#[tokio::test]
async fn a_call_is_answered_with_200_and_json() {
    let server = serve().await;
    let received = ask(server.address, post(server.address, "", ADD)).await;
    assert_eq!((received.status, &*received.body), (200, SUM));
    assert_eq!(received.header("content-type"), Some("application/json"));
    assert_eq!(received.header("cache-control"), Some("no-store"));
    assert_eq!(received.header("x-content-type-options"), Some("nosniff"));
    server.stop().await;
}

// JH-22: single, batch, parse error
#[tokio::test]
async fn a_failed_call_is_answered_with_200_too() {
    let server = serve().await;
    let check = async |body: &str, code: &str| {
        let received = ask(server.address, post(server.address, "", body)).await;
        assert_eq!(received.status, 200, "{body}");
        assert!(received.body.contains(code), "{body} {}", received.body);
    };
    check(r#"{"jsonrpc":"2.0","method":"no","id":1}"#, "-32601").await;
    check(r#"{"jsonrpc":"2.0","method":"add","params":["x"],"id":1}"#, "-32602").await;
    check(r#"[{"jsonrpc":"2.0","method":"no","id":1}]"#, "-32601").await;
    check("{", "-32700").await;
    check("", "-32700").await;
    check("[]", "-32600").await;
    server.stop().await;
}

// JH-03, JH-22, JH-24, J1-35: in both versions
#[tokio::test]
async fn with_the_mapping_of_2008_single_failures_have_a_status_and_batches_do_not() {
    let server = serve_options(EndpointOptions::default().with_status(StatusMapping::Draft2008)).await;
    let check = async |body: &str, status: u16| {
        let received = ask(server.address, post(server.address, "", body)).await;
        assert_eq!(received.status, status, "{body}");
        assert!(received.body.contains("\"id\":"), "{body}");
    };
    check(ADD, 200).await;
    check("{", 400).await;
    check("[]", 400).await;
    check(r#"{"jsonrpc":"2.0","method":"no","id":1}"#, 404).await;
    check(r#"{"jsonrpc":"2.0","method":"add","params":["x"],"id":1}"#, 500).await;
    check(r#"[{"jsonrpc":"2.0","method":"no","id":1}]"#, 200).await;
    check(r#"{"method":"add","params":[2,3],"id":1}"#, 200).await;
    check(r#"{"method":"no","params":[],"id":1}"#, 404).await;
    check(r#"{"method":"add","params":["x"],"id":1}"#, 500).await;
    server.stop().await;
}

// JH-23
#[tokio::test]
async fn when_there_is_nothing_to_answer_the_body_is_empty() {
    let notification = r#"{"jsonrpc":"2.0","method":"add","params":[1,2]}"#;
    let batch = format!("[{notification},{notification}]");
    for (status, length) in [(204, None), (202, Some("0")), (200, Some("0"))] {
        let nothing_status = http::StatusCode::from_u16(status).unwrap();
        let server = serve_options(EndpointOptions::default().with_nothing_status(nothing_status)).await;
        for body in [notification, &batch] {
            let received = ask(server.address, post(server.address, "", body)).await;
            assert_eq!((received.status, &*received.body), (status, ""));
            assert_eq!(received.header("content-type"), None);
            assert_eq!(received.header("content-length"), length);
        }
        server.stop().await;
    }
}

// JH-20
#[tokio::test]
async fn only_post_is_allowed_and_only_on_the_paths() {
    let server = serve().await;
    for path in ["/", "/rpc", "/jsonrpc", "/rpc?key=1"] {
        let request = post_to(server.address, path, "content-type: application/json\r\n", ADD);
        assert_eq!(ask(server.address, request).await.status, 200, "{path}");
    }
    for path in ["/other", "/rpc/", "/RPC", "//"] {
        let request = post_to(server.address, path, "content-type: application/json\r\n", ADD);
        let received = ask(server.address, request).await;
        assert_eq!(received.status, 404, "{path}");
        assert!(
            received.body.contains(r#""id":null"#) && received.body.contains("-32600"),
            "{}",
            received.body
        );
    }
    for method in ["GET", "PUT", "DELETE", "OPTIONS", "PATCH"] {
        let request = format!("{method} / HTTP/1.1\r\nhost: localhost\r\n\r\n");
        let received = ask(server.address, request).await;
        assert_eq!((received.status, received.header("allow")), (405, Some("POST")), "{method}");
        assert!(received.body.contains(r#""id":null"#), "{method} {}", received.body);
        assert_eq!(received.header("connection"), None, "without a body the connection can go on");
    }
    server.stop().await;
}

// JH-21, JH-29, SEC-O-06
#[tokio::test]
async fn another_media_type_or_a_compressed_body_is_415() {
    let server = serve().await;
    let check = async |headers: &str, status: u16| {
        let received = ask(server.address, post_to(server.address, "/", headers, ADD)).await;
        assert_eq!(received.status, status, "{headers:?} {}", received.body);
    };
    check("content-type: application/json\r\n", 200).await;
    check("content-type: application/json; charset=UTF-8\r\n", 200).await;
    check("content-type: application/json-rpc\r\n", 200).await;
    check("content-type: application/json\r\ncontent-encoding: identity\r\n", 200).await;
    check("", 415).await;
    check("content-type: text/plain\r\n", 415).await;
    check("content-type: application/x-www-form-urlencoded\r\n", 415).await;
    check("content-type: application/json\r\ncontent-type: text/plain\r\n", 415).await;
    check("content-type: application/json\r\ncontent-encoding: gzip\r\n", 415).await;
    server.stop().await;
}

// JH-26
#[tokio::test]
async fn the_answer_has_a_type_that_is_accepted() {
    let server = serve().await;
    let check = async |accept: &str, expected: Result<&str, u16>| {
        let request = post(server.address, &format!("accept: {accept}\r\n"), ADD);
        let received = ask(server.address, request).await;
        let seen = match received.status {
            200 => Ok(received.header("content-type").unwrap()),
            status => Err(status),
        };
        assert_eq!(seen, expected, "{accept}");
    };
    check("*/*", Ok("application/json")).await;
    check("application/json", Ok("application/json")).await;
    check("application/json-rpc", Ok("application/json-rpc")).await;
    check("text/html, application/json-rpc;q=0.1", Ok("application/json-rpc")).await;
    check("text/html", Err(406)).await;
    server.stop().await;
}

// SEC-L-01, SEC-L-20, SEC-H-02
#[tokio::test]
async fn a_body_beyond_the_limit_is_413_whether_announced_or_not() {
    let limits = Limits::default().with_frame(100);
    let settings = Settings::default().with_limits(limits);
    let endpoint = Endpoint::new(support::router()).with_settings(settings);
    let server = serve_with(endpoint, ServerOptions::default()).await;
    let address = server.address;

    let fits = format!("{ADD}{}", " ".repeat(100 - ADD.len()));
    assert_eq!(ask(address, post(address, "", &fits)).await.status, 200);

    let mut raw = Raw::open(address).await;
    let head = format!("POST / HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n");
    raw.send(format!("{head}content-length: 1073741824\r\n\r\n")).await;
    let received = raw.response().await.expect("an answer before the body is sent");
    assert_eq!(received.status, 413);
    assert!(received.body.contains("limits.frame"), "{}", received.body);
    assert_eq!(received.header("connection"), Some("close"));
    assert!(raw.is_closed().await);

    let mut raw = Raw::open(address).await;
    let chunk = "x".repeat(60);
    raw.send(format!("{head}transfer-encoding: chunked\r\n\r\n3c\r\n{chunk}\r\n3c\r\n{chunk}\r\n")).await;
    assert_eq!(raw.response().await.unwrap().status, 413);
    assert!(raw.is_closed().await);
    server.stop().await;
}

// SEC-H-02: the answer arrives though the client is still sending
#[tokio::test]
async fn a_client_that_goes_on_sending_still_reads_why_it_is_refused() {
    let server = serve().await;
    let mut raw = Raw::open(server.address).await;
    let body = "x".repeat(5 << 20);
    raw.send(post(server.address, "", &body)).await;
    assert_eq!(raw.response().await.unwrap().status, 413);
    server.stop().await;
}

#[tokio::test]
async fn a_body_in_chunks_is_read_like_any_other() {
    let server = serve().await;
    let (one, two) = ADD.split_at(20);
    let mut raw = Raw::open(server.address).await;
    let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
    raw.send(format!("{head}transfer-encoding: chunked\r\n\r\n{:x}\r\n{one}\r\n", one.len())).await;
    raw.send(format!("{:x}\r\n{two}\r\n0\r\n\r\n", two.len())).await;
    assert_eq!(raw.response().await.unwrap().body, SUM);
    server.stop().await;
}

#[tokio::test]
async fn a_client_that_waits_for_100_continue_gets_it_unless_it_is_refused() {
    let server = serve().await;
    let mut raw = Raw::open(server.address).await;
    let request = post(server.address, "expect: 100-continue\r\n", ADD);
    let (head, body) = request.split_at(request.len() - ADD.len());
    raw.send(head).await;
    assert_eq!(raw.response().await.unwrap().status, 100);
    raw.send(body).await;
    assert_eq!(raw.response().await.unwrap().body, SUM);

    let mut raw = Raw::open(server.address).await;
    raw.send(post_to(server.address, "/", "expect: 100-continue\r\n", ADD).split_at(80).0).await;
    raw.send("\r\n\r\n").await;
    assert_eq!(raw.response().await.unwrap().status, 415);
    server.stop().await;
}

// SEC-O-03, SEC-O-04
#[tokio::test]
async fn a_page_of_a_listed_origin_is_told_what_it_may_do() {
    let origins = Origins::only(["https://app.example"]).unwrap();
    let server =
        serve_options(EndpointOptions::default().with_origins(origins).with_cors(Some(Cors::default())))
            .await;
    let preflight = |origin: &str| {
        format!(
            "OPTIONS /rpc HTTP/1.1\r\nhost: localhost\r\norigin: {origin}\r\n\
             access-control-request-method: POST\r\naccess-control-request-headers: content-type\r\n\r\n"
        )
    };
    let received = ask(server.address, preflight("https://app.example")).await;
    assert_eq!(received.status, 204);
    assert_eq!(received.header("access-control-allow-origin"), Some("https://app.example"));
    assert_eq!(received.header("access-control-allow-methods"), Some("POST"));
    assert!(
        received
            .header("access-control-allow-headers")
            .unwrap()
            .contains("content-type, authorization, x-api-key")
    );
    assert_eq!(received.header("access-control-max-age"), Some("600"));
    assert_eq!(received.header("access-control-allow-credentials"), None);
    assert_eq!(received.header("vary"), Some("origin"));
    assert_eq!(received.header("content-type"), None);

    let received = ask(server.address, preflight("https://evil.example")).await;
    assert_eq!((received.status, received.header("access-control-allow-origin")), (403, None));

    let received = ask(server.address, post(server.address, "origin: https://app.example\r\n", ADD)).await;
    assert_eq!((received.status, &*received.body), (200, SUM));
    assert_eq!(received.header("access-control-allow-origin"), Some("https://app.example"));
    assert_eq!(received.header("vary"), Some("origin"));
    // SEC-O-08
    assert_eq!(received.header("cross-origin-resource-policy"), Some("same-origin"));
    assert!(received.header("content-security-policy").is_some());

    let received = ask(server.address, "GET / HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    assert_eq!((received.status, received.header("allow")), (405, Some("POST, OPTIONS")));
    server.stop().await;
}

// SEC-O-03: without these headers, a page sees a mistake in its request as an unreachable server.
#[tokio::test]
async fn a_page_of_a_listed_origin_can_read_why_its_request_is_refused() {
    let options = EndpointOptions::default()
        .with_paths(vec!["/rpc".to_owned()])
        .with_origins(Origins::only(["https://app.example"]).unwrap())
        .with_cors(Some(Cors::default()));
    let server = serve_options(options).await;
    let of = |line: &str, origin: &str| {
        format!(
            "{line} HTTP/1.1\r\nhost: localhost\r\norigin: {origin}\r\ncontent-length: 2\r\n\
             content-type: text/plain\r\nconnection: close\r\n\r\n{{}}"
        )
    };
    for (line, status) in [("POST /nope", 404), ("PUT /rpc", 405), ("POST /rpc", 415)] {
        let received = ask(server.address, of(line, "https://app.example")).await;
        assert_eq!(received.status, status, "{line}");
        assert_eq!(received.header("access-control-allow-origin"), Some("https://app.example"), "{line}");
        let received = ask(server.address, of(line, "https://evil.example")).await;
        assert_eq!((received.status, received.header("access-control-allow-origin")), (403, None), "{line}");
    }

    let preflight = "OPTIONS /nope HTTP/1.1\r\nhost: localhost\r\norigin: https://app.example\r\n\
                     access-control-request-method: POST\r\n\r\n";
    assert_eq!(ask(server.address, preflight).await.status, 204, "the POST itself gets 404");
    let options = "OPTIONS /nope HTTP/1.1\r\nhost: localhost\r\n\r\n";
    assert_eq!(ask(server.address, options).await.status, 404);
    server.stop().await;
}

#[tokio::test]
async fn with_any_origin_the_answer_is_a_star() {
    let server = serve_options(
        EndpointOptions::default().with_origins(Origins::any()).with_cors(Some(Cors::default())),
    )
    .await;
    let received = ask(server.address, post(server.address, "origin: https://any.example\r\n", ADD)).await;
    assert_eq!((received.status, received.header("access-control-allow-origin")), (200, Some("*")));
    server.stop().await;
}

#[tokio::test]
async fn a_method_learns_where_its_call_comes_from() {
    let server = serve().await;
    let call = r#"{"jsonrpc":"2.0","method":"from","id":1}"#;
    let received = ask(server.address, post(server.address, "", call)).await;
    assert!(received.body.contains(r#"["http","127.0.0.1"]"#), "{}", received.body);
    server.stop().await;
}
