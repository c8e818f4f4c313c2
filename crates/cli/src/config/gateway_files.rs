//! What files for a gateway say, and what they are refused for.

use super::arguments::of_arguments;
use super::health::{BreakerConfig, EjectConfig, HealthConfig};
use super::key::{Form, Key, Kind};
use super::policies::{
    CacheConfig, FaultConfig, Hedge, MergeConfig, MirrorConfig, PolicyConfig, RetryConfig,
};
use super::routes::ParamsForm;
use super::upstream_keys::{ROUTE, UPSTREAM};
use super::upstreams::{Balance, Profile, Sessions, Sticky};
use super::*;
use crate::output;

fn read(origin: &Origin, text: &str) -> Result<Config, String> {
    let source = Source::of(Path::new("gateway.toml"), text.to_owned());
    let config =
        origin.read(source).and_then(|(source, table)| Config::read(table, source, &Description::default()));
    config.map_err(|failure| output::described(&failure))
}

fn load(text: &str) -> Config {
    read(&Origin::default(), text).unwrap_or_else(|faults| panic!("{text}\n{faults}"))
}

/// An upstream with these lines.
fn upstream(lines: &str) -> UpstreamConfig {
    load(&format!("[upstream.a]\n{lines}")).upstreams.remove(0)
}

/// What is wrong with a text contains all of this.
fn refused(text: &str, expected: &[&str]) {
    let Err(faults) = read(&Origin::default(), text) else { panic!("accepted: {text}") };
    for expected in expected {
        assert!(faults.contains(expected), "{text}\n{expected}\n{faults}");
    }
}

const SECONDS: fn(u64) -> Duration = Duration::from_secs;

const EVERY_KEY: &str = r#"
url = { url = "https://a.example/rpc", weight = 3, priority = 2 }
prefix = "x/"
profile = "mcp"
sessions = 4
batches = false
token = "secret"
headers = { X-Team = "blue" }
forward = ["Accept-Language", "x-request-id"]
tls = { ca = "ca.pem", cert = "cert.pem", key = "key.pem", insecure = true }
balance = "round-robin"
sticky = "/account"
health = { method = "ping", every = "2s", timeout = "500ms", fail = 5, pass = 1, max_lag = 3, value = "/number" }
eject = { errors = "20%", latency = "2.5x", time = "1m", most = "10%" }
breaker = { errors = "90%", open = "2s" }
members = ["trace", "x"]
required = true
openrpc = "a.openrpc.json"
safe = ["get*", "list/**"]
timeout = "5s"
max_reply = "1MB"
retry = { attempts = 3, budget = "5%", timeout = "1s" }
hedge = "50ms"
cache = { ttl = "10s", stale = "1m", size = "1MB", null = true, errors = { -32601 = "5s" }, clear_on = "newHeads" }
shared = true
coalesce = true
merge = { last = true }
mirror = { upstream = "b", traffic = "5%", diff = false }
fault = { delay = "1s", error = -32000, cut = true, traffic = "1%" }
[upstream.b]
url = "exec:python3 b.py"
env = { KEY = "v" }
cwd = "folder"
idle = "1m"
lifetime = "1h"
"#;

#[test]
fn every_key_of_an_upstream_is_read() {
    let config = load(&format!("[upstream.a]{EVERY_KEY}"));
    let [a, b] = &config.upstreams[..] else { panic!("{:?}", config.upstreams) };
    let node = &a.nodes[0];
    assert_eq!((&*node.url, node.weight, node.priority), ("https://a.example/rpc", 3, 2));
    assert_eq!((&*a.name, &*a.prefix, a.profile), ("a", "x/", Profile::Mcp));
    assert_eq!((a.sessions, a.balance), (Some(Sessions::Pool(4)), Balance::RoundRobin));
    assert_eq!((a.batches, b.batches), (false, true));
    assert_eq!(format!("{:?}", a.token), "Some(***)");
    assert_eq!(a.headers, [("x-team".to_owned(), "blue".to_owned())]);
    assert_eq!(a.forward, ["accept-language", "x-request-id"]);
    let tls = [&a.tls.ca, &a.tls.cert, &a.tls.key].map(|path| path.as_deref().and_then(Path::to_str));
    assert_eq!((tls, a.tls.insecure), ([Some("ca.pem"), Some("cert.pem"), Some("key.pem")], true));
    assert_eq!(a.sticky, Some(Sticky::Param("/account".parse().unwrap())));
    let health = HealthConfig {
        method: Some("ping".to_owned()),
        every: SECONDS(2),
        timeout: Duration::from_millis(500),
        fail: 5,
        pass: 1,
        max_lag: Some(3),
        value: Some("/number".parse().unwrap()),
    };
    assert_eq!(a.health, Some(health));
    assert_eq!(a.eject, Some(EjectConfig { errors: 0.2, latency: 2.5, time: SECONDS(60), most: 0.1 }));
    assert_eq!(a.breaker, Some(BreakerConfig { errors: 0.9, open: SECONDS(2) }));
    assert_eq!(a.members.as_deref(), Some(&["trace".to_owned(), "x".to_owned()][..]));
    assert_eq!(b.members, None);
    assert!(a.required && a.openrpc.as_deref() == Some(Path::new("a.openrpc.json")));
    assert_eq!(a.safe, ["get*".parse().unwrap(), "list/**".parse().unwrap()]);
    assert_eq!(a.policy, every_policy());
    assert_eq!((&*b.prefix, &*b.nodes[0].url), ("b/", "exec:python3 b.py"));
    assert_eq!(b.env, [("KEY".to_owned(), "v".to_owned())]);
    assert_eq!(b.cwd.as_deref(), Some(Path::new("folder")));
    assert_eq!((b.idle, b.lifetime), (Some(SECONDS(60)), Some(SECONDS(3600))));
}

/// The policies of [`EVERY_KEY`].
fn every_policy() -> PolicyConfig {
    PolicyConfig {
        timeout: Some(SECONDS(5)),
        max_reply: Some(1 << 20),
        retry: Some(RetryConfig { attempts: 3, budget: 0.05, timeout: Some(SECONDS(1)) }),
        hedge: Some(Some(Hedge::After(Duration::from_millis(50)))),
        cache: Some(Some(CacheConfig {
            ttl: SECONDS(10),
            stale: SECONDS(60),
            size: 1 << 20,
            store: false,
            null: true,
            errors: vec![(-32601, SECONDS(5))],
            clear_on: vec!["newHeads".to_owned()],
        })),
        shared: Some(true),
        coalesce: Some(true),
        merge: Some(Some(MergeConfig { last: true })),
        mirror: Some(Some(MirrorConfig { upstream: "b".to_owned(), traffic: 0.05, diff: false })),
        fault: Some(Some(FaultConfig {
            delay: Some(SECONDS(1)),
            error: Some(-32000),
            cut: true,
            traffic: 0.01,
        })),
    }
}

#[test]
fn what_is_not_set_is_the_default() {
    let a = upstream("url = 8000\n");
    assert_eq!((&*a.nodes[0].url, a.nodes[0].weight, a.nodes[0].priority), ("http://127.0.0.1:8000", 1, 1));
    assert_eq!((&*a.prefix, a.profile, a.sessions), ("a/", Profile::Plain, None));
    assert_eq!((a.balance, a.required, a.cwd, a.idle), (Balance::P2c, false, None, None));
    let health = a.health.unwrap();
    assert_eq!((health.method, health.every, health.fail, health.pass), (None, SECONDS(5), 3, 2));
    assert_eq!(a.eject, Some(EjectConfig { errors: 0.5, latency: 3.0, time: SECONDS(30), most: 0.5 }));
    assert_eq!(a.breaker, Some(BreakerConfig { errors: 0.5, open: SECONDS(5) }));
    assert_eq!(a.policy, PolicyConfig::default());
    let program = load("[upstream.a]\nurl = \"exec:a\"\n").upstreams.remove(0);
    assert_eq!(program.cwd, None, "the file is in the working directory");
}

#[test]
fn short_and_long_forms_mean_the_same() {
    let check = |short: &str, long: &str| {
        let shown = |line: &str| format!("{:?}", upstream(&format!("{line}\n")));
        let with_url = |line: &str| match line.starts_with("url") {
            true => line.to_owned(),
            false => format!("url = \"ws://a\"\n{line}"),
        };
        assert_eq!(shown(&with_url(short)), shown(&with_url(long)), "{short}");
    };
    check("url = \"ws://a\"", "url = [{ url = \"ws://a\", weight = 1 }]");
    check("cache = \"10s\"", "cache = { ttl = \"10s\" }");
    check("retry = 2", "retry = { attempts = 2, budget = \"20%\" }");
    check("retry = false", "retry = { attempts = 0, budget = \"0%\" }");
    check("health = \"ping\"", "health = { method = \"ping\" }");
    check("health = true", "health = {}");
    check("merge = true", "merge = { last = false }");
    check("eject = true", "");
    check("safe = \"a\"", "safe = [\"a\"]");
}

#[test]
fn false_switches_policies_off() {
    let a = upstream(
        "url = \"ws://a\"\nhealth = false\neject = false\nbreaker = false\nhedge = false\ncache = false\n\
         merge = false\nmirror = false\nfault = false\nshared = false\n",
    );
    assert!(a.health.is_none() && a.eject.is_none() && a.breaker.is_none());
    let off = PolicyConfig {
        hedge: Some(None),
        cache: Some(None),
        merge: Some(None),
        mirror: Some(None),
        fault: Some(None),
        shared: Some(false),
        ..PolicyConfig::default()
    };
    assert_eq!(a.policy, off);
}

#[test]
fn every_key_of_a_route_is_read() {
    let config = load(
        "[upstream.a]\nurl = \"ws://a\"\n[[route]]\nmethods = [\"get_*\", \"x/*\"]\nupstream = \"a\"\nwho = \"role:beta\"\n\
         header = { X-Canary = \"1\" }\ntraffic = \"5%\"\nrename = \"new_*\"\nset = { \"/a/b\" = { c = [1, \"x\", true] } }\n\
         default = { \"/limit\" = 10 }\ndrop = \"/old\"\nparams = \"named\"\ncache = \"1h\"\n[[route]]\nmethods = \"admin/**\"\n\
         upstream = false\n",
    );
    let [route, refusal] = &config.routes[..] else { panic!("{:?}", config.routes) };
    assert_eq!(route.methods.iter().map(ToString::to_string).collect::<Vec<_>>(), ["get_*", "x/*"]);
    assert_eq!(route.upstream, Some(Some("a".to_owned())));
    assert_eq!(route.who, ["role:beta".parse().unwrap()]);
    assert_eq!(route.header, [("x-canary".to_owned(), "1".to_owned())]);
    assert_eq!((route.traffic, route.rename.as_deref()), (Some(0.05), Some("new_*")));
    let (pointer, value) = &route.set[0];
    assert_eq!((&*pointer.to_string(), &*value.to_string()), ("/a/b", r#"{"c":[1,"x",true]}"#));
    assert_eq!(route.default[0].1.to_string(), "10");
    assert_eq!((route.drop[0].to_string().as_str(), route.params), ("/old", Some(ParamsForm::Named)));
    assert_eq!(route.policy.cache.as_ref().unwrap().as_ref().unwrap().ttl, SECONDS(3600));
    assert_eq!((&*route.place, route.is_unconditional()), ("gateway.toml:3", false));
    assert_eq!((&refusal.upstream, refusal.is_unconditional()), (&Some(None), true));
}

/// What no key but one for any JSON value takes.
const WRONG: [&str; 3] = ["[[true]]", "1979-05-27", "nan"];

/// Each key of the table at this path refuses each wrong value, also inside tables.
fn check_wrong(keys: &[Key], path: &str, around: &dyn Fn(&str) -> String) {
    for key in keys {
        let path = format!("{path}.{}", key.path);
        // What a short form sets decides.
        let kind = match key.kind {
            Kind::Form(form) => {
                form.keys.iter().find(|key| key.path == form.short).map_or(key.kind, |key| key.kind)
            }
            kind => kind,
        };
        // Any text is right for these, but for some texts: a date is a text, and a number may be one.
        let is_text = matches!(
            kind,
            Kind::Text
                | Kind::Secret
                | Kind::Path
                | Kind::Texts
                | Kind::Either([Kind::Text, Kind::Off] | [Kind::Flag, Kind::Texts])
        );
        for value in WRONG.iter().take(if is_text { 1 } else { WRONG.len() }) {
            let expected = format!("invalid value for `{path}");
            refused(&around(&format!("{} = {value}", key.path)), &[&expected]);
        }
        if let Kind::Form(Form { keys, .. }) = key.kind {
            check_wrong(keys, &path, &|line| around(&format!("{} = {{ {line} }}", key.path)));
        }
    }
}

#[test]
fn every_key_refuses_values_of_other_kinds() {
    check_wrong(UPSTREAM.keys, "upstream.a", &|line| format!("[upstream.a]\n{line}\n"));
    check_wrong(ROUTE, "route", &|line| format!("[[route]]\n{line}\n"));
}

#[test]
fn wrong_values_of_upstreams_are_refused_with_what_to_write() {
    let check = |line: &str, expected: &[&str]| {
        refused(&format!("[upstream.a]\nurl = \"https://a.example\"\n{line}\n"), expected);
    };
    check(
        "time_out = \"5s\"",
        &["unknown key `time_out` in `upstream.a`", "did you mean `timeout`?", "gateway.toml:3:1"],
    );
    check("durable = true", &["unknown key `durable`"]);
    check("timeout = \"5\"", &["the unit is missing; write \"5s\""]);
    check("tls = \"ca.pem\"", &["`tls` is a table", "write `upstream.a.tls.ca = …`"]);
    check("listen = 8000", &["`listen` is a top-level key"]);
    check("tls.cer = \"x\"", &["unknown key `cer` in `upstream.a.tls`", "did you mean `cert`"]);
    check(
        "health = { evry = \"2s\" }",
        &["unknown key `evry` in `upstream.a.health`", "did you mean `every`?"],
    );
    check(
        "health = { every = 2 }",
        &["invalid value for `upstream.a.health.every`", "write \"2s\", \"2ms\" or \"2m\""],
    );
    check(
        "health = { max_lag = 3 }",
        &["`upstream.a.health.max_lag` needs a method", "add method = \"METHOD\""],
    );
    check("health = { value = \"x\", method = \"m\" }", &["`x` is not a JSON pointer"]);
    check("timeout = 5", &["invalid value for `upstream.a.timeout`", "write \"5s\""]);
    check("max_reply = 5", &["write \"5B\", \"5KB\" or \"5MB\""]);
    check("profile = \"evm\"", &["use plain or mcp or a2a or ethereum or lsp"]);
    check("sessions = 0", &["write \"shared\", \"per-client\" or the size of a pool"]);
    check("balance = \"random\"", &["use p2c or round-robin"]);
    check("sticky = \"account\"", &["write \"session\", or a JSON pointer"]);
    check("eject = { latency = 3 }", &["invalid value for `upstream.a.eject.latency`", "such as \"3x\""]);
    check("eject = { most = 0.5 }", &["write a percentage such as \"10%\""]);
    check("eject = \"x\"", &["a text is not a table; write { … } or false"]);
    check("retry = -1", &["invalid value for `upstream.a.retry`", "use a whole number, 0 or more"]);
    check("hedge = \"p100\"", &["a percentile from \"p1\" to \"p99\""]);
    check("hedge = true", &["write a time such as \"50ms\""]);
    check("cache = 10", &["invalid value for `upstream.a.cache`", "write \"10s\""]);
    check(
        "cache = { stale = \"1m\" }",
        &["`upstream.a.cache` has no `ttl`", "add `ttl`, such as ttl = \"10s\""],
    );
    check(
        "cache = { ttl = \"1s\", errors = { x = \"1s\" } }",
        &["invalid name in `upstream.a.cache.errors`", "an error code"],
    );
    check(
        "cache = { ttl = \"1s\", errors = { -1 = 5 } }",
        &["invalid value for `upstream.a.cache.errors.-1`"],
    );
    check("mirror = { traffic = \"5%\" }", &["`upstream.a.mirror` has no `upstream`"]);
    check("mirror = { upstream = \"b\" }", &["no upstream is named `b`", "add [upstream.b]"]);
    check("fault = {}", &["`upstream.a.fault` has no fault", "add delay"]);
    check("idle = \"5m\"", &["`upstream.a.idle` needs an `exec:` URL", "gateway.toml:3:1"]);
    check("tls.cert = \"cert.pem\"", &["`upstream.a.tls.cert` needs `tls.key`"]);
    check("headers = { \"a b\" = \"c\" }", &["invalid name in `upstream.a.headers`"]);
    check("env = { \"A=B\" = \"c\" }", &["environment variable"]);
    check("safe = \"a**\"", &["`**` must be a whole segment"]);
}

#[test]
fn wrong_urls_and_names_are_refused() {
    let check = |url: &str, expected: &[&str]| refused(&format!("[upstream.a]\nurl = {url}\n"), expected);
    check(
        "\"wz://a\"",
        &["invalid value for `upstream.a.url`", "unknown scheme \"wz\"", "did you mean \"ws\"?"],
    );
    check("[\"ws://a\", { url = \"http://a:b\" }]", &["has no port", "gateway.toml:2:26"]);
    check("\"stdio\"", &["use \"exec:COMMAND\""]);
    check("\"exec:\"", &["invalid value for `upstream.a.url`"]);
    check("\"mock:\"", &["write \"mock:FILE\""]);
    check("\"demo:x\"", &["write \"demo:\""]);
    check("[]", &["`upstream.a` has no `url`"]);
    check("{ weight = 2 }", &["`upstream.a.url` has no `url`"]);
    check("{ url = \"ws://a\", weight = 0 }", &["invalid value for `upstream.a.url.weight`"]);
    check("{ url = \"ws://a\", wait = 0 }", &["unknown key `wait` in `upstream.a.url`"]);
    refused("[upstream.a]\nprefix = \"\"\n", &["`upstream.a` has no `url`", "gateway.toml:1:11"]);
    refused("[upstream.\"a b\"]\nurl = 8000\n", &["invalid name `a b`", "use letters, digits, `_` and `-`"]);
    refused("[upstream]\na = 5\n", &["invalid value for `upstream.a`", "a number is not a table"]);
    refused("upstream = 5\n", &["invalid value for `upstream`"]);
    let two = "[upstream.a]\nurl = 1\nprefix = \"\"\n[upstream.b]\nurl = 2\nprefix = \"\"\n";
    refused(two, &["`a` and `b` have the same prefix", "gateway.toml:4:11", "gateway.toml:1:11"]);
}

#[test]
fn wrong_routes_are_refused() {
    let check = |route: &str, expected: &[&str]| {
        refused(&format!("[upstream.eth]\nurl = \"ws://a\"\n[[route]]\n{route}\n"), expected);
    };
    check(
        "cache = \"1s\"",
        &["`route` has no `methods`", "add `methods`, such as methods = \"METHOD\"", "gateway.toml:3:1"],
    );
    check("methods = []", &["`route` has no `methods`"]);
    check(
        "methods = \"a\"\nupstream = \"et\"",
        &["no upstream is named `et`", "did you mean `eth`?", "gateway.toml:5:12"],
    );
    check("methods = \"a\"\nupstream = true", &["write the name of an upstream, or false"]);
    check(
        "methods = \"a\"\nmirror = { upstream = \"x1y\" }",
        &["no upstream is named `x1y`", "add [upstream.x1y]"],
    );
    check("methods = \"a\"\nwho = \"role\"", &["unknown kind of caller"]);
    check("methods = \"a\"\ntraffic = 5", &["invalid value for `route.traffic`", "such as \"10%\""]);
    check("methods = \"a\"\nrename = \"b*\"", &["a pattern in `methods` has none"]);
    check("methods = \"a*\"\nrename = \"b*c*\"", &["write `*` once"]);
    check("methods = \"a\"\nset = { a = 1 }", &["invalid name in `route.set`", "is not a JSON pointer"]);
    check("methods = \"a\"\nset = { \"/a\" = nan }", &["invalid value for `route.set./a`"]);
    check("methods = \"a\"\nmethod = \"b\"", &["unknown key `method` in `route`", "did you mean `methods`?"]);
    check(
        "methods = [\"b\", \"a\"]\n[[route]]\nmethods = \"a\"",
        &["two routes are for `a`", "gateway.toml:5:1", "gateway.toml:3:1"],
    );
    load("[[route]]\nmethods = \"a\"\ntraffic = \"5%\"\n[[route]]\nmethods = \"a\"\n");
}

#[test]
fn only_a_gateway_reads_upstreams() {
    let text = "[upstream.a]\nurl = 8000\n[[route]]\nmethods = \"x\"\n";
    let reads = |command| read(&Origin { command, ..Origin::default() }, text);
    assert!(reads(Command::Gateway).is_ok() && reads(Command::Any).is_ok());
    let faults = reads(Command::Serve).unwrap_err();
    assert!(faults.contains("upstreams belong to `switchboard gateway`"), "{faults}");
    assert!(faults.contains("routes belong to `switchboard gateway`"), "{faults}");
}

#[test]
fn secrets_of_upstreams_are_not_shown() {
    // Every test process has the variable.
    let path = std::env::var("PATH").unwrap();
    let text =
        "[upstream.a]\nurl = [\"ws://a/?key=${PATH}\"]\ntoken = \"t0ken\"\nheaders = { X-Key = \"k3y\" }\n";
    let config = load(text);
    let node = &config.upstreams[0].nodes[0];
    assert_eq!((&*node.url, &*node.shown), (&*format!("ws://a/?key={path}"), "ws://a/?key=***"));
    let shown = show::show(&config);
    assert!(shown.contains("url = [\"ws://a/?key=***\"]  # gateway.toml:2"), "{shown}");
    assert!(shown.contains("token = \"***\"") && shown.contains("X-Key = \"***\""), "{shown}");
    assert!(!shown.contains("t0ken") && !shown.contains("k3y"), "{shown}");
    assert!(!format!("{:?}", config.upstreams).contains("t0ken"));
    // Nor in errors.
    let faults = read(&Origin::default(), "[upstream.a]\nurl = \"ws://a:${PATH}\"\n").unwrap_err();
    assert!(faults.contains("invalid value for `upstream.a.url`") && !faults.contains(&path), "{faults}");
}

#[test]
fn arguments_are_upstreams() {
    let printed = |arguments: &[&str]| {
        let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        let overlay = overlay::Overlay::default().with(of_arguments(&arguments).ok()?);
        read(&Origin { overlay, ..Origin::default() }, "").ok().map(|config| config.printed())
    };
    let check = |arguments: &[&str], expected: &str| {
        assert_eq!(printed(arguments).as_deref(), Some(expected), "{arguments:?}");
        assert_eq!(load(expected).printed(), expected);
    };
    check(
        &["math=http://10.0.0.5:8080", "chat-1=exec:python chat.py"],
        "[upstream.math]\nurl = \"http://10.0.0.5:8080\"\n\n[upstream.chat-1]\nurl = \"exec:python chat.py\"\n",
    );
    check(&["ws://a/?x=y"], "[upstream.upstream]\nurl = \"ws://a/?x=y\"\nprefix = \"\"\n");
    check(&["exec:env A=b python"], "[upstream.upstream]\nurl = \"exec:env A=b python\"\nprefix = \"\"\n");
    check(
        &["8080", "b=8081"],
        "[upstream.upstream]\nurl = \"8080\"\nprefix = \"\"\n\n[upstream.b]\nurl = \"8081\"\n",
    );
    for wrong in [&["a=1", "a=2"][..], &["1", "2"], &["math=wz://a"], &["a b=1"]] {
        assert_eq!(printed(wrong), None, "{wrong:?}");
    }
}
