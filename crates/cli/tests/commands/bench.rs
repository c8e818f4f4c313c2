//! `switchboard bench`, over every carrier.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::{Command, Stdio};
use std::time::Duration;

use serde_json::Value;

use crate::far::Far;
use crate::program::{Serving, answering, listener, parts, program, run};

/// The report of a run with these arguments.
fn report(arguments: &[&str]) -> (Option<i32>, Value, String) {
    let (code, stdout, stderr) = parts(run(&[&["bench"], arguments].concat()));
    let report = serde_json::from_str(&stdout).unwrap_or_else(|error| panic!("{error}: {stdout}{stderr}"));
    (code, report, stderr)
}

#[test]
fn every_carrier_is_measured() {
    let path = format!("{}/bench-{}.socket", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    let unix = format!("unix:{path}");
    let serving = Serving::start(&["--listen", "tcp://127.0.0.1:0", "--listen", &unix]);
    let mut urls = serving.urls();
    urls.push(urls[0].replace("http:", "ws:"));
    urls.push(format!("exec:{} serve --stdio", env!("CARGO_BIN_EXE_switchboard")));
    assert_eq!(urls.len(), 5);
    for url in &urls {
        let arguments =
            [url, "math/add", "a=2", "b=3", "--count", "200", "--depth", "4", "--connections", "2"];
        let (code, report, stderr) = report(&arguments);
        assert_eq!(code, Some(0), "{url}: {stderr}");
        assert_eq!(
            (&report["results"], &report["errors"]["total"]),
            (&200.into(), &0.into()),
            "{url}: {report}"
        );
        let bytes = |way: &str| report["bytes"][way].as_u64().unwrap();
        // What is on the wire is more than the messages, and no more than messages and heads.
        assert!((200 * 60..200 * 300).contains(&bytes("sent")), "{url}: {report}");
        assert!((200 * 40..200 * 300).contains(&bytes("received")), "{url}: {report}");
        assert!(report["latencyNs"]["p99"].as_u64().unwrap() > 0, "{url}: {report}");
        assert!(stderr.is_empty(), "a pipe has no bar: {stderr}");
    }
}

#[test]
fn http_is_measured_pipelined_and_in_version_2() {
    let serving = Serving::start(&[]);
    let url = serving.url();
    for option in ["--http2", "--pipeline"] {
        let arguments = [&url, "math/add", "a=2", "b=3", "--count", "500", "--depth", "16", option];
        let (code, report, stderr) = report(&arguments);
        assert_eq!((code, &report["results"]), (Some(0), &500.into()), "{option}: {report} {stderr}");
        assert!(report["bytes"]["received"].as_u64().unwrap() > 500 * 40, "{option}: {report}");
    }
    let (code, _, stderr) = parts(run(&["bench", &url.replace("http:", "ws:"), "x", "--http2"]));
    assert_eq!(code, Some(2));
    assert!(stderr.contains("--http2"), "{stderr}");
}

#[test]
fn a_batch_that_is_too_large_is_explained() {
    let serving = Serving::start(&[]);
    for url in [serving.url(), serving.url().replace("http:", "ws:")] {
        let arguments = [&url, "math/add", "2", "3", "--batch", "5000", "--count", "10000"];
        let (code, report, stderr) = report(&arguments);
        assert_eq!(code, Some(1), "{url}: {stderr}");
        assert_eq!(report["errors"]["refusedBatches"], 2, "{report}");
        let by_code = &report["errors"]["byCode"][0];
        assert_eq!((&by_code["count"], by_code["code"].is_i64()), (&10000.into(), true), "{report}");
        assert!(by_code["message"].as_str().is_some_and(|message| !message.is_empty()), "{report}");
        assert!(stderr.contains("try a smaller `--batch`"), "{stderr}");
    }
}

#[test]
fn the_wire_is_shown() {
    let serving = Serving::start(&[]);
    let arguments = ["bench", &serving.url(), "math/add", "2", "3", "--count", "2", "-v"];
    let (code, _, stderr) = parts(run(&arguments));
    assert_eq!(code, Some(0));
    assert_eq!(stderr.matches("--> {\"jsonrpc\":\"2.0\",\"method\":\"math/add\"").count(), 2, "{stderr}");
    assert_eq!(stderr.matches("\"result\":5,\"id\":").count(), 2, "{stderr}");
}

#[test]
fn what_is_no_answer_is_told_with_what_came() {
    let url = answering("HTTP/1.1 404 Not Found\r\nContent-Length: 9\r\n\r\nnot here\n");
    let (code, report, stderr) = report(&[&url, "x", "--count", "1", "--connections", "1"]);
    assert_eq!(code, Some(5), "{stderr}");
    assert_eq!(report["errors"]["byKind"][0]["kind"], "badAnswer", "{report}");
    assert_eq!(report["errors"]["byKind"][0]["first"], "HTTP status 404: not here", "{report}");
}

#[test]
fn a_server_that_closes_after_each_answer_is_measured_too() {
    let (listener, url) = listener();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut request = [0; 4096];
            let length = stream.read(&mut request).unwrap();
            let request = String::from_utf8_lossy(&request[..length]).into_owned();
            let id = request.rsplit(':').next().unwrap().trim_end_matches('}').to_owned();
            let body = format!(r#"{{"jsonrpc":"2.0","result":1,"id":{id}}}"#);
            let head =
                format!("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: {}\r\n\r\n", body.len());
            stream.write_all((head + &body).as_bytes()).unwrap();
        }
    });
    let (code, report, stderr) = report(&[&url, "x", "--count", "50", "--connections", "1"]);
    assert_eq!(
        (code, &report["results"], &report["errors"]["total"]),
        (Some(0), &50.into(), &0.into()),
        "{stderr}"
    );
    // After the last one nothing is left to call for.
    assert!(report["reconnects"].as_u64().unwrap() >= 49, "{report}");
}

#[test]
fn a_rate_makes_as_many_calls_as_are_due() {
    let serving = Serving::start(&[]);
    let url = serving.url();
    let (_, report, _) =
        report(&[&url, "math/add", "2", "3", "--rate", "400", "--duration", "0.5", "--warm-up", "0.1"]);
    let (calls, unsent) = (report["calls"].as_u64().unwrap(), report["pacing"]["unsent"].as_u64().unwrap());
    assert_eq!(calls + unsent, 200, "{report}");
}

#[test]
fn batches_and_streams_are_measured() {
    let serving = Serving::start(&[]);
    let ws = serving.url().replace("http:", "ws:");
    let (_, found, _) = report(&[&serving.url(), "math/add", "2", "3", "--batch", "10", "--count", "95"]);
    assert_eq!(found["results"], 95, "{found}");
    let (_, found, _) = report(&[&ws, "count", "5", "--count", "10"]);
    assert_eq!((&found["results"], &found["items"]), (&10.into(), &50.into()), "{found}");
}

#[test]
fn errors_are_told_by_code_and_a_run_without_results_fails() {
    let serving = Serving::start(&[]);
    let (code, report, stderr) = report(&[&serving.url(), "nothing", "--count", "7"]);
    assert_eq!(code, Some(1), "{stderr}");
    assert_eq!(report["errors"]["byCode"][0]["code"], -32601, "{report}");
    assert_eq!(report["errors"]["byCode"][0]["count"], 7, "{report}");
    assert!(stderr.contains("no call succeeded") && stderr.contains("switchboard call"), "{stderr}");
}

#[test]
fn a_far_side_that_is_not_there_is_told_at_once() {
    let (listener, url) = listener();
    drop(listener);
    for url in [url.clone(), url.replace("http:", "ws:")] {
        let (code, stdout, stderr) = parts(run(&["bench", &url, "x"]));
        assert_eq!((code, stdout.as_str()), (Some(3), ""), "{stderr}");
        assert!(stderr.contains("nothing is listening on"), "{stderr}");
    }
}

#[test]
fn a_picture_and_a_comparison_are_written() {
    let serving = Serving::start(&[]);
    let place = |name: &str| format!("{}/bench-{}-{name}", env!("CARGO_TARGET_TMPDIR"), std::process::id());
    let (picture, before) = (place("plot.svg"), place("before.json"));
    let url = serving.url();
    let (_, stdout, _) =
        parts(run(&["bench", &url, "math/add", "2", "3", "--count", "100", "--svg", &picture]));
    assert!(std::fs::read_to_string(&picture).unwrap().starts_with("<svg "));
    std::fs::write(&before, stdout).unwrap();
    let (code, _, stderr) = report(&[&url, "math/add", "2", "3", "--count", "100", "--baseline", &before]);
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stderr.contains("Compared with the baseline") && stderr.contains("throughput"), "{stderr}");
    let (code, _, stderr) = parts(run(&["bench", &url, "x", "--baseline", &picture]));
    assert_eq!(code, Some(2), "{stderr}");
}

#[test]
fn ctrl_c_ends_a_run_and_what_was_measured_is_told() {
    let far = Far::start();
    let arguments = ["bench", &far.url, "math/add", "2", "3", "--duration", "600", "--connections", "1"];
    let child = program(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    for _ in 0..10 {
        far.receive("math/add");
    }
    assert!(Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status().unwrap().success());
    let (code, stdout, stderr) = parts(child.wait_with_output().unwrap());
    assert_eq!(code, Some(0), "{stderr}");
    let report: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(report["isInterrupted"], true);
    assert!(report["results"].as_u64().unwrap() > 0, "{report}");
}

#[test]
fn ctrl_c_before_any_result_is_no_success_and_counts_what_was_under_way() {
    let far = Far::start();
    let arguments = ["bench", &far.url, "never", "--duration", "600", "--connections", "2"];
    let child = program(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    far.receive("never");
    far.receive("never");
    assert!(Command::new("kill").args(["-s", "INT", &child.id().to_string()]).status().unwrap().success());
    let (code, stdout, stderr) = parts(child.wait_with_output().unwrap());
    assert_eq!(code, Some(130), "{stderr}");
    let report: Value = serde_json::from_str(&stdout).unwrap();
    let counted = (&report["calls"], &report["underWay"], &report["latencyNs"]);
    assert_eq!(counted, (&0.into(), &2.into(), &Value::Null), "{report}");
}

/// The URL of a server that says the first words to whoever connects and has said something, and then the others again and
/// again, until nobody listens.
fn endless(scheme: &str, first: &'static [u8], then: &'static [u8], pause: Duration) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("{scheme}://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            std::thread::spawn(move || {
                let _ = stream.read(&mut [0; 4096]);
                stream.set_read_timeout(Some(pause).filter(|pause| !pause.is_zero())).unwrap();
                let mut is_heard = stream.write_all(first).is_ok();
                while is_heard && !then.is_empty() {
                    is_heard = stream.write_all(then).is_ok();
                    if !pause.is_zero() {
                        // What comes meanwhile is not answered either.
                        let _ = stream.read(&mut [0; 4096]);
                    }
                }
                // It never answers.
                stream.set_read_timeout(None).unwrap();
                let _ = stream.read_to_end(&mut Vec::new());
            });
        }
    });
    url
}

#[test]
fn no_server_makes_a_run_longer_than_it_was_given() {
    const HEAD: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n";
    const CHUNKED: &[u8] =
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n";
    const SIZED: &[u8] =
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000000\r\n\r\n";
    const UPGRADED: &[u8] =
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
        Sec-WebSocket-Accept: 9BxMBvfsfiOnpE0LJjufQdGKURs=\r\n\r\n";
    const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
    const PING: &[u8] = &[0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8];
    const CONTINUE: &[u8] = b"HTTP/1.1 100 Continue\r\n\r\n";
    let (fast, slow) = (Duration::ZERO, Duration::from_millis(100));
    let servers = [
        ("http", b"".as_slice(), b"".as_slice(), slow, ""),
        ("http", b"", CONTINUE, fast, ""),
        ("http", b"", CONTINUE, fast, "--pipeline"),
        ("http", b"", b"HTTP/1.1 103 Early Hints\r\nLink: a\r\n\r\n", slow, ""),
        ("http", HEAD, b"X: y\r\n", fast, ""),
        ("http", HEAD, b"X", slow, ""),
        ("http", CHUNKED, b"1\r\n \r\n", fast, ""),
        ("http", CHUNKED, b"1\r\n \r\n", slow, ""),
        ("http", SIZED, b" ", slow, ""),
        ("http", b"", b"", slow, "--http2"),
        ("http", SETTINGS, PING, fast, "--http2"),
        ("http", SETTINGS, PING, slow, "--http2"),
        ("ws", b"", b"", slow, ""),
        ("ws", b"", CONTINUE, fast, ""),
        ("ws", UPGRADED, b"\x89\x00", fast, ""),
        ("ws", UPGRADED, b"", slow, ""),
        ("ws", UPGRADED, b"\x01\x01 ", slow, ""),
        ("tcp", b"", b"", slow, ""),
        ("tcp", b"", b"{\"jsonrpc\":\"2.0\",\"method\":\"a\"}\n", fast, ""),
        ("tcp", b"", b" ", slow, ""),
        ("tcp", b"", b"{\"jsonrpc\":\"2.0\",\"method\":\"a\",\"id\":1}\n", fast, ""),
    ];
    let check = |(scheme, first, then, pause, more): (&str, _, &'static [u8], _, &'static str)| {
        let url = endless(scheme, first, then, pause);
        // Without the limit it would wait for an answer until the test is killed.
        let mut arguments = vec!["bench", &url, "sum", "-t", "0.2", "-c", "2", "--timeout", "600"];
        arguments.extend(Some(more).filter(|more| !more.is_empty()));
        let (code, _, stderr) = parts(run(&arguments));
        let is_told = matches!(code, Some(3..=5));
        assert!(is_told, "{scheme} {more} {:?}: {code:?} {stderr}", String::from_utf8_lossy(then));
    };
    std::thread::scope(|scope| servers.map(|server| drop(scope.spawn(move || check(server)))));
}

#[test]
fn a_run_in_which_every_call_fails_stops_early_unless_it_is_to_keep_going() {
    let serving = Serving::start(&[]);
    let url = serving.url();
    // Long enough to notice if it did not stop.
    let (code, early, stderr) = report(&[&url, "no/such", "--connections", "1", "--duration", "10m"]);
    assert_eq!((code, &early["isStoppedEarly"]), (Some(1), &true.into()), "{stderr}");
    assert!(stderr.contains("stopped early") && stderr.contains("`--keep-going`"), "{stderr}");
    let going = ["--connections", "1", "--duration", "1500ms", "--keep-going"];
    let (code, whole, stderr) = report(&[&[url.as_str(), "no/such"], &going[..]].concat());
    assert_eq!((code, &whole["isStoppedEarly"]), (Some(1), &false.into()), "{stderr}");
    assert!(whole["seconds"].as_f64().unwrap() > 1.4, "{whole}");
    // One success is enough to go on.
    let (code, mixed, stderr) = report(&[&url, "math/add", "2", "3", "--duration", "1200ms"]);
    assert_eq!((code, &mixed["isStoppedEarly"]), (Some(0), &false.into()), "{stderr}");
}
