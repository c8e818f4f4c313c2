//! `switchboard explain`: what would happen to a call, without sending it.

mod guards;
mod report;

use std::path::PathBuf;

use clap::Args;
use futures_util::FutureExt as _;
use switchboard::{Call, Context, Description, ErrorObject, Json, Metadata, Name};

use self::guards::Guards;
pub(crate) use self::report::Report;
use crate::config::{Config, Origin};
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::gateway::Gated;
use crate::served::Served;
use crate::session::Session;
use crate::target::{self, Secret, Target};
use crate::{address, output, params};

const EXAMPLES: &str = "\
Examples:
  switchboard explain --config gateway.toml math/add 2 3
  switchboard explain --config gateway.toml --as alice transfer amount=500
  switchboard explain --config gateway.toml --as role:tester -H 'x-canary: yes' math/add 2 3
  switchboard explain --admin 9000 --as alice eth_call '[{\"to\":\"0x5a\"},\"latest\"]'";

const LONG: &str = "\
With `--config`, the file decides: nothing is connected to, so the state of servers, and methods that only servers describe, are not \
known. With `--admin`, the running server is asked, and its state counts: servers that are down, open breakers, kept answers, rate limits.

The exit code is 0 if the call would be sent or answered, and 1 if it would be refused.";

/// Shows what would happen to a call, and why: caller, limits, access rules, route, policies and server. Nothing is sent.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
    mut_args(described),
)]
pub(crate) struct Explain {
    /// The configuration file.
    #[arg(long, value_name = "FILE", env = "SWITCHBOARD_CONFIG", default_value = "switchboard.toml")]
    #[arg(conflicts_with = "url")]
    config: PathBuf,
    /// The caller: a user, role:NAME, scope:NAME, agent:NAME or anonymous; `@local` after it means on this machine.
    #[arg(long = "as", value_name = "WHO", default_value = "anonymous")]
    who: String,
    /// Header of the call, written as `Name: value`. Can be repeated.
    #[arg(id = "call_header", long = "header", short = 'H', value_name = "HEADER")]
    call_headers: Vec<Secret>,
    #[command(flatten)]
    target: Target,
    /// The method.
    method: String,
    /// The params, as for `switchboard call`.
    params: Vec<String>,
}

/// The options of a server to call, where they are about an admin listener.
fn described(argument: clap::Arg) -> clap::Arg {
    match argument.get_id().as_str() {
        "url" => argument
            .long("admin")
            .value_name("URL")
            .required(false)
            .default_value("")
            .hide_default_value(true)
            .value_parser(listener)
            .help("Ask a running server: the port or the URL of its admin listener"),
        "headers" => argument.long("admin-header").short(None).hide(true),
        "timeout" => argument.help("How long connecting and the answer may take"),
        "retry" | "repeatable" | "v1" | "extensions" => argument.hide(true),
        _ => argument,
    }
}

/// An admin listener; none if nothing is given.
fn listener(text: &str) -> Result<String, String> {
    if text.is_empty() { Ok(String::new()) } else { address::listening(text) }
}

/// A call to explain.
pub(crate) struct Question {
    pub(crate) method: String,
    pub(crate) params: Option<Json>,
    pub(crate) who: String,
    pub(crate) headers: Vec<(String, String)>,
}

impl Explain {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        self.target.format.for_errors();
        let question = self.question()?;
        if !self.target.url.is_empty() {
            return self.target.run(async |session| self.show(&asked(session, &question).await?));
        }
        self.show(&offline(&self.config, &question)?)
    }

    fn question(&self) -> Result<Question, Failure> {
        let headers = self.call_headers.iter().map(|text| {
            let (name, value) = target::header(text)?;
            Ok((name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
        });
        Ok(Question {
            method: self.method.clone(),
            params: params::of_words(&self.params)?,
            who: self.who.clone(),
            headers: headers.collect::<Result<_, Failure>>()?,
        })
    }

    fn show(&self, report: &Report) -> Result<(), Failure> {
        let format = self.target.format;
        match format.is_for_people() {
            true => output::page(&report.page())?,
            false => {
                let json = Json::encode_ref(report).map_err(|error| Failure::usage(error.to_string()))?;
                output::result(&json, format)?
            }
        };
        match report.is_refused() {
            true => Err(Failure::Shown(Exit::Rejected, String::new())),
            false => Ok(()),
        }
    }
}

/// What a running server says.
async fn asked(session: &Session<'_>, question: &Question) -> Result<Report, Failure> {
    let line = session.open().await?;
    let headers: serde_json::Map<String, serde_json::Value> =
        question.headers.iter().map(|(name, value)| (name.clone(), value.as_str().into())).collect();
    let params = serde_json::json!({
        "method": question.method,
        "params": question.params,
        "as": question.who,
        "headers": headers,
    });
    let answer = line.peer().call::<Report>("admin/explain", params).await;
    answer.map_err(|error| session.target.explain(error))
}

/// What a file says.
fn offline(file: &std::path::Path, question: &Question) -> Result<Report, Failure> {
    // It never runs: what parts of a gateway do in the background, such as to connect, is not done.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::usage(format!("cannot start: {error}")))?;
    let _inside = runtime.enter();
    let origin = Origin::file(file);
    let config = origin.load(&Description::default())?;
    let served = match config.upstreams.is_empty() {
        true => Served::Demo,
        false => {
            let gated = Gated::build(&config)?;
            gated.describe_inside(&config);
            Served::Gateway(gated)
        }
    };
    // Rules may name params, which are known by the descriptions of methods.
    let config = origin.load(&served.router()?.describe())?;
    let report = Explainer::new(&config, served).explain(question);
    report.map_err(|what| Failure::usage(format!("--as {}: {what}", question.who)))
}

/// Explains calls to a server.
pub(crate) struct Explainer {
    guards: Guards,
    served: Served,
}

impl Explainer {
    /// For a server with this configuration and these methods.
    pub(crate) fn new(config: &Config, served: Served) -> Explainer {
        Explainer { guards: Guards::of(config), served }
    }

    /// What would happen to a call.
    ///
    /// # Errors
    ///
    /// When the caller is not written as one.
    pub(crate) fn explain(&self, question: &Question) -> Result<Report, String> {
        let mut steps = Vec::new();
        let (subject, identified) = self.guards.identify(&question.who, &mut steps)?;
        let mut call = Call::new(Name::from(question.method.as_str()), question.params.clone());
        call.cx = context(question, subject.is_local());
        if let Some(identity) = subject.identity() {
            identity.clone().attach(&mut call.cx);
        }
        let guarded = match identified {
            std::ops::ControlFlow::Continue(()) => self.guards.explain(&call, &subject, &mut steps),
            ended => ended,
        };
        if let Some(conclusion) = guarded.break_value() {
            return Ok(Report::new(question, steps, conclusion));
        }
        Ok(match &self.served {
            Served::Gateway(gated) => Report::of(question, steps, gated.current().explain(&call)),
            Served::Demo | Served::Mcp(_) => self.method(question, steps),
        })
    }

    /// What a server does that answers calls itself.
    fn method(&self, question: &Question, mut steps: Vec<switchboard::gateway::Step>) -> Report {
        use switchboard::gateway::{Conclusion, Step};
        let methods = self.served.router().map(|router| router.describe()).unwrap_or_default();
        let is_known = methods.methods.iter().any(|method| method.name == question.method);
        let (step, conclusion) = match is_known {
            true => (Step::new("method", "found", "this server answers it"), Conclusion::Answered),
            false => {
                let error = ErrorObject::method_not_found(&question.method);
                (
                    Step::new("method", "not found", "this server has no such method"),
                    Conclusion::Refused(error),
                )
            }
        };
        steps.push(step);
        Report::new(question, steps, conclusion)
    }
}

/// The context of a call that is not made.
fn context(question: &Question, is_local: bool) -> Context {
    // A call without an address comes from this machine, unless a proxy has passed it on.
    let via = (!is_local).then(|| ("via".to_owned(), "explain".to_owned()));
    let headers = question.headers.iter().cloned().chain(via);
    Context::default()
        .with_metadata(headers.map(|(name, value)| (name, value.into_bytes())).collect::<Metadata>())
}

impl Gated {
    /// Reads the descriptions of upstreams inside this process, which need no connection.
    fn describe_inside(&self, config: &Config) {
        for (upstream, config) in self.current().upstreams.iter().zip(&config.upstreams) {
            if config.nodes.iter().all(|node| matches!(node.scheme(), "demo" | "mock")) {
                // One that does not answer at once is not described.
                let _ = upstream.describe().now_or_never();
            }
        }
    }
}
