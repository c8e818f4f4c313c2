//! Steps: what a command is made of, and the loop that runs them one after the other.

use std::fmt;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::options::Options;
use crate::summary;

/// One named thing to verify.
#[derive(Clone, Copy)]
pub(crate) struct Step {
    /// The name, as given to `--only` and `--skip`.
    pub(crate) name: &'static str,
    /// One line on what the step verifies.
    pub(crate) about: &'static str,
    /// Runs the step, printing as it goes.
    pub(crate) run: fn() -> Result<Done, Failure>,
}

/// How a step ended when nothing was wrong.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Done {
    /// Everything the step looks at is as it should be.
    Passed,
    /// There was nothing to look at, for the reason given.
    Skipped(String),
}

/// What went wrong, and what a person does about it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    what: String,
    advice: String,
}

impl Failure {
    /// A failure: what happened (with the exact command, if one failed) and what to do.
    pub(crate) fn new(what: impl Into<String>, advice: impl Into<String>) -> Self {
        Self { what: what.into(), advice: advice.into() }
    }

    /// Both failures as one. Advice that is the same is given once.
    fn and(self, next: Self) -> Self {
        let join = |first: String, next: &str| format!("{first}\n  and {next}");
        let advice = if self.advice == next.advice { next.advice } else { join(self.advice, &next.advice) };
        Self { what: join(self.what, &next.what), advice }
    }

    /// The same failure with advice that fits the step better.
    pub(crate) fn advise(self, advice: impl Into<String>) -> Self {
        Self { advice: advice.into(), ..self }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n  to do: {}", self.what, self.advice)
    }
}

/// A step that ran, how it ended and how long it took.
pub(crate) struct Record {
    pub(crate) name: &'static str,
    pub(crate) result: Result<Done, Failure>,
    pub(crate) took: Duration,
}

/// Runs the selected steps and prints the summary. Goes on after a failed step unless told otherwise.
/// Returns whether all of them were in order.
pub(crate) fn run(steps: &[Step], options: &Options) -> Result<bool, Failure> {
    let names: Vec<_> = steps.iter().map(|step| step.name).collect();
    options.verify(&names)?;
    if options.list {
        for step in steps {
            println!("{:<14}{}", step.name, step.about);
        }
        return Ok(true);
    }
    let mut records = Vec::new();
    for step in steps.iter().filter(|step| options.selects(step.name)) {
        let record = run_one(step);
        let failed = record.result.is_err();
        records.push(record);
        if failed && options.fail_fast {
            break;
        }
    }
    print!("{}", summary::render(&records));
    Ok(records.iter().all(|record| record.result.is_ok()))
}

/// Runs all parts of a step, those after a failed one too, so that one run shows everything.
pub(crate) fn all(parts: impl Iterator<Item = Result<(), Failure>>) -> Result<Done, Failure> {
    let failures = parts.filter_map(Result::err).inspect(|failure| println!("  {failure}"));
    failures.reduce(Failure::and).map_or(Ok(Done::Passed), Err)
}

/// The same with as many parts at a time as there are cores.
pub(crate) fn all_at_once<T: Sync>(
    parts: &[T],
    run: impl Fn(&T) -> Result<(), Failure> + Sync,
) -> Result<Done, Failure> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let (next, results) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..cores {
            scope.spawn(|| {
                while let Some(part) = parts.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let result = run(part);
                    results.lock().expect("no part panics").push(result);
                }
            });
        }
    });
    all(results.into_inner().expect("no part panics").into_iter())
}

fn run_one(step: &Step) -> Record {
    println!("==> {}: {}", step.name, step.about);
    let start = Instant::now();
    let result = (step.run)();
    let took = start.elapsed();
    let time = summary::seconds(took);
    match &result {
        Ok(Done::Passed) => println!("==> {} passed in {time}\n", step.name),
        Ok(Done::Skipped(why)) => println!("==> {} skipped: {why}\n", step.name),
        Err(failure) => println!("==> {} failed in {time}: {failure}\n", step.name),
    }
    Record { name: step.name, result, took }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_goes_on_after_a_failed_part_and_names_all_that_failed() {
        let mut ran = Vec::new();
        let parts = [1, 2, 3].into_iter().map(|part| {
            ran.push(part);
            if part == 2 { Ok(()) } else { Err(Failure::new(format!("part {part}"), "mend it")) }
        });
        let failure = all(parts).unwrap_err();
        assert_eq!(failure, Failure::new("part 1\n  and part 3", "mend it"));
        assert_eq!(ran, [1, 2, 3]);
    }

    #[test]
    fn every_part_runs_once_when_several_run_at_once() {
        let ran = Mutex::new(Vec::new());
        let run = |part: &u32| {
            ran.lock().unwrap().push(*part);
            if *part == 7 { Err(Failure::new("part 7", "mend it")) } else { Ok(()) }
        };
        let parts: Vec<u32> = (0..20).collect();
        assert_eq!(all_at_once(&parts, run), Err(Failure::new("part 7", "mend it")));
        let mut ran = ran.into_inner().unwrap();
        ran.sort_unstable();
        assert_eq!(ran, parts);
    }

    #[test]
    fn a_step_without_failed_parts_passes() {
        assert_eq!(all([Ok(()), Ok(())].into_iter()), Ok(Done::Passed));
    }
}
