//! Servers of the Model Context Protocol with one tool, `add`: ours and that of rmcp.

use std::io::{self, Error};
use std::net::TcpListener;
use std::sync::Arc;

use axum::serve::ListenerExt;
use rmcp::handler::server::router::tool::ToolRouter;
use rmcp::handler::server::wrapper::Parameters;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ServerHandler, ServiceExt, tool, tool_handler, tool_router};
use serde::Deserialize;
use switchboard::http::{Endpoint, EndpointOptions};
use switchboard::mcp::{McpRoute, Server};
use switchboard::{Router, service};

use super::switchboard::http_server;

struct Calculator;

#[service]
impl Calculator {
    /// Adds two numbers.
    #[method(safe)]
    fn add(&self, a: i64, b: i64) -> String {
        (a + b).to_string()
    }
}

fn server() -> io::Result<Server> {
    let router = Router::builder().add(Calculator).build().map_err(Error::other)?;
    Ok(Server::new(router).named("calculator", "1.0.0"))
}

/// Serves our server over standard input and output.
///
/// # Errors
/// When either fails.
pub async fn serve_stdio() -> io::Result<()> {
    server()?.serve("stdio").await.map_err(Error::other)
}

/// Serves our server over HTTP.
///
/// # Errors
/// When the listener fails.
pub async fn serve(listener: TcpListener) -> io::Result<()> {
    let route = McpRoute::new(&server()?).map_err(Error::other)?;
    let options = EndpointOptions::default().without_routes().with_paths(Vec::new()).route("/", route);
    let router = Router::builder().build().map_err(Error::other)?;
    http_server(listener)?.serve_endpoint(Endpoint::new(router).with_options(options)).await;
    Ok(())
}

/// The parameters of rmcp's tool.
#[derive(Deserialize, rmcp::schemars::JsonSchema)]
#[schemars(crate = "rmcp::schemars")]
struct Add {
    a: i64,
    b: i64,
}

#[derive(Clone)]
struct Rmcp {
    tool_router: ToolRouter<Self>,
}

#[tool_router]
impl Rmcp {
    fn new() -> Self {
        Self { tool_router: Self::tool_router() }
    }

    /// Adds two numbers.
    #[tool(description = "Adds two numbers.")]
    async fn add(&self, Parameters(Add { a, b }): Parameters<Add>) -> String {
        (a + b).to_string()
    }
}

#[tool_handler(router = self.tool_router)]
impl ServerHandler for Rmcp {}

/// Serves rmcp's server over standard input and output.
///
/// # Errors
/// When either fails.
pub async fn serve_rmcp_stdio() -> io::Result<()> {
    let running = Rmcp::new().serve(rmcp::transport::stdio()).await.map_err(Error::other)?;
    running.waiting().await.map_err(Error::other)?;
    Ok(())
}

/// Serves rmcp's server over HTTP.
///
/// # Errors
/// When the listener fails.
pub async fn serve_rmcp(listener: TcpListener) -> io::Result<()> {
    let sessions = Arc::new(LocalSessionManager::default());
    let config = StreamableHttpServerConfig::default();
    let service = StreamableHttpService::new(|| Ok(Rmcp::new()), sessions, config);
    let listener = tokio::net::TcpListener::from_std(listener)?;
    // As all servers here have it. If it fails, the figures are as they are without.
    let listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    axum::serve(listener, axum::Router::new().fallback_service(service)).await
}
