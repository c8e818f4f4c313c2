//! WebSocket upgrades: checked like any other request, then served as long as the connection is open.

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
use crate::server::{ConnectionPermit, IdleWatch};
use crate::ws::{self, Agreement, DuplexIo, HandshakeError, Role, asks_for_websocket};

/// The paths of WebSockets, besides those of calls.
pub(super) const PATHS: [&str; 2] = ["/rpc/ws", "/ws"];

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

/// Serves a WebSocket until it ends, or the server shuts down and the calls in flight are answered.
///
/// Everything is made before the future, which so holds it once: an idle connection is little more than this.
fn serve<S: DuplexIo>(
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
    let source = source.within(permit.account());
    let cx = of_websocket(cx);
    cx.session().set_account(Arc::clone(permit.account()));
    let (_, mut connection) = Connection::new(source, sink, rules.engine.clone(), cx);
    let session = connection.session().clone();
    let mut idle = IdleWatch::new(permit.options().duplex_idle_time);
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
                let ended = Pin::new(&mut connection).poll(cx);
                if ended.is_pending() && !is_closing && idle.is_idle(|| connection.idle_mark(), cx) {
                    is_closing = true;
                    session.close(CloseReason::idle());
                }
                ended
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
        let is_own_path =
            !paths.is_empty() && PATHS.contains(&uri.path()) && self.options.routes.exact(parts).is_none();
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
        Admitted { body, decision, cx, admission, headers, special: None, is_http1 }
    }
}

fn fault(error: HandshakeError) -> Fault {
    match error {
        HandshakeError::Method => Fault::Method("GET"),
        HandshakeError::HttpVersion => Fault::Upgrade("WebSocket connections need HTTP/1.1"),
        HandshakeError::Upgrade => Fault::Upgrade("this path is for WebSocket connections"),
        HandshakeError::Version => Fault::Upgrade("`Sec-WebSocket-Version` must be 13"),
        HandshakeError::Body => Fault::BadRequest("a WebSocket handshake must not have a body"),
        HandshakeError::Key => {
            Fault::BadRequest("`Sec-WebSocket-Key` must be 16 bytes in Base64, given once")
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
