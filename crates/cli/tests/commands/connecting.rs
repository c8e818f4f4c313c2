//! What every command that calls shares: the wire, tokens, and trying again.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::process::Stdio;

#[cfg(unix)]
use crate::far::Far;
use crate::program::{Serving, listener, parts, program, run, run_with};

#[test]
fn the_wire_is_shown_with_its_directions_over_every_carrier() {
    let serving = Serving::start(&["--listen", "tcp://127.0.0.1:0"]);
    let socket = serving.url().replace("http:", "ws:");
    let exec = format!("exec:{} serve --stdio", program(&[]).get_program().display());
    for url in serving.urls().iter().chain([&socket, &exec]) {
        let (code, stdout, stderr) = parts(run(&["call", url, "math/add", "2", "3", "-v"]));
        assert_eq!((code, stdout.as_str()), (Some(0), "5\n"), "{url}: {stderr}");
        let message = |arrow: &str, part: &str| {
            stderr.lines().any(|line| line.starts_with(&format!("{arrow} {{")) && line.contains(part))
        };
        assert!(message("-->", r#""method":"math/add","params":[2,3]"#), "{url}: {stderr}");
        assert!(message("<--", r#""result":5"#), "{url}: {stderr}");
    }
    let (_, _, stderr) = parts(run(&["call", &serving.url(), "count", "2", "-v"]));
    assert!(stderr.contains("--> POST /\n") && stderr.contains("<-- 200 OK\n"), "{stderr}");
    assert!(stderr.contains("<-- [DONE]\n"), "{stderr}");
}

#[test]
fn the_wire_shows_what_is_sent_and_nothing_else() {
    for scheme in ["http", "ws"] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("{scheme}://{}/rpc?a=b", listener.local_addr().unwrap());
        let child = program(&["call", &url, "sum", "1", "-v", "-H", "X-Test: 1"])
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap());
        let mut sent = String::new();
        while !sent.ends_with("\r\n\r\n") {
            assert!(lines.read_line(&mut sent).unwrap() > 0, "{sent}");
        }
        if scheme == "http" {
            let body = r#"{"jsonrpc":"2.0","method":"sum","params":[1],"id":1}"#;
            let mut received = vec![0; body.len()];
            lines.read_exact(&mut received).unwrap();
            assert_eq!(String::from_utf8(received).unwrap(), body);
            sent.push_str(body);
        }
        write!(stream, "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nx-other: 2\r\n\r\n").unwrap();
        drop((stream, lines));
        let (_, _, stderr) = parts(child.wait_with_output().unwrap());
        let shown = |arrow: &str| {
            let lines = stderr.lines().filter_map(|line| line.strip_prefix(arrow));
            lines.map(str::to_owned).collect::<Vec<_>>()
        };
        let expected: Vec<&str> = sent.lines().filter(|line| !line.is_empty()).collect();
        assert_eq!(shown("--> "), [&[expected[0].trim_end_matches(" HTTP/1.1")], &expected[1..]].concat());
        assert_eq!(shown("<-- "), ["404 Not Found", "content-length: 0", "x-other: 2"]);
    }
}

#[test]
fn a_token_is_sent_and_never_shown() {
    for scheme in ["http", "ws"] {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("{scheme}://{}", listener.local_addr().unwrap());
        let child = program(&["call", &url, "sum", "-v", "-H", "X-Api-Key: other-secret"])
            .env("SWITCHBOARD_TOKEN", "very-secret")
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let (mut stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap());
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(lines.read_line(&mut head).unwrap() > 0, "{head}");
        }
        assert!(head.to_lowercase().contains("authorization: bearer very-secret\r\n"), "{head}");
        write!(stream, "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nset-cookie: id=secret\r\n\r\n")
            .unwrap();
        drop((stream, lines));
        let (_, _, stderr) = parts(child.wait_with_output().unwrap());
        assert!(stderr.contains("--> authorization: Bearer ***\n"), "{stderr}");
        assert!(!stderr.contains("secret"), "{stderr}");
        assert!(stderr.contains("--token"), "{scheme}: {stderr}");
    }
}

#[test]
fn a_token_that_is_none_is_refused_without_being_shown() {
    let check = |token: &str, more: &[&str], told: &str| {
        let mut command = program(&[&["call", "http://127.0.0.1:1", "sum"], more].concat());
        let (code, _, stderr) = parts(command.env("SWITCHBOARD_TOKEN", token).output().unwrap());
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains(told) && !stderr.contains("sekret"), "{stderr}");
    };
    check("", &["--token", "sekret words"], "the token contains spaces");
    check("sekret\nwords", &[], "the token contains spaces");
    check("", &["-H", "Authorization: sekret\nwords"], "the header authorization");
    check("", &["-H", "sekret words"], "'Name: value'");
}

#[test]
fn headers_are_refused_where_nothing_carries_them() {
    let (code, _, stderr) = parts(run(&["call", "tcp://127.0.0.1:1", "sum", "-H", "A: b"]));
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("tcp URLs do not support headers"), "{stderr}");
    for url in ["tcp://127.0.0.1:1", "unix:/no/such", "exec:no-such-program"] {
        let (code, _, stderr) = parts(run(&["check", url, "--token", "sekret"]));
        assert_eq!(code, Some(2), "{stderr}");
        let scheme = url.split(':').next().unwrap();
        assert!(stderr.contains(&format!("cannot send a token over {scheme} URLs")), "{stderr}");
        assert!(stderr.contains("http, https, ws or wss") && !stderr.contains("sekret"), "{stderr}");
    }
}

#[test]
fn a_token_of_the_environment_does_not_disturb_a_server_without_authentication() {
    let serving = Serving::start(&["--listen", "tcp://127.0.0.1:0"]);
    let url = serving.urls().remove(1);
    let mut command = program(&["call", &url, "sum"]);
    let output = parts(command.env("SWITCHBOARD_TOKEN", "sekret").output().unwrap());
    assert_eq!(output, (Some(0), "0\n".to_owned(), String::new()));
}

#[test]
fn a_certificate_is_refused_where_nothing_asks_for_it() {
    for url in ["http://127.0.0.1:1", "tcp://127.0.0.1:1", "unix:/no/such"] {
        let (code, _, stderr) = parts(run(&["call", url, "sum", "--cert", "a.pem", "--key", "b.pem"]));
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains("do not use TLS") && stderr.contains("https, wss or tls"), "{stderr}");
    }
}

#[test]
fn connecting_is_tried_again() {
    let path = std::env::temp_dir().join(format!("switchboard-retry-{}.sock", std::process::id()));
    let url = format!("unix:{}", path.display());
    let mut child = program(&["call", &url, "sum", "--retry", "30"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(child.stderr.take().unwrap());
    let mut line = String::new();
    while !line.contains("(attempt 2 of 31)") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0);
    }
    let listener = UnixListener::bind(&path).unwrap();
    let mut far = BufReader::new(listener.accept().unwrap().0);
    far.read_line(&mut line).unwrap();
    far.get_mut().write_all(b"{\"jsonrpc\":\"2.0\",\"result\":7,\"id\":1}\n").unwrap();
    let mut stdout = String::new();
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    std::fs::remove_file(path).unwrap();
    drop(far);
    assert_eq!((child.wait().unwrap().code(), stdout.as_str()), (Some(0), "7\n"));
}

#[test]
fn attempts_are_counted_and_end() {
    let (listener, url) = listener();
    drop(listener);
    for scheme in ["http:", "ws:", "tcp:"] {
        let url = url.replace("http:", scheme);
        let (code, _, stderr) = parts(run(&["call", &url, "sum", "--retry", "2", "-v"]));
        assert_eq!(code, Some(3), "{stderr}");
        let place = url.split("//").last().unwrap();
        let expected = format!(
            "warning: nothing is listening on {place}; retrying (attempt 2 of 3)\n\
             warning: nothing is listening on {place}; retrying (attempt 3 of 3)\n\
             error: nothing is listening on {place}; start a server with `switchboard serve --listen {url}`\n"
        );
        // Nothing was sent, so nothing else is shown.
        assert_eq!(stderr, expected);
    }
}

#[test]
fn what_another_attempt_cannot_mend_is_not_tried_again() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let refusing = format!("ws://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut lines = BufReader::new(stream.unwrap());
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") && lines.read_line(&mut head).unwrap() > 0 {}
            write!(lines.get_mut(), "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n").unwrap();
        }
    });
    let check = |url: &str, text: &str| {
        for command in [&["call", url, "sum"][..], &["watch", url, "sum"], &["batch", url]] {
            let more = ["--retry", "1000"];
            let (code, _, stderr) = parts(run_with("sum 1\n", &[command, &more].concat()));
            assert_eq!(code, Some(3), "{command:?}: {stderr}");
            assert!(stderr.contains(text) && !stderr.contains("attempt"), "{command:?}: {stderr}");
        }
    };
    check("exec:no-such-program", "`no-such-program` was not found");
    check(&refusing, "--token");
}

#[test]
fn calls_that_are_lost_together_are_told_once() {
    let (listener, url) = listener();
    drop(listener);
    let calls = "sum 1\n".repeat(30);
    for scheme in ["http:", "tcp:"] {
        let url = url.replace("http:", scheme);
        let (code, _, stderr) = parts(run_with(&calls, &["batch", &url, "--concurrent", "--retry", "1"]));
        assert_eq!(code, Some(3), "{stderr}");
        assert_eq!(stderr.lines().count(), 2, "{stderr}");
    }
}

#[test]
fn attempts_do_not_go_on_when_the_time_is_over() {
    let (listener, url) = listener();
    drop(listener);
    let (code, _, stderr) = parts(run(&["call", &url, "sum", "--retry", "1000", "--timeout", "0.5"]));
    assert_eq!(code, Some(3), "{stderr}");
    assert!(stderr.contains("error: nothing is listening on"), "{stderr}");
}

/// Counts how often a call is sent to a far side that hangs up on each, if that describes it so.
fn times_sent(document: &'static str, more: &[&str]) -> usize {
    let (listener, url) = listener();
    let count = std::thread::spawn(move || {
        let mut calls = 0;
        while let Ok((mut stream, _)) = listener.accept() {
            let mut lines = BufReader::new(stream.try_clone().unwrap());
            let (mut head, mut length) = (String::new(), 0);
            while !head.ends_with("\r\n\r\n") {
                if lines.read_line(&mut head).unwrap() == 0 {
                    return calls;
                }
            }
            for line in head.lines() {
                if let Some(value) = line.strip_prefix("content-length: ") {
                    length = value.parse().unwrap();
                }
            }
            let mut body = vec![0; length];
            lines.read_exact(&mut body).unwrap();
            let body = String::from_utf8(body).unwrap();
            if body.contains("the-end") {
                return calls;
            } else if body.contains("rpc.discover") {
                let answer = format!("{{\"jsonrpc\":\"2.0\",\"result\":{document},\"id\":1}}");
                let length = answer.len();
                let kind = "content-type: application/json\r\nconnection: close";
                write!(stream, "HTTP/1.1 200 OK\r\n{kind}\r\ncontent-length: {length}\r\n\r\n{answer}")
                    .unwrap();
            } else {
                calls += 1;
            }
        }
        calls
    });
    let (code, _, stderr) = parts(run(&[&["call", &url, "work", "--retry", "2"], more].concat()));
    assert_eq!(code, Some(3), "{stderr}");
    run(&["notify", &url, "the-end", "--timeout", "5"]);
    count.join().unwrap()
}

#[test]
fn a_call_that_was_sent_is_sent_again_only_if_it_may_be() {
    const UNSAFE: &str = r#"{"methods":[{"name":"work","params":[]}]}"#;
    const SAFE: &str = r#"{"methods":[{"name":"work","params":[],"x-safe":true}]}"#;
    const IDEMPOTENT: &str = r#"{"methods":[{"name":"work","params":[],"x-idempotent":true}]}"#;
    assert_eq!(times_sent(UNSAFE, &[]), 1);
    assert_eq!(times_sent("5", &[]), 1);
    assert_eq!(times_sent(SAFE, &[]), 3);
    assert_eq!(times_sent(IDEMPOTENT, &[]), 3);
    assert_eq!(times_sent(UNSAFE, &["--repeatable"]), 3);
}

#[test]
fn what_may_run_twice_is_asked_when_it_matters_only() {
    let serving = Serving::start(&["--listen", "tcp://127.0.0.1:0"]);
    for url in serving.urls() {
        let (code, stdout, stderr) = parts(run(&["call", &url, "sum", "1", "--retry", "3", "-v"]));
        assert_eq!((code, stdout.as_str()), (Some(0), "1\n"), "{stderr}");
        assert!(!stderr.contains("rpc.discover"), "{stderr}");
    }
}

#[cfg(unix)]
#[test]
fn a_call_that_broke_off_goes_again_over_a_new_connection() {
    let check = |more: &[&str], is_again: bool| {
        let far = Far::start();
        let child = program(&[&["call", &far.url, "wait", "--retry", "3"], more].concat())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        far.receive("wait");
        far.hang_up();
        if is_again {
            let id = far.receive("wait")["id"].clone();
            far.send(&serde_json::json!({"jsonrpc": "2.0", "result": 7, "id": id}));
        }
        let (code, stdout, stderr) = parts(child.wait_with_output().unwrap());
        let expected = if is_again { (Some(0), "7\n") } else { (Some(3), "") };
        assert_eq!((code, stdout.as_str()), expected, "{more:?}: {stderr}");
    };
    check(&["--repeatable"], true);
    // It is not described as safe or idempotent.
    check(&[], false);
}

#[test]
fn the_description_is_asked_for_only_if_a_method_is_unknown_or_its_parameters_are_wrong() {
    let serving = Serving::start(&[]);
    let check = |call: &[&str], is_asked: bool| {
        let (_, _, stderr) = parts(run(&[&["call", &serving.url(), "-v"], call].concat()));
        assert_eq!(stderr.contains("\"method\":\"rpc.discover\""), is_asked, "{call:?}: {stderr}");
    };
    check(&["math/add", "1", "2"], false);
    check(&["math/sqrt", "-1"], false);
    check(&["math/ad", "1", "2"], true);
    check(&["math/add", "1"], true);
}

#[test]
fn an_answer_over_a_connection_is_waited_for_only_so_long() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("tcp://{}", listener.local_addr().unwrap());
    let (code, _, stderr) = parts(run(&["call", &url, "sum", "--timeout", "0.2"]));
    assert_eq!(code, Some(4), "{stderr}");
}
