//! How a client becomes known to an authorization server (MCP-A-24).

use http::HeaderMap;
use serde::Deserialize;
use serde_json::json;

use super::client::RegisteredClient;
use super::error::{AuthError, Fault};
use super::metadata::ServerMetadata;
use super::web::Web;

/// What a client says about itself when it registers.
#[derive(Clone, Debug)]
pub(super) struct About {
    pub(super) name: String,
    /// The URL of a document about the client, which is its identifier.
    pub(super) document: Option<String>,
}

/// The answer to a registration (RFC 7591).
#[derive(Deserialize)]
struct Registered {
    client_id: String,
    client_secret: Option<String>,
    token_endpoint_auth_method: Option<String>,
}

#[derive(Deserialize)]
struct Refused {
    error: String,
    error_description: Option<String>,
}

/// Registers the client, or uses its document where the server reads those.
pub(super) async fn register(
    web: &Web,
    server: &ServerMetadata,
    about: &About,
    redirect_uri: &str,
) -> Result<RegisteredClient, AuthError> {
    if let Some(document) = about.document.as_ref().filter(|_| server.client_id_metadata_document_supported) {
        return Ok(RegisteredClient { method: Some("none".to_owned()), ..RegisteredClient::new(document) });
    }
    let endpoint = server.registration_endpoint.as_ref();
    let endpoint = endpoint.ok_or_else(|| AuthError::NoClient(server.issuer.clone()))?;
    let methods = ["none", "client_secret_basic", "client_secret_post"];
    let method = methods.into_iter().find(|method| server.accepts(method)).unwrap_or("none");
    let request = json!({
        "client_name": about.name,
        "redirect_uris": [redirect_uri],
        "grant_types": ["authorization_code", "refresh_token"],
        "response_types": ["code"],
        "token_endpoint_auth_method": method,
        "application_type": if redirect_uri.starts_with("https:") { "web" } else { "native" },
    });
    let answer = web.post(endpoint, "application/json", HeaderMap::new(), request.to_string()).await?;
    let unusable = |why: String| AuthError::Unusable { url: super::error::shown(endpoint), why };
    if !answer.status().is_success() {
        let refused = serde_json::from_slice::<Refused>(answer.body());
        let fault = refused.map(|said| Fault::new(&said.error, said.error_description.as_deref()));
        return Err(match fault {
            Ok(fault) => AuthError::Refused(fault),
            Err(_) => unusable(format!("HTTP {}", answer.status())),
        });
    }
    let registered: Registered =
        serde_json::from_slice(answer.body()).map_err(|error| unusable(error.to_string()))?;
    Ok(RegisteredClient {
        id: registered.client_id,
        secret: registered.client_secret.filter(|secret| !secret.is_empty()),
        key: None,
        issuer: Some(server.issuer.clone()),
        method: registered.token_endpoint_auth_method,
        redirect_uri: Some(redirect_uri.to_owned()),
    })
}
