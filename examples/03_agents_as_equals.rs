//! Two agents that call each other as equals: one listens, one connects, and after that there is no difference.
//!
//! They haggle over a price. Each offer is a call, and the other side answers it by calling back with a counter-offer.
//!
//! ```text
//! cargo run -p switchboard --features ws --example 03_agents_as_equals
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use switchboard::server::Server;
use switchboard::{Context, Dial, ErrorObject, Router, service};

/// The API of both agents.
#[service(namespace = "agent")]
trait Agent {
    /// Accepts an offer, or makes a counter-offer; returns the agreed price.
    async fn offer(&self, cx: &Context, price: i32) -> Result<i32, ErrorObject>;
}

/// An agent that haggles.
struct Haggler {
    name: &'static str,
    /// The current offer.
    price: AtomicI32,
    /// How much the offer changes each time.
    step: i32,
}

impl Agent for Haggler {
    async fn offer(&self, cx: &Context, price: i32) -> Result<i32, ErrorObject> {
        let own = self.price.fetch_add(self.step, Relaxed);
        let is_enough = if self.step < 0 { price >= own } else { price <= own };
        if is_enough {
            println!("{} takes {price}", self.name);
            return Ok(price);
        }
        println!("{} is offered {price} and says {own}", self.name);
        // The caller can be called back over the same connection while it waits for this answer.
        Ok(AgentClient::new(cx.peer().clone()).offer(own).await?)
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let seller = Haggler { name: "the seller", price: AtomicI32::new(100), step: -10 };
    let mut server = Server::new(Router::builder().add(AgentService(seller)).build()?);
    server.listen("ws://127.0.0.1:0").await?;
    let (url, handle) = (server.urls().next().ok_or("it listens")?, server.handle());
    let serving = tokio::spawn(server.serve());

    let buyer = Haggler { name: "the buyer", price: AtomicI32::new(50), step: 10 };
    let methods = Router::builder().add(AgentService(buyer)).build()?;
    let peer = Dial::new(&url)?.with_service(methods).connect().await?;
    let price = AgentClient::new(peer).offer(40).await?;
    println!("they agree on {price}");

    handle.shutdown();
    serving.await?;
    Ok(())
}
