//! Clients that reconnect, by URL, and which errors of connecting end that.
#![cfg(all(feature = "ws", feature = "tcp", feature = "unix", feature = "child", unix))]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

mod support;

use std::sync::atomic::{AtomicU32, Ordering};

use support::within;
use switchboard_core::reconnect::{ConnectionState, ReconnectingPeer};
use switchboard_core::{CallError, ErrorObject, Router};
use switchboard_transport::server::{Handle, Server};
use switchboard_transport::{DialError, connect, reconnect};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;

async fn serve(urls: &[&str]) -> (Vec<String>, Handle, JoinHandle<()>) {
    let router = Router::builder().method("add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b));
    let mut server = Server::new(router.build().unwrap());
    for url in urls {
        server.listen(url).await.unwrap();
    }
    (server.urls().collect(), server.handle(), tokio::spawn(server.serve()))
}

/// A URL of a Unix socket that nobody else uses.
fn socket() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    let name = format!("switchboard-reconnect-{}-{count}.sock", std::process::id());
    format!("unix:{}", std::env::temp_dir().join(name).display())
}

async fn add(client: &ReconnectingPeer) -> Result<i64, CallError> {
    within(client.peer().call("add", [2, 3]).repeatable().into_future()).await
}

#[tokio::test]
async fn a_function_that_connects_is_all_it_takes() {
    let (urls, handle, task) =
        serve(&["http://127.0.0.1:0", "ws://127.0.0.1:0", "tcp://127.0.0.1:0", &socket()]).await;
    for url in urls {
        assert_eq!(add(&reconnect(&url).unwrap()).await, Ok(5), "{url}");
        assert_eq!(add(&ReconnectingPeer::new(move || connect(&url))).await, Ok(5));
    }
    handle.shutdown();
    within(task).await.unwrap();
}

#[tokio::test]
async fn a_client_waits_for_a_server_that_is_not_there_yet_and_for_the_next_one() {
    let url = socket();
    let client = reconnect(&url).unwrap();
    let mut watch = client.watch();
    while !matches!(watch.state(), ConnectionState::Waiting { .. }) {
        within(watch.next()).await.unwrap();
    }
    for _ in 0..2 {
        let (_, handle, task) = serve(&[&url]).await;
        assert_eq!(add(&client).await, Ok(5));
        handle.shutdown();
        within(task).await.unwrap();
    }
}

#[tokio::test]
async fn a_url_that_is_none_is_told_at_once() {
    assert!(matches!(reconnect("no such thing"), Err(DialError::Url(_))));
    let error = within(ReconnectingPeer::new(|| connect("ftp://host")).peer().closed()).await;
    assert!(matches!(&error, CallError::Unsupported(why) if why.contains("ftp")), "{error}");
}

/// A server that answers each request of a client like this, and hangs up.
async fn answering(head: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((mut socket, _)) = listener.accept().await {
            let mut request = [0; 4096];
            if matches!(socket.read(&mut request).await, Ok(1..)) {
                let _ = socket.write_all(head.as_bytes()).await;
            }
        }
    });
    url
}

#[tokio::test]
async fn what_another_attempt_cannot_mend_is_told_from_what_it_can() {
    let check = async |url: &str, is_permanent: bool, text: &str| {
        let error = within(connect(url)).await.unwrap_err();
        assert_eq!(matches!(error, DialError::Refused(_)), is_permanent, "{url}: {error}");
        assert!(error.to_string().contains(text), "{url}: {error}");
        let error = CallError::from(error);
        assert_eq!(matches!(error, CallError::CannotConnect(_)), is_permanent, "{url}: {error:?}");
        assert_eq!(error.is_permanent(), is_permanent, "{url}");
    };
    check("exec:no-such-program --at all", true, "was not found").await;
    check("exec:/", true, "cannot start").await;
    check("exec:'a", true, "unclosed").await;
    check(&answering("HTTP/1.1 401 Unauthorized\r\n\r\n").await, true, "401").await;
    check(&answering("HTTP/1.1 404 Not Found\r\n\r\n").await, true, "404").await;
    check(&answering("HTTP/1.1 503 Service Unavailable\r\n\r\n").await, false, "503").await;
    check(&answering("").await, false, "closed the connection").await;
    check(&socket(), false, "nothing is listening").await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("tcp://{}", listener.local_addr().unwrap());
    drop(listener);
    check(&url, false, "nothing is listening").await;
}
