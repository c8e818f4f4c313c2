//! Ten calls at once, in one message or in ten, with each answer matched to its call.
//!
//! Every call waits until all ten have begun, so they could not finish if they ran one after the other.
//!
//! ```text
//! cargo run -p switchboard --features ws --example 09_batch
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::collections::BTreeMap;
use std::error::Error;

use futures_util::stream::FuturesUnordered;
use futures_util::{StreamExt, TryStreamExt};
use switchboard::server::Server;
use switchboard::{CallError, ErrorObject, Peer, Router, service};
use tokio::sync::Barrier;

const CALLS: u64 = 10;

/// Squares numbers, ten at a time.
struct Squares {
    all_began: Barrier,
}

#[service]
impl Squares {
    /// Squares a number. It rejects seven.
    async fn square(&self, n: u64) -> Result<u64, ErrorObject> {
        self.all_began.wait().await;
        if n == 7 { Err(ErrorObject::validation_failed("anything but seven")) } else { Ok(n * n) }
    }
}

/// Ten calls in one message. The outcomes are in the order of the calls, whichever finished first, and a call that fails
/// fails alone.
async fn one_batch(peer: &Peer) -> Result<(), CallError> {
    let batch = (0..CALLS).fold(peer.batch(), |batch, n| batch.call("square", [n]));
    for (n, outcome) in batch.send().await?.into_iter().enumerate() {
        match outcome {
            Ok(square) => println!("  {n} squared is {square}"),
            Err(error) => println!("  {n} was refused: {error}"),
        }
    }
    Ok(())
}

/// Ten messages, one after the other, without waiting for an answer. The answers arrive in any order: the peer finds the call
/// of each answer by its identifier, and we find the number of each call.
async fn ten_calls(peer: &Peer) -> Result<BTreeMap<u64, Option<u64>>, CallError> {
    let calls: FuturesUnordered<_> = (0..CALLS)
        .map(|n| {
            let square = peer.call::<u64>("square", [n]);
            async move {
                match square.await {
                    Ok(square) => Ok((n, Some(square))),
                    // The server rejected the call, which is an answer. Any other error is a failure on the way.
                    Err(CallError::Rejected(_)) => Ok((n, None)),
                    Err(trouble) => Err(trouble),
                }
            }
        })
        .collect();
    calls.inspect(|answer| println!("  answered: {answer:?}")).try_collect().await
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let squares = Squares { all_began: Barrier::new(usize::try_from(CALLS)?) };
    let mut server = Server::new(Router::builder().add(squares).build()?);
    server.listen("ws://127.0.0.1:0").await?;
    let (url, handle) = (server.urls().next().ok_or("it listens")?, server.handle());
    let serving = tokio::spawn(server.serve());
    let peer = switchboard::connect(&url).await?;

    println!("in one batch:");
    one_batch(&peer).await?;
    println!("in ten messages, as the answers come:");
    let squares = ten_calls(&peer).await?;
    println!("collated: {squares:?}");

    drop(peer);
    handle.shutdown();
    serving.await?;
    Ok(())
}
