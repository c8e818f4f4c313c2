//! Sends any bytes to two servers, of which only one has the fast path for plain requests. Their answers must be identical,
//! except for dates and addresses. The first byte of an input chooses the options of the servers and where the rest is cut
//! into two writes.

#![no_main]

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::LazyLock;
use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use switchboard_core::{ErrorObject, Router, Settings, Tap};
use switchboard_transport::http::{
    Cors, Endpoint, EndpointOptions, Hosts, HttpServer, Origins, StatusMapping,
};
use switchboard_transport::server::ServerOptions;
use tokio::runtime::{Builder, Runtime};

/// A server that takes this long hangs.
const PATIENCE: Duration = Duration::from_secs(10);

/// Stands for the address of the server in requests and answers.
const HOST: &[u8] = b"HOST";

/// Follows every input, so that the servers close the connection. Half-closing it would make answers depend on timing: hyper
/// gives up a request when it notices.
const LAST: &[u8] =
    b"POST / HTTP/1.1\r\nhost: HOST\r\nconnection: close\r\ncontent-type: application/json\r\n\
    content-length: 2\r\n\r\n{}";

/// How long the servers wait for the rest of a head or a body.
const REQUEST_TIME: Duration = Duration::from_millis(50);

/// How often two answers may differ.
const ATTEMPTS: u32 = 5;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, requests)) = bytes.split_first() else { return };
    let (plain, hyper) = SERVERS.pairs[usize::from(first & 0x0f)];
    let cut = requests.len() * usize::from(first >> 4) / 16;
    let both = || Some((talk(plain, requests, cut)?, talk(hyper, requests, cut)?));
    // On a busy machine a server may read a request only after `REQUEST_TIME`. A difference that is none of time stays.
    for attempt in 1..=ATTEMPTS {
        let Some((said, said_by_hyper)) = both() else { return };
        if said == said_by_hyper {
            return;
        }
        assert!(
            attempt < ATTEMPTS,
            "{}\n\nand by hyper:\n{}",
            String::from_utf8_lossy(&said),
            String::from_utf8_lossy(&said_by_hyper)
        );
    }
});

struct Servers {
    /// The addresses of servers with the fast path, each with its counterpart without.
    pairs: Vec<(SocketAddr, SocketAddr)>,
    _runtime: Runtime,
}

static SERVERS: LazyLock<Servers> = LazyLock::new(|| {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().expect("a runtime");
    let pairs = all_options().map(|options| {
        let serve = |tap| {
            // A tap sees what hyper reads and writes, so with one nothing is plain.
            let settings = Settings::default().with_tap(tap);
            let times = ServerOptions::default().with_header_time(REQUEST_TIME);
            let server =
                runtime.block_on(HttpServer::bind("127.0.0.1:0")).expect("a free port").with_options(times);
            let address = server.local_addr();
            runtime.spawn(server.serve_endpoint(
                Endpoint::new(router()).with_options(options.clone()).with_settings(settings),
            ));
            address
        };
        (serve(None), serve(Some(Tap::new(|_, _| {}))))
    });
    Servers { pairs: pairs.collect(), _runtime: runtime }
});

fn router() -> Router {
    let router =
        Router::builder().method("add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a.wrapping_add(b)));
    router.build().expect("there is one name")
}

/// Every combination of the options that change how a request is answered, by the bits of its number.
fn all_options() -> impl Iterator<Item = EndpointOptions> {
    (0..16).map(|bits| {
        let has = |bit: u8| bits & bit != 0;
        let mut options = EndpointOptions::default().with_body_time(REQUEST_TIME);
        options.cors = has(1).then(Cors::default);
        if has(2) {
            options.status = StatusMapping::Draft2008;
        }
        if has(4) {
            options.hosts = Hosts::any();
        }
        if has(8) {
            options.origins = Origins::any();
        }
        options
    })
}

/// Everything a server answers to these bytes. `None` if the answer may be lost, because the server closed the connection
/// before it had read all of them.
fn talk(address: SocketAddr, requests: &[u8], cut: usize) -> Option<Vec<u8>> {
    let own = address.to_string();
    let mut stream = TcpStream::connect(address).expect("the server listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a time that is not zero");
    stream.set_nodelay(true).expect("it is a TCP stream");
    let (before, behind) = requests.split_at(cut);
    // The server may have closed the connection already.
    let _ = stream.write_all(&replaced(before, HOST, own.as_bytes()));
    if cut > 0 {
        // So that the server, which has a thread of its own, gets to read the first part alone.
        std::thread::yield_now();
    }
    let _ = stream.write_all(&replaced(&[behind, LAST].concat(), HOST, own.as_bytes()));
    let mut said = Vec::new();
    if let Err(error) = stream.read_to_end(&mut said) {
        assert_eq!(error.kind(), ErrorKind::ConnectionReset, "{error}");
        return None;
    }
    Some(without_dates(&replaced(&said, own.as_bytes(), HOST)))
}

fn replaced(text: &[u8], from: &[u8], to: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::with_capacity(text.len()), text);
    while let Some(at) = rest.windows(from.len()).position(|window| window == from) {
        out.extend_from_slice(&rest[..at]);
        out.extend_from_slice(to);
        rest = &rest[at + from.len()..];
    }
    out.extend_from_slice(rest);
    out
}

fn without_dates(text: &[u8]) -> Vec<u8> {
    let lines = text.split_inclusive(|byte| *byte == b'\n');
    lines.filter(|line| !line.starts_with(b"date: ")).flatten().copied().collect()
}
