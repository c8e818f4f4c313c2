//! `switchboard notify`: what is sent, and what is reported.

use std::io::{BufRead, BufReader};
use std::net::TcpListener;

use crate::program::{Serving, listener, parts, program, run};

#[test]
fn a_notification_is_sent_and_nothing_is_printed() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("tcp://{}", listener.local_addr().unwrap());
    let child = program(&["notify", &url, "logEvent", "message=hello"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    let mut far = BufReader::new(listener.accept().unwrap().0);
    let mut line = String::new();
    far.read_line(&mut line).unwrap();
    assert_eq!(line, "{\"jsonrpc\":\"2.0\",\"method\":\"logEvent\",\"params\":{\"message\":\"hello\"}}\n");
    drop(far);
    assert_eq!(parts(child.wait_with_output().unwrap()), (Some(0), String::new(), String::new()));
}

#[test]
fn an_unknown_method_is_not_reported() {
    let serving = Serving::start(&[]);
    let output = parts(run(&["notify", &serving.url(), "no/such", "x"]));
    assert_eq!(output, (Some(0), String::new(), String::new()));
}

#[test]
fn that_it_was_refused_or_not_sent_is_a_failure() {
    let serving = Serving::start(&[]);
    let (code, _, stderr) = parts(run(&["notify", &serving.url(), "-H", "Host: evil.example", "echo", "x"]));
    assert_eq!(code, Some(1), "{stderr}");
    let (listener, url) = listener();
    drop(listener);
    let (code, _, stderr) = parts(run(&["notify", &url, "echo", "x"]));
    assert_eq!(code, Some(3), "{stderr}");
}

#[test]
fn the_notification_of_the_documentation_is_logged() {
    // As docs/calling.md has it.
    let mut serving = Serving::start(&["-v"]);
    let output = parts(run(&["notify", &serving.url(), "log", "hello"]));
    assert_eq!(output, (Some(0), String::new(), String::new()));
    let log = serving.read_until("says");
    assert!(log.contains("says \"hello\""), "{log}");
}
