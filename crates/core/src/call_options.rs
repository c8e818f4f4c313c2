//! Options that a caller sends with a call: its timeout, whether it wants
//! progress, whether it reads a stream, and metadata.
//!
//! They travel as members of the request that other implementations ignore: `timeoutMs`, a whole number of milliseconds, `progress`,
//! which is true, `stream`, which is true or false, and `metadata`, an object of strings. They are removed when a call arrives, and added again when it is
//! forwarded: with the time that is left, and with progress going back the same way.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use serde::Serialize;
use tokio::sync::mpsc;
use tokio::time::Instant;

use crate::call::{Call, StreamWanted};
use crate::codec::members;
use crate::context::{Context, Version};
use crate::engine::moment_after;
use crate::error::ErrorObject;
use crate::id::Id;
use crate::json::Json;
use crate::metadata::{AllowedNames, Metadata};
use crate::name::Name;
use crate::peer::Peer;
use crate::reply::Outcome;
use crate::service::Service;
use crate::text::Text;
use crate::trace::{CarrierTrace, TraceContext};

const TIMEOUT: &[u8] = b"timeoutMs";
const PROGRESS: &[u8] = b"progress";
const STREAM: &[u8] = b"stream";
const METADATA: &[u8] = b"metadata";

/// The notification that tells progress in our own dialect.
pub(crate) const PROGRESS_METHOD: &str = "rpc.progress";

/// How much progress waits for the caller. More is dropped: the next value is newer anyway.
pub(crate) const PROGRESS_WAITING: usize = 32;

/// Whether a member of a request with this name is an option.
pub(crate) fn is_option(name: &[u8]) -> bool {
    [TIMEOUT, PROGRESS, STREAM, METADATA].contains(&name)
}

/// Takes the options out of the members of a request and puts them into the context; gives what is left of the members.
///
/// If the transport has metadata, a message may add only what `allowed` names.
pub(crate) fn take(all: &Json, id: Option<&Id>, cx: &mut Context, allowed: &AllowedNames) -> Option<Json> {
    let mut rest = Vec::new();
    for (name, value) in members(all.as_bytes()) {
        match &*name {
            TIMEOUT => {
                if let Ok(timeout) = all.sub(value).decode() {
                    cx.expect_within(Duration::from_millis(timeout));
                }
            }
            PROGRESS => {
                if let (b"true", Some(id)) = (value, id) {
                    let token = Json::from_text(Text::copy_from(id.as_bytes()));
                    let (method, member) = (Name::from_static(PROGRESS_METHOD), "id");
                    cx.insert(ProgressTo { method, member, token });
                }
            }
            STREAM => {
                // 1.0 knows no streams.
                if value == b"true" && id.is_some() && cx.version == Version::V2 {
                    cx.insert(StreamWanted);
                } else if value == b"false" {
                    cx.insert(StreamDeclined);
                }
            }
            METADATA => {
                let own = Metadata::from_json(&all.sub(value));
                let of_carrier = TraceContext::of(cx.metadata());
                *cx.metadata_mut() = beside(cx.metadata(), own, allowed);
                if let Some(carrier) = of_carrier.filter(|_| TraceContext::of(cx.metadata()) != of_carrier) {
                    cx.insert(CarrierTrace(carrier));
                }
            }
            name => {
                rest.push(if rest.is_empty() { b'{' } else { b',' });
                let name = String::from_utf8_lossy(name);
                serde_json::to_writer(&mut rest, &name).expect("a string can be written");
                rest.push(b':');
                rest.extend_from_slice(value);
            }
        }
    }
    if rest.is_empty() {
        return None;
    }
    rest.push(b'}');
    Some(Json::from_text(Text::from_vec(rest)))
}

/// The metadata of a message beside that of its transport. A proxy in front may vouch for the transport's, so a message can neither
/// replace that nor add to it, except under names that are allowed. Its place in a trace is more precise than that of the request or
/// handshake that it came with (OBS-C-04, OBS-C-05).
fn beside(carrier: &Metadata, message: Metadata, allowed: &AllowedNames) -> Metadata {
    if carrier.is_empty() {
        return message;
    }
    let own = message.select(allowed);
    let missing = own.entries().into_iter().filter(|(name, _)| carrier.get(name).is_none());
    let both = carrier.and(&missing.map(|(name, value)| (name, Bytes::copy_from_slice(value))).collect());
    TraceContext::of(&own).map(|trace| trace.instead(&both)).unwrap_or(both)
}

/// Says that the caller wants one value, although its transport could carry a stream: it asked for an event stream to hear of
/// progress.
struct StreamDeclined;

/// The options of a call that is sent.
#[derive(Clone, Default)]
pub(crate) struct CallOptions {
    /// The time that its caller still waits.
    pub(crate) left: Option<Duration>,
    /// Whether its caller wants to hear of progress.
    pub(crate) progress: bool,
    /// Whether its caller reads a stream, where there is a choice.
    pub(crate) stream: bool,
    /// What travels beside it, if anything does.
    pub(crate) metadata: Option<Json>,
}

/// The members of a request with these options among them.
pub(crate) fn add(all: Option<&Json>, options: &CallOptions) -> Option<Json> {
    let mut text = match all.map(Json::as_bytes) {
        Some([inside @ .., b'}']) => inside.to_vec(),
        _ => Vec::new(),
    };
    let mut member = |name: &[u8], value: &str| {
        text.extend_from_slice(if text.is_empty() { b"{\"" } else { b",\"" });
        text.extend_from_slice(name);
        text.extend_from_slice(b"\":");
        text.extend_from_slice(value.as_bytes());
    };
    if let Some(left) = options.left {
        member(TIMEOUT, &left.as_millis().to_string());
    }
    if options.progress {
        member(PROGRESS, "true");
    }
    if options.stream {
        member(STREAM, "true");
    }
    if let Some(metadata) = &options.metadata {
        member(METADATA, metadata.as_str());
    }
    if text.is_empty() {
        return None;
    }
    text.push(b'}');
    Some(Json::from_text(Text::from_vec(text)))
}

/// The moment until which a call is worked on whose caller waits this long from now: a little earlier, so that the
/// answer that it took too long still arrives.
pub(crate) fn deadline_within(timeout: Duration) -> Instant {
    moment_after(timeout.saturating_sub((timeout / 20).min(ALLOWANCE)))
}

/// The most time that is left for an answer to travel.
const ALLOWANCE: Duration = Duration::from_millis(50);

/// Where the progress of a call received over a transport goes; among the extensions of its context.
#[derive(Clone)]
pub(crate) struct ProgressTo {
    pub(crate) method: Name,
    pub(crate) member: &'static str,
    pub(crate) token: Json,
}

impl ProgressTo {
    /// Sends it, or says why it cannot be sent.
    pub(crate) fn send(
        &self,
        peer: &Peer,
        value: &Json,
    ) -> impl Future<Output = Result<(), ErrorObject>> + Send + use<> {
        let params = format!("{{\"{}\":{},\"value\":{value}}}", self.member, self.token);
        let params = Json::from_text(Text::from_vec(params.into_bytes()));
        let sent = Service::call(peer, &Call::notification(self.method.clone(), Some(params)));
        async {
            match sent.await.outcome {
                Outcome::Error(error) => Err(error),
                Outcome::Value(_) | Outcome::Stream(_) => Ok(()),
            }
        }
    }
}

/// Where progress goes of a call that this side makes; among the extensions of its context.
#[derive(Clone)]
pub(crate) struct ProgressSender(pub(crate) mpsc::Sender<Json>);

/// Takes the progress of calls with this value in their context, for protocols that report it in their own way. Attach it with
/// [`Context::insert`].
#[derive(Clone)]
pub struct ProgressSink(Arc<dyn Fn(Json) -> Told + Send + Sync>);

/// Done when progress has been passed on.
type Told = Pin<Box<dyn Future<Output = ()> + Send>>;

impl ProgressSink {
    /// Gives each value to this function.
    pub fn new<R>(tell: impl Fn(Json) -> R + Send + Sync + 'static) -> ProgressSink
    where
        R: Future<Output = ()> + Send + 'static,
    {
        ProgressSink(Arc::new(move |value| Box::pin(tell(value))))
    }
}

impl fmt::Debug for ProgressSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ProgressSink(..)")
    }
}

impl Context {
    /// Reports progress to the caller, if it wants progress and the transport can carry it; does nothing
    /// otherwise.
    ///
    /// Progress reported before the method returns arrives before its reply. The future waits while too much is queued;
    /// if there is room, it is sent before the future is first polled.
    pub fn progress<T: Serialize + ?Sized>(&self, value: &T) -> impl Future<Output = ()> + Send + use<T> {
        let mut told = None;
        let sent = match (self.get::<ProgressTo>(), Json::encode_ref(value)) {
            (_, Ok(value)) if self.get::<ProgressSink>().is_some() => {
                told = self.get::<ProgressSink>().map(|sink| (sink.0)(value));
                None
            }
            (Some(to), Ok(value)) => Some(to.send(self.peer(), &value)),
            (None, Ok(value)) => {
                if let Some(sender) = self.get::<ProgressSender>() {
                    drop(sender.0.try_send(value));
                }
                None
            }
            (_, Err(error)) => {
                tracing::debug!(%error, "progress cannot be serialized");
                None
            }
        };
        async {
            if let Some(told) = told {
                told.await;
            }
            if let Some(sent) = sent
                && let Err(error) = sent.await
            {
                tracing::debug!(%error, "progress was not sent");
            }
        }
    }

    /// Whether the caller wants progress.
    #[must_use]
    pub fn wants_progress(&self) -> bool {
        self.get::<ProgressSink>().is_some()
            || self.get::<ProgressTo>().is_some()
            || self.get::<ProgressSender>().is_some()
    }

    /// Whether the caller reads a stream, for methods that can also return one value: it called with
    /// [`Peer::stream`], accepts an event stream over HTTP, or sent the member `"stream": true`. With
    /// `"stream": false` it does not, whatever it accepts.
    ///
    /// A method that always streams need not ask; without a stream its items are collected.
    #[must_use]
    pub fn wants_stream(&self) -> bool {
        self.get::<StreamWanted>().is_some() && self.get::<StreamDeclined>().is_none()
    }

    /// Sets the deadline of a call whose caller waits this long for the response. An earlier deadline stays.
    ///
    /// A twentieth of the time, at most 50 ms, is kept for the response to travel.
    pub fn expect_within(&mut self, timeout: Duration) {
        let deadline = deadline_within(timeout);
        self.deadline = Some(self.deadline.map_or(deadline, |earlier| earlier.min(deadline)));
    }

    /// The time left until the caller's timeout, if it sent one.
    #[must_use]
    pub fn time_left(&self) -> Option<Duration> {
        self.deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(text: &'static str) -> (Option<String>, Context) {
        let mut cx = Context::default();
        let rest = take(&Json::parse(text).unwrap(), Some(&Id::from(7)), &mut cx, &AllowedNames::none());
        (rest.map(|rest| rest.to_string()), cx)
    }

    #[tokio::test(start_paused = true)]
    async fn options_are_taken_off_and_the_rest_stays() {
        let (rest, cx) = taken(r#"{"a":1,"timeoutMs":1000,"b\n":[2],"progress":true,"stream":true}"#);
        assert_eq!(rest.as_deref(), Some(r#"{"a":1,"b\n":[2]}"#));
        assert_eq!(cx.time_left(), Some(Duration::from_millis(950)));
        assert!(cx.wants_progress());
        assert!(cx.wants_stream());
    }

    #[tokio::test(start_paused = true)]
    async fn invalid_options_are_dropped() {
        for text in
            [r#"{"timeoutMs":"soon"}"#, r#"{"timeoutMs":-1}"#, r#"{"progress":1}"#, r#"{"stream":"true"}"#]
        {
            let (rest, cx) = taken(text);
            assert_eq!((rest, cx.deadline), (None, None), "{text}");
            assert!(!cx.wants_progress() && !cx.wants_stream(), "{text}");
        }
    }

    // OBS-C-04
    #[test]
    fn the_trace_of_a_message_goes_before_that_of_its_carrier() {
        let [near, far] = [
            "00-1bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
            "00-2bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        ];
        let carrier =
            || Metadata::from_iter([("traceparent", far), ("tracestate", "a=1"), ("x-user", "ann")]);
        let beside = |message: &[(&'static str, &'static str)]| {
            let names = ["traceparent", "tracestate"].into_iter().collect();
            let both = beside(&carrier(), Metadata::from_iter(message.iter().copied()), &names);
            ["traceparent", "tracestate", "x-user"].map(|name| both.text(name).map(str::to_owned))
        };
        let own = Some("ann".to_owned());
        assert_eq!(beside(&[("traceparent", near)]), [Some(near.to_owned()), None, own.clone()]);
        assert_eq!(beside(&[("traceparent", "wrong")]), [Some(far.to_owned()), Some("a=1".to_owned()), own]);
    }

    #[test]
    fn a_message_adds_only_what_is_allowed_to_the_metadata_of_its_carrier() {
        let taken = |carrier: Metadata| {
            let mut cx = Context::default().with_metadata(carrier);
            let text = r#"{"metadata":{"X-User":"bob","X-Admin":"yes","traceparent":"00-1","n":1},"rest":2}"#;
            let rest = take(&Json::parse(text).unwrap(), None, &mut cx, &AllowedNames::default());
            assert_eq!(rest.as_ref().map(Json::as_str), Some(r#"{"rest":2}"#));
            let names = ["x-user", "x-admin", "traceparent", "n"];
            names.map(|name| cx.metadata().text(name).map(str::to_owned)).map(Option::unwrap_or_default)
        };
        assert_eq!(taken(Metadata::from_iter([("x-user", "ann")])), ["ann", "", "00-1", ""]);
        assert_eq!(taken(Metadata::default()), ["bob", "yes", "00-1", ""]);
    }

    #[test]
    fn who_declines_a_stream_wants_none_whatever_its_carrier_says() {
        let (rest, mut cx) = taken(r#"{"stream":false,"progress":true}"#);
        cx.insert(StreamWanted);
        assert_eq!((rest, cx.wants_stream(), cx.wants_progress()), (None, false, true));
    }

    #[tokio::test(start_paused = true)]
    async fn the_allowance_is_small_for_short_times_and_for_long_ones() {
        let left = |ms| deadline_within(Duration::from_millis(ms)) - Instant::now();
        assert_eq!(left(100), Duration::from_millis(95));
        assert_eq!(left(60_000), Duration::from_millis(59_950));
        assert_eq!(left(0), Duration::ZERO);
    }

    #[test]
    fn options_stand_behind_the_other_members() {
        let all = Json::parse(r#"{"a":1}"#).unwrap();
        let check = |all: Option<&Json>, options: CallOptions, expected: Option<&str>| {
            assert_eq!(add(all, &options).as_ref().map(Json::as_str), expected);
        };
        let none = CallOptions::default();
        let left = Some(Duration::from_millis(5));
        check(None, none.clone(), None);
        check(Some(&all), none.clone(), Some(r#"{"a":1}"#));
        check(
            Some(&all),
            CallOptions { left, progress: true, stream: true, ..none.clone() },
            Some(r#"{"a":1,"timeoutMs":5,"progress":true,"stream":true}"#),
        );
        check(None, CallOptions { left, ..none.clone() }, Some(r#"{"timeoutMs":5}"#));
        let metadata = Metadata::from_iter([("a", "b")]).to_json();
        check(None, CallOptions { metadata, ..none }, Some(r#"{"metadata":{"a":"b"}}"#));
    }
}
