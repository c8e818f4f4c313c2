//! A server of the Model Context Protocol without faults, and a proxy in front of it that adds one.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};

use bytes::BytesMut;
use serde_json::Value;
use switchboard::http::EndpointOptions;
use switchboard::mcp::model::{Contents, Resource};
use switchboard::mcp::{self, McpRoute};
use switchboard::server::Server;
use switchboard::{Router, Settings, service};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};

use crate::responses::{Read, Responses};

/// The tools and prompts of the server: three of each, so that its lists have two pages.
struct Fixtures;

#[service]
impl Fixtures {
    /// Adds two numbers.
    #[method(safe)]
    fn add(&self, a: f64, b: f64) -> f64 {
        a + b
    }

    /// Says hello.
    #[method(safe)]
    fn hello(&self) -> &'static str {
        "hello"
    }

    /// Subtracts two numbers.
    #[method(safe)]
    fn subtract(&self, a: f64, b: f64) -> f64 {
        a - b
    }

    /// Asks for a greeting.
    #[mcp(prompt)]
    fn greet(&self) -> &'static str {
        "Greet me."
    }

    /// Plans a day.
    #[mcp(prompt)]
    fn plan(&self, city: String) -> String {
        format!("Plan a day in {city}.")
    }

    /// Asks for thanks.
    #[mcp(prompt)]
    fn thank(&self) -> &'static str {
        "Thank me."
    }

    /// The weather in a city.
    #[mcp(resource = "test://weather/{city}", mime = "text/plain")]
    fn weather(&self, city: String) -> String {
        format!("It rains in {city}.")
    }

    /// Completes the names of cities.
    #[mcp(completes = "plan.city, weather.city")]
    fn cities(&self, prefix: String) -> Vec<&'static str> {
        ["Cairo", "Oslo"].into_iter().filter(|name| name.starts_with(&prefix)).collect()
    }
}

fn fixtures() -> mcp::Server {
    let router = Router::builder().add(Fixtures).build().unwrap();
    let server = mcp::Server::new(router).named("fixtures", "1").page_size(2);
    ["test://a", "test://b", "test://c"].into_iter().fold(server, |server, uri| {
        server.resource(Resource::new(uri, "a text"), Contents::text(uri, "text"))
    })
}

/// What the client asked for.
pub(super) struct Asked {
    /// The HTTP method; empty over lines.
    pub(super) verb: String,
    /// The head in lower case.
    pub(super) head: String,
    pub(super) body: Value,
    /// How often this method was called, this time included.
    pub(super) count: usize,
    /// Whether the request stands alone, or is one over HTTP outside a session.
    pub(super) is_modern: bool,
}

impl Asked {
    fn new(head: &str, body: &[u8], counts: &Mutex<HashMap<String, usize>>) -> Asked {
        let body: Value = serde_json::from_slice(body).unwrap_or_default();
        let head = head.to_lowercase();
        let verb = head.split(' ').next().unwrap_or_default().to_owned();
        let method = body["method"].as_str().unwrap_or_default().to_owned();
        let count = *counts.lock().unwrap().entry(method).and_modify(|count| *count += 1).or_insert(1);
        let is_modern = body.to_string().contains("io.modelcontextprotocol/protocolVersion")
            || head.contains("mcp-protocol-version: 2026-07-28")
            || body.is_null() && !head.contains("mcp-session-id");
        Asked { verb, head, body, count, is_modern }
    }

    /// Whether it is a call of this method.
    pub(super) fn is(&self, method: &str) -> bool {
        self.body["method"] == method
    }

    /// Whether it has this parameter, as a JSON pointer.
    pub(super) fn has(&self, pointer: &str) -> bool {
        self.body.pointer(&format!("/params{pointer}")).is_some()
    }

    /// Whether its head or its body contains this text.
    pub(super) fn says(&self, text: &str) -> bool {
        self.head.contains(text) || self.body.to_string().contains(text)
    }
}

/// What the server answers.
#[derive(Clone, Debug, Default)]
pub(super) struct Told {
    pub(super) status: u16,
    pub(super) content_type: String,
    pub(super) session: Option<String>,
    /// The body, if it is JSON.
    pub(super) body: Value,
    /// The body otherwise.
    pub(super) text: String,
}

impl Told {
    /// Replaces or adds a value, by a JSON pointer whose parent exists.
    pub(super) fn put(&mut self, pointer: &str, value: Value) {
        let (parent, name) = pointer.rsplit_once('/').unwrap();
        if let Some(parent) = self.body.pointer_mut(parent) {
            parent[name] = value;
        }
    }

    /// Removes a member.
    pub(super) fn remove(&mut self, parent: &str, name: &str) {
        let parent = self.body.pointer_mut(parent).and_then(Value::as_object_mut);
        parent.map(|object| object.remove(name));
    }

    /// Answers with a result in place of anything else.
    pub(super) fn succeed(&mut self) {
        self.status = 200;
        self.content_type = "application/json".to_owned();
        self.body = serde_json::json!({ "jsonrpc": "2.0", "id": 1, "result": {} });
    }

    /// Gives an error another code.
    pub(super) fn recode(&mut self, code: i64) {
        self.put("/error/code", code.into());
    }
}

/// A fault: it changes an answer.
pub(super) type Fault = Arc<dyn Fn(&Asked, &mut Told) + Send + Sync>;

/// The faulty server, until it is dropped.
pub(super) struct Meddler {
    pub(super) url: String,
    tasks: Vec<JoinHandle<()>>,
}

impl Drop for Meddler {
    fn drop(&mut self) {
        self.tasks.iter().for_each(JoinHandle::abort);
    }
}

impl Meddler {
    /// With this fault over HTTP.
    pub(super) async fn http(fault: Fault) -> Meddler {
        let options = EndpointOptions::default().route("/mcp", McpRoute::new(&fixtures()).unwrap());
        let mut server = Server::new(Router::builder().build().unwrap()).with_http(options);
        server.listen("http://127.0.0.1:0").await.unwrap();
        let place = server.urls().next().unwrap().strip_prefix("http://").unwrap().to_owned();
        let serving = tokio::spawn(server.serve());
        let (listener, address) = listen().await;
        let counts = Arc::<Mutex<HashMap<_, _>>>::default();
        let meddling = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let (place, fault, counts) = (place.clone(), Arc::clone(&fault), Arc::clone(&counts));
                connections.spawn(async move {
                    let server = TcpStream::connect(place).await.unwrap();
                    exchange(client, server, &fault, &counts).await
                });
            }
        });
        Meddler { url: format!("http://{address}/mcp"), tasks: vec![serving, meddling] }
    }

    /// With this fault over lines: it changes each line of the server, or drops it. The first line is this one.
    pub(super) async fn lines(
        first: &'static str,
        ends: bool,
        change: fn(&Value) -> Option<Value>,
    ) -> Meddler {
        let settings = Settings::default().with_profile(mcp::Server::profile());
        let mut server = Server::new(fixtures().service().unwrap()).with_settings(settings);
        server.listen("tcp://127.0.0.1:0?framing=lines").await.unwrap();
        let url = server.urls().next().unwrap();
        let place = url.strip_prefix("tcp://").unwrap().split('?').next().unwrap().to_owned();
        let serving = tokio::spawn(server.serve());
        let (listener, address) = listen().await;
        let meddling = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&place).await.unwrap();
                connections.spawn(relay(client, server, first, ends, change));
            }
        });
        Meddler { url: format!("tcp://{address}?framing=lines"), tasks: vec![serving, meddling] }
    }
}

async fn listen() -> (TcpListener, std::net::SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

/// One request, and its answer with the fault. Of an event stream only the first event is passed on.
async fn exchange(
    mut client: TcpStream,
    mut server: TcpStream,
    fault: &Fault,
    counts: &Mutex<HashMap<String, usize>>,
) -> Option<()> {
    let mut came = BytesMut::new();
    let end = loop {
        if let Some(end) = came.windows(4).position(|bytes| bytes == b"\r\n\r\n") {
            break end + 4;
        }
        client.read_buf(&mut came).await.ok().filter(|read| *read > 0)?;
    };
    let head = String::from_utf8(came.split_to(end).to_vec()).unwrap();
    let length = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.parse().ok());
    while came.len() < length.unwrap_or(0) {
        client.read_buf(&mut came).await.ok().filter(|read| *read > 0)?;
    }
    let asked = Asked::new(&head, &came, counts);
    // The server knows its own address only, and the identifiers of its sessions as they were before a fault spoiled them.
    let own = client.local_addr().ok()?.to_string();
    let head = head.replace(" spoiled", "").replace(&own, &server.peer_addr().ok()?.to_string());
    server.write_all(&[head.as_bytes(), &came].concat()).await.ok()?;
    let mut told = read(&mut server, &asked).await?;
    fault(&asked, &mut told);
    let body = if told.text.is_empty() && !told.body.is_null() { told.body.to_string() } else { told.text };
    let session = told.session.map(|id| format!("Mcp-Session-Id: {id}\r\n")).unwrap_or_default();
    let answer = format!(
        "HTTP/1.1 {} X\r\nContent-Type: {}\r\n{session}Content-Length: {}\r\nConnection: close\r\n\r\n{body}",
        told.status,
        told.content_type,
        body.len()
    );
    client.write_all(answer.as_bytes()).await.ok()
}

async fn read(server: &mut TcpStream, asked: &Asked) -> Option<Told> {
    let mut responses = Responses::to(if asked.verb == "get" { "GET" } else { "POST" }, 1 << 20);
    let body = loop {
        if let Some(Read::Response(body)) = responses.next().ok()? {
            break body.to_vec();
        }
        if responses.partial().windows(6).any(|part| part == b"data: ")
            && responses.partial().ends_with(b"\n\n")
        {
            break responses.partial().to_vec();
        }
        server.read_buf(responses.buffer()).await.ok().filter(|read| *read > 0)?;
    };
    let head = responses.head();
    let told = Told {
        status: head.status,
        content_type: head.header("content-type").unwrap_or("text/plain").to_owned(),
        session: head.header("mcp-session-id").map(str::to_owned),
        ..Told::default()
    };
    Some(match serde_json::from_slice(&body) {
        Ok(body) => Told { body, ..told },
        Err(_) => Told { text: String::from_utf8(body).unwrap(), ..told },
    })
}

/// Passes lines on in both directions. Without `ends` the server never sees the end of its input.
async fn relay(
    client: TcpStream,
    server: TcpStream,
    first: &str,
    ends: bool,
    change: fn(&Value) -> Option<Value>,
) {
    // Each line is passed on at once.
    client.set_nodelay(true).unwrap();
    server.set_nodelay(true).unwrap();
    let (client_read, mut client_write) = client.into_split();
    let (server_read, mut server_write) = server.into_split();
    client_write.write_all(first.as_bytes()).await.unwrap();
    let inward = async {
        let mut lines = BufReader::new(client_read).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            if server_write.write_all(format!("{line}\n").as_bytes()).await.is_err() {
                return;
            }
        }
        if ends {
            let _ = server_write.shutdown().await;
        }
        std::future::pending::<()>().await;
    };
    let outward = async {
        let mut lines = BufReader::new(server_read).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let changed = serde_json::from_str(&line).ok().map_or(Some(Value::Null), |line| change(&line));
            let Some(changed) = changed else { continue };
            if client_write.write_all(format!("{changed}\n").as_bytes()).await.is_err() {
                return;
            }
        }
    };
    tokio::select! { () = inward => {}, () = outward => {} }
}
