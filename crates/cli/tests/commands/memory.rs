//! What a server holds: after a burst, when it is idle, not much more than before.

use std::io::Write;
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::program::Serving;

/// Connections of the burst, and the bytes of the body that each of them begins.
const CONNECTIONS: usize = 60;
const BODY: usize = 3_900_000;
/// How long the server has to give memory back. It takes a few seconds; the test ends when it has.
const PATIENCE: Duration = Duration::from_secs(40);

/// Sends a request without its end, so that the server holds the rest of it.
fn begin(address: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    let head = format!(
        "POST / HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n[\"",
        BODY + 100
    );
    stream.write_all(head.as_bytes()).unwrap();
    stream.write_all(&vec![b'x'; BODY]).unwrap();
    stream
}

/// Waits until as much is held as is meant; gives the bytes.
fn until(serving: &Serving, what: &str, is_met: impl Fn(usize) -> bool) -> usize {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let held = serving.memory("VmRSS:");
        if is_met(held) {
            return held;
        }
        assert!(Instant::now() < deadline, "{what}: {} MiB are held", held >> 20);
        // The system tells nobody when a process holds less.
        std::thread::park_timeout(Duration::from_millis(50));
    }
}

#[test]
fn memory_is_given_back_after_a_burst_when_nothing_is_called_any_more() {
    let serving = Serving::start(&["--max-buffers", "1G"]);
    let url = serving.url();
    let address = url.strip_prefix("http://").unwrap();
    let before = serving.memory("VmRSS:");
    let burst: Vec<TcpStream> = (0..CONNECTIONS).map(|_| begin(address)).collect();
    let peak = until(&serving, "at the peak", |held| held > before + CONNECTIONS * BODY * 8 / 10);
    drop(burst);
    until(&serving, "when it is idle", |held| held < before + (peak - before) / 5);
}
