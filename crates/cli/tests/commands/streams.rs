//! Streams and notifications as the program shows and sends them.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::program::{Serving, parts, program, run};

#[test]
fn a_stream_is_printed_one_item_a_line_over_every_carrier() {
    let serving = Serving::start(&["--listen", "ws://127.0.0.1:0", "--listen", "tcp://127.0.0.1:0"]);
    let exec = format!("exec:{} serve --stdio", program(&[]).get_program().display());
    for url in serving.urls().into_iter().chain([exec]) {
        let check = |arguments: &[&str], expected: &str| {
            let output = parts(run(&[&["call", &url], arguments].concat()));
            assert_eq!(output, (Some(0), expected.to_owned(), String::new()), "{url} {arguments:?}");
        };
        check(&["count", "3"], "1\n2\n3\n");
        check(&["count", "0"], "");
        check(&["paritosh/stream", "message=hi"], "\"h\"\n\"i\"\n");
        check(&["math/add_stream", "1", "1"], "0\n1\n2\n");
        check(&["ai/generate", "prompt=to be", "--stream"], "\"to \"\n\"be\"\n");
        check(&["ai/generate", "prompt=to be", "--extensions"], "\"to \"\n\"be\"\n");
        check(&["ticks", "count=2", "seconds=0.01"], "1\n2\n");
        let (code, stdout, stderr) = parts(run(&["call", &url, "ticks", "seconds=0"]));
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{url}: {stderr}");
        assert!(stderr.contains("0.001 to 86400"), "{url}: {stderr}");
    }
}

#[test]
fn a_long_stream_comes_whole_over_every_carrier() {
    let socket = std::env::temp_dir().join(format!("switchboard-long-{}.sock", std::process::id()));
    let unix = format!("unix:{}", socket.display());
    let more = ["--listen", "ws://127.0.0.1:0", "--listen", "tcp://127.0.0.1:0", "--listen", &unix];
    let serving = Serving::start(&more);
    let exec = format!("exec:{} serve --stdio", program(&[]).get_program().display());
    let expected: String = (1..=5000).map(|number| format!("{number}\n")).collect();
    for url in serving.urls().into_iter().chain([exec]) {
        let (code, stdout, stderr) = parts(run(&["call", &url, "count", "5000"]));
        assert_eq!((code, stdout == expected), (Some(0), true), "{url}: {} bytes, {stderr}", stdout.len());
    }
    std::fs::remove_file(socket).unwrap();
}

#[test]
fn what_can_be_one_value_is_a_stream_for_whoever_watches() {
    let serving = Serving::start(&["--listen", "ws://127.0.0.1:0", "--listen", "tcp://127.0.0.1:0"]);
    for url in serving.urls() {
        let (code, stdout, stderr) = parts(run(&["watch", &url, "ai/generate", "to be"]));
        assert_eq!((code, stdout.as_str()), (Some(0), "\"to \"\n\"be\"\n"), "{url}: {stderr}");
    }
}

#[test]
fn who_asks_for_something_else_than_events_gets_the_items_collected() {
    let serving = Serving::start(&[]);
    let (code, stdout, stderr) =
        parts(run(&["call", &serving.url(), "-H", "Accept: application/json", "count", "3"]));
    assert_eq!((code, stdout.as_str()), (Some(0), "[1,2,3]\n"), "{stderr}");
}

/// Starts a call, and gives the lines that it prints.
fn start(arguments: &[&str]) -> (Child, BufReader<ChildStdout>) {
    let mut child = program(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap());
    (child, lines)
}

fn interrupt(child: &Child) {
    assert!(Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status().unwrap().success());
}

#[test]
fn items_are_shown_as_they_come_until_the_call_is_interrupted() {
    let serving = Serving::start(&["--listen", "ws://127.0.0.1:0"]);
    for url in serving.urls() {
        // Without an end, so that what is read was shown before it.
        let (mut child, mut lines) = start(&["call", &url, "ticks", "seconds=0.01"]);
        let mut text = String::new();
        lines.read_line(&mut text).unwrap();
        lines.read_line(&mut text).unwrap();
        assert_eq!(text, "1\n2\n", "{url}");
        interrupt(&child);
        lines.read_to_string(&mut text).unwrap();
        assert_eq!(child.wait().unwrap().code(), Some(130), "{url}");
    }
}

#[test]
fn an_interrupted_call_is_cancelled_on_the_far_side() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let (child, _) = start(&["call", &format!("tcp://{}", listener.local_addr().unwrap()), "slow"]);
    let mut far = BufReader::new(listener.accept().unwrap().0);
    let mut line = String::new();
    far.read_line(&mut line).unwrap();
    assert!(line.contains(r#""method":"slow""#), "{line}");
    interrupt(&child);
    line.clear();
    far.read_line(&mut line).unwrap();
    assert!(line.contains(r#""method":"rpc.cancel""#), "{line}");
    // Nobody answers; that is not waited for without end.
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(130), "{stderr}");
    assert!(stderr.contains("cancelled"), "{stderr}");
}

#[test]
fn those_who_watch_are_told_of_ticks() {
    let serving = Serving::start(&["--listen", "tcp://127.0.0.1:0"]);
    let url = serving.urls().remove(1);
    let mut stream = TcpStream::connect(url.strip_prefix("tcp://").unwrap()).unwrap();
    stream.write_all(br#"{"jsonrpc":"2.0","id":1,"method":"watch","params":[0.2]}"#).unwrap();
    let lines: Vec<String> = BufReader::new(stream).lines().take(3).map(Result::unwrap).collect();
    let tick = |number| format!(r#"{{"jsonrpc":"2.0","method":"onTick","params":[{number}]}}"#);
    // The answer first, so that nobody takes a tick for it.
    assert_eq!(lines, [r#"{"jsonrpc":"2.0","result":null,"id":1}"#.to_owned(), tick(0), tick(1)]);
    // Where there is no way to tell anybody, that is said.
    let plain = ["-H", "Accept: application/json", "watch"];
    let (code, _, stderr) = parts(run(&[&["call", &serving.url()], &plain[..]].concat()));
    assert_eq!(code, Some(1), "{stderr}");
}

/// The status and body of a GET.
fn get(url: &str, target: &str) -> String {
    let address = url.strip_prefix("http://").unwrap().replace("0.0.0.0", "127.0.0.1");
    let mut stream = TcpStream::connect(&address).unwrap();
    write!(stream, "GET {target} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

#[test]
fn only_what_is_marked_safe_may_be_called_by_get() {
    let here = ["--listen", "http://127.0.0.1:0"];
    for args in [&here[..], &["--listen", "http://0.0.0.0:0", "--public"]] {
        let serving = Serving::start(args);
        for url in serving.urls() {
            for query in ["method=count&to=2", "method=ticks&count=1&seconds=0.001"] {
                let answer = get(&url, &format!("/rpc/stream?{query}"));
                assert!(answer.starts_with("HTTP/1.1 200") && answer.contains("data: [DONE]"), "{answer}");
            }
            for query in ["method=watch", "method=update", "method=notify_log&message=hi", "method=getStatus"]
            {
                let answer = get(&url, &format!("/rpc/stream?{query}"));
                assert!(answer.starts_with("HTTP/1.1 403") && answer.contains("not marked safe"), "{answer}");
            }
        }
    }
}

#[test]
fn a_stream_over_stdio_is_finished_although_nothing_more_is_asked() {
    let mut child = program(&["serve", "--stdio"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let request = r#"{"jsonrpc":"2.0","method":"paritosh/stream","params":["ab"],"id":2}"#;
    writeln!(child.stdin.take().unwrap(), "{request}").unwrap();
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let methods: Vec<bool> = text.lines().map(|line| line.contains("rpc.item")).collect();
    assert_eq!(methods, [false, true, true, false], "{text}");
    assert!(text.lines().last().is_some_and(|line| line.contains("rpc.end")), "{text}");
}
