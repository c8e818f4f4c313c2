//! `switchboard watch`: items, pushes, gaps, and connections that break.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdout, Command, Stdio};

use crate::program::{Serving, listener, parts, program, run};

#[test]
fn items_are_shown_until_the_stream_ends_or_enough_have_come() {
    let serving = Serving::start(&["--listen", "tcp://127.0.0.1:0"]);
    let socket = serving.url().replace("http:", "ws:");
    for url in serving.urls().iter().chain([&socket]) {
        let check = |arguments: &[&str], expected: &str| {
            let output = parts(run(&[&["watch", url], arguments].concat()));
            assert_eq!(output, (Some(0), expected.to_owned(), String::new()), "{url} {arguments:?}");
        };
        check(&["count", "3"], "1\n2\n3\n");
        check(&["ticks", "seconds=0.01", "--count", "2"], "1\n2\n");
        // A plain result is one item.
        check(&["sum", "1", "2"], "3\n");
    }
}

#[test]
fn what_the_far_side_pushes_is_shown_if_that_is_asked_for() {
    let serving = Serving::start(&[]);
    let url = serving.url().replace("http:", "ws:");
    let (code, stdout, stderr) =
        parts(run(&["watch", &url, "watch", "0.01", "--notifications", "--count", "3"]));
    assert_eq!(code, Some(0), "{stderr}");
    let pushes: Vec<&str> = stdout.lines().filter(|line| *line != "null").collect();
    let tick = |number| format!(r#"{{"method":"onTick","params":[{number}]}}"#);
    assert_eq!(pushes, [tick(0), tick(1), tick(2)]);
}

/// A program that watches, with the lines it prints.
struct Watching {
    child: Child,
    lines: BufReader<ChildStdout>,
}

impl Watching {
    fn start(arguments: &[&str]) -> Watching {
        let mut command = program(&[&["watch"], arguments].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap());
        Watching { child, lines }
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line
    }

    /// Interrupts it; gives its code and what it said on stderr.
    fn interrupt(mut self) -> (Option<i32>, String) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", "INT", &id]).status().unwrap().success());
        self.end()
    }

    fn end(&mut self) -> (Option<i32>, String) {
        let mut said = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        (self.child.wait().unwrap().code(), said)
    }
}

/// The far side of a watched connection, played by the test.
struct Far(BufReader<TcpStream>);

impl Far {
    fn accept(listener: &TcpListener) -> Far {
        Far(BufReader::new(listener.accept().unwrap().0))
    }

    /// Takes the first connection, over which it is asked what this far side understands: nothing special.
    fn accept_first(listener: &TcpListener) -> Far {
        let mut far = Far::accept(listener);
        let id = far.expect_call("rpc.discover");
        far.send(&format!(
            r#"{{"jsonrpc":"2.0","error":{{"code":-32601,"message":"Method not found"}},"id":{id}}}"#
        ));
        far
    }

    /// Waits for a call of this method and nothing but JSON-RPC in it; gives its identifier.
    fn expect_call(&mut self, method: &str) -> serde_json::Value {
        let message: serde_json::Value = serde_json::from_str(&self.expect(method)).unwrap();
        let names: Vec<&String> = message.as_object().unwrap().keys().collect();
        assert!(
            names.iter().all(|name| ["jsonrpc", "method", "params", "id"].contains(&name.as_str())),
            "{message}"
        );
        assert_eq!(message["method"], method);
        message["id"].clone()
    }

    /// Waits for a message that holds this.
    fn expect(&mut self, part: &str) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        assert!(line.contains(part), "no {part:?} in {line:?}");
        line
    }

    fn send(&mut self, text: &str) {
        self.0.get_mut().write_all(text.as_bytes()).unwrap();
    }

    /// Answers the call with a stream of this item.
    fn stream(&mut self, item: &str) {
        let id = self.expect_call("news");
        self.send(&format!(r#"{{"jsonrpc":"2.0","result":"s","stream":true,"id":{id}}}"#));
        self.send(&format!(
            r#"{{"jsonrpc":"2.0","method":"rpc.item","params":{{"subscription":"s","result":{item}}}}}"#
        ));
    }
}

fn tcp() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("tcp://{}", listener.local_addr().unwrap());
    (listener, url)
}

#[test]
fn a_stream_comes_back_with_its_connection_and_the_gap_is_told() {
    let (listener, url) = tcp();
    let mut watching = Watching::start(&[&url, "news", "--count", "2"]);
    let mut far = Far::accept_first(&listener);
    far.stream("1");
    assert_eq!(watching.line(), "1\n");
    drop(far);
    let mut far = Far::accept(&listener);
    far.stream("2");
    assert_eq!(watching.line(), "2\n");
    far.expect("rpc.unsubscribe");
    drop(far);
    let (code, said) = watching.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("warning: connection lost: "), "{said}");
    assert!(said.contains("items may have been lost while reconnecting"), "{said}");
}

#[test]
fn what_pushes_is_asked_again_over_the_next_connection() {
    let (listener, url) = tcp();
    let mut watching = Watching::start(&[&url, "subscribe", "--notifications", "--count", "2"]);
    for number in 1..=2 {
        let mut far = if number == 1 { Far::accept_first(&listener) } else { Far::accept(&listener) };
        let id = far.expect_call("subscribe");
        far.send(&format!(r#"{{"jsonrpc":"2.0","result":true,"id":{id}}}"#));
        assert_eq!(watching.line(), "true\n");
        far.send(&format!(r#"{{"jsonrpc":"2.0","method":"news","params":[{number}]}}"#));
        assert_eq!(watching.line(), format!("{{\"method\":\"news\",\"params\":[{number}]}}\n"));
    }
    let (code, said) = watching.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("notifications may have been lost"), "{said}");
}

#[test]
fn an_interrupt_ends_the_stream_on_the_far_side() {
    let (listener, url) = tcp();
    let mut watching = Watching::start(&[&url, "news"]);
    let mut far = Far::accept_first(&listener);
    far.stream("1");
    assert_eq!(watching.line(), "1\n");
    let id = watching.child.id().to_string();
    assert!(Command::new("kill").args(["-s", "INT", &id]).status().unwrap().success());
    far.expect("rpc.unsubscribe");
    drop(far);
    // This is how it is meant to end, so it is not an error.
    assert_eq!(watching.end(), (Some(0), String::new()));
}

#[test]
fn subscriptions_of_other_families_are_read_by_their_names() {
    let (listener, url) = tcp();
    let more = ["--item", "newHead", "--unsubscribe", "unsubscribeHeads"];
    let mut watching = Watching::start(&[&[url.as_str(), "subscribeHeads"], &more[..]].concat());
    let mut far = Far::accept(&listener);
    far.expect(r#""method":"subscribeHeads""#);
    far.send(r#"{"jsonrpc":"2.0","result":7,"id":1}"#);
    far.send(r#"{"jsonrpc":"2.0","method":"newHead","params":{"subscription":7,"result":{"number":1}}}"#);
    assert_eq!(watching.line(), "{\"number\":1}\n");
    let id = watching.child.id().to_string();
    assert!(Command::new("kill").args(["-s", "INT", &id]).status().unwrap().success());
    far.expect(r#""method":"unsubscribeHeads""#);
    drop(far);
    assert_eq!(watching.end().0, Some(0));
}

#[test]
fn what_was_never_there_is_not_waited_for() {
    let (listener, url) = listener();
    drop(listener);
    for url in [url.clone(), url.replace("http:", "ws:"), url.replace("http:", "tcp:")] {
        let (code, stdout, stderr) = parts(run(&["watch", &url, "ticks"]));
        assert_eq!((code, stdout.as_str()), (Some(3), ""), "{stderr}");
        assert!(stderr.contains("is listening on") && stderr.contains("start a server"), "{url}: {stderr}");
    }
}

#[test]
fn a_server_whose_first_connection_breaks_at_once_was_there() {
    let (listener, url) = tcp();
    let mut watching = Watching::start(&[&url, "news", "--count", "1"]);
    drop(listener.accept().unwrap());
    let mut far = Far::accept_first(&listener);
    far.stream("1");
    assert_eq!(watching.line(), "1\n");
    drop(far);
    let (code, said) = watching.end();
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn an_error_of_the_far_side_ends_it() {
    let serving = Serving::start(&[]);
    let (code, stdout, stderr) = parts(run(&["watch", &serving.url(), "no/such"]));
    assert_eq!((code, stdout.as_str()), (Some(1), ""));
    let error =
        "{\"code\":-32601,\"message\":\"Method not found\",\"data\":{\"method\":\"no/such\"},\"advice\":";
    assert!(stderr.starts_with(error), "{stderr}");
    let (code, _, stderr) = parts(run(&["watch", &serving.url()]));
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("METHOD"), "{stderr}");
}

#[test]
fn over_http_a_stream_that_is_cut_off_is_asked_for_again() {
    let (listener, url) = listener();
    let watching = Watching::start(&[&url, "news"]);
    let mut watching = watching;
    for number in 1..=2 {
        // Once to see whether somebody is there, once to ask.
        drop(listener.accept().unwrap());
        let (mut stream, _) = listener.accept().unwrap();
        let mut lines = BufReader::new(stream.try_clone().unwrap());
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(lines.read_line(&mut head).unwrap() > 0, "{head}");
        }
        let event = format!("data: {{\"jsonrpc\":\"2.0\",\"result\":{number},\"id\":1}}\n\n");
        write!(
            stream,
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n: stream\n\n{event}"
        )
        .unwrap();
        assert_eq!(watching.line(), format!("{number}\n"));
    }
    let (code, said) = watching.interrupt();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("items may have been lost"), "{said}");
}

#[test]
fn a_call_that_is_never_answered_is_given_up() {
    let (listener, url) = tcp();
    let mut watching = Watching::start(&[&url, "news", "--timeout", "0.2"]);
    let mut far = Far::accept_first(&listener);
    far.expect_call("news");
    let (code, said) = watching.end();
    assert_eq!(code, Some(4), "{said}");
    assert!(said.contains("--timeout"), "{said}");
}

#[test]
fn over_http_an_error_ends_it_whatever_carries_it() {
    const ERROR: &str = r#"{"jsonrpc":"2.0","error":{"code":-32002,"message":"Unauthorized"},"id":1}"#;
    let check = |status: &str, kind: &str, body: &str, code: i32, expected: &str| {
        let (listener, url) = listener();
        let (head, body) = (format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\n"), body.to_owned());
        let far = std::thread::spawn(move || {
            // Once to see whether somebody is there, once to ask.
            drop(listener.accept().unwrap());
            let (mut stream, _) = listener.accept().unwrap();
            let mut lines = BufReader::new(stream.try_clone().unwrap());
            let mut asked = String::new();
            while !asked.ends_with("\r\n\r\n") {
                assert!(lines.read_line(&mut asked).unwrap() > 0, "{asked}");
            }
            write!(stream, "{head}connection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len())
                .unwrap();
        });
        let (found, stdout, stderr) = parts(run(&["watch", &url, "news"]));
        far.join().unwrap();
        assert_eq!((found, stdout.as_str()), (Some(code), ""), "{status}: {stderr}");
        assert!(stderr.contains(expected) && !stderr.contains("attempt"), "{status}: {stderr}");
    };
    check("200 OK", "application/json", ERROR, 1, "-32002");
    check("401 Unauthorized", "application/json", ERROR, 1, "-32002");
    check("200 OK", "text/event-stream", &format!("data: {ERROR}\n\n"), 1, "-32002");
    check("502 Bad Gateway", "text/html", "<html></html>", 5, "502");
    check("200 OK", "text/html", "<html></html>", 5, "not JSON");
}

#[test]
fn over_http_nothing_is_waited_for_that_cannot_come() {
    let serving = Serving::start(&[]);
    let (code, _, stderr) = parts(run(&["watch", &serving.url(), "--notifications"]));
    assert_eq!(code, Some(2), "{stderr}");
    assert!(
        stderr.contains("servers cannot send notifications without a call") && stderr.contains("ws://"),
        "{stderr}"
    );
    // What comes before the answer is shown.
    let (code, stdout, stderr) = parts(run(&["watch", &serving.url(), "watch", "--notifications"]));
    assert_eq!(
        (code, stdout.as_str()),
        (Some(0), "{\"method\":\"onTick\",\"params\":[0]}\nnull\n"),
        "{stderr}"
    );
    assert!(
        stderr.contains("no notifications arrive after the answer") && stderr.contains("ws://"),
        "{stderr}"
    );
}

#[test]
fn a_subscription_of_an_unknown_family_is_told_how_to_be_read() {
    let (listener, url) = tcp();
    let mut watching = Watching::start(&[&url, "subscribeNews"]);
    let mut far = Far::accept_first(&listener);
    let id = far.expect_call("subscribeNews");
    far.send(&format!(r#"{{"jsonrpc":"2.0","result":"0x1","id":{id}}}"#));
    assert_eq!(watching.line(), "\"0x1\"\n");
    let (code, said) = watching.end();
    assert_eq!(code, Some(0), "{said}");
    assert!(said.contains("`--item`") && said.contains("`--notifications`"), "{said}");
}

#[test]
fn a_message_that_is_too_long_does_not_come_again() {
    let (listener, url) = tcp();
    let mut watching = Watching::start(&[&url, "news", "--max-answer", "1k"]);
    let mut far = Far::accept_first(&listener);
    far.stream(&format!("\"{}\"", "x".repeat(100 << 10)));
    let (code, said) = watching.end();
    assert_eq!(code, Some(5), "{said}");
    assert!(said.contains("--max-answer"), "{said}");
}
