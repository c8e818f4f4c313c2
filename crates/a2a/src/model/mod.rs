//! The wire types, as 1.0 writes them. [`v03`] translates to and from the shapes of 0.3.

mod card;
pub mod error;
mod event;
mod message;
pub mod methods;
mod part;
pub(crate) mod push;
mod request;
mod task;
mod time;
pub mod v03;
mod version;
mod wire;

pub use self::card::{
    AgentCapabilities, AgentCard, AgentExtension, AgentInterface, AgentProvider, AgentSkill,
};
pub(crate) use self::card::{JSON_RPC, OTHER_TRANSPORTS};
pub use self::event::{ArtifactUpdate, StatusUpdate, StreamEvent};
pub use self::message::{Message, Role};
pub use self::part::{Content, Part};
pub use self::push::{GetPush, ListPush, PushAuthentication, PushConfig, PushPage};
pub use self::request::{
    CancelTask, GetTask, ListTasks, SendConfiguration, SendMessage, SubscribeToTask, TaskPage,
};
pub use self::task::{Artifact, Task, TaskState, TaskStatus};
pub use self::time::Timestamp;
pub use self::version::Version;
