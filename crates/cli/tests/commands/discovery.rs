//! What `switchboard serve` tells about its methods, and what it checks by that.

use std::io::{Read, Write};
use std::net::TcpStream;

use switchboard::openrpc::Document;

use crate::program::{Serving, parts, run};

/// The body of a GET of this path, and its status.
fn get(url: &str, path: &str) -> (String, String) {
    let host = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    let (head, body) = answer.split_once("\r\n\r\n").unwrap();
    (head[9..12].to_owned(), body.to_owned())
}

// OR-30, OR-33
#[test]
fn the_document_is_served_by_call_and_by_get() {
    let serving = Serving::start(&[]);
    let (code, called, stderr) = parts(run(&["call", "--raw", &serving.url(), "rpc.discover"]));
    assert_eq!(code, Some(0), "{stderr}");
    let (status, fetched) = get(&serving.url(), "/openrpc.json");
    assert_eq!(status, "200");
    assert_eq!(called.trim_end(), fetched);
    let document = Document::parse(fetched).unwrap();
    assert_eq!(document.info.title, "Switchboard demo");
    assert_eq!(document.info.version, env!("CARGO_PKG_VERSION"));
    assert!(document.method("math/add").is_some_and(|add| add.is_safe() && add.examples().count() == 1));
    assert!(document.method("notify_log").is_some_and(|log| log.result.is_none()));
    let servers: Vec<_> = document.servers.iter().map(|server| &server.url).collect();
    assert_eq!(servers, [&serving.url()]);
}

// OR-03
#[test]
fn the_document_is_of_the_version_that_was_asked_for() {
    for (wanted, version) in [("1.2", "1.2.6"), ("1.4", "1.4.1")] {
        let serving = Serving::start(&["--openrpc", wanted, "--validate"]);
        let (_, served) = get(&serving.url(), "/openrpc.json");
        let document = Document::parse(served.clone()).unwrap();
        assert_eq!(document.openrpc, version);
        let log = document.method("notify_log").unwrap();
        assert!(log.is_notification() && log.result.is_some() == (wanted == "1.2"));
        let (code, same, stderr) =
            parts(run(&["discover", &serving.url(), &format!("--openrpc={wanted}"), "--raw"]));
        assert_eq!((code, same.trim_end()), (Some(0), &*served), "{stderr}");
    }
    let (code, _, stderr) = parts(run(&["serve", "--openrpc", "2.0"]));
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("1.2, 1.3, 1.4"), "{stderr}");
}

#[test]
fn params_are_checked_by_their_schemas_where_that_is_asked_for() {
    let serving = Serving::start(&["--validate"]);
    let url = serving.url();
    let (code, stdout, stderr) = parts(run(&["call", &url, "math/add", "2", "3"]));
    assert_eq!((code, stdout.as_str()), (Some(0), "5\n"), "{stderr}");
    let (code, _, stderr) = parts(run(&["call", &url, "math/add", "2", "\"3\""]));
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("/1") && stderr.contains("a number"), "{stderr}");
    let (code, _, stderr) = parts(run(&["call", &url, "count", "-1"]));
    assert_eq!(code, Some(1), "{stderr}");
    assert!(stderr.contains("a whole number from 0 to 4294967295"), "{stderr}");
}
