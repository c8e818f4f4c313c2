//! A worker as a listener: one connection to the broker, which lasts as long as the server.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};

use async_nats::Subscriber;
use switchboard_core::ErrorObject;

use super::link::Link;
use super::worker::Worker;
use crate::server::{Accepted, BoxFuture, ConnectionPermit, Listener, Shutdown};

/// The calls of a service.
pub(super) struct NatsListener {
    name: String,
    waiting: Mutex<Option<Ready>>,
}

/// A subscription whose messages wait to be served.
struct Ready {
    link: Arc<Link>,
    subscription: Subscriber,
}

impl NatsListener {
    pub(super) fn new(link: Arc<Link>, subscription: Subscriber) -> NatsListener {
        let name = link.address.to_string();
        NatsListener { name, waiting: Mutex::new(Some(Ready { link, subscription })) }
    }
}

impl Listener for NatsListener {
    fn url(&self) -> String {
        self.name.clone()
    }

    fn poll_accept(&self, _: &mut Context<'_>) -> Poll<io::Result<Box<dyn Accepted>>> {
        match self.waiting.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(ready) => Poll::Ready(Ok(Box::new(ready))),
            None => Poll::Pending,
        }
    }
}

impl Accepted for Ready {
    fn address(&self) -> Option<SocketAddr> {
        None
    }

    fn serve(self: Box<Self>, permit: ConnectionPermit) -> BoxFuture<'static, ()> {
        Box::pin(async move { Worker::new(self.link, permit).run(self.subscription).await })
    }

    /// There is always room for it, unless the server takes no connections at all.
    fn refuse(self: Box<Self>, _: &ErrorObject, _: Arc<Shutdown>) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }
}
