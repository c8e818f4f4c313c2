//! Routes from their configuration.

use switchboard::Json;
use switchboard::access::{Pattern, Pointer};
use switchboard::gateway::{Conditions, ParamsForm, Rewrite, Route};

use super::policies;
use super::stacks::Stacks;
use super::upstreams::Upstream;
use crate::config::{self, Config, Roles, RouteConfig};
use crate::failure::Failure;

/// A route for each pattern.
pub(super) fn routes(
    config: &Config,
    upstreams: &[Upstream],
    stacks: &mut Stacks,
) -> Result<Vec<Route>, Failure> {
    let mut routes = Vec::new();
    for route in &config.routes {
        let (rewrite, conditions) = (rewrite(route)?, conditions(route, &config.roles));
        for pattern in &route.methods {
            let built = built(route, pattern, rewrite.clone(), upstreams, stacks);
            routes.push(built.when(conditions.clone()));
        }
    }
    Ok(routes)
}

fn built(
    config: &RouteConfig,
    pattern: &Pattern,
    rewrite: Rewrite,
    upstreams: &[Upstream],
    stacks: &mut Stacks,
) -> Route {
    let mut route = Route::new(pattern.clone()).with_rewrite(rewrite).with_source(config.place.as_str());
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
    for upstream in upstreams {
        let policy = policies::over(&config.policy, &upstream.policy);
        if policy != upstream.policy {
            let make = || policies::stack(upstream, &policy, upstreams);
            let stack = stacks.stack(upstream, Some(pattern), &policy, upstreams, make);
            route = route.through(upstream.name.as_str(), stack);
        }
    }
    route
}

/// Which calls a route is for.
fn conditions(config: &RouteConfig, roles: &Roles) -> Conditions {
    let conditions = Conditions::default().with_callers(config.who.iter().cloned());
    let with_header = |conditions: Conditions, (name, value): &(String, String)| {
        conditions.with_header(name.as_str(), value.as_str())
    };
    let conditions = config.header.iter().fold(conditions, with_header);
    let with_roles = |conditions: Conditions, user: String| conditions.with_roles(&user, roles.of(&user));
    let conditions = match config.who.is_empty() {
        true => conditions,
        false => roles.users().into_iter().fold(conditions, with_roles),
    };
    match config.traffic {
        Some(share) => conditions.with_traffic(share),
        None => conditions,
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
