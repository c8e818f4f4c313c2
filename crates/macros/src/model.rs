//! The declared service, once it is known to be valid.

use proc_macro2::TokenStream;
use syn::{Attribute, Expr, Ident, LitStr, Type};

use crate::mcp::Mcp;

/// One method.
pub(crate) struct Method {
    /// The function.
    pub(crate) function: Ident,
    /// The full name on the wire.
    pub(crate) name: String,
    pub(crate) docs: String,
    /// The `#[cfg(…)]`s of the function.
    pub(crate) conditions: Vec<Attribute>,
    pub(crate) deprecated: Option<String>,
    pub(crate) safe: bool,
    pub(crate) idempotent: bool,
    pub(crate) durable: bool,
    /// Whether it ignores named params that it does not know.
    pub(crate) allows_unknown_params: bool,
    pub(crate) tags: Vec<LitStr>,
    /// The full names that its stream goes by: of items, and to unsubscribe.
    pub(crate) subscription: Option<(String, String)>,
    /// Whether it is there to be notified.
    pub(crate) is_notification: bool,
    pub(crate) examples: Vec<Example>,
    pub(crate) extensions: Vec<Extension>,
    /// What it says to clients of MCP.
    pub(crate) mcp: Option<Mcp>,
    pub(crate) is_async: bool,
    /// What the function takes after `&self`, in its order.
    pub(crate) inputs: Vec<Input>,
    pub(crate) output: Output,
    /// The type that the result is described by, if not its own.
    pub(crate) result_schema: Option<Type>,
}

impl Method {
    /// The arguments in the order of their positions.
    pub(crate) fn arguments(&self) -> impl Iterator<Item = &Argument> {
        self.inputs.iter().filter_map(|input| match input {
            Input::Borrowed(_) => None,
            Input::Argument(argument) => Some(&**argument),
        })
    }

    /// The arguments from the context, with the position of each among the inputs.
    pub(crate) fn borrowed(&self) -> impl Iterator<Item = (usize, &Borrowed)> {
        self.inputs.iter().enumerate().filter_map(|(position, input)| match input {
            Input::Borrowed(borrowed) => Some((position, &**borrowed)),
            Input::Argument(_) => None,
        })
    }

    pub(crate) fn is_variadic(&self) -> bool {
        self.arguments().any(|argument| matches!(argument.kind, Kind::Rest(_)))
    }
}

/// A call and its answer, as it is written for `json!`.
pub(crate) struct Example {
    pub(crate) name: LitStr,
    pub(crate) params: TokenStream,
    pub(crate) result: Option<TokenStream>,
}

/// A member of the method's entry in an OpenRPC document, as it is written for `json!`.
pub(crate) struct Extension {
    pub(crate) name: LitStr,
    pub(crate) value: TokenStream,
}

/// Something the function takes.
pub(crate) enum Input {
    /// A value from the context of the call.
    Borrowed(Box<Borrowed>),
    /// A value the caller gives.
    Argument(Box<Argument>),
}

/// `&T`, or `Option<&T>`.
pub(crate) struct Borrowed {
    pub(crate) ty: Type,
    pub(crate) is_optional: bool,
}

/// A value the caller gives.
pub(crate) struct Argument {
    /// Its name in Rust.
    pub(crate) variable: Ident,
    /// Its name on the wire.
    pub(crate) name: String,
    pub(crate) docs: String,
    /// Its type, as it is written.
    pub(crate) ty: Type,
    /// The type that it is described by, if not its own.
    pub(crate) schema: Option<Type>,
    /// The HTTP header that repeats it in calls over MCP.
    pub(crate) header: Option<LitStr>,
    pub(crate) kind: Kind,
}

/// When a value must be given, and how.
pub(crate) enum Kind {
    /// It must be given, unless its type is an `Option`.
    Plain,
    Default(DefaultValue),
    /// All values that are left, each of this type.
    Rest(Box<Type>),
}

/// What an argument is when it is left out.
#[derive(Clone)]
pub(crate) enum DefaultValue {
    /// `Default::default()`.
    OfType,
    Text(LitStr),
    Expression(Box<Expr>),
}

/// What the function returns.
pub(crate) enum Output {
    /// One value.
    Value(Returned),
    /// A stream. `failure` is the `E` of `Result<impl Stream, E>`.
    Stream { item: Returned, failure: Option<Box<Type>> },
}

impl Output {
    /// The value, or an item of the stream.
    pub(crate) fn returned(&self) -> &Returned {
        match self {
            Output::Value(returned) | Output::Stream { item: returned, .. } => returned,
        }
    }

    /// Whether a success says nothing.
    pub(crate) fn is_nothing(&self) -> bool {
        matches!(self, Output::Value(Returned { success: Type::Tuple(tuple), .. }) if tuple.elems.is_empty())
    }
}

/// A value that is sent.
pub(crate) struct Returned {
    /// Its type as it is written. It may be a `Result`, by that or another name.
    pub(crate) ty: Type,
    /// What a client gets: the `T` of `Result<T, E>`.
    pub(crate) success: Type,
    /// Whether the type is written as a `Result`.
    pub(crate) is_result: bool,
}
