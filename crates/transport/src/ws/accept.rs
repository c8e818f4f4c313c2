//! The server's part of the handshake, for programs with their own listener.

use std::io;
use std::time::Duration;

use bytes::{Buf, BytesMut};
use http::header::{HeaderMap, HeaderName, HeaderValue};
use http::{Method, Request, Version};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::ending::Ending;
use super::frame::Role;
use super::handshake::{Agreement, HandshakeError, HeadWatch};
use super::open;
use super::options::WebSocketOptions;
use super::shared::DuplexIo;
use super::sink::WebSocketSink;
use super::source::WebSocketSource;

/// Why a handshake was not accepted. The client was told, if possible.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum AcceptError {
    /// The input is not an HTTP/1.1 request, or is too long.
    #[error("received something other than an HTTP/1.1 request")]
    NotHttp,
    /// It is not a valid handshake.
    #[error("invalid handshake: {0}")]
    Handshake(#[from] HandshakeError),
    /// The caller's check rejected it.
    #[error("the request was refused")]
    Refused,
    /// It timed out.
    #[error("the handshake timed out")]
    TimedOut,
    /// The connection was lost.
    #[error("the connection was lost: {0}")]
    Io(#[from] io::Error),
}

/// The most bytes that the head of a request may have.
const HEAD: usize = 16 << 10;

/// Accepts a WebSocket over a stream, within `time`, for messages of up to `limit` bytes.
///
/// `admits` decides about the request: **it must check `Host` and `Origin`**, because a browser lets any page open a
/// WebSocket to any server (SEC-O-07). [`http::HttpServer`](crate::http::HttpServer) does that by itself.
///
/// # Errors
///
/// When the handshake is invalid, rejected, or times out.
pub async fn accept<S: DuplexIo>(
    mut io: S,
    limit: usize,
    time: Duration,
    options: &WebSocketOptions,
    admits: impl Fn(&Request<()>) -> bool,
) -> Result<(WebSocketSource<S>, WebSocketSink<S>, Ending<S>), AcceptError> {
    let handshake = async {
        let (request, unread) = read(&mut io).await?;
        if !admits(&request) {
            io.write_all(b"HTTP/1.1 403 Forbidden\r\nconnection: close\r\ncontent-length: 0\r\n\r\n").await?;
            return Err(AcceptError::Refused);
        }
        match Agreement::reach(request.method(), request.version(), request.headers(), &options.protocols) {
            Ok(agreement) => Ok((agreement, unread)),
            Err(error) => {
                let status = if error == HandshakeError::Version {
                    "426 Upgrade Required\r\nsec-websocket-version: 13"
                } else {
                    "400 Bad Request"
                };
                let text = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
                io.write_all(text.as_bytes()).await?;
                Err(error.into())
            }
        }
    };
    let (agreement, unread) =
        tokio::time::timeout(time, handshake).await.map_err(|_| AcceptError::TimedOut)??;
    let mut headers = HeaderMap::new();
    agreement.add_to(&mut headers);
    let mut unsent = b"HTTP/1.1 101 Switching Protocols\r\n".to_vec();
    for (name, value) in &headers {
        unsent.extend_from_slice(name.as_str().as_bytes());
        unsent.extend_from_slice(b": ");
        unsent.extend_from_slice(value.as_bytes());
        unsent.extend_from_slice(b"\r\n");
    }
    unsent.extend_from_slice(b"\r\n");
    Ok(open(io, Role::Server, limit, (unread, unsent), options))
}

async fn read<S: DuplexIo>(io: &mut S) -> Result<(Request<()>, BytesMut), AcceptError> {
    let (mut unread, mut watch) = (BytesMut::with_capacity(1 << 10), HeadWatch::default());
    loop {
        if io.read_buf(&mut unread).await? == 0 || unread.len() > HEAD {
            return Err(AcceptError::NotHttp);
        }
        if watch.is_due(&unread)
            && let Some((request, size)) = parse(&unread)?
        {
            unread.advance(size);
            return Ok((request, unread));
        }
    }
}

fn parse(bytes: &[u8]) -> Result<Option<(Request<()>, usize)>, AcceptError> {
    let mut fields = [httparse::EMPTY_HEADER; 64];
    let mut head = httparse::Request::new(&mut fields);
    let parsed = head.parse(bytes).map_err(|_| AcceptError::NotHttp)?;
    let httparse::Status::Complete(size) = parsed else { return Ok(None) };
    let read = || {
        let mut request = Request::new(());
        *request.method_mut() = Method::from_bytes(head.method?.as_bytes()).ok()?;
        *request.uri_mut() = head.path?.parse().ok()?;
        *request.version_mut() = if head.version? == 1 { Version::HTTP_11 } else { Version::HTTP_10 };
        for field in &*head.headers {
            let name = HeaderName::from_bytes(field.name.as_bytes()).ok()?;
            request.headers_mut().append(name, HeaderValue::from_bytes(field.value).ok()?);
        }
        Some(request)
    };
    read().map(|request| Some((request, size))).ok_or(AcceptError::NotHttp)
}
