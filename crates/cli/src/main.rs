//! The `switchboard` command: serves and calls JSON-RPC.
//!
//! Each command has its own file. They share [`Failure`](failure::Failure) with its [`Exit`](exit::Exit) code, and `output`,
//! which writes to a terminal or a pipe.

mod address;
mod admin;
mod advice;
mod agent;
mod agents;
mod allowance;
mod assembly;
mod banner;
mod batch;
mod bench;
mod brief;
mod call;
mod call_options;
mod changes;
mod check;
#[cfg(unix)]
mod cluster;
mod completions;
mod config;
mod credentials;
mod demo;
mod described;
mod discover;
mod discovery;
mod exit;
mod explain;
mod failure;
mod gateway;
mod generate;
mod inspect;
mod job;
mod job_listener;
mod key;
mod layout;
mod log;
mod login;
mod man;
mod mcp;
mod mcp_client;
mod memory;
mod notify;
mod output;
mod params;
mod proxy;
mod recording;
mod reload;
mod repl;
mod replay;
mod responses;
mod retry;
mod same;
mod serve;
mod served;
mod serving;
mod session;
mod shell;
mod signals;
mod signing;
mod source;
mod spec;
mod suggest;
mod supervisor;
mod table;
mod tap;
mod target;
mod telemetry;
mod text;
mod tools;
mod top;
mod units;
mod usage;
mod visible;
mod watch;
mod wire;
mod words;
mod written;

use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const EXAMPLES: &str = "\
Examples:
  switchboard serve
  switchboard call http://127.0.0.1:8000 math/add a=2 b=3
  switchboard discover http://127.0.0.1:8000
  switchboard watch ws://127.0.0.1:8000 ticks

`switchboard help COMMAND` explains a command in detail.";

const LONG: &str = "\
On a terminal, results are formatted and coloured, and lists are shown as tables. In a pipe, results are JSON; `--json` and \
`--raw` do the same on a terminal. Errors go to stderr and say what to do next. In a pipe, an error from the server is \
one line of JSON.

Environment:
  NO_COLOR           if set and not empty, turns colours off
  SWITCHBOARD_TOKEN  token to send, as with `--token`
  SWITCHBOARD_CONFIG configuration file, as with `--config`
  SWITCHBOARD__KEY   value of a key of the configuration, such as SWITCHBOARD__LIMITS__BODY=8MB
  RUST_LOG           log filter, such as `debug` or `switchboard_transport=trace`";

/// Serves, calls and tests JSON-RPC over any transport.
#[derive(Debug, Parser)]
#[command(
    name = "switchboard",
    version,
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Acl(config::command::Acl),
    Agent(Box<agent::Agent>),
    Batch(batch::Batch),
    Bench(bench::Bench),
    Call(call::Call),
    Check(check::Check),
    #[cfg(unix)]
    Cluster(cluster::Cluster),
    Completions(completions::Completions),
    Config(config::command::ConfigCommand),
    Discover(discover::Discover),
    Explain(Box<explain::Explain>),
    Gateway(Box<gateway::GatewayCommand>),
    Generate(generate::Generate),
    Inspect(Box<inspect::Inspect>),
    Job(Box<job::Job>),
    Key(key::Key),
    Login(mcp_client::login::Login),
    Logout(mcp_client::login::Logout),
    Man(man::Man),
    Mcp(Box<mcp::Mcp>),
    Notify(notify::Notify),
    Prompts(Box<mcp_client::prompts::Prompts>),
    Reload(reload::Reload),
    Repl(repl::Repl),
    Replay(replay::Replay),
    Resources(Box<mcp_client::resources::Resources>),
    Serve(Box<serve::Serve>),
    Sign(signing::SignMessage),
    Tap(tap::Tap),
    Tools(Box<mcp_client::tools::Tools>),
    Top(top::Top),
    Verify(signing::VerifyMessage),
    Watch(watch::Watch),
}

fn main() -> ExitCode {
    let parsed = Arguments::command().try_get_matches().and_then(|matches| {
        let arguments =
            Arguments::from_arg_matches(&matches).map_err(|error| error.format(&mut Arguments::command()))?;
        Ok((arguments, matches))
    });
    let (arguments, matches) = parsed.unwrap_or_else(|error| {
        let given: Vec<String> =
            std::env::args_os().map(|text| text.to_string_lossy().into_owned()).collect();
        let all = Arguments::command();
        let commands: Vec<&str> = all.get_subcommands().map(clap::Command::get_name).collect();
        usage::explain(error, &given, &commands).exit()
    });
    let outcome = match arguments.command {
        Command::Acl(acl) => acl.run(),
        Command::Agent(agent) => agent.run(),
        Command::Batch(batch) => batch.run(),
        Command::Bench(bench) => bench.run(),
        Command::Call(call) => call.run(),
        Command::Check(check) => check.run(),
        #[cfg(unix)]
        Command::Cluster(cluster) => cluster.run(),
        Command::Completions(completions) => completions.run(Arguments::command()),
        Command::Config(config) => config.run(),
        Command::Discover(discover) => discover.run(),
        Command::Explain(explain) => explain.run(),
        Command::Gateway(gateway) => gateway.run(matches.subcommand_matches("gateway").unwrap_or(&matches)),
        Command::Generate(generate) => generate.run(),
        Command::Inspect(inspect) => inspect.run(),
        Command::Job(job) => job.run(),
        Command::Key(key) => key.run(),
        Command::Login(login) => login.run(),
        Command::Logout(logout) => logout.run(),
        Command::Man(man) => man.run(Arguments::command()),
        Command::Mcp(mcp) => mcp.run(),
        Command::Notify(notify) => notify.run(),
        Command::Prompts(prompts) => prompts.run(),
        Command::Reload(reload) => reload.run(),
        Command::Repl(repl) => repl.run(),
        Command::Replay(replay) => replay.run(),
        Command::Resources(resources) => resources.run(),
        Command::Serve(serve) => serve.run(matches.subcommand_matches("serve").unwrap_or(&matches)),
        Command::Sign(sign) => sign.run(),
        Command::Tap(tap) => tap.run(),
        Command::Tools(tools) => tools.run(),
        Command::Top(top) => top.run(),
        Command::Verify(verify) => verify.run(),
        Command::Watch(watch) => watch.run(),
    };
    let exit = match outcome {
        Ok(()) => exit::Exit::Done,
        Err(failure) => {
            output::failure(&failure);
            failure.exit()
        }
    };
    log::flush();
    exit.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_defined() {
        Arguments::command().debug_assert();
    }

    #[test]
    fn every_option_of_a_server_has_a_key() {
        // What these say is not a part of the configuration.
        const OTHERS: &[&str] = &[
            "addresses",
            "stdio",
            "from_mcp",
            "upstream_token",
            "config",
            "set",
            "print_config",
            "verbose",
            "client_cert_optional",
        ];
        let all = Arguments::command();
        let serve = all.find_subcommand("serve").unwrap();
        let options: Vec<String> = serve.get_arguments().map(|option| option.get_id().to_string()).collect();
        let flags: Vec<String> = config::flags().map(|flag| flag[2..].replace('-', "_")).collect();
        for option in options.iter().filter(|option| !OTHERS.contains(&&***option)) {
            assert!(flags.contains(option), "--{option} has no key");
        }
        for flag in flags {
            assert!(options.contains(&flag), "--{flag} does not exist");
        }
    }

    #[test]
    fn every_example_is_on_one_line() {
        // Help texts are wrapped at this width.
        const WIDTH: usize = 100;
        let all = Arguments::command();
        for command in all.get_subcommands().chain([&all]) {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let long: Vec<&str> = help.lines().filter(|line| line.chars().count() > WIDTH).collect();
            assert!(long.is_empty(), "{}: {long:?}", command.get_name());
        }
    }
}
