//! Signed messages: proves who sent a message and that it was not changed, and refuses messages that are sent again.
//!
//! TLS protects a connection. A signature protects a message on its whole way, through proxies, queues and logs. It covers the method, the
//! params byte for byte, the identifier, the idempotency key, the time and the server that it is meant for. It travels in the member
//! `signature` of the message, so it works on every transport.
//!
//! A server wraps its service in [`Verify`]. A client wraps its peer with [`Sign`]. [`SignedMessage`] signs and verifies texts without
//! a connection. The page "Signed messages" in the documentation has the format, with examples in other languages.
//!
//! What is not covered: metadata other than the idempotency key, and the end of a stream that is sent as an event stream.

mod admit;
mod checks;
pub(crate) mod hex;
mod hop;
mod http;
mod items;
mod key;
mod keys;
mod layer;
mod member;
mod message;
mod params_form;
mod refusal;
mod replay;
mod replies;
mod sign;
mod text;
mod time;
mod usual;
mod verifier;
mod whole;

pub use self::hex::NoRandomness;
pub use self::key::{GenerateError, Key, KeyError, NewKey, SigningAlgorithm};
pub use self::keys::SigningKeys;
pub use self::layer::Verify;
pub use self::member::{Malformed, Member};
pub use self::message::{MessageError, SignedMessage};
pub use self::params_form::ParamsForm;
pub use self::replay::Window;
pub use self::sign::{Sign, audience_of};
#[cfg(feature = "idempotency")]
pub(crate) use self::text::idempotency_key;
pub use self::text::{Covered, SignedText};
pub use self::verifier::{AcceptedSignature, Reason, Verifier};
