//! TLS as both sides meet it: who is trusted, who calls, what goes wrong and how it is told.
#![cfg(feature = "tls")]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

#[path = "support/certificates.rs"]
mod certificates;
mod support;

use std::time::Duration;

use certificates::Authority;
use rcgen::date_time_ymd;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use support::{ADD, Raw, ask, post, within};
use switchboard_core::{CallError, Context, ErrorObject, Peer, Router};
use switchboard_transport::http::{Client, HttpClientOptions};
use switchboard_transport::server::{Handle, Server, ServerOptions};
use switchboard_transport::tls::{
    CallerProof, ClientFiles, ClientTls, PeerCertificate, ServerFiles, ServerTls, TlsError, Trust,
};
use switchboard_transport::{Dial, DialError};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinHandle;

struct Running {
    url: String,
    handle: Handle,
    task: JoinHandle<()>,
}

impl Running {
    async fn start(tls: ServerTls, options: ServerOptions) -> Running {
        let router = Router::builder()
            .method("add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b))
            .method("echo", |(text,): (String,), _| Ok::<_, ErrorObject>(text))
            .method("who", |(): (), cx: Context| {
                let certificate = cx.get::<PeerCertificate>();
                let names = certificate.map(|found| (found.subject.clone(), found.dns_names.clone()));
                Ok::<_, ErrorObject>((cx.origin().transport, names))
            });
        let mut server = Server::new(router.build().unwrap()).with_tls(tls).with_options(options);
        server.listen("https://127.0.0.1:0").await.unwrap();
        let (url, handle) = (server.urls().next().unwrap(), server.handle());
        Running { url, handle, task: tokio::spawn(server.serve()) }
    }

    async fn with(files: ServerFiles) -> Running {
        Running::start(ServerTls::load(files).unwrap(), ServerOptions::default()).await
    }

    fn address(&self) -> std::net::SocketAddr {
        self.url.strip_prefix("https://").unwrap().parse().unwrap()
    }

    async fn peer(&self, tls: ClientTls) -> Peer {
        Dial::new(&self.url).unwrap().with_tls(tls).connect().await.unwrap()
    }

    async fn add(&self, tls: ClientTls) -> Result<i64, CallError> {
        within(self.peer(tls).await.call("add", [2, 3]).into_future()).await
    }

    async fn stop(self) {
        self.handle.shutdown();
        within(self.task).await.unwrap();
    }
}

/// What a call that cannot reach the server is told.
fn complaint(outcome: Result<i64, CallError>) -> String {
    match outcome {
        Err(error @ CallError::CannotConnect(_)) => error.to_string(),
        other => panic!("{other:?}"),
    }
}

// SEC-H-07
#[tokio::test]
async fn calls_go_over_tls_in_either_version_of_http() {
    let authority = Authority::new();
    let server = Running::with(authority.server()).await;
    for http2 in [false, true] {
        let options = HttpClientOptions::default().with_http2(http2).with_tls(Some(authority.client(None)));
        let peer = Peer::new(Client::with_options(&server.url, options).unwrap());
        let who: (String, Option<(String, Vec<String>)>) = peer.call("who", ()).await.unwrap();
        assert_eq!(who, ("https".to_owned(), None));
        let text = "x".repeat(3 << 20);
        let same: String = within(peer.call("echo", [&text]).into_future()).await.unwrap();
        assert!(same == text, "a large text comes back as it was");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_callers_certificate_is_in_the_context_of_its_calls() {
    let authority = Authority::new();
    let files = authority.server().with_client_ca(Some(authority.file("ca.pem")));
    let server = Running::with(files).await;
    let alice = authority.issue("alice", &["alice.example"], |_| ());
    let peer = server.peer(authority.client(Some(alice))).await;
    let who: (String, Option<(String, Vec<String>)>) = peer.call("who", ()).await.unwrap();
    assert_eq!(who.1, Some(("CN=alice".to_owned(), vec!["alice.example".to_owned()])));

    let error = complaint(server.add(authority.client(None)).await);
    assert!(error.contains("requires a client certificate"), "{error}");

    let other = Authority::new();
    let mallory = other.issue("mallory", &["alice.example"], |_| ());
    let error = complaint(server.add(authority.client(Some(mallory))).await);
    assert!(error.contains("rejected our client certificate"), "{error}");
    server.stop().await;
}

/// What comes of one call by a caller without a certificate, in words.
async fn told(url: &str, authority: &Authority, text: &str) -> String {
    let dial = Dial::new(url).unwrap().with_tls(authority.client(None));
    match within(dial.connect()).await {
        Err(error) => {
            assert!(matches!(error, DialError::Refused(_)), "{error:?}");
            error.to_string()
        }
        Ok(peer) => {
            let error = within(peer.call::<String>("echo", [text]).into_future()).await.unwrap_err();
            assert!(matches!(error, CallError::CannotConnect(_)), "{error:?}");
            error.to_string()
        }
    }
}

#[tokio::test]
async fn a_caller_without_a_certificate_is_told_every_time_that_it_needs_one() {
    let authority = Authority::new();
    let files = authority.server().with_client_ca(Some(authority.file("ca.pem")));
    let mut server = Server::new(support::router()).with_tls(ServerTls::load(files).unwrap());
    for scheme in ["https", "wss", "tls"] {
        server.listen(&format!("{scheme}://127.0.0.1:0")).await.unwrap();
    }
    let urls: Vec<_> = server.urls().collect();
    let (handle, serving) = (server.handle(), tokio::spawn(server.serve()));
    // A short call is sent before the server has decided, a long one is on its way when it has.
    let long = "x".repeat(1 << 20);
    for url in &urls {
        for text in ["x"; 10].into_iter().chain([&*long; 5]) {
            let told = told(url, &authority, text).await;
            assert!(told.contains("requires a client certificate"), "{url}: {told}");
        }
    }
    handle.shutdown();
    within(serving).await.unwrap();
}

#[tokio::test]
async fn where_a_certificate_is_optional_a_caller_without_one_is_nobody() {
    let authority = Authority::new();
    let client_ca = Some(authority.file("ca.pem"));
    let files = authority.server().with_client_ca(client_ca).with_proof(CallerProof::Optional);
    let server = Running::with(files).await;
    let peer = server.peer(authority.client(None)).await;
    let who: (String, Option<(String, Vec<String>)>) = peer.call("who", ()).await.unwrap();
    assert_eq!(who.1, None);
    server.stop().await;
}

#[tokio::test]
async fn the_usual_mistakes_are_told_in_plain_words() {
    let authority = Authority::new();
    let stranger = Authority::new();
    type Change = fn(&mut rcgen::CertificateParams);
    let check = async |hosts: &[&str], change: Change, trusted: &Authority, expected: &str| {
        let (certificate, key) = authority.issue("wrong", hosts, change);
        let server = Running::with(ServerFiles::new(certificate, key)).await;
        let error = complaint(server.add(trusted.client(None)).await);
        assert!(error.contains(expected), "{expected}: {error}");
        server.stop().await;
    };
    let here = &["127.0.0.1"];
    check(&["a.example"], |_| (), &authority, "is for a.example, not for 127.0.0.1").await;
    let expired: Change = |params| params.not_after = date_time_ymd(2001, 1, 1);
    check(here, expired, &authority, "has expired").await;
    let early: Change = |params| params.not_before = date_time_ymd(2999, 1, 1);
    check(here, early, &authority, "not valid yet").await;
    check(here, |_| (), &stranger, "an issuer that is not trusted").await;
}

#[tokio::test]
async fn whoever_trusts_anybody_or_names_the_server_gets_through() {
    let authority = Authority::new();
    let (certificate, key) = authority.issue("server", &["a.example"], |_| ());
    let server = Running::with(ServerFiles::new(certificate, key)).await;
    let anybody = ClientFiles::default().with_trust(Trust::Anybody);
    assert_eq!(server.add(ClientTls::load(&anybody).unwrap()).await, Ok(5));
    let named = ClientFiles::default()
        .with_trust(Trust::Authority(authority.file("ca.pem")))
        .with_server_name(Some("a.example".to_owned()));
    assert_eq!(server.add(ClientTls::load(&named).unwrap()).await, Ok(5));
    server.stop().await;
}

#[tokio::test]
async fn plain_text_at_a_tls_port_and_the_reverse_are_told_apart() {
    let authority = Authority::new();
    let server = Running::with(authority.server()).await;
    let received = ask(server.address(), post(server.address(), "", ADD)).await;
    assert_eq!((received.status, received.header("connection")), (400, Some("close")));
    assert!(received.body.contains("use https://"), "{}", received.body);
    server.stop().await;

    let plain = support::serve().await;
    let url = plain.url().replace("http://", "https://");
    let peer = Dial::new(&url).unwrap().with_tls(authority.client(None)).connect().await.unwrap();
    let error = complaint(within(peer.call("add", [2, 3]).into_future()).await);
    assert!(error.contains("does not use TLS on this port"), "{error}");
    plain.stop().await;
}

#[tokio::test]
async fn a_new_certificate_is_used_and_a_broken_one_is_not() {
    let (authority, next) = (Authority::new(), Authority::new());
    let files = authority.server();
    let tls = ServerTls::load(files.clone()).unwrap();
    let server = Running::start(tls.clone(), ServerOptions::default()).await;
    assert_eq!(server.add(authority.client(None)).await, Ok(5));

    std::fs::write(&files.certificate, "no certificate").unwrap();
    assert!(matches!(tls.reload(), Err(TlsError::Certificate(path)) if path == files.certificate));
    assert_eq!(server.add(authority.client(None)).await, Ok(5), "the old one stays");

    let renewed = next.server();
    std::fs::copy(renewed.certificate, &files.certificate).unwrap();
    assert!(matches!(tls.reload(), Err(TlsError::Mismatch { .. })), "the key is still the old one");
    std::fs::copy(renewed.key, &files.key).unwrap();
    tls.reload().unwrap();
    assert_eq!(server.add(next.client(None)).await, Ok(5));
    complaint(server.add(authority.client(None)).await);
    server.stop().await;
}

#[tokio::test]
async fn a_handshake_that_does_not_come_holds_a_slot_only_so_long() {
    let authority = Authority::new();
    let tls = ServerTls::load(authority.server()).unwrap();
    let header_time = Duration::from_millis(50);
    let options = ServerOptions::default().with_connections(1).with_header_time(header_time);
    let server = Running::start(tls, options).await;
    for begun in [&b""[..], &[22], &[22, 3, 1, 2, 0]] {
        let mut silent = Raw::open(server.address()).await;
        silent.send(begun).await;
        assert!(silent.is_closed().await, "{begun:?}");
    }
    within(async { while server.add(authority.client(None)).await != Ok(5) {} }).await;
    server.stop().await;
}

#[tokio::test]
async fn a_handshake_under_way_does_not_delay_the_end() {
    let authority = Authority::new();
    let server = Running::with(authority.server()).await;
    let mut silent = Raw::open(server.address()).await;
    silent.send([22]).await;
    assert_eq!(server.add(authority.client(None)).await, Ok(5));
    server.stop().await;
    assert!(silent.is_closed().await);
}

#[test]
fn what_is_wrong_with_a_file_is_said() {
    let authority = Authority::new();
    let files = authority.server();
    let check = |files: ServerFiles, expected: &str| {
        let error = ServerTls::load(files).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    };
    check(files.clone().with_certificate(authority.file("none.pem")), "cannot read");
    check(files.clone().with_certificate(files.key.clone()), "contains no usable certificate");
    check(files.clone().with_key(files.certificate.clone()), "contains no usable private key");
    let (_, key) = authority.issue("other", &["a.example"], |_| ());
    check(files.clone().with_key(key), "does not belong to the certificate");
    check(files.clone().with_client_ca(Some(files.key)), "contains no usable certificate");
}

#[tokio::test]
async fn a_url_for_tls_needs_a_certificate() {
    let mut server = Server::new(support::router());
    let error = server.listen("https://127.0.0.1:0").await.unwrap_err().to_string();
    assert!(error.contains("needs a certificate"), "{error}");
}

// SEC-H-05
#[tokio::test]
async fn a_handshake_that_does_not_come_to_its_end_is_closed() {
    let authority = Authority::new();
    let options = ServerOptions::default().with_header_time(Duration::from_millis(100));
    let server = Running::start(ServerTls::load(authority.server()).unwrap(), options).await;
    // Nothing; the first byte; a record that announces more than it has.
    for sent in [&b""[..], &[22], &[22, 3, 1, 2, 0, 1, 0]] {
        let mut raw = Raw::open(server.address()).await;
        raw.send(sent).await;
        assert!(raw.is_closed().await, "{sent:?}");
    }
    assert_eq!(server.add(authority.client(None)).await, Ok(5));
    server.stop().await;
}

// RFC 9113, 3.2 and 3.4
#[tokio::test]
async fn where_http2_was_agreed_on_nothing_is_answered_as_http1() {
    let authority = Authority::new();
    let server = Running::with(authority.server()).await;
    let mut roots = rustls::RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(authority.file("ca.pem")).unwrap()).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let mut config = config.unwrap().with_root_certificates(roots).with_no_client_auth();
    for (protocol, is_answered) in [("http/1.1", true), ("h2", false)] {
        config.alpn_protocols = vec![protocol.as_bytes().to_vec()];
        let connector = tokio_rustls::TlsConnector::from(std::sync::Arc::new(config.clone()));
        let tcp = tokio::net::TcpStream::connect(server.address()).await.unwrap();
        let mut tls = connector.connect("127.0.0.1".try_into().unwrap(), tcp).await.unwrap();
        tls.write_all(post(server.address(), "connection: close\r\n", ADD).as_bytes()).await.unwrap();
        let mut said = Vec::new();
        let _ = within(tls.read_to_end(&mut said)).await;
        assert_eq!(said.starts_with(b"HTTP/1.1 200"), is_answered, "{protocol}");
        assert_eq!(said.starts_with(b"HTTP"), is_answered, "{protocol}");
    }
    server.stop().await;
}

// A server without HTTP/2 gets plain calls, which hyper has no part in.
#[tokio::test]
async fn calls_over_http1_share_a_connection() {
    let authority = Authority::new();
    let (certificate, key) = authority.issue("http1", &["127.0.0.1"], |_| ());
    let certificates = vec![CertificateDer::from_pem_file(certificate).unwrap()];
    let key = rustls::pki_types::PrivateKeyDer::from_pem_file(key).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    let config = config.unwrap().with_no_client_auth().with_single_cert(certificates, key).unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(std::sync::Arc::new(config));
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = tokio::spawn(async move {
        let mut tls = acceptor.accept(listener.accept().await.unwrap().0).await.unwrap();
        for id in 1..=3 {
            let mut read = Vec::new();
            while read.last() != Some(&b'}') {
                assert_ne!(tls.read_buf(&mut read).await.unwrap(), 0);
            }
            let body = format!(r#"{{"jsonrpc":"2.0","result":"{}","id":{id}}}"#, "x".repeat(id * 9000));
            let head = format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n", body.len());
            tls.write_all((head + &body).as_bytes()).await.unwrap();
            tls.flush().await.unwrap();
        }
    });
    let options = HttpClientOptions::default().with_tls(Some(authority.client(None)));
    let peer = Peer::new(Client::with_options(&format!("https://{address}/"), options).unwrap());
    for id in 1..=3 {
        let text: String = within(async { peer.call("echo", ["x"]).await }).await.unwrap();
        assert_eq!(text.len(), id * 9000);
    }
    within(server).await.unwrap();
}
