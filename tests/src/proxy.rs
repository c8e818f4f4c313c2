//! A proxy for TCP that does to the bytes what networks and broken programs do.
//!
//! What it does to one direction of one connection is a [`Fault`]. Where chance decides, it begins with a seed that
//! [`seed`] prints and takes from the environment, so that what happened once can be made to happen again.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Notify;
use tokio::task::JoinSet;

/// What happens to the bytes of one direction.
#[derive(Clone, Copy, Debug, Default)]
pub enum Fault {
    /// Nothing.
    #[default]
    None,
    /// After so many bytes the whole connection is closed.
    Cut(u64),
    /// After so many records of TLS, and so many bytes of the next, the whole connection is closed.
    CutRecord(u64, u64),
    /// After so many bytes this direction ends; the other goes on.
    HalfClose(u64),
    /// After so many bytes nothing more is read, and nothing is closed.
    Stall(u64),
    /// They come in pieces of random size, often of one byte, with others having their turn in between.
    Crumbs(u64),
    /// Chunks come twice at random. A chunk is what was read at once: on a local network, whole writes of the sender.
    /// This and those below begin when they are [let loose](Proxy::let_loose); until then the bytes pass as they are.
    Duplicate(u64),
    /// Chunks change places at random.
    Reorder(u64),
    /// Pieces of random size come twice or change places.
    Scramble(u64),
}

/// What happens to one connection.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// From the client to the server.
    pub up: Fault,
    /// From the server to the client.
    pub down: Fault,
}

/// A proxy that runs; dropping it ends all that goes through it.
pub struct Proxy {
    /// Where it listens.
    pub address: SocketAddr,
    passed: Arc<Passed>,
    _running: JoinSet<()>,
}

/// How many bytes went each way, how many connections there were, and what was done to them.
#[derive(Debug, Default)]
struct Passed {
    up: AtomicU64,
    down: AtomicU64,
    connections: AtomicU64,
    is_loose: AtomicBool,
    records: AtomicU64,
    doubled: AtomicU64,
    swapped: AtomicU64,
}

impl Proxy {
    /// Takes connections and leads them to `server`. The plan says what happens to each, by its number from 0 on.
    ///
    /// # Panics
    ///
    /// When there is no free port.
    pub async fn start(server: SocketAddr, plan: impl Fn(u64) -> Faults + Send + 'static) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("there is a free port");
        let address = listener.local_addr().unwrap();
        let passed = Arc::new(Passed::default());
        let counting = Arc::clone(&passed);
        let mut running = JoinSet::new();
        running.spawn(async move {
            let mut carried = JoinSet::new();
            loop {
                tokio::select! {
                    accepted = listener.accept() => {
                        let Ok((client, _)) = accepted else { continue };
                        let number = counting.connections.fetch_add(1, Ordering::SeqCst);
                        carried.spawn(carry(client, server, plan(number), Arc::clone(&counting)));
                    }
                    Some(_) = carried.join_next() => {}
                }
            }
        });
        Proxy { address, passed, _running: running }
    }

    /// How many bytes were passed on, from clients and from the server.
    #[must_use]
    pub fn passed(&self) -> (u64, u64) {
        (self.passed.up.load(Ordering::SeqCst), self.passed.down.load(Ordering::SeqCst))
    }

    /// Begins with what is done to chunks, so that a test can see before that the link works.
    pub fn let_loose(&self) {
        self.passed.is_loose.store(true, Ordering::SeqCst);
    }

    /// How many chunks came twice, and how many changed places.
    #[must_use]
    pub fn shuffled(&self) -> (u64, u64) {
        (self.passed.doubled.load(Ordering::SeqCst), self.passed.swapped.load(Ordering::SeqCst))
    }

    /// How many records of TLS were passed on, where they were counted.
    #[must_use]
    pub fn records(&self) -> u64 {
        self.passed.records.load(Ordering::SeqCst)
    }

    /// How many connections there were.
    #[must_use]
    pub fn connections(&self) -> u64 {
        self.passed.connections.load(Ordering::SeqCst)
    }
}

/// Where chance begins: what the environment variable `SEED` says, or any number. Printed, for whoever sees it fail.
///
/// # Panics
///
/// When `SEED` is no number.
#[must_use]
#[expect(clippy::print_stdout, reason = "whoever sees a test fail has to know")]
pub fn seed() -> u64 {
    let given = std::env::var("SEED").ok().map(|seed| seed.parse().expect("SEED is a number"));
    let seed = given.unwrap_or_else(|| fastrand::u64(..));
    println!("SEED={seed}");
    seed
}

async fn carry(client: TcpStream, server: SocketAddr, faults: Faults, passed: Arc<Passed>) {
    let Ok(server) = TcpStream::connect(server).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let cut = Notify::new();
    let pump = |from, to, fault, count| Pump { from, to, fault, count, passed: &passed, cut: &cut }.run();
    let both = async {
        tokio::join!(
            pump(from_client, to_server, faults.up, &passed.up),
            pump(from_server, to_client, faults.down, &passed.down)
        );
    };
    tokio::select! {
        () = both => {}
        () = cut.notified() => {}
    }
}

/// One direction.
struct Pump<'a> {
    from: OwnedReadHalf,
    to: OwnedWriteHalf,
    fault: Fault,
    count: &'a AtomicU64,
    passed: &'a Passed,
    cut: &'a Notify,
}

/// The end of a direction.
struct Over;

impl Pump<'_> {
    async fn run(mut self) {
        let _: Result<(), Over> = match self.fault {
            Fault::None => self.pass(u64::MAX).await,
            Fault::Cut(after) => {
                let _ = self.pass(after).await;
                self.end_both().await
            }
            Fault::CutRecord(records, after) => {
                if self.pass_records(records).await.is_ok() {
                    let _ = self.pass(after).await;
                }
                self.end_both().await
            }
            Fault::HalfClose(after) => self.pass(after).await,
            Fault::Stall(after) => match self.pass(after).await {
                Ok(()) => std::future::pending().await,
                over => over,
            },
            Fault::Crumbs(seed) => self.crumble(fastrand::Rng::with_seed(seed)).await,
            Fault::Duplicate(seed) => self.shuffle(fastrand::Rng::with_seed(seed), (3, 0), false).await,
            Fault::Reorder(seed) => self.shuffle(fastrand::Rng::with_seed(seed), (0, 3), false).await,
            Fault::Scramble(seed) => self.shuffle(fastrand::Rng::with_seed(seed), (9, 9), true).await,
        };
        let _ = self.to.shutdown().await;
    }

    /// What comes next, at most so many bytes.
    async fn read(&mut self, most: u64) -> Result<Vec<u8>, Over> {
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(64 << 10);
        let mut chunk = vec![0; most];
        match self.from.read(&mut chunk).await {
            Ok(length @ 1..) => {
                chunk.truncate(length);
                Ok(chunk)
            }
            _ => Err(Over),
        }
    }

    async fn write(&mut self, chunk: &[u8]) -> Result<(), Over> {
        self.to.write_all(chunk).await.map_err(|_| Over)?;
        self.count.fetch_add(chunk.len() as u64, Ordering::SeqCst);
        Ok(())
    }

    /// Passes so many bytes on as they are.
    async fn pass(&mut self, most: u64) -> Result<(), Over> {
        let mut left = most;
        while left > 0 {
            let chunk = self.read(left).await?;
            left -= chunk.len() as u64;
            self.write(&chunk).await?;
        }
        Ok(())
    }

    /// Passes so many records of TLS on: a type and a version, the length as two bytes, and so many bytes.
    async fn pass_records(&mut self, most: u64) -> Result<(), Over> {
        for _ in 0..most {
            let mut header = [0; 5];
            self.from.read_exact(&mut header).await.map_err(|_| Over)?;
            self.write(&header).await?;
            self.pass(u16::from_be_bytes([header[3], header[4]]).into()).await?;
            self.passed.records.fetch_add(1, Ordering::SeqCst);
        }
        Ok(())
    }

    /// Both directions end at once: whoever saw one end first could still say something.
    async fn end_both(&self) -> Result<(), Over> {
        self.cut.notify_one();
        std::future::pending().await
    }

    async fn crumble(&mut self, mut random: fastrand::Rng) -> Result<(), Over> {
        loop {
            let chunk = self.read(u64::MAX).await?;
            let mut rest = &chunk[..];
            while !rest.is_empty() {
                let size = if random.bool() { 1 } else { random.usize(1..40) };
                let (crumb, more) = rest.split_at(size.min(rest.len()));
                self.write(crumb).await?;
                for _ in 0..random.usize(0..4) {
                    tokio::task::yield_now().await;
                }
                rest = more;
            }
        }
    }

    /// Has one in `twice` chunks come twice and one in `swapped` change places with the next, never where that is 0.
    async fn shuffle(
        &mut self,
        mut random: fastrand::Rng,
        (twice, swapped): (u32, u32),
        in_pieces: bool,
    ) -> Result<(), Over> {
        loop {
            let chunk = self.read(u64::MAX).await?;
            if !self.passed.is_loose.load(Ordering::SeqCst) {
                self.write(&chunk).await?;
                continue;
            }
            let mut pieces = if in_pieces { split(&chunk, &mut random) } else { vec![chunk] };
            if swapped > 0 && random.u32(0..swapped) == 0 {
                // If nothing follows, nothing changes places: this must not hold up what waits for an answer.
                if let Some(next) = self.read_at_once().await? {
                    pieces.insert(0, next);
                    self.passed.swapped.fetch_add(1, Ordering::SeqCst);
                } else if pieces.len() > 1 {
                    let at = random.usize(1..pieces.len());
                    pieces.swap(at - 1, at);
                    self.passed.swapped.fetch_add(1, Ordering::SeqCst);
                }
            }
            for piece in pieces {
                self.write(&piece).await?;
                if twice > 0 && random.u32(0..twice) == 0 {
                    self.passed.doubled.fetch_add(1, Ordering::SeqCst);
                    self.write(&piece).await?;
                }
            }
        }
    }

    /// What comes while others have a few turns.
    async fn read_at_once(&mut self) -> Result<Option<Vec<u8>>, Over> {
        let turns = async {
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
        };
        tokio::select! {
            biased;
            chunk = self.read(u64::MAX) => chunk.map(Some),
            () = turns => Ok(None),
        }
    }
}

fn split(chunk: &[u8], random: &mut fastrand::Rng) -> Vec<Vec<u8>> {
    let mut pieces = Vec::new();
    let mut rest = chunk;
    while !rest.is_empty() {
        let (piece, more) = rest.split_at(random.usize(1..=rest.len()));
        pieces.push(piece.to_vec());
        rest = more;
    }
    pieces
}
