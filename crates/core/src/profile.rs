//! How a family of protocols spells what JSON-RPC itself does not define.

use crate::admission::SharedAdmission;
use crate::call_options::PROGRESS_METHOD;
use crate::code::Code;
use crate::context::Version;
use crate::limits::Limits;
use crate::metadata::AllowedNames;
use crate::name::Name;
use crate::observer::SharedObserver;
use crate::tap::Tap;

/// The dialect spoken: which versions, and how cancelling and streaming are written.
///
/// A value, not a trait: to speak another dialect, change fields.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Profile {
    /// Which versions of the protocol are understood.
    pub versions: Versions,
    /// Whether an array is a batch. Otherwise it is one invalid request (J2-72).
    pub batches: bool,
    /// Whether `"params": null` counts as no parameters. Otherwise it is an invalid request (J2-11).
    pub null_params: bool,
    /// Whether whatever follows a notification waits until it is done: true by default.
    ///
    /// A notification's handler that calls back and waits for the answer holds up everything behind it meanwhile; if
    /// both ends do that to each other, only [`call_time`](crate::Limits::call_time) ends it. Such a handler should spawn
    /// what it waits for, or the service should turn this off.
    pub ordered_notifications: bool,
    /// How a call is cancelled.
    pub cancel: Cancel,
    /// How the items of a stream travel over a duplex connection.
    pub streams: Streams,
    /// How progress is told before the reply.
    pub progress: Progress,
    /// Whether calls of this side carry their options, where they have any: the members `timeoutMs`, `progress`,
    /// `stream` and `metadata` of the request, which most peers ignore. Turn it off for peers that refuse members they do not know. Options
    /// of calls that come in are always read.
    pub call_options: bool,
    /// Which metadata a message may bring where its carrier has metadata too, as the headers of a WebSocket's handshake:
    /// `traceparent` and `tracestate`. Where a proxy vouches for headers, a message must not. Over carriers without metadata
    /// a message may bring any.
    pub metadata: AllowedNames,
}

/// Which versions of the protocol a driver understands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
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

/// How a call is cancelled: by a notification that names its identifier.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Cancel {
    /// The notification's method.
    pub method: Name,
    /// The member of its params that holds the identifier.
    pub member: &'static str,
    /// The code that a cancelled call is answered with; none means that it is not answered.
    pub answer: Option<Code>,
}

/// How the items of a stream travel over a duplex connection.
///
/// The response to the call holds the stream's identifier as its result, and beside it the member `"stream": true`.
/// Items and the end follow as notifications with `params.subscription`.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Streams {
    /// The notification that carries an item as `params.result`, and as `params.gap` what is missing before it. Without
    /// a result it tells a gap after which nothing follows for now.
    pub item: Name,
    /// The notification that ends a stream; with `params.error` if it failed.
    pub end: Name,
    /// What the reader sends to end a stream, with the identifier as its only parameter.
    pub unsubscribe: Name,
    /// Whether the answer to any call of `ns_subscribe` is taken as the identifier of an Ethereum subscription (ETH-04),
    /// so that whoever only passes calls on passes the items on too. [`Peer::stream`](crate::Peer::stream) takes it so
    /// in any case.
    pub by_name: bool,
    /// The member of a call's params with a token for partial results. If there is one, streams are told that way
    /// (LSP-P-05): items as arrays in [progress](Progress) with this token, then an empty array as the response; and
    /// collected into one array for callers that give no token. The handler does not see it among its params.
    /// [`Peer::stream`](crate::Peer::stream) gives one, where params are an object or absent, and reads the items from what
    /// comes.
    pub partial: Option<&'static str>,
}

/// How progress of a call is told before its reply: by a notification.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Progress {
    /// The notification's method. What is told stands in its params as `value`.
    pub method: Name,
    /// The member of its params that says which call is meant.
    pub member: &'static str,
    /// The member of the call's params by which its caller gives a token for that (LSP-P-03). Without one the call's
    /// identifier is used, and the caller asks with the member `progress` of the request. The handler does not see the
    /// token among its params.
    pub param: Option<&'static str>,
}

impl Default for Profile {
    /// Switchboard's own dialect: plain JSON-RPC for whoever uses no more than that.
    fn default() -> Profile {
        Profile {
            versions: Versions::Both,
            batches: true,
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
            metadata: AllowedNames::default(),
        }
    }
}

impl Profile {
    /// The Language Server Protocol's dialect: 2.0 only, no batches, `$/cancelRequest`, `$/progress`.
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

    /// Ethereum's dialect, for a connection over which calls are passed on: `ns_subscribe` opens a subscription, and
    /// nothing is sent that a node might not know.
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

    /// The same dialect with these versions.
    #[must_use]
    pub fn with_versions(mut self, versions: Versions) -> Profile {
        self.versions = versions;
        self
    }
}

/// What a driver needs to know besides its service.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// How much is too much.
    pub limits: Limits,
    /// The dialect spoken.
    pub profile: Profile,
    /// Who sees each message that a connection, or a client or server of HTTP, sends and receives: nobody.
    pub tap: Option<Tap>,
    /// Who learns of every message and of how every call ended: nobody.
    pub observer: Option<SharedObserver>,
    /// Decides which sessions and requests are accepted: by default all are.
    pub admission: Option<SharedAdmission>,
    /// Which metadata goes on with a call that is made while another is handled ([`Peer::within`](crate::Peer::within)), or that is
    /// passed on: `traceparent` and `tracestate`.
    pub inherit: AllowedNames,
}
