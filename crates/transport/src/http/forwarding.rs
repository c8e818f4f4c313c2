//! The contexts of requests that a trusted proxy sends: each comes from its own client.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};

use http::HeaderMap;
use switchboard_core::{Account, Context, Session};

use super::forwarded::ForwardedHeaders;
use crate::server::{Cidr, ServerOptions};

/// A connection of a trusted proxy.
pub(super) struct Forwarding {
    proxy: SocketAddr,
    trusted: Vec<Cidr>,
    /// The session of the connection, for requests of the proxy itself.
    own: Session,
    account: Arc<Account>,
    /// The client of the last request. The next one often is of the same.
    last: Mutex<Option<(SocketAddr, Session)>>,
}

impl Forwarding {
    /// The connection with this context, if a trusted proxy is on the other end.
    pub(super) fn over(cx: &Context, options: &ServerOptions, account: &Arc<Account>) -> Option<Forwarding> {
        let proxy = cx.origin().address.filter(|address| options.trusts(address.ip()))?;
        let (own, account) = (cx.session().clone(), Arc::clone(account));
        Some(Forwarding {
            proxy,
            trusted: options.trust_proxies.clone(),
            own,
            account,
            last: Mutex::default(),
        })
    }

    /// The context of a request with these headers.
    pub(super) fn of_headers(&self, cx: Context, headers: &HeaderMap) -> Context {
        let mut found = ForwardedHeaders::default();
        headers.iter().for_each(|(name, value)| found.add(name.as_str(), value.as_bytes()));
        self.of_client(cx, found.client(self.proxy, &self.trusted))
    }

    /// The context of a request whose headers are in its metadata.
    pub(super) fn of_metadata(&self, cx: Context) -> Context {
        let mut found = ForwardedHeaders::default();
        let entries = cx.metadata().entries();
        entries.iter().for_each(|(name, value)| found.add(name, value));
        let client = found.client(self.proxy, &self.trusted);
        self.of_client(cx, client)
    }

    fn of_client(&self, cx: Context, client: SocketAddr) -> Context {
        if client == self.proxy {
            return cx.with_session(self.own.clone());
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let session = match &*last {
            Some((address, session)) if *address == client => session.clone(),
            _ => {
                let session = Session::shared(self.own.origin().clone().with_address(client));
                session.set_account(Arc::clone(&self.account));
                *last = Some((client, session.clone()));
                session
            }
        };
        cx.with_session(session)
    }
}
