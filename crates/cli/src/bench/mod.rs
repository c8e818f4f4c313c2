//! `switchboard bench`: calls a method over and over, and measures.
//!
//! ```text
//! plan → schedule: when calls are due ─┐
//! work → form: what is sent           ─┤→ worker (one a thread) → tally → report → page, svg, JSON, baseline
//! connecting → line: where it goes    ─┘
//! ```
//!
//! A worker is to cost less than any server. So it does not call with the client of the library: a message is written
//! once ([`form`]), and only its identifiers change; it goes over a [`line`] without tasks or channels between; and of
//! what comes, a [`carrier`] finds the end and [`answer`] sees that it is the answer to a message under way
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
use crate::{logs, output, params, units};

const EXAMPLES: &str = "\
Examples:
  switchboard bench http://127.0.0.1:8000 math/add a=2 b=3
  switchboard bench ws://127.0.0.1:8000 math/add 2 3 --connections 4 --depth 32
  switchboard bench tcp://127.0.0.1:4000 echo hello --rate 20000 --duration 30 --warm-up 2
  switchboard bench http://127.0.0.1:8000 math/add 2 3 --count 100000 --batch 50
  switchboard bench http://127.0.0.1:8000 math/add 2 3 --svg latency.svg --json > before.json
  switchboard bench http://127.0.0.1:8000 math/add 2 3 --baseline before.json";

const LONG: &str = "\
With `--rate`, calls are due at fixed times, whatever the server does, and latency counts from those times: when it \
stalls, the calls that were due meanwhile show it. Without, each place calls again as soon as it has its answer, and \
latency counts from sending. On a terminal the result is a page with plots, in a pipe JSON. Ctrl-C ends the run and \
shows what was measured.";

/// Calls a method over and over, and measures throughput and latency.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
)]
pub(crate) struct Bench {
    #[command(flatten)]
    target: Target,
    /// The method to call, such as math/add.
    method: String,
    /// The parameters, as for `switchboard call`.
    #[arg(allow_negative_numbers = true)]
    params: Vec<String>,
    /// Connections to call over.
    #[arg(long, short, value_name = "COUNT", default_value = "10", value_parser = units::count)]
    connections: usize,
    /// Calls, or batches, that may be under way on each connection: 1; with `--rate` 100, over HTTP/1.1 10, where each
    /// has a socket of its own.
    #[arg(long, short, value_name = "COUNT", value_parser = units::count)]
    depth: Option<usize>,
    /// Calls a second that are due, at fixed times. Without it: as many as possible.
    #[arg(long, short, value_name = "CALLS", value_parser = rate)]
    rate: Option<f64>,
    /// How long to measure: 10 s, unless `--count` is given.
    #[arg(long, short = 't', value_name = "SECONDS", value_parser = units::seconds)]
    duration: Option<Duration>,
    /// How many calls to measure.
    #[arg(long, short = 'n', value_name = "CALLS", value_parser = units::count)]
    count: Option<usize>,
    /// How long to call before measuring begins.
    #[arg(long, value_name = "SECONDS", value_parser = units::seconds)]
    warm_up: Option<Duration>,
    /// Calls in one batch.
    #[arg(long, value_name = "CALLS", default_value = "1", value_parser = units::count)]
    batch: usize,
    /// Speak HTTP/2: what is under way on a connection shares one socket.
    #[arg(long, conflicts_with = "pipeline")]
    http2: bool,
    /// Send requests of HTTP/1.1 on one socket without waiting for answers, as many as `--depth` says.
    #[arg(long)]
    pipeline: bool,
    /// Threads that call: one for every two processors.
    #[arg(long, value_name = "COUNT", value_parser = units::count)]
    threads: Option<usize>,
    /// Write the plots to this file as SVG.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    svg: Option<PathBuf>,
    /// Compare to the JSON of an earlier run.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    baseline: Option<PathBuf>,
}

/// Calls that may be under way at once, over all connections.
const MOST: usize = 1_000_000;

impl Bench {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        logs::start(self.target.log_level());
        let version = if self.target.v1 { Version::V1 } else { Version::V2 };
        let work = Work { method: self.method.clone(), params: params::read(&self.params)?, version };
        let before = self.baseline.as_deref().map(baseline::read).transpose()?;
        let dial = self.target.dial()?;
        let is_http = is_http(dial.url().scheme());
        let plan = self.plan(is_http)?;
        let connect = connecting::connect(dial, self.target.headers()?, self.http2, self.target.timeout);
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
        // Where nothing was answered, the reason says all.
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
            let what = format!("more than {MOST} calls would be under way at once");
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

    /// Lets the crew work until it is done or a signal comes.
    async fn measure(
        &self,
        plan: &Plan,
        mut crew: Crew,
        mut signals: Signals,
    ) -> Result<(Report, Result<(), CallError>), Failure> {
        let interrupted = || Failure::new(Exit::Interrupted, "interrupted before anything was measured");
        let start = tokio::select! {
            start = crew.begin() => start.map_err(|error| self.target.explain(error))?,
            () = signals.next() => return Err(interrupted()),
        };
        let mut progress = Progress::new(plan, start);
        let mut step = tokio::time::interval(progress::STEP);
        let mut is_interrupted = false;
        let watch = crew.watch();
        let finish = crew.finish();
        tokio::pin!(finish);
        let (tally, outcome) = loop {
            tokio::select! {
                finished = &mut finish => break finished,
                _ = step.tick() => progress.show(Instant::now(), watch.progress()),
                () = signals.next(), if !is_interrupted => {
                    is_interrupted = true;
                    watch.stop();
                }
            }
        };
        progress.finish();
        Ok((Report::new(&self.target.url, &self.method, plan, &tally, is_interrupted), outcome))
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

    /// A run in which nothing worked is a failure.
    fn judge(&self, report: &Report) -> Result<(), Failure> {
        if report.results > 0 {
            return Ok(());
        }
        if report.is_interrupted {
            return Err(Failure::new(Exit::Interrupted, "interrupted before any call gave a result"));
        }
        let exit = match report.errors.by_kind.iter().max_by_key(|failed| failed.count) {
            _ if !report.errors.by_code.is_empty() => Exit::Rejected,
            Some(failed) if failed.kind == "timedOut" => Exit::TimedOut,
            Some(failed) if failed.kind == "badAnswer" => Exit::Protocol,
            _ => Exit::Unreachable,
        };
        let most = report.most_frequent_error().map(|what| format!(": {what}")).unwrap_or_default();
        Err(Failure::new(exit, format!("no call gave a result{most}")).advise(report.remedy()))
    }
}

/// Reads a number of calls a second.
fn rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate: &f64| rate.is_finite() && (0.001..=1e9).contains(rate));
    rate.ok_or_else(|| "it is no rate; write calls a second, such as 5000 or 0.5".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_a_number_of_calls_a_second() {
        assert_eq!(rate("0.5"), Ok(0.5));
        for text in ["", "0", "-1", "nan", "inf", "1e12", "x"] {
            assert!(rate(text).is_err(), "{text}");
        }
    }
}
