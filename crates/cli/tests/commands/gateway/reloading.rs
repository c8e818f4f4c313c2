//! Upstreams and routes that change while the gateway runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::StreamExt as _;
use serde_json::Value;
use switchboard::mcp::Connector;
use switchboard::mcp::adapt::Methods;
use switchboard::{CallError, Describe as _, Dial, Dialect, Peer};
use tokio::runtime::Runtime;

use super::children::{is_alive, python};
use super::discovery::methods;
use super::{call, until};
use crate::carriers::Folder;
use crate::program::{Serving, program};

/// A gateway with a file, which only SIGHUP reloads.
struct Reloading {
    folder: Folder,
    gateway: Serving,
}

impl Reloading {
    fn start(name: &str, text: &str) -> Reloading {
        let folder = Folder::new(name);
        let file = folder.file("gateway.toml");
        std::fs::write(&file, text).unwrap();
        let gateway = Serving::spawn(program(&[
            "gateway",
            "--config",
            &file,
            "--no-watch",
            "--listen=http://127.0.0.1:0",
            "--listen=ws://127.0.0.1:0",
        ]));
        Reloading { folder, gateway }
    }

    fn urls(&self) -> [String; 2] {
        self.gateway.urls().try_into().unwrap()
    }

    /// Changes the file; gives what the gateway says about it up to this.
    fn change(&mut self, text: &str, said: &str) -> String {
        std::fs::write(self.folder.file("gateway.toml"), text).unwrap();
        self.gateway.signal("HUP");
        self.gateway.read_until(said)
    }
}

fn runtime() -> Runtime {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap()
}

/// Calls that go on until they are stopped.
struct Load {
    is_over: Arc<AtomicBool>,
    made: Arc<AtomicUsize>,
    callers: Vec<tokio::task::JoinHandle<Result<(), CallError>>>,
}

impl Load {
    fn start(runtime: &Runtime, urls: &[String], method: &'static str) -> Load {
        let mut load = Load { is_over: Arc::default(), made: Arc::default(), callers: Vec::new() };
        for url in urls.iter().chain(urls) {
            let peer = runtime.block_on(switchboard::connect(url)).unwrap();
            let (is_over, made) = (Arc::clone(&load.is_over), Arc::clone(&load.made));
            load.callers.push(runtime.spawn(async move {
                while !is_over.load(Ordering::Relaxed) {
                    assert_eq!(peer.call::<i64>(method, [2, 3]).await?, 5);
                    made.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            }));
        }
        load
    }

    /// Waits for further calls.
    fn go_on(&self) {
        let before = self.made.load(Ordering::Relaxed);
        until("calls go on", || (self.made.load(Ordering::Relaxed) > before + 50).then_some(()));
    }

    fn stop(self, runtime: &Runtime) {
        self.is_over.store(true, Ordering::Relaxed);
        for caller in self.callers {
            runtime.block_on(caller).unwrap().expect("no call fails");
        }
    }
}

#[test]
fn upstreams_and_routes_change_under_load_and_what_is_the_same_is_kept() {
    let web = Serving::start(&[]);
    let scripts = Folder::new("gateway-reload-python");
    let kept = format!(
        "[upstream.web]\nurl = \"{}\"\nshared = true\n\
         [[route]]\nmethods = \"web/get_server_time\"\ncache = \"1h\"\n",
        web.url()
    );
    let tool = format!("[upstream.tool]\nurl = \"{}\"\n", python(&scripts));
    let renamed = "[[route]]\nmethods = \"plus\"\nupstream = \"web\"\nrename = \"math/add\"\n";
    let mut reloading = Reloading::start("gateway-reload", &format!("{kept}{tool}{renamed}"));
    let urls = reloading.urls();
    let [http, ws] = &urls;
    let runtime = runtime();
    let load = Load::start(&runtime, &urls, "web/math/add");
    // A connection that lasts has its own program; all others share one.
    let client = runtime.block_on(switchboard::connect(ws)).unwrap();
    let own: u32 = runtime.block_on(client.call("tool/pid", ()).into_future()).unwrap();
    let shared = call(http, &["tool/pid"]).1.trim().to_owned();
    let time = call(http, &["web/get_server_time"]).1;
    assert_eq!(call(http, &["plus", "2", "3"]).1, "5\n");
    load.go_on();

    let more = format!("[upstream.more]\nurl = \"{}\"\n", web.url());
    let renamed = renamed.replace("math/add", "math/multiply");
    let said = reloading.change(&format!("{renamed}{more}{kept}"), "Configuration reloaded");
    assert!(said.contains("route, upstream tool removed, upstream more added"), "{said}");
    assert_eq!(call(http, &["more/math/add", "2", "3"]).1, "5\n");
    assert_eq!(call(http, &["plus", "2", "3"]).1, "6\n");
    assert!(call(http, &["tool/add", "2", "3"]).2.contains("-32601"));
    assert_eq!(call(http, &["web/get_server_time"]).1, time, "the cache is kept");
    let described = methods(http);
    assert!(described.contains(&"more/math/add".to_owned()), "{described:?}");
    // Its client is still connected, but it has ended.
    until("the programs have ended", || (!is_alive(&own.to_string()) && !is_alive(&shared)).then_some(()));
    let sum: i64 = runtime.block_on(client.call("more/math/add", [2, 3]).into_future()).unwrap();
    assert_eq!(sum, 5);
    load.go_on();
    load.stop(&runtime);
}

#[test]
fn a_program_is_kept_when_only_policies_change() {
    let scripts = Folder::new("gateway-reload-policy");
    let tool = format!("[upstream.tool]\nurl = \"{}\"\n", python(&scripts));
    let mut reloading = Reloading::start("gateway-reload-kept", &tool);
    let [http, ws] = reloading.urls();
    let runtime = runtime();
    let client = runtime.block_on(switchboard::connect(&ws)).unwrap();
    let pids = || {
        let own: u32 = runtime.block_on(client.call("tool/pid", ()).into_future()).unwrap();
        (own, call(&http, &["tool/pid"]).1)
    };
    let before = pids();
    let said = reloading.change(&format!("{tool}timeout = \"5s\"\n"), "Configuration reloaded");
    assert!(said.contains("upstream tool changed") && !said.contains("draining"), "{said}");
    assert_eq!(pids(), before);
    let said = reloading.change(&format!("{tool}env = {{ A = \"b\" }}\n"), "Configuration reloaded");
    assert!(said.contains("draining tool for up to"), "{said}");
    let after = pids();
    assert!(after.0 != before.0 && after.1 != before.1, "{before:?} {after:?}");
}

/// The items of a stream, and how it ended.
async fn stream(client: &Peer, params: Value, begun: Arc<AtomicUsize>) -> (usize, Option<CallError>) {
    let mut items = client.stream::<u64>("web/ticks", params).await.unwrap();
    let mut count = 0;
    while let Some(item) = items.next().await {
        match item {
            Ok(_) => count += 1,
            Err(error) => return (count, Some(error)),
        }
        begun.fetch_add(1, Ordering::Relaxed);
    }
    (count, None)
}

#[test]
fn streams_of_a_removed_upstream_end_by_themselves_or_with_the_drain_time() {
    let web = Serving::start(&["--listen=ws://127.0.0.1:0"]);
    for url in web.urls() {
        let drain = "drain_time = \"2s\"\n";
        let file = format!("{drain}[upstream.web]\nurl = \"{url}\"\n");
        let mut reloading = Reloading::start("gateway-reload-streams", &file);
        let ws = &reloading.urls()[1];
        let runtime = runtime();
        let client = Arc::new(runtime.block_on(switchboard::connect(ws)).unwrap());
        let begun = Arc::<AtomicUsize>::default();
        let start = |params: Value| {
            let (client, begun) = (Arc::clone(&client), Arc::clone(&begun));
            runtime.spawn(async move { stream(&client, params, begun).await })
        };
        let short = start(serde_json::json!({ "seconds": 0.1, "count": 10 }));
        let endless = start(serde_json::json!({ "seconds": 0.1 }));
        until("both have begun", || (begun.load(Ordering::Relaxed) > 3).then_some(()));
        let changed = Instant::now();
        let other = format!("{drain}[upstream.other]\nurl = \"{url}\"\n");
        let said = reloading.change(&other, "Configuration reloaded");
        assert!(said.contains("draining web for up to 2 s"), "{said}");
        assert_eq!(runtime.block_on(short).unwrap(), (10, None), "{url}");
        let (count, error) = runtime.block_on(endless).unwrap();
        let took = changed.elapsed();
        assert!(count > 10 && took > Duration::from_secs(2) && took < Duration::from_secs(8), "{took:?}");
        assert!(error.is_some_and(|error| error.to_string().contains("-32004")), "{url}");
    }
}

#[test]
fn a_server_that_is_removed_from_a_pool_drains_alone() {
    let [one, two, three] = [(); 3].map(|()| Serving::start(&["--listen=ws://127.0.0.1:0"]));
    let urls = |servers: &[&Serving]| {
        let quoted: Vec<String> = servers.iter().map(|server| format!("{:?}", server.urls()[1])).collect();
        format!("[{}]", quoted.join(", "))
    };
    let folder = Folder::new("gateway-reload-node-admin");
    let admin = format!("unix:{}", folder.file("admin.sock"));
    let top = format!("admin.url = \"{admin}\"\ndrain_time = \"1s\"\n");
    let file = |servers: &[&Serving]| {
        let urls = urls(servers);
        format!("{top}[upstream.web]\nurl = {urls}\nbalance = \"round-robin\"\ntimeout = \"60s\"\n")
    };
    let mut reloading = Reloading::start("gateway-reload-node", &file(&[&one, &two]));
    let [http, ws] = reloading.urls();
    // Every server has been called, and is in a state that an operator has set.
    (0..4).for_each(|_| assert_eq!(call(&http, &["web/math/add", "2", "3"]).1, "5\n"));
    let url = &two.urls()[1];
    let drain = || {
        let (code, stdout, stderr) = call(&admin, &["admin/drain", "upstream=web", &format!("node={url}")]);
        assert_eq!(code, Some(0), "{stderr}");
        serde_json::from_str::<Value>(&stdout).unwrap()
    };
    let runtime = runtime();
    let client = runtime.block_on(switchboard::connect(&ws)).unwrap();
    let before = drain();
    let slow = runtime.spawn(async move { client.call::<Value>("web/wait", [25]).await });
    until("the slow call is in progress", || (drain()["nodes"][0]["inFlight"] == 1).then_some(()));
    let said = reloading.change(&file(&[&two, &three]), "Configuration reloaded");
    assert!(said.contains("upstream web changed, draining web for up to 1 s"), "{said}");
    let ended = runtime.block_on(slow).unwrap();
    assert!(ended.is_err_and(|error| error.to_string().contains("-32004")));
    let after = drain();
    let node = |upstream: &Value, url: &str| {
        let nodes = upstream["nodes"].as_array().unwrap();
        nodes.iter().find(|node| node["url"] == *url).cloned().unwrap()
    };
    for member in ["calls", "state", "connections", "latencyMs"] {
        assert_eq!(node(&after, url)[member], node(&before, url)[member], "{member}");
    }
    assert_eq!(call(&http, &["web/math/add", "2", "3"]).1, "5\n");
}

#[test]
fn calls_of_a_removed_upstream_end_with_the_drain_time() {
    let web = Serving::start(&[]);
    let file = format!("drain_time = \"1s\"\n[upstream.web]\nurl = \"{}\"\n", web.url());
    let mut reloading = Reloading::start("gateway-reload-calls", &file);
    let runtime = runtime();
    let client = runtime.block_on(switchboard::connect(&reloading.urls()[1])).unwrap();
    // Once it is answered, the slow call before it is on its way.
    let slow = runtime.spawn({
        let client = client.clone();
        async move { client.call::<Value>("web/wait", [25]).await }
    });
    until("the slow call is in progress", || {
        let sum = runtime.block_on(client.call::<i64>("web/math/add", [2, 3]).into_future());
        (sum == Ok(5)).then_some(())
    });
    reloading.change(&file.replace("upstream.web", "upstream.other"), "Configuration reloaded");
    let ended = runtime.block_on(slow).unwrap();
    assert!(ended.is_err_and(|error| error.to_string().contains("-32004")));
}

#[test]
fn a_file_with_errors_changes_nothing() {
    let web = Serving::start(&[]);
    let good = format!("[upstream.web]\nurl = \"{}\"\n", web.url());
    let mut reloading = Reloading::start("gateway-reload-bad", &good);
    let [http, _] = reloading.urls();
    let check = |reloading: &mut Reloading, text: &str, reason: &str| {
        let said = reloading.change(text, "The configuration in use stays.");
        assert!(said.contains(reason), "{said}");
        assert_eq!(call(&http, &["web/math/add", "2", "3"]).1, "5\n");
    };
    check(&mut reloading, "[upstream.web\n", "invalid TOML");
    check(&mut reloading, "", "needs a server to forward calls to");
    let route = "[[route]]\nmethods = \"a\"\nupstream = \"wep\"\n";
    check(&mut reloading, &format!("{good}{route}"), "no upstream is named `wep`");
    let required = "[upstream.gone]\nurl = \"http://127.0.0.1:1\"\nrequired = true\n";
    check(&mut reloading, &format!("{good}{required}"), "the upstream gone is required");
    let said = reloading.change(&good, "Configuration reloaded");
    assert!(!said.contains("removed"), "{said}");
}

#[test]
fn clients_of_mcp_are_notified_of_tools_that_change() {
    let web = Serving::start(&[]);
    let file = format!("[upstream.web]\nurl = \"{}\"\n", web.url());
    let mut reloading = Reloading::start("gateway-reload-mcp", &file);
    let [http, _] = reloading.urls();
    let runtime = runtime();
    let tools = runtime.block_on(async {
        let client = Connector::default().dial(Dial::new(&format!("{http}/mcp")).unwrap()).await.unwrap();
        Methods::of(&client).await.unwrap()
    });
    let names = || tools.describe_in(Dialect::default()).methods.into_iter().map(|method| method.name);
    let has = |prefix: &str| names().any(|name| name.starts_with(prefix));
    assert!(has("web") && !has("more"), "{:?}", names().collect::<Vec<_>>());
    reloading.change(&file.replace("upstream.web", "upstream.more"), "Configuration reloaded");
    until("the client has the new tools", || (has("more") && !has("web")).then_some(()));
}
