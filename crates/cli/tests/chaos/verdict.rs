//! Whether a record keeps all promises.

use std::collections::HashSet;

use super::history::{Effects, Executed, Kind, Operation, Outcome, Records, Seen, Submitted, Watched};

/// A broken promise.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Violation {
    /// A call that may be repeated was not answered.
    Lost(String),
    /// A call with a key had no answer in the end: no result, no error that is kept, and not that the answer was lost.
    Undecided(String),
    /// A call was executed more often than it may be.
    RanTwice(String, usize),
    /// Somebody else's answer.
    WrongAnswer(String),
    /// An answer without an execution.
    Invented(String),
    /// Callers were told that a call was not executed, and it was.
    RanUnsent(String),
    /// An error that nothing explains.
    Unexplained(String),
    /// More than one gateway accepted a signed message.
    AcceptedTwice(String),
    /// No gateway accepted a signed message, though all worked.
    NotAccepted(String),
    /// The same key became two jobs.
    TwoJobs(String),
    /// A job that was accepted was not done when everything worked again.
    NotDone(String),
    /// Items are missing, and no gap says how many.
    UntoldGap(String),
    /// An item arrived twice, or after a later one.
    Repeated(String),
    /// A subscription neither went on nor ended.
    Silent(String),
    /// An execution that nobody asked for.
    Unasked(String),
    /// A process crashed, or did not end when it was told to.
    Crashed(String),
}

/// How often the calls of a kind may be executed, and whether they must be answered in the end.
struct Rule {
    most: usize,
    must_be_answered: bool,
}

fn rule(kind: Kind) -> Rule {
    match kind {
        Kind::Safe => Rule { most: usize::MAX, must_be_answered: true },
        // If the worker or the gateway dies, nobody knows its outcome.
        Kind::Once | Kind::Keyed | Kind::Signed => Rule { most: 1, must_be_answered: false },
        Kind::Job | Kind::KeyedJob => Rule { most: usize::MAX, must_be_answered: false },
    }
}

/// All broken promises.
pub(crate) fn violations(records: &Records, executed: &Executed) -> Vec<Violation> {
    let mut found: Vec<_> =
        records.operations.iter().flat_map(|operation| of_call(operation, executed)).collect();
    found.extend(records.watched.iter().flat_map(of_watched));
    found.extend(records.jobs.iter().flat_map(|job| of_job(job, executed, &records.effects)));
    let calls = records.operations.iter().map(|operation| &*operation.secret);
    let asked: HashSet<_> = calls.chain(records.jobs.iter().map(|job| &*job.secret)).collect();
    let unasked = executed.keys().filter(|secret| !asked.contains(secret.as_str()));
    found.extend(unasked.map(|secret| Violation::Unasked(secret.clone())));
    found.extend(records.crashes.iter().cloned().map(Violation::Crashed));
    found
}

fn of_call(operation: &Operation, executed: &Executed) -> Vec<Violation> {
    let mut found = Vec::new();
    let (rule, text) = (rule(operation.kind), || format!("{operation:?}"));
    let count = executed.get(&operation.secret).copied().unwrap_or(0);
    let answers = operation.answers().count();
    if operation.answers().any(|answer| answer != operation.secret) {
        found.push(Violation::WrongAnswer(text()));
    }
    if count > rule.most {
        found.push(Violation::RanTwice(text(), count));
    }
    if answers == 0 && rule.must_be_answered {
        found.push(Violation::Lost(text()));
    }
    if operation.kind == Kind::Keyed && answers == 0 && !operation.is_lost() && !operation.is_kept() {
        found.push(Violation::Undecided(text()));
    }
    if answers > 0 && count == 0 {
        found.push(Violation::Invented(text()));
    }
    let outcomes = || operation.attempts.iter().map(|(_, outcome)| outcome);
    if count > 0 && outcomes().all(|outcome| matches!(outcome, Outcome::Unsent(_))) {
        found.push(Violation::RanUnsent(text()));
    }
    let is_refused = outcomes().any(|outcome| matches!(outcome, Outcome::Refused(_)));
    if operation.kind != Kind::Signed && is_refused {
        found.push(Violation::Unexplained(text()));
    }
    if operation.kind == Kind::Signed {
        if answers > 1 {
            found.push(Violation::AcceptedTwice(text()));
        }
        if answers == 0 && operation.is_calm {
            found.push(Violation::NotAccepted(text()));
        }
    }
    found
}

fn of_job(job: &Submitted, executed: &Executed, effects: &Effects) -> Vec<Violation> {
    let mut found = Vec::new();
    let text = || format!("{job:?}");
    let done_by = effects.get(&job.secret);
    let times = done_by.map_or(0, HashSet::len);
    if times > 1 {
        found.push(Violation::RanTwice(text(), times));
    }
    if job.ids.iter().collect::<HashSet<_>>().len() > 1 {
        found.push(Violation::TwoJobs(text()));
    }
    let Some(id) = job.ids.first() else { return found };
    if !executed.contains_key(&job.secret) {
        found.push(Violation::Lost(text()));
    }
    match &job.end {
        Some(end) if end.state == "done" => {
            if end.result.as_ref() != Some(&job.secret) {
                found.push(Violation::WrongAnswer(text()));
            }
            if !done_by.is_some_and(|ids| ids.contains(id)) {
                found.push(Violation::Invented(text()));
            }
        }
        _ => found.push(Violation::NotDone(text())),
    }
    found
}

fn of_watched(watched: &Watched) -> Vec<Violation> {
    let mut found = Vec::new();
    let (mut next, mut gap) = (0, Gap::None);
    for (at, seen) in watched.seen.iter().enumerate() {
        let text = || format!("{} at {at}: {:?}", watched.secret, around(&watched.seen, at));
        match seen {
            Seen::Item(secret, _) if *secret != watched.secret => found.push(Violation::WrongAnswer(text())),
            Seen::Item(_, number) => {
                if *number < next {
                    found.push(Violation::Repeated(text()));
                } else if !gap.explains(*number - next) {
                    found.push(Violation::UntoldGap(text()));
                }
                (next, gap) = (number + 1, Gap::None);
            }
            Seen::Gap(lost) => gap = gap.and(*lost),
            Seen::End(_) => {}
            Seen::Silence => found.push(Violation::Silent(text())),
        }
    }
    found
}

/// What was said about missing items.
#[derive(Clone, Copy)]
enum Gap {
    None,
    Counted(u64),
    Uncounted,
}

impl Gap {
    fn and(self, lost: Option<u64>) -> Gap {
        match (self, lost) {
            (_, None) | (Gap::Uncounted, _) => Gap::Uncounted,
            (Gap::None, Some(lost)) => Gap::Counted(lost),
            (Gap::Counted(before), Some(lost)) => Gap::Counted(before + lost),
        }
    }

    /// Whether so many items may be missing.
    fn explains(self, missing: u64) -> bool {
        match self {
            Gap::None => missing == 0,
            Gap::Counted(lost) => missing == lost,
            Gap::Uncounted => true,
        }
    }
}

fn around(seen: &[Seen], at: usize) -> &[Seen] {
    &seen[at.saturating_sub(3)..(at + 2).min(seen.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    use super::super::history::{ANSWER_LOST, End};

    const S: &str = "s";

    fn call(kind: Kind, outcomes: &[Outcome]) -> Operation {
        let attempts = outcomes.iter().map(|outcome| ("here", outcome.clone())).collect();
        Operation { kind, secret: S.to_owned(), attempts, is_calm: false }
    }

    fn answered(text: &str) -> Outcome {
        Outcome::Answered(text.to_owned())
    }

    fn unsent() -> Outcome {
        Outcome::Unsent("not connected".to_owned())
    }

    fn unknown() -> Outcome {
        Outcome::Unknown("timed out".to_owned())
    }

    fn lost() -> Outcome {
        Outcome::Unknown(format!("the call may have run, but {ANSWER_LOST}"))
    }

    /// An error of a gateway.
    fn stopped() -> Outcome {
        Outcome::Unknown("Rejected(-32006)".to_owned())
    }

    fn refused() -> Outcome {
        Outcome::Refused("-32601".to_owned())
    }

    /// The names of what is found in a history with this call, which was executed so often.
    fn names(operation: Operation, count: usize) -> Vec<String> {
        let records = Records { operations: vec![operation], ..Records::default() };
        let executed = if count > 0 { Executed::from([(S.to_owned(), count)]) } else { Executed::new() };
        let name = |violation: Violation| format!("{violation:?}").split('(').next().unwrap().to_owned();
        violations(&records, &executed).into_iter().map(name).collect()
    }

    #[test]
    fn a_good_history_has_no_violations() {
        let none: [&str; 0] = [];
        assert_eq!(names(call(Kind::Safe, &[unknown(), unsent(), answered(S)]), 2), none);
        assert_eq!(names(call(Kind::Once, &[unsent(), unsent(), answered(S)]), 1), none);
        assert_eq!(names(call(Kind::Once, &[unsent(), unknown()]), 1), none);
        assert_eq!(names(call(Kind::Once, &[unknown()]), 0), none);
        assert_eq!(names(call(Kind::Once, &[unsent()]), 0), none);
        assert_eq!(names(call(Kind::Keyed, &[unknown(), unsent(), answered(S), answered(S)]), 1), none);
        assert_eq!(names(call(Kind::Keyed, &[unknown(), lost()]), 1), none);
        assert_eq!(names(call(Kind::Keyed, &[unsent(), lost()]), 0), none);
        assert_eq!(names(call(Kind::Keyed, &[stopped(), stopped(), stopped()]), 1), none);
        assert_eq!(names(call(Kind::Signed, &[refused(), answered(S)]), 1), none);
        assert_eq!(names(call(Kind::Signed, &[refused(), unknown()]), 0), none);
    }

    #[test]
    fn each_kind_of_violation_of_a_call_is_found() {
        assert_eq!(names(call(Kind::Safe, &[unknown(), unsent()]), 1), ["Lost"]);
        assert_eq!(names(call(Kind::Safe, &[]), 0), ["Lost"]);
        assert_eq!(names(call(Kind::Safe, &[answered("t")]), 1), ["WrongAnswer"]);
        assert_eq!(names(call(Kind::Safe, &[answered(S)]), 0), ["Invented"]);
        assert_eq!(names(call(Kind::Once, &[unsent(), answered(S)]), 2), ["RanTwice"]);
        assert_eq!(names(call(Kind::Once, &[unknown()]), 2), ["RanTwice"]);
        assert_eq!(names(call(Kind::Once, &[unsent(), unsent()]), 1), ["RanUnsent"]);
        assert_eq!(names(call(Kind::Once, &[refused()]), 0), ["Unexplained"]);
        assert_eq!(names(call(Kind::Keyed, &[unknown(), answered(S)]), 2), ["RanTwice"]);
        assert_eq!(names(call(Kind::Keyed, &[answered(S), answered("t")]), 1), ["WrongAnswer"]);
        assert_eq!(names(call(Kind::Keyed, &[unknown(), unknown()]), 1), ["Undecided"]);
        assert_eq!(names(call(Kind::Keyed, &[lost(), unknown()]), 1), ["Undecided"]);
        assert_eq!(names(call(Kind::Keyed, &[unsent()]), 0), ["Undecided"]);
        assert_eq!(names(call(Kind::Keyed, &[unknown(), unknown(), unknown()]), 1), ["Undecided"]);
        assert_eq!(names(call(Kind::Keyed, &[stopped(), unsent(), stopped(), stopped()]), 1), ["Undecided"]);
        assert_eq!(names(call(Kind::Signed, &[answered(S), answered(S)]), 2), ["RanTwice", "AcceptedTwice"]);
        let calm = Operation { is_calm: true, ..call(Kind::Signed, &[refused(), refused()]) };
        assert_eq!(names(calm, 0), ["NotAccepted"]);
    }

    #[test]
    fn an_execution_that_nobody_asked_for_and_a_crash_are_found() {
        let records = Records { crashes: vec!["worker 1".to_owned()], ..Records::default() };
        let executed = Executed::from([(S.to_owned(), 1)]);
        let expected = [Violation::Unasked(S.to_owned()), Violation::Crashed("worker 1".to_owned())];
        assert_eq!(violations(&records, &executed), expected);
    }

    /// The names of what is found about a job that was accepted under these names, ended so, was executed so often, and took effect as these jobs.
    fn job(ids: &[&str], end: Option<(&str, &str)>, count: usize, effects: &[&str]) -> Vec<String> {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
        let end = end.map(|(state, text)| End { state: state.to_owned(), result: Some(text.to_owned()) });
        let job = Submitted { secret: S.to_owned(), ids: owned(ids), end };
        let effects = Effects::from([(S.to_owned(), owned(effects).into_iter().collect())]);
        let records = Records { jobs: vec![job], effects, ..Records::default() };
        let executed = if count > 0 { Executed::from([(S.to_owned(), count)]) } else { Executed::new() };
        let name = |violation: Violation| format!("{violation:?}").split('(').next().unwrap().to_owned();
        violations(&records, &executed).into_iter().map(name).collect()
    }

    #[test]
    fn a_job_that_was_accepted_is_executed_and_done_and_takes_effect_once() {
        let (none, done): ([&str; 0], _) = ([], Some(("done", S)));
        assert_eq!(job(&["a"], done, 1, &["a"]), none);
        assert_eq!(job(&["a", "a"], done, 3, &["a"]), none);
        assert_eq!(job(&[], None, 0, &[]), none);
        assert_eq!(job(&[], None, 1, &["a"]), none);
        assert_eq!(job(&["a"], None, 0, &[]), ["Lost", "NotDone"]);
        assert_eq!(job(&["a"], None, 1, &["a"]), ["NotDone"]);
        assert_eq!(job(&["a"], Some(("running", S)), 2, &[]), ["NotDone"]);
        assert_eq!(job(&["a"], Some(("dead", S)), 5, &[]), ["NotDone"]);
        assert_eq!(job(&["a"], Some(("done", "t")), 1, &["a"]), ["WrongAnswer"]);
        assert_eq!(job(&["a"], done, 1, &[]), ["Invented"]);
        assert_eq!(job(&["a", "b"], done, 2, &["a"]), ["TwoJobs"]);
        assert_eq!(job(&["a"], done, 2, &["a", "b"]), ["RanTwice"]);
        assert_eq!(job(&[], None, 2, &["a", "b"]), ["RanTwice"]);
    }

    /// The names of what is found in what a reader saw.
    fn seen(seen: &[Seen]) -> Vec<String> {
        let watched = Watched { secret: S.to_owned(), seen: seen.to_vec() };
        let name = |violation: Violation| format!("{violation:?}").split('(').next().unwrap().to_owned();
        of_watched(&watched).into_iter().map(name).collect()
    }

    #[test]
    fn items_are_consecutive_or_a_gap_says_how_many_are_missing() {
        let item = |number| Seen::Item(S.to_owned(), number);
        let (gap, end) = (|lost| Seen::Gap(Some(lost)), || Seen::End("lost".to_owned()));
        let none: [&str; 0] = [];
        assert_eq!(seen(&[item(0), item(1), gap(2), item(4), gap(1), gap(1), item(7), end()]), none);
        assert_eq!(seen(&[gap(3), item(3), Seen::Gap(None), item(9)]), none);
        assert_eq!(seen(&[item(0), item(2)]), ["UntoldGap"]);
        assert_eq!(seen(&[item(0), gap(1), item(3)]), ["UntoldGap"]);
        assert_eq!(seen(&[item(0), gap(3), item(2)]), ["UntoldGap"]);
        assert_eq!(seen(&[item(1)]), ["UntoldGap"]);
        assert_eq!(seen(&[item(0), item(0)]), ["Repeated"]);
        assert_eq!(seen(&[item(0), item(1), item(0), item(1)]), ["Repeated"]);
        assert_eq!(seen(&[Seen::Item("t".to_owned(), 0)]), ["WrongAnswer"]);
        assert_eq!(seen(&[item(0), Seen::Silence]), ["Silent"]);
    }
}
