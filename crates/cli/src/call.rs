//! `switchboard call`: calls one method and shows what it answers.

use clap::Args;
use futures_util::StreamExt;
use http::header::ACCEPT;
use switchboard::{CallError, Items, Json, Outcome, StreamWanted};

use crate::failure::Failure;
use crate::session::Session;
use crate::target::Target;
use crate::{call_options, exit, output, params};

const EXAMPLES: &str = "\
Examples:
  switchboard call http://127.0.0.1:8000 math/add a=2 b=3
  switchboard call http://127.0.0.1:8000 math/add 2 3
  switchboard call http://127.0.0.1:8000 math/add '{\"a\": 2, \"b\": 3}'
  switchboard call ws://127.0.0.1:8000 ticks count=3          # a stream: one item a line
  switchboard call ws://127.0.0.1:8000 ai/generate prompt='to be' --stream
  switchboard call 'exec:switchboard serve --stdio' math/add 2 3
  echo '[2, 3]' | switchboard call http://127.0.0.1:8000 math/add -
  switchboard call http://127.0.0.1:8000 echo message='\"5\"'   # the string, not the number
  switchboard call http://127.0.0.1:8000 math/add 2 3 -v      # with all that is sent and received
  switchboard call tcp://127.0.0.1:4000 math/add 2 3 --retry 5";

const LONG: &str = "\
On a terminal the result is laid out with colours, unless NO_COLOR is set. In a pipe it is the JSON text as it was \
received. The items of a stream are printed as they come, and Ctrl-C cancels it on the far side. An error of the far \
side goes to stderr, in a pipe as one line of JSON.";

/// Calls a method and prints its result.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
)]
pub(crate) struct Call {
    #[command(flatten)]
    target: Target,
    /// The method to call, such as math/add.
    method: String,
    /// The parameters: name=value each, or values by position, or one JSON array or object, or `-` for JSON from
    /// stdin. A value is JSON if it can be, a string otherwise.
    #[arg(allow_negative_numbers = true)]
    params: Vec<String>,
    /// Send a notification: there is no answer, and nothing is printed.
    #[arg(long)]
    notify: bool,
    /// Ask for a stream where a method can also answer with one value. Over HTTP that is always done; elsewhere it takes the
    /// member `stream` of the request, which servers of Switchboard understand and others may refuse.
    #[arg(long, conflicts_with_all = ["v1", "notify"])]
    stream: bool,
}

impl Call {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let params = params::read(&self.params)?;
        self.target.run(async |session| self.call(session, params).await)
    }

    /// Calls, and prints what comes back: a result, or the items of a stream as they come.
    async fn call(&self, session: &Session<'_>, params: Option<Json>) -> Result<(), Failure> {
        let line = session.open().await?;
        let mut call = match self.notify {
            true => switchboard::Call::notification(self.method.as_str(), params),
            false => switchboard::Call::new(self.method.as_str(), params),
        };
        if !self.target.v1 && !self.target.has_header(&ACCEPT) {
            call.cx.insert(StreamWanted);
        }
        if self.stream && !self.target.extensions && !self.target.is_http() {
            call_options::say(&mut call);
        }
        match line.ask(call).await.map(|reply| reply.outcome) {
            Ok(_) if self.notify => Ok(()),
            Ok(Outcome::Value(json)) => output::result(&json, self.target.format).map(|_| ()),
            Ok(Outcome::Stream(items)) => self.show(items).await,
            Ok(Outcome::Error(error)) => {
                Err(session.explain(&line, &self.method, error.into(), &session.listing()).await)
            }
            Err(error) => Err(session.explain(&line, &self.method, error, &session.listing()).await),
        }
    }

    async fn show(&self, mut items: Items) -> Result<(), Failure> {
        while let Some(item) = items.next().await {
            match item.map_err(CallError::from) {
                Ok(json) if output::result(&json, self.target.format)? => {}
                // Whoever read has seen enough.
                Ok(_) => break,
                // The stream goes on.
                Err(CallError::Gap(gap)) => output::note(&format!("warning: {gap}\n")),
                Err(error) => return Err(self.target.explain(error)),
            }
        }
        Ok(())
    }
}
