//! NATS: a broker of its own, our worker, and requests by the broker's client, which knows nothing of ours.

use std::sync::Arc;

use async_nats::{Client, HeaderMap, Message};
use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::future::BoxFuture;
use switchboard_core::{Service, Settings};

use super::Running;
use crate::broker::Broker;
use crate::carrier::{Carrier, Heard, Kind, Line, Time};

/// One request for each message.
#[derive(Debug)]
pub enum Nats {
    /// To the subject of messages of any kind. Each is answered by one message.
    Whole,
    /// The same, and each is answered in parts.
    Parts,
    /// To the subject of its method, if it has one. Each is answered in parts.
    Methods,
}

impl Carrier for Nats {
    fn name(&self) -> &'static str {
        match self {
            Nats::Whole => "nats",
            Nats::Parts => "nats in parts",
            Nats::Methods => "nats by method",
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Nats::Whole => Kind::OneAnswer,
            Nats::Parts | Nats::Methods => Kind::Events,
        }
    }

    fn time(&self) -> Time {
        Time::Real
    }

    fn open(&self, service: Arc<dyn Service>, settings: Settings) -> BoxFuture<'_, Box<dyn Line>> {
        let mark = if matches!(self, Nats::Whole) { "" } else { "~~" };
        let is_by_method = matches!(self, Nats::Methods);
        Box::pin(async move {
            let broker = Broker::start(&[]);
            let worker = Running::start(&format!("{}/tests", broker.url()), service, settings).await;
            let client = async_nats::connect(broker.url()).await.expect("the broker runs");
            Box::new(Open { client, mark, is_by_method, _worker: worker, _broker: broker }) as Box<dyn Line>
        })
    }
}

struct Open {
    client: Client,
    /// What the last token of a reply subject begins with.
    mark: &'static str,
    is_by_method: bool,
    /// Ends the worker when the line is dropped.
    _worker: Running,
    _broker: Broker,
}

impl Line for Open {
    fn send(&mut self, message: Bytes) -> BoxFuture<'_, Heard> {
        Box::pin(async move {
            let reply = format!("{}.{}x", self.client.new_inbox(), self.mark);
            let mut answers = self.client.subscribe(reply.clone()).await.expect("it is connected");
            let subject = if self.is_by_method { subject(&message) } else { ANY.to_owned() };
            let sent = self.client.publish_with_reply(subject, reply, message).await;
            if sent.is_err() {
                return Heard::Unable("the broker takes no message of this size");
            }
            let mut messages = Vec::new();
            loop {
                let answer = answers.next().await.expect("every message is answered");
                let kind = part(answer.headers.as_ref());
                if matches!(kind, Some("item" | "push")) || !answer.payload.is_empty() {
                    messages.push(answer.payload.clone());
                }
                if is_last(&answer, kind) {
                    return Heard::Messages(messages);
                }
            }
        })
    }
}

/// The subject of messages of any kind.
const ANY: &str = "tests.=any";

/// The longest subject that a message is sent to.
const LONGEST: usize = 1000;

/// The subject of the method of a message, as a client makes it that only knows the documentation.
fn subject(message: &[u8]) -> String {
    let message: Option<serde_json::Value> = serde_json::from_slice(message).ok();
    let Some(method) = message.as_ref().and_then(|message| message["method"].as_str()) else {
        return ANY.to_owned();
    };
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'-' | b'$' => char::from(byte).to_string(),
        byte => format!("={byte:02X}"),
    };
    let token = |part: &str| if part.is_empty() { "=".to_owned() } else { part.bytes().map(byte).collect() };
    let tokens: Vec<String> = method.split('/').map(token).collect();
    let subject = format!("tests.{}", tokens.join("."));
    if subject.len() > LONGEST { ANY.to_owned() } else { subject }
}

/// What a part of an answer is; none if it is the whole.
fn part(headers: Option<&HeaderMap>) -> Option<&str> {
    headers?.get("switchboard-part")?.as_str().split_once(' ').map(|(_, kind)| kind)
}

fn is_last(answer: &Message, kind: Option<&str>) -> bool {
    assert_eq!(answer.status, None, "a worker listens");
    matches!(kind, None | Some("end" | "none"))
}
