//! `switchboard key`: makes API keys for `switchboard serve --keys`, and keys that sign calls.

use std::io::{self, IsTerminal as _};
use std::time::{Duration, SystemTime};

use clap::{Args, Subcommand, ValueEnum};
use switchboard::identity::{Identity, NewApiKey, Proof};
use switchboard::signing::{Key as SigningKey, SigningAlgorithm};

use crate::failure::Failure;
use crate::{exit, output, units};

const EXAMPLES: &str = "\
Examples:
  switchboard key new alice >> keys.txt              # shows the key; the file gets its line
  switchboard key new ci --role deploy --scope files:write --expires 90d >> keys.txt
  KEY=$(switchboard key new ci 2>&1 >> keys.txt)     # for scripts: the key, and nothing else
  chmod 600 keys.txt
  switchboard serve --keys keys.txt
  switchboard key new alice --sign >> signing.txt 2> alice.key  # a key that signs calls
  switchboard call http://127.0.0.1:8000 rpc.whoami --token \"$KEY\"";

const LONG: &str = "\
Standard output gets only the line for the file, which does not reveal the key. Standard error gets the key: it is shown once and \
stored nowhere. If standard error is not a terminal, it gets the key and nothing else.

With --sign, standard output gets the line for the server's file (`switchboard serve --signing-keys`), and standard error gets the line for \
the client's file (`switchboard call --sign`). For hmac-sha256, both have the same secret; for ed25519, only the second one is secret.

To revoke a key, delete its line; the server notices within 5 seconds. To rotate one, add a second key with the same name, and \
delete the first when it is no longer used.";

/// Makes API keys and keys that sign calls.
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
    /// Name of the caller in access rules and logs.
    name: String,
    /// Role of the caller. Can be repeated.
    #[arg(long = "role", value_name = "ROLE")]
    roles: Vec<String>,
    /// Scope of the key: what it may be used for. Can be repeated.
    #[arg(long = "scope", value_name = "SCOPE")]
    scopes: Vec<String>,
    /// How long the key is valid, such as 90d or 12h. By default, the key does not expire.
    #[arg(long, value_name = "DURATION", value_parser = units::lifetime)]
    expires: Option<Duration>,
    /// Make a key that signs calls, instead of an API key. Scopes are then method patterns.
    #[arg(long, value_name = "ALGORITHM", num_args = 0..=1, default_missing_value = "ed25519", conflicts_with = "roles")]
    sign: Option<Algorithm>,
}

/// How a key signs.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Algorithm {
    Ed25519,
    HmacSha256,
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
        if let Some(algorithm) = self.sign {
            return self.make_signer(algorithm);
        }
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

    fn make_signer(self, algorithm: Algorithm) -> Result<(), Failure> {
        let algorithm = match algorithm {
            Algorithm::Ed25519 => SigningAlgorithm::Ed25519,
            Algorithm::HmacSha256 => SigningAlgorithm::HmacSha256,
        };
        // A key id is never used again for another key.
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let kid = format!("{}-{:x}", self.name, now.as_secs());
        let new = SigningKey::generate(&kid, algorithm, &self.name).map_err(|error| {
            Failure::usage(error.to_string()).advise("use letters, digits, `.`, `_` and `-` for the name")
        })?;
        let mut rest = String::new();
        if !self.scopes.is_empty() {
            rest.push_str(&format!(" scopes={}", self.scopes.join(",")));
        }
        if let Some(until) = self.expires.and_then(|time| SystemTime::now().checked_add(time)) {
            let seconds = until.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
            rest.push_str(&format!(" until={seconds}"));
        }
        let line = format!("{}{rest}", new.verifier);
        line.parse::<SigningKey>().map_err(|error| Failure::usage(error.to_string()))?;
        let name = &self.name;
        output::note(&match io::stderr().is_terminal() {
            false => format!("{}\n", new.signer),
            true => format!(
                "The line for the key file of {name} (`switchboard call --sign FILE`). It is a secret:\n\n{}\n\nThe line for the server (`switchboard serve --signing-keys FILE`):\n\n",
                new.signer
            ),
        });
        output::bytes(format!("{line}\n").as_bytes()).map(drop)
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
