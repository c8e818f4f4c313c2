//! `switchboard reload`: a running server reads its configuration again.

use anstyle::{AnsiColor, Style};
use clap::Args;
use serde_json::json;
use switchboard::{Call, Json, Outcome};

use crate::config::Reloaded;
use crate::exit::{self, Exit};
use crate::failure::Failure;
use crate::session::Session;
use crate::target::Target;
use crate::{address, output};

const EXAMPLES: &str = "\
Examples:
  switchboard reload unix:/run/switchboard/admin.sock
  switchboard reload unix:/run/switchboard/admin.sock --dry-run
  switchboard reload 9000 --publish fleet.toml   # for all servers with this store
  switchboard reload 9000 --token TOKEN          # the admin listener at port 9000";

const LONG: &str = "\
The server also reloads when a file changes, unless it was started with --no-watch, and on SIGHUP. This command tells the outcome: it prints what \
changed, or the errors. With errors, the server keeps its configuration, and the exit code is 10.

With --publish, the server checks the file, and puts it into the store. Servers that share the store then add it to their own configuration, within seconds \
or when they start. Publish an empty file to withdraw it.

It needs an admin listener at a Unix socket, or a token of a caller that `admin.who` names.";

/// Makes a running server read its configuration again, and shows what changed.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
    mut_args(described),
)]
pub(crate) struct Reload {
    #[command(flatten)]
    target: Target,
    /// Publish this file to all servers that share the store and have `store_config = true`. It replaces what was published before.
    #[arg(long, value_name = "FILE")]
    publish: Option<std::path::PathBuf>,
    /// Show what would change, and change nothing.
    #[arg(long)]
    dry_run: bool,
}

/// The options of a server to call, where they are about an admin listener.
fn described(argument: clap::Arg) -> clap::Arg {
    match argument.get_id().as_str() {
        "url" => argument.value_parser(address::listening).help("Admin listener: unix:PATH, a port or a URL"),
        "timeout" => argument.help("How long connecting and the reload may take"),
        "retry" | "repeatable" | "v1" | "extensions" => argument.hide(true),
        _ => argument,
    }
}

impl Reload {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        self.target.format.for_errors();
        self.target.run(async |session| self.ask(session).await)
    }

    async fn ask(&self, session: &Session<'_>) -> Result<(), Failure> {
        let line = session.open().await?;
        let mut params = json!({ "dryRun": self.dry_run });
        if let Some(path) = &self.publish {
            let unreadable = |error| Failure::usage(format!("cannot read {}: {error}", path.display()));
            params["publish"] = std::fs::read_to_string(path).map_err(unreadable)?.into();
        }
        let params = Json::encode(&params).expect("it is JSON");
        let reply = line.ask(Call::new("admin/reload", Some(params))).await;
        let strange = || {
            Failure::new(Exit::Protocol, "the server is not an admin listener")
                .advise("give the URL that the server prints after `Admin on`")
        };
        let Outcome::Value(json) = reply.map_err(|error| self.target.explain(error))?.outcome else {
            return Err(strange());
        };
        let reloaded: Reloaded = json.decode().map_err(|_| strange())?;
        match self.target.format.is_for_people() {
            true => output::page(&page(&reloaded))?,
            false => output::result(&json, self.target.format)?,
        };
        match reloaded.diagnostics.is_empty() {
            true => Ok(()),
            false => Err(Failure::Shown(Exit::Configuration, String::new())),
        }
    }
}

/// The outcome for a person.
fn page(reloaded: &Reloaded) -> String {
    const ERROR: Style = AnsiColor::Red.on_default().bold();
    if !reloaded.diagnostics.is_empty() {
        let errors = reloaded.diagnostics.iter().map(|line| format!("{ERROR}error:{ERROR:#} {line}\n"));
        return errors.collect::<String>() + "The configuration in use stays.\n";
    }
    let changes = match &reloaded.changes[..] {
        [] => "nothing but the files that it names, if any".to_owned(),
        changes => changes.join(", "),
    };
    let what = if reloaded.applied { "Reloaded" } else { "A reload would change" };
    format!("{what}: {changes}. Hash {}.\n", reloaded.hash)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_see_changes_or_errors() {
        let check = |reloaded: &Reloaded, expected: &str| {
            assert_eq!(anstream::adapter::strip_str(&page(reloaded)).to_string(), expected);
        };
        let mut reloaded = Reloaded { hash: "00c0ffee".to_owned(), ..Reloaded::default() };
        reloaded.changes = vec!["route".to_owned(), "upstream a added".to_owned()];
        check(&reloaded, "A reload would change: route, upstream a added. Hash 00c0ffee.\n");
        reloaded.applied = true;
        check(&reloaded, "Reloaded: route, upstream a added. Hash 00c0ffee.\n");
        reloaded.diagnostics = vec!["a.toml:3:1: unknown key `b`".to_owned()];
        check(&reloaded, "error: a.toml:3:1: unknown key `b`\nThe configuration in use stays.\n");
    }
}
