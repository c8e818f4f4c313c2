//! No driver at all: the service is called, and its reply put into a response.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use bytes::Bytes;
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use switchboard_core::codec::{Incoming, Message, RequestObject, decode};
use switchboard_core::{Call, Id, Json, Outcome, Service, Settings, Version};

use crate::carrier::{Carrier, Heard, Kind, Line};

/// Calls the service without a driver. Whatever a driver does, it cannot: batches, refusals, streams, panics, limits.
#[derive(Debug)]
pub struct Direct;

impl Carrier for Direct {
    fn name(&self) -> &'static str {
        "direct"
    }

    fn kind(&self) -> Kind {
        Kind::Direct
    }

    fn open(&self, service: Arc<dyn Service>, settings: Settings) -> BoxFuture<'_, Box<dyn Line>> {
        Box::pin(async { Box::new(Open { service, settings }) as Box<dyn Line> })
    }
}

struct Open {
    service: Arc<dyn Service>,
    settings: Settings,
}

impl Line for Open {
    fn send(&mut self, message: Bytes) -> BoxFuture<'_, Heard> {
        Box::pin(async move {
            match decode(&message, &self.settings) {
                Ok(Incoming::Single(Message::Request(request))) => call(&*self.service, request).await,
                Ok(Incoming::Batch(_)) => Heard::Unable("batches are taken apart by drivers"),
                _ => Heard::Unable("refusals are written by drivers"),
            }
        })
    }
}

async fn call(service: &dyn Service, request: RequestObject) -> Heard {
    let RequestObject { version, id, method, params, .. } = request;
    let mut call = match id {
        Some(_) => Call::new(method, params),
        None => Call::notification(method, params),
    };
    call.cx.version = version;
    let reply = AssertUnwindSafe(async { service.call(&call).await }).catch_unwind().await;
    match (reply.map(|reply| reply.outcome), id) {
        (Err(_), _) => Heard::Unable("panics are caught by drivers"),
        (Ok(Outcome::Stream(_)), _) => Heard::Unable("streams are spelled by drivers"),
        (Ok(_), None) => Heard::Messages(Vec::new()),
        (Ok(Outcome::Value(json)), Some(id)) => response(version, &id, json.as_str(), None),
        (Ok(Outcome::Error(error)), Some(id)) => {
            let data = error.data.as_ref().map(|data| format!(",\"data\":{data}")).unwrap_or_default();
            let message = Json::encode_ref(&error.message).unwrap();
            let error = format!("{{\"code\":{},\"message\":{message}{data}}}", error.code);
            response(version, &id, "null", Some(&error))
        }
    }
}

fn response(version: Version, id: &Id, result: &str, error: Option<&str>) -> Heard {
    let text = match (version, error) {
        (Version::V2, None) => format!(r#"{{"jsonrpc":"2.0","result":{result},"id":{id}}}"#),
        (Version::V2, Some(error)) => format!(r#"{{"jsonrpc":"2.0","error":{error},"id":{id}}}"#),
        (Version::V1, error) => {
            format!(r#"{{"result":{result},"error":{},"id":{id}}}"#, error.unwrap_or("null"))
        }
    };
    Heard::Messages(vec![Bytes::from(text)])
}
