//! Listening on a URL.

use switchboard_core::Settings;
use switchboard_transport::carrier::{Url, UrlError};
use switchboard_transport::http::EndpointOptions;
use switchboard_transport::server::{self, ListenError};

use super::{BuildError, Server};
use crate::http::McpRoute;

/// Why a server cannot be run.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The methods cannot be offered.
    #[error(transparent)]
    Build(#[from] BuildError),
    /// The URL is not valid.
    #[error(transparent)]
    Url(#[from] UrlError),
    /// The server cannot listen.
    #[error(transparent)]
    Listen(#[from] ListenError),
}

impl Server {
    /// Serves on this URL until the process ends: `stdio`, which is how hosts start servers, or `http://127.0.0.1:8000/mcp`.
    ///
    /// To serve MCP beside plain JSON-RPC, or with TLS and authentication, add an [`McpRoute`] to a server of your own.
    ///
    /// # Errors
    ///
    /// When the methods cannot be offered, or the server cannot listen on the URL.
    pub async fn serve(&self, url: &str) -> Result<(), ServeError> {
        let parsed: Url = url.parse()?;
        let settings = Settings::default().with_profile(Server::profile());
        let mut server = server::Server::new(self.service()?).with_settings(settings);
        if matches!(parsed.scheme(), "http" | "https") {
            let path = match parsed.path() {
                "" | "/" => "/mcp",
                path => path,
            };
            let route = McpRoute::new(self)?;
            let options = EndpointOptions::default().without_routes().with_paths(Vec::new());
            server = server.with_http(options.route(path, route));
        }
        server.listen(url).await?;
        server.serve().await;
        Ok(())
    }
}
