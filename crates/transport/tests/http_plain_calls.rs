//! Plain calls bypass hyper, and neither callers nor servers can tell the difference.
#![cfg(feature = "http")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use support::picks::Picks;
use support::within;
use switchboard_core::{CallError, Json, Limits, Peer, Tap};
use switchboard_transport::http::{Client, HttpClientOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};

/// A server that gives each request the next of these answers, in these pieces, over one connection or several. It tells which
/// connection each request came over.
struct Script {
    address: SocketAddr,
    requests: mpsc::UnboundedReceiver<(usize, String)>,
    connections: Arc<AtomicUsize>,
    /// How many requests are being answered.
    busy: watch::Receiver<usize>,
}

#[derive(Clone, Debug)]
struct Answer {
    pieces: Vec<Vec<u8>>,
    /// Whether the server closes the connection behind it.
    closes: bool,
}

impl Answer {
    fn new(text: impl Into<Vec<u8>>) -> Answer {
        Answer { pieces: vec![text.into()], closes: false }
    }

    fn and_close(self) -> Answer {
        Answer { closes: true, ..self }
    }
}

impl Script {
    async fn run(answers: Vec<Answer>) -> Script {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (seen, requests) = mpsc::unbounded_channel();
        let (answers, connections) = (Arc::new(answers), Arc::new(AtomicUsize::new(0)));
        let (next, count) = (Arc::new(AtomicUsize::new(0)), Arc::clone(&connections));
        let (work, busy) = watch::channel(0);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let connection = count.fetch_add(1, Ordering::Relaxed);
                let (answers, next) = (Arc::clone(&answers), Arc::clone(&next));
                let (seen, work) = (seen.clone(), work.clone());
                tokio::spawn(async move {
                    let mut stream = Some(stream);
                    while let Some(open) = &mut stream {
                        let Some(request) = read_request(open).await else { return };
                        work.send_modify(|busy| *busy += 1);
                        let _ = seen.send((connection, request));
                        let answer = answers.get(next.fetch_add(1, Ordering::Relaxed));
                        if !give(open, answer).await {
                            stream = None;
                        }
                        work.send_modify(|busy| *busy -= 1);
                    }
                });
            }
        });
        Script { address, requests, connections, busy }
    }

    fn client(&self, options: HttpClientOptions) -> Peer {
        Peer::new(Client::with_options(&format!("http://{}/", self.address), options).unwrap())
    }

    fn connections(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

/// Writes an answer. False if the connection ends with it.
async fn give(stream: &mut TcpStream, answer: Option<&Answer>) -> bool {
    let Some(answer) = answer else { return false };
    stream.set_nodelay(true).unwrap();
    for piece in &answer.pieces {
        if stream.write_all(piece).await.is_err() {
            return false;
        }
        // So that they are read one by one.
        settle().await;
    }
    !answer.closes
}

/// Gives other tasks their turn, and the runtime the time to look at its sockets, which it does every 61 turns.
async fn settle() {
    for _ in 0..200 {
        tokio::task::yield_now().await;
    }
}

/// A request, up to the brace, or the bracket, that ends its body.
async fn read_request(stream: &mut TcpStream) -> Option<String> {
    let mut read = Vec::new();
    while !matches!(read.last(), Some(b'}' | b']')) {
        if stream.read_buf(&mut read).await.unwrap_or(0) == 0 {
            return None;
        }
    }
    Some(String::from_utf8(read).unwrap())
}

/// Options with which hyper makes every call.
fn by_hyper(options: HttpClientOptions) -> HttpClientOptions {
    options.with_tap(Some(Tap::new(|_, _| {})))
}

fn result(id: u64) -> String {
    format!(r#"{{"jsonrpc":"2.0","result":"r{id}","id":{id}}}"#)
}

fn response(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// What calls come to, with an address in place of the port.
async fn outcomes(script: &Script, options: HttpClientOptions, calls: usize) -> Vec<String> {
    let peer = script.client(options);
    let mut outcomes = Vec::new();
    for _ in 0..calls {
        let outcome =
            within(async { peer.call::<Json>("m", ()).timeout(Duration::from_secs(1)).await }).await;
        outcomes.push(format!("{outcome:?}").replace(&script.address.to_string(), "HOST"));
        within(async { script.busy.clone().wait_for(|busy| *busy == 0).await.is_ok() }).await;
        // What the server has sent and closed since is there.
        settle().await;
    }
    outcomes
}

/// One of these; mostly the first.
fn mostly(picks: &mut Picks, list: &[&str]) -> String {
    let at = if picks.number(5) > 0 { 0 } else { picks.number(list.len()) };
    list[at].to_owned()
}

/// What says how long a body of this length is. Mostly it is right.
fn framing(picks: &mut Picks, length: usize) -> String {
    match picks.number(8) {
        0..5 => format!("Content-Length: {length}"),
        5 => "Transfer-Encoding: chunked".to_owned(),
        6 => mostly(
            picks,
            &[
                "content-length:",
                "content-length: +5",
                "content-length: 5, 5",
                "content-length: 99999999999999999999999",
                "content-length: 3",
                "content-length: 5000",
                "x: y",
                "transfer-encoding: gzip",
                "transfer-encoding: gzip, chunked",
                "content-length: 5\r\ncontent-length: 5",
                "content-length: 5\r\ntransfer-encoding: chunked",
                "transfer-encoding: chunked\r\ntransfer-encoding: chunked",
            ],
        ),
        _ => format!("content-length: {length}\r\ncontent-length: {length}"),
    }
}

/// A response to the call with this identifier. Most are plain or nearly so.
fn random(picks: &mut Picks, id: u64) -> Answer {
    let own = result(id);
    let error = format!(r#"{{"jsonrpc":"2.0","error":{{"code":7,"message":"x"}},"id":{id}}}"#);
    let body = mostly(picks, &[&own, &error, "", "{", "<html>", "[]"]);
    let length = body.len();
    let framing = framing(picks, length);
    let is_chunked = framing.to_lowercase().ends_with("chunked");
    let body = if is_chunked && picks.number(8) > 0 { chunked(picks, &body) } else { body };
    let start = mostly(
        picks,
        &[
            "HTTP/1.1 200 OK",
            "HTTP/1.1 404 Not Found",
            "HTTP/1.1 503 Busy",
            "HTTP/1.1 307 Away\r\nlocation: /x",
            "HTTP/1.0 200 OK",
            "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK",
            "HTTP/1.1 204 None",
            "HTTP/1.1 200",
            "HTTP/2 200 OK",
            "HTTP/1.1 99 X",
            "HTTP/1.1 2000 OK",
            "\r\nHTTP/1.1 200 OK",
            "SSH-2.0-x",
            "HTTP/1.1 205 Reset",
            "HTTP/1.1 999 Odd",
        ],
    );
    let kind = mostly(
        picks,
        &[
            "content-type: application/json",
            "content-type: text/html",
            "x: y",
            "content-type: text/event-stream",
            "content-type: application/json\r\ncontent-type: text/event-stream",
        ],
    );
    let more = mostly(
        picks,
        &[
            "x-other: y",
            "connection: keep-alive",
            "Connection: close",
            "connection: keep-alive, x",
            "retry-after: 3",
            "retry-after: 3\r\nRetry-After: 4",
            "www-authenticate: a\r\nRETRY-AFTER: 1",
            "x : y",
            "x: a\r\n b",
            "no colon",
            "x: \u{e4}",
            "x: \0",
            "upgrade: h2c",
        ],
    );
    let surplus = mostly(picks, &["", "", "\r\n", "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", "x"]);
    let text = format!("{start}\r\n{kind}\r\n{framing}\r\n{more}\r\n\r\n{body}{surplus}").into_bytes();
    // What follows a response comes with its end. Otherwise it would depend on the time whether it is taken for the next one.
    let most = text.len() - surplus.len();
    let cut = if picks.number(2) == 0 { 0 } else { picks.number(most.max(1)) };
    let (first, second) = text.split_at(cut);
    let pieces = [first, second].into_iter().filter(|piece| !piece.is_empty()).map(<[u8]>::to_vec).collect();
    // Without a length that ends it, a response ends with the connection.
    Answer { pieces, closes: picks.number(4) == 0 || is_without_end(&String::from_utf8_lossy(&text)) }
}

fn is_without_end(text: &str) -> bool {
    let text = text.to_lowercase();
    !text.contains(": chunked\r") && !text.contains("content-length")
}

fn chunked(picks: &mut Picks, body: &str) -> String {
    let (first, second) = body.split_at(picks.number(body.len().max(1)));
    let chunk = |part: &str, extension: &str| match part {
        "" => String::new(),
        part => format!("{:x}{extension}\r\n{part}\r\n", part.len()),
    };
    let extension = if picks.number(8) == 0 { ";a=b" } else { "" };
    let end = match picks.number(12) {
        0 => "0\r\nx: y\r\n\r\n",
        1 => "0;x\r\n\r\n",
        2 => "\r\n0\r\n\r\n",
        3 => "g\r\n\r\n",
        4 => "000\r\n\r\n",
        _ => "0\r\n\r\n",
    };
    chunk(first, extension) + &chunk(second, "") + end
}

// SEC-H-01
#[tokio::test]
async fn responses_are_read_exactly_as_by_hyper() {
    let conversations = (0..400_u64).map(|seed| async move {
        let mut picks = Picks(seed);
        let answers: Vec<Answer> = (1..=3).map(|id| random(&mut picks, id)).collect();
        let (script, by) = (Script::run(answers.clone()).await, Script::run(answers.clone()).await);
        let limits = HttpClientOptions::default();
        let (said, said_by_hyper) =
            tokio::join!(outcomes(&script, limits.clone(), 3), outcomes(&by, by_hyper(limits), 3));
        let shown: Vec<_> = answers
            .iter()
            .map(|answer| String::from_utf8_lossy(&answer.pieces.concat()).into_owned())
            .collect();
        assert_eq!(said, said_by_hyper, "{seed}: {shown:#?} {answers:?}");
        assert!(script.connections() >= by.connections(), "{seed}: {shown:#?}");
    });
    let all: Vec<_> = conversations.collect();
    let mut all = all.into_iter();
    loop {
        let some: Vec<_> = all.by_ref().take(50).map(tokio::spawn).collect();
        if some.is_empty() {
            return;
        }
        for one in some {
            one.await.unwrap();
        }
    }
}

#[tokio::test]
async fn calls_share_a_connection() {
    let answers = (1..=5).map(|id| Answer::new(response(&result(id)))).collect();
    let script = Script::run(answers).await;
    let outcomes = outcomes(&script, HttpClientOptions::default(), 5).await;
    assert!(outcomes.iter().all(|outcome| outcome.starts_with("Ok")), "{outcomes:?}");
    assert_eq!(script.connections(), 1);
}

#[tokio::test]
async fn a_response_may_be_cut_anywhere() {
    let whole = response(&result(1));
    let in_chunks = format!(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{}\r\n0\r\n\r\n",
        result(2).len(),
        result(2)
    );
    for at in 0..whole.len() {
        let mut answers = [Answer::new(&*whole), Answer::new(&*in_chunks)];
        for answer in &mut answers {
            let (before, behind) = answer.pieces[0].split_at(at.min(answer.pieces[0].len()));
            answer.pieces = vec![before.to_vec(), behind.to_vec()];
        }
        let script = Script::run(answers.to_vec()).await;
        let outcomes = outcomes(&script, HttpClientOptions::default(), 2).await;
        assert!(outcomes.iter().all(|outcome| outcome.starts_with("Ok")), "cut at {at}: {outcomes:?}");
        assert_eq!(script.connections(), 1, "cut at {at}");
    }
}

#[tokio::test]
async fn a_connection_that_was_closed_while_it_waited_is_replaced() {
    let first = Answer::new(response(&result(1))).and_close();
    let mut script = Script::run(vec![first, Answer::new(response(&result(2)))]).await;
    let outcomes = outcomes(&script, HttpClientOptions::default(), 2).await;
    assert!(outcomes.iter().all(|outcome| outcome.starts_with("Ok")), "{outcomes:?}");
    assert_eq!(script.requests.recv().await.unwrap().0, 0);
    assert_eq!(script.requests.recv().await.unwrap().0, 1);
    assert!(script.requests.try_recv().is_err(), "each call is sent once");
}

// SEC-H-01
#[tokio::test]
async fn a_connection_with_bytes_that_no_call_asked_for_is_closed() {
    let forged = response(r#"{"jsonrpc":"2.0","result":"forged","id":2}"#);
    for answer in [
        Answer::new(response(&result(1)) + &forged),
        Answer { pieces: vec![response(&result(1)).into(), forged.clone().into()], closes: false },
    ] {
        let script = Script::run(vec![answer, Answer::new(response(&result(2)))]).await;
        let outcomes = outcomes(&script, HttpClientOptions::default(), 2).await;
        assert!(outcomes[1].contains("r2"), "{outcomes:?}");
        assert_eq!(script.connections(), 2);
    }
}

#[tokio::test]
async fn unused_connections_are_closed_in_time_and_with_their_client() {
    for is_dropped in [false, true] {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let time = Duration::from_millis(if is_dropped { 60_000 } else { 50 });
        let options = HttpClientOptions::default().with_idle_time(time);
        let url = format!("http://{}/", listener.local_addr().unwrap());
        let peer = Peer::new(Client::with_options(&url, options).unwrap());
        let (outcome, mut stream) = tokio::join!(peer.call::<Json>("m", ()), async {
            let (mut stream, _) = listener.accept().await.unwrap();
            read_request(&mut stream).await.unwrap();
            stream.write_all(response(&result(1)).as_bytes()).await.unwrap();
            stream
        });
        assert!(outcome.is_ok());
        if is_dropped {
            drop(peer);
        }
        assert_eq!(within(async { read_request(&mut stream).await }).await, None);
    }
}

#[tokio::test]
async fn a_client_that_keeps_no_connections_makes_one_for_each_call() {
    let answers = (1..=3).map(|id| Answer::new(response(&result(id)))).collect();
    let script = Script::run(answers).await;
    let options = HttpClientOptions::default().with_idle_time(Duration::ZERO);
    let outcomes = outcomes(&script, options, 3).await;
    assert!(outcomes.iter().all(|outcome| outcome.starts_with("Ok")), "{outcomes:?}");
    assert_eq!(script.connections(), 3);
}

#[tokio::test]
async fn a_response_that_is_not_plain_is_read_all_the_same() {
    let events = |id| {
        let data = result(id);
        format!(
            "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\ndata: {data}\n\n"
        )
    };
    let long = format!(r#"{{"jsonrpc":"2.0","result":"{}","id":2}}"#, "r2".repeat(100_000));
    let in_chunks = format!(
        "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n{:x}\r\n{long}\r\n0\r\n\r\n",
        long.len()
    );
    let answers =
        vec![Answer::new(events(1)).and_close(), Answer::new(in_chunks), Answer::new(response(&result(3)))];
    let script = Script::run(answers).await;
    let outcomes = outcomes(&script, HttpClientOptions::default(), 3).await;
    for (at, outcome) in outcomes.iter().enumerate() {
        assert!(outcome.contains(&format!("r{}", at + 1)), "{outcomes:?}");
    }
}

#[tokio::test]
async fn hyper_makes_the_next_calls_after_a_response_that_is_not_plain_and_keeps_their_connection() {
    let odd = |id| {
        let body = result(id);
        Answer::new(format!(
            "HTTP/1.1 200 OK\r\ncontent-length: {0}\r\ncontent-length: {0}\r\n\r\n{body}",
            body.len()
        ))
    };
    let script = Script::run((1..=150).map(odd).collect()).await;
    let peer = script.client(HttpClientOptions::default());
    for id in 1..=150 {
        assert_eq!(peer.call::<String>("m", ()).await, Ok(format!("r{id}")));
    }
    // One for the first call, one for the next hundred, and the same again.
    assert!((3..=4).contains(&script.connections()), "{}", script.connections());
}

#[tokio::test]
async fn a_long_response_is_read_up_to_the_limit() {
    let body = |length: usize| format!(r#"{{"jsonrpc":"2.0","result":"{}","id":1}}"#, "x".repeat(length));
    let limits = Limits::default().with_reply(300_000);
    let options = || HttpClientOptions::default().with_limits(limits.clone());
    for (length, fits) in [(10_000, true), (200_000, true), (290_000, true), (400_000, false)] {
        let script = Script::run(vec![Answer::new(response(&body(length)))]).await;
        let outcome = within(async { script.client(options()).call::<String>("m", ()).await }).await;
        match outcome {
            Ok(text) => assert!(fits && text.len() == length),
            Err(error) => assert!(!fits && matches!(error, CallError::Transport(_)), "{length}: {error:?}"),
        }
    }
}

#[tokio::test]
async fn a_long_request_is_answered_too() {
    let script =
        Script::run(vec![Answer::new(response(&result(1))), Answer::new(response(&result(2)))]).await;
    let peer = script.client(HttpClientOptions::default());
    for (id, length) in [(1, 15_000), (2, 100_000)] {
        assert_eq!(peer.call::<String>("m", ["x".repeat(length)]).await, Ok(format!("r{id}")));
    }
}
