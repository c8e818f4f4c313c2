//! `switchboard top`: the live view, JSON lines and one interval.

use std::io::{BufRead, BufReader};
use std::process::Stdio;

use serde_json::Value;

use crate::carriers::Folder;
use crate::keyboard::Terminal;
use crate::program::{Serving, listener, parts, program, run};
use crate::terminal::at_terminal;

/// A server with an admin listener, and the URL of that.
fn serving() -> (Serving, String) {
    let serving = Serving::start(&["--admin", "0"]);
    let admin = serving.banner.lines().find_map(|line| line.strip_prefix("Admin on ")).unwrap().to_owned();
    (serving, admin)
}

/// Calls until a line of the output has a call.
fn until_counted(serving: &Serving, lines: &mut impl Iterator<Item = std::io::Result<String>>) -> Value {
    loop {
        run(&["call", &serving.url(), "math/add", "2", "3"]);
        let stats: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        if stats["calls"] != 0 {
            return stats;
        }
    }
}

#[test]
fn in_a_pipe_each_interval_is_a_line_of_json() {
    let (serving, admin) = serving();
    let mut top = program(&["top", &admin, "--every", "100ms", "--by", "transport"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(top.stdout.take().unwrap()).lines();
    let stats = until_counted(&serving, &mut lines);
    assert_eq!(stats["rows"][0]["name"], "http", "{stats}");
    // A reader that has seen enough is not a failure.
    drop(lines);
    assert_eq!(top.wait().unwrap().code(), Some(0));
}

#[test]
fn over_a_unix_socket_it_is_the_same() {
    let folder = Folder::new("top");
    let socket = format!("unix:{}", folder.file("admin.sock"));
    let serving = Serving::start(&["--admin", &socket]);
    let mut top = program(&["top", &socket, "--every", "100ms"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(top.stdout.take().unwrap()).lines();
    let stats = until_counted(&serving, &mut lines);
    assert_eq!(stats["rows"][0]["name"], "math/add", "{stats}");
    drop(lines);
    assert_eq!(top.wait().unwrap().code(), Some(0));
}

#[test]
fn one_interval_is_json_in_a_pipe_and_a_page_on_a_terminal() {
    let (_serving, admin) = serving();
    let (code, stdout, stderr) = parts(run(&["top", &admin, "--once", "--every", "100ms"]));
    assert_eq!((code, stderr.as_str()), (Some(0), ""));
    let stats: Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(stats["calls"], 0);
    let (code, text) = at_terminal(program(&["top", &admin, "--once", "--every", "100ms"]));
    assert_eq!(code, Some(0), "{text}");
    assert!(text.contains("calls/s 0") && text.contains("No calls ended"), "{text}");
}

#[test]
fn what_is_wrong_with_the_url_is_said() {
    let check = |arguments: &[&str], expected: i32, parts_of: &[&str]| {
        let (code, _, stderr) = parts(run(&[&["top"], arguments].concat()));
        assert_eq!(code, Some(expected), "{stderr}");
        assert!(parts_of.iter().all(|part| stderr.contains(part)), "{stderr}");
    };
    let (listener, url) = listener();
    drop(listener);
    let port = url.rsplit(':').next().unwrap();
    let advice = format!("start a server with `switchboard serve --admin {port}`");
    check(&[&url], 3, &["nothing is listening", &advice]);
    // A bare port is one of this machine.
    check(&[port], 3, &["nothing is listening", &advice]);
    check(&["unix:/nowhere"], 3, &["switchboard serve --admin unix:/nowhere"]);
    let serving = Serving::start(&[]);
    check(&[&serving.url()], 5, &["is not an admin listener", "switchboard serve --admin 9000"]);
    check(&[&url, "--every", "10ms"], 2, &["100ms or longer"]);
    check(&[&url, "--retry", "2"], 2, &["reconnects by itself", "remove `--retry`"]);
    check(&[&url, "--v1"], 2, &["remove `--v1`"]);
}

/// The view has left the alternate screen and shows the cursor again, and nothing was written afterwards.
fn is_restored(shown: &str) {
    let (view, after) = shown.rsplit_once("\u{1b}[?1049l").unwrap_or_else(|| panic!("{shown:?}"));
    assert!(view.contains("\u{1b}[?1049h") && after.contains("\u{1b}[?25h"), "{shown:?}");
    assert_eq!(anstream::adapter::strip_str(after).to_string(), "");
}

#[test]
fn the_view_shows_what_is_called_and_leaves_the_terminal_as_it_was() {
    let (serving, admin) = serving();
    // It is among the first that are shown.
    run(&["call", &serving.url(), "math/sqrt", "-1"]);
    let mut terminal = Terminal::start(&["top", &admin, "--every", "100ms"], "");
    terminal.until("switchboard ");
    terminal.until("math/sqrt");
    terminal.type_in("?");
    terminal.until("Keys");
    assert!(terminal.is_raw());
    // The first closes the help.
    terminal.type_in("qq");
    terminal.end();
    assert!(!terminal.is_raw());
    is_restored(&terminal.shown_at_end());
}

#[test]
fn the_view_shows_the_upstreams_of_a_gateway() {
    let server = Serving::start(&[]);
    let upstream = format!("behind={}", server.url());
    let gateway =
        Serving::spawn(program(&["gateway", &upstream, "--listen", "http://127.0.0.1:0", "--admin", "0"]));
    let admin = gateway.banner.lines().find_map(|line| line.strip_prefix("Admin on ")).unwrap().to_owned();
    let mut terminal = Terminal::start(&["top", &admin, "--every", "100ms"], "");
    terminal.until("upstream");
    terminal.until("behind");
    terminal.type_in("q");
    assert_eq!(terminal.wait(), Some(0));
}

#[test]
fn a_signal_leaves_the_terminal_as_it_was() {
    let (_serving, admin) = serving();
    let mut terminal = Terminal::start_with(&["top", &admin], "", &[("NO_COLOR", "1")]);
    terminal.until("switchboard ");
    terminal.signal("TERM");
    let shown = terminal.shown_at_end();
    is_restored(&shown);
    // Neither a colour of the text nor one of the background.
    assert!(!shown.contains("[38;") && !shown.contains("[48;"), "{shown:?}");
}

#[test]
fn it_reconnects_when_the_server_is_back() {
    let folder = Folder::new("top-again");
    let socket = format!("unix:{}", folder.file("admin.sock"));
    let first = Serving::start(&["--admin", &socket]);
    let mut terminal = Terminal::start(&["top", &socket, "--every", "100ms"], "");
    terminal.until("q quit");
    drop(first);
    terminal.until("Connection lost");
    let second = Serving::start(&["--admin", &socket]);
    run(&["call", &second.url(), "math/sqrt", "-1"]);
    terminal.until("math/sqrt");
    terminal.type_in("\u{3}");
    assert_eq!(terminal.wait(), Some(0));
}
