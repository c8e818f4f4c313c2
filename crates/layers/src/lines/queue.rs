//! Lines that a thread writes, so that logging never waits.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The most bytes that wait to be written, unless the builder says otherwise.
const ROOM: usize = 1 << 20;
/// How long lines are collected before they are written together.
const LINGER: Duration = Duration::from_millis(2);
/// The most memory that is kept for further lines.
const KEPT: usize = 1 << 20;
/// How long a descriptor that does not block is left alone when it is full.
const PAUSE: Duration = Duration::from_millis(10);

/// Lines that a thread writes. Pushing one never blocks: lines that find the queue full are dropped, and a line in their place says how
/// many. Cheap to clone; when the last clone is dropped, the thread writes the rest and ends.
#[derive(Clone)]
pub struct LineQueue(Arc<Owner>);

/// How a [`LineQueue`] is started.
pub struct LineQueueBuilder {
    name: &'static str,
    room: usize,
    gap: fn(u64) -> String,
    timers: Vec<Timer>,
}

/// Returns lines that are due, and when to ask again.
type Timer = Box<dyn FnMut() -> (String, Option<Duration>) + Send>;

/// Ends the thread when the last handle is dropped.
struct Owner(Arc<Shared>);

#[derive(Default)]
struct Shared {
    /// The most bytes that wait.
    room: usize,
    queue: Mutex<Queue>,
    changed: Condvar,
    timers: Mutex<Vec<Timer>>,
}

#[derive(Default)]
struct Queue {
    /// Lines that wait, one after the other.
    text: Vec<u8>,
    /// How many were dropped after them.
    dropped: u64,
    /// How many were lost since the start.
    lost: u64,
    is_writing: bool,
    is_closed: bool,
    /// Whether the lines that are there are wanted now.
    is_urgent: bool,
    /// Whether the thread waits for lines. If it does not, notifying it would be a system call for nothing.
    is_idle: bool,
}

impl LineQueue {
    /// A queue whose thread has this name, and that writes `gap(count)` in the place of dropped lines.
    #[must_use]
    pub fn builder(name: &'static str, gap: fn(u64) -> String) -> LineQueueBuilder {
        LineQueueBuilder { name, room: ROOM, gap, timers: Vec::new() }
    }

    /// Queues whole lines, or drops them if there is no room.
    pub fn push(&self, lines: &str) {
        self.push_bytes(lines.as_bytes());
    }

    /// The same for lines in ASCII.
    pub(crate) fn push_bytes(&self, lines: &[u8]) {
        let shared = &self.0.0;
        let mut queue = shared.lock();
        let is_idle = queue.is_idle;
        // Once a line is missing, all are until the gap can be told in its place.
        if queue.dropped > 0 || queue.text.len() + lines.len() > shared.room {
            queue.dropped += 1;
            queue.lost += 1;
        } else {
            queue.text.extend_from_slice(lines);
        }
        drop(queue);
        if is_idle {
            shared.changed.notify_all();
        }
    }

    /// Also writes the lines that this function returns, see [`LineQueueBuilder::with_timer`].
    pub fn add_timer(&self, timer: impl FnMut() -> (String, Option<Duration>) + Send + 'static) {
        self.0.0.timers().push(Box::new(timer));
    }

    /// Waits until everything is written, but no longer than this.
    pub fn flush(&self, patience: Duration) {
        let shared = &self.0.0;
        let mut queue = shared.lock();
        queue.is_urgent = true;
        shared.changed.notify_all();
        let is_busy = |queue: &mut Queue| queue.is_writing || queue.is_urgent || queue.has_any();
        let written = shared.changed.wait_timeout_while(queue, patience, is_busy);
        drop(written.unwrap_or_else(PoisonError::into_inner));
    }

    /// How many lines were lost so far.
    #[must_use]
    pub fn lost(&self) -> u64 {
        self.0.0.lock().lost
    }
}

impl LineQueueBuilder {
    /// Sets how many bytes may wait to be written, 1 MiB by default. A longer line is always dropped.
    #[must_use]
    pub fn with_room(mut self, bytes: usize) -> LineQueueBuilder {
        self.room = bytes;
        self
    }

    /// Also writes the lines that this function returns. It is asked when other lines were written, and after the time that it returns.
    #[must_use]
    pub fn with_timer(
        mut self,
        timer: impl FnMut() -> (String, Option<Duration>) + Send + 'static,
    ) -> LineQueueBuilder {
        self.timers.push(Box::new(timer));
        self
    }

    /// Starts a thread that writes there.
    ///
    /// # Errors
    ///
    /// If the system cannot start a thread.
    pub fn start(self, to: impl Write + Send + 'static) -> io::Result<LineQueue> {
        let timers = Mutex::new(self.timers);
        let shared = Arc::new(Shared { room: self.room, timers, ..Shared::default() });
        let owner = Owner(Arc::clone(&shared));
        let thread = std::thread::Builder::new().name(self.name.to_owned());
        thread.spawn(move || shared.write(to, self.gap))?;
        Ok(LineQueue(Arc::new(owner)))
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        self.0.lock().is_closed = true;
        self.0.changed.notify_all();
    }
}

impl Queue {
    fn has_any(&self) -> bool {
        !self.text.is_empty() || self.dropped > 0
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn timers(&self) -> MutexGuard<'_, Vec<Timer>> {
        self.timers.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The lines that are due, and when others may be.
    fn due(&self) -> (String, Option<Duration>) {
        let (mut due, mut next) = (String::new(), None::<Duration>);
        for timer in &mut *self.timers() {
            let (lines, wait) = timer();
            due.push_str(&lines);
            next = next.into_iter().chain(wait).min();
        }
        (due, next)
    }

    fn write(&self, mut to: impl Write, gap: fn(u64) -> String) {
        // How many lines could not be written and are not told of yet.
        let mut unwritten = 0;
        let mut next = Some(Duration::ZERO);
        // What was written last, empty: lines are collected there again, without allocating.
        let mut spare = Vec::new();
        loop {
            self.wait(next);
            let mut queue = self.lock();
            let is_last = queue.is_closed;
            (queue.is_writing, queue.is_urgent) = (true, false);
            let mut text = std::mem::replace(&mut queue.text, std::mem::take(&mut spare));
            let dropped = std::mem::take(&mut queue.dropped);
            drop(queue);
            let (due, wait) = self.due();
            // After lines that were due, there may be more.
            next = if due.is_empty() { wait } else { Some(wait.unwrap_or_default()) };
            text.extend_from_slice(due.as_bytes());
            if dropped + unwritten > 0 {
                text.extend_from_slice(gap(dropped + unwritten).as_bytes());
            }
            unwritten = match write_all(&mut to, &text) {
                Ok(()) => 0,
                Err(error) => self.note_failure(&text, dropped + unwritten, &error),
            };
            if text.capacity() <= KEPT {
                text.clear();
                spare = text;
            }
            self.lock().is_writing = false;
            self.changed.notify_all();
            if is_last {
                return;
            }
        }
    }

    /// Waits for lines, for the end, or for this time; and then a little, because lines seldom come alone.
    fn wait(&self, time: Option<Duration>) {
        let is_quiet = |queue: &mut Queue| !queue.is_closed && !queue.is_urgent;
        let mut queue = self.lock();
        queue.is_idle = true;
        let is_idle = |queue: &mut Queue| is_quiet(queue) && !queue.has_any();
        let mut queue = match time {
            None => self.changed.wait_while(queue, is_idle).unwrap_or_else(PoisonError::into_inner),
            Some(time) => {
                let waited = self.changed.wait_timeout_while(queue, time, is_idle);
                waited.unwrap_or_else(PoisonError::into_inner).0
            }
        };
        queue.is_idle = false;
        if queue.has_any() {
            drop(self.changed.wait_timeout_while(queue, LINGER, is_quiet));
        }
    }

    /// Counts lines that could not be written; returns how many the next line has to tell of.
    fn note_failure(&self, text: &[u8], before: u64, error: &io::Error) -> u64 {
        let gaps = u64::from(before > 0);
        let lines = text.iter().filter(|byte| **byte == b'\n').count() as u64 - gaps;
        if before == 0 {
            tracing::error!(%error, "cannot write a log; its lines are lost until that works again");
        }
        self.lock().lost += lines;
        before + lines
    }
}

/// Writes all, also to a descriptor that does not block.
fn write_all(to: &mut impl Write, mut text: &[u8]) -> io::Result<()> {
    while !text.is_empty() {
        match to.write(text) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(count) => text = &text[count..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => std::thread::sleep(PAUSE),
            Err(error) => return Err(error),
        }
    }
    to.flush()
}

/// A descriptor for the thread alone: while it waits to write, it must not hold the lock that all who write to stderr share.
#[cfg(unix)]
pub(crate) fn stderr() -> io::Result<impl Write + Send + 'static> {
    use std::os::fd::AsFd;
    Ok(std::fs::File::from(io::stderr().as_fd().try_clone_to_owned()?))
}

#[cfg(not(unix))]
pub(crate) fn stderr() -> io::Result<impl Write + Send + 'static> {
    Ok(io::stderr())
}

/// A function that takes lines, as a writer. It is given whole lines only.
pub(crate) struct Takes<F>(pub(crate) F);

impl<F: FnMut(&str)> Write for Takes<F> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        String::from_utf8_lossy(bytes).lines().for_each(&mut self.0);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl fmt::Debug for LineQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LineQueue(..)")
    }
}

impl fmt::Debug for LineQueueBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineQueueBuilder").field("name", &self.name).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

    const LONG: Duration = Duration::from_secs(20);

    /// Hands each write to its reader, and waits for it.
    struct Reader(SyncSender<String>);

    impl Write for Reader {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let sent = self.0.send(String::from_utf8_lossy(bytes).into_owned());
            sent.map_err(|_| io::ErrorKind::BrokenPipe)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn gap(count: u64) -> String {
        format!("{count} dropped\n")
    }

    fn queue() -> (LineQueue, Receiver<String>) {
        let (sender, receiver) = sync_channel(0);
        (LineQueue::builder("test", gap).start(Reader(sender)).unwrap(), receiver)
    }

    #[test]
    fn lines_that_are_not_read_are_dropped_and_counted_in_their_place() {
        let (queue, read) = queue();
        let line = format!("{}\n", "x".repeat(1023));
        // The thread takes the first line, and then waits for its reader while the queue fills.
        queue.push("first\n");
        while queue.0.0.lock().has_any() {
            std::thread::yield_now();
        }
        let (fitting, all) = (ROOM >> 10, 3 * (ROOM >> 10));
        (0..all).for_each(|_| queue.push(&line));
        assert_eq!(read.recv_timeout(LONG).unwrap(), "first\n");
        let dropped = all - fitting;
        assert_eq!(read.recv_timeout(LONG).unwrap(), line.repeat(fitting) + &gap(dropped as u64));
        assert_eq!(queue.lost(), dropped as u64);
        // Afterwards there is room again.
        queue.push("later\n");
        assert_eq!(read.recv_timeout(LONG).unwrap(), "later\n");
    }

    #[test]
    fn flushing_waits_for_the_reader_and_not_without_end() {
        let (queue, read) = queue();
        queue.push("last\n");
        queue.flush(Duration::ZERO);
        let reader = std::thread::spawn(move || read.recv_timeout(LONG));
        queue.flush(LONG);
        assert_eq!(reader.join().unwrap().unwrap(), "last\n");
    }

    #[test]
    fn the_thread_writes_the_rest_and_ends_with_the_last_handle() {
        let (queue, read) = queue();
        queue.clone().push("last\n");
        drop(queue);
        assert_eq!(read.recv_timeout(LONG).unwrap(), "last\n");
        assert!(read.recv_timeout(LONG).is_err(), "the thread has dropped its writer");
    }

    #[test]
    fn lines_of_a_timer_are_written_when_they_are_due() {
        let (sender, read) = sync_channel(0);
        let mut due = vec!["second\n", "first\n"];
        let timer = move || (due.pop().unwrap_or_default().to_owned(), None);
        let queue = LineQueue::builder("test", gap).with_timer(timer).start(Reader(sender)).unwrap();
        assert_eq!(read.recv_timeout(LONG).unwrap(), "first\n");
        assert_eq!(read.recv_timeout(LONG).unwrap(), "second\n");
        drop(queue);
    }

    #[test]
    fn lines_that_cannot_be_written_are_counted() {
        let (queue, read) = queue();
        drop(read);
        queue.push("one\ntwo\n");
        queue.flush(LONG);
        queue.push("three\n");
        queue.flush(LONG);
        assert_eq!(queue.lost(), 3);
    }

    #[test]
    fn a_descriptor_that_does_not_block_gets_all() {
        struct Full(bool, Vec<u8>);
        impl Write for Full {
            fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
                self.0 = !self.0;
                if self.0 {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                self.1.push(bytes[0]);
                Ok(1)
            }

            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut full = Full(false, Vec::new());
        write_all(&mut full, b"abc").unwrap();
        assert_eq!(full.1, b"abc");
    }
}
