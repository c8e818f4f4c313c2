//! Whole configurations, as operators write them: each is checked with every file that it names, and shown.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use crate::carriers::Folder;
use crate::program::{parts, program, run};

const ETHEREUM: &str = r#"
listen = ["https://127.0.0.1:8545"]
admin  = "http://127.0.0.1:9000"
store  = "file:state"
tls    = { cert = "cert.pem", key = "key.pem" }
http   = { allow_host = "rpc.example.com" }
auth   = { keys = "keys.txt" }
access = { rules = [{ allow = ["eth_*", "net_*"], who = "authenticated" }, { deny = "eth_sign*", who = "anyone" }] }
rate = [
  { limit = "25/s", burst = 100, who = "role:free", weights = { eth_call = 2, eth_getLogs = 20 } },
  { limit = "200/s", per = "address" },
]
route = [
  { methods = ["eth_chainId", "net_version", "eth_getBlockByHash"], cache = "1h" },
  { methods = ["eth_blockNumber", "eth_call", "eth_getBalance"], cache = { ttl = "12s", clear_on = "newHeads" } },
]

[upstream.eth]
prefix   = ""
profile  = "ethereum"
url      = [
  "ws://10.0.0.5:8546",
  "ws://10.0.0.6:8546",
  { url = "wss://eth.example/v2/${PROVIDER_KEY}", priority = 2 },
]
health   = { method = "eth_blockNumber", every = "2s", max_lag = 3 }
timeout  = "10s"
retry    = 2
hedge    = "p95"
shared   = true
coalesce = true
merge    = { last = true }
"#;

const FEDERATION: &str = r#"
listen = ["http://127.0.0.1:8000"]

[auth.jwt]
issuer   = "https://login.example.com"
audience = "https://tools.example.com/mcp"
keys     = "https://login.example.com/.well-known/jwks.json"
roles    = "/realm_access/roles"

[upstream.github]
url       = "https://mcp.github.example/mcp"
profile   = "mcp"
token     = "${file:github-token}"
pin       = "hold"
max_reply = "1MB"

[upstream]
files   = { url = "exec:npx -y @modelcontextprotocol/server-filesystem /srv/docs", profile = "mcp" }
billing = { url = "http://10.0.0.7:8080/rpc", openrpc = "billing.openrpc.json" }

[access]
rules = [
  { allow = ["github/get_*", "github/search_*", "files/read_*"], who = "authenticated" },
  { allow = "github/create_issue", who = "role:developer", when = { "/repo" = { matches = "^acme/" } } },
  { allow = "billing/refund", who = "agent:support-bot", when = { "/amount" = { max = 50 }, "/currency" = ["EUR", "USD"] } },
  { allow = ["files/**", "billing/**"], who = "role:operator" },
  { deny = "files/write_file", who = "anyone", when = { "/path" = { matches = '(^|/)\.' } } },
]
tests = ["role:developer may github/create_issue repo=acme/site", "role:operator may not files/write_file path=.ssh/config",
         "agent:support-bot may not billing/refund amount=51 currency=EUR", "anonymous may not files/read_file path=a.txt"]
"#;

const QUEUE: &str = r#"
listen = ["https://127.0.0.1:8443"]
tls    = { cert = "cert.pem", key = "key.pem" }
auth   = { keys = "keys.txt" }
store  = "nats://nats.internal:4222/switchboard"
store_credentials = "gateway.creds"
idempotency = "24h"
rate   = { limit = "100/s" }
upstream.math = { url = "nats://nats.internal:4222/math", prefix = "" }
"#;

/// The configuration with all files that it names.
fn folder(name: &str, text: &str) -> (Folder, String) {
    let folder = Folder::new(&format!("gateway-complete-{name}"));
    let (certificate, key) = folder.certificate();
    fs::rename(certificate, folder.file("cert.pem")).unwrap();
    fs::rename(key, folder.file("key.pem")).unwrap();
    let (code, line, stderr) = parts(run(&["key", "new", "alice", "--role", "free"]));
    assert_eq!(code, Some(0), "{stderr}");
    let document = r#"{"openrpc":"1.3.2","info":{"title":"Billing","version":"1"},"methods":[{"name":"refund","params":[]}]}"#;
    let seed = "SUAIO3FHUX5PNV2LQIIP7TZ3N4L7TX3W53MQGEIVYFIGA635OZCKEYHFLM";
    for (file, text) in [
        ("gateway.toml", text),
        ("keys.txt", &line),
        ("github-token", "t0ken"),
        ("billing.openrpc.json", document),
        ("gateway.creds", seed),
    ] {
        fs::write(folder.file(file), text).unwrap();
        fs::set_permissions(folder.file(file), fs::Permissions::from_mode(0o600)).unwrap();
    }
    let file = folder.file("gateway.toml");
    (folder, file)
}

fn with_key(arguments: &[&str]) -> (Option<i32>, String, String) {
    parts(program(arguments).env("PROVIDER_KEY", "s3cret").output().unwrap())
}

#[test]
fn whole_configurations_are_valid_and_their_secrets_are_hidden() {
    for (name, text) in [("ethereum", ETHEREUM), ("federation", FEDERATION), ("queue", QUEUE)] {
        let (_folder, file) = folder(name, text);
        let checked = with_key(&["gateway", "--config", &file, "--check"]);
        assert_eq!(checked, (Some(0), String::new(), String::new()), "{name}");
        let (code, shown, stderr) = with_key(&["config", "show", &file]);
        assert_eq!(code, Some(0), "{name}: {stderr}");
        assert!(!shown.contains("s3cret") && !shown.contains("t0ken"), "{name}: {shown}");
    }
}

#[test]
fn a_claim_that_does_not_hold_is_a_fault_of_a_whole_configuration() {
    let wrong = FEDERATION.replace("may not billing/refund amount=51", "may billing/refund amount=51");
    let (_folder, file) = folder("claim", &wrong);
    let (code, _, stderr) = with_key(&["gateway", "--config", &file, "--check"]);
    assert!(code == Some(10) && stderr.contains("access test failed"), "{stderr}");
}

#[test]
fn what_upstreams_describe_is_shown_on_request() {
    let folder = Folder::new("gateway-online");
    let server = crate::program::Serving::start(&[]);
    let file = folder.file("gateway.toml");
    let good = format!("[upstream.web]\nurl = \"{}\"\n", server.url());
    fs::write(&file, &good).unwrap();
    let (code, stdout, stderr) = parts(run(&["config", "check", "--online", &file]));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(stdout.contains("web/") && stdout.contains("methods"), "{stdout}");
    fs::write(&file, good + "[upstream.gone]\nurl = \"http://127.0.0.1:1\"\n").unwrap();
    let (code, stdout, stderr) = parts(run(&["config", "check", "--online", &file]));
    assert!(code == Some(3) && stdout.contains("web/") && stderr.contains("gone"), "{stdout}{stderr}");
    // Without the option, nothing is connected.
    assert_eq!(parts(run(&["config", "check", &file])).0, Some(0));
}
