//! The core of Switchboard: JSON-RPC values, the codec, [`Router`], [`Service`] and [`Layer`], and the drivers that run calls. It has no sockets, no HTTP
//! and no TLS.
//!
//! Applications use the crate `switchboard`, which re-exports all of this with transports and macros. Depend on this crate to write a transport or
//! middleware:
//!
//! - Middleware is a [`Layer`] around a [`Service`]; [`layer_fn`] makes one from a function.
//! - A transport with messages both ways implements [`FrameSource`] and [`FrameSink`], and runs a [`Connection`].
//! - A transport with one answer to each request runs an [`Exchange`], which an [`Engine`] starts.
//!
//! ```
//! use switchboard_core::{ErrorObject, Peer, Router};
//!
//! # #[tokio::main(flavor = "current_thread")]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! let router = Router::builder().method("add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b)).build()?;
//! assert_eq!(Peer::local(router).call::<i64>("add", [2, 3]).await?, 5);
//! # Ok(())
//! # }
//! ```

mod admission;
mod arguments;
mod batch_builder;
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
mod forward;
mod from_context;
mod gap;
mod id;
mod identity;
mod input;
mod json;
mod layer;
mod layered;
mod limits;
mod memory;
mod metadata;
mod method;
mod mount;
mod name;
mod object_writer;
pub mod observer;
mod partial_results;
mod peer;
mod profile;
mod progress;
pub mod reconnect;
mod remote;
mod reply;
mod request;
mod router;
mod schemas;
mod seal;
mod service;
mod session;
mod subscription;
mod tap;
mod text;
mod topics;
mod trace;
mod upstream;

pub use admission::{Admission, AdmitFuture, Arrival, Refusal, SharedAdmission};
pub use arguments::Arguments;
pub use batch_builder::{BatchBuilder, BatchResult};
pub use call::{
    Call, ItemCheck, Members, MembersOnSend, Outgoing, ReceivedItem, StreamWanted, encode_params,
};
pub use call_error::CallError;
pub use call_options::ProgressSink;
pub use code::Code;
pub use connection::{Connection, ConnectionError, FrameSink, FrameSource};
pub use context::{Context, Origin, Version};
pub use describe::{
    Describe, Description, ExampleDescription, Marks, MethodDescription, ParamDescription, ResultDescription,
};
pub use engine::{Answer, Cause, Delivery, Engine, Exchange, First, Output, Outputs};
pub use error::{DeclaredError, ErrorFields, ErrorObject, FromError, IntoError};
pub use extensions::Extensions;
pub use feed::{Feed, FeedClosed, FeedItems, Overflow, SameKey};
pub use forward::Forward;
pub use from_context::FromContext;
pub use gap::{Gap, GapReason};
pub use id::Id;
pub use identity::{PeerCertificate, PeerCredentials};
pub use input::Input;
pub use json::{Json, Kind, NotJson};
pub use layer::{Layer, LayerFn, Next, layer_fn};
pub use layered::Layered;
pub use limits::Limits;
pub use memory::{Account, Budget, Share};
pub use metadata::{AllowedNames, Metadata, MetadataSource, RepeatedName};
pub use method::{Method, Methods, SharedMethods};
pub use name::Name;
pub use object_writer::ObjectWriter;
pub use peer::{Peer, Remote};
pub use profile::{Cancel, Profile, Progress, Settings, Streams, Versions};
pub use reply::{Extra, Items, Outcome, Reply, ReplyFuture};
pub use request::{Request, StreamRequest, Values};
pub use router::{Router, RouterBuilder, RouterError};
pub use schemas::{Dialect, Schemas};
pub use seal::{AnswerHead, OutgoingRequest, RequestHead, Seal, SealedRequest, SharedSeal};
pub use service::{Service, ServiceFn, service_fn};
pub use session::{CloseReason, EndReason, Session, SessionOutput};
pub use subscription::{Subscription, SubscriptionStyle};
pub use tap::{Direction, Tap, Wire};
pub use topics::Topics;
pub use trace::{CarrierTrace, TraceContext};
pub use upstream::{Connections, Upstream};
