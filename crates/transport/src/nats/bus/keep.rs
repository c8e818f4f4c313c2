//! Topics that the broker keeps: a JetStream stream for all topics below a name.

use std::sync::Arc;
use std::time::Duration;

use async_nats::Subject;
use serde::Deserialize;
use serde_json::{Value, json};
use switchboard_core::{CallError, ErrorObject};

use super::api::{self, Refusal};
use super::event::Start;
use super::replay::Replay;
use crate::nats::link::Link;

/// How long the broker recognises an event that is sent again.
const DUPLICATES: Duration = Duration::from_secs(120);

/// The longest name of a stream.
const LONGEST: usize = 255;

/// How much of a group of topics is kept. The oldest events go first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Keep {
    /// How long. Default: a day.
    pub age: Duration,
    /// How many bytes of all topics. Default: 256 MiB.
    pub bytes: u64,
    /// How many events of each topic, if that is limited. With 1, only the present value of each.
    pub per_topic: Option<u64>,
    /// On how many servers of a cluster. Default: 1.
    pub replicas: usize,
}

impl Default for Keep {
    fn default() -> Keep {
        Keep { age: Duration::from_secs(24 * 60 * 60), bytes: 256 << 20, per_topic: None, replicas: 1 }
    }
}

impl Keep {
    /// Sets how long events are kept.
    #[must_use]
    pub fn with_age(self, age: Duration) -> Keep {
        Keep { age, ..self }
    }

    /// Sets how many bytes are kept.
    #[must_use]
    pub fn with_bytes(self, bytes: u64) -> Keep {
        Keep { bytes, ..self }
    }

    /// Sets how many events of each topic are kept.
    #[must_use]
    pub fn with_per_topic(self, per_topic: u64) -> Keep {
        Keep { per_topic: Some(per_topic), ..self }
    }

    /// Sets on how many servers of a cluster they are kept.
    #[must_use]
    pub fn with_replicas(self, replicas: usize) -> Keep {
        Keep { replicas, ..self }
    }
}

/// A stream of the broker.
pub(super) struct Kept {
    link: Arc<Link>,
    stream: String,
    /// The subjects that it keeps.
    subjects: Subject,
}

/// What the broker tells about a stream.
#[derive(Deserialize)]
pub(super) struct Info {
    pub(super) state: StreamState,
}

#[derive(Deserialize)]
pub(super) struct StreamState {
    pub(super) first_seq: u64,
    pub(super) last_seq: u64,
}

impl Kept {
    pub(super) async fn create(
        link: Arc<Link>,
        subjects: Subject,
        name: &str,
        limits: &Keep,
    ) -> Result<Kept, CallError> {
        let kept = Kept { stream: stream(&subjects)?, link, subjects };
        let config = kept.config(name, limits);
        let created: Result<Info, Refusal> = kept.ask("CREATE", &config).await;
        match created {
            Err(Refusal::Differs) => {
                kept.ask::<Info>("UPDATE", &config).await.map_err(|why| kept.failed(why))?
            }
            created => created.map_err(|why| kept.failed(why))?,
        };
        Ok(kept)
    }

    pub(super) async fn find(link: Arc<Link>, subjects: Subject, name: &str) -> Result<Kept, CallError> {
        let kept = Kept { stream: stream(&subjects)?, link, subjects };
        tracing::debug!(topics = name, stream = kept.stream, "looking for the stream of topics");
        kept.info().await?;
        Ok(kept)
    }

    /// The name of the stream.
    pub(super) fn stream(&self) -> &str {
        &self.stream
    }

    pub(super) fn link(&self) -> &Arc<Link> {
        &self.link
    }

    /// Reads events of these subjects, from a position on.
    pub(super) async fn replay(
        self: &Arc<Kept>,
        root: String,
        subjects: Subject,
        start: Start,
    ) -> Result<Replay, CallError> {
        let is_all = subjects == self.subjects;
        Replay::open(Arc::clone(self), root, subjects, is_all, start).await
    }

    pub(super) async fn info(&self) -> Result<Info, CallError> {
        self.ask("INFO", &json!({})).await.map_err(|why| self.failed(why))
    }

    async fn ask<T: serde::de::DeserializeOwned>(&self, what: &str, body: &Value) -> Result<T, Refusal> {
        api::ask(&self.link, &format!("STREAM.{what}.{}", self.stream), body).await
    }

    pub(super) fn failed(&self, refusal: Refusal) -> CallError {
        match refusal {
            Refusal::Missing | Refusal::Differs => api::missing(&self.stream),
            Refusal::Failed(error) => error,
        }
    }

    fn config(&self, name: &str, limits: &Keep) -> Value {
        let nanos = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(0);
        let per_topic = limits.per_topic.and_then(|most| i64::try_from(most.max(1)).ok());
        json!({
            "name": self.stream,
            "description": format!("switchboard topics below {name:?}"),
            "subjects": [self.subjects.as_str()],
            "retention": "limits",
            "storage": "file",
            "discard": "old",
            "max_consumers": -1,
            "max_msgs": -1,
            "max_msg_size": -1,
            "max_bytes": i64::try_from(limits.bytes).unwrap_or(i64::MAX),
            "max_age": nanos(limits.age),
            "max_msgs_per_subject": per_topic.unwrap_or(-1),
            "duplicate_window": nanos(limits.age.min(DUPLICATES)),
            "num_replicas": limits.replicas,
        })
    }
}

/// The name of the stream for these subjects: `SB_TOPIC_board+prices` for `_SBT.board.prices.>`. No two have the same, because `+` is not in subjects.
fn stream(subjects: &Subject) -> Result<String, CallError> {
    let tokens = subjects.split('.').skip(1).filter(|token| *token != ">");
    let name = format!("SB_TOPIC_{}", tokens.collect::<Vec<_>>().join("+"));
    if name.len() > LONGEST {
        let text = format!("the name of the topics is too long to keep them: {} bytes", name.len());
        return Err(CallError::Rejected(ErrorObject::invalid_params(text)));
    }
    Ok(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_have_names_that_tell_their_topics() {
        let name = |subjects: &'static str| stream(&Subject::from_static(subjects)).unwrap();
        assert_eq!(name("_SBT.board.>"), "SB_TOPIC_board");
        assert_eq!(name("_SBT.board.prices.eu=2Dx.>"), "SB_TOPIC_board+prices+eu=2Dx");
        let long = Subject::from(format!("_SBT.board.{}.>", "x".repeat(250)));
        assert!(stream(&long).is_err());
    }
}
