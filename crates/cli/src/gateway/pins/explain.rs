//! What pinned tools mean for a call that is explained.

use switchboard::gateway::{Conclusion, Explanation, Step};
use switchboard::mcp::adapt::{Approval as _, ToolDefinition};
use switchboard::{Call, Code, ErrorObject};

use super::pinned::{Pinned, Standing, refusal};
use crate::gateway::Gate;

/// Groups of methods that MCP servers have besides tools.
const NOT_TOOLS: [&str; 2] = ["resources/", "prompts/"];

/// What a call to a tool meets, and the error that it ends with, if it does.
type Decision = (Step, Option<String>);

impl Gate {
    /// What would happen to this call. One to a tool that is held back ends where it would be sent.
    pub(crate) fn explain(&self, call: &Call) -> Explanation {
        let mut explanation = self.gateway.explain(call);
        let decided = match (&explanation.conclusion, &explanation.upstream, &explanation.call) {
            (Conclusion::Sent { .. }, Some(name), Some(inside)) => {
                let upstream = self.upstreams.iter().find(|upstream| upstream.name == **name);
                let pinned = upstream.and_then(|upstream| upstream.pinned.as_ref());
                pinned.and_then(|pinned| pinned.explain(inside.method.as_str(), call.method.as_str()))
            }
            _ => None,
        };
        if let Some((step, refusal)) = decided {
            explanation.steps.push(step);
            if let Some(text) = refusal {
                explanation.conclusion = Conclusion::Refused(ErrorObject::new(Code::UNAUTHORIZED, text));
            }
        }
        explanation
    }
}

impl Pinned {
    /// What happens to calls of a method that callers know by another name. None if it is not a tool.
    fn explain(&self, method: &str, outside: &str) -> Option<Decision> {
        match self.listed() {
            Some(tools) => tools.get(method).map(|tool| self.explain_listed(tool)),
            None if NOT_TOOLS.iter().any(|group| method.starts_with(group)) => None,
            None => self.explain_unlisted(method, outside),
        }
    }

    fn explain_listed(&self, tool: &ToolDefinition) -> Decision {
        let what = match self.standing(tool) {
            Standing::Approved => {
                return (Step::new("tool", "approved", "its definition is the one that was approved"), None);
            }
            Standing::New => ("new", "it is not among the approved tools"),
            Standing::Changed => ("changed", "its definition has changed since it was approved"),
        };
        match self.refusal(tool) {
            Some(refusal) => {
                let detail = format!("{}, so it is held back until `admin/approve`", what.1);
                (Step::new("tool", "held", detail), Some(refusal))
            }
            None => {
                let detail = format!("{}, which is only reported: upstream.{}.pin", what.1, self.upstream);
                (Step::new("tool", what.0, detail), None)
            }
        }
    }

    /// The same as long as the server has not listed its tools.
    fn explain_unlisted(&self, method: &str, outside: &str) -> Option<Decision> {
        if !self.holds {
            return None;
        }
        let digests = self.pins.0.digests.load();
        let (outcome, detail, refused) = match digests.get(&self.upstream) {
            None => ("approved", "the first tools that the server lists are approved as they are", None),
            Some(tools) if tools.contains_key(method) => {
                ("approved", "unless its definition has changed: the server is not connected", None)
            }
            Some(_) => (
                "held",
                "it is not among the approved tools, so it is held back until `admin/approve`",
                Some(refusal(outside)),
            ),
        };
        Some((Step::new("tool", outcome, detail), refused))
    }
}
