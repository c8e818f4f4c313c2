//! A command line that cannot be read: what the parser says about it, with a word on what was meant where that is known.

use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Adds what was probably meant to what the parser found wrong with these arguments.
pub(crate) fn explain(mut error: clap::Error, arguments: &[String]) -> clap::Error {
    let Some(advice) = advice(&error, arguments) else { return error };
    error.remove(ContextKind::SuggestedArg);
    error.remove(ContextKind::TrailingArg);
    // It would show an option that sounds alike.
    error.remove(ContextKind::Usage);
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![advice.into()]));
    error
}

fn advice(error: &clap::Error, arguments: &[String]) -> Option<String> {
    if error.kind() != ErrorKind::UnknownArgument {
        return None;
    }
    let Some(ContextValue::String(wrong)) = error.get(ContextKind::InvalidArg) else { return None };
    let command = arguments.get(1)?.as_str();
    let (name, value) = given(wrong, arguments);
    match command {
        "serve" => {
            let port = if wrong.starts_with('-') { value? } else { wrong };
            let is_port = port.parse::<u16>().is_ok() && matches!(name, "port" | "p" | "");
            is_port.then(|| format!("to listen there, write '--listen http://127.0.0.1:{port}'"))
        }
        "call" | "notify" | "watch" if !name.is_empty() && !is_slip(error, name) => {
            let value = value.unwrap_or("VALUE");
            Some(format!("a parameter of the method is written as '{name}={value}'"))
        }
        _ => None,
    }
}

/// Whether the parser knows an option that is the same but for a slip.
fn is_slip(error: &clap::Error, name: &str) -> bool {
    match error.get(ContextKind::SuggestedArg) {
        Some(ContextValue::String(known)) => {
            strsim::normalized_damerau_levenshtein(known.trim_start_matches('-'), name) > SLIP
        }
        _ => false,
    }
}

/// As near is a name that was meant to be another.
const SLIP: f64 = 0.55;

/// The name of an option, and the value that follows it; no name if it is none.
fn given<'a>(wrong: &'a str, arguments: &'a [String]) -> (&'a str, Option<&'a str>) {
    let written = arguments.iter().position(|argument| argument.split('=').next() == Some(wrong));
    let value = written.and_then(|at| match arguments[at].split_once('=') {
        Some((_, value)) => Some(value),
        None => arguments.get(at + 1).map(String::as_str).filter(|value| !value.starts_with("--")),
    });
    match wrong.strip_prefix('-') {
        Some(name) => (name.trim_start_matches('-'), value),
        None => ("", value),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Arguments;
    use clap::Parser;

    #[test]
    fn what_was_probably_meant_is_told() {
        let check = |line: &str, expected: &str| {
            let arguments: Vec<String> =
                std::iter::once("switchboard").chain(line.split(' ')).map(str::to_owned).collect();
            let error = Arguments::try_parse_from(&arguments).unwrap_err();
            let told = explain(error, &arguments).to_string();
            assert!(told.contains(expected), "{line}: {told}");
            assert_eq!(told.matches("tip:").count(), 1, "{line}: {told}");
        };
        check("serve --port 8001", "write '--listen http://127.0.0.1:8001'");
        check("serve --port=8001", "write '--listen http://127.0.0.1:8001'");
        check("serve -p 8001", "write '--listen http://127.0.0.1:8001'");
        check("serve 8001", "write '--listen http://127.0.0.1:8001'");
        check("call http://h math/add --a 2 --b 3", "written as 'a=2'");
        check("notify http://h logEvent --event=x", "written as 'event=x'");
        check("watch http://h ticks --seconds 3", "written as 'seconds=3'");
        check("watch http://h ticks --cuont 3", "--count");
        check("call http://h echo --notfy", "--notify");
        check("discover http://h --opnrpc", "--openrpc");
    }
}
