//! What a pair is: the bytes of one request with another hidden behind or within it, and what has to come back.

use crate::support::ADD;

/// A request and what hides in it.
///
/// The bytes are written with placeholders: a line break is CRLF, `␊` a bare LF, `␍` a bare CR, `␀` a NUL; `ADD` is the text of a
/// call, `CHUNKED` the same as a chunked body, `HIDDEN` a whole request that calls what must not be called, and `LENGTH` its
/// length.
pub(crate) struct Pair {
    pub(crate) name: &'static str,
    bytes: String,
    /// The statuses of the responses.
    pub(crate) statuses: &'static [u16],
    pub(crate) end: End,
}

/// What becomes of the connection, and of the hidden request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It closes, and the hidden request is not answered.
    Closed,
    /// It stays open, because the hidden request was a part of the first.
    Open,
    /// It stays open, and the hidden request was answered: no server may read these bytes in another way.
    Agreed,
}

/// The head of a POST, as far as it is not in question.
pub(crate) const HEAD: &str = "POST / HTTP/1.1\nhost: localhost\ncontent-type: application/json\n";

/// A request of any form.
pub(crate) fn raw(name: &'static str, bytes: &str, statuses: &'static [u16], end: End) -> Pair {
    Pair { name, bytes: bytes.to_owned(), statuses, end }
}

/// A POST with these header lines and this body.
pub(crate) fn post(name: &'static str, lines: &str, body: &str, statuses: &'static [u16], end: End) -> Pair {
    Pair { name, bytes: format!("{HEAD}{lines}\n\n{body}"), statuses, end }
}

/// A POST with a body in chunks, which are these.
pub(crate) fn chunks(name: &'static str, body: &str, statuses: &'static [u16], end: End) -> Pair {
    post(name, "transfer-encoding: chunked", &format!("{body}HIDDEN"), statuses, end)
}

/// A POST that says its length with these lines, of which it has as many bytes as the call.
pub(crate) fn length(name: &'static str, lines: &str, statuses: &'static [u16], end: End) -> Pair {
    post(name, lines, "ADDHIDDEN", statuses, end)
}

/// A POST whose coding is told by these lines; read in chunks it is empty, otherwise its body begins with a zero.
pub(crate) fn coding(name: &'static str, lines: &str, statuses: &'static [u16], end: End) -> Pair {
    post(name, lines, "0\n\nHIDDEN", statuses, end)
}

impl Pair {
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let call = r#"{"jsonrpc":"2.0","method":"hidden","id":666}"#;
        let hidden = format!("{HEAD}content-length: {}\n\n{call}", call.len());
        let chunked = format!("{:x}\nADD\n0\n\n", ADD.len());
        let size = hidden.replace('\n', "\r\n").len().to_string();
        let text = self.bytes.replace("LENGTH", &size);
        let text = text.replace("CHUNKED", &chunked).replace("HIDDEN", &hidden).replace("ADD", ADD);
        let text = text.replace('\n', "\r\n").replace('␊', "\n").replace('␍', "\r").replace('␀', "\0");
        text.into_bytes()
    }
}
