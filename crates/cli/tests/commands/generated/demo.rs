//! A client for Switchboard demo 0.1.0, made by `switchboard generate rust`. Make it again rather than edit it.
//!
//! It calls over a `switchboard::Peer` of any carrier, and needs `serde` and `serde_json` besides.

use serde::{Deserialize, Serialize};
use switchboard::{CallError, Peer, Values};

/// The errors that `demo/error` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DemoErrorKind {
    /// `invalid_data`.
    #[serde(rename = "invalid_data")]
    InvalidData,
    /// `unauthorized`.
    #[serde(rename = "unauthorized")]
    Unauthorized,
    /// `timeout`.
    #[serde(rename = "timeout")]
    Timeout,
    /// `upstream`.
    #[serde(rename = "upstream")]
    Upstream,
}

/// How the server is.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GetStatusResult {
    /// How often one of the other notifications came.
    pub notices: u64,
    /// Always "ok": a server that is not does not answer.
    pub status: String,
    /// How often `update` was called.
    pub updates: u64,
    /// For how many seconds it has run.
    #[serde(rename = "uptimeSeconds")]
    pub uptime_seconds: f64,
}

/// Calls the methods of the API.
#[derive(Clone, Debug)]
pub struct Client {
    peer: Peer,
}

impl Client {
    /// Calls over this peer.
    #[must_use]
    pub fn new(peer: Peer) -> Client {
        Client { peer }
    }

    /// The methods of `demo`.
    #[must_use]
    pub fn demo(&self) -> DemoMethods {
        DemoMethods { peer: self.peer.clone() }
    }

    /// The methods of `math`.
    #[must_use]
    pub fn math(&self) -> MathMethods {
        MathMethods { peer: self.peer.clone() }
    }

    /// Answers how the server is, and sends `onUpdate` from now on.
    ///
    /// The notification `onUpdate` holds what the answer does. It comes when something has changed, and every five seconds in
    /// any case, until the connection ends. Over HTTP, where nothing can be pushed, it does not come.
    pub async fn get_status(&self) -> Result<GetStatusResult, CallError> {
        self.peer.call("getStatus", ()).await
    }

    /// Writes an event to the log of the server, which shows it with `-v`.
    ///
    /// It may be told in any form: by name, by position, or not at all.
    pub async fn log_event(&self, params: impl Serialize) -> Result<(), CallError> {
        self.peer.notify("logEvent", params).await
    }

    /// Adds any number of numbers.
    ///
    /// # Errors
    ///
    /// - -32001: Validation failed
    pub async fn sum(&self, numbers: Option<&[f64]>) -> Result<f64, CallError> {
        #[derive(Serialize)]
        struct Params<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            numbers: Option<&'a [f64]>,
        }
        self.peer.call("sum", Params { numbers }).await
    }

    /// Fails with -32000 and the message that it was given.
    ///
    /// - `message`: What the error is to say; "Server error" without it.
    ///
    /// # Errors
    ///
    /// - -32000: Server error
    pub async fn trigger_error(&self, message: Option<&str>) -> Result<(), CallError> {
        #[derive(Serialize)]
        struct Params<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            message: Option<&'a str>,
        }
        self.peer.call("trigger_error", Params { message }).await
    }
}

/// The methods of `demo`.
#[derive(Clone, Debug)]
pub struct DemoMethods {
    peer: Peer,
}

impl DemoMethods {
    /// Fails with an error of the table: the one that is asked for.
    ///
    /// - `kind`: Which: invalid_data is -32001, unauthorized -32002, timeout -32003, upstream -32004.
    ///
    /// # Errors
    ///
    /// - -32001: Validation failed
    /// - -32002: Not authorised
    /// - -32003: Timed out
    /// - -32004: Upstream failed
    pub async fn error(&self, kind: &DemoErrorKind) -> Result<(), CallError> {
        #[derive(Serialize)]
        struct Params<'a> {
            kind: &'a DemoErrorKind,
        }
        self.peer.call("demo/error", Params { kind }).await
    }
}

/// The methods of `math`.
#[derive(Clone, Debug)]
pub struct MathMethods {
    peer: Peer,
}

impl MathMethods {
    /// Adds two numbers.
    ///
    /// # Errors
    ///
    /// - -32001: Validation failed
    pub async fn add(&self, a: f64, b: f64) -> Result<f64, CallError> {
        #[derive(Serialize)]
        struct Params {
            a: f64,
            b: f64,
        }
        self.peer.call("math/add", Params { a, b }).await
    }

    /// Streams the numbers from 0 to the sum of two whole numbers.
    ///
    /// A number is made when there is room to send it, so a large sum takes as long as somebody reads.
    ///
    /// - `b`: The sum of both must not be negative.
    ///
    /// # Errors
    ///
    /// - -32001: Validation failed
    pub async fn add_stream(&self, a: i64, b: i64) -> Result<Values<i64>, CallError> {
        #[derive(Serialize)]
        struct Params {
            a: i64,
            b: i64,
        }
        self.peer.stream("math/add_stream", Params { a, b }).await
    }
}
