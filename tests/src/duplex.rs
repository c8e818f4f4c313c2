//! Two peers with methods for each other, over every carrier that goes both ways.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use futures_util::future::join_all;
use switchboard_core::{
    CallError, Code, Context, ErrorObject, Limits, Origin, Peer, Router, Service, Settings,
};
use switchboard_transport::child::{self, Command};
use switchboard_transport::framing::Framing;
use switchboard_transport::stream::{self, StreamOptions};
use switchboard_transport::tls::{ClientFiles, ClientTls, Trust};
use switchboard_transport::{Dial, running, stdio};
use tokio::net::unix::pipe;
use tokio::task::JoinSet;

use crate::secure;

/// What carries messages both ways.
#[derive(Clone, Copy, Debug)]
pub enum Duplex {
    /// A server of ours at this URL.
    Url(&'static str),
    /// A server of ours at a Unix socket.
    Unix,
    /// Two pipes, as a program has for its standard input and output.
    Stdio,
    /// A program that serves [`equals`] over its standard input and output.
    Child(&'static str),
}

/// A client, and what its server lasts for.
pub struct Open {
    /// The server, as its client sees it.
    pub peer: Peer,
    _serving: JoinSet<()>,
}

/// Makes one test a carrier of a check `async fn check(duplex: Duplex)`. A new carrier is one line here.
#[macro_export]
macro_rules! over_every_duplex_carrier {
    ($check:ident) => {
        $crate::over_every_duplex_carrier! { $check:
            ws => $crate::duplex::Duplex::Url("ws://127.0.0.1:0"),
            wss => $crate::duplex::Duplex::Url("wss://127.0.0.1:0"),
            tcp => $crate::duplex::Duplex::Url("tcp://127.0.0.1:0"),
            tcp_lines => $crate::duplex::Duplex::Url("tcp://127.0.0.1:0?framing=lines"),
            tcp_lsp => $crate::duplex::Duplex::Url("tcp://127.0.0.1:0?framing=lsp"),
            tcp_length => $crate::duplex::Duplex::Url("tcp://127.0.0.1:0?framing=length"),
            tls => $crate::duplex::Duplex::Url("tls://127.0.0.1:0"),
            unix => $crate::duplex::Duplex::Unix,
            stdio => $crate::duplex::Duplex::Stdio,
            child => $crate::duplex::Duplex::Child(env!("CARGO_BIN_EXE_equal")),
        }
    };
    ($check:ident: $($name:ident => $duplex:expr,)+) => {
        mod $check {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    super::$check($duplex).await;
                }
            )+
        }
    };
}

impl Duplex {
    /// Connects two peers that serve [`equals`] to each other, with these settings on both sides.
    ///
    /// # Panics
    ///
    /// When the system has no room for it.
    pub async fn open(self, settings: Settings) -> Open {
        let service: Arc<dyn Service> = Arc::new(equals());
        match self {
            Duplex::Url(url) => serve(url, service, settings).await,
            Duplex::Unix => serve(&format!("unix:{}", socket_path().display()), service, settings).await,
            Duplex::Stdio => {
                let (to, stdin) = pipe::pipe().unwrap();
                let (stdout, from) = pipe::pipe().unwrap();
                let options = StreamOptions::new(Framing::Lines).with_settings(settings);
                let (theirs, their_options) = (Arc::clone(&service), options.clone());
                let mut serving = JoinSet::new();
                serving.spawn(async move {
                    // How it ends is seen by the client.
                    let _ = stdio::serve_on(stdin, stdout, theirs, &their_options).await;
                });
                let connection = stream::connection((from, to), service, Origin::new("stdio"), &options);
                Open { peer: running::run(connection), _serving: serving }
            }
            Duplex::Child(program) => {
                let options = StreamOptions::new(Framing::Lines).with_settings(settings);
                let command = Command::new(program).grace(Duration::from_millis(200));
                let peer = child::connect(&command, service, &options).await.unwrap();
                Open { peer, _serving: JoinSet::new() }
            }
        }
    }
}

/// Where a Unix socket can be made.
#[must_use]
pub fn socket_path() -> PathBuf {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    std::env::temp_dir().join(format!("switchboard-duplex-{}-{count}.sock", std::process::id()))
}

async fn serve(url: &str, service: Arc<dyn Service>, settings: Settings) -> Open {
    let (server, _) = secure::server_at(url, Arc::clone(&service), settings.clone()).await;
    let url = server.urls().next().unwrap();
    let mut serving = JoinSet::new();
    serving.spawn(server.serve());
    let tls = ClientTls::load(&ClientFiles::default().with_trust(Trust::Anybody)).unwrap();
    let dial = Dial::new(&url).unwrap().with_service(service).with_settings(settings).with_tls(tls);
    Open { peer: dial.connect().await.unwrap(), _serving: serving }
}

/// The smallest limits with which a call can still be made.
#[must_use]
pub fn smallest() -> Settings {
    // The outbox has room for the refusals of a whole storm: a pipe may take them only later.
    let limits = Limits::default().with_in_flight(1).with_outbox(8 << 10).with_subscriptions(1).with_items(1);
    Settings::default().with_limits(limits)
}

/// Methods with which both sides keep each other busy.
///
/// `bounce(times, text)` goes to and fro so many times and gives back the text. `later(times, text)` does not go anywhere,
/// but gives back the text a turn later. `storm(count)` makes so many calls to the caller at once, and gives how many
/// were answered and how many refused.
///
/// # Panics
///
/// Never: the names differ.
#[must_use]
pub fn equals() -> Router {
    Router::builder()
        .async_method("bounce", |(times, text): (u32, String), cx: Context| async move {
            match times.checked_sub(1) {
                None => Ok::<_, CallError>(text),
                Some(less) => cx.peer().call("bounce", (less, text)).await,
            }
        })
        .async_method("later", |(_, text): (u32, String), _: Context| async move {
            tokio::task::yield_now().await;
            Ok::<_, ErrorObject>(text)
        })
        .async_method("storm", |(count,): (u32,), cx: Context| async move {
            Ok::<_, ErrorObject>(storm(cx.peer(), count).await)
        })
        .build()
        .expect("the names differ")
}

/// Makes so many calls at once, of which each goes to and fro a few times; how many were answered and how many refused.
///
/// # Panics
///
/// When one has another outcome, or the answer to another.
pub async fn storm(peer: &Peer, count: u32) -> (u32, u32) {
    let outcomes = join_all((0..count).map(async |number| {
        // Together they are longer than the outbox is.
        let text = format!("{number} {}", "x".repeat(number as usize * 37 % 2000));
        match peer.call::<String>("bounce", (number % 5, &text)).await {
            Ok(answer) => {
                assert_eq!(answer, text, "an answer to another call");
                true
            }
            Err(CallError::Busy(_)) => false,
            Err(CallError::Rejected(error)) if error.code == Code::OVER_LIMIT => false,
            Err(other) => panic!("{other}"),
        }
    }))
    .await;
    let answered = outcomes.iter().filter(|is_answered| **is_answered).count();
    (answered as u32, (outcomes.len() - answered) as u32)
}
