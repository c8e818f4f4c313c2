//! Claims about every response, checked over all responses of a run.

use super::case::Severity;
use super::cases::{ERROR, RESPONSE};
use super::message::{Message, Response};
use super::outcome::{Came, shortened};
use super::profile::{Profile, Verdict};
use super::report::Finding;

/// Looks at every 2.0 response.
#[derive(Debug, Default)]
pub(crate) struct Watch {
    count: usize,
    /// The first violation of each claim: the case, and the response.
    offences: [Option<(&'static str, String)>; CLAIMS.len()],
}

/// A claim about every response.
struct Claim {
    name: &'static str,
    claim: &'static str,
    rules: &'static [&'static str],
    /// The case that has to pass before responses can be judged by it.
    rests_on: &'static str,
    severity: Severity,
    expected: &'static str,
    holds: fn(&Response) -> bool,
}

const CLAIMS: [Claim; 8] = [
    Claim {
        name: "response-json",
        claim: "every response is JSON, with nothing before or after it",
        rules: &["J2-55", "J2-59", "J2-76"],
        rests_on: RESPONSE,
        severity: Severity::Must,
        expected: "JSON in UTF-8, without a byte order mark",
        // This is checked where texts are read.
        holds: |_| true,
    },
    Claim {
        name: "response-version",
        claim: "every response states version 2.0",
        rules: &["J2-02", "J2-24"],
        rests_on: RESPONSE,
        severity: Severity::Must,
        expected: "\"jsonrpc\":\"2.0\"",
        holds: |response| response.value.get("jsonrpc").and_then(serde_json::Value::as_str) == Some("2.0"),
    },
    Claim {
        name: "response-result-or-error",
        claim: "every response has either a result or an error",
        rules: &["J2-27"],
        rests_on: RESPONSE,
        severity: Severity::Must,
        expected: "exactly one of \"result\" and \"error\"",
        holds: |response| response.value.get("result").is_some() != response.value.get("error").is_some(),
    },
    Claim {
        name: "response-id",
        claim: "every response has an identifier, even if it is null",
        rules: &["J2-28", "J2-29"],
        rests_on: RESPONSE,
        severity: Severity::Must,
        expected: "\"id\"",
        holds: |response| response.value.get("id").is_some(),
    },
    Claim {
        name: "response-error-object",
        claim: "every error is an object with an integer code and a message",
        rules: &["J2-26", "J2-38"],
        rests_on: ERROR,
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
        claim: "no error uses a code that is reserved for future use",
        rules: &["J2-30", "J2-31"],
        rests_on: RESPONSE,
        severity: Severity::Should,
        expected: "a defined code, one from -32099 to -32000, or one outside -32768 to -32000",
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
        claim: "no response has a member such as `Result` or `ID`, in the wrong case",
        rules: &["J2-01"],
        rests_on: RESPONSE,
        severity: Severity::Must,
        expected: "names in lower case",
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
        claim: "no error reveals how the server is implemented",
        rules: &["J2-36"],
        rests_on: RESPONSE,
        severity: Severity::Should,
        expected: "errors without stack traces",
        holds: |response| {
            response.value.get("error").is_none_or(|error| {
                let text = error.to_string();
                !STACKS.iter().any(|mark| text.contains(mark))
            })
        },
    },
];

/// How stack traces of Python, Rust, Go, Java and JavaScript look in JSON.
const STACKS: [&str; 6] = [
    "Traceback (most recent call last)",
    "stack backtrace:",
    "panicked at ",
    "\\ngoroutine ",
    "\\n\\tat ",
    "\\n    at ",
];

/// The claims about every response: names, claims, rules.
pub(crate) fn claims() -> [(&'static str, &'static str, &'static [&'static str]); CLAIMS.len()] {
    CLAIMS.each_ref().map(|claim| (claim.name, claim.claim, claim.rules))
}

impl Watch {
    /// Looks at the answer to a case. A value that is not an object is not a response; the case itself fails because of it.
    pub(crate) fn look(&mut self, case: &'static str, came: &Came) {
        if let (Some((flaw, text)), None) = (&came.flaw, &self.offences[0]) {
            self.offences[0] = Some((case, format!("{flaw}: {text}")));
        }
        let responses = came.messages.iter().flat_map(Message::responses);
        for response in responses.filter(|response| response.is_object()) {
            self.count += 1;
            for (claim, offence) in CLAIMS.iter().zip(&mut self.offences) {
                if offence.is_none() && !(claim.holds)(response) {
                    *offence = Some((case, shortened(&response.text, 200)));
                }
            }
        }
    }

    /// What was found, each with the case that it rests on.
    pub(crate) fn findings(&self, profile: Profile) -> Vec<(&'static str, Finding)> {
        let finding = |(claim, offence): (&Claim, &Option<(&'static str, String)>)| {
            let (verdict, came) = match offence {
                Some((case, text)) => (profile.fault(claim.severity), format!("{text} in the case `{case}`")),
                None if self.count == 0 => (Verdict::Skip, String::new()),
                None => (Verdict::Pass, format!("{} responses", self.count)),
            };
            let finding = Finding {
                name: claim.name,
                area: "responses",
                claim: claim.claim,
                rules: claim.rules,
                severity: claim.severity,
                verdict,
                sent: "all other cases".to_owned(),
                expected: claim.expected.to_owned(),
                came,
                note: match verdict {
                    Verdict::Skip => "no response came".to_owned(),
                    _ => String::new(),
                },
                because: None,
                time: std::time::Duration::ZERO,
            };
            (claim.rests_on, finding)
        };
        CLAIMS.iter().zip(&self.offences).map(finding).collect()
    }
}
