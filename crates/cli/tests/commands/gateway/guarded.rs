//! What guards and observes a server does so for calls that are forwarded.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;

use super::{call, demo};
use crate::carriers::Folder;
use crate::program::{Serving, program};

const ALICE: &str = "2f9c1b7e55a04d13";
const BOB: &str = "9b1f0e6c2d7a4853";

/// A gateway with this configuration before the demo.
fn start(folder: &Folder, text: &str, more: &[&str]) -> Serving {
    let tokens = folder.file("tokens.txt");
    fs::write(&tokens, format!("alice:{ALICE}\nbob:{BOB}\n")).unwrap();
    fs::set_permissions(&tokens, fs::Permissions::from_mode(0o600)).unwrap();
    let file = folder.file("gateway.toml");
    let upstream = format!("[upstream.tool]\nurl = {:?}\nsessions = \"shared\"\n", demo());
    fs::write(&file, format!("listen = \"http://127.0.0.1:0\"\n{text}\n{upstream}")).unwrap();
    Serving::spawn(program(&[&["gateway", "--config", &file], more].concat()))
}

#[test]
fn tokens_and_access_rules_decide_who_calls_what() {
    let folder = Folder::new("gateway-rules");
    let rules = "[auth]\ntokens = \"tokens.txt\"\n[roles]\nteller = \"bob\"\n[access]\nrules = [\n  \
                 { allow = [\"tool/math/*\", \"rpc.*\"], who = \"anyone\" },\n  \
                 { allow = \"tool/getUser\", who = \"role:teller\", when = { \"/id\" = { max = 2 } } },\n]\n";
    let gateway = start(&folder, rules, &[]);
    let http = gateway.url();
    for url in [http.clone(), http.replace("http:", "ws:")] {
        let check = |words: &[&str], expected: Option<i32>| {
            let (code, stdout, stderr) = call(&url, words);
            assert_eq!(code, expected, "{url} {words:?}: {stdout}{stderr}");
        };
        check(&["tool/math/add", "2", "3", "--token", ALICE], Some(0));
        check(&["tool/getUser", "1", "--token", BOB], Some(0));
        check(&["tool/getUser", "3", "--token", BOB], Some(1));
        check(&["tool/getUser", "1", "--token", ALICE], Some(1));
        check(&["tool/echo", "1", "--token", BOB], Some(1));
    }
    let shown = |token: &str| call(&http, &["rpc.discover", "--token", token]).1;
    assert!(shown(BOB).contains("\"tool/getUser\"") && !shown(ALICE).contains("\"tool/getUser\""));
}

#[test]
fn rate_limits_count_calls_that_are_forwarded() {
    let folder = Folder::new("gateway-rate");
    let gateway = start(&folder, "rate = [{ limit = \"1/h\", burst = 2 }]\n", &[]);
    let codes: Vec<_> = (0..4).map(|_| call(&gateway.url(), &["tool/math/add", "2", "3"])).collect();
    assert_eq!(codes.iter().filter(|(code, ..)| *code == Some(0)).count(), 2, "{codes:?}");
    assert!(codes[3].2.contains("-32005"), "{codes:?}");
}

#[test]
fn forwarded_calls_are_logged_and_counted() {
    let folder = Folder::new("gateway-log");
    let mut gateway = start(&folder, "", &["--admin", "0", "--log-level", "info"]);
    let (url, admin) =
        (gateway.url(), gateway.banner.lines().find_map(|line| line.strip_prefix("Admin on ")).unwrap());
    let place = admin.strip_prefix("http://").unwrap().to_owned();
    assert_eq!(call(&url, &["tool/math/add", "2", "3"]).1, "5\n");
    let mut stream = TcpStream::connect(&place).unwrap();
    write!(stream, "GET /metrics HTTP/1.1\r\nhost: {place}\r\nconnection: close\r\n\r\n").unwrap();
    let mut metrics = String::new();
    stream.read_to_string(&mut metrics).unwrap();
    let counted =
        r#"rpc_server_call_duration_seconds_count{rpc_system_name="jsonrpc",rpc_method="tool/math/add"} 1"#;
    assert!(metrics.contains(counted), "{metrics}");
    let log = gateway.read_until("tool/math/add");
    assert!(!log.is_empty());
}
