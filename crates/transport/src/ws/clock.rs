//! When to ping, and when to give up. A plain value without a timer.

use std::time::Duration;

use tokio::time::Instant;

use super::options::WebSocketOptions;

/// The clock of one connection.
#[derive(Debug)]
pub(super) struct Clock {
    ping_time: Option<Duration>,
    pong_time: Duration,
    message_time: Duration,
    last_read: Instant,
    last_ping: Option<Instant>,
    /// Since when a message is in flight.
    begun: Option<Instant>,
}

/// What is to be done now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Nothing before that time.
    Until(Instant),
    /// Send a ping, and look again at that time.
    Ping(Instant),
    /// The peer is not responding.
    Dead,
    /// The peer is not reading.
    Stalled,
    /// A message takes too long.
    Slow,
}

/// Far enough not to matter, near enough to be a time.
const LATER: Duration = Duration::from_secs(365 * 24 * 60 * 60);

impl Clock {
    pub(super) fn start(options: &WebSocketOptions, now: Instant) -> Clock {
        Clock {
            ping_time: options.ping_time,
            pong_time: options.pong_time,
            message_time: options.message_time,
            last_read: now,
            last_ping: None,
            begun: None,
        }
    }

    /// Bytes came.
    #[inline]
    pub(super) fn note_read(&mut self, now: Instant) {
        self.last_read = now;
    }

    /// A message came whole, so that what is unfinished is another one.
    #[inline]
    pub(super) fn note_message(&mut self) {
        self.begun = None;
    }

    /// There is nothing more to read for now. Gives a time to look at, if a message is unfinished.
    #[inline]
    pub(super) fn note_pause(&mut self, is_within_message: bool) -> Option<Instant> {
        if !is_within_message {
            self.begun = None;
            return None;
        }
        Some(after(*self.begun.get_or_insert(self.last_read), self.message_time))
    }

    /// Decides. `stalled` tells since when nothing of what waits could be written.
    pub(super) fn decide(&mut self, now: Instant, stalled: Option<Instant>) -> Verdict {
        let message = self.begun.map(|begun| after(begun, self.message_time));
        let stall = stalled.map(|since| after(since, self.pong_time));
        if message.is_some_and(|due| due <= now) {
            return Verdict::Slow;
        }
        if stall.is_some_and(|due| due <= now) {
            return Verdict::Stalled;
        }
        let (ping, is_pinging) = match (self.ping_time, self.last_ping) {
            // Nothing came since the last ping.
            (Some(_), Some(ping)) if ping > self.last_read => (after(ping, self.pong_time), true),
            (Some(time), _) => (after(self.last_read, time), false),
            // Without pings the clock still looks for stalls.
            (None, _) => (after(now, self.pong_time), false),
        };
        if ping > now {
            let others = message.into_iter().chain(stall);
            return Verdict::Until(others.fold(ping, Instant::min));
        }
        if is_pinging {
            return Verdict::Dead;
        }
        self.last_ping = Some(now);
        Verdict::Ping(after(now, self.pong_time))
    }
}

fn after(begun: Instant, time: Duration) -> Instant {
    begun + time.clamp(Duration::from_millis(1), LATER)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn start() -> (Clock, Instant) {
        let now = Instant::now();
        (Clock::start(&WebSocketOptions::default(), now), now)
    }

    // SUB-07
    #[test]
    fn a_silent_far_side_is_pinged_and_then_given_up() {
        let (mut clock, now) = start();
        assert_eq!(clock.decide(now, None), Verdict::Until(now + 30 * SECOND));
        assert_eq!(clock.decide(now + 30 * SECOND, None), Verdict::Ping(now + 50 * SECOND));
        assert_eq!(clock.decide(now + 49 * SECOND, None), Verdict::Until(now + 50 * SECOND));
        assert_eq!(clock.decide(now + 50 * SECOND, None), Verdict::Dead);
    }

    #[test]
    fn any_byte_is_a_sign_of_life() {
        let (mut clock, now) = start();
        assert_eq!(clock.decide(now + 30 * SECOND, None), Verdict::Ping(now + 50 * SECOND));
        clock.note_read(now + 40 * SECOND);
        assert_eq!(clock.decide(now + 50 * SECOND, None), Verdict::Until(now + 70 * SECOND));
    }

    #[test]
    fn bytes_that_drip_do_not_prolong_a_message() {
        let (mut clock, now) = start();
        assert_eq!(clock.note_pause(true), Some(now + 30 * SECOND));
        clock.note_read(now + 29 * SECOND);
        assert_eq!(clock.note_pause(true), Some(now + 30 * SECOND));
        assert_eq!(clock.decide(now + 30 * SECOND, None), Verdict::Slow);
    }

    #[test]
    fn a_message_that_came_whole_leaves_its_time_to_the_next() {
        let (mut clock, now) = start();
        clock.note_pause(true);
        clock.note_read(now + 20 * SECOND);
        clock.note_message();
        assert_eq!(clock.note_pause(true), Some(now + 50 * SECOND));
    }

    #[test]
    fn a_far_side_that_sends_but_does_not_read_is_given_up() {
        let (mut clock, now) = start();
        clock.note_read(now + 19 * SECOND);
        assert_eq!(clock.decide(now + 19 * SECOND, Some(now)), Verdict::Until(now + 20 * SECOND));
        assert_eq!(clock.decide(now + 20 * SECOND, Some(now)), Verdict::Stalled);
    }
}
