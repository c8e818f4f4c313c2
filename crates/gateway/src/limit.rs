//! Limits of the calls to an upstream, or to some of its methods.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

use switchboard_core::{Call, CallError, Code, ErrorObject, Layer, Outcome, Reply, ReplyFuture, Service};
use switchboard_layers::explain::{Conclusion, Explain, Step};
use tokio::time::Instant;

/// Limits how long calls take, and how large their results are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct CallLimits {
    /// The longest time: then callers get -32003, and the call is cancelled at the upstream.
    pub time: Option<Duration>,
    /// The largest result or error, in bytes: a larger one is replaced by -32007.
    pub reply: Option<usize>,
}

impl CallLimits {
    /// Sets the longest [time](CallLimits::time).
    #[must_use]
    pub fn with_time(mut self, time: Option<Duration>) -> CallLimits {
        self.time = time;
        self
    }

    /// Sets the largest [reply](CallLimits::reply).
    #[must_use]
    pub fn with_reply(mut self, reply: Option<usize>) -> CallLimits {
        self.reply = reply;
        self
    }
}

impl Layer for CallLimits {
    fn layer(&self, service: Arc<dyn Service>) -> Arc<dyn Service> {
        match self.time.is_none() && self.reply.is_none() {
            true => service,
            false => Arc::new(Limited { limits: *self, service }),
        }
    }
}

impl Explain for CallLimits {
    fn name(&self) -> &'static str {
        "limits"
    }

    fn explain(&self, _: &Call, steps: &mut Vec<Step>) -> ControlFlow<Conclusion> {
        let time = self.time.map(|time| format!("timeout {time:?}"));
        let reply = self.reply.map(|bytes| format!("answers of up to {bytes} bytes"));
        let all: Vec<String> = [time, reply].into_iter().flatten().collect();
        if !all.is_empty() {
            steps.push(Step::new(self.name(), "on", all.join(", ")));
        }
        ControlFlow::Continue(())
    }
}

/// Marks a call whose deadline is that of the operator, and not that of its caller.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OwnTime {
    /// Whether the call may be sent again after its deadline. Then its node ends it, and not the layer that limits the whole call.
    pub(crate) is_of_attempt: bool,
}

struct Limited {
    limits: CallLimits,
    service: Arc<dyn Service>,
}

impl Service for Limited {
    fn call(&self, call: &Call) -> ReplyFuture {
        let most = self.limits.reply.unwrap_or(usize::MAX);
        let Some(time) = self.limits.time else {
            return self.service.call(call).map(move |reply| within(reply, most));
        };
        let until = Instant::now() + time;
        let is_sooner = call.cx.deadline.is_none_or(|deadline| until < deadline);
        if !is_sooner {
            return self.service.call(call).map(move |reply| within(reply, most));
        }
        let mut call = call.clone();
        call.cx.deadline = Some(until);
        call.cx.insert(OwnTime { is_of_attempt: false });
        match self.service.call(&call).into_ready() {
            Ok(reply) => ReplyFuture::ready(within(reply, most)),
            Err(reply) => ReplyFuture::pending(async move {
                match tokio::time::timeout_at(until, reply).await {
                    Ok(reply) => within(reply, most),
                    Err(_) => Reply::error(CallError::TimedOut.into()),
                }
            }),
        }
    }
}

/// The reply, unless it is too large.
fn within(mut reply: Reply, most: usize) -> Reply {
    let size = match &reply.outcome {
        Outcome::Value(value) => value.as_bytes().len(),
        Outcome::Error(error) => {
            error.message.len() + error.data.as_ref().map_or(0, |data| data.as_bytes().len())
        }
        Outcome::Stream(_) => return reply,
    };
    if size > most {
        let data = serde_json::json!({ "limit": "reply", "bytes": most });
        reply.outcome = Outcome::Error(ErrorObject::from_code(Code::REPLY_TOO_LARGE).with_data(&data));
    }
    reply
}

#[cfg(test)]
mod tests {
    use switchboard_core::{Json, Peer, service_fn};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn slow_calls_and_large_results_are_refused_one_beyond_the_limit() {
        let service = service_fn(|call: &Call| {
            let size: usize =
                call.params.as_ref().and_then(|params| params.element(0)).unwrap().decode().unwrap();
            let value = Json::encode(&"x".repeat(size)).unwrap();
            match call.method.as_str() {
                "slow" => ReplyFuture::pending(std::future::pending()),
                _ => ReplyFuture::ready(Reply::value(value)),
            }
        });
        let limits = CallLimits::default().with_time(Some(Duration::from_secs(1))).with_reply(Some(12));
        let peer = Peer::from(limits.layer(Arc::new(service)));
        assert_eq!(peer.call::<String>("m", [10]).await, Ok("x".repeat(10)));
        let error = peer.call::<String>("m", [11]).await.expect_err("one byte too many");
        assert_eq!(error.rejection().map(|error| error.code), Some(Code::REPLY_TOO_LARGE));
        let before = Instant::now();
        assert_eq!(peer.call::<String>("slow", [1]).await, Err(CallError::TimedOut));
        assert_eq!(before.elapsed(), Duration::from_secs(1));
    }
}
