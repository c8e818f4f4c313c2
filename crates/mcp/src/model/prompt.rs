//! Prompts and their messages.

use super::meta::Meta;
use super::wire::wire;
use super::{Content, Icon, Role};

wire! {
    /// A prompt, as listed by `prompts/list` (MCP-PR-01).
    #[derive(Default)]
    pub struct Prompt {
        required {
            /// The name.
            name: String = "name",
        }
        optional {
            /// The display name.
            title: Option<String> = "title" since V2025_06_18,
            /// The purpose of the prompt.
            description: Option<String> = "description",
            /// The arguments.
            arguments: Vec<PromptArgument> = "arguments",
            /// Icons for user interfaces.
            icons: Vec<Icon> = "icons" since V2025_11_25,
            /// Metadata.
            meta: Meta = "_meta" since V2025_06_18,
        }
    }
}

impl Prompt {
    /// A prompt with this name.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Prompt {
        Prompt { name: name.into(), ..Prompt::default() }
    }

    /// The display name: the title if there is one, otherwise the name (MCP-B-09).
    #[must_use]
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

wire! {
    /// An argument of a prompt. Values are strings.
    #[derive(Default)]
    pub struct PromptArgument {
        required {
            /// The name.
            name: String = "name",
        }
        optional {
            /// The display name.
            title: Option<String> = "title" since V2025_06_18,
            /// The purpose of the argument.
            description: Option<String> = "description",
            /// Whether the argument is required.
            required: bool = "required",
        }
    }
}

impl PromptArgument {
    /// An argument with this name.
    #[must_use]
    pub fn new(name: impl Into<String>) -> PromptArgument {
        PromptArgument { name: name.into(), ..PromptArgument::default() }
    }
}

wire! {
    /// A message of a prompt: a role and a content block.
    ///
    /// # Examples
    ///
    /// ```
    /// use switchboard_mcp::model::Message;
    ///
    /// let messages = vec![Message::user("Plan a day in Oslo."), Message::assistant("With children?")];
    /// ```
    pub struct Message {
        required {
            /// The role of the speaker.
            role: Role = "role",
            /// The content.
            content: Content = "content",
        }
        optional {}
    }
}

impl Message {
    /// A message from the user.
    #[must_use]
    pub fn user(content: impl Into<Content>) -> Message {
        Message { role: Role::User, content: content.into() }
    }

    /// A message from the model.
    #[must_use]
    pub fn assistant(content: impl Into<Content>) -> Message {
        Message { role: Role::Assistant, content: content.into() }
    }
}
