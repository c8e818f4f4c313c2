//! Whole files for a gateway, as people write them, and the other ways to set their keys.

use std::ffi::OsString;

use super::policies::Hedge;
use super::upstreams::Profile;
use super::*;
use crate::output;

fn read(path: &str, text: &str) -> Result<Config, Failure> {
    let origin = Origin { command: Command::Gateway, ..Origin::default() };
    let (source, table) = origin.read(Source::of(Path::new(path), text.to_owned()))?;
    Config::read(table, source, &Description::default())
}

fn load(path: &str, text: &str) -> Config {
    read(path, text).unwrap_or_else(|failure| panic!("{}", output::described(&failure)))
}

const TOOLS: &str = r#"
listen = ["http://127.0.0.1:8000"]

[upstream.files]
url     = "exec:npx -y @modelcontextprotocol/server-filesystem ./docs"
profile = "mcp"
idle    = "10m"

[upstream.git]
url     = "exec:uvx mcp-server-git"
profile = "mcp"
env     = { GIT_AUTHOR_NAME = "bot", GITLAB_TOKEN = "${PATH}" }
"#;

const ETHEREUM: &str = r#"
listen = ["http://127.0.0.1:8545"]
admin  = "http://127.0.0.1:9000"
store  = "file:state"
http   = { allow_host = "rpc.example.com" }
access = { rules = [{ allow = ["eth_*", "net_*"], who = "authenticated" }, { deny = "eth_sign*", who = "anyone" }] }
rate = [
  { limit = "25/s", burst = 100, weights = { eth_call = 2, eth_getLogs = 20 } },
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
  { url = "wss://eth.example/v2/${SWITCHBOARD_NO_SUCH:-key}", priority = 2 },
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
[upstream.github]
url       = "https://mcp.github.example/mcp"
profile   = "mcp"
token     = "${PATH}"
max_reply = "1MB"

[upstream]
files   = { url = "exec:npx -y @modelcontextprotocol/server-filesystem /srv/docs", profile = "mcp" }
billing = { url = "http://10.0.0.7:8080/rpc", openrpc = "billing.openrpc.json" }

[access]
rules = [
  { allow = ["github/get_*", "files/read_*"], who = "authenticated" },
  { allow = "billing/refund", who = "agent:support-bot", when = { "/amount" = { max = 50 } } },
]
tests = ["agent:support-bot may not billing/refund amount=51"]
"#;

#[test]
fn tools_are_processes_in_the_folder_of_their_file() {
    let config = load("etc/tools.toml", TOOLS);
    let [files, git] = &config.upstreams[..] else { panic!("{:?}", config.upstreams) };
    assert_eq!((&*files.prefix, files.profile), ("files/", Profile::Mcp));
    assert_eq!(files.cwd.as_deref(), Some(Path::new("etc")));
    assert_eq!(git.env[0], ("GIT_AUTHOR_NAME".to_owned(), "bot".to_owned()));
    assert_eq!(git.env[1].1, std::env::var("PATH").unwrap());
    // A file in another folder has to name this one.
    let printed = config.printed();
    assert!(printed.contains("cwd = \"etc\""), "{printed}");
    assert!(printed.contains("GITLAB_TOKEN = \"${PATH}\""), "{printed}");
    assert_eq!(load("printed.toml", &printed).upstreams[0].cwd.as_deref(), Some(Path::new("etc")));
    assert!(show::show(&config).contains("# cwd: not set; "));
}

#[test]
fn nodes_have_priorities_and_routes_have_policies() {
    let config = load("ethereum.toml", ETHEREUM);
    let eth = &config.upstreams[0];
    assert_eq!((&*eth.prefix, eth.profile), ("", Profile::Ethereum));
    let nodes: Vec<(&str, u32)> = eth.nodes.iter().map(|node| (&*node.shown, node.priority)).collect();
    assert_eq!(
        nodes,
        [("ws://10.0.0.5:8546", 1), ("ws://10.0.0.6:8546", 1), ("wss://eth.example/v2/***", 2)]
    );
    assert_eq!(eth.nodes[2].url, "wss://eth.example/v2/key");
    assert_eq!(eth.policy.hedge, Some(Some(Hedge::Percentile(95))));
    assert_eq!(
        config.routes.iter().map(|route| &*route.place).collect::<Vec<_>>(),
        ["ethereum.toml:12", "ethereum.toml:13"]
    );
}

#[test]
fn upstreams_are_in_the_order_of_their_names() {
    let config = load("etc/federation.toml", FEDERATION);
    let names: Vec<&str> = config.upstreams.iter().map(|upstream| &*upstream.name).collect();
    assert_eq!(names, ["billing", "files", "github"]);
    assert_eq!(config.upstreams[0].openrpc.as_deref(), Some(Path::new("etc/billing.openrpc.json")));
    assert!(config.printed().contains("openrpc = \"etc/billing.openrpc.json\""));
}

#[test]
fn what_is_shown_and_printed_loads_again() {
    for text in [TOOLS, ETHEREUM, FEDERATION] {
        let config = load("gateway.toml", text);
        let printed = config.printed();
        let again = load("gateway.toml", &printed);
        assert_eq!(format!("{:?}", again.upstreams), format!("{:?}", config.upstreams), "{printed}");
        let routes =
            |config: &Config| config.routes.iter().map(|route| route.policy.clone()).collect::<Vec<_>>();
        assert_eq!(routes(&again), routes(&config), "{printed}");
        let shown = show::show(&config);
        assert_eq!(load("gateway.toml", &shown).upstreams.len(), config.upstreams.len(), "{shown}");
    }
}

#[test]
fn options_and_variables_set_keys_of_upstreams() {
    let text = "[upstream.My-Node]\nurl = \"ws://a\"\ntimeout = \"1s\"\ncache = \"1s\"\n";
    let with = |overlay: overlay::Overlay| {
        let (source, table) =
            Origin { overlay, ..Origin::default() }.read(Source::of(Path::new("a.toml"), text.to_owned()))?;
        Config::read(table, source, &Description::default())
    };
    let variables = |name: &str, value: &str| {
        let variable = (OsString::from(name), OsString::from(value));
        with(overlay::Overlay::of_variables([variable].into_iter()))
    };
    let node =
        |config: Result<Config, Failure>| config.ok().map(|mut config| config.upstreams.remove(0).policy);
    let seconds = Duration::from_secs;
    let policy = node(variables("SWITCHBOARD__UPSTREAM__MY_NODE__TIMEOUT", "5s")).unwrap();
    assert_eq!(policy.timeout, Some(seconds(5)));
    let policy = node(variables("SWITCHBOARD__UPSTREAM__MY_NODE__RETRY", "4")).unwrap();
    assert_eq!(policy.retry.unwrap().attempts, 4);
    let error = variables("SWITCHBOARD__UPSTREAM__MY_NODE__TIME_OUT", "5s").err().unwrap();
    assert!(output::described(&error).contains("did you mean `upstream.my_node.timeout`"));
    let set = |text: &str| with(overlay::Overlay::default().with(vec![overlay::assignment(text)?]));
    let cache = |text: &str| node(set(text)).unwrap().cache.flatten();
    assert_eq!(cache("upstream.My-Node.cache.ttl=7s").unwrap().ttl, seconds(7));
    assert_eq!(cache("upstream.My-Node.cache=8s").unwrap().ttl, seconds(8));
    assert_eq!(cache("upstream.My-Node.cache=false"), None);
    assert!(set("upstream.My-Node.cash=1s").is_err() && set("upstream.My-Node=1").is_err());
}

#[test]
fn the_admin_listener_has_a_short_form() {
    let admin = |text: &str| load("a.toml", text).admin;
    let url = Some("http://127.0.0.1:9000".to_owned());
    assert_eq!(admin("admin = \"http://127.0.0.1:9000\"\n"), url);
    assert_eq!(admin("admin = \"9000\"\n"), url);
    assert_eq!(admin("admin = { url = \"9000\", who = \"user:a\" }\n"), url);
    assert_eq!(admin("admin = false\n"), None);
    let printed = load("a.toml", "admin = \"9000\"\n").printed();
    assert_eq!(admin(&printed), url, "{printed}");
    let failure = read("a.toml", "admin = [\"9000\"]\n").err().unwrap();
    assert!(output::described(&failure).contains("`admin.url`"), "{failure:?}");
    let short = &schema::schema()["properties"]["admin"]["anyOf"];
    assert_eq!((&short[0]["type"], &short[1]["const"]), (&"string".into(), &false.into()));
    assert_eq!(short[2]["properties"]["url"]["type"], "string");
}

#[test]
fn the_schema_has_short_and_long_forms() {
    let schema = schema::schema();
    let upstream = &schema["properties"]["upstream"]["additionalProperties"];
    let property = |name: &str| &upstream["properties"][name];
    assert_eq!(upstream["additionalProperties"], false);
    assert_eq!(property("cache")["anyOf"][0]["type"], "string");
    assert_eq!(property("cache")["anyOf"][1]["type"], "boolean");
    assert_eq!(property("cache")["anyOf"][2]["properties"]["size"]["default"], "64MB");
    assert_eq!(property("hedge")["anyOf"][1]["const"], false);
    assert_eq!(property("tls")["properties"]["insecure"]["type"], "boolean");
    assert_eq!(property("env")["additionalProperties"]["type"], "string");
    let route = &schema["properties"]["route"]["anyOf"][0]["properties"];
    assert_eq!(route["cache"], *property("cache"));
}
