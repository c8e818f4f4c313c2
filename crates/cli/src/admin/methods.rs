//! The methods of the admin listener.

use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use schemars::JsonSchema;
use serde::Serialize;
use switchboard::access::Pattern;
use switchboard::log::{CallLog, LogLevel};
use switchboard::{CallError, Context, ErrorObject, Gap, Stream, service};
use tokio::sync::broadcast::error::RecvError;
use tokio::time::MissedTickBehavior;

use super::Admin;
use super::calls::CallRecord;
use super::health::milliseconds;
use super::sessions::SessionRecord;
use super::stats::{By, Moment, Stats, limits};
use crate::config::ConfigRecord;
use crate::units;

/// How long calls are remembered for those who have asked about the server.
const LOOKING: Duration = Duration::from_secs(5);

/// What can be asked.
pub(super) struct Methods(pub(super) Admin);

/// The server.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct Report {
    name: &'static str,
    version: &'static str,
    pid: u32,
    /// When it started, in milliseconds since 1970.
    started_at: f64,
    /// Whether it stops and takes no more calls.
    draining: bool,
    /// URLs that it listens at.
    listeners: Vec<String>,
    /// Configuration in use.
    config: ConfigRecord,
    /// Level of the call log.
    log_level: String,
    /// Upper limits of the buckets in `admin/stats`, in milliseconds; one more bucket has everything above.
    buckets_ms: Vec<f64>,
}

/// A call and what belongs to it.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
struct Timeline {
    call: CallRecord,
    /// What happened, in order.
    steps: Vec<Step>,
}

/// Something that happened.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(inline)]
struct Step {
    /// Milliseconds since the call began; negative before.
    at: f64,
    name: &'static str,
    detail: String,
}

#[service]
impl Methods {
    /// Describes the server: version, process, addresses, configuration.
    #[method(safe, name = "admin/info")]
    fn info(&self) -> Report {
        let state = &self.0.0;
        // The live page asks every second, and lists calls after it was paused.
        state.calls.watch_for(LOOKING);
        Report {
            name: "switchboard",
            version: env!("CARGO_PKG_VERSION"),
            pid: std::process::id(),
            started_at: milliseconds(state.started),
            draining: self.0.is_draining(),
            listeners: state.listeners.get().cloned().unwrap_or_default(),
            config: state.config.record(),
            log_level: state.log.as_ref().map_or(LogLevel::Off, CallLog::level).to_string(),
            buckets_ms: limits(),
        }
    }

    /// Streams what happens: calls, errors, latency, sessions, and how much each method has of it.
    #[method(safe, name = "admin/stats")]
    fn stats(
        &self,
        /// Length of an interval, such as 500ms; at least 100ms.
        #[arg(default = "1s".to_owned())]
        every: String,
        /// What rows are about: method, transport, who or upstream.
        #[arg(default = By::Method)]
        by: By,
    ) -> Result<impl Stream<Item = Stats> + Send + 'static, ErrorObject> {
        let admin = self.0.clone();
        let period = period(&every)?;
        let watch = admin.0.calls.watch();
        let first = Moment::now(&admin, by);
        let clock = interval(period);
        let state = (admin, clock, first, watch);
        Ok(stream::unfold(state, move |(admin, mut clock, before, watch)| async move {
            clock.tick().await;
            let now = Moment::now(&admin, by);
            let stats = now.since(&before);
            Some((stats, (admin, clock, now, watch)))
        }))
    }

    /// Streams calls as they end, after the most recent ones.
    ///
    /// Of the past, calls that failed or took 100 ms are remembered, and all others while this method or `admin/stats` was watched, or in the seconds after
    /// `admin/info`.
    #[method(safe, name = "admin/calls")]
    fn calls(
        &self,
        /// Only calls of methods like these, such as `math/*`.
        methods: Option<Vec<String>>,
        /// Only calls of this caller.
        who: Option<String>,
        /// Only calls that ended like this, such as `error`; `failed` is everything but `ok`.
        outcome: Option<String>,
        /// Only calls that took longer, such as 100ms.
        slower_than: Option<String>,
        /// How many calls of the past come first, at most 1000.
        #[arg(default = 50)]
        tail: usize,
    ) -> Result<impl Stream<Item = Result<CallRecord, ErrorObject>> + Send + 'static, ErrorObject> {
        let filter = Filter::new(methods, who, outcome, slower_than)?;
        let watch = self.0.0.calls.watch();
        let (past, news) = self.0.0.calls.follow();
        let past: Vec<_> = past.into_iter().filter(|call| filter.takes(call)).collect();
        let past = past[past.len().saturating_sub(tail)..].to_vec();
        let to_come = stream::unfold((news, filter, watch), |(mut news, filter, watch)| async move {
            loop {
                match news.recv().await {
                    Ok(call) if filter.takes(&call) => return Some((Ok(call), (news, filter, watch))),
                    Ok(_) => {}
                    Err(RecvError::Lagged(lost)) => {
                        return Some((
                            Err(CallError::Gap(Gap::overflow(lost)).into()),
                            (news, filter, watch),
                        ));
                    }
                    Err(RecvError::Closed) => return None,
                }
            }
        });
        let all = stream::iter(past).map(Ok).chain(to_come);
        Ok(all.map(|call| call.map(Arc::unwrap_or_clone)))
    }

    /// Returns one of the recent calls with its timeline: its batch, and what it called at its caller.
    #[method(safe, name = "admin/call")]
    fn call(
        &self,
        /// Number of the call, as in `admin/calls`.
        id: u64,
    ) -> Result<Timeline, ErrorObject> {
        let (call, others) = self.0.0.calls.find(id).ok_or_else(|| {
            ErrorObject::validation_failed("there is no such call among those that are remembered")
        })?;
        let began = call.t - call.ms;
        let mut steps = vec![
            Step { at: 0.0, name: "begun", detail: format!("{} over {}", call.method, call.transport) },
            Step { at: call.ms, name: "ended", detail: told(&call) },
        ];
        if let Some(upstream) = &call.upstream {
            steps.push(Step { at: 0.0, name: "routed", detail: routed(&call, upstream) });
        }
        for other in others {
            let entry = other.entry.map_or_else(String::new, |entry| format!("entry {entry}: "));
            let detail = format!("{entry}{}", other.method);
            let ended = format!("{detail} {}", told(&other));
            steps.push(Step { at: rounded(other.t - other.ms - began), name: "entry begun", detail });
            steps.push(Step { at: rounded(other.t - began), name: "entry ended", detail: ended });
        }
        for (number, callback) in (1..).zip(call.callbacks.list()) {
            let detail = format!("call {number}: {}", callback.method);
            let ended = callback.ended.map(|(at, outcome)| (at, format!("{detail} {outcome}")));
            steps.push(Step { at: rounded(callback.began - began), name: "callback begun", detail });
            if let Some((at, detail)) = ended {
                steps.push(Step { at: rounded(at - began), name: "callback ended", detail });
            }
        }
        steps.sort_by(|one, other| one.at.total_cmp(&other.at));
        Ok(Timeline { call: Arc::unwrap_or_clone(call), steps })
    }

    /// Streams the list of open sessions whenever it has changed, oldest session first.
    #[method(safe, name = "admin/sessions")]
    fn sessions(
        &self,
        /// Only those of this caller.
        who: Option<String>,
        /// Only those over this transport, such as ws.
        transport: Option<String>,
        /// How often to look, such as 5s; at least 100ms.
        #[arg(default = "1s".to_owned())]
        every: String,
    ) -> Result<impl Stream<Item = Vec<SessionRecord>> + Send + 'static, ErrorObject> {
        let sessions = self.0.0.sessions.clone();
        let mut clock = interval(period(&every)?);
        clock.reset_immediately();
        let lists = stream::unfold((sessions, clock), move |(sessions, mut clock)| {
            let (who, transport) = (who.clone(), transport.clone());
            async move {
                clock.tick().await;
                let mut list = sessions.list();
                list.retain(|session| {
                    (who.is_none() || session.who == who)
                        && transport.as_deref().is_none_or(|transport| session.transport == transport)
                });
                Some((list, (sessions, clock)))
            }
        });
        Ok(changes(lists))
    }

    /// Closes a session.
    #[method(name = "admin/close")]
    fn close(
        &self,
        /// The identifier of the session, as in `admin/sessions`.
        session: String,
        /// Reason for its caller.
        #[arg(default = "closed by the operator".to_owned())]
        reason: String,
    ) -> Result<bool, ErrorObject> {
        if session.len() < 8 {
            return Err(ErrorObject::invalid_params("`session` needs at least 8 characters"));
        }
        Ok(self.0.0.sessions.close(&session, &reason) > 0)
    }

    /// Sets the level of the call log.
    #[method(name = "admin/log_level")]
    fn log_level(
        &self,
        _cx: &Context,
        /// One of off, error, warn, info, debug.
        level: String,
        /// Only of methods like these, such as `math/*`.
        methods: Option<Vec<String>>,
        /// For how long, such as 5m; then the previous level applies again.
        #[arg(name = "for")]
        duration: Option<String>,
    ) -> Result<bool, ErrorObject> {
        let Some(log) = self.0.0.log.clone() else {
            let text = "the server has no call log; start it with --log-level";
            return Err(ErrorObject::validation_failed(text));
        };
        let level: LogLevel =
            level.parse().map_err(|error| ErrorObject::invalid_params(format!("`level`: {error}")))?;
        let methods = methods.map(|methods| patterns(&methods)).transpose()?;
        let duration = duration.map(|duration| span("for", &duration)).transpose()?;
        let before = log.level();
        match &methods {
            None => log.set_level(level),
            Some(methods) => {
                methods.iter().for_each(|pattern| log.set_level_of(pattern.clone(), Some(level)));
            }
        }
        let Some(duration) = duration else { return Ok(true) };
        tokio::spawn(async move {
            tokio::time::sleep(duration).await;
            match methods {
                Some(methods) => methods.into_iter().for_each(|pattern| log.set_level_of(pattern, None)),
                // Unless it was set again meanwhile.
                None if log.level() == level => log.set_level(before),
                None => {}
            }
        });
        Ok(true)
    }
}

/// Which calls are wanted.
struct Filter {
    methods: Vec<Pattern>,
    who: Option<String>,
    outcome: Option<String>,
    slower_than: Option<Duration>,
}

impl Filter {
    fn new(
        methods: Option<Vec<String>>,
        who: Option<String>,
        outcome: Option<String>,
        slower_than: Option<String>,
    ) -> Result<Filter, ErrorObject> {
        let methods = patterns(&methods.unwrap_or_default())?;
        let slower_than = slower_than.map(|text| span("slower_than", &text)).transpose()?;
        Ok(Filter { methods, who, outcome, slower_than })
    }

    fn takes(&self, call: &CallRecord) -> bool {
        let is_method =
            self.methods.is_empty() || self.methods.iter().any(|pattern| pattern.matches(&call.method));
        let is_outcome = match self.outcome.as_deref() {
            None => true,
            Some("failed") => call.outcome != "ok",
            Some(outcome) => call.outcome == outcome,
        };
        let is_caller = self.who.is_none() || self.who == call.who;
        let is_slow = self.slower_than.is_none_or(|limit| call.ms > limit.as_secs_f64() * 1e3);
        is_method && is_outcome && is_caller && is_slow
    }
}

pub(super) fn patterns(methods: &[String]) -> Result<Vec<Pattern>, ErrorObject> {
    let read = |text: &String| {
        text.parse().map_err(|error| ErrorObject::invalid_params(format!("`methods`: {error}")))
    };
    methods.iter().map(read).collect()
}

/// Where a gateway sent a call, in words.
fn routed(call: &CallRecord, upstream: &str) -> String {
    let node = call.node.as_ref().map_or_else(String::new, |node| format!(", {node}"));
    let attempts = call.attempts.filter(|attempts| *attempts > 1);
    let attempts = attempts.map_or_else(String::new, |attempts| format!(", {attempts} attempts"));
    let cache = call.cache.as_ref().map_or_else(String::new, |cache| format!(", cache {cache}"));
    format!("upstream {upstream}{node}{attempts}{cache}")
}

/// How a call ended, in words.
fn told(call: &CallRecord) -> String {
    let code = call.code.map_or_else(String::new, |code| format!(" {code}"));
    let items = call.items.map_or_else(String::new, |items| format!(" after {items} items"));
    format!("{}{code}{items}", call.outcome)
}

/// The lists that differ from the one before.
pub(super) fn changes<T: Serialize>(lists: impl Stream<Item = Vec<T>>) -> impl Stream<Item = Vec<T>> {
    let mut last = None;
    lists.filter(move |list| {
        let text = serde_json::to_string(list).ok();
        let is_new = text != last;
        last = text;
        std::future::ready(is_new)
    })
}

pub(super) fn period(text: &str) -> Result<Duration, ErrorObject> {
    let period = span("every", text)?;
    match period >= Duration::from_millis(100) {
        true => Ok(period),
        false => Err(ErrorObject::invalid_params("`every` is at least 100ms")),
    }
}

pub(super) fn span(name: &str, text: &str) -> Result<Duration, ErrorObject> {
    units::duration(text).map_err(|error| ErrorObject::invalid_params(format!("`{name}`: {error}")))
}

/// A clock whose first tick comes after one period.
pub(super) fn interval(period: Duration) -> tokio::time::Interval {
    let mut clock = tokio::time::interval_at(tokio::time::Instant::now() + period, period);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    clock
}

fn rounded(ms: f64) -> f64 {
    (ms * 1e3).round() / 1e3
}
