//! Servers that share a store in a NATS server.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::broker::Broker;
use crate::carriers::Folder;
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
fn rate_limits_are_for_both_servers_together() {
    let (broker, folder) = (Broker::start(&[]), Folder::new("shared-rates"));
    let file = folder.file("switchboard.toml");
    fs::write(&file, "rate = [{ limit = \"500/h\", per = \"all\" }]\nlimits.batch = 600\n").unwrap();
    let arguments = ["--config", &file, "--store", &broker.url()];
    let servers = [Serving::start(&arguments), Serving::start(&arguments)];
    let call = r#"{"jsonrpc":"2.0","method":"math/add","params":[2,3],"id":1}"#;
    let batch = format!("[{}]", vec![call; 600].join(","));
    let answers = post(&servers[0].url(), "", &batch);
    let passed = |answer: &&Value| answer["result"] == 5;
    assert_eq!(answers.as_array().unwrap().iter().filter(passed).count(), 500);
    let url = servers[1].url();
    let mut passed = 0;
    until("the second server refuses calls", || {
        passed += 1;
        post(&url, "", call)["result"] != 5
    });
    assert!(passed < 500, "the second server heard nothing of the first");
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

/// Waits for something that another server does.
fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let began = Instant::now();
    while !is_so() {
        assert!(began.elapsed() < Duration::from_secs(30), "waited in vain until {what}");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

/// A server with an admin listener that follows what is published.
struct Follower {
    serving: Serving,
    admin: String,
}

const TOKENS: [&str; 2] = ["2f9c1b7e55a04d13", "0123456789abcdef"];

impl Follower {
    fn start(folder: &Folder, name: &str, broker: &Broker) -> Follower {
        let tokens = folder.file("tokens.txt");
        fs::write(&tokens, format!("alice:{}\nbob:{}\n", TOKENS[0], TOKENS[1])).unwrap();
        fs::set_permissions(&tokens, fs::Permissions::from_mode(0o600)).unwrap();
        let (file, admin) =
            (folder.file(&format!("{name}.toml")), format!("unix:{}", folder.file(&format!("{name}.sock"))));
        let text = format!(
            "listen = \"http://127.0.0.1:0\"\nstore = \"{}\"\nstore_config = true\nadmin.url = \"{admin}\"\n\
             auth.tokens = \"tokens.txt\"\n",
            broker.url()
        );
        fs::write(&file, text).unwrap();
        Follower { serving: Serving::spawn(program(&["serve", "--config", &file])), admin }
    }

    /// Whether this caller gets an answer.
    fn serves(&self, caller: usize) -> bool {
        let header = format!("authorization: Bearer {}", TOKENS[caller]);
        let call = r#"{"jsonrpc":"2.0","method":"math/add","params":[2,3],"id":1}"#;
        let answer = post(&self.serving.url(), &header, call);
        assert!(answer["result"] == 5 || answer["error"]["code"] == -32002, "{answer}");
        answer["result"] == 5
    }

    /// Publishes this, and returns the exit code and the outcome.
    fn publish(&self, folder: &Folder, text: &str, more: &[&str]) -> (Option<i32>, Value) {
        let file = folder.file("published.toml");
        fs::write(&file, text).unwrap();
        let (code, stdout, stderr) =
            parts(run(&[&["reload", &self.admin, "--publish", &file], more].concat()));
        (code, serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stdout}{stderr}")))
    }
}

#[test]
fn what_one_server_publishes_applies_to_all_and_to_those_that_start_later() {
    let (mut broker, folder) = (Broker::start(&[]), Folder::new("published"));
    let [a, b] = ["a", "b"].map(|name| Follower::start(&folder, name, &broker));
    assert!(a.serves(0) && b.serves(0));
    let revoked = "auth.revoked = [\"user:alice\"]\n";
    let (code, would) = a.publish(&folder, revoked, &["--dry-run"]);
    assert_eq!((code, would["applied"].as_bool()), (Some(0), Some(false)), "{would}");
    assert!(a.serves(0) && b.serves(0));
    let (code, done) = a.publish(&folder, revoked, &[]);
    assert_eq!((code, done["applied"].as_bool()), (Some(0), Some(true)), "{done}");
    assert!(!a.serves(0), "here at once");
    until("the other server refuses the caller, too", || !b.serves(0));
    assert!(a.serves(1) && b.serves(1));
    // One that was down.
    assert!(!Follower::start(&folder, "c", &broker).serves(0));

    // Mistakes are found before anything is published.
    for (wrong, why) in
        [("auth.revoked = \"alice\"\n", "auth.revoked"), ("public = true\n", "cannot be published")]
    {
        let (code, rejected) = b.publish(&folder, wrong, &[]);
        let told = rejected["diagnostics"].to_string();
        assert!(
            code == Some(10) && told.contains("published configuration:1:") && told.contains(why),
            "{told}"
        );
    }
    assert!(!a.serves(0) && !b.serves(0));

    // Without the store nothing changes, and nobody starts.
    broker.kill();
    let (code, rejected) = a.publish(&folder, "", &[]);
    assert!(code == Some(10) && rejected.to_string().contains("cannot publish"), "{rejected}");
    assert!(!a.serves(0) && !b.serves(0));
    let (code, _, stderr) = parts(run(&["serve", "--config", &folder.file("c.toml")]));
    assert!(code == Some(2), "{code:?} {stderr}");
    broker.restart();
    until("something can be published again", || b.publish(&folder, "", &[]).0 == Some(0));
    assert!(b.serves(0));
    until("the other server serves the caller again", || a.serves(0));
}

#[test]
fn gateways_share_a_cache_and_clear_it_together() {
    let (broker, folder) = (Broker::start(&[]), Folder::new("shared-cache"));
    let upstream = Serving::start(&[]);
    let file = folder.file("gateway.toml");
    let text = format!(
        "listen = \"http://127.0.0.1:0\"\nstore = \"{}\"\n[upstream.up]\nurl = \"{}\"\nshared = true\n\
         safe = [\"time/now\"]\ncache = {{ ttl = \"5m\", store = true, clear_on = \"up/echo\" }}\n",
        broker.url(),
        upstream.url()
    );
    fs::write(&file, text).unwrap();
    let gateways = [0, 1].map(|_| Serving::spawn(program(&["gateway", "--config", &file])));
    let [a, b] = gateways.each_ref().map(Serving::url);
    let now = |url: &str| {
        let answer = post(url, "", r#"{"jsonrpc":"2.0","method":"up/time/now","id":1}"#);
        answer.get("result").unwrap_or_else(|| panic!("{answer}")).clone()
    };
    let clear = || post(&b, "", r#"{"jsonrpc":"2.0","method":"up/echo","params":["x"],"id":1}"#);
    // Each connects to the store at its first call, so the first answers are not shared.
    let mut asked = 0;
    until("they share answers", || {
        asked += 1;
        let is_same = now(&a) == now(&b);
        if !is_same && asked % 100 == 1 {
            clear();
        }
        is_same
    });
    let before = now(&a);
    clear();
    assert_ne!(now(&b), before, "here at once");
    until("the other gateway has cleared its cache, too", || now(&a) != before);
}
