//! What the tests of the workspace share: the services they call, the carriers they call them over, and the readers
//! of vectors and transcripts.
//!
//! A new transport joins with one implementation of [`Carrier`](carrier::Carrier) in [`carriers`] and one line in
//! [`over_every_carrier!`]: every transcript and every vector goes over it from then on. Its client joins with one line in
//! [`clients`](client::clients), and hears every vector that is for clients.

#![allow(clippy::unwrap_used)]

#[path = "../support/broker.rs"]
#[allow(dead_code, reason = "tests of other crates use the rest")]
mod broker;
pub mod by_hand;
pub mod carrier;
pub mod carriers;
pub mod client;
pub mod demo;
pub mod duplex;
pub mod paused;
pub mod proxy;
pub mod secure;
pub mod shape;
pub mod socket;
pub mod transcript;
pub mod tree;
pub mod vector;
pub mod wire;

pub use switchboard_transport::framing::Framing;

/// Makes one test a carrier of a check `async fn check(carrier: &dyn Carrier)`. A new carrier is one line here.
#[macro_export]
macro_rules! over_every_carrier {
    ($check:ident) => {
        $crate::over_every_carrier! { $check:
            direct => $crate::carriers::Direct,
            exchange => $crate::carriers::Exchange,
            http => $crate::carriers::Http,
            https => $crate::carriers::Https,
            memory => $crate::carriers::Memory,
            nats => $crate::carriers::Nats::Whole,
            nats_parts => $crate::carriers::Nats::Parts,
            nats_methods => $crate::carriers::Nats::Methods,
            sse => $crate::carriers::Sse,
            ws => $crate::carriers::Ws($crate::carriers::Message::Text),
            ws_binary => $crate::carriers::Ws($crate::carriers::Message::Binary),
            json => $crate::carriers::Stream { over: $crate::carriers::Over::Memory, framing: $crate::Framing::JsonStream },
            lines => $crate::carriers::Stream { over: $crate::carriers::Over::Memory, framing: $crate::Framing::Lines },
            lsp => $crate::carriers::Stream { over: $crate::carriers::Over::Memory, framing: $crate::Framing::ContentLength },
            length => $crate::carriers::Stream { over: $crate::carriers::Over::Memory, framing: $crate::Framing::LengthPrefix },
            tls => $crate::carriers::Stream { over: $crate::carriers::Over::Tls, framing: $crate::Framing::JsonStream },
            tcp => $crate::carriers::Stream { over: $crate::carriers::Over::Tcp, framing: $crate::Framing::JsonStream },
            unix => $crate::carriers::Stream { over: $crate::carriers::Over::Unix, framing: $crate::Framing::JsonStream },
            stdio => $crate::carriers::Stream { over: $crate::carriers::Over::Stdio, framing: $crate::Framing::Lines },
            ws_to_tcp => $crate::carriers::Proxied {
                front: $crate::carriers::Ws($crate::carriers::Message::Text), upstream: "tcp://127.0.0.1:0", by: $crate::carriers::By::Proxy,
            },
            tcp_to_ws => $crate::carriers::Proxied {
                front: $crate::carriers::Stream { over: $crate::carriers::Over::Tcp, framing: $crate::Framing::JsonStream },
                upstream: "ws://127.0.0.1:0", by: $crate::carriers::By::Proxy,
            },
            http_to_ws => $crate::carriers::Proxied {
                front: $crate::carriers::Http, upstream: "ws://127.0.0.1:0", by: $crate::carriers::By::Proxy,
            },
            http_to_http => $crate::carriers::Proxied {
                front: $crate::carriers::Http, upstream: "http://127.0.0.1:0", by: $crate::carriers::By::Proxy,
            },
            sse_to_ws => $crate::carriers::Proxied {
                front: $crate::carriers::Sse, upstream: "ws://127.0.0.1:0", by: $crate::carriers::By::Proxy,
            },
            sse_to_http => $crate::carriers::Proxied {
                front: $crate::carriers::Sse, upstream: "http://127.0.0.1:0", by: $crate::carriers::By::Proxy,
            },
            ws_to_tcp_by_gateway => $crate::carriers::Proxied {
                front: $crate::carriers::Ws($crate::carriers::Message::Text), upstream: "tcp://127.0.0.1:0", by: $crate::carriers::By::OwnGateway,
            },
            ws_to_tcp_by_shared_gateway => $crate::carriers::Proxied {
                front: $crate::carriers::Ws($crate::carriers::Message::Text), upstream: "tcp://127.0.0.1:0", by: $crate::carriers::By::SharedGateway,
            },
            tcp_to_ws_by_gateway => $crate::carriers::Proxied {
                front: $crate::carriers::Stream { over: $crate::carriers::Over::Tcp, framing: $crate::Framing::JsonStream },
                upstream: "ws://127.0.0.1:0", by: $crate::carriers::By::SharedGateway,
            },
            http_to_ws_by_gateway => $crate::carriers::Proxied {
                front: $crate::carriers::Http, upstream: "ws://127.0.0.1:0", by: $crate::carriers::By::SharedGateway,
            },
            http_to_http_by_gateway => $crate::carriers::Proxied {
                front: $crate::carriers::Http, upstream: "http://127.0.0.1:0", by: $crate::carriers::By::OwnGateway,
            },
            sse_to_tcp_by_gateway => $crate::carriers::Proxied {
                front: $crate::carriers::Sse, upstream: "tcp://127.0.0.1:0", by: $crate::carriers::By::SharedGateway,
            },
        }
    };
    ($check:ident: $($name:ident => $carrier:expr,)+) => {
        mod $check {
            $(
                #[test]
                fn $name() {
                    use $crate::carrier::Carrier;
                    let carrier = $carrier;
                    carrier.time().runtime().block_on(super::$check(&carrier));
                }
            )+
        }
    };
}

/// Makes one test of a check `async fn check(carrier: &dyn Carrier)` for each pair of carriers with a gateway between them.
#[macro_export]
macro_rules! across_a_gateway {
    ($check:ident) => {
        mod across_a_gateway {
            $crate::across_a_gateway! { $check: [
                to_http => "http://127.0.0.1:0", SharedGateway;
                to_ws => "ws://127.0.0.1:0", OwnGateway;
                to_tcp => "tcp://127.0.0.1:0", SharedGateway;
                to_lsp => "tcp://127.0.0.1:0?framing=lsp", OwnGateway;
                to_tls => "tls://127.0.0.1:0", SharedGateway;
                to_unix => "unix:", OwnGateway;
                to_nats => "nats:", SharedGateway;
                to_stdio => concat!("exec:", env!("CARGO_BIN_EXE_demo")), OwnGateway;
            ]
                http => $crate::carriers::Http,
                https => $crate::carriers::Https,
                nats => $crate::carriers::Nats::Parts,
                nats_methods => $crate::carriers::Nats::Methods,
                sse => $crate::carriers::Sse,
                ws => $crate::carriers::Ws($crate::carriers::Message::Text),
                tcp => $crate::carriers::Stream { over: $crate::carriers::Over::Tcp, framing: $crate::Framing::JsonStream },
                lsp => $crate::carriers::Stream { over: $crate::carriers::Over::Tcp, framing: $crate::Framing::ContentLength },
                tls => $crate::carriers::Stream { over: $crate::carriers::Over::Tls, framing: $crate::Framing::JsonStream },
                unix => $crate::carriers::Stream { over: $crate::carriers::Over::Unix, framing: $crate::Framing::JsonStream },
                stdio => $crate::carriers::Stream { over: $crate::carriers::Over::Stdio, framing: $crate::Framing::Lines },
            }
        }
    };
    ($check:ident: $upstreams:tt $($name:ident => $front:expr,)+) => {
        $(
            mod $name {
                $crate::across_a_gateway! { @from $check $front, $upstreams }
            }
        )+
    };
    (@from $check:ident $front:expr, [$($name:ident => $upstream:expr, $by:ident;)+]) => {
        $(
            #[test]
            fn $name() {
                use $crate::carrier::Carrier;
                use $crate::carriers::{By, Proxied};
                let carrier = Proxied { front: $front, upstream: $upstream, by: By::$by };
                carrier.time().runtime().block_on(super::super::$check(&carrier));
            }
        )+
    };
}
