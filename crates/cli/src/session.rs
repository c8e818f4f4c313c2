//! A command that talks to a server: the runtime, the signals that end it, and the connections it opens.

use std::sync::Arc;
use std::time::Duration;

use switchboard::reconnect::{self, Backoff, ReconnectingPeer};
use switchboard::{
    Call, CallError, Dial, DialError, ErrorObject, Outcome, Peer, Reply, ReplyFuture, Service, Upstream,
    service_fn,
};
use tokio::net::TcpStream;
use tokio::sync::{mpsc, oneshot};

use crate::allowance::Allowance;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::login::{self, Login};
use crate::signals::Signals;
use crate::signing::Signer;
use crate::target::{Target, is_http, port};
use crate::{log, retry, units};

/// What a command has while it talks to a server.
pub(crate) struct Session<'a> {
    pub(crate) target: &'a Target,
    dial: Dial,
    /// For transports without headers.
    login: Option<Login>,
    sign: Option<Signer>,
    /// Every connection holds a clone until it has ended.
    end: mpsc::Sender<()>,
}

/// The first signal that asks the program to end.
pub(crate) type Interrupt = oneshot::Receiver<()>;

/// How long connections may take to close after the work is done.
const CLOSING: Duration = Duration::from_secs(1);

impl Target {
    /// Runs a command until it is done or a signal arrives. Dropping it then cancels its calls on the server.
    pub(crate) fn run(
        &self,
        work: impl AsyncFnOnce(&Session<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.run_watching(async |session, interrupt| {
            tokio::select! {
                outcome = work(session) => outcome,
                _ = interrupt => Err(Failure::new(Exit::Interrupted, "interrupted; the call was cancelled")),
            }
        })
    }

    /// The same for a command that handles the first signal itself. A second one ends the program in any case.
    pub(crate) fn run_watching(
        &self,
        work: impl AsyncFnOnce(&Session<'_>, Interrupt) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        self.run_unwatched(async |session| {
            let mut signals = Signals::listen().map_err(|error| cannot_start(&error))?;
            let (interrupt, interrupted) = oneshot::channel();
            tokio::spawn(async move {
                signals.next().await;
                let _ = interrupt.send(());
                signals.end_at_next().await;
            });
            Box::pin(work(session, interrupted)).await
        })
    }

    /// The same for a command that handles all signals itself.
    pub(crate) fn run_unwatched(
        &self,
        work: impl AsyncFnOnce(&Session<'_>) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        log::start(self.log_level());
        self.format.for_errors();
        let (dial, login) = (self.dial()?, self.login()?);
        let sign = self.signing.signer(&self.url)?;
        let dial = match &sign {
            Some(sign) => sign.dial(dial),
            None => dial,
        };
        // Another thread sees signals even while this one is blocked writing its output.
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
        runtime.map_err(|error| cannot_start(&error))?.block_on(async {
            let (end, mut ended) = mpsc::channel(1);
            let session = Session { target: self, dial, login, sign, end };
            let outcome = Box::pin(work(&session)).await;
            drop(session);
            // Connections send what is queued, such as the cancellation of a call, and close.
            let _ = tokio::time::timeout(self.timeout.min(CLOSING), ended.recv()).await;
            outcome
        })
    }
}

fn cannot_start(error: &std::io::Error) -> Failure {
    Failure::new(Exit::Unreachable, format!("cannot start: {error}"))
}

impl Session<'_> {
    /// Connects to the server, which finds no methods here.
    pub(crate) async fn open(&self) -> Result<Line, Failure> {
        let nothing = |call: &Call| ReplyFuture::ready(ErrorObject::method_not_found(call.method.as_str()));
        self.open_for(service_fn(nothing)).await
    }

    /// Connects to the server, which may call this service and send it notifications.
    pub(crate) async fn open_for(&self, service: impl Service) -> Result<Line, Failure> {
        let dial = self.dial_for(service);
        let wrong = |error: DialError| match error {
            DialError::Unreachable(_) | DialError::Refused(_) => self.target.explain(error.into()),
            other => Failure::usage(other.to_string()),
        };
        let peer = match self.target.backoff() {
            Some(backoff) => self.retrying(dial, backoff),
            None => {
                let peer = dial.connect().await.map_err(wrong)?;
                if let Some(login) = &self.login {
                    login.send(&peer).await.map_err(|error| self.target.explain(error))?;
                }
                peer
            }
        };
        Ok(Line::new(signing(self.sign.as_ref(), peer), self.target.timeout))
    }

    /// The server, which is connected to when something is called, and again if that fails.
    fn retrying(&self, dial: Dial, backoff: Backoff) -> Peer {
        let options = reconnect::ReconnectOptions::default()
            .with_backoff(backoff.clone())
            .with_connect_time(self.target.timeout)
            // Calls have their own deadlines, and their number is not limited.
            .with_connect_wait(units::LONGEST)
            .with_waiting(usize::MAX)
            // A stream that has begun is not restarted.
            .with_resubscribe(false)
            .with_on_demand(true)
            .with_repeat(retry::policy(self.target.repeatable));
        let login = self.login.clone();
        let connect = move || login::connect(dial.clone(), login.clone());
        let client = ReconnectingPeer::with_options(connect, options);
        tokio::spawn(retry::announce(client.watch(), backoff));
        client.peer()
    }

    /// Checks that the server can be reached over HTTP, before anything is sent.
    pub(crate) async fn reach(&self) -> Result<(), Failure> {
        let reached = tokio::time::timeout(self.target.timeout, reach(&self.dial)).await;
        match reached {
            Ok(Err(error)) => Err(self.target.explain(CallError::Unreachable(error.to_string().into()))),
            Ok(Ok(())) => Ok(()),
            Err(_) => Err(self.target.explain(CallError::TimedOut)),
        }
    }

    /// Connects, and reconnects when the connection breaks, to a server that may call this service.
    pub(crate) fn reconnect(
        &self,
        service: impl Service,
        options: reconnect::ReconnectOptions,
    ) -> ReconnectingPeer {
        let (dial, login, sign) = (self.dial_for(service), self.login.clone(), self.sign.clone());
        let connect = move || {
            let (dial, login, sign) = (dial.clone(), login.clone(), sign.clone());
            async move {
                reach(&dial).await?;
                login::connect(dial, login).await.map(|peer| signing(sign.as_ref(), peer))
            }
        };
        ReconnectingPeer::with_options(connect, options)
    }

    /// The server as the upstream of a proxy.
    pub(crate) fn upstream(&self) -> Upstream {
        let (dial, login, sign) = (self.dial.clone(), self.login.clone(), self.sign.clone());
        let end = self.end.clone();
        Upstream::new(move |service: Arc<dyn Service>| {
            let dial = dial.clone().with_service(Held { service, _end: end.clone() });
            let (login, sign) = (login.clone(), sign.clone());
            async move { login::connect(dial, login).await.map(|peer| signing(sign.as_ref(), peer)) }
        })
    }

    /// The connection to make, for commands that make it in another way.
    pub(crate) fn dial(&self) -> Dial {
        self.dial.clone()
    }

    /// Kept by such a connection until it has ended.
    pub(crate) fn hold(&self) -> mpsc::Sender<()> {
        self.end.clone()
    }

    fn dial_for(&self, service: impl Service) -> Dial {
        self.dial.clone().with_service(Held { service, _end: self.end.clone() })
    }
}

/// The server, with calls that are signed if they are to be.
fn signing(sign: Option<&Signer>, peer: Peer) -> Peer {
    match sign {
        Some(sign) => sign.peer(peer),
        None => peer,
    }
}

/// Checks that the server can be reached, for a transport that connects with each call.
async fn reach(dial: &Dial) -> Result<(), DialError> {
    let url = dial.url();
    if !is_http(url.scheme()) {
        return Ok(());
    }
    let (Some(place), Some(port)) = (url.place(), port(url)) else { return Ok(()) };
    match TcpStream::connect((place.host.as_str(), port)).await {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == std::io::ErrorKind::ConnectionRefused => {
            Err(DialError::Unreachable(format!("nothing is listening on {place}")))
        }
        Err(error) => Err(DialError::Unreachable(format!("cannot connect to {place}: {error}"))),
    }
}

/// The server, to be called.
pub(crate) struct Line {
    peer: Peer,
    timeout: Duration,
}

impl Line {
    /// A line to this server, whose calls have this timeout.
    pub(crate) fn new(peer: Peer, timeout: Duration) -> Line {
        Line { peer: peer.with_timeout(timeout), timeout }
    }

    /// The server as a peer. Its calls have the timeout of the command line.
    pub(crate) fn peer(&self) -> &Peer {
        &self.peer
    }

    /// Sends a call and waits for its reply, within the timeout of the command line. The reply to a notification says whether it
    /// was accepted, where the transport knows.
    pub(crate) async fn ask(&self, call: Call) -> Result<Reply, CallError> {
        self.ask_within(call, self.timeout).await
    }

    /// Sends a call and waits this long for its reply.
    pub(crate) async fn ask_within(&self, mut call: Call, time: Duration) -> Result<Reply, CallError> {
        let time = Allowance::new(time);
        call.cx.deadline = Some(time.until);
        match tokio::time::timeout_at(time.until, Service::call(&self.peer, &call)).await {
            Ok(Reply { outcome: Outcome::Error(error), .. }) => Err(time.judge(error.into())),
            Ok(reply) => Ok(reply),
            Err(_) => Err(CallError::TimedOut),
        }
    }
}

/// A service that holds a sender until its connection has ended.
struct Held<S> {
    service: S,
    _end: mpsc::Sender<()>,
}

impl<S: Service> Service for Held<S> {
    fn call(&self, call: &Call) -> ReplyFuture {
        self.service.call(call)
    }
}
