//! The answer to a call, recorded or new.

use std::time::Duration;

use futures_util::StreamExt;
use serde::Serialize;
use switchboard::{Call, CallError, Items, Json, Kind, Outcome};

use super::difference::{Difference, differences};
use super::rules::Rules;
use crate::recording::{Entry, RecordedError};
use crate::session::Line;

/// The answer to a call.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Answer {
    #[serde(skip_serializing_if = "Option::is_none")]
    result: Option<Json>,
    #[serde(skip_serializing_if = "Option::is_none")]
    items: Option<Vec<Json>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<RecordedError>,
    /// Why there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    failure: Option<String>,
}

impl From<&Entry> for Answer {
    fn from(entry: &Entry) -> Answer {
        let Entry { result, items, error, .. } = entry.clone();
        Answer { result, items, error, failure: None }
    }
}

impl Answer {
    /// Sends a call and waits for its answer; of a stream at most so many items. Fails if the server cannot be reached.
    pub(crate) async fn to(
        line: &Line,
        call: Call,
        most: usize,
        patience: Duration,
    ) -> Result<Answer, CallError> {
        match line.ask(call).await.map(|reply| reply.outcome) {
            Ok(Outcome::Value(json)) => Ok(Answer { result: Some(json), ..Answer::default() }),
            Ok(Outcome::Stream(items)) => Ok(Answer::collect(items, most, patience).await),
            Ok(Outcome::Error(error)) => Ok(Answer::default().ended(error.into())),
            Err(error @ (CallError::Unreachable(_) | CallError::CannotConnect(_))) => Err(error),
            Err(error) => Ok(Answer::default().ended(error)),
        }
    }

    async fn collect(mut items: Items, most: usize, patience: Duration) -> Answer {
        let mut answer = Answer::default();
        let mut read = Vec::new();
        while read.len() < most {
            match tokio::time::timeout(patience, items.next()).await {
                Ok(Some(Ok(item))) => read.push(item),
                Ok(Some(Err(error))) => {
                    answer = answer.ended(error.into());
                    break;
                }
                Ok(None) => break,
                Err(_) => {
                    answer = answer.ended(CallError::TimedOut);
                    break;
                }
            }
        }
        Answer { items: Some(read), ..answer }
    }

    fn ended(mut self, error: CallError) -> Answer {
        match error {
            CallError::Rejected(error) => self.error = Some(RecordedError::from(&error)),
            other => self.failure = Some(other.to_string()),
        }
        self
    }

    /// How another answer differs from this one, as far as it matters.
    pub(crate) fn differences(mut self, mut other: Answer, rules: &Rules) -> Vec<Difference> {
        if self.items.is_some() != other.items.is_some() {
            self.spread();
            other.spread();
        }
        let mut found = differences(&self.to_json(rules), &other.to_json(rules));
        found.retain(|difference| rules.counts(difference));
        found
    }

    /// Makes an array the items of a stream: over some transports a stream is collected into one.
    fn spread(&mut self) {
        if let Some(array) = self.result.take_if(|result| result.kind() == Kind::Array) {
            self.items = array.decode().ok();
        }
    }

    fn to_json(&self, rules: &Rules) -> Json {
        let mut answer = self.clone();
        if let Some(error) = answer.error.as_mut().filter(|_| rules.only_codes) {
            (error.message, error.data) = (String::new(), None);
        }
        Json::encode(&answer).expect("the names of its members are strings")
    }
}
