//! h2spec's section "generic": what every server has to do.

use crate::case::{CANCEL, Case, Expect, Step, case, get, post};
use crate::wire::{
    END_HEADERS, END_STREAM, GOAWAY, INITIAL_WINDOW_SIZE, PADDED, PREFACE, PRIORITIZED, WHOLE, block,
    continuation, data, dependency, frame, headers, ping, priority, reset, settings, window_update,
};

const ZERO: [u8; 8] = [0; 8];
const H2SPEC: [u8; 8] = *b"h2spec\0\0";

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = streams();
    cases.extend(frames());
    cases.extend(messages());
    cases.extend(compression());
    cases
}

fn streams() -> Vec<Case> {
    let (answer, pong) = (Expect::Answer(1), Expect::Pong(ZERO));
    let stall = || settings(&[(INITIAL_WINDOW_SIZE, 0)]);
    let whole = || headers(WHOLE, 1, &get(&[]));
    vec![
        case(
            "generic/1/1",
            "a client preface",
            vec![Step::Send(PREFACE.to_vec()), settings(&[(INITIAL_WINDOW_SIZE, 65_535)])],
            Expect::Settings,
        )
        .without_handshake(),
        case("generic/2/1", "PRIORITY on an idle stream", vec![priority(1, 0, 255), ping(&ZERO)], pong),
        case(
            "generic/2/2",
            "WINDOW_UPDATE on a half-closed stream",
            vec![stall(), whole(), window_update(1, 1)],
            Expect::Data,
        ),
        case(
            "generic/2/3",
            "PRIORITY on a half-closed stream",
            vec![stall(), whole(), priority(1, 0, 255), window_update(1, 1)],
            Expect::Data,
        ),
        case(
            "generic/2/4",
            "RST_STREAM on a half-closed stream",
            vec![whole(), reset(1, CANCEL), ping(&ZERO)],
            Expect::PongOrClosed(ZERO),
        ),
        case(
            "generic/2/5",
            "PRIORITY on a closed stream",
            vec![whole(), Step::Await(Expect::StreamEnd), priority(1, 0, 255), ping(&ZERO)],
            pong,
        ),
        case("generic/3.2/1", "HEADERS", vec![whole()], answer),
        case(
            "generic/3.2/2",
            "HEADERS with padding",
            vec![headers(WHOLE | PADDED, 1, &[&[8], &get(&[])[..], &[0; 8]].concat())],
            answer,
        ),
        case(
            "generic/3.2/3",
            "HEADERS with priority",
            vec![headers(WHOLE | PRIORITIZED, 1, &[dependency(0, 255), get(&[])].concat())],
            answer,
        ),
        case("generic/3.3/1", "PRIORITY 1", vec![priority(1, 0, 0), whole()], answer),
        case("generic/3.3/2", "PRIORITY 256", vec![priority(1, 0, 255), whole()], answer),
        case("generic/3.3/3", "PRIORITY with a dependency", vec![priority(3, 1, 0), whole()], answer),
        case("generic/3.3/4", "PRIORITY, exclusive", vec![priority(1, 1 << 31, 0), whole()], answer),
        case(
            "generic/3.3/5",
            "PRIORITY for an idle stream, then HEADERS for a lower one",
            vec![priority(3, 0, 255), whole()],
            answer,
        ),
    ]
}

fn frames() -> Vec<Case> {
    let answer = Expect::Answer(1);
    let open = || headers(END_HEADERS, 1, &post(&[]));
    let parts = get(&[]);
    vec![
        case("generic/3.1/1", "DATA", vec![open(), data(END_STREAM, 1)], answer),
        case("generic/3.1/2", "DATA twice", vec![open(), data(0, 1), data(END_STREAM, 1)], answer),
        case(
            "generic/3.1/3",
            "DATA with padding",
            vec![open(), frame(0, END_STREAM | PADDED, 1, b"\x05test\0\0\0\0\0")],
            answer,
        ),
        case(
            "generic/3.4/1",
            "RST_STREAM",
            vec![headers(END_HEADERS, 1, &get(&[])), reset(1, CANCEL), ping(&ZERO)],
            Expect::PongOrClosed(ZERO),
        ),
        case(
            "generic/3.5/1",
            "SETTINGS",
            vec![settings(&[(1, 4096), (2, 1), (3, 100), (4, 65_535), (5, 16_384), (6, 100)])],
            Expect::SettingsAck,
        ),
        case("generic/3.7/1", "PING", vec![ping(&H2SPEC)], Expect::Pong(H2SPEC)),
        case(
            "generic/3.8/1",
            "GOAWAY",
            vec![frame(GOAWAY, 0, 0, b"\0\0\0\0\0\0\0\0h2spec"), ping(&H2SPEC)],
            Expect::PongOrClosed(H2SPEC),
        ),
        case(
            "generic/3.9/1",
            "WINDOW_UPDATE of the connection",
            vec![window_update(0, 1), ping(&ZERO)],
            Expect::Pong(ZERO),
        ),
        case(
            "generic/3.9/2",
            "WINDOW_UPDATE of a stream",
            vec![headers(WHOLE, 1, &parts), window_update(1, 1)],
            answer,
        ),
        case(
            "generic/3.10/1",
            "CONTINUATION",
            vec![headers(END_STREAM, 1, &parts[..5]), continuation(END_HEADERS, 1, &parts[5..])],
            answer,
        ),
        case(
            "generic/3.10/2",
            "CONTINUATION twice",
            vec![
                headers(END_STREAM, 1, &parts[..5]),
                continuation(0, 1, &parts[5..10]),
                continuation(END_HEADERS, 1, &parts[10..]),
            ],
            answer,
        ),
    ]
}

fn messages() -> Vec<Case> {
    let answer = Expect::Answer(1);
    let head =
        block(&[(":method", "HEAD"), (":scheme", "http"), (":path", "/"), (":authority", "localhost")]);
    vec![
        case("generic/4/1", "a GET", vec![headers(WHOLE, 1, &get(&[]))], answer),
        case("generic/4/2", "a HEAD", vec![headers(WHOLE, 1, &head)], answer),
        case("generic/4/3", "a POST", vec![headers(END_HEADERS, 1, &post(&[])), data(END_STREAM, 1)], answer),
        case(
            "generic/4/4",
            "a POST with trailers",
            vec![
                headers(END_HEADERS, 1, &post(&[("trailer", "x-test")])),
                data(0, 1),
                headers(WHOLE, 1, &block(&[("x-test", "ok")])),
            ],
            answer,
        ),
    ]
}

fn compression() -> Vec<Case> {
    let with = |more: &[u8]| vec![headers(WHOLE, 1, &[&get(&[]), more].concat())];
    let after = |before: &[u8]| vec![headers(WHOLE, 1, &[before, &get(&[])].concat())];
    let (agent, agent_huffman) =
        (b"\x0auser-agent\x06h2spec", b"\x87\xb5\x05\xb1\x61\xcc\x5a\x93\x84\x9c\x48\xac\xa4");
    let (test, test_huffman) = (b"\x06x-test\x06h2spec", b"\x85\xf2\xb2\x4a\x84\xff\x84\x9c\x48\xac\xa4");
    let literal = |kind: u8, field: &[u8]| with(&[&[kind], field].concat());
    let answer = Expect::Answer(1);
    vec![
        case("generic/5/1", "an indexed field", with(b"\xba"), answer),
        case("generic/5/2", "a literal to be indexed, Huffman", literal(0x40, agent_huffman), answer),
        case("generic/5/3", "a literal to be indexed", literal(0x40, agent), answer),
        case("generic/5/4", "a literal to be indexed, new name", literal(0x40, test), answer),
        case(
            "generic/5/5",
            "a literal to be indexed, new name, Huffman",
            literal(0x40, test_huffman),
            answer,
        ),
        case("generic/5/6", "a literal that is not indexed", literal(0, agent), answer),
        case("generic/5/7", "a literal that is not indexed, Huffman", literal(0, agent_huffman), answer),
        case("generic/5/8", "a literal that is not indexed, new name", literal(0, test), answer),
        case(
            "generic/5/9",
            "a literal that is not indexed, new name, Huffman",
            literal(0, test_huffman),
            answer,
        ),
        case("generic/5/10", "a literal never to be indexed", literal(0x10, agent), answer),
        case("generic/5/11", "a literal never to be indexed, Huffman", literal(0x10, agent_huffman), answer),
        case("generic/5/12", "a literal never to be indexed, new name", literal(0x10, test), answer),
        case(
            "generic/5/13",
            "a literal never to be indexed, new name, Huffman",
            literal(0x10, test_huffman),
            answer,
        ),
        case("generic/5/14", "a new size of the table", after(b"\x20"), answer),
        case("generic/5/15", "several new sizes of the table", after(b"\x20\x3f\xe1\x1f"), answer),
    ]
}
