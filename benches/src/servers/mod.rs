//! The HTTP servers that are compared. Each answers POST with JSON-RPC on HTTP/1.1 and knows the method `add`.
//!
//! All run on the runtime that [`run`] builds, with the default allocator and `TCP_NODELAY`, and answer with a
//! `content-type`, a `content-length` and a `date`.

use std::io::{self, Error, ErrorKind};
use std::net::TcpListener;

pub mod axum;
pub mod by_hand;
pub mod hyper_constant;
pub mod jsonrpsee;
pub mod switchboard;

mod accept;

/// The name of the server that answers a constant: the base of the CPU figures.
pub const CONSTANT: &str = "hyper-constant";

/// Every server that this build has, ours first.
pub const NAMES: &[&str] = &["switchboard", "by-hand", CONSTANT, "axum", "jsonrpsee"];

/// Runs the server called `name` on `listener`, on a multi-thread runtime of `workers` threads, until the process ends.
///
/// # Errors
/// When there is no such server, or it cannot use the listener.
pub fn run(name: &str, workers: usize, listener: TcpListener) -> io::Result<()> {
    listener.set_nonblocking(true)?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(workers).enable_all().build()?;
    let name = name.to_owned();
    let server = runtime.spawn(async move { serve(&name, listener).await });
    runtime.block_on(server)?
}

async fn serve(name: &str, listener: TcpListener) -> io::Result<()> {
    match name {
        "switchboard" => switchboard::serve(listener).await,
        "by-hand" => by_hand::serve(listener).await,
        CONSTANT => hyper_constant::serve(listener).await,
        "axum" => axum::serve(listener).await,
        "jsonrpsee" => jsonrpsee::serve(listener).await,
        _ => Err(Error::new(
            ErrorKind::InvalidInput,
            format!("no server {name:?}; there is {}", NAMES.join(", ")),
        )),
    }
}
