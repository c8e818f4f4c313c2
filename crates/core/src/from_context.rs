//! Values that a method takes from the context of its call.

use crate::context::Context;
use crate::error::ErrorObject;

/// A value that methods of `#[service]` take from the context of their call: as an argument `&T`, or `Option<&T>` if it may
/// be absent. Callers do not see it.
///
/// [`Context`] is one. For a type that a layer or the transport attaches with [`Context::insert`], an empty
/// implementation is enough.
///
/// # Examples
///
/// ```
/// use switchboard_core::{Context, ErrorObject, FromContext};
///
/// /// Who calls. A layer attaches it.
/// struct User {
///     name: String,
/// }
///
/// impl FromContext for User {
///     fn missing() -> ErrorObject {
///         ErrorObject::unauthorized()
///     }
/// }
///
/// let mut cx = Context::default();
/// assert!(User::from_context(&cx).is_none());
/// cx.insert(User { name: "Ann".to_owned() });
/// assert_eq!(User::from_context(&cx).unwrap().name, "Ann");
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be taken from the context of a call",
    label = "arguments passed by reference are taken from the context",
    note = "for a value that callers pass, write `{Self}` without `&`",
    note = "for a value that a layer attaches to the context, write `impl switchboard::FromContext for {Self} {{}}`"
)]
pub trait FromContext: Send + Sync + Sized + 'static {
    /// The value in this context. By default, the one of this type that was attached last.
    #[must_use]
    fn from_context(cx: &Context) -> Option<&Self> {
        cx.get()
    }

    /// The error for calls of a method that takes `&Self` if the context has none. By default,
    /// -32603, because a layer is missing.
    #[must_use]
    fn missing() -> ErrorObject {
        ErrorObject::internal(&format_args!("the context has no {}", std::any::type_name::<Self>()))
    }
}

impl FromContext for Context {
    #[inline]
    fn from_context(cx: &Context) -> Option<&Context> {
        Some(cx)
    }
}
