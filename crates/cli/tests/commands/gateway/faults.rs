//! A network that delays, cuts, garbles or swallows what a gateway and its servers send each other.

use std::time::Duration;

use serde_json::Value;

use super::{call, until};
use crate::admin::first_item;
use crate::carriers::Folder;
use crate::program::{Serving, program};
use crate::relay::{Mode, Relay};

/// Servers with a relay before each, and a gateway before the relays.
struct Rig {
    _runtime: tokio::runtime::Runtime,
    relays: Vec<Relay>,
    _servers: Vec<Serving>,
    _folder: Folder,
    gateway: Serving,
    admin: String,
}

impl Rig {
    /// An upstream with as many servers over this transport, and these settings; and another upstream that has no relay.
    fn start(name: &str, scheme: &str, count: usize, settings: &str) -> Rig {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let listen = format!("--listen={scheme}://127.0.0.1:0");
        let servers: Vec<Serving> =
            (0..count).map(|_| Serving::spawn(program(&["serve", &listen, "--allow-host=*"]))).collect();
        let place = |url: &str| url.split_once("://").unwrap().1.parse().unwrap();
        let relays: Vec<Relay> =
            servers.iter().map(|server| runtime.block_on(Relay::start(place(&server.url())))).collect();
        let urls: Vec<String> = relays.iter().map(|relay| relay.url.replacen("tcp", scheme, 1)).collect();
        let folder = Folder::new(&format!("gateway-faults-{name}-{scheme}"));
        let (file, admin) = (folder.file("gateway.toml"), format!("unix:{}", folder.file("admin.sock")));
        let other = servers[0].url();
        let text =
            format!("[upstream.web]\nurl = {urls:?}\n{settings}\n[upstream.other]\nurl = \"{other}\"\n");
        std::fs::write(&file, text).unwrap();
        let arguments = ["gateway", "--config", &file, "--listen=http://127.0.0.1:0", "--admin", &admin];
        let gateway = Serving::spawn(program(&arguments));
        Rig { _runtime: runtime, relays, _servers: servers, _folder: folder, gateway, admin }
    }

    fn set(&self, mode: Mode) {
        self.relays.iter().for_each(|relay| relay.set(mode));
    }

    fn call(&self, words: &[&str]) -> (Option<i32>, String, String) {
        call(&self.gateway.url(), words)
    }

    fn works(&self) -> Result<(), String> {
        let (_, stdout, stderr) = self.call(&["web/math/add", "2", "3"]);
        if stdout == "5\n" { Ok(()) } else { Err(stderr) }
    }

    /// The upstream behind the relays, as operators see it.
    fn status(&self) -> Value {
        first_item(&self.admin, &["admin/upstreams", "name=web"])[0].clone()
    }
}

const SCHEMES: [&str; 3] = ["http", "ws", "tcp"];

#[test]
fn a_server_that_falls_silent_is_found_out_and_holds_up_no_other() {
    let settings = "timeout = \"300ms\"\n\
                    health = { method = \"get_server_time\", every = \"100ms\", timeout = \"100ms\", fail = 2, pass = 1 }";
    for scheme in SCHEMES {
        let rig = Rig::start("silent", scheme, 1, settings);
        // Connections are open, and stay open.
        assert_eq!(rig.works(), Ok(()), "{scheme}");
        rig.set(Mode::Silent);
        until("calls fail at once", || {
            let (code, _, stderr) = rig.call(&["web/math/add", "2", "3"]);
            assert!(code == Some(1) && (stderr.contains("-32003") || stderr.contains("-32004")), "{stderr}");
            stderr.contains("-32004").then_some(())
        });
        assert_eq!(rig.status()["nodes"][0]["state"], "down", "{scheme}");
        assert_eq!(rig.call(&["other/math/add", "2", "3"]).1, "5\n", "{scheme}");
        rig.set(Mode::Works);
        until("it works again", || rig.works().ok());
    }
}

#[test]
fn answers_that_are_late_are_waited_for_or_come_from_another_server() {
    let settings = "balance = \"round-robin\"\nhedge = \"20ms\"\nsafe = \"math/*\"\nhealth = false";
    for scheme in SCHEMES {
        let rig = Rig::start("late", scheme, 2, settings);
        rig.relays[0].set(Mode::Slow(Duration::from_secs(3600)));
        until("a call is sent to the other server, too", || {
            let (_, stdout, stderr) = rig.call(&["web/math/add", "2", "3", "-v"]);
            assert_eq!(stdout, "5\n", "{scheme}: {stderr}");
            stderr.contains("switchboard-attempts: 2").then_some(())
        });
        rig.set(Mode::Slow(Duration::from_millis(30)));
        for _ in 0..4 {
            assert_eq!(rig.call(&["web/echo", "hi"]).1, "\"hi\"\n", "{scheme}");
            assert_eq!(rig.call(&["web/count", "3", "--stream"]).1, "1\n2\n3\n", "{scheme}");
        }
    }
}

#[test]
fn a_broken_answer_fails_its_call_and_the_next_one_works() {
    for scheme in SCHEMES {
        let rig = Rig::start("broken", scheme, 1, "timeout = \"1s\"\nbreaker = false\neject = false");
        for mode in [Mode::Cuts, Mode::Garbage, Mode::Stalls, Mode::Dead] {
            assert_eq!(rig.works(), Ok(()), "{scheme} before {mode:?}");
            rig.set(mode);
            let (code, stdout, stderr) = rig.call(&["web/math/add", "2", "3"]);
            assert!(code == Some(1) && stdout.is_empty(), "{scheme} {mode:?}: {stdout}");
            assert!(stderr.contains("-32004") || stderr.contains("-32003"), "{scheme} {mode:?}: {stderr}");
            rig.set(Mode::Works);
            until("it works again", || rig.works().ok());
        }
    }
}
