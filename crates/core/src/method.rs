//! A method: a name, a service that answers it, and its description.

use std::fmt;
use std::future::Future;
use std::sync::Arc;

use futures_core::Stream;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::arguments::decode_params;
use crate::context::Context;
use crate::describe::MethodDescription;
use crate::error::IntoError;
use crate::reply::{Reply, ReplyFuture};
use crate::schemas::Schemas;
use crate::service::{Service, service_fn};
use crate::subscription::Subscription;

type DescribeMethod = Arc<dyn Fn(&mut Schemas) -> MethodDescription + Send + Sync>;

/// A method to add to a router.
#[derive(Clone)]
pub struct Method {
    pub(crate) name: String,
    pub(crate) service: Arc<dyn Service>,
    describe: Option<DescribeMethod>,
    /// How its streams are spelled, if not in our own dialect.
    pub(crate) subscription: Option<Subscription>,
}

/// A group of methods, such as an impl block with `#[service]`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no methods to serve",
    note = "put `#[service]` on an impl block of `{Self}`, or wrap an implementation of a `#[service]` trait `Name` \
            as `NameService(..)`"
)]
pub trait Methods {
    /// The methods, under their full names.
    fn methods(self) -> Vec<Method>;
}

/// A group of methods whose state can be shared with the rest of the program. `#[service]` implements it.
///
/// With it, an `Arc` of the type is a group of [`Methods`] too.
pub trait SharedMethods {
    /// The methods, under their full names.
    fn shared_methods(self: Arc<Self>) -> Vec<Method>;
}

impl<T: SharedMethods> Methods for Arc<T> {
    fn methods(self) -> Vec<Method> {
        self.shared_methods()
    }
}

impl Methods for Vec<Method> {
    fn methods(self) -> Vec<Method> {
        self
    }
}

impl Methods for Method {
    fn methods(self) -> Vec<Method> {
        vec![self]
    }
}

impl Method {
    /// A method answered by a service.
    pub fn new(name: impl Into<String>, service: impl Service) -> Method {
        Method { name: name.into(), service: Arc::new(service), describe: None, subscription: None }
    }

    /// A method answered by a synchronous function. It runs where frames are read, so it must not block.
    ///
    /// `P` is read from the parameters: a struct by name or by position, a tuple by position, `()` from none, and
    /// [`Json`](crate::Json) takes them as they are.
    pub fn sync<F, P, T, E>(name: impl Into<String>, function: F) -> Method
    where
        F: Fn(P, Context) -> Result<T, E> + Send + Sync + 'static,
        P: DeserializeOwned + 'static,
        T: Serialize + 'static,
        E: IntoError,
    {
        Method::new(
            name,
            service_fn(move |call| {
                ReplyFuture::ready(match decode_params(call.params.as_ref()) {
                    Ok(params) => Reply::from_result(function(params, call.cx.clone())),
                    Err(error) => Reply::error(error),
                })
            }),
        )
    }

    /// A method answered by an asynchronous function.
    pub fn future<F, P, R, T, E>(name: impl Into<String>, function: F) -> Method
    where
        F: Fn(P, Context) -> R + Send + Sync + 'static,
        P: DeserializeOwned + 'static,
        R: Future<Output = Result<T, E>> + Send + 'static,
        T: Serialize + 'static,
        E: IntoError,
    {
        Method::new(
            name,
            service_fn(move |call| match decode_params(call.params.as_ref()) {
                Ok(params) => {
                    let result = function(params, call.cx.clone());
                    ReplyFuture::pending(async { Reply::from_result(result.await) })
                }
                Err(error) => ReplyFuture::ready(error),
            }),
        )
    }

    /// A method that returns a stream.
    pub fn stream<F, P, S>(name: impl Into<String>, function: F) -> Method
    where
        F: Fn(P, Context) -> S + Send + Sync + 'static,
        P: DeserializeOwned + 'static,
        S: Stream + Send + 'static,
        S::Item: Serialize + 'static,
    {
        Method::new(
            name,
            service_fn(move |call| {
                ReplyFuture::ready(match decode_params(call.params.as_ref()) {
                    Ok(params) => Reply::stream(function(params, call.cx.clone())),
                    Err(error) => Reply::error(error),
                })
            }),
        )
    }

    /// A method that returns a stream whose items may fail, such as a [`FeedItems`](crate::FeedItems).
    pub fn feed<F, P, S, T, E>(name: impl Into<String>, function: F) -> Method
    where
        F: Fn(P, Context) -> S + Send + Sync + 'static,
        P: DeserializeOwned + 'static,
        S: Stream<Item = Result<T, E>> + Send + 'static,
        T: Serialize + 'static,
        E: IntoError + 'static,
    {
        Method::new(
            name,
            service_fn(move |call| {
                ReplyFuture::ready(match decode_params(call.params.as_ref()) {
                    Ok(params) => Reply::try_stream(function(params, call.cx.clone())),
                    Err(error) => Reply::error(error),
                })
            }),
        )
    }

    /// Sets the method's description. Its name and the names of its subscription are filled in.
    #[must_use]
    pub fn described<F>(mut self, describe: F) -> Method
    where
        F: Fn(&mut Schemas) -> MethodDescription + Send + Sync + 'static,
    {
        self.describe = Some(Arc::new(describe));
        self
    }

    /// Sets the method names of its streams on a connection, see [`Subscription`].
    ///
    /// The router then also answers the method that unsubscribes. Over transports with a single response the method cannot be called:
    /// a subscription has no end to wait for.
    #[must_use]
    pub fn subscription(mut self, names: Subscription) -> Method {
        self.subscription = Some(names);
        self
    }

    pub(crate) fn prefixed(mut self, prefix: &str) -> Method {
        self.name.insert_str(0, prefix);
        self.subscription = self.subscription.map(|names| names.prefixed(prefix));
        self
    }

    pub(crate) fn describe(&self, schemas: &mut Schemas) -> MethodDescription {
        let mut description = self.describe.as_ref().map(|describe| describe(schemas)).unwrap_or_default();
        for error in &mut description.errors {
            error.describe_data(schemas);
        }
        MethodDescription { name: self.name.clone(), subscription: self.subscription.clone(), ..description }
    }
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Method").field(&self.name).finish()
    }
}
