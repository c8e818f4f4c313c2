//! The HTTP/2 cases against servers whose behaviour is known: correct ones, and each faulty one that they are about.

use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::{bench, cases};
use crate::check::profile::{Profile, Verdict};
use crate::check::run::one;
use crate::check::watch::Watch;
use crate::check::wire::http2::{PREFACE, is_spoken};

/// The settings of the server, and its farewell for an error of the protocol.
const SETTINGS: &[u8] = &[0, 0, 0, 4, 0, 0, 0, 0, 0];
const GOAWAY: &[u8] = &[0, 0, 8, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1];
const BAD_REQUEST: &[u8] = b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
const ANSWER: &[u8] =
    b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 38\r\nConnection: close\r\n\r\n\
                        {\"jsonrpc\":\"2.0\",\"result\":19,\"id\":1}   ";

/// What a server does about a connection that begins like HTTP/2 and goes on otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Manners {
    /// It says in frames that this is an error, and closes.
    Farewell,
    /// It closes.
    Close,
    /// It answers as if it were HTTP/1.1.
    OldAnswer,
    /// It keeps the connection.
    Wait,
}

/// The URL of a server with these manners, which speaks HTTP/2, and answers valid calls in HTTP/1.1.
async fn server(manners: Manners) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((stream, _)) = listener.accept().await {
            tokio::spawn(serve(stream, manners));
        }
    });
    url
}

async fn serve(mut stream: TcpStream, manners: Manners) {
    let mut came = Vec::new();
    // Enough to see how it goes on, or the beginning of a request.
    while came.len() < PREFACE.len() && stream.read_buf(&mut came).await.unwrap() > 0 {}
    let is_good = came.starts_with(&[PREFACE, SETTINGS].concat());
    let answers: &[&[u8]] = match (came.starts_with(b"PRI "), manners) {
        (false, _) => &[ANSWER],
        (true, _) if is_good => &[SETTINGS],
        (true, Manners::Farewell) => &[SETTINGS, GOAWAY],
        (true, Manners::OldAnswer) => &[BAD_REQUEST],
        (true, Manners::Close | Manners::Wait) => &[],
    };
    stream.write_all(&answers.concat()).await.unwrap();
    if manners == Manners::Wait && !is_good && came.starts_with(b"PRI ") {
        let _ = stream.read_to_end(&mut came).await;
    }
}

#[tokio::test]
async fn a_bad_preface_that_is_read_as_http_1_is_found() {
    // JH-30
    for (manners, expected) in [
        (Manners::Farewell, Verdict::Pass),
        (Manners::Close, Verdict::Pass),
        (Manners::OldAnswer, Verdict::Fail),
        (Manners::Wait, Verdict::Fail),
    ] {
        let url = server(manners).await;
        let time = Duration::from_secs(if manners == Manners::Wait { 1 } else { 20 });
        let mut bench = bench(&url, Profile::Strict, time);
        assert!(is_spoken(&bench.endpoint, time).await, "{manners:?}");
        bench.found.has_http2 = true;
        for case in cases::all().into_iter().filter(|case| case.area == "http2") {
            let finding = one(&mut bench, &case, &mut Watch::default()).await;
            assert_eq!(finding.verdict, expected, "{manners:?}: {finding:?}");
        }
    }
}

#[tokio::test]
async fn the_cases_are_skipped_for_a_server_without_http_2() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let _ = stream.read(&mut [0; 100]).await;
        stream.write_all(BAD_REQUEST).await.unwrap();
    });
    let mut bench = bench(&url, Profile::Strict, Duration::from_secs(20));
    bench.found.has_http2 = is_spoken(&bench.endpoint, bench.timeout).await;
    for case in cases::all().into_iter().filter(|case| case.area == "http2") {
        assert_eq!(
            one(&mut bench, &case, &mut Watch::default()).await.verdict,
            Verdict::Skip,
            "{}",
            case.name
        );
    }
}
