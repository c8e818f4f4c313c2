//! Who may use the page: the first browser that opens the link, and from then on that page only.

use std::sync::{Mutex, MutexGuard, PoisonError};

use switchboard::identity::{CredentialFileError, Identity, NewApiKey, Proof};
use switchboard::{Admission, AdmitFuture, Arrival, Context, ErrorObject, Refusal};

use super::PAGE;

/// The prefix of a token in the subprotocols that a browser offers: it cannot set headers of a WebSocket.
const SUBPROTOCOL: &str = "bearer.";

/// Lets in the first page that has the invitation, and from then on only that page, which gets its own token.
pub(super) struct Door {
    invitation: String,
    session: String,
    is_used: Mutex<bool>,
}

impl Door {
    pub(super) fn new() -> Result<Door, CredentialFileError> {
        Ok(Door { invitation: random()?, session: random()?, is_used: Mutex::new(false) })
    }

    /// The token of the link, which works once.
    pub(super) fn invitation(&self) -> &str {
        &self.invitation
    }

    /// The token of the page, for when it is loaded again.
    pub(super) fn session(&self) -> &str {
        &self.session
    }

    fn opens_with(&self, token: &str) -> bool {
        if is_same(token, &self.session) {
            return true;
        }
        let mut is_used = self.is_used();
        let is_first = is_same(token, &self.invitation) && !*is_used;
        *is_used |= is_first;
        is_first
    }

    fn is_used(&self) -> MutexGuard<'_, bool> {
        self.is_used.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Everyone may load the page. Its WebSocket is for those with a token, and nothing else is served: a call by POST never is.
impl Admission for Door {
    fn admit(&self, arrival: &Arrival<'_>) -> AdmitFuture {
        let cx = match arrival {
            Arrival::Request { cx, method: "GET" | "HEAD", path: PAGE, is_upgrade: false, .. } => *cx,
            Arrival::Request { cx, is_upgrade: true, .. }
                if token(cx).is_some_and(|token| self.opens_with(token)) =>
            {
                *cx
            }
            // The session of a WebSocket whose request was admitted.
            Arrival::Session(cx) => *cx,
            _ => return AdmitFuture::refused(Refusal::new(ErrorObject::unauthorized()).with_status(401)),
        };
        AdmitFuture::admitted(cx.clone())
    }
}

/// The token that a WebSocket offers: `new WebSocket(url, ["jsonrpc", "bearer.TOKEN"])`.
fn token(cx: &Context) -> Option<&str> {
    let offered = cx.metadata().text("sec-websocket-protocol")?;
    offered.split(',').find_map(|protocol| protocol.trim().strip_prefix(SUBPROTOCOL))
}

/// Random letters and digits.
pub(super) fn random() -> Result<String, CredentialFileError> {
    let key = NewApiKey::generate(&Identity::new("page", Proof::ApiKey))?.key;
    Ok(key.rsplit('_').next().unwrap_or_default().to_owned())
}

/// Compares all of it, so that the time tells nothing.
fn is_same(one: &str, other: &str) -> bool {
    let differing = one.bytes().zip(other.bytes()).fold(0, |found, (one, other)| found | (one ^ other));
    one.len() == other.len() && differing == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_link_works_once_and_the_page_stays() {
        let door = Door::new().unwrap();
        let invitation = door.invitation().to_owned();
        // 62 letters and digits: 128 bits need 22 of them.
        assert!(
            invitation.len() >= 22 && invitation.bytes().all(|byte| byte.is_ascii_alphanumeric()),
            "{invitation}"
        );
        assert!(!door.opens_with("") && !door.opens_with("x") && !door.opens_with(&invitation[1..]));
        assert!(door.opens_with(&invitation));
        assert!(!door.opens_with(&invitation), "it was used");
        assert!(door.opens_with(door.session()) && door.opens_with(door.session()));
        assert_ne!(door.session(), Door::new().unwrap().session());
    }
}
