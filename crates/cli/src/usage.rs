//! A command line that cannot be read: what the parser says about it, and what was probably meant.

use clap::error::{ContextKind, ContextValue, ErrorKind};
use switchboard::Dial;

use crate::shell;
use crate::suggest::did_you_mean;

/// Adds what was probably meant to what the parser found wrong with these arguments.
pub(crate) fn explain(mut error: clap::Error, arguments: &[String], commands: &[&str]) -> clap::Error {
    let advice = match error.kind() {
        ErrorKind::InvalidSubcommand => other_command(&error, arguments, commands),
        ErrorKind::UnknownArgument if !is_slip(&error) => other_argument(&error, arguments),
        _ => return error,
    };
    // The parser suggests whatever sounds remotely alike, and shows it in the usage.
    for kind in [ContextKind::SuggestedSubcommand, ContextKind::SuggestedArg, ContextKind::Suggested] {
        error.remove(kind);
    }
    if error.kind() == ErrorKind::UnknownArgument {
        error.remove(ContextKind::Usage);
    }
    if let Some(advice) = advice {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
    }
    error
}

/// The commands with a name that is near to an unknown one.
fn other_command(error: &clap::Error, arguments: &[String], commands: &[&str]) -> Option<String> {
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidSubcommand) else { return None };
    let is_help = arguments.get(1).is_some_and(|first| first == "help");
    did_you_mean(wrong, commands.iter().copied()).map(|question| match is_help {
        true => format!("{question} 'switchboard help' lists all commands"),
        false => question,
    })
}

/// What to write instead of an unknown option.
fn other_argument(error: &clap::Error, arguments: &[String]) -> Option<String> {
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidArg) else { return None };
    let command = arguments.get(1)?.as_str();
    let (name, value) = (wrong.strip_prefix('-')?.trim_start_matches('-'), value(wrong, arguments));
    match command {
        "serve" if matches!(name, "port" | "p") => {
            let port = value?.parse::<u16>().ok()?;
            Some(format!("to listen on this port, write 'switchboard serve {port}'"))
        }
        "bench" | "call" | "notify" | "watch" if follows_method(wrong, arguments) => {
            Some(format!("a parameter of the method is written as '{name}={}'", value?))
        }
        _ => None,
    }
}

/// Whether the parser knows an option that is the same but for a slip.
fn is_slip(error: &clap::Error) -> bool {
    /// Names that are less alike were not meant to be the same.
    const SLIP: f64 = 0.75;
    let name = |kind: ContextKind| match error.get(kind) {
        Some(ContextValue::String(name)) => Some(name.trim_start_matches('-')),
        _ => None,
    };
    match (name(ContextKind::SuggestedArg), name(ContextKind::InvalidArg)) {
        (Some(known), Some(wrong)) => strsim::normalized_damerau_levenshtein(known, wrong) >= SLIP,
        _ => false,
    }
}

/// The value of an option that follows a URL and a method, as parameters do.
fn value<'a>(option: &str, arguments: &'a [String]) -> Option<&'a str> {
    let at = position(option, arguments)?;
    match arguments[at].split_once('=') {
        Some((_, value)) => Some(value),
        None => arguments
            .get(at + 1)
            .map(String::as_str)
            .filter(|value| !value.starts_with("--") && !is_url(value)),
    }
}

/// Whether a method is named before an option: what follows an option in the place of the method is not its value.
fn follows_method(option: &str, arguments: &[String]) -> bool {
    let before = &arguments[..position(option, arguments).unwrap_or(0)];
    let mut words = before.iter().skip_while(|word| !is_url(word)).skip(1);
    words.any(|word| !word.starts_with('-'))
}

fn position(option: &str, arguments: &[String]) -> Option<usize> {
    arguments.iter().position(|argument| argument.split('=').next() == Some(option))
}

/// What to write if a command was given something else in the place of its URL.
pub(crate) fn url_first(wrong: &str) -> Option<String> {
    let arguments: Vec<String> =
        std::env::args_os().map(|argument| argument.to_string_lossy().into_owned()).collect();
    corrected(wrong, &arguments)
}

fn corrected(wrong: &str, arguments: &[String]) -> Option<String> {
    let command = arguments.get(1)?;
    let takes_method = ["bench", "call", "discover", "notify", "watch"].contains(&command.as_str());
    let is_secret = |word: &String| ["-H", "--header", "--token"].iter().any(|name| word.starts_with(name));
    let mut words: Vec<&str> = arguments.iter().skip(1).map(String::as_str).collect();
    let from = words.iter().position(|word| *word == wrong)?;
    let url = words.iter().skip(from).position(|word| is_url(word));
    let line = match url {
        Some(offset) if !arguments.iter().any(is_secret) => {
            let url = words.remove(from + offset);
            words.insert(from, url);
            shell::line(words)
        }
        _ if takes_method => format!("{command} URL METHOD"),
        _ => return None,
    };
    Some(format!("the URL comes first: `switchboard {line}`"))
}

fn is_url(word: &str) -> bool {
    word.contains(':') && Dial::new(word).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arguments;
    use clap::Parser;

    fn arguments(line: &str) -> Vec<String> {
        std::iter::once("switchboard").chain(line.split(' ')).map(str::to_owned).collect()
    }

    fn explained(line: &str) -> String {
        let arguments = arguments(line);
        let error = Arguments::try_parse_from(&arguments).unwrap_err();
        explain(error, &arguments, &["batch", "bench", "call", "check", "serve", "watch"]).to_string()
    }

    #[test]
    fn a_wrong_command_line_is_answered_with_what_was_probably_meant() {
        let check = |line: &str, expected: &str| {
            let explained = explained(line);
            assert!(explained.contains(expected), "{line}: {explained}");
            assert_eq!(explained.matches("tip:").count(), 1, "{line}: {explained}");
        };
        check("serve --port 8001", "write 'switchboard serve 8001'");
        check("serve --port=8001", "write 'switchboard serve 8001'");
        check("serve -p 8001", "write 'switchboard serve 8001'");
        check("call http://h math/add --a 2 --b 3", "written as 'a=2'");
        check("notify http://h logEvent --event=x", "written as 'event=x'");
        check("watch http://h ticks --seconds 3", "written as 'seconds=3'");
        check("watch http://h ticks --cuont 3", "--count");
        check("call http://h echo --notfy", "--notify");
        check("discover http://h --opnrpc", "--openrpc");
        check("help cal", "did you mean `call`?");
        check("cal", "did you mean `call`?");
        check("help watc", "did you mean `watch`?");
    }

    #[test]
    fn a_poor_suggestion_is_not_made() {
        for line in [
            "call http://h echo --pretty",
            "call --pretty http://h echo",
            "call http://h --pretty echo 1",
            "call http://h echo --pretty --json",
            "discover http://h --pretty",
            "--pretty",
            "help frobnicate",
            "frobnicate",
        ] {
            let explained = explained(line);
            assert!(!explained.contains("tip:") && !explained.contains("retry"), "{line}: {explained}");
        }
    }

    #[test]
    fn a_url_in_the_wrong_place_is_put_first() {
        let check = |line: &str, expected: Option<&str>| {
            let arguments = arguments(line);
            let advice = corrected("math/add", &arguments);
            let expected = expected.map(|line| format!("the URL comes first: `switchboard {line}`"));
            assert_eq!(advice, expected, "{line}");
        };
        check("call math/add http://h:1 2 3", Some("call http://h:1 math/add 2 3"));
        check("call math/add 2 3 h:8000", Some("call h:8000 math/add 2 3"));
        check("watch --count 1 math/add ws://h:1/?a=b", Some("watch --count 1 'ws://h:1/?a=b' math/add"));
        check("call math/add 2 3", Some("call URL METHOD"));
        check("call math/add http://h:1 --token secret", Some("call URL METHOD"));
        check("repl math/add", None);
    }
}
