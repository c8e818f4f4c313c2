//! A duplex connection over frames in memory.

use std::future::poll_fn;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::BoxFuture;
use switchboard_core::{Connection, Engine, FrameSink, FrameSource, Origin, Service, Settings};
use switchboard_transport::memory;

use crate::carrier::{Carrier, Heard, Kind, Line};

/// The driver of duplex carriers, over frames that never leave the process.
#[derive(Debug)]
pub struct Memory;

impl Carrier for Memory {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn kind(&self) -> Kind {
        Kind::Duplex
    }

    fn open(&self, service: Arc<dyn Service>, settings: Settings) -> BoxFuture<'_, Box<dyn Line>> {
        Box::pin(async {
            let ((source, sink), (their_source, their_sink)) = memory::pair(1 << 20);
            let engine = Engine::new(service, settings);
            let (_, connection) = Connection::new(their_source, their_sink, engine, Origin::new("memory"));
            tokio::spawn(connection);
            Box::new(Open { source, sink }) as Box<dyn Line>
        })
    }
}

struct Open {
    source: memory::MemorySource,
    sink: memory::MemorySink,
}

/// Time is paused: it passes only when nothing is left to do, which is when all is said.
const QUIET: Duration = Duration::from_millis(1);

impl Line for Open {
    fn send(&mut self, message: Bytes) -> BoxFuture<'_, Heard> {
        Box::pin(async move {
            self.sink.push(&message);
            if poll_fn(|cx| self.sink.poll_flush(cx)).await.is_err() {
                return Heard::Refused;
            }
            let mut messages = Vec::new();
            while let Ok(frame) = tokio::time::timeout(QUIET, poll_fn(|cx| self.source.poll_frame(cx))).await
            {
                match frame {
                    Some(Ok(frame)) => messages.push(frame),
                    _ => return Heard::Refused,
                }
            }
            Heard::Messages(messages)
        })
    }
}
