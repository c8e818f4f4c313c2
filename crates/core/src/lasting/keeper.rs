//! The task that keeps the connection.

use std::borrow::Cow;
use std::future::Future;
use std::sync::Arc;

use futures_util::future::{Either, select};
use tokio::time::Instant;

use crate::call_error::CallError;
use crate::engine::moment_after;
use crate::lasting::DialError;
use crate::lasting::backoff::Course;
use crate::lasting::shared::Shared;
use crate::lasting::state::State;
use crate::peer::{Peer, Remote};

/// Connects, and connects again, until there is no point in it.
pub(super) async fn keep<F, R, E>(shared: Arc<Shared>, dial: F)
where
    F: Fn() -> R,
    R: Future<Output = Result<Peer, E>>,
    E: Into<DialError>,
{
    let shared = Ending(shared);
    let shared = &*shared.0;
    let mut course = Course::new(&shared.options.backoff);
    loop {
        shared.tell(State::Connecting { attempt: course.attempt() });
        let (delay, reason) = match tokio::time::timeout(shared.options.dial_time, dial()).await {
            Ok(Ok(peer)) => {
                let since = Instant::now();
                let reason = carry(shared, peer).await;
                (course.broke(since.elapsed()), reason)
            }
            Ok(Err(error)) => match error.into() {
                DialError::Refused(why) => return shared.close(&CallError::Unreachable(why)),
                DialError::Unreachable(why) => (course.failed(), why),
            },
            Err(_) => (course.failed(), "it took too long to connect (lasting::Options::dial_time)".into()),
        };
        let Some(delay) = delay else {
            let text = format!("no more attempts to connect are made after this: {reason}");
            return shared.close(&CallError::Unreachable(text.into()));
        };
        tracing::info!(%reason, attempt = course.attempt(), ?delay, "there is no connection");
        shared.tell(State::Waiting { attempt: course.attempt(), until: moment_after(delay), reason });
        tokio::time::sleep(delay).await;
    }
}

/// Uses a connection until it breaks, and says why it did.
async fn carry(shared: &Shared, peer: Peer) -> Cow<'static, str> {
    let closed = Remote::closed(&peer);
    let epoch = shared.connect(&peer);
    // From here on only the line holds it, and drops it when a call finds it broken.
    drop(peer);
    shared.tell(State::Connected);
    let lost = std::pin::pin!(shared.until_lost(epoch));
    let reason = match select(closed, lost).await {
        Either::Left((CallError::Closed(reason), _)) => reason,
        Either::Left((error, _)) => error.to_string().into(),
        Either::Right(_) => "a call found the connection closed".into(),
    };
    shared.lose(epoch);
    reason
}

/// Nobody waits for a keeper that is gone, however it ended.
struct Ending(Arc<Shared>);

impl Drop for Ending {
    fn drop(&mut self) {
        self.0.close(&CallError::Closed("nobody keeps the connection any more".into()));
    }
}
