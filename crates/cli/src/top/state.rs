//! What the live view knows: the server's numbers over time, and how they are shown. It needs no terminal.

use std::collections::VecDeque;

use clap::ValueEnum;
use serde::Serialize;

use super::item::{EndedCall, Info, Row, Stats};
use super::upstreams::{Upstream, Upstreams};

/// Intervals that are kept for the graphs.
const HISTORY: usize = 600;
/// Calls that are kept.
pub(super) const CALLS: usize = 200;

/// What the rows of the table are about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub(super) enum By {
    /// The method called.
    #[default]
    Method,
    /// The transport, such as http.
    Transport,
    /// The caller.
    Who,
}

impl By {
    pub(super) fn name(self) -> &'static str {
        match self {
            By::Method => "method",
            By::Transport => "transport",
            By::Who => "caller",
        }
    }
}

/// The column that rows are sorted by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sort {
    #[default]
    Calls,
    Errors,
    P50,
    P90,
    P99,
    Name,
}

impl Sort {
    /// The next column, and the first one after the last.
    pub(super) fn next(self) -> Sort {
        match self {
            Sort::Calls => Sort::Errors,
            Sort::Errors => Sort::P50,
            Sort::P50 => Sort::P90,
            Sort::P90 => Sort::P99,
            Sort::P99 => Sort::Name,
            Sort::Name => Sort::Calls,
        }
    }
}

/// What keys do at the moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Mode {
    #[default]
    Normal,
    /// They are part of the filter.
    Filter,
    /// Any of them closes the help.
    Help,
}

/// What the admin listener is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) by: By,
    /// Which calls are listed.
    pub(super) calls: Calls,
}

/// Which calls are listed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Calls {
    /// Those that failed and those that took long.
    #[default]
    Notable,
    All,
    /// None at all.
    Nothing,
}

/// One interval in the graphs.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Interval {
    pub(super) calls: f64,
    pub(super) errors: f64,
    pub(super) p99_ms: Option<f64>,
    /// Calls in each latency bucket; empty without calls.
    pub(super) buckets: Vec<u64>,
}

/// What is known about the server.
#[derive(Clone, Debug, Default)]
pub(super) struct Known {
    pub(super) info: Info,
    /// Why there is no connection, if there is none.
    pub(super) lost: Option<String>,
    pub(super) latest: Option<Stats>,
    /// Oldest first.
    pub(super) history: VecDeque<Interval>,
    /// In the order in which they ended.
    pub(super) calls: VecDeque<EndedCall>,
    /// Calls that the server could not send in time.
    pub(super) missed: u64,
    /// The servers behind a gateway.
    pub(super) upstreams: Upstreams,
}

/// Everything that is drawn.
#[derive(Clone, Debug, Default)]
pub(super) struct State {
    live: Known,
    /// What is shown while the view is paused.
    paused: Option<Box<Known>>,
    pub(super) wanted: Wanted,
    pub(super) sort: Sort,
    /// Index of the selected row.
    selected: usize,
    /// Part of the names of the methods that are shown.
    pub(super) filter: String,
    pub(super) mode: Mode,
}

impl State {
    pub(super) fn new(wanted: Wanted) -> State {
        State { wanted, ..State::default() }
    }

    /// What is shown: the present, or the moment of the pause.
    pub(super) fn known(&self) -> &Known {
        self.paused.as_deref().unwrap_or(&self.live)
    }

    /// Why there is no connection now, even if the view is paused.
    pub(super) fn lost(&self) -> Option<&str> {
        self.live.lost.as_deref()
    }

    pub(super) fn is_paused(&self) -> bool {
        self.paused.is_some()
    }

    /// The server is there and describes itself.
    pub(super) fn describe(&mut self, info: Info) {
        // A server that was restarted counts its calls from 1 again.
        if info.started_at != self.live.info.started_at {
            self.live.calls.clear();
        }
        self.live.info = info;
        self.live.lost = None;
    }

    /// The connection is lost.
    pub(super) fn lose(&mut self, reason: String) {
        self.live.lost = Some(reason);
    }

    /// An interval is over.
    pub(super) fn add(&mut self, stats: Stats) {
        let known = &mut self.live;
        if known.history.len() == HISTORY {
            known.history.pop_front();
        }
        known.history.push_back(Interval {
            calls: stats.rate(stats.calls),
            errors: stats.rate(stats.failed()),
            p99_ms: stats.latency.p99_ms,
            buckets: stats.latency.buckets.clone(),
        });
        known.latest = Some(stats);
        known.upstreams.count();
    }

    /// The upstreams of the gateway have changed.
    pub(super) fn list(&mut self, upstreams: Vec<Upstream>) {
        self.live.upstreams.list(upstreams);
    }

    /// A call has ended. The same call may arrive twice: as failed, and as slow.
    pub(super) fn end(&mut self, call: EndedCall) {
        let calls = &mut self.live.calls;
        let at = calls.partition_point(|known| known.id < call.id);
        if calls.get(at).is_none_or(|known| known.id != call.id) {
            calls.insert(at, call);
        }
        if calls.len() > CALLS {
            calls.pop_front();
        }
    }

    /// The server could not send so many calls in time.
    pub(super) fn miss(&mut self, count: u64) {
        self.live.missed = self.live.missed.saturating_add(count);
    }

    /// Freezes what is shown, or shows the present again.
    pub(super) fn pause(&mut self) {
        self.paused = match self.paused {
            None => Some(Box::new(self.live.clone())),
            Some(_) => None,
        };
    }

    /// Shows other rows. They arrive with the next interval.
    pub(super) fn show_by(&mut self, by: By) {
        if self.wanted.by == by {
            return;
        }
        (self.wanted.by, self.selected, self.paused) = (by, 0, None);
        if let Some(latest) = &mut self.live.latest {
            latest.rows.clear();
        }
    }

    /// Lists all calls, or only failed and slow ones.
    pub(super) fn toggle_calls(&mut self) {
        self.wanted.calls = match self.wanted.calls {
            Calls::All => Calls::Notable,
            Calls::Notable | Calls::Nothing => Calls::All,
        };
        self.paused = None;
        self.live.calls.clear();
        self.live.missed = 0;
    }

    /// The rows of the table that match the filter, in their order.
    pub(super) fn rows(&self) -> Vec<&Row> {
        let rows = self.known().latest.iter().flat_map(|stats| &stats.rows);
        let is_shown = |row: &&Row| self.wanted.by != By::Method || self.matches(&row.name);
        let mut rows: Vec<&Row> = rows.filter(is_shown).collect();
        let time = |ms: Option<f64>| ms.unwrap_or(-1.0);
        // The sort is stable, and rows arrive busiest first.
        match self.sort {
            Sort::Calls => rows.sort_by_key(|row| std::cmp::Reverse(row.calls)),
            Sort::Errors => rows.sort_by_key(|row| std::cmp::Reverse(row.errors)),
            Sort::P50 => rows.sort_by(|one, other| time(other.p50_ms).total_cmp(&time(one.p50_ms))),
            Sort::P90 => rows.sort_by(|one, other| time(other.p90_ms).total_cmp(&time(one.p90_ms))),
            Sort::P99 => rows.sort_by(|one, other| time(other.p99_ms).total_cmp(&time(one.p99_ms))),
            Sort::Name => rows.sort_by(|one, other| one.name.cmp(&other.name)),
        }
        rows
    }

    /// The listed calls that match the filter, newest first.
    pub(super) fn calls(&self) -> impl Iterator<Item = &EndedCall> {
        self.known().calls.iter().rev().filter(|call| self.matches(&call.method))
    }

    /// The index of the selected row. There may be fewer rows than before.
    pub(super) fn selected(&self) -> usize {
        self.selected.min(self.rows().len().saturating_sub(1))
    }

    /// Selects a row so many further down, or up.
    pub(super) fn select(&mut self, step: isize) {
        let last = self.rows().len().saturating_sub(1);
        self.selected = self.selected().saturating_add_signed(step).min(last);
    }

    fn matches(&self, method: &str) -> bool {
        method.to_lowercase().contains(&self.filter.to_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &str, calls: u64, errors: u64, p99_ms: f64) -> Row {
        Row { name: name.into(), calls, errors, p99_ms: Some(p99_ms), ..Row::default() }
    }

    fn stats(rows: Vec<Row>) -> Stats {
        Stats { seconds: 2.0, calls: 10, rows, ..Stats::default() }
    }

    fn call(id: u64) -> EndedCall {
        EndedCall { id, method: "a/b".into(), ..EndedCall::default() }
    }

    fn ids(state: &State) -> Vec<u64> {
        state.calls().map(|call| call.id).collect()
    }

    fn names(state: &State) -> Vec<String> {
        state.rows().iter().map(|row| row.name.to_string()).collect()
    }

    #[test]
    fn counts_become_rates() {
        let mut state = State::default();
        state.add(stats(Vec::new()));
        assert_eq!(state.known().history[0].calls, 5.0);
    }

    #[test]
    fn the_history_has_an_end() {
        let mut state = State::default();
        (0..HISTORY + 5).for_each(|_| state.add(stats(Vec::new())));
        assert_eq!(state.known().history.len(), HISTORY);
        (0..CALLS as u64 + 5).for_each(|id| state.end(call(id)));
        assert_eq!(state.known().calls.len(), CALLS);
        assert_eq!(ids(&state)[0], CALLS as u64 + 4);
    }

    #[test]
    fn rows_are_sorted_by_each_column_in_turn() {
        let mut state = State::default();
        state.add(stats(vec![row("b", 9, 0, 5.0), row("a", 4, 3, 1.0), row("c", 1, 1, 7.0)]));
        let check = |state: &State, sort: Sort, expected: [&str; 3]| {
            assert_eq!((state.sort, names(state)), (sort, expected.map(str::to_owned).to_vec()));
        };
        check(&state, Sort::Calls, ["b", "a", "c"]);
        state.sort = state.sort.next();
        check(&state, Sort::Errors, ["a", "c", "b"]);
        state.sort = Sort::P99;
        check(&state, Sort::P99, ["c", "b", "a"]);
        state.sort = state.sort.next();
        check(&state, Sort::Name, ["a", "b", "c"]);
        assert_eq!(state.sort.next(), Sort::Calls);
    }

    #[test]
    fn the_filter_is_about_methods_only() {
        let mut state = State::default();
        state.add(stats(vec![row("math/add", 2, 0, 1.0), row("echo", 1, 0, 1.0)]));
        state.filter = "MATH".to_owned();
        assert_eq!(names(&state), ["math/add"]);
        state.show_by(By::Transport);
        state.add(stats(vec![row("http", 2, 0, 1.0)]));
        assert_eq!(names(&state), ["http"]);
        state.end(call(1));
        assert!(ids(&state).is_empty());
    }

    #[test]
    fn a_call_that_is_failed_and_slow_is_listed_once() {
        let mut state = State::default();
        [3, 1, 3, 2].into_iter().for_each(|id| state.end(call(id)));
        assert_eq!(ids(&state), [3, 2, 1]);
    }

    #[test]
    fn calls_before_a_restart_are_dropped() {
        let mut state = State::default();
        state.describe(Info { started_at: 1.0, ..Info::default() });
        state.end(call(7));
        state.lose("gone".to_owned());
        state.describe(Info { started_at: 1.0, ..Info::default() });
        assert_eq!((ids(&state), state.lost()), (vec![7], None));
        state.describe(Info { started_at: 2.0, ..Info::default() });
        assert!(ids(&state).is_empty());
    }

    #[test]
    fn a_paused_view_stands_still_while_numbers_arrive() {
        let mut state = State::default();
        state.end(call(1));
        state.pause();
        state.end(call(2));
        state.lose("gone".to_owned());
        assert_eq!((ids(&state), state.lost()), (vec![1], Some("gone")));
        state.pause();
        assert_eq!(ids(&state), [2, 1]);
    }

    #[test]
    fn the_selection_stays_within_the_rows() {
        let mut state = State::default();
        state.select(5);
        assert_eq!(state.selected(), 0);
        state.add(stats(vec![row("a", 2, 0, 1.0), row("b", 1, 0, 1.0)]));
        state.select(5);
        assert_eq!(state.selected(), 1);
        state.select(-9);
        assert_eq!(state.selected(), 0);
    }
}
