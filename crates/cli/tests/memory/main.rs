//! The most memory that hostile connections make `switchboard serve` hold, on every carrier, against the formula of SECURITY.md.
//!
//! Each test runs every attack of `attacks.rs` against a server of its own: some connections never read, the others read a byte
//! now and then. In the end an ordinary caller has to be answered, and the peak of the resident memory is compared.

#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "all of this is tests; what fails ends one")]
#![allow(clippy::print_stdout, reason = "what was measured")]
#![allow(dead_code, reason = "other tests use more of the programs that they start")]

mod attacks;
mod gateway;
mod hostile;
#[path = "../commands/program.rs"]
mod program;

use std::path::PathBuf;
use std::sync::Arc;

use attacks::Attack;
use hostile::{Hostile, Route};
use program::Serving;
use rustls::{ClientConfig, RootCertStore};

/// Hostile connections of each attack.
const CONNECTIONS: usize = 24;
/// What `--max-buffers` says.
const BUFFERS: usize = 16 * MIB;
/// The name of the most resident memory that a process had.
const PEAK: &str = "VmHWM:";
const MIB: usize = 1 << 20;
const KIB: usize = 1 << 10;

/// The formula of SECURITY.md, with the limits that `switchboard serve` has.
struct Formula {
    /// What one connection may hold that is not counted.
    connection: usize,
}

impl Formula {
    /// A connection of messages: buffers and what it may hold freely, calls under way, open streams.
    const DUPLEX: Formula = Formula { connection: 256 * KIB + 100 * 8 * KIB + 1024 * KIB };
    /// A connection with one request at a time.
    const ONE_REQUEST: Formula = Formula { connection: 256 * KIB };
    /// A connection with as many requests as HTTP/2 allows, each with its head.
    const MANY_REQUESTS: Formula = Formula { connection: 256 * KIB + 100 * (16 + 16 + 8) * KIB };

    /// The most that so many connections make the server hold, beside what it held before.
    fn most(&self, connections: usize) -> usize {
        // A thread may be writing the longest answer.
        let writing = 2 * 25 * MIB;
        // An allocator does not fill its pages.
        connections * self.connection + (BUFFERS + writing) * 5 / 4
    }
}

/// A folder for certificates and sockets, removed when dropped.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Folder {
        let folder = std::env::temp_dir().join(format!("sb-memory-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// Writes a certificate for 127.0.0.1 and its key. Gives how a client trusts it.
    fn certificate(&self) -> Arc<ClientConfig> {
        let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        std::fs::write(self.file("cert.pem"), made.cert.pem()).unwrap();
        std::fs::write(self.file("key.pem"), made.signing_key.serialize_pem()).unwrap();
        let mut roots = RootCertStore::empty();
        roots.add(made.cert.der().clone()).unwrap();
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        Arc::new(config.unwrap().with_root_certificates(roots).with_no_client_auth())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Runs every attack over this route and compares what the server holds with the formula.
fn check(scheme: &str, route: Route, formula: &Formula) {
    let folder = Folder::new(&format!("{scheme}-{route:?}"));
    let trust = folder.certificate();
    let (certificate, key, socket) = (folder.file("cert.pem"), folder.file("key.pem"), folder.file("s.sock"));
    let listen = match scheme {
        "unix" => format!("unix:{socket}"),
        scheme => format!("{scheme}://127.0.0.1:0"),
    };
    let buffers = BUFFERS.to_string();
    let mut arguments =
        vec!["serve", "--listen", "http://127.0.0.1:0", "--listen", &listen, "--max-buffers", &buffers];
    if ["tls", "wss"].contains(&scheme) {
        arguments.extend(["--tls-cert", &certificate, "--tls-key", &key]);
    }
    for attack in Attack::ALL {
        let mut command = program::program(&arguments);
        // The allocator keeps free memory for a moment, and longer on a busy machine. What counts is what the server holds.
        command.env("MIMALLOC_PURGE_DELAY", "0");
        let serving = Serving::spawn(command);
        let (innocent, url) = (serving.url(), serving.urls().remove(1));
        let before = serving.memory(PEAK);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let hostile = runtime
            .block_on(async { Hostile::start(&url, route, attack, CONNECTIONS, &trust).until_stuck().await });
        let (code, stdout, stderr) = program::parts(program::run(&["call", &innocent, "math/add", "2", "3"]));
        assert_eq!((code, &*stdout), (Some(0), "5\n"), "{scheme} {route:?} {attack:?}: {stderr}");
        let (held, most) = (serving.memory(PEAK) - before, formula.most(CONNECTIONS));
        drop(hostile);
        println!("{scheme} {route:?} {attack:?}: {} KiB of {} KiB", held / KIB, most / KIB);
        assert!(held <= most, "{scheme} {route:?} {attack:?}: {held} bytes are held, at most {most} may be");
    }
}

#[test]
fn tcp() {
    check("tcp", Route::Lines, &Formula::DUPLEX);
}

#[test]
fn tls() {
    check("tls", Route::Lines, &Formula::DUPLEX);
}

#[test]
fn unix_sockets() {
    check("unix", Route::Lines, &Formula::DUPLEX);
}

#[test]
fn websocket() {
    check("ws", Route::WebSocket, &Formula::DUPLEX);
}

#[test]
fn websocket_over_tls() {
    check("wss", Route::WebSocket, &Formula::DUPLEX);
}

#[test]
fn http1() {
    check("http", Route::Http1, &Formula::ONE_REQUEST);
}

#[test]
fn http1_with_bodies_of_unknown_length() {
    check("http", Route::Chunked, &Formula::ONE_REQUEST);
}

#[test]
fn http2() {
    check("http", Route::Http2, &Formula::MANY_REQUESTS);
}

#[test]
fn event_streams() {
    check("http", Route::Events, &Formula::ONE_REQUEST);
}

/// A server on stdio has one peer, and its formula for one connection.
#[test]
fn stdio() {
    for attack in Attack::ALL {
        let serving = hostile::Stdio::start(&BUFFERS.to_string());
        let before = serving.peak_memory();
        let (held, most) = (serving.attack(attack) - before, Formula::DUPLEX.most(1));
        println!("stdio {attack:?}: {} KiB of {} KiB", held / KIB, most / KIB);
        assert!(held <= most, "stdio {attack:?}: {held} bytes are held, at most {most} may be");
    }
}
