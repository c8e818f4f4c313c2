//! The terminal while the view has it, and as it was before.

use std::io::{self, IsTerminal, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::Duration;

use ratatui::Terminal;
use ratatui::backend::CrosstermBackend;
use ratatui::crossterm::cursor::Show;
use ratatui::crossterm::event::{self, Event};
use ratatui::crossterm::execute;
use ratatui::crossterm::terminal::{
    EnterAlternateScreen, LeaveAlternateScreen, disable_raw_mode, enable_raw_mode,
};
use tokio::sync::mpsc;

use crate::output;

/// How often the thread that reads keys looks whether it is still needed.
const CHECK: Duration = Duration::from_millis(250);
/// Keys that may wait.
const KEYS: usize = 64;
/// Notes that are kept until the view is over; further ones are dropped.
const NOTES: usize = 100;

/// The terminal while it shows the view. Dropping it restores what was there before.
pub(super) struct Screen {
    terminal: Terminal<CrosstermBackend<io::Stdout>>,
    notes: Option<Arc<Notes>>,
}

impl Screen {
    pub(super) fn open() -> io::Result<Screen> {
        restore_on_panic();
        IS_OPEN.store(true, Ordering::SeqCst);
        let opened = enable_raw_mode()
            .and_then(|()| execute!(io::stdout(), EnterAlternateScreen))
            .and_then(|()| Terminal::new(CrosstermBackend::new(io::stdout())))
            .and_then(|mut terminal| terminal.hide_cursor().map(|()| terminal));
        match opened {
            Ok(terminal) => Ok(Screen { terminal, notes: io::stderr().is_terminal().then(Notes::take) }),
            Err(error) => {
                restore();
                Err(error)
            }
        }
    }

    /// Whether the view still has the terminal. After a panic in any thread it does not.
    pub(super) fn is_open(&self) -> bool {
        IS_OPEN.load(Ordering::SeqCst)
    }

    pub(super) fn terminal(&mut self) -> &mut Terminal<CrosstermBackend<io::Stdout>> {
        &mut self.terminal
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        restore();
        if let Some(notes) = &self.notes {
            notes.release();
        }
    }
}

/// Whether there is something to restore.
static IS_OPEN: AtomicBool = AtomicBool::new(false);

/// Makes the terminal what it was. What fails here cannot be helped.
fn restore() {
    if IS_OPEN.swap(false, Ordering::SeqCst) {
        let _ = disable_raw_mode();
        let _ = execute!(io::stdout(), LeaveAlternateScreen, Show);
    }
}

/// Restores the terminal before a panic is reported, so that the report can be read.
fn restore_on_panic() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let report = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |panic| {
            restore();
            report(panic);
        }));
    });
}

/// Keys and changes of size, from a thread that ends soon after they are no longer received.
pub(super) fn events() -> io::Result<mpsc::Receiver<io::Result<Event>>> {
    let (sender, events) = mpsc::channel(KEYS);
    std::thread::Builder::new().name("keys".to_owned()).spawn(move || {
        while !sender.is_closed() {
            let event = match event::poll(CHECK) {
                Ok(false) => continue,
                Ok(true) => event::read(),
                Err(error) => Err(error),
            };
            let is_over = event.is_err();
            if sender.blocking_send(event).is_err() || is_over {
                return;
            }
        }
    })?;
    Ok(events)
}

/// Warnings and logs, which would write over the view.
#[derive(Default)]
struct Notes {
    is_over: AtomicBool,
    held: Mutex<Vec<String>>,
}

impl Notes {
    /// Keeps notes from now on.
    fn take() -> Arc<Notes> {
        let notes = Arc::new(Notes::default());
        let shared = Arc::clone(&notes);
        output::note_elsewhere(move |text| shared.add(text));
        notes
    }

    fn add(&self, text: &str) {
        if self.is_over.load(Ordering::SeqCst) {
            return write(text);
        }
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if held.len() < NOTES {
            held.push(text.to_owned());
        }
    }

    /// Writes what was kept, and everything that follows at once.
    fn release(&self) {
        self.is_over.store(true, Ordering::SeqCst);
        let held = std::mem::take(&mut *self.held.lock().unwrap_or_else(PoisonError::into_inner));
        held.iter().for_each(|text| write(text));
    }
}

fn write(text: &str) {
    let _ = io::stderr().write_all(output::for_stderr(text).as_bytes());
}
