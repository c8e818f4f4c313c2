//! Completions of a line: methods and the names of their parameters, as the server describes them.

use std::sync::{Arc, PoisonError, RwLock};

use reedline::{Completer, CompletionResult, Span, Suggestion};

use super::entry::COMMANDS;
use crate::discovery::{Found, Method};
use crate::visible::visible;

/// What the server describes. It is asked again after reconnecting.
pub(crate) type Known = Arc<RwLock<Found>>;

/// Completes lines.
pub(crate) struct Completion {
    known: Known,
}

impl Completion {
    pub(crate) fn new(known: Known) -> Completion {
        Completion { known }
    }
}

impl Completer for Completion {
    fn complete(&mut self, line: &str, position: usize) -> CompletionResult {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        let before = line.get(..position).unwrap_or(line);
        let suggestions: Vec<Suggestion> = suggest(&known, before)
            .into_iter()
            .map(|found| Suggestion {
                value: found.text,
                description: Some(found.about).filter(|about| !about.is_empty()),
                span: Span::new(found.from, before.len()),
                append_whitespace: found.is_whole,
                ..Suggestion::default()
            })
            .collect();
        CompletionResult::fresh(suggestions)
    }
}

/// Something that may stand in the place of what begins at `from`.
#[derive(Debug, PartialEq)]
struct Offer {
    text: String,
    about: String,
    from: usize,
    /// Whether a space follows it.
    is_whole: bool,
}

/// What may stand at the end of this text.
fn suggest(known: &Found, before: &str) -> Vec<Offer> {
    let start = before.len() - before.trim_start().len();
    let text = &before[start..];
    if text.starts_with('.') {
        return match text.strip_prefix(".describe ") {
            Some(rest) => methods(known, rest.trim_start(), before),
            None if !text.contains(char::is_whitespace) => commands(text, start),
            None => Vec::new(),
        };
    }
    let text = text.strip_prefix('!').map_or(text, str::trim_start);
    let Some((name, params)) = text.split_once(char::is_whitespace) else {
        return methods(known, text, before);
    };
    match known.method(name) {
        Some(method) if params.trim_start().starts_with('{') => members(method, params, before),
        Some(method) => names(method, params, before),
        None => Vec::new(),
    }
}

fn commands(typed: &str, from: usize) -> Vec<Offer> {
    let fitting = COMMANDS.iter().filter(|command| command.name.starts_with(typed));
    fitting
        .map(|command| Offer {
            text: command.name.to_owned(),
            about: command.about.to_owned(),
            from,
            is_whole: true,
        })
        .collect()
}

fn methods(known: &Found, typed: &str, before: &str) -> Vec<Offer> {
    let fitting = known.methods.iter().filter(|method| method.name.starts_with(typed));
    // Names that would control the terminal are not offered.
    let clean = fitting.filter(|method| visible(&method.name) == method.name);
    clean
        .map(|method| Offer {
            text: method.name.clone(),
            about: visible(&method.summary),
            from: before.len() - typed.len(),
            is_whole: true,
        })
        .collect()
}

/// The names of parameters that are not given yet, for `name=value`.
fn names(method: &Method, params: &str, before: &str) -> Vec<Offer> {
    let typed = params.rsplit(char::is_whitespace).next().unwrap_or_default();
    if let Some((name, begun)) = typed.split_once('=') {
        return values(method, name, begun, before);
    }
    if typed.contains(['=', '"', '[', '{']) {
        return Vec::new();
    }
    let given = &params[..params.len() - typed.len()];
    let is_given = |name: &str| given.split_whitespace().any(|word| word.split('=').next() == Some(name));
    offers(method, typed, before, is_given, |name| format!("{name}="))
}

/// The values of a parameter that has only so many.
fn values(method: &Method, name: &str, begun: &str, before: &str) -> Vec<Offer> {
    let param = method.params.iter().find(|param| param.name == name);
    let all = param.map_or(&[][..], |param| &param.value.values).iter().map(|value| bare(value));
    let fitting = all.filter(|value| value.starts_with(begun) && visible(value) == **value);
    fitting
        .map(|value| Offer {
            text: value.to_owned(),
            about: String::new(),
            from: before.len() - begun.len(),
            is_whole: true,
        })
        .collect()
}

/// A value as it is typed: a string without its quotes, unless it would be something else then.
fn bare(json: &str) -> &str {
    let inside = json.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let is_bare = |text: &&str| {
        let is_word = |c: char| c.is_alphanumeric() || "-_./:".contains(c);
        !text.is_empty() && text.chars().all(is_word) && switchboard::Json::parse(text.to_string()).is_err()
    };
    inside.filter(is_bare).unwrap_or(json)
}

/// The names of parameters as members of an object, where one begins.
fn members(method: &Method, params: &str, before: &str) -> Vec<Offer> {
    let Some((quote, typed)) = open_name(params) else { return Vec::new() };
    let given = &params[..quote];
    let is_given = |name: &str| given.contains(&format!("\"{name}\""));
    offers(method, typed, before, is_given, |name| format!("{name}\": "))
}

fn offers(
    method: &Method,
    typed: &str,
    before: &str,
    is_given: impl Fn(&str) -> bool,
    form: impl Fn(&str) -> String,
) -> Vec<Offer> {
    let fitting =
        method.params.iter().filter(|param| param.name.starts_with(typed) && !is_given(&param.name));
    let clean = fitting.filter(|param| visible(&param.name) == param.name);
    clean
        .map(|param| {
            let optional = if param.is_required { "" } else { ", optional" };
            Offer {
                text: form(&param.name),
                about: visible(&format!("{}{optional}", param.value.kind)),
                from: before.len() - typed.len(),
                is_whole: false,
            }
        })
        .collect()
}

/// The name of a member that begins at the end of this object: where its quote is, and what was typed after it.
fn open_name(object: &str) -> Option<(usize, &str)> {
    let (mut depth, mut quote, mut is_escaped) = (0usize, None, false);
    // What came before, where a name could begin.
    let mut last = ' ';
    for (at, c) in object.char_indices() {
        match (quote, c) {
            (Some(_), _) if is_escaped => is_escaped = false,
            (Some(_), '\\') => is_escaped = true,
            (Some(_), '"') => quote = None,
            (Some(_), _) => {}
            (None, '"') => quote = Some((at, last)),
            (None, '{' | '[') => depth += 1,
            (None, '}' | ']') => depth = depth.saturating_sub(1),
            (None, _) => {}
        }
        if !c.is_whitespace() && quote.is_none() {
            last = c;
        }
    }
    match quote {
        Some((at, '{' | ',')) if depth == 1 => Some((at, &object[at + 1..])),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::discovery;

    fn known() -> Found {
        let document = r#"{"openrpc":"1.3.2","info":{"title":"t","version":"1"},"methods":[
            {"name":"math/add","summary":"Adds.","params":[
                {"name":"a","required":true,"schema":{"type":"number"}},{"name":"b","schema":{"type":"number"}}]},
            {"name":"math/sub","params":[]},{"name":"pick","params":[{"name":"one","schema":{"enum":["red","green","2",3]}}]},{"name":"echo","params":[{"name":"message","schema":{}}]},
            {"name":"evil\u001b","params":[]}]}"#;
        discovery::read(&switchboard::Json::parse(document).unwrap()).unwrap()
    }

    /// The line with each offer in its place.
    fn completed(line: &str) -> Vec<String> {
        suggest(&known(), line).iter().map(|offer| format!("{}{}", &line[..offer.from], offer.text)).collect()
    }

    #[test]
    fn methods_are_completed_everywhere_they_may_stand() {
        assert_eq!(completed("math/"), ["math/add", "math/sub"]);
        assert_eq!(completed("  math/a"), ["  math/add"]);
        assert_eq!(completed("! e"), ["! echo"]);
        assert_eq!(completed(".describe math/s"), [".describe math/sub"]);
        assert_eq!(completed("x"), [""; 0]);
        assert_eq!(completed("").len(), 4, "a name that would control the terminal is not offered");
    }

    #[test]
    fn names_of_parameters_are_completed_once_each() {
        assert_eq!(completed("math/add "), ["math/add a=", "math/add b="]);
        assert_eq!(completed("math/add a=2 "), ["math/add a=2 b="]);
        assert_eq!(completed("!math/add b"), ["!math/add b="]);
        assert_eq!(completed("math/add a="), [""; 0]);
        assert_eq!(completed("unknown "), [""; 0]);
    }

    #[test]
    fn values_are_completed_where_there_are_only_some() {
        assert_eq!(
            completed("pick one="),
            ["pick one=red", "pick one=green", "pick one=\"2\"", "pick one=3"]
        );
        assert_eq!(completed("pick one=g"), ["pick one=green"]);
        assert_eq!(completed("pick two="), [""; 0]);
    }

    #[test]
    fn names_are_completed_inside_of_an_object() {
        assert_eq!(completed("math/add {\""), ["math/add {\"a\": ", "math/add {\"b\": "]);
        assert_eq!(completed("math/add {\"a\": 2, \""), ["math/add {\"a\": 2, \"b\": "]);
        assert_eq!(completed("echo {\n  \"me"), ["echo {\n  \"message\": "]);
        assert_eq!(completed("math/add {\"a\": \""), [""; 0]);
        assert_eq!(completed("math/add {\"a\": [\""), [""; 0]);
    }

    proptest::proptest! {
        #[test]
        fn any_text_may_be_completed_at_its_end(line in r#"[ !.{\[",:=\\é\u{3000}\n]{0,12}|(math/add |! |\.describe ).{0,16}"#) {
            for offer in suggest(&known(), &line) {
                // It stands in the place of something, on the border of two characters.
                proptest::prop_assert!(line.is_char_boundary(offer.from));
            }
        }
    }

    #[test]
    fn commands_are_completed() {
        assert_eq!(completed(".de"), [".describe"]);
        assert_eq!(completed(".raw {"), [""; 0]);
    }

    #[test]
    fn an_offer_tells_what_it_is_about() {
        let about: Vec<String> =
            suggest(&known(), "math/add ").into_iter().map(|offer| offer.about).collect();
        assert_eq!(about, ["number", "number, optional"]);
        assert_eq!(suggest(&known(), "math/a")[0].about, "Adds.");
    }
}
