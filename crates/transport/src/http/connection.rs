//! One accepted connection, from first to last byte: hyper, its timeouts, and the signal to stop.

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::sync::Arc;
#[cfg(feature = "ws")]
use std::sync::{Mutex, PoisonError};
use std::task::{Context as Task, Poll};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Request, Response, StatusCode};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::{Service as HyperService, service_fn};
use hyper_util::rt::TokioIo;
use switchboard_core::{Account, Arrival, Context, EndReason, ErrorObject, Origin, Refusal, Session};
use tokio::io::AsyncReadExt;
use tokio::time::Instant;

use super::answer::{RequestScope, answer, outcome, refusal_answer};
use super::body::Body;
use super::fault::Fault;
use super::forwarding::Forwarding;
use super::http2_streams::{OwnedStreams, Streams};
use super::pipe::{Pipe, Shared};
use super::plain::{self, PlainRequests};
use super::refusal;
use super::rules::Rules;
use super::sending::SendingBody;
use super::sse::StreamGuard;
use super::timeouts::{Activity, Clock, Decision, Times, after};
use super::trailers::WithoutTrailers;
#[cfg(feature = "ws")]
use super::upgrade::Upgrade;
use crate::server::{ConnectionPermit, ServerOptions, Shutdown, refuse_and_close};
use crate::socket::Socket;

/// Serves one connection until it ends, is idle for too long, or is stopped and has answered what it accepted.
pub(crate) async fn serve(mut socket: Socket, origin: Origin, rules: Arc<Rules>, permit: ConnectionPermit) {
    let (options, stop) = (permit.options(), permit.shutdown());
    // A reverse proxy may send the requests of many callers over it.
    let session = Session::shared(origin);
    rules.engine.note_opened(&session);
    let mut cx = Context::from(session.clone());
    if let Some(admission) = rules.engine.admit(&Arrival::Session(&cx)) {
        match admission.await {
            Ok(admitted) => cx = admitted.with_session(session.clone()),
            Err(refusal) => return refuse_session(socket, &rules, refusal, stop).await,
        }
    }
    let begun = Instant::now();
    let mut read = BytesMut::with_capacity(plain::SIZE);
    let sniffed = sniff(&mut socket, &mut read, stop);
    let is_http2 = match tokio::time::timeout_at(after(begun, options.header_time), sniffed).await {
        Ok(Some(is_http2)) => is_http2,
        Err(_) if !read.is_empty() => return refuse_slow_head(socket, stop).await,
        Ok(None) | Err(_) => return,
    };
    let account = match is_http2 {
        true => Account::of_many(permit.budget()),
        false => Account::of_one(permit.budget()),
    };
    session.set_account(Arc::clone(&account));
    let socket = Shared::new(socket, is_http2);
    let closing = Arc::downgrade(&socket);
    session.on_close(move || {
        if let Some(socket) = closing.upgrade() {
            socket.close_soon();
        }
    });
    let forwarding = Forwarding::over(&cx, options, &account);
    let caller = Arc::new(Caller {
        rules,
        forwarding,
        socket: Arc::clone(&socket),
        stop: Arc::clone(stop),
        account,
        cx,
        #[cfg(feature = "ws")]
        upgrade: Mutex::default(),
    });
    let mut clock = Clock::start(times(options, &caller.rules), begun);
    #[cfg_attr(not(feature = "ws"), expect(unused_variables, reason = "only upgrades go on reading"))]
    let (end, unread) = caller.answer_all(read, is_http2, &mut clock, options).await;
    session.end(EndReason::Finished);
    #[cfg(feature = "ws")]
    let upgrade = caller.upgrade.lock().unwrap_or_else(PoisonError::into_inner).take();
    #[cfg(feature = "ws")]
    if let (Some(upgrade), End::Usual) = (upgrade, end) {
        let rules = Arc::clone(&caller.rules);
        drop(caller);
        upgrade.go_on(socket, &unread, &rules, permit);
        return;
    }
    // Lingering takes the socket, so it must not be shared.
    drop(caller);
    match end {
        End::SlowHead => {
            if let Some(socket) = socket.into_unused() {
                refuse_slow_head(socket, stop).await;
            }
        }
        End::Usual | End::Closed if socket.activity.has_unread() => socket.linger(stop).await,
        End::Usual | End::Closed => {}
    }
}

impl Caller {
    /// Answers requests until the connection ends. Also gives the bytes that hyper read but did not use.
    async fn answer_all(
        self: &Arc<Caller>,
        mut read: BytesMut,
        is_http2: bool,
        clock: &mut Clock,
        options: &ServerOptions,
    ) -> (End, Bytes) {
        if is_http2 {
            self.socket.put_back(read.freeze());
            return (self.answer_http2(clock, options).await, Bytes::new());
        }
        let (mut stay, mut plain) = (0_u32, 0);
        loop {
            if let Some(end) = self.answer_plain(read, clock, options).await {
                return (end, Bytes::new());
            }
            // Creating hyper's connection costs a third of a request, so it is kept longer each time it was dropped in vain.
            let before = std::mem::replace(&mut plain, self.socket.activity.plain());
            stay = if plain > before { 1 } else { (stay * 2).clamp(1, LONGEST_STAY) };
            let (end, unread) = self.answer_by_hyper(stay, clock, options).await;
            match end {
                None => read = BytesMut::from(unread),
                Some(end) => return (end, unread),
            }
        }
    }

    /// Answers requests as long as they are plain. `None` if another one arrived, which was put back into the socket.
    async fn answer_plain(&self, read: BytesMut, clock: &mut Clock, options: &ServerOptions) -> Option<End> {
        let socket = &self.socket;
        if self.rules.plain_paths.is_empty() {
            socket.put_back(read.freeze());
            return None;
        }
        let header_size = plain::header_size(options);
        let forwarding = self.forwarding.as_ref();
        let work =
            pin!(plain::answer(socket, &self.rules, header_size, &self.cx, forwarding, &self.stop, read));
        let end = drive(pin!(PlainRequests::new(work, &socket.activity)), socket, clock, &self.stop).await;
        // The answered requests are over, so the next head has its own time limit.
        let _ = clock.notice(&socket.activity);
        if socket.has_more() { None } else { Some(end) }
    }

    /// Answers requests of all kinds with hyper. `None` if hyper was dropped while it was idle, because the next request may
    /// be plain: that happens when it became idle for the `stay`th time. Also gives the bytes that hyper read but did not use.
    async fn answer_by_hyper(
        self: &Arc<Caller>,
        stay: u32,
        clock: &mut Clock,
        options: &ServerOptions,
    ) -> (Option<End>, Bytes) {
        let answering = Arc::clone(self);
        let service = service_fn(move |request| answering.answer(request));
        let io = TokioIo::new(Pipe(Arc::clone(&self.socket)));
        let mut connection = http1(options).serve_connection(io, service);
        let mut requests = HyperRequests {
            connection: Pin::new(&mut connection),
            activity: &self.socket.activity,
            stay: (!self.rules.plain_paths.is_empty()).then_some(stay),
        };
        let end = drive(Pin::new(&mut requests), &self.socket, clock, &self.stop).await;
        let end = (requests.stay != Some(0)).then_some(end);
        (end, connection.into_parts().read_buf)
    }

    async fn answer_http2(self: &Arc<Caller>, clock: &mut Clock, options: &ServerOptions) -> End {
        let answering = Arc::clone(self);
        let service = service_fn(move |request| answering.answer_stream(request));
        let io = TokioIo::new(Pipe(Arc::clone(&self.socket)));
        let streams = OwnedStreams::default();
        let connection = http2(streams.executor(), options).serve_connection(io, service);
        drive(pin!(connection), &self.socket, clock, &self.stop).await
    }
}

/// How often hyper becomes idle before it is dropped, at most.
const LONGEST_STAY: u32 = 64;

/// How a connection came to its end.
#[derive(Clone, Copy)]
enum End {
    /// It was closed by either side.
    Usual,
    /// It failed, was idle for too long, or was stopped before a request was complete.
    Closed,
    /// The head of its first request did not come in time, and nothing was answered.
    SlowHead,
}

async fn refuse_slow_head(socket: Socket, stop: &Shutdown) {
    let error = ErrorObject::timed_out().with_detail("the request headers did not arrive in time");
    refuse_and_close(socket, &refusal::response(StatusCode::REQUEST_TIMEOUT, &error), stop).await;
}

/// Turns a connection away that the admission does not let in.
async fn refuse_session(socket: Socket, rules: &Rules, refusal: Refusal, stop: &Shutdown) {
    let (status, body, headers) = outcome(rules, refusal_answer(refusal));
    refuse_and_close(socket, &refusal::with_headers(status, &headers, &body), stop).await;
}

/// Reads the first bytes, which tell HTTP/2 from HTTP/1, unless that was agreed on. Nothing if the connection ends or is stopped before.
async fn sniff(socket: &mut Socket, read: &mut BytesMut, stop: &Shutdown) -> Option<bool> {
    // No request of HTTP/1 begins like this. If it does not go on as HTTP/2 does, h2 refuses it.
    const PREFACE: &[u8] = b"PRI * HTTP/2";
    if socket.is_http2() {
        return Some(true);
    }
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

/// How long things may take on a connection.
fn times(options: &ServerOptions, rules: &Rules) -> Times {
    let send = rules.settings().limits.send_time;
    Times { header: options.header_time, idle: options.idle_time, send }
}

fn http1(options: &ServerOptions) -> http1::Builder {
    let mut builder = http1::Builder::new();
    builder
        .header_read_timeout(None)
        .max_header_size(options.header_size)
        // hyper would read 400 KiB at once; a head has to fit.
        .max_buf_size(READ_BUFFER.max(options.header_size.saturating_add(1024)))
        .auto_date_header(plain::has_date());
    builder
}

fn http2(streams: Streams, options: &ServerOptions) -> http2::Builder<Streams> {
    let mut builder = http2::Builder::new(streams);
    let header_list = u32::try_from(options.header_size).unwrap_or(u32::MAX);
    builder.max_concurrent_streams(options.streams).max_header_list_size(header_list);
    // Pieces of event streams beyond this wait where they are counted.
    builder.max_send_buf_size(STREAM_BUFFER).auto_date_header(plain::has_date());
    builder
}

/// As much as HTTP/1 reads at once.
const READ_BUFFER: usize = 64 << 10;
/// As much of an event stream as HTTP/2 takes before it is sent.
const STREAM_BUFFER: usize = 16 << 10;

/// A connection of either version.
trait Conversation: Future {
    /// Takes no more requests.
    fn leave(self: Pin<&mut Self>);
}

impl<F: Future> Conversation for PlainRequests<'_, F> {
    fn leave(self: Pin<&mut Self>) {
        PlainRequests::leave(&self);
    }
}

/// hyper's connection as a future that ends with it, or when it has been idle often enough.
struct HyperRequests<'a, C> {
    connection: Pin<&'a mut C>,
    activity: &'a Activity,
    /// How often it may become idle until it is dropped; `None` if it must not be dropped.
    stay: Option<u32>,
}

impl<C: Future> Future for HyperRequests<'_, C> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Task<'_>) -> Poll<()> {
        let this = &mut *self;
        if this.connection.as_mut().poll(cx).is_ready() {
            return Poll::Ready(());
        }
        if let Some(stay) = &mut this.stay
            && this.activity.is_between_requests()
        {
            *stay = stay.saturating_sub(1);
            if *stay == 0 {
                return Poll::Ready(());
            }
        }
        Poll::Pending
    }
}

impl<S, F> Conversation for HyperRequests<'_, http1::Connection<TokioIo<Pipe>, S>>
where
    S: HyperService<Request<Incoming>, Response = Response<Body>, Error = Infallible, Future = F>,
{
    fn leave(mut self: Pin<&mut Self>) {
        self.stay = None;
        self.connection.as_mut().graceful_shutdown();
    }
}

impl<S, F> Conversation for http2::Connection<TokioIo<Pipe>, S, Streams>
where
    S: HyperService<Request<Incoming>, Response = Response<SendingBody>, Error = Infallible, Future = F>,
    F: Future<Output = Result<Response<SendingBody>, Infallible>> + Send + 'static,
{
    fn leave(self: Pin<&mut Self>) {
        self.graceful_shutdown();
    }
}

/// Polls hyper, then writes what it left to be written, then looks at the clock.
async fn drive<C: Conversation>(
    mut connection: Pin<&mut C>,
    socket: &Shared,
    clock: &mut Clock,
    stop: &Shutdown,
) -> End {
    let mut signal = pin!(stop.signal());
    let mut timer = pin!(tokio::time::sleep_until(clock.due()));
    let mut is_first = true;
    let mut is_leaving = false;
    poll_fn(|cx| {
        // Signal and timer wake this task, which is all that is wanted of them. Once polled they stay registered, for
        // this is the task's only future, so that later steps look at what they stand for and need not poll them.
        if std::mem::take(&mut is_first) {
            let _ = signal.as_mut().poll(cx);
            let _ = timer.as_mut().poll(cx);
            socket.register(cx.waker());
        }
        if !is_leaving && (stop.is_requested() || socket.is_closing()) {
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
            Poll::Ready(Err(_)) => return Poll::Ready(End::Closed),
            // A request that is not there in full yet was not accepted.
            Poll::Ready(Ok(())) if stop.is_requested() && socket.activity.is_cut_off() => {
                return Poll::Ready(End::Closed);
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
                Decision::Close => return Poll::Ready(End::Closed),
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
    account: Arc<Account>,
    cx: Context,
    /// Set if a trusted proxy is on the other end.
    forwarding: Option<Forwarding>,
    /// Set when the connection is to go on as a WebSocket.
    #[cfg(feature = "ws")]
    upgrade: Mutex<Option<Upgrade>>,
}

impl Caller {
    fn answer(
        self: &Arc<Caller>,
        request: Request<Incoming>,
    ) -> impl Future<Output = Result<Response<Body>, Infallible>> + Send + use<> {
        self.socket.activity.begin();
        let admitted = match &self.forwarding {
            None => self.rules.admit(WithoutTrailers::of(request), &self.cx),
            Some(forwarding) => {
                let cx = forwarding.of_headers(self.cx.clone(), request.headers());
                self.rules.admit(WithoutTrailers::of(request), &cx)
            }
        };
        answer(Running(Arc::clone(self)), admitted)
    }

    /// Answers a request of HTTP/2, unless too much waits to be sent already.
    fn answer_stream(
        self: &Arc<Caller>,
        request: Request<Incoming>,
    ) -> impl Future<Output = Result<Response<SendingBody>, Infallible>> + Send + use<> {
        let socket = Arc::clone(&self.socket);
        let mark = self.rules.settings().limits.outbox / 16;
        let begun = if socket.activity.backlog() > mark || self.account.is_overdrawn() {
            Err(self.refuse_reader())
        } else {
            Ok(self.answer(request))
        };
        async move {
            let response = match begun {
                Ok(answering) => answering.await?,
                Err(refusal) => refusal,
            };
            Ok(response.map(|body| SendingBody::new(body, socket)))
        }
    }

    /// The answer to a request of a peer that does not read answers.
    #[cold]
    fn refuse_reader(&self) -> Response<Body> {
        Fault::Unread.tell(&self.rules, &self.cx);
        Fault::Unread.respond(HeaderMap::new(), false)
    }
}

/// A request in flight.
struct Running(Arc<Caller>);

impl RequestScope for Running {
    fn rules(&self) -> &Rules {
        &self.0.rules
    }

    #[cfg(feature = "ws")]
    fn upgrade(&self, cx: Context) -> bool {
        *self.0.upgrade.lock().unwrap_or_else(PoisonError::into_inner) = Some(Upgrade(cx));
        true
    }

    fn note_closing(&self) {
        self.0.socket.activity.note_unread();
    }

    fn account(&self) -> &Arc<Account> {
        &self.0.account
    }

    fn shutdown(&self) -> Arc<Shutdown> {
        Arc::clone(&self.0.stop)
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

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use switchboard_core::{Budget, Code, Router, Settings};
    use tokio::io::AsyncWriteExt;
    use tokio::net::{TcpListener, TcpStream};

    use super::*;
    use crate::http::EndpointOptions;

    #[test]
    fn the_future_of_a_request_is_small_for_it_is_copied_each_time() {
        fn size_of_output<A, R>(_: impl Fn(&Arc<Caller>, A) -> R) -> usize {
            size_of::<R>()
        }
        let size = size_of_output(|caller, request: Request<Incoming>| caller.answer(request));
        assert!(size <= 680, "{size}");
    }

    const PLAIN: &str =
        "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
    const CHUNKED: &str = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n\
                           2\r\n{}\r\n0\r\n\r\n";

    /// A client, and the connection that answers it.
    struct Pair {
        client: TcpStream,
        caller: Arc<Caller>,
    }

    impl Pair {
        async fn open() -> Pair {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let (client, accepted) = tokio::join!(TcpStream::connect(address), listener.accept());
            let socket = Shared::new(Socket::new(accepted.unwrap().0), false);
            let router = Arc::new(Router::builder().build().unwrap());
            let caller = Arc::new(Caller {
                rules: Arc::new(Rules::new(
                    router,
                    Settings::default(),
                    EndpointOptions::default(),
                    Some(address),
                )),
                socket,
                stop: Arc::default(),
                account: Account::of_one(&Budget::new(1 << 20)),
                cx: Context::new(Origin::new("http")),
                forwarding: None,
                #[cfg(feature = "ws")]
                upgrade: Mutex::default(),
            });
            let answering = Arc::clone(&caller);
            tokio::spawn(async move {
                let options = ServerOptions::default();
                let mut clock = Clock::start(times(&options, &answering.rules), Instant::now());
                answering.answer_all(BytesMut::new(), false, &mut clock, &options).await;
            });
            Pair { client: client.unwrap(), caller }
        }

        async fn send(&mut self, text: &str) {
            self.client.write_all(text.as_bytes()).await.unwrap();
        }

        /// Awaits so many responses. Tells how many requests were plain until now.
        async fn plain_after(&mut self, responses: usize) -> usize {
            let code = Code::INVALID_REQUEST.to_string();
            let mut said = Vec::new();
            while String::from_utf8_lossy(&said).matches(&code).count() < responses {
                assert_ne!(self.client.read_buf(&mut said).await.unwrap(), 0, "the connection ended");
            }
            self.caller.socket.activity.plain()
        }
    }

    #[tokio::test]
    async fn requests_are_plain_again_after_others() {
        let mut pair = Pair::open().await;
        pair.send(CHUNKED).await;
        assert_eq!(pair.plain_after(1).await, 0);
        pair.send(PLAIN).await;
        assert_eq!(pair.plain_after(1).await, 1);
        // hyper answers all that it has read.
        pair.send(&[CHUNKED, PLAIN, CHUNKED].concat()).await;
        assert_eq!(pair.plain_after(3).await, 1);
        pair.send(&[PLAIN, PLAIN, CHUNKED].concat()).await;
        assert_eq!(pair.plain_after(3).await, 3);
    }

    #[tokio::test]
    async fn however_many_others_came_requests_are_plain_in_the_end() {
        let mut pair = Pair::open().await;
        for _ in 0..3 * LONGEST_STAY {
            pair.send(CHUNKED).await;
            assert_eq!(pair.plain_after(1).await, 0);
        }
        for _ in 0..LONGEST_STAY {
            pair.send(PLAIN).await;
            pair.plain_after(1).await;
        }
        pair.send(PLAIN).await;
        assert_ne!(pair.plain_after(1).await, 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_request_is_plain_if_its_body_comes_soon_after_its_head() {
        let (head, body) = PLAIN.split_at(PLAIN.len() - 2);
        for (time, expected) in [(Duration::ZERO, 1), (Duration::from_secs(1), 0)] {
            let mut pair = Pair::open().await;
            pair.send(head).await;
            while pair.caller.socket.activity.is_head_pending() {
                tokio::task::yield_now().await;
            }
            tokio::time::advance(time).await;
            pair.send(body).await;
            assert_eq!(pair.plain_after(1).await, expected, "{time:?}");
        }
    }
}
