//! Streams that come back when the connection does.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::Stream;

use crate::call::Call;
use crate::call_error::CallError;
use crate::code::Code;
use crate::error::ErrorObject;
use crate::gap::Gap;
use crate::json::Json;
use crate::lasting::Kept;
use crate::lasting::calls::{self, Manner};
use crate::lasting::line::Place;
use crate::lasting::shared::One;
use crate::reply::{Items, Reply};

/// A stream that is asked for again when the connection it came over breaks.
///
/// It comes back when its reader has read what came before. A stream that had ended well is then never asked for
/// again, however late its end is read.
pub(super) struct Returning {
    kept: Arc<Kept>,
    call: Call,
    stage: Stage,
}

enum Stage {
    /// Items come over the connection with this number.
    Open(u64, Items),
    /// It was cut off and is asked for again.
    Asking(Pin<Box<dyn Future<Output = (u64, Reply)> + Send>>),
    Ended,
}

impl Returning {
    pub(super) fn new(kept: Arc<Kept>, mut call: Call, epoch: u64, items: Items) -> Returning {
        // It is kept for as long as the stream lives, and a slice would keep the frame it came in. The time given was
        // for the answer, and that has come.
        call.params = call.params.map(|params| params.detached());
        call.cx.deadline = None;
        Returning { kept, call, stage: Stage::Open(epoch, items) }
    }

    /// Asks for the stream again, once the connection with this number is lost.
    fn ask(&self, epoch: u64, end: ErrorObject) -> Stage {
        let (kept, call) = (Arc::clone(&self.kept), self.call.clone());
        Stage::Asking(Box::pin(async move {
            if calls::is_cut_off(&end) {
                kept.shared.lose(epoch);
            } else if tokio::time::timeout(calls::FAREWELL, kept.shared.until_lost(epoch)).await.is_err() {
                return (epoch, Reply::Error(end));
            }
            let manner = Manner { is_repeatable: true, patience: Duration::MAX, place: Place::Stream };
            let sending = kept.shared.send(One(call.clone()), Place::Stream);
            calls::ask(&kept, &call, sending, manner).await
        }))
    }
}

impl Stream for Returning {
    type Item = Result<Json, ErrorObject>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        loop {
            match &mut this.stage {
                Stage::Open(epoch, items) => match std::task::ready!(Pin::new(items).poll_next(cx)) {
                    Some(Ok(item)) => return Poll::Ready(Some(Ok(item))),
                    Some(Err(error)) if calls::is_cut_off(&error) || error.code == Code::SHUTTING_DOWN => {
                        let epoch = *epoch;
                        this.stage = this.ask(epoch, error);
                    }
                    // A gap does not end a stream; after any other error there is nothing more to come.
                    Some(Err(error)) => return Poll::Ready(Some(Err(error))),
                    None => {
                        this.stage = Stage::Ended;
                        return Poll::Ready(None);
                    }
                },
                Stage::Asking(reply) => {
                    let (epoch, reply) = std::task::ready!(reply.as_mut().poll(cx));
                    let items: Items = match reply {
                        Reply::Stream(items) => items,
                        Reply::Value(json) => Items::new(futures_util::stream::iter([Ok(json)])),
                        Reply::Error(error) => {
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

/// What tells the reader that something may have been lost here.
fn gap() -> ErrorObject {
    CallError::Gap(Gap::reconnected()).into()
}

/// A stream that ends with its connection, and keeps the connection until then.
pub(super) struct Holding {
    items: Items,
    _kept: Arc<Kept>,
}

impl Holding {
    pub(super) fn new(kept: Arc<Kept>, items: Items) -> Holding {
        Holding { items, _kept: kept }
    }
}

impl Stream for Holding {
    type Item = Result<Json, ErrorObject>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        Pin::new(&mut self.items).poll_next(cx)
    }
}
