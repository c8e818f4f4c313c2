//! HTTP/1.1, with its bytes in small writes over a real socket; client and server run in one thread.

use switchboard_core::{ErrorObject, Router};
use switchboard_transport::http::HttpServer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::Case;

const CALL: &str = r#"{"jsonrpc":"2.0","id":1,"method":"none"}"#;

pub(crate) const CASES: &[Case] = &[
    ("http: the head of a plain request, byte by byte", 512, |size| {
        let head = format!("{}x: {}\r\ncontent-length: {}\r\n\r\n", HEAD, "x".repeat(size), CALL.len());
        talk(head + CALL, 1)
    }),
    ("http: the body of a plain request, byte by byte", 512, |size| {
        let body = CALL.to_owned() + &" ".repeat(size);
        talk(format!("{HEAD}content-length: {}\r\n\r\n{body}", body.len()), 1)
    }),
    ("http: the head of another request, byte by byte", 512, |size| {
        talk(format!("{HEAD}expect: x\r\nx: {}\r\ncontent-length: 0\r\n\r\n", "x".repeat(size)), 1)
    }),
    ("http: chunks of one byte", 8 << 10, |size| {
        let body = CALL.to_owned() + &" ".repeat(size / 6);
        let chunks: String = body.chars().map(|byte| format!("1\r\n{byte}\r\n")).collect();
        talk(format!("{HEAD}transfer-encoding: chunked\r\n\r\n{chunks}0\r\n\r\n"), 4 << 10)
    }),
    ("http: requests in one write", 8 << 10, |size| {
        let one = format!(
            "{}content-length: {}\r\n\r\n{CALL}",
            HEAD.replace("connection: close\r\n", ""),
            CALL.len()
        );
        let last = format!("{HEAD}content-length: {}\r\n\r\n{CALL}", CALL.len());
        talk(one.repeat(size / one.len()) + &last, 4 << 10)
    }),
];

const HEAD: &str =
    "POST / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n";

/// Sends these bytes, so many a write, and reads the answers to their end.
fn talk(request: String, each: usize) -> Box<dyn FnOnce()> {
    // The server has a look at its socket after each turn of the client, so that it reads what each write brings.
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().event_interval(1).build().unwrap();
    let router = Router::builder().method("none", |(): (), _| Ok::<_, ErrorObject>(())).build().unwrap();
    let mut stream = runtime.block_on(async {
        let server = HttpServer::bind("127.0.0.1:0").await.unwrap();
        let address = server.local_addr();
        tokio::spawn(server.serve(router));
        TcpStream::connect(address).await.unwrap()
    });
    stream.set_nodelay(true).unwrap();
    Box::new(move || {
        runtime.block_on(async {
            for part in request.as_bytes().chunks(each) {
                if stream.write_all(part).await.is_err() {
                    break;
                }
                for _ in 0..3 {
                    tokio::task::yield_now().await;
                }
            }
            let mut answer = Vec::new();
            let _ = stream.read_to_end(&mut answer).await;
            assert!(answer.starts_with(b"HTTP/1.1 "));
        });
    })
}
