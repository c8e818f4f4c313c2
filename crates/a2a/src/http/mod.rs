//! A2A over HTTP: calls at one path, and the card at another.

mod base;
mod card;
mod document;
mod post;

pub(crate) use self::base::Base;
pub use self::card::CardRoute;
pub(crate) use self::document::CardSigner;
pub use self::post::A2aRoute;
