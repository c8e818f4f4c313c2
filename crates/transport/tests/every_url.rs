//! One server, a URL of every kind, and a call over each: what `connect` and `Server::listen` make of them.
#![cfg(all(feature = "tls", feature = "ws", feature = "tcp", feature = "unix", unix))]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "support/certificates.rs"]
mod certificates;
mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use certificates::Authority;
use support::within;
use switchboard_core::{CallError, Code, Context, ErrorObject, Limits, Router, Settings};
use switchboard_transport::Dial;
use switchboard_transport::server::{Handle, Server, ServerOptions};
use switchboard_transport::tls::{PeerCertificate, ServerTls};
use tokio::sync::{Notify, mpsc};
use tokio::task::JoinHandle;

struct Running {
    authority: Authority,
    urls: Vec<String>,
    handle: Handle,
    task: JoinHandle<()>,
    begun: mpsc::UnboundedReceiver<()>,
    go_on: Arc<Notify>,
    /// How often `work` was begun.
    worked: Arc<AtomicUsize>,
}

/// A server at a URL of every kind, with a method that waits until it is told to go on.
async fn start(drain_time: Duration, options: ServerOptions) -> Running {
    let authority = Authority::new();
    let (began, begun) = mpsc::unbounded_channel();
    let go_on = Arc::new(Notify::new());
    let wait = Arc::clone(&go_on);
    let worked = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&worked);
    let router = Router::builder()
        .method("who", |(): (), cx: Context| {
            let caller = cx.get::<PeerCertificate>().map(|found| found.subject.clone());
            Ok::<_, ErrorObject>((cx.origin().transport, caller))
        })
        .async_method("hold", move |(): (), _| {
            let (began, wait) = (began.clone(), Arc::clone(&wait));
            async move {
                began.send(()).unwrap();
                wait.notified().await;
                Ok::<_, ErrorObject>("done")
            }
        })
        .async_method("work", move |(): (), _| {
            count.fetch_add(1, Ordering::Relaxed);
            async {
                tokio::task::yield_now().await;
                Ok::<_, ErrorObject>(())
            }
        })
        .async_method("back", |(): (), cx: Context| async move {
            cx.peer().call::<String>("name", ()).await.map_err(ErrorObject::from)
        });
    let limits = Limits::default().with_drain_time(drain_time);
    let files = authority
        .server()
        .with_client_ca(Some(authority.file("ca.pem")))
        .with_proof(switchboard_transport::tls::CallerProof::Optional);
    let mut server = Server::new(router.build().unwrap())
        .with_settings(Settings::default().with_limits(limits))
        .with_options(options)
        .with_tls(ServerTls::load(files).unwrap());
    let socket = format!("unix:{}", authority.file("rpc.sock").display());
    let lines = format!("unix:{}?framing=lines", authority.file("lines.sock").display());
    for url in [
        "http://127.0.0.1:0",
        "https://127.0.0.1:0",
        "ws://127.0.0.1:0",
        "wss://127.0.0.1:0",
        "tcp://127.0.0.1:0",
        "tcp://127.0.0.1:0?framing=lsp",
        "tls://127.0.0.1:0?framing=length",
        &socket,
        &lines,
    ] {
        server.listen(url).await.unwrap();
    }
    let (urls, handle) = (server.urls().collect(), server.handle());
    Running { authority, urls, handle, task: tokio::spawn(server.serve()), begun, go_on, worked }
}

impl Running {
    fn dial(&self, url: &str) -> Dial {
        let alice = self.authority.issue("alice", &["alice.example"], |_| ());
        let here = Router::builder().method("name", |(): (), _| Ok::<_, ErrorObject>("alice"));
        let tls = self.authority.client(Some(alice));
        Dial::new(url).unwrap().with_tls(tls).with_service(here.build().unwrap())
    }
}

const LONG: Duration = Duration::from_secs(10);

#[tokio::test]
async fn every_kind_of_url_is_served_and_called() {
    let server = start(LONG, ServerOptions::default()).await;
    for url in &server.urls {
        let peer = server.dial(url).connect().await.unwrap_or_else(|error| panic!("{url}: {error}"));
        let (carrier, caller): (String, Option<String>) =
            within(peer.call("who", ()).into_future()).await.unwrap_or_else(|error| panic!("{url}: {error}"));
        let scheme = url.split(':').next().unwrap();
        assert_eq!(carrier, scheme.replace("wss", "ws"), "{url}");
        let is_secure = ["https", "wss", "tls"].contains(&scheme);
        assert_eq!(caller.as_deref(), is_secure.then_some("CN=alice"), "{url}");
        if !scheme.starts_with("http") {
            let name: String = within(peer.call("back", ()).into_future()).await.unwrap();
            assert_eq!(name, "alice", "the far side calls back over {url}");
        }
    }
    server.handle.shutdown();
    within(server.task).await.unwrap();
}

// JK-08
#[tokio::test]
async fn a_call_under_way_is_answered_over_every_carrier_when_the_server_stops() {
    let mut server = start(LONG, ServerOptions::default()).await;
    let mut calls = Vec::new();
    for url in &server.urls {
        let peer = server.dial(url).connect().await.unwrap();
        calls.push((url.clone(), tokio::spawn(async move { peer.call::<String>("hold", ()).await })));
        within(server.begun.recv()).await.unwrap();
    }
    server.handle.shutdown();
    // Whoever comes now is not let in.
    for url in &server.urls {
        within(async {
            while let Ok(peer) = server.dial(url).connect().await {
                if peer.call::<(String, Option<String>)>("who", ()).await.is_err() {
                    break;
                }
            }
        })
        .await;
    }
    assert!(!server.task.is_finished());
    // One permit a waiter, for all of them wait by now.
    server.go_on.notify_waiters();
    for (url, call) in calls {
        assert_eq!(within(call).await.unwrap().as_deref(), Ok("done"), "{url}");
    }
    within(server.task).await.unwrap();
}

#[tokio::test]
async fn a_call_that_takes_too_long_to_end_is_cancelled_over_every_carrier() {
    let mut server = start(Duration::from_millis(100), ServerOptions::default()).await;
    let mut calls = Vec::new();
    for url in &server.urls {
        let peer = server.dial(url).connect().await.unwrap();
        calls.push((url.clone(), tokio::spawn(async move { peer.call::<String>("hold", ()).await })));
        within(server.begun.recv()).await.unwrap();
    }
    server.handle.shutdown();
    within(server.task).await.unwrap();
    for (url, call) in calls {
        match within(call).await.unwrap() {
            // Over a duplex carrier it is said.
            Err(CallError::Rejected(error)) => assert_eq!(error.code, Code::SHUTTING_DOWN, "{url}"),
            Err(CallError::Closed(_)) => assert!(url.starts_with("http"), "{url}"),
            other => panic!("{url}: {other:?}"),
        }
    }
}

// SEC-L-11
#[tokio::test]
async fn connections_are_counted_over_all_transports_together() {
    let options = ServerOptions::default().with_connections(1);
    let server = start(LONG, options).await;
    let find = |scheme: &str| server.urls.iter().find(|url| url.starts_with(scheme)).unwrap();
    let first = server.dial(find("tcp://")).connect().await.unwrap();
    let _: (String, Option<String>) = first.call("who", ()).await.unwrap();
    for scheme in ["http://", "tcp://", "unix:"] {
        let second = server.dial(find(scheme)).connect().await.unwrap();
        let refused = within(second.call::<(String, Option<String>)>("who", ()).into_future()).await;
        assert!(refused.is_err(), "{scheme}: {refused:?}");
    }
    drop(first);
    within(async {
        loop {
            let again = server.dial(find("unix:")).connect().await.unwrap();
            if again.call::<(String, Option<String>)>("who", ()).await.is_ok() {
                break;
            }
        }
    })
    .await;
    server.handle.shutdown();
    within(server.task).await.unwrap();
}

#[tokio::test]
async fn where_one_cannot_listen_or_call_it_is_said() {
    let mut server = Server::new(support::router());
    let check = async |server: &mut Server, url: &str, expected: &str| {
        let error = server.listen(url).await.unwrap_err().to_string();
        assert!(error.contains(expected), "{url}: {error}");
    };
    check(&mut server, "http://127.0.0.1", "has no port").await;
    check(&mut server, "http://127.0.0.1:0/rpc", "has a path").await;
    // SEC-O-05
    check(&mut server, "tcp://0.0.0.0:0", "can be reached from other machines; call `Server::public`").await;
    check(&mut server, "http://no-such-host.invalid:0", "cannot resolve").await;
    check(&mut server, "wss://127.0.0.1:0", "needs a certificate").await;
    check(&mut server, "exec:cat", "servers cannot listen on").await;
    let error = Dial::new("stdio").unwrap().connect().await.unwrap_err().to_string();
    assert!(error.contains("clients cannot connect to"), "{error}");
    let error = Dial::new("unix:/no/such/file").unwrap().connect().await.unwrap_err().to_string();
    assert!(error.contains("/no/such/file"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn all_that_was_begun_is_answered_when_the_server_stops_under_load() {
    let server = start(LONG, ServerOptions::default()).await;
    let (answered, mut enough) = (Arc::new(AtomicUsize::new(0)), Vec::new());
    let mut callers = Vec::new();
    for url in server.urls.iter().flat_map(|url| [url, url]) {
        let peer = server.dial(url).connect().await.unwrap();
        let (answered, warm) = (Arc::clone(&answered), Arc::new(Notify::new()));
        enough.push(Arc::clone(&warm));
        callers.push(tokio::spawn(async move {
            let mut count = 0;
            while let Ok(()) = peer.call::<()>("work", ()).await {
                answered.fetch_add(1, Ordering::Relaxed);
                count += 1;
                if count == 20 {
                    warm.notify_one();
                }
            }
        }));
    }
    for warm in enough {
        within(warm.notified()).await;
    }
    server.handle.shutdown();
    within(server.task).await.unwrap();
    for caller in callers {
        within(caller).await.unwrap();
    }
    assert_eq!(answered.load(Ordering::Relaxed), server.worked.load(Ordering::Relaxed));
}
