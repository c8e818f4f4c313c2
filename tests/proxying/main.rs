//! What must survive the way through a proxy or a gateway and back, over pairs of carriers: the client's, and the one to the upstream.

#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use futures_util::{StreamExt, stream};
use switchboard_core::{Call, ErrorObject, Json, Members, Method, Peer, Router, RouterBuilder, Settings};
use switchboard_tests::carriers::{By, Running};
use switchboard_transport::connect;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

/// Makes two tests a pair of a check `async fn check(pair: Pair)`: with a proxy, and with a gateway.
macro_rules! over_every_pair {
    ($check:ident) => {
        over_every_pair! { $check:
            ws_to_tcp => ("ws://127.0.0.1:0", "tcp://127.0.0.1:0"),
            tcp_to_ws => ("tcp://127.0.0.1:0", "ws://127.0.0.1:0"),
            ws_to_http => ("ws://127.0.0.1:0", "http://127.0.0.1:0"),
            http_to_ws => ("http://127.0.0.1:0", "ws://127.0.0.1:0"),
            http_to_http => ("http://127.0.0.1:0", "http://127.0.0.1:0"),
        }
    };
    ($check:ident: $($name:ident => ($front:expr, $upstream:expr),)+) => {
        mod $check {
            $(
                mod $name {
                    use switchboard_tests::carriers::By;

                    use crate::Pair;

                    #[tokio::test]
                    async fn by_proxy() {
                        let pair = Pair { front: $front, upstream: $upstream, by: By::Proxy };
                        super::super::$check(pair).await;
                    }

                    #[tokio::test]
                    async fn by_gateway() {
                        let pair = Pair { front: $front, upstream: $upstream, by: By::OwnGateway };
                        super::super::$check(pair).await;
                    }
                }
            )+
        }
    };
}

mod calls;
mod members;
mod sessions;

/// What clients connect with, what their calls are forwarded with, and by what.
#[derive(Clone, Copy)]
struct Pair {
    front: &'static str,
    upstream: &'static str,
    by: By,
}

/// A service, a proxy before it, and a client of the proxy.
struct Chain {
    client: Peer,
    front: Running,
    _upstream: Running,
}

impl Chain {
    async fn open(pair: Pair, router: RouterBuilder) -> Chain {
        let upstream = serve(pair.upstream, router).await;
        let forwarding = pair.by.forwarding(&upstream.url, Settings::default());
        let front = Running::start(pair.front, forwarding, Settings::default()).await;
        let client = connect(&front.url).await.unwrap();
        Chain { client, front, _upstream: upstream }
    }
}

async fn serve(url: &str, router: RouterBuilder) -> Running {
    Running::start(url, Arc::new(router.build().unwrap()), Settings::default()).await
}

async fn proxy(url: &str, upstream: &str) -> Running {
    Running::start(url, By::Proxy.forwarding(upstream, Settings::default()), Settings::default()).await
}

/// Says what happened to a handler: that it was started, and that it was dropped.
struct Seen(UnboundedSender<&'static str>);

impl Seen {
    fn new(events: &UnboundedSender<&'static str>) -> Seen {
        events.send("started").unwrap();
        Seen(events.clone())
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        let _ = self.0.send("dropped");
    }
}

/// Methods that never finish, and what happens to them.
fn endless() -> (RouterBuilder, UnboundedReceiver<&'static str>) {
    let (events, seen) = mpsc::unbounded_channel();
    let of_stream = events.clone();
    let router = Router::builder()
        .async_method("hang", move |(): (), _| {
            let seen = Seen::new(&events);
            async move {
                std::future::pending::<()>().await;
                drop(seen);
                Ok::<_, ErrorObject>(())
            }
        })
        .add(Method::stream("tick", move |(): (), _| {
            let seen = Seen::new(&of_stream);
            stream::iter([1]).chain(stream::pending()).map(move |item| {
                let _ = &seen;
                item
            })
        }));
    (router, seen)
}

/// A call with members that the client does not know either.
fn call_with(method: &'static str, members: &'static str) -> Call {
    let mut call = Call::new(method, None);
    call.cx.insert(Members(Json::parse(members).unwrap()));
    call
}
