//! One body in, one answer out.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use switchboard_core::{Context, Engine, Origin, Service, Settings};

use crate::carrier::{Carrier, Heard, Kind, Line};

/// The engine as carriers with one answer use it, without any carrier around it.
#[derive(Debug)]
pub struct Exchange;

impl Carrier for Exchange {
    fn name(&self) -> &'static str {
        "exchange"
    }

    fn kind(&self) -> Kind {
        Kind::OneAnswer
    }

    fn open(&self, service: Arc<dyn Service>, settings: Settings) -> BoxFuture<'_, Box<dyn Line>> {
        Box::pin(async { Box::new(Open(Engine::new(service, settings))) as Box<dyn Line> })
    }
}

struct Open(Engine);

impl Line for Open {
    fn send(&mut self, message: Bytes) -> BoxFuture<'_, Heard> {
        Box::pin(async {
            let cx = Context::new(Origin::new("test"));
            let answer = self.0.exchange(message, &cx).await;
            Heard::Messages(answer.body().cloned().into_iter().collect())
        })
    }
}
