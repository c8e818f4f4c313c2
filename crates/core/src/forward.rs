//! Forwarding calls to a peer.

use std::fmt;

use crate::call::Call;
use crate::metadata::AllowedNames;
use crate::peer::Peer;
use crate::reply::{Reply, ReplyFuture};
use crate::service::Service;

/// A service that forwards every call to a peer: the core of a proxy.
///
/// Params, results, errors with their data, streams with their gaps, progress and members that the protocol does not define arrive
/// unchanged. The deadline shrinks by the time that has passed, and dropping the reply cancels the call at the peer. The peer
/// assigns its own identifiers. If it cannot be reached, calls fail with -32004, without details.
///
/// Metadata often holds credentials, so it is forwarded only under allowed names: by default those of a distributed
/// trace with calls, and none with replies.
///
/// # Examples
///
/// Calls of the upstream go back to the client whose session has this upstream:
///
/// ```
/// use switchboard_core::{Forward, Session};
///
/// fn calls_back(session: &Session) -> Forward {
///     Forward::new(session.peer().clone())
/// }
/// ```
#[derive(Clone)]
pub struct Forward {
    to: Peer,
    of_calls: AllowedNames,
    of_replies: AllowedNames,
}

impl Forward {
    /// Forwards calls to this peer.
    #[must_use]
    pub fn new(to: Peer) -> Forward {
        Forward { to, of_calls: AllowedNames::default(), of_replies: AllowedNames::none() }
    }

    /// Also forwards the metadata of calls under these names.
    #[must_use]
    pub fn with_call_metadata(self, names: AllowedNames) -> Forward {
        Forward { of_calls: names, ..self }
    }

    /// Also forwards the metadata of replies under these names.
    #[must_use]
    pub fn with_reply_metadata(self, names: AllowedNames) -> Forward {
        Forward { of_replies: names, ..self }
    }
}

impl Service for Forward {
    fn call(&self, call: &Call) -> ReplyFuture {
        let mut call = call.clone();
        call.cx.forward_metadata(&self.of_calls);
        let allowed = self.of_replies.clone();
        Service::call(&self.to, &call).map(move |reply| with_selected_metadata(reply, &allowed))
    }
}

fn with_selected_metadata(mut reply: Reply, allowed: &AllowedNames) -> Reply {
    if let Some(extra) = &mut reply.extra {
        extra.metadata = extra.metadata.select(allowed);
    }
    reply
}

impl fmt::Debug for Forward {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Forward { to, of_calls, of_replies } = self;
        f.debug_struct("Forward")
            .field("to", to)
            .field("of_calls", of_calls)
            .field("of_replies", of_replies)
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::context::Context;
    use crate::json::Json;
    use crate::metadata::Metadata;
    use crate::service::service_fn;

    /// Names of the metadata that a service behind `forward` sees, and of the metadata that its caller sees.
    async fn passed(forward: impl FnOnce(Peer) -> Forward) -> (Vec<String>, Vec<String>) {
        let names = |metadata: &Metadata| {
            metadata.entries().into_iter().map(|(name, _)| name.to_owned()).collect::<Vec<_>>()
        };
        let upstream = service_fn(move |call: &Call| {
            let seen = Json::encode(&names(call.cx.metadata())).unwrap();
            ReplyFuture::ready(
                Reply::value(seen).with_metadata("retry-after", "3").with_metadata("set-cookie", "secret"),
            )
        });
        let metadata = Metadata::from_iter([("authorization", "secret"), ("TraceParent", "00-1")]);
        let call = Call::new("m", None).with_context(Context::default().with_metadata(metadata));
        let reply = forward(Peer::local(upstream)).call(&call).await;
        let crate::Outcome::Value(seen) = reply.outcome else { panic!("{reply:?}") };
        (seen.decode().unwrap(), names(&reply.extra.unwrap().metadata))
    }

    #[tokio::test]
    async fn metadata_is_forwarded_only_under_allowed_names() {
        // SEC-T-05
        assert_eq!(passed(Forward::new).await, (vec!["TraceParent".to_owned()], vec![]));
        let none = |to| Forward::new(to).with_call_metadata(AllowedNames::none());
        assert_eq!(passed(none).await, (vec![], vec![]));
        let some = |to| {
            let forward = Forward::new(to).with_call_metadata(AllowedNames::from_iter(["Authorization"]));
            forward.with_reply_metadata(AllowedNames::from_iter(["Retry-After", "none"]))
        };
        assert_eq!(passed(some).await, (vec!["authorization".to_owned()], vec!["retry-after".to_owned()]));
    }
}
