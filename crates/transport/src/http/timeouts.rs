//! The clock of one connection: slow heads, idle connections and readers that stopped reading are closed (SEC-H-05).
//!
//! hyper could time heads itself, at the price of a timer made and dropped for every request. Here a connection has one
//! timer that is set when a head stays unfinished or, lazily, a few times within the idle time, and requests only leave
//! a mark.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

use tokio::time::Instant;

/// Marks that the parts of one connection leave for its clock. Nothing is ordered by them.
#[derive(Debug)]
pub(super) struct Activity {
    /// Bytes came that no request has begun with yet, or nothing came at all.
    head_pending: AtomicBool,
    /// HTTP/2 frames are not heads, except that a first one is awaited; they come at any time.
    is_http2: bool,
    /// Requests under way.
    running: AtomicUsize,
    /// Answers that are streams and go on after their request counts as answered.
    streaming: AtomicUsize,
    /// Something moved since the clock last looked.
    moved: AtomicBool,
    /// Something waits to be written.
    unsent: AtomicBool,
    /// The connection ends with a body, or a part of one, unread.
    unread: AtomicBool,
    /// The connection is to take no more requests.
    leaving: AtomicBool,
    /// hyper's last operation was a read that found nothing: it has nothing to write, and waits.
    wants_bytes: AtomicBool,
    /// Plain requests answered so far.
    plain: AtomicUsize,
    /// A request had a body that was not read for its answer; hyper may still have to skip it.
    skips_body: AtomicBool,
}

impl Activity {
    pub(super) fn new(is_http2: bool) -> Activity {
        Activity {
            head_pending: AtomicBool::new(true),
            is_http2,
            running: AtomicUsize::new(0),
            streaming: AtomicUsize::new(0),
            moved: AtomicBool::new(false),
            unsent: AtomicBool::new(false),
            unread: AtomicBool::new(false),
            leaving: AtomicBool::new(false),
            wants_bytes: AtomicBool::new(false),
            plain: AtomicUsize::new(0),
            skips_body: AtomicBool::new(false),
        }
    }

    /// Bytes came in.
    #[inline]
    pub(super) fn note_read(&self) {
        if !self.is_http2 {
            self.head_pending.store(true, Relaxed);
        }
    }

    /// Bytes went out. With HTTP/2 those may be acknowledgements, which are no use of a connection.
    #[inline]
    pub(super) fn note_written(&self, count: usize) {
        if !self.is_http2 || count >= ANSWER || self.streaming.load(Relaxed) > 0 {
            self.moved.store(true, Relaxed);
        }
    }

    /// A head is complete: a request begins.
    #[inline]
    pub(super) fn begin(&self) {
        self.head_pending.store(false, Relaxed);
        self.running.fetch_add(1, Relaxed);
    }

    /// A request is answered, or given up.
    #[inline]
    pub(super) fn end(&self) {
        self.head_pending.store(false, Relaxed);
        self.moved.store(true, Relaxed);
        self.running.fetch_sub(1, Relaxed);
    }

    /// An answer goes on as a stream. Whether it is idle is told by what it sends.
    pub(super) fn begin_stream(&self) {
        self.streaming.fetch_add(1, Relaxed);
    }

    pub(super) fn end_stream(&self) {
        self.head_pending.store(false, Relaxed);
        self.moved.store(true, Relaxed);
        self.streaming.fetch_sub(1, Relaxed);
    }

    pub(super) fn set_unsent(&self, unsent: bool) {
        self.unsent.store(unsent, Relaxed);
    }

    pub(super) fn has_unsent(&self) -> bool {
        self.unsent.load(Relaxed)
    }

    pub(super) fn note_unread(&self) {
        self.unread.store(true, Relaxed);
    }

    pub(super) fn has_unread(&self) -> bool {
        self.unread.load(Relaxed)
    }

    pub(super) fn set_leaving(&self) {
        self.leaving.store(true, Relaxed);
    }

    pub(super) fn is_leaving(&self) -> bool {
        self.leaving.load(Relaxed)
    }

    /// Notes whether hyper's last operation on the socket was a read that found nothing.
    pub(super) fn set_wants_bytes(&self, wants_bytes: bool) {
        self.wants_bytes.store(wants_bytes, Relaxed);
    }

    /// A plain request has been answered.
    pub(super) fn note_plain(&self) {
        self.plain.fetch_add(1, Relaxed);
    }

    /// The number of plain requests answered so far.
    pub(super) fn plain(&self) -> usize {
        self.plain.load(Relaxed)
    }

    /// A request has a body that is not read for its answer, so only hyper knows where the next request starts.
    pub(super) fn note_skipped_body(&self) {
        self.skips_body.store(true, Relaxed);
    }

    /// Whether hyper is idle: the last request has been read and answered completely, and no further bytes have been read
    /// since. hyper may still hold bytes that it read together with that request.
    pub(super) fn is_between_requests(&self) -> bool {
        self.wants_bytes.load(Relaxed)
            && !self.head_pending.load(Relaxed)
            && self.running.load(Relaxed) == 0
            && self.streaming.load(Relaxed) == 0
            && !self.skips_body.load(Relaxed)
    }

    /// Whether the far side has nothing coming when the connection ends now: a head that is not there yet was not
    /// accepted. With HTTP/2 it is told which were.
    pub(super) fn is_cut_off(&self) -> bool {
        !self.is_http2 && self.is_head_pending()
    }

    /// Whether a request is awaited or has come in part, and none is under way.
    #[inline]
    pub(super) fn is_head_pending(&self) -> bool {
        self.head_pending.load(Relaxed)
            && self.running.load(Relaxed) == 0
            && self.streaming.load(Relaxed) == 0
    }
}

/// What the clock says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// Go on, and look again at that time.
    Until(Instant),
    /// The connection is idle: end it in good order, at that time in any case.
    Leave(Instant),
    /// The first head did not come in time.
    Refuse,
    /// The time is over.
    Close,
}

/// Fewer bytes than this, written over HTTP/2 at once, may be acknowledgements of pings and settings only. What they
/// belong to leaves a mark of its own if it is a request.
const ANSWER: usize = 256;

/// A value that decides; it holds no timer.
#[derive(Debug)]
pub(super) struct Clock {
    header_time: Duration,
    idle_time: Duration,
    phase: Phase,
    /// No request has begun yet.
    is_first: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// A head is to be complete by then.
    Head(Instant),
    /// Nothing is known to have moved since then.
    Quiet(Instant),
    /// The connection was told to end.
    Leaving,
}

/// How long a connection that was told to end may take to do so, but not longer than it may be idle.
const LEAVE_TIME: Duration = Duration::from_secs(5);

/// The shortest time to wait before looking again, whatever the idle time is.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

/// The end of a time, which may be as long as to have none.
pub(crate) fn after(begun: Instant, time: Duration) -> Instant {
    const YEAR: Duration = Duration::from_secs(365 * 24 * 60 * 60);
    begun + time.min(YEAR)
}

impl Clock {
    /// The clock of a connection that began then.
    pub(super) fn start(header_time: Duration, idle_time: Duration, begun: Instant) -> Clock {
        let phase = Phase::Head(after(begun, header_time));
        Clock { header_time, idle_time, phase, is_first: true }
    }

    /// The time to look next.
    pub(super) fn due(&self) -> Instant {
        match self.phase {
            Phase::Head(due) => due,
            Phase::Quiet(since) => after(since, (self.idle_time / 4).max(SHORTEST_WAIT)),
            Phase::Leaving => Instant::now(),
        }
    }

    /// Looks whether a head began or came to its end, after each step of the connection. Gives the new time to look,
    /// if there is one. Costs two reads as long as requests come whole.
    #[inline]
    pub(super) fn notice(&mut self, activity: &Activity) -> Option<Instant> {
        match (self.phase, activity.is_head_pending()) {
            (Phase::Quiet(_), true) => {
                let due = after(Instant::now(), self.header_time);
                self.phase = Phase::Head(due);
                Some(due)
            }
            (Phase::Head(_), false) => {
                let now = Instant::now();
                (self.phase, self.is_first) = (Phase::Quiet(now), false);
                Some(after(now, (self.idle_time / 4).max(SHORTEST_WAIT)))
            }
            _ => None,
        }
    }

    /// Decides, at a time that was given before.
    pub(super) fn decide(&mut self, activity: &Activity, now: Instant) -> Decision {
        match self.phase {
            Phase::Head(due) if now >= due && self.is_first && !activity.is_http2 => Decision::Refuse,
            Phase::Head(due) if now >= due => Decision::Close,
            Phase::Head(due) => Decision::Until(due),
            // A request that came in while we were leaving was accepted, and is answered.
            Phase::Leaving if activity.running.load(Relaxed) > 0 => Decision::Until(after(now, LEAVE_TIME)),
            Phase::Leaving => Decision::Close,
            Phase::Quiet(since) => {
                let moved = activity.moved.swap(false, Relaxed);
                if moved || activity.running.load(Relaxed) > 0 {
                    self.phase = Phase::Quiet(now);
                    return Decision::Until(after(now, (self.idle_time / 4).max(SHORTEST_WAIT)));
                }
                let due = after(since, self.idle_time);
                if now < due {
                    return Decision::Until(due);
                }
                self.phase = Phase::Leaving;
                Decision::Leave(now + LEAVE_TIME.min(self.idle_time))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn start() -> (Clock, Activity, Instant) {
        let now = Instant::now();
        let clock = Clock::start(10 * SECOND, 60 * SECOND, now);
        assert_eq!(clock.due(), now + 10 * SECOND);
        (clock, Activity::new(false), now)
    }

    fn request(activity: &Activity) {
        activity.note_read();
        activity.begin();
        activity.end();
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_head_has_its_time_and_no_more() {
        let (mut clock, activity, now) = start();
        assert_eq!(clock.notice(&activity), None);
        activity.note_read();
        assert_eq!(clock.notice(&activity), None, "bytes that trickle in do not set the clock back");
        assert_eq!(clock.decide(&activity, now + 10 * SECOND), Decision::Refuse);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_is_idle_after_a_whole_idle_time_without_a_request() {
        let (mut clock, activity, now) = start();
        request(&activity);
        assert_eq!(clock.notice(&activity), Some(now + 15 * SECOND));
        // There was a request since the clock last looked: it does not know when.
        assert_eq!(clock.decide(&activity, now + 15 * SECOND), Decision::Until(now + 30 * SECOND));
        assert_eq!(clock.decide(&activity, now + 30 * SECOND), Decision::Until(now + 75 * SECOND));
        assert_eq!(clock.decide(&activity, now + 75 * SECOND), Decision::Leave(now + 80 * SECOND));
        assert_eq!(clock.decide(&activity, now + 80 * SECOND), Decision::Close);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_with_a_request_under_way_is_not_idle() {
        let (mut clock, activity, now) = start();
        activity.begin();
        clock.notice(&activity);
        let later = now + 1000 * SECOND;
        assert_eq!(clock.decide(&activity, later), Decision::Until(later + 15 * SECOND));
    }

    #[tokio::test(start_paused = true)]
    async fn a_later_head_that_stays_unfinished_is_timed_too() {
        let (mut clock, activity, now) = start();
        request(&activity);
        clock.notice(&activity);
        activity.note_read();
        assert_eq!(clock.notice(&activity), Some(now + 10 * SECOND));
        assert_eq!(clock.decide(&activity, now + 10 * SECOND), Decision::Close);
    }

    #[tokio::test(start_paused = true)]
    async fn the_bytes_of_a_body_are_no_head() {
        let (mut clock, activity, _) = start();
        activity.note_read();
        activity.begin();
        clock.notice(&activity);
        activity.note_read();
        assert_eq!(clock.notice(&activity), None);
        activity.end();
        assert_eq!(clock.notice(&activity), None);
    }

    #[tokio::test(start_paused = true)]
    async fn frames_of_http2_are_no_heads() {
        let (mut clock, _, _) = start();
        let activity = Activity::new(true);
        activity.begin();
        assert!(clock.notice(&activity).is_some());
        activity.note_read();
        assert_eq!(clock.notice(&activity), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_connection_of_http2_has_to_send_a_first_request_in_time() {
        let (mut clock, _, now) = start();
        let activity = Activity::new(true);
        activity.note_read();
        activity.note_written(100);
        assert_eq!(clock.notice(&activity), None);
        assert_eq!(clock.decide(&activity, now + 10 * SECOND), Decision::Close);
    }

    #[tokio::test(start_paused = true)]
    async fn answers_to_pings_do_not_keep_a_connection_of_http2() {
        let (mut clock, _, now) = start();
        let activity = Activity::new(true);
        request(&activity);
        clock.notice(&activity);
        clock.decide(&activity, now + 15 * SECOND);
        activity.note_written(17);
        assert_eq!(clock.decide(&activity, now + 30 * SECOND), Decision::Until(now + 75 * SECOND));
        activity.note_written(16 << 10);
        assert_eq!(clock.decide(&activity, now + 75 * SECOND), Decision::Until(now + 90 * SECOND));
    }
}
