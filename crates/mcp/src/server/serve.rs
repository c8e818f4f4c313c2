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
    /// Clients of 2024-11-05 are answered at `/sse` and `/messages`.
    ///
    /// To serve MCP beside plain JSON-RPC, or with TLS and authentication, add an [`McpRoute`] to a server of your own.
    ///
    /// # Errors
    ///
    /// When the methods cannot be offered, or the server cannot listen on the URL.
    pub async fn serve(&self, url: &str) -> Result<(), ServeError> {
        self.listening(url).await?.serve().await;
        Ok(())
    }

    /// The server that listens on this URL.
    async fn listening(&self, url: &str) -> Result<server::Server, ServeError> {
        let parsed: Url = url.parse()?;
        let settings = Settings::default().with_profile(Server::profile());
        let mut server = server::Server::new(self.service()?).with_settings(settings);
        if matches!(parsed.scheme(), "http" | "https") {
            let path = match parsed.path() {
                "" | "/" => "/mcp",
                path => path,
            };
            let route = McpRoute::new(self)?;
            let (events, messages) = route.two_paths("/messages");
            let options = EndpointOptions::default().without_routes().with_paths(Vec::new());
            let options = options.route("/sse", events).route("/messages", messages);
            server = server.with_http(options.route(path, route));
        }
        // The path is that of the endpoint, not of the listener.
        server.listen(url.strip_suffix(parsed.path()).unwrap_or(url)).await?;
        Ok(server)
    }
}

#[cfg(test)]
mod tests {
    use switchboard_core::{ErrorObject, Router};

    use super::*;
    use crate::Client;

    // MCP-X-01, MCP-SSE-01
    #[tokio::test]
    async fn clients_of_every_revision_are_answered() {
        let router = Router::builder().method("echo", |text: (String,), _| Ok::<_, ErrorObject>(text.0));
        let tools = Server::new(router.build().unwrap()).named("test", "1.0.0");
        let server = tools.listening("http://127.0.0.1:0/tools").await.unwrap();
        let url = server.urls().next().unwrap();
        let (handle, serving) = (server.handle(), tokio::spawn(server.serve()));
        for (path, era) in [("tools", "streamable HTTP"), ("sse", "the event stream of 2024-11-05")] {
            let place = format!("{}/{path}", url.trim_end_matches('/'));
            let client = Client::builder("test", "1.0.0").connect(&place).await.unwrap();
            assert_eq!(client.tools().all().await.unwrap()[0].name, "echo", "{era}");
        }
        handle.shutdown();
        serving.await.unwrap();
    }
}
