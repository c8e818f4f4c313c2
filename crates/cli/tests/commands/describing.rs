//! A server that describes itself, inside of the test.

use switchboard::server::Server;
use switchboard::{ErrorObject, Json, Method, Router, RouterBuilder};

/// A document with references, marks and an example.
pub(crate) const DOCUMENT: &str = r##"{"openrpc":"1.3.2","info":{"title":"Demo","version":"1.0"},"methods":[
{"name":"math/add","summary":"Adds two numbers.","x-safe":true,"params":[{"$ref":"#/components/contentDescriptors/A"},{"name":"b","required":true,"schema":{"type":"number"}}],"result":{"name":"sum","schema":{"type":"number"}}},
{"name":"math/subtract","params":[],"result":{"name":"difference","schema":{"type":"number"}}}],
"components":{"contentDescriptors":{"A":{"name":"a","required":true,"schema":{"type":"number","description":"The first."}}}}}"##;

/// A server on a free port; it ends with the runtime.
pub(crate) struct Describing {
    _runtime: tokio::runtime::Runtime,
    /// Where it listens.
    pub(crate) url: String,
}

impl Describing {
    pub(crate) fn start() -> Describing {
        let document = |_: Option<Json>, _| Ok::<_, ErrorObject>(Json::parse(DOCUMENT).unwrap());
        Describing::serve(methods().extension(Method::sync("rpc.discover", document)))
    }

    /// The same methods on a server that does not describe them.
    pub(crate) fn silent() -> Describing {
        Describing::serve(methods())
    }

    /// A server with these methods.
    pub(crate) fn serve(router: RouterBuilder) -> Describing {
        let mut runtime = tokio::runtime::Builder::new_multi_thread();
        let runtime = runtime.worker_threads(1).enable_all().build().unwrap();
        let mut server = Server::new(router.build().unwrap());
        runtime.block_on(server.listen("http://127.0.0.1:0")).unwrap();
        let url = server.urls().next().unwrap();
        runtime.spawn(server.serve());
        Describing { _runtime: runtime, url }
    }
}

fn methods() -> RouterBuilder {
    Router::builder().method("math/add", |(a, b): (f64, f64), _| Ok::<_, ErrorObject>(a + b))
}
