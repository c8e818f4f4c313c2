//! The timeouts of one connection: slow heads, idle connections and readers that stopped reading are closed (SEC-H-05).
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
    /// Requests in flight.
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
    /// Bytes of answers that the peer has yet to take. With HTTP/1, where one answer is sent at a time, this is 1 if the socket
    /// takes no more for now.
    backlog: AtomicUsize,
    /// Bytes of answers that the peer has taken.
    taken: AtomicUsize,
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
            backlog: AtomicUsize::new(0),
            taken: AtomicUsize::new(0),
        }
    }

    /// The socket took so many bytes, and takes no more for now if it is blocked. With HTTP/2 this says little about answers:
    /// the peer opens a window for each.
    #[inline]
    pub(super) fn note_socket(&self, taken: usize, is_blocked: bool) {
        if !self.is_http2 {
            // Not in one step: the socket has one writer.
            self.taken.store(self.taken.load(Relaxed).wrapping_add(taken), Relaxed);
            self.backlog.store(usize::from(is_blocked), Relaxed);
        }
    }

    /// So many bytes of an answer wait to be sent over HTTP/2.
    pub(super) fn add_backlog(&self, bytes: usize) {
        self.backlog.fetch_add(bytes, Relaxed);
    }

    /// So many bytes of an answer were sent over HTTP/2, or dropped.
    pub(super) fn remove_backlog(&self, bytes: usize) {
        self.taken.fetch_add(bytes, Relaxed);
        self.backlog.fetch_sub(bytes, Relaxed);
    }

    /// Bytes of answers that wait to be sent over HTTP/2.
    pub(super) fn backlog(&self) -> usize {
        self.backlog.load(Relaxed)
    }

    /// Bytes came in.
    #[inline]
    pub(super) fn note_read(&self) {
        if !self.is_http2 {
            self.head_pending.store(true, Relaxed);
        }
    }

    /// Bytes went out. With HTTP/2 those may be acknowledgements, which do not count as use of a connection.
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

    /// A response continues as a stream. Its output decides whether it is idle.
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

    /// Whether hyper is idle: the last request has been read and answered completely, and no further bytes have been read
    /// since. hyper may still hold bytes that it read together with that request.
    pub(super) fn is_between_requests(&self) -> bool {
        self.wants_bytes.load(Relaxed)
            && !self.head_pending.load(Relaxed)
            && self.running.load(Relaxed) == 0
            && self.streaming.load(Relaxed) == 0
    }

    /// Whether the peer has nothing coming when the connection ends now: a head that is not there yet was not
    /// accepted. With HTTP/2 it knows which were.
    pub(super) fn is_cut_off(&self) -> bool {
        !self.is_http2 && self.is_head_pending()
    }

    /// Whether a request is awaited or has come in part, and none is in flight.
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
/// belong to leaves its own mark if it is a request.
const ANSWER: usize = 256;

/// Bytes that a peer has to take in each [`send_time`](switchboard_core::Limits::send_time), or all that waits for it.
const PACE: usize = 16 << 10;

/// A value that decides; it holds no timer.
#[derive(Debug)]
pub(super) struct Clock {
    times: Times,
    phase: Phase,
    /// No request has begun yet.
    is_first: bool,
    /// Set while something waits for the peer to take it.
    pace: Option<Pace>,
}

/// How long things may take.
#[derive(Clone, Copy, Debug)]
pub(super) struct Times {
    /// A head.
    pub(super) header: Duration,
    /// A connection without a request.
    pub(super) idle: Duration,
    /// A peer that takes less of an answer than it has to.
    pub(super) send: Duration,
}

/// What a peer has to take.
#[derive(Clone, Copy, Debug)]
struct Pace {
    until: Instant,
    /// What it had taken before.
    taken: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// A head is to be complete by then.
    Head(Instant),
    /// Nothing is known to have moved since then.
    Quiet(Instant),
    /// The connection was told to end, and does so by then.
    Leaving(Instant),
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
    pub(super) fn start(times: Times, begun: Instant) -> Clock {
        let phase = Phase::Head(after(begun, times.header));
        Clock { times, phase, is_first: true, pace: None }
    }

    /// The time to look next.
    pub(super) fn due(&self) -> Instant {
        self.with_pace(match self.phase {
            Phase::Head(due) | Phase::Leaving(due) => due,
            Phase::Quiet(since) => self.next_look(since),
        })
    }

    /// When to look at a connection that is quiet.
    fn next_look(&self, since: Instant) -> Instant {
        after(since, (self.times.idle / 4).max(SHORTEST_WAIT))
    }

    /// This time, or an earlier one at which the peer has to have taken something.
    fn with_pace(&self, due: Instant) -> Instant {
        self.pace.map_or(due, |pace| due.min(pace.until))
    }

    /// Looks whether a head began or came to its end, and whether the peer has something to take, after each step of the
    /// connection. Gives the new time to look, if there is one. Costs three reads as long as requests come whole and answers go
    /// out at once.
    #[inline]
    pub(super) fn notice(&mut self, activity: &Activity) -> Option<Instant> {
        let has_changed = self.notice_head(activity) | self.notice_backlog(activity);
        has_changed.then(|| self.due())
    }

    #[inline]
    fn notice_head(&mut self, activity: &Activity) -> bool {
        match (self.phase, activity.is_head_pending()) {
            (Phase::Quiet(_), true) => self.phase = Phase::Head(after(Instant::now(), self.times.header)),
            (Phase::Head(_), false) => {
                (self.phase, self.is_first) = (Phase::Quiet(Instant::now()), false);
            }
            _ => return false,
        }
        true
    }

    #[inline]
    fn notice_backlog(&mut self, activity: &Activity) -> bool {
        let has_begun = activity.backlog() > 0;
        if has_begun == self.pace.is_some() {
            return false;
        }
        self.pace = has_begun.then(|| self.pace_from(activity, Instant::now()));
        has_begun
    }

    fn pace_from(&self, activity: &Activity, now: Instant) -> Pace {
        Pace { until: after(now, self.times.send), taken: activity.taken.load(Relaxed) }
    }

    /// Decides, at a time that was given before.
    pub(super) fn decide(&mut self, activity: &Activity, now: Instant) -> Decision {
        if let Some(pace) = self.pace.filter(|pace| now >= pace.until) {
            if activity.taken.load(Relaxed).wrapping_sub(pace.taken) < PACE {
                return Decision::Close;
            }
            self.pace = Some(self.pace_from(activity, now));
        }
        match self.decide_phase(activity, now) {
            Decision::Until(due) => Decision::Until(self.with_pace(due)),
            decision => decision,
        }
    }

    fn decide_phase(&mut self, activity: &Activity, now: Instant) -> Decision {
        match self.phase {
            Phase::Head(due) if now >= due && self.is_first && !activity.is_http2 => Decision::Refuse,
            Phase::Head(due) if now >= due => Decision::Close,
            Phase::Head(due) => Decision::Until(due),
            // A request that came in while we were leaving was accepted, and is answered.
            Phase::Leaving(due) if now < due => Decision::Until(due),
            Phase::Leaving(_) if activity.running.load(Relaxed) > 0 => {
                let due = after(now, LEAVE_TIME);
                self.phase = Phase::Leaving(due);
                Decision::Until(due)
            }
            Phase::Leaving(_) => Decision::Close,
            Phase::Quiet(since) => {
                let moved = activity.moved.swap(false, Relaxed);
                if moved || activity.running.load(Relaxed) > 0 {
                    self.phase = Phase::Quiet(now);
                    return Decision::Until(self.next_look(now));
                }
                let due = after(since, self.times.idle);
                if now < due {
                    return Decision::Until(due);
                }
                let due = now + LEAVE_TIME.min(self.times.idle);
                self.phase = Phase::Leaving(due);
                Decision::Leave(due)
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
        let times = Times { header: 10 * SECOND, idle: 60 * SECOND, send: 30 * SECOND };
        let clock = Clock::start(times, now);
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

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_takes_too_little_of_an_answer_is_dropped() {
        let (mut clock, _, now) = start();
        let activity = Activity::new(true);
        request(&activity);
        activity.add_backlog(1 << 20);
        assert_eq!(clock.notice(&activity), Some(now + 15 * SECOND));
        activity.remove_backlog(PACE);
        assert_eq!(clock.decide(&activity, now + 15 * SECOND), Decision::Until(now + 30 * SECOND));
        assert_eq!(clock.decide(&activity, now + 30 * SECOND), Decision::Until(now + 60 * SECOND));
        activity.remove_backlog(PACE - 1);
        assert_eq!(clock.decide(&activity, now + 60 * SECOND), Decision::Close);
    }

    #[tokio::test(start_paused = true)]
    async fn a_peer_that_has_taken_everything_has_its_whole_time_again() {
        let (mut clock, activity, now) = start();
        request(&activity);
        activity.note_socket(100, true);
        assert!(clock.notice(&activity).is_some());
        activity.note_socket(1, false);
        assert_eq!(clock.notice(&activity), None);
        assert_eq!(clock.decide(&activity, now + 30 * SECOND), Decision::Until(now + 45 * SECOND));
        activity.note_socket(0, true);
        tokio::time::advance(40 * SECOND).await;
        assert_eq!(clock.notice(&activity), Some(now + 45 * SECOND));
        assert_eq!(clock.decide(&activity, now + 45 * SECOND), Decision::Until(now + 70 * SECOND));
        assert_eq!(clock.decide(&activity, now + 70 * SECOND), Decision::Close);
    }
}
