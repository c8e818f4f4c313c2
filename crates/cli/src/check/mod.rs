//! `switchboard check`: tries how a server keeps to the rules, and how it takes what is wrong.
//!
//! ```text
//! cases/  what is tried, one file an area   ─┐
//! wire/   bytes over every carrier          ─┤→ bench → run → report/
//! profile what is asked of which servers    ─┘
//! ```
//!
//! It knows nothing of the server but its URL, and links nothing of it: what is sent is written by hand, so that our own
//! mistakes are not made twice.

mod bench;
mod case;
mod cases;
mod difference;
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

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::Args;
use switchboard::{CallError, Json};

use self::bench::Bench;
use self::case::{Case, Sends};
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
  switchboard check https://rpc.example.com --profile ethereum --method eth_chainId
  switchboard check ws://127.0.0.1:8000 --quick --junit report.xml
  switchboard check http://127.0.0.1:8000 --json | jq '.findings[] | select(.verdict == \"fail\")'
  switchboard check --list
  switchboard check --explain J2-28";

const LONG: &str = "\
Every case cites the rules it is about: J2 for JSON-RPC 2.0, J1 for 1.0, JH for HTTP, JT for other carriers, LSP-F for \
the framing of language servers, SEC for what keeps a server safe. A case that must hold and does not, fails; one that \
should hold is a warning. `--explain` tells what a rule says, and where it stands in its specification. The profile says what is asked where good servers differ.

It sends what may hurt: do not run it against a server that others depend on. It calls methods that do not exist, and \
one that does, which is looked for by well-known names or given with --method.";

/// Tries how a server keeps to the rules of JSON-RPC, and how it takes what is wrong.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
    // Neither a list nor an explanation takes a server.
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
    /// What kind of server it is to be.
    #[arg(long, value_enum, default_value = "spec")]
    profile: Profile,
    /// A method that can be called without harm, and succeeds.
    #[arg(long, value_name = "NAME")]
    method: Option<String>,
    /// Its parameters, as JSON.
    #[arg(long, value_name = "JSON", requires = "method")]
    params: Option<String>,
    /// A method that gives back its one parameter.
    #[arg(long, value_name = "NAME")]
    echo: Option<String>,
    /// Try this area, or this case, only. May be given several times.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Leave out what takes long.
    #[arg(long)]
    quick: bool,
    /// List the cases, and try nothing.
    #[arg(long)]
    list: bool,
    /// Say what a rule or a case is about, such as J2-28 or id-null, and try nothing. May be given several times.
    #[arg(long, value_name = "NAME", conflicts_with = "list")]
    explain: Vec<String>,
    /// How long the answer to one case may take.
    #[arg(long, value_name = "SECONDS", default_value = "5", value_parser = units::seconds)]
    case_time: Duration,
    /// The most bytes that are sent as one message.
    #[arg(long, value_name = "SIZE", default_value = "8M", value_parser = units::bytes)]
    max_bytes: usize,
    /// Show what passes and what is skipped, too.
    #[arg(long, help_heading = "Output")]
    all: bool,
    /// Write the report to this file as well, in the XML of JUnit.
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    junit: Option<PathBuf>,
    /// Let warnings fail, too.
    #[arg(long, help_heading = "Output")]
    deny_warnings: bool,
}

impl Check {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let cases = self.cases()?;
        if self.list {
            return list(&cases);
        }
        if !self.explain.is_empty() {
            return explain(&self.explain);
        }
        if let Some(params) = &self.params {
            let json = Json::parse(params.clone());
            json.map_err(|error| Failure::usage(format!("--params is no JSON: {error}")))?;
        }
        self.target.run(async |_| Box::pin(self.check(cases)).await)
    }

    async fn check(&self, cases: Vec<Case>) -> Result<(), Failure> {
        let begun = Instant::now();
        let mut bench = self.bench()?;
        self.find(&mut bench).await?;
        // Whoever looks at the wire sees each case there, and a bar would be in the way.
        let is_verbose = bench.endpoint.tap.is_some();
        let mut progress = Progress::start(cases.len(), is_verbose);
        let findings = run::run(&mut bench, cases, &mut progress).await;
        progress.finish();
        let report =
            Report { url: self.target.url.clone(), profile: self.profile, findings, time: begun.elapsed() };
        self.tell(&report)
    }

    fn bench(&self) -> Result<Bench, Failure> {
        let dial = self.target.dial()?.with_connect_time(self.case_time);
        let limit = self.max_bytes.saturating_mul(2).max(16 << 20);
        let mut endpoint = Endpoint::new(dial, self.target.headers()?, limit);
        endpoint.tap = self.target.tap();
        Ok(Bench::new(endpoint, self.profile, self.case_time, self.max_bytes))
    }

    /// Sees that the server is there, and what it has.
    async fn find(&self, bench: &mut Bench) -> Result<(), Failure> {
        let unreachable = |why: String| self.target.explain(CallError::Unreachable(why.into()));
        bench.endpoint.open().await.map_err(|error| unreachable(error.to_string()))?;
        bench.introduce().await;
        let given = self.method.clone().map(|method| (method, self.params.clone()));
        let is_given = given.is_some();
        bench.found = Found::look(bench, given, self.echo.clone()).await;
        let came = bench.greet().await;
        bench.found.manner = Manner::of(&came).ok_or_else(|| {
            let (what, advice) = match bench.death() {
                Some(end) => {
                    (format!("the server does not run: {end}"), "see why by running it yourself".to_owned())
                }
                None => (
                    format!("nothing here answers as a JSON-RPC server: a good call brought {came}"),
                    hints::hint(&bench.endpoint, &came),
                ),
            };
            Failure::new(Exit::Protocol, what).advise(advice)
        })?;
        if came.end == End::Silent {
            // Its answers cannot be told from each other, so no case is over before its time.
            bench.timeout = bench.timeout.min(Duration::from_millis(500));
        }
        if is_given && !bench.succeeds().await {
            return Err(Failure::usage("the call of --method has no result").advise("check --params"));
        }
        Ok(())
    }

    /// The cases that were asked for.
    fn cases(&self) -> Result<Vec<Case>, Failure> {
        let is_asked = |case: &Case| {
            self.only.is_empty() || self.only.iter().any(|name| name == case.name || name == case.area)
        };
        let all = cases::all();
        if let Some(name) =
            self.only.iter().find(|name| !all.iter().any(|case| case.name == **name || case.area == **name))
        {
            return Err(Failure::usage(format!("{name:?} is no case and no area"))
                .advise("`switchboard check --list` lists them"));
        }
        let kept = all
            .into_iter()
            .filter(|case| is_asked(case) && !(self.quick && case.is_slow) && self.profile.has(case.area));
        Ok(kept.collect())
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
            (0, _) => Err(Failure::new(Exit::Faulty, format!("{warned} warnings, and --deny-warnings"))),
            _ => Err(Failure::new(Exit::Faulty, format!("{failed} of {} cases fail", report.findings.len()))),
        }
    }
}

fn list(cases: &[Case]) -> Result<(), Failure> {
    let mut text: String = cases.iter().map(line).collect();
    text.push_str("\n`switchboard check --explain NAME` tells what a rule or a case is about.\n");
    output::page(&text).map(|_| ())
}

/// A case in one line.
fn line(case: &Case) -> String {
    let kind = if matches!(case.sends, Sends::Script(..)) { "several" } else { "one" };
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

/// Tells what these rules and cases are about.
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
            return Err(Failure::usage(format!("{name:?} is no rule and no case"))
                .advise("`switchboard check --list` lists the cases, with their rules"));
        }
    }
    output::page(&text).map(|_| ())
}
