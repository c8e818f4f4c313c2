//! A2A over HTTP: calls at one path, and the card at another.

mod base;
mod card;
mod post;

pub(crate) use self::base::{Base, complete};
pub use self::card::CardRoute;
pub use self::post::A2aRoute;
