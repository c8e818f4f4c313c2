//! Logs and metrics name the tools that are called.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use super::{Agent, Behind, free_port, rpc, until};

#[test]
fn the_call_log_and_the_metrics_name_the_tool() {
    let port = free_port();
    let top = format!(
        "admin.url = \"http://127.0.0.1:{port}\"\nlog = {{ level = \"info\", format = \"json\", file = \"calls.log\" }}\n"
    );
    let behind = Behind::with("observed", &top, "", "");
    let mut agent = Agent::new(&behind.url());
    agent.call("t_echo", &json!({"text": "hi"}));
    agent.ask("resources/read", &json!({"uri": "note://1"}));
    rpc(&behind.url(), "t/echo", &json!({"text": "hi"}));
    // Callers cannot add names.
    agent.ask("tools/call", &json!({"name": "made_up", "arguments": {}}));
    let methods: Vec<String> = until("the calls are logged", || {
        let log = std::fs::read_to_string(behind.folder.file("calls.log")).unwrap_or_default();
        let method = |line: &str| {
            let line: Value = serde_json::from_str(line).ok()?;
            Some(line["method"].as_str()?.to_owned())
        };
        let methods: Vec<String> = log.lines().filter_map(method).collect();
        methods.iter().any(|method| method == "tools/call").then_some(methods)
    });
    let count = |wanted: &str| methods.iter().filter(|method| *method == wanted).count();
    assert_eq!((count("t/echo"), count("t/resources/read"), count("tools/call")), (2, 1, 1), "{methods:?}");
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\n\r\n").unwrap();
    let mut metrics = String::new();
    stream.read_to_string(&mut metrics).unwrap();
    assert!(metrics.contains("method=\"t/echo\""), "{metrics}");
    assert!(!metrics.contains("made_up"), "{metrics}");
}
