//! The checks before the methods of a server: who calls, how often, and what is allowed.

use std::ops::ControlFlow;
use std::time::Duration;

use switchboard::access::{Access, Decision, Pattern, RuleOutcome};
use switchboard::gateway::{Conclusion, Explain as _, Step};
use switchboard::identity::{Authentication, Proof};
use switchboard::rate::RateLimits;
use switchboard::shed::Shedding;
use switchboard::{Call, ErrorObject};

use crate::config::command::{label, summary};
use crate::config::{Config, Roles, Subject};

/// The method that needs no rule.
const DISCOVER: &str = "rpc.discover";

/// What a server checks before it answers, in the order of its layers.
pub(super) struct Guards {
    authentication: Option<Authentication>,
    /// Whether callers may be known that no list names: by signed tokens or certificates.
    has_issuers: bool,
    roles: Roles,
    signed: Vec<Pattern>,
    rate: Option<RateLimits>,
    access: Option<Access>,
    shedding: Option<Shedding>,
    idempotency: Option<Duration>,
    validate: bool,
    timeout: Duration,
    body: usize,
}

impl Guards {
    pub(super) fn of(config: &Config) -> Guards {
        let is_set = |path: &str| config.table.get(path).is_some();
        Guards {
            authentication: config.authentication.clone(),
            has_issuers: is_set("auth.jwt.issuer") || is_set("tls.client_ca"),
            roles: config.roles.clone(),
            signed: config.signing.as_ref().map(|signing| signing.required().to_vec()).unwrap_or_default(),
            rate: config.rate.clone(),
            access: config.access.clone(),
            shedding: config.shedding.clone(),
            idempotency: config.idempotency,
            validate: config.validate,
            timeout: config.timeout,
            body: config.body,
        }
    }

    /// Who the caller is to the server.
    pub(super) fn identify(
        &self,
        who: &str,
        steps: &mut Vec<Step>,
    ) -> Result<(Subject, ControlFlow<Conclusion>), String> {
        let subject = Subject::parse(who, &self.roles)?;
        let Some(authentication) = &self.authentication else {
            let detail = "authentication is not configured, so all callers are anonymous";
            steps.push(Step::new("identity", "anonymous", detail));
            return Ok((subject.anonymous(), ControlFlow::Continue(())));
        };
        if subject.is_anonymous() {
            if authentication.is_required() {
                let detail = "credentials are required: HTTP 401";
                steps.push(Step::new("identity", "refused", detail));
                return Ok((subject, ControlFlow::Break(Conclusion::Refused(ErrorObject::unauthorized()))));
            }
            steps.push(Step::new("identity", "anonymous", "without credentials"));
            return Ok((subject, ControlFlow::Continue(())));
        }
        let owner = subject.user().and_then(|user| authentication.owner(user));
        let how = match (&owner, subject.user()) {
            (Some(owner), _) => format!("by {}", proof(owner.proof)),
            (None, Some(_)) if !self.has_issuers => "no token or key is listed for this caller".to_owned(),
            (None, _) => "by any credential that grants this".to_owned(),
        };
        let subject = match owner {
            Some(owner) => subject.with_credential(&owner),
            None => subject,
        };
        let roles = match subject.roles() {
            [] => String::new(),
            roles => format!("; roles: {}", roles.join(", ")),
        };
        steps.push(Step::new("identity", who.to_owned(), format!("{how}{roles}")));
        Ok((subject, ControlFlow::Continue(())))
    }

    /// What would happen to a call of this caller on its way to the methods.
    pub(super) fn explain(
        &self,
        call: &Call,
        subject: &Subject,
        steps: &mut Vec<Step>,
    ) -> ControlFlow<Conclusion> {
        if self.signed.iter().any(|pattern| pattern.matches(&call.method)) {
            steps.push(Step::new("signature", "required", "calls without a valid signature are refused"));
        }
        if let Some(rate) = &self.rate {
            rate.explain(call, steps)?;
        }
        self.allow(call, subject, steps)?;
        let waiting = self.shedding.as_ref().map_or(0, Shedding::waiting);
        let queue = match (&self.shedding, waiting) {
            (None, _) => String::new(),
            (Some(_), 0) => ", queue empty".to_owned(),
            (Some(_), count) => format!(", {count} queued"),
        };
        let detail = format!("request limit {} KB, timeout {:?}{queue}", self.body >> 10, self.timeout);
        steps.push(Step::new("server", "pass", detail));
        if let Some(time) = self.idempotency {
            let detail = format!("with an idempotency key, the answer is kept for {time:?}");
            steps.push(Step::new("idempotency", "on", detail));
        }
        if self.validate {
            steps.push(Step::new("validate", "on", "params that do not fit the schema are refused"));
        }
        ControlFlow::Continue(())
    }

    fn allow(&self, call: &Call, subject: &Subject, steps: &mut Vec<Step>) -> ControlFlow<Conclusion> {
        let Some(access) = &self.access else {
            steps.push(Step::new("access", "allow", "there are no access rules"));
            return ControlFlow::Continue(());
        };
        let (method, params) = (call.method.as_str(), call.params.as_ref());
        let rule = |index: usize| &access.rules()[index];
        let decided = |outcome: &'static str, index: usize| {
            Step::new("access", outcome, summary(rule(index))).with_source(Some(label(rule(index))))
        };
        match access.decide(&call.cx, method, params) {
            Decision::Allowed { rule } => {
                steps.push(decided("allow", rule));
                return ControlFlow::Continue(());
            }
            _ if method == DISCOVER => {
                steps.push(Step::new(
                    "access",
                    "allow",
                    "always allowed: it shows callers what they may call",
                ));
                return ControlFlow::Continue(());
            }
            Decision::Denied { rule } => steps.push(decided("deny", rule)),
            _ => {
                let status = if subject.is_anonymous() { 401 } else { 403 };
                let detail = format!("no rule allows it: HTTP {status}");
                steps.push(Step::new("access", "deny", detail));
                for report in access.explain(&subject.facts(), method, params) {
                    if report.outcome != RuleOutcome::OtherMethod {
                        let detail = format!("{}: {}", summary(report.rule), report.outcome);
                        steps.push(Step::new("access", "no", detail).with_source(Some(label(report.rule))));
                    }
                }
            }
        }
        ControlFlow::Break(Conclusion::Refused(ErrorObject::unauthorized()))
    }
}

/// How a caller proves who it is.
fn proof(proof: Proof) -> &'static str {
    match proof {
        Proof::Token => "a token",
        Proof::ApiKey => "an API key",
        Proof::Jwt => "a signed token",
        Proof::Certificate => "a client certificate",
        Proof::Signature => "a signature",
        _ => "its process",
    }
}
