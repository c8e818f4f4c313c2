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
A notification gets no answer, so nothing is printed, and you cannot tell whether the method exists. The exit code only says \
whether it could be sent, and over HTTP whether the server accepted it.";

/// Sends a notification, which gets no answer.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
)]
pub(crate) struct Notify {
    #[command(flatten)]
    target: Target,
    /// Method to notify, such as logEvent.
    method: String,
    /// Parameters, as for `switchboard call`.
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
