//! `switchboard replay`: recorded calls against the same server, and against another one.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;

use serde_json::{Value, json};
use switchboard::{Context, Dial, ErrorObject, Router, RouterBuilder};

use crate::describing::Describing;
use crate::program::{Serving, parts, program, run, run_with};
use crate::tap::{asking_back, block_on, file, greet, shown, tap};
use crate::terminal::at_terminal;

/// Records what these clients do at a server.
fn record(name: &str, server: &str, clients: impl FnOnce(&str)) -> PathBuf {
    let recording = file(name);
    let tap = tap(server, &["--record", &recording.display().to_string()]);
    clients(&tap.url());
    assert!(!shown(tap).is_empty());
    recording
}

/// Replays a recording; gives the code, the calls that differ and the summary.
fn replay(recording: &Path, server: &str, more: &[&str]) -> (Option<i32>, Vec<Value>, Value) {
    let path = recording.display().to_string();
    let (code, stdout, stderr) = parts(run(&[&["replay", &path, server], more].concat()));
    let mut lines: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let summary = lines.pop().unwrap_or_else(|| panic!("{stderr}"));
    (code, lines, summary)
}

/// A server that knows users and the time.
fn users(name: &'static str, time: u64) -> Describing {
    let user = move |(id,): (u64,), _| match id {
        1 => Ok(json!({"name": name, "tags": [{"id": time, "text": "a"}], "seen": time})),
        _ => Err(ErrorObject::new(-1, format!("no user {id} at {time}"))),
    };
    Describing::serve(
        Router::builder()
            .method("user", user)
            .method("time/now", move |(): (), _| Ok::<_, ErrorObject>(time)),
    )
}

#[test]
fn the_same_server_answers_the_same() {
    let serving = Serving::start(&[]);
    let recording = record("replay-same", &serving.url(), |url| {
        run(&["call", url, "math/add", "a=2", "b=3"]);
        run(&["call", &url.replace("http:", "ws:"), "count", "3"]);
        run(&["call", url, "math/sqrt", "-1"]);
        run(&["call", url, "log", "hi", "--notify"]);
        run_with("math/add 1 2\n! log hi\necho null\n", &["batch", url]);
    });
    // A stream that is collected over one transport is still the same.
    for url in [serving.url(), serving.url().replace("http:", "ws:")] {
        let (code, differing, summary) = replay(&recording, &url, &[]);
        assert_eq!((code, differing), (Some(0), vec![]), "{url}");
        assert_eq!(summary, json!({"calls": 5, "equal": 5, "differ": 0, "notCompared": 0}), "{url}");
    }
    let (code, _, summary) = replay(&recording, &serving.url(), &["--pace"]);
    assert_eq!((code, &summary["equal"]), (Some(0), &json!(5)));
    std::fs::remove_file(recording).unwrap();
}

#[test]
fn answers_of_another_server_are_shown_where_they_differ() {
    let (before, now) = (users("Ann", 1), users("Bob", 2));
    let recording = record("replay-other", &before.url, |url| {
        for arguments in [&["user", "1"][..], &["user", "2"], &["time/now"]] {
            run(&[&["call", url], arguments].concat());
        }
    });
    let (code, differing, summary) = replay(&recording, &now.url, &[]);
    assert_eq!((code, summary), (Some(11), json!({"calls": 3, "equal": 0, "differ": 3, "notCompared": 0})));
    let expected = json!({"id": 1, "session": 1, "method": "user", "differences": [
        {"pointer": "/result/name", "recorded": "Ann", "replayed": "Bob"},
        {"pointer": "/result/seen", "recorded": 1, "replayed": 2},
        {"pointer": "/result/tags/0/id", "recorded": 1, "replayed": 2},
    ]});
    assert_eq!(differing[0], expected);
    let pointers = |more: &[&str]| {
        let (code, differing, summary) = replay(&recording, &now.url, more);
        let differences = differing.iter().flat_map(|call| call["differences"].as_array().unwrap());
        let pointers: Vec<String> =
            differences.map(|one| one["pointer"].as_str().unwrap().to_owned()).collect();
        (code, pointers, summary["notCompared"].as_u64())
    };
    let rules = ["--ignore", "/result/seen", "--ignore", "/result/tags/*/id", "--ignore-method", "time/*"];
    let names = vec!["/result/name".to_owned()];
    assert_eq!(pointers(&[&rules[..], &["--only-codes"]].concat()), (Some(11), names, Some(1)));
    let most = [&rules[..], &["--only-codes", "--ignore", "/result/name"]].concat();
    assert_eq!(pointers(&most), (Some(0), vec![], Some(1)));
    std::fs::remove_file(recording).unwrap();
}

#[test]
fn a_person_sees_what_was_and_what_is() {
    let (before, now) = (users("Ann", 1), users("B\u{9b}b", 1));
    let recording = record("replay-terminal", &before.url, |url| {
        run(&["call", url, "user", "1"]);
        run(&["call", url, "time/now"]);
    });
    let path = recording.display().to_string();
    let mut command = program(&["replay", &path, &now.url]);
    command.env("NO_COLOR", "1");
    let expected = "#1 user\n  /result/name: \"Ann\" → \"B\\u009bb\"\n2 calls: 1 equal, 1 differ\n";
    assert_eq!(at_terminal(command), (Some(11), expected.to_owned()));
    std::fs::remove_file(recording).unwrap();
}

/// A server that counts the calls of each session.
fn counting() -> RouterBuilder {
    Router::builder().method("next", |(): (), cx: Context| {
        let count = cx.session().get_or_insert_with(AtomicU64::default);
        Ok::<_, ErrorObject>(count.fetch_add(1, Ordering::SeqCst))
    })
}

#[test]
fn sessions_stay_apart() {
    let server = Describing::serve(counting());
    let url = server.url.replace("http:", "ws:");
    let recording = file("replay-sessions");
    let tap = tap(&url, &["--record", &recording.display().to_string()]);
    let front = tap.url().replace("http:", "ws:");
    block_on(async {
        let connect = || async { Dial::new(&front).unwrap().connect().await.unwrap() };
        let (one, other) = (connect().await, connect().await);
        for number in 0..3_u64 {
            assert_eq!(one.call::<u64>("next", ()).await.unwrap(), number);
            assert_eq!(other.call::<u64>("next", ()).await.unwrap(), number);
        }
    });
    assert_eq!(shown(tap).len(), 6);
    let (code, differing, summary) = replay(&recording, &url, &[]);
    assert_eq!((code, differing, &summary["equal"]), (Some(0), vec![], &json!(6)));
    std::fs::remove_file(recording).unwrap();
}

#[test]
fn calls_of_the_server_are_answered_as_they_were() {
    let server = asking_back();
    let url = server.url.replace("http:", "ws:");
    let recording = file("replay-back");
    let tap = tap(&url, &["--record", &recording.display().to_string()]);
    assert_eq!(greet(&tap.url(), "Ann"), "hello Ann");
    assert_eq!(greet(&tap.url(), "Bob"), "hello Bob");
    shown(tap);
    let (code, differing, summary) = replay(&recording, &url, &[]);
    assert_eq!((code, differing, &summary["equal"]), (Some(0), vec![], &json!(2)));
    std::fs::remove_file(recording).unwrap();
}

#[test]
fn notifications_are_sent_in_their_order_and_logins_are_not() {
    let (send, notified) = mpsc::channel();
    let server = Describing::serve(Router::builder().method("note", move |(number,): (u64,), _| {
        send.send(number).unwrap();
        Ok::<_, ErrorObject>(())
    }));
    let line =
        |id: u64, rest: &str| format!(r#"{{"id":{id},"at":{id},"session":1,"to":"server","ms":0,{rest}}}"#);
    let text = [
        r#"{"format":"switchboard-recording","version":1}"#.to_owned(),
        line(3, r#""method":"note","params":[2],"notification":true"#),
        line(2, r#""method":"note","params":[1],"result":null"#),
        line(1, r#""method":"rpc.login","params":["***"],"result":null"#),
        r#"{"lost":2}"#.to_owned(),
    ];
    let (code, stdout, stderr) = parts(run_with(&text.join("\n"), &["replay", "-", &server.url]));
    assert_eq!(
        (code, stdout.as_str()),
        (Some(0), "{\"calls\":2,\"equal\":1,\"differ\":0,\"notCompared\":1}\n"),
        "{stderr}"
    );
    assert!(stderr.contains("2 calls are missing in the recording"), "{stderr}");
    assert_eq!([notified.recv().unwrap(), notified.recv().unwrap()], [1, 2]);
}

#[test]
fn what_cannot_be_replayed_is_told() {
    let check = |text: &str, code: i32, expected: &[&str]| {
        let (ended, _, stderr) = parts(run_with(text, &["replay", "-", "http://127.0.0.1:1"]));
        assert_eq!(ended, Some(code), "{stderr}");
        assert!(expected.iter().all(|part| stderr.contains(part)), "{stderr}");
    };
    let header = r#"{"format":"switchboard-recording","version":1}"#;
    check("", 2, &["stdin, line 1: the file is empty", "switchboard tap --record"]);
    check("hello\n", 2, &["line 1: this is not a recording"]);
    check(&format!("{header}\n{{\"id\":1,\"at\""), 2, &["stdin, line 2: ", "delete the line"]);
    check(&header.replace('1', "2"), 2, &["has version 2"]);
    let call = r#"{"id":1,"at":0,"session":1,"to":"server","method":"m","result":1,"ms":0}"#;
    check(&format!("{header}\n{call}\n"), 3, &["nothing is listening on 127.0.0.1:1"]);
    let (code, _, stderr) = parts(run(&["replay", "http://127.0.0.1:1", "calls.jsonl"]));
    assert!(code == Some(2) && stderr.contains("the recording comes first"), "{stderr}");
    let (code, _, stderr) =
        parts(run(&["replay", "/nonexistent", "http://127.0.0.1:1", "--ignore", "result"]));
    assert!(code == Some(2) && stderr.contains("not a JSON pointer"), "{stderr}");
}
