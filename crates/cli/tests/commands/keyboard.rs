//! The program at a terminal, as a person has it.

use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

/// A terminal with the program in it, killed when dropped.
pub(crate) struct Terminal {
    child: Child,
    keyboard: File,
    screen: Arc<Screen>,
    /// How much of what was shown was looked at.
    seen: usize,
}

#[derive(Default)]
struct Screen {
    shown: Mutex<Shown>,
    changed: Condvar,
}

#[derive(Default)]
struct Shown {
    text: Vec<u8>,
    is_over: bool,
}

/// How long a test waits for something to be shown before it fails.
const PATIENCE: Duration = Duration::from_secs(20);

impl Terminal {
    /// Runs the program with these arguments and this directory for its state.
    pub(crate) fn start(arguments: &[&str], state: &str) -> Terminal {
        Terminal::start_with(arguments, state, &[])
    }

    /// The same with these variables of the environment.
    pub(crate) fn start_with(arguments: &[&str], state: &str, environment: &[(&str, &str)]) -> Terminal {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let size = Winsize { ws_row: 40, ws_col: 120, ws_xpixel: 0, ws_ypixel: 0 };
        tcsetwinsize(&master, size).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let end = File::options().read(true).write(true).open(name).unwrap();
        let stdio = || Stdio::from(end.try_clone().unwrap());
        // It makes this terminal the program's own, so that Ctrl-C reaches it.
        let child = Command::new("setsid")
            .arg("--ctty")
            .arg(env!("CARGO_BIN_EXE_switchboard"))
            .args(arguments)
            .env("TERM", "xterm-256color")
            .env("XDG_STATE_HOME", state)
            .env_remove("NO_COLOR")
            .env_remove("RUST_LOG")
            .envs(environment.iter().copied())
            .stdin(stdio())
            .stdout(stdio())
            .stderr(stdio())
            .spawn()
            .unwrap();
        let screen = Arc::new(Screen::default());
        let keyboard = File::from(master);
        let (reader, shared) = (keyboard.try_clone().unwrap(), Arc::clone(&screen));
        std::thread::spawn(move || watch(reader, &shared));
        Terminal { child, keyboard, screen, seen: 0 }
    }

    /// Types this.
    pub(crate) fn type_in(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).unwrap();
    }

    /// Waits until this is shown, after what was waited for before.
    pub(crate) fn until(&mut self, text: &str) {
        let deadline = Instant::now() + PATIENCE;
        let mut shown = self.screen.shown.lock().unwrap();
        loop {
            let plain = plain(&shown.text);
            if let Some(at) = plain[self.seen.min(plain.len())..].find(text) {
                self.seen += at + text.len();
                return;
            }
            let left = deadline.saturating_duration_since(Instant::now());
            assert!(!left.is_zero() && !shown.is_over, "no {text:?} after {}\n{plain}", self.seen);
            shown = self.screen.changed.wait_timeout(shown, left).unwrap().0;
        }
    }

    /// Types the last line, and gives all that was shown since what was waited for before.
    pub(crate) fn type_and_see(mut self, text: &str) -> String {
        let seen = self.seen;
        self.type_in(text);
        self.child.wait().unwrap();
        plain(&self.screen.shown.lock().unwrap().text).split_off(seen)
    }

    /// Waits for the program's end, and gives all that was shown, with what moves the cursor.
    pub(crate) fn shown_at_end(mut self) -> String {
        self.child.wait().unwrap();
        let mut shown = self.screen.shown.lock().unwrap();
        while !shown.is_over {
            shown = self.screen.changed.wait_timeout(shown, PATIENCE).unwrap().0;
        }
        String::from_utf8_lossy(&shown.text).into_owned()
    }

    /// Sends the program a signal by its name, such as `TERM`.
    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &id]).status().unwrap().success());
    }

    /// Whether keys go to the program at once and are not shown.
    pub(crate) fn is_raw(&self) -> bool {
        let modes = tcgetattr(&self.keyboard).unwrap().local_modes;
        !modes.intersects(LocalModes::ICANON | LocalModes::ECHO)
    }

    /// Waits for the program's end.
    pub(crate) fn end(&mut self) {
        self.child.wait().unwrap();
    }

    /// Waits for the program's end, and gives its code.
    pub(crate) fn wait(mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What was shown, without what moves the cursor or colours the text.
fn plain(text: &[u8]) -> String {
    anstream::adapter::strip_str(&String::from_utf8_lossy(text)).to_string()
}

/// Takes what is shown, and answers when the program asks where the cursor is.
fn watch(mut terminal: File, screen: &Screen) {
    const QUESTION: &[u8] = b"\x1b[6n";
    let mut chunk = [0; 4096];
    let mut answered = 0;
    loop {
        let count = terminal.read(&mut chunk).unwrap_or(0);
        let mut shown = screen.shown.lock().unwrap();
        shown.text.extend_from_slice(&chunk[..count]);
        shown.is_over = count == 0;
        let asked = shown.text.windows(QUESTION.len()).filter(|window| *window == QUESTION).count();
        screen.changed.notify_all();
        drop(shown);
        for _ in answered..asked {
            let _ = terminal.write_all(b"\x1b[1;1R");
        }
        answered = asked;
        if count == 0 {
            return;
        }
    }
}
