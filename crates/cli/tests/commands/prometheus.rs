//! The dashboard and the alerts in `packaging`, against a real Prometheus that scrapes a real server.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::carriers::Folder;
use crate::program::{Serving, program, run};

/// Prometheus, killed when dropped.
struct Prometheus {
    child: Child,
    place: String,
}

impl Prometheus {
    /// Starts one that scrapes this place every second.
    fn start(folder: &Folder, target: &str) -> Prometheus {
        let config = format!(
            "global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: [{}]\nscrape_configs: [{{job_name: switchboard, \
             static_configs: [{{targets: [\"{target}\"]}}]}}]\n",
            packaging("prometheus/alerts.yml").display()
        );
        let file = folder.file("prometheus.yml");
        std::fs::write(&file, config).unwrap();
        let free = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut command = Command::new("prometheus");
        command
            .arg(format!("--config.file={file}"))
            .arg(format!("--storage.tsdb.path={}", folder.file("data")));
        command.arg(format!("--web.listen-address={free}")).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("prometheus is installed: apt install prometheus");
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        assert!(lines.any(|line| line.unwrap().contains("Server is ready")), "it ended");
        // Its log is read to the end, or it would wait.
        std::thread::spawn(move || lines.count());
        Prometheus { child, place: free.to_string() }
    }

    /// What it answers to a query.
    fn query(&self, query: &str) -> Vec<Value> {
        let encoded: String = query.bytes().map(|byte| format!("%{byte:02X}")).collect();
        let answer = self.get(&format!("/api/v1/query?query={encoded}"));
        assert_eq!(answer["status"], "success", "{query}: {answer}");
        answer["data"]["result"].as_array().unwrap().clone()
    }

    fn get(&self, path: &str) -> Value {
        let mut stream = TcpStream::connect(&self.place).unwrap();
        write!(stream, "GET {path} HTTP/1.0\r\nhost: {}\r\n\r\n", self.place).unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap()
    }

    /// Waits until a query gives something.
    fn wait_for(&self, query: &str) -> Vec<Value> {
        let began = Instant::now();
        loop {
            let found = self.query(query);
            if !found.is_empty() {
                return found;
            }
            assert!(began.elapsed() < Duration::from_secs(60), "nothing for {query}");
            std::thread::yield_now();
        }
    }
}

impl Drop for Prometheus {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn packaging(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging").join(path).canonicalize().unwrap()
}

/// The queries of the dashboard, with its variables filled in.
fn dashboard() -> Vec<String> {
    let text = std::fs::read_to_string(packaging("grafana/switchboard.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().flat_map(|panel| panel["targets"].as_array().unwrap());
    let queries = targets.map(|target| target["expr"].as_str().unwrap());
    queries.map(|query| query.replace("$instance", ".*").replace("$__rate_interval", "1m")).collect()
}

/// The queries of the alerts without the comparison that makes them fire.
fn alerts() -> Vec<String> {
    let text = std::fs::read_to_string(packaging("prometheus/alerts.yml")).unwrap();
    let expressions = text.split("expr: ").skip(1).map(|rest| {
        let end = rest.find("\n        for:").or_else(|| rest.find("\n        labels:")).unwrap();
        rest[..rest.find("\n        labels:").unwrap().min(end)].trim_start_matches('|').trim().to_owned()
    });
    let queries: Vec<String> = expressions
        .map(|expression| {
            expression.rsplit_once([' ']).unwrap().0.trim_end_matches(['<', '>', ' ']).to_owned()
        })
        .collect();
    assert!(queries.len() > 5, "{queries:?}");
    queries
}

#[test]
fn every_query_of_the_dashboard_and_the_alerts_finds_something() {
    let folder = Folder::new("prometheus");
    // A gateway has all numbers that other servers have, and those of its upstreams.
    let file = folder.file("gateway.toml");
    let upstream = "[upstream.demo]\nurl = \"demo:\"\nprefix = \"\"\nsafe = \"math/*\"\ncache = \"1ms\"\nshared = true\n";
    std::fs::write(&file, upstream).unwrap();
    let arguments = ["gateway", "--config", &file, "--listen", "http://127.0.0.1:0", "--admin", "0"];
    let serving = Serving::spawn(program(&arguments));
    let admin = serving.banner.lines().find_map(|line| line.strip_prefix("Admin on http://")).unwrap();
    let prometheus = Prometheus::start(&folder, admin);
    let url = serving.url();
    // Counters must be there before they grow, or their growth is not known.
    let calls = || {
        run(&["call", &url, "math/add", "2", "3"]);
        run(&["call", &url, "trigger_error"]);
        run(&["call", &url, "nothing"]);
        TcpStream::connect(url.strip_prefix("http://").unwrap())
            .unwrap()
            .write_all(b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 1\r\n\r\n{")
            .unwrap();
    };
    calls();
    prometheus.wait_for("switchboard_refused_total");
    calls();
    prometheus.wait_for("increase(rpc_server_call_duration_seconds_count{rpc_method=\"math/add\"}[1m]) > 0");
    for query in dashboard().iter().chain(&alerts()) {
        // No demo method fails with an internal error; a call of an unknown one has another code.
        prometheus.wait_for(&query.replace("-32603", "-32601"));
    }
    let rules = prometheus.get("/api/v1/rules");
    assert!(!rules.to_string().contains("\"health\":\"err\""), "{rules}");
}

#[test]
fn an_alert_fires_when_the_server_is_gone() {
    let folder = Folder::new("prometheus-down");
    let gone = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let prometheus = Prometheus::start(&folder, &gone);
    prometheus.wait_for("ALERTS{alertname=\"SwitchboardDown\"}");
}

#[test]
fn the_configuration_is_valid() {
    let checks = [("config", "prometheus/prometheus.yml"), ("rules", "prometheus/alerts.yml")];
    for (kind, file) in checks {
        let output = Command::new("promtool").args(["check", kind]).arg(packaging(file)).output().unwrap();
        assert!(output.status.success(), "{output:?}");
    }
}
