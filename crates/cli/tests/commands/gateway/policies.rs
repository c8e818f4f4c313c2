//! Policies of upstreams and routes, as callers and operators see them.

use std::io::Read as _;
use std::net::TcpListener;
use std::sync::{Arc, Mutex};

use super::{call, until};
use crate::admin::{admin, check_metrics, get};
use crate::carriers::Folder;
use crate::program::{Serving, program};

/// A gateway with a configuration, which has an admin listener.
struct Rig {
    gateway: Serving,
    _folder: Folder,
}

impl Rig {
    fn start(name: &str, text: &str) -> Rig {
        let folder = Folder::new(&format!("gateway-policies-{name}"));
        let file = folder.file("gateway.toml");
        std::fs::write(&file, text).unwrap();
        let arguments = ["gateway", "--config", &file, "--listen=http://127.0.0.1:0", "--admin=0"];
        Rig { gateway: Serving::spawn(program(&arguments)), _folder: folder }
    }

    fn call(&self, words: &[&str]) -> (Option<i32>, String, String) {
        call(&self.gateway.url(), words)
    }

    /// The sum of a metric over all series with these labels.
    fn metric(&self, start: &str) -> f64 {
        let (status, text) = get(&admin(&self.gateway), "/metrics", "");
        assert_eq!(status, 200);
        check_metrics(&text);
        let lines = text.lines().filter(|line| line.starts_with(start));
        lines.map(|line| line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap()).sum()
    }
}

/// A server that accepts connections and never answers. It is silent until it is dropped.
fn silent() -> (TcpListener, String) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("tcp://{}", listener.local_addr().unwrap());
    (listener, url)
}

/// A server that cuts each connection as soon as it gets something.
fn cutting() -> String {
    cutting_after().0
}

/// The same, and what it gets.
fn cutting_after() -> (String, Arc<Mutex<String>>) {
    let ((listener, url), got) = (silent(), Arc::<Mutex<String>>::default());
    let kept = Arc::clone(&got);
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut bytes = [0; 1024];
            let length = stream.read(&mut bytes).unwrap_or_default();
            kept.lock().unwrap().push_str(&String::from_utf8_lossy(&bytes[..length]));
        }
    });
    (url, got)
}

#[test]
fn a_server_that_stays_silent_is_given_up_before_the_whole_timeout() {
    let ((_listener, silent), server) = (silent(), Serving::start(&[]));
    let retried = "retry = { attempts = 2, timeout = \"100ms\" }\ntimeout = \"1h\"";
    let hedged = "hedge = \"20ms\"\ntimeout = \"1h\"";
    for (name, settings, counted) in [("retried", retried, "retries"), ("hedged", hedged, "hedges")] {
        let rig = Rig::start(
            name,
            &format!(
                "[upstream.web]\nurl = [\"{silent}\", {{ url = \"{}\", priority = 2 }}]\nprefix = \"\"\nsafe = \"math/*\"\n\
                 health = false\neject = false\nbreaker = false\n{settings}\n",
                server.url()
            ),
        );
        let (code, stdout, stderr) = rig.call(&["math/add", "2", "3", "-v"]);
        assert_eq!((code, &*stdout), (Some(0), "5\n"), "{name}: {stderr}");
        assert!(stderr.contains("switchboard-attempts: 2"), "{name}: {stderr}");
        assert!(
            rig.metric(&format!("switchboard_upstream_{counted}_total{{upstream=\"web\"}}")) > 0.0,
            "{name}"
        );
    }
}

#[test]
fn what_the_server_marks_as_safe_is_sent_again_and_nothing_else() {
    let ((cutting, got), server) = (cutting_after(), Serving::start(&[]));
    let rig = Rig::start(
        "marked",
        &format!(
            "[upstream.web]\nurl = [\"{}\", {{ url = \"{}\", priority = 2 }}]\nprefix = \"\"\nrequired = true\n\
             health = false\neject = false\nbreaker = false\n",
            cutting,
            server.url()
        ),
    );
    let (code, _, stderr) = rig.call(&["get_server_time", "-v"]);
    assert!(code == Some(0) && stderr.contains("switchboard-attempts: 2"), "{stderr}");
    // A connection that was cut before a call does not take it, so the other server gets it, and refuses it.
    let count = || got.lock().unwrap().matches("executeTask").count();
    until("a call is cut", || {
        let before = count();
        let (code, stdout, stderr) = rig.call(&["executeTask", "1"]);
        let is_cut = count() > before;
        assert_eq!((code, stderr.contains("-32004")), (Some(1), is_cut), "{stdout}{stderr}");
        is_cut.then_some(())
    });
}

#[test]
fn an_open_breaker_says_when_to_try_again() {
    let rig = Rig::start(
        "breaker",
        &format!(
            "[upstream.web]\nurl = \"{}\"\nprefix = \"\"\nhealth = false\nretry = false\nbreaker = {{ open = \"1h\" }}\n",
            cutting()
        ),
    );
    until("the breaker opens", || {
        let (code, _, stderr) = rig.call(&["math/add", "2", "3"]);
        assert!(code == Some(1) && stderr.contains("-32004"), "{stderr}");
        stderr.contains("retryAfterMs").then_some(())
    });
    assert!(rig.metric("switchboard_upstream_breaker_open{upstream=\"web\"}") > 0.0);
    assert!(rig.metric("switchboard_upstream_refused_total{upstream=\"web\"}") > 0.0);
}

#[test]
fn a_mirror_that_answers_differently_is_reported() {
    let (one, two) = (Serving::start(&[]), Serving::start(&[]));
    let mut rig = Rig::start(
        "mirror",
        &format!(
            "[upstream.web]\nurl = \"{}\"\nprefix = \"\"\nmirror = {{ upstream = \"copy\" }}\n[upstream.copy]\nurl = \"{}\"\n",
            one.url(),
            two.url()
        ),
    );
    let mirrored = |rig: &Rig, result: &str| {
        rig.metric(&format!("switchboard_upstream_mirror_total{{upstream=\"web\",result=\"{result}\"}}"))
    };
    assert_eq!(rig.call(&["math/add", "2", "3"]).1, "5\n");
    until("the answers are the same", || (mirrored(&rig, "same") > 0.0).then_some(()));
    assert_eq!(rig.call(&["time/now"]).0, Some(0));
    let said = rig.gateway.read_until("the mirror answered differently");
    assert!(said.contains("time/now") && said.contains("copy"), "{said}");
    until("it is counted", || (mirrored(&rig, "different") > 0.0).then_some(()));
}

#[test]
fn faults_delay_and_cut_calls_of_a_route() {
    let server = Serving::start(&[]);
    let rig = Rig::start(
        "faults",
        &format!(
            "[upstream.web]\nurl = \"{}\"\nprefix = \"\"\nretry = false\n\
             [[route]]\nmethods = \"math/add\"\nfault = {{ delay = \"1h\" }}\ntimeout = \"100ms\"\n\
             [[route]]\nmethods = \"math/multiply\"\nfault = {{ cut = true }}\n\
             [[route]]\nmethods = \"echo\"\nfault = {{ error = -32050 }}\n",
            server.url()
        ),
    );
    for (method, code) in [("math/add", "-32003"), ("math/multiply", "-32004"), ("echo", "-32050")] {
        let (status, _, stderr) = rig.call(&[method, "2", "3"]);
        assert!(status == Some(1) && stderr.contains(code), "{method}: {stderr}");
    }
    assert_eq!(rig.call(&["math/subtract", "5", "3"]).1, "2\n");
}

#[test]
fn a_canary_gets_calls_by_header_and_by_share() {
    let (old, new) = (Serving::start(&[]), Serving::start(&[]));
    let rig = Rig::start(
        "canary",
        &format!(
            "[upstream.web]\nurl = \"{}\"\nprefix = \"\"\n[upstream.next]\nurl = \"{}\"\n\
             [[route]]\nmethods = \"math/*\"\nupstream = \"next\"\nheader = {{ x-canary = \"yes\" }}\n\
             [[route]]\nmethods = \"echo\"\nupstream = \"next\"\ntraffic = \"50%\"\n",
            old.url(),
            new.url()
        ),
    );
    let calls =
        |upstream: &str| rig.metric(&format!("switchboard_upstream_calls_total{{upstream=\"{upstream}\""));
    let before = (calls("web"), calls("next"));
    assert_eq!(rig.call(&["math/add", "2", "3", "-H", "x-canary: yes"]).1, "5\n");
    assert_eq!((calls("web"), calls("next")), (before.0, before.1 + 1.0));
    assert_eq!(rig.call(&["math/add", "2", "3"]).1, "5\n");
    assert_eq!((calls("web"), calls("next")), (before.0 + 1.0, before.1 + 1.0));
    until("both get their share", || {
        assert_eq!(rig.call(&["echo", "hi"]).1, "\"hi\"\n");
        (calls("web") > before.0 + 1.0 && calls("next") > before.1 + 1.0).then_some(())
    });
}

#[test]
fn items_of_a_described_stream_empty_a_cache() {
    let server = Serving::start(&[]);
    let rig = Rig::start(
        "cleared",
        &format!(
            "[upstream.web]\nurl = \"{}\"\nshared = true\nrequired = true\n\
             [[route]]\nmethods = [\"web/get_server_time\", \"web/echo\"]\ncache = {{ ttl = \"1h\", clear_on = [\"web/ticks\"] }}\n",
            server.url().replace("http:", "ws:")
        ),
    );
    let time = || rig.call(&["web/get_server_time"]).1;
    let first = time();
    until("an item has emptied the cache", || (time() != first).then_some(()));
    // Nobody but the gateway has called it.
    assert!(rig.metric("switchboard_upstream_cache_total{upstream=\"web\",result=\"miss\"}") > 1.0);
}

#[test]
fn what_a_server_pushes_over_a_shared_connection_is_reported_once() {
    let server = Serving::start(&["--listen=ws://127.0.0.1:0"]);
    let folder = Folder::new("gateway-policies-pushes");
    let file = folder.file("gateway.toml");
    let text = format!("[upstream.chat]\nurl = \"{}\"\n", server.urls()[1]);
    std::fs::write(&file, text).unwrap();
    let listen = ["gateway", "--config", &file, "--listen=http://127.0.0.1:0"];
    let mut gateway = Serving::spawn(program(&listen));
    assert_eq!(call(&gateway.url(), &["chat/watch", "seconds=0.01"]).0, Some(0));
    let said = gateway.read_until("per-client");
    assert!(said.contains("chat") && said.contains("onTick") && said.contains("sessions"), "{said}");
    assert_eq!(said.matches("onTick").count(), 1, "{said}");
}
