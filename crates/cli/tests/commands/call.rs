//! `switchboard call` as a script sees it: what is on stdout and stderr, and the exit code.

use std::io::Read;
use std::process::Stdio;

use crate::program::{Serving, answering, listener, parts, program, run, run_with};

#[test]
fn parameters_go_by_name_by_position_as_json_and_from_stdin() {
    let serving = Serving::start(&[]);
    let url = serving.url();
    let check = |arguments: &[&str], expected: &str| {
        let output = parts(run(&[&["call", &url], arguments].concat()));
        assert_eq!(output, (Some(0), expected.to_owned(), String::new()), "{arguments:?}");
    };
    check(&["math/add", "a=2", "b=3"], "5\n");
    check(&["math/add", "2", "3"], "5\n");
    check(&["math/add", "-2", "3.5"], "1.5\n");
    check(&["math/add", "[2,3]"], "5\n");
    check(&["math/add", r#"{"a":2,"b":3}"#], "5\n");
    check(
        &["echo", r#"message={"b": 1.50, "a": 12345678901234567890123}"#],
        "{\"b\": 1.50, \"a\": 12345678901234567890123}\n",
    );
    check(&["echo", "message=\"5\""], "\"5\"\n");
    check(&["echo", "hello"], "\"hello\"\n");
    check(&["count", "3"], "1\n2\n3\n");
    check(&["sum"], "0\n");
    check(&["--v1", "math/add", "2", "3"], "5\n");
    check(&["--raw", "--timeout", "5", "-H", "X-Test: 1", "math/add", "2", "3"], "5\n");
    check(&["--notify", "echo", "hello"], "");
    check(&["--notify", "no/such", "hello"], "");
    let output = parts(run_with("[2, 3]\n", &["call", &url, "math/add", "-"]));
    assert_eq!(output, (Some(0), "5\n".to_owned(), String::new()));
}

#[test]
fn an_error_of_the_server_is_one_line_of_json_on_stderr() {
    let serving = Serving::start(&[]);
    let url = serving.url();
    let check = |arguments: &[&str], expected: &str| {
        let (code, stdout, stderr) = parts(run(&[&["call", &url], arguments].concat()));
        assert_eq!((code, stdout.as_str()), (Some(1), ""), "{arguments:?}");
        assert_eq!(stderr, expected, "{arguments:?}");
    };
    check(
        &["no/such"],
        &format!(
            "{{\"code\":-32601,\"message\":\"Method not found\",\"data\":{{\"method\":\"no/such\"}},\
             \"advice\":\"`switchboard discover {url}` lists the methods\"}}\n"
        ),
    );
    check(
        &["math/ad", "2", "3"],
        "{\"code\":-32601,\"message\":\"Method not found\",\"data\":{\"method\":\"math/ad\"},\
         \"advice\":\"did you mean `math/add` or `add`?\"}\n",
    );
    check(
        &["math/sqrt", "-1"],
        "{\"code\":-32001,\"message\":\"Invalid user data\",\"data\":{\"details\":\"x must not be negative\"}}\n",
    );
}

#[test]
fn a_refused_notification_is_a_failure() {
    let serving = Serving::start(&[]);
    let (code, stdout, stderr) =
        parts(run(&["call", &serving.url(), "--notify", "-H", "Host: evil.example", "echo", "x"]));
    assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
}

#[test]
fn where_nothing_listens_the_advice_is_to_start_it() {
    let (listener, url) = listener();
    drop(listener);
    let (code, stdout, stderr) = parts(run(&["call", &url, "math/add", "2", "3"]));
    assert_eq!((code, stdout.as_str()), (Some(3), ""), "{stderr}");
    let target = url.strip_prefix("http://").unwrap();
    let expected = format!(
        "error: nothing is listening on {target}; start a server with `switchboard serve --listen {url}`\n"
    );
    assert_eq!(stderr, expected);
}

#[test]
fn a_host_without_an_address_cannot_be_reached() {
    let (code, _, stderr) = parts(run(&["call", "http://no-such-host.invalid:1", "echo"]));
    assert_eq!(code, Some(3), "{stderr}");
    assert!(stderr.contains("check the host"), "{stderr}");
}

#[test]
fn a_connection_that_ends_without_an_answer_counts_as_not_reached() {
    let (code, _, stderr) = parts(run(&["call", &answering(""), "echo", "x"]));
    assert_eq!(code, Some(3), "{stderr}");
}

#[test]
fn an_answer_that_does_not_come_is_waited_for_only_so_long() {
    let (_listener, url) = listener();
    let (code, stdout, stderr) = parts(run(&["call", &url, "echo", "x", "--timeout", "0.2"]));
    assert_eq!((code, stdout.as_str()), (Some(4), ""), "{stderr}");
    assert!(stderr.contains("`--timeout`"), "{stderr}");
}

#[test]
fn a_timeout_has_its_exit_code_whichever_side_notices_first() {
    let serving = Serving::start(&["--listen", "tcp://127.0.0.1:0"]);
    for url in serving.urls() {
        let (code, stdout, stderr) = parts(run(&["call", &url, "wait", "20", "--timeout", "0.3"]));
        assert_eq!((code, stdout.as_str()), (Some(4), ""), "{url}: {stderr}");
        assert!(stderr.contains("the timeout was 300ms; raise it with `--timeout`"), "{stderr}");
        // A time of the far side's own is an error like others.
        let (code, _, stderr) = parts(run(&["call", &url, "demo/error", "timeout"]));
        assert_eq!((code, stderr.contains("-32003")), (Some(1), true), "{url}: {stderr}");
    }
}

#[test]
fn what_is_no_json_rpc_has_a_code_of_its_own() {
    let check = |answer, expected: &str| {
        let (code, stdout, stderr) = parts(run(&["call", &answering(answer), "echo", "x"]));
        assert_eq!((code, stdout.as_str()), (Some(5), ""), "{answer}: {stderr}");
        assert!(stderr.contains(expected), "{stderr}");
    };
    let address = "check the URL";
    check("HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 13\r\n\r\n<html></html>", address);
    check(
        "HTTP/1.1 404 Not Found\r\ncontent-type: text/html\r\ncontent-length: 13\r\n\r\n<html></html>",
        address,
    );
    check("HTTP/1.1 200 OK\r\ncontent-length: 8\r\n\r\n{\"a\": 1}", address);
    check("SSH-2.0-OpenSSH_9.2\r\n\r\n", "is not HTTP");
    // J2-66
    let both = "HTTP/1.1 200 OK\r\ncontent-length: 49\r\n\r\n{\"jsonrpc\":\"2.0\",\"result\":5,\"error\":null,\"id\":1} ";
    check(both, "JSON-RPC 2.0 (section 5) allows only one of them");
}

#[test]
fn a_wrong_command_line_says_what_would_be_right() {
    let check = |arguments: &[&str], expected: &str| {
        let (code, stdout, stderr) = parts(run(&[&["call"], arguments].concat()));
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{arguments:?}: {stderr}");
        assert!(stderr.contains(expected), "{arguments:?}: {stderr}");
    };
    check(&["http://127.0.0.1:1", "echo", "a=1", "2"], "all by position");
    check(&["http://127.0.0.1:1", "echo", "[1"], "not JSON");
    check(&["localhost", "echo"], "`switchboard call URL METHOD`");
    check(
        &["math/add", "http://127.0.0.1:1", "2", "3"],
        "`switchboard call http://127.0.0.1:1 math/add 2 3`",
    );
    check(&["ftp://127.0.0.1", "echo"], "this build supports \"http\"");
    check(&["htp://127.0.0.1", "echo"], "did you mean \"http\"?");
    check(&["http://127.0.0.1:1?framing=lsp", "echo"], "takes no framing");
    check(&["stdio", "echo"], "cannot be called");
    check(&["https://127.0.0.1:1", "echo", "--cert", "a.pem"], "--key");
    check(&["https://127.0.0.1:1", "echo", "--cacert", "/no/such/file"], "cannot read /no/such/file");
    check(&["http://127.0.0.1:1", "echo", "--timeout", "soon"], "use 5s, 500ms, 2m or 1h");
    check(&["http://127.0.0.1:1", "echo", "--retry", "x"], "use a whole number, 0 or more");
    check(&["http://127.0.0.1:1", "echo", "-H", "x"], "'Name: value'");
    check(&["http://127.0.0.1:1"], "<METHOD>");
    check(&["http://127.0.0.1:1", "echo", "--notfy"], "--notify");
}

#[test]
fn a_reader_that_has_seen_enough_is_no_failure() {
    let serving = Serving::start(&[]);
    let mut command = program(&["call", &serving.url(), "count", "20000"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    drop(child.stdout.take());
    let mut stderr = String::new();
    child.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
    assert_eq!((child.wait().unwrap().code(), stderr.as_str()), (Some(0), ""));
}

#[test]
fn the_help_has_examples_and_exit_codes() {
    let (code, help, _) = parts(run(&["call", "--help"]));
    assert_eq!(code, Some(0));
    for part in [
        "switchboard call http://127.0.0.1:8000 math/add a=2 b=3",
        "Exit codes:",
        "3    the server could not be reached",
        "NO_COLOR",
        "--notify",
        "[default: 30s]",
    ] {
        assert!(help.contains(part), "no {part:?} in {help}");
    }
    assert!(!help.contains('\u{1b}'), "colours in a pipe");
    let (_, short, _) = parts(run(&["call", "-h"]));
    assert!(short.contains("Examples:") && !short.contains("Exit codes:"), "{short}");
}

#[test]
fn a_parameter_that_is_written_as_an_option_is_told_how_to_be_written() {
    let (code, _, stderr) = parts(run(&["call", "http://127.0.0.1:1", "math/add", "--a", "2"]));
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("'a=2'") && !stderr.contains("--cacert"), "{stderr}");
}

#[test]
fn a_text_that_was_read_as_a_named_parameter_is_explained() {
    let serving = Serving::start(&[]);
    let url = serving.url();
    let (code, _, stderr) = parts(run(&["call", &url, "echo", "a=b"]));
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("`a=b` was read as the parameter `a` with the value `b`"), "{stderr}");
    assert!(stderr.contains(r#"write '\"a=b\"'"#), "{stderr}");
    let output = parts(run(&["call", &url, "echo", "\"a=b\""]));
    assert_eq!(output, (Some(0), "\"a=b\"\n".to_owned(), String::new()));
}

#[test]
fn a_request_that_is_too_large_is_answered_with_the_option_of_the_server() {
    let serving = Serving::start(&["--listen", "tcp://127.0.0.1:0", "--max-body", "1k"]);
    let message = format!("[\"{}\"]", "x".repeat(2000));
    let mut urls = serving.urls();
    urls.push(urls[0].replace("http:", "ws:"));
    for url in urls {
        let (code, _, stderr) = parts(run_with(&message, &["call", &url, "echo", "-"]));
        assert_eq!(
            (code, stderr.contains("`switchboard serve --max-body 16M`")),
            (Some(1), true),
            "{url}: {stderr}"
        );
    }
}

#[cfg(unix)]
#[test]
fn what_a_program_printed_instead_of_messages_is_shown() {
    let (code, _, stderr) = parts(run(&["call", "exec:echo hello", "add", "2", "3"]));
    assert_eq!((code, stderr.contains("it printed: hello;")), (Some(3), true), "{stderr}");
}
