//! What a cache would do with a call.

use std::ops::ControlFlow;

use switchboard_core::Call;
use tokio::time::Instant;

use super::entries::{Found, Kept};
use super::{Cache, CacheRule};
use crate::explain::{Conclusion, Explain, Step};
use crate::key::{canonical, in_other_form};

impl Explain for Cache {
    fn name(&self) -> &'static str {
        "cache"
    }

    fn explain(&self, call: &Call, steps: &mut Vec<Step>) -> ControlFlow<Conclusion> {
        let Some((rule, key)) = self.0.key(call) else {
            steps.push(Step::new(self.name(), "not used", self.0.unused(call)));
            return ControlFlow::Continue(());
        };
        let (rule, now) = (&self.0.rules[rule], Instant::now());
        let what = format!("{} {}, {}", call.method, canonical(call.params.as_ref()), whose(rule));
        let age = |kept: &Kept| format!("{:.1?} old", kept.age(now));
        match self.0.entries.find(&key, now) {
            Found::Fresh(kept) => {
                steps.push(Step::new(self.name(), "hit", format!("{}; key: {what}", age(&kept))));
                ControlFlow::Break(Conclusion::Answered)
            }
            Found::Stale(kept) => {
                let detail = format!("{}; refreshed in the background; key: {what}", age(&kept));
                steps.push(Step::new(self.name(), "stale", detail));
                ControlFlow::Break(Conclusion::Answered)
            }
            Found::Nothing => {
                let stale = match rule.stale.is_zero() {
                    true => String::new(),
                    false => format!(", and for another {:?} while it is refreshed", rule.stale),
                };
                let others = match self.0.entries.find(&in_other_form(key), now) {
                    Found::Fresh(kept) | Found::Stale(kept) => format!("{}, {}", others(call), age(&kept)),
                    Found::Nothing => String::new(),
                };
                let detail =
                    format!("the answer would be kept for {:?}{stale}; key: {what}{others}", rule.ttl);
                steps.push(Step::new(self.name(), "miss", detail));
                ControlFlow::Continue(())
            }
        }
    }
}

/// Who has another answer.
fn others(call: &Call) -> &'static str {
    match call.cx.wants_stream() {
        true => "; callers that accept no stream have one",
        false => "; callers that accept a stream have one",
    }
}

fn whose(rule: &CacheRule) -> &'static str {
    if rule.is_shared { "shared by all callers" } else { "for this caller alone" }
}
