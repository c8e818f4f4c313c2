//! Opening connections: to where the URL says, and into what is spoken there.

use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use http::HeaderMap;
use switchboard::{CallError, Dial, DialError};

use super::carrier::{Carrier, Head, Http, LIMIT, Stream, WebSocket};
use super::http2::Http2;
use super::line::{Connect, Line};
use crate::check::wire::{Carrier as Spoken, Endpoint, websocket};

/// Makes connections to this address, each within this time.
pub(crate) fn connect(dial: Dial, headers: HeaderMap, http2: bool, time: Duration) -> Connect {
    let url = dial.url().to_string();
    let dial = if http2 { dial.with_http2() } else { dial };
    let endpoint = Arc::new(Endpoint::new(dial, headers, LIMIT));
    let (host, path) = endpoint.target();
    let head = Head::new(&host, &path, &endpoint.headers);
    Arc::new(move || {
        let (endpoint, head, url) = (Arc::clone(&endpoint), head.clone(), url.clone());
        let open = async move {
            let raw = endpoint.open().await.map_err(|error| unreachable(error, http2))?;
            match endpoint.carrier() {
                Spoken::Http if http2 => Http2::open(raw, &url, &endpoint.headers).await,
                Spoken::Http => Ok(Line::new(raw, Carrier::Http(Http::new(head)))),
                Spoken::Stream(framing) => Ok(Line::new(raw, Carrier::Stream(Stream::new(framing)))),
                Spoken::WebSocket => {
                    let shaken = websocket::shake_hands(raw, &endpoint).await;
                    let (raw, rest) = shaken.map_err(|what| CallError::Unreachable(what.into()))?;
                    // Another one for each hasher.
                    let key = RandomState::new().hash_one(()) as u32;
                    Ok(Line::new(raw, Carrier::WebSocket(WebSocket::new(rest, key.to_ne_bytes()))))
                }
            }
        };
        Box::pin(async move {
            let late = |_| Err(CallError::Unreachable(format!("no connection within {time:?}").into()));
            tokio::time::timeout(time, open).await.unwrap_or_else(late)
        })
    })
}

fn unreachable(error: DialError, http2: bool) -> CallError {
    match error {
        // With TLS the versions of HTTP are agreed on beforehand.
        DialError::Refused(what) if http2 && what.contains("does not speak HTTP over this port") => {
            CallError::Unreachable("the server does not speak HTTP/2: remove `--http2`".into())
        }
        other => other.into(),
    }
}
