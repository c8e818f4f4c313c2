//! `nats` and `nats+tls` URLs.

use std::sync::Arc;
use std::time::Duration;

use switchboard_core::{Metadata, Peer};

use super::address::Address;
use super::caller::Caller;
use super::link::{Link, NotConnected};
use super::listener::NatsListener;
use super::{raw, worker};
use crate::carrier::{Carrier, ConnectSetup, ListenSetup, Url, UrlError};
use crate::dial::DialError;
use crate::raw::Raw;
use crate::server::{BoxFuture, ListenError, Listener};

/// How long a worker waits for the broker.
pub(super) const CONNECTING: Duration = Duration::from_secs(10);

/// Calls over a NATS server.
#[derive(Debug)]
pub(crate) struct NatsCarrier;

impl Carrier for NatsCarrier {
    fn schemes(&self) -> &'static [&'static str] {
        &["nats", "nats+tls"]
    }

    fn check(&self, url: &Url) -> Result<(), UrlError> {
        Address::of(url).map(drop)
    }

    fn listen(
        &self,
        url: Url,
        setup: ListenSetup,
    ) -> BoxFuture<'static, Result<Box<dyn Listener>, ListenError>> {
        let _ = setup;
        Box::pin(async move {
            let link = Link::open_renewed(Address::of(&url)?, CONNECTING).await;
            let link = link.map_err(|error| ListenError::Broker(error.text))?;
            let failed = |text: String| ListenError::Broker(format!("cannot serve {}: {text}", link.address));
            let subscription = worker::subscribe(&link).await.map_err(failed)?;
            // The broker knows of the subscription when it has answered what was sent after it.
            link.ready().await.map_err(failed)?;
            Ok(Box::new(NatsListener::new(Arc::clone(&link), subscription)) as Box<dyn Listener>)
        })
    }

    fn open(&self, url: Url, setup: ConnectSetup) -> BoxFuture<'static, Result<Raw, DialError>> {
        Box::pin(async move { Ok(raw::open(dial(&url, &setup).await?)) })
    }

    fn connect(&self, url: Url, setup: ConnectSetup) -> BoxFuture<'static, Result<Peer, DialError>> {
        Box::pin(async move {
            let link = dial(&url, &setup).await?;
            Ok(Peer::new(Caller::new(link, &setup, common(&setup))))
        })
    }
}

async fn dial(url: &Url, setup: &ConnectSetup) -> Result<Arc<Link>, DialError> {
    let link = Link::open(Address::of(url)?, setup.connect_time).await;
    link.map_err(|NotConnected { text, is_permanent }| match is_permanent {
        true => DialError::Refused(text),
        false => DialError::Unreachable(text),
    })
}

/// The metadata of every message.
#[cfg(feature = "http")]
fn common(setup: &ConnectSetup) -> Metadata {
    let value = |value: &http::HeaderValue| bytes::Bytes::copy_from_slice(value.as_bytes());
    setup.headers.iter().map(|(name, text)| (name.as_str(), value(text))).collect()
}

/// Headers can be set only with the feature `http`.
#[cfg(not(feature = "http"))]
fn common(_: &ConnectSetup) -> Metadata {
    Metadata::default()
}
