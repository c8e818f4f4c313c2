//! Each framing with what it must take, refuse and recover from.

#![allow(clippy::unwrap_used)]
#![cfg(feature = "stream")]

use bytes::Bytes;
use switchboard_core::ConnectionError;
use switchboard_transport::framing::{FrameDecoder, Framing};

const LIMIT: usize = 64;

/// The frames of these chunks, then how it ended: nothing, or the error.
fn frames(framing: Framing, chunks: &[&[u8]]) -> (Vec<String>, Option<String>) {
    let mut decoder = FrameDecoder::new(framing, LIMIT);
    let mut frames = Vec::new();
    let mut take = |next: Result<Option<Bytes>, ConnectionError>| match next {
        Ok(Some(frame)) => {
            frames.push(String::from_utf8_lossy(&frame).into_owned());
            Ok(true)
        }
        Ok(None) => Ok(false),
        Err(error) => Err(error.to_string()),
    };
    let mut run = || -> Result<(), String> {
        for chunk in chunks {
            decoder.feed(chunk);
            while take(decoder.next_frame())? {}
        }
        take(decoder.finish()).map(|_| ())
    };
    let end = run().err();
    (frames, end)
}

fn check(framing: Framing, input: &str, expected: &[&str], error: Option<&str>) {
    let bytes: Vec<&[u8]> = input.as_bytes().chunks(1).collect();
    let whole = frames(framing, &[input.as_bytes()]);
    assert_eq!(whole, frames(framing, &bytes), "byte by byte it is the same: {input:?}");
    assert_eq!(whole.0, expected, "{input:?}");
    let fits = match (&whole.1, error) {
        (None, None) => true,
        (Some(found), Some(part)) => found.contains(part),
        _ => false,
    };
    assert!(fits, "{input:?}: {:?}", whole.1);
}

#[test]
fn lines_end_with_lf_or_crlf_and_blank_ones_do_not_count() {
    // JT-02
    check(Framing::Lines, "{}\r\n\n  \r\n[1]\nlast", &["{}", "[1]", "last"], None);
    check(Framing::Lines, "{}\n  ", &["{}"], None);
}

#[test]
fn a_line_may_have_as_many_bytes_as_the_limit_says() {
    // SEC-L-16
    let most = "x".repeat(LIMIT);
    check(Framing::Lines, &format!("{most}\n"), &[&most], None);
    check(Framing::Lines, &format!("[]\n{most}x\n"), &["[]"], Some("limit of 64"));
    check(Framing::Lines, &format!("{most}x"), &[], Some("limit of 64"));
    let most = format!("[{}]", "1".repeat(LIMIT - 2));
    check(Framing::JsonStream, &most, &[&most], None);
    check(Framing::JsonStream, &format!("[1{}", &most[1..]), &[], Some("limit of 64"));
    check(Framing::JsonStream, &"x".repeat(LIMIT + 1), &[], Some("limit of 64"));
}

#[test]
fn a_json_message_ends_where_its_json_ends() {
    let texts = [r#"{"a":"}\"]","b":[1,{"c":null}]}"#, "[[],{}]", "[1.5e+3, true\n]", r#"{"\\":"\\"}"#];
    check(Framing::JsonStream, &texts.concat(), &texts, None);
    check(Framing::JsonStream, &format!(" \n{}\r\n\n", texts.join(" \r\n")), &texts, None);
}

#[test]
fn after_garbage_the_next_line_counts() {
    let json = Framing::JsonStream;
    check(json, "nonsense\n[1]", &["nonsense", "[1]"], None);
    check(json, "1\n\"a\"[2]\n[1]\n", &["1", "\"a\"[2]", "[1]"], None);
    check(json, r#"{"a": "b, "c": "d", "e]"#, &[r#"{"a": "b, "c"#], None);
    check(json, "{\"a\" \"b\" [1] }\n[1]", &["{\"a\" \"", "[1]"], None);
    check(json, "[1}]\n[1]", &["[1}", "[1]"], None);
    check(json, "{\"a\":\"b\n[1]", &["{\"a\":\"b\n", "[1]"], None);
    check(json, "{\"a\"\n[1]\n", &["{\"a\"\n", "[1]"], None);
    check(json, "[1,]\n[1", &["[1,]"], Some("middle of a message"));
}

#[test]
fn half_a_message_at_the_end_is_cut_off_and_nonsense_is_not() {
    // JT-02, LSP-F-12
    for framing in [Framing::JsonStream, Framing::Lines] {
        for half in
            ["{", " [1,2", "[{\"a\":\"b\\", "{\"a\":tr", "[[1],{}", "{\"jsonrpc\":\"2.0\",\"method\":\"a"]
        {
            check(framing, half, &[], Some("middle of a message"));
            check(framing, &format!("[1]\n{half}"), &["[1]"], Some("middle of a message"));
        }
        for whole in ["{}", "[1]", "nonsense", "\"a", "1"] {
            check(framing, whole, &[whole], None);
        }
    }
    check(Framing::Lines, "{]", &["{]"], None);
    check(Framing::Lines, "{} {", &["{} {"], None);
}

#[test]
fn a_length_stands_before_the_message() {
    check(Framing::LengthPrefix, "\0\0\0\u{2}{}\0\0\0\0\0\0\0\u{1}1", &["{}", "", "1"], None);
    check(Framing::LengthPrefix, "\0\0\0\u{41}", &[], Some("limit of 64"));
    check(Framing::LengthPrefix, "\0\0\0\u{2}{", &[], Some("middle of a message"));
    check(Framing::LengthPrefix, "\0\0", &[], Some("middle of a message"));
}

#[test]
fn the_length_in_a_header_is_checked_before_anything_is_kept() {
    // LSP-F-07
    let lsp = Framing::ContentLength;
    check(lsp, "Content-Length: 64\r\n\r\n", &[], Some("middle of a message"));
    check(lsp, "Content-Length: 65\r\n\r\n", &[], Some("limit of 64"));
    // SEC-Z-03: nothing is allocated for a length that is announced.
    check(lsp, "Content-Length: 99999999999999999999999\r\n\r\n", &[], Some("limit of 64"));
    check(lsp, "Content-Length: +2\r\n\r\n{}", &[], Some("decimal"));
    check(lsp, "Content-Length: \r\n\r\n{}", &[], Some("decimal"));
    check(lsp, "Content-Length: 2\r\nCONTENT-LENGTH:2 \r\n\r\n{}", &["{}"], None);
}

#[test]
fn a_header_is_ascii_lines_that_end_with_crlf() {
    // LSP-F-02, LSP-F-06, LSP-F-11
    let lsp = Framing::ContentLength;
    check(lsp, "Content-Length: 2\n\n{}", &[], Some("CRLF"));
    check(lsp, "Content-Length 2\r\n\r\n{}", &[], Some("Name: value"));
    check(lsp, "X: é\r\n\r\n{}", &[], Some("ASCII"));
    check(lsp, "X-Unknown: 1\r\nContent-Length: 2\r\n\r\n{}", &["{}"], None);
}

#[test]
fn a_header_has_a_limit_of_bytes_and_fields() {
    // LSP-F-08
    let lsp = Framing::ContentLength;
    check(lsp, &"X: 1\r\n".repeat(33), &[], Some("more than 32 fields"));
    check(lsp, &"X".repeat((8 << 10) + 1), &[], Some("exceeds 8192 bytes"));
    check(lsp, &format!("{}\r\n", "X: 1".repeat(4 << 10)), &[], Some("exceeds 8192 bytes"));
}

#[test]
fn nothing_is_read_of_a_stream_that_begins_as_http() {
    // What a page of another site can make a browser send: the lines of the body are chosen by the page.
    let request =
        "POST / HTTP/1.1\r\nOrigin: http://evil.example\r\n\r\n{\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n";
    for framing in [Framing::JsonStream, Framing::Lines] {
        check(framing, request, &[], Some("received HTTP"));
        check(framing, "nonsense\n{}\n", &["nonsense", "{}"], None);
        check(framing, "[]\nPOST / HTTP/1.1\n", &["[]", "POST / HTTP/1.1"], None);
    }
}

#[test]
fn a_message_is_written_as_one_line_whatever_stands_between_its_tokens() {
    // JT-02
    let mut out = Vec::new();
    Framing::Lines.encode(b"{\r\n\"a\":\n1}", &mut out);
    assert_eq!(out, b"{  \"a\": 1}\n");
}

#[test]
fn the_names_of_framings_are_read_back() {
    for framing in Framing::ALL {
        assert_eq!(framing.to_string().parse(), Ok(framing));
    }
    let error = "xml".parse::<Framing>().unwrap_err().to_string();
    assert_eq!(error, "unknown framing `xml`: use `json`, `lines`, `lsp` or `length`");
}

#[test]
fn long_nesting_costs_a_bit_a_level() {
    let text = "[".repeat(100_000) + &"]".repeat(100_000);
    let mut decoder = FrameDecoder::new(Framing::JsonStream, 1 << 20);
    decoder.feed(text.as_bytes());
    assert_eq!(decoder.next_frame().unwrap().unwrap().len(), text.len());
}
