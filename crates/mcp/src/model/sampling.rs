//! Sampling: asking the model of a client.

use std::borrow::Cow;

use switchboard_core::Json;

use super::meta::Meta;
use super::sampling_content::{self, SamplingContent};
use super::wire::{tokens, wire};
use super::{Message, Revision, Role, Tool};

wire! {
    /// The params of `sampling/createMessage`: a request to the model of the client (MCP-SA-01).
    #[derive(Default)]
    pub struct Sampling {
        required {
            /// The conversation so far.
            messages: Vec<SamplingMessage> = "messages" via split,
            /// The maximum number of tokens to generate.
            max_tokens: u64 = "maxTokens",
        }
        optional {
            /// The preferred models.
            model_preferences: Option<ModelPreferences> = "modelPreferences",
            /// The system prompt, which the client may change.
            system_prompt: Option<String> = "systemPrompt",
            /// The context that the client should include.
            include_context: Option<IncludeContext> = "includeContext",
            /// The sampling temperature.
            temperature: Option<f64> = "temperature",
            /// Sequences that stop the generation.
            stop_sequences: Vec<String> = "stopSequences",
            /// Provider-specific settings, an object.
            metadata: Option<Json> = "metadata",
            /// The tools that the model may use. Requires the capability `sampling.tools`.
            tools: Vec<Tool> = "tools" since V2025_11_25,
            /// Controls the use of tools.
            tool_choice: Option<ToolChoice> = "toolChoice" since V2025_11_25,
            /// Request metadata, written only in 2025-11-25.
            meta: Meta = "_meta" since V2025_11_25 until V2025_11_25,
        }
    }
}

impl Sampling {
    /// A request with these messages and this token limit.
    #[must_use]
    pub fn new(messages: Vec<SamplingMessage>, max_tokens: u64) -> Sampling {
        Sampling { messages, max_tokens, ..Sampling::default() }
    }
}

/// Before 2025-11-25 a message has exactly one block. Messages with several blocks are split.
fn split(messages: &[SamplingMessage], revision: Revision) -> Cow<'_, [SamplingMessage]> {
    if revision >= Revision::V2025_11_25 || messages.iter().all(|message| message.content.len() == 1) {
        return Cow::Borrowed(messages);
    }
    let split = messages.iter().flat_map(|message| {
        message.content.iter().map(|block| SamplingMessage {
            role: message.role,
            content: vec![block.clone()],
            meta: Meta::new(),
        })
    });
    Cow::Owned(split.collect())
}

wire! {
    /// A message of a sampling request.
    pub struct SamplingMessage {
        required {
            /// The role of the speaker.
            role: Role = "role",
            /// The content blocks.
            #[serde(deserialize_with = "sampling_content::one_or_many")]
            content: Vec<SamplingContent> = "content" via sampling_content::one_or_many_at,
        }
        optional {
            /// Metadata.
            meta: Meta = "_meta" since V2025_11_25,
        }
    }
}

impl SamplingMessage {
    /// A message from the user.
    #[must_use]
    pub fn user(content: impl Into<SamplingContent>) -> SamplingMessage {
        SamplingMessage { role: Role::User, content: vec![content.into()], meta: Meta::new() }
    }

    /// A message from the model.
    #[must_use]
    pub fn assistant(content: impl Into<SamplingContent>) -> SamplingMessage {
        SamplingMessage { role: Role::Assistant, content: vec![content.into()], meta: Meta::new() }
    }
}

impl From<Message> for SamplingMessage {
    fn from(message: Message) -> SamplingMessage {
        SamplingMessage { role: message.role, content: vec![message.content.into()], meta: Meta::new() }
    }
}

/// What the model answered, as a part of the conversation that goes on.
impl From<Sampled> for SamplingMessage {
    fn from(sampled: Sampled) -> SamplingMessage {
        SamplingMessage { role: sampled.role, content: sampled.content, meta: Meta::new() }
    }
}

wire! {
    /// Preferences for the choice of a model. Priorities range from 0 to 1.
    #[derive(Default)]
    pub struct ModelPreferences {
        required {}
        optional {
            /// Hints for model names, best first.
            hints: Vec<ModelHint> = "hints",
            /// The importance of low cost.
            cost_priority: Option<f64> = "costPriority",
            /// The importance of speed.
            speed_priority: Option<f64> = "speedPriority",
            /// The importance of capability.
            intelligence_priority: Option<f64> = "intelligencePriority",
        }
    }
}

wire! {
    /// A hint for the choice of a model.
    #[derive(Default)]
    pub struct ModelHint {
        required {}
        optional {
            /// The name of a model or a part of it.
            name: Option<String> = "name",
        }
    }
}

wire! {
    /// Controls the use of tools.
    #[derive(Default)]
    pub struct ToolChoice {
        required {}
        optional {
            /// The mode. `auto` if absent.
            mode: Option<ToolChoiceMode> = "mode",
        }
    }
}

tokens! {
    /// Whether the model uses tools.
    pub enum ToolChoiceMode {
        /// The model decides.
        Auto = "auto",
        /// The model must use a tool.
        Required = "required",
        /// The model must not use tools.
        None = "none",
    }
}

tokens! {
    /// The context that a client should include in a sampling request.
    pub enum IncludeContext {
        /// No context.
        None = "none",
        /// The context of the requesting server. Deprecated since 2025-11-25.
        ThisServer = "thisServer",
        /// The context of all servers. Deprecated since 2025-11-25.
        AllServers = "allServers",
    }
}

wire! {
    /// The result of `sampling/createMessage`.
    ///
    /// # Examples
    ///
    /// ```
    /// use switchboard_mcp::model::Sampled;
    ///
    /// let answer = Sampled::new("model-1", "Boots and a raincoat.");
    /// assert_eq!(answer.text(), "Boots and a raincoat.");
    /// ```
    pub struct Sampled {
        required {
            /// The role of the speaker, usually the model.
            role: Role = "role",
            /// The content blocks.
            #[serde(deserialize_with = "sampling_content::one_or_many")]
            content: Vec<SamplingContent> = "content" via sampling_content::one_or_many_at,
            /// The name of the model.
            model: String = "model",
        }
        optional {
            /// Why the generation stopped: `endTurn`, `stopSequence`, `maxTokens`, `toolUse` or another reason.
            stop_reason: Option<String> = "stopReason",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

impl Sampled {
    /// A message from this model.
    #[must_use]
    pub fn new(model: impl Into<String>, content: impl Into<SamplingContent>) -> Sampled {
        Sampled {
            role: Role::Assistant,
            content: vec![content.into()],
            model: model.into(),
            stop_reason: None,
            meta: Meta::new(),
        }
    }

    /// The text blocks, joined with newlines.
    #[must_use]
    pub fn text(&self) -> String {
        sampling_content::texts(&self.content)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ToolUse, ToolUseResult, Wire as _};

    // MCP-SA-01
    #[test]
    fn older_revisions_have_one_block_a_message_and_no_tools() {
        let mut message = SamplingMessage::user("a");
        message.content.push("b".into());
        let mut ask = Sampling::new(vec![message], 5);
        ask.tool_choice = Some(ToolChoice { mode: Some(ToolChoiceMode::Auto) });
        let check = |revision, expected: &str| assert_eq!(ask.to_json(revision).as_str(), expected);
        let [a, b] = ["a", "b"].map(|text| format!(r#"{{"type":"text","text":"{text}"}}"#));
        let one = |block: &str| format!(r#"{{"role":"user","content":{block}}}"#);
        check(Revision::V2025_06_18, &format!(r#"{{"messages":[{},{}],"maxTokens":5}}"#, one(&a), one(&b)));
        check(
            Revision::V2025_11_25,
            &format!(
                r#"{{"messages":[{}],"maxTokens":5,"toolChoice":{{"mode":"auto"}}}}"#,
                one(&format!("[{a},{b}]"))
            ),
        );
    }

    // MCP-SA-02
    #[test]
    fn uses_of_tools_are_read_and_written() {
        let used = ToolUse::new("u1", "add", Json::parse(r#"{"a": 1}"#).unwrap());
        let mut answer = Sampled::new("m", used);
        answer.content.push(ToolUseResult::new("u1", "2").into());
        let written = answer.to_json(Revision::V2025_11_25);
        assert_eq!(written.decode::<Sampled>().unwrap(), answer);
        let older = answer.to_json(Revision::V2025_06_18).decode::<Sampled>().unwrap();
        assert_eq!(older.text(), "[call of the tool add with {\"a\": 1}]\n2");
    }

    #[test]
    fn an_answer_is_read_with_one_block_or_several() {
        let block = r#"{"type":"text","text":"a"}"#;
        for content in [block.to_owned(), format!("[{block}]")] {
            let text = format!(r#"{{"role":"assistant","content":{content},"model":"m"}}"#);
            assert_eq!(serde_json::from_str::<Sampled>(&text).unwrap(), Sampled::new("m", "a"));
        }
    }
}
