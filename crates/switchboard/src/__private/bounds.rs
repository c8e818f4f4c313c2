//! Requirements on the types in signatures, and the messages when they are not met.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use switchboard_core::IntoError;

#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from JSON",
    label = "this type cannot be received",
    note = "put `#[derive(serde::Deserialize)]` on `{Self}` if it is yours, or choose a type that serde can read"
)]
pub trait Readable: DeserializeOwned + 'static {}

#[diagnostic::do_not_recommend]
impl<T: DeserializeOwned + 'static> Readable for T {}

#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be written as JSON",
    label = "this type cannot be sent",
    note = "put `#[derive(serde::Serialize)]` on `{Self}` if it is yours, or choose a type that serde can write"
)]
pub trait Writable: Serialize + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + 'static> Writable for T {}

#[diagnostic::on_unimplemented(
    message = "`{Self}` has no JSON Schema",
    label = "this type cannot be described to callers",
    note = "put `#[derive(schemars::JsonSchema)]` on `{Self}` if it is yours; otherwise describe it by another type, with \
            `#[arg(schema = …)]` on the argument or `#[method(result_schema = …)]` on the method: `switchboard::Json` \
            stands for any value"
)]
pub trait Described: JsonSchema {}

#[diagnostic::do_not_recommend]
impl<T: JsonSchema> Described for T {}

#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be used from several threads at once",
    label = "the methods of this type may be called from any thread",
    note = "keep mutable state in a `Mutex` or an atomic instead of a `Cell` or `RefCell`, share with `Arc` instead of \
            `Rc`, and borrow nothing"
)]
pub trait Shareable: Send + Sync + 'static {}

#[diagnostic::do_not_recommend]
impl<T: Send + Sync + 'static> Shareable for T {}

#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the error of a method",
    label = "this type has no mapping to a JSON-RPC error",
    note = "put `#[derive(switchboard::RpcError)]` on `{Self}`, implement `switchboard::IntoError` for it, or return \
            `switchboard::ErrorObject` as the error"
)]
pub trait Failure: IntoError + 'static {}

#[diagnostic::do_not_recommend]
impl<E: IntoError + 'static> Failure for E {}
