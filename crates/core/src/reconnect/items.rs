//! Streams over connections that break.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_core::Stream;

use crate::call::Call;
use crate::call_error::CallError;
use crate::error::ErrorObject;
use crate::gap::Gap;
use crate::json::Json;
use crate::reconnect::PeerHandle;
use crate::reconnect::calls::{self, Message};
use crate::reconnect::loss::Loss;
use crate::reconnect::queue::{Lane, Terms};
use crate::reply::{Items, Outcome, Reply};

/// A stream that is subscribed again when its connection breaks.
///
/// That happens when its reader has read everything from before the break. So a stream that had ended well is never subscribed
/// again, however late its end is read.
pub(super) struct ResubscribingItems {
    handle: Arc<PeerHandle>,
    call: Call,
    stage: Stage,
}

enum Stage {
    /// Items come over the connection with this number.
    Open(u64, Items),
    /// The connection broke, and the method is called again.
    Asking(Pin<Box<dyn Future<Output = (u64, Reply)> + Send>>),
    Ended,
}

impl ResubscribingItems {
    pub(super) fn new(
        handle: Arc<PeerHandle>,
        mut call: Call,
        epoch: u64,
        items: Items,
    ) -> ResubscribingItems {
        // The call lives as long as the stream, and a slice would keep the frame it came in. Its deadline was for the
        // answer, which has arrived.
        call.params = call.params.map(|params| params.detached());
        call.cx.deadline = None;
        ResubscribingItems { handle, call, stage: Stage::Open(epoch, items) }
    }

    /// Subscribes again, once the connection with this number is lost.
    fn ask(&self, epoch: u64, loss: Loss, end: ErrorObject) -> Stage {
        let (handle, call) = (Arc::clone(&self.handle), self.call.clone());
        Stage::Asking(Box::pin(async move {
            match loss {
                Loss::Closed(error) | Loss::Unreachable(error) => handle.shared.lose(epoch, error),
                Loss::ShuttingDown(_) => {
                    if !handle.shared.shut_down(epoch).await {
                        return (epoch, Reply::error(end));
                    }
                }
            }
            let terms = Terms { lane: Lane::Streams, deadline: None, is_retry: true };
            let sending = calls::send(&handle.shared, &Message::One(&call), terms);
            calls::ask(&handle, &call, sending, Lane::Streams).await
        }))
    }
}

impl Stream for ResubscribingItems {
    type Item = Result<Json, ErrorObject>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            match &mut this.stage {
                Stage::Open(epoch, items) => match std::task::ready!(Pin::new(items).poll_next(cx)) {
                    Some(Ok(item)) => return Poll::Ready(Some(Ok(item))),
                    Some(Err(error)) => match Loss::of_error(&error) {
                        Some(loss) => {
                            let epoch = *epoch;
                            this.stage = this.ask(epoch, loss, error);
                        }
                        // A gap does not end a stream; after any other error nothing follows.
                        None => return Poll::Ready(Some(Err(error))),
                    },
                    None => {
                        this.stage = Stage::Ended;
                        return Poll::Ready(None);
                    }
                },
                Stage::Asking(reply) => {
                    let (epoch, reply) = std::task::ready!(reply.as_mut().poll(cx));
                    let items: Items = match reply.outcome {
                        Outcome::Stream(items) => items,
                        Outcome::Value(json) => Items::new(futures_util::stream::iter([Ok(json)])),
                        Outcome::Error(error) => {
                            this.stage = Stage::Ended;
                            return Poll::Ready(Some(Err(error)));
                        }
                    };
                    this.stage = Stage::Open(epoch, items);
                    return Poll::Ready(Some(Err(gap())));
                }
                Stage::Ended => return Poll::Ready(None),
            }
        }
    }
}

/// Tells the reader that items may have been lost here.
fn gap() -> ErrorObject {
    CallError::Gap(Gap::reconnected()).into()
}

/// A stream that ends with its connection, and keeps the connection open until then.
pub(super) struct HeldItems {
    items: Items,
    _handle: Arc<PeerHandle>,
}

impl HeldItems {
    pub(super) fn new(handle: Arc<PeerHandle>, items: Items) -> HeldItems {
        HeldItems { items, _handle: handle }
    }
}

impl Stream for HeldItems {
    type Item = Result<Json, ErrorObject>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.items).poll_next(cx)
    }
}
