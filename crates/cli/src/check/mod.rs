//! `switchboard check`: checks a server for conformance and robustness.
//!
//! ```text
//! cases/  what is sent and expected, by area  ─┐
//! wire/   bytes over every transport          ─┤→ bench → run → report/
//! profile what is required of which servers   ─┘
//! ```
//!
//! It knows only the URL of the server. Messages are written by hand, not by our client, so that both cannot share a mistake.

mod bench;
mod case;
mod cases;
mod difference;
mod era;
mod found;
mod hints;
mod message;
mod outcome;
mod profile;
mod progress;
mod report;
mod rules;
mod run;
mod shown;
#[cfg(test)]
mod tests;
mod watch;
pub(crate) mod wire;

use std::collections::HashSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use switchboard::{CallError, Json};

use self::bench::Bench;
use self::case::{Case, Sends};
use self::era::Spoken;
use self::found::{Found, Manner};
use self::outcome::End;
use self::profile::{Profile, Verdict};
use self::progress::Progress;
use self::report::Report;
use self::wire::Endpoint;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::target::Target;
use crate::{output, units};

const EXAMPLES: &str = "\
Examples:
  switchboard check http://127.0.0.1:8000
  switchboard check tcp://127.0.0.1:4000?framing=lsp --profile lsp
  switchboard check 'exec:my-server --stdio' --only batches --only id-null
  switchboard check http://127.0.0.1:8000/mcp --profile mcp
  switchboard check 'exec:npx -y some-mcp-server' --profile mcp --only mcp-features
  switchboard check https://rpc.example.com --profile ethereum --method eth_chainId
  switchboard check ws://127.0.0.1:8000 --quick --junit report.xml
  switchboard check http://127.0.0.1:8000 --json | jq '.findings[] | select(.verdict == \"fail\")'
  switchboard check --list --profile mcp
  switchboard check --explain J2-28";

const LONG: &str = "\
Each case cites the rules it tests: J2 for JSON-RPC 2.0, J1 for 1.0, JH for HTTP, JT for other transports, LSP-F for the \
framing of language servers, MCP for the Model Context Protocol, SEC for security. A violation of a required rule is a failure, a violation of a recommended \
one a warning. `--explain` prints a rule with its source. Where good servers differ, the profile decides. A fault is \
reported once: cases that cannot be judged because of it, or that fail for the same reason, are skipped.

The check sends harmful input: do not run it against a server that others depend on. It calls methods that do not \
exist, and one that does, which it finds by well-known names or takes from --method. With `--profile mcp` it also lists \
tools, resources and prompts, reads the first resource, fills in a prompt without arguments, and calls tools only if they \
declare to be read-only.";

/// Checks a server for conformance and robustness.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
    // Neither a list nor an explanation needs a server.
    mut_arg("url", |url| {
        url.required(false)
            .required_unless_present_any(["list", "explain"])
            .default_value_if("list", "true", Some("-"))
            .default_value_if("explain", clap::builder::ArgPredicate::IsPresent, Some("-"))
    }),
)]
pub(crate) struct Check {
    #[command(flatten)]
    target: Target,
    /// The kind of server to check for.
    #[arg(long, value_enum, default_value = "spec")]
    profile: Profile,
    /// Check an MCP server: the same as `--profile mcp`.
    #[arg(long, conflicts_with = "profile")]
    mcp: bool,
    /// A method that is safe to call and succeeds.
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    /// The parameters of --method, as JSON.
    #[arg(long, value_name = "JSON", requires = "method")]
    params: Option<String>,
    /// A method that returns its one parameter.
    #[arg(long, value_name = "NAME")]
    echo: Option<String>,
    /// Run only this area or case, and the cases it depends on. Can be repeated.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Skip slow cases.
    #[arg(long)]
    quick: bool,
    /// List the cases without running them.
    #[arg(long)]
    list: bool,
    /// Explain a rule or a case, such as J2-28 or id-null, without running anything. Can be repeated.
    #[arg(long, value_name = "NAME", conflicts_with = "list")]
    explain: Vec<String>,
    /// How long to wait for the response to one case.
    #[arg(long, value_name = "DURATION", default_value = "5s", value_parser = units::duration)]
    case_time: Duration,
    /// The size of the largest message to send.
    #[arg(long, value_name = "SIZE", default_value = "8M", value_parser = units::bytes)]
    max_bytes: usize,
    /// Also list the cases that passed or were skipped.
    #[arg(long, help_heading = "Output")]
    all: bool,
    /// Also write the report to this file, as JUnit XML.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    junit: Option<PathBuf>,
    /// Fail if there are warnings.
    #[arg(long, help_heading = "Output")]
    deny_warnings: bool,
}

impl Check {
    /// Runs the command.
    pub(crate) fn run(mut self) -> Result<(), Failure> {
        if self.mcp {
            self.profile = Profile::Mcp;
        }
        let cases = self.cases()?;
        if self.list {
            return list(&cases);
        }
        if !self.explain.is_empty() {
            return explain(&self.explain);
        }
        if let Some(params) = &self.params {
            let json = Json::parse(params.clone());
            json.map_err(|error| Failure::usage(format!("--params is not JSON: {error}")))?;
        }
        self.target.run(async |_| Box::pin(self.check(cases)).await)
    }

    async fn check(&self, mut cases: Vec<Case>) -> Result<(), Failure> {
        let begun = Instant::now();
        let mut bench = self.bench()?;
        self.find(&mut bench).await?;
        // The messages of the other areas are not valid requests in the stateless era.
        if self.profile == Profile::Mcp && bench.found.mcp.sessions.is_none() {
            cases.retain(|case| case.area.starts_with(profile::MCP));
        }
        // With `-v` each case is printed, and a bar would be in the way.
        let is_verbose = bench.endpoint.tap.is_some();
        let mut progress = Progress::start(run::count(&bench, &cases), is_verbose);
        let findings = run::run(&mut bench, cases, &mut progress).await;
        progress.finish();
        let report =
            Report { url: self.target.url.clone(), profile: self.profile, findings, time: begun.elapsed() };
        self.tell(&report)
    }

    fn bench(&self) -> Result<Bench, Failure> {
        let dial = self.target.dial_raw()?.with_connect_time(self.case_time);
        let limit = self.max_bytes.saturating_mul(2).max(16 << 20);
        let mut endpoint = Endpoint::new(dial, self.target.headers()?, limit);
        endpoint.tap = self.target.tap();
        Ok(Bench::new(endpoint, self.profile, self.case_time, self.max_bytes))
    }

    /// Finds out whether the server answers, and which calls it offers.
    async fn find(&self, bench: &mut Bench) -> Result<(), Failure> {
        let unreachable = |why: String| self.target.explain(CallError::Unreachable(why.into()));
        bench.endpoint.open().await.map_err(|error| unreachable(error.to_string()))?;
        if self.profile == Profile::Mcp {
            self.find_eras(bench).await?;
        } else {
            bench.introduce().await;
        }
        let given = self.method.clone().map(|method| (method, self.params.clone()));
        let is_given = given.is_some();
        bench.found = Found::look(bench, given, self.echo.clone()).await;
        let came = bench.greet().await;
        bench.found.manner = Manner::of(&came).ok_or_else(|| {
            let (what, advice) = match bench.death() {
                Some(end) => (
                    format!("the server does not run: {end}"),
                    "run the command yourself to see why".to_owned(),
                ),
                None => (
                    format!("this is not a JSON-RPC server: the answer to a valid call was {came}"),
                    hints::hint(&bench.endpoint, &came),
                ),
            };
            Failure::new(Exit::Protocol, what).advise(advice)
        })?;
        if came.end == End::Silent {
            // Its answers cannot be matched to calls, so every case waits for its full time.
            bench.timeout = bench.timeout.min(Duration::from_millis(500));
        }
        if is_given && !bench.succeeds().await {
            return Err(Failure::usage("the call given with --method did not return a result")
                .advise("check its --params"));
        }
        Ok(())
    }

    /// Finds out which eras of the Model Context Protocol the server speaks.
    async fn find_eras(&self, bench: &mut Bench) -> Result<(), Failure> {
        Spoken::look(bench).await;
        let spoken = &bench.found.mcp;
        if spoken.sessions.is_some() || spoken.stateless.is_some() {
            return Ok(());
        }
        let came = bench.greet().await;
        let what = match bench.death() {
            Some(end) => format!("the server does not run: {end}"),
            None => format!(
                "this is not a server of the Model Context Protocol: it answers neither `initialize` nor \
                 `server/discover` with a result (the answer to a valid call was {came})"
            ),
        };
        Err(Failure::new(Exit::Protocol, what).advise(hints::mcp(&bench.endpoint, &came)))
    }

    /// The selected cases, and those that they rest on.
    fn cases(&self) -> Result<Vec<Case>, Failure> {
        let is_asked = |case: &Case| {
            self.only.is_empty() || self.only.iter().any(|name| name == case.name || name == case.area)
        };
        let all = cases::all();
        if let Some(name) =
            self.only.iter().find(|name| !all.iter().any(|case| case.name == **name || case.area == **name))
        {
            return Err(Failure::usage(format!("there is no case or area {name:?}"))
                .advise("list them with `switchboard check --list`"));
        }
        let mut kept: HashSet<&str> = HashSet::new();
        // A case rests on one that comes before it.
        for case in all.iter().rev() {
            if kept.contains(case.name) || is_asked(case) && !(self.quick && case.is_slow) {
                kept.extend([Some(case.name), case.rests_on].into_iter().flatten());
            }
        }
        let is_kept = |case: &Case| kept.contains(case.name) && self.profile.has(case.area);
        let is_elsewhere = |name: &&String| {
            !all.iter()
                .any(|case| (case.name == **name || case.area == **name) && self.profile.has(case.area))
        };
        if let Some(name) = self.only.iter().find(is_elsewhere) {
            let profile = self.profile.name();
            return Err(Failure::usage(format!("the profile {profile} does not have {name:?}"))
                .advise("choose another with --profile, such as `mcp` for names that begin with `mcp-` or `stateless-`"));
        }
        Ok(all.into_iter().filter(is_kept).collect())
    }

    fn tell(&self, report: &Report) -> Result<(), Failure> {
        if let Some(path) = &self.junit {
            let cannot =
                |error| Failure::new(Exit::CannotWrite, format!("cannot write {}: {error}", path.display()));
            std::fs::write(path, report::junit(report)).map_err(cannot)?;
        }
        if self.target.format.is_for_people() {
            output::page(&report::table(report, self.all))?;
        } else {
            let json =
                Json::encode_ref(&report::json(report)).map_err(|error| Failure::usage(error.to_string()))?;
            output::result(&json, self.target.format)?;
        }
        let (failed, warned) = (report.count(Verdict::Fail), report.count(Verdict::Warn));
        match (failed, warned) {
            (0, 0) => Ok(()),
            (0, _) if !self.deny_warnings => Ok(()),
            (0, _) => Err(Failure::new(
                Exit::Faulty,
                format!("{warned} of {} cases have warnings (--deny-warnings)", report.findings.len()),
            )),
            _ => {
                Err(Failure::new(Exit::Faulty, format!("{failed} of {} cases failed", report.findings.len())))
            }
        }
    }
}

fn list(cases: &[Case]) -> Result<(), Failure> {
    let mut text: String = cases.iter().map(line).collect();
    text.push_str("\n`switchboard check --explain NAME` explains a rule or a case.\n");
    output::page(&text).map(|_| ())
}

/// A case in one line.
fn line(case: &Case) -> String {
    let kind = if matches!(case.sends, Sends::Script(..)) { "several messages" } else { "one message" };
    let slow = if case.is_slow { ", slow" } else { "" };
    format!(
        "{:<14} {:<28} {} [{}; {}; {kind}{slow}]\n",
        case.area,
        case.name,
        case.claim,
        case.rules.join(" "),
        case.severity.name()
    )
}

/// Explains these rules and cases.
fn explain(names: &[String]) -> Result<(), Failure> {
    let cases = cases::all();
    let claims = watch::claims();
    let mut text = String::new();
    for name in names {
        let claim = claims.iter().find(|(own, _, _)| own == name);
        if let Some(rule) = rules::find(name) {
            text.push_str(&rules::lines(&rule));
            let cited = |cited: &[&str]| cited.contains(&rule.id);
            let cases = cases.iter().filter(|case| cited(case.rules)).map(|case| case.name);
            let claims = claims.iter().filter(|(_, _, rules)| cited(rules)).map(|(own, _, _)| *own);
            let names: Vec<&str> = cases.chain(claims).collect();
            text.push_str(&format!("{:<9} cases: {}\n", "", names.join(" ")));
        } else if let Some(case) = cases.iter().find(|case| case.name == *name) {
            text.push_str(&line(case));
            text.extend(case.rules.iter().filter_map(|id| rules::find(id)).map(|rule| rules::lines(&rule)));
        } else if let Some((own, claim, cited)) = claim {
            text.push_str(&format!("{:<14} {own:<28} {claim}\n", "responses"));
            text.extend(cited.iter().filter_map(|id| rules::find(id)).map(|rule| rules::lines(&rule)));
        } else {
            return Err(Failure::usage(format!("there is no rule or case {name:?}"))
                .advise("list the cases and their rules with `switchboard check --list`"));
        }
    }
    output::page(&text).map(|_| ())
}
