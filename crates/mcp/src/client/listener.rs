//! What the server sends by itself: changes of its lists, progress, log messages, questions and pings.

use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use switchboard_core::{Call, Code, ErrorObject, Json, Peer, Reply, ReplyFuture, Service};
use tokio::task::JoinHandle;

use super::forwarded::{Calls, Forwarded, ask};
use super::{Agreed, Claim, request};
use crate::ask::Caller;
use crate::model::{LogLevel, Revision, methods};
use crate::object::{Object, Part};

type OnChange = Box<dyn Fn() -> Pin<Box<dyn Future<Output = ()> + Send>> + Send + Sync>;

type OnUpdate = Box<dyn Fn(&str) + Send + Sync>;

/// Who wants to hear of changes, the calls that the server works on, and what asks the server for notifications.
pub(crate) struct Listening {
    on_change: OnceLock<OnChange>,
    on_update: OnceLock<OnUpdate>,
    /// The server's name for logs, and its revision.
    server: OnceLock<(String, Revision)>,
    pub(super) calls: Arc<Calls>,
    subscription: Mutex<Option<JoinHandle<()>>>,
    /// The client whose connection it is; none if many clients share it.
    owner: Option<Caller>,
}

impl Listening {
    /// Of a connection that belongs to this client, or to many.
    pub(super) fn of(owner: Option<Caller>) -> Listening {
        let (on_change, on_update, server) = (OnceLock::new(), OnceLock::new(), OnceLock::new());
        Listening {
            on_change,
            on_update,
            server,
            calls: Arc::default(),
            subscription: Mutex::default(),
            owner,
        }
    }

    /// Calls this function when the list of tools has changed. The first one counts.
    pub(crate) fn on_change<R>(&self, change: impl Fn() -> R + Send + Sync + 'static)
    where
        R: Future<Output = ()> + Send + 'static,
    {
        let _ = self.on_change.set(Box::new(move || Box::pin(change())));
    }

    /// The list of tools has changed, or may have.
    pub(super) async fn change(&self) {
        if let Some(change) = self.on_change.get() {
            change().await;
        }
    }

    /// Calls this function with the URI of a resource that has changed, if the connection belongs to many clients. The first one counts.
    pub(crate) fn on_update(&self, update: impl Fn(&str) + Send + Sync + 'static) {
        let _ = self.on_update.set(Box::new(update));
    }

    /// A resource has changed.
    async fn update(&self, params: &Json) {
        if let Some(owner) = &self.owner {
            return owner.relay_update(params).await;
        }
        let uri = params.get("uri").and_then(|uri| uri.decode::<String>().ok());
        if let (Some(update), Some(uri)) = (self.on_update.get(), uri) {
            update(&uri);
        }
    }

    /// Whether it belongs to one client.
    pub(crate) fn is_owned(&self) -> bool {
        self.owner.is_some()
    }

    /// The server is known.
    pub(super) fn know(&self, agreed: &Agreed) {
        let name = agreed.server.as_ref().map(|server| server.name.chars().take(64).collect());
        let _ = self.server.set((name.unwrap_or_default(), agreed.revision));
    }

    fn server(&self) -> (&str, Revision) {
        self.server.get().map_or(("", Revision::LATEST_STATEFUL), |(name, revision)| (name, *revision))
    }

    /// Asks for notifications over a new connection, where that is necessary.
    pub(super) fn begin(&self, peer: &Peer, agreed: &Agreed) {
        let Some(call) = subscription(agreed) else { return };
        let peer = peer.clone();
        // It ends with the connection.
        self.run(async move { drop(Service::call(&peer, &call).await) });
    }

    /// Runs what asks for notifications, until it is replaced or this is dropped.
    pub(super) fn run(&self, asking: impl Future<Output = ()> + Send + 'static) {
        self.replace(Some(tokio::spawn(asking)));
    }

    fn replace(&self, task: Option<JoinHandle<()>>) {
        let mut subscription = self.subscription.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(old) = std::mem::replace(&mut *subscription, task) {
            old.abort();
        }
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.replace(None);
    }
}

/// Whether the server says when its lists change, or its resources.
pub(super) fn has_changes(agreed: &Agreed) -> bool {
    let known = &agreed.capabilities;
    known.tools.as_ref().is_some_and(|tools| tools.list_changed)
        || known.prompts.as_ref().is_some_and(|prompts| prompts.list_changed)
        || known.resources.as_ref().is_some_and(|resources| resources.list_changed || resources.subscribe)
}

/// The request that asks a stateless server for changes of its lists, if it announces them.
pub(super) fn subscription(agreed: &Agreed) -> Option<Call> {
    if !agreed.revision.is_stateless() || !has_changes(agreed) {
        return None;
    }
    let known = &agreed.capabilities;
    let all = [
        ("toolsListChanged", known.tools.as_ref().is_some_and(|tools| tools.list_changed)),
        ("promptsListChanged", known.prompts.as_ref().is_some_and(|prompts| prompts.list_changed)),
        ("resourcesListChanged", known.resources.as_ref().is_some_and(|resources| resources.list_changed)),
    ];
    let wanted = all.iter().filter(|(_, is_announced)| *is_announced);
    let wanted = wanted.fold(Object::new(), |wanted, (name, _)| wanted.with(name, Part::True));
    let wanted = Object::new().with("notifications", wanted);
    request(methods::LISTEN, wanted, agreed.revision, Claim::default()).ok()
}

/// The service that the server calls.
#[derive(Clone)]
pub(super) struct Listener(Weak<Listening>);

impl Listener {
    pub(super) fn new(listening: &Arc<Listening>) -> Listener {
        Listener(Arc::downgrade(listening))
    }

    /// Answers a message that came while the server works on a call, if it is known on which.
    pub(super) fn hear(&self, call: &Call, during: Option<&Arc<Forwarded>>) -> ReplyFuture {
        let nothing = || ReplyFuture::ready(Reply::value(Json::NULL));
        let method = call.method.as_str();
        let Some(listening) = self.0.upgrade() else {
            return ReplyFuture::ready(ErrorObject::method_not_found(method));
        };
        match method {
            methods::PING if !call.is_notification() => Object::new().reply().into(),
            // Something may have changed before the subscription began.
            methods::TOOLS_CHANGED
            | methods::RESOURCES_CHANGED
            | methods::PROMPTS_CHANGED
            | methods::ACKNOWLEDGED => ReplyFuture::untimed(async move {
                listening.change().await;
                Reply::value(Json::NULL)
            }),
            methods::RESOURCE_UPDATED => {
                let Some(params) = call.params.clone() else { return nothing() };
                ReplyFuture::untimed(async move {
                    listening.update(&params).await;
                    Reply::value(Json::NULL)
                })
            }
            methods::MESSAGE => {
                let reader = during.map(|call| call.caller()).filter(|caller| caller.log_level().is_some());
                let Some(reader) = reader.or_else(|| listening.owner.clone()) else {
                    log(listening.server().0, call.params.as_ref());
                    return nothing();
                };
                let params = call.params.clone();
                ReplyFuture::untimed(async move {
                    reader.relay_log(listening.server().0, params.as_ref()).await;
                    Reply::value(Json::NULL)
                })
            }
            methods::PROGRESS => {
                let token = call.params.as_ref().and_then(|params| params.get("progressToken"));
                let found = token.and_then(|token| listening.calls.find(&token));
                let (Some(found), Some(params)) = (found, call.params.clone()) else { return nothing() };
                ReplyFuture::untimed(async move {
                    found.progress(&params).await;
                    Reply::value(Json::NULL)
                })
            }
            _ if call.is_notification() => nothing(),
            question if methods::INPUT_REQUESTS.contains(&question) => {
                let (call, revision) = (call.clone(), listening.server().1);
                let found = during.cloned().or_else(|| listening.calls.only());
                let Some(found) = found else {
                    let Some(owner) = listening.owner.clone() else { return ReplyFuture::ready(no_caller()) };
                    return ReplyFuture::untimed(async move {
                        ask(&owner, None, call.method.as_str(), call.params.as_ref(), revision).await
                    });
                };
                ReplyFuture::untimed(async move {
                    let caller = found.caller();
                    ask(&caller, Some(&found), call.method.as_str(), call.params.as_ref(), revision).await
                })
            }
            other => ReplyFuture::ready(ErrorObject::method_not_found(other)),
        }
    }
}

impl Service for Listener {
    fn call(&self, call: &Call) -> ReplyFuture {
        self.hear(call, None)
    }
}

fn no_caller() -> ErrorObject {
    let text = "the question cannot be passed on: no caller, or more than one, waits for this server";
    ErrorObject::new(Code::METHOD_NOT_FOUND, text)
}

/// Writes a message of the server to our log. Its text cannot be trusted, so it is quoted, and not longer than a line.
fn log(server: &str, params: Option<&Json>) {
    const LONGEST: usize = 500;
    let Some(params) = params else { return };
    let [level, logger, data] = params.pick(["level", "logger", "data"]);
    let text = |json: Json| json.decode::<String>().unwrap_or_else(|_| json.to_string());
    let level: Option<LogLevel> = level.map(text).and_then(|level| level.parse().ok());
    let message: String = data.map(text).unwrap_or_default().chars().take(LONGEST).collect();
    let logger: String = logger.map(text).unwrap_or_default().chars().take(64).collect();
    match level.unwrap_or(LogLevel::Info) {
        LogLevel::Debug => tracing::debug!(server, logger, message, "the MCP server logs"),
        LogLevel::Info | LogLevel::Notice => tracing::info!(server, logger, message, "the MCP server logs"),
        LogLevel::Warning => tracing::warn!(server, logger, message, "the MCP server logs"),
        _ => tracing::error!(server, logger, message, "the MCP server logs"),
    }
}
