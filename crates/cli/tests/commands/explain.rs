//! `switchboard explain`: what would happen to a call is what happens to it.

use std::fs;

use serde_json::{Value, json};

use crate::admin::admin;
use crate::carriers::Folder;
use crate::program::{Serving, parts, post, program, run};
use crate::tokens::CredentialFile;

const ALICE: &str = "2f9c1b7e55a04d13";
const BOB: &str = "77aa1b7e55a04d13";

/// A gateway with a rule of every kind. The demo is inside it, so that the file alone decides.
fn file(folder: &Folder, tokens: &CredentialFile) -> String {
    let text = format!(
        r#"
roles.tester = "bob"
auth.tokens = "{}"
access.rules = [
  {{ allow = ["web/**", "next/**", "sum", "lost"], who = "anyone" }},
  {{ deny = "web/echo", who = "user:alice" }},
  {{ allow = "pay", who = "role:tester", when = {{ "/amount" = {{ max = 100 }} }} }},
]
rate = {{ limit = "100/h", burst = 100, methods = "sum" }}
upstream.web = {{ url = ["demo:", {{ url = "http://127.0.0.1:1", priority = 2 }}], shared = true, safe = "math/*" }}
upstream.next = {{ url = "demo:" }}
route = [
  {{ methods = "web/math/*", cache = "1m" }},
  {{ methods = "web/math/add", upstream = "next", rename = "math/multiply", who = "role:tester" }},
  {{ methods = "sum", upstream = "web", rename = "math/add", set = {{ "/a" = 7 }} }},
  {{ methods = "web/admin/*", upstream = false }},
  {{ methods = "web/count", fault = {{ error = -32000 }} }},
]
"#,
        tokens.path()
    );
    let path = folder.file("gateway.toml");
    fs::write(&path, text).unwrap();
    path
}

/// The explanation, and whether its exit code says that the call is refused.
fn explained(arguments: &[&str]) -> (Value, bool) {
    let (code, stdout, stderr) = parts(run(&[&["explain"], arguments].concat()));
    let report = serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{arguments:?}: {stdout}{stderr}"));
    assert!(matches!(code, Some(0 | 1)), "{arguments:?}: {stderr}");
    (report, code == Some(1))
}

/// The answer to a plain request of Alice.
fn ask(url: &str, body: &str) -> Value {
    post(url, &format!("authorization: Bearer {ALICE}"), body)
}

/// A gateway with this file, and where its admin listener is.
fn start(file: &str) -> (Serving, String) {
    let listen = ["--listen", "http://127.0.0.1:0", "--admin", "0"];
    let serving = Serving::spawn(program(&[&["gateway", "--config", file], &listen[..]].concat()));
    let admin = admin(&serving);
    (serving, admin)
}

fn step<'a>(report: &'a Value, name: &str) -> &'a Value {
    let mut steps = report["steps"].as_array().unwrap().iter();
    steps.find(|step| step["step"] == name).unwrap_or_else(|| panic!("no {name} in {report}"))
}

#[test]
fn the_explanations_of_a_file_and_of_a_gateway_agree_with_what_happens() {
    let folder = Folder::new("explain");
    let tokens = CredentialFile::new("explain-tokens", &format!("alice:{ALICE}\nbob:{BOB}\n"), 0o600);
    let file = file(&folder, &tokens);
    let (serving, admin) = start(&file);
    let calls: &[(&str, &[&str], Value)] = &[
        ("anonymous", &["web/math/add", "a=2", "b=3"], json!(5)),
        ("bob", &["web/math/add", "a=2", "b=3"], json!(6)),
        ("alice", &["sum", "a=2", "b=3"], json!(10)),
        ("alice", &["web/echo", "x"], json!(-32002)),
        ("bob", &["web/echo", "x"], json!("x")),
        ("bob", &["pay", "amount=101"], json!(-32002)),
        // No upstream has it, though a rule allows it.
        ("bob", &["pay", "amount=100"], json!(-32601)),
        ("bob", &["lost"], json!(-32601)),
        ("anonymous", &["web/admin/restartServer"], json!(-32601)),
        ("anonymous", &["web/count", "3"], json!(-32000)),
    ];
    for (who, words, expected) in calls {
        let token = match *who {
            "alice" => vec!["--token", ALICE],
            "bob" => vec!["--token", BOB],
            _ => Vec::new(),
        };
        let (_, stdout, stderr) = parts(run(&[&["call", &serving.url()], *words, &token].concat()));
        let answer: Value = serde_json::from_str(&format!("{stdout}{stderr}")).unwrap();
        let answer = answer.get("code").unwrap_or(&answer);
        assert_eq!(answer, expected, "{who} {words:?}");
        let offline = explained(&[&["--config", &file, "--as", who], *words].concat());
        let live = explained(&[&["--admin", &admin, "--as", who], *words].concat());
        for (report, is_refused) in [offline, live] {
            let code = expected.as_i64().filter(|code| *code < 0);
            assert_eq!(is_refused, code.is_some(), "{who} {words:?}: {report}");
            assert_eq!(report["error"]["code"].as_i64(), code, "{who} {words:?}: {report}");
        }
    }
}

#[test]
fn a_running_gateway_tells_its_state() {
    let folder = Folder::new("explain-live");
    let tokens = CredentialFile::new("explain-live-tokens", &format!("alice:{ALICE}\nbob:{BOB}\n"), 0o600);
    let file = file(&folder, &tokens);
    let (serving, admin) = start(&file);
    let explain = |words: &[&str]| explained(&[&["--admin", &admin, "--as", "alice"], words].concat()).0;
    let call = |words: &[&str]| run(&[&["call", &serving.url(), "--token", ALICE], words].concat());
    // What a route sets may be a secret.
    assert_eq!(explain(&["sum", "b=1"])["sent"]["params"], json!({"a": "***", "b": 1}));
    let before = explain(&["web/math/multiply", "2", "3"]);
    assert_eq!((&step(&before, "cache")["outcome"], &before["outcome"]), (&json!("miss"), &json!("sent")));
    assert_eq!((&before["upstream"], &before["sent"]["method"]), (&json!("web"), &json!("math/multiply")));
    assert_eq!((&before["node"], &before["sent"]["params"]), (&json!("demo:"), &json!([2, 3])));
    assert!(step(&before, "safe")["detail"].as_str().unwrap().contains("upstream.web.safe"), "{before}");
    call(&["web/math/multiply", "2", "3"]);
    let after = explain(&["web/math/multiply", "[ 2,3 ]"]);
    // `call` accepts a stream, and an explanation is that of a plain call.
    let has_other =
        step(&after, "cache")["detail"].as_str().unwrap().contains("callers that accept a stream have one");
    assert!(has_other, "{after}");
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"web/math/multiply","params":[2,3]}"#;
    assert_eq!(ask(&serving.url(), body)["result"], 6);
    let after = explain(&["web/math/multiply", "[ 2,3 ]"]);
    assert_eq!((&step(&after, "cache")["outcome"], &after["outcome"]), (&json!("hit"), &json!("answered")));
    let left = || {
        let report = explain(&["sum", "a=1", "b=1"]);
        let detail = step(&report, "rate")["detail"].as_str().unwrap();
        detail.split(", ").find_map(|part| part.strip_suffix(" of 100 left")).unwrap().parse::<u32>().unwrap()
    };
    assert_eq!(left(), 100);
    call(&["sum", "a=1", "b=1"]);
    assert_eq!(left(), 99, "a call counts, and an explanation does not");
}

#[test]
fn people_get_a_table_and_errors_that_help() {
    let folder = Folder::new("explain-page");
    let tokens = CredentialFile::new("explain-page-tokens", &format!("bob:{BOB}\n"), 0o600);
    let file = file(&folder, &tokens);
    let check = |arguments: &[&str], code: i32, text: &str| {
        let (got, stdout, stderr) = parts(run(&[&["explain", "--config", &file], arguments].concat()));
        assert_eq!(got, Some(code), "{arguments:?}: {stdout}{stderr}");
        assert!(format!("{stdout}{stderr}").contains(text), "{arguments:?}: {stdout}{stderr}");
    };
    check(&["--as", "team:x", "sum"], 2, "write a user, role:NAME");
    check(&["--as", "carol", "web/echo", "1"], 0, "no token or key is listed for this caller");
    check(&["-H", "nonsense", "sum"], 2, "Name: value");
    let (code, _, stderr) = parts(run(&["explain", "--config", "/nowhere.toml", "sum"]));
    assert!(code == Some(10) && stderr.contains("/nowhere.toml"), "{stderr}");
}

#[test]
fn rules_of_a_server_are_explained() {
    let folder = Folder::new("explain-serve");
    let path = folder.file("switchboard.toml");
    fs::write(&path, "access.rules = [{ allow = \"math/**\", who = \"local\" }]").unwrap();
    let explain = |words: &[&str]| explained(&[&["--config", &path], words].concat());
    let (report, is_refused) = explain(&["math/add", "2", "3"]);
    assert!(is_refused && report["error"]["code"] == -32002, "{report}");
    let (report, is_refused) = explain(&["--as", "anonymous@local", "math/add", "2", "3"]);
    assert!(!is_refused && report["outcome"] == "answered", "{report}");
    let (report, _) = explain(&["--as", "anonymous@local", "math/nothing"]);
    assert_eq!(report["error"]["code"], -32601);
}
