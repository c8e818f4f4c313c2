//! The screen: text goes above the prompt while there is one, and to the cursor otherwise.

use std::io::Write;
use std::sync::mpsc::{SyncSender, TrySendError};
use std::sync::{Arc, Mutex, PoisonError};

use anstream::ColorChoice;
use reedline::ExternalPrinter;

use crate::visible::harmless;

/// The screen, shared by all who have something to say.
#[derive(Clone)]
pub(crate) struct Screen(Arc<Mutex<ScreenState>>);

struct ScreenState {
    /// Above the prompt.
    above: SyncSender<String>,
    is_prompting: bool,
    /// Messages that came faster than they could be shown.
    lost: usize,
    has_colours: bool,
}

/// Messages that may wait to be shown above the prompt. Together they are no longer than 8 MiB.
const WAITING: usize = 256;
/// The longest message above the prompt, in bytes. Of a longer one the beginning is shown.
const LONGEST: usize = 32 << 10;

impl Screen {
    /// The screen, and what brings messages above the prompt.
    pub(crate) fn new() -> (Screen, ExternalPrinter<String>) {
        let printer = ExternalPrinter::new(WAITING);
        let has_colours = anstream::AutoStream::choice(&std::io::stdout()) != ColorChoice::Never;
        let state = ScreenState { above: printer.sender(), is_prompting: false, lost: 0, has_colours };
        (Screen(Arc::new(Mutex::new(state))), printer)
    }

    /// Whether colours are seen here.
    pub(crate) fn has_colours(&self) -> bool {
        self.locked(|state| state.has_colours)
    }

    /// Shows a text of whole lines.
    pub(crate) fn say(&self, text: &str) {
        self.locked(|state| {
            let text = harmless(text);
            let shown = if state.has_colours {
                text.into_owned()
            } else {
                anstream::adapter::strip_str(&text).to_string()
            };
            if !state.is_prompting {
                let mut stdout = std::io::stdout().lock();
                // A terminal that is gone has no reader.
                let _ = stdout.write_all(shown.as_bytes()).and_then(|()| stdout.write_all(b"\n"));
                let _ = stdout.flush();
                return;
            }
            if state.lost > 0 {
                let told = format!("({} messages arrived too fast to be shown)", state.lost);
                state.lost = if state.above.try_send(told).is_ok() { 0 } else { state.lost };
            }
            if let Err(TrySendError::Full(_)) = state.above.try_send(cut(shown)) {
                state.lost += 1;
            }
        });
    }

    /// Marks the beginning or the end of typing.
    pub(crate) fn prompting(&self, is_prompting: bool) {
        self.locked(|state| state.is_prompting = is_prompting);
    }

    fn locked<T>(&self, act: impl FnOnce(&mut ScreenState) -> T) -> T {
        act(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// A message that is short enough to wait.
fn cut(text: String) -> String {
    if text.len() <= LONGEST {
        return text;
    }
    // Colours could be cut in their middle.
    let plain = anstream::adapter::strip_str(&text).to_string();
    let kept = &plain[..plain.floor_char_boundary(LONGEST)];
    format!("{kept}… ({} more bytes)", plain.len() - kept.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_too_fast_is_counted_and_told() {
        let (screen, printer) = Screen::new();
        screen.prompting(true);
        for number in 0..WAITING + 3 {
            screen.say(&number.to_string());
        }
        assert_eq!(printer.get_line().unwrap(), "0");
        assert_eq!(printer.get_line().unwrap(), "1");
        screen.say("later");
        let rest: Vec<String> = std::iter::from_fn(|| printer.get_line()).collect();
        assert_eq!(rest.len(), WAITING);
        assert_eq!(rest[WAITING - 2..], ["(3 messages arrived too fast to be shown)", "later"]);
    }

    #[test]
    fn a_long_message_is_cut_above_the_prompt() {
        let (screen, printer) = Screen::new();
        screen.prompting(true);
        screen.say(&"é".repeat(LONGEST));
        let shown = printer.get_line().unwrap();
        assert_eq!(shown, format!("{}… ({LONGEST} more bytes)", "é".repeat(LONGEST / 2)));
    }
}
