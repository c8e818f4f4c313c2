//! MCP clients of several gateways that share a store.

use std::fs;
use std::io::{BufRead, BufReader};

use serde_json::{Value, json};

use crate::broker::Broker;
use crate::carriers::Folder;
use crate::mcp::{Client, request};
use crate::program::{Serving, program};
use crate::tokens::CredentialFile;

const ALICE: &str = "2f9c1b7e55a04d13";
const BOB: &str = "9b1f0e6c2d7a4853";

/// Two gateways with one store in front of this upstream.
fn gateways(broker: &Broker, upstream: &str, more: &[&str]) -> [Serving; 2] {
    let store = broker.url();
    let arguments = ["gateway", upstream, "--listen", "http://127.0.0.1:0", "--store", &store];
    [0, 1].map(|_| Serving::spawn(program(&[&arguments[..], more].concat())))
}

/// The events of a body: their identifiers, and their data.
fn events(body: impl BufRead) -> impl Iterator<Item = (String, String)> {
    let mut id = String::new();
    body.lines().map_while(Result::ok).filter_map(move |line| {
        if let Some(found) = line.strip_prefix("id: ") {
            found.clone_into(&mut id);
        }
        let data = line.strip_prefix("data: ").filter(|data| !data.is_empty())?;
        Some((id.clone(), data.to_owned()))
    })
}

/// What comes after an event, up to the answer.
fn rest_after(client: &Client, id: &str) -> Vec<Value> {
    let answer = client.send("GET", "/mcp", &format!("last-event-id: {id}\r\n"), "");
    assert_eq!(answer.status, 200, "{}", answer.body);
    events(answer.body.as_bytes()).map(|(_, data)| serde_json::from_str(&data).unwrap()).collect()
}

// MCP-HTTP-10, MCP-HTTP-12, MCP-SEC-02
#[test]
fn a_session_and_its_answers_outlive_the_gateway_that_began_them() {
    let (broker, upstream) = (Broker::start(&[]), Serving::start(&[]));
    let tokens = CredentialFile::new("mcp-gateways", &format!("alice:{ALICE}\nbob:{BOB}\n"), 0o600);
    let [a, b] = gateways(&broker, &upstream.url(), &["--tokens", tokens.path()]);
    let alice = Client::with_session(&a.url(), Some(ALICE));
    let there = alice.at(&b.url(), ALICE, ALICE);
    let thief = alice.at(&b.url(), ALICE, BOB);
    assert_eq!(thief.post(&request("tools/list", &json!({}))).status, 404);
    let sum = json!({"a": 2, "b": 3});
    assert_eq!(there.call("math_add", &sum)["result"]["structuredContent"], json!({"result": 5}));
    assert_eq!(thief.post(&request("tools/list", &json!({}))).status, 404);

    // Cut off in the middle of an answer, it gets the rest from the other gateway.
    let params = json!({"name": "ticks", "arguments": {"count": 3}, "_meta": {"progressToken": "p"}});
    let body = request("tools/call", &params).to_string();
    let stream = alice.open("POST", "/mcp", "", &body);
    let (id, first) = events(BufReader::new(stream)).next().unwrap();
    assert!(first.contains("\"progress\":1"), "{first}");
    let rest = rest_after(&there, &id);
    assert_eq!(rest.last().unwrap()["result"]["structuredContent"], json!({"result": [1, 2, 3]}), "{rest:?}");
    assert_eq!(rest.len(), 3, "{rest:?}");
    // SIGKILL.
    drop(a);
    assert_eq!(rest_after(&there, &id), rest);
    assert_eq!(there.call("math_add", &sum)["result"]["structuredContent"], json!({"result": 5}));

    // What ends at one ends at all.
    let c = gateways(&broker, &upstream.url(), &["--tokens", tokens.path()]);
    let third = alice.at(&c[0].url(), ALICE, ALICE);
    assert_eq!(third.send("DELETE", "/mcp", "", "").status, 200);
    assert_eq!(third.post(&request("tools/list", &json!({}))).status, 404);
    let begun = std::time::Instant::now();
    while there.post(&request("tools/list", &json!({}))).status != 404 {
        assert!(begun.elapsed() < std::time::Duration::from_secs(30), "the other gateway serves it on");
    }
}

// MCP-M-01, MCP-R-05
#[test]
fn a_question_of_one_gateway_is_answered_through_another() {
    let (broker, folder) = (Broker::start(&[]), Folder::new("mcp-rounds"));
    fs::write(folder.file("server.py"), include_str!("gateway/agents/server.py")).unwrap();
    let tools = json!([{"name": "elicit", "description": "Asks.", "inputSchema": {"type": "object"}}]);
    fs::write(folder.file("tools.json"), tools.to_string()).unwrap();
    let config = "listen = \"http://127.0.0.1:0\"\n[upstream.t]\nurl = \"exec:python3 server.py tools.json\"\n\
                  profile = \"mcp\"\nrequired = true\n";
    fs::write(folder.file("gateway.toml"), config).unwrap();
    // The server of the question is the one behind both.
    let asking = Serving::spawn(program(&["gateway", "--config", &folder.file("gateway.toml")]));
    let upstream = format!("q={}/mcp", asking.url());
    let [a, b] =
        gateways(&broker, &upstream, &["--set=upstream.q.profile=mcp", "--set=upstream.q.required=true"]);
    let ask = |gateway: &Serving, more: Value| {
        let mut params = json!({"name": "q_t_elicit", "arguments": {"about": "a name"}, "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {"elicitation": {}},
        }});
        params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        let headers =
            "mcp-protocol-version: 2026-07-28\r\nmcp-method: tools/call\r\nmcp-name: q_t_elicit\r\n";
        let body = request("tools/call", &params).to_string();
        Client::new(&gateway.url(), None).send("POST", "/mcp", headers, &body).json()["result"].clone()
    };
    let asked = ask(&a, json!({}));
    let key = asked["inputRequests"].as_object().unwrap_or_else(|| panic!("{asked}")).keys().next().unwrap();
    let answers = json!({key: {"action": "accept", "content": {"value": "Ann"}}});
    let answered = ask(&b, json!({"inputResponses": answers, "requestState": asked["requestState"]}));
    let text = answered["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answered}"));
    assert!(text.contains("Ann"), "{answered}");
}
