//! A small client: it lists and calls tools, resources and prompts, over any transport and in both eras.
//!
//! It calls for other clients, so it has neither a model nor a user. Questions of a server are passed on to the client of the call that
//! it works on ([`forwarded`]).

mod connect;
mod credentials;
pub(crate) mod forwarded;
mod headers;
mod http;
mod listener;

use std::fmt;
use std::sync::Arc;

use switchboard_core::{
    Call, CallError, Context, ErrorObject, Json, Outcome, Peer, Reply, ReplyFuture, Service,
};

pub use self::connect::Connector;
pub(crate) use self::connect::HANDSHAKE;
pub use self::credentials::{Credentials, CredentialsFuture, Refusal, Unsent};
use self::forwarded::Forwarded;
pub(crate) use self::headers::{ParamHeaders, param_headers};
use self::listener::Listening;
use crate::model::{
    COMPLETE, Capability, Implementation, LogLevel, Revision, ServerCapabilities, Wire as _, meta, methods,
};
use crate::object::Object;
use crate::spoken::Features;

/// A client of an MCP server. Cheap to clone; all clones share the connection.
///
/// # Examples
///
/// ```no_run
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = switchboard_mcp::Client::connect("http://127.0.0.1:8000/mcp").await?;
/// println!("{:?} speaks MCP {}", client.server().map(|server| &server.name), client.revision());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Client {
    peer: Peer,
    agreed: Arc<Agreed>,
    pub(crate) listening: Arc<Listening>,
}

/// What the server said about itself, and the revision in use.
#[derive(Debug)]
struct Agreed {
    revision: Revision,
    capabilities: ServerCapabilities,
    server: Option<Implementation>,
    instructions: Option<String>,
}

/// The most pages that are read of a list.
const PAGES: usize = 1000;

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

    /// Whether the server has this capability.
    #[must_use]
    pub fn has(&self, capability: Capability) -> bool {
        self.agreed.capabilities.has(capability)
    }

    /// All entries of a list, over all its pages.
    pub(crate) async fn list(
        &self,
        method: &'static str,
        member: &'static str,
    ) -> Result<Vec<Json>, CallError> {
        let (mut entries, mut cursor) = (Vec::new(), None::<Json>);
        for _ in 0..PAGES {
            let params = Object::new().with_some("cursor", cursor.take());
            let reply = self.ask(method, params).await;
            let Outcome::Value(page) = reply.outcome else {
                return Err(match reply.outcome {
                    Outcome::Error(error) => error.into(),
                    _ => CallError::Protocol("a list is not a stream".into()),
                });
            };
            let [list, next] = page.pick([member, "nextCursor"]);
            entries.extend(list.iter().flat_map(Json::elements).map(|entry| entry.detached()));
            cursor = next.filter(|next| *next != Json::NULL);
            if cursor.is_none() {
                return Ok(entries);
            }
        }
        Err(CallError::Protocol(format!("{method} has more than {PAGES} pages").into()))
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
    async fn ask(&self, method: &'static str, params: Object<'_>) -> Reply {
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
        method: &'static str,
        params: Object<'_>,
        cx: &Context,
        headers: ParamHeaders,
    ) -> ReplyFuture {
        self.forward(method, params, headers, &self.begin(cx), cx, Features::default()).map(complete)
    }

    /// A call with this context is forwarded: its caller hears of progress, and may be asked.
    pub(crate) fn begin(&self, cx: &Context) -> Arc<Forwarded> {
        self.listening.calls.begin(cx)
    }

    /// Sends a request for this call, whose caller has these features.
    pub(crate) fn forward(
        &self,
        method: &'static str,
        params: Object<'_>,
        headers: ParamHeaders,
        forwarded: &Arc<Forwarded>,
        cx: &Context,
        features: Features,
    ) -> ReplyFuture {
        let token = forwarded.wants_progress().then_some(forwarded.token);
        let meta = Claim { token, features, level: forwarded.log_level() };
        let call = match request(method, params, self.agreed.revision, meta) {
            Ok(call) => call,
            Err(error) => return ReplyFuture::ready(error),
        };
        let mut inner = Context::default();
        inner.deadline = cx.deadline;
        inner.insert(headers);
        inner.insert(Arc::clone(forwarded));
        let kept = Arc::clone(forwarded);
        Service::call(&self.peer, &call.with_context(inner)).map(move |reply| {
            drop(kept);
            reply
        })
    }
}

/// What a request says about the caller behind this client.
#[derive(Clone, Copy, Default)]
struct Claim {
    /// Names its progress.
    token: Option<u64>,
    /// What it can be asked for.
    features: Features,
    /// The log messages that it wants.
    level: Option<LogLevel>,
}

/// A request of this revision.
fn request(
    method: &'static str,
    params: Object<'_>,
    revision: Revision,
    claim: Claim,
) -> Result<Call, ErrorObject> {
    let meta = match (revision.is_stateless(), claim.token) {
        (false, None) => None,
        (false, Some(_)) => Some(Object::new()),
        (true, _) => Some(claim.write(revision)),
    };
    let meta = meta.map(|meta| meta.with_some(meta::PROGRESS_TOKEN, claim.token));
    Ok(Call::new(method, Some(params.with_some(meta::META, meta).json()?)))
}

impl Claim {
    /// What a stateless request says about its client (MCP-M-02).
    fn write<'a>(self, revision: Revision) -> Object<'a> {
        let own = tracing::enabled!(tracing::Level::INFO).then_some(LogLevel::Info);
        Object::new()
            .with(meta::PROTOCOL_VERSION, revision.as_str())
            .with(meta::CLIENT_CAPABILITIES, self.features.capabilities().to_json(revision))
            .with(meta::CLIENT_INFO, implementation().to_json(revision))
            .with_some(meta::LOG_LEVEL, self.level.or(own).map(LogLevel::as_str))
    }
}

fn implementation() -> Implementation {
    Implementation::new("switchboard", env!("CARGO_PKG_VERSION"))
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
