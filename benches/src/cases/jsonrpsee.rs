//! jsonrpsee in process, through both doors it has.
//!
//! `RpcModule::raw_json_request` is the shorter one but takes single requests only; the tower service is what its HTTP
//! server calls, batches included.

use std::cell::RefCell;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use jsonrpsee::core::RpcResult;
use jsonrpsee::server::{
    BatchRequestConfig, HttpRequest, Server, ServerConfig, ServerHandle, TowerService, stop_channel,
};
use jsonrpsee::types::Params;
use jsonrpsee::{Extensions, PendingSubscriptionSink, RpcModule};
use serde_json::value::{RawValue, to_raw_value};
use tower::Service;
use tower::layer::util::Identity;

use super::{Case, ready};
use crate::workload::{DOCUMENT, ITEM, TEXT, Workload};

static RAW_DOCUMENT: LazyLock<Box<RawValue>> =
    LazyLock::new(|| RawValue::from_string(DOCUMENT.clone()).expect("the document is JSON"));

/// Why registering a method cannot fail here.
const NEW: &str = "no two methods have the same name";

/// The methods, as a user of jsonrpsee registers them.
pub fn module() -> RpcModule<()> {
    let mut module = RpcModule::new(());
    let add = |params: Params<'_>, (): &(), _: &Extensions| -> RpcResult<u64> {
        let (left, right): (u64, u64) = params.parse()?;
        Ok(left.wrapping_add(right))
    };
    module.register_method("add", add).expect(NEW);
    module.register_method("ignore", |_, (), _| RpcResult::Ok(true)).expect(NEW);
    module.register_method("text", |_, (), _| RpcResult::Ok(TEXT.as_str())).expect(NEW);
    module.register_method("document", |_, (), _| RpcResult::Ok(&**RAW_DOCUMENT)).expect(NEW);
    let sums = |_: Params<'static>, pending: PendingSubscriptionSink, _: Arc<()>, _: Extensions| async move {
        let Ok(sink) = pending.accept().await else { return };
        while let Ok(item) = to_raw_value(&107_u64)
            && sink.send(item).await.is_ok()
        {}
    };
    module.register_subscription("subscribe_sums", ITEM, "unsubscribe_sums", sums).expect(NEW);
    module
}

/// jsonrpsee's defaults, with room for any batch and for all idle connections.
pub fn config() -> ServerConfig {
    ServerConfig::builder()
        .max_connections(20_000)
        .set_batch_request_config(BatchRequestConfig::Unlimited)
        .set_tcp_no_delay(true)
        .build()
}

/// `RpcModule::raw_json_request`.
pub struct Direct(RpcModule<()>);

impl Direct {
    /// With its methods registered.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        Self(module())
    }
}

impl Case for Direct {
    fn name(&self) -> &'static str {
        "jsonrpsee"
    }

    fn call(&self, body: Bytes) -> Bytes {
        let text = std::str::from_utf8(&body).expect("the workloads are UTF-8");
        let (answer, _stream) = ready(self.0.raw_json_request(text, 1)).expect("the workloads are requests");
        Box::<str>::from(answer).into_boxed_bytes().into()
    }

    fn takes(&self, workload: Workload) -> bool {
        !matches!(workload, Workload::Batch(_) | Workload::Pending)
    }
}

/// jsonrpsee's tower service: what its HTTP server runs for each request, without hyper around it.
pub struct Tower {
    service: RefCell<TowerService<Identity, Identity>>,
    _running: ServerHandle,
}

impl Tower {
    /// With its methods registered.
    #[allow(clippy::new_without_default)]
    pub fn new() -> Self {
        let (stop, running) = stop_channel();
        let service = Server::builder().set_config(config()).to_service_builder().build(module(), stop);
        Self { service: RefCell::new(service), _running: running }
    }
}

impl Case for Tower {
    fn name(&self) -> &'static str {
        "jsonrpsee-tower"
    }

    fn call(&self, body: Bytes) -> Bytes {
        let request = HttpRequest::post("/")
            .header("content-type", "application/json")
            .header("content-length", body.len())
            .body(Full::new(body))
            .expect("the request is well formed");
        let future = self.service.borrow_mut().call(request);
        ready(async {
            let response = future.await.expect("the service does not fail");
            response.into_body().collect().await.expect("the body is in memory").to_bytes()
        })
    }
}
