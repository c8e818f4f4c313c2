//! What the server sends by itself: changes of its lists, progress, log messages, questions and pings.

use std::pin::Pin;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

use switchboard_core::{Call, Code, ErrorObject, Json, Reply, ReplyFuture, Service};
use tokio::task::JoinHandle;

use super::about::{About, Claim};
use super::forwarded::{Calls, Forwarded, ask};
use super::program::Program;
use super::watch::Watchers;
use super::{Agreed, Known};
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
    pub(super) watchers: Watchers,
    pub(super) known: Known,
    subscription: Mutex<Option<JoinHandle<()>>>,
    host: Host,
}

/// Who a connection belongs to.
#[derive(Clone, Debug)]
pub(super) enum Host {
    /// Many callers share it.
    Callers,
    /// One client, whose session it lasts for.
    Owner(Caller),
    /// A program.
    Program(Arc<Program>),
}

impl Listening {
    pub(super) fn of(host: Host) -> Listening {
        Listening {
            on_change: OnceLock::new(),
            on_update: OnceLock::new(),
            server: OnceLock::new(),
            calls: Arc::default(),
            watchers: Watchers::default(),
            known: Known::default(),
            subscription: Mutex::default(),
            host,
        }
    }

    pub(super) fn host(&self) -> &Host {
        &self.host
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

    /// Notifications may have been lost.
    pub(super) async fn lost(&self) {
        // First, so that those who read everything again get nothing that was kept.
        self.renewed().await;
        self.watchers.gap().await;
    }

    /// It may be another version of the server.
    pub(super) async fn renewed(&self) {
        self.known.cache.clear();
        self.known.tools.clear();
        self.change().await;
    }

    /// Calls this function with the URI of a resource that has changed, if the connection belongs to many clients. The first one counts.
    pub(crate) fn on_update(&self, update: impl Fn(&str) + Send + Sync + 'static) {
        let _ = self.on_update.set(Box::new(update));
    }

    /// A resource has changed.
    async fn update(&self, params: &Json) {
        if let Host::Owner(owner) = &self.host {
            return owner.relay_update(params).await;
        }
        let uri = params.get("uri").and_then(|uri| uri.decode::<String>().ok());
        if let (Some(update), Some(uri)) = (self.on_update.get(), uri) {
            update(&uri);
        }
    }

    /// Something has changed, or the server is about to say when it does.
    async fn changed(&self, notification: &str, params: Option<&Json>) {
        let uri = params.and_then(|params| params.get("uri"));
        self.known.cache.forget(notification, uri.as_ref());
        if notification == methods::TOOLS_CHANGED {
            self.known.tools.clear();
        }
        self.watchers.tell(notification, params).await;
        match (notification, params) {
            (methods::RESOURCE_UPDATED, Some(params)) => self.update(params).await,
            // Something may have changed before the subscription began.
            _ => self.change().await,
        }
    }

    /// The client that it belongs to.
    fn owner(&self) -> Option<Caller> {
        match &self.host {
            Host::Owner(owner) => Some(owner.clone()),
            Host::Callers | Host::Program(_) => None,
        }
    }

    /// Whether it belongs to one client.
    pub(crate) fn is_owned(&self) -> bool {
        matches!(self.host, Host::Owner(_))
    }

    /// The server is known.
    pub(super) fn know(&self, agreed: &Agreed) {
        let name = agreed.server.as_ref().map(|server| server.name.chars().take(64).collect());
        let _ = self.server.set((name.unwrap_or_default(), agreed.revision));
    }

    fn server(&self) -> (&str, Revision) {
        self.server.get().map_or(("", Revision::LATEST_STATEFUL), |(name, revision)| (name, *revision))
    }

    /// Runs what asks for notifications, until it is replaced or this is dropped.
    pub(super) fn run(&self, asking: impl Future<Output = ()> + Send + 'static) {
        self.replace(Some(tokio::spawn(asking)));
    }

    /// Runs it, unless it runs already.
    pub(super) fn run_once(&self, asking: impl FnOnce() -> JoinHandle<()>) {
        let mut subscription = self.subscription.lock().unwrap_or_else(PoisonError::into_inner);
        if subscription.as_ref().is_none_or(JoinHandle::is_finished) {
            *subscription = Some(asking());
        }
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
pub(super) fn subscription(about: &About, agreed: &Agreed) -> Option<Call> {
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
    about.request(methods::LISTEN, wanted, agreed.revision, Claim::default()).ok()
}

/// The service that the server calls.
#[derive(Clone)]
pub(super) struct Listener(Weak<Listening>);

impl Listener {
    pub(super) fn new(listening: &Arc<Listening>) -> Listener {
        Listener(Arc::downgrade(listening))
    }

    pub(super) fn listening(&self) -> Option<Arc<Listening>> {
        self.0.upgrade()
    }

    /// A stream of notifications begins: something may have changed before, and something was missed if it has begun before.
    pub(super) async fn missed(&self, is_again: bool) {
        match self.0.upgrade() {
            Some(listening) if is_again => listening.lost().await,
            Some(listening) => listening.change().await,
            None => {}
        }
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
            methods::TOOLS_CHANGED
            | methods::RESOURCES_CHANGED
            | methods::PROMPTS_CHANGED
            | methods::RESOURCE_UPDATED
            | methods::ACKNOWLEDGED => {
                let (name, params) = (call.method.clone(), call.params.clone());
                ReplyFuture::untimed(async move {
                    listening.changed(name.as_str(), params.as_ref()).await;
                    Reply::value(Json::NULL)
                })
            }
            methods::MESSAGE => {
                if let Host::Program(program) = &listening.host
                    && program.log(call.params.as_ref())
                {
                    return nothing();
                }
                let reader = during.map(|call| call.caller()).filter(|caller| caller.log_level().is_some());
                let Some(reader) = reader.or_else(|| listening.owner()) else {
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
                if let Host::Program(program) = &listening.host {
                    // Over one connection for all calls a server does not say which one it asks for.
                    let paused = during
                        .map_or_else(|| listening.calls.pause(), |call| call.pause().into_iter().collect());
                    let answer = program.answer(question, call.params.as_ref(), revision);
                    return answer.map(move |reply| {
                        drop(paused);
                        reply
                    });
                }
                let found = during.cloned().or_else(|| listening.calls.only());
                let Some(found) = found else {
                    let Some(owner) = listening.owner() else { return ReplyFuture::ready(no_caller()) };
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
