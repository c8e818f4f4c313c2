//! jsonrpsee behind a tower layer that checks a bearer token.

use std::cell::RefCell;
use std::future::{Ready, ready as answered};
use std::hint::black_box;
use std::task::{Context, Poll};

use bytes::Bytes;
use futures_util::future::Either;
use http_body_util::{BodyExt, Full};
use jsonrpsee::server::{
    HttpBody, HttpRequest, HttpResponse, Server, ServerHandle, TowerService, stop_channel,
};
use tower::layer::util::{Identity, Stack};
use tower::{Layer, Service, ServiceBuilder};

use super::jsonrpsee::{config, module};
use super::secured::{AUTHORIZATION, TOKEN};
use super::{Case, ready};

/// A tower layer that answers requests without the token with 401.
#[derive(Clone, Copy, Debug)]
pub struct CheckBearer;

/// A service behind [`CheckBearer`].
#[derive(Clone, Debug)]
pub struct Checked<S>(S);

impl<S> Layer<S> for CheckBearer {
    type Service = Checked<S>;

    fn layer(&self, inner: S) -> Checked<S> {
        Checked(inner)
    }
}

impl<S, B> Service<HttpRequest<B>> for Checked<S>
where
    S: Service<HttpRequest<B>, Response = HttpResponse>,
{
    type Response = HttpResponse;
    type Error = S::Error;
    type Future = Either<S::Future, Ready<Result<HttpResponse, S::Error>>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, request: HttpRequest<B>) -> Self::Future {
        let value = request.headers().get("authorization").and_then(|value| value.to_str().ok());
        let token = value.and_then(|value| value.strip_prefix("Bearer "));
        if token.is_some_and(|token| is_equal(token.as_bytes(), TOKEN.as_bytes())) {
            return Either::Left(self.0.call(request));
        }
        let refusal = HttpResponse::builder().status(401).body(HttpBody::empty());
        Either::Right(answered(Ok(refusal.expect("the response is well formed"))))
    }
}

/// Compares in a time that depends on the length only.
fn is_equal(one: &[u8], other: &[u8]) -> bool {
    let difference = one.iter().zip(other).fold(0, |all, (one, other)| black_box(all | (one ^ other)));
    one.len() == other.len() && difference == 0
}

/// What a user of jsonrpsee passes to its server.
pub fn middleware() -> ServiceBuilder<Stack<CheckBearer, Identity>> {
    ServiceBuilder::new().layer(CheckBearer)
}

/// jsonrpsee's tower service behind the layer.
pub struct Bearer {
    service: RefCell<TowerService<Identity, Stack<CheckBearer, Identity>>>,
    _running: ServerHandle,
}

impl Bearer {
    /// With its methods registered.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let (stop, running) = stop_channel();
        let builder = Server::builder().set_config(config()).set_http_middleware(middleware());
        let service = builder.to_service_builder().build(module(), stop);
        Self { service: RefCell::new(service), _running: running }
    }
}

impl Case for Bearer {
    fn name(&self) -> &'static str {
        "jsonrpsee-bearer"
    }

    fn call(&self, body: Bytes) -> Bytes {
        let request = HttpRequest::post("/")
            .header("content-type", "application/json")
            .header("content-length", body.len())
            .header("authorization", AUTHORIZATION)
            .body(Full::new(body))
            .expect("the request is well formed");
        let future = self.service.borrow_mut().call(request);
        ready(async {
            let response = future.await.expect("the service does not fail");
            response.into_body().collect().await.expect("the body is in memory").to_bytes()
        })
    }
}
