//! The tools, resources and prompts of an MCP server as methods.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use arc_swap::ArcSwap;
use serde_json::{Value, json};
use switchboard_core::{
    Call, CallError, Code, Context, Describe, ErrorObject, FromContext as _, Json, MethodDescription,
    Outcome, ParamDescription, Reply, ReplyFuture, ResultDescription, Schemas, Service,
};
use switchboard_openrpc::remote::{Slot, by_name};

use super::approval::Approval;
use super::listed::Listed;
use super::relay::Parked;
use super::result::{is_whole, plain, whole};
use super::tool::ToolMethod;
use crate::ask::{Asker, Caller};
use crate::catalog::{RELAYED_PROMPTS, RELAYED_RESOURCES, RELAYED_TEMPLATES};
use crate::client::rounds::{Asked, Request, in_rounds};
use crate::client::{Client, ParamHeaders, param_headers};
use crate::model::{Capability, methods};
use crate::object::Object;

/// The tools of an MCP server as methods of JSON-RPC, under their own names. Cheap to clone.
///
/// The result of a method is the structured content of its tool, else the text, else the content blocks. A tool that fails is an
/// error with the code -32001 and the text. Resources and prompts are reached with the methods `resources/list`,
/// `resources/templates/list`, `resources/read`, `prompts/list`, `prompts/get` and `completion/complete`.
///
/// If the server says that its tools have changed, they are listed again. Progress of a tool is progress of the call, and log messages
/// of the server are logged here. Questions of the server (sampling, elicitation, roots) are passed on to the caller, if it is a client
/// of MCP that can be asked; a server with sessions over a duplex transport does not say which call its question belongs to, so there
/// only one caller at a time can be asked.
///
/// # Examples
///
/// ```no_run
/// use switchboard_core::Router;
/// use switchboard_mcp::{Connector, adapt::Methods};
///
/// # async fn example() -> Result<(), Box<dyn std::error::Error>> {
/// let client = Connector::default().connect("http://127.0.0.1:8000/mcp").await?;
/// let router = Router::builder().mount_described("weather/", Methods::of(&client).await?).build()?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Methods(Arc<Inner>);

struct Inner {
    client: Client,
    listed: ArcSwap<Listed>,
    /// Methods of MCP that are passed on.
    passed: BTreeMap<&'static str, Passed>,
    /// Calls whose clients have been asked, and have no session.
    parked: Arc<Parked>,
    on_change: Mutex<Vec<Box<dyn Fn() + Send + Sync>>>,
    /// Decides which tools are offered; without it all are.
    approval: Option<Arc<dyn Approval>>,
}

/// A method of MCP that is passed on.
struct Passed {
    described: MethodDescription,
    slots: Vec<Slot>,
}

impl Methods {
    /// The methods of this server.
    ///
    /// # Errors
    ///
    /// When the server cannot list its tools.
    pub async fn of(client: &Client) -> Result<Methods, CallError> {
        Methods::make(client, None).await
    }

    /// The methods of this server, without those of tools that are not approved.
    ///
    /// # Errors
    ///
    /// When the server cannot list its tools.
    pub async fn approved(client: &Client, approval: Arc<dyn Approval>) -> Result<Methods, CallError> {
        Methods::make(client, Some(approval)).await
    }

    async fn make(client: &Client, approval: Option<Arc<dyn Approval>>) -> Result<Methods, CallError> {
        let listed = ArcSwap::default();
        let (parked, on_change) = (Arc::default(), Mutex::default());
        let (passed, client) = (passed(client), client.clone());
        let inner = Inner { client, listed, passed, parked, on_change, approval };
        let inner = Arc::new(inner);
        let weak = Arc::downgrade(&inner);
        inner.client.listening.on_change(move || {
            let weak = weak.clone();
            async move {
                let Some(inner) = weak.upgrade() else { return };
                match inner.read().await {
                    Ok(listed) => inner.change(listed),
                    Err(error) => tracing::warn!(%error, "the changed tools cannot be listed"),
                }
            }
        });
        // After that, so that no change is missed.
        inner.listed.store(Arc::new(inner.read().await?));
        Ok(Methods(inner))
    }

    /// Lists the tools, resources and prompts again.
    ///
    /// # Errors
    ///
    /// When the server cannot list its tools. Then they stay as they are.
    pub async fn refresh(&self) -> Result<(), CallError> {
        let listed = self.0.read().await?;
        self.0.change(listed);
        Ok(())
    }

    /// Whether the server lists the same tools, resources and prompts in both sessions, as far as is known.
    #[must_use]
    pub fn is_listed_like(&self, other: &Methods) -> bool {
        self.0.listed.load().as_ref() == other.0.listed.load().as_ref()
    }

    /// Calls this function when the methods have changed: what was made from their description has to be made again.
    pub fn on_change(&self, change: impl Fn() + Send + Sync + 'static) {
        self.0.on_change.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(change));
    }

    /// Calls this function with the URI of a resource that has changed, for subscribers, unless the server's session belongs to one client,
    /// which then hears of it.
    pub fn on_update(&self, update: impl Fn(&str) + Send + Sync + 'static) {
        self.0.client.listening.on_update(update);
    }

    /// Whether a method is a tool, and whether that has an output schema.
    #[must_use]
    pub fn has_output(&self, method: &str) -> Option<bool> {
        self.0.listed.load().tools.get(method).map(|tool| tool.has_output)
    }

    /// The client of the server.
    #[must_use]
    pub fn client(&self) -> &Client {
        &self.0.client
    }
}

impl Inner {
    async fn read(&self) -> Result<Listed, CallError> {
        let listed = Listed::read(&self.client).await?;
        if let Some(approval) = &self.approval {
            let tools: Vec<_> = listed.tools.values().map(|tool| &tool.definition).collect();
            approval.note(&tools);
        }
        Ok(listed)
    }

    /// Why a tool is not offered, if it is not.
    fn refusal(&self, tool: &ToolMethod) -> Option<String> {
        self.approval.as_ref()?.refusal(&tool.definition)
    }

    fn change(&self, listed: Listed) {
        if **self.listed.load() == listed {
            return;
        }
        self.listed.store(Arc::new(listed));
        let on_change = self.on_change.lock().unwrap_or_else(PoisonError::into_inner);
        on_change.iter().for_each(|change| change());
    }

    /// Sends a request for a call. Its caller may be asked, if it is a client of MCP.
    fn send(&self, request: Request, cx: &Context) -> ReplyFuture {
        let caller = Caller::from_context(cx).cloned().unwrap_or_else(Caller::plain);
        let client = self.client.clone();
        match (client.revision().is_stateless(), caller.asker()) {
            _ if !caller.features().can_be_asked() => request.send(&client, cx),
            (true, _) => {
                let cx = cx.clone();
                ReplyFuture::untimed(
                    async move { in_rounds(client, request, cx, Asked::Caller(caller)).await.0 },
                )
            }
            (false, Asker::Rounds(_)) => {
                let parked = Arc::clone(&self.parked);
                ReplyFuture::untimed(parked.converse(client, request, cx.clone(), caller))
            }
            (false, _) => request.send(&client, cx),
        }
    }
}

/// The methods of MCP that a server offers.
fn passed(client: &Client) -> BTreeMap<&'static str, Passed> {
    let text = || json!({"type": "string"});
    let cursor = || ParamDescription::optional("cursor", text()).documented("Where the page starts.");
    let (resources, prompts) = (client.has(Capability::Resources), client.has(Capability::Prompts));
    let subscribes = client.has(Capability::Subscribe) && !client.revision().is_stateless();
    let uri = || ParamDescription::required("uri", text()).documented("The URI of the resource.");
    let name = ParamDescription::required("name", text()).documented("The name of the prompt.");
    let values = json!({"type": "object", "additionalProperties": {"type": "string"}});
    let arguments =
        ParamDescription::optional("arguments", values).documented("The arguments of the prompt.");
    let all = [
        (
            resources,
            methods::LIST_RESOURCES,
            "Lists the resources of the MCP server.",
            "resources",
            vec![cursor()],
        ),
        (
            resources,
            methods::LIST_TEMPLATES,
            "Lists the resource templates of the MCP server.",
            "resourceTemplates",
            vec![cursor()],
        ),
        (resources, methods::READ_RESOURCE, "Reads a resource of the MCP server.", "contents", vec![uri()]),
        (
            subscribes,
            methods::SUBSCRIBE,
            "Subscribes to changes of a resource of the MCP server.",
            "",
            vec![uri()],
        ),
        (
            subscribes,
            methods::UNSUBSCRIBE,
            "Ends a subscription to a resource of the MCP server.",
            "",
            vec![uri()],
        ),
        (prompts, methods::LIST_PROMPTS, "Lists the prompts of the MCP server.", "prompts", vec![cursor()]),
        (
            prompts,
            methods::GET_PROMPT,
            "Fills in a prompt of the MCP server.",
            "messages",
            vec![name, arguments],
        ),
        (
            client.has(Capability::Completions),
            methods::COMPLETE,
            "Completes an argument of a prompt or of a resource template of the MCP server.",
            "completion",
            completion_params(),
        ),
    ];
    let offered = all.into_iter().filter(|(is_offered, ..)| *is_offered);
    offered
        .map(|(_, method, docs, member, params)| {
            let slots = params.iter().map(|param| Slot::new(param.name.clone())).collect();
            let described = MethodDescription::documented(docs).no_more_params();
            let mut described = if member.is_empty() { described } else { described.safe() };
            described.name = method.to_owned();
            described.params = Some(params);
            if !member.is_empty() {
                described.result = ResultDescription::Value(listing(member));
            }
            // They are not tools: a server in front of this one has methods of its own for them.
            let described = described.extension("x-mcp", json!({"tool": false}));
            (method, Passed { described, slots })
        })
        .collect()
}

fn completion_params() -> Vec<ParamDescription> {
    let object = || json!({"type": "object"});
    let reference = "The prompt or template, such as {\"type\": \"ref/prompt\", \"name\": \"plan\"}.";
    vec![
        ParamDescription::required("ref", object()).documented(reference),
        ParamDescription::required("argument", object())
            .documented("The name of the argument, and its value so far."),
        ParamDescription::optional("context", object()).documented("The arguments that are known already."),
    ]
}

fn listing(member: &str) -> Value {
    let kind = if member == "completion" { "object" } else { "array" };
    json!({"type": "object", "properties": {member: {"type": kind}}, "required": [member]})
}

impl Service for Methods {
    fn call(&self, call: &Call) -> ReplyFuture {
        let Inner { listed, passed, .. } = &*self.0;
        let (listed, method) = (listed.load(), call.method.as_str());
        if let Some(tool) = listed.tools.get(method) {
            if let Some(reason) = self.0.refusal(tool) {
                return ReplyFuture::ready(ErrorObject::new(Code::UNAUTHORIZED, reason));
            }
            let arguments = match by_name(call.params.as_ref(), &tool.slots) {
                Ok(params) => tool.arguments(&params),
                Err(error) => return ReplyFuture::ready(error),
            };
            let (headers, has_output) = (param_headers(&arguments, &tool.headers), tool.has_output);
            let Ok(name) = Json::encode_ref(method) else {
                return ReplyFuture::ready(ErrorObject::method_not_found(method));
            };
            let params = vec![("name".to_owned(), name), ("arguments".to_owned(), arguments)];
            let reply = self.0.send(Request { method: methods::CALL_TOOL.into(), params, headers }, &call.cx);
            let reply = reply.map(|reply| match reply.outcome {
                Outcome::Value(told) => whole(told),
                outcome => translated(outcome),
            });
            return match is_whole(call) {
                true => reply,
                false => reply.map(move |reply| plain(reply, has_output)),
            };
        }
        let Some((method, Passed { slots, .. })) = passed.get_key_value(method) else {
            return ReplyFuture::ready(ErrorObject::method_not_found(method));
        };
        if *method == methods::UNSUBSCRIBE && !self.0.client.listening.is_owned() {
            // Other clients may have subscribed to it, too.
            return Object::new().reply().into();
        }
        let params = match by_name(call.params.as_ref(), slots) {
            Ok(params) => params,
            Err(error) => return ReplyFuture::ready(error),
        };
        let values = slots.iter().filter_map(|slot| Some((slot.name.clone(), params.get(&slot.name)?)));
        let request =
            Request { method: (*method).into(), params: values.collect(), headers: ParamHeaders::default() };
        self.0.send(request, &call.cx).map(|reply| translated(reply.outcome))
    }
}

/// An outcome whose codes mean the same in JSON-RPC: -32002 is a resource that does not exist, and not a caller without rights.
fn translated(outcome: Outcome) -> Reply {
    match outcome {
        Outcome::Value(value) => Reply::value(value),
        Outcome::Error(mut error) => {
            if error.code == Code::UNAUTHORIZED && !error.is_local() {
                error.code = Code::INVALID_PARAMS;
            }
            Reply::error(error)
        }
        Outcome::Stream(items) => Reply::items(items),
    }
}

impl Describe for Methods {
    fn describe_methods(&self, _: &mut Schemas) -> Vec<MethodDescription> {
        let listed = self.0.listed.load();
        let mut described: BTreeMap<&str, MethodDescription> =
            self.0.passed.iter().map(|(name, passed)| (*name, passed.described.clone())).collect();
        let mut offer = |method: &str, name: &str, entries: &[Value]| {
            if let Some(method) = described.get_mut(method).filter(|_| !entries.is_empty()) {
                method.others.insert(name.to_owned(), entries.into());
            }
        };
        offer(methods::READ_RESOURCE, RELAYED_RESOURCES, &listed.resources);
        offer(methods::READ_RESOURCE, RELAYED_TEMPLATES, &listed.templates);
        offer(methods::GET_PROMPT, RELAYED_PROMPTS, &listed.prompts);
        let tools = listed.tools.iter().filter(|(_, tool)| self.0.refusal(tool).is_none());
        described.extend(tools.map(|(name, tool)| (name.as_str(), tool.described.clone())));
        described.into_values().collect()
    }
}

impl fmt::Debug for Methods {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let listed = self.0.listed.load();
        let tools: Vec<_> = listed.tools.keys().collect();
        f.debug_struct("Methods").field("tools", &tools).finish_non_exhaustive()
    }
}
