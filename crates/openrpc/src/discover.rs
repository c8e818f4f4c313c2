//! `rpc.discover`: the document, served like any method (OR-30 to OR-34).

use std::fmt;
use std::sync::Arc;

use arc_swap::ArcSwapOption;
use serde_json::json;
use switchboard_core::{
    Arguments, Call, Context, Dialect, ErrorObject, Json, Method, MethodDescription, Reply, ReplyFuture,
    ResultDescription, Router, RouterBuilder, RouterError, Service,
};

use crate::document::Document;
use crate::generate::Generator;

/// The name of the method that returns the document.
pub const DISCOVER: &str = "rpc.discover";

type IsVisible = Arc<dyn Fn(&Context, &str) -> bool + Send + Sync>;

/// Builds routers that describe themselves.
///
/// The document is generated once, when the router is built, so requesting it costs no more than copying it; a [`DiscoveryHandle`]
/// replaces it. A router built without this answers `rpc.discover` with -32601.
///
/// # Examples
///
/// ```
/// use switchboard_core::{ErrorObject, Json, Peer, Router};
/// use switchboard_openrpc::{Discovery, Document, Generator, Info};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let methods = Router::builder().method("ping", |(): (), _| Ok::<_, ErrorObject>("pong"));
/// let router = Discovery::new(Generator::new(Info::new("Ping", "1.0.0"))).build(methods)?;
/// let told: Json = Peer::local(router).call("rpc.discover", ()).await?;
/// assert!(Document::parse(told.to_string())?.method("ping").is_some());
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Discovery {
    generator: Generator,
    is_visible: Option<IsVisible>,
}

impl Discovery {
    /// Describes a router with the document of this generator.
    #[must_use]
    pub fn new(generator: Generator) -> Discovery {
        Discovery { generator, is_visible: None }
    }

    /// Shows each caller only the methods for which this returns true (OR-32), and the schemas that those need. The document is then
    /// written again for each caller.
    ///
    /// It hides, and does not protect: a layer must reject calls that are not allowed.
    #[must_use]
    pub fn visible<F>(mut self, is_visible: F) -> Discovery
    where
        F: Fn(&Context, &str) -> bool + Send + Sync + 'static,
    {
        self.is_visible = Some(Arc::new(is_visible));
        self
    }

    /// Builds the router, with `rpc.discover` among its methods.
    ///
    /// # Errors
    ///
    /// As for [`RouterBuilder::build`]; and when there is another `rpc.discover`.
    pub fn build(self, methods: RouterBuilder) -> Result<Router, RouterError> {
        self.build_with_handle(methods).map(|(router, _)| router)
    }

    /// Builds the router, and gives what replaces its document: for mounted services whose methods change.
    ///
    /// # Errors
    ///
    /// As for [`build`](Discovery::build).
    pub fn build_with_handle(self, methods: RouterBuilder) -> Result<(Router, DiscoveryHandle), RouterError> {
        let handle = DiscoveryHandle(Arc::default());
        let service = Discover { told: handle.clone(), is_visible: self.is_visible };
        let builder = methods.extension(Method::new(DISCOVER, service).described(|_| described()));
        handle.replace(self.generator.describe(builder.describe_in(Dialect::OpenRpc)));
        Ok((builder.build()?, handle))
    }
}

/// Replaces the document of a router. Cheap to clone.
#[derive(Clone)]
pub struct DiscoveryHandle(Arc<ArcSwapOption<Told>>);

impl DiscoveryHandle {
    /// Answers `rpc.discover` with this document from now on.
    pub fn replace(&self, document: Document) {
        // Its parts are JSON, so it can be written.
        let json = Json::encode(&document).unwrap_or(Json::NULL);
        self.0.store(Some(Arc::new(Told { json, document })));
    }
}

impl fmt::Debug for DiscoveryHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DiscoveryHandle(..)")
    }
}

impl fmt::Debug for Discovery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Discovery").field("generator", &self.generator).finish_non_exhaustive()
    }
}

/// How the method looks in its own document. The schema is not the official one by its address: tools would fetch it.
fn described() -> MethodDescription {
    MethodDescription::documented("Describes this API as an OpenRPC document.")
        .no_more_params()
        .result(ResultDescription::Value(
            json!({"type": "object", "required": ["openrpc", "info", "methods"]}),
        ))
        .safe()
        .tag("discovery")
}

/// Answers with the document.
struct Discover {
    told: DiscoveryHandle,
    is_visible: Option<IsVisible>,
}

struct Told {
    json: Json,
    document: Document,
}

impl Service for Discover {
    fn call(&self, call: &Call) -> ReplyFuture {
        if let Err(error) = Arguments::read(call.params.as_ref(), &[]) {
            return ReplyFuture::ready(error);
        }
        let told = self.told.0.load();
        let Some(told) = &*told else {
            return ReplyFuture::ready(ErrorObject::method_not_found(call.method.as_str()));
        };
        let Some(is_visible) = &self.is_visible else {
            return ReplyFuture::ready(Reply::value(told.json.clone()));
        };
        let mut document = told.document.clone();
        document.retain_methods(|method| is_visible(&call.cx, &method.name));
        ReplyFuture::ready(Reply::of(&document))
    }
}

#[cfg(test)]
mod tests {
    use switchboard_core::Peer;

    use super::*;
    use crate::document::Info;

    #[tokio::test]
    async fn a_replaced_document_is_the_one_that_is_told() {
        let discovery = Discovery::new(Generator::new(Info::new("Before", "1.0.0")));
        let (router, handle) = discovery.build_with_handle(Router::builder()).unwrap();
        let peer = Peer::from(router);
        let title = async || {
            let told: Json = peer.call(DISCOVER, ()).await.unwrap();
            Document::parse(told.to_string()).unwrap().info.title
        };
        assert_eq!(title().await, "Before");
        handle.replace(Generator::new(Info::new("After", "1.0.0")).describe(Default::default()));
        assert_eq!(title().await, "After");
    }
}
