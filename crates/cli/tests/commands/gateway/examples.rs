//! The configuration files in `examples/gateway`, checked and run.

use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::call;
use crate::carriers::Folder;
use crate::program::{Serving, parts, program};

const FILES: [&str; 4] = ["tools.toml", "ethereum.toml", "legacy.toml", "public.toml"];

/// A copy of the examples that listens on free ports.
fn copy(name: &str) -> Folder {
    let folder = Folder::new(&format!("gateway-example-{name}"));
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/gateway");
    for entry in fs::read_dir(examples).unwrap() {
        let entry = entry.unwrap();
        let text = fs::read_to_string(entry.path()).unwrap();
        let text: Vec<String> = text
            .lines()
            .map(|line| match line.starts_with("listen") {
                true => "listen = \"http://127.0.0.1:0\"".to_owned(),
                false => line.replace("\"http://127.0.0.1:9001\"", "\"http://127.0.0.1:0\""),
            })
            .collect();
        let path = folder.file(entry.file_name().to_str().unwrap());
        fs::write(&path, text.join("\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
    }
    folder
}

/// Starts a gateway with a file, and these variables.
fn start(folder: &Folder, file: &str, variables: &[(&str, &str)]) -> Serving {
    let mut command = program(&["gateway", "--config", &folder.file(file)]);
    let program = Path::new(env!("CARGO_BIN_EXE_switchboard")).parent().unwrap().display().to_string();
    let path = format!("{program}:{}", std::env::var("PATH").unwrap_or_default());
    command.env("PATH", path).envs(variables.iter().copied());
    Serving::spawn(command)
}

#[test]
fn every_example_is_valid() {
    let folder = copy("check");
    let count = fs::read_dir(Path::new(&folder.file("."))).unwrap();
    let count = count.filter(|entry| {
        let name = entry.as_ref().unwrap().file_name();
        Path::new(&name).extension().is_some_and(|extension| extension == "toml")
    });
    assert_eq!(count.count(), FILES.len());
    for file in FILES {
        let arguments = ["gateway", "--config", &folder.file(file), "--check"];
        let output = parts(program(&arguments).output().unwrap());
        assert_eq!(output, (Some(0), String::new(), String::new()), "{file}");
    }
}

#[test]
fn tools_are_called() {
    let folder = copy("tools");
    let gateway = start(&folder, "tools.toml", &[]);
    let ws = gateway.url().replace("http:", "ws:");
    for url in [gateway.url(), ws] {
        assert_eq!(call(&url, &["calc/add", "2", "3"]).1, "5\n", "{url}");
        assert!(call(&url, &["calc/add", "2"]).2.contains("-32602"), "{url}");
        assert_eq!(call(&url, &["demo/math/multiply", "2", "3"]).1, "6\n", "{url}");
    }
}

#[test]
fn a_public_api_needs_keys_and_roles() {
    let folder = copy("public");
    let server = Serving::start(&[]);
    let gateway = start(&folder, "public.toml", &[("USERS", &server.url())]);
    let url = gateway.url();
    let (acme, alice) = ("2f9c1b7e55a04d13", "9b1f0e6c2d7a4853");
    let code = |words: &[&str]| call(&url, words).0;
    assert_ne!(code(&["users/getUser", "1"]), Some(0));
    assert_eq!(code(&["users/getUser", "1", "--token", acme]), Some(0));
    assert_eq!(code(&["users/math/add", "2", "3", "--token", acme]), Some(0));
    assert_eq!(code(&["users/echo", "2", "--token", acme]), Some(1));
    assert_eq!(code(&["users/echo", "2", "--token", alice]), Some(0));
}

/// A server over TCP whose answers a function makes from requests.
fn fake(answer: impl Fn(&Value) -> Value + Clone + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("tcp://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let answer = answer.clone();
            std::thread::spawn(move || {
                let mut output = stream.try_clone().unwrap();
                for line in BufReader::new(stream).lines().map_while(Result::ok) {
                    let request: Value = serde_json::from_str(&line).unwrap();
                    if !request["id"].is_null() {
                        let _ = writeln!(output, "{}", answer(&request));
                    }
                }
            });
        }
    });
    url
}

#[test]
fn an_old_server_gets_old_requests() {
    let folder = copy("legacy");
    let old = fake(|request| {
        // It has never heard of a member that 1.0 does not have.
        let result = match (request.get("jsonrpc"), request["method"].as_str(), &request["params"]) {
            (None, Some("GETSTOCK"), Value::Array(params)) => json!(params[0].as_i64().unwrap() * 2),
            _ => json!({ "unexpected": request }),
        };
        json!({ "result": result, "error": null, "id": request["id"] })
    });
    let gateway = start(&folder, "legacy.toml", &[("STOCK", &old)]);
    assert_eq!(call(&gateway.url(), &["stock/get", "sku=4711"]).1, "9422\n");
    assert_eq!(call(&gateway.url().replace("http:", "ws:"), &["stock/get", "21"]).1, "42\n");
}

#[test]
fn a_node_that_lags_or_is_gone_gets_no_calls() {
    let folder = copy("ethereum");
    let node = |height: &'static str, name: &'static str| {
        fake(move |request| {
            let result = if request["method"] == "eth_blockNumber" { json!(height) } else { json!(name) };
            json!({ "jsonrpc": "2.0", "result": result, "id": request["id"] })
        })
    };
    let (current, late) = (node("0x64", "current"), node("0x32", "late"));
    let nodes = [("NODE_1", &*late), ("NODE_2", &*current), ("PROVIDER", "ws://127.0.0.1:1")];
    let gateway = start(&folder, "ethereum.toml", &nodes);
    let url = gateway.url();
    super::until("the late node is found out", || {
        let answers: Vec<_> = (0..20).map(|n| call(&url, &["eth_getCode", &n.to_string()])).collect();
        answers.iter().all(|(_, answer, _)| answer == "\"current\"\n").then_some(())
    });
    let (code, _, stderr) = call(&url, &["eth_signTransaction", "{}"]);
    assert!(code == Some(1) && stderr.contains("-32601"), "{stderr}");
}

/// A node that counts how often it is asked for the price, and tells its subscribers of new blocks.
#[derive(Clone, Default)]
struct Chain {
    asked: Arc<AtomicU64>,
    subscribers: Arc<Mutex<Vec<(TcpStream, String)>>>,
}

impl Chain {
    /// Listens at this URL.
    fn start(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("tcp://{}", listener.local_addr().unwrap());
        let chain = self.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let chain = chain.clone();
                std::thread::spawn(move || chain.answer(&stream));
            }
        });
        url
    }

    fn answer(&self, mut stream: &TcpStream) {
        for line in BufReader::new(stream).lines().map_while(Result::ok) {
            let request: Value = serde_json::from_str(&line).unwrap();
            let mut subscribers = self.subscribers.lock().unwrap();
            let result = match request["method"].as_str().unwrap() {
                "eth_gasPrice" => json!(self.asked.fetch_add(1, Ordering::SeqCst)),
                "eth_subscribe" => json!(format!("0x{:x}", subscribers.len())),
                _ => json!("0x1"),
            };
            let _ =
                writeln!(stream, "{}", json!({ "jsonrpc": "2.0", "result": result, "id": request["id"] }));
            if request["method"] == "eth_subscribe" {
                assert_eq!(request["params"], json!(["newHeads"]));
                subscribers.push((stream.try_clone().unwrap(), result.as_str().unwrap().to_owned()));
            }
        }
    }

    fn add_block(&self) {
        for (subscriber, id) in &*self.subscribers.lock().unwrap() {
            let mut subscriber = subscriber;
            let params = json!({ "subscription": id, "result": { "number": "0x2" } });
            let told = json!({ "jsonrpc": "2.0", "method": "eth_subscription", "params": params });
            writeln!(subscriber, "{told}").unwrap();
        }
    }
}

#[test]
fn a_new_block_empties_the_cache() {
    let folder = copy("ethereum-blocks");
    let text = fs::read_to_string(folder.file("ethereum.toml")).unwrap();
    assert!(text.contains("ttl = \"12s\""));
    // Time alone does not empty it.
    fs::write(folder.file("ethereum.toml"), text.replace("ttl = \"12s\"", "ttl = \"1h\"")).unwrap();
    let chain = Chain::default();
    let node = chain.start();
    let gateway =
        start(&folder, "ethereum.toml", &[("NODE_1", &node), ("NODE_2", &node), ("PROVIDER", &node)]);
    let price = || call(&gateway.url(), &["eth_gasPrice"]).1;
    // Once for each method with a cache, each of which begins empty.
    super::until("it has subscribed", || (chain.subscribers.lock().unwrap().len() >= 4).then_some(()));
    super::until("the price is kept", || (price() == price()).then_some(()));
    let first = price();
    chain.add_block();
    super::until("the price is asked for again", || (price() != first).then_some(()));
    super::until("the price is kept again", || (price() == price()).then_some(()));
}
