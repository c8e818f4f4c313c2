//! A server on a free port.

use std::net::SocketAddr;
use std::sync::Arc;

use switchboard_core::{Router, Settings};
use switchboard_layers::identity::{Identity, Proof};
use switchboard_mcp::{HttpOptions, McpRoute, Server};
use switchboard_transport::http::{Body, Endpoint, EndpointOptions, Guarded, HttpServer, Route, RouteFuture};
use switchboard_transport::server::Handle;
use tokio::task::JoinHandle;

/// Takes the headers `x-user` and `x-scopes` for the caller's name and scopes, as a proxy in front would set them.
struct Identified<R>(R);

impl<R: Route> Route for Identified<R> {
    fn takes_post(&self) -> bool {
        self.0.takes_post()
    }

    fn answer(&self, mut request: Guarded) -> RouteFuture {
        if let Some(user) = request.head.headers.get("x-user") {
            let scopes = request.head.headers.get("x-scopes").map_or("", |scopes| scopes.to_str().unwrap());
            let identity = Identity::new(user.to_str().unwrap(), Proof::Token);
            let identity = identity.with_scopes(scopes.split_whitespace());
            request.cx.set_caller(Arc::new(identity));
        }
        self.0.answer(request)
    }
}

/// Does not know the newest revision, as a server that is older than it.
pub(crate) struct Old<R>(pub(crate) R);

impl<R: Route> Route for Old<R> {
    fn takes_post(&self) -> bool {
        self.0.takes_post()
    }

    fn answer(&self, request: Guarded) -> RouteFuture {
        let version = request.head.headers.get("mcp-protocol-version");
        if version.is_some_and(|version| version == "2026-07-28") {
            let mut response = http::Response::new(Body::empty());
            *response.status_mut() = http::StatusCode::BAD_REQUEST;
            return RouteFuture::ready(response);
        }
        self.0.answer(request)
    }
}

/// A server that runs until it is dropped.
pub(crate) struct Serving {
    pub(crate) address: SocketAddr,
    pub(crate) route: McpRoute,
    handle: Handle,
    task: JoinHandle<()>,
}

pub(crate) async fn serve(server: &Server) -> Serving {
    serve_with(server, HttpOptions::default(), "127.0.0.1:0").await
}

/// Serves with these settings.
pub(crate) async fn serve_settings(server: &Server, settings: Settings) -> Serving {
    serve_route(McpRoute::with(server, settings, HttpOptions::default()).unwrap(), "127.0.0.1:0").await
}

pub(crate) async fn serve_with(server: &Server, options: HttpOptions, address: &str) -> Serving {
    serve_route(McpRoute::with(server, Settings::default(), options).unwrap(), address).await
}

async fn serve_route(route: McpRoute, address: &str) -> Serving {
    let (events, messages) = route.two_paths("/messages");
    let options = EndpointOptions::default()
        .route("/mcp", Identified(route.clone()))
        .route("/old", Identified(Old(route.clone())))
        .route("/sse", Identified(events))
        .route("/messages", Identified(messages));
    let endpoint = Endpoint::new(Router::builder().build().unwrap()).with_options(options);
    let listener = HttpServer::bind(address).await.unwrap();
    let (address, handle) = (listener.local_addr(), listener.handle());
    Serving { address, route, handle, task: tokio::spawn(listener.serve_endpoint(endpoint)) }
}

impl Serving {
    /// Stops the server and waits until it has drained.
    pub(crate) async fn stop(mut self) {
        self.handle.shutdown();
        crate::client::within(&mut self.task).await.unwrap();
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.handle.shutdown();
        self.task.abort();
    }
}
