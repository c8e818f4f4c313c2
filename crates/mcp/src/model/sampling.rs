//! Asking the model of a client.

use std::borrow::Cow;

use switchboard_core::Json;

use super::meta::Meta;
use super::sampling_content::{self, SamplingContent};
use super::wire::{tokens, wire};
use super::{Revision, Role, Tool};

wire! {
    /// A question to the model of a client: the params of `sampling/createMessage` (MCP-SA-01).
    #[derive(Default)]
    pub struct Sampling {
        required {
            /// The conversation so far.
            messages: Vec<SamplingMessage> = "messages" via split,
            /// How many tokens the answer may have.
            max_tokens: u64 = "maxTokens",
        }
        optional {
            /// Which model to prefer.
            model_preferences: Option<ModelPreferences> = "modelPreferences",
            /// The system prompt. The client may change it.
            system_prompt: Option<String> = "systemPrompt",
            /// Which context the client should add.
            include_context: Option<IncludeContext> = "includeContext",
            /// How varied the answer is.
            temperature: Option<f64> = "temperature",
            /// Texts that end the answer.
            stop_sequences: Vec<String> = "stopSequences",
            /// An object for the provider of the model.
            metadata: Option<Json> = "metadata",
            /// The tools that the model may use. The client must have the capability `sampling.tools`.
            tools: Vec<Tool> = "tools" since V2025_11_25,
            /// How the model uses the tools.
            tool_choice: Option<ToolChoice> = "toolChoice" since V2025_11_25,
            /// Metadata of the request. Later revisions have none inside a result.
            meta: Meta = "_meta" since V2025_11_25 until V2025_11_25,
        }
    }
}

impl Sampling {
    /// A question with this conversation, and an answer of at most so many tokens.
    #[must_use]
    pub fn new(messages: Vec<SamplingMessage>, max_tokens: u64) -> Sampling {
        Sampling { messages, max_tokens, ..Sampling::default() }
    }
}

/// Before 2025-11-25 a message has one block: one that has more becomes several.
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
    /// A message of a conversation.
    pub struct SamplingMessage {
        required {
            /// Who says it.
            role: Role = "role",
            /// What is said.
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
    /// A message of the user.
    #[must_use]
    pub fn user(content: impl Into<SamplingContent>) -> SamplingMessage {
        SamplingMessage { role: Role::User, content: vec![content.into()], meta: Meta::new() }
    }

    /// A message of the model.
    #[must_use]
    pub fn assistant(content: impl Into<SamplingContent>) -> SamplingMessage {
        SamplingMessage { role: Role::Assistant, content: vec![content.into()], meta: Meta::new() }
    }
}

wire! {
    /// Which model to prefer. The priorities go from 0 to 1.
    #[derive(Default)]
    pub struct ModelPreferences {
        required {}
        optional {
            /// Names or parts of names of models, the best first.
            hints: Vec<ModelHint> = "hints",
            /// How much a low price matters.
            cost_priority: Option<f64> = "costPriority",
            /// How much speed matters.
            speed_priority: Option<f64> = "speedPriority",
            /// How much ability matters.
            intelligence_priority: Option<f64> = "intelligencePriority",
        }
    }
}

wire! {
    /// The name of a model, or a part of it.
    #[derive(Default)]
    pub struct ModelHint {
        required {}
        optional {
            /// The name.
            name: Option<String> = "name",
        }
    }
}

wire! {
    /// How the model uses the tools.
    #[derive(Default)]
    pub struct ToolChoice {
        required {}
        optional {
            /// Whether it uses them. It may if absent.
            mode: Option<ToolChoiceMode> = "mode",
        }
    }
}

tokens! {
    /// Whether the model uses tools.
    pub enum ToolChoiceMode {
        /// It may.
        Auto = "auto",
        /// It must.
        Required = "required",
        /// It may not.
        None = "none",
    }
}

tokens! {
    /// Which context a client should add to a question.
    pub enum IncludeContext {
        /// None.
        None = "none",
        /// That of the server that asks. Deprecated since 2025-11-25.
        ThisServer = "thisServer",
        /// That of all servers. Deprecated since 2025-11-25.
        AllServers = "allServers",
    }
}

wire! {
    /// The answer of a model: the result of `sampling/createMessage`.
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
            /// Who says it, as a rule the model.
            role: Role = "role",
            /// What is said.
            #[serde(deserialize_with = "sampling_content::one_or_many")]
            content: Vec<SamplingContent> = "content" via sampling_content::one_or_many_at,
            /// The name of the model.
            model: String = "model",
        }
        optional {
            /// Why the answer ends: `endTurn`, `stopSequence`, `maxTokens`, `toolUse`, or another reason.
            stop_reason: Option<String> = "stopReason",
            /// Metadata.
            meta: Meta = "_meta",
        }
    }
}

impl Sampled {
    /// An answer of this model.
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

    /// The texts among the blocks, one a line.
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
        assert_eq!(older.text(), "[use of the tool add with {\"a\": 1}]\n2");
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
