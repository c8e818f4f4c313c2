//! Prompts, as lists show them, and the messages they are made of.

use super::meta::Meta;
use super::wire::wire;
use super::{Content, Icon, Role};

wire! {
    /// A prompt that a user can choose (MCP-PR-01).
    #[derive(Default)]
    pub struct Prompt {
        required {
            /// The name.
            name: String = "name",
        }
        optional {
            /// The name to show to people.
            title: Option<String> = "title" since V2025_06_18,
            /// What the prompt is for.
            description: Option<String> = "description",
            /// The arguments to fill in.
            arguments: Vec<PromptArgument> = "arguments",
            /// Icons to show with the name.
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

    /// The name to show to people: the title, or else the name (MCP-B-09).
    #[must_use]
    pub fn display_name(&self) -> &str {
        self.title.as_deref().unwrap_or(&self.name)
    }
}

wire! {
    /// An argument of a prompt. Its value is a string.
    #[derive(Default)]
    pub struct PromptArgument {
        required {
            /// The name.
            name: String = "name",
        }
        optional {
            /// The name to show to people.
            title: Option<String> = "title" since V2025_06_18,
            /// What the argument is for.
            description: Option<String> = "description",
            /// Whether the prompt needs it.
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
    /// A message of a prompt: who says it, and a block of content.
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
            /// Who says it.
            role: Role = "role",
            /// What is said.
            content: Content = "content",
        }
        optional {}
    }
}

impl Message {
    /// A message of the user.
    #[must_use]
    pub fn user(content: impl Into<Content>) -> Message {
        Message { role: Role::User, content: content.into() }
    }

    /// A message of the model.
    #[must_use]
    pub fn assistant(content: impl Into<Content>) -> Message {
        Message { role: Role::Assistant, content: content.into() }
    }
}
