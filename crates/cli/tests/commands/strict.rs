//! Servers that refuse requests with members that JSON-RPC does not define are called by every command.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;
use switchboard::server::Server;
use switchboard::{
    Call, Code, Direction, ErrorObject, Json, Reply, ReplyFuture, Settings, Tap, Wire, service_fn,
};

use crate::keyboard::Terminal;
use crate::program::{parts, run, run_with};

/// Whether a message, or any of a batch, holds anything but what JSON-RPC defines.
fn is_odd(message: &[u8]) -> bool {
    let is_odd = |request: &Value| {
        let mut names = request.as_object().unwrap().keys();
        names.any(|name| !["jsonrpc", "method", "params", "id"].contains(&name.as_str()))
    };
    match serde_json::from_slice(message).unwrap() {
        Value::Array(requests) => requests.iter().any(is_odd),
        request => is_odd(&request),
    }
}

/// Starts a strict server of WebSockets, which lives as long as the tests; gives its URL.
fn web_socket() -> String {
    let refuses = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&refuses);
    let tap = Tap::new(move |direction, what| {
        if let (Direction::Received, Wire::Message(message)) = (direction, what) {
            seen.store(is_odd(message), Ordering::SeqCst);
        }
    });
    let service = service_fn(move |call: &Call| match call.method.as_str() {
        _ if refuses.load(Ordering::SeqCst) => {
            ReplyFuture::ready(ErrorObject::from_code(Code::INVALID_REQUEST))
        }
        "ping" => ReplyFuture::ready(Reply::value(Json::parse("\"pong\"").unwrap())),
        _ => ReplyFuture::ready(ErrorObject::method_not_found(call.method.as_str())),
    });
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let settings = Settings::default().with_tap(Some(tap));
            let mut server = Server::new(service).with_settings(settings);
            server.listen("ws://127.0.0.1:0").await.unwrap();
            sender.send(server.urls().next().unwrap()).unwrap();
            server.serve().await;
        });
    });
    receiver.recv().unwrap()
}

/// A strict server as a program, one message a line: where its script is, which goes with the test.
fn program() -> std::path::PathBuf {
    const SCRIPT: &str = r#"
        while IFS= read -r line; do
            case $line in
                *timeoutMs*|*'"stream"'*|*'"progress"'*) outcome='"error":{"code":-32600,"message":"odd"}' ;;
                *'"method":"ping"'*) outcome='"result":"pong"' ;;
                *) outcome='"error":{"code":-32601,"message":"unknown"}' ;;
            esac
            id=${line##*'"id":'}
            answer="{\"jsonrpc\":\"2.0\",$outcome,\"id\":${id%%[!0-9]*}}"
            case $line in
                '['*) printf '[%s]\n' "$answer" ;;
                *) printf '%s\n' "$answer" ;;
            esac
        done
    "#;
    let path = std::env::temp_dir().join(format!("switchboard-strict-{}.sh", std::process::id()));
    std::fs::write(&path, SCRIPT).unwrap();
    path
}

#[test]
fn every_command_calls_servers_that_refuse_what_they_do_not_know() {
    let script = program();
    for url in [web_socket(), format!("exec:sh {}", script.display())] {
        let check = |input: &str, arguments: &[&str], expected: &str| {
            let (code, stdout, stderr) = parts(run_with(input, arguments));
            assert_eq!((code, stdout.as_str()), (Some(0), expected), "{arguments:?}: {stderr}");
        };
        check("", &["call", &url, "ping"], "\"pong\"\n");
        check("", &["watch", &url, "ping"], "\"pong\"\n");
        let answers = "[{\"jsonrpc\":\"2.0\",\"result\":\"pong\",\"id\":1}]\n";
        check("ping", &["batch", &url], answers);
        check("ping", &["batch", &url, "--concurrent"], answers);
        check("ping\n[{\"method\":\"ping\",\"id\":1}]\n", &["repl", &url], &format!("\"pong\"\n{answers}"));
        let mut terminal =
            Terminal::start(&["repl", &url, "--no-history"], &std::env::temp_dir().display().to_string());
        terminal.until("> ");
        terminal.type_in("ping\r");
        terminal.until("\"pong\"");
    }
    std::fs::remove_file(script).unwrap();
}

#[test]
fn what_a_server_may_refuse_is_sent_to_it_if_that_is_asked_for() {
    let url = web_socket();
    for more in ["--extensions", "--stream"] {
        let (code, _, stderr) = parts(run(&["call", &url, "ping", more]));
        assert_eq!(code, Some(1), "{stderr}");
        assert!(stderr.contains("-32600"), "{stderr}");
    }
}
