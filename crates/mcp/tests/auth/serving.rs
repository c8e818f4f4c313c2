//! An MCP server that needs tokens.

use std::sync::{Arc, Mutex};

use serde_json::json;
use switchboard_core::{
    Admission, AdmitFuture, Arrival, ErrorObject, MethodDescription, ResultDescription, Router, Settings,
};
use switchboard_layers::identity::Authentication;
use switchboard_layers::identity::jwt::{Jwt, KeySet};
use switchboard_mcp::{McpRoute, Protected};
use switchboard_transport::http::{Endpoint, EndpointOptions, HttpServer};
use switchboard_transport::server::Handle;

use crate::fixtures::{add, server, text_tool};
use crate::tokens::Signer;

/// A server with the tools `math_add`, and `refund`, which needs the scopes `orders:read` and `orders:write`.
pub(crate) struct Serving {
    pub(crate) address: std::net::SocketAddr,
    pub(crate) url: String,
    seen: Arc<Mutex<Vec<String>>>,
    handle: Handle,
}

/// Takes down the `Authorization` headers of all requests.
struct Seen<A>(Arc<Mutex<Vec<String>>>, A);

impl<A: Admission> Admission for Seen<A> {
    fn admit(&self, arrival: &Arrival<'_>) -> AdmitFuture {
        let sent = arrival.cx().metadata().text("authorization").map(str::to_owned);
        self.0.lock().unwrap().extend(sent);
        self.1.admit(arrival)
    }
}

impl Serving {
    /// Starts a server for the tokens of this issuer, which asks for these scopes at first.
    pub(crate) async fn start(issuer: &str, signer: &Signer, scopes: &[&str]) -> Serving {
        let listener = HttpServer::bind("127.0.0.1:0").await.unwrap();
        let (address, handle) = (listener.local_addr(), listener.handle());
        let url = format!("http://{address}/mcp");
        let refund = text_tool("refund", |_, _| async { Ok::<_, ErrorObject>("refunded".to_owned()) });
        let refund = refund.described(|_| {
            MethodDescription::documented("Refunds.")
                .result(ResultDescription::Value(json!({"type": "string"})))
                .extension("x-mcp", json!({"scope": "orders:read orders:write"}))
        });
        let route = McpRoute::new(&server([add(), refund])).unwrap();
        let resource = Protected::new(&url, [issuer]).unwrap().scopes(scopes.iter().copied()).named("Desk");
        let options = resource.routes(EndpointOptions::default().route("/mcp", route));
        let keys = KeySet::parse(signer.key_set()).unwrap();
        // Another resource of the same server: its tokens are good, but not for this endpoint.
        let jwt = Jwt::new(issuer, [url.clone(), "https://api.example".to_owned()], keys);
        let seen = Arc::default();
        let admission = Seen(Arc::clone(&seen), resource.guard(Authentication::new(jwt)));
        let settings = Settings::default().with_admission(Some(admission.into()));
        let router = Router::builder().build().unwrap();
        let endpoint = Endpoint::new(router).with_options(options).with_settings(settings);
        tokio::spawn(listener.serve_endpoint(endpoint));
        Serving { address, url, seen, handle }
    }

    /// The `Authorization` headers that it got.
    pub(crate) fn seen(&self) -> Vec<String> {
        self.seen.lock().unwrap().clone()
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        self.handle.shutdown();
    }
}
