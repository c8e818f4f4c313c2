//! The wire as `-v` shows it: each message as it is sent and received, on stderr.

use std::borrow::Cow;

use anstyle::{AnsiColor, Style};
use switchboard::identity::LOGIN;
use switchboard::{Direction, Json, Tap, Wire};

use crate::output;
use crate::visible::visible;

const SENT: Style = AnsiColor::Cyan.on_default();
const RECEIVED: Style = AnsiColor::Green.on_default();
const FAINT: Style = Style::new().dimmed();

/// Shows all that goes over the wire.
pub(crate) fn tap() -> Tap {
    Tap::new(|direction, what| output::note(&shown(direction, what)))
}

/// One line a message, with the arrows of the JSON-RPC specification's examples; a carrier's words stand out less.
fn shown(direction: Direction, what: Wire<'_>) -> String {
    let (arrow, style) = match direction {
        Direction::Sent => ("-->", SENT),
        Direction::Received => ("<--", RECEIVED),
    };
    let line = |text: &str, look: Style| format!("{style}{arrow}{style:#} {look}{}{look:#}\n", visible(text));
    match what {
        Wire::Message(text) => line(masked(String::from_utf8_lossy(text)).trim_end(), Style::new()),
        Wire::Carrier(text) => text.lines().map(|text| line(text, FAINT)).collect(),
        _ => String::new(),
    }
}

/// A message without the token of a login.
fn masked(text: Cow<'_, str>) -> Cow<'_, str> {
    if !text.contains(LOGIN) {
        return text;
    }
    let message = Json::parse(text.clone().into_owned()).ok();
    match message.and_then(|message| message.get("params")) {
        Some(params) => text.replacen(params.as_str(), "[\"***\"]", 1).into(),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_and_heads_have_the_arrow_of_their_direction() {
        let check = |direction, what, expected: &str| {
            assert_eq!(anstream::adapter::strip_str(&shown(direction, what)).to_string(), expected);
        };
        check(Direction::Sent, Wire::Message(b"{\"id\":1}\n"), "--> {\"id\":1}\n");
        let login = br#"{"jsonrpc":"2.0","method":"rpc.login","params":["sekret"],"id":1}"#;
        let shown = "--> {\"jsonrpc\":\"2.0\",\"method\":\"rpc.login\",\"params\":[\"***\"],\"id\":1}\n";
        check(Direction::Sent, Wire::Message(login), shown);
        check(Direction::Received, Wire::Carrier("200 OK\na: b"), "<-- 200 OK\n<-- a: b\n");
        check(Direction::Received, Wire::Message(b"\x1b[2J\xff"), "<-- \\u001b[2J\u{fffd}\n");
    }
}
