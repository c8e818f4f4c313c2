//! Requests to JetStream: JSON over subjects, as its reference describes them.

use std::time::Duration;

use async_nats::Subject;
use async_nats::message::OutboundMessage;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use switchboard_core::{CallError, ErrorObject};

use crate::nats::inbox::is_unheard;
use crate::nats::link::Link;

/// How long the broker may take to answer.
const PATIENCE: Duration = Duration::from_secs(5);

/// Why the broker did not do what it was asked for.
#[derive(Debug)]
pub(super) enum Refusal {
    /// There is no such stream, or no such consumer.
    Missing,
    /// There is one with another configuration.
    Differs,
    /// Anything else.
    Failed(CallError),
}

impl From<CallError> for Refusal {
    fn from(error: CallError) -> Refusal {
        Refusal::Failed(error)
    }
}

/// An error of the broker.
#[derive(Deserialize)]
struct Fault {
    err_code: Option<u64>,
    description: Option<String>,
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Refusal {
        match fault.err_code {
            Some(10014 | 10059) => Refusal::Missing,
            Some(10058) => Refusal::Differs,
            code => {
                let text = fault.description.unwrap_or_default();
                Refusal::Failed(refused(format!(
                    "the NATS server says: {text} ({})",
                    code.unwrap_or_default()
                )))
            }
        }
    }
}

/// Asks JetStream.
pub(super) async fn ask<T: DeserializeOwned>(link: &Link, api: &str, body: &Value) -> Result<T, Refusal> {
    link.check()?;
    let subject = Subject::from(format!("$JS.API.{api}"));
    let message = OutboundMessage { subject, reply: None, payload: body.to_string().into(), headers: None };
    let answer = link.request(message, PATIENCE).await?;
    if is_unheard(&answer) {
        let text = "the NATS server has no JetStream; start it with `nats-server --jetstream`";
        return Err(Refusal::Failed(refused(text.to_owned())));
    }
    read(&answer.payload)
}

/// The position in the acknowledgement of a stream.
pub(super) fn position(payload: &[u8]) -> Result<u64, CallError> {
    #[derive(Deserialize)]
    struct Kept {
        seq: u64,
    }
    let kept: Result<Kept, Refusal> = read(payload);
    kept.map(|kept| kept.seq).map_err(|refusal| match refusal {
        Refusal::Failed(error) => error,
        Refusal::Missing | Refusal::Differs => refused("the stream is missing".to_owned()),
    })
}

/// There is no stream of this name.
pub(super) fn missing(stream: &str) -> CallError {
    let text = format!(
        "the NATS server has no stream {stream}; topics are kept once a program has called `Bus::keep`"
    );
    refused(text)
}

fn read<T: DeserializeOwned>(payload: &[u8]) -> Result<T, Refusal> {
    #[derive(Deserialize)]
    struct Failed {
        error: Option<Fault>,
    }
    let unreadable = |error: serde_json::Error| {
        let text = format!("cannot read the answer of the NATS server: {error}");
        Refusal::Failed(CallError::Protocol(text.into()))
    };
    let failed: Failed = serde_json::from_slice(payload).map_err(unreadable)?;
    match failed.error {
        Some(fault) => Err(fault.into()),
        None => serde_json::from_slice(payload).map_err(unreadable),
    }
}

fn refused(text: String) -> CallError {
    CallError::Rejected(ErrorObject::upstream_failed(text))
}
