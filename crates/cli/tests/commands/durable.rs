//! Durable methods of a program behind gateways that share a queue of jobs.

use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::broker::Broker;
use crate::carriers::Folder;
use crate::mcp::{Client, request};
use crate::program::{Serving, parts, post, program, run};

/// Nothing takes that long; it only tells a hang from a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// Has a durable method, which says that it was begun, and is done when there is a file `gate`.
const BUILDER: &str = r#"
import json, os, sys, time
folder = sys.argv[1]
method = {"name": "build", "params": [], "result": {"name": "result", "schema": {"type": "string"}}, "x-durable": True}
document = {"openrpc": "1.3.2", "info": {"title": "builder", "version": "1"}, "methods": [method]}
for line in sys.stdin:
    call = json.loads(line)
    if call["method"] == "rpc.discover":
        answer = {"result": document}
    elif call["method"] == "build":
        with open(os.path.join(folder, "begun"), "a") as begun:
            begun.write("begun\n")
        while not os.path.exists(os.path.join(folder, "gate")):
            time.sleep(0.01)
        answer = {"result": "built"}
    else:
        answer = {"error": {"code": -32601, "message": "Method not found"}}
    if "id" in call:
        print(json.dumps({"jsonrpc": "2.0", "id": call["id"], **answer}), flush=True)
"#;

/// The program, and the queue of its jobs.
struct Builder {
    folder: Folder,
    broker: Broker,
}

impl Builder {
    fn new(name: &str) -> Builder {
        let builder = Builder { folder: Folder::new(name), broker: Broker::start(&[]) };
        fs::write(builder.folder.file("builder.py"), BUILDER).unwrap();
        builder
    }

    /// A gateway that runs so many jobs at once.
    fn gateway(&self, workers: usize, more: &str) -> Serving {
        let name = format!("gateway-{}.toml", fastrand::u32(..));
        let text = format!(
            "listen = \"http://127.0.0.1:0\"\n{more}\n[upstream.b]\nurl = \"exec:python3 builder.py .\"\nrequired = true\n\
             [jobs]\nurl = \"{}/build\"\nlost_after = \"1s\"\nworkers = {workers}\n",
            self.broker.url()
        );
        fs::write(self.folder.file(&name), text).unwrap();
        Serving::spawn(program(&["gateway", "--config", &self.folder.file(&name)]))
    }

    /// How often the method was begun.
    fn begun(&self) -> usize {
        fs::read_to_string(self.folder.file("begun")).unwrap_or_default().lines().count()
    }

    fn gate(&self) -> PathBuf {
        self.folder.file("gate").into()
    }
}

fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let began = Instant::now();
    while !holds() {
        assert!(began.elapsed() < PATIENCE, "waited in vain until {what}");
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

/// Begins the tool as a task, and gives its name.
fn begin(client: &Client) -> String {
    let params = json!({"name": "b_build", "arguments": {}, "task": {}});
    let answer = client.post(&request("tools/call", &params)).json();
    let id = answer["result"]["task"]["taskId"].as_str();
    id.unwrap_or_else(|| panic!("{answer}")).to_owned()
}

fn ask(client: &Client, method: &str, task: &str) -> Value {
    client.post(&request(method, &json!({"taskId": task}))).json()["result"].clone()
}

// MCP-TK-03, MCP-TK-04, MCP-TK-05
#[test]
fn the_task_of_a_durable_tool_outlives_its_worker_and_its_gateway() {
    let builder = Builder::new("durable-task");
    let (front, worker) = (builder.gateway(0, ""), builder.gateway(4, ""));
    let client = Client::with_session(&front.url(), None);
    let task = begin(&client);
    until("a worker has begun it", || builder.begun() == 1);
    assert_eq!(ask(&client, "tasks/get", &task)["status"], "working");
    // SIGKILL, both of them.
    drop((front, worker));
    let front = builder.gateway(0, "");
    let client = Client::with_session(&front.url(), None);
    assert_eq!(ask(&client, "tasks/get", &task)["status"], "working");
    let _worker = builder.gateway(4, "");
    until("another worker has begun it", || builder.begun() == 2);
    fs::write(builder.gate(), "").unwrap();
    assert_eq!(ask(&client, "tasks/result", &task)["content"][0]["text"], "built");
    assert_eq!(ask(&client, "tasks/get", &task)["status"], "completed");
    // One that ended before the gateway began is known, too.
    let last = builder.gateway(0, "");
    assert_eq!(
        ask(&Client::with_session(&last.url(), None), "tasks/result", &task)["content"][0]["text"],
        "built"
    );

    fs::remove_file(builder.gate()).unwrap();
    let task = begin(&client);
    until("a worker has begun it", || builder.begun() == 3);
    assert_eq!(ask(&client, "tasks/cancel", &task)["status"], "cancelled");
    let status = || parts(run(&["job", "status", &front.url(), &task])).1;
    until("its job is cancelled", || status().contains("cancelled"));
}

#[test]
fn a_durable_call_with_a_key_is_one_job_and_names_it_when_it_takes_long() {
    let builder = Builder::new("durable-key");
    let gateway = builder.gateway(4, "timeout = \"2s\"");
    let url = gateway.url();
    let call = || {
        let body = r#"{"jsonrpc":"2.0","method":"b/build","params":[],"id":1}"#;
        post(&url, "idempotency-key: once", body)
    };
    let late = call();
    assert_eq!(late["error"]["code"], -32003, "{late}");
    let job = late["error"]["data"]["job"].as_str().unwrap_or_else(|| panic!("{late}")).to_owned();
    assert_eq!(call()["error"]["data"]["job"], job, "the key is that of the job");
    fs::write(builder.gate(), "").unwrap();
    let (code, result, stderr) = parts(run(&["job", "result", &url, &job, "--wait", "1m"]));
    assert_eq!((code, result.as_str()), (Some(0), "\"built\"\n"), "{stderr}");
    assert_eq!(call()["result"], "built");
    assert_eq!(builder.begun(), 1);
}
