//! HTTP/1.1 by hand: requests that may be wrong, and responses as they are.

use std::fmt;

use bytes::{Buf, BytesMut};
use http::HeaderMap;
use switchboard::{Direction, Raw, Wire};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::Endpoint;
use crate::check::shown;

/// The most bytes that the head of a response may have.
const HEAD: usize = 64 << 10;

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Request {
    pub(crate) method: &'static str,
    pub(crate) content_type: Option<&'static str>,
    pub(crate) accept: Option<&'static str>,
    /// Lines of the head besides those that are always there, each with its end.
    pub(crate) lines: &'static str,
    pub(crate) length: Length,
    /// Names that begin with `@` are filled in.
    pub(crate) body: Vec<u8>,
}

/// What a request says about the length of its body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Length {
    /// The truth.
    Right,
    /// It is sent in chunks.
    Chunked,
    /// This.
    Says(&'static str),
    /// Both the truth and chunks.
    Both,
}

/// The head of a response.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
}

impl Request {
    /// A good request with this body.
    pub(crate) fn post(body: impl AsRef<[u8]>) -> Request {
        Request {
            method: "POST",
            content_type: Some("application/json"),
            accept: Some("application/json"),
            lines: "",
            length: Length::Right,
            body: body.as_ref().to_vec(),
        }
    }

    /// The same by another method.
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

    /// The same with more lines in its head.
    pub(crate) fn with_lines(mut self, lines: &'static str) -> Request {
        self.lines = lines;
        self
    }

    /// The same with another word on its length.
    pub(crate) fn sized(mut self, length: Length) -> Request {
        self.length = length;
        self
    }

    /// The request as bytes.
    pub(crate) fn bytes(&self, endpoint: &Endpoint) -> Vec<u8> {
        let (host, path) = endpoint.target();
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
        write_headers(&mut bytes, &endpoint.headers);
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

impl Head {
    /// The value of a header, by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// Whether a stream of events follows.
    pub(crate) fn is_stream(&self) -> bool {
        self.header("content-type").is_some_and(|value| value.starts_with("text/event-stream"))
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HTTP/1.1 {}", self.status)?;
        self.headers.iter().try_for_each(|(name, value)| write!(f, "\n{name}: {value}"))
    }
}

/// Appends headers.
pub(crate) fn write_headers(bytes: &mut Vec<u8>, headers: &HeaderMap) {
    for (name, value) in headers {
        bytes.extend(name.as_str().as_bytes());
        bytes.extend(b": ");
        bytes.extend(value.as_bytes());
        bytes.extend(b"\r\n");
    }
}

/// Sends a request on a connection of its own and reads the response.
pub(crate) async fn exchange(endpoint: &Endpoint, request: &Request) -> Result<(Head, Vec<u8>), String> {
    let mut raw = endpoint.open().await.map_err(|error| error.to_string())?;
    // A server may answer before it has read all, and read no more.
    let bytes = request.bytes(endpoint);
    if let Some(tap) = &endpoint.tap {
        shown::request(tap, &bytes, &endpoint.headers);
    }
    let _ = raw.write_all(&bytes).await;
    let _ = raw.flush().await;
    let response = read(&mut raw, &mut BytesMut::new(), request.method, endpoint.limit).await;
    match (&endpoint.tap, &response) {
        (Some(tap), Ok((head, body))) => shown::response(tap, head, body),
        (Some(tap), Err(why)) => tap.show(Direction::Received, Wire::Carrier(why)),
        (None, _) => {}
    }
    response
}

/// Reads one response; what comes behind it stays in the buffer. A stream of events that was asked for by GET is not read,
/// because it has no end.
pub(crate) async fn read(
    raw: &mut Raw,
    buffer: &mut BytesMut,
    method: &str,
    limit: usize,
) -> Result<(Head, Vec<u8>), String> {
    let (has_no_body, is_get) = (method == "HEAD", method == "GET");
    let head = loop {
        match take_head(buffer)? {
            // More will come.
            Some(head) if head.status < 200 => {}
            Some(head) => break head,
            None => more(raw, buffer, limit, "the connection ended without a response").await?,
        }
    };
    if has_no_body || matches!(head.status, 204 | 304) || (is_get && head.is_stream()) {
        return Ok((head, Vec::new()));
    }
    let is_chunked = head.header("transfer-encoding").is_some_and(|value| value.contains("chunked"));
    let length = head.header("content-length").map(str::parse::<usize>);
    let body = match length {
        _ if is_chunked => chunks(raw, buffer, limit).await?,
        Some(Ok(length)) if length <= limit => {
            while buffer.len() < length {
                more(raw, buffer, limit, "the body of the response was cut short").await?;
            }
            buffer.split_to(length).to_vec()
        }
        Some(_) => return Err("the response has no length that can be read".to_owned()),
        None => {
            while more(raw, buffer, limit, "").await.is_ok() {}
            buffer.split().to_vec()
        }
    };
    Ok((head, body))
}

async fn more(raw: &mut Raw, buffer: &mut BytesMut, limit: usize, what: &str) -> Result<(), String> {
    if buffer.len() > limit + HEAD {
        return Err("the response is too long".to_owned());
    }
    match raw.read_buf(buffer).await {
        Ok(1..) => Ok(()),
        Ok(0) | Err(_) => Err(what.to_owned()),
    }
}

async fn chunks(raw: &mut Raw, buffer: &mut BytesMut, limit: usize) -> Result<Vec<u8>, String> {
    const CUT: &str = "the body of the response was cut short";
    let mut body = Vec::new();
    loop {
        let end = loop {
            match buffer.windows(2).position(|pair| pair == b"\r\n") {
                Some(end) => break end,
                None => more(raw, buffer, limit, CUT).await?,
            }
        };
        let line = String::from_utf8_lossy(&buffer[..end]).into_owned();
        buffer.advance(end + 2);
        let size = usize::from_str_radix(line.split(';').next().unwrap_or_default().trim(), 16);
        let size = size.ok().filter(|size| *size <= limit).ok_or("a chunk of the response has no size")?;
        while buffer.len() < size + 2 {
            more(raw, buffer, limit, CUT).await?;
        }
        body.extend_from_slice(&buffer[..size]);
        buffer.advance(size + 2);
        if size == 0 {
            return Ok(body);
        }
        if body.len() > limit {
            return Err("the response is too long".to_owned());
        }
    }
}

/// Takes the head of a response out of the buffer, if it is there as a whole.
pub(crate) fn take_head(buffer: &mut BytesMut) -> Result<Option<Head>, String> {
    let mut fields = [httparse::EMPTY_HEADER; 96];
    let mut response = httparse::Response::new(&mut fields);
    let size = match response.parse(buffer) {
        Ok(httparse::Status::Complete(size)) => size,
        Ok(httparse::Status::Partial) if buffer.len() > HEAD => {
            return Err("the head of the response does not end".to_owned());
        }
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(format!("what came is no HTTP: {error}")),
    };
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let headers = response.headers.iter().map(|field| (field.name.to_lowercase(), text(field.value)));
    let head = Head { status: response.code.unwrap_or(0), headers: headers.collect() };
    buffer.advance(size);
    Ok(Some(head))
}
