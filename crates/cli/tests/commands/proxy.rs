//! `switchboard serve --proxy-for`: the page calls servers that do not allow it, and nobody else calls anything through it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::mpsc::{self, Receiver};

use crate::program::{Serving, listener, parts, run};

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"math/add","params":[2,3]}"#;

/// Sends a POST with these headers to the proxy of this server; gives the connection.
fn post(serving: &Serving, headers: &str) -> TcpStream {
    let url = serving.url();
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    write!(
        stream,
        "POST /proxy HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Content-Length: {}\r\n{headers}\r\n{CALL}",
        CALL.len()
    )
    .unwrap();
    stream
}

/// The same, as the page of the server does it; gives the whole answer.
fn asked(serving: &Serving, target: &str, more: &str) -> String {
    let headers = format!("Origin: {}\r\nSwitchboard-Target: {target}\r\n{more}", serving.url());
    answer(post(serving, &headers))
}

fn answer(mut stream: TcpStream) -> String {
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    text
}

/// The head of a request, and its connection. The body is read if it has a length.
fn accept(listener: &TcpListener) -> (String, TcpStream) {
    let (stream, _) = listener.accept().unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        assert!(lines.read_line(&mut head).unwrap() > 0, "{head}");
    }
    let length =
        head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    lines.read_exact(&mut vec![0; length.unwrap_or(0)]).unwrap();
    (head, stream)
}

/// A server that answers its first request with this; gives its URL, and the head of that request.
fn answering(answer: &'static str) -> (String, Receiver<String>) {
    let (listener, url) = listener();
    let (send, heads) = mpsc::channel();
    std::thread::spawn(move || {
        let (head, mut stream) = accept(&listener);
        stream.write_all(answer.as_bytes()).unwrap();
        send.send(head).unwrap();
    });
    (url + "/rpc", heads)
}

#[test]
fn a_server_on_the_list_is_called_for_the_page_and_no_other_url_of_it() {
    let other = Serving::start(&[]);
    let target = format!("{}/rpc", other.url());
    let serving = Serving::start(&["--proxy-for", &target]);
    let answered =
        asked(&serving, &target, "Sec-Fetch-Site: same-origin\r\nSwitchboard-Pass: content-type\r\n");
    assert!(answered.starts_with("HTTP/1.1 200 "), "{answered}");
    assert!(answered.ends_with(r#"{"jsonrpc":"2.0","result":5,"id":1}"#), "{answered}");
    let elsewhere =
        [other.url(), target.replace("/rpc", "/rpc/stream"), format!("{target}?a=b"), serving.url()];
    for url in elsewhere {
        let refused = asked(&serving, &url, "");
        assert!(
            refused.starts_with("HTTP/1.1 403 ") && refused.contains("does not forward"),
            "{url}: {refused}"
        );
    }
    assert!(asked(&serving, "tcp://127.0.0.1:1", "").starts_with("HTTP/1.1 400 "));
}

#[test]
fn the_page_can_ask_which_servers_are_on_the_list() {
    let serving =
        Serving::start(&["--proxy-for", "http://127.0.0.1:9/a", "--proxy-for", "http://127.0.0.1:9/b"]);
    let fetch = |headers: &str| {
        let url = serving.url();
        let address = url.strip_prefix("http://").unwrap();
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET /proxy HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n{headers}\r\n")
            .unwrap();
        answer(stream)
    };
    let list = fetch("Sec-Fetch-Site: same-origin\r\n");
    assert!(list.ends_with(r#"{"targets":["http://127.0.0.1:9/a","http://127.0.0.1:9/b"]}"#), "{list}");
    assert!(fetch("Sec-Fetch-Site: cross-site\r\n").starts_with("HTTP/1.1 403 "));
}

#[test]
fn without_the_option_there_is_no_proxy() {
    let serving = Serving::start(&[]);
    let refused = asked(&serving, "http://127.0.0.1:9/", "");
    assert!(refused.starts_with("HTTP/1.1 404 "), "{refused}");
}

#[test]
fn pages_of_other_origins_are_refused_even_if_they_may_call() {
    let target = "http://127.0.0.1:9/";
    let serving = Serving::start(&["--proxy-for", target, "--allow-origin", "http://app.example", "--cors"]);
    let own = serving.url();
    let named = format!("Switchboard-Target: {target}\r\n");
    for headers in [
        "Origin: http://app.example\r\n".to_owned(),
        "Origin: http://evil.example\r\n".to_owned(),
        "Origin: null\r\n".to_owned(),
        // What is not a page, and a page whose browser contradicts its origin.
        String::new(),
        format!("Origin: {own}\r\nSec-Fetch-Site: cross-site\r\n"),
        format!("Origin: {own}\r\nSec-Fetch-Site: same-site\r\n"),
    ] {
        let refused = answer(post(&serving, &format!("{headers}{named}")));
        assert!(refused.starts_with("HTTP/1.1 403 "), "{headers}: {refused}");
    }
}

#[test]
fn other_machines_get_no_proxy() {
    let refused = |more: &[&str], advice: &str| {
        let arguments = [&["serve", "--proxy-for", "http://127.0.0.1:9/"], more].concat();
        let (code, _, stderr) = parts(run(&arguments));
        assert!(code == Some(2) && stderr.contains(advice), "{more:?}: {stderr}");
    };
    refused(&["--listen", "http://0.0.0.0:0", "--public"], "listen on 127.0.0.1");
    refused(
        &["--listen", "http://127.0.0.1:0", "--listen", "tcp://0.0.0.0:0", "--public"],
        "listen on 127.0.0.1",
    );
    refused(&["--listen", "http://127.0.0.1:0", "--allow-host", "*"], "name the hosts");
    let (code, _, stderr) = parts(run(&["serve", "--proxy-for", "tcp://127.0.0.1:9"]));
    assert!(code == Some(2) && stderr.contains("--proxy-for http://127.0.0.1:9000/rpc"), "{stderr}");
}

#[test]
fn only_headers_that_the_page_names_go_there_and_only_harmless_ones_come_back() {
    let (target, heads) = answering(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nSet-Cookie: a=b\r\nAccess-Control-Allow-Origin: *\r\n\
         Mcp-Session-Id: s1\r\nContent-Length: 2\r\n\r\n{}",
    );
    let serving = Serving::start(&["--proxy-for", &target]);
    let sent = "Cookie: secret=1\r\nAuthorization: Bearer t\r\nX-Own: 1\r\nX-Other: 2\r\n\
                Switchboard-Pass: content-type, authorization, x-own, cookie, origin\r\n";
    let answered = asked(&serving, &target, sent).to_lowercase();
    assert!(answered.contains("mcp-session-id: s1") && answered.ends_with("{}"), "{answered}");
    assert!(!answered.contains("set-cookie") && !answered.contains("access-control"), "{answered}");
    let head = heads.recv().unwrap().to_lowercase();
    assert!(head.starts_with("post /rpc http/1.1\r\n"), "{head}");
    assert!(head.contains("authorization: bearer t") && head.contains("x-own: 1"), "{head}");
    for name in ["cookie:", "origin:", "x-other:", "switchboard-", "sec-fetch"] {
        assert!(!head.contains(name), "{name} in {head}");
    }
}

#[test]
fn redirects_are_not_followed() {
    let (listener, elsewhere) = listener();
    let redirect =
        format!("HTTP/1.1 307 Elsewhere\r\nLocation: {elsewhere}/rpc\r\nContent-Length: 0\r\n\r\n");
    let (target, _heads) = answering(redirect.leak());
    let serving = Serving::start(&["--proxy-for", &target]);
    let answered = asked(&serving, &target, "");
    assert!(answered.starts_with("HTTP/1.1 502 ") && answered.contains("redirects to"), "{answered}");
    listener.set_nonblocking(true).unwrap();
    assert!(listener.accept().is_err(), "the redirect was followed");
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let (listener, url) = listener();
    drop(listener);
    let serving = Serving::start(&["--proxy-for", &url]);
    let answered = asked(&serving, &url, "");
    assert!(answered.starts_with("HTTP/1.1 502 ") && answered.contains("nothing is listening"), "{answered}");
}

#[test]
fn an_event_stream_passes_as_it_comes_and_ends_with_its_reader() {
    let (listener, url) = listener();
    let (go_on, second) = mpsc::channel();
    let upstream = std::thread::spawn(move || {
        let (_, mut stream) = accept(&listener);
        let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
        stream.write_all(format!("{head}data: first\n\n").as_bytes()).unwrap();
        second.recv().unwrap();
        stream.write_all(b"data: second\n\n").unwrap();
        // It ends when the proxy hangs up.
        let _ = stream.read(&mut [0; 1]);
    });
    let serving = Serving::start(&["--proxy-for", &url]);
    let headers = format!("Origin: {}\r\nSwitchboard-Target: {url}\r\n", serving.url());
    let stream = post(&serving, &headers);
    let mut lines = BufReader::new(stream);
    let mut until = |end: &str| {
        let mut line = String::new();
        while !line.contains(end) {
            line.clear();
            assert!(lines.read_line(&mut line).unwrap() > 0, "no {end}");
        }
    };
    until("data: first");
    // Only now, so the first one did not wait for it.
    go_on.send(()).unwrap();
    until("data: second");
    drop(lines);
    upstream.join().unwrap();
}
