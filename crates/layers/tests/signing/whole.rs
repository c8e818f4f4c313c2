//! Messages that are signed as a whole: batches on every transport, and HTTP requests.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use serde_json::{Value, json};
use switchboard_core::{Context, Json, Layer as _, Reply, ReplyFuture, Service, service_fn};
use switchboard_layers::Clock;
use switchboard_layers::signing::{Sign, SignedMessage, SigningKeys, Verify};
use switchboard_layers::store::StoreLimits;
use switchboard_transport::Dial;
use switchboard_transport::http::{Endpoint, EndpointOptions, Hosts, HttpServer};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::TcpStream;

use crate::rig::{BOB, NOW, Server, bob, code, service, sign, store, verify};

const BATCH: &str = r#"[{"jsonrpc":"2.0","method":"who","params":[1],"id":1},{"jsonrpc":"2.0","method":"note"},{"jsonrpc":"2.0","method":"who","id":"b"}]"#;

fn codes(answer: &Value) -> Vec<Option<i64>> {
    answer.as_array().unwrap().iter().map(code).collect()
}

#[tokio::test]
async fn a_batch_is_accepted_once_as_a_whole_and_its_responses_are_signed_alone() {
    let clock = Clock::manual(NOW);
    let server = Server::new(&verify(&clock));
    let signed = SignedMessage::sign(BATCH, &sign(&clock)).unwrap();
    let answer = server.ask(&signed).await;
    assert_eq!(codes(&answer), [None, None]);
    assert_eq!((&answer[0]["result"], &answer[1]["result"]), (&json!("bob"), &json!("bob")));
    assert_eq!(server.count(), 3, "the notification runs too, and `rpc.signature` does not");
    let keys = SigningKeys::parse(BOB).unwrap();
    let request = SignedMessage::parse(signed.as_bytes()).unwrap();
    let member = request.member().unwrap().unwrap();
    let digest = request.text(&member, bob().algorithm()).unwrap().digest();
    for response in answer.as_array().unwrap() {
        let response = SignedMessage::parse(response.to_string().as_bytes()).unwrap();
        assert!(response.verify_reply(&keys, "bob-1", &member.nonce, &digest).is_ok());
    }
    // SEC-R-03: the nonce of the batch was used.
    assert_eq!(codes(&server.ask(&signed).await), [Some(-32002), Some(-32002)]);
    assert_eq!(server.count(), 3);
}

#[tokio::test]
async fn a_batch_with_an_entry_changed_added_or_removed_does_not_run() {
    let clock = Clock::manual(NOW);
    let server = Server::new(&verify(&clock));
    let signed = || SignedMessage::sign(BATCH, &sign(&clock)).unwrap();
    let dropped = signed().replace(r#"{"jsonrpc":"2.0","method":"note"},"#, "");
    let changed = signed().replace("[1]", "[2]");
    let added = signed().replace(
        r#",{"jsonrpc":"2.0","method":"note"}"#,
        r#",{"jsonrpc":"2.0","method":"note"},{"jsonrpc":"2.0","method":"note"}"#,
    );
    let unsigned = BATCH.to_owned();
    let (_, rest) = BATCH.split_once('{').unwrap();
    let escaped = signed().replace("rpc.signature", "rpc\\u002esignature");
    let not_first = format!(
        "[{{{},{}",
        rest.trim_end_matches(']'),
        signed().trim_start_matches('[').split_once("},{").unwrap().0
    ) + "}]";
    for message in [dropped, changed, added, unsigned, escaped, not_first] {
        let answer = server.ask(&message).await;
        assert!(
            codes(&answer).iter().all(|code| matches!(code, Some(-32002 | -32600))),
            "{message}: {answer}"
        );
        assert_eq!(server.count(), 0, "{message}");
    }
}

#[tokio::test]
async fn an_entry_out_of_the_keys_scope_is_refused_alone() {
    let clock = Clock::manual(NOW);
    let keys = SigningKeys::parse(&format!("{BOB} scopes=who")).unwrap();
    let verify = Verify::new(keys, [crate::rig::AUDIENCE], store(&clock, StoreLimits::default()));
    let server = Server::new(&verify.with_clock(clock.clone()));
    let batch = BATCH.replace("\"note\"", "\"note\",\"id\":2");
    let answer = server.ask(&SignedMessage::sign(&batch, &sign(&clock)).unwrap()).await;
    assert_eq!(codes(&answer), [None, Some(-32002), None]);
}

/// A server over HTTP whose calls must be signed by Bob, for these audiences or else for the address that it has.
async fn http_server(clock: &Clock, audiences: Option<Vec<String>>) -> (String, Arc<AtomicUsize>) {
    let server = HttpServer::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/rpc", server.local_addr());
    let (keys, audiences) =
        (SigningKeys::parse(BOB).unwrap(), audiences.unwrap_or_else(|| vec![url.clone()]));
    let verify = Verify::new(keys, audiences, store(clock, StoreLimits::default()));
    let (service, calls) = service(&verify.with_clock(clock.clone()));
    let endpoint = Endpoint::new(service).with_options(EndpointOptions::default().with_hosts(Hosts::any()));
    tokio::spawn(server.serve_endpoint(endpoint));
    (url, calls)
}

/// Every address that the proxy of [`through`] can have.
fn every_address() -> Vec<String> {
    (1024..=u16::MAX).map(|port| format!("http://127.0.0.1:{port}/rpc")).collect()
}

// SEC-S-20, SEC-S-23, SEC-S-26
#[tokio::test]
async fn http_requests_and_responses_are_signed_as_a_whole() {
    let clock = Clock::manual(NOW);
    let (url, calls) = http_server(&clock, None).await;
    let sign = Sign::new(bob(), &url).with_clock(clock.clone()).requiring_signed_replies();
    for url in [url.clone(), format!("{url}?v=2")] {
        let peer = Dial::new(&url).unwrap().with_seal(sign.seal()).connect().await.unwrap();
        let peer = sign.clone().peer_over_http(peer);
        assert_eq!(peer.call::<Value>("who", json!({"a": 1})).await.unwrap(), "bob");
        let with_key = peer.call::<Value>("who", ()).metadata("idempotency-key", "pay-1");
        assert_eq!(with_key.await.unwrap(), "bob");
        peer.notify("who", [1]).await.unwrap();
        let batch = peer.batch().call("who", ()).notify("who", ()).call("who", [2]).send().await.unwrap();
        assert!(batch.into_iter().all(|result| result.unwrap().to_string() == "\"bob\""));
    }
    assert_eq!(calls.load(Ordering::SeqCst), 12);
}

/// Sends a request as it is, and reads the response.
async fn send(url: &str, head: &str, body: &str) -> String {
    let address = url.strip_prefix("http://").unwrap().strip_suffix("/rpc").unwrap();
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    let request = format!("{head}Connection: close\r\nContent-Length: {length}\r\n\r\n{body}");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut response = String::new();
    stream.read_to_string(&mut response).await.unwrap();
    response
}

/// A proxy that passes one request on after this change, once or twice. Gives the responses.
async fn through(url: &str, sign: &Sign, change: impl Fn(String) -> String, times: usize) -> Vec<String> {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let near = format!("http://{}/rpc", listener.local_addr().unwrap());
    let peer = Dial::new(&near).unwrap().with_seal(sign.seal()).connect().await.unwrap();
    let call = tokio::spawn(async move { peer.call::<Value>("who", [1]).await });
    let (mut stream, _) = listener.accept().await.unwrap();
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"}") {
        stream.read_buf(&mut bytes).await.unwrap();
    }
    call.abort();
    let request = change(String::from_utf8(bytes).unwrap());
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let head: String = head
        .lines()
        .filter(|line| !line.to_lowercase().starts_with("content-length"))
        .map(|line| format!("{line}\r\n"))
        .collect();
    let mut responses = Vec::new();
    for _ in 0..times {
        responses.push(send(url, &head, body).await);
    }
    responses
}

#[tokio::test]
async fn a_request_for_another_server_is_refused() {
    let clock = Clock::manual(NOW);
    let (url, calls) = http_server(&clock, None).await;
    // It is signed for the address of the proxy.
    let sign = Sign::new(bob(), &url).with_clock(clock.clone());
    let refused = through(&url, &sign, |request| request, 1).await.remove(0);
    assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
    assert!(refused.to_lowercase().contains("accept-signature: sb=(\"@method\""), "{refused}");
    assert_eq!(calls.load(Ordering::SeqCst), 0);
}

// SEC-S-24
#[tokio::test]
async fn a_request_is_accepted_once_and_only_as_it_was_signed() {
    let clock = Clock::manual(NOW);
    let sign = Sign::new(bob(), "http://unused").with_clock(clock.clone());
    let (url, calls) = http_server(&clock, Some(every_address())).await;
    let same = through(&url, &sign, |request| request, 2).await;
    assert!(same[0].starts_with("HTTP/1.1 200") && same[0].contains("\"bob\""), "{}", same[0]);
    assert!(same[0].to_lowercase().contains("signature-input: sb=(\"@status\""), "{}", same[0]);
    assert!(same[1].starts_with("HTTP/1.1 401"), "{}", same[1]);
    assert_eq!(calls.load(Ordering::SeqCst), 1);
    let changes: [(&str, &str, &str); 6] = [
        ("[1]", "[2]", "401"),
        ("POST /rpc ", "POST /jsonrpc ", "401"),
        ("POST /rpc ", "POST /rpc?a=1 ", "400"),
        ("content-type: application/json", "content-type: application/json;x=1", "401"),
        ("tag=\"switchboard-v1\"", "tag=\"other\"", "401"),
        ("\"content-digest\"", "\"accept\"", "400"),
    ];
    for (from, to, status) in changes {
        let change = |request: String| {
            let changed = request.replacen(from, to, 1);
            assert_ne!(changed, request, "{from} is not in {request}");
            changed
        };
        let answer = through(&url, &sign, change, 1).await.remove(0);
        assert!(answer.starts_with(&format!("HTTP/1.1 {status}")), "{from}: {answer}");
    }
    assert_eq!(calls.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_forwarded_call_keeps_its_signer_and_needs_a_gateway_that_may_forward() {
    // The hop of a call that its caller did not sign names the caller.
    let clock = Clock::manual(NOW);
    let vectors = crate::rig::vectors();
    let verify =
        Verify::new(vectors.keys.clone(), [crate::rig::AUDIENCE], store(&clock, StoreLimits::default()));
    let server = Server::new(&verify.with_clock(clock.clone()));
    let find = |name: &str| {
        vectors.all.iter().find(|vector| vector["name"] == name).unwrap()["raw"].as_str().unwrap().to_owned()
    };
    let answer = server.ask(&find("forwarded")).await;
    assert_eq!((&answer["result"], &answer["id"]), (&json!("alice-1"), &json!(1042)));
    // Both nonces were used.
    assert_eq!(code(&server.ask(&find("forwarded")).await), Some(-32002));
    assert_eq!(server.count(), 1);
    // Without the hop, the changed identifier breaks the signature.
    let (call, _) = find("forwarded")
        .split_once(",\"hop\"")
        .map(|(call, hop)| (format!("{call}}}"), hop.to_owned()))
        .unwrap();
    assert_eq!(code(&server.ask(&call).await), Some(-32002));
}

#[tokio::test]
async fn two_layers_decide_for_themselves() {
    // The outer one accepts Bob, the inner one nobody.
    let clock = Clock::manual(NOW);
    let other = "eve-1 hmac-sha256 ffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff";
    let inner = Verify::new(
        SigningKeys::parse(other).unwrap(),
        [crate::rig::AUDIENCE],
        store(&clock, StoreLimits::default()),
    );
    let answering = service_fn(|_| ReplyFuture::ready(Reply::value(Json::NULL)));
    let inside: Arc<dyn Service> = inner.with_clock(clock.clone()).layer(Arc::new(answering));
    let outer = verify(&clock).layer(inside);
    let engine = switchboard_core::Engine::new(outer, switchboard_core::Settings::default());
    let signed = SignedMessage::sign(BATCH, &sign(&clock)).unwrap();
    let answer = engine.exchange(signed, &Context::default()).await;
    let answer: Value = serde_json::from_slice(answer.body().unwrap()).unwrap();
    assert_eq!(codes(&answer), [Some(-32002), Some(-32002)]);
}

#[tokio::test]
async fn a_batch_is_signed_as_a_whole_over_a_connection() {
    let clock = Clock::manual(NOW);
    let (service, calls) = service(&verify(&clock));
    let mut server = switchboard_transport::server::Server::new(service);
    server.listen("tcp://127.0.0.1:0").await.unwrap();
    let address = server.urls().next().unwrap().replace("tcp://", "");
    tokio::spawn(server.serve());
    let mut lines = BufReader::new(TcpStream::connect(address).await.unwrap());
    let signed = SignedMessage::sign(BATCH, &sign(&clock)).unwrap();
    let changed = SignedMessage::sign(BATCH, &sign(&clock)).unwrap().replace("[1]", "[2]");
    for (message, expected) in [(&signed, None), (&signed, Some(-32002)), (&changed, Some(-32002))] {
        lines.write_all(format!("{message}\n").as_bytes()).await.unwrap();
        let mut line = String::new();
        lines.read_line(&mut line).await.unwrap();
        assert_eq!(codes(&serde_json::from_str(&line).unwrap()), [expected, expected], "{line}");
    }
    assert_eq!(calls.load(Ordering::SeqCst), 3);
}
