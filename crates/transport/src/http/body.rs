//! Bodies: the ones we send, and reading those we receive.

use std::error::Error;
use std::fmt;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::{Buf, Bytes, BytesMut};
use http_body::{Body as HttpBody, Frame, SizeHint};
use switchboard_core::Share;

use super::sse::{EventBody, StreamGuard};

/// The body of a response: complete and of known length, or a stream.
pub struct Body(Content);

enum Content {
    Whole(Bytes),
    Events(Box<EventBody>),
    Stream(Box<Streamed>),
}

/// A body of another library.
struct Streamed {
    body: Pin<Box<dyn HttpBody<Data = Bytes, Error = BoxError> + Send>>,
    _guard: Option<StreamGuard>,
}

type BoxError = Box<dyn Error + Send + Sync>;

impl Body {
    /// A body of these bytes.
    pub fn new(bytes: impl Into<Bytes>) -> Body {
        Body(Content::Whole(bytes.into()))
    }

    /// An empty body.
    #[must_use]
    pub fn empty() -> Body {
        Body::default()
    }

    /// A body that is sent piece by piece. If it fails, the connection is aborted.
    pub fn stream<B>(body: B) -> Body
    where
        B: HttpBody<Data = Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        let body = Box::pin(Fallible(Box::pin(body)));
        Body(Content::Stream(Box::new(Streamed { body, _guard: None })))
    }

    pub(super) fn events(events: EventBody) -> Body {
        Body(Content::Events(Box::new(events)))
    }

    /// All its bytes, if they are there.
    pub(super) fn whole(&self) -> Option<&Bytes> {
        match &self.0 {
            Content::Whole(text) => Some(text),
            Content::Events(_) | Content::Stream(_) => None,
        }
    }

    /// Keeps the connection while a stream is being sent.
    pub(super) fn hold(&mut self, guard: impl FnOnce() -> StreamGuard) {
        if let Content::Stream(streamed) = &mut self.0
            && !streamed.body.is_end_stream()
        {
            streamed._guard = Some(guard());
        }
    }
}

impl Default for Body {
    fn default() -> Body {
        Body(Content::Whole(Bytes::new()))
    }
}

impl fmt::Debug for Body {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Body").field("size", &self.size_hint()).finish_non_exhaustive()
    }
}

impl HttpBody for Body {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        match &mut self.0 {
            Content::Whole(text) if text.is_empty() => Poll::Ready(None),
            Content::Whole(text) => Poll::Ready(Some(Ok(Frame::data(std::mem::take(text))))),
            Content::Events(events) => {
                events.poll_piece(cx).map(|piece| piece.map(|piece| Ok(Frame::data(piece))))
            }
            Content::Stream(streamed) => streamed.body.as_mut().poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Content::Whole(text) => text.is_empty(),
            Content::Events(_) => false,
            Content::Stream(streamed) => streamed.body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Content::Whole(text) => SizeHint::with_exact(text.len() as u64),
            Content::Events(_) => SizeHint::default(),
            Content::Stream(streamed) => streamed.body.size_hint(),
        }
    }
}

/// A body whose error is boxed.
struct Fallible<B>(Pin<Box<B>>);

impl<B> HttpBody for Fallible<B>
where
    B: HttpBody<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        self.0.as_mut().poll_frame(cx).map(|frame| frame.map(|frame| frame.map_err(Into::into)))
    }

    fn is_end_stream(&self) -> bool {
        self.0.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.0.size_hint()
    }
}

/// Why a body could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum Unread {
    /// It has more bytes than allowed. What was announced counts: nothing is read then.
    #[error("it is too large")]
    TooLarge,
    /// It did not come in time.
    #[error("it did not arrive in time")]
    TooSlow,
    /// Not enough memory beside what others send.
    #[error("too much data is being received at once")]
    NoRoom,
    /// The connection broke, or the body's own framing is wrong.
    #[error("it is incomplete, or its framing is invalid")]
    Broken,
}

/// The most that is allocated on the word of a `Content-Length` for which no memory is reserved.
const TRUSTED: usize = 64 << 10;

/// How far a body was there at once.
pub(super) enum Begun {
    /// To its end, as that of nearly every call is.
    Whole(Bytes),
    /// To this point, and the rest is to be awaited.
    Part(BytesMut),
    /// It will not be read.
    Unread(Unread),
}

/// Takes what is there of a body of at most `limit` bytes, without waiting. In one piece it is not copied.
///
/// What is announced is covered before any of it is taken.
pub(super) async fn begin<B: HttpBody + Unpin>(body: &mut B, limit: usize, share: &mut Share) -> Begun {
    let announced = announced_rest(body);
    if announced > limit {
        return Begun::Unread(Unread::TooLarge);
    }
    if !share.cover(announced) {
        return Begun::Unread(Unread::NoRoom);
    }
    if body.is_end_stream() {
        return Begun::Whole(Bytes::new());
    }
    let data = match poll_fn(|cx| Poll::Ready(Pin::new(&mut *body).poll_frame(cx))).await {
        Poll::Pending => return Begun::Part(BytesMut::new()),
        Poll::Ready(None) => return Begun::Whole(Bytes::new()),
        Poll::Ready(Some(Err(_))) => return Begun::Unread(Unread::Broken),
        Poll::Ready(Some(Ok(frame))) => frame.into_data(),
    };
    let Ok(mut data) = data else { return Begun::Part(BytesMut::new()) };
    if data.remaining() > limit {
        return Begun::Unread(Unread::TooLarge);
    }
    if body.is_end_stream() {
        return match share.cover(data.remaining()) {
            true => Begun::Whole(share.seal(data.copy_to_bytes(data.remaining()))),
            false => Begun::Unread(Unread::NoRoom),
        };
    }
    let mut begun = BytesMut::new();
    if !make_room(&mut begun, data.remaining(), announced_rest(body), limit, share) {
        return Begun::Unread(Unread::NoRoom);
    }
    append(&mut begun, data);
    Begun::Part(begun)
}

/// Reads the rest of a body within `time`. Boxed, because it is rare and would make the future of every request larger.
pub(super) fn finish<'a, B>(
    body: B,
    begun: BytesMut,
    limit: usize,
    time: Duration,
    share: Share,
) -> Pin<Box<dyn Future<Output = Result<Bytes, Unread>> + Send + 'a>>
where
    B: HttpBody + Unpin + Send + 'a,
    B::Data: Send,
{
    Box::pin(async move {
        let rest = rest(body, begun, limit, share);
        tokio::time::timeout(time, rest).await.unwrap_or(Err(Unread::TooSlow))
    })
}

/// Reads a body of at most `limit` bytes within `time`.
pub(super) async fn read<B>(
    mut body: B,
    limit: usize,
    time: Duration,
    mut share: Share,
) -> Result<Bytes, Unread>
where
    B: HttpBody + Unpin + Send,
    B::Data: Send,
{
    match begin(&mut body, limit, &mut share).await {
        Begun::Whole(text) => Ok(text),
        Begun::Part(begun) => finish(body, begun, limit, time, share).await,
        Begun::Unread(unread) => Err(unread),
    }
}

async fn rest<B: HttpBody + Unpin>(
    mut body: B,
    mut text: BytesMut,
    limit: usize,
    mut share: Share,
) -> Result<Bytes, Unread> {
    loop {
        let frame = match poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {
            None => return Ok(share.seal(text.freeze())),
            Some(frame) => frame.map_err(|_| Unread::Broken)?,
        };
        // Trailers have no meaning here.
        let Ok(data) = frame.into_data() else { continue };
        if text.len() + data.remaining() > limit {
            return Err(Unread::TooLarge);
        }
        if !make_room(&mut text, data.remaining(), announced_rest(&body), limit, &mut share) {
            return Err(Unread::NoRoom);
        }
        append(&mut text, data);
    }
}

/// How many more bytes of a body were announced.
fn announced_rest(body: &impl HttpBody) -> usize {
    usize::try_from(body.size_hint().lower()).unwrap_or(usize::MAX)
}

/// Makes room for the next part of a body, of `more` bytes, which so much is to follow. False if the budget has none.
///
/// The first part makes room for all that was announced and covered, so that a long body is not copied from one buffer to the
/// next larger one. The buffer of a body of unknown length is covered before it grows, and grows in few steps: an allocator
/// holds the smaller ones for a while, but not what was never written. Where the budget is too short for such a step, smaller
/// ones do, so that a body that fits is not refused.
fn make_room(text: &mut BytesMut, more: usize, follows: usize, limit: usize, share: &mut Share) -> bool {
    let needed = text.len() + more;
    let now = text.capacity();
    if needed <= now {
        return share.cover(needed);
    }
    let announced = needed.saturating_add(follows).min(share.taken().max(TRUSTED));
    let steps = [now.saturating_mul(4), now.saturating_mul(2), now.saturating_add(now / 4), needed];
    let Some(capacity) =
        steps.into_iter().map(|step| step.min(limit).max(announced)).find(|capacity| share.cover(*capacity))
    else {
        return false;
    };
    // `reserve` would at least double the buffer, which is not covered.
    let begun = std::mem::replace(text, BytesMut::with_capacity(capacity));
    text.extend_from_slice(&begun);
    true
}

fn append(text: &mut BytesMut, mut data: impl Buf) {
    while data.has_remaining() {
        let chunk = data.chunk();
        text.extend_from_slice(chunk);
        let length = chunk.len();
        data.advance(length);
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use switchboard_core::{Account, Budget};

    use super::*;

    /// Frames that are there at once, then silence or the end.
    struct Script {
        frames: std::collections::VecDeque<&'static str>,
        ends: bool,
    }

    impl HttpBody for Script {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            match self.frames.pop_front() {
                Some(text) => Poll::Ready(Some(Ok(Frame::data(Bytes::from_static(text.as_bytes()))))),
                None if self.ends => Poll::Ready(None),
                None => Poll::Pending,
            }
        }
    }

    async fn check(frames: &[&'static str], ends: bool, expected: Result<&str, Unread>) {
        let script = Script { frames: frames.iter().copied().collect(), ends };
        let read = read(script, 5, Duration::from_secs(30), Share::default()).await;
        assert_eq!(read, expected.map(|text| Bytes::copy_from_slice(text.as_bytes())), "{frames:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_body_is_read_up_to_its_limit_and_within_its_time() {
        check(&[], true, Ok("")).await;
        check(&["abc"], true, Ok("abc")).await;
        check(&["ab", "c", "de"], true, Ok("abcde")).await;
        check(&["abcdef"], true, Err(Unread::TooLarge)).await;
        check(&["abc", "def"], true, Err(Unread::TooLarge)).await;
        check(&["abc"], false, Err(Unread::TooSlow)).await;
        check(&[], false, Err(Unread::TooSlow)).await;
    }

    #[tokio::test]
    async fn a_body_in_one_piece_is_not_copied() {
        let text = Bytes::from(vec![b'x'; 100]);
        let body = Body::new(text.clone());
        let read = read(body, 1000, Duration::from_secs(30), Share::default()).await.unwrap();
        assert_eq!(read.as_ptr(), text.as_ptr());
    }

    #[tokio::test]
    async fn an_announced_length_beyond_the_limit_is_refused_unread() {
        let body = Body::new(Bytes::from(vec![b'x'; 100]));
        let read = read(body, 99, Duration::from_secs(30), Share::default()).await;
        assert_eq!(read, Err(Unread::TooLarge));
    }

    #[tokio::test]
    async fn a_body_without_room_is_not_read_and_leaves_its_room_when_it_is_dropped() {
        // A connection may hold 64 KiB, and this beyond them.
        let account = Account::of_one(&Budget::new(36 << 10));
        let read = async |length: usize| {
            let body = Body::new(Bytes::from(vec![b'x'; length]));
            read(body, 1 << 20, Duration::from_secs(30), Share::of(&account)).await
        };
        let held = read(80 << 10).await.unwrap();
        assert_eq!(read(80 << 10).await, Err(Unread::NoRoom));
        assert!(read(60 << 10).await.is_ok(), "short ones are not counted");
        drop(held);
        assert!(read(80 << 10).await.is_ok());
    }

    #[tokio::test]
    async fn a_body_of_unknown_length_is_read_if_it_fits() {
        let account = Account::of_one(&Budget::new(36 << 10));
        let read = async |kilobytes: usize| {
            let part: &'static str = "x".repeat(1 << 10).leak();
            let script = Script { frames: vec![part; kilobytes].into(), ends: true };
            read(script, 1 << 20, Duration::from_secs(30), Share::of(&account)).await.map(|text| text.len())
        };
        assert_eq!(read(99).await, Ok(99 << 10));
        assert_eq!(read(101).await, Err(Unread::NoRoom));
        assert_eq!(read(99).await, Ok(99 << 10), "the room is free again");
    }
}
