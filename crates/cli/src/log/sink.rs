//! Non-blocking output to stderr: lines are queued and written by a thread; lines that find the queue full are counted and
//! dropped.
//!
//! A server must answer calls even if its log is not read, so its log, its notes and its panics go here. Lines keep their
//! order. Where some are missing, the log says how many.

use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The most bytes that wait to be written.
const ROOM: usize = 1 << 20;
/// How long a descriptor that does not block is left alone when it is full.
const PAUSE: Duration = Duration::from_millis(10);

/// Where lines are queued. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Sink(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Debug, Default)]
struct Queue {
    /// Lines that wait, one after the other.
    text: Vec<u8>,
    /// How many were dropped after them.
    dropped: u64,
    is_writing: bool,
}

impl Sink {
    /// Starts a thread that writes there. It ends with the process.
    pub(crate) fn start(to: impl Write + Send + 'static) -> io::Result<Sink> {
        let sink = Sink(Arc::default());
        let shared = Arc::clone(&sink.0);
        std::thread::Builder::new().name("log".to_owned()).spawn(move || shared.write(to))?;
        Ok(sink)
    }

    /// Queues whole lines, or drops them if there is no room. It never blocks.
    pub(crate) fn push(&self, lines: &str) {
        let mut queue = self.0.lock();
        // Once a line is missing, all are until the gap can be told in its place.
        if queue.dropped > 0 || queue.text.len() + lines.len() > ROOM {
            queue.dropped += 1;
        } else {
            queue.text.extend_from_slice(lines.as_bytes());
        }
        self.0.changed.notify_all();
    }

    /// Waits until everything is written, but no longer than this.
    pub(crate) fn flush(&self, patience: Duration) {
        let is_busy = |queue: &mut Queue| queue.is_writing || queue.has_any();
        let written = self.0.changed.wait_timeout_while(self.0.lock(), patience, is_busy);
        drop(written.unwrap_or_else(PoisonError::into_inner));
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

    fn write(&self, mut to: impl Write) {
        loop {
            let waited = self.changed.wait_while(self.lock(), |queue| !queue.has_any());
            let mut queue = waited.unwrap_or_else(PoisonError::into_inner);
            queue.is_writing = true;
            let mut text = std::mem::take(&mut queue.text);
            let dropped = std::mem::take(&mut queue.dropped);
            drop(queue);
            if dropped > 0 {
                let gap = format!("warning: {dropped} log lines were dropped: stderr was not read in time\n");
                text.extend_from_slice(gap.as_bytes());
            }
            // What cannot be written here has no other place to go.
            let _ = write_all(&mut to, &text);
            self.lock().is_writing = false;
            self.changed.notify_all();
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

    const LONG: Duration = Duration::from_secs(20);

    /// Hands each write to its reader, and waits for it.
    struct Reader(SyncSender<String>);

    impl Write for Reader {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.send(String::from_utf8_lossy(bytes).into_owned()).unwrap();
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn sink() -> (Sink, Receiver<String>) {
        let (sender, receiver) = sync_channel(0);
        (Sink::start(Reader(sender)).unwrap(), receiver)
    }

    #[test]
    fn lines_that_are_not_read_are_dropped_and_counted_in_their_place() {
        let (sink, read) = sink();
        let line = format!("{}\n", "x".repeat(1023));
        // The thread takes the first line, and then waits for its reader while the queue fills.
        sink.push("first\n");
        while sink.0.lock().has_any() {
            std::thread::yield_now();
        }
        let (fitting, all) = (ROOM >> 10, 3 * (ROOM >> 10));
        (0..all).for_each(|_| sink.push(&line));
        assert_eq!(read.recv_timeout(LONG).unwrap(), "first\n");
        let dropped = all - fitting;
        let gap = format!("warning: {dropped} log lines were dropped: stderr was not read in time\n");
        assert_eq!(read.recv_timeout(LONG).unwrap(), line.repeat(fitting) + &gap);
        // Afterwards there is room again.
        sink.push("later\n");
        assert_eq!(read.recv_timeout(LONG).unwrap(), "later\n");
    }

    #[test]
    fn flushing_waits_for_the_reader_and_not_without_end() {
        let (sink, read) = sink();
        sink.push("last\n");
        sink.flush(Duration::ZERO);
        let reader = std::thread::spawn(move || read.recv_timeout(LONG));
        sink.flush(LONG);
        assert_eq!(reader.join().unwrap().unwrap(), "last\n");
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
