//! Requests of common clients and proxies, all of which are plain.

use std::sync::Arc;

use switchboard_core::{Router, Settings};

use super::request::read;
use crate::http::options::EndpointOptions;
use crate::http::rules::Rules;
use crate::server::ServerOptions;

/// Heads of POST requests with a JSON body. Captured for curl, requests, urllib, urllib3 and Node; the others follow their
/// documentation.
const HEADS: [(&str, &str); 13] = [
    (
        "curl 7.88 -d",
        "Host: 127.0.0.1:8000\nUser-Agent: curl/7.88.1\nAccept: */*\ncontent-type: application/json\nContent-Length: 54\n",
    ),
    (
        "curl 7.88 --json",
        "Host: 127.0.0.1:8000\nUser-Agent: curl/7.88.1\nContent-Type: application/json\nAccept: application/json\n\
         Content-Length: 54\n",
    ),
    (
        "requests 2.34",
        "Host: 127.0.0.1:8000\nUser-Agent: python-requests/2.34.2\nAccept-Encoding: gzip, deflate\nAccept: */*\n\
         Connection: keep-alive\nAuthorization: Bearer x\nContent-Length: 54\nContent-Type: application/json\n",
    ),
    (
        "urllib of Python 3.11",
        "Accept-Encoding: identity\nContent-Length: 54\nHost: 127.0.0.1:8000\nUser-Agent: Python-urllib/3.11\n\
         Content-Type: application/json\nConnection: close\n",
    ),
    (
        "urllib3 2.7",
        "Host: 127.0.0.1:8000\nAccept-Encoding: identity\nContent-Length: 54\nUser-Agent: python-urllib3/2.7.0\n\
         Content-Type: application/json\n",
    ),
    (
        "httpx 0.28",
        "Host: 127.0.0.1:8000\nAccept: */*\nAccept-Encoding: gzip, deflate, br, zstd\nConnection: keep-alive\n\
         User-Agent: python-httpx/0.28.1\nContent-Length: 54\nContent-Type: application/json\n",
    ),
    (
        "aiohttp 3.11",
        "Host: 127.0.0.1:8000\nAccept: */*\nAccept-Encoding: gzip, deflate\nUser-Agent: Python/3.11 aiohttp/3.11.11\n\
         Content-Length: 54\nContent-Type: application/json\n",
    ),
    (
        "fetch of Node 20, which is undici",
        "host: 127.0.0.1:8000\nconnection: keep-alive\ncontent-type: application/json\naccept: */*\naccept-language: *\n\
         sec-fetch-mode: cors\nuser-agent: node\naccept-encoding: gzip, deflate\ncontent-length: 54\n",
    ),
    (
        "http of Node 20",
        "content-type: application/json\ncontent-length: 54\nHost: 127.0.0.1:8000\nConnection: keep-alive\n",
    ),
    (
        "axios 1.7",
        "Accept: application/json, text/plain, */*\nContent-Type: application/json\nUser-Agent: axios/1.7.9\n\
         Content-Length: 54\nAccept-Encoding: gzip, compress, deflate, br\nHost: 127.0.0.1:8000\nConnection: keep-alive\n",
    ),
    (
        "jQuery 3.7",
        "Host: 127.0.0.1:8000\nContent-Length: 54\nAccept: application/json, text/javascript, */*; q=0.01\n\
         Content-Type: application/json; charset=UTF-8\nX-Requested-With: XMLHttpRequest\nOrigin: http://127.0.0.1:8000\n",
    ),
    (
        "fetch of Chromium 131",
        "Host: 127.0.0.1:8000\nConnection: keep-alive\nContent-Length: 54\nsec-ch-ua-platform: \"Linux\"\n\
         User-Agent: Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36\n\
         sec-ch-ua: \"Google Chrome\";v=\"131\", \"Chromium\";v=\"131\", \"Not_A Brand\";v=\"24\"\nDNT: 1\n\
         content-type: application/json\nsec-ch-ua-mobile: ?0\nAccept: */*\nOrigin: http://127.0.0.1:8000\n\
         Sec-Fetch-Site: same-origin\nSec-Fetch-Mode: cors\nSec-Fetch-Dest: empty\nReferer: http://127.0.0.1:8000/\n\
         Accept-Encoding: gzip, deflate, br, zstd\nAccept-Language: en-US,en;q=0.9\nCookie: a=b; c=d\nPragma: no-cache\n\
         Cache-Control: no-cache\nPriority: u=1, i\n",
    ),
    (
        "nginx with `proxy_http_version 1.1` and `Connection \"\"`, behind a load balancer",
        "Host: 127.0.0.1:8000\nX-Real-IP: 192.0.2.1\nX-Forwarded-For: 192.0.2.1, 198.51.100.2\nX-Forwarded-Proto: https\n\
         X-Forwarded-Host: api.example.com\nX-Forwarded-Port: 443\nForwarded: for=192.0.2.1;proto=https\nVia: 1.1 proxy\n\
         Content-Length: 54\nX-Request-ID: 7b1f\ntraceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\n\
         tracestate: a=b\nbaggage: c=d\nX-Amzn-Trace-Id: Root=1-67891233-abcdef\nauthorization: Bearer x\n\
         user-agent: python-httpx/0.28.1\naccept: */*\ncontent-type: application/json\n",
    ),
];

#[test]
fn requests_of_common_clients_and_proxies_are_plain() {
    let router = Arc::new(Router::builder().build().unwrap());
    let address = Some("127.0.0.1:8000".parse().unwrap());
    let rules = Rules::new(router, Settings::default(), EndpointOptions::default(), address);
    for (name, head) in HEADS {
        let head = format!("POST / HTTP/1.1\n{head}\n").replace('\n', "\r\n");
        let plain = read(head.as_bytes(), &rules, ServerOptions::default().header_size);
        assert_eq!(plain.map(|plain| plain.size - plain.body), Some(54), "{name}");
    }
}
