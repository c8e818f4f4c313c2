//! Calling over HTTP: one POST for each call or batch, over pooled connections.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use bytes::Bytes;
use http::header::{self, HeaderMap, HeaderValue};
use http::uri::Scheme;
use http::{Method, Response, Uri};
use hyper::body::Incoming;
use hyper_util::client::legacy;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use switchboard_core::{Call, CallError, Peer, Remote, Reply, ReplyFuture, Service, Settings};

use super::calls::Calls;
use super::client_options::HttpClientOptions;
use super::connector::Connector;
use super::outcome::failure;
use super::plain_calls::PlainCalls;
use super::url::{self, HttpUrlError};
#[cfg(feature = "tls")]
use crate::tls::{ClientFiles, ClientTls};

/// A peer for the server at this URL. Nothing is sent before the first call.
///
/// # Errors
///
/// When it is not an `http` or `https` URL.
///
/// # Examples
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let peer = switchboard_transport::http::connect("http://127.0.0.1:8000/rpc")?;
/// let sum: i64 = peer.call("add", [2, 3]).await?;
/// # Ok(())
/// # }
/// ```
pub fn connect(url: &str) -> Result<Peer, HttpUrlError> {
    Ok(Peer::new(Client::new(url)?))
}

/// Calls a server over HTTP. Cheap to clone; all clones share their connections.
///
/// Identifiers count up from 1. A call is sent once: a request without a response may have been executed, so it is
/// never sent again (JH-28). Only if a pooled connection turns out to be closed before anything was sent, the call goes
/// out over another one. Redirects are not followed. Dropping the future of a call closes its connection, or resets its
/// stream, which cancels the call on servers that notice.
///
/// A call that wants a stream ([`Peer::stream`]) or progress ([`on_progress`](switchboard_core::Request::on_progress)) asks for an event stream,
/// see [`sse`](super::sse). Every call accepts its response as JSON or as an event stream, whichever it asked for. A stream starts with its first
/// event, or earlier if the server announces it, as ours does.
#[derive(Clone)]
pub struct Client {
    pub(super) inner: Arc<Calls>,
    /// Receives the notifications in event streams.
    service: Option<Arc<dyn Service>>,
}

impl Client {
    /// A client of the server at this URL.
    ///
    /// # Errors
    ///
    /// When it is not an `http` or `https` URL.
    pub fn new(url: &str) -> Result<Client, HttpUrlError> {
        Client::with_options(url, HttpClientOptions::default())
    }

    /// A client with these options.
    ///
    /// # Errors
    ///
    /// When it is not an `http` or `https` URL.
    pub fn with_options(url: &str, mut options: HttpClientOptions) -> Result<Client, HttpUrlError> {
        let uri = url::parse(url)?;
        let connector = connector(&uri, &options)?;
        #[cfg(feature = "tls")]
        let refusal = connector.refusal();
        complete(&mut options.headers);
        let target = url::target(&uri);
        let plain = PlainCalls::new(&uri, &target, &options, &connector);
        let http = legacy::Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(options.idle_time)
            .http2_only(options.http2)
            .build(connector);
        let limits = options.limits.clone().with_frame(usize::MAX);
        let inner = Calls {
            http,
            #[cfg(feature = "tls")]
            refusal,
            plain,
            target,
            uri,
            options,
            settings: Settings::default().with_limits(limits),
            next_id: AtomicU64::new(1),
        };
        Ok(Client { inner: Arc::new(inner), service: None })
    }

    /// Passes the notifications in event streams to this service, one after the
    /// other and before what follows them. By default they are dropped.
    #[must_use]
    pub fn with_service(mut self, service: impl Service) -> Client {
        self.service = Some(Arc::new(service));
        self
    }

    /// Sends this body as it is, with these headers only, and gives the response as soon as its head is there. The caller limits
    /// the time.
    pub(super) async fn pass(
        &self,
        mut headers: HeaderMap,
        text: Bytes,
    ) -> Result<Response<Incoming>, CallError> {
        let mut request = self.inner.request(None, text);
        if let Some(agent) = self.inner.options.headers.get(header::USER_AGENT) {
            headers.entry(header::USER_AGENT).or_insert_with(|| agent.clone());
        }
        *request.headers_mut() = headers;
        self.inner.post(request).await
    }

    /// Sends this body as it is, with these headers instead of those of the client that have the same names, and gives the response as
    /// soon as its head is there. The caller limits the time.
    pub(super) async fn request_with(
        &self,
        method: Method,
        headers: HeaderMap,
        text: Bytes,
    ) -> Result<Response<Incoming>, CallError> {
        let mut request = self.inner.request(None, text);
        *request.method_mut() = method;
        for (name, value) in &headers {
            request.headers_mut().insert(name, value.clone());
        }
        self.inner.post(request).await
    }

    /// Asks for what is at the URL, and gives the response as soon as its head is there. The caller limits the time.
    pub(super) async fn get(&self) -> Result<Response<Incoming>, CallError> {
        let mut request = self.inner.request(None, Bytes::new());
        *request.method_mut() = Method::GET;
        request.headers_mut().remove(header::CONTENT_TYPE);
        self.inner.post(request).await
    }
}

fn connector(uri: &Uri, options: &HttpClientOptions) -> Result<Connector, HttpUrlError> {
    let connector = Connector::new(options);
    if uri.scheme() != Some(&Scheme::HTTPS) {
        return Ok(connector);
    }
    #[cfg(feature = "tls")]
    {
        let tls = match &options.tls {
            Some(tls) => tls.clone(),
            None => ClientTls::load(&ClientFiles::default())
                .map_err(|error| HttpUrlError::Tls(error.to_string()))?,
        };
        Ok(connector.with_tls(tls.for_http(options.http2)))
    }
    #[cfg(not(feature = "tls"))]
    Err(HttpUrlError::Scheme(uri.to_string()))
}

/// Adds the headers that every call has, unless they are given.
fn complete(headers: &mut HeaderMap) {
    const AGENT: &str = concat!("switchboard/", env!("CARGO_PKG_VERSION"));
    let json = HeaderValue::from_static("application/json");
    headers.entry(header::CONTENT_TYPE).or_insert_with(|| json.clone());
    headers.entry(header::ACCEPT).or_insert(json);
    headers.entry(header::USER_AGENT).or_insert(HeaderValue::from_static(AGENT));
}

impl Service for Client {
    fn call(&self, call: &Call) -> ReplyFuture {
        let (inner, service) = (Arc::clone(&self.inner), self.service.clone());
        if let Some((message, asked)) = inner.plain_message(call, service.as_ref()) {
            return ReplyFuture::pending(async move {
                inner.call_plainly(message, asked).await.unwrap_or_else(failure)
            });
        }
        let call = call.clone();
        ReplyFuture::pending(async move { inner.call(&call, service).await.unwrap_or_else(failure) })
    }
}

impl Remote for Client {
    fn batch(&self, calls: Vec<Call>) -> Pin<Box<dyn Future<Output = Vec<Reply>> + Send>> {
        let (inner, service) = (Arc::clone(&self.inner), self.service.clone());
        Box::pin(async move { inner.batch(&calls, service).await })
    }

    fn closed(&self) -> Pin<Box<dyn Future<Output = CallError> + Send>> {
        Box::pin(std::future::pending())
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("target", &self.inner.target).finish_non_exhaustive()
    }
}
