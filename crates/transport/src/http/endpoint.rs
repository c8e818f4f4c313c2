//! The HTTP endpoint: used by our server, and to mount into others.

use std::convert::Infallible;
use std::fmt;
use std::future::{Future, ready};
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
#[cfg(feature = "ws")]
use std::sync::{Mutex, PoisonError};
use std::task::Poll;

use http::{Request, Response, Version};
use http_body::Body as HttpBody;
#[cfg(feature = "ws")]
use hyper::upgrade::OnUpgrade;
use switchboard_core::{Account, Context, Extensions, Origin, Service, Session, Settings};

use super::answer::{RequestScope, answer};
use super::body::Body;
use super::fault::Fault;
use super::head::first_headers;
use super::in_flight::{InFlight, InFlightCount};
use super::options::EndpointOptions;
use super::rules::Rules;
use super::server_tap;
use super::sse::StreamGuard;
#[cfg(feature = "ws")]
use super::upgrade::Upgrade;
use crate::server::{CANCEL_TIME, ServerOptions, ServerState, Shutdown};

/// Answers HTTP requests with a service. Cheap to clone.
///
/// It is a `tower_service::Service`, so it works wherever one is accepted:
///
/// ```
/// # use switchboard_core::Router;
/// # use switchboard_transport::http::Endpoint;
/// # let router = Router::builder().build().unwrap();
/// let app: axum::Router = axum::Router::new().route_service("/rpc", Endpoint::mounted(router));
/// ```
///
/// Middleware in front of it can identify the caller: a [`Context`] among the extensions of a request becomes the context of its calls,
/// and of those over the WebSocket it is upgraded to. Otherwise, each request gets its own context, whose origin is `http`
/// without an address.
///
/// It handles bodies and WebSockets. The surrounding server handles connections: their number, idle ones, slow heads. Shut it
/// down with a [handle](Endpoint::handle).
#[derive(Clone)]
pub struct Endpoint(Arc<Parts>);

struct Parts {
    service: Arc<dyn Service>,
    settings: Settings,
    options: EndpointOptions,
    mounted: OnceLock<Mounted>,
}

/// What a mounted endpoint needs, made when it is first used.
struct Mounted {
    rules: Arc<Rules>,
    state: Arc<ServerState>,
    in_flight: Arc<InFlightCount>,
}

impl Drop for Parts {
    fn drop(&mut self) {
        // Connections hold on to the state that holds them, so nothing else ends them.
        if let Some(mounted) = self.mounted.get() {
            mounted.state.cancel_all();
        }
    }
}

/// Shuts down an endpoint that is mounted into another server. Cheap to clone.
///
/// The surrounding server does not know about WebSockets: once upgraded, they are no longer its connections. This drains them. They
/// last as long as the endpoint or a handle does.
///
/// # Examples
///
/// ```no_run
/// # use switchboard_core::Router;
/// # use switchboard_transport::http::Endpoint;
/// # async fn example(router: Router, listener: tokio::net::TcpListener, signal: tokio::sync::oneshot::Receiver<()>) {
/// let endpoint = Endpoint::mounted(router);
/// let handle = endpoint.handle();
/// let app: axum::Router = axum::Router::new().route_service("/rpc", endpoint);
/// let stopping = handle.clone();
/// let stopped = async move {
///     let _ = signal.await;
///     stopping.shutdown();
/// };
/// axum::serve(listener, app).with_graceful_shutdown(stopped).await.unwrap();
/// handle.finished().await;
/// # }
/// ```
#[derive(Clone)]
pub struct EndpointHandle(Endpoint);

impl EndpointHandle {
    /// Starts the shutdown: new requests get 503, event streams end with an error at once, and WebSockets are
    /// drained and end with a close frame.
    pub fn shutdown(&self) {
        self.0.mount().state.shutdown.request();
    }

    /// Waits until shutdown was requested and everything in flight is done. WebSockets that take longer than
    /// [`drain_time`](switchboard_core::Limits::drain_time) are closed; requests that do are left to the surrounding server.
    ///
    /// # Cancel safety
    ///
    /// Nothing is lost if the future is dropped.
    pub async fn finished(&self) {
        let Mounted { state, in_flight, .. } = self.0.mount();
        state.shutdown.wait().await;
        let time = state.engine.settings().limits.drain_time.saturating_add(CANCEL_TIME);
        if tokio::time::timeout(time, in_flight.wait_for_none()).await.is_err() {
            tracing::warn!("shutting down: cancelling the calls that took longer than limits.drain_time");
            state.cancel_all();
        }
    }
}

impl fmt::Debug for EndpointHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("EndpointHandle(..)")
    }
}

/// A request of a mounted endpoint.
struct MountedRequest {
    rules: Arc<Rules>,
    state: Arc<ServerState>,
    in_flight: InFlight,
    /// The connection as the surrounding server hands it over, if the request may ask for that.
    #[cfg(feature = "ws")]
    on: Mutex<Option<OnUpgrade>>,
}

impl RequestScope for MountedRequest {
    fn rules(&self) -> &Rules {
        &self.rules
    }

    #[cfg(feature = "ws")]
    fn upgrade(&self, cx: Context) -> bool {
        let on = self.on.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (Some(on), Some(permit)) = (on, self.state.admit(0, None)) else { return false };
        self.state.forget_finished();
        let (rules, in_flight) = (Arc::clone(&self.rules), self.in_flight.clone());
        permit.spawn(|permit| async move {
            Upgrade(cx).go_on_mounted(on, rules, permit).await;
            drop(in_flight);
        });
        true
    }

    fn account(&self) -> &Arc<Account> {
        self.state.mounted()
    }

    fn shutdown(&self) -> Arc<Shutdown> {
        Arc::clone(&self.state.shutdown)
    }

    fn stream_guard(&self) -> StreamGuard {
        StreamGuard::mounted(Arc::clone(&self.state.shutdown), self.in_flight.clone())
    }
}

impl Endpoint {
    /// An endpoint on the default paths, see [`EndpointOptions::paths`].
    #[must_use]
    pub fn new(service: impl Service) -> Endpoint {
        Endpoint::from_parts(Arc::new(service), Settings::default(), EndpointOptions::default())
    }

    /// An endpoint that serves any path it is mounted at.
    #[must_use]
    pub fn mounted(service: impl Service) -> Endpoint {
        let options = EndpointOptions::default().with_paths(Vec::new());
        Endpoint::new(service).with_options(options)
    }

    /// Sets the options.
    #[must_use]
    pub fn with_options(self, options: EndpointOptions) -> Endpoint {
        Endpoint::from_parts(Arc::clone(&self.0.service), self.0.settings.clone(), options)
    }

    /// Sets the limits and the dialect.
    #[must_use]
    pub fn with_settings(self, settings: Settings) -> Endpoint {
        Endpoint::from_parts(Arc::clone(&self.0.service), settings, self.0.options.clone())
    }

    fn from_parts(service: Arc<dyn Service>, settings: Settings, options: EndpointOptions) -> Endpoint {
        Endpoint(Arc::new(Parts { service, settings, options, mounted: OnceLock::new() }))
    }

    /// A handle that shuts down this endpoint if it is mounted into another server.
    #[must_use]
    pub fn handle(&self) -> EndpointHandle {
        EndpointHandle(self.clone())
    }

    fn mount(&self) -> &Mounted {
        self.0.mounted.get_or_init(|| {
            let rules = self.rules(None);
            let engine = rules.engine.clone();
            // The surrounding server counts connections.
            let buffers = self.0.options.buffers;
            let options = ServerOptions::default()
                .with_connections(usize::MAX)
                .with_duplex_idle_time(None)
                .with_buffers(buffers);
            let state = ServerState::new(engine, options, Extensions::default(), Arc::default());
            Mounted { rules, state, in_flight: Arc::default() }
        })
    }

    /// The rules of this endpoint where it is reached at this address, if that is known.
    pub(crate) fn rules(&self, address: Option<SocketAddr>) -> Arc<Rules> {
        let Parts { service, settings, options, .. } = &*self.0;
        Arc::new(Rules::new(Arc::clone(service), settings.clone(), options.clone(), address))
    }
}

impl fmt::Debug for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Endpoint").field("options", &self.0.options).finish_non_exhaustive()
    }
}

impl<B> tower_service::Service<Request<B>> for Endpoint
where
    B: HttpBody + Send + 'static,
    B::Data: Send,
{
    type Response = Response<Body>;
    type Error = Infallible;
    type Future = Answering;

    fn poll_ready(&mut self, _: &mut std::task::Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    #[cfg_attr(not(feature = "ws"), expect(unused_mut, reason = "only upgrades take something out"))]
    fn call(&mut self, mut request: Request<B>) -> Answering {
        let Mounted { rules, state, in_flight } = self.mount();
        let in_flight = in_flight.begin();
        if state.shutdown.is_requested() {
            server_tap::request(rules.settings(), &request);
            let closes = request.version() <= Version::HTTP_11;
            let response = Fault::ShuttingDown.respond(first_headers(true), closes);
            server_tap::response(rules.settings(), &response);
            return Answering(Box::pin(ready(Ok(response))));
        }
        // Without middleware that says who calls, each request stands for itself: the server may sit behind a proxy.
        let given = request.extensions().get::<Context>().cloned();
        let cx = given.unwrap_or_else(|| Context::from(Session::shared(Origin::new("http"))));
        cx.session().set_account(Arc::clone(state.mounted()));
        #[cfg(feature = "ws")]
        let on = Mutex::new(Upgrade::watch(&mut request));
        let admitted = rules.admit(request.map(Box::pin), &cx);
        let scope = MountedRequest {
            rules: Arc::clone(rules),
            state: Arc::clone(state),
            in_flight,
            #[cfg(feature = "ws")]
            on,
        };
        Answering(Box::pin(answer(scope, admitted)))
    }
}

/// A pending response. Dropping it cancels the calls of the request.
#[must_use = "dropping the future cancels the calls"]
pub struct Answering(Pin<Box<dyn Future<Output = Result<Response<Body>, Infallible>> + Send>>);

impl Future for Answering {
    type Output = Result<Response<Body>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut std::task::Context<'_>) -> Poll<Self::Output> {
        self.0.as_mut().poll(cx)
    }
}

impl fmt::Debug for Answering {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Answering(..)")
    }
}

#[cfg(all(test, feature = "ws"))]
mod tests {
    use http::{StatusCode, header};
    use switchboard_core::Router;
    use tower_service::Service as _;

    use super::*;

    #[tokio::test]
    async fn a_websocket_without_a_permit_is_refused_before_it_is_promised() {
        let mut endpoint = Endpoint::mounted(Router::builder().build().unwrap());
        let rules = endpoint.rules(None);
        let options = ServerOptions::default().with_connections(0);
        let state = ServerState::new(rules.engine.clone(), options, Extensions::default(), Arc::default());
        let mounted = Mounted { rules, state, in_flight: Arc::default() };
        assert!(endpoint.0.mounted.set(mounted).is_ok());
        let request = Request::get("/rpc")
            .header(header::HOST, "localhost")
            .header(header::CONNECTION, "upgrade")
            .header(header::UPGRADE, "websocket")
            .header(header::SEC_WEBSOCKET_VERSION, "13")
            .header(header::SEC_WEBSOCKET_KEY, "dGhlIHNhbXBsZSBub25jZQ==")
            .body(Body::new(bytes::Bytes::new()))
            .unwrap();
        let response = endpoint.call(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::SERVICE_UNAVAILABLE);
        assert_eq!(response.headers()[header::RETRY_AFTER], "1");
        assert!(!response.headers().contains_key(header::SEC_WEBSOCKET_ACCEPT));
    }
}
