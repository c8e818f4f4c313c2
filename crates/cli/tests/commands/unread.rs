//! A server whose log is not read, and commands whose output cannot be written.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Stdio};

use crate::program::{Serving, program, run};

/// Calls in one request. Each is a line of the log, and so is the batch.
const CALLS: usize = 100;
/// As many requests have more lines than a pipe and the queue of the log hold together.
const REQUESTS: usize = 150;

/// Sends one request after the other, each of which must be answered in full.
fn call_often(url: &str) {
    let call = |id: usize| format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"sum"}}"#);
    let body = format!("[{}]", (0..CALLS).map(call).collect::<Vec<_>>().join(","));
    let address = url.strip_prefix("http://").unwrap();
    let request = format!(
        "POST / HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nConnection: close\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    for _ in 0..REQUESTS {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert_eq!(answer.matches("\"result\":0").count(), CALLS, "{answer}");
    }
}

#[test]
fn calls_are_answered_though_nobody_reads_the_log() {
    let serving = Serving::start(&["-v"]);
    call_often(&serving.url());
    // It ends, too, and does not wait for a reader.
    serving.signal("TERM");
    assert_eq!(serving.wait_unread().code(), Some(0));
}

#[test]
fn the_log_says_how_many_lines_are_missing() {
    let mut serving = Serving::start(&["-v"]);
    call_often(&serving.url());
    let text = serving.read_until("log lines were dropped");
    let gap = text.lines().last().unwrap();
    let dropped: usize = gap.split(' ').nth(1).unwrap().parse().unwrap();
    assert_eq!(text.matches("\"event\"").count() + dropped, (CALLS + 1) * REQUESTS, "{gap}");
    assert!(dropped > 0, "{gap}");
    // Afterwards it goes on, to its last word.
    let log = serving.log();
    run(&["call", &serving.url(), "nothing"]);
    serving.signal("TERM");
    assert_eq!(serving.wait().0.code(), Some(0));
    let log = log.join().unwrap();
    assert!(log.contains("\"method\":\"nothing\"") && log.contains("Stopping"), "{log}");
}

#[cfg(target_os = "linux")]
#[test]
fn output_that_cannot_be_written_is_told_and_has_its_code() {
    let serving = Serving::start(&[]);
    let url = &serving.url();
    let calls = std::env::temp_dir().join(format!("switchboard-full-{}", std::process::id()));
    std::fs::write(&calls, "sum\nsum\n").unwrap();
    let file = calls.display().to_string();
    for arguments in [
        &["call", url, "sum"][..],
        &["call", url, "count", "3"],
        &["batch", url, &file],
        &["batch", url, &file, "--lines"],
        &["watch", url, "ticks", "count=3"],
        &["discover", url],
        &["discover", url, "sum"],
        &["discover", url, "--openrpc"],
        &["generate", "rust", url],
        &["check", url, "--only", "requests"],
        &["bench", url, "sum", "-n", "2"],
        &["completions", "bash"],
        &["man"],
    ] {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let output = program(arguments).stdout(full).stderr(Stdio::piped()).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(7), "{arguments:?}: {stderr}");
        assert!(stderr.contains("cannot write to standard output"), "{arguments:?}: {stderr}");
    }
    std::fs::remove_file(calls).unwrap();
}

/// `serve --stdio`, with this for its output and a call on its input, which stays open.
fn serve_to(output: impl Into<Stdio>) -> Child {
    let mut command = program(&["serve", "--stdio"]);
    let mut child = command.stdin(Stdio::piped()).stdout(output).stderr(Stdio::piped()).spawn().unwrap();
    let call = b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sum\"}\n";
    child.stdin.as_mut().unwrap().write_all(call).unwrap();
    child
}

fn end_of(mut child: Child) -> (Option<i32>, String) {
    let input = child.stdin.take();
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    drop(input);
    (child.wait().unwrap().code(), stderr)
}

#[cfg(target_os = "linux")]
#[test]
fn a_server_that_cannot_write_its_answers_fails() {
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let (code, stderr) = end_of(serve_to(full));
    assert_eq!(code, Some(7), "{stderr}");
    assert!(stderr.contains("cannot write to standard output: No space left on device"), "{stderr}");
}

#[test]
fn a_server_whose_reader_is_gone_ends_in_silence() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let (code, stderr) = end_of(serve_to(writer));
    assert_eq!((code, stderr.as_str()), (Some(0), "Listening on stdio\n"));
}
