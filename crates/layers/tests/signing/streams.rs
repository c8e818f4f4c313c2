//! Signed streams: every message is signed and numbered, so a change on the way is noticed.

use std::sync::Arc;

use futures_util::StreamExt as _;
use switchboard_core::{Call, CallError, Code, Layer as _, Peer, Reply, ReplyFuture, Service, service_fn};
use switchboard_layers::Clock;
use switchboard_layers::signing::Sign;
use switchboard_transport::Dial;
use switchboard_transport::server::Server;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{TcpListener, TcpStream};

use crate::rig::{NOW, sign, verify};

/// Streams the numbers from 0 to 4 to callers that sign.
fn numbers(clock: &Clock, is_signing: bool) -> Arc<dyn Service> {
    let inner = service_fn(|_: &Call| ReplyFuture::ready(Reply::stream(futures_util::stream::iter(0..5))));
    let verify = verify(clock);
    let verify = if is_signing { verify } else { verify.without_signed_replies() };
    verify.layer(Arc::new(inner))
}

async fn read(peer: &Peer) -> Result<Vec<u8>, CallError> {
    let mut items = peer.stream::<u8>("numbers", ()).await?;
    let mut read = Vec::new();
    while let Some(item) = items.next().await {
        read.push(item?);
    }
    Ok(read)
}

async fn listening(service: Arc<dyn Service>, url: &str) -> String {
    let mut server = Server::new(service);
    server.listen(url).await.unwrap();
    let url = server.urls().next().unwrap();
    tokio::spawn(server.serve());
    url
}

#[tokio::test]
async fn the_items_of_a_stream_are_signed_on_every_transport() {
    let clock = Clock::manual(NOW);
    for (listen, dial) in
        [("tcp://127.0.0.1:0", ""), ("http://127.0.0.1:0", ""), ("http://127.0.0.1:0", "ws")]
    {
        for is_signing in [true, false] {
            let url = listening(numbers(&clock, is_signing), listen).await;
            let url = if dial == "ws" { url.replace("http:", "ws:") } else { url };
            let peer = Dial::new(&url).unwrap().connect().await.unwrap();
            let refused = peer.stream::<u8>("numbers", ()).await.map(|_| ()).unwrap_err();
            assert!(matches!(refused, CallError::Rejected(error) if error.code == Code::UNAUTHORIZED));
            let signed = sign(&clock).peer(peer.clone());
            assert_eq!(read(&signed).await.unwrap(), [0, 1, 2, 3, 4], "{url}");
            let required = sign(&clock).requiring_signed_replies().peer(peer);
            match (is_signing, read(&required).await) {
                (true, items) => assert_eq!(items.unwrap(), [0, 1, 2, 3, 4], "{url}"),
                (false, items) => {
                    let error = items.unwrap_err().to_string();
                    assert!(error.contains("not signed"), "{url}: {error}");
                }
            }
        }
    }
}

/// Someone on the way, who changes the messages of the server after the first response, all at once.
async fn through(clock: &Clock, change: fn(&mut Vec<String>)) -> Peer {
    let server = listening(numbers(clock, true), "tcp://127.0.0.1:0").await.replace("tcp://", "");
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("tcp://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (near, _) = listener.accept().await.unwrap();
        let (from_client, mut to_client) = near.into_split();
        let (from_server, mut to_server) = TcpStream::connect(server).await.unwrap().into_split();
        let (mut from_client, mut from_server) =
            (BufReader::new(from_client).lines(), BufReader::new(from_server).lines());
        let call = from_client.next_line().await.unwrap().unwrap();
        to_server.write_all(format!("{call}\n").as_bytes()).await.unwrap();
        let mut lines = Vec::new();
        // The response, five items and the end.
        while lines.len() < 7 {
            lines.push(from_server.next_line().await.unwrap().unwrap());
        }
        change(&mut lines);
        for line in lines {
            to_client.write_all(format!("{line}\n").as_bytes()).await.unwrap();
        }
        // Until the client closes.
        while let Ok(Some(_)) = from_client.next_line().await {}
    });
    Dial::new(&url).unwrap().connect().await.unwrap()
}

#[tokio::test]
async fn items_that_are_changed_dropped_repeated_or_reordered_are_noticed() {
    let clock = Clock::manual(NOW);
    let check = async |change: fn(&mut Vec<String>), expected: &str| {
        let signed: Sign = sign(&clock).requiring_signed_replies();
        let found = read(&signed.peer(through(&clock, change).await)).await;
        match (found, expected) {
            (Ok(items), "") => assert_eq!(items, [0, 1, 2, 3, 4]),
            (Err(error), expected) if !expected.is_empty() => {
                assert!(error.to_string().contains(expected), "{error}");
            }
            other => panic!("{other:?}"),
        }
    };
    check(|_| {}, "").await;
    check(|lines| lines[3] = lines[3].replace("\"result\":2", "\"result\":7"), "is wrong").await;
    check(|lines| drop(lines.remove(3)), "item 3 where item 2 was expected").await;
    check(|lines| lines.insert(3, lines[2].clone()), "item 1 where item 2 was expected").await;
    check(|lines| lines.swap(2, 3), "item 2 where item 1 was expected").await;
    check(|lines| drop(lines.drain(4..6)), "item 5 where item 3 was expected").await;
    let unsigned = |lines: &mut Vec<String>| {
        let (call, _) = lines[2].split_once(",\"signature\"").unwrap();
        lines[2] = format!("{call}}}");
    };
    check(unsigned, "not signed").await;
    let without_end = |lines: &mut Vec<String>| {
        let (end, _) = lines[6].split_once(",\"signature\"").unwrap();
        lines[6] = format!("{end}}}");
    };
    check(without_end, "not signed").await;
}
