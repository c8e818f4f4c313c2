//! Replays the commands of a documentation page, in the order in which a reader runs them.
//!
//! - In a block marked `console` a line that begins with `$ ` is a command, and the lines that follow are its output at a terminal, in which `…`
//!   stands for any text.
//! - A block marked `sh` is a script that succeeds; one that begins with `switchboard serve`, `gateway` or `tap` runs until the replay ends.
//!
//! Servers listen on free ports instead of those on the page.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::program::{Serving, program};
use crate::terminal::at_terminal;

/// The address of a server without `--listen`.
pub(crate) const DEFAULT: &str = "127.0.0.1:8000";

/// A fenced block of a page.
#[derive(Debug)]
pub(crate) struct Block {
    language: String,
    text: String,
}

impl Block {
    pub(crate) fn is_console(&self) -> bool {
        self.language == "console"
    }

    pub(crate) fn is_toml(&self) -> bool {
        self.language == "toml"
    }

    pub(crate) fn is_json(&self) -> bool {
        self.language == "json"
    }

    pub(crate) fn text(&self) -> &str {
        &self.text
    }

    /// Each command of a session, and its output.
    fn commands(&self) -> Vec<(String, String)> {
        let mut commands: Vec<(String, String)> = Vec::new();
        for line in self.text.lines() {
            match (line.strip_prefix("$ "), commands.last_mut()) {
                (Some(command), _) => commands.push((command.to_owned(), String::new())),
                (None, Some((_, output))) => output.extend([line, "\n"]),
                (None, None) => panic!("a session begins with `$ `, not with {line:?}"),
            }
        }
        commands
    }
}

/// The blocks of a page, or of a part of it.
pub(crate) fn blocks(page: &str) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open: Option<Block> = None;
    for line in page.lines() {
        match (line.strip_prefix("```"), open.as_mut()) {
            (Some(_), Some(_)) => blocks.extend(open.take()),
            (Some(language), None) => {
                open = Some(Block { language: language.to_owned(), text: String::new() });
            }
            (None, Some(block)) => block.text.extend([line, "\n"]),
            (None, None) => {}
        }
    }
    blocks
}

/// The part of a page below this heading, up to the next one of its level.
pub(crate) fn section<'a>(page: &'a str, heading: &str) -> &'a str {
    let start = page.find(&format!("\n## {heading}\n")).unwrap_or_else(|| panic!("no section {heading}"));
    let rest = &page[start + 1..];
    rest.find("\n## ").map_or(rest, |end| &rest[..end])
}

/// A reader's machine: a folder to work in, programs, running servers.
pub(crate) struct Replay {
    folder: PathBuf,
    /// Texts of the page, and what stands for them here.
    stand_ins: Vec<(String, String)>,
    servers: Vec<Serving>,
}

impl Replay {
    pub(crate) fn new(name: &str) -> Replay {
        let folder = std::env::temp_dir().join(format!("switchboard-{name}-{}", std::process::id()));
        fs::create_dir_all(folder.join("bin")).unwrap();
        std::os::unix::fs::symlink(program(&[]).get_program(), folder.join("bin/switchboard")).unwrap();
        Replay { folder, stand_ins: Vec::new(), servers: Vec::new() }
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Has commands use one text for another, and outputs show it the other way round.
    pub(crate) fn stand_in(&mut self, shown: &str, real: &str) {
        self.stand_ins.retain(|(known, _)| known != shown);
        self.stand_ins.push((shown.to_owned(), real.to_owned()));
    }

    /// The same for a port of this machine, by its address and by name.
    pub(crate) fn stand_in_port(&mut self, shown: &str, real: &str) {
        self.stand_in(shown, real);
        self.stand_in(&shown.replace("127.0.0.1", "localhost"), &real.replace("127.0.0.1", "localhost"));
    }

    /// Puts a program on the path, as a shell script.
    pub(crate) fn tool(&self, name: &str, script: &str) {
        let file = self.folder.join("bin").join(name);
        fs::write(&file, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(file, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// Runs the sessions, and the scripts too, in their order.
    pub(crate) fn run(&mut self, blocks: &[Block]) {
        for block in blocks {
            match block.language.as_str() {
                "console" => self.session(block),
                "sh" if block.text.starts_with("switchboard serve") => self.serve(block.text.trim_end()),
                "sh" if block.text.starts_with("switchboard gateway") => self.serve(block.text.trim_end()),
                "sh" if block.text.starts_with("switchboard tap") => self.tap(block.text.trim_end()),
                "sh" => self.script(&block.text),
                _ => {}
            }
        }
    }

    fn session(&self, block: &Block) {
        for (command, expected) in block.commands() {
            let (_, shown) = at_terminal(self.shell(&command));
            let shown = steady(&self.on_page(&shown));
            let expected = steady(&expected);
            assert!(agrees(&shown, &expected), "{command}\nshows:\n{shown}\nand not:\n{expected}");
        }
    }

    fn script(&self, script: &str) {
        let output = self.shell(&format!("set -e\n{script}")).output().unwrap();
        assert!(output.status.success(), "{script}\n{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Starts a server on free ports, which stand for those that it is given on the page.
    fn serve(&mut self, command: &str) {
        let words: Vec<&str> = command.split_whitespace().collect();
        let listens = words.windows(2).filter(|pair| pair[0] == "--listen");
        let shown: Vec<&str> = listens.map(|pair| address(pair[1])).collect();
        let mut command =
            shown.iter().fold(command.to_owned(), |command, address| command.replace(address, "127.0.0.1:0"));
        if shown.is_empty() {
            command.push_str(" --listen http://127.0.0.1:0");
        }
        let admin = words.windows(2).find(|pair| pair[0] == "--admin").map(|pair| pair[1]);
        let admin = admin.filter(|place| !place.starts_with("unix:"));
        if let Some(port) = admin {
            command = command.replace(&format!("--admin {port}"), "--admin 0");
        }
        let serving = Serving::spawn(self.shell(&format!("exec {command}")));
        let at = serving.banner.lines().find_map(|line| line.strip_prefix("Admin on "));
        if let Some((port, url)) = admin.zip(at) {
            self.stand_in_port(&format!("127.0.0.1:{port}"), address(url));
        }
        let shown = if shown.is_empty() { vec![DEFAULT] } else { shown };
        for (shown, url) in shown.into_iter().zip(serving.urls()) {
            self.stand_in_port(shown, address(&url));
        }
        self.servers.push(serving);
    }

    /// Starts a tap on a free port, which stands for the one that it is given on the page.
    fn tap(&mut self, command: &str) {
        let port = command.split_whitespace().nth(2).unwrap();
        let command = self.here(&command.replacen(port, "0", 1));
        let tap = Serving::spawn(self.shell(&format!("exec {command}")));
        self.stand_in_port(&format!("127.0.0.1:{port}"), address(&tap.url()));
        self.servers.push(tap);
    }

    /// Stops all servers as a reader does, with Ctrl-C.
    pub(crate) fn stop(&mut self) {
        for server in self.servers.drain(..) {
            server.signal("INT");
            server.wait();
        }
    }

    /// A command as a reader's shell would run it.
    pub(crate) fn shell(&self, command: &str) -> Command {
        let command = self.here(command);
        let path = format!("{}/bin:{}", self.folder.display(), std::env::var("PATH").unwrap_or_default());
        let mut shell = Command::new("sh");
        shell.args(["-c", &command]).current_dir(&self.folder).stdin(Stdio::null());
        shell.env("PATH", path).env("HOME", &self.folder).env("NO_COLOR", "1");
        shell.env_remove("RUST_LOG").env_remove("SWITCHBOARD_TOKEN");
        shell
    }

    /// A text of the page as it is here.
    pub(crate) fn here(&self, text: &str) -> String {
        self.stand_ins.iter().fold(text.to_owned(), |text, (shown, real)| text.replace(shown, real))
    }

    /// An output as the page has it.
    fn on_page(&self, text: &str) -> String {
        self.stand_ins.iter().fold(text.to_owned(), |text, (shown, real)| text.replace(real, shown))
    }
}

impl Drop for Replay {
    fn drop(&mut self) {
        self.servers.clear();
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// The host and port of a URL.
fn address(url: &str) -> &str {
    url.split_once("://").map_or(url, |(_, rest)| rest)
}

/// The output without the values that differ each time.
fn steady(text: &str) -> String {
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

/// Whether a text is the expected one, in which `…` stands for any text.
fn agrees(text: &str, expected: &str) -> bool {
    let Some((first, mut expected)) = expected.split_once('…') else { return text == expected };
    let Some(mut rest) = text.strip_prefix(first) else { return false };
    while let Some((part, more)) = expected.split_once('…') {
        let Some((_, after)) = rest.split_once(part) else { return false };
        (rest, expected) = (after, more);
    }
    rest.ends_with(expected)
}

#[test]
fn an_ellipsis_stands_for_any_text() {
    for (text, expected, is_right) in [
        ("a\n", "a\n", true),
        ("a\n", "b\n", false),
        ("error: it broke; mend it\n", "error: …\n", true),
        ("error: it broke; mend it\n", "error: …broke…\n", true),
        ("error: it broke; mend it\n", "error: …whole…\n", false),
        ("error: it broke\nexit code 3\n", "error: …\nexit code 2\n", false),
    ] {
        assert_eq!(agrees(text, expected), is_right, "{text:?} as {expected:?}");
    }
}
