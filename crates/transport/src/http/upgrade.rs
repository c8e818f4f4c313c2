//! Requests that ask to go on as a WebSocket: looked at like any other, then served for as long as the connection lasts.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;

use bytes::BytesMut;
use http::header::HeaderMap;
use http::request::Parts;
use http::{Method, Version};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use switchboard_core::{CloseReason, Connection, Context, Session};
use tokio::net::TcpStream;

use super::fault::Fault;
use super::head::{Head, first_headers};
use super::metadata;
use super::pipe::Shared;
use super::rules::{Admitted, Decision, Rules};
use crate::server::ConnectionPermit;
use crate::ws::{self, Agreement, HandshakeError, Role, Stream, asks_for_websocket};

/// Where a WebSocket is always to be found, besides the paths of calls.
pub(super) const PATH: &str = "/rpc/ws";

/// The promise that a connection goes on as a WebSocket, whose calls have this context.
pub(super) struct Upgrade(pub(super) Context);

impl Upgrade {
    /// hyper's handle to the upgraded connection of another server, for a request that may ask for one.
    pub(super) fn watch<B>(request: &mut http::Request<B>) -> Option<OnUpgrade> {
        (request.method() == Method::GET).then(|| hyper::upgrade::on(request))
    }

    /// Serves the WebSocket in its own task, which keeps nothing of HTTP but the connection's permit. `read` is what hyper
    /// read after the request.
    pub(super) fn go_on(self, socket: Arc<Shared>, read: &[u8], rules: &Rules, permit: ConnectionPermit) {
        let Some((socket, prefix, unsent)) = socket.into_socket() else { return };
        let unread = joined(read, &prefix);
        permit.spawn(|permit| serve(socket, (unread, unsent), rules, self.0, permit));
    }

    /// Goes on within another server, over whatever that reads from.
    pub(super) async fn go_on_mounted(self, on: OnUpgrade, rules: Arc<Rules>, permit: ConnectionPermit) {
        let Ok(upgraded) = on.await else { return };
        match upgraded.downcast::<TokioIo<TcpStream>>() {
            Ok(parts) => {
                let rest = (BytesMut::from(parts.read_buf), Vec::new());
                serve(parts.io.into_inner(), rest, &rules, self.0, permit).await;
            }
            Err(other) => {
                let io: TokioIo<Upgraded> = TokioIo::new(other);
                serve(io, (BytesMut::new(), Vec::new()), &rules, self.0, permit).await;
            }
        }
    }
}

fn joined(first: &[u8], second: &[u8]) -> BytesMut {
    let mut all = BytesMut::from(first);
    all.extend_from_slice(second);
    all
}

/// Serves a WebSocket until it ends, or the server shuts down and the calls under way are answered.
///
/// Everything is made before the future, which so holds it once: an idle connection is little more than this.
fn serve<S: Stream>(
    io: S,
    rest: (BytesMut, Vec<u8>),
    rules: &Rules,
    cx: Context,
    permit: ConnectionPermit,
) -> impl Future<Output = ()> + Send + use<S> {
    let options =
        rules.options.websocket.as_ref().expect("a request is upgraded only where there are options");
    let limit = rules.settings().limits.longest_frame();
    let (source, sink, ending) = ws::open(io, Role::Server, limit, rest, options);
    let source = source.within(permit.budget());
    let (_, mut connection) = Connection::new(source, sink, rules.engine.clone(), of_websocket(cx));
    let session = connection.session().clone();
    async move {
        let outcome = {
            let shutdown = permit.shutdown();
            let mut signal = pin!(shutdown.signal());
            let (mut is_first, mut is_closing) = (true, false);
            poll_fn(|cx| {
                // The signal wakes this task, which is all that is wanted of it.
                if std::mem::take(&mut is_first) {
                    let _ = signal.as_mut().poll(cx);
                }
                // Once, because it wakes this task.
                if !is_closing && shutdown.is_requested() {
                    is_closing = true;
                    session.close(CloseReason::shutting_down());
                }
                Pin::new(&mut connection).poll(cx)
            })
            .await
        };
        drop(connection);
        if let Err(error) = &outcome {
            tracing::debug!(%error, "a WebSocket connection ended");
        }
        // Boxed, or every idle connection would have room for it.
        Box::pin(ending.finish_for(&outcome, session.close_reason())).await;
    }
}

/// The context of a WebSocket: with its own session, unless middleware gave the request one.
fn of_websocket(cx: Context) -> Context {
    if cx.session().is_exclusive() {
        return cx;
    }
    let mut origin = cx.origin().clone();
    origin.transport = "ws";
    cx.with_session(Session::new(origin))
}

impl Rules {
    /// What a request comes to that asks for a WebSocket; nothing if it does not.
    pub(super) fn judge_upgrade(&self, parts: &Parts, head: &Head<'_>) -> Option<Result<Agreement, Fault>> {
        let Parts { method, uri, version, headers, .. } = parts;
        let version = *version;
        let options = self.options.websocket.as_ref()?;
        let paths = &self.options.paths;
        let is_own_path = !paths.is_empty() && uri.path() == PATH;
        let asks = *method == Method::GET && version <= Version::HTTP_11 && asks_for_websocket(headers);
        if !asks && !is_own_path {
            return None;
        }
        Some(self.check_caller(head, uri, version).and_then(|()| {
            if !is_own_path && !paths.is_empty() && !paths.iter().any(|path| path == uri.path()) {
                return Err(Fault::NotFound);
            }
            Agreement::reach(method, version, headers, &options.protocols).map_err(fault)
        }))
    }

    /// The response to a request that asks for a WebSocket, as far as its head.
    pub(super) fn admit_upgrade<B>(
        &self,
        outcome: Result<Agreement, Fault>,
        parts: &Parts,
        body: B,
        mut cx: Context,
    ) -> Admitted<B> {
        *cx.metadata_mut() = metadata::of_handshake(&parts.headers);
        let (decision, headers, admission) = match outcome {
            Ok(agreement) => {
                let mut headers = HeaderMap::new();
                agreement.add_to(&mut headers);
                (Decision::Switch, headers, self.ask(parts, &cx, true))
            }
            Err(fault) => (Decision::Refused(fault), first_headers(true), None),
        };
        let is_http1 = parts.version <= Version::HTTP_11;
        Admitted { body, decision, cx, admission, headers, route: None, is_http1 }
    }
}

fn fault(error: HandshakeError) -> Fault {
    match error {
        HandshakeError::Method => Fault::Method("GET"),
        HandshakeError::HttpVersion => Fault::Upgrade("a WebSocket is opened over HTTP/1.1"),
        HandshakeError::Upgrade => Fault::Upgrade("this path is for WebSocket connections"),
        HandshakeError::Version => Fault::Upgrade("`Sec-WebSocket-Version` must be 13"),
        HandshakeError::Body => Fault::BadRequest("a request for a WebSocket has no body"),
        HandshakeError::Key => {
            Fault::BadRequest("`Sec-WebSocket-Key` must be 16 bytes in Base64, and stand once")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::Socket;

    #[test]
    fn the_future_of_a_websocket_is_little_more_than_its_connection() {
        fn size_of_output<A, B, C, D, E, R>(_: impl Fn(A, B, C, D, E) -> R) -> usize {
            size_of::<R>()
        }
        let size = size_of_output::<Socket, _, &Rules, _, _, _>(serve::<Socket>);
        assert!(size <= size_of::<Connection>() + 300, "{size}");
    }
}
