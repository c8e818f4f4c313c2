//! Workers and callers that meet at a NATS server.

use std::fs;
use std::process::{Command, Stdio};

use serde_json::json;

use crate::broker::Broker;
use crate::program::{Serving, parts, post, program, run};

const PAGE: &str = include_str!("../../../../docs/nats.md");

fn worker(url: &str) -> Serving {
    let mut worker = program(&["serve", "--listen", url]);
    worker.stdin(Stdio::null());
    Serving::spawn(worker)
}

#[test]
fn workers_are_called_watched_and_put_behind_a_gateway() {
    let broker = Broker::start(&[]);
    let url = format!("{}/demo", broker.url());
    let (code, _, stderr) = parts(run(&["call", &url, "math/add", "2", "3"]));
    assert_eq!(code, Some(3), "{stderr}");
    assert!(stderr.contains(&format!("switchboard serve --listen {url}")), "{stderr}");
    let workers = [worker(&url), worker(&url)];
    assert_eq!(workers[0].url(), url);
    assert_eq!(parts(run(&["call", &url, "math/add", "2", "3"])), (Some(0), "5\n".into(), String::new()));
    assert_eq!(parts(run(&["watch", &url, "count", "to=2"])).1, "1\n2\n");
    assert_eq!(parts(run(&["notify", &url, "log", "hello"])).0, Some(0));
    let (_, document, _) = parts(run(&["discover", &url]));
    assert!(document.contains("\"math/add\""), "{document}");
    let mut gateway = program(&["gateway", &url, "--listen", "http://127.0.0.1:0"]);
    gateway.stdin(Stdio::null());
    let gateway = Serving::spawn(gateway);
    let answer = post(&gateway.url(), "", r#"[{"jsonrpc":"2.0","method":"math/add","params":[2,3],"id":1}]"#);
    assert_eq!(answer, json!([{"jsonrpc": "2.0", "result": 5, "id": 1}]));
    assert_eq!(parts(run(&["watch", &gateway.url(), "count", "to=2"])).1, "1\n2\n");
}

#[test]
fn a_gateway_is_a_worker_for_servers_that_know_no_broker() {
    let (broker, server) = (Broker::start(&[]), Serving::start(&[]));
    let url = format!("{}/front", broker.url());
    let upstream = format!("up={}", server.url());
    let gateways = [0, 1].map(|_| Serving::spawn(program(&["gateway", &upstream, "--listen", &url])));
    assert_eq!(gateways[0].url(), url);
    assert_eq!(parts(run(&["call", &url, "up/math/add", "2", "3"])), (Some(0), "5\n".into(), String::new()));
    assert_eq!(parts(run(&["watch", &url, "up/count", "to=2"])).1, "1\n2\n");
    let (_, document, _) = parts(run(&["discover", &url]));
    assert!(document.contains("\"up/math/add\""), "{document}");
    // The other one serves on when one stops.
    let [one, _two] = gateways;
    one.signal("TERM");
    assert!(one.wait().0.success());
    assert_eq!(parts(run(&["call", &url, "up/math/add", "2", "3"])).1, "5\n");
}

#[test]
fn workers_are_measured_and_checked_like_other_servers() {
    let broker = Broker::start(&[]);
    let url = format!("{}/demo", broker.url());
    let _worker = worker(&url);
    let (code, report, stderr) = parts(run(&["bench", &url, "math/add", "2", "3", "--count", "200"]));
    assert_eq!(code, Some(0), "{stderr}");
    assert!(report.contains("\"results\":200"), "{report}");
    let (code, report, stderr) = parts(run(&["check", &url]));
    let report: serde_json::Value = serde_json::from_str(&report).unwrap();
    assert_eq!((code, &report["fail"]), (Some(0), &json!(0)), "{stderr}");
}

#[test]
fn a_worker_asks_for_the_tokens_that_a_server_asks_for() {
    let broker = Broker::start(&[]);
    let url = format!("{}/demo", broker.url());
    let tokens = std::env::temp_dir().join(format!("switchboard-nats-tokens-{}", std::process::id()));
    fs::write(&tokens, "bob:secret-token-of-bob-0123456789\n").unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        fs::set_permissions(&tokens, fs::Permissions::from_mode(0o600)).unwrap();
    }
    let mut command = program(&["serve", "--listen", &url, "--tokens", tokens.to_str().unwrap()]);
    command.stdin(Stdio::null());
    let _worker = Serving::spawn(command);
    let (code, stdout, stderr) = parts(run(&["call", &url, "math/add", "2", "3"]));
    assert!(code != Some(0) && format!("{stdout}{stderr}").contains("-32002"), "{stdout}{stderr}");
    let token = "secret-token-of-bob-0123456789";
    assert_eq!(parts(run(&["call", &url, "math/add", "2", "3", "--token", token])).1, "5\n");
    fs::remove_file(&tokens).unwrap();
}

/// A broker with the permissions of the page, after this change to them.
fn guarded(change: impl Fn(String) -> String) -> (Broker, std::path::PathBuf) {
    let rules = PAGE.split("```text\n").nth(1).and_then(|text| text.split("```").next()).unwrap();
    let rules = change(rules.replace("$CALLER", "caller-secret").replace("$WORKER", "worker-secret"));
    let number = fastrand::u64(..);
    let path = std::env::temp_dir().join(format!("switchboard-nats-{number:x}.conf"));
    fs::write(&path, rules).unwrap();
    (Broker::start(&["--config", path.to_str().unwrap()]), path)
}

fn as_user(mut command: Command, user: &str) -> Command {
    command.env("NATS_USER", user).env("NATS_PASSWORD", format!("{user}-secret")).stdin(Stdio::null());
    command
}

#[test]
fn the_permissions_of_the_page_are_enough() {
    let (broker, path) = guarded(|rules| rules);
    let url = format!("{}/math", broker.url());
    let (code, _, stderr) = parts(run(&["call", &url, "math/add", "2", "3"]));
    assert!(code != Some(0) && stderr.contains("NATS_USER"), "{stderr}");
    let _worker = Serving::spawn(as_user(program(&["serve", "--listen", &url]), "worker"));
    let call = |arguments: &[&str]| parts(as_user(program(arguments), "caller").output().unwrap());
    assert_eq!(call(&["call", &url, "math/add", "2", "3"]), (Some(0), "5\n".into(), String::new()));
    assert_eq!(call(&["watch", &url, "count", "to=300"]).1.lines().count(), 300);
    fs::remove_file(path).unwrap();
}

#[test]
fn a_method_that_the_broker_forbids_fails_at_once() {
    let (broker, path) = guarded(|rules| {
        rules.replace(r#"publish: ["math.>", "_INBOX_worker"#, r#"publish: ["math.math.add", "_INBOX_worker"#)
    });
    let url = format!("{}/math", broker.url());
    let _worker = Serving::spawn(as_user(program(&["serve", "--listen", &url]), "worker"));
    let call = |arguments: &[&str]| parts(as_user(program(arguments), "caller").output().unwrap());
    assert_eq!(call(&["call", &url, "math/add", "2", "3"]).1, "5\n");
    let (code, stdout, stderr) = call(&["call", &url, "echo", "hello"]);
    let said = format!("{stdout}{stderr}");
    assert!(code != Some(0) && said.contains("-32002") && said.contains("math.echo"), "{said}");
    fs::remove_file(path).unwrap();
}

#[test]
fn a_worker_that_may_not_subscribe_does_not_start() {
    let (broker, path) = guarded(|rules| rules.replace(r#"subscribe: ["math.>", "#, "subscribe: ["));
    let url = format!("{}/math", broker.url());
    let refused = as_user(program(&["serve", "--listen", &url]), "worker").output().unwrap();
    let (code, _, stderr) = parts(refused);
    assert!(code != Some(0) && stderr.contains("refused a subscription"), "{stderr}");
    fs::remove_file(path).unwrap();
}
