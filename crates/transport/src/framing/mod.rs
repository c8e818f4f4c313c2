//! Message boundaries on a byte stream: parts of hops ① and ⑥.
//!
//! A [`Framing`] is a value; a [`FrameDecoder`] splits the received bytes into frames. It reads every byte once, however the bytes
//! arrive, and rejects a message that is too long before it is complete.

mod content_length;
mod json;
mod length_prefix;
mod lines;

use std::fmt;
use std::str::FromStr;

use bytes::{Bytes, BytesMut};
use switchboard_core::ConnectionError;

use crate::carrier::{Suggestion, Url, UrlError};

/// How messages are separated on a byte stream.
///
/// # Examples
///
/// ```
/// use switchboard_transport::framing::Framing;
///
/// assert_eq!("lsp".parse(), Ok(Framing::ContentLength));
/// let mut out = Vec::new();
/// Framing::Lines.encode(b"[1,\n2]", &mut out);
/// assert_eq!(out, b"[1, 2]\n");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum Framing {
    /// `json`: a message ends where its JSON ends, newline or not; every message sent ends with a newline.
    ///
    /// A text that turns out not to be JSON is passed on up to the byte that shows it, so that it is answered with -32700,
    /// and the rest of that line is skipped. If that byte opens an object or array at the very start of a line, the next
    /// message begins there and nothing is skipped: the one before was cut short. A text that begins with neither `{` nor `[`
    /// ends with its line.
    #[default]
    JsonStream,
    /// `lines`: one message per line, ended by LF or CRLF. Blank lines are skipped. The last line may lack its end.
    Lines,
    /// `lsp`: a header with `Content-Length`, a blank line, the message; as in the Language Server Protocol.
    ContentLength,
    /// `length`: the number of bytes as four bytes, the most significant first, then the message.
    LengthPrefix,
}

/// The name of an unknown framing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown framing `{0}`: use `json`, `lines`, `lsp` or `length`")]
pub struct UnknownFraming(String);

impl Framing {
    /// Every framing.
    pub const ALL: [Framing; 4] =
        [Framing::JsonStream, Framing::Lines, Framing::ContentLength, Framing::LengthPrefix];

    /// The framing that a URL asks for with its option `framing`, if any.
    ///
    /// # Errors
    ///
    /// When there is no such framing.
    pub fn of(url: &Url) -> Result<Option<Framing>, UrlError> {
        let Some(name) = url.option("framing") else { return Ok(None) };
        name.parse().map(Some).map_err(|UnknownFraming(name)| {
            let suggestion = Suggestion::of(&name, Framing::ALL.into_iter().map(Framing::name));
            UrlError::Framing(name, suggestion)
        })
    }

    /// The name, as used in URLs.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Framing::JsonStream => "json",
            Framing::Lines => "lines",
            Framing::ContentLength => "lsp",
            Framing::LengthPrefix => "length",
        }
    }

    /// Appends one message. Line breaks between its tokens become spaces where lines matter (JT-02).
    pub fn encode(self, message: &[u8], out: &mut Vec<u8>) {
        match self {
            Framing::JsonStream | Framing::Lines => lines::encode(message, out),
            Framing::ContentLength => content_length::encode(message, out),
            Framing::LengthPrefix => length_prefix::encode(message, out),
        }
    }
}

impl fmt::Display for Framing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Framing {
    type Err = UnknownFraming;

    fn from_str(name: &str) -> Result<Framing, UnknownFraming> {
        let found = Framing::ALL.into_iter().find(|framing| framing.name() == name);
        found.ok_or_else(|| UnknownFraming(name.to_owned()))
    }
}

/// Splits a byte stream into frames.
///
/// However the bytes arrive, the frames are the same. After an error there are no more frames.
#[derive(Debug)]
pub struct FrameDecoder {
    buffer: BytesMut,
    cutter: Cutter,
    limit: usize,
    /// Whether nothing was cut yet.
    is_first: bool,
    is_broken: bool,
}

#[derive(Debug)]
enum Cutter {
    Json(json::Cutter),
    Lines(lines::Cutter),
    ContentLength(content_length::Cutter),
    LengthPrefix(length_prefix::Cutter),
}

impl FrameDecoder {
    /// A decoder for messages of up to `limit` bytes.
    #[must_use]
    pub fn new(framing: Framing, limit: usize) -> FrameDecoder {
        let cutter = match framing {
            Framing::JsonStream => Cutter::Json(json::Cutter::default()),
            Framing::Lines => Cutter::Lines(lines::Cutter::default()),
            Framing::ContentLength => Cutter::ContentLength(content_length::Cutter::default()),
            Framing::LengthPrefix => Cutter::LengthPrefix(length_prefix::Cutter::default()),
        };
        FrameDecoder { buffer: BytesMut::new(), cutter, limit, is_first: true, is_broken: false }
    }

    /// Adds received bytes. Take the frames before adding more: the limit applies to the bytes read so far.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.buffer.extend_from_slice(bytes);
    }

    /// Where to read into, instead of [`feed`](FrameDecoder::feed): append only.
    pub(crate) fn buffer(&mut self) -> &mut BytesMut {
        &mut self.buffer
    }

    /// The next frame, if it is complete.
    ///
    /// # Errors
    ///
    /// When the peer violates the framing or sends a message that is too long.
    pub fn next_frame(&mut self) -> Result<Option<Bytes>, ConnectionError> {
        if self.is_broken {
            return Ok(None);
        }
        let FrameDecoder { buffer, cutter, limit, .. } = self;
        let next = match cutter {
            Cutter::Json(cutter) => cutter.cut(buffer, *limit),
            Cutter::Lines(cutter) => cutter.cut(buffer, *limit),
            Cutter::ContentLength(cutter) => cutter.cut(buffer, *limit),
            Cutter::LengthPrefix(cutter) => cutter.cut(buffer, *limit),
        };
        let next = match next {
            Ok(Some(frame)) if self.is_first => {
                self.is_first = false;
                if is_http(&frame) { Err(speaks_http()) } else { Ok(Some(frame)) }
            }
            next => next,
        };
        self.is_broken = next.is_err();
        next
    }

    /// The last frame, after all others were taken and the stream has ended.
    ///
    /// Text without its line end is passed on if it is complete, or cannot be part of a message (JT-02).
    ///
    /// # Errors
    ///
    /// When the stream ends in the middle of a message (LSP-F-12).
    pub fn finish(&mut self) -> Result<Option<Bytes>, ConnectionError> {
        if self.is_broken || !self.is_partial() {
            return Ok(None);
        }
        self.is_broken = true;
        let is_cut_off = match &self.cutter {
            Cutter::Json(cutter) => cutter.is_within_value(),
            Cutter::Lines(_) => json::is_begun(&self.buffer),
            Cutter::ContentLength(_) | Cutter::LengthPrefix(_) => true,
        };
        if is_cut_off {
            Err(ConnectionError::CutOff("the stream ended in the middle of a message".to_owned()))
        } else {
            Ok(Some(self.buffer.split().freeze()))
        }
    }

    /// Whether a message has begun and is not complete.
    #[must_use]
    pub fn is_partial(&self) -> bool {
        match &self.cutter {
            Cutter::Json(cutter) => cutter.is_partial(),
            Cutter::Lines(_) => !self.buffer.is_empty(),
            Cutter::ContentLength(cutter) => cutter.is_partial() || !self.buffer.is_empty(),
            Cutter::LengthPrefix(cutter) => cutter.is_partial() || !self.buffer.is_empty(),
        }
    }
}

/// Whether a stream begins as a request of HTTP does.
///
/// A page of any site can make a browser send one to a port of this machine, and choose the lines of its body. Where bad
/// lines are answered and passed over, those would be calls; so nothing after such a beginning is read.
fn is_http(frame: &[u8]) -> bool {
    let line = frame.split(|byte| *byte == b'\n').next().unwrap_or_default().trim_ascii_end();
    line.first().is_some_and(u8::is_ascii_uppercase)
        && (line.ends_with(b" HTTP/1.1") || line.ends_with(b" HTTP/1.0"))
}

fn speaks_http() -> ConnectionError {
    let why = "received HTTP, but this listener does not serve HTTP; use an http:// URL to listen for it";
    ConnectionError::Framing(why.to_owned())
}

/// A message of which more than `limit` bytes are known to come; so many, if that was announced.
fn too_long(length: Option<usize>, limit: usize) -> ConnectionError {
    ConnectionError::FrameTooLong { length: length.map(|length| length as u64), limit }
}
