//! The wire types of every revision, in one place.
//!
//! Each type has the members of all revisions. It can be read from any revision and is written with [`At`], which names the
//! revision.

mod annotations;
mod block;
mod capabilities;
mod completion;
mod content;
mod contents;
mod elicitation;
pub mod error;
mod handshake;
mod implementation;
mod input_required;
mod listen;
mod log;
pub mod lower;
mod media;
pub mod meta;
pub mod methods;
mod neutral;
mod notifications;
mod prompt;
mod resource;
mod result;
mod revision;
mod root;
mod sampling;
mod sampling_content;
mod task;
mod tool;
mod wire;

pub use annotations::{Annotations, Role};
pub use block::{Block, Link};
pub use capabilities::{
    Capability, ClientCapabilities, ElicitationCapability, ListCapability, ResourcesCapability,
    RootsCapability, SamplingCapability, ServerCapabilities, Settings, TASKS_EXTENSION, TasksCapability,
};
pub use completion::{Completion, CompletionArgument, CompletionContext, CompletionParams, CompletionRef};
pub use content::Content;
pub use contents::{Body, Contents};
pub use elicitation::{ElicitAction, ElicitForm, ElicitUrl, Elicitation, Elicited};
pub use handshake::{CacheScope, DiscoverResult, InitializeParams, InitializeResult};
pub use implementation::{Icon, Implementation, Theme};
pub use input_required::{INPUT_REQUIRED, InputRequest, InputRequired};
pub use listen::ListenFilter;
pub use log::{LogLevel, UnknownLogLevel};
pub use media::{Audio, Image};
pub use meta::{Meta, RequestMeta};
pub use neutral::Mark;
pub use notifications::{LogParams, ProgressParams};
pub use prompt::{Message, Prompt, PromptArgument};
pub use resource::{Resource, ResourceTemplate};
pub use result::{COMPLETE, RESULT_TYPE, ToolResult};
pub use revision::{Revision, UnknownRevision};
pub use root::{Root, Roots};
pub use sampling::{
    IncludeContext, ModelHint, ModelPreferences, Sampled, Sampling, SamplingMessage, ToolChoice,
    ToolChoiceMode,
};
pub use sampling_content::{SamplingContent, ToolUse, ToolUseResult};
pub use task::{Task, TaskStatus};
pub use tool::{TaskSupport, Tool, ToolAnnotations, ToolExecution};
pub use wire::{At, Member, Wire};
