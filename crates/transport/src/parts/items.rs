//! The outcome of a call that is answered in parts: a stream of items, one value, or the responses to a batch.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures_core::Stream;
use switchboard_core::codec::{ResponseObject, ResponseOutcome};
use switchboard_core::{
    CallError, Code, ErrorObject, Extra, Gap, ItemCheck, Items, Json, ReceivedItem, Reply, Subscription,
};

use super::{Next, Source, is_fault};

/// Reads the answer to a call that wants a stream. Waits until it is known what the reply is: an error, a value that comes
/// alone, or a stream of what follows.
pub(crate) async fn open(source: impl Source, id: u64, check: Option<ItemCheck>) -> Reply {
    let mut items = PartItems::new(source, id, check);
    let mut waiting = VecDeque::new();
    match items.step().await {
        Step::Failed(error) => return items.fail(error).await,
        // Nothing announced a stream. A plain result is one event and the end, which come together.
        Step::Item(item) => match poll_fn(|cx| Poll::Ready(items.poll_step(cx))).await {
            Poll::Ready(Step::Ended) => return items.reply(Reply::value(item)),
            Poll::Ready(second) => waiting.extend([Step::Item(item), second]),
            Poll::Pending => waiting.push_back(Step::Item(item)),
        },
        first => waiting.push_back(first),
    }
    Reply::items(Items::new(Begun { waiting, items }))
}

/// Reads an answer whose sender always announces streams.
pub(crate) async fn announced(source: impl Source, id: u64, check: Option<ItemCheck>) -> Reply {
    let mut items = PartItems::new(source, id, check);
    match items.step().await {
        Step::Started(names) => {
            let items = Items::new(Begun { waiting: VecDeque::new(), items });
            Reply::items(match names {
                Some(names) => items.named(names),
                None => items,
            })
        }
        Step::Item(value) => {
            // Its end comes together with it.
            items.step().await;
            items.reply(Reply::value(value))
        }
        Step::Failed(error) => {
            items.step().await;
            items.reply(Reply::error(error))
        }
        Step::Gap(_) | Step::Ended => {
            Reply::error(CallError::Protocol("the answer has no response".into()).into())
        }
    }
}

/// Reads the answer to a call that wants one value, to its end.
///
/// One response is the result. Several are the items of a stream, which become one array, as a server does that answers
/// with JSON. So does what was announced as a stream, however many items it has.
pub(crate) async fn collect(source: impl Source, id: u64, limit: usize) -> Reply {
    let mut items = PartItems::new(source, id, None);
    let (mut array, mut only, mut is_stream) = (vec![b'['], None, false);
    loop {
        match items.step().await {
            Step::Started(_) => is_stream = true,
            Step::Item(item) => {
                is_stream |= array.len() > 1;
                if array.len() > 1 {
                    array.push(b',');
                }
                array.extend_from_slice(item.as_bytes());
                only = Some(item);
                if array.len() >= limit {
                    return Reply::error(too_large(limit).into());
                }
            }
            Step::Gap(gap) => {
                return Reply::error(ErrorObject::from_code(Code::ITEMS_LOST).with_data(&gap));
            }
            Step::Failed(error) => return items.fail(error).await,
            Step::Ended => break,
        }
    }
    if let Some(only) = only.filter(|_| !is_stream) {
        return items.reply(Reply::value(only));
    }
    array.push(b']');
    Reply::value(Json::parse(array).expect("values between commas and brackets are JSON"))
}

/// Reads the answer to a batch to its end: the text of one message that has all its responses.
///
/// # Errors
///
/// When it breaks off, breaks the protocol or is too long.
pub(crate) async fn gather(mut source: impl Source, limit: usize) -> Result<Bytes, CallError> {
    let mut list = vec![b'['];
    loop {
        let text = match poll_fn(|cx| source.poll_next(cx)).await? {
            Next::Response(response, text) if is_fault(&response) => return Ok(text),
            Next::Response(_, text) => text,
            Next::Batch(text) => inside(&text),
            Next::Started(_) | Next::Gap(_) => continue,
            Next::Ended => break,
        };
        if list.len() > 1 {
            list.push(b',');
        }
        list.extend_from_slice(&text);
        if list.len() >= limit {
            return Err(too_large(limit));
        }
    }
    list.push(b']');
    Ok(list.into())
}

/// The entries of a list, without its brackets.
fn inside(list: &Bytes) -> Bytes {
    let trimmed = list.trim_ascii();
    list.slice_ref(&trimmed[1..trimmed.len() - 1])
}

/// Why an answer of more bytes than this is not read.
pub(crate) fn too_large(limit: usize) -> CallError {
    CallError::Transport(format!("the response exceeds {limit} bytes (limits.reply)").into())
}

/// A stream whose first items may be here already.
struct Begun<S> {
    waiting: VecDeque<Step>,
    items: PartItems<S>,
}

impl<S: Source> Stream for Begun<S> {
    type Item = Result<Json, ErrorObject>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        loop {
            if self.items.is_done {
                return Poll::Ready(None);
            }
            let step = match self.waiting.pop_front() {
                Some(step) => step,
                None => ready!(self.items.poll_step(cx)),
            };
            let last = match step {
                Step::Started(_) => continue,
                Step::Item(item) => return Poll::Ready(Some(Ok(item))),
                Step::Gap(gap) => return Poll::Ready(Some(Err(CallError::Gap(gap).into()))),
                Step::Failed(error) => Some(Err(error)),
                Step::Ended => None,
            };
            self.items.is_done = true;
            return Poll::Ready(last);
        }
    }
}

/// What the next part means for the call.
enum Step {
    /// The reply is a stream, which may have other names than the default ones.
    Started(Option<Subscription>),
    Item(Json),
    /// Items are missing here; the stream goes on.
    Gap(Gap),
    Failed(ErrorObject),
    Ended,
}

/// The responses to one call.
struct PartItems<S> {
    source: S,
    id: u64,
    /// The members beside the outcome of the last response.
    extra: Option<Box<Extra>>,
    /// Checks items, if something does.
    check: Option<ItemCheck>,
    is_done: bool,
}

impl<S: Source> PartItems<S> {
    fn new(source: S, id: u64, check: Option<ItemCheck>) -> PartItems<S> {
        PartItems { source, id, extra: None, check, is_done: false }
    }

    /// The reply in one response, with its other members.
    fn reply(&mut self, reply: Reply) -> Reply {
        let extra = self.extra.take();
        Reply { extra, ..reply }
    }

    async fn step(&mut self) -> Step {
        poll_fn(|cx| self.poll_step(cx)).await
    }

    /// The reply to a call that failed. The rest of the answer is read if it is there.
    async fn fail(mut self, error: ErrorObject) -> Reply {
        poll_fn(|cx| {
            self.source.finish(cx);
            Poll::Ready(())
        })
        .await;
        self.reply(Reply::error(error))
    }

    fn poll_step(&mut self, cx: &mut Context<'_>) -> Poll<Step> {
        loop {
            let failed = |error: CallError| Step::Failed(error.into());
            return Poll::Ready(match ready!(self.source.poll_next(cx)) {
                Ok(Next::Started(names)) => Step::Started(names),
                Ok(Next::Ended) => Step::Ended,
                Ok(Next::Gap(gap)) => Step::Gap(gap),
                Ok(Next::Response(mut response, _)) if self.is_for_call(&response) => {
                    self.extra = response.take_extra();
                    match outcome(response.outcome) {
                        Step::Item(item) => self.checked(item),
                        step => step,
                    }
                }
                Ok(Next::Response(response, _)) => {
                    tracing::debug!(id = ?response.id, "dropped a response to another call");
                    continue;
                }
                Ok(Next::Batch(_)) => {
                    failed(CallError::Protocol("it is an array, but the request was a single call".into()))
                }
                Err(error) => failed(error),
            });
        }
    }

    /// An item, if the caller accepts it.
    fn checked(&self, item: Json) -> Step {
        let Some(check) = &self.check else { return Step::Item(item) };
        let members = self.extra.as_ref().and_then(|extra| extra.members.as_ref());
        match check.check(&ReceivedItem::response(&item, members)) {
            Ok(()) => Step::Item(item),
            Err(error) => Step::Failed(error),
        }
    }

    fn is_for_call(&self, response: &ResponseObject) -> bool {
        is_fault(response) || response.id.as_u64() == Some(self.id)
    }
}

fn outcome(outcome: ResponseOutcome) -> Step {
    match outcome {
        ResponseOutcome::Value(json) => Step::Item(json),
        ResponseOutcome::Error(error) => match read_gap(&error) {
            Some(gap) => Step::Gap(gap),
            None => Step::Failed(error),
        },
        ResponseOutcome::Stream(..) => Step::Failed(
            CallError::Protocol("a stream of another connection cannot be read here".into()).into(),
        ),
        ResponseOutcome::Broken(detail) => Step::Failed(CallError::Protocol(detail.into()).into()),
    }
}

/// The gap that an error reports among the items of a stream.
fn read_gap(error: &ErrorObject) -> Option<Gap> {
    let data = error.data.as_ref().filter(|_| error.code == Code::ITEMS_LOST)?;
    data.decode().ok()
}
