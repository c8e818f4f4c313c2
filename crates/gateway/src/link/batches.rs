//! Batches of callers, which reach a server over HTTP as batches: one request instead of many.
//!
//! The engine calls the entries of a batch one by one, right after each other, so that routes and policies apply to each. Those that arrive at
//! the same server together are sent together.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures_util::future::{Either, join_all, select};
use switchboard_core::observer::{BatchBegun, Observer};
use switchboard_core::{
    AllowedNames, Call, CallError, Code, Context, Outcome, Peer, Remote, Reply, ReplyFuture, Service,
};
use tokio::sync::oneshot;
use tokio::time::Instant;

/// How long a server is sent no batches of a size that it has refused.
const REMEMBERED: Duration = Duration::from_secs(60);

/// How far deadlines of calls may be apart that share a request, which has one.
const APART: Duration = Duration::from_millis(100);

/// An observer that marks the calls of a batch, so that a [`Link`](super::Link) to a server over HTTP sends them as a batch.
///
/// Calls that want a stream or progress, or that differ in metadata or deadline, are sent alone. If a server answers a whole batch with the
/// error -32600, it has refused it: its calls are sent one by one, and further batches of that size, too, for a minute.
#[derive(Clone, Copy, Debug, Default)]
pub struct Batches;

impl Observer for Batches {
    fn batch_begun(&self, cx: &mut Context, _: &BatchBegun) {
        cx.insert(Gathering::default());
    }
}

/// The calls of one batch that are about to be sent, by the server that they are for.
#[derive(Clone, Default)]
struct Gathering(Arc<Mutex<Vec<Group>>>);

type Group = (Arc<Server>, Vec<Waiting>);

struct Waiting {
    call: Call,
    answer: oneshot::Sender<Reply>,
}

impl Gathering {
    /// Adds a call; true if it is the first one for its server.
    fn add(&self, server: &Arc<Server>, waiting: Waiting) -> bool {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let same = all.iter_mut().find(|(other, _)| Arc::ptr_eq(other, server));
        match same {
            Some((_, others)) => others.push(waiting),
            None => {
                all.push((Arc::clone(server), vec![waiting]));
                return true;
            }
        }
        false
    }

    fn take(&self, server: &Arc<Server>) -> Vec<Waiting> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let place = all.iter().position(|(other, _)| Arc::ptr_eq(other, server));
        place.map(|place| all.swap_remove(place).1).unwrap_or_default()
    }
}

/// A peer that is sent the calls of a batch together.
pub(super) struct Batching(Arc<Server>);

struct Server {
    peer: Peer,
    /// How many calls the smallest batch had that it refused, and when it refused one last.
    refused: Mutex<Option<(usize, Instant)>>,
}

impl Batching {
    pub(super) fn around(peer: Peer) -> Peer {
        Peer::new(Batching(Arc::new(Server { peer, refused: Mutex::default() })))
    }
}

impl Service for Batching {
    fn call(&self, call: &Call) -> ReplyFuture {
        let gathering = call.cx.get::<Gathering>();
        let Some(gathering) = gathering.filter(|_| !call.cx.wants_stream() && !call.cx.wants_progress())
        else {
            return Service::call(&self.0.peer, call);
        };
        let (answer, told) = oneshot::channel();
        if gathering.add(&self.0, Waiting { call: call.clone(), answer }) {
            tokio::spawn(send(Arc::clone(&self.0), gathering.clone()));
        }
        ReplyFuture::pending(async move {
            told.await.unwrap_or_else(|_| Reply::error(CallError::Cancelled.into()))
        })
    }
}

impl Remote for Batching {
    fn batch(&self, calls: Vec<Call>) -> Pin<Box<dyn Future<Output = Vec<Reply>> + Send>> {
        Remote::batch(&self.0.peer, calls)
    }

    fn closed(&self) -> Pin<Box<dyn Future<Output = CallError> + Send>> {
        Remote::closed(&self.0.peer)
    }
}

/// Sends the calls of a batch that are there when the task that started them has nothing more to start.
async fn send(server: Arc<Server>, gathering: Gathering) {
    tokio::task::yield_now().await;
    let mut waiting = gathering.take(&server);
    waiting.retain(|waiting| !waiting.answer.is_closed());
    let (together, alone) = sorted(waiting);
    let alone = join_all(alone.into_iter().map(|waiting| server.send_one(waiting)));
    tokio::join!(server.send_all(together), alone);
}

/// The calls that can share a request with the first one, and the others.
fn sorted(waiting: Vec<Waiting>) -> (Vec<Waiting>, Vec<Waiting>) {
    let Some(first) = waiting.first() else { return (Vec::new(), Vec::new()) };
    let (metadata, deadline) = (sent(&first.call), first.call.cx.deadline);
    let is_alike = |waiting: &Waiting| {
        let is_near = match (deadline, waiting.call.cx.deadline) {
            (Some(one), Some(other)) => one.max(other) - one.min(other) <= APART,
            (one, other) => one == other,
        };
        is_near && sent(&waiting.call) == metadata
    };
    waiting.into_iter().partition(is_alike)
}

/// The metadata that is sent with a call.
fn sent(call: &Call) -> Vec<(String, Vec<u8>)> {
    let metadata = call.cx.outgoing_metadata(&AllowedNames::default());
    metadata.entries().into_iter().map(|(name, value)| (name.to_owned(), value.to_vec())).collect()
}

impl Server {
    async fn send_one(&self, Waiting { call, mut answer }: Waiting) {
        let reply = tokio::select! {
            reply = Service::call(&self.peer, &call) => reply,
            // Dropping the reply cancels the call.
            () = answer.closed() => return,
        };
        let _ = answer.send(reply);
    }

    async fn send_all(&self, mut waiting: Vec<Waiting>) {
        let size = waiting.len();
        let can_be_batch = size > 1 && self.takes(size);
        let answered = if can_be_batch { self.send_batch(&mut waiting).await } else { Answered::Refused };
        match answered {
            Answered::Replies(replies) => {
                for (waiting, reply) in waiting.into_iter().zip(replies) {
                    let _ = waiting.answer.send(reply);
                }
            }
            Answered::Refused => {
                join_all(waiting.into_iter().map(|waiting| self.send_one(waiting))).await;
            }
            Answered::Unwanted => {}
        }
    }

    async fn send_batch(&self, waiting: &mut [Waiting]) -> Answered {
        let calls: Vec<Call> = waiting.iter().map(|waiting| waiting.call.clone()).collect();
        let is_call: Vec<bool> = calls.iter().map(|call| !call.is_notification()).collect();
        let gone = join_all(waiting.iter_mut().map(|waiting| Box::pin(waiting.answer.closed())));
        // Dropping the replies cancels the calls.
        let Either::Left((replies, _)) = select(Remote::batch(&self.peer, calls), gone).await else {
            return Answered::Unwanted;
        };
        let mut of_calls = replies.iter().zip(&is_call).filter(|(_, is_call)| **is_call).peekable();
        if of_calls.peek().is_some() && of_calls.all(|(reply, _)| is_refusal(reply)) {
            self.note_refusal(is_call.len());
            return Answered::Refused;
        }
        Answered::Replies(replies)
    }

    /// Whether it takes batches of so many calls, as far as is known.
    fn takes(&self, size: usize) -> bool {
        let refused = *self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        refused.is_none_or(|(smallest, at)| size < smallest || at.elapsed() >= REMEMBERED)
    }

    fn note_refusal(&self, size: usize) {
        let mut refused = self.refused.lock().unwrap_or_else(PoisonError::into_inner);
        let smallest = refused
            .filter(|(_, at)| at.elapsed() < REMEMBERED)
            .map_or(size, |(smallest, _)| smallest.min(size));
        *refused = Some((smallest, Instant::now()));
    }
}

/// What became of a batch.
enum Answered {
    Replies(Vec<Reply>),
    /// The server takes no such batch, so nothing of it has run.
    Refused,
    /// All callers are gone.
    Unwanted,
}

/// Whether a reply says that the server refused a whole batch. Errors in an array are those of calls, some of which may have run.
fn is_refusal(reply: &Reply) -> bool {
    let is_for_batch = reply.extra.as_ref().is_some_and(|extra| extra.is_for_batch);
    is_for_batch
        && matches!(&reply.outcome, Outcome::Error(error) if error.local().is_none() && error.code == Code::INVALID_REQUEST)
}

#[cfg(test)]
mod tests {
    use switchboard_core::{ErrorObject, Json, Metadata};

    use super::*;

    /// A server that notes how calls reach it: alone, or so many together. It takes batches of at most this many.
    #[derive(Clone)]
    struct Fake {
        seen: Arc<Mutex<Vec<usize>>>,
        most: usize,
        /// Whether it refuses a batch with one error, and not with one for each call.
        refuses_whole: bool,
    }

    impl Fake {
        fn new(most: usize) -> (Fake, Peer) {
            Fake { seen: Arc::default(), most, refuses_whole: true }.peer()
        }

        fn peer(self) -> (Fake, Peer) {
            let fake = self;
            (fake.clone(), Batching::around(Peer::new(fake)))
        }

        fn seen(&self) -> Vec<usize> {
            let mut seen = std::mem::take(&mut *self.seen.lock().unwrap());
            seen.sort_unstable();
            seen
        }
    }

    fn answer(call: &Call) -> Reply {
        Reply::value(call.params.clone().unwrap_or(Json::NULL))
    }

    impl Service for Fake {
        fn call(&self, call: &Call) -> ReplyFuture {
            self.seen.lock().unwrap().push(1);
            let reply = answer(call);
            ReplyFuture::pending(async { reply })
        }
    }

    impl Remote for Fake {
        fn batch(&self, calls: Vec<Call>) -> Pin<Box<dyn Future<Output = Vec<Reply>> + Send>> {
            self.seen.lock().unwrap().push(calls.len());
            let replies = match calls.len() <= self.most {
                true => calls.iter().map(answer).collect(),
                false => {
                    let refusal = |_: &Call| {
                        let mut reply = Reply::error(ErrorObject::from_code(Code::INVALID_REQUEST));
                        reply.extra_mut().is_for_batch = self.refuses_whole;
                        reply
                    };
                    calls.iter().map(refusal).collect()
                }
            };
            Box::pin(async { replies })
        }

        fn closed(&self) -> Pin<Box<dyn Future<Output = CallError> + Send>> {
            Box::pin(std::future::pending())
        }
    }

    /// The entries of a batch: calls with these numbers as params.
    fn entries(numbers: std::ops::Range<u32>) -> Vec<Call> {
        let cx = Context::default();
        let mut marked = cx.clone();
        marked.insert(Gathering::default());
        let call = |number: u32| {
            let params = Json::encode(&[number]).unwrap();
            Call::new("echo", Some(params)).with_context(marked.clone())
        };
        numbers.map(call).collect()
    }

    async fn answers(peer: &Peer, calls: &[Call]) -> Vec<String> {
        let replies: Vec<ReplyFuture> = calls.iter().map(|call| Service::call(peer, call)).collect();
        let replies = join_all(replies).await;
        let text = |reply: &Reply| match &reply.outcome {
            Outcome::Value(value) => value.as_str().to_owned(),
            _ => panic!("{reply:?}"),
        };
        replies.iter().map(text).collect()
    }

    #[tokio::test]
    async fn calls_of_a_batch_are_sent_together_and_answered_in_their_places() {
        let (fake, peer) = Fake::new(100);
        assert_eq!(answers(&peer, &entries(0..3)).await, ["[0]", "[1]", "[2]"]);
        assert_eq!(fake.seen(), [3]);
        // Two batches at once are two, and a batch of one call is a call.
        let (one, two) = (entries(0..2), entries(5..8));
        let both = tokio::join!(answers(&peer, &one), answers(&peer, &two));
        assert_eq!(both.1, ["[5]", "[6]", "[7]"]);
        assert_eq!(fake.seen(), [2, 3]);
        answers(&peer, &entries(0..1)).await;
        assert_eq!(fake.seen(), [1]);
    }

    #[tokio::test]
    async fn calls_that_each_get_an_invalid_request_are_not_sent_again() {
        let (fake, peer) = Fake { seen: Arc::default(), most: 0, refuses_whole: false }.peer();
        let calls = entries(0..2);
        let replies: Vec<ReplyFuture> = calls.iter().map(|call| Service::call(&peer, call)).collect();
        for reply in join_all(replies).await {
            assert!(matches!(&reply.outcome, Outcome::Error(error) if error.code == Code::INVALID_REQUEST));
        }
        assert_eq!(fake.seen(), [2]);
        // It still takes batches.
        drop(join_all(entries(0..2).iter().map(|call| Service::call(&peer, call))).await);
        assert_eq!(fake.seen(), [2]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_refused_batch_is_sent_call_by_call_and_so_are_later_ones_of_that_size() {
        let (fake, peer) = Fake::new(4);
        assert_eq!(answers(&peer, &entries(0..5)).await.len(), 5);
        assert_eq!(fake.seen(), [1, 1, 1, 1, 1, 5]);
        answers(&peer, &entries(0..6)).await;
        assert_eq!(fake.seen(), [1; 6]);
        answers(&peer, &entries(0..4)).await;
        assert_eq!(fake.seen(), [4], "smaller ones are still batches");
        tokio::time::advance(REMEMBERED).await;
        answers(&peer, &entries(0..5)).await;
        assert_eq!(fake.seen(), [1, 1, 1, 1, 1, 5], "it is tried again");
    }

    #[tokio::test]
    async fn calls_that_differ_in_metadata_or_deadline_are_sent_alone() {
        let (fake, peer) = Fake::new(100);
        let mut calls = entries(0..5);
        let traced = Metadata::from_iter([("traceparent", "00-1")]);
        calls[1].cx = calls[1].cx.clone().with_metadata(traced);
        calls[2].cx.deadline = Some(Instant::now() + Duration::from_secs(1));
        assert_eq!(answers(&peer, &calls).await, ["[0]", "[1]", "[2]", "[3]", "[4]"]);
        assert_eq!(fake.seen(), [1, 1, 3]);
    }

    #[tokio::test]
    async fn what_no_caller_waits_for_is_not_sent() {
        let (fake, peer) = Fake::new(100);
        let calls = entries(0..3);
        drop(calls.iter().map(|call| Service::call(&peer, call)).collect::<Vec<_>>());
        let call = Call::new("echo", None);
        Service::call(&peer, &call).await;
        tokio::task::yield_now().await;
        assert_eq!(fake.seen(), [1], "only the call that is not part of a batch");
    }
}
