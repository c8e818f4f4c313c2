//! Two agents that call each other as equals: one listens, one connects, and from then on there is no difference.
//!
//! They haggle over a price. Each offer is a call, and each answers it by calling back with an offer of its own.
//!
//! ```text
//! cargo run -p switchboard --features ws --example 03_agents_as_equals
//! ```
#![allow(clippy::print_stdout, reason = "an example shows what it does")]

use std::error::Error;
use std::sync::atomic::{AtomicI32, Ordering::Relaxed};

use switchboard::server::Server;
use switchboard::{Context, Dial, ErrorObject, Router, service};

/// What both can be asked.
#[service(namespace = "agent")]
trait Agent {
    /// Takes an offer, or answers it with another; gives the price that they agree on.
    async fn offer(&self, cx: &Context, price: i32) -> Result<i32, ErrorObject>;
}

/// Somebody who haggles.
struct Haggler {
    name: &'static str,
    /// What they would say now.
    price: AtomicI32,
    /// How they give way, each time they say something.
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
        // Whoever called is somebody to call, over the same connection, while they wait for this answer.
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
