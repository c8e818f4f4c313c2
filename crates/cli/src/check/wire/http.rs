//! HTTP/1.1 by hand: requests that may be wrong, and responses as they are.

use std::borrow::Cow;

use bytes::Bytes;
use http::{HeaderName, HeaderValue};
use switchboard::{Direction, Raw, Wire};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::Endpoint;
use crate::check::shown;
use crate::responses::{Head, Read, Responses};

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) content_type: Option<&'static str>,
    pub(crate) accept: Option<&'static str>,
    /// Another host than that of the URL.
    pub(crate) host: Option<&'static str>,
    /// Additional lines of the head, each with its line break.
    pub(crate) lines: Cow<'static, str>,
    /// Headers of the endpoint that are left out, by their names in lower case.
    pub(crate) without: &'static [&'static str],
    pub(crate) length: Length,
    /// Names that begin with `@` are filled in.
    pub(crate) body: Vec<u8>,
}

/// What a request says about the length of its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// The real length.
    Right,
    /// The body is sent in chunks.
    Chunked,
    /// This.
    Says(&'static str),
    /// Both the real length and chunks.
    Both,
}

impl Request {
    /// A good request with this body.
    pub(crate) fn post(body: impl AsRef<[u8]>) -> Request {
        Request {
            method: "POST",
            content_type: Some("application/json"),
            accept: Some("application/json"),
            host: None,
            lines: Cow::Borrowed(""),
            without: &[],
            length: Length::Right,
            body: body.as_ref().to_vec(),
        }
    }

    /// The same with another method.
    pub(crate) fn by(mut self, method: &'static str) -> Request {
        self.method = method;
        self
    }

    /// The same with another media type.
    pub(crate) fn typed(mut self, content_type: Option<&'static str>) -> Request {
        self.content_type = content_type;
        self
    }

    /// The same, asking for another media type.
    pub(crate) fn accepting(mut self, accept: Option<&'static str>) -> Request {
        self.accept = accept;
        self
    }

    /// The same with these lines in its head.
    pub(crate) fn with_lines(mut self, lines: impl Into<Cow<'static, str>>) -> Request {
        self.lines = lines.into();
        self
    }

    /// The same without these headers of the endpoint.
    pub(crate) fn without(mut self, names: &'static [&'static str]) -> Request {
        self.without = names;
        self
    }

    /// The same for another host.
    pub(crate) fn at_host(mut self, host: &'static str) -> Request {
        self.host = Some(host);
        self
    }

    /// The same with another length.
    pub(crate) fn sized(mut self, length: Length) -> Request {
        self.length = length;
        self
    }

    /// The request as bytes.
    pub(crate) fn bytes(&self, endpoint: &Endpoint) -> Vec<u8> {
        let (host, path) = endpoint.target();
        let host = self.host.unwrap_or(&host);
        let mut bytes = format!("{} {path} HTTP/1.1\r\nHost: {host}\r\n", self.method).into_bytes();
        if let Some(content_type) = self.content_type {
            bytes.extend(format!("Content-Type: {content_type}\r\n").as_bytes());
        }
        let accept = match self.accept {
            Some("application/json") if endpoint.takes_events => Some("application/json, text/event-stream"),
            accept => accept,
        };
        if let Some(accept) = accept {
            bytes.extend(format!("Accept: {accept}\r\n").as_bytes());
        }
        bytes.extend(self.lines.as_bytes());
        let is_sent = |name: &HeaderName| !self.without.contains(&name.as_str());
        write_headers(&mut bytes, endpoint.headers.iter().filter(|(name, _)| is_sent(name)));
        let length = self.body.len();
        let is_chunked = matches!(self.length, Length::Chunked | Length::Both);
        match self.length {
            Length::Right if self.body.is_empty() && self.method != "POST" => {}
            Length::Right | Length::Both => bytes.extend(format!("Content-Length: {length}\r\n").as_bytes()),
            Length::Says(what) => bytes.extend(format!("Content-Length: {what}\r\n").as_bytes()),
            Length::Chunked => {}
        }
        if is_chunked {
            bytes.extend(b"Transfer-Encoding: chunked\r\n");
        }
        bytes.extend(b"\r\n");
        if is_chunked {
            for chunk in self.body.chunks(7) {
                bytes.extend(format!("{:x}\r\n", chunk.len()).as_bytes());
                bytes.extend(chunk);
                bytes.extend(b"\r\n");
            }
            bytes.extend(b"0\r\n\r\n");
        } else {
            bytes.extend(&self.body);
        }
        bytes
    }
}

/// Appends headers.
pub(crate) fn write_headers<'a>(
    bytes: &mut Vec<u8>,
    headers: impl IntoIterator<Item = (&'a HeaderName, &'a HeaderValue)>,
) {
    for (name, value) in headers {
        bytes.extend(name.as_str().as_bytes());
        bytes.extend(b": ");
        bytes.extend(value.as_bytes());
        bytes.extend(b"\r\n");
    }
}

/// Sends a request on a new connection.
async fn send(endpoint: &Endpoint, request: &Request) -> Result<Raw, String> {
    let mut raw = endpoint.open().await.map_err(|error| error.to_string())?;
    let bytes = request.bytes(endpoint);
    if let Some(tap) = &endpoint.tap {
        shown::request(tap, &bytes, &endpoint.headers);
    }
    // A server may answer before it has read everything, and stop reading.
    let _ = raw.write_all(&bytes).await;
    let _ = raw.flush().await;
    Ok(raw)
}

/// Sends a request on a new connection and reads the response.
pub(crate) async fn exchange(endpoint: &Endpoint, request: &Request) -> Result<(Head, Bytes), String> {
    let mut raw = send(endpoint, request).await?;
    let response = read(&mut raw, request.method, endpoint.limit).await;
    match (&endpoint.tap, &response) {
        (Some(tap), Ok((head, body))) => shown::response(tap, head, body),
        (Some(tap), Err(why)) => tap.show(Direction::Received, Wire::Carrier(why)),
        (None, _) => {}
    }
    response
}

/// Sends a request on a new connection and reads the response up to its first event, or to its end if it is not an event stream.
pub(crate) async fn first_event(endpoint: &Endpoint, request: &Request) -> Result<(Head, Bytes), String> {
    let mut raw = send(endpoint, request).await?;
    let mut responses = Responses::to(request.method, endpoint.limit);
    loop {
        if let Some(Read::Response(body)) = responses.next()? {
            return Ok((responses.head().clone(), body));
        }
        let text = String::from_utf8_lossy(responses.partial()).replace("\r\n", "\n");
        // Comments and events without data only show that the stream is open.
        let has_data =
            |event: &&str| event.lines().any(|line| line.starts_with("data:") && line.trim() != "data:");
        let mut events = text.split_inclusive("\n\n").filter(|event| event.ends_with("\n\n"));
        if let Some(event) = events.find(has_data).filter(|_| responses.head().is_stream) {
            let event = Bytes::copy_from_slice(event.as_bytes());
            return Ok((responses.head().clone(), event));
        }
        if !matches!(raw.read_buf(responses.buffer()).await, Ok(1..)) {
            return Err("the stream ended before its first event".to_owned());
        }
    }
}

/// Reads one response to a request with this method.
pub(crate) async fn read(raw: &mut Raw, method: &'static str, limit: usize) -> Result<(Head, Bytes), String> {
    let mut responses = Responses::to(method, limit);
    loop {
        let read = match responses.next()? {
            Some(read) => read,
            None if matches!(raw.read_buf(responses.buffer()).await, Ok(1..)) => continue,
            None => responses.finish().ok_or("the response was cut off")?,
        };
        return match read {
            Read::Response(body) => Ok((responses.head().clone(), body)),
            Read::End => Err("the connection was closed without a response".to_owned()),
        };
    }
}
