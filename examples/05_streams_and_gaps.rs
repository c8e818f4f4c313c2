//! A stream that is fed faster than it is read: the reader keeps up and learns how much it missed.
//!
//! ```text
//! cargo run -p switchboard --features tcp,http --example 05_streams_and_gaps
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use futures_util::StreamExt;
use switchboard::server::Server;
use switchboard::{CallError, Feed, Method, Overflow, Router};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    // Ten readings arrive at once, and the buffer holds four. The oldest are dropped; `Block` would make the sender wait,
    // `Close` would end the stream, `coalesce_by` would keep the newest of each key.
    let readings = Method::feed("readings", |(): (), _| {
        let (feed, items) = Feed::new(4, Overflow::DropOldest);
        tokio::spawn(async move {
            for reading in 1..=10_u32 {
                if feed.send(reading).await.is_err() {
                    return; // The reader is gone.
                }
            }
        });
        items
    });
    let endless = Method::stream("count", |(): (), _| futures_util::stream::iter(1_u64..));
    let mut server = Server::new(Router::builder().add(readings).add(endless).build()?);
    server.listen("tcp://127.0.0.1:0").await?;
    let (url, handle) = (server.urls().next().ok_or("it listens")?, server.handle());
    let serving = tokio::spawn(server.serve());

    let peer = switchboard::connect(&url).await?;
    let mut items = peer.stream::<u32>("readings", ()).await?;
    while let Some(item) = items.next().await {
        match item {
            Ok(reading) => println!("reading {reading}"),
            // The stream continues after a gap; any other error ends it.
            Err(CallError::Gap(gap)) => println!("-- {gap}"),
            Err(error) => return Err(error.into()),
        }
    }

    // A stream without an end: items are pulled when there is room for them, and dropping it ends it on the server.
    let numbers: Vec<_> = peer.stream::<u64>("count", ()).await?.take(3).collect().await;
    println!("the first three: {numbers:?}");

    drop(peer);
    handle.shutdown();
    serving.await?;
    Ok(())
}
