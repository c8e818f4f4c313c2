//! Calls over HTTP that are sent again, where that cannot run anything twice.
//!
//! A carrier with a connection of its own has [`Lasting`](switchboard::lasting::Lasting) for this.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use switchboard::http::Client;
use switchboard::lasting::Backoff;
use switchboard::{Call, CallError, Remote, Reply, ReplyFuture, Service};

/// A client that tries again with growing delays.
pub(crate) struct Again {
    client: Arc<Client>,
    backoff: Backoff,
}

impl Again {
    pub(crate) fn new(client: Client, backoff: Backoff) -> Again {
        Again { client: Arc::new(client), backoff }
    }
}

impl Service for Again {
    fn call(&self, call: &Call) -> ReplyFuture {
        let (client, call, mut delays) = (Arc::clone(&self.client), call.clone(), self.backoff.delays());
        ReplyFuture::pending(async move {
            loop {
                let reply = client.call(&call).await;
                let delay = if may_go_again(&call, &reply) { delays.next() } else { None };
                let Some(delay) = delay else { return reply };
                tokio::time::sleep(delay).await;
            }
        })
    }
}

impl Remote for Again {
    fn batch(&self, calls: Vec<Call>) -> Pin<Box<dyn Future<Output = Vec<Reply>> + Send>> {
        let (client, mut delays) = (Arc::clone(&self.client), self.backoff.delays());
        Box::pin(async move {
            loop {
                let replies = client.batch(calls.clone()).await;
                let is_lost = calls.iter().zip(&replies).all(|(call, reply)| may_go_again(call, reply));
                let delay = if is_lost { delays.next() } else { None };
                let Some(delay) = delay else { return replies };
                tokio::time::sleep(delay).await;
            }
        })
    }

    fn closed(&self) -> Pin<Box<dyn Future<Output = CallError> + Send>> {
        self.client.closed()
    }
}

/// Whether a call failed so that sending it again runs it once, or more often without harm.
fn may_go_again(call: &Call, reply: &Reply) -> bool {
    let Reply::Error(error) = reply else { return false };
    match CallError::from(error.clone()) {
        CallError::Unreachable(_) => true,
        CallError::Closed(_) => call.is_repeatable(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard::ErrorObject;

    #[test]
    fn only_what_was_not_sent_or_may_be_repeated_goes_again() {
        let check = |call: Call, error: CallError, expected: bool| {
            let reply = Reply::Error(ErrorObject::from(error.clone()));
            assert_eq!(may_go_again(&call, &reply), expected, "{error}");
        };
        let gone = || CallError::Closed("gone".into());
        check(Call::new("a", None), CallError::Unreachable("nobody".into()), true);
        check(Call::notification("a", None), CallError::Unreachable("nobody".into()), true);
        check(Call::new("a", None), gone(), false);
        check(Call::new("a", None).repeatable(), gone(), true);
        check(Call::notification("a", None).repeatable(), gone(), false);
        check(Call::new("a", None).repeatable(), CallError::TimedOut, false);
        check(Call::new("a", None), CallError::Rejected(ErrorObject::method_not_found()), false);
    }
}
