//! The core of Switchboard: values, codec, the one door and its drivers. No sockets, no HTTP, no TLS.

mod arguments;
mod call;
mod call_error;
mod call_options;
mod code;
pub mod codec;
mod connection;
mod context;
mod describe;
mod engine;
mod error;
mod expected;
mod extensions;
mod feed;
mod gap;
mod gathered;
mod id;
mod json;
pub mod lasting;
mod layer;
mod limits;
mod method;
mod name;
pub mod observer;
mod partial_results;
mod peer;
mod profile;
mod progress;
mod reply;
mod router;
mod service;
mod subscription;
mod tap;
mod text;
mod topics;

pub use arguments::Arguments;
pub use call::{Call, Members, StreamWanted, encode_params};
pub use call_error::CallError;
pub use code::Code;
pub use connection::{Connection, ConnectionError, Drain, FrameSink, FrameSource};
pub use context::{Context, Origin, Version};
pub use describe::{
    Description, Dialect, ExampleDescription, Marks, MethodDescription, ParamDescription, ResultDescription,
    Schemas,
};
pub use engine::{Answer, Cause, Delivery, Engine, Exchange, First, Output, Outputs};
pub use error::{DeclaredError, ErrorFields, ErrorObject, IntoError};
pub use extensions::Extensions;
pub use feed::{Feed, FeedClosed, Feeding, Overflow, SameKey};
pub use gap::{Gap, GapReason};
pub use gathered::{Batch, Place};
pub use id::Id;
pub use json::{Json, Kind, NotJson};
pub use layer::Layer;
pub use limits::Limits;
pub use method::{Method, Methods, SharedMethods};
pub use name::Name;
pub use peer::{Opening, Peer, Remote, Request, Values};
pub use profile::{Cancel, Profile, Progress, Settings, Streams, Versions};
pub use reply::{Items, Reply, ReplyFuture};
pub use router::{Router, RouterBuilder, RouterError};
pub use service::{Service, ServiceFn, service_fn};
pub use subscription::{Subscription, SubscriptionStyle};
pub use tap::{Direction, Tap, Wire};
pub use topics::Topics;
