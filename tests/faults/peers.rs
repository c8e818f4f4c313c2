//! Far sides that never read, or send as fast as they can.

use std::time::Duration;

use switchboard_core::{Limits, Settings};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use crate::rig::{Running, within};

const URL: &str = "tcp://127.0.0.1:0?framing=lines";

fn request(id: u32, text: &str) -> String {
    format!("{{\"jsonrpc\":\"2.0\",\"method\":\"echo\",\"params\":[\"{text}\"],\"id\":{id}}}\n")
}

// SEC-L-14
#[tokio::test]
async fn who_never_reads_is_let_go() {
    let limits = Limits { outbox: 64 << 10, ..Limits::default() };
    let server = Running::start(URL, Settings { limits, ..Settings::default() }).await;
    let mut socket = TcpStream::connect(server.address).await.unwrap();
    let call = request(1, &"x".repeat(100 << 10));
    within(async {
        // The answers fill what the system holds for us, then the outbox; then the server takes no more of it.
        while socket.write_all(call.as_bytes()).await.is_ok() {}
    })
    .await;
    assert!(server.answers().await);
}

#[tokio::test]
async fn every_call_of_a_flood_is_answered_or_refused_once() {
    const FLOOD: u32 = 20_000;
    let limits = Limits { in_flight: 1, ..Limits::default() };
    let server = Running::start(URL, Settings { limits, ..Settings::default() }).await;
    let (reader, mut writer) = TcpStream::connect(server.address).await.unwrap().into_split();
    let flood = tokio::spawn(async move {
        for id in 0..FLOOD {
            let method = if id % 2 == 0 { "echo" } else { "later" };
            let call = request(id, "x").replace("echo", method);
            writer.write_all(call.as_bytes()).await.unwrap();
        }
        writer
    });
    let mut lines = BufReader::new(reader).lines();
    let mut answers = vec![0_u8; FLOOD as usize];
    within(async {
        for _ in 0..FLOOD {
            let line = lines.next_line().await.unwrap().expect("the server goes on");
            let answer: serde_json::Value = serde_json::from_str(&line).unwrap();
            let is_expected = answer["result"][0] == "x" || answer["error"]["code"] == -32005;
            assert!(is_expected, "{line}");
            answers[usize::try_from(answer["id"].as_u64().unwrap()).unwrap()] += 1;
        }
    })
    .await;
    assert!(answers.iter().all(|count| *count == 1));
    drop(within(flood).await.unwrap());
    assert!(server.answers().await);
}

#[tokio::test]
async fn who_reads_slowly_gets_everything() {
    let server = Running::start(URL, Settings::default()).await;
    let socket = TcpStream::connect(server.address).await.unwrap();
    let (reader, mut writer) = socket.into_split();
    let text = "x".repeat(10 << 10);
    for id in 0..50 {
        writer.write_all(request(id, &text).as_bytes()).await.unwrap();
    }
    // A small buffer, and a pause after each read.
    let mut lines = BufReader::with_capacity(512, reader).lines();
    for id in 0..50 {
        let line = within(lines.next_line()).await.unwrap().unwrap();
        assert!(line.contains(&format!("\"id\":{id},")), "{line}");
        tokio::time::timeout(Duration::from_millis(1), std::future::pending::<()>()).await.unwrap_err();
    }
}
