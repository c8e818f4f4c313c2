//! The options for the upstreams on the command line, made from the table of keys.

use clap::error::Error;
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use crate::config::{Key, Kind, upstream_flags};

const HEADING: &str = "Options for the servers";

/// The options. Their values are read by `config`, as those of the file are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UpstreamOptions;

impl Args for UpstreamOptions {
    fn augment_args(command: Command) -> Command {
        command.args(upstream_flags().map(option))
    }

    fn augment_args_for_update(command: Command) -> Command {
        UpstreamOptions::augment_args(command)
    }
}

impl FromArgMatches for UpstreamOptions {
    fn from_arg_matches(_: &ArgMatches) -> Result<UpstreamOptions, Error> {
        Ok(UpstreamOptions)
    }

    fn update_from_arg_matches(&mut self, _: &ArgMatches) -> Result<(), Error> {
        Ok(())
    }
}

fn option(key: &Key) -> Arg {
    let name = key.flag.trim_start_matches('-');
    let option = Arg::new(name.replace('-', "_")).long(name).help(sentence(key.about)).help_heading(HEADING);
    match key.kind {
        Kind::Choice(choices) => option.value_name("NAME").value_parser(choices.to_vec()),
        Kind::Named(_) => option.value_name("NAME=VALUE").action(ArgAction::Append),
        Kind::Path => option.value_name("PATH"),
        _ => option.value_name("VALUE"),
    }
}

/// The description of a key as that of an option: a sentence, without quotes around values.
fn sentence(about: &str) -> String {
    let mut letters = about.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).filter(|letter| *letter != '"').chain(['.']).collect()
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::gateway::GatewayCommand;

    #[derive(Parser)]
    struct Program {
        #[command(flatten)]
        gateway: GatewayCommand,
    }

    #[test]
    fn the_command_takes_every_option_of_an_upstream() {
        for key in upstream_flags() {
            let value = match key.kind {
                Kind::Choice(choices) => choices[0],
                Kind::Named(_) => "NAME=value",
                _ => "1",
            };
            let parsed = Program::try_parse_from(["gateway", "tcp://127.0.0.1:1", key.flag, value]);
            assert!(parsed.is_ok(), "{}: {}", key.flag, parsed.err().unwrap());
        }
        assert!(Program::try_parse_from(["gateway", "tcp://127.0.0.1:1", "--balance", "chance"]).is_err());
    }

    #[test]
    fn descriptions_are_sentences() {
        assert_eq!(sentence("how long, such as \"10s\""), "How long, such as 10s.");
    }
}
