//! How the client logs in, in the scenarios about authorization.

use std::error::Error;
use std::future::ready;
use std::time::Duration;

use http::header::LOCATION;
use http::{HeaderMap, Method};
use serde_json::Value;
use switchboard::http::Client;
use switchboard::mcp::auth::{
    AuthError, IdentityProvider, Login, RegisteredClient, SigningKey, TokenSource, UserAgent, UserFuture,
    Visit,
};

/// Where the suite says that the document about its client is.
const DOCUMENT: &str = "https://conformance-test.local/client-metadata.json";

/// The login that a scenario asks for.
pub(crate) fn login(scenario: &str, context: &Value) -> Result<Login, Box<dyn Error>> {
    let text = |name: &str| context[name].as_str().unwrap_or_default().to_owned();
    let client = || {
        let client = RegisteredClient::new(text("client_id"));
        match context["client_secret"].as_str() {
            Some(secret) => client.with_secret(secret),
            None => client,
        }
    };
    let shown = |token: String| TokenSource::new(move || ready(Ok(token.clone())));
    Ok(match scenario {
        "auth/client-credentials-basic" => Login::client_credentials(client()),
        "auth/client-credentials-jwt" => {
            Login::client_credentials(client().with_key(SigningKey::from_pem(&text("private_key_pem"))?))
        }
        "auth/wif-jwt-bearer" => Login::workload(client(), shown(text("valid_jwt"))),
        "auth/enterprise-managed-authorization" => {
            let desk = RegisteredClient::new(text("idp_client_id"));
            let (issuer, endpoint) = (text("idp_issuer"), text("idp_token_endpoint"));
            let provider = IdentityProvider::new(issuer, endpoint, desk, shown(text("idp_id_token")));
            Login::enterprise(provider, client())
        }
        _ => {
            let login = Login::user(Yes).named("Conformance").described_at(DOCUMENT);
            if context["client_id"].is_string() { login.client(client()) } else { login }
        }
    })
}

/// A user who says yes at once, without a browser.
#[derive(Debug)]
struct Yes;

impl UserAgent for Yes {
    fn begin<'a>(&'a self, _: Option<&'a str>) -> UserFuture<'a, Box<dyn Visit>> {
        Box::pin(async { Ok(Box::new(Page) as Box<dyn Visit>) })
    }
}

struct Page;

impl Visit for Page {
    fn redirect_uri(&self) -> &'static str {
        "http://localhost:3000/callback"
    }

    fn visit(self: Box<Self>, url: String, _: String) -> UserFuture<'static, String> {
        const TIME: Duration = Duration::from_secs(10);
        Box::pin(async move {
            let lost = |what: String| AuthError::Unfinished(what);
            let page = Client::new(&url).map_err(|error| lost(error.to_string()))?;
            let shown = page.send(Method::GET, HeaderMap::new(), Default::default(), TIME).await;
            let shown = shown.map_err(|error| lost(error.to_string()))?;
            let to = shown.headers().get(LOCATION).and_then(|to| to.to_str().ok());
            let query = to.and_then(|to| to.split_once('?')).map(|(_, query)| query.to_owned());
            query.ok_or_else(|| lost(format!("HTTP {}", shown.status())))
        })
    }
}
