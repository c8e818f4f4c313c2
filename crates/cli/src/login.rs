//! Sends the token over transports without headers: as a call of `rpc.login`, before anything else.

use std::time::Duration;

use switchboard::identity::LOGIN;
use switchboard::{CallError, Code, Dial, Json, Peer};

use crate::output;

/// A token to log in with.
#[derive(Clone)]
pub(crate) struct Login {
    pub(crate) token: String,
    /// Whether it is from the environment, and may be meant for other servers.
    pub(crate) is_ambient: bool,
    pub(crate) timeout: Duration,
}

impl Login {
    /// Logs in. A server that does not know the method asks for no tokens over this transport.
    pub(crate) async fn send(&self, peer: &Peer) -> Result<(), CallError> {
        match peer.call::<Json>(LOGIN, [&self.token]).timeout(self.timeout).await {
            Ok(_) => Ok(()),
            Err(CallError::Rejected(error)) if error.code == Code::METHOD_NOT_FOUND => Ok(()),
            Err(CallError::Rejected(_)) if self.is_ambient => {
                output::note("warning: the server does not accept SWITCHBOARD_TOKEN; calling without it\n");
                Ok(())
            }
            Err(error) => Err(error),
        }
    }
}

/// Connects, and logs in if there is a token. A refused token is a permanent failure, so that nothing is tried again.
pub(crate) async fn connect(dial: Dial, login: Option<Login>) -> Result<Peer, CallError> {
    let peer = dial.connect().await?;
    if let Some(login) = login {
        login.send(&peer).await.map_err(|error| match error {
            CallError::Rejected(_) => CallError::CannotConnect(REFUSED.into()),
            error => error,
        })?;
    }
    Ok(peer)
}

/// Why a connection with a wrong token is not made.
pub(crate) const REFUSED: &str = "the server does not accept the token";
