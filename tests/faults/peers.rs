//! Far sides that never read, or send as fast as they can.

use std::time::Duration;

use futures_util::StreamExt;
use switchboard_core::{Json, Method, Router, Settings};
use switchboard_tests::duplex::Duplex;
use switchboard_tests::over_every_duplex_carrier;
use switchboard_transport::server::{Server, ServerOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;
use tokio::task::JoinSet;

use crate::rig::{Running, connect, within};

over_every_duplex_carrier!(who_never_reads_is_let_go);
over_every_duplex_carrier!(every_call_of_a_flood_is_answered_or_refused_once);
over_every_duplex_carrier!(who_reads_slowly_gets_everything);

fn request(method: &str, id: u32, text: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":[0,"{text}"],"id":{id}}}"#)
}

/// Whether the server goes on, if others can ask it.
async fn answers(url: Option<&str>) -> bool {
    let Some(url) = url else { return true };
    let peer = connect(url).await.unwrap();
    within(peer.call::<String>("bounce", (0, "on")).into_future()).await.as_deref() == Ok("on")
}

// SEC-L-14
async fn who_never_reads_is_let_go(duplex: Duplex) {
    let mut client = duplex.by_hand(64 << 10).await;
    let call = request("bounce", 1, &"x".repeat(100 << 10));
    within(async {
        // The answers fill what the system holds for us. Then the server reads no more, and drops us after a while.
        while client.sending.send(&call).await.is_ok() {}
    })
    .await;
    assert!(answers(client.url.as_deref()).await);
}

// SEC-L-10
async fn every_call_of_a_flood_is_answered_or_refused_once(duplex: Duplex) {
    const FLOOD: u32 = 5_000;
    let mut client = duplex.by_hand(16 << 20).await;
    let mut sending = client.sending;
    let flood = tokio::spawn(async move {
        for id in 0..FLOOD {
            let method = if id % 2 == 0 { "bounce" } else { "later" };
            sending.send(&request(method, id, "x")).await.unwrap();
        }
        sending
    });
    let mut answers_to = vec![0_u8; FLOOD as usize];
    within(async {
        for _ in 0..FLOOD {
            let answer = client.receiving.receive().await.expect("the server goes on");
            let answer: serde_json::Value = serde_json::from_slice(&answer).unwrap();
            let is_expected = answer["result"] == "x" || answer["error"]["code"] == -32005;
            assert!(is_expected, "{answer}");
            answers_to[usize::try_from(answer["id"].as_u64().unwrap()).unwrap()] += 1;
        }
    })
    .await;
    assert!(answers_to.iter().all(|count| *count == 1));
    drop(within(flood).await.unwrap());
    assert!(answers(client.url.as_deref()).await);
}

async fn who_reads_slowly_gets_everything(duplex: Duplex) {
    let mut client = duplex.by_hand(16 << 20).await;
    let text = "x".repeat(10 << 10);
    for id in 0..50 {
        within(client.sending.send(&request("bounce", id, &text))).await.unwrap();
    }
    for id in 0..50 {
        let answer = within(client.receiving.receive()).await.unwrap();
        assert!(answer.ends_with(format!(",\"id\":{id}}}").as_bytes()));
        tokio::time::timeout(Duration::from_millis(1), std::future::pending::<()>()).await.unwrap_err();
    }
}

/// Tells when it is dropped.
struct Alarm(mpsc::UnboundedSender<()>);

impl Drop for Alarm {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

/// A server whose connections are idle soon, with a stream that never ends; and what tells when one is dropped.
async fn streaming() -> (String, mpsc::UnboundedReceiver<()>, JoinSet<()>) {
    let (alarm, dropped) = mpsc::unbounded_channel();
    let endless = Method::stream("endless", move |_: Json, _| {
        let (alarm, text) = (Alarm(alarm.clone()), "x".repeat(10 << 10));
        futures_util::stream::repeat(text).inspect(move |_| _ = &alarm)
    });
    let options = ServerOptions::default().with_idle_time(Duration::from_millis(200));
    let mut server = Server::new(Router::builder().add(endless).build().unwrap()).with_options(options);
    server.listen("http://127.0.0.1:0").await.unwrap();
    let url = server.urls().next().unwrap();
    let mut tasks = JoinSet::new();
    tasks.spawn(server.serve());
    (url, dropped, tasks)
}

// SEC-L-14, SSE-08
#[tokio::test]
async fn who_asks_for_events_and_never_reads_them_is_let_go() {
    let (url, mut dropped, _serving) = streaming().await;
    let host = url.trim_start_matches("http://").trim_end_matches('/').to_owned();
    let mut socket = TcpStream::connect(&host).await.unwrap();
    let call = r#"{"jsonrpc":"2.0","method":"endless","id":1}"#;
    let head = "content-type: application/json\r\naccept: text/event-stream";
    let length = call.len();
    let request =
        format!("POST / HTTP/1.1\r\nhost: {host}\r\n{head}\r\ncontent-length: {length}\r\n\r\n{call}");
    socket.write_all(request.as_bytes()).await.unwrap();
    // It begins well.
    let mut begin = [0; 12];
    within(socket.read_exact(&mut begin)).await.unwrap();
    assert_eq!(&begin, b"HTTP/1.1 200");
    within(dropped.recv()).await.expect("its stream is dropped");
    // What is left of it is of no more use than a connection that ended.
    while within(socket.read(&mut [0; 1 << 16])).await.is_ok_and(|count| count > 0) {}
}

// SEC-L-14
#[tokio::test]
async fn who_calls_over_http_and_never_reads_is_let_go() {
    let options = ServerOptions::default().with_idle_time(Duration::from_millis(200));
    let server = Running::start_with("http://127.0.0.1:0", Settings::default(), options).await;
    let mut socket = TcpStream::connect(server.address).await.unwrap();
    let call =
        format!(r#"{{"jsonrpc":"2.0","method":"echo","params":["{}"],"id":1}}"#, "x".repeat(100 << 10));
    let head = format!("POST / HTTP/1.1\r\nhost: {}\r\ncontent-type: application/json", server.address);
    let request = format!("{head}\r\ncontent-length: {}\r\n\r\n{call}", call.len());
    within(async { while socket.write_all(request.as_bytes()).await.is_ok() {} }).await;
    assert!(server.answers().await);
}
