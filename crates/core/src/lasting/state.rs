//! What can be seen of a connection from outside.

use std::borrow::Cow;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::call_error::CallError;

/// How it stands with the connection.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum State {
    /// An attempt to connect is under way.
    Connecting {
        /// Which attempt it is since all was well, from 1 on.
        attempt: u32,
    },
    /// There is a connection.
    Connected,
    /// The connection broke, or could not be made; the next attempt waits for its time.
    Waiting {
        /// Which attempt comes next, from 1 on.
        attempt: u32,
        /// When it comes.
        until: Instant,
        /// What happened.
        reason: Cow<'static, str>,
    },
    /// It is over: no more attempts are made.
    Closed(CallError),
}

/// Sees each change of a connection's [`State`]. It does not keep the connection.
#[derive(Clone, Debug)]
pub struct Watch(pub(super) watch::Receiver<State>);

impl Watch {
    /// How it stands now.
    #[must_use]
    pub fn state(&self) -> State {
        self.0.borrow().clone()
    }

    /// Waits for a change since this was last asked, and gives what came of it; `None` when no more can come. Of
    /// several changes only the last is seen.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<State> {
        self.0.changed().await.ok()?;
        Some(self.0.borrow_and_update().clone())
    }

    /// Waits until there is a connection.
    ///
    /// # Errors
    ///
    /// When there will be none any more.
    pub async fn connected(&mut self) -> Result<(), CallError> {
        let found = self.0.wait_for(|state| matches!(state, State::Connected | State::Closed(_))).await;
        match found.as_deref() {
            Ok(State::Closed(reason)) => Err(reason.clone()),
            Ok(_) => Ok(()),
            Err(_) => Err(CallError::Closed("nobody keeps the connection any more".into())),
        }
    }
}
