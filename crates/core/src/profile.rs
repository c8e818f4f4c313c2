//! Dialects: how protocol families express what JSON-RPC itself does not define.

use crate::admission::SharedAdmission;
use crate::call_options::PROGRESS_METHOD;
use crate::code::Code;
use crate::context::Version;
use crate::limits::Limits;
use crate::metadata::AllowedNames;
use crate::name::Name;
use crate::observer::SharedObserver;
use crate::session::Session;
use crate::tap::Tap;

/// The dialect: which versions are accepted, and how cancellation and streams are expressed.
///
/// It is a value, not a trait: to use another dialect, change fields.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Profile {
    /// The accepted versions of the protocol.
    pub versions: Versions,
    /// Whether an array is a batch. Otherwise it is one invalid request (J2-72).
    pub batches: bool,
    /// Which sessions of many messages may send batches, if not all: where a handshake decides. Only for connections.
    pub batches_if: Option<fn(&Session) -> bool>,
    /// Whether `"params": null` counts as no parameters. Otherwise it is an invalid request (J2-11).
    pub null_params: bool,
    /// Whether messages after a notification wait until it is done: true by default.
    ///
    /// A notification handler that calls back and waits for the response blocks everything behind it meanwhile; if
    /// both ends do this to each other, only [`call_time`](crate::Limits::call_time) ends it. Such a handler should spawn
    /// the work, or the service should turn this off.
    pub ordered_notifications: bool,
    /// How a call is cancelled.
    pub cancel: Cancel,
    /// How the items of a stream travel over a duplex connection.
    pub streams: Streams,
    /// How progress is reported before the reply.
    pub progress: Progress,
    /// Whether calls from this side carry their options, if they have any: the members `timeoutMs`, `progress`,
    /// `stream` and `metadata` of the request, which most peers ignore. Turn it off for peers that reject unknown members. Options
    /// of incoming calls are always read.
    pub call_options: bool,
    /// Which metadata a message may carry if its transport has metadata too, such as the headers of a WebSocket handshake:
    /// `traceparent`, `tracestate`, `baggage` and `idempotency-key`. A proxy may vouch for headers, but not for messages. Over transports without metadata
    /// a message may carry any.
    pub metadata: AllowedNames,
}

/// The versions of the protocol that a driver accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum Versions {
    /// 2.0 and 1.0, decided for each message by its `jsonrpc` member (J1-30).
    #[default]
    Both,
    /// 2.0 only.
    V2,
    /// 1.0 only.
    V1,
}

impl Versions {
    /// The version that a message is answered in which does not say its own (J1-36).
    pub(crate) fn unsaid(self) -> Version {
        match self {
            Versions::V1 => Version::V1,
            Versions::Both | Versions::V2 => Version::V2,
        }
    }
}

/// How a call is cancelled: by a notification with its identifier.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Cancel {
    /// The notification's method.
    pub method: Name,
    /// The member of its params that holds the identifier.
    pub member: &'static str,
    /// The error code of a cancelled call; with none, it gets no response.
    pub answer: Option<Code>,
}

impl Cancel {
    /// Sets [`method`](Cancel::method).
    #[must_use]
    pub fn with_method(mut self, method: Name) -> Cancel {
        self.method = method;
        self
    }

    /// Sets [`member`](Cancel::member).
    #[must_use]
    pub fn with_member(mut self, member: &'static str) -> Cancel {
        self.member = member;
        self
    }

    /// Sets [`answer`](Cancel::answer).
    #[must_use]
    pub fn with_answer(mut self, answer: Option<Code>) -> Cancel {
        self.answer = answer;
        self
    }
}

/// How the items of a stream travel over a duplex connection.
///
/// The response to the call has the stream's identifier as its result, and beside it the member `"stream": true`.
/// Items and the end follow as notifications with `params.subscription`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Streams {
    /// The notification that carries an item as `params.result`, and as `params.gap` the gap before it. Without
    /// a result it reports a gap that no item follows for now.
    pub item: Name,
    /// The notification that ends a stream; with `params.error` if it failed.
    pub end: Name,
    /// The method that the reader calls to end a stream, with the identifier as its only parameter.
    pub unsubscribe: Name,
    /// Whether the response to any call of `ns_subscribe` is read as the identifier of an Ethereum subscription (ETH-04),
    /// so that a proxy forwards the items too. [`Peer::stream`](crate::Peer::stream) always reads it
    /// that way.
    pub by_name: bool,
    /// The member of a call's params with a token for partial results. If set, streams are sent that way
    /// (LSP-P-05): items as arrays in [progress](Progress) with this token, then an empty array as the response; and
    /// collected into one array for callers that send no token. The handler does not see it among its params.
    /// [`Peer::stream`](crate::Peer::stream) sends one, if params are an object or absent, and reads the items from the
    /// progress.
    pub partial: Option<&'static str>,
}

impl Streams {
    /// Sets [`item`](Streams::item).
    #[must_use]
    pub fn with_item(mut self, item: Name) -> Streams {
        self.item = item;
        self
    }

    /// Sets [`end`](Streams::end).
    #[must_use]
    pub fn with_end(mut self, end: Name) -> Streams {
        self.end = end;
        self
    }

    /// Sets [`unsubscribe`](Streams::unsubscribe).
    #[must_use]
    pub fn with_unsubscribe(mut self, unsubscribe: Name) -> Streams {
        self.unsubscribe = unsubscribe;
        self
    }

    /// Sets [`by_name`](Streams::by_name).
    #[must_use]
    pub fn with_by_name(mut self, by_name: bool) -> Streams {
        self.by_name = by_name;
        self
    }

    /// Sets [`partial`](Streams::partial).
    #[must_use]
    pub fn with_partial(mut self, partial: Option<&'static str>) -> Streams {
        self.partial = partial;
        self
    }
}

/// How the progress of a call is reported before its reply: by a notification.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Progress {
    /// The notification's method. Its params hold the progress as `value`.
    pub method: Name,
    /// The member of its params that identifies the call.
    pub member: &'static str,
    /// The member of the call's params in which the caller sends a token for that (LSP-P-03). Without one the call's
    /// identifier is used, and the caller asks with the member `progress` of the request. The handler does not see the
    /// token among its params.
    pub param: Option<&'static str>,
}

impl Progress {
    /// Sets [`param`](Progress::param).
    #[must_use]
    pub fn with_param(mut self, param: Option<&'static str>) -> Progress {
        self.param = param;
        self
    }
}

impl Default for Profile {
    /// Switchboard's own dialect: plain JSON-RPC for clients that use nothing else.
    fn default() -> Profile {
        Profile {
            versions: Versions::Both,
            batches: true,
            batches_if: None,
            null_params: true,
            ordered_notifications: true,
            cancel: Cancel {
                method: Name::from_static("rpc.cancel"),
                member: "id",
                answer: Some(Code::CANCELLED),
            },
            streams: Streams {
                item: Name::from_static("rpc.item"),
                end: Name::from_static("rpc.end"),
                unsubscribe: Name::from_static("rpc.unsubscribe"),
                by_name: false,
                partial: None,
            },
            progress: Progress { method: Name::from_static(PROGRESS_METHOD), member: "id", param: None },
            call_options: true,
            metadata: ["traceparent", "tracestate", "baggage", "idempotency-key"].into_iter().collect(),
        }
    }
}

impl Profile {
    /// Sets [`batches`](Profile::batches).
    #[must_use]
    pub fn with_batches(mut self, batches: bool) -> Profile {
        self.batches = batches;
        self
    }

    /// Sets [`batches_if`](Profile::batches_if).
    #[must_use]
    pub fn with_batches_if(mut self, batches_if: Option<fn(&Session) -> bool>) -> Profile {
        self.batches_if = batches_if;
        self
    }

    /// Sets [`null_params`](Profile::null_params).
    #[must_use]
    pub fn with_null_params(mut self, null_params: bool) -> Profile {
        self.null_params = null_params;
        self
    }

    /// Sets [`ordered_notifications`](Profile::ordered_notifications).
    #[must_use]
    pub fn with_ordered_notifications(mut self, ordered_notifications: bool) -> Profile {
        self.ordered_notifications = ordered_notifications;
        self
    }

    /// Sets [`cancel`](Profile::cancel).
    #[must_use]
    pub fn with_cancel(mut self, cancel: Cancel) -> Profile {
        self.cancel = cancel;
        self
    }

    /// Sets [`streams`](Profile::streams).
    #[must_use]
    pub fn with_streams(mut self, streams: Streams) -> Profile {
        self.streams = streams;
        self
    }

    /// Sets [`progress`](Profile::progress).
    #[must_use]
    pub fn with_progress(mut self, progress: Progress) -> Profile {
        self.progress = progress;
        self
    }

    /// Sets [`call_options`](Profile::call_options).
    #[must_use]
    pub fn with_call_options(mut self, call_options: bool) -> Profile {
        self.call_options = call_options;
        self
    }

    /// Sets [`metadata`](Profile::metadata).
    #[must_use]
    pub fn with_metadata(mut self, metadata: AllowedNames) -> Profile {
        self.metadata = metadata;
        self
    }
}

impl Profile {
    /// The dialect of the Language Server Protocol: 2.0 only, no batches, `$/cancelRequest`, `$/progress`.
    #[must_use]
    pub fn lsp() -> Profile {
        let default = Profile::default();
        Profile {
            versions: Versions::V2,
            batches: false,
            cancel: Cancel { method: Name::from_static("$/cancelRequest"), ..default.cancel },
            streams: Streams { partial: Some("partialResultToken"), ..default.streams },
            progress: Progress {
                method: Name::from_static("$/progress"),
                member: "token",
                param: Some("workDoneToken"),
            },
            call_options: false,
            ..default
        }
    }

    /// Ethereum's dialect, for a connection that calls are forwarded over: `ns_subscribe` opens a subscription, and
    /// nothing is sent that a node might not understand.
    #[must_use]
    pub fn ethereum() -> Profile {
        let default = Profile::default();
        Profile {
            versions: Versions::V2,
            streams: Streams { by_name: true, ..default.streams },
            call_options: false,
            ..default
        }
    }

    /// Sets [`versions`](Profile::versions).
    #[must_use]
    pub fn with_versions(mut self, versions: Versions) -> Profile {
        self.versions = versions;
        self
    }
}

/// The settings of a driver, besides its service.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Settings {
    /// The limits.
    pub limits: Limits,
    /// The dialect.
    pub profile: Profile,
    /// Sees each message that a connection, or an HTTP client or server, sends and receives: none by default.
    pub tap: Option<Tap>,
    /// Gets notified of every message and of how every call ended: none by default.
    pub observer: Option<SharedObserver>,
    /// Decides which sessions and requests are accepted: by default all are.
    pub admission: Option<SharedAdmission>,
    /// Which metadata is sent with a call made while handling another ([`Peer::within`](crate::Peer::within)), or with a
    /// forwarded call: `traceparent` and `tracestate`.
    pub inherit: AllowedNames,
}

impl Settings {
    /// Sets [`limits`](Settings::limits).
    #[must_use]
    pub fn with_limits(mut self, limits: Limits) -> Settings {
        self.limits = limits;
        self
    }

    /// Sets [`profile`](Settings::profile).
    #[must_use]
    pub fn with_profile(mut self, profile: Profile) -> Settings {
        self.profile = profile;
        self
    }

    /// Sets [`tap`](Settings::tap).
    #[must_use]
    pub fn with_tap(mut self, tap: Option<Tap>) -> Settings {
        self.tap = tap;
        self
    }

    /// Sets [`observer`](Settings::observer).
    #[must_use]
    pub fn with_observer(mut self, observer: Option<SharedObserver>) -> Settings {
        self.observer = observer;
        self
    }

    /// Sets [`admission`](Settings::admission).
    #[must_use]
    pub fn with_admission(mut self, admission: Option<SharedAdmission>) -> Settings {
        self.admission = admission;
        self
    }

    /// Sets [`inherit`](Settings::inherit).
    #[must_use]
    pub fn with_inherit(mut self, inherit: AllowedNames) -> Settings {
        self.inherit = inherit;
        self
    }
}
