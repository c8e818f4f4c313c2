//! Messages over accepted sockets: each is a connection that is drained when the server stops.

use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;

use bytes::Bytes;
use switchboard_core::{Answer, Connection, ErrorObject, Origin, Service};

use super::guest::Guest;
use super::stop::Stop;
use crate::running;
use crate::socket::Socket;
use crate::stream::{self, Options};

/// What answers the messages of a listener, and how they are told apart.
pub(super) struct Streams {
    pub(super) service: Arc<dyn Service>,
    pub(super) options: Options,
}

impl Streams {
    pub(super) async fn serve(&self, socket: Socket, origin: Origin, guest: Guest) {
        let service = Arc::clone(&self.service);
        let options = self.options.clone().within(guest.budget());
        let connection = match socket {
            // Halves of their own, which share no lock.
            Socket::Tcp(tcp) => stream::connection(tcp.into_split(), service, origin, &options),
            #[cfg(all(feature = "unix", unix))]
            Socket::Unix(unix) => crate::unix::connection(unix, service, &options),
            #[cfg(any(feature = "tls", all(unix, not(feature = "unix"))))]
            other => stream::connection(tokio::io::split(other), service, origin, &options),
        };
        // What a connection is made of is large; its task holds it apart from what HTTP needs.
        Box::pin(run(connection, guest.stop())).await;
    }

    /// What a connection too many is told.
    pub(super) fn refusal(&self, error: &ErrorObject) -> Bytes {
        let mut text = Vec::new();
        if let Some(body) = Answer::refusal(error).body() {
            self.options.framing.encode(body, &mut text);
        }
        Bytes::from(text)
    }
}

/// Runs a connection to its end. At the signal to stop it finishes what is under way, and takes nothing more.
pub(super) async fn run(connection: Connection, stop: &Stop) {
    let drain = connection.drain();
    let mut connection = pin!(running::log_end(connection));
    let mut stopped = pin!(stop.wait());
    let mut is_draining = false;
    poll_fn(|cx| {
        // What has arrived is taken, even if the signal came first.
        if connection.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        if !is_draining && stopped.as_mut().poll(cx).is_ready() {
            is_draining = true;
            drain.start();
            return connection.as_mut().poll(cx);
        }
        Poll::Pending
    })
    .await;
}
