//! What was probably meant: names that are near to one that is not known, and parameters as they should be.

use std::io::IsTerminal;

use switchboard::{CallError, Code};

use crate::discovery::{self, Found};
use crate::failure::Failure;
use crate::session::{Line, Session};

impl Session<'_> {
    /// The command that shows all methods of the far side.
    pub(crate) fn listing(&self) -> String {
        format!("`switchboard discover {}`", self.target.url)
    }

    /// What the failure of a call means. Where a person reads it and the far side describes itself, it is asked what would
    /// have been right.
    /// Where `listing` shows all that there is.
    pub(crate) async fn explain(
        &self,
        line: &Line,
        method: &str,
        error: CallError,
        listing: &str,
    ) -> Failure {
        let code = error.rejection().map(|rejection| rejection.code);
        let failure = self.target.explain(error);
        let is_answerable = matches!(code, Some(Code::METHOD_NOT_FOUND | Code::INVALID_PARAMS));
        if !is_answerable || method == discovery::METHOD || !std::io::stderr().is_terminal() {
            return failure;
        }
        let Ok(found) = discovery::of(line).await else { return failure };
        let advice = match code {
            Some(Code::METHOD_NOT_FOUND) => unknown(&found, method, listing),
            _ => expected(&found, method),
        };
        match advice {
            Some(advice) => failure.advise(advice),
            None => failure,
        }
    }
}

fn unknown(found: &Found, method: &str, listing: &str) -> Option<String> {
    // It is there: what was not found is something else.
    if found.method(method).is_some() {
        return None;
    }
    let names = found.methods.iter().map(|method| method.name.as_str());
    Some(did_you_mean(method, names).unwrap_or_else(|| format!("{listing} shows what there is")))
}

/// The parameters that a method takes.
fn expected(found: &Found, method: &str) -> Option<String> {
    let method = found.method(method)?;
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
    Some(text)
}

/// As many names are suggested.
const MOST: usize = 3;
/// As near is a name that is suggested.
const NEAR: f64 = 0.6;
/// What is longer is no name that anybody meant; comparing it would take its time.
const LONGEST: usize = 200;

/// The names that are near to this one, as a question; nothing if there are none.
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

/// How alike two names are, from 0 to 1. Upper and lower case and the way words are joined do not count, and a name
/// without its namespace is almost the name.
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
    fn near_names_are_suggested_nearest_first() {
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
    fn expected_parameters_are_told_one_a_line() {
        let document = r#"{"methods":[{"name":"add","params":[{"name":"a","required":true,"schema":{"type":"number"}},
            {"name":"b","schema":{"type":"number","description":"Other."}}]}]}"#;
        let found = discovery::read(&Json::parse(document).unwrap()).unwrap();
        let text = "expected add(a, b?)\n  a: number\n  b: number (optional)  Other.";
        assert_eq!(expected(&found, "add").as_deref(), Some(text));
        assert_eq!(expected(&found, "x"), None);
        assert_eq!(unknown(&found, "add", "u"), None);
        assert_eq!(unknown(&found, "zzz", "`.methods`").as_deref(), Some("`.methods` shows what there is"));
    }
}
