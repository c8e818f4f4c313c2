//! How a server ends: what it took on is answered, what comes later is not, and nothing waits without end.

use std::io::{BufRead, BufReader, Write};
use std::net::TcpStream;
use std::sync::Arc;

use switchboard::http::{Client, HttpClientOptions};
use switchboard::{CallError, Code, Peer};
use tokio::sync::Semaphore;

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
        assert_eq!(pending.line(), "{\"jsonrpc\":\"2.0\",\"result\":0,\"id\":2}\n");
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
    assert_eq!(pending.line(), "{\"jsonrpc\":\"2.0\",\"result\":0.5,\"id\":1}\n");
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

#[test]
fn an_endless_event_stream_ends_at_once_with_its_end() {
    let mut serving = Serving::start(&["--drain-time", "3600"]);
    let url = serving.url();
    let address = url.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let target = "/rpc/stream?method=ticks&seconds=0.001";
    write!(stream, "GET {target} HTTP/1.1\r\nhost: {address}\r\n\r\n").unwrap();
    let mut lines = BufReader::new(stream).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("\"result\":1,")));
    serving.signal("TERM");
    serving.read_until("Stopping");
    assert!(lines.any(|line| line.contains("-32006")));
    assert!(lines.any(|line| line == "data: [DONE]"));
    // The last chunk, and then the connection closes.
    assert_eq!(lines.filter(|line| !line.is_empty()).collect::<Vec<_>>(), ["0"]);
    assert_eq!(serving.wait().0.code(), Some(0));
}

/// Calls until nobody answers any more; how many answers came. A call that is not answered finds the connection closed, or
/// the server says that it goes. Anything else, such as half an answer, is a failure.
async fn pour(peer: Peer, params: Vec<u8>, swinging: Arc<Semaphore>) -> usize {
    let mut answered = 0;
    for round in 0.. {
        if round == 20 {
            swinging.add_permits(1);
        }
        let calls = (0..8).map(|_| peer.call::<()>("update", &params).into_future());
        let mut is_over = false;
        for outcome in futures_util::future::join_all(calls).await {
            match outcome {
                Ok(()) => answered += 1,
                Err(CallError::Closed(_) | CallError::Unreachable(_)) => is_over = true,
                Err(CallError::Rejected(error)) if error.code == Code::SHUTTING_DOWN => is_over = true,
                Err(other) => panic!("{other:?}"),
            }
        }
        if is_over {
            break;
        }
    }
    answered
}

/// What it is called over: the second listener is of WebSocket, the third of TCP.
const CARRIERS: [&str; 4] = ["http/1", "http/2", "ws", "tcp"];

async fn dial(carrier: &str, urls: &[String]) -> Peer {
    match carrier {
        "http/2" => {
            let options = HttpClientOptions::default().with_http2(true);
            Peer::new(Client::with_options(&urls[0], options).unwrap())
        }
        "http/1" => switchboard::connect(&urls[0]).await.unwrap(),
        "ws" => switchboard::connect(&urls[1]).await.unwrap(),
        _ => switchboard::connect(&urls[2]).await.unwrap(),
    }
}

// JK-08
#[test]
fn under_load_every_call_that_ran_was_answered() {
    const CLIENTS: usize = 6;
    let more = ["-v", "--listen", "ws://127.0.0.1:0", "--listen", "tcp://127.0.0.1:0"];
    let mut serving = Serving::start(&more);
    // Each run of `update` is a line of the log, which outlives the server. How many values it has tells the carrier.
    let log = serving.log();
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    let swinging = Arc::new(Semaphore::new(0));
    let urls = serving.urls();
    let mut clients = Vec::new();
    for (number, carrier) in (1..).zip(CARRIERS) {
        for _ in 0..CLIENTS {
            let peer = runtime.block_on(dial(carrier, &urls));
            clients.push((number, runtime.spawn(pour(peer, vec![0; number], Arc::clone(&swinging)))));
        }
    }
    drop(runtime.block_on(swinging.acquire_many(clients.len() as u32)).unwrap());
    serving.signal("TERM");
    let mut answered = [0; CARRIERS.len()];
    for (number, client) in clients {
        answered[number - 1] += runtime.block_on(client).unwrap();
    }
    assert_eq!(serving.wait().0.code(), Some(0));
    let log = log.join().unwrap();
    assert!(log.contains("Stopping"), "{log}");
    let ran = |number: usize| log.matches(&format!("an update with {number} values")).count();
    let ran: Vec<usize> = (1..=CARRIERS.len()).map(ran).collect();
    assert_eq!(answered[..], ran, "over {CARRIERS:?}");
    assert!(ran.iter().all(|ran| *ran >= 20 * 8 * CLIENTS), "{ran:?}");
}
