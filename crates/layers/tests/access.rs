//! What callers may call: rules as data, and the layer around a router.
#![cfg(feature = "access")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use switchboard_core::{
    CallError, Code, Context, ErrorObject, Json, MethodDescription, ParamDescription, Peer, Router, Settings,
};
use switchboard_layers::access::{Access, CallerFacts, Condition, Decision, Effect, Rule, RuleOutcome};
use switchboard_layers::identity::{Authentication, Credential, Identity, Proof, Tokens, Verdict};
use switchboard_transport::http::{Endpoint, HttpServer};
use switchboard_transport::memory;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

fn rule(effect: Effect, methods: &str, who: &str) -> Rule {
    let methods = methods.split(' ').map(|pattern| pattern.parse().unwrap());
    let who = who.split(' ').map(|who| who.parse().unwrap());
    match effect {
        Effect::Allow => Rule::allow(methods, who),
        Effect::Deny => Rule::deny(methods, who),
    }
}

fn allow(methods: &str, who: &str) -> Rule {
    rule(Effect::Allow, methods, who)
}

fn deny(methods: &str, who: &str) -> Rule {
    rule(Effect::Deny, methods, who)
}

fn bank() -> Access {
    let up_to_100 = Condition::range(Some("1"), Some("100")).unwrap();
    let hidden = Condition::matches(r"(^|/)\.").unwrap();
    Access::new([
        allow("math/* echo", "anyone"),
        allow("transfer", "role:teller").when("/amount".parse().unwrap(), up_to_100).named("tellers"),
        allow("admin/** executeTask", "role:admin local"),
        allow("files/**", "authenticated"),
        deny("files/write", "anyone").when("/path".parse().unwrap(), hidden).named("hidden files"),
        deny("admin/shutdown", "remote"),
        allow("support/*", "agent:bot scope:support"),
    ])
    .with_roles("bob", ["teller"])
}

/// Whether a caller, written as `name[+role…][@local]`, may call a method with these params.
fn may(caller: &str, method: &str, params: &str) -> bool {
    let (caller, is_local) = match caller.strip_suffix("@local") {
        Some(caller) => (caller, true),
        None => (caller, false),
    };
    let mut parts = caller.split('+');
    let name = parts.next().unwrap();
    let identity = Identity::new(name, Proof::Token).with_roles(parts);
    let access = bank();
    let granted: Vec<String> = if name == "bob" { vec!["teller".into()] } else { Vec::new() };
    let facts = CallerFacts::new((name != "anonymous").then_some(&identity), &granted, is_local);
    let params = (!params.is_empty()).then(|| Json::parse(params.to_owned()).unwrap());
    access.decide_for(&facts, method, params.as_ref()).is_allowed()
}

#[test]
fn deny_wins_and_what_no_rule_allows_is_denied() {
    let claims = [
        ("anonymous", "math/add", "", true),
        ("anonymous", "echo", "", true),
        ("anonymous", "echo2", "", false),
        ("anonymous", "no/such", "", false),
        ("bob", "transfer", r#"{"amount": 100}"#, true),
        ("bob", "transfer", r#"{"amount": 100.0}"#, true),
        ("bob", "transfer", r#"{"amount": 100.00000000000000000001}"#, false),
        ("bob", "transfer", r#"{"amount": "100"}"#, false),
        ("bob", "transfer", "{}", false),
        ("bob", "transfer", "", false),
        ("bob", "transfer", "[50]", false),
        ("carol", "transfer", r#"{"amount": 1}"#, false),
        ("carol+teller", "transfer", r#"{"amount": 1}"#, true),
        ("anonymous", "admin/restart", "", false),
        ("anonymous@local", "admin/restart", "", true),
        ("eve+admin", "admin/users/list", "", true),
        ("eve+admin", "admin/shutdown", "", false),
        ("eve+admin@local", "admin/shutdown", "", true),
        ("eve", "files/write", r#"{"path": "a.txt"}"#, true),
        ("eve", "files/write", r#"{"path": "a/.ssh"}"#, false),
        ("eve", "files/write", r#"["a.txt"]"#, false),
        ("eve", "files/write", "", false),
        ("eve", "files/read", "", true),
    ];
    for (caller, method, params, expected) in claims {
        assert_eq!(may(caller, method, params), expected, "{caller} {method} {params}");
    }
}

#[test]
fn positional_params_count_under_their_names() {
    let mut method = MethodDescription::documented("Transfers money.")
        .param(ParamDescription::required("to", json!({"type": "string"})))
        .param(ParamDescription::required("amount", json!({"type": "number"})));
    let mut description = Router::builder().build().unwrap().describe();
    method.name = "transfer".to_owned();
    description.methods.push(method);
    let access = bank().with_names(&description);
    let bob = Identity::new("bob", Proof::Token).with_roles(["teller"]);
    let facts = CallerFacts::new(Some(&bob), &[], false);
    let decide = |params: &str| {
        access.decide_for(&facts, "transfer", Some(&Json::parse(params.to_owned()).unwrap())).is_allowed()
    };
    assert!(decide(r#"["ann", 100]"#) && !decide(r#"["ann", 101]"#) && !decide(r#"[100, "ann"]"#));
}

#[test]
fn an_explanation_says_of_each_rule_why_it_does_not_match() {
    let access = bank();
    let bob = Identity::new("bob", Proof::Token).with_roles(["teller"]);
    let facts = CallerFacts::new(Some(&bob), &[], false);
    let params = Json::parse(r#"{"amount": 500}"#).unwrap();
    assert_eq!(access.decide_for(&facts, "transfer", Some(&params)), Decision::NotAllowed);
    let reports = access.explain(&facts, "transfer", Some(&params));
    let outcomes: Vec<_> = reports.iter().map(|report| report.outcome.to_string()).collect();
    assert_eq!(outcomes[0], "method does not match");
    assert_eq!(outcomes[1], "/amount is 500; this rule allows 1 to 100");
    let reports = access.explain(&CallerFacts::new(None, &[], false), "transfer", None);
    assert_eq!(reports[1].outcome, RuleOutcome::OtherCaller);
}

fn guarded(access: Access, authentication: Authentication) -> Peer {
    let router = Router::builder()
        .method("echo", |(value,): (Value,), _| Ok::<_, ErrorObject>(value))
        .method("admin/restart", |(): (), _: Context| Ok::<_, ErrorObject>(true))
        .build()
        .unwrap();
    memory::connect(router.layered(access).layered(authentication), Router::builder().build().unwrap())
}

fn error(result: Result<Value, CallError>) -> ErrorObject {
    match result {
        Err(CallError::Rejected(error)) => error,
        other => panic!("{other:?}"),
    }
}

// SEC-E-04
#[tokio::test]
async fn strangers_cannot_tell_a_forbidden_method_from_one_that_does_not_exist() {
    let tokens = Authentication::new(Tokens::parse("alice:2f9c1b7e55a04d13").unwrap());
    let rules = Access::new([allow("echo", "anyone"), allow("admin/**", "role:admin")]);
    let peer = guarded(rules, tokens.optional());
    assert_eq!(peer.call::<Value>("echo", [1]).await.unwrap(), json!(1));
    let forbidden = error(peer.call("admin/restart", ()).await);
    assert_eq!(forbidden, error(peer.call("admin/nothing", ()).await));
    assert_eq!((forbidden.code, &forbidden.data), (Code::UNAUTHORIZED, &None));
    // Callers with an identity learn that it is forbidden, and a number that the log has too.
    peer.call::<Value>("rpc.login", ["2f9c1b7e55a04d13"]).await.unwrap();
    let forbidden = error(peer.call("admin/restart", ()).await);
    let data: Value = forbidden.data.as_ref().unwrap().decode().unwrap();
    assert_eq!((forbidden.code, &data["method"]), (Code::UNAUTHORIZED, &json!("admin/restart")));
    assert_eq!(data["incident"].as_str().unwrap().len(), 16);
}

#[tokio::test]
async fn each_entry_of_a_batch_is_judged_by_itself() {
    let tokens = Authentication::new(Tokens::parse("alice:2f9c1b7e55a04d13").unwrap());
    let peer = guarded(Access::new([allow("echo", "anyone")]), tokens.optional());
    let mut batch = peer.batch();
    let echo = batch.add(peer.call::<Value>("echo", [1]));
    let restart = batch.add(peer.call::<Value>("admin/restart", ()));
    let outcomes = batch.send().await.unwrap();
    assert_eq!(echo.read(&outcomes).unwrap(), json!(1));
    assert_eq!(error(restart.read(&outcomes)).code, Code::UNAUTHORIZED);
}

// SEC-E-04
#[test]
fn a_caller_sees_what_it_may_call_with_some_params() {
    let access = bank();
    let mut cx = Context::default();
    let visible = |cx: &Context, method: &str| access.is_visible(cx, method);
    assert!(visible(&cx, "math/add") && !visible(&cx, "transfer") && visible(&cx, "admin/restart"));
    Identity::new("bob", Proof::Token).attach(&mut cx);
    assert!(visible(&cx, "transfer") && visible(&cx, "files/write"));
}

// SEC-T-04
#[tokio::test]
async fn scopes_are_checked_for_single_calls_batches_and_notifications() {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let method = |name: &'static str| {
        let calls = Arc::clone(&calls);
        (name, move |(): (), _: Context| {
            calls.lock().unwrap().push(name);
            Ok::<_, ErrorObject>(name)
        })
    };
    let ((read, reading), (write, writing)) = (method("files/read"), method("files/write"));
    let router = Router::builder().method(read, reading).method(write, writing).build().unwrap();
    let reader = Authentication::new(|_: &Credential<'_>| {
        Verdict::Known(Arc::new(Identity::new("bob", Proof::Token).with_scopes(["files:read"])))
    });
    let rules = Access::new([allow("files/read", "scope:files:read"), allow("files/*", "scope:files:write")]);
    let server = HttpServer::bind("127.0.0.1:0").await.unwrap();
    let address = server.local_addr();
    let settings = Settings::default().with_admission(Some(reader.clone().into()));
    let service = router.layered(rules).layered(reader);
    tokio::spawn(server.serve_endpoint(Endpoint::new(service).with_settings(settings)));
    let ask = async |body: &str| {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let head = format!(
            "POST / HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\nauthorization: Bearer bob\r\n\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        stream.write_all((head + body).as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    };
    let call = |method: &str| format!(r#"{{"jsonrpc":"2.0","method":"{method}","id":1}}"#);
    assert!(ask(&call("files/read")).await.starts_with("HTTP/1.1 200 "));
    let refused = ask(&call("files/write")).await;
    assert!(refused.starts_with("HTTP/1.1 403 ") && refused.contains("-32002"), "{refused}");
    let notification = |method: &str| call(method).replace(r#","id":1"#, "");
    ask(&notification("files/write")).await;
    let batch = [call("files/read"), call("files/write"), notification("files/write")].join(",");
    let answer = ask(&format!("[{batch}]")).await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.contains(r#""result":"files/read""#) && answer.contains("-32002"), "{answer}");
    assert_eq!(*calls.lock().unwrap(), ["files/read", "files/read"]);
}
