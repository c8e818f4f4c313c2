//! How a family of protocols spells what JSON-RPC itself does not define.

use crate::code::Code;
use crate::context::Version;
use crate::limits::Limits;
use crate::name::Name;

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
    /// The notification that carries an item as `params.result`.
    pub item: Name,
    /// The notification that ends a stream; with `params.error` if it failed.
    pub end: Name,
    /// What the reader sends to end a stream, with the identifier as its only parameter.
    pub unsubscribe: Name,
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
            },
        }
    }
}

impl Profile {
    /// The Language Server Protocol's dialect: 2.0 only, no batches, `$/cancelRequest`.
    #[must_use]
    pub fn lsp() -> Profile {
        let default = Profile::default();
        Profile {
            versions: Versions::V2,
            batches: false,
            cancel: Cancel { method: Name::from_static("$/cancelRequest"), ..default.cancel },
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
}
