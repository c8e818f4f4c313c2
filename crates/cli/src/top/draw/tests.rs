//! Screens of several sizes, as text.

use ratatui::Terminal;
use ratatui::backend::TestBackend;
use ratatui::buffer::Buffer;

use super::super::item::{EndedCall, Info, Latency, Row, Stats};
use super::super::state::{By, Calls, Mode, State, Wanted};
use super::super::upstreams::{Upstream, UpstreamNode};
use super::*;

/// A server that is busy.
fn busy() -> State {
    let mut state = State::new(Wanted { by: By::Method, calls: Calls::Notable });
    state.describe(Info {
        version: "1.2.3".into(),
        listeners: vec!["http://127.0.0.1:8000".into(), "tcp://127.0.0.1:4000".into()],
        buckets_ms: vec![1.0, 2.0, 4.0, 8.0],
        ..Info::default()
    });
    for calls in [0, 2, 4, 8] {
        state.add(interval(calls));
    }
    for (id, method, outcome, code) in [(1, "math/sqrt", "error", Some(-32001)), (2, "wait", "ok", None)] {
        state.end(EndedCall {
            id,
            t: 45_296_000.0,
            transport: "http".into(),
            who: Some("alice".into()),
            method: method.into(),
            outcome: outcome.into(),
            code,
            ms: 250.0,
            ..EndedCall::default()
        });
    }
    state
}

fn interval(calls: u64) -> Stats {
    let row = |name: &str, calls, errors| Row {
        name: name.into(),
        calls,
        errors,
        p50_ms: Some(0.5),
        p90_ms: Some(1.5),
        p99_ms: Some(7.0),
    };
    Stats {
        t: 11_520_000.0,
        seconds: 1.0,
        calls,
        errors: [("-32001".into(), calls / 4)].into(),
        in_flight: 3,
        sessions: [("http".into(), 1), ("ws".into(), 2)].into(),
        streams: 2,
        bytes_in: 1500,
        bytes_out: 4_200_000,
        latency: Latency {
            p50_ms: Some(0.5),
            p90_ms: Some(1.5),
            p99_ms: Some(calls as f64),
            buckets: vec![calls, calls / 2, 0, calls / 8, 0],
        },
        rows: vec![row("math/add", calls, 0), row("math/sqrt", calls / 4, calls / 4)],
        ..Stats::default()
    }
}

fn drawn(state: &State, theme: &Theme, width: u16, height: u16) -> Buffer {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    terminal.draw(|frame| draw(state, theme, frame.area(), frame.buffer_mut())).unwrap();
    terminal.backend().buffer().clone()
}

/// The screen as text.
fn screen(state: &State, width: u16, height: u16) -> String {
    let buffer = drawn(state, &Theme::new(false), width, height);
    let mut text = String::new();
    for line in buffer.content().chunks(usize::from(width)) {
        let line: String = line.iter().map(ratatui::buffer::Cell::symbol).collect();
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[test]
fn a_screen_of_24_lines_has_all_but_the_heat_map() {
    let expected = "\
switchboard 1.2.3  up 3h 12m  http://127.0.0.1:8000  tcp://127.0.0.1:4000
p50 500 µs  p90 1.50 ms  p99 8.00 ms  in flight 3  streams 2
sessions: http 1, ws 2  in 1.50 kB/s  out 4.20 MB/s
calls/s       8.00                                                           ▂▄█
errors/s      2.00                                                            ▄█
p99        8.00 ms                                                           ▂▄█
method                      ▼calls/s   errors/s        p50        p90        p99
math/add                        8.00          0     500 µs    1.50 ms    7.00 ms
math/sqrt                       2.00       2.00     500 µs    1.50 ms    7.00 ms






Latest calls that failed or took long
12:34:56 ok               250 ms wait                         http alice
12:34:56 error -32001     250 ms math/sqrt                    http alice





q quit  ? help  space pause  m t w rows  s sort  a all calls  f filter
";
    let shown = screen(&busy(), 80, 24);
    assert_eq!(shown, expected, "\n{shown}");
}

#[test]
fn a_tall_screen_has_a_heat_map() {
    let shown = screen(&busy(), 60, 30);
    let expected = "
     up to 8.00 ms                                         ▒
     up to 4.00 ms
     up to 2.00 ms                                       ▒▓▓
     up to 1.00 ms                                       ▓▓█
";
    assert!(shown.contains(expected), "\n{shown}");
}

#[test]
fn a_small_screen_has_what_matters_most() {
    let expected = "\
switchboard 1.2.3  up 3h 12m
calls/s 8.00  errors/s 2.00  p50 500 µs
method              ▼calls/s   errors/s
math/add                8.00          0
q quit  ? help  space pause  m t w rows
";
    let shown = screen(&busy(), 39, 5);
    assert_eq!(shown, expected, "\n{shown}");
}

/// A busy gateway.
fn gateway() -> State {
    let mut state = busy();
    let node = |state: &str, calls, latency_ms| UpstreamNode { state: state.into(), calls, latency_ms };
    let upstreams = |calls| {
        let nodes = vec![node("up", 3, Some(1.0)), node("ejected", 1, Some(5.0)), node("drained", 0, None)];
        let math = Upstream {
            name: "math".into(),
            state: "degraded".into(),
            breaker: Some("half-open".into()),
            calls,
            errors: calls / 4,
            in_flight: 2,
            nodes,
        };
        let gone = Upstream { name: "gone\u{7}".into(), state: "down".into(), ..Upstream::default() };
        vec![math, gone]
    };
    for calls in [100, 108] {
        state.list(upstreams(calls));
        state.add(interval(8));
    }
    state
}

#[test]
fn the_upstreams_of_a_gateway_are_shown() {
    let expected = r"
upstream       state in flight   calls/s  errors/s   latency   ejected   breaker
math        degraded         2      8.00      2.00   2.00 ms    1 of 3 half-open
gone\u0007      down         0         0         0         -         -         -
";
    let shown = screen(&gateway(), 80, 24);
    assert!(shown.contains(expected), "\n{shown}");
    let narrow = screen(&gateway(), 30, 14);
    assert!(narrow.contains("math        degraded      8.00\n"), "\n{narrow}");
    assert!(!screen(&gateway(), 80, 13).contains("upstream"));
    assert!(!screen(&busy(), 80, 24).contains("upstream"));
}

#[test]
fn every_size_can_be_drawn() {
    let (mut help, waiting) = (busy(), State::default());
    help.mode = Mode::Help;
    for state in [&busy(), &help, &waiting, &gateway()] {
        for width in [1, 2, 8, 19, 20, 36, 47, 60, 72, 100] {
            for height in [1, 2, 3, 5, 9, 10, 15, 16, 24, 28, 50] {
                drawn(state, &Theme::new(true), width, height);
            }
        }
    }
}

#[test]
fn the_last_line_says_what_the_user_should_know() {
    let last = |state: &State| screen(state, 80, 24).lines().last().unwrap().to_owned();
    let mut state = busy();
    state.filter = "add".to_owned();
    assert_eq!(last(&state), "Only methods with: add  f changes, f Esc clears");
    state.pause();
    assert_eq!(last(&state), "Paused: press space to continue");
    state.lose("nothing is listening\u{7}".to_owned());
    assert_eq!(last(&state), r"Connection lost: nothing is listening\u0007; reconnecting");
    state.mode = Mode::Filter;
    assert_eq!(last(&state), "Methods with: add▏ Enter keeps, Esc clears");
}

#[test]
fn the_help_names_every_key() {
    let mut state = busy();
    state.mode = Mode::Help;
    let shown = screen(&state, 80, 24);
    assert!(shown.contains("q, Esc, Ctrl-C") && shown.contains("this help"), "{shown}");
}

#[test]
fn what_callers_chose_does_not_reach_the_terminal_as_it_is() {
    let mut state = busy();
    let mut stats = interval(1);
    stats.rows[0].name = "\u{1b}[2J\u{202e}".into();
    state.add(stats);
    let shown = screen(&state, 80, 24);
    assert!(shown.contains(r"\u001b[2J\u202e"), "{shown}");
    assert!(!shown.contains(['\u{1b}', '\u{202e}']), "{shown}");
}

#[test]
fn without_colours_no_cell_has_one() {
    let is_coloured = |theme: &Theme| {
        use ratatui::style::Color;
        let buffer = drawn(&busy(), theme, 80, 40);
        buffer.content().iter().any(|cell| cell.fg != Color::Reset || cell.bg != Color::Reset)
    };
    assert!(is_coloured(&Theme::new(true)) && !is_coloured(&Theme::new(false)));
}
