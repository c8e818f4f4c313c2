//! From syntax to the [model](crate::model), with a message for each mistake.

mod argument;
mod method;
mod output;
pub(crate) mod types;

pub(crate) use method::method;

/// Where a function stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Container {
    Impl,
    Trait,
}
