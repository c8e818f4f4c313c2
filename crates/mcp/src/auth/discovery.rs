//! Finds out where to get a token for a server: from its metadata, and those of its authorization server.

use http::Uri;

use super::challenge::Challenge;
use super::dpop;
use super::error::AuthError;
use super::guard::origin;
use super::metadata::{ResourceMetadata, ServerMetadata};
use super::web::Web;

/// Where tokens for a server come from.
#[derive(Clone, Debug)]
pub(super) struct Found {
    /// What tokens are for, as the server writes it.
    pub(super) resource: String,
    pub(super) server: ServerMetadata,
    /// What the server wants to be asked for, if it says so.
    pub(super) scopes: Option<Vec<String>>,
    pub(super) needs_dpop: bool,
}

/// Follows the metadata of the server at this URL, which refused a request with this challenge (MCP-A-20, MCP-A-21).
pub(super) async fn discover(web: &Web, url: &str, challenge: &Challenge) -> Result<Found, AuthError> {
    let uri: Uri = url.parse().map_err(|_| not_a_url(url))?;
    let Some(resource) = resource(web, &uri, challenge).await? else {
        return without_resource(web, &uri).await;
    };
    check_resource(&uri, &resource.resource)?;
    let Some(issuer) = resource.authorization_servers.first() else {
        let why = "its metadata name no authorization server".to_owned();
        return Err(AuthError::Unusable { url: url.to_owned(), why });
    };
    let server = server(web, issuer).await?;
    let needs_dpop = resource.dpop_bound_access_tokens_required || challenge.is_dpop;
    let algorithms = &server.dpop_signing_alg_values_supported;
    if needs_dpop && !algorithms.is_empty() && !algorithms.iter().any(|known| known == dpop::ALGORITHM) {
        let why = "it does not support ES256 for DPoP, which the server wants";
        return Err(AuthError::Unsupported { issuer: issuer.clone(), why });
    }
    Ok(Found { resource: resource.resource, server, scopes: resource.scopes_supported, needs_dpop })
}

/// Whether the server at this URL names authorization servers, without being asked by a refusal.
pub(super) async fn is_protected(web: &Web, url: &str) -> Result<bool, AuthError> {
    let uri: Uri = url.parse().map_err(|_| not_a_url(url))?;
    Ok(resource(web, &uri, &Challenge::default()).await?.is_some())
}

fn not_a_url(url: &str) -> AuthError {
    AuthError::Forbidden { url: url.to_owned(), why: "it is not a URL".to_owned() }
}

/// The metadata of the server: where it says they are, else where they usually are.
async fn resource(
    web: &Web,
    uri: &Uri,
    challenge: &Challenge,
) -> Result<Option<ResourceMetadata>, AuthError> {
    for url in challenge.resource_metadata.iter().cloned().chain(resource_urls(uri)) {
        if let Some(found) = web.document(&url).await? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// Where the metadata of a resource usually are.
fn resource_urls(uri: &Uri) -> Vec<String> {
    let Some(origin) = origin(uri) else { return Vec::new() };
    let root = format!("{origin}/.well-known/oauth-protected-resource");
    match uri.path().trim_end_matches('/') {
        "" => vec![root],
        path => vec![format!("{root}{path}"), root],
    }
}

/// The metadata must be about this server, and not about another one whose tokens it would like to have (RFC 9728, section 3.3). A resource
/// may be a whole site.
fn check_resource(url: &Uri, resource: &str) -> Result<(), AuthError> {
    let mismatch = || AuthError::Mismatch {
        what: "the resource in the metadata of the server",
        expected: url.to_string(),
        found: super::error::shown(resource),
    };
    let uri: Uri = resource.parse().map_err(|_| mismatch())?;
    let (own, path) = (url.path(), uri.path().trim_end_matches('/'));
    let is_within = own.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let is_same = origin(&uri).is_some() && origin(&uri) == origin(url) && is_within;
    if is_same && !resource.contains('#') { Ok(()) } else { Err(mismatch()) }
}

/// The metadata of the authorization server with this issuer.
pub(super) async fn server(web: &Web, issuer: &str) -> Result<ServerMetadata, AuthError> {
    web.guard.check(issuer)?;
    let uri: Uri = issuer.parse().map_err(|_| not_a_url(issuer))?;
    for url in server_urls(&uri) {
        let Some(found) = web.document::<ServerMetadata>(&url).await? else { continue };
        // As texts: two spellings may be two issuers.
        if found.issuer != issuer {
            return Err(AuthError::Mismatch {
                what: "the issuer in the metadata of the authorization server",
                expected: issuer.to_owned(),
                found: super::error::shown(&found.issuer),
            });
        }
        let has_pkce = found.code_challenge_methods_supported.as_ref();
        if !has_pkce.is_some_and(|methods| methods.iter().any(|method| method == "S256"))
            && found.authorization_endpoint.is_some()
        {
            let why = "it does not say that it supports PKCE with S256";
            return Err(AuthError::Unsupported { issuer: issuer.to_owned(), why });
        }
        return Ok(found);
    }
    Err(AuthError::Unusable { url: super::error::shown(issuer), why: "it has no metadata".to_owned() })
}

/// Where the metadata of an authorization server may be.
fn server_urls(issuer: &Uri) -> Vec<String> {
    const OAUTH: &str = "/.well-known/oauth-authorization-server";
    const OPENID: &str = "/.well-known/openid-configuration";
    let Some(origin) = origin(issuer) else { return Vec::new() };
    match issuer.path().trim_end_matches('/') {
        "" => vec![format!("{origin}{OAUTH}"), format!("{origin}{OPENID}")],
        path => vec![
            format!("{origin}{OAUTH}{path}"),
            format!("{origin}{OPENID}{path}"),
            format!("{origin}{path}{OPENID}"),
        ],
    }
}

/// A server of 2025-03-26 is its own authorization server (MCP-A-31).
async fn without_resource(web: &Web, uri: &Uri) -> Result<Found, AuthError> {
    let origin = origin(uri).ok_or_else(|| not_a_url(&uri.to_string()))?;
    let url = format!("{origin}/.well-known/oauth-authorization-server");
    let server = match web.document::<ServerMetadata>(&url).await? {
        Some(found) if found.issuer.trim_end_matches('/') != origin => {
            return Err(AuthError::Mismatch {
                what: "the issuer in the metadata of the server",
                expected: origin,
                found: super::error::shown(&found.issuer),
            });
        }
        Some(found) => found,
        None => ServerMetadata::usual(&origin),
    };
    let path = if uri.path() == "/" { "" } else { uri.path() };
    Ok(Found { resource: format!("{origin}{path}"), server, scopes: None, needs_dpop: false })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn uri(text: &str) -> Uri {
        text.parse().unwrap()
    }

    // MCP-A-20
    #[test]
    fn the_metadata_of_a_resource_are_looked_for_at_its_path_and_then_at_the_root() {
        let root = "https://a.example/.well-known/oauth-protected-resource";
        assert_eq!(
            resource_urls(&uri("https://a.example/public/mcp")),
            [&format!("{root}/public/mcp"), root]
        );
        assert_eq!(resource_urls(&uri("https://A.example:443/")), [root]);
    }

    // MCP-A-21
    #[test]
    fn the_metadata_of_an_authorization_server_are_looked_for_in_all_places() {
        let check = |issuer: &str, expected: &[&str]| assert_eq!(server_urls(&uri(issuer)), expected);
        check(
            "https://auth.example",
            &[
                "https://auth.example/.well-known/oauth-authorization-server",
                "https://auth.example/.well-known/openid-configuration",
            ],
        );
        check(
            "https://auth.example/tenant1",
            &[
                "https://auth.example/.well-known/oauth-authorization-server/tenant1",
                "https://auth.example/.well-known/openid-configuration/tenant1",
                "https://auth.example/tenant1/.well-known/openid-configuration",
            ],
        );
    }

    // MCP-A-20
    #[test]
    fn metadata_of_another_resource_are_refused() {
        let own = uri("https://a.example/public/mcp");
        let right = [
            "https://a.example/public/mcp",
            "https://a.example/public",
            "https://a.example",
            "https://A.example:443/",
        ];
        for resource in right {
            assert_eq!(check_resource(&own, resource), Ok(()), "{resource}");
        }
        let wrong = [
            "https://b.example/public/mcp",
            "http://a.example/public/mcp",
            "https://a.example:444/public/mcp",
            "https://a.example/pub",
            "https://a.example/public/mcp/x",
            "https://a.example.evil/",
            "",
            "a.example",
            "https://a.example/public/mcp#x",
        ];
        for resource in wrong {
            assert!(check_resource(&own, resource).is_err(), "{resource}");
        }
    }
}
