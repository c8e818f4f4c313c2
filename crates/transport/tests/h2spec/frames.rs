//! h2spec's section "http2", 6: each type of frame.

use crate::case::{
    CANCEL, Case, Expect, FLOW_CONTROL, FRAME_SIZE, PROTOCOL, STREAM_CLOSED, Step, case, dummy, get, post,
};
use crate::wire::{
    ACK, DATA, END_HEADERS, END_STREAM, GOAWAY, HEADERS, INITIAL_WINDOW_SIZE, PADDED, PING, PRIORITY,
    RST_STREAM, SETTINGS, WHOLE, WINDOW_UPDATE, continuation, data, frame, headers, ping, priority, reset,
    settings, window_update,
};

const PROTOCOL_ERROR: Expect = Expect::ConnectionError(&[PROTOCOL]);
const SIZE_ERROR: Expect = Expect::ConnectionError(&[FRAME_SIZE]);
const FLOW_ERROR: Expect = Expect::ConnectionError(&[FLOW_CONTROL]);
const ZERO: [u8; 8] = [0; 8];
const H2SPEC: [u8; 8] = *b"h2spec\0\0";

pub(crate) fn cases() -> Vec<Case> {
    let mut cases = requests();
    cases.extend(control());
    cases.extend(settings_frames());
    cases.extend(windows());
    cases.extend(continuations());
    cases
}

fn requests() -> Vec<Case> {
    let block = get(&[]);
    let excess = [&[u8::try_from(block.len() + 2).unwrap()], &block[..]].concat();
    vec![
        case("http2/6.1/1", "DATA of stream 0", vec![data(END_STREAM, 0)], PROTOCOL_ERROR),
        case(
            "http2/6.1/2",
            "DATA of a stream that is not open",
            vec![headers(WHOLE, 1, &post(&[])), data(END_STREAM, 1)],
            Expect::StreamError(&[STREAM_CLOSED]),
        )
        .with_other_code(),
        case(
            "http2/6.1/3",
            "DATA with more padding than there is",
            vec![
                headers(END_HEADERS, 1, &post(&[("content-length", "4")])),
                frame(DATA, END_STREAM | PADDED, 1, b"\x06Test"),
            ],
            PROTOCOL_ERROR,
        ),
        case(
            "http2/6.2/1",
            "PRIORITY after HEADERS without END_HEADERS",
            vec![headers(0, 1, &block), priority(1, 0, 255), continuation(END_HEADERS, 1, &dummy(4))],
            PROTOCOL_ERROR,
        ),
        case(
            "http2/6.2/2",
            "HEADERS of another stream after HEADERS without END_HEADERS",
            vec![headers(0, 1, &block), headers(WHOLE, 3, &block), continuation(END_HEADERS, 1, &dummy(4))],
            PROTOCOL_ERROR,
        ),
        case("http2/6.2/3", "HEADERS of stream 0", vec![headers(WHOLE, 0, &block)], PROTOCOL_ERROR),
        case(
            "http2/6.2/4",
            "HEADERS with more padding than there is",
            vec![frame(HEADERS, WHOLE | PADDED, 1, &excess)],
            Expect::StreamError(&[PROTOCOL]),
        ),
        case("http2/6.3/1", "PRIORITY of stream 0", vec![priority(0, 0, 255)], PROTOCOL_ERROR),
        case(
            "http2/6.3/2",
            "PRIORITY that has not five bytes",
            vec![headers(WHOLE, 1, &block), frame(PRIORITY, 0, 1, b"\x80\0\0\x01")],
            Expect::StreamError(&[FRAME_SIZE]),
        )
        .with_other_code(),
        case("http2/6.4/1", "RST_STREAM of stream 0", vec![reset(0, CANCEL)], PROTOCOL_ERROR),
        case("http2/6.4/2", "RST_STREAM of an idle stream", vec![reset(1, CANCEL)], PROTOCOL_ERROR),
        case(
            "http2/6.4/3",
            "RST_STREAM that has not four bytes",
            vec![headers(WHOLE, 1, &block), frame(RST_STREAM, 0, 1, &[0; 3])],
            Expect::StreamError(&[FRAME_SIZE]),
        )
        .with_other_code(),
    ]
}

fn control() -> Vec<Case> {
    let answered = || frame(PING, ACK, 0, b"invalid\0");
    vec![
        case("http2/6.7/1", "PING", vec![ping(&H2SPEC)], Expect::Pong(H2SPEC)),
        case("http2/6.7/2", "PING with ACK", vec![answered(), ping(&H2SPEC)], Expect::Pong(H2SPEC)),
        case("http2/6.7/3", "PING of a stream", vec![frame(PING, 0, 1, &ZERO)], PROTOCOL_ERROR),
        case("http2/6.7/4", "PING that has not eight bytes", vec![frame(PING, 0, 0, &[0; 6])], SIZE_ERROR)
            .with_other_code(),
        case("http2/6.8/1", "GOAWAY of a stream", vec![frame(GOAWAY, 0, 1, &ZERO)], PROTOCOL_ERROR),
    ]
}

fn settings_frames() -> Vec<Case> {
    vec![
        case("http2/6.5/1", "SETTINGS with ACK and values", vec![frame(SETTINGS, ACK, 0, &[0])], SIZE_ERROR)
            .with_other_code(),
        case(
            "http2/6.5/2",
            "SETTINGS of a stream",
            vec![frame(SETTINGS, 0, 1, b"\0\x03\0\0\0\x64")],
            PROTOCOL_ERROR,
        ),
        case(
            "http2/6.5/3",
            "SETTINGS whose length is not a multiple of six",
            vec![frame(SETTINGS, 0, 0, b"\0\x03\0")],
            Expect::StreamError(&[PROTOCOL, FRAME_SIZE]),
        ),
        case("http2/6.5.2/1", "ENABLE_PUSH of 2", vec![settings(&[(2, 2)])], PROTOCOL_ERROR),
        case("http2/6.5.2/2", "INITIAL_WINDOW_SIZE of 2^31", vec![settings(&[(4, 1 << 31)])], FLOW_ERROR)
            .with_other_code(),
        case("http2/6.5.2/3", "MAX_FRAME_SIZE below 2^14", vec![settings(&[(5, 16_383)])], PROTOCOL_ERROR),
        case("http2/6.5.2/4", "MAX_FRAME_SIZE of 2^24", vec![settings(&[(5, 1 << 24)])], PROTOCOL_ERROR),
        case(
            "http2/6.5.2/5",
            "an unknown setting",
            vec![settings(&[(0xff, 1)]), ping(&ZERO)],
            Expect::Pong(ZERO),
        ),
        case(
            "http2/6.5.3/1",
            "INITIAL_WINDOW_SIZE twice in one frame",
            vec![
                settings(&[(INITIAL_WINDOW_SIZE, 100), (INITIAL_WINDOW_SIZE, 1)]),
                Step::Await(Expect::SettingsAck),
                headers(WHOLE, 1, &get(&[])),
            ],
            Expect::DataOf(1),
        ),
        case("http2/6.5.3/2", "SETTINGS is acknowledged", vec![settings(&[(2, 0)])], Expect::SettingsAck),
    ]
}

fn windows() -> Vec<Case> {
    let most = (1 << 31) - 1;
    let initial = |size| settings(&[(INITIAL_WINDOW_SIZE, size)]);
    let (whole, open) = (|| headers(WHOLE, 1, &get(&[])), || headers(END_HEADERS, 1, &post(&[])));
    let acked = || Step::Await(Expect::SettingsAck);
    vec![
        case("http2/6.9/1", "WINDOW_UPDATE by 0", vec![window_update(0, 0)], PROTOCOL_ERROR),
        case(
            "http2/6.9/2",
            "WINDOW_UPDATE by 0 of a stream",
            vec![open(), window_update(1, 0)],
            Expect::StreamError(&[PROTOCOL]),
        ),
        case(
            "http2/6.9/3",
            "WINDOW_UPDATE that has not four bytes",
            vec![frame(WINDOW_UPDATE, 0, 0, b"\0\0\x01")],
            SIZE_ERROR,
        )
        .with_other_code(),
        case("http2/6.9.1/1", "a window of one byte", vec![initial(1), acked(), whole()], Expect::DataOf(1)),
        case(
            "http2/6.9.1/2",
            "a window above 2^31 - 1",
            vec![window_update(0, most), window_update(0, most)],
            Expect::Goaway(FLOW_CONTROL),
        ),
        case(
            "http2/6.9.1/3",
            "a window above 2^31 - 1, of a stream",
            vec![open(), window_update(1, most), window_update(1, most)],
            Expect::Reset(FLOW_CONTROL),
        ),
        case(
            "http2/6.9.2/1",
            "a window that opens while an answer waits",
            vec![initial(0), acked(), whole(), initial(1)],
            Expect::DataOf(1),
        ),
        case(
            "http2/6.9.2/2",
            "a window that becomes negative",
            vec![
                initial(3),
                acked(),
                whole(),
                Step::Await(Expect::Data),
                initial(2),
                acked(),
                window_update(1, 2),
            ],
            Expect::DataOf(1),
        ),
        case("http2/6.9.2/3", "INITIAL_WINDOW_SIZE above 2^31 - 1", vec![initial(1 << 31)], FLOW_ERROR)
            .with_other_code(),
    ]
}

fn continuations() -> Vec<Case> {
    let dummy = dummy(4);
    let begun = || headers(END_STREAM, 1, &get(&[]));
    let open = || headers(0, 1, &post(&[]));
    let (more, last) = (|| continuation(0, 1, &dummy), || continuation(END_HEADERS, 1, &dummy));
    let check = |id, title, steps| case(id, title, steps, PROTOCOL_ERROR);
    vec![
        case("http2/6.10/1", "several CONTINUATION", vec![begun(), more(), last()], Expect::Answer(1)),
        check("http2/6.10/2", "CONTINUATION, then DATA", vec![open(), more(), data(END_STREAM, 1)]),
        check(
            "http2/6.10/3",
            "CONTINUATION of stream 0",
            vec![begun(), continuation(END_HEADERS, 0, &dummy)],
        ),
        check(
            "http2/6.10/4",
            "CONTINUATION after HEADERS with END_HEADERS",
            vec![headers(WHOLE, 1, &get(&[])), last()],
        ),
        check(
            "http2/6.10/5",
            "CONTINUATION after CONTINUATION with END_HEADERS",
            vec![begun(), last(), last()],
        ),
        check(
            "http2/6.10/6",
            "CONTINUATION after DATA",
            vec![open(), data(END_STREAM, 1), more(), continuation(END_HEADERS, 0, &dummy)],
        ),
    ]
}
