//! `switchboard batch`: calls from a file or stdin, and their answers in order.

use crate::program::{Serving, listener, parts, run, run_with};

const CALLS: &str = "# three calls and a notification\n\
    math/add a=2 b=3\n\
    ! echo hello\n\
    echo message=\"two words\"\n\
    {\"method\": \"sum\", \"params\": [1, 2], \"id\": \"mine\"}\n";

const ANSWERS: [&str; 3] = [
    r#"{"jsonrpc":"2.0","id":1,"result":5}"#,
    r#"{"jsonrpc":"2.0","id":3,"result":"two words"}"#,
    r#"{"jsonrpc":"2.0","id":"mine","result":3}"#,
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
        assert!(
            stdout.starts_with(r#"[{"jsonrpc":"2.0","id":1,"result":1},{"jsonrpc":"2.0","id":2,"error":{"#)
        );
        assert!(stdout.contains(r#""error":{"code":-32601,"message":"Method not found"}"#), "{stdout}");
    }
}

#[test]
fn a_json_array_is_sent_as_it_is_with_its_own_identifiers() {
    let serving = Serving::start(&[]);
    let text = r#"[{"jsonrpc":"2.0","id":7,"method":"sum","params":[1]},{"method":"echo","params":["x"]}]"#;
    let output = parts(run_with(text, &["batch", &serving.url()]));
    let expected = "[{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":1}]\n".to_owned();
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
            let expected = "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":[1,2,3]}\n".to_owned();
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
        assert!(stderr.contains("start it with"), "{stderr}");
    }
}

#[test]
fn input_that_is_wrong_is_told_with_its_place() {
    let check = |input: &str, expected: &str| {
        let (code, stdout, stderr) = parts(run_with(input, &["batch", "http://127.0.0.1:1"]));
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{input}");
        assert!(stderr.contains(expected), "{input}: {stderr}");
    };
    check("", "stdin holds no calls; write one a line");
    check("sum\nmath/add a=1 2\n", "line 2: \"2\" has no name");
    check("[1]", "request 1 is no JSON object");
    let (code, _, stderr) = parts(run(&["batch", "http://127.0.0.1:1", "/no/such/file"]));
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("cannot read /no/such/file"), "{stderr}");
}
