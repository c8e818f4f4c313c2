//! One accepted connection, from its first byte to its last: hyper, its clock, and the signal to stop.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::Poll;

use bytes::BytesMut;
use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::{Service as HyperService, service_fn};
use hyper_util::rt::TokioIo;
use switchboard_core::{Context, ErrorObject, Origin, Session};
use tokio::io::AsyncReadExt;
use tokio::task::JoinSet;
use tokio::time::Instant;

use super::answer::{RequestScope, answer};
use super::body::Body;
use super::pipe::{Pipe, Shared};
use super::plain::{self, Short};
use super::refusal;
use super::rules::Rules;
use super::sse::StreamGuard;
use super::timeouts::{Clock, Decision, after};
#[cfg(feature = "ws")]
use super::upgrade::Upgrade;
use crate::budget::Budget;
use crate::server::{ConnectionPermit, ServerOptions, Shutdown, refuse_and_close};
use crate::socket::Socket;

/// Serves one connection until it ends, is idle for too long, or is told to stop and has answered what it took on.
pub(crate) async fn serve(mut socket: Socket, origin: Origin, rules: Arc<Rules>, permit: ConnectionPermit) {
    let (options, stop) = (permit.options(), permit.shutdown());
    let begun = Instant::now();
    let mut read = BytesMut::with_capacity(plain::SIZE);
    let sniffed = sniff(&mut socket, &mut read, stop);
    let is_http2 = match tokio::time::timeout_at(after(begun, options.header_time), sniffed).await {
        Ok(Some(is_http2)) => is_http2,
        Err(_) if !read.is_empty() => return refuse_slow_head(socket, stop).await,
        Ok(None) | Err(_) => return,
    };
    let socket = Shared::new(socket, is_http2);
    // A reverse proxy may send the requests of many callers over it.
    let session = Session::shared(origin);
    rules.engine.note_opened(&session);
    let caller = Arc::new(Caller {
        rules,
        socket: Arc::clone(&socket),
        stop: Arc::clone(stop),
        budget: Arc::clone(permit.budget()),
        cx: Context::from(session),
        #[cfg(feature = "ws")]
        upgrade: Mutex::default(),
    });
    let mut clock = Clock::start(options.header_time, options.idle_time, begun);
    let end = match caller.answer_plain(read, is_http2, &mut clock, options).await {
        Some(end) => end,
        None => caller.answer_all(is_http2, &mut clock, options).await,
    };
    #[cfg(feature = "ws")]
    let upgrade = caller.upgrade.lock().unwrap_or_else(PoisonError::into_inner).take();
    #[cfg(feature = "ws")]
    if let Some(upgrade) = upgrade {
        let (rules, cx) = (Arc::clone(&caller.rules), caller.cx.clone());
        drop(caller);
        upgrade.go_on(socket, rules, cx, permit).await;
        return;
    }
    // Lingering takes the socket, so that nobody else may hold it.
    drop(caller);
    match end {
        End::SlowHead => {
            if let Some(socket) = socket.into_unused() {
                refuse_slow_head(socket, stop).await;
            }
        }
        End::Usual if socket.activity.has_unread() => socket.linger(stop).await,
        End::Usual => {}
    }
}

impl Caller {
    /// Answers requests as long as they are plain. Nothing if another one came, which waits in the socket.
    async fn answer_plain(
        &self,
        read: BytesMut,
        is_http2: bool,
        clock: &mut Clock,
        options: &ServerOptions,
    ) -> Option<End> {
        let socket = &self.socket;
        if is_http2 || self.rules.plain_paths.is_empty() {
            socket.put_back(read.freeze());
            return None;
        }
        let work = pin!(plain::answer(socket, &self.rules, options.header_size, &self.cx, read));
        let end = drive(Short::new(work, &socket.activity), socket, clock, &self.stop).await;
        // What was answered is past, so that the next head has a time of its own.
        let _ = clock.notice(&socket.activity);
        if socket.has_more() { None } else { Some(end) }
    }

    /// Answers requests of all kinds.
    async fn answer_all(
        self: &Arc<Caller>,
        is_http2: bool,
        clock: &mut Clock,
        options: &ServerOptions,
    ) -> End {
        let answering = Arc::clone(self);
        let service = service_fn(move |request| answering.answer(request));
        let io = TokioIo::new(Pipe(Arc::clone(&self.socket)));
        if is_http2 {
            let streams = OwnedStreams::default();
            let connection = http2(&streams.0, options).serve_connection(io, service);
            drive(connection, &self.socket, clock, &self.stop).await
        } else {
            let connection = http1(options).serve_connection(io, service).with_upgrades();
            drive(connection, &self.socket, clock, &self.stop).await
        }
    }
}

/// How a connection came to its end.
enum End {
    /// As connections do.
    Usual,
    /// The head of its first request did not come in time, and nothing was answered.
    SlowHead,
}

async fn refuse_slow_head(socket: Socket, stop: &Shutdown) {
    let error = ErrorObject::timed_out().with_detail("the head of the request did not come in time");
    refuse_and_close(socket, &refusal::response("408 Request Timeout", &error), stop).await;
}

/// Reads the first bytes, which tell HTTP/2 from HTTP/1. Nothing if the connection ends or is told to stop before.
async fn sniff(socket: &mut Socket, read: &mut BytesMut, stop: &Shutdown) -> Option<bool> {
    // No request of HTTP/1 begins like this.
    const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n";
    let mut stopped = pin!(stop.wait());
    loop {
        let mut more = pin!(socket.read_buf(read));
        // What has arrived is taken, even if the signal came first.
        let count = poll_fn(|cx| match more.as_mut().poll(cx) {
            Poll::Ready(count) => Poll::Ready(count),
            Poll::Pending => stopped.as_mut().poll(cx).map(|()| Ok(0)),
        });
        if !matches!(count.await, Ok(1..)) {
            return None;
        }
        let is_http2 = read.starts_with(PREFACE);
        if is_http2 || !PREFACE.starts_with(read) {
            return Some(is_http2);
        }
    }
}

fn http1(options: &ServerOptions) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder.header_read_timeout(None).max_header_size(options.header_size);
    builder
}

fn http2(streams: &Streams, options: &ServerOptions) -> http2::Builder<Streams> {
    let mut builder = http2::Builder::new(streams.clone());
    let header_list = u32::try_from(options.header_size).unwrap_or(u32::MAX);
    builder.max_concurrent_streams(options.streams).max_header_list_size(header_list);
    builder
}

/// A connection of either version.
trait Conversation: Future {
    /// Takes no more requests.
    fn leave(self: Pin<&mut Self>);
}

impl<F: Future> Conversation for Short<'_, F> {
    fn leave(self: Pin<&mut Self>) {
        Short::leave(&self);
    }
}

impl<S, F> Conversation for http1::UpgradeableConnection<TokioIo<Pipe>, S>
where
    S: HyperService<Request<Incoming>, Response = Response<Body>, Error = Infallible, Future = F>,
{
    fn leave(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

impl<S, F> Conversation for http2::Connection<TokioIo<Pipe>, S, Streams>
where
    S: HyperService<Request<Incoming>, Response = Response<Body>, Error = Infallible, Future = F>,
    F: Future<Output = Result<Response<Body>, Infallible>> + Send + 'static,
{
    fn leave(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

/// Polls hyper, then writes what it left to be written, then looks at the clock.
async fn drive(connection: impl Conversation, socket: &Shared, clock: &mut Clock, stop: &Shutdown) -> End {
    let mut connection = pin!(connection);
    let mut signal = pin!(stop.signal());
    let mut timer = pin!(tokio::time::sleep_until(clock.due()));
    let mut is_first = true;
    let mut is_leaving = false;
    poll_fn(|cx| {
        // Signal and timer wake this task, which is all that is wanted of them. Once polled they guard registered, for
        // this is the task's only future, so that later steps look at what they stand for and need not poll them.
        if std::mem::take(&mut is_first) {
            let _ = signal.as_mut().poll(cx);
            let _ = timer.as_mut().poll(cx);
        }
        if !is_leaving && stop.is_requested() {
            // A request that has arrived is taken before the connection takes no more.
            if connection.as_mut().poll(cx).is_ready() {
                let _ = socket.poll_flush(cx);
                return Poll::Ready(End::Usual);
            }
            is_leaving = true;
            connection.as_mut().leave();
        }
        if connection.as_mut().poll(cx).is_ready() {
            // After a request that asked for an upgrade, hyper leaves without shutting down, granted or not.
            let _ = socket.poll_flush(cx);
            return Poll::Ready(End::Usual);
        }
        match socket.poll_flush(cx) {
            Poll::Ready(Err(_)) => return Poll::Ready(End::Usual),
            // A request that is not there in full yet was not accepted.
            Poll::Ready(Ok(())) if stop.is_requested() && socket.activity.is_cut_off() => {
                return Poll::Ready(End::Usual);
            }
            _ => {}
        }
        let mut due = clock.notice(&socket.activity);
        while due.is_some() || timer.is_elapsed() {
            match due.take().map_or_else(|| clock.decide(&socket.activity, Instant::now()), Decision::Until) {
                Decision::Until(time) => timer.as_mut().reset(time),
                Decision::Leave(time) => {
                    timer.as_mut().reset(time);
                    is_leaving = true;
                    connection.as_mut().leave();
                    cx.waker().wake_by_ref();
                }
                Decision::Refuse => return Poll::Ready(End::SlowHead),
                Decision::Close => return Poll::Ready(End::Usual),
            }
            let _ = timer.as_mut().poll(cx);
        }
        Poll::Pending
    })
    .await
}

/// Who is on the other end, and what answers them.
struct Caller {
    rules: Arc<Rules>,
    socket: Arc<Shared>,
    stop: Arc<Shutdown>,
    budget: Arc<Budget>,
    cx: Context,
    /// Set when the connection is to go on as a WebSocket.
    #[cfg(feature = "ws")]
    upgrade: Mutex<Option<Upgrade>>,
}

impl Caller {
    fn answer(
        self: &Arc<Caller>,
        #[cfg_attr(not(feature = "ws"), expect(unused_mut, reason = "only upgrades take something out"))]
        mut request: Request<Incoming>,
    ) -> impl Future<Output = Result<Response<Body>, Infallible>> + Send + use<> {
        self.socket.activity.begin();
        #[cfg(feature = "ws")]
        let on = Upgrade::watch(&mut request);
        #[cfg_attr(not(feature = "ws"), expect(unused_mut, reason = "only upgrades take something out"))]
        let mut admitted = self.rules.admit(request);
        #[cfg(feature = "ws")]
        if let Some(upgrade) = Upgrade::of(on, &mut admitted) {
            *self.upgrade.lock().unwrap_or_else(PoisonError::into_inner) = Some(upgrade);
        }
        answer(Running(Arc::clone(self)), admitted)
    }
}

/// A request under way.
struct Running(Arc<Caller>);

impl RequestScope for Running {
    fn rules(&self) -> &Rules {
        &self.0.rules
    }

    fn cx(&self) -> &Context {
        &self.0.cx
    }

    fn note_closing(&self) {
        self.0.socket.activity.note_unread();
    }

    fn budget(&self) -> &Arc<Budget> {
        &self.0.budget
    }

    fn stream_guard(&self) -> StreamGuard {
        StreamGuard::new(Arc::clone(&self.0.socket), Arc::clone(&self.0.stop))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.socket.activity.end();
    }
}

/// Where hyper runs the streams of an HTTP/2 connection.
#[derive(Clone, Default)]
struct Streams(Arc<Mutex<JoinSet<()>>>);

impl<F: Future<Output = ()> + Send + 'static> hyper::rt::Executor<F> for Streams {
    fn execute(&self, stream: F) {
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        while running.try_join_next().is_some() {}
        running.spawn(stream);
    }
}

/// Ends the streams with their connection.
#[derive(Default)]
struct OwnedStreams(Streams);

impl Drop for OwnedStreams {
    fn drop(&mut self) {
        drop(std::mem::take(&mut *self.0.0.lock().unwrap_or_else(PoisonError::into_inner)));
    }
}
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_future_of_a_request_is_small_for_it_is_copied_each_time() {
        fn size_of_output<A, R>(_: impl Fn(&Arc<Caller>, A) -> R) -> usize {
            size_of::<R>()
        }
        let size = size_of_output(|caller, request: Request<Incoming>| caller.answer(request));
        assert!(size <= 400, "{size}");
    }
}
