//! The admission that checks credentials before anything is read.

use std::sync::Arc;

use switchboard_core::{Admission, AdmitFuture, Arrival, Context, ErrorObject, FromContext as _, Refusal};

use super::credential::is_private;
use super::expiry::close_at_end;
use super::layer::Caller;
use super::refusal::{retry_after, too_many, unavailable};
use super::{Authentication, Credential, Identity};

/// The prefix of a token in the subprotocols that a browser offers: it cannot set headers of a WebSocket.
const SUBPROTOCOL: &str = "bearer.";

impl Admission for Authentication {
    /// A session is always admitted: its messages may bring credentials. A request must bring them itself.
    fn admit(&self, arrival: &Arrival<'_>) -> AdmitFuture {
        let Arrival::Request { cx, method, is_upgrade, .. } = arrival else {
            let cx = arrival.cx();
            // A WebSocket, whose request had a credential.
            if let Some(identity) = Identity::from_context(cx) {
                let credential = match subprotocol(cx) {
                    Some(token) => Ok(Some(Credential::Bearer(token.as_bytes()))),
                    None => Credential::of(cx),
                };
                let revocation =
                    credential.ok().flatten().and_then(|credential| self.revocation(&credential));
                close_at_end(cx.session(), identity, revocation);
            }
            return AdmitFuture::admitted(cx.clone());
        };
        let token = if *is_upgrade { subprotocol(cx) } else { None };
        let caller = match token {
            Some(token) => self.check(&Credential::Bearer(token.as_bytes()), cx),
            None => self.caller(cx),
        };
        if let Caller::Known(identity) = caller {
            return AdmitFuture::admitted(with(cx, identity));
        }
        let is_page = *method == "GET" && !is_upgrade && is_private(cx);
        let is_required = self.is_required();
        match caller {
            Caller::Anonymous if !is_required => AdmitFuture::admitted((*cx).clone()),
            Caller::Later(decision) => {
                let cx = (*cx).clone();
                AdmitFuture::pending(async move {
                    match decision.await {
                        Caller::Known(identity) => Ok(with(&cx, identity)),
                        Caller::Anonymous if !is_required => Ok(cx),
                        other => Err(refused(&other, is_page)),
                    }
                })
            }
            other => AdmitFuture::refused(refused(&other, is_page)),
        }
    }
}

fn refused(caller: &Caller, is_page: bool) -> Refusal {
    let (status, error, wait) = match caller {
        Caller::Blocked(wait) => (429, too_many(*wait), *wait),
        Caller::Unavailable(wait) => (503, unavailable(*wait), *wait),
        _ => return unauthorized(is_page),
    };
    Refusal::new(error).with_status(status).with_metadata("retry-after", retry_after(wait))
}

fn with(cx: &Context, identity: Arc<Identity>) -> Context {
    let mut cx = cx.clone();
    cx.set_caller(identity);
    cx
}

/// The token among the subprotocols, if it counts.
fn subprotocol(cx: &Context) -> Option<&str> {
    offered_token(cx).filter(|_| Credential::yields_to_subprotocol(cx))
}

/// The token among the subprotocols that a WebSocket offers: `new WebSocket(url, ["jsonrpc", "bearer.TOKEN"])`.
fn offered_token(cx: &Context) -> Option<&str> {
    let offered = cx.metadata().text("sec-websocket-protocol")?;
    offered.split(',').find_map(|protocol| protocol.trim().strip_prefix(SUBPROTOCOL))
}

/// The answer to a request without valid credentials. A browser that opens a page asks its user for a name and a token.
fn unauthorized(is_page: bool) -> Refusal {
    let refusal = Refusal::new(ErrorObject::unauthorized()).with_status(401);
    // One header for each scheme: Chromium reads only the first scheme of a header.
    let refusal = match is_page {
        true => refusal.with_metadata("www-authenticate", "Basic realm=\"switchboard\", charset=\"UTF-8\""),
        false => refusal,
    };
    refusal.with_metadata("www-authenticate", "Bearer")
}
