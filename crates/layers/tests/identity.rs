//! Who calls: by header and by login, alone, in a batch, as a notification and as a stream.
#![cfg(feature = "identity")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use futures_util::StreamExt as _;
use serde_json::{Value, json};
use switchboard_core::{
    CallError, Code, Context, Engine, ErrorObject, FromContext as _, Layer as _, Peer, PeerCertificate,
    Reply, ReplyFuture, Router, Session, Settings, service_fn,
};
use switchboard_layers::identity::{
    ApiKeys, Authenticate as _, Authentication, Credential, Identity, NewApiKey, Proof, Revocations, Revoked,
    StdioUser, Tokens, Verdict,
};
use switchboard_transport::http::{self, Endpoint, EndpointOptions, HttpServer, Page};
use switchboard_transport::memory;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::advance;

const ALICE: &str = "2f9c1b7e55a04d13";

/// Methods that tell who calls, and count their calls.
fn router(calls: &Arc<AtomicUsize>) -> Router {
    let counted = Arc::clone(calls);
    let who = move |(): (), cx: Context| {
        counted.fetch_add(1, Ordering::Relaxed);
        Ok::<_, ErrorObject>(Identity::from_context(&cx).map(|identity| identity.subject.clone()))
    };
    Router::builder().method("who", who).build().unwrap()
}

fn tokens() -> Authentication {
    Authentication::new(Tokens::parse(&format!("alice:{ALICE}")).unwrap())
}

/// A server over HTTP with the admission and the layer: its address, and how many calls reached a method.
async fn serve(authentication: Authentication) -> (String, Arc<AtomicUsize>) {
    let calls = Arc::new(AtomicUsize::new(0));
    let settings = Settings::default().with_admission(Some(authentication.clone().into()));
    let server = HttpServer::bind("127.0.0.1:0").await.unwrap();
    let address = server.local_addr().to_string();
    let endpoint = Endpoint::new(router(&calls).layered(authentication)).with_settings(settings);
    tokio::spawn(server.serve_endpoint(endpoint));
    (address, calls)
}

fn code<T: std::fmt::Debug>(result: Result<T, CallError>) -> Code {
    match result {
        Err(CallError::Rejected(error)) => error.code,
        other => panic!("{other:?}"),
    }
}

/// What a server answers to a request with these headers, as text.
async fn ask(address: &str, first: &str, headers: &str, body: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let length = body.len();
    let request = format!(
        "{first} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\ncontent-type: application/json\r\n\
         content-length: {length}\r\n{headers}\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

const WHO: &str = r#"{"jsonrpc":"2.0","method":"who","id":1}"#;

// SEC-T-09
#[tokio::test]
async fn requests_without_a_valid_token_are_refused_alike_and_reach_no_method() {
    let (address, calls) = serve(tokens()).await;
    let without_date = |answer: String| {
        answer.lines().filter(|line| !line.starts_with("date:")).map(str::to_owned).collect::<Vec<_>>()
    };
    let mut answers = Vec::new();
    let twice = format!("authorization: Bearer {ALICE}\r\nauthorization: Bearer x\r\n");
    for headers in ["", "authorization: Bearer wrong\r\n", "authorization: Digest x\r\n", &twice] {
        for body in
            [WHO, r#"{"jsonrpc":"2.0","method":"no/such","id":1}"#, r#"[{"jsonrpc":"2.0","method":"who"}]"#]
        {
            answers.push(without_date(ask(&address, "POST /", headers, body).await));
        }
    }
    assert!(answers[0][0].starts_with("HTTP/1.1 401"), "{:?}", answers[0]);
    assert!(answers[0].iter().any(|line| line == "www-authenticate: Bearer"), "{:?}", answers[0]);
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:#?}");
    assert_eq!(calls.load(Ordering::Relaxed), 0);
}

// SEC-O-07, SEC-T-05
#[tokio::test]
async fn a_token_in_a_url_is_not_accepted() {
    let (address, calls) = serve(tokens()).await;
    for query in ["access_token=", "token=", "api_key=", "x-api-key=", "authorization=Bearer%20"] {
        let answer = ask(&address, &format!("POST /?{query}{ALICE}"), "", WHO).await;
        assert!(answer.starts_with("HTTP/1.1 401"), "{query}: {answer}");
    }
    let answer = ask(&address, &format!("POST http://alice:{ALICE}@{address}/"), "", WHO).await;
    assert!(!answer.starts_with("HTTP/1.1 200"), "{answer}");
    assert_eq!(calls.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_token_in_the_header_identifies_each_call_of_a_batch() {
    let (address, calls) = serve(tokens()).await;
    let batch = format!("[{WHO},{{\"jsonrpc\":\"2.0\",\"method\":\"who\"}}]");
    let answer = ask(&address, "POST /", &format!("authorization: bearer {ALICE}\r\n"), &batch).await;
    assert!(answer.ends_with(r#"[{"jsonrpc":"2.0","result":"alice","id":1}]"#), "{answer}");
    assert_eq!(calls.load(Ordering::Relaxed), 2, "the notification ran too");
}

// SEC-L-21
#[tokio::test]
async fn after_too_many_wrong_tokens_even_the_right_one_has_to_wait() {
    let (address, _) = serve(tokens()).await;
    for _ in 0..10 {
        let answer = ask(&address, "POST /", "authorization: Bearer wrong\r\n", WHO).await;
        assert!(answer.starts_with("HTTP/1.1 401"), "{answer}");
    }
    let answer = ask(&address, "POST /", &format!("authorization: Bearer {ALICE}\r\n"), WHO).await;
    assert!(answer.starts_with("HTTP/1.1 429"), "{answer}");
    assert!(answer.contains("\r\nretry-after: ") && answer.contains(r#""retryAfterMs":"#), "{answer}");
}

#[tokio::test]
async fn a_browser_that_opens_a_page_is_asked_for_a_name_and_a_token() {
    let authentication = tokens();
    let settings = Settings::default().with_admission(Some(authentication.clone().into()));
    let server = HttpServer::bind("127.0.0.1:0").await.unwrap();
    let address = server.local_addr().to_string();
    let options = EndpointOptions::default().route("/", Page::new("<p>the page</p>"));
    let router = router(&Arc::default()).layered(authentication);
    tokio::spawn(server.serve_endpoint(Endpoint::new(router).with_options(options).with_settings(settings)));
    let page =
        async |headers: &str| ask(&address, "GET /", &format!("accept: text/html\r\n{headers}"), "").await;
    let refused = page("").await;
    assert!(refused.starts_with("HTTP/1.1 401"), "{refused}");
    assert!(refused.contains("\r\nwww-authenticate: Basic realm=\"switchboard\""), "{refused}");
    assert!(refused.contains("\r\nwww-authenticate: Bearer\r\n"), "{refused}");
    // alice and her token, as a browser sends them.
    let shown = page("authorization: Basic YWxpY2U6MmY5YzFiN2U1NWEwNGQxMw==\r\n").await;
    assert!(shown.starts_with("HTTP/1.1 200") && shown.ends_with("<p>the page</p>"), "{shown}");
}

// SEC-O-07
#[tokio::test]
async fn a_websocket_is_refused_before_it_opens_and_takes_a_token_as_a_subprotocol() {
    let (address, _) = serve(tokens()).await;
    let upgrade = |protocols: &str| {
        format!(
            "connection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
             sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\nsec-websocket-protocol: {protocols}\r\n\r\n"
        )
    };
    for (protocols, status) in [("jsonrpc", "401"), ("jsonrpc, bearer.wrong", "401")] {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        let request = format!("GET / HTTP/1.1\r\nhost: {address}\r\n{}", upgrade(protocols));
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut first = [0; 12];
        stream.read_exact(&mut first).await.unwrap();
        assert_eq!(first, format!("HTTP/1.1 {status}").as_bytes(), "{protocols}");
    }
    let mut stream = TcpStream::connect(&address).await.unwrap();
    let protocols = format!("jsonrpc, bearer.{ALICE}");
    let request = format!("GET / HTTP/1.1\r\nhost: {address}\r\n{}", upgrade(&protocols));
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    let head = String::from_utf8(head).unwrap();
    assert!(
        head.starts_with("HTTP/1.1 101") && head.contains("sec-websocket-protocol: jsonrpc\r\n"),
        "{head}"
    );
    assert!(!head.contains(ALICE), "the token is not sent back");
}

#[tokio::test]
async fn a_connection_without_headers_logs_in_or_sends_its_token_in_each_message() {
    let calls = Arc::new(AtomicUsize::new(0));
    let peer = memory::connect(router(&calls).layered(tokens()), Router::builder().build().unwrap());
    assert_eq!(code(peer.call::<Value>("who", ()).await), Code::UNAUTHORIZED);
    let request = peer.call::<Value>("who", ()).metadata("authorization", format!("Bearer {ALICE}"));
    assert_eq!(request.await.unwrap(), json!("alice"));
    assert_eq!(
        code(peer.call::<Value>("who", ()).await),
        Code::UNAUTHORIZED,
        "it holds for that message only"
    );
    assert_eq!(code(peer.call::<Value>("rpc.login", ["wrong"]).await), Code::UNAUTHORIZED);
    let login: Value = peer.call("rpc.login", json!({"token": ALICE})).await.unwrap();
    assert_eq!(login, json!({"subject": "alice", "proof": "token", "roles": [], "scopes": []}));
    assert_eq!(peer.call::<Value>("who", ()).await.unwrap(), json!("alice"));
    assert_eq!(peer.call::<Value>("rpc.whoami", ()).await.unwrap(), login);
}

#[tokio::test]
async fn callers_learn_of_the_roles_that_the_server_gives_them() {
    let authentication = tokens().with_roles("alice", ["admin", "ops"]).with_roles("bob", ["guest"]);
    let peer =
        memory::connect(router(&Arc::default()).layered(authentication), Router::builder().build().unwrap());
    let login: Value = peer.call("rpc.login", [ALICE]).await.unwrap();
    assert_eq!(login["roles"], json!(["admin", "ops"]));
    assert_eq!(peer.call::<Value>("rpc.whoami", ()).await.unwrap(), login);
}

#[tokio::test]
async fn a_token_as_a_subprotocol_counts_more_than_the_password_that_a_browser_adds() {
    let (address, _) = serve(tokens()).await;
    let check = async |password: &str, token: &str, status: &str| {
        let mut stream = TcpStream::connect(&address).await.unwrap();
        let request = format!(
            "GET / HTTP/1.1\r\nhost: {address}\r\nconnection: upgrade\r\nupgrade: websocket\r\n\
             sec-websocket-version: 13\r\nsec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n\
             authorization: Basic {password}\r\nsec-websocket-protocol: jsonrpc, bearer.{token}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut first = [0; 12];
        stream.read_exact(&mut first).await.unwrap();
        assert_eq!(first, format!("HTTP/1.1 {status}").as_bytes(), "{password} {token}");
    };
    // Alice with her token, and with another one.
    let (right, wrong) = ("YWxpY2U6MmY5YzFiN2U1NWEwNGQxMw==", "YWxpY2U6d3Jvbmc=");
    check(wrong, ALICE, "101").await;
    check(right, "wrong", "401").await;
}

#[tokio::test]
async fn a_login_over_http_is_refused_because_other_callers_share_the_connection() {
    let (address, _) = serve(tokens().optional()).await;
    let peer = http::connect(&format!("http://{address}")).unwrap();
    assert_eq!(code(peer.call::<Value>("rpc.login", [ALICE]).await), Code::INVALID_REQUEST);
    assert_eq!(peer.call::<Value>("rpc.whoami", ()).await.unwrap(), Value::Null);
    assert_eq!(peer.call::<Value>("who", ()).await.unwrap(), Value::Null);
}

/// A token of these tests.
fn text(token: &[u8]) -> &str {
    std::str::from_utf8(token).unwrap()
}

/// Takes any bearer token as a name, which expires.
fn expiring(expires: SystemTime) -> Authentication {
    Authentication::new(move |credential: &Credential<'_>| match credential {
        Credential::Bearer(name) => {
            Verdict::Known(Arc::new(Identity::new(text(name), Proof::Token).with_expiry(expires)))
        }
        _ => Verdict::Unknown,
    })
}

#[tokio::test]
async fn an_expired_credential_is_refused() {
    let expired = expiring(SystemTime::now() - Duration::from_secs(1));
    let calls = Arc::new(AtomicUsize::new(0));
    let peer = memory::connect(router(&calls).layered(expired), Router::builder().build().unwrap());
    let request = peer.call::<Value>("who", ()).metadata("authorization", "Bearer bob");
    assert_eq!(code(request.await), Code::UNAUTHORIZED);
    assert_eq!(calls.load(Ordering::Relaxed), 0);
}

// SEC-T-06
#[tokio::test(start_paused = true)]
async fn a_stream_ends_when_the_credential_of_its_caller_expires() {
    let ticks = service_fn(|_| ReplyFuture::ready(Reply::stream(futures_util::stream::pending::<u64>())));
    let service = expiring(SystemTime::now() + Duration::from_secs(60)).layer(Arc::new(ticks));
    let peer = memory::connect(service, Router::builder().build().unwrap());
    let mut items = peer.stream::<u64>("ticks", ()).metadata("authorization", "Bearer bob").await.unwrap();
    let last = items.next().await.unwrap();
    assert!(matches!(last, Err(CallError::Rejected(error)) if error.code == Code::UNAUTHORIZED));
    assert!(items.next().await.is_none());
}

/// Takes `name:seconds` as a token of this name, which is good for so long; without seconds it does not expire.
fn timed() -> Authentication {
    Authentication::new(|credential: &Credential<'_>| {
        let Credential::Bearer(token) = credential else { return Verdict::Unknown };
        let (name, seconds) = text(token).split_once(':').unwrap_or((text(token), ""));
        let mut identity = Identity::new(name, Proof::Token);
        identity.expires =
            seconds.parse().ok().map(|seconds| SystemTime::now() + Duration::from_secs(seconds));
        Verdict::Known(Arc::new(identity))
    })
}

/// A server that shows its sessions, and a client of it.
fn watched(authentication: Authentication) -> (Peer, Arc<Mutex<Option<Session>>>) {
    let seen = Arc::new(Mutex::new(None));
    let seeing = Arc::clone(&seen);
    let show = move |(): (), cx: Context| {
        *seeing.lock().unwrap() = Some(cx.session().clone());
        Ok::<_, ErrorObject>(Identity::from_context(&cx).map(|identity| identity.subject.clone()))
    };
    let router = Router::builder().method("show", show).build().unwrap();
    (memory::connect(router.layered(authentication), Router::builder().build().unwrap()), seen)
}

// SEC-T-06
#[tokio::test(start_paused = true)]
async fn a_connection_is_closed_when_its_credential_expires_so_that_nothing_is_pushed_any_more() {
    let (peer, session) = watched(timed());
    peer.call::<Value>("rpc.login", ["bob:60"]).await.unwrap();
    assert_eq!(peer.call::<Value>("show", ()).await.unwrap(), json!("bob"));
    let session = session.lock().unwrap().take().unwrap();
    session.peer().notify("news", [1]).await.unwrap();
    advance(Duration::from_secs(59)).await;
    assert!(session.close_reason().is_none());
    peer.closed().await;
    assert_eq!(session.close_reason().unwrap().code, Some(3000));
    assert!(session.peer().notify("news", [2]).await.is_err());
}

#[tokio::test(start_paused = true)]
async fn a_connection_is_closed_when_its_token_is_removed_from_the_file() {
    let path = std::env::temp_dir().join(format!("switchboard-revoked-{}", std::process::id()));
    let write = |text: &str| {
        let new = path.with_extension("new");
        std::fs::write(&new, text).unwrap();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            std::fs::set_permissions(&new, std::fs::Permissions::from_mode(0o600)).unwrap();
        }
        std::fs::rename(&new, &path).unwrap();
    };
    write(&format!("alice:{ALICE}\nbob:0123456789abcdef\n"));
    let authentication = Authentication::new(Tokens::watch(&path).unwrap());
    let (alice, _) = watched(authentication.clone());
    let (bob, session) = watched(authentication);
    alice.call::<Value>("rpc.login", [ALICE]).await.unwrap();
    bob.call::<Value>("rpc.login", ["0123456789abcdef"]).await.unwrap();
    bob.call::<Value>("show", ()).await.unwrap();
    advance(Duration::from_secs(60)).await;
    assert_eq!(bob.call::<Value>("show", ()).await.unwrap(), json!("bob"));
    write(&format!("alice:{ALICE}\n"));
    bob.closed().await;
    let session = session.lock().unwrap().take().unwrap();
    assert_eq!(session.close_reason().unwrap().code, Some(3000));
    assert_eq!(alice.call::<Value>("show", ()).await.unwrap(), json!("alice"));
    std::fs::remove_file(&path).unwrap();
}

// SEC-T-06
#[tokio::test(start_paused = true)]
async fn a_caller_that_logs_in_again_in_time_stays_connected() {
    let (peer, session) = watched(timed());
    for token in ["bob:60", "bob:60", "bob:60", "bob"] {
        peer.call::<Value>("rpc.login", [token]).await.unwrap();
        advance(Duration::from_secs(50)).await;
    }
    advance(Duration::from_secs(3600)).await;
    assert_eq!(peer.call::<Value>("show", ()).await.unwrap(), json!("bob"));
    assert!(session.lock().unwrap().take().unwrap().close_reason().is_none());
}

// SEC-T-06
#[tokio::test]
async fn a_websocket_is_closed_when_the_token_of_its_handshake_expires_unless_it_logs_in() {
    let (address, _) = serve(timed()).await;
    let connect = async |token: &str| {
        let headers = [("authorization".parse().unwrap(), format!("Bearer {token}").parse().unwrap())];
        let dial = switchboard_transport::Dial::new(&format!("ws://{address}")).unwrap();
        dial.with_headers(headers.into_iter().collect()).connect().await.unwrap()
    };
    // It need not make a call for that.
    connect("bob:1").await.closed().await;
    let peer = connect("bob:2").await;
    let login: Value = peer.call("rpc.login", ["carol"]).await.unwrap();
    assert_eq!(login["subject"], "carol");
    assert_eq!(peer.call::<Value>("who", ()).await.unwrap(), json!("carol"), "the login counts more");
    let (closed, other) = (peer.closed(), connect("bob:2").await);
    tokio::select! {
        biased;
        _ = closed => panic!("the login does not expire"),
        _ = other.closed() => {}
    }
    assert_eq!(peer.call::<Value>("who", ()).await.unwrap(), json!("carol"));
}

#[tokio::test]
async fn several_authenticators_are_asked_in_their_order() {
    let named = |name: &'static str, token: &'static str, is_slow: bool| {
        move |credential: &Credential<'_>| {
            let is_right = matches!(credential, Credential::Bearer(given) if *given == token.as_bytes());
            let found = is_right.then(|| Arc::new(Identity::new(name, Proof::Token)));
            match (is_slow, found) {
                (true, found) => Verdict::Later(Box::pin(async move { found.into() })),
                (false, found) => found.into(),
            }
        }
    };
    let all = Authentication::new(named("first", "a", false))
        .or(named("second", "b", true))
        .or(named("third", "a", false))
        .or(named("fourth", "c", true))
        .or(named("fifth", "d", false));
    let peer = memory::connect(router(&Arc::default()).layered(all), Router::builder().build().unwrap());
    for (token, name) in [("a", "first"), ("b", "second"), ("c", "fourth"), ("d", "fifth")] {
        let call = peer.call::<Value>("who", ()).metadata("authorization", format!("Bearer {token}"));
        assert_eq!(call.await.unwrap(), json!(name));
    }
    let call = peer.call::<Value>("who", ()).metadata("authorization", "Bearer e");
    assert_eq!(code(call.await), Code::UNAUTHORIZED);
}

#[test]
fn only_the_process_at_stdio_is_trusted_by_choice() {
    let alice = StdioUser::new("alice");
    let Verdict::Known(identity) = alice.authenticate(&Credential::Stdio) else { panic!() };
    assert_eq!((identity.subject.as_str(), identity.proof), ("alice", Proof::Stdio));
    assert!(matches!(alice.authenticate(&Credential::Bearer(b"alice")), Verdict::Unknown));
}

#[tokio::test]
async fn a_decision_may_take_time() {
    let slow = Authentication::new(|credential: &Credential<'_>| match credential {
        Credential::Bearer(name) => {
            let identity = (*name == b"bob").then(|| Arc::new(Identity::new("bob", Proof::Token)));
            Verdict::Later(Box::pin(async move {
                tokio::task::yield_now().await;
                identity.into()
            }))
        }
        _ => Verdict::Unknown,
    });
    let (address, _) = serve(slow).await;
    let peer: Peer = http::connect(&format!("http://{address}")).unwrap();
    for method in ["who", "rpc.whoami"] {
        let call =
            |name: &str| peer.call::<Value>(method, ()).metadata("authorization", format!("Bearer {name}"));
        assert!(call("bob").await.unwrap().to_string().contains("\"bob\""), "{method}");
        assert_eq!(code(call("eve").await), Code::UNAUTHORIZED, "{method}");
    }
}

/// Knows `good`, and cannot check `later` and `unsure`.
fn unsure(credential: &Credential<'_>) -> Verdict {
    let wait = Duration::from_millis(12_500);
    match credential {
        Credential::Bearer(b"good") => Verdict::Known(Arc::new(Identity::new("alice", Proof::Token))),
        Credential::Bearer(b"unsure") => Verdict::Unavailable(wait),
        Credential::Bearer(b"later") => Verdict::Later(Box::pin(async move { Verdict::Unavailable(wait) })),
        _ => Verdict::Unknown,
    }
}

#[tokio::test]
async fn a_credential_that_cannot_be_checked_gets_503_and_does_not_count_as_wrong() {
    let (address, calls) = serve(Authentication::new(unsure)).await;
    for token in ["unsure", "later"].repeat(20) {
        let answer = ask(&address, "POST /", &format!("authorization: Bearer {token}\r\n"), WHO).await;
        assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("\r\nretry-after: 13\r\n"), "{answer}");
        assert!(answer.contains(r#""code":-32005"#) && answer.contains(r#""limit":"auth.keys""#), "{answer}");
        assert!(answer.contains(r#""retryAfterMs":12500"#), "{answer}");
    }
    assert_eq!(calls.load(Ordering::Relaxed), 0);
    let answer = ask(&address, "POST /", "authorization: Bearer good\r\n", WHO).await;
    assert!(answer.starts_with("HTTP/1.1 200"), "nothing was counted: {answer}");
    let peer = memory::connect(
        router(&calls).layered(Authentication::new(unsure)),
        Router::builder().build().unwrap(),
    );
    for token in ["unsure", "later"].repeat(20) {
        assert_eq!(code(peer.call::<Value>("rpc.login", [token]).await), Code::OVER_LIMIT);
        let call = peer.call::<Value>("who", ()).metadata("authorization", format!("Bearer {token}"));
        assert_eq!(code(call.await), Code::OVER_LIMIT);
    }
    peer.call::<Value>("rpc.login", ["good"]).await.unwrap();
}

#[tokio::test]
async fn another_authenticator_may_know_a_credential_that_one_cannot_check() {
    let known = |credential: &Credential<'_>| match credential {
        Credential::Bearer(token) if *token != b"wrong" => {
            Verdict::Known(Arc::new(Identity::new("bob", Proof::Token)))
        }
        _ => Verdict::Unknown,
    };
    let all = Authentication::new(unsure).or(known);
    let peer = memory::connect(router(&Arc::default()).layered(all), Router::builder().build().unwrap());
    let who = async |token: &str| {
        peer.call::<Value>("who", ()).metadata("authorization", format!("Bearer {token}")).await
    };
    assert_eq!(who("good").await.unwrap(), json!("alice"));
    assert_eq!(who("unsure").await.unwrap(), json!("bob"));
    assert_eq!(who("later").await.unwrap(), json!("bob"));
    assert_eq!(code(who("wrong").await), Code::UNAUTHORIZED);
}

// SEC-T-07
#[tokio::test]
async fn a_credential_that_is_bound_to_a_certificate_is_good_only_with_it() {
    let bound = |credential: &Credential<'_>| match credential {
        Credential::Bearer(name) => {
            Verdict::Known(Arc::new(Identity::new(text(name), Proof::Token).with_certificate("aa11")))
        }
        _ => Verdict::Unknown,
    };
    let slow = move |credential: &Credential<'_>| {
        let verdict = bound(credential);
        Verdict::Later(Box::pin(async move { verdict }))
    };
    for authentication in [Authentication::new(bound), Authentication::new(slow)] {
        let engine =
            Engine::new(authentication.layer(Arc::new(router(&Arc::default()))), Settings::default());
        let ask = async |fingerprint: Option<&str>| {
            let mut cx =
                Context::default().with_metadata([("authorization", "Bearer bob")].into_iter().collect());
            if let Some(fingerprint) = fingerprint {
                let mut certificate = PeerCertificate::default();
                certificate.fingerprint = fingerprint.to_owned();
                cx.insert(certificate);
            }
            let answer = engine.exchange(WHO, &cx).await;
            String::from_utf8(answer.body().unwrap().to_vec()).unwrap()
        };
        assert!(ask(Some("aa11")).await.contains(r#""result":"bob""#));
        for other in [None, Some("aa12"), Some("")] {
            assert!(ask(other).await.contains(r#""code":-32002"#), "{other:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_revoked_caller_is_refused_at_once_and_its_connection_is_closed() {
    let revocations = Revocations::default();
    let authentication = tokens().with_revocations(revocations.clone());
    let with_token = Context::default()
        .with_metadata([("authorization", format!("Bearer {ALICE}"))].into_iter().collect());
    let engine = Engine::new(authentication.layer(Arc::new(router(&Arc::default()))), Settings::default());
    let ask = async || engine.exchange(WHO, &with_token).await.body().unwrap().to_vec();
    let peer = memory::connect(router(&Arc::default()).layered(authentication), router(&Arc::default()));
    peer.call::<Value>("rpc.login", [ALICE]).await.unwrap();
    assert!(String::from_utf8(ask().await).unwrap().contains("alice"));
    revocations.replace(["user:bob".parse().unwrap(), "key:abcdefgh".parse().unwrap()]);
    assert_eq!(peer.call::<String>("who", ()).await.unwrap(), "alice");
    revocations.replace(["user:alice".parse().unwrap()]);
    assert_eq!(code(peer.call::<String>("who", ()).await), Code::UNAUTHORIZED);
    assert!(String::from_utf8(ask().await).unwrap().contains("-32002"));
    peer.closed().await;
    revocations.replace([]);
    assert!(String::from_utf8(ask().await).unwrap().contains("alice"));
    for wrong in ["alice", "user:", "group:a"] {
        assert!(wrong.parse::<Revoked>().is_err(), "{wrong}");
    }
}

#[tokio::test]
async fn one_api_key_of_a_caller_can_be_revoked() {
    let make = || NewApiKey::generate(&Identity::new("alice", Proof::ApiKey)).unwrap();
    let (one, other) = (make(), make());
    let keys = ApiKeys::parse(&format!("{}\n{}\n", one.line, other.line)).unwrap();
    let revocations = Revocations::default();
    let authentication = Authentication::new(keys).with_revocations(revocations.clone());
    let engine = Engine::new(authentication.layer(Arc::new(router(&Arc::default()))), Settings::default());
    let prefix = one.line.split(' ').next().unwrap();
    revocations.replace([format!("key:{prefix}").parse().unwrap()]);
    for (key, is_accepted) in [(one.key.clone(), false), (other.key.clone(), true)] {
        let cx = Context::default().with_metadata([("x-api-key", key)].into_iter().collect());
        let answer = engine.exchange(WHO, &cx).await.body().unwrap().to_vec();
        assert_eq!(String::from_utf8(answer).unwrap().contains("alice"), is_accepted);
    }
}
