//! GET: the messages of a session that belong to no request, and events that a client missed. DELETE: the end of a session.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream;
use http::{Response, StatusCode};
use switchboard_core::SessionOutput;
use switchboard_transport::http::{Body, Guarded};
use switchboard_transport::server::Shutdown;

use super::answer::{self, TRANSPORT, refuse};
use super::body::{COMMENT, streamed, write_event};
use super::events::EventId;
use super::message::accepts;
use super::sessions::InUse;
use super::{Endpoint, SESSION_ID, header};
use crate::server::principal;

/// The session that a request names.
fn session(endpoint: &Endpoint, request: &Guarded) -> Result<InUse, Box<Response<Body>>> {
    let Some(id) = header(&request.head.headers, SESSION_ID) else {
        // Requests that stand alone are posted, and nothing else (MCP-N-01).
        let mut response =
            refuse(StatusCode::METHOD_NOT_ALLOWED, TRANSPORT, "send Mcp-Session-Id, or use POST");
        response.headers_mut().insert(http::header::ALLOW, http::HeaderValue::from_static("POST"));
        return Err(Box::new(response));
    };
    let found = endpoint.sessions.find(id, &principal(&request.cx));
    found.ok_or_else(|| Box::new(answer::no_session(None)))
}

/// Answers a GET (MCP-HTTP-08).
pub(super) fn answer(endpoint: &Arc<Endpoint>, request: &Guarded) -> Response<Body> {
    if !accepts(&request.head.headers, "text/event-stream") {
        return refuse(StatusCode::NOT_ACCEPTABLE, TRANSPORT, "accept text/event-stream");
    }
    let in_use = match session(endpoint, request) {
        Ok(in_use) => in_use,
        Err(response) => return *response,
    };
    let after = header(&request.head.headers, "last-event-id").and_then(EventId::parse);
    let known = after.and_then(|after| Some((after, in_use.live().is_general(after.stream)?)));
    match known {
        Some((after, false)) => resume(endpoint, in_use, after),
        Some((after, true)) => general(endpoint, in_use, Some(after), request.shutdown()),
        None => general(endpoint, in_use, None, request.shutdown()),
    }
}

/// The rest of the stream that a request was answered with.
fn resume(endpoint: &Endpoint, in_use: InUse, after: EventId) -> Response<Body> {
    let keep_alive = endpoint.options.keep_alive;
    let pieces = stream::unfold(Some((in_use, after)), move |state| async move {
        let (in_use, mut after) = state?;
        let rest = match tokio::time::timeout(keep_alive, in_use.live().rest(after)).await {
            Ok(rest) => rest?,
            Err(_) => return Some((Bytes::from_static(COMMENT), Some((in_use, after)))),
        };
        let mut out = Vec::new();
        for (id, text) in rest.events {
            write_event(&mut out, Some(id), &text);
            after = id;
        }
        let next = (!rest.has_ended).then_some((in_use, after));
        Some((Bytes::from(out), next))
    });
    answer::events(streamed(pieces.filter(|piece| std::future::ready(!piece.is_empty()))))
}

/// The messages of a session that belong to no request. The newest stream gets them; older ones end.
fn general(
    endpoint: &Endpoint,
    in_use: InUse,
    after: Option<EventId>,
    shutdown: Arc<Shutdown>,
) -> Response<Body> {
    let live = Arc::clone(in_use.live());
    let Some(output) = live.session.attach() else { return answer::no_session(None) };
    let stream_id = match after {
        None => live.open_stream(true),
        Some(after) => {
            live.reopen_stream(after.stream);
            after.stream
        }
    };
    let keep_alive = endpoint.options.keep_alive;
    let missed = after.and_then(|after| {
        let rest = live.missed(after)?;
        let mut out = Vec::new();
        rest.events.iter().for_each(|(id, text)| write_event(&mut out, Some(*id), text));
        (!out.is_empty()).then(|| Bytes::from(out))
    });
    // Headers are sent with the first piece, so that the client sees that the stream is open.
    let first = missed.unwrap_or_else(|| Bytes::from_static(COMMENT));
    let state = General { in_use, output, stream: stream_id };
    let rest = stream::unfold(state, move |mut state| {
        let shutdown = Arc::clone(&shutdown);
        async move {
            let next = tokio::select! {
                next = tokio::time::timeout(keep_alive, state.output.next()) => next,
                () = shutdown.wait() => return None,
            };
            match next {
                Err(_) => Some((Bytes::from_static(COMMENT), state)),
                Ok(None) => None,
                Ok(Some(text)) => {
                    let id = state.in_use.live().keep(state.stream, &text);
                    let mut out = Vec::new();
                    write_event(&mut out, Some(id), &text);
                    Some((Bytes::from(out), state))
                }
            }
        }
    });
    answer::events(streamed(stream::once(std::future::ready(first)).chain(rest)))
}

struct General {
    in_use: InUse,
    output: SessionOutput,
    stream: u32,
}

impl Drop for General {
    fn drop(&mut self) {
        self.in_use.live().end_stream(self.stream);
    }
}

/// Answers a DELETE.
pub(super) fn end(endpoint: &Endpoint, request: &Guarded) -> Response<Body> {
    if let Err(response) = session(endpoint, request) {
        return *response;
    }
    let id = header(&request.head.headers, SESSION_ID).unwrap_or_default();
    match endpoint.sessions.remove(id, &principal(&request.cx)) {
        true => Response::new(Body::empty()),
        false => answer::no_session(None),
    }
}
