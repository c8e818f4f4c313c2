//! A client that reconnects: calls wait for the next connection, streams are subscribed again and mark the gap.
//!
//! ```text
//! cargo run -p switchboard --features ws --example 06_reconnecting_client
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;

use futures_util::StreamExt;
use switchboard::reconnect::ReconnectingPeer;
use switchboard::server::{Handle, Server};
use switchboard::{CallError, ErrorObject, Method, Router};
use tokio::task::JoinHandle;

/// Starts a server that answers with this number; returns its URL and a handle to stop it.
async fn start(url: &str, number: u32) -> Result<(String, Handle, JoinHandle<()>), Box<dyn Error>> {
    let ticks = Method::stream("ticks", move |(): (), _| {
        // Two items, then silence: the stream does not end.
        futures_util::stream::iter([number * 10, number * 10 + 1]).chain(futures_util::stream::pending())
    });
    let router = Router::builder()
        .add(ticks)
        .method("number", move |(): (), _| Ok::<_, ErrorObject>(number))
        .build()?;
    let mut server = Server::new(router);
    server.listen(url).await?;
    let (url, handle) = (server.urls().next().ok_or("it listens")?, server.handle());
    Ok((url, handle, tokio::spawn(server.serve())))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let (url, handle, serving) = start("ws://127.0.0.1:0", 1).await?;

    // All it needs is a function that connects. Anything that must happen first on each connection, such as a login, goes
    // there. `switchboard::reconnect(&url)` is the short form.
    let place = url.clone();
    let peer = ReconnectingPeer::new(move || switchboard::connect(&place)).peer();

    // A stream is subscribed again only if it is a subscription with its own method names, or its call is repeatable.
    let mut ticks = peer.stream::<u32>("ticks", ()).repeatable().await?;
    for _ in 0..2 {
        println!("tick {:?}", ticks.next().await);
    }

    // The server stops, and another one starts.
    handle.shutdown();
    serving.await?;
    let (_, handle, serving) = start(&url, 2).await?;

    // If the connection breaks before the answer arrives, the call is sent again, because it is marked as repeatable.
    let number: u32 = peer.call("number", ()).repeatable().await?;
    println!("answered by server {number}");
    while let Some(tick) = ticks.next().await {
        match tick {
            Err(CallError::Gap(gap)) => println!("-- {gap}"),
            Ok(21) => break,
            tick => println!("tick {tick:?}"),
        }
    }

    drop((ticks, peer));
    handle.shutdown();
    serving.await?;
    Ok(())
}
