//! The card at its well-known path (A2A-C-01).

use std::fmt;
use std::sync::Arc;
use std::time::SystemTime;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderValue};
use http::request::Parts;
use http::{Method, Response, StatusCode};
use switchboard_transport::http::{Body, Guarded, Route, RouteFuture};

use super::base::Base;
use crate::server::{Server, Shared};

/// Serves the card of an agent. Clients may keep it for an hour, and then ask whether it has changed.
///
/// A card without interfaces names the path of the agent at its [origin](crate::Agent::with_origin), or at the one that the request was sent to.
#[derive(Clone)]
pub struct CardRoute {
    shared: Arc<Shared>,
    path: String,
    since: SystemTime,
    is_for_old: bool,
    tenant: Option<String>,
}

impl CardRoute {
    /// Where clients look for the card.
    pub const PATH: &'static str = "/.well-known/agent-card.json";

    /// The card of this agent, whose calls are answered at this path.
    #[must_use]
    pub fn new(server: &Server, path: impl Into<String>) -> CardRoute {
        CardRoute {
            shared: Arc::clone(&server.0),
            path: path.into(),
            since: SystemTime::now(),
            is_for_old: true,
            tenant: None,
        }
    }

    /// Tells clients that the agent is the one of this tenant, see [`Tenants`](crate::Tenants).
    #[must_use]
    pub fn with_tenant(self, tenant: impl Into<String>) -> CardRoute {
        CardRoute { tenant: Some(tenant.into()), ..self }
    }

    /// Leaves out the members that only clients of 0.3 look for. The schema of 1.0 allows no others, but clients ignore them.
    #[must_use]
    pub fn without_old_members(self) -> CardRoute {
        CardRoute { is_for_old: false, ..self }
    }

    fn respond(&self, request: &Guarded) -> Response<Body> {
        let headers = &request.head.headers;
        let host = request.head.uri.authority().map(http::uri::Authority::as_str);
        let host = host.or_else(|| headers.get(header::HOST)?.to_str().ok());
        let base = Base::new(&request.cx, host, &self.path, self.tenant.clone());
        let text = self.shared.document(base.as_ref(), self.is_for_old).to_string();
        let digest = aws_lc_rs::digest::digest(&aws_lc_rs::digest::SHA256, text.as_bytes());
        let hex: String = digest.as_ref()[..16].iter().map(|byte| format!("{byte:02x}")).collect();
        let tag = format!("\"{hex}\"");
        let is_known = knows(headers, &tag);
        let mut response = match is_known {
            true => Response::new(Body::empty()),
            false => Response::new(Body::new(Bytes::from(text))),
        };
        if is_known {
            *response.status_mut() = StatusCode::NOT_MODIFIED;
        }
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, max-age=3600"));
        headers.insert(header::VARY, HeaderValue::from_static("host"));
        if let Ok(since) = HeaderValue::from_str(&httpdate::fmt_http_date(self.since)) {
            headers.insert(header::LAST_MODIFIED, since);
        }
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            headers.insert(header::ETAG, tag);
        }
        response
    }
}

/// Whether the client has the card with this tag.
fn knows(headers: &HeaderMap, tag: &str) -> bool {
    let lists = headers.get_all(header::IF_NONE_MATCH).iter().filter_map(|list| list.to_str().ok());
    lists.flat_map(|list| list.split(',')).any(|known| {
        let known = known.trim();
        known == "*" || known.strip_prefix("W/").unwrap_or(known) == tag
    })
}

impl Route for CardRoute {
    fn takes(&self, head: &Parts) -> bool {
        matches!(head.method, Method::GET | Method::HEAD)
    }

    fn takes_post(&self) -> bool {
        false
    }

    fn answer(&self, request: Guarded) -> RouteFuture {
        RouteFuture::ready(self.respond(&request))
    }
}

impl fmt::Debug for CardRoute {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CardRoute").field("path", &self.path).finish_non_exhaustive()
    }
}
