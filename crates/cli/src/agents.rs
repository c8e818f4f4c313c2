//! The demo agent for clients of Agent2Agent (A2A).

use std::sync::Arc;

use switchboard::a2a::{A2aRoute, CardRoute};
use switchboard::http::EndpointOptions;
use switchboard::store::Store;
use switchboard::{Service, Settings};

use crate::demo;

/// Where HTTP listeners answer A2A.
pub(crate) const PATH: &str = "/a2a";

/// Answers A2A over HTTP at the usual paths. Its calls pass through the same middleware as others. Without a store for its tasks, they are kept in
/// memory.
pub(crate) fn route(
    options: EndpointOptions,
    service: Arc<dyn Service>,
    settings: Settings,
    tasks: Option<Arc<dyn Store>>,
) -> EndpointOptions {
    let server = demo::agent::server(service, tasks);
    let card = CardRoute::new(&server, PATH);
    options.route(PATH, A2aRoute::with(&server, settings)).route(CardRoute::PATH, card)
}
