//! `switchboard key`: makes API keys for `switchboard serve --keys`.

use std::io::{self, IsTerminal as _};
use std::time::{Duration, SystemTime};

use clap::{Args, Subcommand};
use switchboard::identity::{Identity, NewApiKey, Proof};

use crate::failure::Failure;
use crate::{exit, output, units};

const EXAMPLES: &str = "\
Examples:
  switchboard key new alice >> keys.txt              # shows the key; its line is in the file
  switchboard key new ci --role deploy --scope files:write --expires 90d >> keys.txt
  KEY=$(switchboard key new ci 2>&1 >> keys.txt)     # for scripts: the key, and nothing else
  chmod 600 keys.txt
  switchboard serve --keys keys.txt
  switchboard call http://127.0.0.1:8000 rpc.whoami --token \"$KEY\"";

const LONG: &str = "\
Standard output gets only the line for the file, which does not reveal the key. Standard error gets the key: it is shown once and \
stored nowhere. If standard error is not a terminal, it gets the key and nothing else.

To revoke a key, delete its line; the server notices within 5 seconds. To rotate one, add a second key with the same name, and \
delete the first when it is no longer used.";

/// Makes API keys for `switchboard serve --keys`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP))]
pub(crate) struct Key {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    New(New),
}

/// Makes a key: prints the line for the key file to stdout, and the key to stderr.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES, after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP))]
struct New {
    /// Name of the caller, as access rules and logs show it.
    name: String,
    /// Role of the caller. Can be repeated.
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<String>,
    /// What the key may be used for. Can be repeated.
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// How long the key is valid, such as 90d or 12h. Without it the key does not expire.
    #[arg(long, value_name = "DURATION", value_parser = units::lifetime)]
    expires: Option<Duration>,
}

impl Key {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        match self.command {
            Command::New(new) => new.run(),
        }
    }
}

impl New {
    fn run(self) -> Result<(), Failure> {
        let mut identity =
            Identity::new(&self.name, Proof::ApiKey).with_roles(self.roles).with_scopes(self.scopes);
        identity.expires = self.expires.and_then(|time| SystemTime::now().checked_add(time));
        let new = NewApiKey::generate(&identity).map_err(|_| {
            Failure::usage("names, roles and scopes must be ASCII letters, digits and punctuation")
                .advise("write them without spaces and commas, such as `alice` or `files:read`")
        })?;
        output::note(&told(&self.name, &new));
        output::bytes(format!("{}\n", new.line).as_bytes()).map(drop)
    }
}

/// What stderr gets: the key, and for a person what to do with it.
fn told(name: &str, new: &NewApiKey) -> String {
    if !io::stderr().is_terminal() {
        return format!("{}\n", new.key);
    }
    let next = match io::stdout().is_terminal() {
        true => "The line for the key file (`switchboard serve --keys FILE`), which is not a secret:\n\n",
        false => "The line for it went to standard output. Only you may read that file: chmod 600 FILE\n",
    };
    format!("The key of {name}. It is shown only once:\n\n{}\n\n{next}", new.key)
}
