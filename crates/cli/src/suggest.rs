//! What was probably meant: known names similar to an unknown one, and the parameters that a method expects.

use switchboard::{CallError, Code};

use crate::discovery::{self, Found, Method};
use crate::failure::Failure;
use crate::params;
use crate::session::{Line, Session};
use crate::shell::quoted;

/// A call that failed.
#[derive(Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) method: &'a str,
    /// Its parameters as they were written, if they were written as words.
    pub(crate) words: &'a [String],
    /// The command that lists all methods.
    pub(crate) listing: &'a str,
}

impl Session<'_> {
    /// The command that lists all methods of the server.
    pub(crate) fn listing(&self) -> String {
        format!("`switchboard discover {}`", quoted(&self.target.url))
    }

    /// What the failure of a call means. If the method is unknown or its parameters are wrong, the server's description says
    /// what would be right.
    pub(crate) async fn explain(&self, line: &Line, asked: Asked<'_>, error: CallError) -> Failure {
        let code = error.rejection().map(|rejection| rejection.code);
        let failure = self.target.explain(error);
        let is_answerable = matches!(code, Some(Code::METHOD_NOT_FOUND | Code::INVALID_PARAMS));
        if !is_answerable || asked.method == discovery::METHOD {
            return failure;
        }
        let Ok(found) = discovery::of(line).await else { return failure };
        let advice = match code {
            Some(Code::METHOD_NOT_FOUND) => unknown(&found, asked),
            _ => expected(&found, asked),
        };
        match advice {
            Some(advice) => failure.advise(advice),
            None => failure,
        }
    }
}

fn unknown(found: &Found, asked: Asked<'_>) -> Option<String> {
    // If the method exists, something else was not found.
    if found.method(asked.method).is_some() {
        return None;
    }
    let names = found.methods.iter().map(|method| method.name.as_str());
    let question = did_you_mean(asked.method, names);
    Some(question.unwrap_or_else(|| format!("{} lists the methods", asked.listing)))
}

/// The parameters that a method expects.
fn expected(found: &Found, asked: Asked<'_>) -> Option<String> {
    let method = found.method(asked.method)?;
    Some(misread(method, asked.words).unwrap_or_default() + &hints(method))
}

/// The parameters of a method, one per line.
pub(crate) fn hints(method: &Method) -> String {
    let mut text = format!("expected {}", method.signature());
    for param in &method.params {
        let rules = param.value.rules.iter().map(String::as_str);
        let words: Vec<&str> =
            rules.chain([param.value.text.as_str()]).filter(|words| !words.is_empty()).collect();
        let mark = if param.is_required { "" } else { " (optional)" };
        let words = if words.is_empty() { String::new() } else { format!("  {}", words.join("; ")) };
        text.push_str(&format!("\n  {}: {}{mark}{words}", param.name, param.value.kind));
        for member in param.value.members.iter().filter(|member| !member.kind.is_empty()) {
            text.push_str(&format!("\n    {}{}: {}", param.name, member.path, member.kind));
        }
    }
    text
}

/// A word such as `a=b` that was read as a named parameter, if the method has none of that name.
fn misread(method: &Method, words: &[String]) -> Option<String> {
    let is_known = |name: &str| method.takes_others || method.params.iter().any(|param| param.name == name);
    let named = words.iter().filter_map(|word| Some((word, params::name_and_value(word)?)));
    let (word, (name, value)) = named.into_iter().find(|(_, (name, _))| !is_known(name))?;
    let text = quoted(&serde_json::Value::from(word.as_str()).to_string());
    Some(format!(
        "`{word}` was read as the parameter `{name}` with the value `{value}`; to send it as a string, write {text}\n"
    ))
}

/// How many names are suggested at most.
const MOST: usize = 3;
/// How similar a name must be to be suggested.
const NEAR: f64 = 0.6;
/// Longer names are not compared: it would take too much time.
const LONGEST: usize = 200;

/// The names that are similar to this one, as a question; nothing if there are none.
pub(crate) fn did_you_mean<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Option<String> {
    let known = known.filter(|known| known.len() <= LONGEST && name.len() <= LONGEST);
    let mut near: Vec<(f64, &str)> =
        known.map(|known| (nearness(name, known), known)).filter(|(nearness, _)| *nearness > NEAR).collect();
    near.sort_by(|(a, _), (b, _)| b.total_cmp(a));
    let names: Vec<String> = near.iter().take(MOST).map(|(_, name)| format!("`{name}`")).collect();
    let (last, others) = names.split_last()?;
    Some(match others {
        [] => format!("did you mean {last}?"),
        _ => format!("did you mean {} or {last}?", others.join(", ")),
    })
}

/// How similar two names are, from 0 to 1. Case and separators do not count, and a name without its namespace is almost the
/// name.
fn nearness(name: &str, known: &str) -> f64 {
    let folded = |name: &str| name.to_lowercase().replace(['/', '.', '_', '-', ':'], "");
    let tail = |name: &str| folded(name.rsplit(['/', '.', '_']).next().unwrap_or_default());
    let whole = strsim::normalized_damerau_levenshtein(&folded(name), &folded(known));
    let last = strsim::normalized_damerau_levenshtein(&tail(name), &tail(known));
    whole.max(0.9 * last)
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard::Json;

    #[test]
    fn similar_names_are_suggested_most_similar_first() {
        let known = ["math/add", "math/subtract", "echo", "getStatus"];
        let check = |name: &str, expected: Option<&str>| {
            assert_eq!(did_you_mean(name, known.into_iter()).as_deref(), expected, "{name}");
        };
        check("math/ad", Some("did you mean `math/add`?"));
        check("substract", Some("did you mean `math/subtract`?"));
        check("add", Some("did you mean `math/add`?"));
        check("ecoh", Some("did you mean `echo`?"));
        check("get_status", Some("did you mean `getStatus`?"));
        check("zzz", None);
    }

    #[test]
    fn expected_parameters_are_listed_one_per_line() {
        let document = r#"{"methods":[{"name":"add","params":[{"name":"a","required":true,"schema":{"type":"number"}},
            {"name":"b","schema":{"type":"number","description":"Other."}}]}]}"#;
        let found = discovery::read(&Json::parse(document).unwrap()).unwrap();
        let text = "expected add(a, b?)\n  a: number\n  b: number (optional)  Other.";
        let asked = |method| Asked { method, words: &[], listing: "`.methods`" };
        assert_eq!(expected(&found, asked("add")).as_deref(), Some(text));
        assert_eq!(expected(&found, asked("x")), None);
        assert_eq!(unknown(&found, asked("add")), None);
        assert_eq!(unknown(&found, asked("zzz")).as_deref(), Some("`.methods` lists the methods"));
    }

    #[test]
    fn a_text_that_was_read_as_a_named_parameter_is_explained() {
        let document = r#"{"methods":[{"name":"echo","params":[{"name":"message","schema":{}}]}]}"#;
        let found = discovery::read(&Json::parse(document).unwrap()).unwrap();
        let check = |words: &[&str], expected: Option<&str>| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            let explained = misread(found.method("echo").unwrap(), &words);
            assert_eq!(explained.as_deref().map(str::trim_end), expected, "{words:?}");
        };
        let explained =
            "`a=b` was read as the parameter `a` with the value `b`; to send it as a string, write '\"a=b\"'";
        check(&["a=b"], Some(explained));
        check(&["message=b"], None);
        check(&["b"], None);
        check(&[r#"{"a":"b"}"#], None);
    }
}
