//! WebSocket connections that break the rules, or wear the server down. Each ends as JT-01 says.

use std::sync::Arc;
use std::time::Duration;

use bytes::BytesMut;
use switchboard_core::{ErrorObject, Limits, Router, Settings};
use switchboard_tests::socket::{Socket, frame};
use switchboard_transport::http::{Endpoint, EndpointOptions, HttpServer};
use switchboard_transport::server::Handle;
use switchboard_transport::ws;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

const ADD: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"add","params":[2,3]}"#;
const SUM: &[u8] = br#"{"jsonrpc":"2.0","result":5,"id":1}"#;

struct Serving {
    address: std::net::SocketAddr,
    handle: Handle,
    tasks: JoinSet<()>,
}

async fn serve(limits: Limits, websocket: ws::WebSocketOptions) -> Serving {
    let router = Router::builder()
        .method("add", |(a, b): (i64, i64), _| Ok::<_, ErrorObject>(a + b))
        .method("text", |(n,): (usize,), _| Ok::<_, ErrorObject>("x".repeat(n)))
        .async_method("hang", |(): (), _| std::future::pending::<Result<(), ErrorObject>>())
        .build()
        .unwrap();
    let server = HttpServer::bind("127.0.0.1:0").await.unwrap();
    let options = EndpointOptions::default().with_websocket(Some(websocket));
    let endpoint =
        Endpoint::new(router).with_settings(Settings::default().with_limits(limits)).with_options(options);
    let (address, handle) = (server.local_addr(), server.handle());
    let mut tasks = JoinSet::new();
    tasks.spawn(server.serve_endpoint(endpoint));
    Serving { address, handle, tasks }
}

impl Serving {
    async fn guest(&self) -> Socket {
        Socket::open(TcpStream::connect(self.address).await.unwrap(), "/rpc/ws").await
    }
}

async fn usual() -> Serving {
    serve(Limits::default(), ws::WebSocketOptions::default()).await
}

// JT-01
#[tokio::test]
async fn every_violation_is_told_by_its_code() {
    let limits = Limits::default().with_frame(1000).with_reply(1000).with_batch_reply(1000);
    let longest = limits.longest_frame();
    let serving = serve(limits, ws::WebSocketOptions::default()).await;
    let mut announced = frame(0x81, b"");
    announced.truncate(1);
    announced.push(0x80 | 127);
    announced.extend_from_slice(&(longest as u64 + 1).to_be_bytes());
    announced.extend_from_slice(&[0; 4]);
    let endless = [frame(0x02, &vec![b'x'; longest]), frame(0x80, b"x")].concat();
    let parts = |parts: &[(u8, &[u8])]| parts.iter().flat_map(|(first, text)| frame(*first, text)).collect();
    let cases: Vec<(&str, Vec<u8>, u16)> = vec![
        ("not masked", vec![0x81, 0x02, b'{', b'}'], 1002),
        ("reserved bit", frame(0xc1, ADD), 1002),
        ("unknown opcode", frame(0x83, b""), 1002),
        ("unknown control", frame(0x8b, b""), 1002),
        ("fragmented control", frame(0x09, b""), 1002),
        ("long control", frame(0x89, &[b'x'; 126]), 1002),
        ("nothing to continue", frame(0x80, b"x"), 1002),
        ("a message in another", parts(&[(0x01, b"a"), (0x81, b"b")]), 1002),
        ("long form of a length", [&[0x81, 0xfe, 0, 5, 0, 0, 0, 0][..], b"12345"].concat(), 1002),
        ("half a code", frame(0x88, &[3]), 1002),
        ("a code that none sends", frame(0x88, &1005_u16.to_be_bytes()), 1002),
        ("a reason that is no text", frame(0x88, &[3, 0xe8, 0xff]), 1007),
        ("no text", frame(0x81, b"\"\xff\""), 1007),
        ("no text over parts", parts(&[(0x01, b"\xce"), (0x00, b"\xba"), (0x80, b"\xed\xa0\x80")]), 1007),
        ("text that ends within a character", parts(&[(0x01, b"\xce"), (0x80, b"")]), 1007),
        ("an announced length", announced, 1009),
        ("parts without end", endless, 1009),
        ("a close without a reason", frame(0x88, &1000_u16.to_be_bytes()), 1000),
        ("a close of its own", frame(0x88, &[&3000_u16.to_be_bytes()[..], b"bye"].concat()), 3000),
    ];
    for (what, bytes, expected) in cases {
        let mut guest = serving.guest().await;
        guest.send_raw(&bytes).await;
        assert_eq!(guest.close_code().await, Some(expected), "{what}");
        assert!(guest.is_ended().await, "{what}");
    }
}

#[tokio::test]
async fn a_call_is_answered_wherever_its_bytes_are_cut() {
    let serving = usual().await;
    let parts = [frame(0x01, &ADD[..20]), frame(0x89, b"between"), frame(0x80, &ADD[20..])].concat();
    for bytes in [frame(0x81, ADD), parts] {
        let mut guest = serving.guest().await;
        for cut in 0..bytes.len() {
            guest.send_raw(&bytes[..cut]).await;
            tokio::task::yield_now().await;
            guest.send_raw(&bytes[cut..]).await;
            assert_eq!(guest.receive().await.unwrap().1, SUM, "cut at {cut}");
        }
    }
}

#[tokio::test]
async fn a_connection_cut_at_any_byte_harms_nobody() {
    let serving = usual().await;
    let bytes = frame(0x81, ADD);
    for cut in 0..bytes.len() {
        let mut guest = serving.guest().await;
        guest.send_raw(&bytes[..cut]).await;
        drop(guest);
    }
    let mut guest = serving.guest().await;
    guest.send_raw(&bytes).await;
    assert_eq!(guest.receive().await.unwrap().1, SUM);
}

#[tokio::test]
async fn a_flood_of_pings_is_answered_by_few_pongs_and_holds_nobody_up() {
    let serving = usual().await;
    let mut guest = serving.guest().await;
    let flood: Vec<u8> = (0..20_000).flat_map(|_| frame(0x89, b"ping")).collect();
    guest.send_raw(&flood).await;
    guest.send_raw(&frame(0x81, ADD)).await;
    assert_eq!(guest.receive().await.unwrap().1, SUM);
}

#[tokio::test]
async fn a_close_within_a_message_ends_the_connection() {
    let serving = usual().await;
    let mut guest = serving.guest().await;
    guest.send_raw(&[frame(0x01, b"{"), frame(0x88, &1001_u16.to_be_bytes())].concat()).await;
    assert_eq!(guest.close_code().await, Some(1001));
}

// SEC-Z-02
#[tokio::test]
async fn a_message_that_drips_is_ended() {
    let options = ws::WebSocketOptions::default().with_message_time(Duration::from_millis(50));
    let serving = serve(Limits::default(), options).await;
    let mut guest = serving.guest().await;
    guest.send_raw(&frame(0x81, ADD)[..10]).await;
    assert_eq!(guest.close_code().await, Some(1008));
}

// SUB-07
#[tokio::test]
async fn a_silent_far_side_is_pinged_and_then_closed() {
    let time = Duration::from_millis(20);
    let options = ws::WebSocketOptions::default().with_ping_time(Some(time)).with_pong_time(time);
    let serving = serve(Limits::default(), options).await;
    let mut guest = serving.guest().await;
    assert!(guest.is_pinged().await);
    assert!(guest.is_ended().await);
}

#[tokio::test]
async fn a_peer_that_never_reads_is_dropped() {
    let limits = Limits::default().with_outbox(64 << 10).with_send_time(Duration::from_secs(1));
    let serving = serve(limits, ws::WebSocketOptions::default()).await;
    let mut guest = serving.guest().await;
    let call = frame(0x81, br#"{"jsonrpc":"2.0","id":1,"method":"text","params":[1000000]}"#);
    // As much as no system keeps for a socket; the server stops reading, and gives up.
    while guest.try_send_raw(&call).await {}
    assert!(serving.tasks.len() == 1);
}

// JT-01
#[tokio::test]
async fn a_server_that_stops_says_so_and_cancels_what_hangs() {
    let limits = Limits::default().with_drain_time(Duration::from_millis(100));
    let mut serving = serve(limits, ws::WebSocketOptions::default()).await;
    let (mut idle, mut busy) = (serving.guest().await, serving.guest().await);
    busy.send_raw(&frame(0x81, br#"{"jsonrpc":"2.0","id":1,"method":"hang"}"#)).await;
    busy.send_raw(&frame(0x81, ADD)).await;
    assert_eq!(busy.receive().await.unwrap().1, SUM);
    serving.handle.shutdown();
    assert_eq!(idle.close_code().await, Some(1001));
    idle.send_raw(&frame(0x88, &1001_u16.to_be_bytes())).await;
    drop(idle);
    while busy.receive().await.is_some() {}
    drop(busy);
    serving.tasks.join_next().await.unwrap().unwrap();
}

// SEC-O-02, SEC-O-07
#[tokio::test]
async fn a_handshake_is_refused_with_a_status_that_says_why() {
    const KEY: &str = "sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n";
    let serving = usual().await;
    let host = serving.address;
    let ask = async |request: String| {
        let mut tcp = TcpStream::connect(host).await.unwrap();
        tcp.write_all(request.as_bytes()).await.unwrap();
        let mut answer = BytesMut::new();
        while !answer.windows(4).any(|part| part == b"\r\n\r\n") {
            assert_ne!(tcp.read_buf(&mut answer).await.unwrap(), 0, "{request}");
        }
        String::from_utf8_lossy(&answer).into_owned()
    };
    let head = |path: &str, more: &str| {
        format!(
            "GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: upgrade\r\nupgrade: websocket\r\n{more}\r\n"
        )
    };
    let version = "sec-websocket-version: 13\r\n";
    let check = async |request: String, expected: &str| {
        let answer = ask(request.clone()).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {expected} ")), "{request}\n{answer}");
        answer
    };
    for path in ["/", "/rpc", "/jsonrpc", "/rpc/ws", "/ws"] {
        check(head(path, &format!("{version}{KEY}")), "101").await;
    }
    let own = format!("{version}{KEY}origin: http://{host}\r\nsec-websocket-protocol: a, jsonrpc\r\n");
    let answer = check(head("/rpc", &own), "101").await;
    assert!(answer.contains("sec-websocket-accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"), "{answer}");
    assert!(answer.contains("sec-websocket-protocol: jsonrpc\r\n"), "{answer}");
    check(head("/other", &format!("{version}{KEY}")), "404").await;
    check(head("/rpc", &format!("{version}{KEY}origin: http://evil.example\r\n")), "403").await;
    check(head("/rpc", &format!("{version}{KEY}origin: null\r\n")), "403").await;
    check(head("/rpc", &format!("{version}{KEY}")).replace(&host.to_string(), "evil.example"), "403").await;
    let answer = check(head("/rpc", &format!("sec-websocket-version: 8\r\n{KEY}")), "426").await;
    assert!(answer.contains("sec-websocket-version: 13\r\n"), "{answer}");
    check(head("/rpc", version), "400").await;
    check(head("/rpc", &format!("{version}{KEY}content-length: 0\r\n")), "101").await;
    check(format!("GET /rpc/ws HTTP/1.1\r\nhost: {host}\r\n\r\n"), "426").await;
    check(format!("GET /rpc HTTP/1.1\r\nhost: {host}\r\n\r\n"), "405").await;
}

// SEC-H-01, SEC-H-02
#[tokio::test]
async fn a_handshake_with_a_body_is_refused_and_nothing_of_it_is_read() {
    let serving = usual().await;
    let host = serving.address;
    let call = String::from_utf8_lossy(ADD);
    let hidden = format!(
        "POST / HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{call}",
        call.len()
    );
    for framing in [format!("content-length: {}", hidden.len()), "transfer-encoding: chunked".to_owned()] {
        let mut tcp = TcpStream::connect(host).await.unwrap();
        let head = format!(
            "GET /rpc HTTP/1.1\r\nhost: {host}\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\n\
             sec-websocket-key: dGhlIHNhbXBsZSBub25jZQ==\r\n{framing}\r\n\r\n{hidden}"
        );
        tcp.write_all(head.as_bytes()).await.unwrap();
        let mut answer = Vec::new();
        tcp.read_to_end(&mut answer).await.unwrap();
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
        assert!(answer.contains("a WebSocket handshake must not have a body"), "{answer}");
        assert_eq!(answer.matches("HTTP/1.1").count(), 1, "{answer}");
    }
}

// SEC-L-01
#[tokio::test]
async fn whoever_sends_too_much_is_told_how_much_a_call_may_have() {
    let limits = Limits::default().with_frame(1000).with_reply(1000).with_batch_reply(1000);
    let longest = limits.longest_frame();
    let serving = serve(limits, ws::WebSocketOptions::default()).await;
    for length in [1001, longest + 1] {
        let mut guest = serving.guest().await;
        let text = format!("\"{}\"", "x".repeat(length - 2));
        guest.try_send_raw(&frame(0x81, text.as_bytes())).await;
        let (_, told) = guest.receive().await.unwrap();
        let told = String::from_utf8_lossy(&told);
        assert!(told.contains("more than 1000 bytes (limits.frame)"), "{length}: {told}");
    }
}

#[tokio::test]
async fn messages_behind_the_handshake_in_one_packet_are_answered() {
    let serving = usual().await;
    let mut guest =
        Socket::open_with(TcpStream::connect(serving.address).await.unwrap(), "/", &frame(0x81, ADD)).await;
    assert_eq!(guest.receive().await.unwrap().1, SUM);
}

#[tokio::test]
async fn a_websocket_keeps_its_seat() {
    let router = Router::builder().build().unwrap();
    let server = HttpServer::bind("127.0.0.1:0").await.unwrap();
    let options = switchboard_transport::server::ServerOptions::default().with_connections(1);
    let address = server.local_addr();
    let mut tasks = JoinSet::new();
    tasks.spawn(server.with_options(options).serve(router));
    let guest = Socket::open(TcpStream::connect(address).await.unwrap(), "/").await;
    let mut refused = TcpStream::connect(address).await.unwrap();
    let mut answer = Vec::new();
    refused.read_buf(&mut answer).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 503 "));
    drop(guest);
}

#[tokio::test]
async fn calls_both_ways_pass_with_the_smallest_limits() {
    let limits = Limits::default().with_in_flight(1);
    let settings = Arc::new(Settings::default().with_limits(limits.clone()));
    let router = Router::builder()
        .async_method("there", |(n,): (u32,), cx: switchboard_core::Context| async move {
            if n == 0 {
                Ok(0)
            } else {
                cx.peer().call::<u32>("back", (n - 1,)).await.map(|n| n + 1).map_err(ErrorObject::from)
            }
        })
        .build()
        .unwrap();
    let server = HttpServer::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ws://{}/rpc", server.local_addr());
    let endpoint = Endpoint::new(router).with_settings(Settings::default().with_limits(limits));
    let mut tasks = JoinSet::new();
    tasks.spawn(server.serve_endpoint(endpoint));
    let back =
        Router::builder().method("back", |(n,): (u32,), _| Ok::<_, ErrorObject>(n + 100)).build().unwrap();
    let options = ws::WebSocketClientOptions::default();
    let peer = ws::connect(&url, Arc::new(back), settings, &options).await.unwrap();
    for _ in 0..100 {
        assert_eq!(peer.call::<u32>("there", (5,)).await.unwrap(), 105);
    }
}
