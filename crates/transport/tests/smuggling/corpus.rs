//! The pairs.

use crate::pair::End::{Agreed, Closed, Open};
use crate::pair::{Pair, chunks, coding, length, post, raw};

pub(crate) fn pairs() -> Vec<Pair> {
    let mut pairs = both();
    pairs.extend(codings());
    pairs.extend(lengths());
    pairs.extend(chunk_sizes());
    pairs.extend(chunk_ends());
    pairs.extend(lines());
    pairs.extend(targets());
    pairs.extend(methods());
    pairs
}

/// A length and chunks: the chunks count, and the connection closes (RFC 9112, 6.3).
fn both() -> Vec<Pair> {
    let te = "transfer-encoding: chunked";
    vec![
        post("length, then chunks", &format!("content-length: 4\n{te}"), "CHUNKEDHIDDEN", &[200], Closed),
        post("chunks, then length", &format!("{te}\ncontent-length: 4"), "CHUNKEDHIDDEN", &[200], Closed),
        post(
            "a length over the hidden request",
            &format!("content-length: 180\n{te}"),
            "0\n\nHIDDEN",
            &[200],
            Closed,
        ),
        post("a length of 0", &format!("content-length: 0\n{te}"), "CHUNKEDHIDDEN", &[200], Closed),
        post(
            "the hidden request in a chunk",
            &format!("content-length: 4\n{te}"),
            "a0\nHIDDEN\n0\n\n",
            &[400],
            Closed,
        ),
        post(
            "two lengths and chunks",
            &format!("content-length: 4\n{te}\ncontent-length: 5"),
            "CHUNKEDHIDDEN",
            &[200],
            Closed,
        ),
    ]
}

fn codings() -> Vec<Pair> {
    vec![
        coding("nearly chunked", "transfer-encoding: xchunked", &[400], Closed),
        coding("chunked in quotes", "transfer-encoding: \"chunked\"", &[400], Closed),
        coding("chunked with a parameter", "transfer-encoding: chunked;q=1", &[400], Closed),
        coding("chunked is not last", "transfer-encoding: chunked, identity", &[400], Closed),
        coding("identity alone", "transfer-encoding: identity", &[400], Closed),
        coding("identity before chunked", "transfer-encoding: identity, chunked", &[415], Closed),
        coding("gzip before chunked", "transfer-encoding: gzip, chunked", &[415], Closed),
        coding("chunked twice in a list", "transfer-encoding: chunked, chunked", &[415], Closed),
        coding(
            "chunked in two lines",
            "transfer-encoding: chunked\ntransfer-encoding: chunked",
            &[200],
            Agreed,
        ),
        coding(
            "chunked, then another line",
            "transfer-encoding: chunked\ntransfer-encoding: x",
            &[400],
            Closed,
        ),
        coding(
            "another line, then chunked",
            "transfer-encoding: x\ntransfer-encoding: chunked",
            &[415],
            Closed,
        ),
        coding("an empty element", "transfer-encoding: ,chunked", &[415], Closed),
        coding("no coding", "transfer-encoding:", &[400], Closed),
        coding("space before the colon", "transfer-encoding : chunked", &[400], Closed),
        coding("tab before the colon", "transfer-encoding\t: chunked", &[400], Closed),
        coding("a folded line", "transfer-encoding:\n chunked", &[400], Closed),
        coding("a line that begins with a space", "x: y\n transfer-encoding: chunked", &[400], Closed),
        coding("behind a bare CR", "x: y␍transfer-encoding: chunked", &[400], Closed),
        coding("a NUL at the end", "transfer-encoding: chunked␀", &[400], Closed),
        coding("a vertical tab", "transfer-encoding:\u{b}chunked", &[400], Closed),
        coding("a form feed", "transfer-encoding: chunked\u{c}", &[400], Closed),
        coding("a name with a NUL", "transfer-encoding␀: chunked", &[400], Closed),
        coding("spaces and tabs that are allowed", "transfer-encoding: \t chunked \t", &[200], Agreed),
        coding("in upper case", "TRANSFER-ENCODING: Chunked", &[200], Agreed),
        raw(
            "chunks in HTTP/1.0",
            "POST / HTTP/1.0\nhost: localhost\ncontent-type: application/json\ntransfer-encoding: chunked\n\n0\n\nHIDDEN",
            &[400],
            Closed,
        ),
        raw(
            "chunks and a length in HTTP/1.0",
            "POST / HTTP/1.0\nhost: localhost\ncontent-type: application/json\ncontent-length: 54\ntransfer-encoding: chunked\n\nADDHIDDEN",
            &[400],
            Closed,
        ),
    ]
}

fn lengths() -> Vec<Pair> {
    vec![
        length("two lengths", "content-length: 54\ncontent-length: 1", &[400], Closed),
        length("the smaller length first", "content-length: 1\ncontent-length: 54", &[400], Closed),
        length("the same length twice", "content-length: 54\ncontent-length: 54", &[200], Agreed),
        length("a list of lengths", "content-length: 54, 1", &[400], Closed),
        length("a list of the same length", "content-length: 54, 54", &[400], Closed),
        length("a plus", "content-length: +54", &[400], Closed),
        length("a minus", "content-length: -54", &[400], Closed),
        length("hexadecimal", "content-length: 0x36", &[400], Closed),
        length("an exponent", "content-length: 54e0", &[400], Closed),
        length("a fraction", "content-length: 54.0", &[400], Closed),
        length("a space within", "content-length: 5 4", &[400], Closed),
        length("letters behind", "content-length: 54a", &[400], Closed),
        length("a semicolon behind", "content-length: 54;", &[400], Closed),
        length("empty", "content-length:", &[400], Closed),
        length("2^64 + 54", "content-length: 18446744073709551670", &[400], Closed),
        length("other digits", "content-length: ５４", &[400], Closed),
        length("leading zeros", "content-length: 0054", &[200], Agreed),
        length("space before the colon, in a length", "content-length : 54", &[400], Closed),
        length("a folded line, in a length", "content-length:\n 54", &[400], Closed),
        length("a NUL", "content-length: 54␀", &[400], Closed),
        length("a bare CR", "content-length: 5␍4", &[400], Closed),
        length("a length behind a bare CR", "x: y␍content-length: 54", &[400], Closed),
        length("named by Connection", "connection: content-length\ncontent-length: 54", &[200], Agreed),
    ]
}

fn chunk_sizes() -> Vec<Pair> {
    let sized = |name, size: &str, statuses, end| chunks(name, &format!("{size}\nADD\n0\n\n"), statuses, end);
    vec![
        sized("a size of 2^64 + 54", "10000000000000036", &[400], Closed),
        sized("a size of 17 digits", "fffffffffffffffff", &[400], Closed),
        sized("a size with a plus", "+36", &[400], Closed),
        sized("a size with a minus", "-36", &[400], Closed),
        sized("a size with 0x", "0x36", &[400], Closed),
        sized("a size with a space before", " 36", &[400], Closed),
        sized("a size with a space within", "3 6", &[400], Closed),
        sized("a size with a tab behind", "36\t", &[200], Agreed),
        sized("a size with a NUL", "36␀", &[400], Closed),
        sized("no size", "", &[400], Closed),
        sized("no digit", "g", &[400], Closed),
        sized("a size in decimal", "54", &[400], Closed),
        sized("a size with leading zeros", "0000000036", &[200], Agreed),
        sized("a size too small", "35", &[400], Closed),
        sized("a size too large", "37", &[400], Closed),
        sized("an extension", "36;a=b", &[200], Agreed),
        sized("an extension in quotes", "36;a=\"b;c\"", &[200], Agreed),
        sized("an extension with a bare LF", "36;a␊b", &[400], Closed),
        sized("an extension with a bare CR", "36;a␍b", &[400], Closed),
    ]
}

fn chunk_ends() -> Vec<Pair> {
    vec![
        chunks("a bare LF behind the size", "36␊ADD\n0\n\n", &[400], Closed),
        chunks("a bare CR behind the size", "36␍ADD\n0\n\n", &[400], Closed),
        chunks("a bare LF behind a chunk", "36\nADD␊0\n\n", &[400], Closed),
        chunks("nothing behind a chunk", "36\nADD0\n\n", &[400], Closed),
        chunks("two bytes behind a chunk", "36\nADDxx0\n\n", &[400], Closed),
        chunks("a bare LF behind the last size", "36\nADD\n0␊\n", &[400], Closed),
        chunks("a bare LF at the end", "36\nADD\n0\n␊", &[400], Closed),
        chunks("a bare CR at the end", "36\nADD\n0\n␍x", &[400], Closed),
        chunks("several zeros", "36\nADD\n000\n\n", &[200], Agreed),
        chunks("a trailer", "36\nADD\n0\nx: y\n\n", &[400], Closed),
        chunks("a trailer with a length", "36\nADD\n0\ncontent-length: 500\n\n", &[400], Closed),
        chunks("a trailer with a coding", "36\nADD\n0\ntransfer-encoding: chunked\n\n", &[400], Closed),
        chunks("a trailer with a bare LF", "36\nADD\n0\nx: y␊\n", &[400], Closed),
    ]
}

/// Lines of the head.
fn lines() -> Vec<Pair> {
    vec![
        length("a line without a colon", "x\ncontent-length: 54", &[400], Closed),
        length("a line without a name", ": x\ncontent-length: 54", &[400], Closed),
        length("a name with a space", "x y: z\ncontent-length: 54", &[400], Closed),
        length("a NUL in a value", "x: ␀\ncontent-length: 54", &[400], Closed),
        length("a DEL in a value", "x: \u{7f}\ncontent-length: 54", &[400], Closed),
        length("two CR", "x: y␍\ncontent-length: 54", &[400], Closed),
        // RFC 9112 (2.2) lets a server take a bare LF for the end of a line; nobody may take it for a part of a value (RFC 9110, 5.5).
        length("a bare LF behind a line", "x: y␊content-length: 54", &[200], Agreed),
        raw(
            "bare LFs at the end of the head",
            "POST / HTTP/1.1\nhost: localhost\ncontent-type: application/json\ncontent-length: 0␊␊HIDDEN",
            &[200],
            Agreed,
        ),
        coding(
            "a coding behind a bare LF",
            "content-length: 54\nx: y␊transfer-encoding: chunked",
            &[200],
            Closed,
        ),
        length("a folded line before", "x: y\n z\ncontent-length: 54", &[400], Closed),
        length("Expect", "expect: 100-continue\ncontent-length: 54", &[200], Agreed),
        length(
            "an upgrade to h2c",
            "connection: upgrade, http2-settings\nupgrade: h2c\nhttp2-settings: AAAA\ncontent-length: 54",
            &[200],
            Agreed,
        ),
        length("a coding of the content", "content-encoding: chunked\ncontent-length: 54", &[415], Closed),
        length("another type", "content-type: text/plain\ncontent-length: 54", &[415], Closed),
        length("a second host", "host: localhost\ncontent-length: 54", &[400], Closed),
        length("a second host that is foreign", "host: evil.example\ncontent-length: 54", &[400], Closed),
    ]
}

/// Request lines and targets.
fn targets() -> Vec<Pair> {
    let first = |name, line: &str, statuses, end| {
        let head = "host: localhost\ncontent-type: application/json\ncontent-length: 54\n\n";
        raw(name, &format!("{line}\n{head}ADDHIDDEN"), statuses, end)
    };
    vec![
        first("HTTP/0.9", "POST /", &[400], Closed),
        first("HTTP/1.2", "POST / HTTP/1.2", &[400], Closed),
        first("HTTP/2.0", "POST / HTTP/2.0", &[400], Closed),
        first("HTTP in lower case", "POST / http/1.1", &[400], Closed),
        first("a space behind the version", "POST / HTTP/1.1 ", &[400], Closed),
        first("a space before the method", " POST / HTTP/1.1", &[400], Closed),
        first("two spaces", "POST  / HTTP/1.1", &[400], Closed),
        first("a tab for a space", "POST\t/ HTTP/1.1", &[400], Closed),
        first("a NUL in the target", "POST /␀ HTTP/1.1", &[400], Closed),
        first("a bare CR in the target", "POST /␍ HTTP/1.1", &[400], Closed),
        first("an empty line before", "\nPOST / HTTP/1.1", &[200], Agreed),
        first("an absolute target of this host", "POST http://localhost/ HTTP/1.1", &[200], Agreed),
        first("an absolute target of another host", "POST http://evil.example/ HTTP/1.1", &[403], Closed),
        first("a target of another path", "POST /nothing HTTP/1.1", &[404], Closed),
        first("CONNECT", "CONNECT localhost HTTP/1.1", &[405], Closed),
        raw(
            "no host",
            "POST / HTTP/1.1\ncontent-type: application/json\ncontent-length: 54\n\nADDHIDDEN",
            &[400],
            Closed,
        ),
        raw(
            "an empty host",
            "POST / HTTP/1.1\nhost:\ncontent-type: application/json\ncontent-length: 54\n\nADDHIDDEN",
            &[403],
            Closed,
        ),
        raw(
            "a host with a user",
            "POST / HTTP/1.1\nhost: a@localhost\ncontent-type: application/json\ncontent-length: 54\n\nADDHIDDEN",
            &[403],
            Closed,
        ),
        raw(
            "a folded host",
            "POST / HTTP/1.1\nhost:\n localhost\ncontent-type: application/json\ncontent-length: 54\n\nADDHIDDEN",
            &[400],
            Closed,
        ),
        raw(
            "HTTP/1.0 without keep-alive",
            "POST / HTTP/1.0\nhost: localhost\ncontent-type: application/json\ncontent-length: 54\n\nADDHIDDEN",
            &[200],
            Closed,
        ),
    ]
}

/// Requests whose body is the hidden one.
fn methods() -> Vec<Pair> {
    let within = |name, line: &str, more: &str, statuses, end| {
        raw(name, &format!("{line}\nhost: localhost\n{more}content-length: LENGTH\n\nHIDDEN"), statuses, end)
    };
    let json = "content-type: application/json\n";
    vec![
        within("within a POST", "POST / HTTP/1.1", json, &[200], Open),
        within("within a GET", "GET / HTTP/1.1", "", &[405], Closed),
        within("within a GET of a route", "GET /health HTTP/1.1", "", &[200], Open),
        within("within a GET of a stream", "GET /rpc/stream?method=add HTTP/1.1", "", &[415], Open),
        within("within a DELETE", "DELETE / HTTP/1.1", "", &[405], Closed),
        within("within an OPTIONS", "OPTIONS / HTTP/1.1", "", &[204], Open),
        within("within a POST that is refused", "POST /nothing HTTP/1.1", json, &[404], Closed),
        within(
            "within a body that waits to be asked for",
            "GET /health HTTP/1.1",
            "expect: 100-continue\n",
            &[200],
            Closed,
        ),
        within(
            "within what asks for a WebSocket",
            "GET /rpc/ws HTTP/1.1",
            "connection: upgrade\nupgrade: websocket\nsec-websocket-version: 13\n",
            &[400],
            Closed,
        ),
        raw(
            "behind a length too small",
            "POST / HTTP/1.1\nhost: localhost\ncontent-type: application/json\ncontent-length: 10\n\nADDHIDDEN",
            &[200, 400],
            Closed,
        ),
        raw(
            "behind a POST without a length",
            "POST / HTTP/1.1\nhost: localhost\ncontent-type: application/json\n\nHIDDEN",
            &[200],
            Agreed,
        ),
    ]
}
