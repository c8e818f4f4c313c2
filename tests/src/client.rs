//! A client as the vectors see it: something that waits for an answer and hears one.

mod streams;

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::header::HeaderName;
use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::future::BoxFuture;
use switchboard_core::Settings;
use switchboard_core::codec::{Incoming, Message, ResponseOutcome, decode};
use switchboard_core::{
    CallError, Connection, Engine, ErrorObject, FrameSink, FrameSource, Id, Json, Origin, Router,
};
use switchboard_transport::{http, memory};
use tokio::net::TcpListener;

use self::streams::Connecting;
use crate::broker::Broker;
use crate::carrier::Time;
use crate::wire::Wire;

/// A client with one call under way, whose identifier is 1.
pub trait Client: Sync {
    /// The name that failures are told by.
    fn name(&self) -> &'static str;

    /// How time goes by in its tests: paused, unless it says otherwise.
    fn time(&self) -> Time {
        Time::Paused
    }

    /// Lets it hear this, and tells what it makes of it.
    fn hear(&self, reply: Bytes) -> BoxFuture<'_, Verdict>;
}

/// What became of the call.
#[derive(Debug)]
pub enum Verdict {
    /// It has this result.
    Accepted(Json),
    /// It failed with this error of the far side.
    Failed(ErrorObject),
    /// It still waits: the message was dropped.
    Ignored,
    /// The connection ended, or the call failed because this is no answer.
    Closed,
}

/// Every client there is. A client of a connection joins here.
#[must_use]
pub fn clients() -> Vec<&'static dyn Client> {
    vec![
        &Codec,
        &Connected,
        &Http,
        &Sse,
        &Connecting::Tcp,
        &Connecting::Tls,
        &Connecting::Unix,
        &Connecting::Child,
        &Connecting::Ws,
        &Nats::Whole,
        &Nats::Item,
    ]
}

/// The codec alone, with the least a client does beside: comparing identifiers.
struct Codec;

impl Client for Codec {
    fn name(&self) -> &'static str {
        "codec"
    }

    fn hear(&self, reply: Bytes) -> BoxFuture<'_, Verdict> {
        Box::pin(async move {
            let Ok(Incoming::Single(Message::Response(response))) = decode(&reply, &Settings::default())
            else {
                return Verdict::Closed;
            };
            if response.id != Id::from(1) {
                return Verdict::Ignored;
            }
            match response.outcome {
                ResponseOutcome::Value(json) | ResponseOutcome::Stream(json, _) => Verdict::Accepted(json),
                ResponseOutcome::Error(error) => Verdict::Failed(error),
                ResponseOutcome::Broken(_) => Verdict::Closed,
            }
        })
    }
}

/// A peer over frames in memory.
struct Connected;

/// Time is paused: it passes only when nothing is left to do.
const QUIET: Duration = Duration::from_millis(1);

impl Client for Connected {
    fn name(&self) -> &'static str {
        "connected"
    }

    fn hear(&self, reply: Bytes) -> BoxFuture<'_, Verdict> {
        Box::pin(async move {
            let ((mut source, mut sink), (their_source, their_sink)) = memory::pair(1 << 10);
            let nothing = Arc::new(Router::builder().build().expect("no names, no mistakes"));
            let (peer, connection) = Connection::new(
                their_source,
                their_sink,
                Engine::new(nothing, Settings::default()),
                Origin::new("memory"),
            );
            let connection = tokio::spawn(connection);
            let call = tokio::spawn(async move { peer.call::<Json>("ask", ()).await });
            let request = poll_fn(|cx| source.poll_frame(cx)).await.expect("the call is sent").unwrap();
            sink.push(&with_id_of(&request, &reply));
            poll_fn(|cx| sink.poll_flush(cx)).await.unwrap();
            match tokio::time::timeout(QUIET, call)
                .await
                .map(|joined| joined.expect("the call does not panic"))
            {
                Ok(Ok(json)) => Verdict::Accepted(json),
                Ok(Err(CallError::Rejected(error))) => Verdict::Failed(error),
                Err(_) if !connection.is_finished() => Verdict::Ignored,
                _ => Verdict::Closed,
            }
        })
    }
}

/// The client of HTTP, whose server says what it is told to.
struct Http;

impl Client for Http {
    fn name(&self) -> &'static str {
        "http"
    }

    fn time(&self) -> Time {
        Time::Real
    }

    fn hear(&self, reply: Bytes) -> BoxFuture<'_, Verdict> {
        Box::pin(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
            let url = format!("http://{}/", listener.local_addr().unwrap());
            let peer = http::connect(&url).unwrap();
            let call = tokio::spawn(async move { peer.call::<Json>("ask", ()).await });
            let (stream, _) = listener.accept().await.expect("the client connects");
            let mut wire = Wire::new(stream);
            let request = wire.receive().await.expect("the call is sent");
            let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n";
            wire.send(head, &with_id_of(&request.body, &reply)).await.unwrap();
            match call.await.expect("the call does not panic") {
                Ok(json) => Verdict::Accepted(json),
                Err(CallError::Rejected(error)) => Verdict::Failed(error),
                Err(CallError::Protocol(_)) => Verdict::Closed,
                Err(other) => panic!("HTTP itself is in order, but: {other}"),
            }
        })
    }
}

/// The client of event streams, whose server says what it is told to and then that this is all.
struct Sse;

impl Client for Sse {
    fn name(&self) -> &'static str {
        "sse"
    }

    fn time(&self) -> Time {
        Time::Real
    }

    fn hear(&self, reply: Bytes) -> BoxFuture<'_, Verdict> {
        Box::pin(async move {
            let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
            let url = format!("http://{}/", listener.local_addr().unwrap());
            let peer = http::connect(&url).unwrap();
            let call = tokio::spawn(async move {
                let mut items = peer.stream::<Json>("ask", ()).await?;
                items.next().await.transpose()
            });
            let (stream, _) = listener.accept().await.expect("the client connects");
            let mut wire = Wire::new(stream);
            let request = wire.receive().await.expect("the call is sent");
            let reply = String::from_utf8(with_id_of(&request.body, &reply)).unwrap();
            let events = format!("data: {reply}\n\ndata: [DONE]\n\n");
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n";
            wire.send(head, events.as_bytes()).await.unwrap();
            match call.await.expect("the call does not panic") {
                Ok(Some(json)) => Verdict::Accepted(json),
                Ok(None) => Verdict::Ignored,
                Err(CallError::Rejected(error)) => Verdict::Failed(error),
                Err(_) => Verdict::Closed,
            }
        })
    }
}

/// The client of NATS, whose worker says what it is told to.
enum Nats {
    /// In one message.
    Whole,
    /// As a part of an answer, of which it is all.
    Item,
}

impl Client for Nats {
    fn name(&self) -> &'static str {
        match self {
            Nats::Whole => "nats",
            Nats::Item => "nats in parts",
        }
    }

    fn time(&self) -> Time {
        Time::Real
    }

    fn hear(&self, reply: Bytes) -> BoxFuture<'_, Verdict> {
        Box::pin(async move {
            let broker = Broker::start(&[]);
            let worker = async_nats::connect(broker.url()).await.expect("the broker runs");
            let mut requests = worker.subscribe("tests.ask").await.expect("it is connected");
            // The broker knows of the subscription when it has returned what was sent after it.
            let mut ready = worker.subscribe("ready").await.expect("it is connected");
            worker.publish("ready", Bytes::new()).await.expect("it is connected");
            ready.next().await.expect("the broker returns it");
            let peer = switchboard_transport::connect(&format!("{}/tests", broker.url())).await.unwrap();
            let call = tokio::spawn(async move { peer.call::<Json>("ask", ()).await });
            let request = requests.next().await.expect("the call is sent");
            let (to, reply) =
                (request.reply.expect("it wants an answer"), with_id_of(&request.payload, &reply));
            let part = |text: &str| {
                HeaderMap::from_iter([(HeaderName::from_static("switchboard-part"), text.into())])
            };
            match self {
                Nats::Whole => worker.publish(to, reply.into()).await.unwrap(),
                Nats::Item => {
                    worker.publish_with_headers(to.clone(), part("0 item"), reply.into()).await.unwrap();
                    worker.publish_with_headers(to, part("1 end"), Bytes::new()).await.unwrap();
                }
            }
            match call.await.expect("the call does not panic") {
                Ok(json) => Verdict::Accepted(json),
                Err(CallError::Rejected(error)) => Verdict::Failed(error),
                Err(CallError::Protocol(_) | CallError::Closed(_)) => Verdict::Closed,
                Err(other) => panic!("NATS itself is in order, but: {other}"),
            }
        })
    }
}

/// The reply with the identifier that the client chose in the place of 1.
fn with_id_of(request: &Bytes, reply: &Bytes) -> Vec<u8> {
    let Ok(Incoming::Single(Message::Request(request))) = decode(request, &Settings::default()) else {
        panic!("the client sends a call");
    };
    let id = request.id.expect("the client wants an answer");
    let text = std::str::from_utf8(reply).unwrap();
    text.replace("\"id\":1}", &format!("\"id\":{id}}}")).into_bytes()
}
