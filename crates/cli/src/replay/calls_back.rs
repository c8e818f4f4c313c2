//! Calls of the server to the client, which are answered as they were recorded.

use std::collections::{HashMap, VecDeque};
use std::sync::{Mutex, PoisonError};

use futures_util::stream;
use switchboard::{Call, ErrorObject, Json, Reply, ReplyFuture, Service};

use crate::recording::Entry;

/// The client of a session: it answers each method as it did in the recording, in the same order.
#[derive(Default)]
pub(crate) struct CallsBack(Mutex<HashMap<String, VecDeque<Entry>>>);

impl CallsBack {
    /// Also answers as this entry says, after those that were added before.
    pub(crate) fn add(&mut self, entry: &Entry) {
        let answers = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if !entry.notification {
            answers.entry(entry.method.clone()).or_default().push_back(entry.clone());
        }
    }

    fn next(&self, method: &str) -> Option<Entry> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_mut(method)?.pop_front()
    }
}

impl Service for CallsBack {
    fn call(&self, call: &Call) -> ReplyFuture {
        if call.is_notification() {
            return ReplyFuture::ready(Reply::value(Json::NULL));
        }
        let reply = match self.next(call.method.as_str()) {
            Some(Entry { error: Some(error), .. }) => Reply::error(error.into()),
            Some(Entry { items: Some(items), .. }) => Reply::stream(stream::iter(items)),
            Some(Entry { result: Some(result), .. }) => Reply::value(result),
            _ => Reply::error(ErrorObject::method_not_found(call.method.as_str())),
        };
        ReplyFuture::ready(reply)
    }
}
