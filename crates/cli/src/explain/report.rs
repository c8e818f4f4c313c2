//! What would happen to a call, for people and programs.

use anstyle::{AnsiColor, Style};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard::Json;
use switchboard::gateway::{Conclusion, Explanation, Step};

use super::Question;
use crate::table::{self, Cell, Table};
use crate::visible::visible;

const GOOD: Style = AnsiColor::Green.on_default();
const BAD: Style = AnsiColor::Red.on_default();
const WEAK: Style = Style::new().dimmed();

/// What would happen to a call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
pub(crate) struct Report {
    method: String,
    /// How it would end.
    outcome: End,
    /// The upstream that it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    upstream: Option<String>,
    /// The server of the upstream that would get it, if that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    node: Option<String>,
    /// The call as the upstream would get it.
    #[serde(skip_serializing_if = "Option::is_none")]
    sent: Option<Sent>,
    /// The error that the caller would get.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Refusal>,
    /// What decides, in order.
    steps: Vec<StepReport>,
}

/// How a call would end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(inline)]
enum End {
    /// A server would get it.
    Sent,
    /// It would be answered without another server.
    Answered,
    /// It would be refused.
    Refused,
}

/// A call as an upstream gets it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
struct Sent {
    method: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    params: Option<Json>,
}

/// An error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
struct Refusal {
    code: i64,
    message: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    data: Option<Json>,
}

/// What decides about a call, and why.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
struct StepReport {
    step: String,
    outcome: String,
    detail: String,
    /// Where it is configured.
    #[serde(skip_serializing_if = "Option::is_none")]
    source: Option<String>,
}

impl From<Step> for StepReport {
    fn from(step: Step) -> StepReport {
        let Step { step, outcome, detail, source, .. } = step;
        StepReport { step: step.into_owned(), outcome: outcome.into_owned(), detail, source }
    }
}

impl Report {
    /// Of a call that ends before the upstreams.
    pub(super) fn new(question: &Question, steps: Vec<Step>, conclusion: Conclusion) -> Report {
        let (outcome, node, error) = match conclusion {
            Conclusion::Refused(error) => {
                let (code, message) = (error.code.0, error.message.to_string());
                (End::Refused, None, Some(Refusal { code, message, data: error.data.clone() }))
            }
            Conclusion::Sent { server } => (End::Sent, server, None),
            _ => (End::Answered, None, None),
        };
        let steps = steps.into_iter().map(StepReport::from).collect();
        Report { method: question.method.clone(), outcome, upstream: None, node, sent: None, error, steps }
    }

    /// Of a call to an upstream, after these steps.
    pub(super) fn of(question: &Question, mut steps: Vec<Step>, explanation: Explanation) -> Report {
        let Explanation { steps: more, conclusion, upstream, call, shown, .. } = explanation;
        steps.extend(more);
        let mut report = Report::new(question, steps, conclusion);
        report.upstream = upstream.map(|name| name.to_string());
        report.sent = call
            .filter(|_| report.outcome == End::Sent)
            .map(|call| Sent { method: call.method.to_string(), params: shown });
        report
    }

    pub(super) fn is_refused(&self) -> bool {
        self.outcome == End::Refused
    }

    /// For a person.
    pub(super) fn page(&self) -> String {
        let mut table = Table::new(["step", "outcome", "why"]);
        let mut last = "";
        for StepReport { step, outcome, detail, source } in &self.steps {
            let style = match outcome.as_str() {
                "deny" | "refused" | "held" | "open" | "none" | "not found" => BAD,
                "no" | "not used" | "not chosen" | "skipped" | "off" => WEAK,
                _ => GOOD,
            };
            let source = source.as_ref().map(|source| format!(" ({source})")).unwrap_or_default();
            let name = if last == step { "" } else { step };
            table.row([
                Cell::plain(name),
                Cell::new(outcome, style),
                Cell::plain(format!("{detail}{source}")),
            ]);
            last = step;
        }
        format!("{}\n{}\nNothing was sent.\n", table.render(table::terminal_width()), self.conclusion())
    }

    fn conclusion(&self) -> String {
        match (self.outcome, &self.error, &self.sent) {
            (_, Some(Refusal { code, message, .. }), _) => {
                format!("{BAD}The caller would get the error {code} {}.{BAD:#}", visible(message))
            }
            (End::Sent, _, sent) => {
                let node = self.node.as_deref().or(self.upstream.as_deref()).unwrap_or("the server");
                let method = sent.as_ref().map_or(&*self.method, |sent| &*sent.method);
                format!("{GOOD}The call would go to {} as {}.{GOOD:#}", visible(node), visible(method))
            }
            _ => format!("{GOOD}The call would be answered here.{GOOD:#}"),
        }
    }
}
