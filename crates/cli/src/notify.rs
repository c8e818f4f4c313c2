//! `switchboard notify`: sends a notification.

use clap::Args;
use switchboard::Call;

use crate::failure::Failure;
use crate::target::Target;
use crate::{exit, params};

const EXAMPLES: &str = "\
Examples:
  switchboard notify http://127.0.0.1:8000 logEvent message=hello
  switchboard notify ws://127.0.0.1:8000 update 1 2 3
  switchboard notify tcp://127.0.0.1:4000 update '[1, 2]' --retry 5 -v";

const LONG: &str = "\
A notification has no answer, so nothing is printed, and nobody learns whether the method exists. What is told is whether \
it could be sent, and over HTTP whether the server took it.";

/// Sends a notification, which has no answer.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
)]
pub(crate) struct Notify {
    #[command(flatten)]
    target: Target,
    /// The method to notify, such as logEvent.
    method: String,
    /// The parameters, written as for `switchboard call`.
    #[arg(allow_negative_numbers = true)]
    params: Vec<String>,
}

impl Notify {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let params = params::read(&self.params)?;
        self.target.run(async |session| {
            let line = session.open().await?;
            let call = Call::notification(self.method.as_str(), params);
            line.ask(call).await.map_err(|error| self.target.explain(error))?;
            Ok(())
        })
    }
}
