//! What is typed at the prompt, understood.

use switchboard::Call;

use crate::batch::input::{self, Entry};
use crate::failure::Failure;
use crate::suggest::did_you_mean;
use crate::{params, words};

/// What was typed.
#[derive(Debug)]
pub(crate) enum Action {
    /// Nothing.
    Nothing,
    /// Calls a method, or sends a notification; with the words of its parameters.
    Call(Box<Call>, Vec<String>),
    /// Sends these as one message.
    Batch(Vec<Entry>),
    /// Sends a text unchanged.
    Raw(String),
    /// Lists the methods.
    Methods,
    /// Shows the parameters and the result of a method.
    Describe(String),
    /// Stops a stream, or all of them.
    Stop(Option<usize>),
    /// Turns the timing of calls on or off.
    Timing,
    /// Shows the help.
    Help,
    /// Leaves.
    Quit,
}

/// A command of the prompt.
pub(crate) struct Command {
    pub(crate) name: &'static str,
    /// What follows the name; empty if nothing does.
    argument: &'static str,
    pub(crate) about: &'static str,
}

impl Command {
    const fn new(name: &'static str, argument: &'static str, about: &'static str) -> Command {
        Command { name, argument, about }
    }

    /// How it is written.
    pub(crate) fn usage(&self) -> String {
        format!("{} {}", self.name, self.argument).trim_end().to_owned()
    }
}

/// All commands.
pub(crate) const COMMANDS: [Command; 7] = [
    Command::new(".help", "", "show this help"),
    Command::new(".methods", "", "list the methods of the server"),
    Command::new(".describe", "METHOD", "show the parameters and the result of a method"),
    Command::new(".raw", "TEXT", "send text unchanged, over a separate connection"),
    Command::new(".stop", "[NUMBER]", "stop a stream, or all streams"),
    Command::new(".timing", "", "turn the timing of calls on or off"),
    Command::new(".quit", "", "quit; Ctrl-D does the same"),
];

/// Understands what was typed.
pub(crate) fn parse(text: &str) -> Result<Action, Failure> {
    let text = text.trim();
    match text.chars().next() {
        None | Some('#') => Ok(Action::Nothing),
        Some('.') => command(text),
        Some('[') => input::parse(text).map(Action::Batch),
        Some('{') => {
            let request = input::parse(text)?.into_iter().next();
            Ok(request.map_or(Action::Nothing, |entry| Action::Call(Box::new(entry.call), Vec::new())))
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

fn call(text: &str, make: fn(String, Option<switchboard::Json>) -> Call) -> Result<Action, Failure> {
    let words = words::split(text)?;
    let Some((method, params)) = words.split_first() else {
        return Err(Failure::usage("the method is missing").advise("write it as `! logEvent message=hello`"));
    };
    Ok(Action::Call(Box::new(make(method.clone(), params::of_words(params)?)), params.to_vec()))
}

fn command(text: &str) -> Result<Action, Failure> {
    let (name, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    let rest = rest.trim();
    match (name, rest) {
        (".help", "") => Ok(Action::Help),
        (".methods", "") => Ok(Action::Methods),
        (".describe", method) if !method.is_empty() => Ok(Action::Describe(method.to_owned())),
        (".raw", text) if !text.is_empty() => Ok(Action::Raw(text.to_owned())),
        (".stop", "") => Ok(Action::Stop(None)),
        (".stop", number) => {
            let number = number.parse().map_err(|_| Failure::usage(format!("{number:?} is not a number")))?;
            Ok(Action::Stop(Some(number)))
        }
        (".timing", "") => Ok(Action::Timing),
        (".quit" | ".exit", "") => Ok(Action::Quit),
        _ => match COMMANDS.iter().find(|known| known.name == name) {
            Some(known) => Err(Failure::usage(format!("wrong arguments for `{name}`"))
                .advise(format!("write it as `{}`", known.usage()))),
            None => {
                let failure = Failure::usage(format!("unknown command `{name}`"));
                let names = COMMANDS.iter().map(|known| known.name);
                Err(failure.advise(did_you_mean(name, names).unwrap_or_else(|| "see `.help`".to_owned())))
            }
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> String {
        match parse(text) {
            Ok(Action::Call(call, _)) => {
                let mark = if call.is_notification() { "! " } else { "" };
                format!(
                    "{mark}{} {}",
                    call.method,
                    call.params.map_or("-".to_owned(), |json| json.to_string())
                )
            }
            Ok(Action::Batch(entries)) => format!("batch of {}", entries.len()),
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
        check("!", "wrong: the method is missing");
        check(".describe", "wrong: wrong arguments for `.describe`");
        check(".dance", "wrong: unknown command `.dance`");
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
