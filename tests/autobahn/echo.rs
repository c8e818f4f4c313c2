//! Our side of a case: sends every message back, in the kind it came in.

use std::future::poll_fn;
use std::task::Poll;
use std::time::Duration;

use switchboard_core::{ConnectionError, FrameSink, FrameSource};
use switchboard_transport::ws::{
    self, Ending, WebSocketClientOptions, WebSocketOptions, WebSocketSink, WebSocketSource,
};
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream};

use crate::extensions::{OFFER, accept_key};

/// The longest message of the cases has 16 MiB.
const LIMIT: usize = 16 << 20;
/// As much is under way before a write has to wait.
const PIPE: usize = 1 << 20;

/// The fuzzer's end of a connection to our server.
pub(crate) async fn server() -> DuplexStream {
    let (mut theirs, ours) = tokio::io::duplex(PIPE);
    tokio::spawn(async move {
        let options = WebSocketOptions::default();
        let accepted = ws::accept(ours, LIMIT, Duration::from_secs(10), &options, |_| true).await;
        run(accepted.unwrap()).await;
    });
    theirs.write_all(OFFER.as_bytes()).await.unwrap();
    let answer = head(&mut theirs).await;
    assert!(answer.starts_with("HTTP/1.1 101 "), "{answer}");
    assert!(!answer.to_ascii_lowercase().contains("sec-websocket-extensions"), "{answer}");
    theirs
}

/// The fuzzer's end of a connection from our client.
pub(crate) async fn client() -> DuplexStream {
    let (mut theirs, ours) = tokio::io::duplex(PIPE);
    tokio::spawn(async move {
        let options = WebSocketClientOptions::default();
        run(ws::connect_frames(ours, "ws://localhost/", LIMIT, &options).await.unwrap()).await;
    });
    let request = head(&mut theirs).await;
    assert!(!request.to_ascii_lowercase().contains("sec-websocket-extensions"), "{request}");
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: Upgrade\r\nupgrade: websocket\r\n\
         sec-websocket-accept: {}\r\n\r\n",
        accept_key(&request)
    );
    theirs.write_all(answer.as_bytes()).await.unwrap();
    theirs
}

/// Reads up to the empty line.
pub(crate) async fn head(stream: &mut DuplexStream) -> String {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.unwrap());
    }
    String::from_utf8(head).unwrap()
}

async fn run(
    (source, sink, ending): (
        WebSocketSource<DuplexStream>,
        WebSocketSink<DuplexStream>,
        Ending<DuplexStream>,
    ),
) {
    let outcome = echo(source, sink).await;
    ending.finish(&outcome).await;
}

async fn echo(mut source: impl FrameSource, mut sink: impl FrameSink) -> Result<(), ConnectionError> {
    poll_fn(|cx| sink.poll_flush(cx)).await?;
    loop {
        // Pings are answered while a message is awaited.
        let message = poll_fn(|cx| {
            let message = source.poll_frame(cx);
            if sink.queued() > 0
                && let Poll::Ready(Err(error)) = sink.poll_flush(cx)
            {
                return Poll::Ready(Some(Err(error)));
            }
            message
        });
        let Some(message) = message.await else { return Ok(()) };
        sink.push(&message?);
        poll_fn(|cx| sink.poll_flush(cx)).await?;
    }
}
