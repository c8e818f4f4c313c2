//! `switchboard mcp`, which makes the methods of a server tools, and `switchboard serve --from-mcp`, which makes tools methods.

use std::fs;
use std::io::{BufRead as _, BufReader, Lines, Read as _, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::sync::mpsc;
use std::thread;

use serde_json::{Value, json};

use crate::carriers::Folder;
use crate::program::{Serving, listener, parts, program, run, run_with};
use crate::tokens::CredentialFile;

/// What `switchboard mcp` answers to these requests over stdio, and what it writes to stderr.
fn ask(arguments: &[&str], requests: &[Value]) -> (Vec<Value>, String) {
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
        {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}});
    let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
    let lines: String =
        [initialize, ready].iter().chain(requests).map(|message| format!("{message}\n")).collect();
    let (code, stdout, stderr) = parts(run_with(&lines, &[&["mcp"], arguments].concat()));
    assert_eq!(code, Some(0), "{stderr}");
    let mut answers: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    answers.retain(|answer| answer["id"] != 0);
    answers.sort_by_key(|answer| answer["id"].as_u64());
    (answers, stderr)
}

fn call(id: u64, tool: &str, arguments: &Value) -> Value {
    let params = json!({"name": tool, "arguments": arguments, "_meta": {"progressToken": "p"}});
    json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})
}

fn list() -> Value {
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"})
}

fn names(answer: &Value) -> Vec<&str> {
    let tools = answer["result"]["tools"].as_array().unwrap();
    tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect()
}

#[test]
fn methods_are_tools_over_every_transport() {
    let serving = Serving::start(&[]);
    let program = format!("exec:{} serve --stdio", env!("CARGO_BIN_EXE_switchboard"));
    for url in [serving.url(), serving.url().replace("http:", "ws:"), program] {
        let (answers, stderr) = ask(
            &[&url],
            &[call(1, "math_add", &json!({"a": 2, "b": 3})), call(2, "count", &json!({"to": 2}))],
        );
        assert!(stderr.contains("MCP on stdio with "), "{stderr}");
        let (told, answers): (Vec<&Value>, Vec<&Value>) =
            answers.iter().partition(|answer| answer["id"].is_null());
        let progress: Vec<Value> = told.iter().map(|told| told["params"]["progress"].clone()).collect();
        assert_eq!(answers[0]["result"]["content"][0]["text"], "5", "{url}");
        assert_eq!(
            answers[1]["result"]["structuredContent"],
            json!({"result": [1, 2]}),
            "{url}: {answers:?}"
        );
        // Each item of the stream is progress of its call.
        assert_eq!(progress, [json!(1), json!(2)], "{url}");
    }
}

#[test]
fn options_and_a_file_say_which_methods_become_tools() {
    let serving = Serving::start(&[]);
    let folder = Folder::new("adapt");
    let file = folder.file("adapt.toml");
    fs::write(&file, "only = ['math/*']\nwithout = ['math/sqrt']\n[describe]\n'math/add' = 'Sums up.'\n")
        .unwrap();
    let (answers, stderr) = ask(
        &[&serving.url(), "--file", &file, "--rename", "math/add=sum", "--without", "math/*_stream"],
        &[list()],
    );
    assert_eq!(names(&answers[0]), ["math_multiply", "math_subtract", "sum"], "{stderr}");
    assert!(answers[0].to_string().contains("Sums up."));
    let (code, _, stderr) = parts(run(&["mcp", &serving.url(), "--rename", "math/ad=sum"]));
    assert!(code == Some(2) && stderr.contains("math/add"), "{stderr}");
    let (code, _, stderr) = parts(run(&["mcp", &serving.url(), "--only", "nothing"]));
    assert!(code == Some(2) && stderr.contains("no method of the server is left"), "{stderr}");
    fs::write(&file, "rename = 1\n").unwrap();
    let (code, _, stderr) = parts(run(&["mcp", &serving.url(), "--file", &file]));
    assert!(code == Some(2) && stderr.contains("adapt.toml"), "{stderr}");
}

/// `switchboard mcp` in a session over stdio.
struct Adapter {
    child: Child,
    stdin: ChildStdin,
    stdout: Lines<BufReader<ChildStdout>>,
}

impl Adapter {
    fn start(arguments: &[&str]) -> Adapter {
        let mut command = program(&[&["mcp"], arguments].concat());
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        let mut adapter = Adapter { child, stdin, stdout: BufReader::new(stdout).lines() };
        let begun = adapter.ask(&json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params":
            {"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}}}));
        assert_eq!(begun["result"]["protocolVersion"], "2025-11-25", "{begun}");
        adapter.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        adapter
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.stdin, "{message}").unwrap();
    }

    /// The next message that fits. Others are dropped.
    fn next(&mut self, fits: impl Fn(&Value) -> bool) -> Value {
        let mut messages = self.stdout.by_ref().map(|line| serde_json::from_str(&line.unwrap()).unwrap());
        messages.find(fits).expect("it answers before it ends")
    }

    fn ask(&mut self, request: &Value) -> Value {
        self.send(request);
        self.next(|message| message["id"] == request["id"])
    }
}

impl Drop for Adapter {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn notifications_are_updates_and_a_server_that_restarts_is_used_again() {
    let folder = Folder::new("adapt-updates");
    let file = folder.file("adapt.toml");
    let text = "[resource]\necho = 'said://{message}'\n[on]\nonTick = 'resource:said://{0}'\n";
    fs::write(&file, text).unwrap();
    let options = ["--resource", "echo=said://{message}", "--on", "onTick=resource:said://{0}"];
    for arguments in [&options[..], &["--file", &file]] {
        let mut serving = Serving::start(&[]);
        let url = serving.url();
        let mut adapter = Adapter::start(&[&[&*url.replace("http:", "ws:")], arguments].concat());
        let request = |id: u64, method: &str, uri: &str| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": {"uri": uri}});
        let read = adapter.ask(&request(1, "resources/read", "said://hello"));
        assert_eq!(read["result"]["contents"][0]["text"], "hello", "{read}");
        let subscribed = adapter.ask(&request(2, "resources/subscribe", "said://0"));
        assert_eq!(subscribed["result"], json!({}), "{subscribed}");
        // The first tick is number 0, for every connection.
        let watch = call(3, "watch", &json!({"seconds": 0.05}));
        let mut updated = |is_restarted: bool| {
            let started = loop {
                // A call that was under way as the server ended fails; later ones wait for the new connection.
                let answer = adapter.ask(&watch);
                let is_error = answer["result"]["isError"] == true || answer["error"].is_object();
                if !is_error || !is_restarted {
                    break answer;
                }
            };
            assert_eq!(started["result"]["isError"], Value::Null, "{started}");
            let told = adapter.next(|message| message["method"] == "notifications/resources/updated");
            assert_eq!(told["params"]["uri"], "said://0");
        };
        updated(false);
        serving.signal("KILL");
        serving.ended();
        let again = Serving::spawn(program(&["serve", "--listen", &url]));
        assert_eq!(again.url(), url);
        updated(true);
    }
}

#[test]
fn params_go_by_position_where_that_is_wanted() {
    let folder = Folder::new("adapt-position");
    let (document, file) = (folder.file("openrpc.json"), folder.file("adapt.toml"));
    let number = |name: &str| json!({"name": name, "required": true, "schema": {"type": "number"}});
    let described = json!({"openrpc": "1.2.6", "info": {"title": "Chain", "version": "1"},
        "methods": [{"name": "subtract", "params": [number("from"), number("what")], "result": {"name": "r", "schema": {}}}]});
    fs::write(&document, described.to_string()).unwrap();
    fs::write(&file, format!("document = '{document}'\nby-position = true\n")).unwrap();
    let (by_name, by_position) = (json!({"from": 44, "what": 2}), json!([44, 2]));
    for (arguments, expected) in [
        (&["--document", &document][..], by_name),
        (&["--document", &document, "--by-position"], by_position.clone()),
        (&["--file", &file], by_position),
    ] {
        let (url, asked) = recording();
        let (answers, _) =
            ask(&[&[&*url], arguments].concat(), &[call(1, "subtract", &json!({"what": 2, "from": 44}))]);
        assert_eq!(answers[0]["result"]["content"][0]["text"], "42", "{answers:?}");
        assert_eq!(asked.recv().unwrap()["params"], expected, "{arguments:?}");
    }
}

/// A server that says what it is asked, and answers 42.
fn recording() -> (String, mpsc::Receiver<Value>) {
    let (listener, url) = listener();
    let (sender, asked) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.unwrap());
            let mut length = 0;
            loop {
                let mut line = String::new();
                if stream.read_line(&mut line).unwrap_or(0) == 0 || line == "\r\n" {
                    break;
                }
                if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
                    length = value.trim().parse().unwrap();
                }
            }
            let mut body = vec![0; length];
            // The first connection only tells that there is a server.
            if length == 0 || stream.read_exact(&mut body).is_err() {
                continue;
            }
            let request: Value = serde_json::from_slice(&body).unwrap();
            let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": 42}).to_string();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}",
                answer.len()
            );
            let _ =
                stream.get_mut().write_all(format!("{head}\r\nconnection: close\r\n\r\n{answer}").as_bytes());
            let _ = sender.send(request);
        }
    });
    (url, asked)
}

#[test]
fn a_document_describes_a_server_that_does_not() {
    let folder = Folder::new("adapt-document");
    let file = folder.file("openrpc.json");
    let method = |name: &str, params: Value| json!({"name": name, "paramStructure": "by-position", "params": params, "result": {"name": "r", "schema": {}}});
    let number = |name: &str| json!({"name": name, "required": true, "schema": {"type": "number"}});
    let document = json!({"openrpc": "1.2.6", "info": {"title": "Chain", "version": "1"},
        "methods": [method("subtract", json!([number("from"), number("what")]))]});
    fs::write(&file, document.to_string()).unwrap();
    let serving = Serving::start(&[]);
    let (answers, _) =
        ask(&[&serving.url(), "--document", &file], &[call(1, "subtract", &json!({"what": 2, "from": 44}))]);
    assert_eq!(answers[0]["result"]["content"][0]["text"], "42", "{answers:?}");
}

#[test]
fn a_server_without_a_description_is_an_error_with_a_way_out() {
    let (listener, url) = listener();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let body = r#"{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Method not found"}}"#;
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}",
                body.len()
            );
            // The first connection only tells that there is a server.
            if stream.read(&mut [0; 4096]).unwrap_or(0) > 0 {
                let _ = stream.write_all(format!("{head}\r\nconnection: close\r\n\r\n{body}").as_bytes());
            }
        }
    });
    let (code, stdout, stderr) = parts(run(&["mcp", &url]));
    assert_eq!((code, stdout.as_str()), (Some(1), ""), "{stderr}");
    assert!(stderr.contains("rpc.discover") && stderr.contains("--document FILE"), "{stderr}");
}

#[test]
fn tools_are_methods_again() {
    let serving = Serving::start(&[]);
    let listening = |listen: &str| {
        let adapter =
            Serving::spawn(program(&["mcp", &serving.url(), "--listen", listen, "--only", "math/*"]));
        let place = adapter.banner.strip_prefix("MCP on ").and_then(|rest| rest.split(' ').next());
        (place.unwrap().to_owned(), adapter)
    };
    let (usual, _usual) = listening("0");
    let (named, _named) = listening("http://127.0.0.1:0/tools");
    assert!(usual.ends_with("/mcp") && named.ends_with("/tools"), "{usual} {named}");
    let program = format!("exec:{} mcp {} --only 'math/*'", env!("CARGO_BIN_EXE_switchboard"), serving.url());
    for url in [program, usual, named] {
        let methods = Serving::start(&["--from-mcp", &url]);
        let call = |arguments: &[&str]| parts(run(&[&["call", &methods.url()], arguments].concat()));
        assert_eq!(call(&["math_add", "a=2", "b=3"]).1, "5\n", "{url}");
        assert_eq!(call(&["math_add", "2", "3"]).1, "5\n", "{url}");
        let (code, _, stderr) = call(&["math_sqrt", "x=-1"]);
        assert!(code == Some(1) && stderr.contains("must not be negative"), "{url}: {stderr}");
        let (_, listed, _) = parts(run(&["discover", &methods.url()]));
        assert!(listed.contains("math_add") && listed.contains("Adds"), "{listed}");
    }
}

#[test]
fn what_is_not_an_mcp_server_is_said_so() {
    let (code, _, stderr) = parts(run(&["serve", "0", "--from-mcp", "nonsense"]));
    assert!(code.is_some_and(|code| code != 0) && stderr.contains("exec:COMMAND"), "{stderr}");
    let (code, _, stderr) = parts(run(&["serve", "0", "--from-mcp", "exec:false"]));
    assert!(code.is_some_and(|code| code != 0) && stderr.contains("cannot use"), "{stderr}");
}

#[test]
fn an_mcp_server_that_needs_a_token_gets_it_and_callers_do_not_see_it() {
    const TOKEN: &str = "2f9c1b7e55a04d13";
    let file = CredentialFile::new("upstream", &format!("front:{TOKEN}\n"), 0o600);
    let behind = Serving::start(&["--tokens", file.path()]);
    let url = format!("{}/mcp", behind.urls()[0]);
    let (code, _, stderr) = parts(run(&["serve", "0", "--from-mcp", &url]));
    assert!(code.is_some_and(|code| code != 0) && stderr.contains("credentials"), "{stderr}");
    let front = Serving::start(&["--from-mcp", &url, "--upstream-token", TOKEN]);
    let (_, stdout, stderr) = parts(run(&["call", &front.url(), "math_add", "a=2", "b=3", "-v"]));
    assert_eq!(stdout, "5\n", "{stderr}");
    assert!(!stderr.contains(TOKEN) && !front.banner.contains(TOKEN));
    let program = ["serve", "0", "--from-mcp", "exec:cat", "--upstream-token", TOKEN];
    let (code, _, stderr) = parts(run(&program));
    assert!(code == Some(2) && stderr.contains("environment") && !stderr.contains(TOKEN), "{stderr}");
    let (code, _, stderr) = parts(run(&["serve", "0", "--upstream-token", TOKEN]));
    assert!(code == Some(2) && stderr.contains("--from-mcp"), "{stderr}");
}
