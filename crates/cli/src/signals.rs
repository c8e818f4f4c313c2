//! The signals that end a server: the first asks it to finish, the second does not wait.

use crate::exit::Exit;
use crate::log;

/// Waits for signals that ask the program to end.
pub(crate) struct Signals {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
}

impl Signals {
    /// Begins to listen for signals; none that comes from now on is lost.
    #[cfg(unix)]
    pub(crate) fn listen() -> std::io::Result<Signals> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Signals {
            interrupt: signal(SignalKind::interrupt())?,
            terminate: signal(SignalKind::terminate())?,
        })
    }

    /// Begins to listen for signals.
    #[cfg(not(unix))]
    pub(crate) fn listen() -> std::io::Result<Signals> {
        Ok(Signals {})
    }

    /// Waits for the next one.
    #[cfg(unix)]
    pub(crate) async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// Waits for the next one.
    #[cfg(not(unix))]
    pub(crate) async fn next(&mut self) {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Ends the program at the next one, whatever it is doing.
    pub(crate) async fn end_at_next(mut self) {
        self.next().await;
        log::flush();
        std::process::exit(Exit::Interrupted as i32);
    }
}
