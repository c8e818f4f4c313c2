//! `switchboard serve` for clients of the Model Context Protocol (MCP), over HTTP and stdio.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::carriers::Folder;
use crate::program::{Serving, parts, program, run, run_with};
use crate::replay::{Block, DEFAULT, blocks, section};
use crate::tokens::CredentialFile;

const ALICE: &str = "2f9c1b7e55a04d13";
const BOB: &str = "9b1f0e6c2d7a4853";

/// A client of one server.
pub(crate) struct Client {
    place: String,
    /// Headers of every request.
    headers: String,
}

/// The status, the head and the body of a response.
pub(crate) struct Answer {
    pub(crate) status: u16,
    head: String,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {}{}", self.head, self.body))
    }

    fn header(&self, name: &str) -> Option<String> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(known, _)| *known == name).map(|(_, value)| value.to_owned()).next()
    }
}

impl Client {
    pub(crate) fn new(url: &str, token: Option<&str>) -> Client {
        let headers = token.map(|token| format!("authorization: Bearer {token}\r\n")).unwrap_or_default();
        Client { place: url.strip_prefix("http://").unwrap().to_owned(), headers }
    }

    /// One that has a session.
    pub(crate) fn with_session(url: &str, token: Option<&str>) -> Client {
        let mut client = Client::new(url, token);
        let answer = client.post(&initialize());
        assert_eq!(answer.status, 200, "{}", answer.body);
        let session = answer.header("mcp-session-id").unwrap();
        client.headers.push_str(&format!("mcp-session-id: {session}\r\n"));
        let ready = client.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        assert_eq!(ready.status, 202, "{}", ready.body);
        client
    }

    pub(crate) fn post(&self, message: &Value) -> Answer {
        self.send("POST", "/mcp", "", &message.to_string())
    }

    /// The same client at another server, with another token instead of its own.
    pub(crate) fn at(&self, url: &str, token: &str, other: &str) -> Client {
        Client { headers: self.headers.replace(token, other), ..Client::new(url, None) }
    }

    pub(crate) fn send(&self, method: &str, path: &str, more: &str, body: &str) -> Answer {
        let mut text = String::new();
        self.open(method, path, more, body).read_to_string(&mut text).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        let status = head.split(' ').nth(1).unwrap().parse().unwrap();
        Answer { status, head: head.to_owned(), body: body.to_owned() }
    }

    /// Sends a request, and gives the connection over which the response comes.
    pub(crate) fn open(&self, method: &str, path: &str, more: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.place).unwrap();
        let (place, headers, length) = (&self.place, &self.headers, body.len());
        write!(
            stream,
            "{method} {path} HTTP/1.1\r\nhost: {place}\r\n{headers}{more}content-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
        )
        .unwrap();
        stream
    }

    fn tools(&self) -> Vec<String> {
        let answer = self.post(&request("tools/list", &json!({}))).json();
        let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    pub(crate) fn call(&self, tool: &str, arguments: &Value) -> Value {
        self.post(&request("tools/call", &json!({"name": tool, "arguments": arguments}))).json()
    }
}

pub(crate) fn request(method: &str, params: &Value) -> Value {
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params})
}

fn initialize() -> Value {
    let client = json!({"name": "test", "version": "1"});
    let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client});
    request("initialize", &params)
}

fn is_there(tools: &[String], name: &str) -> bool {
    tools.iter().any(|tool| tool == name)
}

#[test]
fn the_methods_are_tools_and_the_banner_says_where() {
    let serving = Serving::start(&[]);
    let url = serving.url();
    let client = Client::with_session(&url, None);
    let tools = client.tools();
    assert!(is_there(&tools, "math_add") && is_there(&tools, "ticks"), "{tools:?}");
    // Kept out by an attribute, because they are notifications, or because they are not the server's own.
    for hidden in ["admin_restartServer", "logEvent", "rpc_discover", "rpc.discover"] {
        assert!(!is_there(&tools, hidden), "{tools:?}");
    }
    let line = format!("\nMCP on {url}/mcp with {} tools\n", tools.len());
    assert!(serving.banner.contains(&line), "{}", serving.banner);
    // The list of methods says which of them are kept out.
    for (method, is_marked) in [("admin/restartServer", true), ("logEvent", true), ("math/add", false)] {
        let listed = serving.banner.lines().find(|line| line.trim_start().starts_with(&format!("{method}(")));
        assert_eq!(listed.unwrap().ends_with("  not a tool"), is_marked, "{}", serving.banner);
    }

    let answer = client.call("math_add", &json!({"a": 2, "b": 3}));
    assert_eq!(answer["result"]["structuredContent"], json!({"result": 5}), "{answer}");
    let answer = client.call("math_sqrt", &json!({"x": -1}));
    assert_eq!(answer["result"]["isError"], json!(true), "{answer}");
}

#[test]
fn a_client_without_a_session_is_answered_at_the_same_path() {
    let serving = Serving::start(&[]);
    let client = Client::new(&serving.url(), None);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let params = json!({"name": "math_add", "arguments": {"a": 2, "b": 3}, "_meta": meta});
    let headers = "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: math_add\r\n";
    let answer = client.send("POST", "/mcp", headers, &request("tools/call", &params).to_string());
    assert_eq!(answer.json()["result"]["structuredContent"], 5, "{}", answer.body);
    assert_eq!(answer.header("mcp-session-id"), None);
}

#[test]
fn the_document_names_the_tools_of_methods() {
    let tool = |options: &[&str], method: &str| {
        let serving = Serving::start(options);
        let document = Client::new(&serving.url(), None).send("GET", "/openrpc.json", "", "").json();
        let methods = document["methods"].as_array().unwrap();
        methods.iter().find(|found| found["name"] == method).unwrap()["x-mcp"]["tool"].clone()
    };
    assert_eq!(tool(&[], "math/add"), "math_add");
    assert_eq!(tool(&[], "admin/restartServer"), false);
    assert_eq!(tool(&[], "logEvent"), false);
    for method in ["math/add", "admin/restartServer", "logEvent"] {
        let kept_out = if method == "admin/restartServer" { json!(false) } else { Value::Null };
        assert_eq!(tool(&["--no-mcp"], method), kept_out, "{method}");
    }
}

#[test]
fn mcp_can_be_turned_off_by_a_flag_and_by_a_key() {
    for option in [&["--no-mcp"][..], &["--set", "mcp.http=false"]] {
        let serving = Serving::start(option);
        let client = Client::new(&serving.url(), None);
        assert_eq!(client.post(&initialize()).status, 404, "{option:?}");
        for (method, path) in [("GET", "/mcp"), ("GET", "/sse"), ("POST", "/messages?session=1")] {
            assert_eq!(client.send(method, path, "", "").status, 404, "{option:?} {path}");
        }
        assert!(
            !serving.banner.contains("MCP") && !serving.banner.contains("not a tool"),
            "{}",
            serving.banner
        );
    }
}

#[test]
fn with_tokens_every_request_needs_one_and_a_session_belongs_to_its_caller() {
    let file = CredentialFile::new("mcp-tokens", &format!("alice:{ALICE}\nbob:{BOB}\n"), 0o600);
    let serving = Serving::start(&["--tokens", file.path()]);
    let url = serving.url();
    let stranger = Client::new(&url, None);
    let answer = stranger.post(&initialize());
    assert_eq!(answer.status, 401, "{}", answer.body);
    assert!(answer.header("www-authenticate").is_some(), "{}", answer.head);
    assert_eq!(stranger.send("GET", "/sse", "", "").status, 401);

    let alice = Client::with_session(&url, Some(ALICE));
    let answer = alice.call("math_add", &json!({"a": 2, "b": 3}));
    assert_eq!(answer["result"]["structuredContent"]["result"], 5, "{answer}");
    // Knowing the identifier of a session proves nothing.
    let thief = Client { headers: alice.headers.replace(ALICE, BOB), place: alice.place.clone() };
    assert_eq!(thief.post(&request("tools/list", &json!({}))).status, 404);
    let anonymous = alice.headers.lines().last().unwrap();
    let anonymous = Client { headers: format!("{anonymous}\r\n"), place: alice.place.clone() };
    assert_eq!(anonymous.post(&request("tools/list", &json!({}))).status, 401);
}

#[test]
fn access_rules_decide_which_tools_a_caller_sees_and_calls() {
    let folder = Folder::new("mcp-rules");
    let tokens = CredentialFile::new("mcp-rules", &format!("alice:{ALICE}\nbob:{BOB}\n"), 0o600);
    let rules = |more: &str| {
        format!(
            "listen = \"http://127.0.0.1:0\"\nauth.tokens = \"{}\"\naccess.rules = [\n\
             {{ allow = [\"math/*\", \"rpc.*\"], who = \"anyone\" }},\n\
             {{ allow = \"getUser\", who = \"user:bob\", when = {{ \"/id\" = {{ max = 2 }} }} }},\n{more}]\n",
            tokens.path()
        )
    };
    let file = folder.file("switchboard.toml");
    std::fs::write(&file, rules("")).unwrap();
    let mut serving = Serving::spawn(program(&["serve", "--config", &file, "--no-watch"]));
    let url = serving.url();
    let (anyone, bob) = (Client::with_session(&url, None), Client::with_session(&url, Some(BOB)));
    assert!(is_there(&anyone.tools(), "math_add") && !is_there(&anyone.tools(), "getUser"));
    assert!(is_there(&bob.tools(), "getUser") && !is_there(&bob.tools(), "echo"));
    let answer = bob.call("getUser", &json!({"id": 1}));
    assert!(answer["result"]["isError"].is_null() && answer["result"].is_object(), "{answer}");
    // The rules see the method behind the tool, with its params.
    let answer = bob.call("getUser", &json!({"id": 3}));
    assert!(answer["result"]["isError"] == true || answer["error"].is_object(), "{answer}");
    // A hidden tool is an unknown one.
    let strip = |answer: Value| answer.to_string().replace("getUser", "T").replace("no_such", "T");
    assert_eq!(strip(anyone.call("getUser", &json!({}))), strip(anyone.call("no_such", &json!({}))));

    std::fs::write(&file, rules("{ allow = \"echo\", who = \"anyone\" },\n")).unwrap();
    serving.signal("HUP");
    serving.read_until("Configuration reloaded");
    assert!(is_there(&anyone.tools(), "echo"));
    assert_eq!(anyone.call("echo", &json!({"message": "hi"}))["result"]["isError"], Value::Null);
}

#[test]
fn over_stdio_an_agent_gets_nothing_but_messages() {
    let messages = [
        initialize(),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 8, "method": "tools/call", "params": {
            "name": "ticks", "arguments": {"count": 2, "seconds": 0.01}}}),
    ];
    let input: String = messages.iter().map(|message| format!("{message}\n")).collect();
    let (code, stdout, stderr) = parts(run_with(&input, &["serve", "--stdio", "--mcp", "-v"]));
    assert_eq!(code, Some(0), "{stderr}");
    let lines: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 2, "{stdout}");
    assert_eq!(lines[0]["result"]["protocolVersion"], "2025-11-25");
    assert_eq!(lines[1]["result"]["structuredContent"], json!({"result": [1, 2]}));
    assert!(stderr.contains("ticks"), "{stderr}");
}

#[test]
fn mcp_over_stdio_needs_stdio_alone_and_the_error_says_what_to_do() {
    for (options, advice) in [
        (&["--mcp"][..], "add `--stdio`"),
        (&["--mcp", "8000"], "add `--stdio`"),
        (&["--mcp", "--stdio", "8000"], "remove the other listeners"),
        (&["--set", "mcp.stdio=true"], "add `--stdio`"),
    ] {
        let (code, stdout, stderr) = parts(program(&[&["serve"][..], options].concat()).output().unwrap());
        assert_eq!((code, stdout.as_str()), (Some(2), ""), "{options:?}: {stderr}");
        assert!(stderr.contains(advice), "{options:?}: {stderr}");
    }
}

#[test]
fn progress_is_reported_after_the_input_has_ended() {
    let call = json!({"name": "ticks", "arguments": {"count": 3}, "_meta": {"progressToken": "p"}});
    let lines: String = [
        initialize(),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        request("tools/call", &call),
    ]
    .map(|message| format!("{message}\n"))
    .concat();
    let (code, stdout, stderr) = parts(run_with(&lines, &["serve", "--stdio", "--mcp"]));
    assert_eq!(code, Some(0), "{stderr}");
    let told: Vec<Value> = stdout.lines().skip(1).map(|line| serde_json::from_str(line).unwrap()).collect();
    let progress: Vec<&Value> = told.iter().map(|message| &message["params"]["progress"]).collect();
    assert_eq!(progress, [&json!(1), &json!(2), &json!(3), &Value::Null], "{stdout}");
    assert!(told[3]["result"].is_object(), "{stdout}");
}

// MCP-A-01, MCP-A-02
#[test]
fn an_endpoint_with_a_resource_tells_clients_where_to_log_in() {
    const KEYS: &str =
        r#"{"keys":[{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}]}"#;
    let folder = Folder::new("mcp-resource");
    let (file, keys) = (folder.file("switchboard.toml"), folder.file("keys.json"));
    std::fs::write(&keys, KEYS).unwrap();
    let config = |resource: &str, jwt: &str| {
        let text = format!(
            "listen = \"http://127.0.0.1:0\"\n[mcp]\nresource = \"{resource}\"\nscopes = [\"read\"]\n{jwt}"
        );
        std::fs::write(&file, text).unwrap();
    };
    // Callers without a token may call something, but not here.
    let jwt = format!(
        "[auth.jwt]\nissuer = \"https://auth.example\"\nkeys = \"{keys}\"\n\
         [access]\nrules = [{{ allow = \"**\", who = \"anyone\" }}]\n"
    );
    config("https://desk.example/mcp", &jwt);
    let serving = Serving::spawn(program(&["serve", "--config", &file, "--no-watch"]));
    let client = Client::new(&serving.url(), None);
    let refused = client.post(&initialize());
    let metadata = "https://desk.example/.well-known/oauth-protected-resource/mcp";
    let challenge = format!("Bearer scope=\"read\", resource_metadata=\"{metadata}\"");
    assert_eq!((refused.status, refused.header("www-authenticate")), (401, Some(challenge)));
    let told = client.send("GET", "/.well-known/oauth-protected-resource/mcp", "", "").json();
    assert_eq!(told["authorization_servers"], json!(["https://auth.example"]));
    assert_eq!(
        (&told["resource"], &told["scopes_supported"]),
        (&json!("https://desk.example/mcp"), &json!(["read"]))
    );

    for (resource, jwt, expected) in
        [("desk", &*jwt, "not the URL of an endpoint"), ("https://a.example/mcp", "", "auth.jwt")]
    {
        config(resource, jwt);
        let (code, _, stderr) = parts(run(&["serve", "--config", &file]));
        assert!(code != Some(0) && stderr.contains("mcp.resource") && stderr.contains(expected), "{stderr}");
    }
}

// MCP-HTTP-10, MCP-HTTP-12
#[test]
fn after_a_crash_in_mid_stream_a_session_is_unknown_and_a_new_one_works() {
    let mut serving = Serving::start(&[]);
    let url = serving.url();
    let client = Client::with_session(&url, None);
    let params = json!({
        "name": "ticks", "arguments": {"count": 1_000, "seconds": 0.02}, "_meta": {"progressToken": "p"},
    });
    let stream = client.open("POST", "/mcp", "", &request("tools/call", &params).to_string());
    let mut last = None;
    for line in BufReader::new(&stream).lines() {
        let line = line.unwrap();
        if let Some(id) = line.strip_prefix("id: ") {
            last = Some(id.to_owned());
        }
        if line.contains("notifications/progress") {
            break;
        }
    }
    let last = last.expect("the event before has an identifier");
    serving.signal("KILL");
    serving.ended();
    let again = Serving::spawn(program(&["serve", "--listen", &url]));
    assert_eq!(again.url(), url);
    let lost = client.send("GET", "/mcp", &format!("last-event-id: {last}\r\n"), "");
    assert_eq!(lost.status, 404, "{}{}", lost.head, lost.body);
    assert_eq!(client.post(&request("tools/list", &json!({}))).status, 404);
    let answer = Client::with_session(&url, None).call("math_add", &json!({"a": 2, "b": 3}));
    assert_eq!(answer["result"]["structuredContent"], json!({"result": 5}), "{answer}");
}

#[test]
fn the_configurations_for_hosts_start_a_server_or_find_one() {
    let page = include_str!("../../../../docs/mcp.md");
    let serving = Serving::start(&[]);
    let (mut started, mut found) = (0, 0);
    for block in blocks(section(page, "Hosts")).iter().filter(|block| Block::is_json(block)) {
        let config: Value = serde_json::from_str(block.text()).unwrap();
        let lists = ["mcpServers", "servers"].into_iter().filter_map(|name| config[name].as_object());
        for entry in lists.flat_map(serde_json::Map::values) {
            let Some(command) = entry["command"].as_str() else {
                let (place, path) = entry["url"].as_str().unwrap().split_at("http://".len() + DEFAULT.len());
                assert_eq!(place, format!("http://{DEFAULT}"), "{entry}");
                let client = Client::new(&serving.url(), None);
                assert_eq!(client.send("POST", path, "", &initialize().to_string()).status, 200, "{entry}");
                found += 1;
                continue;
            };
            assert_eq!(command, "switchboard", "{entry}");
            let arguments: Vec<&str> =
                entry["args"].as_array().unwrap().iter().map(|argument| argument.as_str().unwrap()).collect();
            let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
            let list = request("tools/list", &json!({}));
            let input = [initialize(), ready, list].map(|message| format!("{message}\n")).concat();
            let (code, stdout, stderr) = parts(run_with(&input, &arguments));
            assert_eq!(code, Some(0), "{stderr}");
            let lines: Vec<Value> = stdout.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
            assert_eq!(lines[0]["result"]["protocolVersion"], "2025-11-25", "{stdout}");
            assert!(
                lines[1]["result"]["tools"].as_array().is_some_and(|tools| !tools.is_empty()),
                "{stdout}"
            );
            started += 1;
        }
    }
    assert_eq!((started, found), (2, 2));
}
