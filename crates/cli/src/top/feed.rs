//! What the admin listener sends, over connections that are made again when they break.

use std::time::Duration;

use futures_util::StreamExt;
use futures_util::stream::{SelectAll, select_all};
use serde_json::{Value, json};
use switchboard::reconnect::Backoff;
use switchboard::{Call, CallError, Code, ErrorObject, Items, Json, Outcome, StreamWanted};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep, timeout};

use super::item::{EndedCall, Info};
use super::state::{CALLS, Calls, Wanted};
use super::upstreams::Upstream;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::{Line, Session};
use crate::{call_options, shell};

/// How often the server is asked whether it is draining.
const INFO: Duration = Duration::from_secs(2);
/// The longest delay between two attempts to reconnect.
const LONGEST_DELAY: Duration = Duration::from_secs(5);
/// News that may wait to be shown. While there is no room, nothing is read, and the server drops calls.
pub(super) const WAITING: usize = 256;

/// What happens, and what was asked for when it was sent: a moment after a key, that may be something else.
pub(super) type Sent = (Wanted, News);

/// What happens.
#[derive(Debug)]
pub(super) enum News {
    /// The server is there.
    Info(Info),
    /// An interval is over: an item of `admin/stats`, as received.
    Stats(Json),
    Call(EndedCall),
    /// So many calls could not be sent in time.
    Missed(u64),
    /// The upstreams of a gateway, which have changed.
    Upstreams(Vec<Upstream>),
    /// The connection is lost for this reason, and is made again.
    Lost(String),
}

/// An admin listener.
pub(super) struct Feed<'a> {
    pub(super) session: &'a Session<'a>,
    /// Length of an interval.
    pub(super) every: Duration,
    /// Calls that take longer are slow.
    pub(super) slow: Duration,
}

impl Feed<'_> {
    /// Connects. Fails if this is not an admin listener.
    pub(super) async fn open(&self) -> Result<(Line, Info), Failure> {
        let line = self.session.open().await.map_err(|failure| self.advise(failure))?;
        let info = self.info(&line).await?;
        Ok((line, info))
    }

    /// Sends news without end, over this connection and those that follow.
    pub(super) async fn follow(
        &self,
        mut line: Line,
        mut wanted: watch::Receiver<Wanted>,
        news: &mpsc::Sender<Sent>,
    ) {
        loop {
            let Err(mut failure) = self.read(&line, &mut wanted, news).await else { return };
            let backoff = Backoff::default().with_longest(LONGEST_DELAY).with_jitter(0.5);
            for delay in backoff.delays() {
                let now = *wanted.borrow();
                if news.send((now, News::Lost(reason(failure)))).await.is_err() {
                    return;
                }
                sleep(delay).await;
                match self.open().await {
                    Ok((new, info)) => {
                        line = new;
                        let _ = news.send((now, News::Info(info))).await;
                        break;
                    }
                    Err(again) => failure = again,
                }
            }
        }
    }

    /// Sends news until the connection fails, or the receiver is gone.
    async fn read(
        &self,
        line: &Line,
        wanted: &mut watch::Receiver<Wanted>,
        news: &mpsc::Sender<Sent>,
    ) -> Result<(), Failure> {
        let mut info = interval_at(Instant::now() + INFO, INFO);
        info.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            let now = *wanted.borrow_and_update();
            let mut stats = self.stats(line, now).await?;
            let mut calls = self.calls(line, now.calls).await?;
            let mut upstreams = self.upstreams(line, now.calls).await?;
            loop {
                let new = tokio::select! {
                    item = stats.next() => Some(News::Stats(item?)),
                    Some(item) = calls.next() => call(item).map_err(|error| self.explain(error))?,
                    Some(item) = upstreams.next() => list(item).map_err(|error| self.explain(error))?,
                    _ = info.tick() => Some(News::Info(self.info(line).await?)),
                    changed = wanted.changed() => match changed {
                        Ok(()) => break,
                        Err(_) => return Ok(()),
                    },
                };
                if let Some(new) = new
                    && news.send((now, new)).await.is_err()
                {
                    return Ok(());
                }
            }
        }
    }

    /// What happens in each interval. Fails if an interval does not end in time.
    pub(super) async fn stats(&self, line: &Line, wanted: Wanted) -> Result<Intervals<'_>, Failure> {
        let every = format!("{}ms", self.every.as_millis());
        let params = json!({ "every": every, "by": wanted.by });
        Ok(Intervals { feed: self, items: self.stream(line, "admin/stats", &params).await? })
    }

    /// The calls that are listed: two streams for those that failed and those that took long.
    async fn calls(&self, line: &Line, calls: Calls) -> Result<SelectAll<Items>, Failure> {
        let slow = format!("{}ms", self.slow.as_secs_f64() * 1e3);
        let wanted = match calls {
            Calls::Nothing => vec![],
            Calls::All => vec![json!({ "tail": CALLS })],
            Calls::Notable => vec![
                json!({ "tail": CALLS, "outcome": "failed" }),
                json!({ "tail": CALLS, "slower_than": slow }),
            ],
        };
        let mut streams = Vec::new();
        for params in wanted {
            streams.push(self.stream(line, "admin/calls", &params).await?);
        }
        Ok(select_all(streams))
    }

    /// The upstreams, for the view; none if the listener has no such method.
    async fn upstreams(&self, line: &Line, calls: Calls) -> Result<SelectAll<Items>, Failure> {
        if calls == Calls::Nothing {
            return Ok(SelectAll::new());
        }
        let every = format!("{}ms", self.every.as_millis());
        match self.items(line, "admin/upstreams", &json!({ "every": every })).await {
            Ok(Some(items)) => Ok(select_all([items])),
            Ok(None) => Ok(SelectAll::new()),
            Err(CallError::Rejected(error)) if error.code == Code::METHOD_NOT_FOUND => Ok(SelectAll::new()),
            Err(error) => Err(self.explain(error)),
        }
    }

    async fn info(&self, line: &Line) -> Result<Info, Failure> {
        let answer = line.ask(Call::new("admin/info", None)).await;
        match answer.map(|reply| reply.outcome).map_err(|error| self.explain(error))? {
            Outcome::Value(json) => json.decode().map_err(|_| self.stranger()),
            _ => Err(self.stranger()),
        }
    }

    async fn stream(&self, line: &Line, method: &str, params: &Value) -> Result<Items, Failure> {
        let items = self.items(line, method, params).await.map_err(|error| self.explain(error))?;
        items.ok_or_else(|| self.stranger())
    }

    /// The stream of a method; none if it answers with something else.
    async fn items(&self, line: &Line, method: &str, params: &Value) -> Result<Option<Items>, CallError> {
        let params = Json::encode_ref(params).expect("strings and numbers are JSON");
        let mut call = Call::new(method, Some(params));
        call.cx.insert(StreamWanted);
        if !self.session.target.is_http() {
            call_options::say(&mut call);
        }
        match line.ask(call).await?.outcome {
            Outcome::Stream(items) => Ok(Some(items)),
            _ => Ok(None),
        }
    }

    fn explain(&self, error: CallError) -> Failure {
        match error {
            CallError::Rejected(error) if error.code == Code::METHOD_NOT_FOUND => self.stranger(),
            error => self.advise(self.session.target.explain(error)),
        }
    }

    /// The server is not an admin listener.
    fn stranger(&self) -> Failure {
        let what = format!("{} is not an admin listener", self.session.target.url);
        Failure::new(Exit::Protocol, what)
            .advise("start the server with `switchboard serve --admin 9000`, then run `switchboard top 9000`")
    }

    /// What to do if nothing listens there.
    fn advise(&self, failure: Failure) -> Failure {
        match &failure {
            Failure::Trouble(trouble) if trouble.what.contains("nothing is listening") => {
                failure.advise(format!("start a server with `switchboard serve --admin {}`", self.place()))
            }
            _ => failure,
        }
    }

    /// The listener as `serve --admin` takes it.
    fn place(&self) -> String {
        let url = &self.session.target.url;
        let port = url.strip_prefix("http://127.0.0.1:").or_else(|| url.strip_prefix("http://localhost:"));
        let port = port.map(|port| port.trim_end_matches('/')).and_then(|port| port.parse::<u16>().ok());
        port.map_or_else(|| shell::quoted(url), |port| port.to_string())
    }
}

/// The intervals of `admin/stats`.
pub(super) struct Intervals<'a> {
    feed: &'a Feed<'a>,
    items: Items,
}

impl Intervals<'_> {
    /// Waits for the end of the interval.
    pub(super) async fn next(&mut self) -> Result<Json, Failure> {
        let target = self.feed.session.target;
        match timeout(self.feed.every.saturating_add(target.timeout), self.items.next()).await {
            Ok(Some(item)) => item.map_err(|error| self.feed.explain(error.into())),
            Ok(None) => Err(Failure::new(Exit::Unreachable, "the server ended the stream")),
            Err(_) => Err(target.explain(CallError::TimedOut)),
        }
    }
}

/// An item of `admin/calls`. What cannot be read is left out.
fn call(item: Result<Json, ErrorObject>) -> Result<Option<News>, CallError> {
    match item {
        Ok(json) => Ok(json.decode().ok().map(News::Call)),
        Err(error) => match CallError::from(error) {
            CallError::Gap(gap) => Ok(Some(News::Missed(gap.lost.unwrap_or(0)))),
            error => Err(error),
        },
    }
}

/// An item of `admin/upstreams`. What cannot be read is left out.
fn list(item: Result<Json, ErrorObject>) -> Result<Option<News>, CallError> {
    match item {
        Ok(json) => Ok(json.decode().ok().map(News::Upstreams)),
        Err(error) => match CallError::from(error) {
            // The next list has everything.
            CallError::Gap(_) => Ok(None),
            error => Err(error),
        },
    }
}

/// A failure on one line.
fn reason(failure: Failure) -> String {
    match failure {
        Failure::Rejected(error, _) => error.to_string(),
        Failure::Trouble(trouble) => trouble.what,
        Failure::Shown(..) => "unknown".to_owned(),
    }
}
