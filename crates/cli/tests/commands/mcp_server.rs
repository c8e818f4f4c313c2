//! An MCP server over TCP, one message per line, that asks, reports progress, logs, and returns images.

use std::io::{BufRead, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};

use serde_json::{Value, json};

/// The URL of a server that answers any number of connections until the test ends.
pub(crate) fn start() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("tcp://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        while let Ok((stream, _)) = listener.accept() {
            std::thread::spawn(move || Session::new(stream).run());
        }
    });
    url
}

struct Session {
    lines: BufReader<TcpStream>,
    stream: TcpStream,
    asked: u64,
}

impl Session {
    fn new(stream: TcpStream) -> Session {
        Session { lines: BufReader::new(stream.try_clone().unwrap()), stream, asked: 0 }
    }

    fn run(mut self) {
        while let Some(message) = self.read() {
            let Some(method) = message["method"].as_str() else { continue };
            if message["id"].is_null() {
                continue;
            }
            let answer = match self.result(method, &message["params"]) {
                Some(result) => json!({"jsonrpc": "2.0", "id": message["id"], "result": result}),
                None => json!({"jsonrpc": "2.0", "id": message["id"],
                    "error": {"code": -32601, "message": "Method not found"}}),
            };
            self.write(&answer);
        }
    }

    fn read(&mut self) -> Option<Value> {
        let mut line = String::new();
        (self.lines.read_line(&mut line).ok()? > 0).then(|| serde_json::from_str(&line).unwrap())
    }

    fn write(&mut self, message: &Value) {
        let _ = self.stream.write_all(format!("{message}\n").as_bytes());
    }

    fn notify(&mut self, method: &str, params: &Value) {
        self.write(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Asks the client, and gives its answer: the result, or the error.
    fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.asked += 1;
        let id = format!("q{}", self.asked);
        self.write(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        loop {
            let message = self.read().unwrap();
            if message["id"] == id {
                return if message["error"].is_null() {
                    message["result"].clone()
                } else {
                    message["error"].clone()
                };
            }
        }
    }

    fn result(&mut self, method: &str, params: &Value) -> Option<Value> {
        match method {
            "initialize" => Some(json!({
                "protocolVersion": "2025-11-25", "serverInfo": {"name": "desk", "version": "1"},
                "capabilities": {"tools": {}, "resources": {"subscribe": true}, "prompts": {}, "logging": {}, "completions": {}},
            })),
            "logging/setLevel" => Some(json!({})),
            "resources/subscribe" => {
                self.notify("notifications/resources/updated", &json!({"uri": params["uri"]}));
                Some(json!({}))
            }
            "tools/list" => Some(tools()),
            "tools/call" => Some(self.call(params)),
            "resources/list" => Some(json!({"resources": [
                {"uri": "desk://hours", "name": "hours", "mimeType": "text/plain", "size": 6, "description": "When we are here."},
            ]})),
            "resources/templates/list" => Some(json!({"resourceTemplates": [
                {"uriTemplate": "desk://seats/{row}", "name": "seats"},
            ]})),
            "resources/read" => {
                let contents = json!({"uri": params["uri"], "mimeType": "text/plain", "text": "9 to 5"});
                // It changes at once, so that a reader that watches reads it again.
                self.notify("notifications/resources/updated", &json!({"uri": params["uri"]}));
                Some(json!({"contents": [contents]}))
            }
            "prompts/list" => Some(json!({"prompts": [{"name": "plan", "description": "Plans a day.",
                "arguments": [{"name": "city", "required": true, "description": "Where."}, {"name": "days"}]}]})),
            "prompts/get" => {
                let text = format!("Plan a day in {}.", params["arguments"]["city"].as_str().unwrap());
                Some(json!({"messages": [{"role": "user", "content": {"type": "text", "text": text}}]}))
            }
            "completion/complete" => {
                Some(json!({"completion": {"values": ["Paris", "Parma"], "hasMore": true}}))
            }
            _ => None,
        }
    }

    fn call(&mut self, params: &Value) -> Value {
        let token = params["_meta"]["progressToken"].clone();
        let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
        match params["name"].as_str().unwrap() {
            "book" => {
                let schema = json!({"type": "object", "required": ["name", "seats"], "properties": {
                    "name": {"type": "string", "minLength": 2},
                    "seats": {"type": "integer", "minimum": 1, "maximum": 4, "default": 1},
                    "meal": {"type": "string", "oneOf": [{"const": "v", "title": "Vegan"}, {"const": "f", "title": "Fish"}]},
                    "news": {"type": "boolean"},
                }});
                let asked = json!({"message": "Who travels?", "requestedSchema": schema});
                text(&self.ask("elicitation/create", &asked).to_string())
            }
            "pay" => {
                let asked = json!({"mode": "url", "message": "Pay.", "url": "https://pay.example/?a=1&b=2", "elicitationId": "e"});
                text(&self.ask("elicitation/create", &asked).to_string())
            }
            "think" => {
                let message = json!({"role": "user", "content": {"type": "text", "text": "What is 2 + 3?"}});
                let asked =
                    self.ask("sampling/createMessage", &json!({"messages": [message], "maxTokens": 9}));
                text(&asked.to_string())
            }
            "where" => {
                let roots = self.ask("roots/list", &json!({}));
                text(roots["roots"][0]["uri"].as_str().unwrap())
            }
            "draw" => {
                self.notify(
                    "notifications/message",
                    &json!({"level": "warning", "logger": "pen", "data": "no blue"}),
                );
                self.notify(
                    "notifications/progress",
                    &json!({"progressToken": token, "progress": 1, "total": 2, "message": "lines"}),
                );
                json!({"content": [
                    {"type": "text", "text": "A cat."},
                    {"type": "image", "mimeType": "image/png", "data": "aGVsbG8="},
                ]})
            }
            "echo" => json!({"content": [], "structuredContent": params["arguments"]}),
            _ => json!({"content": [{"type": "text", "text": "no paper"}], "isError": true}),
        }
    }
}

fn tools() -> Value {
    let plain = |name: &str| json!({"name": name, "description": format!("Does {name}."), "inputSchema": {"type": "object"}});
    let echo = json!({"name": "echo", "description": "Echoes.", "annotations": {"readOnlyHint": true},
        "inputSchema": {"type": "object", "required": ["text"], "properties": {
            "text": {"type": "string", "description": "What."}, "times": {"type": "integer", "minimum": 1}}}});
    json!({"tools": [echo, plain("book"), plain("pay"), plain("think"), plain("where"), plain("draw"), plain("fail")]})
}
