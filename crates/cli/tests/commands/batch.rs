//! `switchboard batch`: calls from a file or stdin, and their answers in order.

use std::io::Write;
use std::process::Stdio;

use crate::program::{Serving, answering, listener, parts, program, run, run_with};

const CALLS: &str = "# three calls and a notification\n\
    math/add a=2 b=3\n\
    ! echo hello\n\
    echo message=\"two words\"\n\
    {\"method\": \"sum\", \"params\": [1, 2], \"id\": \"mine\"}\n";

const ANSWERS: [&str; 3] = [
    r#"{"jsonrpc":"2.0","result":5,"id":1}"#,
    r#"{"jsonrpc":"2.0","result":"two words","id":3}"#,
    r#"{"jsonrpc":"2.0","result":3,"id":"mine"}"#,
];

#[test]
fn answers_come_in_the_order_of_their_calls_over_every_carrier() {
    let serving = Serving::start(&["--listen", "tcp://127.0.0.1:0"]);
    let urls = serving.urls();
    let socket = urls[0].replace("http:", "ws:");
    for url in urls.iter().chain([&socket]) {
        let check = |more: &[&str], expected: &str| {
            let output = parts(run_with(CALLS, &[&["batch", url], more].concat()));
            assert_eq!(output, (Some(0), expected.to_owned(), String::new()), "{url} {more:?}");
        };
        let (list, lines) = (format!("[{}]\n", ANSWERS.join(",")), ANSWERS.join("\n") + "\n");
        check(&[], &list);
        check(&["-", "--lines"], &lines);
        check(&["--concurrent"], &list);
        check(&["--concurrent=2", "--lines"], &lines);
    }
}

#[test]
fn a_batch_is_one_message_and_concurrent_calls_are_many() {
    let serving = Serving::start(&[]);
    let url = serving.url();
    let sent = |more: &[&str]| {
        let (_, _, stderr) = parts(run_with(CALLS, &[&["batch", &url, "-v"], more].concat()));
        stderr.matches("--> POST").count()
    };
    assert_eq!(sent(&[]), 1);
    assert_eq!(sent(&["--concurrent"]), 4);
}

#[test]
fn one_failure_among_many_is_exit_code_1() {
    let serving = Serving::start(&[]);
    let url = serving.url();
    for more in [&[][..], &["--concurrent"]] {
        let (code, stdout, stderr) =
            parts(run_with("sum 1\nmath/sqrt -1\nno/such\n", &[&["batch", &url], more].concat()));
        assert_eq!(code, Some(1), "{stderr}");
        assert_eq!(stderr, "error: 2 of 3 calls failed\n");
        assert!(stdout.starts_with(r#"[{"jsonrpc":"2.0","result":1,"id":1},{"jsonrpc":"2.0","error":{"#));
        assert!(
            stdout.contains(
                r#""error":{"code":-32601,"message":"Method not found","data":{"method":"no/such"}}"#
            ),
            "{stdout}"
        );
    }
}

#[test]
fn a_call_without_a_response_is_not_an_error_of_the_server() {
    // The answer leaves the second call out.
    let url = answering(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 37\r\n\r\n\
         [{\"jsonrpc\":\"2.0\",\"result\":5,\"id\":1}]",
    );
    let (code, stdout, stderr) = parts(run_with("a\nb\n", &["batch", &url, "--lines"]));
    assert_eq!(code, Some(5), "{stderr}");
    let expected = "{\"jsonrpc\":\"2.0\",\"result\":5,\"id\":1}\n\
        {\"failure\":{\"kind\":\"protocol\",\"message\":\"invalid response: \
        the batch response does not include this call\"},\"id\":2}\n";
    assert_eq!(stdout, expected);
    assert!(
        stderr
            .starts_with("error: 1 of 2 calls failed, 1 of them without a valid answer: invalid response: "),
        "{stderr}"
    );
}

#[test]
fn a_time_that_is_over_is_told_as_such_and_has_its_exit_code() {
    let serving = Serving::start(&["--listen", "tcp://127.0.0.1:0"]);
    for url in serving.urls() {
        let send = |more: &str| {
            let arguments = ["batch", &url, "--timeout", "0.3", "--lines", more];
            let (code, stdout, stderr) = parts(run_with("wait 20\nsum 1\nno/such\n", &arguments));
            assert_eq!(code, Some(4), "{url} {more}: {stderr}");
            assert!(stderr.contains("`--timeout`"), "{stderr}");
            (stdout, stderr)
        };
        let (stdout, stderr) = send("--concurrent");
        let lines: Vec<&str> = stdout.lines().collect();
        assert!(lines[0].starts_with(r#"{"failure":{"kind":"timeout","#), "{stdout}");
        assert_eq!(lines[1], r#"{"jsonrpc":"2.0","result":1,"id":2}"#);
        assert!(stderr.contains("2 of 3 calls failed, 1 of them without a valid answer"), "{stderr}");
        // One message answers all of them, or none.
        let (stdout, _) = send("--json");
        assert!(stdout.is_empty() || stdout.starts_with(lines[0]), "{stdout}");
    }
}

#[cfg(unix)]
#[test]
fn a_connection_that_breaks_is_told_as_such_and_has_its_exit_code() {
    let far = crate::far::Far::start();
    let mut command = program(&["batch", &far.url, "--concurrent"]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(b"math/add 2 3\nwait\n").unwrap();
    far.receive("wait");
    far.hang_up();
    let (code, stdout, stderr) = parts(child.wait_with_output().unwrap());
    assert_eq!(code, Some(3), "{stderr}");
    assert!(stdout.starts_with(r#"[{"jsonrpc":"2.0","result":5,"id":1},{"failure":{"kind":"connection","#));
}

#[test]
fn a_batch_that_is_refused_as_a_whole_is_told_once_with_what_to_do() {
    let serving = Serving::start(&["--listen", "tcp://127.0.0.1:0"]);
    let calls = "sum 1\n".repeat(101);
    for url in serving.urls() {
        let (code, stdout, stderr) = parts(run_with(&calls, &["batch", &url]));
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
        assert!(stderr.starts_with("error: the server refused the batch of 101 calls: -32600"), "{stderr}");
        assert!(stderr.contains("more than 100 entries") && stderr.contains("`--concurrent`"), "{stderr}");
        let (code, stdout, stderr) = parts(run_with(&calls, &["batch", &url, "--concurrent", "--lines"]));
        assert_eq!((code, stdout.lines().count()), (Some(0), 101), "{stderr}");
    }
}

#[test]
fn a_mark_at_the_start_of_the_input_is_left_out() {
    let serving = Serving::start(&[]);
    for text in ["\u{feff}sum 1\n", "\u{feff}[{\"method\":\"sum\",\"params\":[1],\"id\":1}]"] {
        let output = parts(run_with(text, &["batch", &serving.url()]));
        let expected = "[{\"jsonrpc\":\"2.0\",\"result\":1,\"id\":1}]\n".to_owned();
        assert_eq!(output, (Some(0), expected, String::new()));
    }
}

#[test]
fn a_json_array_is_sent_as_it_is_with_its_own_identifiers() {
    let serving = Serving::start(&[]);
    let text = r#"[{"jsonrpc":"2.0","id":7,"method":"sum","params":[1]},{"method":"echo","params":["x"]}]"#;
    let output = parts(run_with(text, &["batch", &serving.url()]));
    let expected = "[{\"jsonrpc\":\"2.0\",\"result\":1,\"id\":7}]\n".to_owned();
    assert_eq!(output, (Some(0), expected, String::new()));
}

#[test]
fn notifications_alone_have_no_answers() {
    let serving = Serving::start(&[]);
    let output = parts(run_with("! echo a\n! echo b\n", &["batch", &serving.url()]));
    assert_eq!(output, (Some(0), "[]\n".to_owned(), String::new()));
}

#[test]
fn the_items_of_a_stream_are_one_answer() {
    let serving = Serving::start(&["--listen", "tcp://127.0.0.1:0"]);
    for url in serving.urls() {
        for more in [&[][..], &["--concurrent"]] {
            let output = parts(run_with("count 3\n", &[&["batch", &url, "--lines"], more].concat()));
            let expected = "{\"jsonrpc\":\"2.0\",\"result\":[1,2,3],\"id\":1}\n".to_owned();
            assert_eq!(output, (Some(0), expected, String::new()), "{url} {more:?}");
        }
    }
}

#[test]
fn version_1_has_calls_but_no_batches() {
    let serving = Serving::start(&[]);
    let url = serving.url();
    let (code, _, stderr) = parts(run_with("sum 1\n", &["batch", &url, "--v1"]));
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("add `--concurrent`"), "{stderr}");
    let (code, stdout, stderr) = parts(run_with("sum 1\n", &["batch", &url, "--v1", "--concurrent"]));
    assert_eq!((code, stdout.contains("\"result\":1")), (Some(0), true), "{stdout}{stderr}");
}

#[test]
fn where_nothing_listens_nothing_is_shown_but_why() {
    let (listener, url) = listener();
    drop(listener);
    for more in [&[][..], &["--concurrent"]] {
        let (code, stdout, stderr) = parts(run_with("sum 1\nsum 2\n", &[&["batch", &url], more].concat()));
        assert_eq!((code, stdout.as_str()), (Some(3), ""), "{stderr}");
        assert!(stderr.contains("start a server with"), "{stderr}");
    }
}

#[test]
fn input_that_is_wrong_is_told_with_its_place() {
    let check = |input: &str, expected: &str| {
        let (code, stdout, stderr) = parts(run_with(input, &["batch", "http://127.0.0.1:1"]));
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{input}");
        assert!(stderr.contains(expected), "{input}: {stderr}");
    };
    check("", "stdin contains no calls; write one per line");
    check("sum\nmath/add a=1 2\n", "line 2: \"2\" has no name");
    check("[1]", "request 1 is not a JSON object");
    let (code, _, stderr) = parts(run(&["batch", "http://127.0.0.1:1", "/no/such/file"]));
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("cannot read /no/such/file"), "{stderr}");
}
