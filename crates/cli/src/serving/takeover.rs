//! How a server ends: a signal stops it, or another process takes over its sockets (SIGUSR2).

use switchboard::server::{Handle, Server};
#[cfg(unix)]
use tokio::signal::unix::{Signal, SignalKind, signal};

#[cfg(not(unix))]
pub(crate) use self::without::Sockets;
#[cfg(unix)]
pub(crate) use super::sockets::Sockets;
#[cfg(unix)]
use super::{cannot_start, successor::Successor};
use crate::failure::Failure;
use crate::signals::Signals;
use crate::{output, supervisor};

/// Why a server ends.
pub(super) enum End {
    /// A signal stopped it.
    Stopped,
    /// Another process has its sockets.
    Replaced,
}

impl End {
    /// Begins to end the server, and its admin listener if that is to end before it.
    pub(super) fn begin(&self, server: &Handle, admin: Option<&Handle>) {
        match self {
            End::Stopped => server.shutdown(),
            End::Replaced => {
                server.hand_over();
                admin.into_iter().for_each(Handle::hand_over);
            }
        }
    }
}

/// Starts a successor when a signal asks for one.
pub(super) struct Takeover {
    #[cfg(unix)]
    asked: Signal,
    #[cfg(unix)]
    successor: Option<Successor>,
}

impl Takeover {
    /// For a server whose sockets have these names, and its admin listener.
    #[cfg(unix)]
    pub(super) fn new(
        names: Vec<String>,
        server: &Server,
        admin: Option<&Server>,
        sockets: &Sockets,
    ) -> Result<Takeover, Failure> {
        let cannot = |error| cannot_start(&error);
        let mut successor = Successor::new(names, server.sockets().map_err(cannot)?);
        if let (Some(successor), Some(admin)) = (&mut successor, admin) {
            successor.add(sockets.admin(), admin.sockets().map_err(cannot)?);
        }
        let asked = signal(SignalKind::user_defined2()).map_err(cannot)?;
        Ok(Takeover { asked, successor })
    }

    #[cfg(not(unix))]
    #[expect(clippy::unnecessary_wraps, reason = "as where there are signals")]
    pub(super) fn new(
        _: Vec<String>,
        _: &Server,
        _: Option<&Server>,
        _: &Sockets,
    ) -> Result<Takeover, Failure> {
        Ok(Takeover {})
    }

    /// Waits until the server is to end.
    #[cfg(unix)]
    pub(super) async fn until_end(&mut self, signals: &mut Signals, server: &Handle) -> End {
        loop {
            tokio::select! {
                () = signals.next() => return stopped(),
                // By an operator.
                () = server.requested() => {
                    supervisor::stopping();
                    return End::Stopped;
                }
                _ = self.asked.recv() => {}
            }
            let Some(successor) = &self.successor else {
                output::note(
                    "SIGUSR2 ignored: a server over standard input and output cannot be replaced.\n",
                );
                continue;
            };
            let started = tokio::select! {
                () = signals.next() => return stopped(),
                started = successor.start() => started,
            };
            match started {
                Ok(process) => {
                    supervisor::replaced(process);
                    output::note(&format!(
                        "Process {process} has taken over; this one stops after the calls in progress.\n"
                    ));
                    return End::Replaced;
                }
                Err(reason) => {
                    output::note(&format!(
                        "The new process did not start: {reason}. This process keeps serving.\n"
                    ));
                }
            }
        }
    }

    #[cfg(not(unix))]
    pub(super) async fn until_end(&mut self, signals: &mut Signals, server: &Handle) -> End {
        tokio::select! {
            () = signals.next() => stopped(),
            () = server.requested() => End::Stopped,
        }
    }
}

fn stopped() -> End {
    supervisor::stopping();
    output::note("Stopping after the calls in progress; a second Ctrl-C or SIGTERM stops immediately.\n");
    End::Stopped
}

/// Where no sockets can be passed.
#[cfg(not(unix))]
mod without {
    use switchboard::server::Server;

    use crate::config::Config;
    use crate::failure::Failure;
    use crate::serving::explain;

    pub(crate) struct Sockets;

    impl Sockets {
        pub(crate) fn from_env() -> Result<Sockets, Failure> {
            Ok(Sockets)
        }

        pub(crate) fn ready(&mut self) {
            crate::supervisor::ready();
        }

        pub(crate) async fn listen(
            &mut self,
            server: &mut Server,
            config: &Config,
        ) -> Result<Vec<String>, Failure> {
            for url in &config.listen {
                server.listen(url).await.map_err(|error| explain(error, url))?;
            }
            Ok(Vec::new())
        }

        pub(crate) async fn listen_admin(
            &mut self,
            server: &mut Server,
            url: &str,
        ) -> Result<(), switchboard::server::ListenError> {
            server.listen(url).await
        }
    }
}
