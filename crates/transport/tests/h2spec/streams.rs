//! h2spec's section "http2", 3 to 5: the beginning, frames, and the states of streams.

use crate::STREAMS;
use crate::case::{
    CANCEL, COMPRESSION, Case, Expect, FRAME_SIZE, PROTOCOL, REFUSED, STREAM_CLOSED, Step, case, dummy, get,
    post,
};
use crate::wire::{
    CONTINUATION, DATA, END_HEADERS, END_STREAM, HEADERS, INITIAL_WINDOW_SIZE, PING, PREFACE, PRIORITIZED,
    WHOLE, continuation, data, dependency, frame, headers, ping, priority, reset, settings, window_update,
};

const ZERO: [u8; 8] = [0; 8];

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = beginning();
    cases.extend(format());
    cases.extend(idle_and_half_closed());
    cases.extend(closed());
    cases.extend(others());
    cases
}

fn beginning() -> Vec<Case> {
    vec![
        case(
            "http2/3.5/1",
            "a client preface",
            vec![Step::Send(PREFACE.to_vec()), settings(&[(INITIAL_WINDOW_SIZE, 65_535)])],
            Expect::Settings,
        )
        .without_handshake(),
        case(
            "http2/3.5/2",
            "an invalid preface",
            vec![Step::Send(b"INVALID CONNECTION PREFACE\r\n\r\n".to_vec())],
            Expect::ConnectionError(&[PROTOCOL]),
        )
        .without_handshake()
        .tolerated(
            Expect::Http1(400),
            "the port serves HTTP/1 as well, and this does not begin as HTTP/2; it is refused and closed as HTTP/1",
        ),
    ]
}

fn format() -> Vec<Case> {
    let (protocol, pong) = (Expect::ConnectionError(&[PROTOCOL]), Expect::Pong(ZERO));
    let large = |kind, flags, length: usize| frame(kind, flags, 1, &vec![b'x'; length]);
    vec![
        case("http2/4.1/1", "a frame of unknown type", vec![frame(0x16, 0, 0, &ZERO), ping(&ZERO)], pong),
        case("http2/4.1/2", "a flag without meaning", vec![frame(PING, 0x16, 0, &ZERO)], pong),
        case("http2/4.1/3", "the reserved bit", vec![frame(PING, 0x16, 1 << 31, &ZERO)], pong),
        case(
            "http2/4.2/1",
            "DATA of 2^14 bytes",
            vec![headers(END_HEADERS, 1, &post(&[])), large(DATA, END_STREAM, 1 << 14)],
            Expect::Answer(1),
        ),
        case(
            "http2/4.2/2",
            "DATA above SETTINGS_MAX_FRAME_SIZE",
            vec![headers(END_HEADERS, 1, &post(&[])), large(DATA, END_STREAM, (1 << 14) + 1)],
            Expect::StreamError(&[FRAME_SIZE]),
        ),
        case(
            "http2/4.2/3",
            "HEADERS above SETTINGS_MAX_FRAME_SIZE",
            vec![headers(WHOLE, 1, &[get(&[]), dummy(20)].concat())],
            Expect::ConnectionError(&[FRAME_SIZE]),
        ),
        case(
            "http2/4.3/1",
            "a header block that cannot be read",
            vec![frame(HEADERS, WHOLE, 1, b"\x40")],
            Expect::ConnectionError(&[COMPRESSION]),
        )
        .with_other_code(),
        case(
            "http2/4.3/2",
            "PRIORITY within a header block",
            vec![headers(0, 1, &get(&[])), priority(1, 0, 255), continuation(END_HEADERS, 1, &dummy(4))],
            protocol,
        ),
        case(
            "http2/4.3/3",
            "HEADERS of another stream within a header block",
            vec![
                headers(0, 1, &get(&[])),
                headers(WHOLE, 3, &get(&[])),
                continuation(END_HEADERS, 1, &dummy(4)),
            ],
            protocol,
        ),
    ]
}

fn idle_and_half_closed() -> Vec<Case> {
    let (protocol, closed) = (Expect::ConnectionError(&[PROTOCOL]), Expect::StreamError(&[STREAM_CLOSED]));
    let whole = || headers(WHOLE, 1, &get(&[]));
    vec![
        case(
            "http2/5.1/1",
            "idle: DATA",
            vec![data(END_STREAM, 1)],
            Expect::StreamError(&[PROTOCOL, STREAM_CLOSED]),
        ),
        case("http2/5.1/2", "idle: RST_STREAM", vec![reset(1, CANCEL)], protocol),
        case("http2/5.1/3", "idle: WINDOW_UPDATE", vec![window_update(1, 100)], protocol),
        case("http2/5.1/4", "idle: CONTINUATION", vec![continuation(END_HEADERS, 1, &get(&[]))], protocol),
        case("http2/5.1/5", "half closed: DATA", vec![whole(), data(END_STREAM, 1)], closed)
            .with_other_code(),
        case("http2/5.1/6", "half closed: HEADERS", vec![whole(), whole()], closed).with_other_code(),
        case(
            "http2/5.1/7",
            "half closed: CONTINUATION",
            vec![whole(), continuation(END_HEADERS, 1, &get(&[]))],
            Expect::StreamError(&[STREAM_CLOSED, PROTOCOL]),
        ),
    ]
}

fn closed() -> Vec<Case> {
    let closed = Expect::StreamError(&[STREAM_CLOSED]);
    let either: &[u32] = &[STREAM_CLOSED, PROTOCOL];
    let open = || headers(END_HEADERS, 1, &post(&[]));
    let whole = || headers(WHOLE, 1, &get(&[]));
    let more = || continuation(END_HEADERS, 1, &dummy(4));
    let ended = || Step::Await(Expect::StreamEnd);
    vec![
        case(
            "http2/5.1/8",
            "closed: DATA after RST_STREAM",
            vec![open(), reset(1, CANCEL), data(END_STREAM, 1)],
            closed,
        ),
        case(
            "http2/5.1/9",
            "closed: HEADERS after RST_STREAM",
            vec![open(), reset(1, CANCEL), whole()],
            closed,
        )
        .with_other_code(),
        case(
            "http2/5.1/10",
            "closed: CONTINUATION after RST_STREAM",
            vec![open(), reset(1, CANCEL), more()],
            Expect::StreamError(either),
        ),
        case("http2/5.1/11", "closed: DATA", vec![whole(), ended(), data(END_STREAM, 1)], closed),
        case(
            "http2/5.1/12",
            "closed: HEADERS",
            vec![whole(), ended(), whole()],
            Expect::ConnectionError(&[STREAM_CLOSED]),
        )
        .with_other_code(),
        case(
            "http2/5.1/13",
            "closed: CONTINUATION",
            vec![whole(), ended(), more()],
            Expect::ConnectionError(either),
        ),
    ]
}

fn others() -> Vec<Case> {
    let protocol = Expect::ConnectionError(&[PROTOCOL]);
    let request = |stream| headers(WHOLE, stream, &get(&[]));
    let mut too_many = vec![settings(&[(INITIAL_WINDOW_SIZE, 0)])];
    too_many.extend((0..=STREAMS).map(|number| request(2 * number + 1)));
    let bad_ping = || frame(PING, 0, 3, &ZERO);
    vec![
        case("http2/5.1.1/1", "an even stream identifier", vec![request(2)], protocol),
        case("http2/5.1.1/2", "a stream identifier below the last", vec![request(5), request(3)], protocol),
        case(
            "http2/5.1.2/1",
            "more streams than SETTINGS_MAX_CONCURRENT_STREAMS",
            too_many,
            Expect::StreamError(&[PROTOCOL, REFUSED]),
        ),
        case(
            "http2/5.3.1/1",
            "HEADERS of a stream that depends on itself",
            vec![headers(WHOLE | PRIORITIZED, 1, &[dependency(1, 255), get(&[])].concat())],
            Expect::StreamError(&[PROTOCOL]),
        ),
        case(
            "http2/5.3.1/2",
            "PRIORITY of a stream that depends on itself",
            vec![priority(1, 1, 255)],
            Expect::StreamError(&[PROTOCOL]),
        ),
        case("http2/5.4.1/1", "an invalid PING, for the end", vec![bad_ping()], Expect::Closed),
        case("http2/5.4.1/2", "an invalid PING, for GOAWAY", vec![bad_ping()], Expect::Goaway(PROTOCOL)),
        case(
            "http2/5.5/1",
            "an unknown frame",
            vec![frame(0x16, 0, 0, &ZERO), ping(&ZERO)],
            Expect::Pong(ZERO),
        ),
        case(
            "http2/5.5/2",
            "an unknown frame within a header block",
            vec![
                headers(END_STREAM, 1, &get(&[])),
                frame(0x16, 0, 0, &ZERO),
                frame(CONTINUATION, END_HEADERS, 1, &[]),
            ],
            protocol,
        ),
    ]
}
