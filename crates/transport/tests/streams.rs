//! Streams of bytes as connections: their ends, their faults, and clients that last as long as their peers.

#![allow(clippy::unwrap_used)]
#![cfg(all(feature = "tcp", feature = "unix"))]

use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::time::Duration;

use switchboard_core::{
    CallError, Connection, ConnectionError, Context, ErrorObject, Limits, Origin, Peer, Router, Service,
    Settings,
};
use switchboard_transport::framing::Framing;
use switchboard_transport::stream::{self, StreamOptions};
use switchboard_transport::unix::{PeerCredentials, UnixSocketListener};
use switchboard_transport::{running, tcp, unix};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, DuplexStream, duplex, split};
use tokio::net::TcpListener;

fn service() -> Arc<dyn Service> {
    let router = Router::builder()
        .method("add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b))
        .async_method("ask_back", |(depth,): (u32,), cx: Context| async move {
            match depth {
                0 => Ok::<u32, ErrorObject>(0),
                _ => Ok(1 + cx.peer().call::<u32>("ask_back", (depth - 1,)).await?),
            }
        })
        .async_method("never", |(): (), _| std::future::pending::<Result<(), ErrorObject>>())
        .method("who", |(): (), cx: Context| {
            Ok::<_, ErrorObject>(cx.get::<PeerCredentials>().map(|found| found.uid))
        });
    Arc::new(router.build().unwrap())
}

fn connection(io: DuplexStream, options: &StreamOptions) -> Connection {
    stream::connection(split(io), service(), Origin::new("test"), options)
}

/// A client and a server's task over a buffer of this size.
fn connected(
    size: usize,
    options: &StreamOptions,
) -> (Peer, tokio::task::JoinHandle<Result<(), ConnectionError>>) {
    let (here, there) = duplex(size);
    let server = tokio::spawn(connection(there, options));
    (running::run(connection(here, options)), server)
}

#[tokio::test(start_paused = true)]
async fn dropping_the_last_peer_ends_the_connection() {
    let (peer, server) = connected(4096, &StreamOptions::default());
    let clone = peer.clone();
    assert_eq!(peer.call::<i64>("add", [2, 3]).await, Ok(5));
    drop(peer);
    assert_eq!(clone.call::<i64>("add", [2, 3]).await, Ok(5));
    drop(clone);
    server.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_reply_that_is_waited_for_keeps_the_connection() {
    let (peer, server) = connected(4096, &StreamOptions::default());
    let call = switchboard_core::Call::new("ask_back", Some(switchboard_core::Json::encode(&[3]).unwrap()));
    let reply = Service::call(&peer, &call);
    drop(peer);
    assert!(matches!(reply.await.outcome, switchboard_core::Outcome::Value(json) if json.as_str() == "3"));
    server.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn with_the_smallest_limits_both_sides_may_call_each_other() {
    for framing in Framing::ALL {
        let limits = Limits::default().with_in_flight(64).with_outbox(1 << 10);
        let settings = Settings::default().with_limits(limits);
        let (peer, _server) = connected(1, &StreamOptions::new(framing).with_settings(settings));
        assert_eq!(peer.call::<u32>("ask_back", (40,)).await, Ok(40), "{framing}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_connection_may_be_cut_at_any_byte_of_a_frame() {
    let call = br#"{"jsonrpc":"2.0","method":"add","params":[2,3],"id":1}"#;
    for framing in Framing::ALL {
        let mut bytes = Vec::new();
        framing.encode(call, &mut bytes);
        for cut in 0..=bytes.len() {
            let (mut here, there) = duplex(4096);
            let server = tokio::spawn(connection(there, &StreamOptions::new(framing)));
            here.write_all(&bytes[..cut]).await.unwrap();
            here.shutdown().await.unwrap();
            let mut answers = Vec::new();
            here.read_to_end(&mut answers).await.unwrap();
            let answers = String::from_utf8_lossy(&answers);
            let ended = server.await.unwrap();
            // LSP-F-10, LSP-F-12: half a message is not answered, a whole one is.
            let is_whole = cut == bytes.len() || cut + 1 == bytes.len() && bytes.ends_with(b"\n");
            if is_whole {
                assert!(answers.contains("\"result\":5"), "{framing} {answers}");
            } else {
                assert_eq!(answers, "", "{framing} at {cut}");
            }
            let is_cut_off = matches!(ended, Err(ConnectionError::CutOff(_)));
            assert_eq!(is_cut_off, cut > 0 && !is_whole, "{framing} at {cut}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_begun_has_to_be_finished_in_time() {
    let options = StreamOptions::new(Framing::Lines).with_message_time(Duration::from_secs(5));
    let (mut here, there) = duplex(4096);
    let server = tokio::spawn(connection(there, &options));
    here.write_all(b"{\"jsonrpc\"").await.unwrap();
    let mut answer = String::new();
    here.read_to_string(&mut answer).await.unwrap();
    assert_eq!(answer, "", "half a message is not answered");
    let ended = server.await.unwrap().unwrap_err();
    assert!(
        matches!(&ended, ConnectionError::CutOff(why) if why.contains("not complete within 5s")),
        "{ended}"
    );
}

#[tokio::test(start_paused = true)]
async fn a_peer_has_to_send_its_first_byte_in_time() {
    let options = StreamOptions::default().with_first_byte_time(Some(Duration::from_secs(5)));
    let (mut here, there) = duplex(4096);
    let server = tokio::spawn(connection(there, &options));
    assert_eq!(here.read(&mut [0; 8]).await.unwrap(), 0);
    server.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_was_called_first_may_be_silent() {
    let options = StreamOptions::default().with_first_byte_time(Some(Duration::from_secs(5)));
    let (mut here, there) = duplex(4096);
    let connection = connection(there, &options);
    let peer = connection.owning_peer();
    let server = tokio::spawn(connection);
    peer.notify("welcome", ()).await.unwrap();
    let mut greeting = vec![0; 256];
    assert!(here.read(&mut greeting).await.unwrap() > 0);
    let silence = tokio::time::timeout(Duration::from_secs(3600), here.read(&mut greeting)).await;
    assert!(silence.is_err(), "the connection stays");
    drop(peer);
    server.await.unwrap().unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_message_that_is_too_long_is_told_so_and_ends_the_connection() {
    let limits = Limits::default().with_frame(1 << 10).with_reply(1 << 10).with_batch_reply(1 << 10);
    let longest = limits.longest_frame();
    let options = StreamOptions::new(Framing::Lines).with_settings(Settings::default().with_limits(limits));
    let (mut here, there) = duplex(1 << 20);
    let server = tokio::spawn(connection(there, &options));
    here.write_all(&vec![b'x'; longest + 1]).await.unwrap();
    let mut answer = String::new();
    here.read_to_string(&mut answer).await.unwrap();
    assert!(answer.contains("limits.frame"), "{answer}");
    assert!(
        matches!(server.await.unwrap(), Err(ConnectionError::FrameTooLong { limit, .. }) if limit == longest)
    );
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_never_reads_is_let_go() {
    let limits = Limits::default().with_outbox(1 << 10);
    let options = StreamOptions::new(Framing::Lines).with_settings(Settings::default().with_limits(limits));
    let (here, there) = duplex(256);
    let server = tokio::spawn(connection(there, &options));
    let (_unread, mut writer) = split(here);
    let flood = async {
        let call = b"{\"jsonrpc\":\"2.0\",\"method\":\"add\",\"params\":[2,3],\"id\":1}\n";
        while writer.write_all(call).await.is_ok() {}
    };
    let (ended, ()) = tokio::join!(server, flood);
    assert!(matches!(ended.unwrap(), Err(ConnectionError::Stalled { .. })));
}

#[tokio::test]
async fn a_half_closed_socket_still_gets_its_answers() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut here = tokio::net::TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let (there, _) = listener.accept().await.unwrap();
    let server = tokio::spawn(tcp::connection(there, service(), &StreamOptions::default()).unwrap());
    // No newline: a message ends where its JSON ends.
    here.write_all(br#"{"jsonrpc":"2.0","method":"add","params":[2,3],"id":1}"#).await.unwrap();
    here.shutdown().await.unwrap();
    let mut answer = String::new();
    here.read_to_string(&mut answer).await.unwrap();
    assert_eq!(answer, "{\"jsonrpc\":\"2.0\",\"result\":5,\"id\":1}\n");
    server.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_client_over_tcp_calls_and_is_told_when_the_server_goes() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (address, options) = (listener.local_addr().unwrap(), StreamOptions::default());
    let (peer, accepted) = tokio::join!(tcp::connect(address, service(), &options), listener.accept());
    let peer = peer.unwrap();
    let server =
        tokio::spawn(tcp::connection(accepted.unwrap().0, service(), &StreamOptions::default()).unwrap());
    assert_eq!(peer.call::<u32>("ask_back", (5,)).await, Ok(5));
    server.abort();
    assert!(matches!(peer.call::<()>("never", ()).await, Err(CallError::Closed(_))));
}

/// A folder for a test's socket, removed with it.
fn folder(name: &str) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("sb-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

#[tokio::test]
async fn a_unix_socket_is_private_and_tells_who_calls() {
    // JT-07, SEC-X-03
    let path = folder("private").join("s.sock");
    let listener = UnixSocketListener::bind(&path).await.unwrap();
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    let options = StreamOptions::default();
    let (peer, accepted) = tokio::join!(unix::connect(&path, service(), &options), listener.accept());
    tokio::spawn(unix::connection(accepted.unwrap(), service(), &options));
    let uid = std::os::unix::fs::MetadataExt::uid(&std::fs::metadata(&path).unwrap());
    assert_eq!(peer.unwrap().call::<Option<u32>>("who", ()).await, Ok(Some(uid)));
    drop(listener);
    assert!(!path.exists(), "the socket is gone with its listener");
    std::fs::remove_dir(path.parent().unwrap()).expect("nothing else is left");
}

#[tokio::test]
async fn only_a_socket_that_nobody_listens_at_is_replaced() {
    let folder = folder("stale");
    let path = folder.join("s.sock");
    drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
    let listener = UnixSocketListener::bind(&path).await.expect("a stale socket is replaced");
    let error = UnixSocketListener::bind(&path).await.unwrap_err().to_string();
    assert!(error.contains("another process is listening there"), "{error}");
    drop(listener);
    std::fs::write(&path, "precious").unwrap();
    let error = UnixSocketListener::bind(&path).await.unwrap_err().to_string();
    assert!(error.contains("not a socket"), "{error}");
    assert_eq!(std::fs::read_to_string(&path).unwrap(), "precious");
    std::fs::remove_dir_all(folder).unwrap();
}
