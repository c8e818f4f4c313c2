//! HTTP/1.1 responses, read from bytes as they arrive: a plain value without a socket. `bench` and `check` share it, and share
//! nothing with the server that they test.

use std::fmt;

use bytes::{Buf, Bytes, BytesMut};

/// The most bytes that the head of a response may have.
const HEAD: usize = 64 << 10;

/// The responses on one connection.
#[derive(Debug)]
pub(crate) struct Responses {
    buffer: BytesMut,
    body: Body,
    head: Head,
    /// The most bytes that a body may have.
    limit: usize,
    /// Whether headers are kept. A load generator does without.
    keeps_headers: bool,
    /// The method of the requests, if it matters: what answers a HEAD has no body, and an event stream that answers a GET has
    /// no end.
    method: &'static str,
}

/// The head of a response.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) status: u16,
    /// Whether an event stream follows.
    pub(crate) is_stream: bool,
    /// Whether nothing follows the response.
    is_last: bool,
    headers: Vec<(String, String)>,
}

/// The next step.
#[derive(Debug)]
enum Body {
    /// The head of a response.
    Head,
    /// A body of this many bytes.
    Sized(usize),
    /// More chunks; these came before.
    Chunks(BytesMut),
    /// Everything until the end of the connection.
    Rest,
    /// The end of the connection: the last response was read.
    Nothing,
}

/// What was read.
#[derive(Debug)]
pub(crate) enum Read {
    /// The body of a response, whose head is [`Responses::head`].
    Response(Bytes),
    /// The server closes the connection after the last response.
    End,
}

impl Responses {
    /// Responses without their headers.
    pub(crate) fn new(limit: usize) -> Responses {
        Responses {
            buffer: BytesMut::new(),
            body: Body::Head,
            head: Head::default(),
            limit,
            keeps_headers: false,
            method: "",
        }
    }

    /// Responses to requests with this method, with their headers.
    pub(crate) fn to(method: &'static str, limit: usize) -> Responses {
        Responses { keeps_headers: true, method, ..Responses::new(limit) }
    }

    /// Where bytes go that have arrived.
    pub(crate) fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// The head of the latest response.
    pub(crate) fn head(&self) -> &Head {
        &self.head
    }

    /// What has arrived of a body without a length.
    pub(crate) fn partial(&self) -> &[u8] {
        match &self.body {
            Body::Chunks(body) => body,
            Body::Rest => &self.buffer,
            Body::Head | Body::Sized(_) | Body::Nothing => &[],
        }
    }

    /// The next response, if all of it has arrived.
    ///
    /// # Errors
    ///
    /// When what arrived is not HTTP, or too long.
    pub(crate) fn next(&mut self) -> Result<Option<Read>, String> {
        loop {
            match &mut self.body {
                Body::Head => {
                    let Some((head, body)) = take_head(&mut self.buffer, self.keeps_headers)? else {
                        return Ok(None);
                    };
                    // After a status below 200 another one follows.
                    if head.status >= 200 {
                        self.begin(head, body)?;
                    }
                }
                Body::Sized(length) if self.buffer.len() < *length => return Ok(None),
                Body::Sized(length) => {
                    let body = self.buffer.split_to(*length).freeze();
                    return Ok(Some(self.end(body)));
                }
                Body::Chunks(body) => match take_chunk(&mut self.buffer, body, self.limit)? {
                    Chunk::Missing => return Ok(None),
                    Chunk::Taken => {}
                    Chunk::Last => {
                        let body = body.split().freeze();
                        return Ok(Some(self.end(body)));
                    }
                },
                Body::Rest if self.buffer.len() > self.limit => return Err(too_long(self.limit)),
                Body::Rest => return Ok(None),
                Body::Nothing => return Ok(Some(Read::End)),
            }
        }
    }

    /// What is there when the connection has ended. `None` if a response was cut off.
    pub(crate) fn finish(&mut self) -> Option<Read> {
        match self.body {
            Body::Rest => {
                let body = self.buffer.split().freeze();
                Some(self.end(body))
            }
            Body::Head if self.buffer.is_empty() => Some(Read::End),
            _ => None,
        }
    }

    fn begin(&mut self, head: Head, body: Body) -> Result<(), String> {
        let is_unread = self.method == "HEAD" || self.method == "GET" && head.is_stream;
        self.body = match body {
            _ if is_unread || matches!(head.status, 204 | 304) => Body::Sized(0),
            Body::Sized(length) if length > self.limit => return Err(too_long(self.limit)),
            body => body,
        };
        self.head = head;
        // If the connection's end is the body's end, nothing else can follow.
        self.head.is_last |= matches!(self.body, Body::Rest);
        Ok(())
    }

    fn end(&mut self, body: Bytes) -> Read {
        self.body = if self.head.is_last { Body::Nothing } else { Body::Head };
        Read::Response(body)
    }
}

impl Head {
    /// Takes the head of a response out of the buffer, if all of it has arrived.
    pub(crate) fn take(buffer: &mut BytesMut) -> Result<Option<Head>, String> {
        Ok(take_head(buffer, true)?.map(|(head, _)| head))
    }

    /// The value of a header, by its name in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }
}

impl fmt::Display for Head {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HTTP/1.1 {}", self.status)?;
        self.headers.iter().try_for_each(|(name, value)| write!(f, "\n{name}: {value}"))
    }
}

/// Takes the head of a response, and says where its body ends.
fn take_head(buffer: &mut BytesMut, keeps_headers: bool) -> Result<Option<(Head, Body)>, String> {
    let mut fields = [httparse::EMPTY_HEADER; 96];
    let mut response = httparse::Response::new(&mut fields);
    let size = match response.parse(buffer) {
        Ok(httparse::Status::Complete(size)) => size,
        Ok(httparse::Status::Partial) if buffer.len() > HEAD => {
            return Err("the response headers are too long".to_owned());
        }
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(error) => return Err(format!("no HTTP/1.1 response: {error}")),
    };
    let is_last = response.version == Some(0);
    let mut head = Head { status: response.code.unwrap_or(0), is_last, ..Head::default() };
    let mut body = Body::Rest;
    for field in response.headers.iter() {
        let is = |name: &str| field.name.eq_ignore_ascii_case(name);
        let says = |word: &[u8]| contains(field.value, word);
        if is("content-length") && !matches!(body, Body::Chunks(_)) {
            body = Body::Sized(length(field.value)?);
        } else if is("transfer-encoding") {
            body = Body::Chunks(BytesMut::new());
        } else if is("connection") {
            head.is_last = says(b"close") || (head.is_last && !says(b"keep-alive"));
        } else if is("content-type") {
            head.is_stream = says(b"text/event-stream");
        }
        if keeps_headers {
            let value = String::from_utf8_lossy(field.value).into_owned();
            head.headers.push((field.name.to_lowercase(), value));
        }
    }
    buffer.advance(size);
    Ok(Some((head, body)))
}

fn length(value: &[u8]) -> Result<usize, String> {
    let text = std::str::from_utf8(value).unwrap_or_default().trim();
    let length = text.parse().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
    length.ok_or_else(|| format!("the response has an invalid length: {text:?}"))
}

fn too_long(limit: usize) -> String {
    format!("the response is longer than {} MiB", limit >> 20)
}

fn contains(value: &[u8], word: &[u8]) -> bool {
    value.windows(word.len()).any(|part| part.eq_ignore_ascii_case(word))
}

enum Chunk {
    Missing,
    Taken,
    Last,
}

/// Takes one chunk, if all of it has arrived.
fn take_chunk(buffer: &mut BytesMut, body: &mut BytesMut, limit: usize) -> Result<Chunk, String> {
    let (start, size) = match httparse::parse_chunk_size(buffer) {
        Ok(httparse::Status::Complete(found)) => found,
        Ok(httparse::Status::Partial) if buffer.len() < HEAD => return Ok(Chunk::Missing),
        _ => return Err("a chunk of the response has an invalid size".to_owned()),
    };
    let size = usize::try_from(size).ok().filter(|size| *size <= limit - body.len());
    let size = size.ok_or_else(|| too_long(limit))?;
    if buffer.len() < start + size + 2 {
        return Ok(Chunk::Missing);
    }
    if size == 0 {
        // Fields may follow the last chunk, up to an empty line.
        let Some(end) = buffer[start..].windows(2).position(|pair| pair == b"\r\n") else {
            return Ok(Chunk::Missing);
        };
        if end > 0 {
            let Some(end) = buffer[start..].windows(4).position(|part| part == b"\r\n\r\n") else {
                return Ok(Chunk::Missing);
            };
            buffer.advance(start + end + 4);
        } else {
            buffer.advance(start + 2);
        }
        return Ok(Chunk::Last);
    }
    body.extend_from_slice(&buffer[start..start + size]);
    buffer.advance(start + size + 2);
    Ok(Chunk::Taken)
}
