//! The live view: shows what happens until a key or a signal ends it.

use std::io;

use ratatui::crossterm::event::Event;
use tokio::sync::{mpsc, watch};

use super::draw::{Theme, draw};
use super::feed::{Feed, News, Sent, WAITING};
use super::input::{Next, press};
use super::item::{Info, Stats};
use super::state::{By, Calls, State, Wanted};
use super::terminal::{Screen, events};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::{Interrupt, Line};

/// Shows the view until it is ended.
pub(super) async fn show(
    feed: &Feed<'_>,
    line: Line,
    info: Info,
    by: By,
    mut interrupt: Interrupt,
) -> Result<(), Failure> {
    let mut state = State::new(Wanted { by, calls: Calls::Notable });
    state.describe(info);
    let (news, mut incoming) = mpsc::channel(WAITING);
    let (want, wanted) = watch::channel(state.wanted);
    let theme = Theme::new(anstream::AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never);
    let mut screen = Screen::open().map_err(|error| broken(&error))?;
    let mut keys = events().map_err(|error| broken(&error))?;
    let mut follow = Box::pin(feed.follow(line, wanted, &news));
    loop {
        if !screen.is_open() {
            // The panic was reported.
            return Err(Failure::Shown(Exit::CannotWrite, String::new()));
        }
        let drawn = screen.terminal().draw(|frame| draw(&state, &theme, frame.area(), frame.buffer_mut()));
        drawn.map_err(|error| broken(&error))?;
        tokio::select! {
            Some(new) = incoming.recv() => {
                take(&mut state, new);
                // Many calls may have ended at once.
                while let Ok(new) = incoming.try_recv() {
                    take(&mut state, new);
                }
            }
            event = keys.recv() => match event {
                Some(Ok(Event::Key(key))) => match press(&mut state, key) {
                    Next::Continue => {
                        want.send_if_modified(|old| std::mem::replace(old, state.wanted) != state.wanted);
                    }
                    Next::Quit => return Ok(()),
                },
                // A change of size is drawn like any other.
                Some(Ok(_)) => {}
                Some(Err(error)) => return Err(broken(&error)),
                None => return Err(broken(&io::ErrorKind::UnexpectedEof.into())),
            },
            () = &mut follow => return Ok(()),
            _ = &mut interrupt => return Ok(()),
        }
    }
}

/// Adds what happened to the state, unless it answers an earlier question.
fn take(state: &mut State, (wanted, new): Sent) {
    match new {
        News::Info(info) => state.describe(info),
        News::Stats(json) => {
            // A listener of another version may say something else.
            if let Ok(mut stats) = json.decode::<Stats>() {
                if wanted.by != state.wanted.by {
                    stats.rows.clear();
                }
                state.add(stats);
            }
        }
        News::Call(_) | News::Missed(_) if wanted.calls != state.wanted.calls => {}
        News::Call(call) => state.end(call),
        News::Missed(count) => state.miss(count),
        News::Upstreams(upstreams) => state.list(upstreams),
        News::Lost(reason) => state.lose(reason),
    }
}

fn broken(error: &io::Error) -> Failure {
    Failure::new(Exit::CannotWrite, format!("cannot use the terminal: {error}"))
        .advise("for numbers without the view, use `--once` or `--json`")
}
