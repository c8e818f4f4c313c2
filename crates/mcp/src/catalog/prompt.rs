//! Prompts: messages that users pick.

use super::entry::{Handler, Listed};
use crate::model::Prompt;

/// A prompt.
pub(crate) struct PromptEntry {
    pub(crate) prompt: Prompt,
    pub(crate) handler: Handler,
    /// What another server calls it, if the method passes requests on.
    pub(crate) relayed: Option<String>,
}

impl Listed for PromptEntry {
    type Shown = Prompt;

    fn shown(&self) -> &Prompt {
        &self.prompt
    }
}
