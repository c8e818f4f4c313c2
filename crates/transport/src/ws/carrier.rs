//! `ws` and `wss` URLs. Servers listen for them as for HTTP: connections are upgraded.

use std::sync::Arc;

use switchboard_core::Peer;

#[cfg(feature = "tls")]
use super::client::connect_over;
use super::client::{ConnectError, WebSocketClientOptions, connect};
use crate::carrier::{Carrier, ConnectSetup, ListenSetup, Url, UrlError};
use crate::dial::DialError;
use crate::http::carrier as http;
use crate::net;
use crate::raw::Raw;
use crate::server::{BoxFuture, ListenError, Listener};

/// Messages over WebSocket, with TLS for `wss`.
#[derive(Debug)]
pub(crate) struct WsCarrier;

impl Carrier for WsCarrier {
    fn schemes(&self) -> &'static [&'static str] {
        if cfg!(feature = "tls") { &["ws", "wss"] } else { &["ws"] }
    }

    fn check(&self, url: &Url) -> Result<(), UrlError> {
        http::check(url, "WebSocket")
    }

    fn listen(
        &self,
        url: Url,
        setup: ListenSetup,
    ) -> BoxFuture<'static, Result<Box<dyn Listener>, ListenError>> {
        http::listen(url, setup)
    }

    fn connect(&self, url: Url, setup: ConnectSetup) -> BoxFuture<'static, Result<Peer, DialError>> {
        Box::pin(async move {
            let options = WebSocketClientOptions {
                headers: setup.headers.clone(),
                connect_time: setup.connect_time,
                ..WebSocketClientOptions::default()
            };
            let (service, settings) = (Arc::clone(&setup.service), Arc::clone(&setup.settings));
            let text = url.to_string();
            #[cfg(feature = "tls")]
            if http::is_secure(&url) {
                let (place, port) = http::place(&url)?;
                let tls = net::connect_tls(place, port, &setup).await?;
                return connect_over(tls, &text, service, settings, &options).await.map_err(unreachable);
            }
            connect(&text, service, settings, &options).await.map_err(unreachable)
        })
    }

    fn open(&self, url: Url, setup: ConnectSetup) -> BoxFuture<'static, Result<Raw, DialError>> {
        http::open(url, setup)
    }
}

fn unreachable(error: ConnectError) -> DialError {
    match error {
        ConnectError::Unreachable { target, error } if net::is_refused(&error) => {
            DialError::Unreachable(format!("nothing is listening on {target}"))
        }
        error => DialError::new(error.to_string(), error.is_permanent()),
    }
}
