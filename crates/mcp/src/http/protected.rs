//! An endpoint that needs tokens: its metadata, and how refused clients learn where to get one (RFC 9728, RFC 6750).

use std::fmt;
use std::sync::Arc;

use http::request::Parts;
use http::{HeaderValue, Method, Response, Uri, header};
use serde::Serialize;
use switchboard_core::{Admission, AdmitFuture, Arrival, Context, ErrorObject, Refusal, SharedAdmission};
use switchboard_layers::identity::{Identity, Proof};
use switchboard_transport::http::{Body, EndpointOptions, Guarded, Route, RouteFuture};

/// Where the metadata of a server are; the path of the resource may follow.
const WELL_KNOWN: &str = "/.well-known/oauth-protected-resource";

/// An MCP endpoint whose clients need tokens of an authorization server. Cheap to clone.
///
/// Tokens are checked by an admission such as `Authentication` of `switchboard_layers`. A [`Guard`] around it adds what MCP asks for:
/// refused clients learn where the metadata are, the metadata need no token, callers need one, and signed tokens must have been issued for
/// this resource.
///
/// # Examples
///
/// ```
/// use switchboard_core::{Router, Settings};
/// use switchboard_layers::identity::{Authentication, Tokens};
/// use switchboard_mcp::{McpRoute, Protected, Server};
/// use switchboard_transport::http::EndpointOptions;
///
/// # fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let server = Server::new(Router::builder().build()?);
/// let resource = Protected::new("https://desk.example/mcp", ["https://auth.example"])?;
/// let options = EndpointOptions::default().route("/mcp", McpRoute::new(&server)?);
/// let options = resource.routes(options);
/// // Usually `Jwt`, for the tokens of the authorization server.
/// let authentication = Authentication::new(Tokens::parse("ann:2f9c1b7e55a04d13")?);
/// let settings = Settings::default().with_admission(Some(resource.guard(authentication).into()));
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Protected(Arc<Inner>);

#[derive(Clone)]
struct Inner {
    /// What the endpoint can say about itself.
    metadata: Metadata,
    /// The URL of the metadata.
    url: String,
    /// The path of the metadata.
    well_known: String,
    /// The paths of the endpoint on this server.
    paths: Vec<String>,
}

/// The metadata of a protected resource (MCP-A-01).
#[derive(Clone, Debug, Serialize)]
struct Metadata {
    resource: String,
    authorization_servers: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    scopes_supported: Vec<String>,
    bearer_methods_supported: [&'static str; 1],
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_name: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_documentation: Option<String>,
}

/// Why an endpoint cannot be protected like that.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ProtectedError {
    /// The resource is not the URL of an endpoint.
    #[error(
        "{0:?} is not the URL of an endpoint; write it as clients do, such as \"https://example.com/mcp\""
    )]
    Resource(String),
    /// There is no authorization server, or it is not a URL.
    #[error("{0:?} is not an authorization server; write its issuer, such as \"https://auth.example.com\"")]
    Issuer(String),
}

impl Protected {
    /// The endpoint at this URL, as its clients write it, for tokens of these authorization servers, which are named by their issuer.
    ///
    /// # Errors
    ///
    /// When one of them is not an `https` or `http` URL, has a query or a fragment, or when there is no authorization server.
    pub fn new<I: Into<String>>(
        resource: &str,
        issuers: impl IntoIterator<Item = I>,
    ) -> Result<Protected, ProtectedError> {
        let wrong = || ProtectedError::Resource(resource.to_owned());
        let uri = plain_url(resource).ok_or_else(wrong)?;
        let authorization_servers: Vec<String> = issuers.into_iter().map(Into::into).collect();
        let bad = authorization_servers.iter().find(|issuer| plain_url(issuer).is_none()).cloned();
        if let Some(bad) = bad.or_else(|| authorization_servers.is_empty().then(String::new)) {
            return Err(ProtectedError::Issuer(bad));
        }
        let path = uri.path();
        let well_known = format!("{WELL_KNOWN}{}", if path == "/" { "" } else { path });
        let origin = resource.split('/').take(3).collect::<Vec<_>>().join("/");
        let metadata = Metadata {
            resource: resource.to_owned(),
            authorization_servers,
            scopes_supported: Vec::new(),
            bearer_methods_supported: ["header"],
            resource_name: None,
            resource_documentation: None,
        };
        let paths = vec![path.to_owned()];
        Ok(Protected(Arc::new(Inner { metadata, url: format!("{origin}{well_known}"), well_known, paths })))
    }

    /// Sets the scopes that clients are to ask for at first. What single tools need beyond them, they learn when they call them.
    #[must_use]
    pub fn scopes<S: Into<String>>(self, scopes: impl IntoIterator<Item = S>) -> Protected {
        let scopes = scopes.into_iter().map(Into::into).collect();
        self.changed(|inner| inner.metadata.scopes_supported = scopes)
    }

    /// Sets the name that users see.
    #[must_use]
    pub fn named(self, name: impl Into<String>) -> Protected {
        let name = name.into();
        self.changed(|inner| inner.metadata.resource_name = Some(name))
    }

    /// Sets the URL of a page for developers.
    #[must_use]
    pub fn documented_at(self, url: impl Into<String>) -> Protected {
        let url = url.into();
        self.changed(|inner| inner.metadata.resource_documentation = Some(url))
    }

    /// Sets the paths of the endpoint on this server, where they are not the path of its URL: behind a proxy that rewrites them, and for
    /// the [two paths](crate::McpRoute::two_paths) of the oldest revision.
    #[must_use]
    pub fn at<P: Into<String>>(self, paths: impl IntoIterator<Item = P>) -> Protected {
        let paths = paths.into_iter().map(Into::into).collect();
        self.changed(|inner| inner.paths = paths)
    }

    /// Serves the metadata at the two paths where clients look for them.
    #[must_use]
    pub fn routes(&self, options: EndpointOptions) -> EndpointOptions {
        let options = options.route(WELL_KNOWN, MetadataRoute(self.clone()));
        match self.0.well_known == WELL_KNOWN {
            true => options,
            false => options.route(self.0.well_known.clone(), MetadataRoute(self.clone())),
        }
    }

    /// An admission that lets in whom this one lets in if it knows the caller, and tells refused clients of the endpoint where to get a
    /// token. Other paths are left to the inner admission alone.
    #[must_use]
    pub fn guard(&self, admission: impl Into<SharedAdmission>) -> Guard {
        Guard { resource: self.clone(), inner: admission.into() }
    }

    fn changed(self, change: impl FnOnce(&mut Inner)) -> Protected {
        let mut inner = Arc::unwrap_or_clone(self.0);
        change(&mut inner);
        Protected(Arc::new(inner))
    }

    /// Whether the metadata are at this path.
    fn has_metadata_at(&self, path: &str) -> bool {
        path == WELL_KNOWN || path == self.0.well_known
    }

    fn refusal(&self, fault: Option<&str>) -> Refusal {
        let scopes = self.0.metadata.scopes_supported.join(" ");
        let scopes = (!scopes.is_empty()).then_some(&*scopes);
        Refusal::new(ErrorObject::unauthorized())
            .with_status(401)
            .with_metadata("www-authenticate", challenge(Some(self), fault, scopes))
    }

    /// Whether a caller's token was issued for this endpoint (MCP-A-04). Those that are not signed are this server's own.
    fn is_audience_of(&self, cx: &Context) -> bool {
        let Some(identity) = cx.caller::<Identity>().filter(|identity| identity.proof == Proof::Jwt) else {
            return true;
        };
        let audience = identity.claims.as_ref().and_then(|claims| claims.get("aud"));
        audience.is_some_and(|audience| {
            let resource = &self.0.metadata.resource;
            audience.decode::<String>().is_ok_and(|one| one == *resource)
                || audience.decode::<Vec<String>>().is_ok_and(|all| all.contains(resource))
        })
    }
}

/// An `http` or `https` URL with a host, and without a user, query or fragment.
fn plain_url(text: &str) -> Option<Uri> {
    let uri: Uri = text.parse().ok()?;
    let is_web = matches!(uri.scheme_str(), Some("http" | "https"));
    let is_plain = !text.contains(['#', '?', '"', '\\']) && !uri.authority()?.as_str().contains('@');
    (is_web && is_plain && uri.host().is_some_and(|host| !host.is_empty())).then_some(uri)
}

/// The value of `WWW-Authenticate` for a refused client (MCP-A-02, MCP-A-03).
pub(crate) fn challenge(resource: Option<&Protected>, fault: Option<&str>, scopes: Option<&str>) -> String {
    let url = resource.map(|resource| resource.0.url.as_str());
    let params = [("error", fault), ("scope", scopes), ("resource_metadata", url)];
    let params = params.iter().filter_map(|(name, value)| Some(format!("{name}=\"{}\"", (*value)?)));
    let params = params.collect::<Vec<_>>().join(", ");
    if params.is_empty() { "Bearer".to_owned() } else { format!("Bearer {params}") }
}

/// The admission of a [`Protected`] endpoint.
#[derive(Clone, Debug)]
pub struct Guard {
    resource: Protected,
    inner: SharedAdmission,
}

impl Admission for Guard {
    fn admit(&self, arrival: &Arrival<'_>) -> AdmitFuture {
        let Arrival::Request { cx, method, path, .. } = arrival else { return self.inner.admit(arrival) };
        if matches!(*method, "GET" | "HEAD") && self.resource.has_metadata_at(path) {
            return AdmitFuture::admitted((*cx).clone());
        }
        if !self.resource.0.paths.iter().any(|own| own == path) {
            return self.inner.admit(arrival);
        }
        let (resource, has_sent) = (self.resource.clone(), cx.metadata().get("authorization").is_some());
        self.inner.admit(arrival).map(move |decision| match decision {
            // The admission may allow calls without credentials at other paths.
            Ok(cx) if cx.caller::<Identity>().is_none() => Err(resource.refusal(None)),
            Ok(cx) if !resource.is_audience_of(&cx) => Err(resource.refusal(Some("invalid_token"))),
            Ok(mut cx) => {
                cx.insert(resource);
                Ok(cx)
            }
            Err(refusal) if refusal.status == Some(401) => {
                Err(resource.refusal(has_sent.then_some("invalid_token")))
            }
            Err(refusal) => Err(refusal),
        })
    }
}

/// Serves the metadata of a [`Protected`] endpoint.
#[derive(Clone, Debug)]
pub struct MetadataRoute(Protected);

impl Route for MetadataRoute {
    fn takes(&self, head: &Parts) -> bool {
        matches!(head.method, Method::GET | Method::HEAD)
    }

    fn takes_post(&self) -> bool {
        false
    }

    fn answer(&self, _: Guarded) -> RouteFuture {
        let text = serde_json::to_string(&self.0.0.metadata).expect("strings are JSON");
        let mut response = Response::new(Body::new(text));
        let json = HeaderValue::from_static("application/json");
        response.headers_mut().insert(header::CONTENT_TYPE, json);
        RouteFuture::ready(response)
    }
}

impl fmt::Debug for Protected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Protected").field(&self.0.metadata.resource).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // MCP-A-01
    #[test]
    fn the_metadata_are_where_the_path_of_the_resource_follows_the_well_known_one() {
        let check = |resource: &str, expected: &str| {
            let protected = Protected::new(resource, ["https://auth.example"]).unwrap();
            assert_eq!(protected.0.url, expected);
        };
        let root = "https://a.example/.well-known/oauth-protected-resource";
        check("https://a.example/mcp", &format!("{root}/mcp"));
        check("https://a.example/public/mcp", &format!("{root}/public/mcp"));
        check("https://a.example", root);
        check("https://a.example/", root);
        check("http://127.0.0.1:80/mcp", "http://127.0.0.1:80/.well-known/oauth-protected-resource/mcp");
    }

    #[test]
    fn a_resource_and_its_issuers_are_plain_urls() {
        for resource in
            ["", "/mcp", "a.example/mcp", "https://a.example/mcp#x", "https://a.example/?q=1", "ftp://a"]
        {
            let wrong = Protected::new(resource, ["https://auth.example"]).unwrap_err();
            assert_eq!(wrong, ProtectedError::Resource(resource.to_owned()));
        }
        let none: [&str; 0] = [];
        assert!(Protected::new("https://a.example/mcp", none).is_err());
        assert!(Protected::new("https://a.example/mcp", ["auth"]).is_err());
    }

    // MCP-A-02, MCP-A-03
    #[test]
    fn a_challenge_says_what_is_wrong_and_where_the_metadata_are() {
        assert_eq!(challenge(None, None, None), "Bearer");
        let protected = Protected::new("https://a.example/mcp", ["https://auth.example"]).unwrap();
        assert_eq!(
            challenge(Some(&protected), Some("insufficient_scope"), Some("a b")),
            "Bearer error=\"insufficient_scope\", scope=\"a b\", \
             resource_metadata=\"https://a.example/.well-known/oauth-protected-resource/mcp\""
        );
    }
}
