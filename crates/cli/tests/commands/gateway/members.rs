//! Members of messages that JSON-RPC does not define.

use serde_json::json;

use crate::carriers::Folder;
use crate::program::{Serving, post, program};

/// Answers with the members that it got, and has members of its own.
const SERVER: &str = r#"
import json, sys
for line in sys.stdin:
    request = json.loads(line)
    if "id" not in request:
        continue
    got = sorted(name for name in request if name not in ("jsonrpc", "id", "method", "params"))
    answer = {"jsonrpc": "2.0", "id": request["id"], "result": got, "trace": "t", "debug": "secret"}
    print(json.dumps(answer), flush=True)
"#;

#[test]
fn an_upstream_says_which_members_pass() {
    let folder = Folder::new("gateway-members");
    std::fs::write(folder.file("server.py"), SERVER).unwrap();
    let upstream = |name: &str, members: &str| {
        format!("[upstream.{name}]\nurl = \"exec:python3 server.py\"\nopenrpc = \"none.json\"\n{members}\n")
    };
    let document = json!({"openrpc": "1.3.2", "info": {"title": "none", "version": "1"}, "methods": []});
    std::fs::write(folder.file("none.json"), document.to_string()).unwrap();
    let text = upstream("all", "")
        + &upstream("some", "members = [\"trace\"]")
        + &upstream("one", "members = \"debug\"")
        + &upstream("none", "members = false")
        + &upstream("yes", "members = true");
    let file = folder.file("gateway.toml");
    std::fs::write(&file, text).unwrap();
    let gateway = Serving::spawn(program(&["gateway", "--config", &file, "--listen=http://127.0.0.1:0"]));
    let passed = |name: &str| {
        let method = format!("{name}/m");
        let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "trace": {"a": 1}, "debug": true});
        let answer = post(&gateway.url(), "", &body.to_string());
        let back: Vec<&str> =
            ["debug", "trace"].into_iter().filter(|name| answer.get(name).is_some()).collect();
        assert_eq!(answer["result"], json!(back), "{name}: {answer}");
        back.join(" ")
    };
    let names = ["all", "some", "one", "none", "yes"];
    assert_eq!(names.map(passed), ["debug trace", "trace", "debug", "", "debug trace"]);
}
