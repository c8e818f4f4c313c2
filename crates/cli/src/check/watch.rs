//! What holds for every response, seen over all that came.

use super::case::Severity;
use super::message::{Message, Response};
use super::outcome::{Came, shortened};
use super::profile::{Profile, Verdict};
use super::report::Finding;

/// Looks at every response of 2.0 that comes.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    count: usize,
    /// The first offence against each claim: the case, and what came.
    offences: [Option<(&'static str, String)>; CLAIMS.len()],
}

/// What is claimed of every response.
struct Claim {
    name: &'static str,
    claim: &'static str,
    rules: &'static [&'static str],
    severity: Severity,
    expected: &'static str,
    holds: fn(&Response) -> bool,
}

const CLAIMS: [Claim; 8] = [
    Claim {
        name: "response-json",
        claim: "every response is JSON, with nothing before or behind it",
        rules: &["J2-55", "J2-59", "J2-76"],
        severity: Severity::Must,
        expected: "JSON, in UTF-8, without a mark of the byte order",
        // It is seen where texts are read.
        holds: |_| true,
    },
    Claim {
        name: "response-version",
        claim: "every response says that it is 2.0",
        rules: &["J2-02", "J2-24"],
        severity: Severity::Must,
        expected: "\"jsonrpc\":\"2.0\"",
        holds: |response| response.value.get("jsonrpc").and_then(serde_json::Value::as_str) == Some("2.0"),
    },
    Claim {
        name: "response-result-or-error",
        claim: "every response has a result or an error, never both, never neither",
        rules: &["J2-27"],
        severity: Severity::Must,
        expected: "exactly one of \"result\" and \"error\"",
        holds: |response| response.value.get("result").is_some() != response.value.get("error").is_some(),
    },
    Claim {
        name: "response-id",
        claim: "every response has an identifier, if only null",
        rules: &["J2-28", "J2-29"],
        severity: Severity::Must,
        expected: "\"id\"",
        holds: |response| response.value.get("id").is_some(),
    },
    Claim {
        name: "response-error-object",
        claim: "every error is an object with a whole number for its code and a text",
        rules: &["J2-26", "J2-38"],
        severity: Severity::Must,
        expected: "an object with \"code\" and \"message\"",
        holds: |response| {
            response.value.get("error").is_none_or(|error| {
                let code = error.get("code").is_some_and(|code| code.is_i64() || code.is_u64());
                code && error.get("message").is_some_and(serde_json::Value::is_string)
            })
        },
    },
    Claim {
        name: "response-code-range",
        claim: "no error has a code that is kept for the future",
        rules: &["J2-30", "J2-31"],
        severity: Severity::Should,
        expected: "a code that is defined, from -32099 to -32000, or outside of -32768 to -32000",
        holds: |response| {
            response.code().is_none_or(|code| {
                !(-32768..=-32000).contains(&code)
                    || (-32099..=-32000).contains(&code)
                    || matches!(code, -32700 | -32603..=-32600)
            })
        },
    },
    Claim {
        name: "response-members",
        claim: "no response has members of the envelope that are spelled otherwise",
        rules: &["J2-01"],
        severity: Severity::Must,
        expected: "names in small letters",
        holds: |response| {
            let known = ["jsonrpc", "result", "error", "id"];
            response.value.as_object().is_some_and(|object| {
                object.keys().all(|name| {
                    known.contains(&name.as_str()) || !known.contains(&name.to_lowercase().as_str())
                })
            })
        },
    },
    Claim {
        name: "response-discretion",
        claim: "no error tells how the server is made",
        rules: &["J2-36"],
        severity: Severity::Should,
        expected: "errors without the stack of the server",
        holds: |response| {
            response.value.get("error").is_none_or(|error| {
                let text = error.to_string();
                !STACKS.iter().any(|mark| text.contains(mark))
            })
        },
    },
];

/// What stacks of calls look like in JSON: of Python, Rust, Go, Java and JavaScript.
const STACKS: [&str; 6] = [
    "Traceback (most recent call last)",
    "stack backtrace:",
    "panicked at ",
    "\\ngoroutine ",
    "\\n\\tat ",
    "\\n    at ",
];

/// What is claimed of every response: names, claims, rules.
pub(crate) fn claims() -> [(&'static str, &'static str, &'static [&'static str]); CLAIMS.len()] {
    CLAIMS.each_ref().map(|claim| (claim.name, claim.claim, claim.rules))
}

impl Watch {
    /// Looks at what came of a case.
    pub(crate) fn look(&mut self, case: &'static str, came: &Came) {
        if let (Some((flaw, text)), None) = (&came.flaw, &self.offences[0]) {
            self.offences[0] = Some((case, format!("{flaw}: {text}")));
        }
        for response in came.messages.iter().flat_map(Message::responses) {
            self.count += 1;
            for (claim, offence) in CLAIMS.iter().zip(&mut self.offences) {
                if offence.is_none() && !(claim.holds)(response) {
                    *offence = Some((case, shortened(&response.text, 200)));
                }
            }
        }
    }

    /// What was seen.
    pub(crate) fn findings(&self, profile: Profile) -> Vec<Finding> {
        let finding = |(claim, offence): (&Claim, &Option<(&'static str, String)>)| {
            let (verdict, came) = match offence {
                Some((case, text)) => (profile.fault(claim.severity), format!("{text} in case {case}")),
                None if self.count == 0 => (Verdict::Skip, String::new()),
                None => (Verdict::Pass, format!("{} responses", self.count)),
            };
            Finding {
                name: claim.name,
                area: "responses",
                claim: claim.claim,
                rules: claim.rules,
                severity: claim.severity,
                verdict,
                sent: "all of the others".to_owned(),
                expected: claim.expected.to_owned(),
                came,
                note: match verdict {
                    Verdict::Skip => "there was no response".to_owned(),
                    _ => String::new(),
                },
                time: std::time::Duration::ZERO,
            }
        };
        CLAIMS.iter().zip(&self.offences).map(finding).collect()
    }
}
