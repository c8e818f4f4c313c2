//! The end of a run as text: a table of steps and times, the failures once more, and the count.

use std::fmt::Write as _;
use std::time::Duration;

use crate::step::{Done, Record};

/// Renders the table, the failures and the last line, which is always `N passed, N failed`.
pub(crate) fn render(records: &[Record]) -> String {
    let mut text = String::new();
    for record in records {
        let state = match &record.result {
            Ok(Done::Passed) => "passed".to_owned(),
            Ok(Done::Skipped(why)) => format!("skipped: {why}"),
            Err(_) => "FAILED".to_owned(),
        };
        let _ = writeln!(text, "{:<14}{:>9}  {state}", record.name, seconds(record.took));
    }
    for record in records {
        if let Err(failure) = &record.result {
            let _ = writeln!(text, "\n{} failed: {failure}", record.name);
        }
    }
    let passed = records.iter().filter(|record| record.result == Ok(Done::Passed)).count();
    let failed = records.iter().filter(|record| record.result.is_err()).count();
    let _ = writeln!(text, "\n{passed} passed, {failed} failed");
    text
}

/// A duration with one decimal, as in `12.3 s`.
pub(crate) fn seconds(took: Duration) -> String {
    format!("{:.1} s", took.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::Failure;

    fn record(name: &'static str, result: Result<Done, Failure>) -> Record {
        Record { name, result, took: Duration::from_millis(1500) }
    }

    #[test]
    fn the_last_line_counts_passed_and_failed_steps() {
        let text = render(&[
            record("fmt", Ok(Done::Passed)),
            record("fuzz", Ok(Done::Skipped("no fuzz/".to_owned()))),
            record("tidy", Err(Failure::new("2 findings", "mend them"))),
        ]);
        assert_eq!(text.lines().last(), Some("1 passed, 1 failed"));
    }

    #[test]
    fn a_failure_is_repeated_with_what_to_do() {
        let text = render(&[record("tidy", Err(Failure::new("2 findings", "mend them")))]);
        assert!(text.contains("tidy failed: 2 findings\n  to do: mend them"), "{text}");
    }

    #[test]
    fn the_table_has_a_line_a_step_with_its_time() {
        let text = render(&[record("fmt", Ok(Done::Passed))]);
        assert_eq!(text.lines().next(), Some("fmt               1.5 s  passed"));
    }
}
