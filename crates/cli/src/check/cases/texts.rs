//! JSON itself: its grammar, its characters, its numbers, its depth, names that stand twice.

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

/// A text that is no JSON.
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
}

/// A call with this among its parameters.
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
            "a text that is no JSON is answered with -32700",
            r#"{"jsonrpc": "2.0", "method": "foobar, "params": "bar", "baz]}"#,
        ),
        wrong("words", "words are no JSON", "hello there"),
        wrong(
            "trailing-comma",
            "a comma before the end is no JSON",
            r#"{"jsonrpc":"2.0","method":"@none","id":1,}"#,
        ),
        wrong(
            "comment",
            "there are no comments in JSON",
            r#"{"jsonrpc":"2.0",/*c*/"method":"@none","id":1}"#,
        ),
        wrong("bare-names", "names need quotes", r#"{jsonrpc:"2.0",method:"@none",id:1}"#),
        wrong("single-quotes", "single quotes are none", "{'jsonrpc':'2.0','method':'@none','id':1}"),
        wrong("nan", "NaN is no number", with!("NaN")),
        wrong("infinity", "Infinity is no number", with!("-Infinity")),
        wrong("plus-sign", "a number has no plus sign", with!("+1")),
        wrong("leading-zero", "a number does not begin with a zero", with!("01")),
        wrong("bare-point", "a number does not begin with its point", with!(".5")),
        wrong("point-at-end", "a number does not end with its point", with!("5.")),
        wrong("hex", "a number has no hexadecimal digits", with!("0x10")),
        wrong("raw-tab", "a tab in a string has to be escaped", with!("\"a\tb\"")),
        wrong("raw-control", "a control character in a string has to be escaped", with!("\"a\u{1}b\"")),
        wrong("bad-escape", "there is no such escape", with!(r#""\x41""#)),
        wrong("cut-escape", "an escape has four digits", with!(r#""\u12""#)),
        wrong("word-in-capitals", "true is written in small letters", with!("True")),
    ]
}

fn ends() -> Vec<Case> {
    vec![
        broken(
            "trailing-word",
            "what follows a value makes it no JSON",
            &["J2-53"],
            r#"{"jsonrpc":"2.0","method":"@none","id":1} x"#,
        )
        .needs(Need::Framed),
        broken(
            "trailing-brace",
            "a brace too many makes it no JSON",
            &["J2-53"],
            r#"{"jsonrpc":"2.0","method":"@none","id":1}}"#,
        )
        .needs(Need::Framed),
        broken(
            "trailing-nul",
            "a NUL behind the text makes it no JSON",
            &["J2-53"],
            "{\"jsonrpc\":\"2.0\",\"method\":\"@none\",\"id\":1}\0",
        )
        .needs(Need::Framed),
        broken("cut", "a text that was cut is no JSON", &["J2-32"], r#"{"jsonrpc":"2.0","method":"@none""#)
            .needs(Need::Framed),
        broken(
            "two-in-one",
            "two texts are not one message",
            &["J2-54"],
            r#"{"jsonrpc":"2.0","method":"@none","id":1}{"jsonrpc":"2.0","method":"@none","id":2}"#,
        )
        .needs(Need::Framed)
        .should()
        .allowed(Outcome::Each(vec![error(&[-32601], "1"), error(&[-32601], "2")])),
        broken("empty", "an empty message is no JSON", &["J2-52"], "")
            .needs(Need::Framed)
            .needs(Need::LineBreaks)
            .should()
            .allowed(Outcome::Nothing),
        broken("blank", "a message of blanks is no JSON", &["J2-52"], "   ")
            .needs(Need::Framed)
            .needs(Need::LineBreaks)
            .should()
            .allowed(Outcome::Nothing),
        case(
            "white-space",
            "white space around values means nothing",
            &["J2-61"],
            "\t {\"jsonrpc\" :\t\"2.0\" , \"method\":\"@none\" ,\"params\":[ 1 , 2 ],\"id\" : 1} \t",
        )
        .right(error(&[-32601], "1")),
        case(
            "much-white-space",
            "nor does much of it before the text",
            &["J2-61"],
            format!("{}{{\"jsonrpc\":\"2.0\",\"method\":\"@none\",\"id\":1}}", " ".repeat(300)),
        )
        .right(error(&[-32601], "1")),
        case(
            "line-breaks",
            "nor do line breaks",
            &["J2-61"],
            "{\r\n\"jsonrpc\":\"2.0\",\n\"method\":\"@none\",\"id\":1\n}\n",
        )
        .needs(Need::LineBreaks)
        .right(error(&[-32601], "1")),
        broken(
            "no-break-space",
            "a blank that does not break is no white space",
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
        wrong("not-utf-8", "bytes that are no UTF-8 are refused", &[0xff, 0xfe]),
        wrong("overlong", "a character in more bytes than it needs is refused", &[0xc0, 0xaf]),
        wrong("surrogate-bytes", "half a character is refused", &[0xed, 0xa0, 0x80]),
        broken("utf-16", "UTF-16 is refused", &["J2-60"], utf_16)
            .right(Outcome::Closed)
            .needs(Need::Framed)
            .hostile(),
        broken(
            "byte-order-mark",
            "a mark of the byte order is refused",
            &["J2-59"],
            "\u{feff}{\"jsonrpc\":\"2.0\",\"method\":\"@none\",\"id\":1}",
        )
        .should()
        .common(Point::ByteOrderMark, error(&[-32601], "1")),
        case("lone-surrogate", "an escape of half a character is refused", &["J2-58"], with!(r#""\ud800""#))
            .should()
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
            "text of every script comes back",
            &["J2-57"],
            "\"é ß 中 \u{5d0} \u{1F600}\"",
            "\"é ß 中 \u{5d0} \u{1F600}\"",
        ),
        back(
            "surrogate-pair",
            "a pair of surrogates is one character",
            &["J2-57"],
            r#""\ud83d\ude00""#,
            "\"\u{1F600}\"",
        ),
        back("nul", "an escaped NUL is a character", &["J2-57"], r#""a\u0000b""#, r#""a\u0000b""#),
        back(
            "separators",
            "line separators are characters",
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
            "characters are not put together or taken apart",
            &["J2-05", "J2-57"],
            "\"e\u{301} \u{e9}\"",
            "\"e\u{301} \u{e9}\"",
        ),
        back("long-text", "a long text comes back whole", &["J2-25"], &long, &long),
        back(
            "kinds",
            "every kind of value comes back",
            &["J2-25"],
            r#"[1,"a",null,true,{"k":[]},-0.5]"#,
            r#"[1,"a",null,true,{"k":[]},-0.5]"#,
        ),
        back("null", "null is a result, and is told", &["J2-25", "J2-27"], "null", "null"),
        back(
            "class-hint",
            "an object that names a class is data",
            &["J1-24"],
            r#"{"__jsonclass__":["Evil",[1]]}"#,
            r#"{"__jsonclass__":["Evil",[1]]}"#,
        ),
        back(
            "prototype",
            "an object that names a prototype is data",
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
            .allowed(error(&[-32602], "1"));
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
            "the largest number of 64 bits comes back exactly, or is refused",
            "18446744073709551615",
            &["18446744073709552000"],
        ),
        kept(
            "number-30-digits",
            "a number of 30 digits comes back exactly, or is refused",
            "123456789012345678901234567890",
            &["1.2345678901234568e29", "1.2345678901234567e29"],
        ),
        kept("number-small", "a small number comes back", "1e-7", &[]),
        kept(
            "number-precise",
            "a number of many digits comes back, or is refused",
            "0.1000000000000000055511151231257827",
            &["0.1"],
        ),
        kept("number-huge", "a number too large for most is not turned into something else", "1e400", &[])
            .allowed(error(&[-32700, -32600, -32603], "1").or_null())
            .common(Point::Numbers, echo("null", "1"))
            .hostile(),
        case(
            "number-long",
            "a number of 100 000 digits does not keep the server",
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
        case(name, claim, &["J2-64"], text).should().right(error(&[-32600, -32700], "1").or_null())
    };
    vec![
        twice(
            "twice-method",
            "a method that is given twice is refused",
            r#"{"jsonrpc":"2.0","method":"@none","method":"@none2","id":1}"#,
        )
        .common(Point::Duplicates, error(&[-32601], "1")),
        twice(
            "twice-id",
            "an identifier that is given twice is refused",
            r#"{"jsonrpc":"2.0","method":"@none","id":1,"id":2}"#,
        )
        .right(error(&[-32600, -32700], "2"))
        .common(Point::Duplicates, error(&[-32601], "1"))
        .common(Point::Duplicates, error(&[-32601], "2")),
        twice(
            "twice-escaped",
            "also when it is written differently",
            r#"{"jsonrpc":"2.0","method":"@none","m\u0065thod":"@none2","id":1}"#,
        )
        .common(Point::Duplicates, error(&[-32601], "1")),
        case(
            "twice-param",
            "a parameter that is given twice is refused",
            &["J2-64"],
            r#"{"jsonrpc":"2.0","method":"@none","params":{"a":1,"a":2},"id":1}"#,
        )
        .should()
        .right(error(&[-32602, -32600, -32700], "1").or_null())
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
        deep("depth-60", "60 levels are no problem", 60).should().right(error(&[-32601], "1")),
        survives(deep("depth-1000", "1000 levels are answered or refused, and the server lives", 1000)),
        survives(deep(
            "depth-100000",
            "100 000 levels are answered or refused, and the server lives",
            100_000,
        )),
        survives(case(
            "depth-objects",
            "100 000 levels of objects are answered or refused, and the server lives",
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
                "100 000 arrays that do not end are refused, and the server lives",
                &["J2-65"],
                "[".repeat(100_000),
            )
            .needs(Need::Framed),
        ),
        case(
            "wide",
            "an object of 20 000 members is taken or refused",
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
            "a name of 64 KiB is unknown or refused",
            &["SEC-L-08"],
            format!(r#"{{"jsonrpc":"2.0","method":"{}","id":1}}"#, "m".repeat(64 << 10)),
        )
        .right(error(&[-32601, -32600, -32602], "1").or_null())
        .hostile(),
    ]
}
