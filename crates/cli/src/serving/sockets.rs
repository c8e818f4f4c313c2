//! Listening sockets that a supervisor passes, or the process that this one replaces: `LISTEN_FDS` and `LISTEN_FDNAMES`.
//!
//! A supervisor may pass any names. A process that is replaced names each socket after the URL in its configuration, so that its successor finds it
//! even if the port was chosen by the system.

use std::net::{IpAddr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::{UnixListener, UnixStream};

use listenfd::ListenFd;
use switchboard::carrier::Url;
use switchboard::server::{ListenError, ListeningSocket, Server};

use super::explain;
use crate::config::Config;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::supervisor;

/// The name of the socket over which a successor says that it is ready.
pub(super) const READY: &str = "switchboard-ready";
/// What supervisors call the socket of the admin listener.
const ADMIN: &str = "admin";

/// The sockets that this process was started with, and that are not used yet.
#[derive(Default)]
pub(crate) struct Sockets {
    passed: Vec<Passed>,
    ready: Option<UnixStream>,
    /// The name of the socket of the admin listener.
    admin: String,
}

struct Passed {
    name: String,
    socket: Kind,
}

enum Kind {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Sockets {
    /// Takes those that were passed. Programs that this process starts do not get them.
    pub(super) fn from_env() -> Result<Sockets, Failure> {
        let names = std::env::var("LISTEN_FDNAMES").unwrap_or_default();
        let mut names = names.split(':').map(str::to_owned);
        let (mut passed, mut sockets) = (ListenFd::from_env(), Sockets::default());
        for index in 0..passed.len() {
            let name = names.next().unwrap_or_default();
            let socket = match passed.take_tcp_listener(index) {
                Ok(socket) => socket.map(Kind::Tcp),
                Err(_) => passed.take_unix_listener(index).map_err(|error| unusable(&error))?.map(Kind::Unix),
            };
            match socket {
                Some(Kind::Unix(socket)) if name == READY => {
                    sockets.ready = Some(OwnedFd::from(socket).into());
                }
                Some(socket) => sockets.passed.push(Passed { name, socket }),
                None => {}
            }
        }
        Ok(sockets)
    }

    /// Tells the process that this one replaces, and the supervisor, that it is ready. What is left of the sockets is closed.
    pub(super) fn ready(&mut self) {
        self.passed.clear();
        supervisor::ready();
        if let Some(mut predecessor) = self.ready.take() {
            // If it has gone, it needs not know.
            let _ = std::io::Write::write_all(&mut predecessor, b"ready\n");
        }
    }

    /// Listens where the configuration says, or with the sockets of a supervisor if it says nothing. Gives the names of all sockets, for a successor.
    pub(super) async fn listen(
        &mut self,
        server: &mut Server,
        config: &Config,
    ) -> Result<Vec<String>, Failure> {
        let is_supervised = self.passed.iter().any(Passed::is_supervised);
        if is_supervised && !config.is_listen_set {
            return self.adopt(server).await;
        }
        let mut names = Vec::new();
        for url in &config.listen {
            let listening = self.listen_as(encoded(url), server, url).await;
            names.push(listening.map_err(|error| explain(error, url))?);
        }
        Ok(names)
    }

    /// Listens at this URL for the admin listener.
    pub(crate) async fn listen_admin(&mut self, server: &mut Server, url: &str) -> Result<(), ListenError> {
        let is_named = self.passed.iter().any(|passed| passed.name == ADMIN);
        let name = if is_named { ADMIN.to_owned() } else { format!("{ADMIN}={}", encoded(url)) };
        self.admin = self.listen_as(name, server, url).await?;
        Ok(())
    }

    /// The name of the socket of the admin listener, if there is one.
    pub(super) fn admin(&self) -> &str {
        &self.admin
    }

    /// Listens at this URL: with the socket of this name, with one that a supervisor has bound there, or with a new one. Gives the name for a successor.
    async fn listen_as(
        &mut self,
        name: String,
        server: &mut Server,
        url: &str,
    ) -> Result<String, ListenError> {
        match self.take(&name, url) {
            None => server.listen(url).await.map(|()| name),
            Some(passed) => {
                let name = passed.name.clone();
                server.listen_with(url, passed.into_socket()).await.map(|()| name)
            }
        }
    }

    /// Serves all sockets of the supervisor.
    async fn adopt(&mut self, server: &mut Server) -> Result<Vec<String>, Failure> {
        let is_ours = |passed: &mut Passed| passed.is_supervised();
        let mut names = Vec::new();
        for passed in self.passed.extract_if(.., is_ours) {
            names.push(passed.name.clone());
            let path = passed.path();
            let adopted = match passed.socket {
                Kind::Tcp(listener) => server.adopt(listener),
                Kind::Unix(listener) => {
                    let path = path.ok_or_else(|| unusable(&"a Unix socket needs a path"))?;
                    let socket = ListeningSocket::new(listener).keeping_file();
                    server.listen_with(&format!("unix:{path}"), socket).await
                }
            };
            adopted.map_err(|error| explain(error, ""))?;
        }
        Ok(names)
    }

    /// The socket with this name, or else the one at this URL.
    fn take(&mut self, name: &str, url: &str) -> Option<Passed> {
        let is_there = |passed: &Passed| passed.is_supervised() && passed.is_at(url);
        let by_name = self.passed.iter().position(|passed| passed.name == name);
        by_name.or_else(|| self.passed.iter().position(is_there)).map(|index| self.passed.remove(index))
    }
}

impl Passed {
    /// Whether a supervisor passed it, for other than the admin listener. URLs have a colon, which names cannot have.
    fn is_supervised(&self) -> bool {
        !self.name.contains(COLON) && self.name != ADMIN
    }

    fn path(&self) -> Option<String> {
        match &self.socket {
            Kind::Unix(listener) => Some(listener.local_addr().ok()?.as_pathname()?.to_str()?.to_owned()),
            Kind::Tcp(_) => None,
        }
    }

    fn is_at(&self, url: &str) -> bool {
        let Ok(url) = url.parse::<Url>() else { return false };
        match &self.socket {
            Kind::Unix(_) => self.path().is_some_and(|path| url.text_without("framing") == Some(path)),
            Kind::Tcp(listener) => {
                let host =
                    url.place().and_then(|place| Some((place.host.parse::<IpAddr>().ok()?, place.port?)));
                listener.local_addr().is_ok_and(|address| host == Some((address.ip(), address.port())))
            }
        }
    }

    fn into_socket(self) -> ListeningSocket {
        let is_supervised = !self.name.contains(COLON);
        let socket = match self.socket {
            Kind::Tcp(listener) => ListeningSocket::new(listener),
            Kind::Unix(listener) => ListeningSocket::new(listener),
        };
        if is_supervised { socket.keeping_file() } else { socket }
    }
}

/// What a colon is in the name of a socket.
const COLON: &str = "%3A";

fn encoded(url: &str) -> String {
    url.replace('%', "%25").replace(':', COLON)
}

fn unusable(error: &dyn std::fmt::Display) -> Failure {
    let what = format!("cannot use a socket passed by the supervisor (LISTEN_FDS): {error}");
    Failure::new(Exit::CannotListen, what).advise("pass listening TCP and Unix sockets only")
}
