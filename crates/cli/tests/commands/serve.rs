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
        &format!("  switchboard call {}/ws ticks count=3\n", url.replace("http:", "ws:")),
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
    check(&["--listen", "ftp://127.0.0.1:0"], "this build supports \"http\"");
    check(&["--listen", "http://127.0.0.1"], "no port");
    check(&["--listen", "https://127.0.0.1:0"], "add `--tls-cert FILE --tls-key FILE`");
    check(&["--tls-cert", "a.pem"], "--tls-key");
    check(&["--tls-cert", "/no/such", "--tls-key", "/no/such"], "cannot read /no/such");
    check(&["--listen", "exec:cat"], "servers cannot listen on");
    check(&["--allow-host", "a b"], "is not a host");
    check(&["--allow-origin", "app.example.com"], "is not an origin");
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
    for part in ["switchboard serve 8077", "Exit codes:", "http://127.0.0.1:8000", "[default: 4M]"] {
        assert!(help.contains(part), "no {part:?} in {help}");
    }
    let (_, help, _) = parts(run(&["--help"]));
    assert!(help.contains("switchboard serve\n") && help.contains("call"), "{help}");
}

#[test]
fn every_call_is_logged_if_that_is_asked_for() {
    let mut serving = Serving::start(&["-v"]);
    let url = serving.url();
    run(&["notify", &url, "no\nsuch"]);
    let line = serving.read_until("notification");
    assert!(
        line.contains(
            r#""level":"warn","event":"notification","outcome":"error","code":-32601,"method":"no\u000asuch""#
        ),
        "{line}"
    );
    run(&["call", &url, "math/add", "2", "3"]);
    let line = serving.read_until("math/add");
    assert!(
        line.contains(r#""level":"info","event":"call","outcome":"ok","method":"math/add","id":1,"ms":"#),
        "{line}"
    );
    run(&["notify", &url, "logEvent", "event=login"]);
    let log = serving.read_until("the event");
    assert!(log.contains(r#"the event {"event":"login"}"#), "{log}");
}

#[test]
fn calls_are_logged_to_a_file_by_the_rules_of_the_configuration() {
    let folder = std::env::temp_dir().join(format!("switchboard-calls-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let config = "[log]\nfile = \"calls.jsonl\"\nlevels = { \"math/*\" = \"off\" }\n";
    std::fs::write(folder.join("switchboard.toml"), config).unwrap();
    let serving = Serving::start(&["--config", &folder.join("switchboard.toml").display().to_string()]);
    for method in ["sum", "math/add", "nothing"] {
        run(&["call", &serving.url(), method, "1", "2"]);
    }
    serving.signal("TERM");
    let (status, log) = serving.wait();
    assert!(status.success() && !log.contains("\"event\""), "{log}");
    let lines = std::fs::read_to_string(folder.join("calls.jsonl")).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let methods = lines.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let methods: Vec<_> = methods.map(|line| line["method"].as_str().unwrap().to_owned()).collect();
    // A client asks what there is when a method is missing.
    assert_eq!(methods, ["sum", "nothing", "rpc.discover"], "{lines}");
}

#[test]
fn a_port_or_a_url_may_be_an_argument_or_follow_the_option() {
    let serving = Serving::start(&["0", "tcp://127.0.0.1:0", "--listen", "0"]);
    let urls = serving.urls();
    let schemes: Vec<&str> = urls.iter().map(|url| url.split("0.0.1:").next().unwrap()).collect();
    assert_eq!(schemes, ["http://127.", "tcp://127.", "http://127.", "http://127."], "{urls:?}");
    for url in urls {
        let (code, stdout, stderr) = parts(run(&["call", &url, "add", "2", "3"]));
        assert_eq!((code, stdout.as_str()), (Some(0), "5\n"), "{url}: {stderr}");
    }
    let (code, _, stderr) = parts(run(&["serve", "70000"]));
    assert_eq!((code, stderr.contains("65535")), (Some(2), true), "{stderr}");
    let (code, _, stderr) = parts(run(&["serve", "--port", "8001"]));
    assert_eq!((code, stderr.contains("'switchboard serve 8001'")), (Some(2), true), "{stderr}");
}

#[cfg(unix)]
#[test]
fn a_socket_in_a_missing_folder_is_refused_with_the_command_that_creates_it() {
    let (code, _, stderr) = parts(run(&["serve", "unix:/no/such folder/rpc.sock?framing=lsp"]));
    assert_eq!(code, Some(6), "{stderr}");
    for part in ["/no/such folder/rpc.sock: ", "the folder /no/such folder: ", "`mkdir -p '/no/such folder'`"]
    {
        assert!(stderr.contains(part), "no {part} in {stderr}");
    }
}

#[test]
fn durations_may_have_units() {
    let serving = Serving::start(&["--drain-time", "500ms", "--timeout", "100ms", "--idle-time", "2m"]);
    let (code, _, stderr) = parts(run(&["call", &serving.url(), "wait", "5", "--timeout", "1m"]));
    assert_eq!((code, stderr.contains("-32003")), (Some(1), true), "{stderr}");
    let (code, _, stderr) = parts(run(&["serve", "--drain-time", "5x"]));
    assert_eq!((code, stderr.contains("use 5s, 500ms, 2m or 1h")), (Some(2), true), "{stderr}");
}

/// Calls over a new connection that stays open; gives the status of the answer.
#[cfg(unix)]
fn ask(address: &str) -> (String, BufReader<TcpStream>) {
    let body = r#"{"jsonrpc":"2.0","method":"sum","params":[1,2],"id":1}"#;
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!("POST / HTTP/1.1\r\nhost: {address}\r\ncontent-type: application/json\r\n");
    write!(stream, "{head}content-length: {}\r\n\r\n{body}", body.len()).unwrap();
    let (mut stream, mut status) = (BufReader::new(stream), String::new());
    stream.read_line(&mut status).unwrap();
    (status, stream)
}

#[cfg(unix)]
#[test]
fn connections_that_do_not_fit_under_the_limit_on_open_files_are_503_and_the_log_stays_short() {
    let mut serving = Serving::start_under("-n 64", &[]);
    let (log, url) = (serving.log(), serving.url());
    let address = url.strip_prefix("http://").unwrap();
    let mut open = Vec::new();
    for count in 0..200 {
        let (status, stream) = ask(address);
        let expected =
            if count < 48 { "HTTP/1.1 200 OK\r\n" } else { "HTTP/1.1 503 Service Unavailable\r\n" };
        assert_eq!(status, expected, "connection {count}");
        if count < 48 {
            open.push(stream);
        }
    }
    // Many at once find no more files; each is answered or closed, and none is waited for.
    let flood: Vec<TcpStream> = (0..200).map(|_| TcpStream::connect(address).unwrap()).collect();
    for mut stream in flood {
        // It may be reset, as far as it was not read.
        let _ = stream.read_to_end(&mut Vec::new());
    }
    serving.signal("TERM");
    serving.wait();
    let log = log.join().unwrap();
    assert_eq!(log.matches("accepting at most 48 connections instead of 1024").count(), 1, "{log}");
    // Failures to accept are logged every 30 s: there is one, because it does not take that long.
    assert!(log.matches("cannot accept connections").count() <= 1, "{log}");
    assert!(log.lines().count() <= 3, "{log}");
}

#[cfg(unix)]
#[test]
fn the_limit_on_open_files_is_raised() {
    let mut serving = Serving::start_under("-S -n 64", &["--max-connections", "200"]);
    let (log, url) = (serving.log(), serving.url());
    let address = url.strip_prefix("http://").unwrap();
    let open: Vec<_> = (0..200).map(|_| ask(address)).collect();
    for (status, _) in &open {
        assert_eq!(status, "HTTP/1.1 200 OK\r\n");
    }
    serving.signal("TERM");
    serving.wait();
    let log = log.join().unwrap();
    assert!(!log.contains("WARN"), "{log}");
}

#[test]
fn idle_connections_are_closed_after_the_time_given() {
    let serving = Serving::start(&["--listen", "tcp://127.0.0.1:0", "--idle-time", "100ms"]);
    let url = serving.urls().remove(1);
    let mut stream = TcpStream::connect(url.strip_prefix("tcp://").unwrap()).unwrap();
    stream.write_all(b"{\"jsonrpc\":\"2.0\",\"method\":\"sum\",\"params\":[1,2],\"id\":1}\n").unwrap();
    let mut all = String::new();
    stream.read_to_string(&mut all).unwrap();
    assert_eq!(all, "{\"jsonrpc\":\"2.0\",\"result\":3,\"id\":1}\n");
}
