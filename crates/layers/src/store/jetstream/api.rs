//! Requests to JetStream: JSON over subjects, as its reference describes them. The client's own functions for it need newer servers, and more round
//! trips to insert a key.

use std::time::Duration;

use async_nats::client::RequestErrorKind;
use async_nats::{HeaderMap, Request};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::Link;
use super::entry::{Draft, Entry};
use crate::store::StoreError;

/// What the number of the last message under a subject has to be.
const EXPECTED: &str = "Nats-Expected-Last-Subject-Sequence";

/// Why the server did not do what it was asked for.
#[derive(Debug)]
pub(crate) enum Refusal {
    /// There is no such stream, or no message.
    Missing,
    /// The last message is not the expected one.
    Conflict,
    /// A limit of the stream or of the account.
    Full,
    /// It cannot be known whether it did: no answer arrived in time.
    Unknown(String),
    /// Anything else.
    Other(String),
}

impl From<Refusal> for StoreError {
    fn from(refusal: Refusal) -> StoreError {
        match refusal {
            // The server does not say when there is room again.
            Refusal::Full => StoreError::Full { wait: Duration::from_secs(1) },
            Refusal::Missing => StoreError::Unavailable("the bucket is missing".to_owned()),
            Refusal::Conflict => StoreError::Unavailable("too many write the same key".to_owned()),
            Refusal::Unknown(text) | Refusal::Other(text) => StoreError::Unavailable(text),
        }
    }
}

/// An error of the server.
#[derive(Deserialize)]
struct Fault {
    err_code: Option<u64>,
    description: Option<String>,
}

impl From<Fault> for Refusal {
    fn from(fault: Fault) -> Refusal {
        match fault.err_code {
            Some(10037 | 10059) => Refusal::Missing,
            Some(10071) => Refusal::Conflict,
            // Storing failed because of the stream's limits; no room on the server or in the account.
            Some(10002 | 10023 | 10028 | 10047 | 10077) => Refusal::Full,
            code => {
                let text = fault.description.unwrap_or_default();
                Refusal::Other(format!("the NATS server says: {text} ({})", code.unwrap_or_default()))
            }
        }
    }
}

/// A stream as the server describes it.
#[derive(Deserialize)]
pub(crate) struct Info {
    pub(super) config: Value,
}

impl Link {
    pub(crate) async fn create(&self, stream: &str, config: &Value) -> Result<Info, Refusal> {
        self.ask(format!("$JS.API.STREAM.CREATE.{stream}"), config).await
    }

    pub(super) async fn update(&self, stream: &str, config: &Value) -> Result<Info, Refusal> {
        self.ask(format!("$JS.API.STREAM.UPDATE.{stream}"), config).await
    }

    pub(crate) async fn info(&self, stream: &str) -> Result<Info, Refusal> {
        self.ask(format!("$JS.API.STREAM.INFO.{stream}"), &json!({})).await
    }

    /// Removes all messages under a subject, without a trace.
    pub(crate) async fn purge(&self, stream: &str, subject: &str) -> Result<(), Refusal> {
        let purged: Result<Value, Refusal> =
            self.ask(format!("$JS.API.STREAM.PURGE.{stream}"), &json!({ "filter": subject })).await;
        purged.map(drop)
    }

    /// The last message under a subject, as its leader has it: other servers of a cluster may be behind.
    pub(super) async fn last(&self, stream: &str, subject: &str) -> Result<Option<Entry>, StoreError> {
        #[derive(Deserialize)]
        struct Got {
            message: Message,
        }
        #[derive(Deserialize)]
        struct Message {
            seq: u64,
            #[serde(default)]
            data: String,
        }
        let got: Result<Got, Refusal> =
            self.ask(format!("$JS.API.STREAM.MSG.GET.{stream}"), &json!({ "last_by_subj": subject })).await;
        match got {
            Ok(Got { message }) => {
                let bytes = STANDARD.decode(&message.data);
                let bytes = bytes.map_err(|error| StoreError::Unavailable(error.to_string()))?;
                Entry::parse(message.seq, bytes).map(Some)
            }
            Err(Refusal::Missing) => Ok(None),
            Err(refusal) => Err(refusal.into()),
        }
    }

    /// Writes an entry if the last message under its subject has this number; 0 if there must be none.
    pub(super) async fn write(
        &self,
        subject: &str,
        draft: &Draft,
        expected: u64,
        timeout: Duration,
    ) -> Result<(), Refusal> {
        let mut headers = HeaderMap::new();
        headers.insert(EXPECTED, expected.to_string());
        let request = Request::new().headers(headers).payload(draft.bytes.clone()).timeout(Some(timeout));
        let answer: Result<Value, Refusal> = self.send(subject.to_owned(), request).await;
        answer.map(drop)
    }

    pub(crate) async fn ask<T: DeserializeOwned>(&self, subject: String, body: &Value) -> Result<T, Refusal> {
        let body = Bytes::from(body.to_string());
        self.send(subject, Request::new().payload(body).timeout(Some(self.options.timeout))).await
    }

    pub(crate) async fn send<T: DeserializeOwned>(
        &self,
        subject: String,
        request: Request,
    ) -> Result<T, Refusal> {
        #[derive(Deserialize)]
        struct Failed {
            error: Option<Fault>,
        }
        let answer =
            self.client.send_request(subject, request).await.map_err(|error| match error.kind() {
                // Nobody answers for the subject: nothing was done.
                RequestErrorKind::NoResponders => {
                    Refusal::Other("the NATS server has no such bucket".to_owned())
                }
                RequestErrorKind::TimedOut => {
                    Refusal::Unknown("no answer of the NATS server in time".to_owned())
                }
                _ => Refusal::Unknown(error.to_string()),
            })?;
        let unreadable = |error: serde_json::Error| {
            Refusal::Unknown(format!("cannot read the answer of the NATS server: {error}"))
        };
        let failed: Failed = serde_json::from_slice(&answer.payload).map_err(unreadable)?;
        match failed.error {
            Some(fault) => Err(fault.into()),
            None => serde_json::from_slice(&answer.payload).map_err(unreadable),
        }
    }
}
