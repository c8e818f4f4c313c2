//! Streams of notifications for stateless clients (MCP-U-01 to MCP-U-08).

use std::collections::HashSet;
use std::sync::Arc;

use switchboard_core::{ErrorObject, Id, Json, Kind, Peer, Reply, ReplyFuture, Session};
use switchboard_transport::server::Shutdown;

use super::request::Request;
use super::subscribers::{Change, Listener};
use crate::http::ShuttingDown;
use crate::model::{Capability, meta, methods};
use crate::object::{Object, Part};
use crate::spoken::Features;

/// How many streams there are at most.
const LISTENERS: usize = 1024;

/// What a client wants to hear of.
#[derive(Debug, Default)]
struct Wanted {
    tools: bool,
    prompts: bool,
    resources: bool,
    uris: HashSet<String>,
    tasks: HashSet<String>,
}

impl Wanted {
    fn read(notifications: &Json, features: &Features) -> Result<Wanted, ErrorObject> {
        let [tools, prompts, resources, uris, tasks] = notifications.pick([
            "toolsListChanged",
            "promptsListChanged",
            "resourcesListChanged",
            "resourceSubscriptions",
            "taskIds",
        ]);
        let flag = |json: Option<Json>| json.is_some_and(|json| json.as_str() == "true");
        let list = |json: Option<Json>, name: &'static str| match json {
            None => Ok(HashSet::new()),
            Some(json) => json
                .decode()
                .map_err(|_| ErrorObject::invalid_params(format!("{name} must be a list of strings"))),
        };
        if tasks.is_some() && !features.tasks {
            return Err(super::tasks::not_declared());
        }
        let (uris, tasks) = (list(uris, "resourceSubscriptions")?, list(tasks, "taskIds")?);
        Ok(Wanted { tools: flag(tools), prompts: flag(prompts), resources: flag(resources), uris, tasks })
    }

    /// The change by the name that the client gave it, if the client wants to hear of it.
    fn named(&self, change: &Change) -> Option<Change> {
        let is_wanted = match change {
            Change::Tools => self.tools,
            Change::Prompts => self.prompts,
            Change::Resources => self.resources,
            // A change of a part is a change of the whole (MCP-U-07).
            Change::Resource(uri) => {
                let has_part = |whole: &&String| {
                    let rest = uri.strip_prefix(whole.as_str());
                    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                };
                return self.uris.iter().find(has_part).map(|whole| Change::Resource(whole.clone()));
            }
            Change::Task(id, _) => self.tasks.contains(id),
        };
        is_wanted.then(|| change.clone())
    }

    /// What is honoured, as the acknowledgement says it.
    fn honoured(&self) -> Object<'_> {
        let flag = |object: Object<'static>, name: &'static str, is_on: bool| match is_on {
            true => object.with(name, Part::True),
            false => object,
        };
        let object = flag(Object::new(), "toolsListChanged", self.tools);
        let object = flag(object, "promptsListChanged", self.prompts);
        let mut object: Object<'_> = flag(object, "resourcesListChanged", self.resources);
        if !self.uris.is_empty() {
            let uris: Vec<&str> = self.uris.iter().map(String::as_str).collect();
            object = object.with("resourceSubscriptions", uris);
        }
        if !self.tasks.is_empty() {
            let tasks: Vec<&str> = self.tasks.iter().map(String::as_str).collect();
            object = object.with("taskIds", tasks);
        }
        object
    }
}

/// Answers `subscriptions/listen`: with notifications, and with a result when the server ends the stream.
pub(super) fn listen(request: &Request<'_>) -> ReplyFuture {
    begin(request).unwrap_or_else(ReplyFuture::ready)
}

fn begin(request: &Request<'_>) -> Result<ReplyFuture, ErrorObject> {
    let notifications = request.param("notifications").filter(|json| json.kind() == Kind::Object);
    let notifications =
        notifications.ok_or_else(|| ErrorObject::invalid_params("notifications must be an object"))?;
    let mut wanted = Wanted::read(&notifications, &request.spoken.features)?;
    let capabilities = &request.snapshot.capabilities;
    wanted.tools &= capabilities.has(Capability::Tools);
    wanted.prompts &= capabilities.has(Capability::Prompts);
    wanted.resources &= capabilities.has(Capability::Resources);
    if !capabilities.has(Capability::Subscribe) {
        wanted.uris.clear();
    }
    let Some(id) = request.call.id().map(Id::detached) else { return Ok(Reply::value(Json::NULL).into()) };
    if request.subscribers().listeners() >= LISTENERS {
        return Err(ErrorObject::over_limit(
            "listeners",
            format!("at most {LISTENERS} clients can listen at once"),
        ));
    }
    let wanted = Arc::new(wanted);
    let named = Arc::clone(&wanted);
    let stream = Stream {
        // From here on no change is missed.
        listener: request.subscribers().listen(move |change| named.named(change)),
        wanted,
        subscription: Json::parse(id.as_bytes().to_vec()).unwrap_or(Json::NULL),
        peer: request.cx().peer().clone(),
        session: request.cx().session().clone(),
        shutdown: request
            .cx()
            .get::<ShuttingDown>()
            .map(|stopping| Arc::clone(&stopping.0))
            .unwrap_or_default(),
    };
    let server = request.snapshot.server_json.clone();
    Ok(ReplyFuture::untimed(async move { stream.run(server).await }))
}

struct Stream {
    listener: Listener,
    wanted: Arc<Wanted>,
    subscription: Json,
    peer: Peer,
    session: Session,
    /// Of the server behind a single request; others close the session.
    shutdown: Arc<Shutdown>,
}

impl Stream {
    async fn run(self, server: Json) -> Reply {
        let acknowledged =
            Object::new().with("_meta", self.meta()).with("notifications", self.wanted.honoured());
        if self.notify(methods::ACKNOWLEDGED, &acknowledged).await.is_none() {
            return ended(&self.subscription, &server);
        }
        let closing = self.session.clone();
        let mut closing = std::pin::pin!(closing.closing());
        loop {
            let change = tokio::select! {
                change = self.listener.next() => change,
                _ = &mut closing => return ended(&self.subscription, &server),
                () = self.shutdown.wait() => return ended(&self.subscription, &server),
            };
            let params = match &change {
                Change::Resource(uri) => Object::new().with("_meta", self.meta()).with("uri", uri.as_str()),
                Change::Task(_, task) => match with_meta(task, &self.subscription) {
                    Some(params) => {
                        let _ = self.peer.notify(change.method(), params).await;
                        continue;
                    }
                    None => continue,
                },
                _ => Object::new().with("_meta", self.meta()),
            };
            if self.notify(change.method(), &params).await.is_none() {
                return ended(&self.subscription, &server);
            }
        }
    }

    fn meta(&self) -> Object<'static> {
        Object::new().with(meta::SUBSCRIPTION_ID, self.subscription.clone())
    }

    async fn notify(&self, method: &'static str, params: &Object<'_>) -> Option<()> {
        self.peer.notify(method, params.json().ok()?).await.ok()
    }
}

/// The members of a task, and the subscription that the notification belongs to.
fn with_meta(task: &Json, subscription: &Json) -> Option<Json> {
    let mut params = Object::new();
    let names: Vec<String> =
        task.members().map(|(name, _)| String::from_utf8_lossy(&name).into_owned()).collect();
    for name in &names {
        params = params.with(name, task.get(name)?);
    }
    let meta = Object::new().with(meta::SUBSCRIPTION_ID, subscription.clone());
    params.with("_meta", meta).json().ok()
}

fn ended(subscription: &Json, server: &Json) -> Reply {
    let meta = Object::new()
        .with(meta::SERVER_INFO, server.clone())
        .with(meta::SUBSCRIPTION_ID, subscription.clone());
    Object::new().with("resultType", "complete").with("_meta", meta).reply()
}
