//! An endpoint for requests: what our server runs, and what mounts into other people's.

use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
#[cfg(feature = "ws")]
use std::sync::{Mutex, PoisonError};
use std::task::Poll;

use http::{Request, Response};
use http_body::Body as HttpBody;
use switchboard_core::{Context, Origin, Service, Settings};
#[cfg(feature = "ws")]
use tokio::task::JoinSet;

use super::answer::{Held, answer};
use super::body::Body;
use super::options::Options;
use super::rules::Rules;
#[cfg(feature = "ws")]
use super::upgrade::Upgrade;
use crate::budget::Budget;

/// Answers HTTP requests with a service. Cheap to clone.
///
/// It is a `tower_service::Service`, so it goes wherever one of those goes:
///
/// ```
/// # use switchboard_core::Router;
/// # use switchboard_transport::http::Endpoint;
/// # let router = Router::builder().build().unwrap();
/// let app: axum::Router = axum::Router::new().route_service("/rpc", Endpoint::mounted(router));
/// ```
///
/// A layer in front of it can say who calls: a [`Context`] among the extensions of a request becomes the context of
/// its calls. Without one, their origin is `http` without an address.
///
/// It sees to bodies only. What belongs to connections (their number, idle ones, slow heads) is the surrounding
/// server's.
#[derive(Clone)]
pub struct Endpoint(Arc<Parts>);

struct Parts {
    service: Arc<dyn Service>,
    settings: Settings,
    options: Options,
    mounted: OnceLock<Mounted>,
    /// The WebSocket connections of a mounted endpoint, which end with it.
    #[cfg(feature = "ws")]
    upgraded: Mutex<JoinSet<()>>,
}

/// What a mounted endpoint needs, made when it is first used.
struct Mounted {
    rules: Arc<Rules>,
    budget: Arc<Budget>,
    cx: Context,
}

impl Held for Mounted {
    fn rules(&self) -> &Rules {
        &self.rules
    }

    fn cx(&self) -> &Context {
        &self.cx
    }

    fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }
}

impl Endpoint {
    /// An endpoint on the usual paths, see [`Options::paths`].
    #[must_use]
    pub fn new(service: impl Service) -> Endpoint {
        Endpoint::from_parts(Arc::new(service), Settings::default(), Options::default())
    }

    /// An endpoint that answers whatever path it is mounted at.
    #[must_use]
    pub fn mounted(service: impl Service) -> Endpoint {
        let options = Options { paths: Vec::new(), ..Options::default() };
        Endpoint::new(service).with_options(options)
    }

    /// The same endpoint with these options.
    #[must_use]
    pub fn with_options(self, options: Options) -> Endpoint {
        Endpoint::from_parts(Arc::clone(&self.0.service), self.0.settings.clone(), options)
    }

    /// The same endpoint with these limits and this dialect.
    #[must_use]
    pub fn with_settings(self, settings: Settings) -> Endpoint {
        Endpoint::from_parts(Arc::clone(&self.0.service), settings, self.0.options.clone())
    }

    /// The same endpoint for this service.
    pub(crate) fn with_service(self, service: Arc<dyn Service>) -> Endpoint {
        Endpoint::from_parts(service, self.0.settings.clone(), self.0.options.clone())
    }

    fn from_parts(service: Arc<dyn Service>, settings: Settings, options: Options) -> Endpoint {
        Endpoint(Arc::new(Parts {
            service,
            settings,
            options,
            mounted: OnceLock::new(),
            #[cfg(feature = "ws")]
            upgraded: Mutex::default(),
        }))
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
        let make = || Mounted {
            rules: self.rules(None),
            budget: Budget::new(self.0.options.buffers),
            cx: Context::new(Origin::new("http")),
        };
        let mounted = self.0.mounted.get_or_init(make);
        let cx = request.extensions().get::<Context>().unwrap_or(&mounted.cx).clone();
        #[cfg(feature = "ws")]
        let on = Upgrade::watch(&mut request);
        #[cfg_attr(not(feature = "ws"), expect(unused_mut, reason = "only upgrades take something out"))]
        let mut admitted = mounted.rules.admit(request.map(Box::pin));
        #[cfg(feature = "ws")]
        if let (Some(on), Some(upgrade)) = (on, Upgrade::of(&mut admitted)) {
            let mut upgraded = self.0.upgraded.lock().unwrap_or_else(PoisonError::into_inner);
            while upgraded.try_join_next().is_some() {}
            let (rules, budget) = (Arc::clone(&mounted.rules), Arc::clone(&mounted.budget));
            upgraded.spawn(upgrade.go_on_mounted(on, rules, budget, cx.clone()));
        }
        let (rules, budget) = (Arc::clone(&mounted.rules), Arc::clone(&mounted.budget));
        let held = Mounted { rules, budget, cx };
        Answering(Box::pin(answer(held, admitted)))
    }
}

/// A response on its way. Dropping it cancels the calls of the request.
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
