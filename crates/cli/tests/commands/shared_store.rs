//! Servers that share a store in a NATS server.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::broker::Broker;
use crate::program::{Serving, parts, post, program, run, run_with};

const KEYS: &str =
    "bob-1 hmac-sha256 000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f subject=bob\n";

const AUDIENCE: &str = "https://bank.example/rpc";

/// Keys that sign, which only their owner can read.
struct Keys(std::path::PathBuf);

impl Keys {
    fn new(name: &str) -> Keys {
        let path = std::env::temp_dir().join(format!("switchboard-{name}-{}", std::process::id()));
        fs::write(&path, KEYS).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).unwrap();
        Keys(path)
    }

    fn path(&self) -> &str {
        self.0.to_str().unwrap()
    }
}

impl Drop for Keys {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.0));
    }
}

/// What each of the servers answers to each of eight posts that are sent at once.
fn race(servers: &[Serving], header: &str, body: &str) -> Vec<Value> {
    std::thread::scope(|scope| {
        let urls: Vec<_> = servers.iter().map(Serving::url).collect();
        let posts: Vec<_> = (0..8)
            .map(|number| urls[number % urls.len()].clone())
            .map(|url| scope.spawn(move || post(&url, header, body)))
            .collect();
        posts.into_iter().map(|post| post.join().unwrap()).collect()
    })
}

#[test]
fn one_of_two_servers_accepts_a_signed_message() {
    let (broker, keys) = (Broker::start(&[]), Keys::new("shared-nonces"));
    let arguments = ["--signing-keys", keys.path(), "--signing-audience", AUDIENCE, "--store", &broker.url()];
    let servers = [Serving::start(&arguments), Serving::start(&arguments)];
    for id in 0..5 {
        let message = format!(r#"{{"jsonrpc":"2.0","method":"math/add","params":[2,3],"id":{id}}}"#);
        let (code, signed, stderr) = parts(run_with(&message, &["sign", keys.path(), AUDIENCE]));
        assert_eq!(code, Some(0), "{stderr}");
        let answers = race(&servers, "", signed.trim());
        let accepted = answers.iter().filter(|answer| answer["result"] == 5).count();
        assert_eq!(accepted, 1, "{answers:?}");
        assert!(
            answers.iter().all(|answer| answer["result"] == 5 || answer["error"]["code"] == -32002),
            "{answers:?}"
        );
    }
}

#[test]
fn a_call_with_a_key_runs_on_one_of_two_servers() {
    let broker = Broker::start(&[]);
    let arguments = ["--idempotency", "1h", "--store", &broker.url()];
    let servers = [Serving::start(&arguments), Serving::start(&arguments)];
    let body = r#"{"jsonrpc":"2.0","method":"time/now","id":1}"#;
    let answers = race(&servers, "idempotency-key: once", body);
    // Those that ask the other server while the call runs are told so.
    let is_answered = |answer: &&Value| answer.get("result").is_some();
    let first = answers.iter().find(is_answered).unwrap();
    assert!(answers.iter().filter(is_answered).all(|answer| answer == first), "{answers:?}");
    for server in &servers {
        assert_eq!(&post(&server.url(), "idempotency-key: once", body), first);
        assert_ne!(&post(&server.url(), "", body), first);
    }
}

#[test]
fn nothing_that_the_store_decides_is_accepted_while_it_is_gone() {
    let (mut broker, keys) = (Broker::start(&[]), Keys::new("shared-gone"));
    let url = broker.url();
    let serving = Serving::start(&["--signing-keys", keys.path(), "--store", &url]);
    let url = serving.url();
    let call = || parts(run(&["call", &url, "math/add", "2", "3", "--sign", keys.path()]));
    assert_eq!(call().0, Some(0));
    broker.kill();
    let (code, _, stderr) = call();
    assert_eq!(code, Some(1), "{stderr}");
    broker.restart();
    let began = Instant::now();
    while call().0 != Some(0) {
        assert!(began.elapsed() < Duration::from_secs(60), "the store is back, and no call is accepted");
    }
}

#[test]
fn a_server_does_not_start_without_its_store_and_shows_no_password() {
    let broker = Broker::start(&["--user", "alice", "--pass", "open-sesame"]);
    let arguments =
        ["serve", "--listen", "http://127.0.0.1:0", "--idempotency", "1h", "--store", &broker.url()];
    let (code, _, stderr) = parts(program(&arguments).env_remove("NATS_USER").output().unwrap());
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("authorization violation"), "{stderr}");
    let mut command = program(&arguments);
    command.env("NATS_USER", "alice").env("NATS_PASSWORD", "open-sesame");
    let serving = Serving::spawn(command);
    assert!(!serving.banner.contains("sesame"), "{}", serving.banner);
    let in_url = broker.url().replace("nats://", "nats://alice:open-sesame@");
    let (code, _, stderr) = parts(run(&["serve", "--store", &in_url]));
    assert_eq!(code, Some(2), "{stderr}");
    assert!(stderr.contains("NATS_PASSWORD"), "{stderr}");
}
