//! The client: it calls tools, reads resources and fills in prompts, over any transport and in every revision.
//!
//! A connection belongs to a [`Program`](program), which answers the questions of the server, or to the clients behind an adapter: then
//! questions are passed on to the client of the call that the server works on ([`forwarded`]).

mod about;
mod builder;
mod cache;
mod calls;
mod clock;
mod connect;
mod credentials;
pub(crate) mod forwarded;
mod headers;
mod http;
mod listener;
mod old_sse;
mod pages;
mod program;
mod request;
pub(crate) mod rounds;
mod tools;
mod watch;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use switchboard_core::{CallError, Context, ErrorObject, Json, Outcome, Peer, Reply, ReplyFuture, Service};

use self::about::{About, Claim};
pub use self::builder::ClientBuilder;
use self::cache::Cache;
pub use self::calls::{PromptResult, ToolError};
use self::clock::Clock;
pub use self::connect::Connector;
pub(crate) use self::connect::HANDSHAKE;
pub use self::credentials::{Credentials, CredentialsFuture, Refusal, Unsent};
use self::forwarded::Forwarded;
pub(crate) use self::headers::{ParamHeaders, param_headers};
use self::http::Link;
use self::listener::{Host, Listening};
pub use self::pages::Pages;
pub use self::request::{Progress, Request};
use self::rounds::{Asked, Request as Sent, in_rounds};
use self::tools::Tools;
pub use self::watch::{Change, Watch};
use crate::model::{
    COMPLETE, Capability, Implementation, LogLevel, Revision, ServerCapabilities, error, methods,
};
use crate::object::Object;
use crate::spoken::Features;

/// A client of an MCP server. Cheap to clone; all clones share the connection, which ends with the last of them.
///
/// [`Client::builder`] connects. Which revisions the server speaks is found out then: calls are the same for all of them.
///
/// # Examples
///
/// ```no_run
/// use serde_json::json;
/// use switchboard_mcp::Client;
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Client::builder("my-app", "1.0.0").connect("http://127.0.0.1:8000/mcp").await?;
/// let sum: f64 = client.call("math_add", json!({"a": 2, "b": 3})).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    peer: Peer,
    agreed: Arc<Agreed>,
    shared: Arc<Shared>,
    pub(crate) listening: Arc<Listening>,
}

/// What all clones of a client share, beside the connection.
struct Shared {
    about: Arc<About>,
    /// How long a request may take, unless it says something else.
    timeout: Duration,
    /// The connection, if it is one of streamable HTTP.
    link: Option<Link>,
}

/// What the server said about itself, and the revision in use.
#[derive(Debug)]
struct Agreed {
    revision: Revision,
    capabilities: ServerCapabilities,
    server: Option<Implementation>,
    instructions: Option<String>,
}

/// What is known about a server until it says that it has changed.
#[derive(Debug, Default)]
struct Known {
    cache: Cache,
    tools: Tools,
}

/// How long a request may take.
const TIMEOUT: Duration = Duration::from_secs(60);

impl Client {
    /// The revision in use.
    #[must_use]
    pub fn revision(&self) -> Revision {
        self.agreed.revision
    }

    /// What the server says about itself.
    #[must_use]
    pub fn server(&self) -> Option<&Implementation> {
        self.agreed.server.as_ref()
    }

    /// Instructions for models on how to use the server.
    #[must_use]
    pub fn instructions(&self) -> Option<&str> {
        self.agreed.instructions.as_deref()
    }

    /// What the server offers.
    #[must_use]
    pub fn capabilities(&self) -> &ServerCapabilities {
        &self.agreed.capabilities
    }

    /// Whether the server has this capability.
    #[must_use]
    pub fn has(&self, capability: Capability) -> bool {
        self.agreed.capabilities.has(capability)
    }

    /// Ends the connection, and waits until the server knows that its session is over. Do not use clones of the client any more.
    ///
    /// Dropping the last clone ends the session too, in the background: a program that ends at once may not get that far.
    pub async fn close(self) {
        if let Some(link) = &self.shared.link {
            link.end().await;
        }
    }

    /// Whether arguments travel in headers too.
    fn mirrors(&self) -> bool {
        self.shared.link.is_some() && self.revision().is_stateless()
    }

    fn timeout(&self) -> Duration {
        self.shared.timeout
    }

    fn tools_known(&self) -> &Tools {
        &self.listening.known.tools
    }

    fn forget_list(&self, method: &str) {
        self.listening.known.cache.forget_list(method);
    }

    /// The result of a request of the program that the client belongs to. Its context has the clock.
    async fn answer(&self, sent: &Sent, cx: &Context, is_fresh: bool) -> Result<Json, CallError> {
        let cache = &self.listening.known.cache;
        let key =
            (self.revision().is_stateless() && methods::CACHEABLE.contains(&&*sent.method)).then(|| {
                let target = sent.params.iter().find(|(name, _)| name == "cursor" || name == "uri");
                (sent.method.clone(), target.map(|(_, value)| value.detached()))
            });
        let age = match key.as_ref().filter(|_| !is_fresh).map(|key| cache.find(key)) {
            Some(Ok(found)) => return Ok(found),
            Some(Err(age)) => age,
            None => cache.age(),
        };
        let (told, rounds) = self.answer_with_headers(sent, cx).await?;
        // MCP-K-02: a later round depends on the answers of the user.
        if let Some(key) = key.filter(|_| rounds == 1) {
            cache.keep(key, &told, age);
        }
        Ok(told)
    }

    /// Sends a request with the headers of its arguments. If the server expects others, its tools are listed again (MCP-N-14).
    async fn answer_with_headers(&self, sent: &Sent, cx: &Context) -> Result<(Json, usize), CallError> {
        if sent.method != methods::CALL_TOOL || !self.mirrors() {
            return self.converse(sent.clone(), cx).await;
        }
        let described = self.with_headers(sent).await?;
        match self.converse(described, cx).await {
            Err(CallError::Rejected(refusal)) if refusal.code == error::HEADER_MISMATCH => {
                self.tools_known().clear();
                self.forget_list(methods::LIST_TOOLS);
                self.converse(self.with_headers(sent).await?, cx).await
            }
            told => told,
        }
    }

    /// The request for a tool, with the headers of its arguments. Tools that are not known are listed.
    async fn with_headers(&self, sent: &Sent) -> Result<Sent, CallError> {
        let member =
            |name: &str| sent.params.iter().find(|(member, _)| member == name).map(|(_, value)| value);
        let name: String = member("name").and_then(|name| name.decode().ok()).unwrap_or_default();
        let found = match self.tools_known().find(&name) {
            Some(found) => found,
            None => {
                // A boxed future, because listing asks for pages in the same way.
                let listing: std::pin::Pin<Box<dyn Future<Output = _> + Send>> =
                    Box::pin(self.list(methods::LIST_TOOLS, "tools"));
                listing.await?;
                self.tools_known().find(&name).unwrap_or_else(|| Ok(Arc::from([])))
            }
        };
        let params = found.map_err(|why| {
            CallError::Unsupported(
                format!("the tool {name:?} is described wrongly and must not be called: {why}").into(),
            )
        })?;
        let headers =
            member("arguments").map(|arguments| param_headers(arguments, &params)).unwrap_or_default();
        Ok(Sent { headers, ..sent.clone() })
    }

    /// Sends a request, and answers the questions of the server. Gives the result, and how often the request was sent for it.
    async fn converse(&self, sent: Sent, cx: &Context) -> Result<(Json, usize), CallError> {
        let (reply, rounds) = match self.listening.host() {
            Host::Program(program)
                if self.revision().is_stateless() && methods::MAY_ASK.contains(&&*sent.method) =>
            {
                in_rounds(self.clone(), sent, cx.clone(), Asked::Program(Arc::clone(program))).await
            }
            _ => (sent.send(self, cx).await, 1),
        };
        match reply.outcome {
            Outcome::Value(value) => Ok((value, rounds)),
            Outcome::Error(error) => Err(error.into()),
            Outcome::Stream(_) => Err(CallError::Protocol("the answer is a stream".into())),
        }
    }

    /// Says which log messages are wanted, if the server keeps that.
    pub(crate) async fn set_level(&self, level: LogLevel) {
        if self.revision().is_stateless() || !self.has(Capability::Logging) {
            return;
        }
        let params = Object::new().with("level", level.as_str());
        drop(self.ask(methods::SET_LEVEL, params).await);
    }

    /// Sends a request of our own, which a server must not let wait for long.
    async fn ask(&self, method: &str, params: Object<'_>) -> Reply {
        let reply = self.send(method, params, &Context::default(), ParamHeaders::default());
        let reply = tokio::time::timeout(HANDSHAKE, reply).await;
        reply.unwrap_or_else(|_| Reply::error(CallError::TimedOut.into()))
    }

    /// Notifies the server, if it has sessions.
    pub(crate) async fn notify(&self, method: &'static str) {
        if !self.revision().is_stateless()
            && let Err(error) = self.peer.notify(method, ()).await
        {
            tracing::debug!(%error, method, "an MCP server was not notified");
        }
    }

    /// Sends a request, on behalf of the call with this context.
    pub(crate) fn send(
        &self,
        method: &str,
        params: Object<'_>,
        cx: &Context,
        headers: ParamHeaders,
    ) -> ReplyFuture {
        let features = match self.listening.host() {
            Host::Program(program) => program.features(),
            Host::Callers | Host::Owner(_) => Features::default(),
        };
        self.forward(method, params, headers, &self.begin(cx), cx, features).map(complete)
    }

    /// A call with this context is forwarded: its caller hears of progress, and may be asked.
    pub(crate) fn begin(&self, cx: &Context) -> Arc<Forwarded> {
        self.listening.calls.begin(cx)
    }

    /// Sends a request for this call, whose caller has these features.
    pub(crate) fn forward(
        &self,
        method: &str,
        params: Object<'_>,
        headers: ParamHeaders,
        forwarded: &Arc<Forwarded>,
        cx: &Context,
        features: Features,
    ) -> ReplyFuture {
        let token = forwarded.wants_progress().then_some(forwarded.token);
        let claim = Claim { token, features, level: forwarded.log_level() };
        let call = match self.shared.about.request(method, params, self.agreed.revision, claim) {
            Ok(call) => call,
            Err(error) => return ReplyFuture::ready(error),
        };
        let mut inner = Context::default();
        inner.deadline = cx.deadline;
        if let Some(clock) = cx.get::<Arc<Clock>>() {
            inner.insert(Arc::clone(clock));
        }
        inner.insert(headers);
        inner.insert(Arc::clone(forwarded));
        let kept = Arc::clone(forwarded);
        Service::call(&self.peer, &call.with_context(inner)).map(move |reply| {
            drop(kept);
            reply
        })
    }
}

/// A reply whose result is complete. Another one asks for something that this client has not offered (MCP-M-06).
pub(crate) fn complete(reply: Reply) -> Reply {
    let Outcome::Value(result) = &reply.outcome else { return reply };
    match result.get("resultType").and_then(|kind| kind.decode::<String>().ok()) {
        Some(kind) if kind != COMPLETE => {
            let kind: String = kind.chars().take(32).collect();
            let detail = format!("the server answered with {kind}, which this client does not support");
            ErrorObject::upstream_failed(detail).into()
        }
        _ => reply,
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("agreed", &self.agreed).finish_non_exhaustive()
    }
}
