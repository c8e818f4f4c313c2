//! `switchboard watch`: shows the items of a stream and the notifications of the server, and reconnects.

mod pushes;
mod stage;

use std::sync::Arc;

use anstyle::{AnsiColor, Style};
use clap::Args;
use switchboard::reconnect::{self, Backoff, ConnectionState};
use switchboard::{
    Call, CallError, ErrorObject, Json, Outcome, Peer, Reply, Service, StreamWanted, Subscription,
};
use tokio::time::Instant;

use self::pushes::Waiting;
use self::stage::{News, Seen, Shown, Stage};
use crate::failure::Failure;
use crate::layout::Layout;
use crate::mcp_client::Server;
use crate::session::{Line, Session};
use crate::suggest::Asked;
use crate::target::Target;
use crate::visible::visible;
use crate::{call_options, discovery, exit, output, params, units};

const EXAMPLES: &str = "\
Examples:
  switchboard watch ws://127.0.0.1:8000 ticks                     # until Ctrl-C
  switchboard watch http://127.0.0.1:8000 ticks count=3
  switchboard watch ws://127.0.0.1:8000 ticks --count 5
  switchboard watch ws://127.0.0.1:8000 watch --notifications      # notifications too
  switchboard watch ws://127.0.0.1:8000 --notifications            # without a call
  switchboard watch ws://node:8546 eth_subscribe '[\"newHeads\"]'
  switchboard watch ws://node:9944 subscribeHeads --item newHead --unsubscribe unsubscribeHeads
  switchboard watch http://127.0.0.1:8000/mcp --mcp file:///notes  # changes of an MCP server";

const LONG: &str = "\
The items of the stream are printed as they arrive, in a pipe as one JSON text per line. With `--notifications`, the \
notifications from the server are printed too, as objects with `method` and `params`.

If the connection breaks, the client reconnects with growing delays and calls the method again. A gap is reported on stderr if \
items may have been missed. Ctrl-C stops the stream on the server too, and ends with exit code 0.";

/// Shows the items of a stream or a subscription as they arrive, and reconnects if the connection breaks.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
)]
pub(crate) struct Watch {
    #[command(flatten)]
    target: Target,
    /// Method that returns a stream, or opens a subscription.
    #[arg(required_unless_present_any = ["notifications", "mcp"])]
    method: Option<String>,
    /// Parameters, as for `switchboard call`.
    #[arg(allow_negative_numbers = true)]
    params: Vec<String>,
    /// Stop after this many items and notifications.
    #[arg(long, value_name = "COUNT", value_parser = units::count)]
    count: Option<usize>,
    /// Show all notifications from the server.
    #[arg(long)]
    notifications: bool,
    /// Name of the notification that carries the items of the subscription, if the server does not announce it.
    #[arg(long, value_name = "NAME", requires = "unsubscribe")]
    item: Option<String>,
    /// Method that ends the subscription.
    #[arg(long, value_name = "NAME", requires = "item")]
    unsubscribe: Option<String>,
    /// Show changes of the lists of an MCP server, and of the resources whose URIs follow, instead of a stream.
    #[arg(long, conflicts_with_all = ["v1", "notifications", "item", "extensions", "retry"])]
    mcp: bool,
}

impl Watch {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        if self.mcp {
            let server = Server::plain(self.target);
            let resources: Vec<String> = self.method.into_iter().chain(self.params).collect();
            return server.target().run_watching(async |session, interrupt| {
                tokio::select! {
                    outcome = server.watch(session, &resources, self.count) => outcome,
                    _ = interrupt => Ok(()),
                }
            });
        }
        let params = params::read(&self.params)?;
        self.target.run_watching(async |session, interrupt| {
            tokio::select! {
                outcome = self.watch(session, params) => outcome,
                // This is how it is meant to end.
                _ = interrupt => Ok(()),
            }
        })
    }

    async fn watch(&self, session: &Session<'_>, params: Option<Json>) -> Result<(), Failure> {
        let (service, mut pushed) = pushes::pushes(self.notifications);
        let client = session.reconnect(service, self.options());
        let mut states = client.watch();
        let peer = client.peer();
        let mut left = self.count.unwrap_or(usize::MAX);
        let mut news = News::default();
        let mut call = self.call(params);
        let mut until = self.deadline(&states.state());
        let mut stage = match &call {
            Some(call) if self.is_to_learn(call) => {
                let time = self.target.timeout.min(discovery::BRIEFLY);
                stage::learn(&client, call.method.as_str(), time)
            }
            call => self.begin(&peer, call.as_ref())?,
        };
        loop {
            let seen = tokio::select! {
                // Notifications are shown before the reply that they preceded.
                biased;
                Some(push) = pushed.next() => Seen::Item(Shown::Push(push)),
                state = states.next() => Seen::State(state),
                seen = stage.next() => seen,
                () = stage::passed(until), if matches!(stage, Stage::Asking(_)) => {
                    return Err(self.target.explain(CallError::TimedOut));
                }
            };
            match seen {
                Seen::Learned(is_stream) => {
                    if let Some(call) = call.as_mut().filter(|_| is_stream) {
                        call_options::say(call);
                    }
                    until = self.deadline(&states.state());
                    stage = self.begin(&peer, call.as_ref())?;
                }
                Seen::Item(item) => {
                    left -= 1;
                    if let lost @ 1.. = pushed.lost() {
                        output::note(&format!(
                            "warning: {lost} notifications were lost; they arrived too fast\n"
                        ));
                    }
                    if !self.show(&item)? || left == 0 {
                        return Ok(());
                    }
                }
                Seen::Reply(Reply { outcome: Outcome::Value(json), .. }) => {
                    if !self.answered(&json, &mut pushed, &mut left)? {
                        return Ok(());
                    }
                    stage = Stage::Listening;
                }
                Seen::Reply(Reply { outcome: Outcome::Stream(items), .. }) => stage = Stage::Reading(items),
                Seen::Gap(error) => output::note(&format!("warning: {error}\n")),
                Seen::Ended => return Ok(()),
                Seen::Reply(Reply { outcome: Outcome::Error(error), .. }) => {
                    return Err(self.refused(session, &peer, error).await);
                }
                Seen::Failed(error) => return Err(self.target.explain(error.into())),
                Seen::State(state) => {
                    // Without another change it stays as it is: closed.
                    let state = state.unwrap_or_else(|| states.state());
                    until = self.deadline(&state);
                    let is_new = news.tell(state).map_err(|error| self.target.explain(error))?;
                    // What was answered was answered over another connection.
                    if is_new && matches!(stage, Stage::Listening) && call.is_some() {
                        output::note("warning: notifications may have been lost in the meantime\n");
                        stage = self.begin(&peer, call.as_ref())?;
                    }
                }
            }
        }
    }

    /// Whether the server has to say first that it understands the member `stream`.
    fn is_to_learn(&self, call: &Call) -> bool {
        let is_named = call.cx.get::<Arc<Subscription>>().is_some();
        !is_named && !self.target.v1 && !self.target.extensions && !self.target.is_http()
    }

    /// Calls what is to be called, or listens.
    fn begin(&self, peer: &Peer, call: Option<&Call>) -> Result<Stage, Failure> {
        match call {
            Some(call) => Ok(Stage::Asking(Service::call(peer, call))),
            None if self.target.is_http() => {
                Err(Failure::usage("over HTTP, servers cannot send notifications without a call")
                    .advise(format!("name a method, or {}", self.watch_elsewhere())))
            }
            None => Ok(Stage::Listening),
        }
    }

    /// Shows a plain result, after the notifications that came before it. Returns whether anything can follow.
    fn answered(&self, json: &Json, pushed: &mut Waiting, left: &mut usize) -> Result<bool, Failure> {
        while let Some(push) = pushed.next_now() {
            *left -= 1;
            if !self.show(&Shown::Push(push))? || *left == 0 {
                return Ok(false);
            }
        }
        if !output::result(json, self.target.format)? {
            return Ok(false);
        }
        if self.notifications && self.target.is_http() {
            output::note(&format!(
                "warning: over HTTP, no notifications arrive after the answer; {}\n",
                self.watch_elsewhere()
            ));
        } else if !self.notifications && self.is_subscribing() {
            output::note(
                "warning: the answer is one value, not a stream; if it is the identifier of a subscription, name its \
                 notification and the method that ends it with `--item` and `--unsubscribe`, or see all with `--notifications`\n",
            );
        }
        Ok(self.notifications && !self.target.is_http())
    }

    /// Whether the method sounds like one that opens a subscription.
    fn is_subscribing(&self) -> bool {
        self.method.as_deref().is_some_and(|method| method.to_lowercase().contains("subscri"))
    }

    /// Why the method did not return a stream, and what would have been right.
    async fn refused(&self, session: &Session<'_>, peer: &Peer, error: ErrorObject) -> Failure {
        let line = Line::new(peer.clone(), self.target.timeout);
        let method = self.method.as_deref().unwrap_or_default();
        let asked = Asked { method, words: &self.params, listing: &session.listing() };
        session.explain(&line, asked, error.into()).await
    }

    /// When the call must be answered over this connection. While there is none, the time to connect counts.
    fn deadline(&self, state: &ConnectionState) -> Option<Instant> {
        (*state == ConnectionState::Connected).then(|| Instant::now() + self.target.timeout)
    }

    /// Without `--retry`, a server that was never there fails at once, and one that was there is waited for without end.
    fn options(&self) -> reconnect::ReconnectOptions {
        let endless = || Backoff::default().with_initial_attempts(Some(1));
        reconnect::ReconnectOptions::default()
            .with_backoff(self.target.backoff().unwrap_or_else(endless))
            .with_connect_time(self.target.timeout)
            .with_connect_wait(units::LONGEST)
    }

    fn call(&self, params: Option<Json>) -> Option<Call> {
        let method = self.method.as_deref()?;
        // To call it twice is what reconnecting means here.
        let mut call = Call::new(method, params).repeatable();
        call.cx.insert(StreamWanted);
        let names = match (&self.item, &self.unsubscribe) {
            (Some(item), Some(unsubscribe)) => Some(Subscription::named(item.as_str(), unsubscribe.as_str())),
            _ => Subscription::by_name(&call.method),
        };
        if let Some(names) = names {
            call.cx.insert(Arc::new(names));
        }
        Some(call)
    }

    /// Where notifications can arrive at any time.
    fn watch_elsewhere(&self) -> String {
        format!(
            "watch `{}` if the server supports WebSocket",
            visible(&self.target.url.replacen("http", "ws", 1))
        )
    }

    /// Shows an item or a notification. Returns whether stdout is still read.
    fn show(&self, shown: &Shown) -> Result<bool, Failure> {
        const METHOD: Style = AnsiColor::Yellow.on_default();
        match shown {
            Shown::Item(json) => output::result(json, self.target.format),
            Shown::Push(push) if self.target.format.is_for_people() => {
                let params = push.params.as_ref().map_or(String::new(), |params| Layout::Line.of(params));
                let text = format!("{METHOD}{}{METHOD:#} {}\n", visible(&push.method), visible(&params));
                output::page(&text)
            }
            Shown::Push(push) => {
                let json = Json::encode_ref(push).expect("strings and JSON are JSON");
                output::result(&json, self.target.format)
            }
        }
    }
}
