//! One body in, one answer out.

use std::sync::Arc;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use switchboard_core::{Context, Origin, Service, Settings, exchange};

use crate::carrier::{Carrier, Heard, Kind, Line};

/// The driver of request and response carriers, without any carrier around it.
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
        Box::pin(async { Box::new(Open { service, settings }) as Box<dyn Line> })
    }
}

struct Open {
    service: Arc<dyn Service>,
    settings: Settings,
}

impl Line for Open {
    fn send(&mut self, message: Bytes) -> BoxFuture<'_, Heard> {
        Box::pin(async {
            let cx = Context::new(Origin::new("test"));
            let answer = exchange(&*self.service, message, &cx, &self.settings).await;
            Heard::Messages(answer.body().cloned().into_iter().collect())
        })
    }
}
