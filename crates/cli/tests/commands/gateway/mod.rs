//! `switchboard gateway`: calls cross to servers behind it.

mod agents;
mod batches;
mod children;
mod complete;
mod discovery;
mod examples;
mod faults;
mod guarded;
mod members;
mod naming;
mod operators;
mod policies;
mod reloading;
mod secrets;
mod tls;

use std::net::TcpListener;
use std::time::{Duration, Instant};

use crate::carriers::Folder;
use crate::program::{Serving, parts, program, run, run_with};

/// Starts a gateway on a free port.
fn gateway(arguments: &[&str]) -> Serving {
    Serving::spawn(program(&[&["gateway", "--listen", "http://127.0.0.1:0"], arguments].concat()))
}

fn call(url: &str, words: &[&str]) -> (Option<i32>, String, String) {
    parts(run(&[&["call", url], words].concat()))
}

/// A port that is free now.
fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port()
}

/// The demo over stdin and stdout, as an upstream.
fn demo() -> String {
    format!("exec:'{}' serve --stdio", env!("CARGO_BIN_EXE_switchboard"))
}

/// Waits until this gives something.
fn until<T>(what: &str, mut find: impl FnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = find() {
            return found;
        }
        assert!(begun.elapsed() < Duration::from_secs(30), "waited in vain until {what}");
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

#[test]
fn every_kind_of_server_is_behind_every_kind_of_listener() {
    let folder = Folder::new("gateway-urls");
    let unix = format!("unix:{}", folder.file("rpc.sock"));
    let server =
        Serving::start(&["--listen=ws://127.0.0.1:0", "--listen=tcp://127.0.0.1:0", "--listen", &unix]);
    let mut upstreams = server.urls();
    assert_eq!(upstreams.len(), 4, "{upstreams:?}");
    upstreams.push(demo());
    for upstream in upstreams {
        let gateway = gateway(&["--listen=ws://127.0.0.1:0", "--listen=tcp://127.0.0.1:0", &upstream]);
        let urls = gateway.urls();
        assert_eq!(urls.len(), 3, "{urls:?}");
        for url in urls {
            let added = call(&url, &["math/add", "2", "3"]);
            assert_eq!(added, (Some(0), "5\n".to_owned(), String::new()), "{url} to {upstream}");
            let counted = call(&url, &["count", "3", "--stream"]);
            assert_eq!(counted.1.lines().collect::<Vec<_>>(), ["1", "2", "3"], "{url} to {upstream}");
            let (code, _, stderr) = call(&url, &["trigger_error", "oh no"]);
            assert!(code == Some(1) && stderr.contains("oh no"), "{url} to {upstream}: {stderr}");
        }
        let line = "{\"jsonrpc\":\"2.0\",\"id\":\"a\",\"method\":\"math/add\",\"params\":[2,3]}\n";
        let (code, stdout, stderr) = parts(run_with(line, &["gateway", &upstream, "--stdio"]));
        let answer = "{\"jsonrpc\":\"2.0\",\"result\":5,\"id\":\"a\"}\n";
        assert_eq!((code, &*stdout), (Some(0), answer), "stdio to {upstream}: {stderr}");
    }
}

#[test]
fn named_servers_have_prefixes() {
    let one = Serving::start(&[]);
    let gateway = gateway(&[&format!("web={}", one.url()), &format!("tool={}", demo())]);
    let url = gateway.url();
    assert_eq!(call(&url, &["web/math/add", "2", "3"]).1, "5\n");
    assert_eq!(call(&url, &["tool/math/multiply", "2", "3"]).1, "6\n");
    assert_eq!(call(&url, &["tool/count", "2"]).1, "1\n2\n");
    let (code, _, stderr) = call(&url, &["math/add", "2", "3"]);
    assert!(code == Some(1) && stderr.contains("-32601"), "{stderr}");
    let batch = format!(
        "[{},{},{}]",
        r#"{"jsonrpc":"2.0","id":1,"method":"web/math/add","params":[1,2]}"#,
        r#"{"jsonrpc":"2.0","id":2,"method":"tool/math/add","params":[3,4]}"#,
        r#"{"jsonrpc":"2.0","id":3,"method":"other/math/add","params":[3,4]}"#,
    );
    let ws = url.replace("http:", "ws:");
    for url in [&url, &ws] {
        let (_, stdout, stderr) = parts(run_with(&batch, &["batch", url, "-"]));
        let at = |text: &str| stdout.find(text).unwrap_or_else(|| panic!("no {text} in {stdout}{stderr}"));
        assert!(at("3") < at("7") && at("7") < at("-32601"), "{stdout}");
    }
}

#[test]
fn the_banner_shows_what_is_behind() {
    let server = Serving::start(&[]);
    let dead = format!("http://127.0.0.1:{}", free_port());
    let gateway =
        gateway(&[&format!("web={}", server.url()), &format!("gone={dead}"), &format!("tool={}", demo())]);
    let banner = &gateway.banner;
    let line = |name: &str| {
        let mut lines = banner.lines().filter(|line| line.trim_start().starts_with(name));
        lines.next().unwrap_or_else(|| panic!("no {name} in {banner}")).to_owned()
    };
    assert!(banner.contains("\nUpstreams\n"), "{banner}");
    assert!(line("web/ ").contains(" methods ") && line("web/ ").contains(&server.url()), "{banner}");
    assert!(line("gone/ ").contains("no answer yet"), "{banner}");
    assert!(line("nothing is listening on").contains(&dead["http://".len()..]), "{banner}");
    assert!(line("tool/ ").contains("exec:"), "{banner}");
    assert!(banner.contains("web/math/add(a, b)") && banner.contains("tool/math/add(a, b)"), "{banner}");
}

#[test]
fn a_server_that_is_down_fails_calls_at_once() {
    let dead = free_port();
    for scheme in ["http", "ws", "tcp"] {
        let gateway = gateway(&[&format!("{scheme}://127.0.0.1:{dead}")]);
        let begun = Instant::now();
        let (code, _, stderr) = call(&gateway.url(), &["math/add", "2", "3"]);
        assert!(code == Some(1) && stderr.contains("-32004"), "{scheme}: {stderr}");
        assert!(!stderr.contains(&dead.to_string()), "the address is not the business of callers: {stderr}");
        assert!(begun.elapsed() < Duration::from_secs(3), "{scheme}: {:?}", begun.elapsed());
    }
}

#[test]
fn a_server_that_restarts_is_found_again() {
    let port = free_port();
    let address = format!("tcp://127.0.0.1:{port}");
    let start = || Serving::spawn(program(&["serve", "--listen", &address]));
    let first = start();
    let gateway = gateway(&[&address]);
    let url = gateway.url();
    assert_eq!(call(&url, &["math/add", "2", "3"]).1, "5\n");
    drop(first);
    assert!(call(&url, &["math/add", "2", "3"]).2.contains("-32004"));
    let _second = start();
    until("the server is found again", || (call(&url, &["math/add", "2", "3"]).1 == "5\n").then_some(()));
}

#[test]
fn the_command_line_and_files_are_checked() {
    let check = |arguments: &[&str], code: i32, text: &str| {
        let (got, stdout, stderr) = parts(run(&[&["gateway"], arguments].concat()));
        assert_eq!(got, Some(code), "{arguments:?}: {stdout}{stderr}");
        assert!(stderr.contains(text), "{arguments:?}: {stderr}");
    };
    check(&[], 2, "needs a server to forward calls to");
    check(&["http://127.0.0.1:1", "--check"], 0, "");
    check(&["a=http://127.0.0.1:1", "a=http://127.0.0.1:2", "--check"], 2, "a");
    check(&["gopher://127.0.0.1:1", "--check"], 2, "gopher");
    let folder = Folder::new("gateway-check");
    let file = folder.file("gateway.toml");
    let check_file = |text: &str, code: i32, expected: &str| {
        std::fs::write(&file, text).unwrap();
        check(&["--config", &file, "--check"], code, expected);
    };
    check_file("[upstream.a]\nurl = \"http://127.0.0.1:1\"\nretry = 2\n", 0, "");
    check_file("listen = \"http://127.0.0.1:0\"\n", 2, "needs a server");
    let two = |first: &str, second: &str| {
        format!(
            "[upstream.a]\nurl = \"http://127.0.0.1:1\"\nprefix = \"{first}\"\n[upstream.b]\nurl = \"http://127.0.0.1:2\"\nprefix = \"{second}\"\n"
        )
    };
    check_file(&two("x/", "x/"), 10, "have the same prefix");
    // Their tools could not be told apart.
    check_file(&two("x/", "x_"), 10, "look the same in the names of tools");
    check_file(&format!("mcp.http = false\n{}", two("x/", "x_")), 0, "");
    check_file("[upstream.a]\nurl = \"http://127.0.0.1:1\"\nretrie = 2\n", 10, "retry");
}
