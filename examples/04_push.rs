//! A server that pushes notifications: `onTick` from time to time, `onUpdate` when something changes.
//!
//! The server calls the client as the client calls the server; notifications have no response.
//!
//! ```text
//! cargo run -p switchboard --features ws --example 04_push
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::time::Duration;

use switchboard::server::Server;
use switchboard::{CallError, Context, Dial, ErrorObject, Peer, Router, service};
use tokio::sync::{mpsc, watch};

/// A value that many clients can read and change.
struct Board {
    price: watch::Sender<i64>,
}

#[service]
impl Board {
    /// Sends `onTick` and `onUpdate` from now on, until the connection ends.
    async fn watch(&self, cx: &Context) {
        let (peer, updates) = (cx.peer().clone(), self.price.subscribe());
        tokio::spawn(async move {
            tokio::select! {
                // The connection is gone, or its reader is too slow.
                _ = peer.closed() => {}
                _ = tell(&peer, updates) => {}
            }
        });
    }

    /// Changes the price.
    fn set(&self, price: i64) {
        self.price.send_replace(price);
    }
}

/// Notifies one client. Changes are not queued: if several happen at once, only the newest is sent.
async fn tell(peer: &Peer, mut updates: watch::Receiver<i64>) -> Result<(), CallError> {
    let mut clock = tokio::time::interval(Duration::from_millis(20));
    let mut ticks = 0;
    loop {
        tokio::select! {
            _ = clock.tick() => {
                ticks += 1;
                peer.notify("onTick", [ticks]).await?;
            }
            Ok(()) = updates.changed() => {
                let price = *updates.borrow_and_update();
                peer.notify("onUpdate", [price]).await?;
            }
        }
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let board = Board { price: watch::Sender::new(100) };
    let mut server = Server::new(Router::builder().add(board).build()?);
    server.listen("ws://127.0.0.1:0").await?;
    let (url, handle) = (server.urls().next().ok_or("it listens")?, server.handle());
    let serving = tokio::spawn(server.serve());

    // How the client handles notifications.
    let (tick, mut ticks) = mpsc::channel(16);
    let (update, mut updates) = mpsc::channel(16);
    // Nothing here waits: if the screen is too slow, notifications are dropped.
    let show = |sender: mpsc::Sender<i64>| {
        move |(value,): (i64,), _| {
            let _ = sender.try_send(value);
            Ok::<_, ErrorObject>(())
        }
    };
    let told = Router::builder().method("onTick", show(tick)).method("onUpdate", show(update)).build()?;
    let peer = Dial::new(&url)?.with_service(told).connect().await?;
    peer.call::<()>("watch", ()).await?;
    for _ in 0..3 {
        println!("tick {}", ticks.recv().await.ok_or("the server tells")?);
    }
    peer.call::<()>("set", [120]).await?;
    println!("the price is {} now", updates.recv().await.ok_or("the server tells")?);

    handle.shutdown();
    serving.await?;
    Ok(())
}
