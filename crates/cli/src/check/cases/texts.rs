//! JSON itself: grammar, characters, numbers, depth, duplicate names.

use crate::check::case::{Case, Need, case};
use crate::check::outcome::{Outcome, answer, echo, error};
use crate::check::profile::Point;

/// The cases.
pub(super) fn cases() -> Vec<Case> {
    [grammar(), ends(), encodings(), characters(), numbers(), duplicates(), depth()]
        .into_iter()
        .flatten()
        .collect()
}

/// A text that is not JSON.
fn broken(
    name: &'static str,
    claim: &'static str,
    rules: &'static [&'static str],
    text: impl AsRef<[u8]>,
) -> Case {
    case(name, claim, rules, text)
        .right(error(&[-32700], "null"))
        .common(Point::Closing, Outcome::Closed)
        .common(Point::Silence, Outcome::Nothing)
        .special(Point::PlainHttp, Outcome::Status(&[400]))
        .like("parse-error")
}

/// A call with this parameter.
macro_rules! with {
    ($value:expr) => {
        concat!(r#"{"jsonrpc":"2.0","method":"@none","params":["#, $value, r#"],"id":1}"#)
    };
}

fn grammar() -> Vec<Case> {
    let wrong = |name, claim, text: &'static str| broken(name, claim, &["J2-32", "J2-55"], text);
    vec![
        wrong(
            "parse-error",
            "a message that is not JSON gets -32700",
            r#"{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]}"#,
        ),
        wrong("words", "plain words are refused", "hello there"),
        wrong(
            "trailing-comma",
            "a trailing comma is refused",
            r#"{"jsonrpc":"2.0","method":"@none","id":1,}"#,
        ),
        wrong("comment", "comments are refused", r#"{"jsonrpc":"2.0",/*c*/"method":"@none","id":1}"#),
        wrong("bare-names", "unquoted names are refused", r#"{jsonrpc:"2.0",method:"@none",id:1}"#),
        wrong("single-quotes", "single quotes are refused", "{'jsonrpc':'2.0','method':'@none','id':1}"),
        wrong("nan", "NaN is refused", with!("NaN")),
        wrong("infinity", "Infinity is refused", with!("-Infinity")),
        wrong("plus-sign", "a plus sign before a number is refused", with!("+1")),
        wrong("leading-zero", "a leading zero is refused", with!("01")),
        wrong("bare-point", "a number that begins with its point is refused", with!(".5")),
        wrong("point-at-end", "a number that ends with its point is refused", with!("5.")),
        wrong("hex", "a hexadecimal number is refused", with!("0x10")),
        wrong("raw-tab", "an unescaped tab in a string is refused", with!("\"a\tb\"")),
        wrong("raw-control", "an unescaped control character in a string is refused", with!("\"a\u{1}b\"")),
        wrong("bad-escape", "an unknown escape is refused", with!(r#""\x41""#)),
        wrong("cut-escape", "a unicode escape with fewer than four digits is refused", with!(r#""\u12""#)),
        wrong("word-in-capitals", "`True` is refused", with!("True")),
    ]
}

fn ends() -> Vec<Case> {
    vec![
        broken(
            "trailing-word",
            "text after the value is refused",
            &["J2-53"],
            r#"{"jsonrpc":"2.0","method":"@none","id":1} x"#,
        )
        .needs(Need::Framed),
        broken(
            "trailing-brace",
            "an extra brace is refused",
            &["J2-53"],
            r#"{"jsonrpc":"2.0","method":"@none","id":1}}"#,
        )
        .needs(Need::Framed),
        broken(
            "trailing-nul",
            "a trailing NUL is refused",
            &["J2-53"],
            "{\"jsonrpc\":\"2.0\",\"method\":\"@none\",\"id\":1}\0",
        )
        .needs(Need::Framed),
        broken("cut", "a truncated message is refused", &["J2-32"], r#"{"jsonrpc":"2.0","method":"@none""#)
            .needs(Need::Framed),
        broken(
            "two-in-one",
            "two values are not one message",
            &["J2-54"],
            r#"{"jsonrpc":"2.0","method":"@none","id":1}{"jsonrpc":"2.0","method":"@none","id":2}"#,
        )
        .needs(Need::Framed)
        .should()
        .allowed(Outcome::Each(vec![error(&[-32601], "1"), error(&[-32601], "2")])),
        broken("empty", "an empty message is refused", &["J2-52"], "")
            .needs(Need::Framed)
            .needs(Need::LineBreaks)
            .should()
            .allowed(Outcome::Nothing),
        broken("blank", "a message of spaces is refused", &["J2-52"], "   ")
            .needs(Need::Framed)
            .needs(Need::LineBreaks)
            .should()
            .allowed(Outcome::Nothing),
        case(
            "white-space",
            "white space around values is ignored",
            &["J2-61"],
            "\t {\"jsonrpc\" :\t\"2.0\" , \"method\":\"@none\" ,\"params\":[ 1 , 2 ],\"id\" : 1} \t",
        )
        .right(error(&[-32601], "1")),
        case(
            "much-white-space",
            "a lot of white space before the message is ignored",
            &["J2-61"],
            format!("{}{{\"jsonrpc\":\"2.0\",\"method\":\"@none\",\"id\":1}}", " ".repeat(300)),
        )
        .right(error(&[-32601], "1")),
        case(
            "line-breaks",
            "line breaks around values are ignored",
            &["J2-61"],
            "{\r\n\"jsonrpc\":\"2.0\",\n\"method\":\"@none\",\"id\":1\n}\n",
        )
        .needs(Need::LineBreaks)
        .right(error(&[-32601], "1")),
        broken(
            "no-break-space",
            "a no-break space between values is refused",
            &["J2-61"],
            "{\"jsonrpc\":\"2.0\",\u{a0}\"method\":\"@none\",\"id\":1}",
        ),
    ]
}

fn encodings() -> Vec<Case> {
    let wrong = |name, claim, bytes: &[u8]| {
        let text =
            [&br#"{"jsonrpc":"2.0","method":"@none","params":[""#[..], bytes, br#""],"id":1}"#].concat();
        broken(name, claim, &["J2-60"], text).right(Outcome::Closed).hostile()
    };
    let utf_16: Vec<u8> = "{\"id\":1}".encode_utf16().flat_map(u16::to_le_bytes).collect();
    vec![
        wrong("not-utf-8", "bytes that are not UTF-8 are refused", &[0xff, 0xfe]),
        wrong("overlong", "overlong UTF-8 is refused", &[0xc0, 0xaf]),
        wrong("surrogate-bytes", "an encoded surrogate is refused", &[0xed, 0xa0, 0x80]),
        broken("utf-16", "UTF-16 is refused", &["J2-60"], utf_16)
            .right(Outcome::Closed)
            .needs(Need::Framed)
            .hostile(),
        broken(
            "byte-order-mark",
            "a byte order mark is refused",
            &["J2-59"],
            "\u{feff}{\"jsonrpc\":\"2.0\",\"method\":\"@none\",\"id\":1}",
        )
        .should()
        .common(Point::ByteOrderMark, error(&[-32601], "1")),
        case("lone-surrogate", "the escape of a lone surrogate is refused", &["J2-58"], with!(r#""\ud800""#))
            .should()
            .like("parse-error")
            .right(error(&[-32700, -32600], "1").or_null())
            .common(Point::Surrogates, error(&[-32601], "1")),
    ]
}

fn characters() -> Vec<Case> {
    let back = |name, claim, rules, text: &str, expected: &str| {
        let call = format!(r#"{{"jsonrpc":"2.0","method":"@echo","params":[{text}],"id":1}}"#);
        case(name, claim, rules, call).needs(Need::Echo).right(echo(expected, "1"))
    };
    let long = format!("\"{}\"", "é\u{1F600}".repeat(10_000));
    vec![
        back(
            "text",
            "text of any script comes back unchanged",
            &["J2-57"],
            "\"é ß 中 \u{5d0} \u{1F600}\"",
            "\"é ß 中 \u{5d0} \u{1F600}\"",
        ),
        back(
            "surrogate-pair",
            "a surrogate pair is one character",
            &["J2-57"],
            r#""\ud83d\ude00""#,
            "\"\u{1F600}\"",
        ),
        back("nul", "an escaped NUL is a character", &["J2-57"], r#""a\u0000b""#, r#""a\u0000b""#),
        back(
            "separators",
            "line separators come back unchanged",
            &["J2-76"],
            "\"\u{2028}\u{2029}\"",
            "\"\u{2028}\u{2029}\"",
        ),
        back(
            "controls",
            "control characters come back, escaped",
            &["J2-76"],
            r#""\u0001\u001f\n\t\"\\""#,
            r#""\u0001\u001f\n\t\"\\""#,
        ),
        back(
            "combining",
            "characters are not normalised",
            &["J2-05", "J2-57"],
            "\"e\u{301} \u{e9}\"",
            "\"e\u{301} \u{e9}\"",
        ),
        back("long-text", "a long text comes back complete", &["J2-25"], &long, &long),
        back(
            "kinds",
            "values of every type come back",
            &["J2-25"],
            r#"[1,"a",null,true,{"k":[]},-0.5]"#,
            r#"[1,"a",null,true,{"k":[]},-0.5]"#,
        ),
        back("null", "null is a result, and is returned", &["J2-25", "J2-27"], "null", "null"),
        back(
            "class-hint",
            "an object that names a class is plain data",
            &["J1-24"],
            r#"{"__jsonclass__":["Evil",[1]]}"#,
            r#"{"__jsonclass__":["Evil",[1]]}"#,
        ),
        back(
            "prototype",
            "an object that names a prototype is plain data",
            &["J2-25"],
            r#"{"__proto__":{"x":1}}"#,
            r#"{"__proto__":{"x":1}}"#,
        )
        .hostile(),
    ]
}

fn numbers() -> Vec<Case> {
    let kept = |name, claim, number: &'static str, loss: &'static [&'static str]| {
        let call = format!(r#"{{"jsonrpc":"2.0","method":"@echo","params":[{number}],"id":1}}"#);
        let mut case = case(name, claim, &["J2-63"], call)
            .needs(Need::Echo)
            .should()
            .right(echo(number, "1"))
            .allowed(error(&[-32602], "1"))
            .like("number-2-to-53");
        for lost in loss {
            case = case.common(Point::Numbers, echo(lost, "1"));
        }
        case
    };
    vec![
        kept(
            "number-2-to-53",
            "a number above 2^53 comes back exactly, or is refused",
            "9007199254740993",
            &["9007199254740992"],
        ),
        kept(
            "number-u64",
            "the largest 64-bit number comes back exactly, or is refused",
            "18446744073709551615",
            &["18446744073709552000"],
        ),
        kept(
            "number-30-digits",
            "a number of 30 digits comes back exactly, or is refused",
            "123456789012345678901234567890",
            &["1.2345678901234568e29", "1.2345678901234567e29"],
        ),
        kept("number-small", "a small number comes back unchanged", "1e-7", &[]),
        kept(
            "number-precise",
            "a number with many digits comes back exactly, or is refused",
            "0.1000000000000000055511151231257827",
            &["0.1"],
        ),
        kept("number-huge", "a number beyond 64-bit floats is not turned into something else", "1e400", &[])
            .allowed(error(&[-32700, -32600, -32603], "1").or_null())
            .common(Point::Numbers, echo("null", "1"))
            .hostile(),
        case(
            "number-long",
            "a number of 100,000 digits does not block the server",
            &["SEC-L-07"],
            format!(r#"{{"jsonrpc":"2.0","method":"@none","params":[{}],"id":1}}"#, "9".repeat(100_000)),
        )
        .right(error(&[-32601], "1"))
        .right(error(&[-32700, -32600, -32602], "1").or_null())
        .right(Outcome::Closed)
        .right(Outcome::Status(&[400, 413]))
        .hostile(),
    ]
}

fn duplicates() -> Vec<Case> {
    let twice = |name, claim, text| {
        case(name, claim, &["J2-64"], text)
            .should()
            .right(error(&[-32600, -32700], "1").or_null())
            .like("twice-method")
    };
    vec![
        twice(
            "twice-method",
            "a duplicate `method` is refused",
            r#"{"jsonrpc":"2.0","method":"@none","method":"@none2","id":1}"#,
        )
        .common(Point::Duplicates, error(&[-32601], "1")),
        twice(
            "twice-id",
            "a duplicate `id` is refused",
            r#"{"jsonrpc":"2.0","method":"@none","id":1,"id":2}"#,
        )
        .right(error(&[-32600, -32700], "2"))
        .common(Point::Duplicates, error(&[-32601], "1"))
        .common(Point::Duplicates, error(&[-32601], "2")),
        twice(
            "twice-escaped",
            "a duplicate name is refused even if one is escaped",
            r#"{"jsonrpc":"2.0","method":"@none","m\u0065thod":"@none2","id":1}"#,
        )
        .common(Point::Duplicates, error(&[-32601], "1")),
        case(
            "twice-param",
            "a duplicate parameter is refused",
            &["J2-64"],
            r#"{"jsonrpc":"2.0","method":"@none","params":{"a":1,"a":2},"id":1}"#,
        )
        .should()
        .right(error(&[-32602, -32600, -32700], "1").or_null())
        .like("twice-method")
        .common(Point::Duplicates, error(&[-32601], "1")),
    ]
}

fn depth() -> Vec<Case> {
    let deep = |name, claim, depth: usize| {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        case(
            name,
            claim,
            &["J2-65", "SEC-L-05"],
            format!(r#"{{"jsonrpc":"2.0","method":"@none","params":{open}{close},"id":1}}"#),
        )
    };
    let survives = |case: Case| {
        case.right(error(&[-32700, -32600], "1").or_null())
            .right(error(&[-32601], "1"))
            .right(Outcome::Closed)
            .right(Outcome::Status(&[400, 413]))
            .common(Point::Silence, Outcome::Nothing)
            .hostile()
    };
    vec![
        deep("depth-60", "60 levels of nesting are accepted", 60).should().right(error(&[-32601], "1")),
        survives(deep(
            "depth-1000",
            "1000 levels are answered or refused, and the server keeps running",
            1000,
        )),
        survives(deep(
            "depth-100000",
            "100,000 levels are answered or refused, and the server keeps running",
            100_000,
        )),
        survives(case(
            "depth-objects",
            "100,000 levels of objects are answered or refused, and the server keeps running",
            &["J2-65", "SEC-L-05"],
            format!(
                r#"{{"jsonrpc":"2.0","method":"@none","params":{}1{},"id":1}}"#,
                r#"{"a":"#.repeat(100_000),
                "}".repeat(100_000)
            ),
        )),
        survives(
            case(
                "depth-open",
                "100,000 unclosed arrays are refused, and the server keeps running",
                &["J2-65"],
                "[".repeat(100_000),
            )
            .needs(Need::Framed),
        ),
        case(
            "wide",
            "an object with 20,000 members is accepted or refused",
            &["SEC-L-06"],
            format!(
                r#"{{"jsonrpc":"2.0","method":"@none","params":{{{}}},"id":1}}"#,
                (0..20_000).map(|n| format!("\"k{n}\":{n}")).collect::<Vec<_>>().join(",")
            ),
        )
        .right(answer("1"))
        .right(error(&[-32600, -32700], "null"))
        .hostile(),
        case(
            "long-method",
            "a method name of 64 KiB is unknown or refused",
            &["SEC-L-08"],
            format!(r#"{{"jsonrpc":"2.0","method":"{}","id":1}}"#, "m".repeat(64 << 10)),
        )
        .right(error(&[-32601, -32600, -32602], "1").or_null())
        .hostile(),
    ]
}
