//! How a server ends: what it took on is answered, what comes later is not, and nothing waits without end.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;

use switchboard::{CallError, Code};

use crate::program::Serving;

/// A call that is under way, over a connection of messages.
struct Pending {
    lines: BufReader<TcpStream>,
}

impl Pending {
    /// Calls `wait`, and makes sure that it has begun.
    fn start(url: &str, seconds: &str) -> Pending {
        let mut stream = TcpStream::connect(url.strip_prefix("tcp://").unwrap()).unwrap();
        // Calls begin in the order in which they come, so the answer to the second says that the first has begun.
        let calls = format!(
            "{{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"wait\",\"params\":[{seconds}]}}\
             {{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"sum\"}}"
        );
        stream.write_all(calls.as_bytes()).unwrap();
        let mut pending = Pending { lines: BufReader::new(stream) };
        assert_eq!(pending.line(), "{\"jsonrpc\":\"2.0\",\"id\":2,\"result\":0}\n");
        pending
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).unwrap();
        line
    }
}

fn serve(more: &[&str]) -> (Serving, String) {
    let serving = Serving::start(&[&["--listen", "tcp://127.0.0.1:0"], more].concat());
    let url = serving.urls().remove(1);
    (serving, url)
}

#[test]
fn a_call_under_way_is_answered_and_later_ones_find_nobody() {
    let (mut serving, url) = serve(&[]);
    let mut pending = Pending::start(&url, "0.5");
    serving.signal("TERM");
    serving.read_until("Stopping");
    let address = url.strip_prefix("tcp://").unwrap();
    // The listener closes a moment after the signal; who comes before that is let in, and finds no answer.
    while let Ok(mut late) = TcpStream::connect(address) {
        let _ = late.write_all(b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"sum\"}");
        let mut answer = String::new();
        let _ = BufReader::new(late).read_line(&mut answer);
    }
    assert_eq!(pending.line(), "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":0.5}\n");
    assert_eq!(pending.line(), "", "the connection closes");
    assert_eq!(serving.wait().0.code(), Some(0));
}

#[test]
fn a_call_that_never_ends_is_cancelled_after_the_limit() {
    let (mut serving, url) = serve(&["--drain-time", "0.2", "--timeout", "3600"]);
    let mut pending = Pending::start(&url, "3600");
    serving.signal("TERM");
    serving.read_until("Stopping");
    let answer = pending.line();
    assert!(answer.contains("-32006"), "{answer}");
    assert_eq!(serving.wait().0.code(), Some(0));
}

/// Calls until nobody answers any more. A call that is not answered was not taken: the connection closes, or the server
/// says that it goes. Anything else, such as half an answer, is a failure.
async fn pour(url: String, swinging: std::sync::Arc<tokio::sync::Semaphore>) -> Result<(), CallError> {
    let peer = switchboard::connect(&url).await.unwrap();
    for round in 0_u64.. {
        if round == 20 {
            swinging.add_permits(1);
        }
        let calls = (0..8).map(|_| peer.call::<u64>("math/add", [round, 1]).into_future());
        let mut is_over = false;
        for outcome in futures_util::future::join_all(calls).await {
            match outcome {
                Ok(sum) => assert_eq!(sum, round + 1),
                Err(CallError::Closed(_) | CallError::Unreachable(_)) => is_over = true,
                Err(CallError::Rejected(error)) if error.code == Code::SHUTTING_DOWN => is_over = true,
                Err(other) => return Err(other),
            }
        }
        if is_over {
            break;
        }
    }
    Ok(())
}

#[test]
fn under_load_every_call_is_answered_or_finds_the_connection_closed() {
    let mut serving = Serving::start(&["--listen", "ws://127.0.0.1:0", "--listen", "tcp://127.0.0.1:0"]);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let swinging = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
    let urls = serving.urls();
    let clients: Vec<_> =
        urls.iter().cycle().take(24).map(|url| runtime.spawn(pour(url.clone(), swinging.clone()))).collect();
    drop(runtime.block_on(swinging.acquire_many(24)).unwrap());
    serving.signal("TERM");
    serving.read_until("Stopping");
    for client in clients {
        runtime.block_on(client).unwrap().unwrap();
    }
    assert_eq!(serving.wait().0.code(), Some(0));
}
