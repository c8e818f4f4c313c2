//! The admin methods about upstreams.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::Value;

use super::{call, free_port, until};
use crate::admin::{admin, check_metrics, get};
use crate::carriers::Folder;
use crate::program::{Serving, parts, program, run};

/// A gateway before two servers, with its admin socket.
struct Rig {
    gateway: Serving,
    admin: String,
    servers: [Serving; 2],
    folder: Folder,
}

impl Rig {
    fn start(name: &str, more: &str) -> Rig {
        let folder = Folder::new(name);
        let servers = [Serving::start(&[]), Serving::start(&[])];
        let [one, two] = servers.each_ref().map(Serving::url);
        let file = folder.file("gateway.toml");
        let text = format!(
            "listen = \"http://127.0.0.1:0\"\n[upstream.math]\nurl = [\"{one}\", \"{two}\"]\nbalance = \"round-robin\"\n{more}"
        );
        fs::write(&file, text).unwrap();
        let admin = format!("unix:{}", folder.file("admin.sock"));
        let gateway = Serving::spawn(program(&["gateway", "--config", &file, "--admin", &admin]));
        Rig { gateway, admin, servers, folder }
    }

    /// The result of an admin method.
    fn ask(&self, words: &[&str]) -> Value {
        let (code, stdout, stderr) = call(&self.admin, words);
        assert_eq!(code, Some(0), "{words:?}: {stderr}");
        serde_json::from_str(&stdout).unwrap()
    }

    /// Why an admin method refuses.
    fn refused(&self, words: &[&str]) -> String {
        let (code, _, stderr) = call(&self.admin, words);
        assert_eq!(code, Some(1), "{words:?}");
        stderr
    }

    /// The first item of the stream of upstreams.
    fn upstream(&self) -> Value {
        let mut child = program(&["call", &self.admin, "admin/upstreams", "name=math"]);
        let mut child = child.stdout(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let line = lines.next().unwrap().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        let list: Value = serde_json::from_str(&line).unwrap();
        list[0].clone()
    }

    /// How many calls each server has got since the one before.
    fn spread(&self, before: &Value) -> [u64; 2] {
        let now = self.upstream();
        [0, 1].map(|at| {
            let calls = |upstream: &Value| upstream["nodes"][at]["calls"].as_u64().unwrap();
            calls(&now) - calls(before)
        })
    }

    fn add(&self, times: usize) {
        for _ in 0..times {
            assert_eq!(call(&self.gateway.url(), &["math/math/add", "2", "3"]).1, "5\n");
        }
    }
}

fn states(upstream: &Value) -> [&str; 3] {
    let node = |at: usize| upstream["nodes"][at]["state"].as_str().unwrap();
    [upstream["state"].as_str().unwrap(), node(0), node(1)]
}

#[test]
fn servers_are_ejected_drained_and_restored() {
    let rig = Rig::start("operators", "");
    let [one, two] = rig.servers.each_ref().map(Serving::url);
    let before = rig.upstream();
    assert_eq!(states(&before), ["up", "up", "up"]);
    assert_eq!((&before["prefix"], &before["breaker"]), (&"math/".into(), &"closed".into()));
    rig.add(8);
    let spread = rig.spread(&before);
    assert!(spread.iter().sum::<u64>() == 8 && !spread.contains(&0), "{spread:?}");

    let ejected = rig.ask(&["admin/eject", "upstream=math", &format!("node={one}"), "for=1h"]);
    assert_eq!(states(&ejected), ["degraded", "ejected", "up"]);
    let node = &ejected["nodes"][0];
    assert_eq!((&node["url"], &node["reason"]), (&one.as_str().into(), &"ejected by an operator".into()));
    assert!(node["until"].as_f64().unwrap() > 1.7e12, "{node}");
    rig.add(4);
    assert_eq!(rig.spread(&ejected), [0, 4]);

    // A part of the URL is enough, if only one server has it.
    let port = two.rsplit_once(':').unwrap().1;
    let drained = rig.ask(&["admin/drain", "upstream=math", &format!("node=:{port}"), "within=10s"]);
    assert_eq!(states(&drained), ["down", "ejected", "drained"]);
    rig.add(2);
    assert_eq!(rig.spread(&drained), [2, 0], "an ejected server is better than none");
    assert_eq!(states(&rig.ask(&["admin/drain", "upstream=math"])), ["down", "drained", "drained"]);
    assert!(call(&rig.gateway.url(), &["math/math/add", "2", "3"]).2.contains("-32004"));

    assert_eq!(states(&rig.ask(&["admin/restore", "math", &one])), ["degraded", "up", "drained"]);
    assert_eq!(states(&rig.ask(&["admin/restore", "math"])), ["up", "up", "up"]);
    rig.add(2);
}

#[test]
fn a_mistake_says_what_would_be_right() {
    let rig = Rig::start("operators-wrong", "");
    let [one, two] = rig.servers.each_ref().map(Serving::url);
    let check = |words: &[&str], expected: &[&str]| {
        let said = rig.refused(words);
        assert!(expected.iter().all(|text| said.contains(text)), "{words:?}: {said}");
    };
    check(&["admin/restore", "maths"], &["maths", "use one of math"]);
    check(&["admin/upstreams", "maths"], &["use one of math"]);
    check(&["admin/eject", "math", "http://10.0.0.9:1"], &["math has no server", &one, &two]);
    check(&["admin/eject", "math", "127.0.0.1"], &["several servers", &one, &two, "whole URL"]);
    check(&["admin/eject", "math", &one, "soon"], &["`for`"]);
    check(&["admin/drain", &format!("node={one}")], &["`upstream`"]);
    check(&["admin/clear_cache", "upstream=maths"], &["use one of math"]);
    // Nothing happened.
    assert_eq!(states(&rig.upstream()), ["up", "up", "up"]);
    let plain = format!("unix:{}", rig.folder.file("plain.sock"));
    let _serving = Serving::start(&["--admin", &plain]);
    let (code, _, stderr) = call(&plain, &["admin/restore", "math"]);
    assert!(code == Some(1) && stderr.contains("not a gateway"), "{stderr}");
}

#[test]
fn everyone_on_this_machine_may_look_but_not_change() {
    let server = Serving::start(&[]);
    let upstream = format!("math={}", server.url());
    let gateway =
        Serving::spawn(program(&["gateway", &upstream, "--listen", "http://127.0.0.1:0", "--admin", "0"]));
    let admin = admin(&gateway);
    let described = parts(run(&["discover", &admin])).1;
    for method in ["admin/eject", "admin/restore", "admin/drain", "admin/clear_cache"] {
        assert!(described.contains(method), "{method}: {described}");
        let (code, _, stderr) = call(&admin, &[method, "{\"upstream\":\"math\",\"node\":\"http\"}"]);
        assert!(code != Some(0) && stderr.contains("-32002"), "{method}: {stderr}");
    }
}

#[test]
fn a_server_that_cannot_be_reached_is_seen_to_fail_and_to_recover() {
    let (folder, port) = (Folder::new("operators-down"), free_port());
    let admin = format!("unix:{}", folder.file("admin.sock"));
    let url = format!("http://127.0.0.1:{port}");
    let gateway = Serving::spawn(program(&[
        "gateway",
        &format!("math={url}"),
        "--listen",
        "http://127.0.0.1:0",
        "--admin",
        &admin,
    ]));
    let mut watching = program(&["call", &admin, "admin/upstreams", "every=100ms"]);
    let mut watching = watching.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let mut wait_for = |state: &str| {
        let mut items = lines.by_ref().map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
        items.find(|item| item[0]["nodes"][0]["state"] == state).unwrap()
    };
    assert!(call(&gateway.url(), &["math/math/add", "2", "3"]).2.contains("-32004"));
    let failing = wait_for("failing");
    assert_eq!(failing[0]["state"], "degraded");
    assert!(failing[0]["nodes"][0]["reason"].as_str().unwrap().contains("failed"), "{failing}");
    assert!(failing[0]["errors"].as_u64() > Some(0), "{failing}");
    let _server = Serving::spawn(program(&["serve", "--listen", &url]));
    until("it is back", || (call(&gateway.url(), &["math/math/add", "2", "3"]).1 == "5\n").then_some(()));
    assert_eq!(wait_for("up")[0]["state"], "up");
    watching.kill().unwrap();
    watching.wait().unwrap();
}

#[test]
fn numbers_of_an_interval_are_by_upstream_on_request() {
    let rig = Rig::start("operators-stats", "");
    let mut watching = program(&["call", &rig.admin, "admin/stats", "every=100ms", "by=upstream"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let mut next = || serde_json::from_str::<Value>(&lines.next().unwrap().unwrap()).unwrap();
    // The first shows that calls are watched.
    assert_eq!(next()["rows"], Value::Array(Vec::new()));
    rig.add(3);
    assert_eq!(call(&rig.gateway.url(), &["nothing"]).0, Some(1));
    let mut counted = 0;
    while counted < 3 {
        let stats = next();
        for row in stats["rows"].as_array().unwrap() {
            assert_eq!((&row["name"], &row["errors"]), (&"math".into(), &0.into()));
            counted += row["calls"].as_u64().unwrap();
        }
    }
    assert_eq!(counted, 3);
    watching.kill().unwrap();
    watching.wait().unwrap();
}

#[test]
fn caches_are_emptied_by_pattern() {
    let route = "[[route]]\nmethods = [\"math/math/*\", \"math/echo\"]\ncache = \"1h\"\nshared = true\n";
    let rig = Rig::start("operators-cache", route);
    let url = rig.gateway.url();
    for words in [&["math/math/add", "2", "3"][..], &["math/math/add", "2", "3"], &["math/echo", "1"]] {
        assert_eq!(call(&url, words).0, Some(0), "{words:?}");
    }
    let cache = rig.upstream()["cache"].clone();
    assert_eq!((&cache["hits"], &cache["misses"], &cache["entries"]), (&1.into(), &2.into(), &2.into()));
    assert_eq!(rig.ask(&["admin/clear_cache", "methods=other/**"]), 0);
    assert_eq!(rig.ask(&["admin/clear_cache", "methods=math/math/*"]), 1);
    assert_eq!(rig.ask(&["admin/clear_cache", "upstream=math"]), 1);
    assert_eq!(rig.ask(&["admin/clear_cache"]), 0);
    assert_eq!(rig.upstream()["cache"]["entries"], 0);
}

#[test]
fn metrics_are_by_upstream_and_server() {
    let (folder, server) = (Folder::new("operators-metrics"), Serving::start(&[]));
    let file = folder.file("gateway.toml");
    let (url, dead) = (server.url(), format!("http://127.0.0.1:{}", free_port()));
    // Two servers may look the same, for instance if only their secrets differ.
    let text = format!(
        "listen = \"http://127.0.0.1:0\"\n[upstream.math]\nurl = [\"{url}\", \"{url}\"]\nsafe = \"**\"\ncache = \"1h\"\nshared = true\n\
         [upstream.gone]\nurl = \"{dead}\"\nretry = 1\n"
    );
    fs::write(&file, text).unwrap();
    let gateway = Serving::spawn(program(&["gateway", "--config", &file, "--admin", "0"]));
    for _ in 0..2 {
        assert_eq!(call(&gateway.url(), &["math/math/add", "2", "3"]).1, "5\n");
    }
    assert!(call(&gateway.url(), &["gone/math/add", "2", "3"]).2.contains("-32004"));
    let (_, text) = get(&admin(&gateway), "/metrics", "");
    check_metrics(&text);
    for line in [
        "switchboard_upstream_node_available{upstream=\"math\",node=\"URL #2\"} 1\n",
        "switchboard_upstream_calls_in_flight{upstream=\"math\",node=\"URL\"} 0\n",
        "switchboard_upstream_breaker_open{upstream=\"math\"} 0\n",
        "switchboard_upstream_refused_total{upstream=\"gone\"} 0\n",
        "switchboard_upstream_hedges_total{upstream=\"gone\"} 0\n",
        "switchboard_upstream_cache_total{upstream=\"math\",result=\"hit\"} 1\n",
        "switchboard_upstream_cache_total{upstream=\"math\",result=\"miss\"} 1\n",
        "switchboard_upstream_connections{upstream=\"gone\",node=\"DEAD\"} 0\n",
    ] {
        let line = line.replace("URL", &url).replace("DEAD", &dead);
        assert!(text.contains(&line), "no {line} in {text}");
    }
    let value = |start: String| {
        let found = text.lines().find_map(|line| line.strip_prefix(&start)?.trim().parse::<f64>().ok());
        found.unwrap_or_else(|| panic!("no {start} in {text}"))
    };
    assert!(value(format!("switchboard_upstream_errors_total{{upstream=\"gone\",node=\"{dead}\"}}")) >= 1.0);
    assert!(value("switchboard_upstream_retries_total{upstream=\"gone\"}".to_owned()) >= 1.0);
    assert!(!text.contains("cache_total{upstream=\"gone\""), "it has no cache");
}

#[test]
fn calls_tell_where_they_went() {
    let route =
        "retry = 1\nsafe = \"**\"\n[[route]]\nmethods = \"math/echo\"\ncache = \"1h\"\nshared = true\n";
    let mut rig = Rig::start("operators-calls", route);
    let url = rig.gateway.url();
    assert_eq!(call(&url, &["nothing"]).0, Some(1));
    let mut watching = program(&["call", &rig.admin, "admin/calls"]).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(watching.stdout.take().unwrap()).lines();
    let mut items = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    let mut next = |method: &str| items.find(|item| item["method"] == method).unwrap();
    // The one before shows that calls are watched; it went nowhere.
    assert_eq!(next("nothing")["upstream"], Value::Null);
    rig.add(1);
    let added = next("math/math/add");
    assert_eq!(
        (&added["upstream"], &added["attempts"], &added["cache"]),
        (&"math".into(), &1.into(), &Value::Null)
    );
    let node = added["node"].as_str().unwrap().to_owned();
    assert!(rig.servers.iter().any(|server| server.url() == node), "{added}");
    for cache in ["miss", "hit"] {
        assert_eq!(call(&url, &["math/echo", "1"]).0, Some(0));
        assert_eq!(next("math/echo")["cache"], cache);
    }
    // Without one of its servers, a call is sent again, or to the other one at once.
    let [one, two] = &mut rig.servers;
    one.signal("KILL");
    let (one, two) = (one.url(), two.url());
    let retried = until("a call is sent again", || {
        assert_eq!(call(&url, &["math/math/add", "2", "3"]).1, "5\n");
        Some(next("math/math/add")).filter(|item| item["attempts"] == 2)
    });
    assert_eq!(retried["node"], two.as_str(), "it was sent to {one} first");
    let id = retried["id"].to_string();
    let timeline = rig.ask(&["admin/call", &id]).to_string();
    assert!(timeline.contains(&format!("upstream math, {two}, 2 attempts")), "{timeline}");
    watching.kill().unwrap();
    watching.wait().unwrap();
}
