//! The arguments of a method.

use std::marker::PhantomData;

use serde_json::Value;
use switchboard_core::{Arguments, Context, ErrorObject, FromContext, ParamDescription, Reply, Schemas};

use super::{Described, Named, Readable, Writable};

/// The type of an argument. Inherent functions take precedence over those of [`PlainArgument`], so that an `Option` is recognised whatever it is
/// called where it is used.
pub struct Argument<T>(PhantomData<T>);

impl<T> Argument<Option<T>> {
    #[inline]
    pub fn read<const N: usize>(arguments: &Arguments<'_, N>, index: usize) -> Result<Option<T>, ErrorObject>
    where
        T: Readable,
    {
        arguments.optional(index)
    }

    pub fn describe(name: &str, schema: Value) -> ParamDescription {
        ParamDescription::optional(name, schema)
    }

    pub fn insert(params: &mut Named, name: &'static str, value: &Option<T>)
    where
        T: Writable,
    {
        params.insert_some(name, value);
    }
}

/// Only explains what is wrong.
impl Argument<Context> {
    pub fn read<const N: usize>(_: &Arguments<'_, N>, _: usize) -> Result<Context, ErrorObject>
    where
        CallWith<N>: OwnsContext,
    {
        Ok(Context::default())
    }

    pub fn schema(_: &mut Schemas) -> Value {
        Value::Null
    }

    pub fn insert(_: &mut Named, _: &'static str, _: &Context) {}
}

pub trait PlainArgument {
    type Value;

    fn read<const N: usize>(arguments: &Arguments<'_, N>, index: usize) -> Result<Self::Value, ErrorObject>
    where
        Self::Value: Readable;

    fn schema(schemas: &mut Schemas) -> Value
    where
        Self::Value: Described;

    fn describe(name: &str, schema: Value) -> ParamDescription;

    fn insert(params: &mut Named, name: &'static str, value: &Self::Value)
    where
        Self::Value: Writable;
}

impl<T> PlainArgument for Argument<T> {
    type Value = T;

    #[inline]
    fn read<const N: usize>(arguments: &Arguments<'_, N>, index: usize) -> Result<T, ErrorObject>
    where
        T: Readable,
    {
        arguments.required(index)
    }

    fn schema(schemas: &mut Schemas) -> Value
    where
        T: Described,
    {
        schemas.of::<T>()
    }

    fn describe(name: &str, schema: Value) -> ParamDescription {
        ParamDescription::required(name, schema)
    }

    fn insert(params: &mut Named, name: &'static str, value: &T)
    where
        T: Writable,
    {
        params.insert(name, value);
    }
}

/// As for an `Option`, null leaves the argument out: by position there is no other way to reach the ones after it.
#[inline]
pub fn defaulted<T: Readable, const N: usize>(
    arguments: &Arguments<'_, N>,
    index: usize,
    default: impl FnOnce() -> T,
) -> Result<T, ErrorObject> {
    arguments.optional(index).map(|given| given.unwrap_or_else(default))
}

#[inline]
pub fn rest<T: Readable, const N: usize>(arguments: &Arguments<'_, N>) -> Result<Vec<T>, ErrorObject> {
    arguments.rest()
}

#[diagnostic::on_unimplemented(
    message = "a method must borrow the context of its call",
    label = "write `&Context` instead of `Context`"
)]
pub trait OwnsContext {}

/// A call with this number of arguments.
pub struct CallWith<const N: usize>;

pub fn borrow<T: FromContext>(cx: &Context) -> Result<&T, Reply> {
    T::from_context(cx).ok_or_else(|| T::missing().into())
}

pub fn borrow_some<T: FromContext>(cx: &Context) -> Option<&T> {
    T::from_context(cx)
}

pub fn with_default<T: Writable>(param: ParamDescription, default: T) -> ParamDescription {
    param.with_default(&default)
}
