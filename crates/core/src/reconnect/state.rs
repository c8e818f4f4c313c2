//! The state of a connection, for observers.

use std::borrow::Cow;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::call_error::CallError;

/// The state of a connection.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum ConnectionState {
    /// Not connected, because nothing needs a connection: see [`ReconnectOptions::on_demand`](super::ReconnectOptions::on_demand).
    Idle,
    /// An attempt to connect is in progress.
    Connecting {
        /// The number of this attempt since the last success, starting at 1.
        attempt: u32,
    },
    /// Connected.
    Connected,
    /// The connection broke or could not be opened; the next attempt is scheduled.
    Waiting {
        /// The number of the next attempt, starting at 1.
        attempt: u32,
        /// When it starts.
        until: Instant,
        /// What happened.
        reason: Cow<'static, str>,
    },
    /// No more attempts are made.
    Closed(CallError),
}

/// Watches the [`ConnectionState`] of a connection. It does not keep the connection open.
#[derive(Clone, Debug)]
pub struct Watch(pub(super) watch::Receiver<ConnectionState>);

impl Watch {
    /// The current state.
    #[must_use]
    pub fn state(&self) -> ConnectionState {
        self.0.borrow().clone()
    }

    /// Returns the current state the first time, and then waits for each change and returns the new state. `None` means
    /// that no more changes can follow. If the state changed several times since the last call, only the latest is returned.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future loses nothing.
    pub async fn next(&mut self) -> Option<ConnectionState> {
        // Nothing follows the end. It is looked for first, since it may come between the two looks.
        let is_over = matches!(&*self.0.borrow(), ConnectionState::Closed(_));
        if is_over && !self.0.has_changed().unwrap_or(false) {
            return None;
        }
        self.0.changed().await.ok()?;
        Some(self.0.borrow_and_update().clone())
    }

    /// Waits until there is a connection.
    ///
    /// # Errors
    ///
    /// When no more attempts are made.
    pub async fn connected(&mut self) -> Result<(), CallError> {
        let found = self
            .0
            .wait_for(|state| matches!(state, ConnectionState::Connected | ConnectionState::Closed(_)))
            .await;
        match found.as_deref() {
            Ok(ConnectionState::Closed(reason)) => Err(reason.clone()),
            Ok(_) => Ok(()),
            Err(_) => Err(CallError::Closed(super::GONE.into())),
        }
    }
}
