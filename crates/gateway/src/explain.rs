//! What would happen to a call.

use std::ops::ControlFlow;
use std::sync::Arc;

use switchboard_core::{Call, ErrorObject, Json};
pub use switchboard_layers::explain::{Conclusion, Explain, Step};

use crate::backend::Backend;
use crate::gateway::Gateway;
use crate::route::Route;

/// What would happen to a call, and why. Nothing was sent.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Explanation {
    /// What decides, in order.
    pub steps: Vec<Step>,
    /// How it would end.
    pub conclusion: Conclusion,
    /// The upstream that it is for, if there is one.
    pub upstream: Option<Arc<str>>,
    /// The call as that upstream would get it.
    pub call: Option<Call>,
    /// Its params for people: what the route sets, which may be secrets, is `***`.
    pub shown: Option<Json>,
}

impl Explanation {
    fn refused(steps: Vec<Step>, error: ErrorObject) -> Explanation {
        Explanation { steps, conclusion: Conclusion::Refused(error), upstream: None, call: None, shown: None }
    }
}

impl Gateway {
    /// What would happen to this call, as things are now: its route, its changes, the policies that apply, and the server that would get
    /// it.
    #[must_use]
    pub fn explain(&self, call: &Call) -> Explanation {
        let mut steps = Vec::new();
        let route = self.explain_route(call, &mut steps);
        let backend = self.backend(route, call.method.as_str());
        self.explain_upstream(route, backend, call, &mut steps);
        let Some(backend) = backend else {
            let error = ErrorObject::method_not_found(call.method.as_str());
            return Explanation::refused(steps, error);
        };
        let mut inside = call.clone();
        if let Err(error) = Gateway::prepare(route, backend, &mut inside, call.method.as_str()) {
            let detail = format!("the params cannot be changed: {}", error.message);
            steps.push(Step::new("rewrite", "refused", detail).with_source(source(route)));
            return Explanation {
                upstream: Some(backend.name.clone()),
                ..Explanation::refused(steps, error)
            };
        }
        let shown = shown(route, backend, call);
        explain_rewrite(route, call, &inside, shown.as_ref(), &mut steps);
        let conclusion = match Gateway::stack(route, backend).explain(&inside, &mut steps) {
            ControlFlow::Break(conclusion) => conclusion,
            ControlFlow::Continue(()) => Conclusion::Sent { server: None },
        };
        Explanation { steps, conclusion, upstream: Some(backend.name.clone()), call: Some(inside), shown }
    }

    /// Adds the routes that match the method, and returns the one that the call takes. Where chance decides, it is the more probable one.
    fn explain_route(&self, call: &Call, steps: &mut Vec<Step>) -> Option<&Route> {
        let mut chosen: Option<&Route> = None;
        for route in self.matching(call.method.as_str()) {
            let (unmet, share) = (route.conditions.unmet(call), route.conditions.share());
            let (outcome, detail) = match (chosen, unmet) {
                (Some(first), _) => ("not used", format!("{} is more specific", first.pattern)),
                (None, Some(unmet)) => ("no", unmet.to_string()),
                (None, None) if share <= 0.0 => ("no", "takes 0 % of the calls".to_owned()),
                (None, None) if share < 0.5 => ("possible", format!("takes {} of the calls", percent(share))),
                (None, None) => {
                    chosen = Some(route);
                    let by_chance = match share < 1.0 {
                        true => format!("; takes {} of the calls", percent(share)),
                        false => String::new(),
                    };
                    ("chosen", format!("the most specific route{by_chance}"))
                }
            };
            let detail = format!("{}: {detail}", route.pattern);
            steps.push(Step::new("route", outcome, detail).with_source(route.source.as_deref()));
        }
        chosen
    }

    fn explain_upstream(
        &self,
        route: Option<&Route>,
        backend: Option<&Backend>,
        call: &Call,
        steps: &mut Vec<Step>,
    ) {
        let (outcome, detail) = match (backend, route) {
            (Some(backend), Some(Route { upstream: Some(_), .. })) => {
                (backend.name.to_string(), "named by the route".to_owned())
            }
            (Some(backend), _) if backend.prefix.is_empty() => (
                backend.name.to_string(),
                "takes the methods that no other upstream has a prefix of".to_owned(),
            ),
            (Some(backend), _) => (backend.name.to_string(), format!("has the prefix {}", backend.prefix)),
            (None, Some(Route { is_closed: true, .. })) => {
                ("none".to_owned(), "the route refuses calls".to_owned())
            }
            (None, Some(Route { upstream: Some(name), .. })) => {
                ("none".to_owned(), format!("the route names {name}, which does not exist"))
            }
            (None, _) => {
                let prefixes: Vec<&str> = self.backends().iter().map(Backend::prefix).collect();
                let detail = format!("no upstream has a prefix of {}: {}", call.method, prefixes.join(", "));
                ("none".to_owned(), detail)
            }
        };
        let decides = |route: &&Route| route.is_closed || route.upstream.is_some();
        let source = source(route.filter(decides));
        steps.push(Step::new("upstream", outcome, detail).with_source(source));
    }
}

/// The params that an upstream would get, without what the route sets.
fn shown(route: Option<&Route>, backend: &Backend, call: &Call) -> Option<Json> {
    let (masked, mut shown) = (route.map(Route::masked), call.clone());
    Gateway::prepare(masked.as_ref(), backend, &mut shown, call.method.as_str()).ok()?;
    shown.params
}

/// Adds how the call is changed on its way.
fn explain_rewrite(
    route: Option<&Route>,
    call: &Call,
    inside: &Call,
    shown: Option<&Json>,
    steps: &mut Vec<Step>,
) {
    let (is_renamed, is_changed) = (call.method != inside.method, call.params != inside.params);
    let params = || shown.map_or("none", Json::as_str);
    let detail = match (is_renamed, is_changed) {
        (false, false) => return,
        (true, false) => format!("sent as {}", inside.method),
        (false, true) => format!("the params are {}", params()),
        (true, true) => format!("sent as {}, with the params {}", inside.method, params()),
    };
    let source = source(route).filter(|_| is_changed || route.is_some_and(Route::has_rename));
    steps.push(Step::new("rewrite", "changed", detail).with_source(source));
}

fn source(route: Option<&Route>) -> Option<&str> {
    route?.source.as_deref()
}

/// A share of calls in words.
pub(crate) fn percent(share: f64) -> String {
    format!("{} %", (share * 1e4).round() / 1e2)
}
