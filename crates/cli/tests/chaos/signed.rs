//! Signed messages that are sent to all gateways at once.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::fleet::{AUDIENCE, Fleet};
use super::history::{History, Kind, Operation, Outcome};

/// Sends so many signed messages, one after the other, while nothing is broken.
pub(crate) async fn race(fleet: &Fleet, history: &History, count: usize) {
    let (places, keys) = (places(fleet), fleet.keys());
    for _ in 0..count {
        let operation = send(&places, &keys).await;
        history.operation(Operation { is_calm: true, ..operation });
    }
}

/// Where the gateways are.
pub(crate) fn places(fleet: &Fleet) -> Vec<String> {
    fleet.gateways().map(|way| way.place.clone()).collect()
}

/// Signs a call, and sends it to each of these gateways.
pub(crate) async fn send(places: &[String], keys: &Path) -> Operation {
    let secret = format!("signed-{:x}", fastrand::u64(..));
    let message = format!(r#"{{"jsonrpc":"2.0","method":"signed","params":["{secret}",0],"id":1}}"#);
    let keys = keys.to_owned();
    let message = tokio::task::spawn_blocking(move || sign(&message, &keys)).await.unwrap();
    let mut operation = Operation::new(Kind::Signed, secret);
    let outcomes = join_all(places.iter().map(|place| post(place, &message))).await;
    operation.attempts = outcomes.into_iter().map(|outcome| ("gateway", outcome)).collect();
    operation
}

fn sign(message: &str, keys: &Path) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_switchboard"));
    command.args(["sign", keys.to_str().unwrap(), AUDIENCE]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(message.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}

/// Sends a message as it is: a client of ours would sign it again.
async fn post(place: &str, message: &str) -> Outcome {
    let exchanged = timeout(Duration::from_secs(5), exchange(place, message)).await;
    let text = match exchanged {
        Ok(Ok(text)) => text,
        Ok(Err(error)) => return Outcome::Unknown(error.to_string()),
        Err(_) => return Outcome::Unknown("no answer within 5 s".to_owned()),
    };
    let body = text.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    match serde_json::from_str::<Value>(body) {
        Ok(answer) => match answer["result"].as_str() {
            Some(result) => Outcome::Answered(result.to_owned()),
            None => Outcome::Refused(body.to_owned()),
        },
        Err(_) => Outcome::Unknown(text),
    }
}

async fn exchange(place: &str, message: &str) -> std::io::Result<String> {
    let mut stream = TcpStream::connect(place).await?;
    let head = format!(
        "POST / HTTP/1.1\r\nhost: {place}\r\ncontent-type: application/json\r\nconnection: close\r\n"
    );
    let text = format!("{head}content-length: {}\r\n\r\n{message}", message.len());
    stream.write_all(text.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    Ok(answer)
}
