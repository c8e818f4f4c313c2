//! `switchboard tap`: what a client and a server say is forwarded unchanged, and shown.

use std::fs::File;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use serde_json::{Value, json};
use switchboard::{Context, Dial, ErrorObject, Router};

use crate::describing::Describing;
use crate::program::{Serving, parts, program, run, run_with};
use crate::terminal::at_terminal;
use crate::tokens::CredentialFile;

/// Starts a tap on a free port before this server.
pub(crate) fn tap(to: &str, more: &[&str]) -> Serving {
    Serving::spawn(program(&[&["tap", "0", to], more].concat()))
}

/// Ends a tap; gives the calls that it showed.
pub(crate) fn shown(tap: Serving) -> Vec<Value> {
    tap.signal("INT");
    let (status, stdout) = tap.wait();
    assert!(status.success(), "{status}: {stdout}");
    stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// The same without what differs each time.
fn steady(tap: Serving) -> Vec<Value> {
    let mut shown = shown(tap);
    for call in &mut shown {
        let call = call.as_object_mut().unwrap();
        call.retain(|name, _| !matches!(name.as_str(), "at" | "ms"));
    }
    shown.sort_by_key(|call| call["id"].as_u64());
    shown
}

/// A file for one test, which is not there yet.
pub(crate) fn file(name: &str) -> PathBuf {
    let file = std::env::temp_dir().join(format!("switchboard-{name}-{}", std::process::id()));
    let _ = std::fs::remove_file(&file);
    file
}

#[test]
fn calls_over_http_reach_a_server_over_websocket() {
    let serving = Serving::start(&[]);
    let tap = tap(&serving.url().replace("http:", "ws:"), &[]);
    let call = |arguments: &[&str]| parts(run(&[&["call", &tap.url()], arguments].concat()));
    assert_eq!(call(&["math/add", "a=2", "b=3"]), (Some(0), "5\n".to_owned(), String::new()));
    assert_eq!(call(&["count", "2"]), (Some(0), "1\n2\n".to_owned(), String::new()));
    let (code, _, stderr) = call(&["math/sqrt", "-1"]);
    assert!(code == Some(1) && stderr.contains("must not be negative"), "{stderr}");
    assert_eq!(call(&["log", "hi", "--notify"]).0, Some(0));
    let error = json!({"code": -32001, "message": "Invalid user data", "data": {"details": "x must not be negative"}});
    let expected = [
        json!({"id": 1, "session": 1, "to": "server", "method": "math/add", "params": {"a": 2, "b": 3}, "result": 5}),
        json!({"id": 2, "session": 2, "to": "server", "method": "count", "params": [2], "items": [1, 2]}),
        json!({"id": 3, "session": 3, "to": "server", "method": "math/sqrt", "params": [-1], "error": error}),
        json!({"id": 4, "session": 4, "to": "server", "method": "log", "params": ["hi"], "notification": true}),
    ];
    assert_eq!(steady(tap), expected);
}

#[test]
fn a_client_that_starts_the_tap_gets_answers_on_stdout_and_calls_are_shown_on_stderr() {
    let serving = Serving::start(&[]);
    let call = r#"{"jsonrpc":"2.0","id":"x","method":"math/add","params":[2,3]}"#;
    let (code, stdout, stderr) = parts(run_with(&format!("{call}\n"), &["tap", "stdio", &serving.url()]));
    assert_eq!(
        (code, stdout.as_str()),
        (Some(0), "{\"jsonrpc\":\"2.0\",\"result\":5,\"id\":\"x\"}\n"),
        "{stderr}"
    );
    assert!(stderr.contains(r#""method":"math/add","params":[2,3],"result":5"#), "{stderr}");
    assert!(stderr.contains("1 call, 0 failed; median "), "{stderr}");
}

#[test]
fn a_program_can_be_the_server() {
    let exec = format!("exec:{} serve --stdio", program(&[]).get_program().display());
    let tap = tap(&exec, &[]);
    let (_, stdout, stderr) = parts(run(&["call", &tap.url().replace("http:", "ws:"), "math/add", "2", "3"]));
    assert_eq!(stdout, "5\n", "{stderr}");
    assert_eq!(steady(tap)[0]["result"], 5);
}

#[test]
fn streams_pass_as_they_come_and_a_reader_that_leaves_cancels_them() {
    let serving = Serving::start(&[]);
    let tap = tap(&serving.url(), &[]);
    let url = tap.url().replace("http:", "ws:");
    let (_, stdout, stderr) = parts(run(&["watch", &url, "ticks", "seconds=0.01", "--count", "2"]));
    assert_eq!(stdout, "1\n2\n", "{stderr}");
    let shown = steady(tap);
    let ticks = shown.iter().find(|call| call["method"] == "ticks").unwrap();
    assert_eq!(ticks["cancelled"], true, "{ticks}");
    assert_eq!(ticks["items"][1], 2, "{ticks}");
}

/// A server whose method asks its caller for a name.
pub(crate) fn asking_back() -> Describing {
    Describing::serve(Router::builder().async_method("greet", |(): (), cx: Context| async move {
        cx.peer().notify("asked", ()).await?;
        let name = cx.peer().call::<String>("name", json!({"of": "you"})).await?;
        Ok::<_, switchboard::CallError>(format!("hello {name}"))
    }))
}

/// Runs what a client does. The servers of these tests have a runtime of their own, which must not end inside of another.
pub(crate) fn block_on<T>(client: impl Future<Output = T>) -> T {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    runtime.enable_all().build().unwrap().block_on(client)
}

/// Calls `greet` at this URL, as a client with this name.
pub(crate) fn greet(url: &str, name: &'static str) -> String {
    let client =
        Router::builder().method("name", move |_: Value, _| Ok::<_, ErrorObject>(name)).build().unwrap();
    block_on(async {
        let dial = Dial::new(&url.replace("http:", "ws:")).unwrap().with_service(client);
        dial.connect().await.unwrap().call("greet", ()).await.unwrap()
    })
}

#[test]
fn calls_of_the_server_reach_their_client() {
    let server = asking_back();
    let tap = tap(&server.url.replace("http:", "ws:"), &[]);
    assert_eq!(greet(&tap.url(), "Ann"), "hello Ann");
    assert_eq!(greet(&tap.url(), "Bob"), "hello Bob");
    let shown = steady(tap);
    let find = |method: &str, session: u64| {
        let is_it = |call: &&Value| call["method"] == method && call["session"] == session;
        shown.iter().find(is_it).unwrap_or_else(|| panic!("no {method} in {shown:?}")).clone()
    };
    for (session, name) in [(1, "Ann"), (2, "Bob")] {
        let asked = find("name", session);
        assert_eq!(
            (&asked["to"], &asked["params"], &asked["result"]),
            (&json!("client"), &json!({"of": "you"}), &json!(name))
        );
        assert_eq!(find("asked", session)["notification"], true);
        assert_eq!(find("greet", session)["result"], format!("hello {name}"));
    }
}

#[test]
fn the_calls_of_a_batch_are_shown_one_by_one_with_their_position() {
    let serving = Serving::start(&[]);
    let tap = tap(&serving.url(), &[]);
    let calls = "math/add 2 3\n! log hi\nmath/sqrt -1\n";
    let (_, stdout, _) = parts(run_with(calls, &["batch", &tap.url(), "--lines"]));
    assert_eq!(stdout.lines().count(), 2, "{stdout}");
    let shown = steady(tap);
    let positions: Vec<(&Value, &Value)> =
        shown.iter().map(|call| (&call["method"], &call["entry"])).collect();
    let expected =
        [(&json!("math/add"), &json!(0)), (&json!("log"), &json!(1)), (&json!("math/sqrt"), &json!(2))];
    assert_eq!(positions, expected);
    assert!(shown.iter().all(|call| call["batch"] == shown[0]["batch"]), "{shown:?}");
}

#[test]
fn filters_choose_what_is_shown_and_all_is_counted() {
    let serving = Serving::start(&[]);
    let check = |filter: &[&str], expected: &[&str]| {
        let mut tap = tap(&serving.url(), filter);
        let calls = "math/add 2 3\nmath/sqrt -1\ntrigger_error x\necho x\n";
        run_with(calls, &["batch", &tap.url()]);
        let log = tap.log();
        let methods: Vec<Value> = steady(tap).into_iter().map(|call| call["method"].clone()).collect();
        assert_eq!(methods, expected, "{filter:?}");
        let log = log.join().unwrap();
        assert!(log.contains("4 calls, 2 failed"), "{log}");
    };
    check(&["--method", "math/*", "--method", "echo"], &["math/add", "math/sqrt", "echo"]);
    check(&["--failed"], &["math/sqrt", "trigger_error"]);
    check(&["--failed", "--method", "math/*"], &["math/sqrt"]);
    check(&["--slower-than", "1h"], &[]);
}

#[test]
fn invalid_messages_are_shown_with_what_is_wrong() {
    let serving = Serving::start(&[]);
    let (_, stdout, stderr) = parts(run_with("{nope\n", &["tap", "stdio", &serving.url()]));
    assert!(stdout.contains("-32700"), "{stdout}");
    assert!(stderr.contains(r#""refused":{"code":-32700"#), "{stderr}");
    assert!(stderr.contains("0 calls, 0 failed, 1 invalid message refused"), "{stderr}");
}

#[test]
fn nothing_that_is_said_controls_the_terminal() {
    let serving = Serving::start(&[]);
    let input = file("tap-terminal");
    let long = "x".repeat(500);
    let message = format!("\u{9b}2J\u{202e}{long}");
    std::fs::write(
        &input,
        json!({"jsonrpc": "2.0", "id": 1, "method": "echo", "params": [message]}).to_string() + "\n",
    )
    .unwrap();
    let check = |more: &[&str], is_cut: bool| {
        let mut command = program(&[&["tap", "stdio", &serving.url()], more].concat());
        command.stdin(File::open(&input).unwrap()).env("NO_COLOR", "1");
        let (code, text) = at_terminal(command);
        assert_eq!(code, Some(0), "{text}");
        let lines: Vec<&str> =
            text.lines().filter(|line| line.contains("--> echo") || line.contains("<-- echo")).collect();
        assert_eq!(lines.len(), 2, "{text}");
        for line in lines {
            assert!(line.contains(r"\u009b2J\u202exxx"), "{line:?}");
            assert_eq!((line.chars().count() <= 80, line.ends_with('…')), (is_cut, is_cut), "{line}");
        }
    };
    check(&[], true);
    check(&["--full"], false);
    let mut command = program(&["tap", "stdio", &serving.url(), "--json"]);
    command.stdin(File::open(&input).unwrap());
    let (_, text) = at_terminal(command);
    let line = text.lines().find(|line| line.contains("\"method\":\"echo\"")).unwrap();
    assert!(line.contains(r"\u009b2J\u202exxx") && !line.contains('\u{9b}'), "{line:?}");
    std::fs::remove_file(input).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn huge_messages_pass_and_are_not_kept() {
    let serving = Serving::start(&["--max-body", "16M"]);
    let tap = tap(&serving.url(), &[]);
    let peer = Dial::new(&tap.url()).unwrap().connect().await.unwrap();
    let huge = "x".repeat(5 << 20);
    assert!(peer.call::<String>("echo", [&huge]).await.unwrap() == huge);
    let shown = steady(tap);
    assert_eq!(shown[0]["omitted"], json!(["params", "answer"]));
    assert!(shown[0].to_string().len() < 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 1)]
async fn output_that_is_not_read_delays_no_call() {
    let serving = Serving::start(&[]);
    let tap = tap(&serving.url(), &[]);
    let peer = Dial::new(&tap.url()).unwrap().connect().await.unwrap();
    // More than a pipe and the queue take.
    let long = "x".repeat(1 << 20);
    for _ in 0..12 {
        assert!(peer.call::<String>("echo", [&long]).await.unwrap() == long);
    }
    let shown = shown(tap);
    assert!(shown.len() < 12, "{}", shown.len());
    assert!(shown.iter().any(|line| line["dropped"].is_u64()));
}

#[test]
fn credentials_are_neither_shown_nor_recorded() {
    let tokens = CredentialFile::new("tap-tokens", "ann:sekret-token-0123456789\n", 0o600);
    let serving = Serving::start(&["--tokens", tokens.path(), "--listen", "tcp://127.0.0.1:0"]);
    let recording = file("tap-credentials");
    let [http, tcp] = <[String; 2]>::try_from(serving.urls()).unwrap();
    let record = ["--record", &recording.display().to_string()];
    let check = |from: &str, to: &str, more: &[&str], is_allowed: bool| {
        let tap = Serving::spawn(program(&[&["tap", from, to], &record[..], more].concat()));
        let (code, _, stderr) =
            parts(run(&["call", &tap.url(), "math/add", "2", "3", "--token", "sekret-token-0123456789"]));
        assert_eq!(code == Some(0), is_allowed, "{from} {more:?}: {stderr}");
        let shown = shown(tap);
        assert!(!shown.is_empty() && !format!("{shown:?}").contains("sekret"), "{shown:?}");
    };
    check("0", &http, &[], false);
    check("0", &http, &["--forward", "authorization"], true);
    check("0", &http, &["--token", "sekret-token-0123456789"], true);
    check("tcp://127.0.0.1:0", &tcp, &[], true);
    let recorded = std::fs::read_to_string(&recording).unwrap();
    assert!(
        recorded.contains(r#""method":"rpc.login","params":["***"]"#) && !recorded.contains("sekret"),
        "{recorded}"
    );
    std::fs::remove_file(recording).unwrap();
}

#[test]
fn a_recording_is_private_and_no_other_file_is_touched() {
    let serving = Serving::start(&[]);
    let recording = file("tap-private");
    let path = recording.display().to_string();
    for _ in 0..2 {
        let tap = tap(&serving.url(), &["--record", &path]);
        run(&["call", &tap.url(), "math/add", "2", "3"]);
        assert_eq!(shown(tap).len(), 1);
    }
    assert_eq!(std::fs::metadata(&recording).unwrap().permissions().mode() & 0o777, 0o600);
    let text = std::fs::read_to_string(&recording).unwrap();
    assert_eq!(
        text.lines().filter(|line| line.contains(r#""format":"switchboard-recording","version":1"#)).count(),
        2
    );
    std::fs::write(&recording, "my notes\n").unwrap();
    let (code, _, stderr) = parts(run(&["tap", "0", &serving.url(), "--record", &path]));
    assert!(code == Some(2) && stderr.contains("is not a recording"), "{stderr}");
    assert_eq!(std::fs::read_to_string(&recording).unwrap(), "my notes\n");
    std::fs::remove_file(recording).unwrap();
}

#[test]
fn a_server_that_is_not_there_is_an_error_for_each_call() {
    let tap = tap("http://127.0.0.1:1", &[]);
    let (code, _, stderr) = parts(run(&["call", &tap.url(), "math/add", "2", "3"]));
    assert!(code == Some(1) && stderr.contains("-32004"), "{stderr}");
    assert_eq!(steady(tap)[0]["error"]["code"], -32004);
    let (code, _, stderr) = parts(run(&["tap", "0", "http://127.0.0.1:1", "--retry", "3"]));
    assert!(code == Some(2) && stderr.contains("cannot be used with '--retry <COUNT>'"), "{stderr}");
}

#[test]
fn a_reader_that_has_seen_enough_ends_the_tap() {
    let serving = Serving::start(&[]);
    let mut command = std::process::Command::new("sh");
    command.args(["-c", "\"$0\" tap 0 \"$1\" | head -n 1"]);
    command.arg(program(&[]).get_program()).arg(serving.url()).stdin(std::process::Stdio::null());
    let tap = Serving::spawn(command);
    // Whether its reader is gone shows when it writes; a tap that has ended is not called any more.
    while parts(run(&["call", &tap.url(), "math/add", "2", "3"])).0 == Some(0) {}
    let (status, stdout) = tap.wait();
    assert!(status.success() && stdout.lines().count() == 1, "{stdout}");
}
