//! `switchboard reload`, and what a server says about its configuration.

use std::fs;

use serde_json::{Value, json};

use crate::admin::{admin, get};
use crate::carriers::Folder;
use crate::program::{Serving, parts, program, run};

const ALICE: &str = "2f9c1b7e55a04d13";

/// Runs `switchboard reload`; gives its exit code and what it prints.
fn reload(url: &str, more: &[&str]) -> (Option<i32>, Value) {
    let (code, stdout, stderr) = parts(run(&[&["reload", url], more].concat()));
    assert!(code != Some(1) && stderr.is_empty(), "{stderr}");
    (code, serde_json::from_str(&stdout).unwrap())
}

fn call(url: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    parts(run(&[&["call", url], arguments].concat()))
}

/// What `admin/info` says about the configuration.
fn in_use(url: &str, more: &[&str]) -> Value {
    let (_, stdout, stderr) = call(url, &[&["admin/info"], more].concat());
    let info: Value = serde_json::from_str(&stdout).unwrap_or_else(|_| panic!("{stderr}"));
    info["config"].clone()
}

#[test]
fn the_outcome_is_told_and_a_rejected_file_is_seen_until_it_is_corrected() {
    let folder = Folder::new("reload");
    let tokens = folder.file("tokens.txt");
    fs::write(&tokens, format!("alice:{ALICE}\n")).unwrap();
    fs::set_permissions(&tokens, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    let file = folder.file("switchboard.toml");
    let first = "listen = \"http://127.0.0.1:0\"\nadmin = { url = \"http://127.0.0.1:0\", who = \"user:alice\" }\n\
                 auth.tokens = \"tokens.txt\"\n";
    fs::write(&file, first).unwrap();
    let mut serving = Serving::spawn(program(&["serve", "--config", &file, "--no-watch"]));
    let (url, admin) = (serving.url(), admin(&serving));
    let (token, as_alice) = (format!("--token={ALICE}"), [&*format!("--token={ALICE}")]);
    let before = in_use(&admin, &as_alice)["hash"].as_str().unwrap().to_owned();
    let said = format!("Configuration {file}, hash {before}\n");
    assert!(serving.banner.contains(&said), "{}", serving.banner);
    let echo = || call(&url, &["echo", "hi", &token]).0;

    // Not everyone may.
    assert_eq!(run(&["reload", &admin]).status.code(), Some(1));
    fs::write(&file, format!("{first}access.rules = {{ allow = \"math/*\", who = \"authenticated\" }}\n"))
        .unwrap();
    let (code, would) = reload(&admin, &["--dry-run", &token]);
    let after = would["hash"].as_str().unwrap().to_owned();
    let expected = json!({ "applied": false, "hash": after, "changes": ["access.rules"], "diagnostics": [] });
    assert_eq!((code, &would), (Some(0), &expected));
    assert_ne!(after, before);
    assert_eq!((in_use(&admin, &as_alice)["hash"].as_str(), echo()), (Some(&*before), Some(0)));
    let (code, done) = reload(&admin, &[&token]);
    assert_eq!((code, done["applied"].as_bool(), &done["hash"]), (Some(0), Some(true), &would["hash"]));
    let said = serving.read_until("Configuration reloaded");
    assert!(said.contains(&format!("access.rules. Hash {after}, was {before}.")), "{said}");
    assert_eq!(echo(), Some(1));

    let ok = || get(&admin, "/metrics", "").1.contains("\nswitchboard_config_ok 1\n");
    assert!(ok());
    let wrong = fs::read_to_string(&file).unwrap() + "\n[auth.jwt]\ntokenz = \"sekret\"\n";
    fs::write(&file, wrong).unwrap();
    for more in [&[&*token][..], &["--dry-run", &token]] {
        let (code, rejected) = reload(&admin, more);
        assert_eq!((code, rejected["applied"].as_bool()), (Some(10), Some(false)));
        assert_eq!(rejected["hash"], after.as_str());
        let diagnostics = rejected["diagnostics"].to_string();
        let is_told = diagnostics.contains("switchboard.toml:7:1: unknown key `tokenz`");
        assert!(is_told && !diagnostics.contains("sekret"), "{diagnostics}");
    }
    let shown = call(&admin, &["admin/config", &token]).1;
    assert!(shown.contains("rules = [") && shown.contains("# ") && !shown.contains(ALICE), "{shown}");
    let config = in_use(&admin, &as_alice);
    assert_eq!((config["ok"].as_bool(), config["hash"].as_str()), (Some(false), Some(&*after)));
    assert!(config["error"].as_str().unwrap().contains("unknown key `tokenz`"), "{config}");
    assert!(!ok());
    let (status, ready) = get(&admin, "/readyz", "");
    assert!(status == 200 && ready.starts_with("ready; ") && ready.contains("has errors"), "{ready}");

    fs::write(&file, first).unwrap();
    let (_, corrected) = reload(&admin, &[&token]);
    assert_eq!(corrected["hash"], before.as_str());
    assert!(ok() && in_use(&admin, &as_alice)["ok"] == true);
    assert_eq!((echo(), get(&admin, "/readyz", "").1), (Some(0), "ready\n".to_owned()));
}

#[test]
fn a_dry_run_of_a_gateway_tells_its_upstreams_and_changes_none() {
    let web = Serving::start(&[]);
    let folder = Folder::new("reload-gateway");
    let (file, socket) = (folder.file("gateway.toml"), format!("unix:{}", folder.file("admin.sock")));
    let upstream = |name: &str| format!("[upstream.{name}]\nurl = \"{}\"\n", web.url());
    fs::write(&file, upstream("web")).unwrap();
    let arguments =
        ["gateway", "--config", &file, "--no-watch", "--listen=http://127.0.0.1:0", "--admin", &socket];
    let gateway = Serving::spawn(program(&arguments));
    let url = gateway.url();
    let has = |method: &str| call(&url, &[method, "2", "3"]).0 == Some(0);
    fs::write(&file, upstream("more")).unwrap();
    let changes = json!(["upstream web removed", "upstream more added", "draining web for up to 10 s"]);
    assert_eq!(reload(&socket, &["--dry-run"]).1["changes"], changes);
    assert!(has("web/math/add") && !has("more/math/add"));
    assert_eq!(reload(&socket, &[]).1["changes"], changes);
    assert!(has("more/math/add") && !has("web/math/add"));
}

#[test]
fn without_a_file_there_is_nothing_to_reload() {
    let folder = Folder::new("reload-none");
    let socket = format!("unix:{}", folder.file("admin.sock"));
    let _serving = Serving::start(&["--admin", &socket]);
    let (code, _, stderr) = parts(run(&["reload", &socket]));
    assert!(code == Some(1) && stderr.contains("without a configuration file"), "{stderr}");
    assert_eq!(in_use(&socket, &[])["ok"], true);
}
