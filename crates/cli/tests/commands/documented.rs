//! The pages show what the program does: their commands are run.

use std::fs;

use crate::machine::{Machine, is_missing};
use crate::program::Serving;
use crate::replay::{Block, DEFAULT, Replay, blocks, section};

const AUTHENTICATION: &str = include_str!("../../../../docs/authentication.md");
const CONFIGURATION: &str = include_str!("../../../../docs/configuration.md");
const GATEWAY: &str = include_str!("../../../../docs/gateway.md");
const MCP: &str = include_str!("../../../../docs/mcp.md");
const MCP_ADAPTERS: &str = include_str!("../../../../docs/mcp-adapters.md");
const TAPPING: &str = include_str!("../../../../docs/tapping.md");
const TOP: &str = include_str!("../../../../docs/top.md");
const SIGNING: &str = include_str!("../../../../docs/signing.md");
const SECURING: &str = include_str!("../../../../docs/securing.md");
const INSTALLING: &str = include_str!("../../../../docs/installing.md");
const DEPLOYING: &str = include_str!("../../../../docs/deploying.md");
const FLEET: &str = include_str!("../../../../docs/fleet.md");
const TROUBLESHOOTING: &str = include_str!("../../../../docs/troubleshooting.md");

#[test]
fn every_session_of_the_pages_is_as_they_show() {
    let serving = Serving::start(&[]);
    let pages =
        [include_str!("../../../../README.md"), include_str!("../../../../docs/command-line.md"), INSTALLING];
    for page in pages {
        let mut replay = Replay::new("pages");
        replay.stand_in_port(DEFAULT, serving.url().strip_prefix("http://").unwrap());
        let sessions: Vec<Block> = blocks(page).into_iter().filter(Block::is_console).collect();
        assert!(!sessions.is_empty(), "{page}");
        replay.run(&sessions);
    }
}

#[test]
fn completions_and_manual_are_written_where_the_page_puts_them() {
    let mut replay = Replay::new("completions");
    replay.run(&blocks(section(INSTALLING, "Shell completions")));
    for file in [
        ".local/share/bash-completion/completions/switchboard",
        ".zfunc/_switchboard",
        ".config/fish/completions/switchboard.fish",
        ".local/share/man/man1/switchboard-call.1",
    ] {
        let text = fs::read_to_string(replay.folder().join(file)).unwrap();
        assert!(text.contains("switchboard"), "{file}: {text}");
    }
}

#[test]
fn troubleshooting_shows_each_symptom_and_its_cause() {
    if is_missing(&["openssl", "curl"]) {
        return;
    }
    let serving = Serving::start(&[]);
    let mut replay = Replay::new("troubleshooting");
    replay.stand_in_port(DEFAULT, serving.url().strip_prefix("http://").unwrap());
    replay.run(&blocks(TROUBLESHOOTING));
}

#[test]
fn a_server_is_deployed_as_the_page_says() {
    if is_missing(&["openssl"]) {
        return;
    }
    let mut replay = Replay::new("deploying");
    replay.run(&blocks(section(DEPLOYING, "TLS")));
    if is_missing(&["systemd-analyze", "systemctl"]) {
        return;
    }
    let machine = Machine::prepare(&mut replay);
    let (install, sessions) = install_and_sessions("systemd");
    replay.run(&install);
    machine.verify_units();
    let _service = machine.start_service(&mut replay);
    replay.run(&sessions);
    if is_missing(&["nginx", "curl"]) {
        return;
    }
    let (install, sessions) = install_and_sessions("nginx");
    let _nginx = machine.start_nginx(&mut replay, |replay| replay.run(&install));
    replay.run(&sessions);
}

#[test]
fn callers_prove_who_they_are_as_the_page_says() {
    if is_missing(&["openssl"]) {
        return;
    }
    for heading in ["Tokens", "API keys", "JWT", "Certificates"] {
        let mut replay = Replay::new(&format!("authentication-{}", heading.replace(' ', "-")));
        replay.run(&blocks(section(AUTHENTICATION, heading)));
    }
}

/// The scripts of a section on deploying, and the sessions that follow them.
fn install_and_sessions(heading: &str) -> (Vec<Block>, Vec<Block>) {
    let mut install = blocks(section(DEPLOYING, heading));
    let first = install.iter().position(Block::is_console).unwrap();
    let sessions = install.split_off(first);
    (install, sessions)
}

#[test]
fn configuration_files_work_as_the_page_says() {
    let mut replay = Replay::new("configuration");
    replay.run(&blocks(CONFIGURATION));
}

#[test]
fn servers_are_behind_a_gateway_as_the_page_says() {
    for heading in [
        "One server",
        "A program over WebSocket",
        "Several servers",
        "Several copies of a server",
        "Routes",
        "What would happen to a call",
        "Answers that callers share",
        "A server that does not exist yet",
        "Operating it",
    ] {
        let mut replay = Replay::new(&format!("gateway-{}", heading.replace(' ', "-")));
        replay.run(&blocks(section(GATEWAY, heading)));
    }
}

#[test]
fn clients_of_mcp_are_answered_as_the_page_says() {
    if is_missing(&["curl"]) {
        return;
    }
    let mut replay = Replay::new("mcp");
    replay.run(&blocks(section(MCP, "switchboard serve")));
}

#[test]
fn methods_of_another_server_are_tools_as_the_page_says() {
    let serving = Serving::start(&[]);
    let mut replay = Replay::new("mcp-adapters");
    replay.stand_in_port(DEFAULT, serving.url().strip_prefix("http://").unwrap());
    let sessions: Vec<Block> = blocks(MCP_ADAPTERS).into_iter().filter(Block::is_console).collect();
    assert!(!sessions.is_empty());
    replay.run(&sessions);
}

#[test]
fn calls_are_signed_as_the_page_says() {
    let mut replay = Replay::new("signing");
    replay.run(&blocks(section(SIGNING, "Try it")));
}

#[test]
fn a_server_is_secured_as_the_page_says() {
    if is_missing(&["openssl"]) {
        return;
    }
    let mut replay = Replay::new("securing");
    replay.run(&blocks(SECURING));
}

#[test]
fn calls_are_recorded_and_replayed_as_the_page_says() {
    let mut replay = Replay::new("tapping");
    let mut first = blocks(section(TAPPING, "See what a client and a server say to each other"));
    // What follows the session shows other ways to start a tap.
    first.truncate(first.iter().position(Block::is_console).unwrap() + 1);
    replay.run(&first);
    replay.stop();
    replay.run(&blocks(section(TAPPING, "Replay it against another server")));
}

#[test]
fn a_fleet_runs_as_the_page_says() {
    let mut replay = Replay::new("fleet");
    replay.run(&blocks(section(FLEET, "Try it")));
    let config = blocks(FLEET).into_iter().find(Block::is_toml).unwrap();
    fs::write(replay.folder().join("gateway.toml"), config.text()).unwrap();
    replay.run(&blocks(
        "```sh\ntest -f gateway.toml && switchboard gateway --config gateway.toml --check\n```",
    ));
}

#[test]
fn a_server_is_watched_as_the_page_says() {
    let mut replay = Replay::new("top");
    replay.run(&blocks(TOP));
}
