//! A TCP relay before a server that can break in several ways.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

/// What a relay does to everything that passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Nothing.
    Works,
    /// Answers are late.
    Slow(Duration),
    /// Calls arrive, and answers do not.
    Stalls,
    /// Nothing passes in either direction, and no connection ends, as if a cable were pulled.
    Silent,
    /// Answers are something else.
    Garbage,
    /// Connections end in the middle of an answer.
    Cuts,
    /// Nothing listens, and all connections are cut.
    Dead,
}

/// A relay that runs until it is dropped.
pub(crate) struct Relay {
    pub(crate) url: String,
    mode: watch::Sender<Mode>,
    _running: JoinSet<()>,
}

impl Relay {
    pub(crate) async fn start(server: SocketAddr) -> Relay {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (mode, seen) = watch::channel(Mode::Works);
        let mut running = JoinSet::new();
        running.spawn(run(address, listener, server, seen));
        Relay { url: format!("tcp://{address}"), mode, _running: running }
    }

    /// Breaks it in this way, or repairs it. Its connections end, unless it falls silent.
    pub(crate) fn set(&self, mode: Mode) {
        self.mode.send_replace(mode);
    }
}

async fn run(address: SocketAddr, first: TcpListener, server: SocketAddr, mut mode: watch::Receiver<Mode>) {
    let mut listener = Some(first);
    loop {
        let now = *mode.borrow_and_update();
        if now == Mode::Dead {
            listener = None;
            if mode.changed().await.is_err() {
                return;
            }
            continue;
        }
        let listening = match listener.take() {
            Some(listening) => listening,
            None => TcpListener::bind(address).await.unwrap(),
        };
        let is_over = serve(&listening, server, now, &mut mode).await;
        listener = Some(listening);
        if is_over {
            return;
        }
    }
}

/// Relays connections until the mode changes. They end then, unless it is to silence.
async fn serve(
    listener: &TcpListener,
    server: SocketAddr,
    mut now: Mode,
    mode: &mut watch::Receiver<Mode>,
) -> bool {
    let mut carried = JoinSet::new();
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                if let Ok((client, _)) = accepted {
                    carried.spawn(carry(client, server, now, mode.clone()));
                }
            }
            Some(_) = carried.join_next() => {}
            changed = mode.changed() => {
                let next = *mode.borrow_and_update();
                if changed.is_err() || next != Mode::Silent {
                    return changed.is_err();
                }
                now = next;
            }
        }
    }
}

async fn carry(client: TcpStream, server: SocketAddr, mode: Mode, mut changes: watch::Receiver<Mode>) {
    let Ok(server) = TcpStream::connect(server).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    let up = async { drop(tokio::io::copy(&mut from_client, &mut to_server).await) };
    let down = async {
        let mut chunk = vec![0; 16 << 10];
        while let Ok(length @ 1..) = from_server.read(&mut chunk).await {
            let written = match mode {
                Mode::Works | Mode::Dead | Mode::Silent => to_client.write_all(&chunk[..length]).await,
                Mode::Slow(time) => {
                    tokio::time::sleep_until(Instant::now() + time).await;
                    to_client.write_all(&chunk[..length]).await
                }
                Mode::Stalls => Ok(()),
                Mode::Cuts => {
                    let _ = to_client.write_all(&chunk[..length / 2]).await;
                    return;
                }
                Mode::Garbage => to_client.write_all(b"}{\"id\":[\xff,\"result\":\n").await,
            };
            if written.is_err() {
                return;
            }
        }
    };
    let silence = async {
        let falls = changes.wait_for(|mode| *mode == Mode::Silent).await.is_ok();
        if !falls {
            std::future::pending::<()>().await;
        }
    };
    tokio::select! {
        biased;
        () = silence => std::future::pending().await,
        () = up => {}
        () = down => {}
    }
}
