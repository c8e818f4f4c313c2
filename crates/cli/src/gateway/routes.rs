//! Routes from their configuration.

use switchboard::access::{CallerFacts, Pattern, Pointer, Who};
use switchboard::gateway::{ParamsForm, Rewrite, Route};
use switchboard::identity::Identity;
use switchboard::{Call, Json};

use super::policies;
use super::upstreams::Upstream;
use crate::config::{self, Config, RouteConfig};
use crate::failure::Failure;

/// A route for each pattern.
pub(super) fn routes(config: &Config, upstreams: &[Upstream]) -> Result<Vec<Route>, Failure> {
    let mut routes = Vec::new();
    for route in &config.routes {
        let rewrite = rewrite(route)?;
        for pattern in &route.methods {
            routes.push(built(route, pattern.clone(), rewrite.clone(), upstreams));
        }
    }
    Ok(routes)
}

fn built(config: &RouteConfig, pattern: Pattern, rewrite: Rewrite, upstreams: &[Upstream]) -> Route {
    let mut route = Route::new(pattern).with_rewrite(rewrite);
    match &config.upstream {
        Some(Some(name)) => route = route.to(name.as_str()),
        Some(None) => route = route.closed(),
        None => {}
    }
    if let Some(name) = &config.rename {
        route = route.rename(name.as_str());
    }
    if let Some(form) = config.params {
        route = route.with_params(match form {
            config::ParamsForm::Named => ParamsForm::Named,
            config::ParamsForm::Positional => ParamsForm::Positional,
        });
    }
    if !config.is_unconditional() {
        route = route.when(condition(config));
    }
    for upstream in upstreams {
        let policy = policies::over(&config.policy, &upstream.policy);
        if policy != upstream.policy {
            route = route.through(upstream.name.as_str(), policies::stack(upstream, &policy, upstreams));
        }
    }
    route
}

/// Whether a route is for a call.
fn condition(config: &RouteConfig) -> impl Fn(&Call) -> bool + Send + Sync + 'static {
    let (who, headers, traffic) = (config.who.clone(), config.header.clone(), config.traffic);
    move |call| {
        let is_caller = || {
            let facts = CallerFacts::of(&call.cx, call.cx.caller::<Identity>(), &[]);
            who.is_empty() || who.iter().any(|who: &Who| who.matches(&facts))
        };
        let has_header = |(name, value): &(String, String)| {
            call.cx.metadata().text(name).is_some_and(|given| given == value)
        };
        let is_drawn = || traffic.is_none_or(|traffic| fastrand::f64() < traffic);
        is_caller() && headers.iter().all(has_header) && is_drawn()
    }
}

fn rewrite(config: &RouteConfig) -> Result<Rewrite, Failure> {
    let mut rewrite = Rewrite::default();
    for pointer in &config.drop {
        rewrite = rewrite.remove(pointer.to_string());
    }
    let value = |(pointer, value): &(Pointer, Json)| match value.decode() {
        Ok(value) => Ok((pointer.to_string(), value)),
        Err(error) => Err(Failure::usage(format!("{}: {error}", config.place))),
    };
    for pair in &config.default {
        let (pointer, value) = value(pair)?;
        rewrite = rewrite.set_if_missing(pointer, value);
    }
    for pair in &config.set {
        let (pointer, value) = value(pair)?;
        rewrite = rewrite.set(pointer, value);
    }
    Ok(rewrite)
}
