//! What a server says about itself: from its OpenRPC document to the description of a service, for proxies and adapters.

mod describe;
mod positions;
mod schema;

use switchboard_core::{CallError, Code, Json, Peer};

pub use self::describe::{Calling, Form, describe};
pub use self::positions::{Slot, by_name, by_position};
pub use self::schema::inlined;
use crate::discover::DISCOVER;
use crate::document::{Document, ParseError, RefError};

/// Why the methods of a server are not known.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum RemoteError {
    /// The server has no method that describes it.
    #[error("the server does not describe its methods: it has no rpc.discover")]
    Undescribed,
    /// The server cannot be asked.
    #[error(transparent)]
    Call(CallError),
    /// The description is not an OpenRPC document.
    #[error("the description of the server is not an OpenRPC document: {0}")]
    Document(#[from] ParseError),
    /// The description refers to something that it does not have.
    #[error("the description of the server is not complete: {0}")]
    Reference(#[from] RefError),
}

/// Asks a server for its description, with its references resolved.
///
/// # Errors
///
/// When the server cannot be reached, or does not describe itself.
pub async fn read(peer: &Peer) -> Result<Document, RemoteError> {
    let told: Result<Json, CallError> = peer.call(DISCOVER, ()).repeatable().await;
    let told = told.map_err(|error| match error {
        CallError::Rejected(error) if error.code == Code::METHOD_NOT_FOUND => RemoteError::Undescribed,
        other => RemoteError::Call(other),
    })?;
    Ok(Document::parse(told.as_str().to_owned())?.resolved()?)
}
