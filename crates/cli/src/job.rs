//! `switchboard job`: submits jobs, and asks for their states and results.

use std::time::Duration;

use clap::{Args, Subcommand};
use serde::Serialize;
use switchboard::{Call, CallError, Code, ErrorObject, Json, Outcome};
use tokio::time::Instant;

use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::session::Line;
use crate::table::{Cell, Table, terminal_width};
use crate::target::Target;
use crate::visible::visible;
use crate::{output, params, units};

const EXAMPLES: &str = "\
Examples:
  switchboard job submit http://127.0.0.1:8000 math/add 2 3
  switchboard job submit http://127.0.0.1:8000 report/build year=2026 --job-key report-2026
  switchboard job submit http://127.0.0.1:8000 math/add 2 3 --wait 1m    # waits for the result
  JOB=$(switchboard job submit http://127.0.0.1:8000 math/add 2 3 | jq -r .job)
  switchboard job status http://127.0.0.1:8000 $JOB
  switchboard job result http://127.0.0.1:8000 $JOB --wait 1m
  switchboard job cancel http://127.0.0.1:8000 $JOB";

const LONG: &str = "\
A job is a call that the server stores before it runs, so that it survives crashes: start the server with `--jobs \
nats://HOST:PORT/SERVICE`. The same caller, method and `--job-key` are the same job, however often it is submitted.

`result` prints the result of the method, like `switchboard call`. If the job failed, its error is printed to stderr and the exit code is 1. If it is \
not done, the exit code is 4.";

/// How long the server is asked to wait at a time.
const ROUND: Duration = Duration::from_secs(20);

/// Submits a job, or asks for its state or result.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP))]
pub(crate) struct Job {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Submit(Submit),
    Status(Status),
    Result(ResultOf),
    Cancel(Cancel),
}

/// Submits a job, and prints its identifier and state.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP))]
struct Submit {
    #[command(flatten)]
    target: Target,
    /// Method to call, such as math/add.
    method: String,
    /// Parameters, as for `switchboard call`.
    #[arg(allow_negative_numbers = true)]
    params: Vec<String>,
    /// Submit the job with this key only once; further submissions return the same job. By default, each submission is a new job.
    #[arg(long, value_name = "KEY")]
    job_key: Option<String>,
    /// Wait this long for the result, and print that instead.
    #[arg(long, value_name = "DURATION", value_parser = units::duration)]
    wait: Option<Duration>,
}

/// Prints the state of a job.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP))]
struct Status {
    #[command(flatten)]
    target: Target,
    /// Identifier of the job.
    job: String,
}

/// Prints the result of a job.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP))]
struct ResultOf {
    #[command(flatten)]
    target: Target,
    /// Identifier of the job.
    job: String,
    /// Wait this long for the job to end. By default, do not wait.
    #[arg(long, value_name = "DURATION", value_parser = units::duration)]
    wait: Option<Duration>,
}

/// Cancels a job, unless it has ended, and prints its state.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP))]
struct Cancel {
    #[command(flatten)]
    target: Target,
    /// Identifier of the job.
    job: String,
}

impl Job {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.command {
            Command::Submit(submit) => submit.run(),
            Command::Status(Status { target, job }) => of_job(&target, "rpc.job.status", &job),
            Command::Cancel(Cancel { target, job }) => of_job(&target, "rpc.job.cancel", &job),
            Command::Result(ResultOf { target, job, wait }) => target.run(async |session| {
                let asking = Asking { target: &target, line: session.open().await? };
                asking.result(&job, wait.unwrap_or_default()).await
            }),
        }
    }
}

impl Submit {
    fn run(self) -> Result<(), Failure> {
        #[derive(Serialize)]
        struct Params<'a> {
            method: &'a str,
            #[serde(skip_serializing_if = "Option::is_none")]
            params: Option<Json>,
            #[serde(skip_serializing_if = "Option::is_none")]
            key: Option<&'a str>,
        }
        let Submit { target, method, params, job_key, wait } = self;
        let params = Params { method: &method, params: params::read(&params)?, key: job_key.as_deref() };
        target.run(async |session| {
            let asking = Asking { target: &target, line: session.open().await? };
            let submitted = asking.ask("rpc.job.submit", &params).await?;
            match (wait, text_of(&submitted, "job")) {
                (Some(wait), Some(job)) => asking.result(&job, wait).await,
                _ => show(&submitted, &target),
            }
        })
    }
}

/// Prints what a method says about a job.
fn of_job(target: &Target, method: &'static str, job: &str) -> Result<(), Failure> {
    target.run(async |session| {
        let asking = Asking { target, line: session.open().await? };
        show(&asking.ask(method, &About { job, wait_ms: None }).await?, target)
    })
}

/// The params of questions about a job.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct About<'a> {
    job: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    wait_ms: Option<u64>,
}

/// The server that is asked.
struct Asking<'a> {
    target: &'a Target,
    line: Line,
}

impl Asking<'_> {
    async fn ask(&self, method: &'static str, params: &impl Serialize) -> Result<Json, Failure> {
        let params = Json::encode_ref(params).map_err(|error| Failure::usage(error.to_string()))?;
        let answer = self.line.ask(Call::new(method, Some(params))).await;
        match answer.map(|reply| reply.outcome) {
            Ok(Outcome::Value(json)) => Ok(json),
            Ok(Outcome::Error(error)) => Err(self.explain(method, error.into())),
            Ok(Outcome::Stream(_)) => Err(Failure::new(Exit::Protocol, "the server answered with a stream")),
            Err(error) => Err(self.explain(method, error)),
        }
    }

    fn explain(&self, method: &str, error: CallError) -> Failure {
        let unknown = ErrorObject::method_not_found(method);
        let has_no_jobs = matches!(&error, CallError::Rejected(error)
            if error.code == Code::METHOD_NOT_FOUND && (method != "rpc.job.submit" || error.data == unknown.data));
        let failure = self.target.explain(error);
        match has_no_jobs {
            true => failure
                .advise("this server has no queue of jobs; start it with `--jobs nats://HOST:PORT/SERVICE`"),
            false => failure,
        }
    }

    /// Prints the result of a job that ends within this time.
    async fn result(&self, job: &str, wait: Duration) -> Result<(), Failure> {
        let until = Instant::now() + wait;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            let most = ROUND.min(self.target.timeout / 2);
            let wait_ms = u64::try_from(left.min(most).as_millis()).ok();
            let found = self.ask("rpc.job.result", &About { job, wait_ms }).await?;
            match text_of(&found, "state").unwrap_or_default().as_str() {
                "done" => {
                    let result = found.get("result").unwrap_or(Json::NULL);
                    return output::result(&result, self.target.format).map(drop);
                }
                "failed" | "dead" => return Err(failed(&found)),
                "cancelled" => return Err(Failure::new(Exit::Rejected, "the job was cancelled")),
                _ if left > Duration::ZERO => {}
                state => {
                    let what = format!("the job is not done: {}", visible(state));
                    return Err(Failure::new(Exit::TimedOut, what).advise("wait for it with `--wait 1m`"));
                }
            }
        }
    }
}

/// The error of a job that failed.
fn failed(found: &Json) -> Failure {
    let error = found.get("error").unwrap_or(Json::NULL);
    let [code, message, data] = error.pick(["code", "message", "data"]);
    let code = code.and_then(|code| code.decode::<i64>().ok()).unwrap_or(Code::INTERNAL_ERROR.0);
    let message = message.and_then(|message| message.decode::<String>().ok()).unwrap_or_default();
    let mut error = ErrorObject::new(code, message);
    error.data = data;
    let failure = Failure::Rejected(error, None);
    match text_of(found, "state").as_deref() {
        Some("dead") => {
            failure.advise("the job was given up after its last attempt; it is among the dead letters")
        }
        _ => failure,
    }
}

/// Prints what the server says about a job: as JSON, or as a table on a terminal.
fn show(found: &Json, target: &Target) -> Result<(), Failure> {
    if !target.format.is_for_people() {
        return output::result(found, target.format).map(drop);
    }
    let cell = |name: &str| {
        let value = found.get(name);
        let text = value.map(|value| value.decode::<String>().unwrap_or_else(|_| value.to_string()));
        Cell::plain(visible(&text.unwrap_or_default()))
    };
    let mut table = Table::new(["Job", "State", "Method", "Attempts"]);
    table.row([cell("job"), cell("state"), cell("method"), cell("attempts")]);
    output::page(&table.render(terminal_width())).map(drop)
}

fn text_of(json: &Json, name: &str) -> Option<String> {
    json.get(name)?.decode().ok()
}
