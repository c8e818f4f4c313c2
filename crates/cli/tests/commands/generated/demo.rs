//! A client for Switchboard demo 0.1.0, made by `switchboard generate rust`. Make it again rather than edit it.
//!
//! It calls over a `switchboard::Peer` of any carrier, and needs `serde` and `serde_json` besides.
#![allow(missing_docs)] // The document does not describe everything.

use serde::{Deserialize, Serialize};
use switchboard::{BatchBuilder, CallError, Peer, Request, StreamRequest};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum AiGeneratePrompt {
    String(String),
    Number(f64),
    Boolean(bool),
}

/// The errors that `demo/error` shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum DemoErrorKind {
    /// -32001: the data is well-formed but not acceptable.
    #[serde(rename = "invalid_data")]
    InvalidData,
    /// -32002: the caller may not do this.
    #[serde(rename = "unauthorized")]
    Unauthorized,
    /// -32003: the call took longer than it may.
    #[serde(rename = "timeout")]
    Timeout,
    /// -32004: something that the service depends on failed.
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

    /// Collects calls to send as one batch: `let one = batch.add(client.one())`. After [`BatchBuilder::send`],
    /// `one.read(&outcomes)` gives the result.
    pub fn batch(&self) -> BatchBuilder {
        self.peer.batch()
    }

    /// The methods of `ai`.
    #[must_use]
    pub fn ai(&self) -> AiMethods {
        AiMethods { peer: self.peer.clone() }
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
    /// The notification `onUpdate` holds what the answer does. It comes when something has changed, and every five
    /// seconds in
    /// any case, until the connection ends. Over HTTP, where nothing can be pushed, it does not come.
    pub fn get_status(&self) -> Request<GetStatusResult> {
        self.peer.call("getStatus", ())
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
    pub fn sum(&self, numbers: Option<&[f64]>) -> Request<f64> {
        #[derive(Serialize)]
        struct Params<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            numbers: Option<&'a [f64]>,
        }
        self.peer.call("sum", Params { numbers })
    }

    /// Fails with -32000 and the message that it was given.
    ///
    /// - `message`: What the error is to say; "Server error" without it.
    ///
    /// # Errors
    ///
    /// - -32000: Server error
    pub fn trigger_error(&self, message: Option<&str>) -> Request<()> {
        #[derive(Serialize)]
        struct Params<'a> {
            #[serde(skip_serializing_if = "Option::is_none")]
            message: Option<&'a str>,
        }
        self.peer.call("trigger_error", Params { message })
    }
}

/// The methods of `ai`.
#[derive(Clone, Debug)]
pub struct AiMethods {
    peer: Peer,
}

impl AiMethods {
    /// Gives the words of the prompt back; it stands in for a model, and is none.
    ///
    /// A plain call answers with one string. Whoever reads a stream gets it token by token: a token is a word with
    /// the white space after it, so that all of them joined are the prompt. A prompt that is too long is refused with -32602,
    /// and the details "Prompt too long".
    ///
    /// - `prompt`: What to say; at most 4000 characters.
    ///
    /// # Errors
    ///
    /// - -32602: Invalid params
    pub fn generate(&self, prompt: &AiGeneratePrompt) -> Request<String> {
        #[derive(Serialize)]
        struct Params<'a> {
            prompt: &'a AiGeneratePrompt,
        }
        self.peer.call("ai/generate", Params { prompt })
    }

    /// Gives the words of the prompt back; it stands in for a model, and is none.
    ///
    /// A plain call answers with one string. Whoever reads a stream gets it token by token: a token is a word with
    /// the white space after it, so that all of them joined are the prompt. A prompt that is too long is refused with -32602,
    /// and the details "Prompt too long".
    ///
    /// - `prompt`: What to say; at most 4000 characters.
    ///
    /// # Errors
    ///
    /// - -32602: Invalid params
    pub fn generate_stream(&self, prompt: &AiGeneratePrompt) -> StreamRequest<String> {
        #[derive(Serialize)]
        struct Params<'a> {
            prompt: &'a AiGeneratePrompt,
        }
        self.peer.stream("ai/generate", Params { prompt })
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
    pub fn error(&self, kind: &DemoErrorKind) -> Request<()> {
        #[derive(Serialize)]
        struct Params<'a> {
            kind: &'a DemoErrorKind,
        }
        self.peer.call("demo/error", Params { kind })
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
    pub fn add(&self, a: f64, b: f64) -> Request<f64> {
        #[derive(Serialize)]
        struct Params {
            a: f64,
            b: f64,
        }
        self.peer.call("math/add", Params { a, b })
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
    pub fn add_stream(&self, a: i64, b: i64) -> StreamRequest<i64> {
        #[derive(Serialize)]
        struct Params {
            a: i64,
            b: i64,
        }
        self.peer.stream("math/add_stream", Params { a, b })
    }
}
