//! `switchboard watch`: shows the items of a stream and what the far side pushes, through every connection to come.

mod pushes;
mod stage;

use std::sync::Arc;

use anstyle::{AnsiColor, Style};
use clap::Args;
use switchboard::reconnect::{self, Backoff, State};
use switchboard::{
    Call, CallError, ErrorObject, Json, Outcome, Peer, Reply, Service, StreamWanted, Subscription,
};
use tokio::time::Instant;

use self::pushes::Waiting;
use self::stage::{News, Seen, Shown, Stage};
use crate::failure::Failure;
use crate::layout::{Layout, visible};
use crate::session::{Line, Session};
use crate::target::Target;
use crate::{call_options, discovery, exit, output, params, units};

const EXAMPLES: &str = "\
Examples:
  switchboard watch ws://127.0.0.1:8000 ticks                     # until Ctrl-C
  switchboard watch http://127.0.0.1:8000 ticks count=3
  switchboard watch ws://127.0.0.1:8000 ticks --count 5
  switchboard watch ws://127.0.0.1:8000 watch --notifications      # what the server pushes
  switchboard watch ws://127.0.0.1:8000 --notifications            # without calling anything
  switchboard watch ws://node:8546 eth_subscribe '[\"newHeads\"]'
  switchboard watch ws://node:9944 subscribeHeads --item newHead --unsubscribe unsubscribeHeads";

const LONG: &str = "\
The items of the stream are printed as they come, one JSON text a line in a pipe. With `--notifications` all that the far \
side sends by itself is printed as well, as objects with `method` and `params`.

When the connection breaks, it reconnects with growing delays and calls the method again. What may have been missed is \
reported on stderr as a gap. Ctrl-C ends the stream on the server, too.";

/// Shows the items of a stream or a subscription as they arrive, and reconnects when the connection breaks.
#[derive(Debug, Args)]
#[command(
    after_help = EXAMPLES,
    after_long_help = format!("{EXAMPLES}\n\n{LONG}\n\n{}", exit::HELP),
)]
pub(crate) struct Watch {
    #[command(flatten)]
    target: Target,
    /// The method that answers with a stream, or opens a subscription.
    #[arg(required_unless_present = "notifications")]
    method: Option<String>,
    /// The parameters, written as for `switchboard call`.
    #[arg(allow_negative_numbers = true)]
    params: Vec<String>,
    /// End after so many items and notifications.
    #[arg(long, value_name = "COUNT", value_parser = units::count)]
    count: Option<usize>,
    /// Show all notifications of the far side.
    #[arg(long)]
    notifications: bool,
    /// The notification that carries the items of the subscription, where the far side does not say so itself.
    #[arg(long, value_name = "NAME", requires = "unsubscribe")]
    item: Option<String>,
    /// The method that ends the subscription.
    #[arg(long, value_name = "NAME", requires = "item")]
    unsubscribe: Option<String>,
}

impl Watch {
    /// Runs the command.
    pub(crate) fn run(self) -> Result<(), Failure> {
        let params = params::read(&self.params)?;
        self.target.run(async |session| self.watch(session, params).await)
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
                // What was pushed before a reply is shown before it.
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
                            "warning: {lost} notifications were lost; they came too fast\n"
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
                        output::note("warning: notifications may have been lost meanwhile\n");
                        stage = self.begin(&peer, call.as_ref())?;
                    }
                }
            }
        }
    }

    /// Whether the far side has to say first that it understands the wish for a stream.
    fn is_to_learn(&self, call: &Call) -> bool {
        let is_named = call.cx.get::<Arc<Subscription>>().is_some();
        !is_named && !self.target.v1 && !self.target.extensions && !self.target.is_http()
    }

    /// Calls what is to be called, or listens.
    fn begin(&self, peer: &Peer, call: Option<&Call>) -> Result<Stage, Failure> {
        match call {
            Some(call) => Ok(Stage::Asking(Service::call(peer, call))),
            None if self.target.is_http() => {
                Err(Failure::usage("over HTTP nothing comes but in answer to a call")
                    .advise(format!("name a method, or {}", self.watch_elsewhere())))
            }
            None => Ok(Stage::Listening),
        }
    }

    /// Shows a plain result, after what was pushed before it; tells whether anything can follow.
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
                "warning: over HTTP nothing comes after the answer; {}\n",
                self.watch_elsewhere()
            ));
        } else if !self.notifications && self.is_subscribing() {
            output::note(
                "warning: this is one value and no stream; if it names a subscription, say by `--item` and `--unsubscribe` \
                 what belongs to it, or see all that comes with `--notifications`\n",
            );
        }
        Ok(self.notifications && !self.target.is_http())
    }

    /// Whether the method sounds like one that opens a subscription.
    fn is_subscribing(&self) -> bool {
        self.method.as_deref().is_some_and(|method| method.to_lowercase().contains("subscri"))
    }

    /// Why the method was not answered with a stream, and what would have been right.
    async fn refused(&self, session: &Session<'_>, peer: &Peer, error: ErrorObject) -> Failure {
        let line = Line::new(peer.clone(), self.target.timeout);
        let method = self.method.as_deref().unwrap_or_default();
        session.explain(&line, method, error.into(), &session.listing()).await
    }

    /// When what is asked over this connection must be answered. Without one that is dialling's to say.
    fn deadline(&self, state: &State) -> Option<Instant> {
        (*state == State::Connected).then(|| Instant::now() + self.target.timeout)
    }

    /// Without `--retry`, a server that was never there fails at once, and one that was there is waited for without end.
    fn options(&self) -> reconnect::Options {
        let endless = || Backoff { initial_attempts: Some(1), ..Backoff::default() };
        reconnect::Options {
            backoff: self.target.backoff().unwrap_or_else(endless),
            connect_time: self.target.timeout,
            connect_wait: units::LONGEST,
            ..reconnect::Options::default()
        }
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

    /// Where more could come than over HTTP.
    fn watch_elsewhere(&self) -> String {
        format!("watch `{}`, if it is served there", visible(&self.target.url.replacen("http", "ws", 1)))
    }

    /// Shows an item or a notification; tells whether anybody reads on.
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
