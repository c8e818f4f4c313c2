//! `switchboard config` and `switchboard acl`: look at a configuration without starting a server.

use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use switchboard::access::{Decision, Effect, RuleOutcome};

use super::{Config, Origin, Subject, schema, show};
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::gateway::{self, Gated};
use crate::{demo, output, params};

const EXAMPLES: &str = "\
Examples:
  switchboard config example > switchboard.toml
  switchboard config check switchboard.toml
  switchboard config show switchboard.toml
  switchboard config schema > switchboard.schema.json";

/// The file that `config example` prints.
pub(super) const EXAMPLE: &str = include_str!("example.toml");

/// Checks and shows configuration files.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{}", exit::HELP))]
pub(crate) struct ConfigCommand {
    #[command(subcommand)]
    action: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Checks a file: syntax, keys, values, the files that it names, and the access tests.
    Check(Check),
    /// Prints the effective configuration: every key with its value and where it was set. Secrets are masked.
    Show(File),
    /// Prints the JSON Schema of configuration files, for completion in editors.
    Schema,
    /// Prints a commented example.
    Example,
}

#[derive(Debug, Args)]
struct Check {
    #[command(flatten)]
    file: File,
    /// Also connect to each upstream of a gateway, and show what it describes. Nothing else is called.
    #[arg(long)]
    online: bool,
}

#[derive(Debug, Args)]
struct File {
    /// The configuration file.
    #[arg(value_name = "FILE", env = "SWITCHBOARD_CONFIG", default_value = "switchboard.toml")]
    file: PathBuf,
}

const ACL_EXAMPLES: &str = "\
Examples:
  switchboard acl explain --as alice math/add 2 3
  switchboard acl explain --config bank.toml --as role:teller transfer amount=500
  switchboard acl explain --as anonymous@local admin/restartServer";

/// Explains access rules.
#[derive(Debug, Args)]
#[command(after_help = ACL_EXAMPLES, after_long_help = format!("{ACL_EXAMPLES}\n\n{}", exit::HELP))]
pub(crate) struct Acl {
    #[command(subcommand)]
    action: AclAction,
}

#[derive(Debug, Subcommand)]
enum AclAction {
    /// Shows what each rule says about a call, and which one decides. The exit code is 0 if the call is allowed, and 1 if it is denied.
    Explain(Explain),
}

#[derive(Debug, Args)]
#[command(after_help = ACL_EXAMPLES)]
struct Explain {
    /// The configuration file.
    #[arg(long, value_name = "FILE", env = "SWITCHBOARD_CONFIG", default_value = "switchboard.toml")]
    config: PathBuf,
    /// The caller: a user, role:NAME, scope:NAME, agent:NAME or anonymous; `@local` after it means on this machine.
    #[arg(long = "as", value_name = "WHO")]
    who: String,
    /// The method.
    method: String,
    /// The params, as for `switchboard call`.
    params: Vec<String>,
}

impl ConfigCommand {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.action {
            Action::Check(Check { file: File { file }, online }) => {
                let config = load(&file)?;
                output::note(&config.shown_warnings());
                let rules = config.access.as_ref().map_or(0, |access| access.rules().len());
                let claims = config.table.get("access.tests").map_or(0, |node| node.each().len());
                let counted = |count: usize, what: &str| match count {
                    0 => String::new(),
                    1 => format!(", 1 {what}"),
                    _ => format!(", {count} {what}s"),
                };
                let forwarding =
                    counted(config.upstreams.len(), "upstream") + &counted(config.routes.len(), "route");
                output::page(&format!(
                    "{}: OK, {rules} access rules, {claims} access tests{forwarding}\n",
                    file.display()
                ))?;
                if online {
                    reach(&config)?;
                }
            }
            Action::Show(File { file }) => {
                output::page(&show::show(&load(&file)?))?;
            }
            Action::Schema => {
                output::page(&format!("{:#}\n", schema::schema()))?;
            }
            Action::Example => {
                output::page(EXAMPLE)?;
            }
        }
        Ok(())
    }
}

fn load(file: &std::path::Path) -> Result<Config, Failure> {
    let router = demo::router().map_err(|error| Failure::usage(error.to_string()))?;
    Origin::file(file).load(&router.describe())
}

/// Asks the upstreams what they describe, and fails if one does not answer.
fn reach(config: &Config) -> Result<(), Failure> {
    if config.upstreams.is_empty() {
        return Ok(());
    }
    let runtime = tokio::runtime::Runtime::new().map_err(|error| Failure::usage(error.to_string()))?;
    let gate = runtime.block_on(Gated::reach(config))?;
    output::page(gateway::shown(&gate).trim_start())?;
    let silent: Vec<&str> =
        gate.upstreams.iter().filter(|one| one.silence().is_some()).map(|one| one.name.as_str()).collect();
    match silent.is_empty() {
        true => Ok(()),
        false => Err(Failure::new(Exit::Unreachable, format!("no answer from {}", silent.join(" and ")))),
    }
}

impl Acl {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let AclAction::Explain(explain) = self.action;
        explain.run()
    }
}

impl Explain {
    fn run(self) -> Result<(), Failure> {
        let config = load(&self.config)?;
        let subject = Subject::parse(&self.who, &config.roles)
            .map_err(|what| Failure::usage(format!("--as {}: {what}", self.who)))?;
        let (page, is_allowed) = self.explained(&config, &subject)?;
        output::page(&page)?;
        match is_allowed {
            true => Ok(()),
            false => Err(Failure::Shown(Exit::Rejected, String::new())),
        }
    }

    fn explained(&self, config: &Config, subject: &Subject) -> Result<(String, bool), Failure> {
        let params = params::of_words(&self.params)?;
        let Some(access) = &config.access else {
            let is_open = config.authentication.is_none() || !subject.is_anonymous();
            let why = match (&config.authentication, is_open) {
                (None, _) => "no credentials or access rules are configured, so everyone may call everything",
                (Some(_), true) => "without access rules, callers with valid credentials may call everything",
                (Some(_), false) => "credentials are required",
            };
            return Ok((format!("{}  {} as {}: {why}\n", verdict(is_open), self.method, self.who), is_open));
        };
        let facts = subject.facts();
        let decision = access.decide_for(&facts, &self.method, params.as_ref());
        let roles = match subject.roles() {
            [] => String::new(),
            roles => format!(" (roles: {})", roles.join(", ")),
        };
        let mut page =
            format!("{}  {} as {}{roles}\n", verdict(decision.is_allowed()), self.method, self.who);
        let reports = access.explain(&facts, &self.method, params.as_ref());
        let rows: Vec<[String; 4]> = reports
            .iter()
            .map(|report| {
                let mark = if report.outcome == RuleOutcome::Matches { "yes" } else { "no" };
                [mark.to_owned(), label(report.rule), summary(report.rule), report.outcome.to_string()]
            })
            .collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let (places, rules) = (width(1), width(2));
        for [mark, place, what, outcome] in &rows {
            let _ = writeln!(page, "  {mark:<3}  {place:<places$}  {what:<rules$}  {outcome}");
        }
        page.push_str(&conclusion(decision, subject, &reports));
        Ok((page, decision.is_allowed()))
    }
}

fn verdict(is_allowed: bool) -> &'static str {
    if is_allowed { "ALLOW" } else { "DENY" }
}

pub(crate) fn label(rule: &switchboard::access::Rule) -> String {
    rule.name.clone().unwrap_or_default()
}

pub(crate) fn summary(rule: &switchboard::access::Rule) -> String {
    let verb = match rule.effect {
        Effect::Allow => "allow",
        Effect::Deny => "deny",
    };
    let methods: Vec<String> = rule.methods.iter().map(ToString::to_string).collect();
    let who: Vec<String> = rule.who.iter().map(ToString::to_string).collect();
    format!("{verb} {} to {}", methods.join(", "), who.join(", "))
}

fn conclusion(
    decision: Decision,
    subject: &Subject,
    reports: &[switchboard::access::RuleReport<'_>],
) -> String {
    let caller = match subject.is_anonymous() {
        true => "The caller gets HTTP 401, -32002 Unauthorized, whether the method exists or not.",
        false => "The caller gets HTTP 403, -32002 Unauthorized.",
    };
    match decision {
        Decision::Allowed { rule } => format!("Allowed by {}.\n", label(reports[rule].rule)),
        Decision::Denied { rule } => format!("Denied by {}. {caller}\n", label(reports[rule].rule)),
        _ => {
            let closest = reports.iter().find_map(|report| match &report.outcome {
                RuleOutcome::Condition(why) if report.rule.effect == Effect::Allow => {
                    Some(format!(" Closest: {}, where {why}.", label(report.rule)))
                }
                _ => None,
            });
            format!("No rule allows this call.{} {caller}\n", closest.unwrap_or_default())
        }
    }
}
