//! What can be asked of a server: tools, resources, prompts, completions, and anything else by its method.

use std::borrow::Cow;

use serde::Serialize;
use serde::de::DeserializeOwned;
use switchboard_core::{CallError, ErrorObject, Json, Kind};

use super::listener::Host;
use super::request::Request;
use super::rounds::Request as Sent;
use super::{Client, Pages};
use crate::model::{
    Capability, Completion, CompletionParams, Contents, LogLevel, Message, Prompt, Resource,
    ResourceTemplate, Root, Tool, ToolResult, Wire as _, methods,
};

/// Why a tool has no result of the wanted type.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// The tool failed, and says why: for a model to read.
    #[error("the tool failed: {}", .0.text())]
    Failed(Box<ToolResult>),
    /// The call failed.
    #[error(transparent)]
    Call(#[from] CallError),
}

/// A prompt that has been filled in.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct PromptResult {
    /// What it is for.
    pub description: Option<String>,
    /// The messages for a model.
    pub messages: Vec<Message>,
}

/// Calls.
impl Client {
    /// Calls a tool, and reads its result: the structured content, or else the text as JSON, or else the text itself.
    ///
    /// Arguments are an object, such as a struct or `json!({…})`, or `()` for none.
    pub fn call<T>(&self, name: &str, arguments: impl Serialize) -> Request<T, ToolError>
    where
        T: DeserializeOwned + 'static,
    {
        Request::new(self, tool(name, &arguments), |told| {
            let result: ToolResult = read(&told)?;
            if result.is_error {
                return Err(ToolError::Failed(Box::new(result)));
            }
            typed(&result)
        })
    }

    /// Calls a tool, and gives its result as it is: content blocks, structured content, and whether it failed.
    pub fn tool(&self, name: &str, arguments: impl Serialize) -> Request<ToolResult> {
        Request::new(self, tool(name, &arguments), |told| read(&told))
    }

    /// Reads a resource.
    pub fn read(&self, uri: &str) -> Request<Vec<Contents>> {
        Request::new(self, sent(methods::READ_RESOURCE, [("uri", Json::encode_ref(uri))]), |told| {
            read(&member(&told, "contents")?)
        })
    }

    /// Fills in a prompt. Its arguments are an object of strings, or `()` for none.
    pub fn prompt(&self, name: &str, arguments: impl Serialize) -> Request<PromptResult> {
        let sent = named(methods::GET_PROMPT, name, &arguments);
        Request::new(self, sent, |told| {
            let description = told.get("description").and_then(|text| text.decode().ok());
            Ok(PromptResult { description, messages: read(&member(&told, "messages")?)? })
        })
    }

    /// Completes an argument of a prompt or a variable of a resource template.
    pub fn complete(&self, params: &CompletionParams) -> Request<Completion> {
        let params = params.to_json(self.revision());
        let params = params.entries().map(|(name, value)| (name.into_owned(), value)).collect();
        let sent = Sent { method: methods::COMPLETE.into(), params, headers: Default::default() };
        Request::new(self, Ok(sent), |told| read(&member(&told, "completion")?))
    }

    /// Calls any method: of an extension, for example. Its params are an object, or `()` for none. What the protocol needs is added to
    /// their member `_meta`.
    pub fn request<T>(&self, method: impl Into<Cow<'static, str>>, params: impl Serialize) -> Request<T>
    where
        T: DeserializeOwned + 'static,
    {
        let method = method.into();
        let params = object(&params).map(|params| {
            let params = params.iter().flat_map(Json::entries);
            let params = params.map(|(name, value)| (name.into_owned(), value)).collect();
            Sent { method, params, headers: Default::default() }
        });
        Request::new(self, params, |told| read(&told))
    }

    /// Whether the server is there. Stateless servers have no `ping`, so they are asked for their versions.
    pub fn ping(&self) -> Request<()> {
        let method = if self.revision().is_stateless() { methods::DISCOVER } else { methods::PING };
        Request::new(self, sent(method, []), |_| Ok(())).fresh()
    }
}

/// Lists.
impl Client {
    /// The tools.
    pub fn tools(&self) -> Pages<Tool> {
        self.pages(methods::LIST_TOOLS, "tools")
    }

    /// The resources.
    pub fn resources(&self) -> Pages<Resource> {
        self.pages(methods::LIST_RESOURCES, "resources")
    }

    /// The templates of resources.
    pub fn templates(&self) -> Pages<ResourceTemplate> {
        self.pages(methods::LIST_TEMPLATES, "resourceTemplates")
    }

    /// The prompts.
    pub fn prompts(&self) -> Pages<Prompt> {
        self.pages(methods::LIST_PROMPTS, "prompts")
    }
}

/// What the server should know about the client.
impl Client {
    /// Sets the least severe log messages that a server with sessions sends. Servers without send those that
    /// [`ClientBuilder::log_level`](super::ClientBuilder::log_level) asks for with each request.
    ///
    /// # Errors
    ///
    /// When the server does not accept it.
    pub async fn set_log_level(&self, level: LogLevel) -> Result<(), CallError> {
        if self.revision().is_stateless() || !self.has(Capability::Logging) {
            return Err(CallError::Unsupported("the server does not keep a log level".into()));
        }
        Request::new(
            self,
            sent(methods::SET_LEVEL, [("level", Json::encode_ref(level.as_str()))]),
            |_| Ok(()),
        )
        .await
    }

    /// Replaces the folders that the program works in, and tells a server with a session. It can only be used if the client was built
    /// with [`roots`](super::ClientBuilder::roots).
    pub async fn set_roots(&self, roots: impl IntoIterator<Item = Root>) {
        if let Host::Program(program) = self.listening.host()
            && program.features().roots
        {
            program.set_roots(roots.into_iter().collect());
            self.notify(methods::ROOTS_CHANGED).await;
        }
    }
}

fn tool(name: &str, arguments: &impl Serialize) -> Result<Sent, CallError> {
    named(methods::CALL_TOOL, name, arguments)
}

/// A request about something with a name, and arguments.
fn named(method: &'static str, name: &str, arguments: &impl Serialize) -> Result<Sent, CallError> {
    let mut sent = sent(method, [("name", Json::encode_ref(name))])?;
    sent.params.extend(object(arguments)?.map(|arguments| ("arguments".to_owned(), arguments)));
    Ok(sent)
}

fn sent<const N: usize>(
    method: &'static str,
    params: [(&str, Result<Json, serde_json::Error>); N],
) -> Result<Sent, CallError> {
    let written =
        params.into_iter().map(|(name, value)| Ok((name.to_owned(), value.map_err(|error| wrong(&error))?)));
    Ok(Sent {
        method: method.into(),
        params: written.collect::<Result<_, CallError>>()?,
        headers: Default::default(),
    })
}

/// A value as an object, unless it is nothing.
fn object(value: &impl Serialize) -> Result<Option<Json>, CallError> {
    let json = Json::encode_ref(value).map_err(|error| wrong(&error))?;
    match json.kind() {
        Kind::Object => Ok(Some(json)),
        Kind::Null => Ok(None),
        kind => Err(wrong(&format_args!("they must be an object, and are {}", kind.with_article()))),
    }
}

fn wrong(error: &dyn std::fmt::Display) -> CallError {
    CallError::Params(error.to_string().into())
}

fn read<T: DeserializeOwned + 'static>(told: &Json) -> Result<T, CallError> {
    told.decode().map_err(|error| CallError::Result(error.to_string().into()))
}

fn member(told: &Json, name: &str) -> Result<Json, CallError> {
    told.get(name).ok_or_else(|| CallError::Result(format!("the result has no {name:?}").into()))
}

/// The result of a tool as a value.
fn typed<T: DeserializeOwned + 'static>(result: &ToolResult) -> Result<T, ToolError> {
    if let Some(structured) = &result.structured {
        let wrapped = || structured.get("result").filter(|_| structured.members().count() == 1);
        // Servers of older revisions wrap what is not an object.
        return structured.decode().or_else(|error| match wrapped() {
            Some(value) => read(&value).map_err(ToolError::from),
            None => Err(CallError::Result(error.to_string().into()).into()),
        });
    }
    let text = result.text();
    let as_json = Json::parse(text.clone()).ok().and_then(|json| json.decode().ok());
    let as_text = || read(&Json::encode(&text).unwrap_or(Json::NULL));
    Ok(as_json.map_or_else(as_text, Ok)?)
}

impl From<ToolError> for ErrorObject {
    fn from(error: ToolError) -> ErrorObject {
        match error {
            ToolError::Failed(result) => ErrorObject::validation_failed(result.text()),
            ToolError::Call(error) => error.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn results_are_read_as_values() {
        let check = |result: Value, expected: Value| {
            let result: ToolResult = serde_json::from_value(result).unwrap();
            assert_eq!(typed::<Value>(&result).unwrap(), expected);
        };
        let text = |text: &str| json!({"content": [{"type": "text", "text": text}]});
        check(text("5"), json!(5));
        check(text("five"), json!("five"));
        check(json!({"structuredContent": {"a": 1}}), json!({"a": 1}));
        let wrapped: ToolResult =
            serde_json::from_value(json!({"structuredContent": {"result": 5}})).unwrap();
        assert_eq!(typed::<i64>(&wrapped).unwrap(), 5);
        let misfit: ToolResult = serde_json::from_value(text("five")).unwrap();
        assert!(matches!(typed::<i64>(&misfit), Err(ToolError::Call(CallError::Result(_)))));
    }

    #[test]
    fn arguments_are_an_object_or_nothing() {
        let arguments = |value: Value| tool("t", &value).map(|sent| sent.params.len());
        assert_eq!(arguments(json!({"a": 1})), Ok(2));
        assert_eq!(arguments(json!(null)), Ok(1));
        assert!(matches!(arguments(json!([1])), Err(CallError::Params(_))));
    }
}
