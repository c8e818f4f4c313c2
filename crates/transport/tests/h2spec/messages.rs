//! h2spec's section "http2", 7 and 8: error codes, and requests that are malformed.

use crate::case::{AUTHORITY, Case, Expect, PATH, PROTOCOL, SCHEME, Step, case, get, post};
use crate::wire::{
    END_HEADERS, END_STREAM, GOAWAY, PUSH_PROMISE, WHOLE, block, data, frame, headers, ping, reset,
};

const MALFORMED: Expect = Expect::StreamError(&[PROTOCOL]);
const ZERO: [u8; 8] = [0; 8];

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = codes();
    cases.extend(fields());
    cases.extend(pseudo_fields());
    cases.extend(bodies());
    cases
}

fn codes() -> Vec<Case> {
    let alive = Expect::PongOrClosed(ZERO);
    vec![
        case(
            "http2/7/1",
            "GOAWAY with an unknown code",
            vec![frame(GOAWAY, 0, 0, b"\0\0\0\0\0\0\0\xff"), ping(&ZERO)],
            alive,
        ),
        case(
            "http2/7/2",
            "RST_STREAM with an unknown code",
            vec![headers(END_HEADERS, 1, &post(&[])), reset(1, 0xff), ping(&ZERO)],
            alive,
        ),
        case(
            "http2/8.2/1",
            "PUSH_PROMISE of a client",
            vec![
                headers(END_HEADERS, 1, &post(&[])),
                frame(PUSH_PROMISE, END_HEADERS, 1, &[&3_u32.to_be_bytes()[..], &get(&[])].concat()),
            ],
            Expect::ConnectionError(&[PROTOCOL]),
        ),
    ]
}

/// A request that is malformed by its head.
fn check(id: &'static str, title: &'static str, block: &[u8]) -> Case {
    case(id, title, vec![headers(WHOLE, 1, block)], MALFORMED)
}

fn fields() -> Vec<Case> {
    vec![
        check("http2/8.1.2/1", "a name in upper case", &get(&[("X-TEST", "ok")])),
        check("http2/8.1.2.2/1", "a field of the connection", &get(&[("connection", "keep-alive")])),
        check(
            "http2/8.1.2.2/2",
            "TE other than `trailers`",
            &get(&[("trailers", "test"), ("te", "trailers, deflate")]),
        ),
    ]
}

fn pseudo_fields() -> Vec<Case> {
    let method = (":method", "GET");
    let late = [&block(&[("x-test", "ok")])[..], &get(&[])].concat();
    vec![
        check("http2/8.1.2.1/1", "an unknown pseudo-header field", &get(&[(":test", "ok")])),
        check("http2/8.1.2.1/2", "a pseudo-header field of responses", &get(&[(":status", "200")])),
        case(
            "http2/8.1.2.1/3",
            "a pseudo-header field in trailers",
            vec![
                headers(END_HEADERS, 1, &post(&[])),
                data(0, 1),
                headers(END_HEADERS, 1, &block(&[(":method", "POST")])),
            ],
            MALFORMED,
        ),
        case(
            "own/8.1.2.1/3",
            "the same, with END_STREAM",
            vec![
                headers(END_HEADERS, 1, &post(&[])),
                data(0, 1),
                headers(WHOLE, 1, &block(&[(":method", "POST")])),
            ],
            MALFORMED,
        )
        .tolerated(
            Expect::Nothing,
            "h2 drops pseudo-header fields of trailers, and the server uses no trailers",
        ),
        check("http2/8.1.2.1/4", "a pseudo-header field after others", &late),
        check("http2/8.1.2.3/1", "an empty path", &block(&[method, SCHEME, (":path", ""), AUTHORITY])),
        check("http2/8.1.2.3/2", "no method", &block(&[SCHEME, PATH, AUTHORITY])),
        check("http2/8.1.2.3/3", "no scheme", &block(&[method, PATH, AUTHORITY])),
        check("http2/8.1.2.3/4", "no path", &block(&[method, SCHEME, AUTHORITY])),
        check("http2/8.1.2.3/5", "two methods", &get(&[method])),
        check("http2/8.1.2.3/6", "two schemes", &get(&[SCHEME])),
        check("http2/8.1.2.3/7", "two paths", &get(&[PATH])),
    ]
}

fn bodies() -> Vec<Case> {
    let open = |more| headers(END_HEADERS, 1, &post(more));
    let check = |id, title, steps: Vec<Step>| case(id, title, steps, MALFORMED);
    let short = || open(&[("content-length", "1")]);
    vec![
        check(
            "http2/8.1/1",
            "trailers without END_STREAM",
            vec![open(&[]), data(0, 1), headers(END_HEADERS, 1, &block(&[("x-test", "ok")]))],
        ),
        check("http2/8.1.2.6/1", "more DATA than content-length", vec![short(), data(END_STREAM, 1)]),
        check(
            "http2/8.1.2.6/2",
            "more DATA than content-length, in parts",
            vec![short(), data(0, 1), data(END_STREAM, 1)],
        ),
    ]
}
