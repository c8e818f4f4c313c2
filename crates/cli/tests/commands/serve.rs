//! `switchboard serve` from its banner to its end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;

use crate::program::{Serving, listener, parts, run};

#[test]
fn the_banner_shows_where_it_listens_what_it_serves_and_how_to_try_it() {
    let serving = Serving::start(&[]);
    let (banner, url) = (&serving.banner, serving.url());
    assert!(!url.ends_with(":0"), "{banner}");
    for part in [
        concat!("switchboard ", env!("CARGO_PKG_VERSION"), "\n"),
        "\nMethods\n  arithmetic\n    add(a, b)  ",
        "\n    math/add(a, b)               ",
        "  Adds two numbers.\n",
        "\n    sum(numbers…)  ",
        &format!("  {url}/ in a browser\n"),
        &format!("  curl {url} -H 'content-type: application/json' -d '"),
        &format!("  switchboard call {url} math/add a=2 b=3\n"),
        &format!("  curl -N '{url}/rpc/stream?method=ticks&count=3'\n"),
        &format!("  switchboard call {}/rpc/ws ticks count=3\n", url.replace("http:", "ws:")),
    ] {
        assert!(banner.contains(part), "no {part:?} in {banner}");
    }
    assert!(!banner.contains('\u{1b}'), "colours in a pipe");
}

#[test]
fn every_address_given_is_served() {
    let serving = Serving::start(&["--listen", "http://localhost:0"]);
    let urls = serving.urls();
    assert_eq!(urls.len(), 2, "{urls:?}");
    for url in urls {
        let (code, stdout, stderr) = parts(run(&["call", &url, "math/add", "2", "3"]));
        assert_eq!((code, stdout.as_str()), (Some(0), "5\n"), "{stderr}");
    }
}

#[test]
fn limits_and_hosts_are_those_of_the_command_line() {
    let serving = Serving::start(&["--max-body", "64", "--allow-host", "rpc.example"]);
    let url = serving.url();
    let check = |arguments: &[&str], code: i32| {
        let output = run(&[&["call", &url, "-H"], arguments].concat());
        assert_eq!(output.status.code(), Some(code), "{arguments:?}: {output:?}");
    };
    check(&["Host: rpc.example", "sum"], 0);
    check(&["Host: 127.0.0.1", "sum"], 1);
    check(&["Host: rpc.example", "echo", &"x".repeat(100)], 1);
}

#[cfg(unix)]
#[test]
fn the_operator_learns_once_how_to_allow_a_host() {
    let mut serving = Serving::start(&[]);
    let url = serving.url();
    for _ in 0..3 {
        let (code, _, stderr) = parts(run(&["call", &url, "-H", "Host: rpc.example", "sum"]));
        assert_eq!(code, Some(1), "{stderr}");
        assert!(!stderr.contains("--allow-host"), "{stderr}");
    }
    let said = serving.read_until("--allow-host NAME");
    assert!(!said.contains("rpc.example"), "{said}");
    serving.signal("TERM");
    assert!(!serving.read_until("Stopping").contains("--allow-host"));
}

#[test]
fn what_callers_log_is_shown_to_who_asks_and_cannot_pass_for_another_line() {
    let mut serving = Serving::start(&["-v"]);
    let log = ["notify_log", "message=one\nERROR two\u{1b}[2J", "source=me"];
    let output = parts(run(&[&["call", &serving.url()], &log[..]].concat()));
    assert_eq!(output, (Some(0), "null\n".to_owned(), String::new()));
    let said = serving.read_until("says");
    assert!(said.ends_with("\"me\" says \"one\\nERROR two\\u{1b}[2J\"\n"), "{said}");
}

#[cfg(unix)]
#[test]
fn a_call_under_way_is_finished_after_the_signal() {
    let mut serving = Serving::start(&[]);
    let url = serving.url();
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"math/add","params":[2,3]}"#;
    write!(
        stream,
        "POST / HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\
         expect: 100-continue\r\n\r\n",
        body.len()
    )
    .unwrap();
    // Once it asks for the body, the request is under way.
    let mut lines = BufReader::new(stream.try_clone().unwrap());
    let mut line = String::new();
    lines.read_line(&mut line).unwrap();
    assert_eq!(line, "HTTP/1.1 100 Continue\r\n");

    serving.signal("TERM");
    serving.read_until("Stopping");
    stream.write_all(body.as_bytes()).unwrap();
    let mut answer = String::new();
    lines.read_to_string(&mut answer).unwrap();
    assert!(answer.ends_with(r#"{"jsonrpc":"2.0","result":5,"id":1}"#), "{answer}");
    let (status, stdout) = serving.wait();
    assert_eq!((status.code(), stdout.as_str()), (Some(0), ""));
}

#[cfg(unix)]
#[test]
fn a_second_signal_does_not_wait() {
    let mut serving = Serving::start(&[]);
    let url = serving.url();
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST / HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: 10\r\n\
         expect: 100-continue\r\n\r\n"
    )
    .unwrap();
    BufReader::new(stream.try_clone().unwrap()).read_line(&mut String::new()).unwrap();
    serving.signal("INT");
    serving.read_until("Stopping");
    serving.signal("INT");
    assert_eq!(serving.wait().0.code(), Some(130));
}

#[test]
fn a_port_in_use_cannot_be_listened_on() {
    let (_listener, url) = listener();
    let (code, _, stderr) = parts(run(&["serve", "--listen", &url]));
    assert_eq!(code, Some(6), "{stderr}");
    assert!(stderr.contains("choose another port"), "{stderr}");
}

#[test]
fn a_wrong_command_line_says_what_would_be_right() {
    let check = |arguments: &[&str], expected: &str| {
        let (code, _, stderr) = parts(run(&[&["serve"], arguments].concat()));
        assert_eq!(code, Some(2), "{arguments:?}: {stderr}");
        assert!(stderr.contains(expected), "{arguments:?}: {stderr}");
    };
    // SEC-O-05
    check(&["--listen", "http://0.0.0.0:0"], "add `--public`");
    check(&["--listen", "http://[::]:0"], "add `--public`");
    check(&["--listen", "ftp://127.0.0.1:0"], "this build knows \"http\"");
    check(&["--listen", "http://127.0.0.1"], "no port");
    check(&["--listen", "https://127.0.0.1:0"], "add `--tls-cert FILE --tls-key FILE`");
    check(&["--tls-cert", "a.pem"], "--tls-key");
    check(&["--tls-cert", "/no/such", "--tls-key", "/no/such"], "cannot read /no/such");
    check(&["--listen", "exec:cat"], "servers cannot listen at");
    check(&["--allow-host", "a b"], "is no host");
    check(&["--allow-origin", "app.example.com"], "is no origin");
    check(&["--cors"], "--allow-origin");
    check(&["--max-body", "big"], "64k");
}

#[test]
fn other_machines_are_let_in_if_that_is_said() {
    let serving = Serving::start(&["--listen", "http://0.0.0.0:0", "--public"]);
    assert!(serving.urls()[1].starts_with("http://0.0.0.0:"), "{}", serving.banner);
}

#[test]
fn the_help_has_examples_and_exit_codes() {
    let (code, help, _) = parts(run(&["serve", "--help"]));
    assert_eq!(code, Some(0));
    for part in
        ["--listen http://127.0.0.1:0", "Exit codes:", "or else http://127.0.0.1:8000", "[default: 4M]"]
    {
        assert!(help.contains(part), "no {part:?} in {help}");
    }
    let (_, help, _) = parts(run(&["--help"]));
    assert!(help.contains("switchboard serve\n") && help.contains("call"), "{help}");
}

#[test]
fn what_fails_is_logged_by_its_method_if_that_is_asked_for() {
    let mut serving = Serving::start(&["-v"]);
    let url = serving.url();
    run(&["notify", &url, "no\nsuch"]);
    let log = serving.read_until("failed");
    assert!(
        log.contains("a notification failed") && log.contains(r#"method="no\nsuch" code=-32601"#),
        "{log}"
    );
    run(&["notify", &url, "notify_log"]);
    let log = serving.read_until("failed");
    assert!(log.contains(r#"method="notify_log" code=-32602"#), "{log}");
    run(&["call", &url, "math/sqrt", "--", "-1"]);
    let log = serving.read_until("failed");
    assert!(log.contains(r#"a call failed method="math/sqrt" code=-32001"#), "{log}");
    run(&["notify", &url, "logEvent", "event=login"]);
    let log = serving.read_until("the event");
    assert!(log.contains(r#"the event {"event":"login"}"#), "{log}");
}

#[test]
fn who_asks_for_a_port_is_told_how_to_listen_there() {
    for arguments in [&["serve", "--port", "8001"][..], &["serve", "8001"]] {
        let (code, _, stderr) = parts(run(arguments));
        assert_eq!(code, Some(2), "{stderr}");
        assert!(stderr.contains("--listen http://127.0.0.1:8001"), "{stderr}");
    }
}

#[cfg(unix)]
#[test]
fn a_socket_without_its_folder_is_told_with_what_to_do_about_it() {
    let (code, _, stderr) = parts(run(&["serve", "--listen", "unix:/no/such/folder/rpc.sock"]));
    assert_eq!(code, Some(6), "{stderr}");
    assert!(stderr.contains("make the folder"), "{stderr}");
}
