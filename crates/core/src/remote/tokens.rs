//! Progress and partial results of calls from this side, matched by the tokens that the calls were sent with.

use crate::id::Id;
use crate::json::Json;
use crate::partial_results as partial;
use crate::remote::{Answer, RemoteShared, Waiter};

impl RemoteShared {
    /// Whether progress with this token belongs to a call of this side that wants it.
    pub(crate) fn wants_progress(&self, token: &Json) -> bool {
        let part = self.part(token);
        let id = part.or_else(|| self.call_with_token(token));
        self.locked(|state| match (part, id.and_then(|id| state.pending.waiter(id))) {
            (_, None) => false,
            (Some(_), Some(waiter)) => matches!(waiter.answer, Answer::Parts(_)),
            (None, Some(waiter)) => waiter.progress.is_some(),
        })
    }

    /// The call that a token for partial results was given with.
    fn part(&self, token: &Json) -> Option<u64> {
        partial::call_of(token).filter(|_| self.settings.profile.streams.partial.is_some())
    }

    /// The call that a token for progress was given with.
    fn call_with_token(&self, token: &Json) -> Option<u64> {
        match self.settings.profile.progress.param {
            None => Id::from_json(token).as_u64(),
            Some(_) => {
                token.as_str().strip_prefix("\"call-").and_then(|id| id.strip_suffix('"')?.parse().ok())
            }
        }
    }

    /// Passes progress of a call to its caller.
    pub(crate) fn progress(&self, token: &Json, value: Json) {
        if let Some(id) = self.part(token) {
            return self.take_part(id, value);
        }
        let id = self.call_with_token(token);
        let sender = self.locked(|state| {
            let waiter = id.and_then(|id| state.pending.waiter(id));
            waiter.and_then(|waiter| waiter.progress.clone())
        });
        // A receiver that is not fast enough does without.
        if let Some(sender) = sender {
            drop(sender.0.try_send(value));
        }
    }

    /// Passes a part of an answer to its reader.
    fn take_part(&self, id: u64, value: Json) {
        self.locked(|state| {
            let Some(Waiter { answer: Answer::Parts(buffer), .. }) = state.pending.waiter(id) else { return };
            if !partial::put(buffer, value) {
                // It was read too slowly.
                let waiter = state.pending.remove(id);
                self.settle_expected(state, Some(id));
                self.send_cancel(state, id, waiter.as_ref().and_then(|waiter| waiter.outlet.as_ref()));
            }
        });
    }
}
