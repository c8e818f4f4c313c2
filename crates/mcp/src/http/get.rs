//! GET: the messages of a session that belong to no request, and events that a client missed. DELETE: the end of a session.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::StreamExt as _;
use futures_util::stream;
use http::{HeaderMap, Response, StatusCode};
use switchboard_core::{Context, SessionOutput};
use switchboard_transport::http::{Body, Guarded};
use switchboard_transport::server::Shutdown;

use super::answer::{self, TRANSPORT, refuse};
use super::body::{COMMENT, streamed, write_event};
use super::events::EventId;
use super::message::accepts;
use super::sessions::InUse;
use super::shared::{Lost, Replay};
use super::{Endpoint, SESSION_ID, header};
use crate::model::Revision;

/// The session that a request names.
async fn session(
    endpoint: &Arc<Endpoint>,
    headers: &HeaderMap,
    cx: &Context,
) -> Result<InUse, Box<Response<Body>>> {
    let Some(id) = header(headers, SESSION_ID) else {
        // Requests that stand alone are posted, and nothing else (MCP-N-01).
        let mut response =
            refuse(StatusCode::METHOD_NOT_ALLOWED, TRANSPORT, "send Mcp-Session-Id, or use POST");
        response.headers_mut().insert(http::header::ALLOW, http::HeaderValue::from_static("POST"));
        return Err(Box::new(response));
    };
    let found = endpoint.session(id, cx).await;
    found.map_err(|lost| Box::new(answer::lost(&lost, None)))
}

/// Answers a GET (MCP-HTTP-08).
pub(super) async fn answer(endpoint: Arc<Endpoint>, request: Guarded) -> Response<Body> {
    let (shutdown, headers, cx) = (request.shutdown(), request.head.headers, request.cx);
    if !accepts(&headers, "text/event-stream") {
        return refuse(StatusCode::NOT_ACCEPTABLE, TRANSPORT, "accept text/event-stream");
    }
    let in_use = match session(&endpoint, &headers, &cx).await {
        Ok(in_use) => in_use,
        Err(response) => return *response,
    };
    let after = header(&headers, "last-event-id").and_then(EventId::parse);
    let Some(after) = after else { return general(&endpoint, in_use, None, Vec::new(), shutdown) };
    match (in_use.live().is_general(after.stream), &endpoint.shared_sessions) {
        (Some(false), _) => resume(&endpoint, in_use, after),
        (Some(true), _) => general(&endpoint, in_use, Some(after), Vec::new(), shutdown),
        (None, None) => general(&endpoint, in_use, None, Vec::new(), shutdown),
        (None, Some(shared)) => {
            match Replay::find(shared, in_use, after, endpoint.options.keep_alive).await {
                Ok(replay) if replay.is_general() => {
                    let (missed, in_use) = replay.now().await;
                    general(&endpoint, in_use, None, missed, shutdown)
                }
                Ok(replay) => answer::events(streamed(replay.rest())),
                Err(in_use) => general(&endpoint, in_use, None, Vec::new(), shutdown),
            }
        }
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

/// The messages of a session that belong to no request. The newest stream gets them; older ones end. It goes on after an event of this
/// server, or with what was missed of a stream of another one.
fn general(
    endpoint: &Endpoint,
    in_use: InUse,
    after: Option<EventId>,
    mut missed: Vec<u8>,
    shutdown: Arc<Shutdown>,
) -> Response<Body> {
    let live = Arc::clone(in_use.live());
    let Some(output) = live.session.attach() else { return answer::no_session(None) };
    let stream_id = match after {
        None => live.open_stream(true, None),
        Some(after) => {
            live.reopen_stream(after.stream);
            after.stream
        }
    };
    if !missed.is_empty() && live.revision >= Revision::V2025_11_25 {
        // The client comes back to the stream of this server from now on (MCP-HTTP-11).
        missed.extend_from_slice(format!("id: {stream_id}-0\ndata: \n\n").as_bytes());
    }
    let keep_alive = endpoint.options.keep_alive;
    let rest = after.and_then(|after| live.missed(after)).map(|rest| rest.events).unwrap_or_default();
    rest.iter().for_each(|(id, text)| write_event(&mut missed, Some(*id), text));
    // Headers are sent with the first piece, so that the client sees that the stream is open.
    let first = if missed.is_empty() { Bytes::from_static(COMMENT) } else { Bytes::from(missed) };
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
    stream: u64,
}

impl Drop for General {
    fn drop(&mut self) {
        self.in_use.live().end_stream(self.stream);
    }
}

/// Answers a DELETE.
pub(super) async fn end(endpoint: &Arc<Endpoint>, request: Guarded) -> Response<Body> {
    let (headers, cx) = (request.head.headers, request.cx);
    let in_use = match session(endpoint, &headers, &cx).await {
        Ok(in_use) => in_use,
        Err(response) => return *response,
    };
    match endpoint.end(in_use.live()).await {
        true => Response::new(Body::empty()),
        false => answer::lost(&Lost::Unavailable, None),
    }
}
