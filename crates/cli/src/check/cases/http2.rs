//! HTTP/2: how a connection begins. One that begins like HTTP/2 and goes on otherwise has to be closed.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::time::timeout;

use crate::check::bench::Bench;
use crate::check::case::{Case, Need, Script, script};
use crate::check::outcome::shortened;
use crate::check::wire::http2::PREFACE;

/// The cases.
pub(super) fn cases() -> Vec<Case> {
    let closed = |name, claim, does, run: Script| {
        script(name, claim, &["JH-30"], (does, "the connection closes, without an answer in HTTP/1.1"), run)
            .needs(Need::Http2)
            .hostile()
    };
    vec![
        closed(
            "http2-preface",
            "a wrong preface closes the connection",
            "PRI * HTTP/2.0, an empty line, and XX instead of SM",
            |bench| Box::pin(refused(bench, b"PRI * HTTP/2.0\r\n\r\nXX\r\n\r\n".to_vec())),
        ),
        closed(
            "http2-preface-request",
            "an HTTP/1.1 request after half a preface is not answered",
            "PRI * HTTP/2.0, an empty line, and an HTTP/1.1 POST",
            |bench| {
                let request = request(bench);
                Box::pin(refused(bench, [&PREFACE[..18], &request].concat()))
            },
        ),
        closed(
            "http2-no-settings",
            "an HTTP/1.1 request in place of frames is not answered",
            "the HTTP/2 preface, then an HTTP/1.1 POST",
            |bench| {
                let request = request(bench);
                Box::pin(refused(bench, [PREFACE, &request].concat()))
            },
        ),
    ]
}

/// A valid call as an HTTP/1.1 request.
fn request(bench: &Bench) -> Vec<u8> {
    crate::check::wire::Request::post(bench.good(1)).bytes(&bench.endpoint)
}

/// Sends this and expects the connection to close. Frames that say why may come first.
async fn refused(bench: &Bench, bytes: Vec<u8>) -> Result<String, String> {
    let mut raw = bench.endpoint.open_http2().await.map_err(|error| error.to_string())?;
    let mut came = Vec::new();
    let exchange = async {
        // The server may close before it has read everything; what it sent can still be read.
        let _ = raw.write_all(&bytes).await;
        let _ = raw.flush().await;
        let _ = raw.read_to_end(&mut came).await;
    };
    let is_closed = timeout(bench.timeout, exchange).await.is_ok();
    if came.starts_with(b"HTTP/1") {
        return Err(format!("an answer in HTTP/1.1: {}", shortened(&String::from_utf8_lossy(&came), 100)));
    }
    match is_closed {
        true => Ok(format!("the connection closes after {} bytes of HTTP/2", came.len())),
        false => Err(format!("the connection stays open for {:?}", bench.timeout)),
    }
}
