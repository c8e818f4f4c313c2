//! How calls scale with workers, if a call takes a millisecond.

use std::io::{self, Error};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use nix::time::{ClockId, clock_gettime};
use switchboard::server::{Handle, Server};
use switchboard::{ErrorObject, Peer, Router};
use tokio::sync::Semaphore;

use super::super::interleave;
use super::BROKER;
use crate::findings::Findings;
use crate::goal::{Goal, Limit};
use crate::options::Options;
use crate::report::{Ratio, Section};

/// How long a call takes.
pub(super) const WORK: Duration = Duration::from_millis(1);

/// How many workers there are.
pub(super) const COUNTS: [u32; 3] = [1, 2, 4];

/// How many calls are under way for each worker, so that none is ever idle: the broker picks workers at random.
const DEPTH: u32 = 64;

/// How much of the throughput that grows with the number of workers is left.
const LINEAR: f64 = 0.9;

pub(super) const RATE: &str = "calls/s";
/// The row that others are compared with.
const ONE: &str = "1 worker";
const OF_ONE: Ratio = Ratio { column: RATE, base: ONE };

/// What a worker does for a call. It has one at a time.
#[derive(Clone, Copy)]
enum Work {
    /// It waits for something else, as for a disk.
    Waits,
    /// It computes, and keeps a core busy.
    Computes,
}

/// Measures workers that wait, and as many that compute as there are cores. Gives the first table.
pub(super) fn run(options: &Options, findings: &mut Findings) -> io::Result<Section> {
    let section = measure(options, Work::Waits, &COUNTS, "waits")?;
    findings.add(section.clone(), goals(&section, &COUNTS));
    let cores = std::thread::available_parallelism()?.get();
    let counts: Vec<u32> = COUNTS.into_iter().filter(|count| *count as usize <= cores).collect();
    let computing = measure(options, Work::Computes, &counts, "computes")?;
    // The last core is also that of the broker and the caller.
    let with_room: Vec<u32> = counts.into_iter().filter(|count| (*count as usize) < cores).collect();
    let goals = goals(&computing, &with_room);
    findings.add(computing, goals);
    Ok(section)
}

fn goals(section: &Section, counts: &[u32]) -> Vec<Goal> {
    let more = counts.iter().filter(|count| **count > 1);
    let goal = |count: &u32| {
        let least = Limit::AtLeast(LINEAR * f64::from(*count));
        Goal::on_ratio_of(&name(*count), section, OF_ONE, least)
    };
    more.map(goal).collect()
}

fn name(count: u32) -> String {
    if count == 1 { ONE.to_owned() } else { format!("{count} workers") }
}

fn measure(options: &Options, work: Work, counts: &[u32], what: &str) -> io::Result<Section> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let mut subjects: Vec<_> = counts.iter().map(|count| (name(*count), *count)).collect();
    let rows = interleave(&mut subjects, options.rounds(), |count| {
        let service = format!("{what}-{count}");
        let workers: io::Result<Vec<_>> = (0..*count).map(|_| Worker::start(&service, work)).collect();
        let rate = runtime.block_on(round(&service, *count, options.network_round()));
        drop(workers?);
        rate
    })?;
    let title =
        format!("calls over NATS to workers with a handler that {what} 1 ms, one call at a time each");
    Ok(Section { title, columns: vec![RATE], ratios: vec![OF_ONE], rows })
}

async fn round(service: &str, count: u32, duration: Duration) -> io::Result<Vec<f64>> {
    let peer = switchboard::connect(&format!("nats://{BROKER}/{service}")).await.map_err(Error::other)?;
    let (calls, is_over) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
    let callers: Vec<_> = (0..count * DEPTH)
        .map(|_| tokio::spawn(calling(peer.clone(), Arc::clone(&calls), Arc::clone(&is_over))))
        .collect();
    // All workers are busy by then.
    tokio::time::sleep(duration / 5).await;
    let (before, start) = (calls.load(Ordering::Relaxed), Instant::now());
    tokio::time::sleep(duration).await;
    let (after, elapsed) = (calls.load(Ordering::Relaxed), start.elapsed());
    is_over.store(true, Ordering::Relaxed);
    if !join_all(callers).await.into_iter().all(|is_right| is_right.unwrap_or(false)) {
        return Err(Error::other("a call failed"));
    }
    Ok(vec![(after - before) as f64 / elapsed.as_secs_f64()])
}

async fn calling(peer: Peer, calls: Arc<AtomicU64>, is_over: Arc<AtomicBool>) -> bool {
    while !is_over.load(Ordering::Relaxed) {
        if peer.call::<bool>("work", ()).await != Ok(true) {
            return false;
        }
        calls.fetch_add(1, Ordering::Relaxed);
    }
    true
}

/// A worker in a thread of its own. It stops when it is dropped.
struct Worker {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    fn start(service: &str, work: Work) -> io::Result<Worker> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let one = Arc::new(Semaphore::new(1));
        let router = Router::builder().async_method("work", move |(): (), _| {
            let one = Arc::clone(&one);
            async move {
                let _turn = one.acquire().await;
                match work {
                    Work::Waits => tokio::time::sleep(WORK).await,
                    Work::Computes => compute(),
                }
                Ok::<_, ErrorObject>(true)
            }
        });
        let mut server = Server::new(router.build().map_err(Error::other)?);
        runtime.block_on(server.listen(&format!("nats://{BROKER}/{service}"))).map_err(Error::other)?;
        let handle = server.handle();
        let thread = std::thread::spawn(move || runtime.block_on(server.serve()));
        Ok(Worker { handle, thread: Some(thread) })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.handle.shutdown();
        drop(self.thread.take().map(JoinHandle::join));
    }
}

/// Uses the CPU for this long, however many others want it.
fn compute() {
    let now = || clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(WORK, Duration::from);
    let until = now() + WORK;
    while now() < until {
        std::hint::spin_loop();
    }
}
