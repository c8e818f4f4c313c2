//! Notifications among the parts of an answer: progress for the caller, and others for the service of the client.

use std::collections::BTreeMap;
use std::sync::Arc;

use switchboard_core::codec::RequestObject;
use switchboard_core::{Call, Context, Json, Profile, Reply, ReplyFuture, Service};

/// Where the notifications in an answer go.
pub(crate) struct Notifications {
    /// The dialect, which names those about progress.
    pub(crate) profile: Profile,
    /// Where the progress of the call goes, if its caller wants it; and the identifier of the call, if what arrives may be about others.
    pub(crate) progress: Option<(Option<u64>, Context)>,
    /// Takes all other notifications.
    pub(crate) service: Option<Arc<dyn Service>>,
}

impl Notifications {
    /// Hands a notification over: progress of the call to its caller, anything else to the service.
    pub(crate) fn handle(&self, request: RequestObject) -> Option<ReplyFuture> {
        if request.id.is_none() {
            if let Some((cx, value)) = self.progress(&request) {
                let told = cx.progress(&value);
                return Some(ReplyFuture::pending(async {
                    told.await;
                    Reply::value(Json::NULL)
                }));
            }
            if let Some(service) = &self.service {
                return Some(service.call(&Call::notification(request.method, request.params)));
            }
        }
        tracing::debug!(method = ?request.method, "dropped a message in an answer");
        None
    }

    /// The progress that a notification tells, if it is about the call and its caller wants it.
    fn progress(&self, request: &RequestObject) -> Option<(&Context, Json)> {
        let (id, cx) = self.progress.as_ref()?;
        let progress = &self.profile.progress;
        let params = request.params.as_ref().filter(|_| request.method == progress.method)?;
        let mut params: BTreeMap<String, Json> = params.decode().ok()?;
        let is_about = |id: u64| {
            params
                .get(progress.member)
                .is_some_and(|about| about.decode::<u64>().is_ok_and(|about| about == id))
        };
        id.is_none_or(is_about).then_some(())?;
        Some((cx, params.remove("value")?))
    }
}
