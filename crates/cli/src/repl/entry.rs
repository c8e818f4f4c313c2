//! What is typed at the prompt, understood.

use switchboard::Call;

use crate::batch::input::{self, Entry};
use crate::failure::Failure;
use crate::{params, words};

/// What a person wants.
#[derive(Debug)]
pub(crate) enum Wish {
    /// Nothing.
    Nothing,
    /// To call a method, or to send a notification.
    Call(Call),
    /// To send these as one message.
    Batch(Vec<Entry>),
    /// To send a text as it is.
    Raw(String),
    /// To see which methods there are.
    Methods,
    /// To see what a method takes and gives.
    Describe(String),
    /// To end a stream, or all of them.
    Stop(Option<usize>),
    /// To see how long calls take, or not any more.
    Timing,
    /// To see what can be done here.
    Help,
    /// To leave.
    Quit,
}

/// The commands, each with what it does.
pub(crate) const COMMANDS: [(&str, &str); 7] = [
    (".help", "what can be done here"),
    (".methods", "the methods that the far side describes"),
    (".describe", "METHOD: what it takes and gives"),
    (".raw", "TEXT: send a text as it is, over a connection of its own"),
    (".stop", "[NUMBER]: end a stream, or all of them"),
    (".timing", "show how long calls take, or stop that"),
    (".quit", "leave; Ctrl-D does so too"),
];

/// Understands what was typed.
pub(crate) fn parse(text: &str) -> Result<Wish, Failure> {
    let text = text.trim();
    match text.chars().next() {
        None | Some('#') => Ok(Wish::Nothing),
        Some('.') => command(text),
        Some('[') => input::parse(text).map(Wish::Batch),
        Some('{') => {
            let request = input::parse(text)?.into_iter().next();
            Ok(request.map_or(Wish::Nothing, |entry| Wish::Call(entry.call)))
        }
        Some('!') => call(&text[1..], Call::notification),
        Some(_) => call(text, Call::new),
    }
}

/// Whether a text is complete: every bracket that it opens is closed. An empty line completes any text. A command is one line,
/// for what `.raw` sends may be broken on purpose.
pub(crate) fn is_complete(text: &str) -> bool {
    if text.ends_with('\n') || text.trim_start().starts_with('.') {
        return true;
    }
    let (mut depth, mut is_string, mut is_escaped) = (0usize, false, false);
    for c in text.chars() {
        match c {
            // No string goes over the end of a line.
            '\n' => (is_string, is_escaped) = (false, false),
            _ if is_escaped => is_escaped = false,
            '\\' if is_string => is_escaped = true,
            '"' => is_string = !is_string,
            '[' | '{' if !is_string => depth += 1,
            ']' | '}' if !is_string => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    depth == 0
}

fn call(text: &str, make: fn(String, Option<switchboard::Json>) -> Call) -> Result<Wish, Failure> {
    let words = words::split(text)?;
    let Some((method, params)) = words.split_first() else {
        return Err(Failure::usage("there is no method").advise("write it as `! logEvent message=hello`"));
    };
    Ok(Wish::Call(make(method.clone(), params::of_words(params)?)))
}

fn command(text: &str) -> Result<Wish, Failure> {
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    match (name, rest) {
        (".help", "") => Ok(Wish::Help),
        (".methods", "") => Ok(Wish::Methods),
        (".describe", method) if !method.is_empty() => Ok(Wish::Describe(method.to_owned())),
        (".raw", text) if !text.is_empty() => Ok(Wish::Raw(text.to_owned())),
        (".stop", "") => Ok(Wish::Stop(None)),
        (".stop", number) => {
            let number = number.parse().map_err(|_| Failure::usage(format!("{number:?} is no number")))?;
            Ok(Wish::Stop(Some(number)))
        }
        (".timing", "") => Ok(Wish::Timing),
        (".quit" | ".exit", "") => Ok(Wish::Quit),
        _ => match COMMANDS.iter().find(|(known, _)| *known == name) {
            Some((known, what)) => Err(Failure::usage(format!("this is not how `{known}` is written"))
                .advise(format!("{known} {what}"))),
            None => Err(Failure::usage(format!("there is no command {name}")).advise("see `.help`")),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match parse(text) {
            Ok(Wish::Call(call)) => {
                let mark = if call.is_notification() { "! " } else { "" };
                format!(
                    "{mark}{} {}",
                    call.method,
                    call.params.map_or("-".to_owned(), |json| json.to_string())
                )
            }
            Ok(Wish::Batch(entries)) => format!("batch of {}", entries.len()),
            Ok(other) => format!("{other:?}"),
            Err(Failure::Trouble(trouble)) => format!("wrong: {}", trouble.what),
            Err(other) => format!("{other:?}"),
        }
    }

    #[test]
    fn lines_are_calls_notifications_batches_or_commands() {
        let check = |text: &str, expected: &str| assert_eq!(shown(text), expected, "{text}");
        check("", "Nothing");
        check("# a comment", "Nothing");
        check("math/add a=2 b=3", r#"math/add {"a":2,"b":3}"#);
        check("math/add [2,3]", "math/add [2,3]");
        check("math/add 2 3", "math/add [2,3]");
        check("math/add {\n  \"a\": 2,\n  \"b\": 3\n}", "math/add {\n  \"a\": 2,\n  \"b\": 3\n}");
        check("echo message=\"two words\"", r#"echo {"message":"two words"}"#);
        check("! logEvent message=hi", r#"! logEvent {"message":"hi"}"#);
        check("!logEvent", "! logEvent -");
        check(r#"{"method": "sum", "params": [1], "id": 1}"#, "sum [1]");
        check(r#"[{"method": "sum", "id": 1}, {"method": "update"}]"#, "batch of 2");
        check(".raw {\"a\"", "Raw(\"{\\\"a\\\"\")");
        check(".describe math/add", "Describe(\"math/add\")");
        check(".stop", "Stop(None)");
        check(".stop 3", "Stop(Some(3))");
        check(".quit", "Quit");
        check("!", "wrong: there is no method");
        check(".describe", "wrong: this is not how `.describe` is written");
        check(".dance", "wrong: there is no command .dance");
    }

    #[test]
    fn a_text_is_complete_when_its_brackets_are_closed() {
        for text in [
            "",
            "a",
            "a [1]",
            ".raw {",
            "  .raw [1,",
            "a {\"b\": \"]\"}",
            "a \"[",
            "[1,\n2]",
            "a ]",
            "a {\n\n",
            "a \"\\\"[\"",
        ] {
            assert!(is_complete(text), "{text:?}");
        }
        for text in ["[", "a {\"b\": 1", "[1,\n{", "a {\n\"b\": 1,", "a [\"x\n"] {
            assert!(!is_complete(text) || text.ends_with('\n'), "{text:?}");
        }
    }
    proptest::proptest! {
        #[test]
        fn any_text_is_understood_or_refused(text in r#"[!.#\[{]?[ a-z0-9{}\[\]",:=\\'é\u{3000}\n-]{0,24}"#) {
            let _ = parse(&text);
            // An empty line completes any text.
            let ended = text + "\n";
            proptest::prop_assert!(is_complete(&ended));
        }
    }
}
