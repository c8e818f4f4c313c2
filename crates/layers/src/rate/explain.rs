//! What rate limits would do with a call.

use std::ops::ControlFlow;

use switchboard_core::{Call, Context, FromContext as _};

use super::{Caller, Limit, RateBy, RateLimits, too_many};
use crate::explain::{Conclusion, Explain, Step};
use crate::identity::Identity;

impl Explain for RateLimits {
    fn name(&self) -> &'static str {
        "rate"
    }

    fn explain(&self, call: &Call, steps: &mut Vec<Step>) -> ControlFlow<Conclusion> {
        let limits = &*self.0;
        let (mut caller, now) = (Caller::new(limits, &call.cx), limits.buckets.now());
        let mut longest = None;
        let before = steps.len();
        for (index, limit) in limits.rules.iter().enumerate() {
            let Limit { rule, gcra, .. } = limit;
            let Some(cost) = limit.cost(&mut caller, call.method.as_bytes()) else { continue };
            let mut detail =
                format!("{} {}, weight {}", rule.rate, whose(rule.by), rule.weight(call.method.as_bytes()));
            let is_known = is_known(&call.cx, rule.by);
            let wait = match is_known {
                true => limits.buckets.wait(index, caller.key(rule.by), *gcra, now, cost),
                false => None,
            };
            if is_known {
                let left = limits.buckets.left(index, caller.key(rule.by), *gcra, now);
                detail.push_str(&format!(", {left} of {} left", gcra.burst()));
            }
            if let Some(wait) = wait {
                detail.push_str(&format!("; room in {wait:.1?}"));
                longest = longest.max(Some(wait));
            }
            let outcome = if wait.is_some() { "refused" } else { "pass" };
            steps.push(Step::new(self.name(), outcome, detail).with_source(rule.name.as_deref()));
        }
        if steps.len() == before {
            steps.push(Step::new(self.name(), "pass", "no limit is for this call"));
        }
        match longest {
            None => ControlFlow::Continue(()),
            Some(wait) => ControlFlow::Break(Conclusion::of(too_many(wait))),
        }
    }
}

fn whose(by: RateBy) -> &'static str {
    match by {
        RateBy::Caller => "for each caller",
        RateBy::Address => "for each address",
        RateBy::All => "for all callers together",
    }
}

/// Whether it is known whose limit counts. A call that is not made comes from nowhere.
fn is_known(cx: &Context, by: RateBy) -> bool {
    match by {
        RateBy::All => true,
        RateBy::Caller if Identity::from_context(cx).is_some() => true,
        RateBy::Caller | RateBy::Address => cx.origin().address.is_some(),
    }
}
