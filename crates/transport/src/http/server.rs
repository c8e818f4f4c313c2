//! Listening: accepts connections, refuses those that are too many, and ends in good order.

use std::future::{Future, poll_fn};
use std::io;
use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use bytes::Bytes;
use switchboard_core::{Answer, ErrorObject, Service};
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream, ToSocketAddrs};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;

use super::connection;
use super::endpoint::Endpoint;
use super::rules::Rules;
use super::seats::Seats;
use super::socket::linger;
use super::stop::Stop;

/// Listens for HTTP/1.1 and HTTP/2 on one port.
///
/// # Examples
///
/// ```no_run
/// use switchboard_core::Router;
/// use switchboard_transport::http::Server;
///
/// # async fn example(router: Router) -> std::io::Result<()> {
/// let server = Server::bind("127.0.0.1:8000").await?;
/// let handle = server.handle();
/// tokio::spawn(async move {
///     // … when it is time to stop:
///     handle.shutdown();
/// });
/// server.serve(router).await;
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Server {
    listener: TcpListener,
    address: SocketAddr,
    options: ServerOptions,
    stop: Arc<Stop>,
}

/// How a [`Server`] treats connections.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Connections at once: 1024. One more is answered with 503 and closed.
    pub connections: usize,
    /// Connections at once from one address: as many as there may be at all. Behind a proxy all come from one.
    pub connections_per_address: Option<usize>,
    /// How long the head of a request may take to come, and the first head of a connection from its opening: 10 s.
    pub header_time: Duration,
    /// How long a connection may be idle, or its reader not read: 60 s. It is closed up to a quarter of that later.
    pub idle_time: Duration,
    /// Bytes in the head of a request: 16 KiB (SEC-L-16).
    pub header_size: usize,
    /// Requests under way at once on one HTTP/2 connection: 100.
    pub streams: u32,
}

impl Default for ServerOptions {
    fn default() -> ServerOptions {
        ServerOptions {
            connections: 1024,
            connections_per_address: None,
            header_time: Duration::from_secs(10),
            idle_time: Duration::from_secs(60),
            header_size: 16 << 10,
            streams: 100,
        }
    }
}

/// Stops a [`Server`]. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Handle(Arc<Stop>);

impl Handle {
    /// Tells the server to stop. Requests and connections that have arrived are still taken, later ones are not; what
    /// was taken may finish within [`drain_time`](switchboard_core::Limits::drain_time), and is cancelled then. The future of
    /// [`serve`](Server::serve) ends when all that is done.
    pub fn shutdown(&self) {
        self.0.give();
    }
}

impl Server {
    /// Listens at this address. Give `127.0.0.1` to be reached from this machine only.
    ///
    /// # Errors
    ///
    /// When the address cannot be listened at.
    pub async fn bind(address: impl ToSocketAddrs) -> io::Result<Server> {
        Server::from_tokio(TcpListener::bind(address).await?)
    }

    /// Listens with a listener that was made elsewhere, by a supervisor for instance.
    ///
    /// # Errors
    ///
    /// When the listener cannot be used.
    pub fn from_std(listener: std::net::TcpListener) -> io::Result<Server> {
        listener.set_nonblocking(true)?;
        Server::from_tokio(TcpListener::from_std(listener)?)
    }

    fn from_tokio(listener: TcpListener) -> io::Result<Server> {
        let address = listener.local_addr()?;
        Ok(Server { listener, address, options: ServerOptions::default(), stop: Arc::default() })
    }

    /// The same server with these options.
    #[must_use]
    pub fn with_options(mut self, options: ServerOptions) -> Server {
        self.options = options;
        self
    }

    /// The address that is listened at, with the port that was found if none was given.
    #[must_use]
    pub fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// What stops this server.
    #[must_use]
    pub fn handle(&self) -> Handle {
        Handle(Arc::clone(&self.stop))
    }

    /// Serves calls with this service, as [`Endpoint::new`] does, until it is told to stop.
    ///
    /// # Cancel safety
    ///
    /// Dropping the future ends every connection and cancels their calls.
    pub async fn serve(self, service: impl Service) {
        self.serve_endpoint(Endpoint::new(service)).await;
    }

    /// Serves this endpoint until it is told to stop, see [`serve`](Server::serve).
    pub async fn serve_endpoint(self, endpoint: Endpoint) {
        if !self.address.ip().is_loopback() {
            tracing::warn!(address = %self.address, "listening beyond this machine");
        }
        let rules = endpoint.rules(Some(self.address));
        let drain_time = rules.settings.limits.drain_time;
        let mut accepting = Accepting::new(rules, self.options, Arc::clone(&self.stop));
        accepting.run(&self.listener).await;
        drop(self.listener);
        let mut tasks = accepting.tasks;
        let drained = async { while tasks.join_next().await.is_some() {} };
        if tokio::time::timeout(drain_time, drained).await.is_err() {
            tracing::warn!(
                connections = tasks.len(),
                "calls are cancelled: they took longer than limits.drain_time"
            );
        }
        tasks.shutdown().await;
    }
}

/// The loop that accepts, and the connections that it owns.
struct Accepting {
    rules: Arc<Rules>,
    options: Arc<ServerOptions>,
    stop: Arc<Stop>,
    seats: Arc<Seats>,
    refusal: Bytes,
    refusals: Arc<Semaphore>,
    tasks: JoinSet<()>,
}

/// How many refused connections are told so at once; others are closed without a word.
const REFUSALS: usize = 64;

/// How many connections are accepted after the signal to stop: as many as a listener usually keeps waiting.
const LATE_COMERS: usize = 1024;

impl Accepting {
    fn new(rules: Arc<Rules>, options: ServerOptions, stop: Arc<Stop>) -> Accepting {
        Accepting {
            rules,
            seats: Seats::new(options.connections, options.connections_per_address),
            options: Arc::new(options),
            stop,
            refusal: refusal(),
            refusals: Arc::new(Semaphore::new(REFUSALS)),
            tasks: JoinSet::new(),
        }
    }

    async fn run(&mut self, listener: &TcpListener) {
        let stop = Arc::clone(&self.stop);
        let mut stopped = pin!(stop.wait());
        let mut late = 0;
        loop {
            let tasks = &mut self.tasks;
            let accepted = poll_fn(|cx| {
                while let Poll::Ready(Some(_)) = tasks.poll_join_next(cx) {}
                // Connections that have arrived are taken, even if the signal came first; but not without end.
                if late < LATE_COMERS
                    && let Poll::Ready(accepted) = listener.poll_accept(cx)
                {
                    return Poll::Ready(Some(accepted));
                }
                stopped.as_mut().poll(cx).map(|()| None)
            });
            let accepted = accepted.await;
            if stop.is_given() {
                late += 1;
            }
            match accepted {
                None => return,
                Some(Ok((tcp, address))) => self.admit(tcp, address),
                Some(Err(error)) => pause_after(&error).await,
            }
        }
    }

    fn admit(&mut self, tcp: TcpStream, address: SocketAddr) {
        let Some(seat) = self.seats.take(address.ip()) else {
            self.refuse(tcp);
            return;
        };
        let (rules, options, stop) =
            (Arc::clone(&self.rules), Arc::clone(&self.options), Arc::clone(&self.stop));
        self.tasks.spawn(async move {
            connection::serve(tcp, address, rules, &options, &stop).await;
            drop(seat);
        });
    }

    fn refuse(&mut self, mut tcp: TcpStream) {
        let Ok(permit) = Arc::clone(&self.refusals).try_acquire_owned() else { return };
        let (refusal, stop) = (self.refusal.clone(), Arc::clone(&self.stop));
        self.tasks.spawn(async move {
            // An empty send buffer takes these few bytes at once.
            if tcp.write_all(&refusal).await.is_ok() && tcp.shutdown().await.is_ok() {
                linger(tcp, &stop).await;
            }
            drop(permit);
        });
    }
}

/// What a connection too many is told.
fn refusal() -> Bytes {
    let error = ErrorObject::over_limit("connections", "too many connections; try again later");
    let answer = Answer::refusal(&error);
    let body = answer.body().map_or(&b""[..], |body| body);
    let mut text = format!(
        "HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\ncache-control: no-store\r\n\
         retry-after: 1\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
        body.len()
    )
    .into_bytes();
    text.extend_from_slice(body);
    Bytes::from(text)
}

/// A connection that broke before it was accepted is nothing to wait for; when there are no more file descriptors, some
/// connection has to end first.
async fn pause_after(error: &io::Error) {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    if !matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset) {
        tracing::warn!(%error, "cannot accept connections");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}
