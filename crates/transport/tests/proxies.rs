//! Where calls come from when there are proxies in front of the server (SEC-O-09).
#![cfg(all(feature = "http", feature = "ws", feature = "tcp"))]
#![allow(clippy::unwrap_used, reason = "a test may fail")]

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use switchboard_core::{Context, ErrorObject, Router};
use switchboard_transport::server::{Server, ServerOptions};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A server on this URL whose method tells where a call comes from.
async fn serve(url: &str, options: ServerOptions, has_proxy_protocol: bool) -> String {
    let place = |(): (), cx: Context| Ok::<_, ErrorObject>(cx.origin().address);
    let router = Router::builder().method("where", place).build().unwrap();
    let mut server = Server::new(router).with_options(options).with_proxy_protocol(has_proxy_protocol);
    server.listen(url).await.unwrap();
    let url = server.urls().next().unwrap();
    tokio::spawn(server.serve());
    let (_, rest) = url.split_once("://").unwrap();
    rest.split('?').next().unwrap().to_owned()
}

fn trusting(networks: &[&str]) -> ServerOptions {
    ServerOptions::default().with_trust_proxies(networks.iter().map(|text| text.parse().unwrap()))
}

const WHERE: &str = r#"{"jsonrpc":"2.0","method":"where","id":1}"#;

/// A connection that requests are written to.
struct Client(TcpStream);

impl Client {
    async fn connect(address: &str) -> Client {
        Client(TcpStream::connect(address).await.unwrap())
    }

    /// Asks over HTTP, with these headers. A request in chunks does not take the fast path.
    async fn ask(&mut self, headers: &str, is_plain: bool) -> SocketAddr {
        let (length, body) = match is_plain {
            true => (format!("content-length: {}", WHERE.len()), WHERE.to_owned()),
            false => (
                "transfer-encoding: chunked".to_owned(),
                format!("{:x}\r\n{WHERE}\r\n0\r\n\r\n", WHERE.len()),
            ),
        };
        let head = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n";
        self.send(format!("{head}{headers}{length}\r\n\r\n{body}").as_bytes()).await;
        self.answer().await.unwrap()
    }

    async fn send(&mut self, bytes: &[u8]) {
        self.0.write_all(bytes).await.unwrap();
    }

    /// The address in the next answer; nothing if the connection ends.
    async fn answer(&mut self) -> Option<SocketAddr> {
        let mut read = Vec::new();
        loop {
            let text = String::from_utf8_lossy(&read);
            if let Some((_, rest)) = text.split_once(r#""result":""#)
                && let Some((address, _)) = rest.split_once('"')
                && rest.contains('}')
            {
                return Some(address.parse().unwrap());
            }
            if !matches!(self.0.read_buf(&mut read).await, Ok(1..)) {
                return None;
            }
        }
    }
}

#[tokio::test]
async fn headers_of_strangers_are_ignored() {
    for options in [ServerOptions::default(), trusting(&["10.0.0.0/8"])] {
        let address = serve("http://127.0.0.1:0", options, false).await;
        for is_plain in [true, false] {
            let mut client = Client::connect(&address).await;
            let own = client.0.local_addr().unwrap();
            let headers = "x-forwarded-for: 192.0.2.7\r\nforwarded: for=192.0.2.7\r\n";
            assert_eq!(client.ask(headers, is_plain).await, own);
        }
    }
}

#[tokio::test]
async fn a_trusted_proxy_names_the_client_of_each_request() {
    let address = serve("http://127.0.0.1:0", trusting(&["127.0.0.0/8", "10.0.0.0/8"]), false).await;
    let mut client = Client::connect(&address).await;
    let own = client.0.local_addr().unwrap();
    for round in 0..3 {
        for is_plain in [true, false] {
            let first = format!("192.0.2.{round}:0").parse::<SocketAddr>().unwrap();
            let header = format!("X-Forwarded-For: 127.0.0.1, 192.0.2.{round}, 10.0.0.9\r\n");
            assert_eq!(client.ask(&header, is_plain).await, first);
            assert_eq!(
                client.ask("Forwarded: for=\"[2001:db8::7]:5\"\r\n", is_plain).await.to_string(),
                "[2001:db8::7]:5"
            );
            assert_eq!(client.ask("", is_plain).await, own, "a request of the proxy itself");
        }
    }
}

#[tokio::test]
async fn a_websocket_keeps_the_client_of_its_handshake() {
    let address = serve("http://127.0.0.1:0", trusting(&["127.0.0.1"]), false).await;
    let url = format!("ws://{address}/rpc");
    let headers = [("x-forwarded-for", "192.0.2.7")]
        .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
    let dial = switchboard_transport::Dial::new(&url).unwrap().with_headers(headers.into_iter().collect());
    let peer = dial.connect().await.unwrap();
    assert_eq!(peer.call::<Value>("where", ()).await.unwrap(), "192.0.2.7:0");
}

/// A header of version 2 for 192.0.2.7:50123.
const BINARY: &[u8] = b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\xc0\0\x02\x07\xc0\0\x02\x01\xc3\xcb\x01\xbb";
const LINE: &[u8] = b"PROXY TCP4 192.0.2.7 192.0.2.1 50123 443\r\n";

#[tokio::test]
async fn the_proxy_protocol_names_the_client_of_a_connection() {
    for header in [BINARY, LINE] {
        let address = serve("http://127.0.0.1:0", trusting(&["127.0.0.1"]), true).await;
        let mut client = Client::connect(&address).await;
        client.send(header).await;
        for is_plain in [true, false] {
            assert_eq!(
                client.ask("x-forwarded-for: 192.0.2.9\r\n", is_plain).await.to_string(),
                "192.0.2.7:50123"
            );
        }
        // Byte by byte, and with the message right behind it.
        let address = serve("tcp://127.0.0.1:0", trusting(&["127.0.0.1"]), true).await;
        let mut client = Client::connect(&address).await;
        for byte in header {
            client.send(&[*byte]).await;
        }
        client.send(format!("{WHERE}\n").as_bytes()).await;
        assert_eq!(client.answer().await.unwrap().to_string(), "192.0.2.7:50123");
        let mut client = Client::connect(&address).await;
        client.send(&[header, WHERE.as_bytes(), b"\n"].concat()).await;
        assert_eq!(client.answer().await.unwrap().to_string(), "192.0.2.7:50123");
    }
}

#[tokio::test]
async fn a_check_by_the_proxy_itself_has_the_address_of_the_proxy() {
    let address = serve("tcp://127.0.0.1:0", trusting(&["127.0.0.1"]), true).await;
    for header in [&b"\r\n\r\n\0\r\nQUIT\n\x20\0\0\0"[..], b"PROXY UNKNOWN\r\n"] {
        let mut client = Client::connect(&address).await;
        client.send(&[header, WHERE.as_bytes(), b"\n"].concat()).await;
        assert_eq!(client.answer().await, Some(client.0.local_addr().unwrap()));
    }
}

#[tokio::test]
async fn connections_without_a_valid_header_of_a_trusted_proxy_are_closed() {
    let brief = |networks: &[&str]| trusting(networks).with_header_time(Duration::from_millis(50));
    for scheme in ["http", "tcp"] {
        let url = format!("{scheme}://127.0.0.1:0");
        let trusted = serve(&url, brief(&["127.0.0.1"]), true).await;
        let request = "POST / HTTP/1.1\r\nhost: localhost\r\n\r\n".as_bytes();
        // No header, half a header, a wrong one, and none at all.
        for bytes in [request, &BINARY[..20], b"PROXY TCP4 nobody knows 1 2\r\n", b"PROX", b""] {
            let mut client = Client::connect(&trusted).await;
            client.send(bytes).await;
            assert_eq!(client.answer().await, None, "{scheme} {bytes:?}");
        }
        let distrusting = serve(&url, brief(&["10.0.0.0/8"]), true).await;
        let mut client = Client::connect(&distrusting).await;
        // It may be closed before it is written.
        let _ = client.0.write_all(&[LINE, WHERE.as_bytes(), b"\n"].concat()).await;
        assert_eq!(client.answer().await, None);
    }
}

#[tokio::test]
async fn connections_count_for_the_clients_of_a_proxy() {
    let options = trusting(&["127.0.0.1"]).with_connections_per_address(Some(1));
    let address = serve("tcp://127.0.0.1:0", options, true).await;
    let ask = async |client: &mut Client, header: &[u8]| {
        let _ = client.0.write_all(&[header, WHERE.as_bytes(), b"\n"].concat()).await;
        client.answer().await.is_some()
    };
    let mut first = Client::connect(&address).await;
    assert!(ask(&mut first, LINE).await);
    let mut second = Client::connect(&address).await;
    assert!(!ask(&mut second, BINARY).await, "the same client has one already");
    let mut third = Client::connect(&address).await;
    assert!(ask(&mut third, b"PROXY TCP4 192.0.2.8 192.0.2.1 5 443\r\n").await);
}

#[cfg(unix)]
mod nginx {
    use std::os::fd::OwnedFd;
    use std::path::{Path, PathBuf};
    use std::process::{Child, Command, Stdio};

    use super::*;

    struct Nginx(Child, PathBuf);

    impl Drop for Nginx {
        fn drop(&mut self) {
            // It ends its workers by itself, if it is asked to.
            let _ = Command::new("kill").arg(self.0.id().to_string()).status();
            let _ = self.0.wait();
            let _ = std::fs::remove_dir_all(&self.1);
        }
    }

    /// nginx in front of a server, and its address.
    fn start(program: &Path, upstream: &str) -> (Nginx, String) {
        let folder = std::env::temp_dir().join(format!("switchboard-nginx-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let root = folder.display();
        let kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
        let folders: String = kinds.iter().map(|kind| format!("{kind}_temp_path {root}/{kind};\n")).collect();
        let config = format!(
            "pid {root}/nginx.pid;\nerror_log {root}/error.log;\nevents {{}}\nhttp {{\naccess_log off;\n{folders}\
             server {{ listen {address}; location / {{ proxy_pass http://{upstream}; proxy_http_version 1.1; \
             proxy_set_header Host localhost; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; }} }} }}"
        );
        std::fs::write(folder.join("nginx.conf"), config).unwrap();
        // A supervisor would pass its socket like this too.
        let script = format!(
            "exec 3<&0 0</dev/null; NGINX='3;' exec {} -p {root} -c {root}/nginx.conf -g 'daemon off;'",
            program.display()
        );
        let mut shell = Command::new("sh");
        shell.args(["-c", &script]).stdin(Stdio::from(OwnedFd::from(listener))).stderr(Stdio::null());
        (Nginx(shell.spawn().unwrap(), folder), address)
    }

    #[tokio::test]
    async fn behind_nginx_calls_come_from_its_clients() {
        let found = ["/usr/sbin/nginx", "/usr/bin/nginx", "/usr/local/sbin/nginx"].into_iter().map(Path::new);
        let Some(program) = found.into_iter().find(|path| path.exists()) else { return };
        // The client is on this machine too, so the proxy is recognized by IPv6 and the client by IPv4.
        let upstream = serve("http://[::1]:0", trusting(&["::1"]), false).await;
        let (_nginx, address) = start(program, &upstream);
        let mut client = Client::connect(&address).await;
        assert_eq!(client.ask("", true).await.ip().to_string(), "127.0.0.1");
        // What the client says about itself is not believed; nginx says the rest.
        assert_eq!(client.ask("x-forwarded-for: 192.0.2.7\r\n", true).await.ip().to_string(), "127.0.0.1");
        // nginx passes this on as it is, so nothing is known.
        assert_eq!(client.ask("forwarded: for=192.0.2.7\r\n", true).await.ip().to_string(), "::1");
    }
}
