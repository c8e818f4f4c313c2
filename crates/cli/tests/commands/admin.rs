//! `serve --admin`: metrics, health, and the methods of the admin listener.

use std::io::{BufRead as _, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::carriers::Folder;
use crate::program::{Serving, parts, program, run};
use crate::tokens::CredentialFile;

const ALICE: &str = "2f9c1b7e55a04d13";
const BOB: &str = "77aa1b7e55a04d13";

/// Where the admin listener is.
pub(crate) fn admin(serving: &Serving) -> String {
    let line = serving.banner.lines().find_map(|line| line.strip_prefix("Admin on ")).unwrap();
    line.to_owned()
}

/// The status and the body of a GET.
pub(crate) fn get(url: &str, path: &str, header: &str) -> (u16, String) {
    let place = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(place).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {place}\r\nconnection: close\r\n{header}\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    (head.split(' ').nth(1).unwrap().parse().unwrap(), body.to_owned())
}

fn json(url: &str, arguments: &[&str]) -> Value {
    let (code, stdout, stderr) = parts(run(&[&["call", url], arguments].concat()));
    assert_eq!(code, Some(0), "{arguments:?}: {stderr}");
    serde_json::from_str(&stdout).unwrap()
}

/// The first line of what a stream prints.
pub(crate) fn first_item(url: &str, arguments: &[&str]) -> Value {
    let mut child = program(&[&["call", url], arguments].concat()).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let line = lines.next().unwrap().unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    serde_json::from_str(&line).unwrap()
}

// OBS-X-06, OBS-X-07
#[test]
fn metrics_and_health_are_served_apart_from_calls() {
    let serving = Serving::start(&["--admin", "0"]);
    let (url, admin) = (serving.url(), admin(&serving));
    run(&["call", &url, "math/add", "2", "3"]);
    run(&["call", &url, "nothing"]);
    let (status, text) = get(&admin, "/metrics", "");
    assert_eq!(status, 200);
    for line in [
        r#"rpc_server_call_duration_seconds_count{rpc_system_name="jsonrpc",rpc_method="math/add"} 1"#,
        r#"rpc_method="_OTHER",rpc_status_code="-32601",error_type="-32601"} 1"#,
        r#"switchboard_sessions_total{transport="http"}"#,
        "switchboard_build_info{version=",
        "process_start_time_seconds ",
    ] {
        assert!(text.contains(line), "no {line} in {text}");
    }
    assert_eq!(get(&admin, "/healthz", ""), (200, "ok\n".to_owned()));
    assert_eq!(get(&admin, "/readyz", ""), (200, "ready\n".to_owned()));
    // Neither answers what the other is for.
    for path in ["/metrics", "/healthz", "/readyz"] {
        assert_ne!(get(&url, path, "").0, 200, "{path}");
    }
    assert_ne!(run(&["call", &admin, "math/add", "2", "3"]).status.code(), Some(0));
    assert_ne!(run(&["call", &url, "admin/info"]).status.code(), Some(0));
}

#[test]
fn promtool_accepts_the_metrics() {
    let serving = Serving::start(&["--admin", "0"]);
    run(&["call", &serving.url(), "math/add", "2", "3"]);
    run(&["call", &serving.url(), "nothing"]);
    let (_, text) = get(&admin(&serving), "/metrics", "");
    check_metrics(&text);
}

/// Asserts that Prometheus could scrape this.
pub(crate) fn check_metrics(text: &str) {
    let mut promtool = Command::new("promtool");
    promtool.args(["check", "metrics"]).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = promtool.spawn().expect("promtool is installed: apt install prometheus");
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let (code, stdout, stderr) = parts(child.wait_with_output().unwrap());
    assert_eq!((code, stdout.as_str(), stderr.as_str()), (Some(0), "", ""));
}

#[test]
fn it_is_not_ready_while_calls_in_progress_finish() {
    let serving = Serving::start(&["--admin", "0", "--drain-time", "30s"]);
    let (url, admin) = (serving.url(), admin(&serving));
    let mut slow = program(&["call", &url, "wait", "20"]).spawn().unwrap();
    // It is among those in flight once it runs.
    while !get(&admin, "/metrics", "").1.contains("switchboard_calls_in_flight 1\n") {
        std::thread::yield_now();
    }
    serving.signal("TERM");
    while get(&admin, "/readyz", "").0 == 200 {
        std::thread::yield_now();
    }
    assert_eq!(get(&admin, "/readyz", ""), (503, "draining\n".to_owned()));
    assert_eq!(get(&admin, "/healthz", "").0, 200);
    assert_eq!(json(&admin, &["admin/info"])["draining"], true);
    slow.kill().unwrap();
    slow.wait().unwrap();
    assert!(serving.wait().0.success());
}

#[test]
fn it_tells_what_the_server_does() {
    let serving = Serving::start(&["--admin", "0", "--log-level", "warn"]);
    let (url, admin) = (serving.url(), admin(&serving));
    let info = json(&admin, &["admin/info"]);
    assert_eq!(info["listeners"][0], Value::from(url.clone()));
    assert_eq!(info["logLevel"], "warn");
    // Calls that succeed are remembered only while they are watched, and a failed one shows that they are.
    run(&["call", &url, "trigger_error"]);
    let mut watching =
        program(&["call", &admin, "admin/calls", "outcome=failed"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("trigger_error"));
    let batch = r#"[{"jsonrpc":"2.0","id":1,"method":"math/add","params":[2,3]},{"jsonrpc":"2.0","id":2,"method":"nothing"}]"#;
    let (status, _) = post(&url, batch);
    assert_eq!(status, 200);
    let failed: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    assert_eq!(
        (&failed["method"], &failed["code"], &failed["entry"]),
        (&"nothing".into(), &(-32601).into(), &1.into())
    );
    let timeline = json(&admin, &["admin/call", &failed["id"].to_string()]);
    let names: Vec<_> =
        timeline["steps"].as_array().unwrap().iter().map(|step| step["name"].as_str().unwrap()).collect();
    for name in ["begun", "ended", "entry begun", "entry ended"] {
        assert!(names.contains(&name), "{names:?}");
    }
    watching.kill().unwrap();
    watching.wait().unwrap();
    let mut watching =
        program(&["call", &url.replace("http:", "ws:"), "ticks"]).stdout(Stdio::piped()).spawn().unwrap();
    watching.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let sessions = first_item(&admin, &["admin/sessions", "transport=ws"]);
    assert_eq!((&sessions[0]["streams"], &sessions[0]["transport"]), (&1.into(), &"ws".into()));
    let stats = first_item(&admin, &["admin/stats", "every=100ms", "by=transport"]);
    assert_eq!(stats["streams"], 1);
    watching.kill().unwrap();
    watching.wait().unwrap();
}

fn post(url: &str, body: &str) -> (u16, String) {
    let place = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(place).unwrap();
    let length = body.len();
    write!(
        stream,
        "POST / HTTP/1.1\r\nhost: {place}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
    .unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    (text.split(' ').nth(1).unwrap().parse().unwrap(), text)
}

#[test]
fn to_change_something_takes_the_socket_or_a_caller_that_is_named() {
    let folder = Folder::new("admin");
    let socket = format!("unix:{}", folder.file("admin.sock"));
    let serving = Serving::start(&["--admin", &socket, "--log-level", "warn"]);
    let wrong = run(&["call", &socket, "admin/log_level", "level=debug", "methods=[\"\"]"]);
    assert_eq!(wrong.status.code(), Some(1));
    assert_eq!(json(&socket, &["admin/log_level", "level=off", "methods=[\"math/*\"]", "for=1h"]), true);
    assert_eq!(json(&socket, &["admin/info"])["logLevel"], "warn");
    assert_eq!(json(&socket, &["admin/log_level", "level=debug", "for=1h"]), true);
    assert_eq!(json(&socket, &["admin/info"])["logLevel"], "debug");
    // A call that would take longer does not hold it up.
    let mut slow = program(&["call", &serving.url(), "wait", "60"]).stderr(Stdio::null()).spawn().unwrap();
    while first_item(&socket, &["admin/stats", "every=100ms"])["inFlight"] != 1 {}
    assert_eq!(json(&socket, &["admin/drain", "within=100ms"]), true);
    assert!(serving.wait().0.success());
    assert!(!slow.wait().unwrap().success());

    let tokens = CredentialFile::new("admin-tokens", &format!("alice:{ALICE}\nbob:{BOB}\n"), 0o600);
    let more =
        ["--admin", "0", "--log-level", "warn", "--tokens", tokens.path(), "--set", "admin.who=user:alice"];
    let serving = Serving::start(&more);
    let admin = admin(&serving);
    let change = ["admin/log_level", "level=error"];
    for more in [&[][..], &["--token", BOB]] {
        let (code, _, stderr) = parts(run(&[&["call", &admin], &change[..], more].concat()));
        assert_ne!(code, Some(0), "{stderr}");
    }
    assert_eq!(json(&admin, &[&change[..], &["--token", ALICE]].concat()), true);
}

#[test]
fn a_server_that_drains_refuses_new_clients_while_calls_finish() {
    let folder = Folder::new("drain");
    let socket = format!("unix:{}", folder.file("admin.sock"));
    let serving = Serving::start(&["--admin", &socket]);
    let mut slow = program(&["call", &serving.url(), "wait", "60"]).stderr(Stdio::null()).spawn().unwrap();
    while first_item(&socket, &["admin/stats", "every=100ms"])["inFlight"] != 1 {}
    assert_eq!(json(&socket, &["admin/drain", "within=60s"]), true);
    let place = serving.url().replace("http://", "");
    let begun = Instant::now();
    while TcpStream::connect(&place).is_ok() {
        assert!(begun.elapsed() < Duration::from_secs(20), "connections are still accepted");
    }
    assert_eq!(json(&socket, &["admin/info"])["draining"], true);
    slow.kill().unwrap();
    slow.wait().unwrap();
    assert!(serving.wait().0.success());
}

#[test]
fn a_session_can_be_closed() {
    let folder = Folder::new("close");
    let socket = format!("unix:{}", folder.file("admin.sock"));
    let serving = Serving::start(&["--admin", &socket]);
    let url = serving.url().replace("http:", "ws:");
    let mut watching =
        program(&["call", &url, "ticks"]).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    watching.stdout.as_mut().unwrap().read_exact(&mut [0]).unwrap();
    let sessions = first_item(&socket, &["admin/sessions"]);
    let id = sessions[0]["id"].as_str().unwrap();
    assert_eq!(json(&socket, &["admin/close", id, "for a test"]), true);
    assert_ne!(watching.wait_with_output().unwrap().status.code(), Some(0));
    let (code, stdout, _) = parts(run(&["call", &socket, "admin/close", id]));
    assert_eq!((code, stdout.as_str()), (Some(0), "false\n"));
}

// OBS-X-07
#[test]
fn other_machines_need_a_token_except_for_health_and_the_page() {
    let (code, _, stderr) = parts(run(&["serve", "0", "--admin", "http://0.0.0.0:0"]));
    assert_eq!(code, Some(2));
    assert!(stderr.contains("admin listener") && stderr.contains("--tokens"), "{stderr}");

    let tokens = CredentialFile::new("admin-public", &format!("alice:{ALICE}\n"), 0o600);
    let serving = Serving::start(&["--admin", "http://0.0.0.0:0", "--tokens", tokens.path()]);
    let admin = admin(&serving).replace("0.0.0.0", "127.0.0.1");
    assert_eq!(get(&admin, "/healthz", "").0, 200);
    assert_eq!(get(&admin, "/readyz", "").0, 200);
    assert_eq!(get(&admin, "/metrics", "").0, 401);
    assert_eq!(get(&admin, "/metrics", &format!("authorization: Bearer {ALICE}\r\n")).0, 200);
    assert_ne!(run(&["call", &admin, "admin/info"]).status.code(), Some(0));
    // The page shows nothing before it has a token.
    let (status, page) = get(&admin, "/", "accept: text/html\r\naccept-encoding: identity\r\n");
    assert!(status == 200 && page.starts_with("<!doctype html>"), "{status} {page}");
    assert_ne!(get(&admin, "/?method=admin/info", "").0, 200);
}
