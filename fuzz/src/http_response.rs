//! Answers a call with any bytes, to two clients of which only one has the fast path for plain calls. Both must come to the same result. The first
//! byte of an input chooses where the rest is cut into two writes.

#![no_main]

use std::net::SocketAddr;
use std::sync::{Arc, LazyLock, Mutex};
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use switchboard_core::{Json, Peer, Tap};
use switchboard_transport::http::{Client, HttpClientOptions};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::{Builder, Runtime};

/// A call that takes this long hangs.
const PATIENCE: Duration = Duration::from_secs(10);

fuzz_target!(|bytes: &[u8]| {
    let Some((first, response)) = bytes.split_first() else { return };
    let cut = response.len() * usize::from(*first) / 256;
    let (before, behind) = response.split_at(cut);
    *SERVER.answer.lock().expect("nothing panics with the lock") = (before.to_vec(), behind.to_vec());
    let (plain, hyper) = (call(None), call(Some(Tap::new(|_, _| {}))));
    assert_eq!(plain, hyper);
});

struct Server {
    address: SocketAddr,
    /// What each connection is answered with, in two parts.
    answer: Arc<Mutex<(Vec<u8>, Vec<u8>)>>,
    runtime: Runtime,
}

static SERVER: LazyLock<Server> = LazyLock::new(|| {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let listener = runtime.block_on(TcpListener::bind("127.0.0.1:0")).expect("a free port");
    let address = listener.local_addr().expect("it listens");
    let answer = Arc::new(Mutex::default());
    let answers = Arc::clone(&answer);
    runtime.spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(answer_one(stream, Arc::clone(&answers)));
        }
    });
    Server { address, answer, runtime }
});

/// Reads one request, answers it, and closes the connection.
async fn answer_one(mut stream: TcpStream, answer: Arc<Mutex<(Vec<u8>, Vec<u8>)>>) {
    let mut read = Vec::new();
    while read.last() != Some(&b'}') {
        if !matches!(stream.read_buf(&mut read).await, Ok(1..)) {
            return;
        }
    }
    let (before, behind) = answer.lock().expect("nothing panics with the lock").clone();
    let _ = stream.set_nodelay(true);
    let _ = stream.write_all(&before).await;
    tokio::task::yield_now().await;
    let _ = stream.write_all(&behind).await;
    let _ = stream.shutdown().await;
    // Until the client has closed it, too. Otherwise it might be told that the connection was reset.
    while matches!(stream.read_buf(&mut read).await, Ok(1..)) {}
}

/// What a call comes to. With a tap, hyper makes it.
fn call(tap: Option<Tap>) -> String {
    let options = HttpClientOptions::default().with_tap(tap);
    let client = Client::with_options(&format!("http://{}/", SERVER.address), options).expect("it is a URL");
    let outcome = SERVER.runtime.block_on(async {
        let call = Peer::new(client).call::<Json>("m", ());
        tokio::time::timeout(PATIENCE, call.into_future()).await.expect("a response that ends")
    });
    format!("{outcome:?}")
}
