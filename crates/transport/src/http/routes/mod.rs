//! Routes: what an endpoint serves besides calls, at other paths: event streams, documents, pages, and other services.
//!
//! Requests to a route pass the same checks as calls, those of `Host` and `Origin`. Bodies have the same limits of size,
//! time and memory, and the server waits for the response when it shuts down.

mod document;
mod events;
mod get;
mod guarded;
mod page;
mod proxy;
mod stream;
mod text;
mod tower;

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context as Task, Poll};

use http::header::{self, HeaderMap};
use http::request::Parts;
use http::{Method, Response};
use http_body::Body as HttpBody;
use switchboard_core::Context;

pub use self::document::DocumentRoute;
pub use self::events::EventStreams;
pub use self::get::Get;
pub use self::guarded::{Guarded, RequestBody, Unread};
pub use self::page::Page;
pub use self::proxy::ProxyRoute;
pub(super) use self::stream::CallsInParts;
pub use self::stream::StreamRoute;
pub use self::text::TextRoute;
pub use self::tower::{Tower, tower};
use super::answer::{RequestScope, end_body};
use super::body::Body;
use super::rules::Special;
use super::server_tap;

/// Answers HTTP requests at a path, see [`EndpointOptions::route`](super::EndpointOptions::route).
///
/// Responses get the headers that every response of the endpoint has, unless the route has set them: `cache-control: no-store`,
/// and those that keep browsers from misusing the content.
///
/// # Examples
///
/// ```
/// use http::Response;
/// use switchboard_transport::http::{Body, Guarded, EndpointOptions, Route, RouteFuture};
///
/// struct Health;
///
/// impl Route for Health {
///     fn answer(&self, _: Guarded) -> RouteFuture {
///         RouteFuture::ready(Response::new(Body::new("well")))
///     }
/// }
///
/// let options = EndpointOptions::default().route("/health", Health);
/// ```
pub trait Route: Send + Sync + 'static {
    /// Whether it answers a request with this head. Other requests are treated as if the route did not exist.
    fn takes(&self, head: &Parts) -> bool {
        let _ = head;
        true
    }

    /// Whether it answers POST requests. If not, its path can also serve calls.
    fn takes_post(&self) -> bool {
        true
    }

    /// Whether it sets all headers of its responses itself, as an application with its own pages does.
    fn sets_all_headers(&self) -> bool {
        false
    }

    /// Answers a request that has passed the checks. Dropping the future cancels it.
    fn answer(&self, request: Guarded) -> RouteFuture;
}

/// A response, ready or pending.
pub struct RouteFuture(RouteFutureState);

enum RouteFutureState {
    Ready(Option<Box<Response<Body>>>),
    Pending(Pin<Box<dyn Future<Output = Response<Body>> + Send>>),
}

impl RouteFuture {
    /// A ready response.
    #[must_use]
    pub fn ready(response: Response<Body>) -> RouteFuture {
        RouteFuture(RouteFutureState::Ready(Some(Box::new(response))))
    }

    /// A pending response.
    #[must_use]
    pub fn new(response: impl Future<Output = Response<Body>> + Send + 'static) -> RouteFuture {
        RouteFuture(RouteFutureState::Pending(Box::pin(response)))
    }
}

impl Future for RouteFuture {
    type Output = Response<Body>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Task<'_>) -> Poll<Response<Body>> {
        match &mut self.0 {
            RouteFutureState::Ready(response) => {
                Poll::Ready(*response.take().expect("it is polled until it is ready"))
            }
            RouteFutureState::Pending(response) => response.as_mut().poll(cx),
        }
    }
}

impl fmt::Debug for RouteFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RouteFuture(..)")
    }
}

/// The routes of an endpoint. Cheap to clone.
#[derive(Clone, Default)]
pub struct Routes(Vec<(String, Arc<dyn Route>)>);

impl Routes {
    pub(super) fn add(&mut self, path: String, route: Arc<dyn Route>) {
        self.0.push((path, route));
    }

    /// The route for this head at exactly its path; of several, the one that was added last.
    pub(super) fn exact(&self, head: &Parts) -> Option<&Arc<dyn Route>> {
        self.find(head, |path, asked| path == asked)
    }

    /// The route that covers the path of this head and all others below the same prefix; the longest prefix goes first.
    pub(super) fn below(&self, head: &Parts) -> Option<&Arc<dyn Route>> {
        let covers =
            |path: &str, asked: &str| path.strip_suffix('*').is_some_and(|start| asked.starts_with(start));
        let found = self.matching(head, covers);
        found.max_by_key(|(path, _)| path.len()).map(|(_, route)| route)
    }

    /// Whether a POST to this path may be for a route.
    pub(super) fn takes_post(&self, path: &str) -> bool {
        self.0.iter().any(|(own, route)| own == path && route.takes_post())
    }

    fn find(&self, head: &Parts, is_at: impl Fn(&str, &str) -> bool) -> Option<&Arc<dyn Route>> {
        self.matching(head, is_at).last().map(|(_, route)| route)
    }

    fn matching(
        &self,
        head: &Parts,
        is_at: impl Fn(&str, &str) -> bool,
    ) -> impl Iterator<Item = &(String, Arc<dyn Route>)> {
        self.0.iter().filter(move |(path, route)| {
            is_at(path, head.uri.path())
                && (head.method != Method::POST || route.takes_post())
                && route.takes(head)
        })
    }
}

impl fmt::Debug for Routes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|(path, _)| path)).finish()
    }
}

/// A request for a route.
pub(super) struct RouteRequest {
    pub(super) head: Parts,
    pub(super) route: Arc<dyn Route>,
}

/// Lets a route answer, and adds the headers that every response has.
pub(super) async fn answer<B>(
    scope: impl RequestScope + 'static,
    body: B,
    special: Option<Box<Special>>,
    headers: HeaderMap,
    cx: Context,
    is_http1: bool,
) -> Response<Body>
where
    B: HttpBody + Unpin + Send + 'static,
    B::Data: Send,
{
    let Some(Special::Route(RouteRequest { head, route })) = special.map(|special| *special) else {
        unreachable!("a request for a route names it");
    };
    // Kept until there is a response, whatever the route does with its request.
    let scope: Arc<dyn RequestScope> = Arc::new(scope);
    let expects = head.headers.contains_key(header::EXPECT);
    let mut guarded = Guarded::new(head, cx, body, Arc::clone(&scope), is_http1);
    let unread = guarded.unread_body();
    let mut response = route.answer(guarded).await;
    let own = std::mem::replace(response.headers_mut(), headers);
    complete(response.headers_mut(), own);
    if let Some(mut body) = unread.take() {
        end_body(&*scope, &mut body, expects, is_http1, response.headers_mut()).await;
    }
    response.body_mut().hold(|| scope.stream_guard());
    server_tap::response(scope.rules().settings(), &response);
    response
}

/// Adds the headers of a route to those that every response has. Its own values go before, but `Vary` adds up: a cache has to know
/// of `Origin` and of what the route decided by.
fn complete(headers: &mut HeaderMap, own: HeaderMap) {
    let varies: Vec<_> = headers.get_all(header::VARY).iter().cloned().collect();
    headers.extend(own);
    for value in varies {
        if !headers.get_all(header::VARY).iter().any(|given| *given == value) {
            headers.append(header::VARY, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn the_headers_of_a_route_replace_others_and_vary_adds_up() {
        let map = |pairs: &[(&'static str, &'static str)]| {
            let pairs = pairs
                .iter()
                .map(|(name, value)| (http::HeaderName::from_static(name), HeaderValue::from_static(value)));
            pairs.collect::<HeaderMap>()
        };
        let mut headers = map(&[("cache-control", "no-store"), ("vary", "origin")]);
        complete(&mut headers, map(&[("cache-control", "public"), ("vary", "accept")]));
        assert_eq!(headers.get("cache-control").unwrap(), "public");
        let varies: Vec<_> = headers.get_all("vary").iter().collect();
        assert_eq!(varies, ["accept", "origin"]);
    }
}
