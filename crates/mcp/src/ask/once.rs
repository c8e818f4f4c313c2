//! Work that is done once for a call, however many rounds the call takes.

use std::future::Future;

use serde::Serialize;
use serde::de::DeserializeOwned;
use switchboard_core::Json;

use super::Caller;
use super::caller::Asker;

impl Caller {
    /// Runs the future once for this call, and remembers its value if it succeeds. A stateless client repeats a call with the answers to its
    /// questions; the future is then skipped, and its value comes from the sealed state that the client sent back.
    ///
    /// It runs at least once: if the process stops before the client has its answer, the client starts over.
    ///
    /// # Errors
    ///
    /// Returns the error of the future, which is not remembered.
    pub async fn once<T, E>(&self, key: &str, work: impl Future<Output = Result<T, E>>) -> Result<T, E>
    where
        T: Serialize + DeserializeOwned + 'static,
    {
        let Asker::Rounds(rounds) = self.asker() else { return work.await };
        if let Some(value) = rounds.remembered(key).and_then(|value| value.decode().ok()) {
            return Ok(value);
        }
        let value = work.await?;
        if let Ok(json) = Json::encode(&value) {
            rounds.remember(key, json);
        }
        Ok(value)
    }
}
