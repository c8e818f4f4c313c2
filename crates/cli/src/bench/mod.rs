//! `switchboard bench`: calls a method repeatedly, and measures.
//!
//! ```text
//! plan → schedule: when calls are due ─┐
//! work → form: what is sent           ─┤→ worker (one a thread) → tally → report → page, svg, JSON, baseline
//! connecting → line: where it goes    ─┘
//! ```
//!
//! A worker is to cost less than any server. So it does not call with the client of the library: a message is written
//! once ([`form`]), and only its identifiers change; it goes over a [`line`] without tasks or channels between; and of
//! the bytes received, a [`carrier`] finds the end and [`answer`] sees that it is the answer to a message under way
//! ([`flights`]). [`crew`] is the threads, which share nothing meanwhile.

mod alarm;
mod answer;
mod baseline;
mod bells;
mod carrier;
mod connecting;
mod crew;
pub(crate) mod figures;
mod flights;
mod form;
mod http2;
mod line;
mod page;
mod plan;
mod progress;
mod report;
mod schedule;
mod svg;
mod tally;
mod timeline;
mod work;
mod worker;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use switchboard::{CallError, Json, Version};
use tokio::time::Instant;

use self::crew::Crew;
use self::plan::Plan;
use self::progress::Progress;
use self::report::Report;
use self::work::Work;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::signals::Signals;
use crate::target::{Target, is_http};
use crate::{log, output, params, units};

const EXAMPLES: &str = "\
Examples:
  switchboard bench http://127.0.0.1:8000 math/add a=2 b=3
  switchboard bench ws://127.0.0.1:8000 math/add 2 3 --connections 4 --depth 32
  switchboard bench tcp://127.0.0.1:4000 echo hello --rate 20000 --duration 30s --warm-up 2s
  switchboard bench http://127.0.0.1:8000 math/add 2 3 --count 100000 --batch 50
  switchboard bench http://127.0.0.1:8000 math/add 2 3 --svg latency.svg --json > before.json
  switchboard bench http://127.0.0.1:8000 math/add 2 3 --baseline before.json";

const LONG: &str = "\
With `--rate`, calls are scheduled at fixed times, whatever the server does, and latency counts from the scheduled time. If the \
server stalls, the calls scheduled meanwhile show it. Without `--rate`, each slot calls again as soon as it has its answer, and \
latency counts from sending.

A run stops early if every call fails during its first second; `--keep-going` runs it to the end. Ctrl-C stops a run and shows \
what was measured so far. On a terminal the result is a page with plots, in a pipe it is JSON.";

/// Calls a method repeatedly, and measures throughput and latency.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
)]
pub(crate) struct Bench {
    #[command(flatten)]
    target: Target,
    /// Method to call, such as math/add.
    method: String,
    /// Parameters, as for `switchboard call`.
    #[arg(allow_negative_numbers = true)]
    params: Vec<String>,
    /// Number of connections.
    #[arg(long, short, value_name = "COUNT", default_value = "10", value_parser = units::count)]
    connections: usize,
    /// Calls, or batches, in flight per connection. The default is 1; with `--rate` it is 100, or 10 over HTTP/1.1, where each
    /// call in flight needs its own socket.
    #[arg(long, short, value_name = "COUNT", value_parser = units::count)]
    depth: Option<usize>,
    /// Calls per second, scheduled at fixed times. The default is as many as possible.
    #[arg(long, short, value_name = "CALLS", value_parser = rate)]
    rate: Option<f64>,
    /// How long to measure. The default is 10s, unless `--count` is given. Answers that arrive more than a second after the end
    /// do not count.
    #[arg(long, short = 't', value_name = "DURATION", value_parser = units::duration)]
    duration: Option<Duration>,
    /// Number of calls to measure.
    #[arg(long, short = 'n', value_name = "CALLS", value_parser = units::count)]
    count: Option<usize>,
    /// How long to call before measuring begins.
    #[arg(long, value_name = "DURATION", value_parser = units::duration)]
    warm_up: Option<Duration>,
    /// Calls per batch.
    #[arg(long, value_name = "CALLS", default_value = "1", value_parser = units::count)]
    batch: usize,
    /// Use HTTP/2, where the calls in flight on a connection share one socket.
    #[arg(long, conflicts_with = "pipeline")]
    http2: bool,
    /// Pipeline HTTP/1.1 requests: send up to `--depth` of them on one socket without waiting for answers.
    #[arg(long)]
    pipeline: bool,
    /// Threads that send calls. The default is half the number of processors.
    #[arg(long, value_name = "COUNT", value_parser = units::count)]
    threads: Option<usize>,
    /// Do not stop early if every call fails.
    #[arg(long)]
    keep_going: bool,
    /// Write the plots to this SVG file.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    svg: Option<PathBuf>,
    /// Compare with the JSON output of an earlier run.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    baseline: Option<PathBuf>,
}

/// Calls that may be in flight at once, over all connections.
const MOST: usize = 1_000_000;
/// How long every call has to fail before a run stops early.
const HOPELESS: Duration = Duration::from_secs(1);

impl Bench {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        log::start(self.target.log_level());
        let version = if self.target.v1 { Version::V1 } else { Version::V2 };
        let work = Work { method: self.method.clone(), params: params::read(&self.params)?, version };
        let before = self.baseline.as_deref().map(baseline::read).transpose()?;
        let dial = self.target.dial_raw()?;
        let is_http = is_http(dial.url().scheme());
        let plan = self.plan(is_http)?;
        let connect = connecting::connect(dial, self.target.headers()?, self.http2, self.connect_time());
        let is_spread = is_http && !self.http2 && !self.pipeline;
        let spread = if is_spread { plan.spread() } else { plan.clone() };
        let tap = self.target.tap();
        let cannot = |error| Failure::new(Exit::Unreachable, format!("cannot start: {error}"));
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(cannot)?;
        let (report, outcome) = runtime.block_on(async {
            let signals = Signals::listen().map_err(cannot)?;
            let crew = Crew::hire(&spread, &work, &connect, tap.as_ref()).map_err(cannot)?;
            self.measure(&plan, crew, signals).await
        })?;
        // Without any answer, the reason is all there is to say.
        if outcome.is_ok() || report.latency.is_some() {
            self.show(&report, before.as_ref())?;
        }
        outcome.map_err(|error| self.target.explain(error))?;
        self.judge(&report)
    }

    fn plan(&self, is_http: bool) -> Result<Plan, Failure> {
        if !is_http && (self.http2 || self.pipeline) {
            let option = if self.http2 { "--http2" } else { "--pipeline" };
            return Err(Failure::usage(format!("`{option}` is for http and https URLs")));
        }
        let has_own_sockets = is_http && !self.http2 && !self.pipeline;
        let depth = self.depth.unwrap_or(match self.rate {
            None => 1,
            Some(_) if has_own_sockets => 10,
            Some(_) => 100,
        });
        if self.connections.saturating_mul(depth).saturating_mul(self.batch) > MOST {
            let what = format!("more than {MOST} calls would be in flight at once");
            return Err(Failure::usage(what).advise("lower `--connections`, `--depth` or `--batch`"));
        }
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let seconds = self.duration.or_else(|| self.count.is_none().then_some(Duration::from_secs(10)));
        Ok(Plan {
            connections: self.connections,
            depth,
            threads: self
                .threads
                .unwrap_or(processors.div_ceil(2))
                .min(self.connections * if has_own_sockets { depth } else { 1 }),
            batch: self.batch,
            rate: self.rate,
            seconds: seconds.as_ref().map(Duration::as_secs_f64),
            count: self.count.map(|count| count as u64),
            warm_up: self.warm_up.unwrap_or_default().as_secs_f64(),
            http2: self.http2,
            pipeline: self.pipeline,
            timeout: self.target.timeout.as_secs_f64(),
        })
    }

    /// How long a connection may take to be made: no longer than what is measured then.
    fn connect_time(&self) -> Duration {
        let run = self.duration.map_or(Duration::MAX, |time| time.max(Duration::from_secs(1)));
        self.target.timeout.min(run)
    }

    /// Lets the crew work until it is done, a signal arrives, or it is clear that every call fails.
    async fn measure(
        &self,
        plan: &Plan,
        mut crew: Crew,
        mut signals: Signals,
    ) -> Result<(Report, Result<(), CallError>), Failure> {
        let interrupted = || Failure::new(Exit::Interrupted, "interrupted before any call was measured");
        let start = tokio::select! {
            start = crew.begin() => start.map_err(|error| self.target.explain(error))?,
            () = signals.next() => return Err(interrupted()),
        };
        let mut progress = Progress::new(plan, start);
        let mut step = tokio::time::interval(progress::STEP);
        let (mut is_interrupted, mut is_hopeless) = (false, false);
        let watch = crew.watch();
        let finish = crew.finish();
        tokio::pin!(finish);
        let (tally, outcome) = loop {
            tokio::select! {
                finished = &mut finish => break finished,
                _ = step.tick() => {
                    let (now, (done, errors)) = (Instant::now(), watch.progress());
                    progress.show(now, (done, errors));
                    let is_late = now >= start + plan.warm_up() + HOPELESS;
                    if is_late && done > 0 && done == errors && !self.keep_going {
                        is_hopeless = true;
                        watch.stop();
                    }
                }
                () = signals.next(), if !is_interrupted => {
                    is_interrupted = true;
                    watch.stop();
                }
            }
        };
        progress.finish();
        let mut report = Report::new(&self.target.url, &self.method, plan, &tally, is_interrupted);
        report.is_stopped_early = is_hopeless;
        Ok((report, outcome))
    }

    fn show(&self, report: &Report, before: Option<&Report>) -> Result<(), Failure> {
        if let Some(path) = &self.svg {
            std::fs::write(path, svg::of(report)).map_err(|error| {
                Failure::new(Exit::CannotWrite, format!("cannot write {}: {error}", path.display()))
            })?;
        }
        let compared = before.map(|before| baseline::compare(report, before)).unwrap_or_default();
        if self.target.format.is_for_people() {
            return output::page(&(page::of(report) + &compared)).map(|_| ());
        }
        output::note(&compared);
        let json = Json::encode_ref(report).expect("numbers, strings and lists are JSON");
        output::result(&json, self.target.format).map(|_| ())
    }

    /// A run in which no call succeeded is a failure.
    fn judge(&self, report: &Report) -> Result<(), Failure> {
        if report.results > 0 {
            return Ok(());
        }
        if report.is_interrupted {
            return Err(Failure::new(Exit::Interrupted, "interrupted before any call succeeded"));
        }
        let exit = match report.errors.by_kind.iter().max_by_key(|failed| failed.count) {
            _ if !report.errors.by_code.is_empty() => Exit::Rejected,
            None if report.under_way > 0 => return Err(unanswered(report)),
            Some(failed) if failed.kind == "timedOut" => Exit::TimedOut,
            Some(failed) if failed.kind == "badAnswer" => Exit::Protocol,
            _ => Exit::Unreachable,
        };
        let most = report.most_frequent_error().map(|what| format!(": {what}")).unwrap_or_default();
        let early = match report.is_stopped_early {
            true => "; the run stopped early; add `--keep-going` to finish it",
            false => "",
        };
        Err(Failure::new(exit, format!("no call succeeded{most}")).advise(report.remedy() + early))
    }
}

/// No call was answered, not even with an error, before the time was over.
fn unanswered(report: &Report) -> Failure {
    let what = format!("no call was answered; {} were still in flight at the end", report.under_way);
    Failure::new(Exit::TimedOut, what).advise("measure longer with `--duration`, such as `--duration 30s`")
}

/// Reads a number of calls per second.
fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate: &f64| rate.is_finite() && (0.001..=1e9).contains(rate));
    rate.ok_or_else(|| "not a rate; use calls per second, such as 5000 or 0.5".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_of_calls_per_second() {
        assert_eq!(rate("0.5"), Ok(0.5));
        for text in ["", "0", "-1", "nan", "inf", "1e12", "x"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }
}
