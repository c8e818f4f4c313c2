//! MCP servers behind a gateway, for agents before it.

mod a2a;
mod agent;
mod changing;
mod content;
mod observed;
mod pins;
mod policies;
mod sessions;

use serde_json::{Value, json};

use self::agent::Agent;
use super::{call, free_port, until};
use crate::carriers::Folder;
use crate::program::{Serving, post, program};

const SERVER: &str = include_str!("server.py");

/// A gateway in front of an MCP server, whose tools can be changed.
struct Behind {
    folder: Folder,
    gateway: Serving,
}

impl Behind {
    /// The server is the upstream `t`. The configuration has these further keys of it, and then this text.
    fn new(name: &str, keys: &str, more: &str) -> Behind {
        Behind::with(name, "", keys, more)
    }

    /// The same with these keys of the gateway.
    fn with(name: &str, top: &str, keys: &str, more: &str) -> Behind {
        let folder = Folder::new(&format!("agents-{name}"));
        std::fs::write(folder.file("server.py"), SERVER).unwrap();
        write_tools(&folder, &all_tools());
        let upstream = format!(
            "listen = [\"http://127.0.0.1:0\", \"ws://127.0.0.1:0\"]\n{top}\n[upstream.t]\n\
             url = \"exec:python3 server.py tools.json\"\nprofile = \"mcp\"\nrequired = true\n{keys}\n{more}\n"
        );
        std::fs::write(folder.file("gateway.toml"), upstream).unwrap();
        let gateway = start(&folder);
        Behind { folder, gateway }
    }

    fn url(&self) -> String {
        self.gateway.url()
    }
}

fn start(folder: &Folder) -> Serving {
    Serving::spawn(program(&["gateway", "--config", &folder.file("gateway.toml")]))
}

fn write_tools(folder: &Folder, tools: &Value) {
    std::fs::write(folder.file("tools.json"), tools.to_string()).unwrap();
}

fn tool(name: &str, description: &str) -> Value {
    json!({"name": name, "description": description, "inputSchema": {"type": "object"}})
}

fn all_tools() -> Value {
    let names =
        ["pid", "count", "crash", "elicit", "log", "touch", "blocks", "fails", "changed", "echo", "who"];
    names.iter().map(|name| tool(name, &format!("The tool {name}."))).collect()
}

/// Calls a method as the simplest client does, and gives the response.
fn rpc(url: &str, method: &str, params: &Value) -> Value {
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    post(url, "", &body)
}

/// The text of the first block of a result.
fn text(result: &Value) -> String {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{result}")).to_owned()
}
