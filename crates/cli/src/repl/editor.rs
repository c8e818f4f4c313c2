//! The prompt: line editing, history, completion and colours, on its own thread.

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use reedline::{
    Color, ColumnarMenu, DefaultHinter, EditMode, Emacs, ExternalPrinter, FileBackedHistory, KeyCode,
    KeyModifiers, MenuBuilder, Prompt, PromptEditMode, PromptHistorySearch, Reedline, ReedlineEvent,
    ReedlineMenu, ReedlineRawEvent, Signal, ValidationResult, Validator, default_emacs_keybindings,
};
use tokio::sync::{mpsc, oneshot};

use super::completion::{Completion, Known};
use super::entry;
use super::highlight::Highlight;
use super::screen::Screen;

/// A text that was typed. The prompt returns when this is dropped.
pub(crate) struct Typed {
    pub(crate) text: String,
    _done: oneshot::Sender<()>,
}

/// Lines that are kept in the history.
const HISTORY: usize = 10_000;
const MENU: &str = "completion";
/// How soon a message shows above the prompt.
const LATENCY: Duration = Duration::from_millis(30);

/// Everything that a prompt needs.
pub(crate) struct Editor {
    pub(crate) name: String,
    pub(crate) history: Option<PathBuf>,
    pub(crate) known: Known,
    pub(crate) screen: Screen,
    pub(crate) printer: ExternalPrinter<String>,
}

impl Editor {
    /// Starts the prompt. Returns a channel with the texts that are typed, which ends at Ctrl-D.
    pub(crate) fn start(self) -> std::io::Result<(mpsc::Receiver<Typed>, JoinHandle<()>)> {
        let (sender, receiver) = mpsc::channel(1);
        let thread =
            std::thread::Builder::new().name("prompt".to_owned()).spawn(move || self.run(&sender))?;
        Ok((receiver, thread))
    }

    fn run(self, typed: &mpsc::Sender<Typed>) {
        let (screen, name) = (self.screen.clone(), self.name.clone());
        let is_found = Arc::new(AtomicBool::new(false));
        let mut editor = self.reedline(&is_found);
        let prompt = Name { name: &name, has_colours: screen.has_colours() };
        loop {
            screen.prompting(true);
            let mut signal = editor.read_line(&prompt);
            if let Ok(Signal::ExternalBreak(_)) = signal {
                // The search has put the line it found into the prompt; this runs it.
                editor = editor.with_immediately_accept(true);
                signal = editor.read_line(&prompt);
                editor = editor.with_immediately_accept(false);
            }
            is_found.store(false, Ordering::Relaxed);
            screen.prompting(false);
            match signal {
                Ok(Signal::Success(text)) => {
                    // So that the history is complete if this program is killed.
                    let _ = editor.sync_history();
                    let (done, is_done) = oneshot::channel();
                    if typed.blocking_send(Typed { text, _done: done }).is_err() {
                        break;
                    }
                    // An error says that it was dropped.
                    let _ = is_done.blocking_recv();
                    if typed.is_closed() {
                        break;
                    }
                }
                // It clears the line.
                Ok(Signal::CtrlC) => {}
                _ => break,
            }
        }
    }

    fn reedline(self, is_found: &Arc<AtomicBool>) -> Reedline {
        let mut keys = default_emacs_keybindings();
        let complete = vec![ReedlineEvent::Menu(MENU.to_owned()), ReedlineEvent::MenuNext];
        keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, ReedlineEvent::UntilFound(complete));
        keys.add_binding(KeyModifiers::SHIFT, KeyCode::BackTab, ReedlineEvent::MenuPrevious);
        let has_colours = self.screen.has_colours();
        let mut menu = ColumnarMenu::default().with_name(MENU).with_columns(3);
        if !has_colours {
            let (plain, chosen) = (Color::Default.normal(), Color::Default.reverse());
            menu =
                menu.with_text_style(plain).with_match_text_style(plain).with_description_text_style(plain);
            menu = menu.with_selected_text_style(chosen).with_selected_match_text_style(chosen);
        }
        let hint = if has_colours { Color::DarkGray.normal() } else { Color::Default.dimmed() };
        let history = match self.history {
            Some(file) => FileBackedHistory::with_file(HISTORY, file).unwrap_or_default(),
            None => FileBackedHistory::default(),
        };
        Reedline::create()
            .with_history(Box::new(history))
            .with_completer(Box::new(Completion::new(self.known.clone())))
            .with_quick_completions(true)
            .with_partial_completions(true)
            .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
            .with_edit_mode(Box::new(Keys {
                keys: Emacs::new(keys),
                is_searching: false,
                is_found: Arc::clone(is_found),
            }))
            .with_break_signal(Arc::clone(is_found))
            .with_highlighter(Box::new(Highlight::new(self.known, has_colours)))
            .with_hinter(Box::new(DefaultHinter::default().with_style(hint)))
            .with_validator(Box::new(Brackets))
            // Without colours the selection is reversed. Without this, the menu would write it in capitals, which changes names.
            .with_ansi_colors(true)
            .with_external_printer(self.printer)
            .with_poll_interval(LATENCY)
            .use_bracketed_paste(true)
    }
}

/// The keys of Emacs, except that Enter runs the line that a search has found, as in a shell. By itself the editor only puts
/// it into the prompt.
struct Keys {
    keys: Emacs,
    is_searching: bool,
    /// Interrupts the editor once it has taken the line over.
    is_found: Arc<AtomicBool>,
}

impl EditMode for Keys {
    fn parse_event(&mut self, event: ReedlineRawEvent) -> ReedlineEvent {
        let event = self.keys.parse_event(event);
        match event {
            ReedlineEvent::SearchHistory => self.is_searching = true,
            ReedlineEvent::Enter => {
                self.is_found.store(std::mem::take(&mut self.is_searching), Ordering::Relaxed);
            }
            ReedlineEvent::Esc | ReedlineEvent::CtrlC | ReedlineEvent::CtrlD => self.is_searching = false,
            _ => {}
        }
        event
    }

    fn edit_mode(&self) -> PromptEditMode {
        self.keys.edit_mode()
    }
}

/// A line goes on until its brackets are closed.
struct Brackets;

impl Validator for Brackets {
    fn validate(&self, line: &str) -> ValidationResult {
        match entry::is_complete(line) {
            true => ValidationResult::Complete,
            false => ValidationResult::Incomplete,
        }
    }
}

/// A prompt that names the server.
struct Name<'a> {
    name: &'a str,
    has_colours: bool,
}

impl Name<'_> {
    fn colour(&self, colour: Color) -> Color {
        if self.has_colours { colour } else { Color::Default }
    }
}

impl Prompt for Name<'_> {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        Cow::Borrowed(self.name)
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        Cow::Borrowed("")
    }

    fn render_prompt_indicator(&self, _: PromptEditMode) -> Cow<'_, str> {
        Cow::Borrowed("> ")
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        Cow::Borrowed("… ")
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        Cow::Owned(format!("(search {}) ", search.term))
    }

    fn get_prompt_color(&self) -> Color {
        self.colour(Color::LightGreen)
    }

    fn get_prompt_multiline_color(&self) -> Color {
        self.colour(Color::LightBlue)
    }

    fn get_prompt_right_color(&self) -> Color {
        self.colour(Color::LightMagenta)
    }

    fn get_indicator_color(&self) -> Color {
        self.colour(Color::LightCyan)
    }
}
