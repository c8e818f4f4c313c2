//! An agent: a client of MCP with a session over HTTP, which answers questions.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::sync::mpsc;

use serde_json::{Value, json};

/// Answers a question of a server: its method and params.
type Answer = dyn Fn(&str, &Value) -> Value;

pub(super) struct Agent {
    place: String,
    session: Option<String>,
    /// Further headers of requests.
    headers: String,
    answer: Box<Answer>,
    /// The notifications that came with answers.
    pub(super) heard: Vec<Value>,
    next: u64,
}

impl Agent {
    /// Begins a session.
    pub(super) fn new(url: &str) -> Agent {
        Agent::answering(url, |_, _| panic!("nobody is to be asked"))
    }

    pub(super) fn answering(url: &str, answer: impl Fn(&str, &Value) -> Value + 'static) -> Agent {
        Agent::speaking(url, "2025-11-25", answer)
    }

    /// Begins a session of this revision.
    pub(super) fn speaking(
        url: &str,
        revision: &str,
        answer: impl Fn(&str, &Value) -> Value + 'static,
    ) -> Agent {
        let place = url.strip_prefix("http://").unwrap().to_owned();
        let mut agent = Agent {
            place,
            session: None,
            headers: String::new(),
            answer: Box::new(answer),
            heard: Vec::new(),
            next: 0,
        };
        let capabilities = json!({"elicitation": {}, "roots": {}, "sampling": {}});
        let client = json!({"name": "agent", "version": "1"});
        let params = json!({"protocolVersion": revision, "capabilities": capabilities, "clientInfo": client});
        agent.ask("initialize", &params);
        agent.post(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), None);
        agent
    }

    /// Calls a tool, and gives its result.
    pub(super) fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        let answer = self.ask("tools/call", &json!({"name": tool, "arguments": arguments}));
        assert!(answer["result"].is_object(), "{tool}: {answer}");
        answer["result"].clone()
    }

    /// The names in the list of tools.
    pub(super) fn tools(&mut self) -> Vec<String> {
        let answer = self.ask("tools/list", &json!({}));
        let tools = answer["result"]["tools"].as_array().unwrap_or_else(|| panic!("{answer}"));
        tools.iter().map(|tool| tool["name"].as_str().unwrap().to_owned()).collect()
    }

    /// Calls a tool with a request that stands alone, of the newer era.
    pub(super) fn call_alone(&mut self, tool: &str, arguments: &Value) -> Value {
        let meta = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "agent", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let params = json!({"name": tool, "arguments": arguments, "_meta": meta});
        let headers =
            format!("mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: {tool}\r\n");
        let session = self.session.take();
        let kept = std::mem::replace(&mut self.headers, headers);
        let answer = self.ask("tools/call", &params);
        (self.session, self.headers) = (session, kept);
        answer["result"].clone()
    }

    /// Opens the stream of the session, and gives what comes over it.
    pub(super) fn listen(&self) -> mpsc::Receiver<Value> {
        let (sender, heard) = mpsc::channel();
        let mut lines = BufReader::new(self.open("GET", "")).lines();
        let status = lines.next().unwrap().unwrap();
        assert!(status.contains(" 200 "), "{status}");
        std::thread::spawn(move || {
            for line in lines.map_while(Result::ok) {
                let message = line.strip_prefix("data: ").and_then(|text| serde_json::from_str(text).ok());
                if message.is_some_and(|message| sender.send(message).is_err()) {
                    return;
                }
            }
        });
        heard
    }

    /// Sends a request, and gives the response. Questions are answered meanwhile.
    pub(super) fn ask(&mut self, method: &str, params: &Value) -> Value {
        self.next += 1;
        let id = self.next;
        let message = json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
        self.post(&message, Some(id)).unwrap_or_else(|| panic!("{method} was not answered"))
    }

    /// Ends the session.
    pub(super) fn end(self) {
        let mut stream = self.open("DELETE", "");
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert!(text.starts_with("HTTP/1.1 20"), "{text}");
    }

    fn open(&self, method: &str, body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.place).unwrap();
        let session = self.session.as_ref().map(|id| format!("mcp-session-id: {id}\r\n")).unwrap_or_default();
        write!(
            stream,
            "{method} /mcp HTTP/1.1\r\nhost: {}\r\n{session}{}content-type: application/json\r\n\
             accept: application/json, text/event-stream\r\ncontent-length: {}\r\nconnection: close\r\n\r\n{body}",
            self.place,
            self.headers,
            body.len()
        )
        .unwrap();
        stream
    }

    fn post(&mut self, message: &Value, id: Option<u64>) -> Option<Value> {
        let mut lines = BufReader::new(self.open("POST", &message.to_string())).lines();
        let mut found = None;
        while let Some(Ok(line)) = lines.next() {
            if let Some(session) = line.strip_prefix("mcp-session-id: ") {
                self.session = Some(session.to_owned());
            }
            let line = line.strip_prefix("data: ").unwrap_or(&line);
            let Ok(Value::Object(message)) = serde_json::from_str::<Value>(line) else { continue };
            let message = Value::Object(message);
            match (message.get("method").and_then(Value::as_str), message.get("id")) {
                (Some(method), Some(asked)) => {
                    let result = (self.answer)(method, &message["params"]);
                    self.post(&json!({"jsonrpc": "2.0", "id": asked, "result": result}), None);
                }
                (Some(_), None) => self.heard.push(message),
                (None, known) if known.and_then(Value::as_u64) == id => found = Some(message),
                (None, _) => {}
            }
        }
        found
    }
}
