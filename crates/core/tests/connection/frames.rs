//! What lasts longer than the frame it came in does not keep the frame in memory.

use std::sync::{Arc, Weak};
use std::task::{Context as Poller, Poll};

use bytes::Bytes;
use futures_util::{FutureExt, StreamExt};
use switchboard_core::observer::Observer;
use switchboard_core::{
    Connection, ConnectionError, Context, Delivery, Engine, FrameSource, Json, Method, Origin, Output, Peer,
    Profile, Router, RouterBuilder, Settings, Subscription,
};
use switchboard_transport::memory;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::rig::Gate;

/// Too long to be kept inside of a value: without care it is a slice of the frame.
const LONG: &str = "a_name_that_is_much_too_long_to_be_kept_without_sharing_a_buffer";
/// How long the rest of each frame is.
const PADDING: usize = 1 << 20;

/// Frames that a test can see the end of.
struct Frames(UnboundedReceiver<Bytes>);

impl FrameSource for Frames {
    fn poll_frame(&mut self, cx: &mut Poller<'_>) -> Poll<Option<Result<Bytes, ConnectionError>>> {
        self.0.poll_recv(cx).map(|frame| frame.map(Ok))
    }
}

struct Owner {
    text: String,
    _alive: Arc<()>,
}

impl AsRef<[u8]> for Owner {
    fn as_ref(&self) -> &[u8] {
        self.text.as_bytes()
    }
}

/// A large frame with this text, and what tells whether it is still in memory.
fn frame(text: &str) -> (Bytes, Weak<()>) {
    let alive = Arc::new(());
    let weak = Arc::downgrade(&alive);
    (Bytes::from_owner(Owner { text: format!("{text}{}", " ".repeat(PADDING)), _alive: alive }), weak)
}

fn is_in_memory(frame: &Weak<()>) -> bool {
    frame.strong_count() > 0
}

struct Silent;

impl Observer for Silent {}

fn settings(profile: Profile) -> Settings {
    Settings::default().with_profile(profile).with_observer(Some(Silent.into()))
}

/// A connection, what sends frames to it, and what it sends.
fn connect(router: RouterBuilder, profile: Profile) -> (UnboundedSender<Bytes>, memory::MemorySource, Peer) {
    let (sender, receiver) = unbounded_channel();
    let ((source, _), (_, sink)) = memory::pair(1 << 16);
    let engine = Engine::new(Arc::new(router.build().unwrap()), settings(profile));
    let (peer, connection) = Connection::new(Frames(receiver), sink, engine, Origin::new("test"));
    tokio::spawn(connection);
    (sender, source, peer)
}

async fn receive(source: &mut memory::MemorySource) -> String {
    let frame = std::future::poll_fn(|cx| source.poll_frame(cx)).await.unwrap().unwrap();
    String::from_utf8(frame.to_vec()).unwrap()
}

/// A stream of two items with a gate between them.
fn stream(gate: &Gate) -> Method {
    let gate = gate.clone();
    Method::stream(LONG, move |_: Json, _: Context| {
        let gate = gate.clone();
        let second = futures_util::stream::once(async move { gate.pass().await }).map(|()| 2);
        futures_util::stream::iter([1]).chain(second)
    })
}

fn call(params: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{LONG}","params":{params},"id":"{LONG}"}}"#)
}

/// Opens a stream with this message, which comes after so many other messages that are sent.
async fn check_stream(message: &str, profile: Profile, before: usize) {
    let gate = Gate::new();
    let (sender, mut source, _peer) = connect(Router::builder().add(stream(&gate)), profile);
    let (frame, weak) = frame(message);
    sender.send(frame).unwrap();
    gate.entered().await;
    for _ in 0..before {
        receive(&mut source).await;
    }
    assert!(!is_in_memory(&weak), "{message}");
    gate.let_pass(1);
    assert!(receive(&mut source).await.contains('2'));
}

#[tokio::test]
async fn a_stream_that_is_sent_does_not_keep_the_frame_of_its_call() {
    check_stream(&call("[1]"), Profile::default(), 2).await;
    check_stream(&format!("[{}]", call("[1]")), Profile::default(), 2).await;
    let token = format!(r#"{{"partialResultToken":"{LONG}"}}"#);
    check_stream(&call(&token), Profile::lsp(), 1).await;
}

#[tokio::test]
async fn a_call_that_takes_time_does_not_keep_its_frame() {
    let gate = Gate::new();
    let (sender, mut source, _peer) = connect(Router::builder().add(gate.method(LONG)), Profile::default());
    let (frame, weak) = frame(&call("[1]"));
    sender.send(frame).unwrap();
    gate.entered().await;
    assert!(!is_in_memory(&weak));
    gate.let_pass(1);
    assert!(receive(&mut source).await.contains("true"));
}

#[tokio::test]
async fn an_answer_in_parts_does_not_keep_the_body_of_its_call() {
    let gate = Gate::new();
    let router = Router::builder().add(stream(&gate)).build().unwrap();
    let (body, weak) = frame(&call("[1]"));
    let engine = Engine::new(Arc::new(router), settings(Profile::default()));
    let mut outputs = engine.outputs(body, &Context::default(), Delivery::Parts);
    // Whoever holds the first output holds the identifier, which is a copy.
    assert!(matches!(outputs.next().await, Some(Output::Started(_))));
    assert!(outputs.next().await.is_some());
    assert!(outputs.next().now_or_never().is_none());
    assert!(!is_in_memory(&weak));
}

#[tokio::test]
async fn a_stream_that_is_received_does_not_keep_the_frame_of_its_response() {
    let (sender, mut source, peer) = connect(Router::builder(), Profile::default());
    let names = Subscription::named(LONG, "stop");
    let opening = tokio::spawn(async move { peer.subscribe::<u8>("watch", (), names).await });
    receive(&mut source).await;
    let item = |value| {
        let params = format!(r#"{{"subscription":"{LONG}","result":{value}}}"#);
        frame(&format!(r#"{{"jsonrpc":"2.0","method":"{LONG}","params":{params}}}"#))
    };
    let (early, early_weak) = item(1);
    let (opened, opened_weak) = frame(&format!(r#"{{"jsonrpc":"2.0","result":"{LONG}","id":1}}"#));
    sender.send(early).unwrap();
    sender.send(Bytes::from_static(b"1")).unwrap();
    assert!(receive(&mut source).await.contains("-32600"));
    assert!(!is_in_memory(&early_weak));
    sender.send(opened).unwrap();
    let mut items = opening.await.unwrap().unwrap();
    assert_eq!(items.next().await, Some(Ok(1)));
    assert!(!is_in_memory(&opened_weak));
}
