//! Reads any bytes as headers of proxies: what a client sends in front of what a trusted proxy appends never changes who the client is.

#![no_main]

use std::net::SocketAddr;

use libfuzzer_sys::fuzz_target;
use switchboard_transport::internals::proxy::ForwardedHeaders;

const CLIENT: &str = "192.0.2.7:0";

fuzz_target!(|input: (&[u8], &[u8])| {
    let trusted = ["10.0.0.0/8".parse().unwrap()];
    let (proxy, client): (SocketAddr, SocketAddr) = ("10.0.0.1:1".parse().unwrap(), CLIENT.parse().unwrap());
    let read = |name: &str, value: &[u8]| {
        let mut headers = ForwardedHeaders::default();
        headers.add(name, value);
        headers.client(proxy, &trusted)
    };
    let (sent, other) = input;
    let list = [sent, b", 192.0.2.7, 10.0.0.2"].concat();
    assert_eq!(read("x-forwarded-for", &list), client);
    // In a list of pairs, an open quote of the client hides what follows. Then nobody is believed.
    let pairs = [sent, b", for=192.0.2.7;proto=https, for=10.0.0.2"].concat();
    let found = read("forwarded", &pairs);
    assert!(found == client || found == proxy, "{found}");
    let mut both = ForwardedHeaders::default();
    both.add("x-forwarded-for", &list);
    both.add("forwarded", other);
    let found = both.client(proxy, &trusted);
    assert!(found == client || found == proxy, "{found}");
});
