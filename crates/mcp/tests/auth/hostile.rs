//! A server that refuses everything, and says what a test wants it to say.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use http::{HeaderValue, Response, header};
use serde_json::json;
use switchboard_core::Router;
use switchboard_transport::http::{Body, Endpoint, EndpointOptions, Guarded, HttpServer, Route, RouteFuture};
use switchboard_transport::server::Handle;

pub(crate) struct Hostile {
    pub(crate) url: String,
    pub(crate) origin: String,
    requests: Arc<AtomicUsize>,
    handle: Handle,
}

/// What it says.
#[derive(Default)]
struct Says {
    challenge: Option<String>,
    /// Its metadata, each time other ones.
    metadata: Vec<String>,
    redirect: Option<String>,
    asked: AtomicUsize,
    requests: Arc<AtomicUsize>,
}

impl Hostile {
    /// Names these authorization servers, one after the other.
    pub(crate) async fn start(issuers: &[&str]) -> Hostile {
        Hostile::serve(|url| Says {
            metadata: issuers.iter().map(|issuer| metadata(url, issuer)).collect(),
            ..Says::default()
        })
        .await
    }

    /// Says that it is this resource.
    pub(crate) async fn claiming(resource: &str, issuer: &str) -> Hostile {
        Hostile::serve(|_| Says { metadata: vec![metadata(resource, issuer)], ..Says::default() }).await
    }

    /// Refuses with this challenge.
    pub(crate) async fn challenging(challenge: &str) -> Hostile {
        Hostile::serve(|_| Says { challenge: Some(challenge.to_owned()), ..Says::default() }).await
    }

    /// Redirects all requests.
    pub(crate) async fn redirecting(to: &str) -> Hostile {
        Hostile::serve(|_| Says { redirect: Some(to.to_owned()), ..Says::default() }).await
    }

    /// Has very long metadata.
    pub(crate) async fn endless() -> Hostile {
        Hostile::serve(|url| Says { metadata: vec![metadata(url, &"x".repeat(1 << 20))], ..Says::default() })
            .await
    }

    async fn serve(says: impl FnOnce(&str) -> Says) -> Hostile {
        let listener = HttpServer::bind("127.0.0.1:0").await.unwrap();
        let (address, handle) = (listener.local_addr(), listener.handle());
        let (origin, requests) = (format!("http://{address}"), Arc::<AtomicUsize>::default());
        let url = format!("{origin}/mcp");
        let says = Says { requests: Arc::clone(&requests), ..says(&url) };
        let options = EndpointOptions::default().with_paths(vec!["/none".to_owned()]).route("/*", says);
        let endpoint = Endpoint::new(Router::builder().build().unwrap()).with_options(options);
        tokio::spawn(listener.serve_endpoint(endpoint));
        Hostile { url, origin, requests, handle }
    }

    /// How many requests it got.
    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::Relaxed)
    }
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.handle.shutdown();
    }
}

fn metadata(resource: &str, issuer: &str) -> String {
    json!({"resource": resource, "authorization_servers": [issuer]}).to_string()
}

impl Route for Says {
    fn answer(&self, request: Guarded) -> RouteFuture {
        self.requests.fetch_add(1, Ordering::Relaxed);
        let mut response = Response::new(Body::empty());
        let path = request.head.uri.path();
        if let Some(to) = &self.redirect {
            *response.status_mut() = http::StatusCode::FOUND;
            response.headers_mut().insert(header::LOCATION, HeaderValue::from_str(to).unwrap());
        } else if path == "/.well-known/oauth-protected-resource/mcp" && !self.metadata.is_empty() {
            let turn = self.asked.fetch_add(1, Ordering::Relaxed).min(self.metadata.len() - 1);
            response = Response::new(Body::new(self.metadata[turn].clone()));
        } else if path == "/mcp" {
            *response.status_mut() = http::StatusCode::UNAUTHORIZED;
            let challenge = self.challenge.as_deref().unwrap_or("Bearer");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, HeaderValue::from_str(challenge).unwrap());
        } else {
            *response.status_mut() = http::StatusCode::NOT_FOUND;
        }
        RouteFuture::ready(response)
    }
}
