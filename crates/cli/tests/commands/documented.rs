//! The pages on the command line show what the program does: their sessions are run, at a terminal.
//!
//! In a block marked `console` a line that begins with `$ ` is a command, and what follows is what it shows.

use std::process::{Command, Stdio};

use crate::program::{Serving, program};
use crate::terminal::at_terminal;

const PAGES: [&str; 2] =
    [include_str!("../../../../README.md"), include_str!("../../../../docs/command-line.md")];

/// The address that the pages show.
const SHOWN: &str = "127.0.0.1:8000";

/// Each command of a page, and what follows it.
fn sessions(page: &str) -> Vec<(String, String)> {
    let mut sessions: Vec<(String, String)> = Vec::new();
    let mut is_inside = false;
    for line in page.lines() {
        match line.strip_prefix("$ ") {
            _ if line.starts_with("```") => is_inside = line == "```console",
            Some(command) if is_inside => sessions.push((command.to_owned(), String::new())),
            None if is_inside => {
                let (_, output) = sessions.last_mut().unwrap();
                output.push_str(line);
                output.push('\n');
            }
            _ => {}
        }
    }
    sessions
}

/// What is shown, without the values that are others each time.
fn lasting(text: &str) -> String {
    let is_of_now = |line: &&str| line.contains(" date: ") || line.contains(" switchboard-timeout-ms: ");
    let mut shown = String::new();
    for line in text.lines() {
        match Some(line).filter(is_of_now).and_then(|line| line.split_once(": ")) {
            Some((name, _)) => shown.push_str(name),
            // The milliseconds that are left of 30 seconds.
            None => shown.push_str(&line.replace("\"timeoutMs\":30000", "\"timeoutMs\":29999")),
        }
        shown.push('\n');
    }
    shown
}

#[test]
fn every_session_of_the_pages_is_as_they_show() {
    let serving = Serving::start(&[]);
    let url = serving.url();
    let address = url.strip_prefix("http://").unwrap();
    let program = program(&[]).get_program().to_owned();
    let folder = std::path::Path::new(&program).parent().unwrap().display().to_string();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
    let sessions = PAGES.map(sessions);
    assert!(sessions.iter().all(|page| page.len() >= 4), "{sessions:?}");
    for (command, expected) in sessions.into_iter().flatten() {
        let mut shell = Command::new("sh");
        shell.args(["-c", &command.replace(SHOWN, address)]).env("PATH", &path).env("NO_COLOR", "1");
        shell.env_remove("RUST_LOG").env_remove("SWITCHBOARD_TOKEN").stdin(Stdio::null());
        let (_, shown) = at_terminal(shell);
        assert_eq!(lasting(&shown.replace(address, SHOWN)), lasting(&expected), "{command}");
    }
}
