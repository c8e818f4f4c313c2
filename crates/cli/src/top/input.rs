//! What keys do.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::state::{By, Mode, State};

/// Rows that Page Up and Page Down move by.
const PAGE: isize = 10;
/// The longest filter, in characters.
const FILTER: usize = 100;

/// The keys and what they do, for the help.
pub(super) const KEYS: [(&str, &str); 11] = [
    ("q, Esc, Ctrl-C", "quit"),
    ("space", "pause, or continue"),
    ("m", "rows by method"),
    ("t", "rows by transport"),
    ("w", "rows by caller"),
    ("s", "sort by the next column"),
    ("↑ ↓, Page Up, Page Down", "move through the rows"),
    ("f, /", "show only methods whose name contains a text"),
    ("Enter", "show only the selected method"),
    ("a", "list all calls, or only failed and slow ones"),
    ("?", "this help"),
];

/// Whether the view goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    Continue,
    Quit,
}

/// Changes the state as a key says.
pub(super) fn press(state: &mut State, key: KeyEvent) -> Next {
    if key.kind == KeyEventKind::Release {
        return Next::Continue;
    }
    if key.modifiers.contains(KeyModifiers::CONTROL) {
        return if key.code == KeyCode::Char('c') { Next::Quit } else { Next::Continue };
    }
    match state.mode {
        Mode::Normal => return command(state, key.code),
        Mode::Filter => edit_filter(state, key.code),
        Mode::Help => state.mode = Mode::Normal,
    }
    Next::Continue
}

fn command(state: &mut State, key: KeyCode) -> Next {
    match key {
        KeyCode::Char('q') | KeyCode::Esc => return Next::Quit,
        KeyCode::Char(' ') => state.pause(),
        KeyCode::Char('m') => state.show_by(By::Method),
        KeyCode::Char('t') => state.show_by(By::Transport),
        KeyCode::Char('w') => state.show_by(By::Who),
        KeyCode::Char('s') => state.sort = state.sort.next(),
        KeyCode::Char('a') => state.toggle_calls(),
        KeyCode::Char('f' | '/') => state.mode = Mode::Filter,
        KeyCode::Char('?') => state.mode = Mode::Help,
        KeyCode::Up | KeyCode::Char('k') => state.select(-1),
        KeyCode::Down | KeyCode::Char('j') => state.select(1),
        KeyCode::PageUp => state.select(-PAGE),
        KeyCode::PageDown => state.select(PAGE),
        KeyCode::Home => state.select(isize::MIN),
        KeyCode::End => state.select(isize::MAX),
        KeyCode::Enter if state.wanted.by == By::Method => {
            let selected = state.rows().get(state.selected()).map(|row| row.name.to_string());
            state.filter = selected.unwrap_or_default();
        }
        _ => {}
    }
    Next::Continue
}

fn edit_filter(state: &mut State, key: KeyCode) {
    match key {
        KeyCode::Char(c) if state.filter.chars().count() < FILTER && !c.is_control() => state.filter.push(c),
        KeyCode::Backspace => _ = state.filter.pop(),
        KeyCode::Enter => state.mode = Mode::Normal,
        KeyCode::Esc => {
            state.filter.clear();
            state.mode = Mode::Normal;
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::super::item::{Row, Stats};
    use super::super::state::{Calls, Sort};
    use super::*;

    fn types(state: &mut State, keys: &str) -> Next {
        let mut next = Next::Continue;
        for c in keys.chars() {
            let code = match c {
                '\r' => KeyCode::Enter,
                '\u{1b}' => KeyCode::Esc,
                '\u{8}' => KeyCode::Backspace,
                c => KeyCode::Char(c),
            };
            next = press(state, code.into());
        }
        next
    }

    #[test]
    fn three_keys_quit() {
        for key in [
            KeyCode::Char('q').into(),
            KeyCode::Esc.into(),
            KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL),
        ] {
            assert_eq!(press(&mut State::default(), key), Next::Quit, "{key:?}");
        }
    }

    #[test]
    fn keys_choose_rows_order_and_calls() {
        let mut state = State::default();
        assert_eq!(types(&mut state, "tsa "), Next::Continue);
        assert_eq!((state.wanted.by, state.wanted.calls), (By::Transport, Calls::All));
        assert_eq!((state.sort, state.is_paused()), (Sort::Errors, true));
        types(&mut state, "w");
        assert_eq!((state.wanted.by, state.is_paused()), (By::Who, false));
        types(&mut state, "ma");
        assert_eq!((state.wanted.by, state.wanted.calls), (By::Method, Calls::Notable));
    }

    #[test]
    fn a_filter_is_typed_and_escape_clears_it() {
        let mut state = State::default();
        assert_eq!(types(&mut state, "fquit\u{8}\r"), Next::Continue);
        assert_eq!((state.filter.as_str(), state.mode), ("qui", Mode::Normal));
        assert_eq!(types(&mut state, "/x\u{1b}"), Next::Continue);
        assert_eq!((state.filter.as_str(), state.mode), ("", Mode::Normal));
        types(&mut state, "f");
        let quit = press(&mut state, KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL));
        assert_eq!(quit, Next::Quit);
    }

    #[test]
    fn enter_filters_by_the_selected_method() {
        let mut state = State::default();
        let row = |name: &str, calls| Row { name: name.into(), calls, ..Row::default() };
        state.add(Stats { rows: vec![row("a", 2), row("b", 1)], ..Stats::default() });
        types(&mut state, "j\r");
        assert_eq!(state.filter, "b");
    }

    #[test]
    fn any_key_closes_the_help() {
        let mut state = State::default();
        types(&mut state, "?");
        assert_eq!(state.mode, Mode::Help);
        assert_eq!(types(&mut state, "q"), Next::Continue);
        assert_eq!(state.mode, Mode::Normal);
    }
}
