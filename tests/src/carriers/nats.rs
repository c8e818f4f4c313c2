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

/// One request for each message, to the subject of messages of any kind.
#[derive(Debug)]
pub enum Nats {
    /// Each is answered by one message.
    Whole,
    /// Each is answered in parts.
    Parts,
}

impl Carrier for Nats {
    fn name(&self) -> &'static str {
        match self {
            Nats::Whole => "nats",
            Nats::Parts => "nats in parts",
        }
    }

    fn kind(&self) -> Kind {
        match self {
            Nats::Whole => Kind::OneAnswer,
            Nats::Parts => Kind::Events,
        }
    }

    fn time(&self) -> Time {
        Time::Real
    }

    fn open(&self, service: Arc<dyn Service>, settings: Settings) -> BoxFuture<'_, Box<dyn Line>> {
        let mark = if matches!(self, Nats::Parts) { "~~" } else { "" };
        Box::pin(async move {
            let broker = Broker::start(&[]);
            let worker = Running::start(&format!("{}/tests", broker.url()), service, settings).await;
            let client = async_nats::connect(broker.url()).await.expect("the broker runs");
            Box::new(Open { client, mark, _worker: worker, _broker: broker }) as Box<dyn Line>
        })
    }
}

struct Open {
    client: Client,
    /// What the last token of a reply subject begins with.
    mark: &'static str,
    /// Ends the worker when the line is dropped.
    _worker: Running,
    _broker: Broker,
}

impl Line for Open {
    fn send(&mut self, message: Bytes) -> BoxFuture<'_, Heard> {
        Box::pin(async move {
            let reply = format!("{}.{}x", self.client.new_inbox(), self.mark);
            let mut answers = self.client.subscribe(reply.clone()).await.expect("it is connected");
            let sent = self.client.publish_with_reply("tests.=any", reply, message).await;
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

/// What a part of an answer is; none if it is the whole.
fn part(headers: Option<&HeaderMap>) -> Option<&str> {
    headers?.get("switchboard-part")?.as_str().split_once(' ').map(|(_, kind)| kind)
}

fn is_last(answer: &Message, kind: Option<&str>) -> bool {
    assert_eq!(answer.status, None, "a worker listens");
    matches!(kind, None | Some("end" | "none"))
}
