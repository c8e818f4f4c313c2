//! `switchboard call`: calls one method and shows its answer.

use clap::Args;
use futures_util::StreamExt;
use http::header::ACCEPT;
use switchboard::{CallError, Items, Json, Outcome, StreamWanted};

use crate::failure::Failure;
use crate::mcp_client::Server;
use crate::session::{Line, Session};
use crate::suggest::Asked;
use crate::target::Target;
use crate::{call_options, exit, output, params};

const EXAMPLES: &str = "\
Examples:
  switchboard call http://127.0.0.1:8000 math/add a=2 b=3
  switchboard call http://127.0.0.1:8000 math/add 2 3
  switchboard call http://127.0.0.1:8000 math/add '{\"a\": 2, \"b\": 3}'
  switchboard call ws://127.0.0.1:8000 ticks count=3          # a stream: one item per line
  switchboard call ws://127.0.0.1:8000 ai/generate prompt='to be' --stream
  switchboard call 'exec:switchboard serve --stdio' math/add 2 3
  echo '[2, 3]' | switchboard call http://127.0.0.1:8000 math/add -
  switchboard call http://127.0.0.1:8000 echo '\"5\"'           # the string, not the number
  switchboard call http://127.0.0.1:8000 echo '\"a=b\"'         # the string, not the parameter `a`
  switchboard call http://127.0.0.1:8000 math/add 2 3 -v      # show the messages
  switchboard call tcp://127.0.0.1:4000 math/add 2 3 --retry 5
  switchboard call http://127.0.0.1:8000/mcp tools/list --mcp  # a method of MCP";

const LONG: &str = "\
On a terminal, the result is formatted and coloured, unless NO_COLOR is set. In a pipe, it is the JSON text as received. The \
items of a stream are printed as they arrive; Ctrl-C cancels the stream on the server.

Errors go to stderr. In a pipe, an error from the server is one line of JSON. If the method is unknown or its parameters are wrong, the server is asked \
for its description (rpc.discover), and the error says what would be right.";

/// Calls a method and prints its result.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
)]
pub(crate) struct Call {
    #[command(flatten)]
    target: Target,
    /// Method to call, such as math/add.
    method: String,
    /// Parameters: either name=value pairs, or values by position, or one JSON array or object, or `-` to read JSON from stdin.
    /// Values are parsed as JSON if possible; otherwise they are strings.
    #[arg(allow_negative_numbers = true)]
    params: Vec<String>,
    /// Send a notification, which gets no answer. Nothing is printed.
    #[arg(long)]
    notify: bool,
    /// Ask for a stream from a method that can also answer with one value. Over HTTP this is the default. Other transports need
    /// the request member `stream`, which Switchboard servers understand and other servers may reject.
    #[arg(long, conflicts_with_all = ["v1", "notify"])]
    stream: bool,
    /// Call a method of an MCP server, such as tools/list, or the tool of this name. `switchboard tools` does more.
    #[arg(long, conflicts_with_all = ["v1", "notify", "stream", "extensions", "retry"])]
    mcp: bool,
}

impl Call {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        if self.mcp {
            return Server::plain(self.target).call(&self.method, &self.params);
        }
        let params = params::read(&self.params)?;
        self.target.run(async |session| self.call(session, params).await)
    }

    /// Calls, and prints the result, or the items of a stream as they arrive.
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
            Ok(Outcome::Error(error)) => Err(self.explain(session, &line, error.into()).await),
            Err(error) => Err(self.explain(session, &line, error).await),
        }
    }

    async fn explain(&self, session: &Session<'_>, line: &Line, error: CallError) -> Failure {
        let asked = Asked { method: &self.method, words: &self.params, listing: &session.listing() };
        session.explain(line, asked, error).await
    }

    async fn show(&self, mut items: Items) -> Result<(), Failure> {
        while let Some(item) = items.next().await {
            match item.map_err(CallError::from) {
                Ok(json) if output::result(&json, self.target.format)? => {}
                // The reader has seen enough.
                Ok(_) => break,
                // The stream goes on.
                Err(CallError::Gap(gap)) => output::note(&format!("warning: {gap}\n")),
                Err(error) => return Err(self.target.explain(error)),
            }
        }
        Ok(())
    }
}
