//! Parsing an event stream, in pieces of any size (SSE-02, SSE-03, SSE-05).

use std::time::Duration;

/// Parses an event stream.
///
/// Bytes are passed in chunks of any size; how they are split makes no difference. Invalid UTF-8 is replaced, as the
/// format requires.
///
/// # Examples
///
/// ```
/// use switchboard_transport::internals::sse::{Parser, Piece};
///
/// let mut parser = Parser::new(1 << 20);
/// let mut chunk = &b"data: 1\n\n: still here\n\ndata: 2\n\n"[..];
/// let mut found = Vec::new();
/// while let Some(piece) = parser.next(&mut chunk)? {
///     if let Piece::Event(event) = piece {
///         found.push(event.data);
///     }
/// }
/// assert_eq!(found, ["1", "2"]);
/// # Ok::<(), switchboard_transport::internals::sse::TooLong>(())
/// ```
#[derive(Debug)]
pub struct Parser {
    limit: usize,
    /// The line received in part.
    line: Vec<u8>,
    is_first_line: bool,
    /// The last byte was a carriage return, whose line has been read; a line feed after it belongs to it.
    is_after_return: bool,
    name: String,
    data: String,
    has_data: bool,
    id: Option<String>,
    last_event_id: String,
    retry: Option<Duration>,
}

/// A part of an event stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// An event.
    Event(Event),
    /// A line that only keeps the connection alive.
    Comment(String),
}

/// An event.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Event {
    /// Its name, `message` by default.
    pub name: String,
    /// Its data, with a line feed between the lines.
    pub data: String,
}

/// A line or an event exceeds the limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event has more than {limit} bytes")]
pub struct TooLong {
    limit: usize,
}

impl Parser {
    /// A parser for events of up to `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Parser {
        Parser {
            limit,
            line: Vec::new(),
            is_first_line: true,
            is_after_return: false,
            name: String::new(),
            data: String::new(),
            has_data: false,
            id: None,
            last_event_id: String::new(),
            retry: None,
        }
    }

    /// Reads up to the next piece, and removes what it has read from the chunk. None when the chunk is used up.
    ///
    /// # Errors
    ///
    /// When a line or an event is too long. The stream cannot be read any further then.
    pub fn next(&mut self, chunk: &mut &[u8]) -> Result<Option<Piece>, TooLong> {
        loop {
            if self.is_after_return
                && let Some((first, rest)) = chunk.split_first()
            {
                self.is_after_return = false;
                if *first == b'\n' {
                    *chunk = rest;
                }
            }
            let end = chunk.iter().position(|byte| matches!(byte, b'\n' | b'\r'));
            let part = &chunk[..end.unwrap_or(chunk.len())];
            if self.line.len() + part.len() + self.data.len() > self.limit {
                return Err(TooLong { limit: self.limit });
            }
            self.line.extend_from_slice(part);
            let Some(end) = end else {
                *chunk = &[];
                return Ok(None);
            };
            self.is_after_return = chunk[end] == b'\r';
            *chunk = &chunk[end + 1..];
            if let Some(piece) = self.end_line() {
                return Ok(Some(piece));
            }
        }
    }

    /// Whether an event has begun that is not complete.
    pub(super) fn is_inside_event(&self) -> bool {
        self.has_data || !self.line.is_empty()
    }

    /// The last event identifier of the stream, empty if there was none.
    #[must_use]
    pub fn last_event_id(&self) -> &str {
        &self.last_event_id
    }

    /// How long the server wants a reader to wait before it reconnects.
    #[must_use]
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    fn end_line(&mut self) -> Option<Piece> {
        let mut line = std::mem::take(&mut self.line);
        if std::mem::take(&mut self.is_first_line)
            && let Some(rest) = line.strip_prefix(b"\xEF\xBB\xBF")
        {
            line = rest.to_vec();
        }
        let piece = match line.iter().position(|byte| *byte == b':') {
            _ if line.is_empty() => self.dispatch().map(Piece::Event),
            Some(0) => Some(Piece::Comment(String::from_utf8_lossy(&line[1..]).into_owned())),
            Some(colon) => {
                let value = &line[colon + 1..];
                self.field(&line[..colon], value.strip_prefix(b" ").unwrap_or(value));
                None
            }
            None => {
                self.field(&line, b"");
                None
            }
        };
        // The room is used again, unless it was needed for an uncommon line only.
        line.clear();
        line.shrink_to(64 << 10);
        self.line = line;
        piece
    }

    fn field(&mut self, name: &[u8], value: &[u8]) {
        let text = String::from_utf8_lossy(value);
        match name {
            b"data" => {
                if self.has_data {
                    self.data.push('\n');
                }
                self.has_data = true;
                self.data.push_str(&text);
            }
            b"event" => self.name = text.into_owned(),
            b"id" if !value.contains(&0) => self.id = Some(text.into_owned()),
            b"retry" if !value.is_empty() && value.iter().all(u8::is_ascii_digit) => {
                self.retry = text.parse().ok().map(Duration::from_millis).or(self.retry);
            }
            _ => {}
        }
    }

    fn dispatch(&mut self) -> Option<Event> {
        if let Some(id) = self.id.take() {
            self.last_event_id = id;
        }
        let name = std::mem::take(&mut self.name);
        if !std::mem::take(&mut self.has_data) {
            return None;
        }
        let name = if name.is_empty() { "message".to_owned() } else { name };
        Some(Event { name, data: std::mem::take(&mut self.data) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // SSE-05
    #[test]
    fn a_line_and_an_event_may_be_as_long_as_the_limit() {
        let check = |text: &str, limit: usize, fits: bool| {
            let mut parser = Parser::new(limit);
            let mut chunk = text.as_bytes();
            assert_eq!(parser.next(&mut chunk).is_ok(), fits, "{text:?} {limit}");
        };
        check("data: abc\n\n", 9, true);
        check("data: abc\n\n", 8, false);
        check("data: abc", 8, false);
        check("data: abc\ndata: de\n\n", 11, true);
        check("data: abc\ndata: de\n\n", 10, false);
        check(": comment without end", 10, false);
    }

    // SSE-02
    #[test]
    fn a_line_feed_after_a_carriage_return_is_no_line_of_its_own_even_in_another_chunk() {
        let mut parser = Parser::new(100);
        let mut found = Vec::new();
        for mut chunk in [&b"data: a\r"[..], b"\ndata: b\r", b"", b"\n", b"\r\n"] {
            while let Some(piece) = parser.next(&mut chunk).unwrap() {
                found.push(piece);
            }
        }
        let event = Event { name: "message".to_owned(), data: "a\nb".to_owned() };
        assert_eq!(found, [Piece::Event(event)]);
    }
}
